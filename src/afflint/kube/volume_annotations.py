"""The annotations of volumes and claims that decide about their binding."""

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""A claim has it when its binding to a volume is complete, with any value."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The node for which the driver creates the volume of a claim."""
STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
"""The older form of ``storageClassName``, which takes precedence."""
