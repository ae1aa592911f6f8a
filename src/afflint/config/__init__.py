"""The configuration: its settings, the files it is read from, and the selection of rules.

Every run imports this package, so the modules that read a configuration file are imported only if one exists.
"""

from afflint.config.discovery import CONFIG_FILES as CONFIG_FILES
from afflint.config.discovery import find as find
from afflint.config.discovery import load as load
from afflint.config.selection import covers as covers
from afflint.config.selection import ignores as ignores
from afflint.config.selection import is_selected as is_selected
from afflint.config.selection import matcher as matcher
from afflint.config.selection import selected as selected
from afflint.config.selection import unknown_name as unknown_name
from afflint.config.settings import ALL as ALL
from afflint.config.settings import AUTO_NODES as AUTO_NODES
from afflint.config.settings import COMMAND_LINE as COMMAND_LINE
from afflint.config.settings import DEFAULT as DEFAULT
from afflint.config.settings import KEYS as KEYS
from afflint.config.settings import NO_NODES as NO_NODES
from afflint.config.settings import RENDERERS as RENDERERS
from afflint.config.settings import SHIPPED as SHIPPED
from afflint.config.settings import Config as Config
from afflint.config.settings import ConfigError as ConfigError
from afflint.config.settings import ConfigProblem as ConfigProblem
from afflint.config.settings import CustomWorkloadSetting as CustomWorkloadSetting
from afflint.config.settings import StorageSetting as StorageSetting
from afflint.config.settings import default as default
from afflint.config.settings import is_version as is_version
from afflint.config.settings import with_overrides as with_overrides
