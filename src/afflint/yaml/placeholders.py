"""Placeholders, which a tool replaces before the manifest is applied: envsubst, sed, Kustomize vars, templates, SOPS, ``<fill-me-in>``."""

from __future__ import annotations

import re

# Each begins with one of these or with two underscores, or is in capitals.
_BEGINNINGS = frozenset("$<{%@([+")
# Not expressions: where one does not end, the search would start again at each further beginning.
_ENCLOSED = (("${", "}"), ("$(", ")"), ("{{", "}}"), ("#{", "}"), ("ENC[", "]"))
_PLACEHOLDER = (
    r"(?s)<[^<>]+>|\$\$?[A-Za-z_]\w*|%[A-Za-z_]\w*%|@[A-Za-z_][\w.-]*@|__[A-Z][A-Z0-9_]*__|%%[\w.-]+%%|@@[\w.-]+@@"
    r"|\[\[[^\[\]]+\]\]|\{%[^%]+%\}|%\(\w+\)s|@\{[^{}]+\}|\$\[[^\[\]]+\]"
    r"|\A\(.*\)\Z"  # A Chainsaw expression.
    r"|\Aref\+\w+://"  # A reference of vals, which helmfile resolves.
    r"|\A(?:REPLACE|CHANGE|FILL|INSERT)[_-]?(?:ME|THIS|IN|HERE)\b|\A(?:REPLACE|INSERT|YOUR)[_-]\w"
    r"|\A(?:TODO|TBD|FIXME)\b|_TO_BE_|\APLACEHOLDER(?:_|\Z)"
)
# The name of a variable (`NODE_NAME`), or the end of a name to which a tool adds the beginning (`-node1`).
_UNFINISHED_NAME = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|-[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"


def is_placeholder(text: str) -> bool:
    """Whether the text contains a placeholder, so that its value is not known yet."""
    if _BEGINNINGS.isdisjoint(text) and "__" not in text and not text.isupper():
        return False
    return any(_has_enclosed(text, *each) for each in _ENCLOSED) or re.search(_PLACEHOLDER, text) is not None


def _has_enclosed(text: str, opening: str, closing: str) -> bool:
    """Return whether a text has an opening that is closed later."""
    start = text.find(opening)
    return start >= 0 and text.find(closing, start + len(opening)) >= 0


def is_unfinished_name(text: str) -> bool:
    """Whether a text is in place of the DNS name of an object: a placeholder, or a text that ``sed`` completes.

    Use this only for names of objects: a label may have the value ``ON_DEMAND``.
    """
    return is_placeholder(text) or re.fullmatch(_UNFINISHED_NAME, text) is not None


# Placeholders that YAML cannot read everywhere, on one line each: how they begin, and how some of them end.
_UNREADABLE = rb"(\$?\{\{(?!\{))|(\$\{|\$\(|<%)|@[A-Z_][A-Z0-9_]*@|%[A-Z_][A-Z0-9_]*%|@@[\w.-]+@@|%%[\w.-]+%%"
_CLOSINGS = {b"${": b"}", b"$(": b")", b"<%": b"%>"}
# A part of an action in braces. Quoted text in it can contain braces.
_PART_OF_ACTION = rb"\"[^\"\n]*\"|`[^`\n]*`|[^{}\"`\n]+|\{|\}(?!\})"
# A line that a tool replaces with a block.
_BLOCK = r"\$\{[^}]*\}|(%%?|@@?|__)[A-Za-z_][\w.-]*\1"
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


def is_block(line: str) -> bool:
    """Whether a line that YAML cannot read is a placeholder that a tool replaces with a block, so that the file is a template."""
    return re.fullmatch(_BLOCK, line.strip()) is not None


def masked(raw_bytes: bytes) -> bytes | None:
    """Mask the placeholders in a text, character by character, so that YAML can read it; None if that would not help."""
    if not any(each in raw_bytes for each in _BEGINNINGS_IN_BYTES) or holds_control(raw_bytes):
        return None
    if any(each.encode() in raw_bytes for each in _SUBSTITUTES):
        return None
    lines = [_masked_line(line) if any(each in line for each in _BEGINNINGS_IN_BYTES) else line for line in raw_bytes.split(b"\n")]
    changed = b"\n".join(lines)
    return changed if changed != raw_bytes else None


def unmasked(text: str) -> str:
    """Return the original text of a scalar of a masked text."""
    return text.translate(_UNMASKED)


def masked_action(text: str) -> str:
    """Mask a part of a line in which a template puts a value, character by character, so that YAML can read it."""
    return text.translate(_MASKED)


def _masked_line(line: bytes) -> bytes:
    """Mask the placeholders in a line; the time is linear, however many of them do not end."""
    parts: list[bytes] = []
    copied = position = 0
    last = {opening: line.rfind(closing) for opening, closing in _CLOSINGS.items()}
    without_end: set[int] = set()
    while (found := re.compile(_UNREADABLE).search(line, position)) is not None:
        start, end = found.span()
        if found[1]:
            end = _end_of_action(line, end, without_end)
        opening = line[start : start + 2]
        if end < 0 or found[2]:
            closing = _CLOSINGS.get(opening, b"")
            end = line.index(closing, start + 2) + len(closing) if start + 2 <= last.get(opening, -1) else -1
        position = max(end, start + 1)
        if end >= 0:
            parts += (line[copied:start], masked_action(line[start:end].decode("utf-8", "replace")).encode())
            copied = end
    return b"".join([*parts, line[copied:]])


def _end_of_action(line: bytes, start: int, without_end: set[int]) -> int:
    """Return where an action in braces ends; -1 if it does not. ``without_end`` collects the positions from which none ends."""
    part, position = re.compile(_PART_OF_ACTION), start
    passed: list[int] = []
    while position not in without_end:
        passed.append(position)
        if line.startswith(b"}}", position):
            return position + 2
        found = part.match(line, position)
        if found is None:
            break
        position = found.end()
    without_end.update(passed)
    return -1
