"""Objects that CEL expressions of mutating policies construct: ``Object{…}``, ``Object.spec{…}`` and ``JSONPatch{…}``.

The library for CEL has no such types, so afflint compiles a map in place of each, with the name of its type under a key of its own.
Semantics: k8s.io/apiserver/pkg/cel/mutation (types) and CheckTypeNamesMatchFieldPathNames in pkg/cel/mutation/dynamic/objects.go.
"""

from __future__ import annotations

import re
from typing import Any

from afflint.admission.cel import LONGEST_EXPRESSION

OBJECT, JSON_PATCH = "Object", "JSONPatch"
_TYPE = "kubernetes.ObjectType"
_TOKEN = re.compile(
    r"""(?P<quiet>[rR]?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*)"""
    r"""|(?P<opened>(?<![\w.])(?:Object(?:\s*\.\s*(?:\w+|`[^`\n]*`))*|JSONPatch)\s*\{)"""
    r"""|(?P<open>[\[({])|(?P<close>[\])}])|(?P<comma>,)""",
    re.DOTALL,
)
_FIELD = re.compile(r"(?:\s|//[^\n]*\n)*(?P<optional>\?)?\s*(?:(?P<name>[A-Za-z_]\w*)|`(?P<quoted>[^`\n]*)`)\s*:", re.DOTALL)


class MismatchError(Exception):
    """The type of a constructed object does not belong to the field that has it: the API server rejects the object."""


def with_maps(text: str) -> str:
    """Return an expression with maps in place of the objects that it constructs. Any other expression stays as it is."""
    if len(text) > LONGEST_EXPRESSION or "{" not in text or (OBJECT not in text and JSON_PATCH not in text):
        return text
    written: list[str] = []
    brackets: list[str | None] = []  # For an object the text that ends its last value, None for any other bracket.
    position = 0
    while (token := _TOKEN.search(text, position)) is not None:
        written.append(text[position : token.start()])
        position = token.end()
        if token["opened"]:
            name = re.sub(r"[\s`{]", "", token[0])
            end: str | None
            written.append(f"dyn({{'{_TYPE}': dyn('{name}')")
            position, end = _field(text, position, written, ", ")
            brackets.append(end)
        elif token["comma"] and brackets and brackets[-1] is not None:
            written.append(brackets[-1])
            position, brackets[-1] = _field(text, position, written, ", ")
        elif token["close"] and brackets:
            end = brackets.pop()
            written.append(token[0] if end is None else f"{end}}})")
        else:
            if token["open"]:
                brackets.append(None)
            written.append(token[0])
    return "".join((*written, text[position:]))


def _field(text: str, position: int, written: list[str], before: str) -> tuple[int, str]:
    """Write the key of the next field; return the position of its value and the text that ends the value."""
    found = _FIELD.match(text, position)
    if found is None:
        return position, ""
    key = f"'{found['name'] or found['quoted']}': "
    if found["optional"]:
        written.append(f"{before}?{key}")
        return found.end(), ""
    written.append(f"{before}{key}dyn(")
    return found.end(), ")"


def plain(value: Any, path: str = "") -> Any:
    """Return a result without the names of types, with sorted keys: the library returns maps in any order.

    ``path`` is the type that belongs to the place of the value, if that is known. Raises MismatchError if a type does not belong to its
    field.
    """
    if isinstance(value, list):
        return [plain(each, path) for each in value]
    if not isinstance(value, dict):
        return value
    name = type_of(value)
    if name and path and name != path:
        raise MismatchError(f"`{name}` is used where `{path}` belongs")
    own = name or path
    fields = sorted(value.items(), key=lambda each: str(each[0]))
    return {str(key): plain(each, f"{own}.{key}" if own else "") for key, each in fields if key != _TYPE}


def type_of(value: Any) -> str:
    """Return the name of the type of a constructed object, such as ``Object.spec``; "" for any other value."""
    return str(value.get(_TYPE, "")) if isinstance(value, dict) else ""
