"""Finds the data directories that ship with afflint (``rules``, ``schemas``), installed or in a checkout."""

from __future__ import annotations

import os


def directory(name: str) -> str:
    """Return the path of the directory ``name`` that ships with afflint: the installed copy first, then the one of the checkout.

    Raises FileNotFoundError with both places when neither exists.
    """
    package = os.path.dirname(os.path.abspath(__file__))
    installed = os.path.join(package, name)
    checkout = os.path.join(os.path.dirname(os.path.dirname(package)), name)
    for candidate in (installed, checkout):
        if os.path.isdir(candidate):
            return candidate
    raise FileNotFoundError(f"afflint is not installed completely: neither {installed} nor {checkout} exists")
