"""What Kubernetes and KubeVirt mean by kinds, labels, selectors and constraints. Pure values, no findings."""

NEWEST = (1, 37)
"""The newest Kubernetes version whose API is known here."""

OLDEST = (1, 10)
"""The oldest one."""
