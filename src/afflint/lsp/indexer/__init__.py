"""The indexer: the second process of the language server, which has all manifests and answers requests that need all of them."""
