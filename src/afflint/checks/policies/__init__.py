"""The checks that policies name, one module a family. See ``afflint.policies`` for what they are given and what they give."""
