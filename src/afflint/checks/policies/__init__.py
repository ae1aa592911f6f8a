"""The checks that policies name, one module per family. See ``afflint.policies`` for their parameters and results."""
