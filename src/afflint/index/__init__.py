"""The facts of all manifests, and an index of them."""
