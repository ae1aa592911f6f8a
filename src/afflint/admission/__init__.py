"""What the API server does with an object before it is stored: defaults, namespace admission, CEL policies."""
