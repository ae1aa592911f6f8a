"""Node pools: the nodes that Karpenter, Cluster API, cloud controllers and installers create, as classes of equal nodes."""
