"""What mutating policies of a cluster change in objects before they are stored: Kyverno's policies."""
