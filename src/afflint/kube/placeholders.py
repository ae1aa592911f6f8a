"""Texts that something replaces before the cluster sees them: envsubst, Kustomize vars, Argo and Go templates, ``<fill-me-in>``."""

from __future__ import annotations

import re

# Each begins with one of these or with two underscores.
_BEGINNINGS = frozenset("$<{%@")
_PLACEHOLDER = r"(?s)\$\{[^}]*\}|\$\([^)]*\)|\{\{.*\}\}|<[^<>]+>|\$[A-Z_][A-Z0-9_]*|%[A-Z_]+%|@[A-Z_]+@|__[A-Z_]+__"


def is_placeholder(text: str) -> bool:
    """True when the text holds a placeholder, so that nobody can say yet what it will be."""
    if _BEGINNINGS.isdisjoint(text) and "__" not in text:
        return False
    return re.search(_PLACEHOLDER, text) is not None
