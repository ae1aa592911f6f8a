"""afflint: a static linter for where Kubernetes and KubeVirt workloads are placed."""

__version__ = "0.1.0"
