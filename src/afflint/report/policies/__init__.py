"""The formats of ``afflint report``."""
