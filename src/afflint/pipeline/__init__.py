"""A run: files in, findings out. Map step, reduce step, caches, workers and everything that several commands share."""
