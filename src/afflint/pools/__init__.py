"""Nodes as code: what Karpenter, Cluster API, cloud controllers and installers are told to make, as classes of nodes that are alike."""
