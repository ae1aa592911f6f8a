"""The types that the API server gives to what policies name, and the mistakes that it finds by them in a compiled expression.

After k8s.io/apiserver/pkg/admission/plugin/cel/compile.go and pkg/cel/environment/base.go, and the validators of cel-go that these turn on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from afflint.admission.cel_ast import CALL, CONSTANT, IDENTIFIER, LIST, MAP, SELECTION, Checked, SyntaxNode
from afflint.admission.cel_functions import CLAUSE, FUNCTIONS, SEARCHES, Function
from afflint.admission.cel_messages import ExpressionMistake, type_in_words
from afflint.findings.grouping import grouped

_KIND = {"group": "string", "version": "string", "kind": "string"}
_RESOURCE = {"group": "string", "version": "string", "resource": "string"}
_OBJECTS: Mapping[str, Mapping[str, Any]] = {
    "request": {
        **dict.fromkeys(("kind", "requestKind"), _KIND),
        **dict.fromkeys(("resource", "requestResource"), _RESOURCE),
        **dict.fromkeys(("subResource", "requestSubResource", "name", "namespace", "operation"), "string"),
        "userInfo": {"username": "string", "uid": "string", "groups": "list<string>", "extra": "map<string, list<string>>"},
        "dryRun": "bool",
        "options": "dyn",
    },
    "namespaceObject": {
        "metadata": {
            **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), "string"),
            **dict.fromkeys(("labels", "annotations"), "map<string, string>"),
            **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), "timestamp"),
            **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), "int"),
            "finalizers": "list<string>",
        },
        "spec": {"finalizers": "list<string>"},
        "status": {"phase": "string", "conditions": "list<dyn>"},
    },
}
"""The fields of the objects whose types the API server declares."""

UNTYPED = {name: f"_{name[1:]}" for name in (*_OBJECTS, "variables")}
"""Names for the same objects without types. The library would take the type of a field for that of ``has(field)``."""

RESOLVED = (*(f"{name}." for name in UNTYPED), *UNTYPED.values())
"""Fields that are declared as if each were a variable begin so, and untyped objects."""

_NAMES = {untyped: name for name, untyped in UNTYPED.items()}


def field_path(name: str) -> list[str]:
    """Return the parts of such a name, from the object on."""
    root, *fields = name.split(".")
    return [_NAMES.get(root, root), *fields]


_COMPARISONS = ("_<_", "_<=_", "_>_", "_>=_")
_NUMBERS = ("int", "uint", "double")
_COMPARED = ("bool", "string", "bytes", "timestamp", "duration")


def declared_fields() -> dict[str, str]:
    """Return the fields of ``request`` and ``namespaceObject``, such as ``request.kind.group``, with their types."""
    return dict(_fields_below("", _OBJECTS))


def _fields_below(path: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, kind in fields.items():
        if isinstance(kind, str):
            yield f"{path}{name}", kind
        else:
            yield from _fields_below(f"{path}{name}.", kind)


def configuration(extensions: Iterable[str], more: Iterable[Function] = ()) -> str:
    """Return the environment that checks expressions, in YAML: extensions of the library, the functions of Kubernetes, and ``more``."""
    lines = ["stdlib:", "  exclude_functions:", *(f"  - name: {name}" for name in (*_COMPARISONS, "string"))]
    lines += ["extensions:", *(f"- name: {name}" for name in extensions), "functions:"]
    declared = grouped((each.name, each) for each in (*FUNCTIONS, *SEARCHES, *_standard(), *more))
    for name, ways in declared.items():
        lines += [f"- name: '{name}'", "  overloads:"]
        for number, (_, takes, gives, _, member) in enumerate(ways):
            target = f"target: {{type: '{takes[0]}'}}, " if member else ""
            arguments = ", ".join(f"{{type: '{each}'}}" for each in takes[member:])
            lines.append(f"  - {{id: '{name}_{number}', {target}args: [{arguments}], return: {{type: '{gives}'}}}}")
    return "\n".join(lines)


def _standard() -> Iterator[Function]:
    """Functions of the language that take more here than in the library: numbers compare with those of another type."""
    for kind in (*_NUMBERS, *_COMPARED):
        yield Function("string", (kind,), "string", str, member=False)
    for name in _COMPARISONS:
        for takes in (*product(_NUMBERS, _NUMBERS), *((each, each) for each in _COMPARED)):
            yield Function(name, takes, "bool", bool, member=False)


# What the API server finds in an expression whose types are right.


def mistakes(checked: Checked, text: str, fails: Callable[[SyntaxNode], bool]) -> Iterator[ExpressionMistake]:
    """Yield mistakes that only the API server rejects; ``fails`` returns whether an expression without variables fails."""
    for node, message in _mistakes_in(checked, fails):
        yield ExpressionMistake(message, *checked.place_of(node, text))


def _mistakes_in(checked: Checked, fails: Callable[[SyntaxNode], bool]) -> Iterator[tuple[SyntaxNode, str]]:
    formatted: set[int] = set()
    for node in checked.root.walk():
        if node.kind == CALL and node.name == "format":
            formatted.update(each.id for part in node.parts for each in part.walk())
            yield from _format_faults(checked, node)
        elif node.kind == CALL and (node.name, checked.type_of(node.parts[0]) if node.parts else "") == _DURATION_AS_NUMBER:
            continue
        elif node.kind == CALL and node.name in _CONVERSIONS and node.parts and _is_constant(node.parts[0]):
            if _is_misread(node) or fails(node):
                yield node.parts[0], f"`{node.name}` cannot convert this value, so the API server rejects the expression"
        elif (
            node.kind == CALL and node.name in _PATTERNS and len(node.parts) > 1 and node.parts[1].kind == CONSTANT and fails(node.parts[1])
        ):
            yield node.parts[1], "this is not a valid regular expression"
        elif node.kind in (LIST, MAP) and node.id not in formatted:
            yield from _mixed(checked, node)
        elif node.kind == SELECTION:
            yield from _unknown_field(node)


_CONVERSIONS = frozenset(("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"))
_DURATION_AS_NUMBER = ("int", "google.protobuf.Duration")
"""What the library does not convert."""
_PATTERNS = frozenset(("matches", "find", "findAll"))


def _is_constant(node: SyntaxNode) -> bool:
    return node.kind == CONSTANT or (node.kind == CALL and node.name in _CONVERSIONS and all(map(_is_constant, node.parts)))


def _is_misread(node: SyntaxNode) -> bool:
    """Return whether the library reads a string as a number but the API server does not: with spaces, a sign, or too large."""
    literal = node.parts[0].text if node.parts[0].kind == CONSTANT else None
    if node.name not in ("int", "uint", "double") or literal is None:
        return False
    infinite = node.name == "double" and "n" not in literal.lower() and not math.isfinite(_as_number(literal))
    return literal != literal.strip() or infinite or (node.name == "uint" and not literal.isdigit())


def _as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _mixed(checked: Checked, node: SyntaxNode) -> Iterator[tuple[SyntaxNode, str]]:
    """Items of a literal list, or keys or values of a literal map, that are not all of one type."""
    for start, step in ((0, 1),) if node.kind == LIST else ((0, 2), (1, 2)):
        first = ""
        for index in range(start, len(node.parts), step):
            kind = checked.type_of(node.parts[index])
            if index in node.optional:
                kind = kind.removeprefix("optional_type(").removesuffix(")")
            first = first or kind
            if not _is_equivalent(first, kind):
                what = "an item" if node.kind == LIST else "a value" if start else "a key"
                wanted = f"{what} of type `{first}`" if "dyn" in (first, kind) else type_in_words(first)
                yield (node.parts[index], f"expected {wanted}, but this is {type_in_words(kind)}; use `dyn(…)` around each to mix types")
                break


def _is_equivalent(one: str, two: str) -> bool:
    """Whether types are the same; of an empty list or map the type of its items is open."""
    return one == two or (("list(dyn)" in (one, two) or "map(dyn, dyn)" in (one, two)) and one.partition("(")[0] == two.partition("(")[0])


def _unknown_field(node: SyntaxNode) -> Iterator[tuple[SyntaxNode, str]]:
    names = [node.name]
    below = node.parts[0]
    while below.kind == SELECTION:
        names.append(below.name)
        below = below.parts[0]
    path = [*field_path(below.name), *reversed(names[1:])]
    if below.kind != IDENTIFIER or path[0] not in _OBJECTS:
        return
    fields: Any = _OBJECTS
    for name in path:
        fields = fields.get(name) if isinstance(fields, Mapping) else None
    if isinstance(fields, Mapping) and node.name not in fields:
        yield node, f"`{'.'.join(path)}` has no field `{node.name}`"


# Formats: ``'…'.format([…])`` with literals is checked at once. After cel-go/ext/formatting.go.

_WRITES: Mapping[str, frozenset[str]] = {
    "s": frozenset(("list", "map", "int", "uint", "double", "bool", "string", "google.protobuf.Timestamp", "google.protobuf.Duration",
                    "bytes", "type", "null_type")),
    "d": frozenset(("int", "uint")), "o": frozenset(("int", "uint")), "b": frozenset(("int", "uint", "bool")),
    **dict.fromkeys("fe", frozenset(("double", "string"))), **dict.fromkeys("xX", frozenset(("int", "uint", "string", "bytes"))),
}  # fmt: skip
"""The types of values that each clause writes."""


def _format_faults(checked: Checked, node: SyntaxNode) -> Iterator[tuple[SyntaxNode, str]]:
    text = node.parts[0].text if node.parts[0].kind == CONSTANT else None
    if text is None or len(node.parts) < 2 or node.parts[1].kind != LIST:
        return
    values = iter(node.parts[1].parts)
    for clause in CLAUSE.finditer(text):
        if clause[0] == "%%":
            continue
        if clause[3] is not None or clause[2] not in _WRITES:
            yield node, f"`format` has no clause `{clause[0]}`"
            return
        value = next(values, None)
        if value is None:
            yield node, "`format` has fewer values than clauses"
            return
        kinds = [checked.type_of(each) for each in _written(value, clause[2])]
        wrong = next((kind for kind in kinds if kind != "dyn" and kind.partition("(")[0] not in _WRITES[clause[2]]), None)
        if wrong is not None:
            yield value, f"`{clause[0]}` does not format {type_in_words(wrong)}"
            return
    if next(values, None) is not None:
        yield node, "`format` has more values than clauses"


def _written(value: SyntaxNode, letter: str) -> Iterator[SyntaxNode]:
    """Yield a value and the values in it, if it is a literal list or map."""
    yield value
    if letter == "s" and value.kind in (LIST, MAP):
        for each in value.parts:
            yield from _written(each, letter)
