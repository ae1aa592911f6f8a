"""Placeholders, which a tool replaces before the manifest is applied: envsubst, Kustomize vars, Argo and Go templates, ``<fill-me-in>``."""

from __future__ import annotations

import re

# Each begins with one of these or with two underscores.
_BEGINNINGS = frozenset("$<{%@(")
_PLACEHOLDER = (
    r"(?s)\$\{[^}]*\}|\$\([^)]*\)|\{\{.*\}\}|<[^<>]+>|\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]*%|@[A-Z_][A-Z0-9_]*@|__[A-Z_]+__"
    r"|\A\(.*\)\Z"  # A Chainsaw expression.
)


def is_placeholder(text: str) -> bool:
    """Whether the text contains a placeholder, so that its value is not known yet."""
    if _BEGINNINGS.isdisjoint(text) and "__" not in text:
        return False
    return re.search(_PLACEHOLDER, text) is not None


# Placeholders that YAML cannot read everywhere, on one line each. Quoted text within the braces can contain braces.
_UNREADABLE = (
    rb"\$?\{\{(?!\{)(?:\"[^\"\n]*\"|`[^`\n]*`|[^}\"`\n]|\}(?!\}))*\}\}"
    rb"|\$\{[^}\n]*\}|\$\([^)\n]*\)|<%[^\n]*?%>|@[A-Z_][A-Z0-9_]*@|%[A-Z_][A-Z0-9_]*%"
)
# Files with control structures or inserted blocks are templates, not manifests with placeholders.
_CONTROL = (
    rb"(?m)\{\{-|-\}\}|\{%|^[ \t]*(?:- )?\{\{[^\n]*\}\}[ \t\r]*$"
    rb"|\{\{ *(?:if|range|with|end|else|define|include|template|block|tpl|toYaml)\b|\| *n?indent\b"
)
_BEGINNINGS_IN_BYTES = (b"{{", b"${", b"$(", b"<%", b"@", b"%")

# The characters with a meaning in YAML, and those that replace them while the text is composed; manifests do not contain the latter.
_INDICATORS = "{}[],:#&*!|>%@`\"'\\"
_SUBSTITUTES = "".join(chr(0xE100 + number) for number in range(len(_INDICATORS)))
_MASKED = str.maketrans(_INDICATORS, _SUBSTITUTES)
_UNMASKED = str.maketrans(_SUBSTITUTES, _INDICATORS)


def holds_control(raw_bytes: bytes) -> bool:
    """Whether a template has control structures or inserted blocks, not only single values in braces."""
    return re.search(_CONTROL, raw_bytes) is not None


def masked(raw_bytes: bytes) -> bytes | None:
    """Mask the placeholders in a text, character by character, so that YAML can read it; None if that would not help."""
    if not any(each in raw_bytes for each in _BEGINNINGS_IN_BYTES) or holds_control(raw_bytes):
        return None
    if any(each.encode() in raw_bytes for each in _SUBSTITUTES):
        return None
    changed, count = re.subn(_UNREADABLE, _mask, raw_bytes)
    return changed if count else None


def unmasked(text: str) -> str:
    """Return the original text of a scalar of a masked text."""
    return text.translate(_UNMASKED)


def masked_action(text: str) -> str:
    """Mask a part of a line in which a template puts a value, character by character, so that YAML can read it."""
    return text.translate(_MASKED)


def _mask(match: re.Match[bytes]) -> bytes:
    return masked_action(match[0].decode("utf-8", "replace")).encode()
