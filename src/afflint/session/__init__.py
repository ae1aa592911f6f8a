"""A run: configuration and sources in, results out, for whoever asks."""
