"""Starts the user's own Git, Helm and kustomize on what others wrote, with limits."""
