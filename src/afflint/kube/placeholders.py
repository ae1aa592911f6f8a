"""Texts that something replaces before the cluster sees them: envsubst, Kustomize vars, Argo and Go templates, ``<fill-me-in>``."""

from __future__ import annotations

import re

_PLACEHOLDER = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|\{\{.*\}\}|<[^<>]+>|\$[A-Z_][A-Z0-9_]*|%[A-Z_]+%|@[A-Z_]+@|__[A-Z_]+__", re.DOTALL)


def is_placeholder(text: str) -> bool:
    """True when the text holds a placeholder, so that nobody can say yet what it will be."""
    return _PLACEHOLDER.search(text) is not None
