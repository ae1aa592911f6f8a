"""The second process of the language server: it has all manifests and answers what needs all of them."""
