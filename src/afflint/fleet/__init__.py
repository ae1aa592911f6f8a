"""What manifests say about each other: the facts of each, and an index over all of them."""
