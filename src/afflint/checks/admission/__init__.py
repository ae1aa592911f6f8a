"""What the API server or KubeVirt refuses: the object itself, or every pod made from it. Facts: one module per field group."""
