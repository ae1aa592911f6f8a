"""Facts of all manifests and their cross references."""
