"""Manifests: the objects of a document, each with its kind, its pod templates and their constraints; custom resources included."""
