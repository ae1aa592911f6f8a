"""The pods of workloads: how many, with which names, labels and owners, and what controllers add to them."""
