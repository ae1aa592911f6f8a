"""How fast afflint is, how it grows, and beside whom: ``python -m bench --help``."""
