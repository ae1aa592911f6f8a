"""What mutating policies of a cluster change in objects before they are stored: patches, rules of Kyverno, and LimitRanges."""
