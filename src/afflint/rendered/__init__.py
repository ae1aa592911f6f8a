"""Findings in the output of kustomize and Helm, moved to what the user can change."""
