"""Rendering with the user's kustomize and Helm, and mapping rendered values back to their source positions."""
