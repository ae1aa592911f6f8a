"""The configuration: its settings, the files it is read from, and the selection of rules.

Every run imports this package, so the modules that read a configuration file are imported only if one exists.
"""

from afflint.config.discovery import CONFIG_FILES, find, load
from afflint.config.selection import covers, ignores, is_selected, matcher, selected, unknown_name
from afflint.config.settings import (
    ALL,
    AUTO_NODES,
    COMMAND_LINE,
    DEFAULT,
    KEYS,
    NO_NODES,
    RENDERERS,
    SHIPPED,
    Config,
    ConfigError,
    ConfigProblem,
    CustomWorkloadSetting,
    Origin,
    StorageSetting,
    default,
    is_version,
    with_overrides,
)

__all__ = [
    "ALL",
    "AUTO_NODES",
    "COMMAND_LINE",
    "CONFIG_FILES",
    "DEFAULT",
    "KEYS",
    "NO_NODES",
    "RENDERERS",
    "SHIPPED",
    "Config",
    "ConfigError",
    "ConfigProblem",
    "CustomWorkloadSetting",
    "Origin",
    "StorageSetting",
    "covers",
    "default",
    "find",
    "ignores",
    "is_selected",
    "is_version",
    "load",
    "matcher",
    "selected",
    "unknown_name",
    "with_overrides",
]
