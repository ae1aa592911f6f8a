"""Kinds, labels, selectors and constraints as Kubernetes and KubeVirt define them. Values without side effects; no findings."""

NEWEST = (1, 37)
"""The newest Kubernetes version whose API afflint knows."""

OLDEST = (1, 10)
"""The oldest Kubernetes version whose API afflint knows."""
