"""Texts that something replaces before the cluster sees them: envsubst, Kustomize vars, Argo and Go templates, ``<fill-me-in>``."""

from __future__ import annotations

import re

# Each begins with one of these or with two underscores.
_BEGINNINGS = frozenset("$<{%@(")
_PLACEHOLDER = (
    r"(?s)\$\{[^}]*\}|\$\([^)]*\)|\{\{.*\}\}|<[^<>]+>|\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]*%|@[A-Z_][A-Z0-9_]*@|__[A-Z_]+__"
    r"|\A\(.*\)\Z"  # An expression of Chainsaw.
)


def is_placeholder(text: str) -> bool:
    """True when the text holds a placeholder, so that nobody can say yet what it will be."""
    if _BEGINNINGS.isdisjoint(text) and "__" not in text:
        return False
    return re.search(_PLACEHOLDER, text) is not None


# Those that YAML cannot read everywhere, on one line each. Text in quotes within the braces may hold braces.
_UNREADABLE = (
    rb"\$?\{\{(?!\{)(?:\"[^\"\n]*\"|`[^`\n]*`|[^}\"`\n]|\}(?!\}))*\}\}"
    rb"|\$\{[^}\n]*\}|\$\([^)\n]*\)|<%[^\n]*?%>|@[A-Z_][A-Z0-9_]*@|%[A-Z_][A-Z0-9_]*%"
)
# Files that are made of control structures, or put whole blocks in, are no manifests with gaps.
_CONTROL = (
    rb"(?m)\{\{-|-\}\}|\{%|^[ \t]*(?:- )?\{\{[^\n]*\}\}[ \t\r]*$"
    rb"|\{\{ *(?:if|range|with|end|else|define|include|template|block|tpl|toYaml)\b|\| *n?indent\b"
)
_BEGINNINGS_IN_BYTES = (b"{{", b"${", b"$(", b"<%", b"@", b"%")

# What means something to YAML, and the characters that stand for it while it is composed, which no manifest holds.
_MEANT = "{}[],:#&*!|>%@`"
_STANDING = "".join(chr(0xE100 + number) for number in range(len(_MEANT)))
_MASKED = str.maketrans(_MEANT, _STANDING)
_UNMASKED = str.maketrans(_STANDING, _MEANT)


def holds_control(raw_bytes: bytes) -> bool:
    """True where a template language shows itself by control structures or whole blocks, not by lone values in braces."""
    return re.search(_CONTROL, raw_bytes) is not None


def masked(raw_bytes: bytes) -> bytes | None:
    """The text with its placeholders written so that YAML can read them, each character of them as one; None where that is no help."""
    if not any(each in raw_bytes for each in _BEGINNINGS_IN_BYTES) or holds_control(raw_bytes):
        return None
    if any(each.encode() in raw_bytes for each in _STANDING):
        return None
    changed, count = re.subn(_UNREADABLE, _mask, raw_bytes)
    return changed if count else None


def unmasked(text: str) -> str:
    """The text as it is written, of a scalar out of a masked text."""
    return text.translate(_UNMASKED)


def _mask(match: re.Match[bytes]) -> bytes:
    return match[0].decode("utf-8", "replace").translate(_MASKED).encode()
