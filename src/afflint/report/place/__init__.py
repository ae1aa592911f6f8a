"""The formats of ``afflint place``."""
