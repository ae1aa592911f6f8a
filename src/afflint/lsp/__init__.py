"""The language server: manifests as an editor holds them in, findings and what can be done about them out, by LSP 3.17 over stdio."""
