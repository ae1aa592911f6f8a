"""The steps of the API server before it stores an object: defaults, admission by namespace annotations, CEL policies."""
