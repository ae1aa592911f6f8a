"""The one place that chooses the parser of YAML: libyaml's where its binding is installed, else the one in Python, which says the same.

The binding is a module in C. There is none where afflint runs in a browser, for one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

binding: Any = None
"""The module of libyaml's parser and composer, which is some twenty times as fast; None where it is not installed."""

try:
    binding = import_module("_ruamel_yaml")
except ImportError:
    from afflint.yaml.pure_parser import PureParser

Parser: Any = PureParser if binding is None else binding.CParser
