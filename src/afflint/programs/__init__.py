"""Starts the user's own programs: Git, Helm, kustomize and kubectl. Nothing else of afflint does."""
