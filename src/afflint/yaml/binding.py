"""Chooses the YAML parser: that of libyaml if its binding is installed, else the one in Python, with the same results.

The binding is a module in C, which does not exist in a browser, for example. Pyodide has another binding, PyYAML's: it gives the same
events and mistakes for 65 of 66 texts of ``tests/yaml/test_both_parsers.py``, and reads ``{b:c}`` as Go does. But its wheel for Pyodide
is neither on PyPI nor on npm, from where the page in the browser gets its parts at pinned versions.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

binding: Any = None
"""The module of libyaml's parser and composer, which is about twenty times as fast; None if it is not installed."""

try:
    binding = import_module("_ruamel_yaml")
except ImportError:
    from afflint.yaml.pure_parser import PureParser

Parser: Any = PureParser if binding is None else binding.CParser
