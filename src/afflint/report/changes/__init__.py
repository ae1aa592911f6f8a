"""The reports of ``afflint diff``."""
