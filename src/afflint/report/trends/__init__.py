"""How numbers of findings change over time, for ``afflint report --history``."""
