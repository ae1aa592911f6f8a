"""What Kubernetes and KubeVirt mean by kinds, labels, selectors and constraints. Pure values, no findings."""
