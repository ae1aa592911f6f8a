"""Storage: what volumes, claims, classes and drivers declare, and from which nodes a volume can be used."""

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""The annotation of a claim whose binding to a volume is complete, with any value."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The annotation with the node for which the driver creates the volume of a claim."""
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
"""The older form of ``storageClassName``, which takes precedence."""
