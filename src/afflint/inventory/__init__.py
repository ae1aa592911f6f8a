"""What the cluster consists of besides the workloads: nodes, namespaces, services and running pods, read from files."""
