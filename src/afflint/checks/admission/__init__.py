"""Checks for what the API server or KubeVirt rejects: the object itself, or every pod created from it."""
