"""Node pools in Terraform files, as documents like those of YAML: the data of each resource, and the position of each path.

Only literal values are read. What an expression computes is a placeholder, ``${...}``, as if a tool filled it in later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.yaml.document import Document

GROUP = "terraform"
"""The API group of the documents; their kind is the type of the resource."""
GOOGLE, AMAZON, AZURE, AZURE_CLUSTER = (
    "google_container_node_pool", "aws_eks_node_group", "azurerm_kubernetes_cluster_node_pool", "azurerm_kubernetes_cluster",
)  # fmt: skip
_HEAD = b'resource "'
_RESOURCE = re.compile(
    rb'(?m)^resource[ \t]+"(' + "|".join((GOOGLE, AMAZON, AZURE, AZURE_CLUSTER)).encode() + rb')"[ \t]+"([^"\s]{1,200})"[ \t]*\{'
)
_END = re.compile(rb"(?m)^\}")
_LONGEST, _MOST, _DEEPEST = 1 << 13, 64, 16
"""The parser takes ten seconds for a million bytes. A longer resource, and those after the first ones of a file, have unknown values."""
_SLOW = (b"<<", b"/*")
"""The beginnings of texts that take time by the square of their length."""
_META = frozenset(("count", "for_each", "depends_on", "lifecycle", "provider", "timeouts", "provisioner"))
_UNKNOWN = "${...}"
_REPEATED = "taint"


def declares_pools(data: bytes) -> bool:
    """Return whether a file is one of Terraform with node pools, by its text."""
    return (data.startswith(_HEAD) or b"\n" + _HEAD in data) and _RESOURCE.search(data) is not None


@cache
def is_available() -> bool:
    """Return whether the parser is installed: the extra ``terraform``."""
    from importlib.util import find_spec

    return find_spec("hcl2") is not None


def documents_in(data: bytes) -> Iterator[Document]:
    """Yield the node pools of a file of Terraform; nothing if the parser is not installed."""
    if is_available():
        for index, match in enumerate(_RESOURCE.finditer(data)):
            end = _END.search(data, match.end(), match.start() + _LONGEST)
            piece = data[match.start() : end.end() if end is not None else match.end()]
            known = end is not None and index < _MOST and not any(each in piece for each in _SLOW)
            document = _ResourceDocument(piece, index, data.count(b"\n", 0, match.start()))
            document.read(match[1].decode(), match[2].decode("utf-8", "replace"), known=known)
            yield document


class _KeyAndValue(NamedTuple):
    key: Span
    value: Span


class _ResourceDocument(Document):
    """A resource of Terraform: an object with the arguments of the resource in ``spec``, in camel case."""

    __slots__ = ("_places", "_whole")

    def read(self, kind: str, name: str, *, known: bool) -> None:
        """Read the resource; unless it is ``known``, or if it cannot be parsed, its arguments are a placeholder."""
        self._places: dict[Path, _KeyAndValue] = {}
        self._whole = True
        spec: Any = None
        try:
            if known:
                from hcl2.api import parses_to_tree

                body = parses_to_tree(self.text().replace("\r\n", "\n")).children[0]
                spec = self._body(next(each for each in body.children if getattr(each, "data", "") == "block"), ("spec",))
        except Exception:  # Whatever fails in the parser, Terraform reports the mistake.
            self._places.clear()
        self._places["metadata",] = _KeyAndValue(*[Span(self.line + 1, 1, self.line + 1, len(self.text().partition("{")[0]) + 1)] * 2)
        whole = self._whole and spec is not None
        self.data = {
            "apiVersion": f"{GROUP}/v1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec if spec is not None else _UNKNOWN,
            "whole": whole,
        }

    def locate(self, path: Path, *, key: bool = False) -> Span:
        """Return the span of the value at ``path``, of a map or list that of its key; of the nearest parent if it does not exist."""
        while path and path not in self._places:
            path = path[:-1]
        place = self._places.get(path) or self._places["metadata",]
        return place.key if key or place.value.line != place.value.end_line else place.value

    def extent(self, path: Path) -> Span:
        """Return the span of the value at ``path``."""
        return self.locate(path)

    def scalar_spans(self) -> Iterator[Span]:
        """Yield nothing: the quotes of Terraform are not those of YAML."""
        return iter(())

    def node_lines(self) -> Iterator[tuple[int, int, int]]:
        """Yield nothing."""
        return iter(())

    # Trees of the parser: a tree has ``data`` and ``children``, a token is a text.

    def _body(self, block: Any, path: Path) -> dict[str, Any]:
        """Return the arguments and blocks in a block. Those that Terraform computes, or that it reads itself, are left out."""
        found: dict[str, Any] = {}
        if len(path) > _DEEPEST:
            self._whole = False
            return found
        body = next(each for each in block.children if getattr(each, "data", "") == "body")
        for each in body.children:
            if getattr(each, "data", "") not in ("attribute", "block"):
                continue
            first = _text(each.children[0])
            if first in _META and len(path) == 1:
                continue
            name = re.sub("_([a-z0-9])", lambda match: match[1].upper(), first)
            to: Path = (*path, name)
            if each.data == "attribute":
                found[name] = self._value(each.children[-1], to)
            elif first == "dynamic":
                self._whole = False
                continue
            elif first == _REPEATED:
                found.setdefault(name, [])
                to = (*to, len(found[name]))
                found[name].append(self._body(each, to))
            else:
                found[name] = self._body(each, to)
            self._places[to] = _KeyAndValue(
                self._span(each.children[0]), self._span(each.children[-1] if each.data == "attribute" else each)
            )
        return found

    def _value(self, tree: Any, path: Path) -> Any:
        """Return a literal value; a placeholder for any other."""
        while getattr(tree, "data", "") == "expr_term" and len(tree.children) == 1:
            tree = tree.children[0]
        kind, children = getattr(tree, "data", ""), getattr(tree, "children", [])
        if kind == "string":
            return _string(children)
        if kind == "literal_value":
            return {"true": True, "false": False, "null": None}.get(str(children[0]), _UNKNOWN)
        if kind == "int_lit":
            return int(children[0]) if len(children[0]) < 10 else _UNKNOWN
        if kind == "object" and len(path) <= _DEEPEST:
            return dict(self._entries(children, path))
        if kind == "tuple" and len(path) <= _DEEPEST:
            items = [each for each in children if getattr(each, "data", "") not in ("", "new_line_or_comment")]
            places = [((*path, index), each) for index, each in enumerate(items)]
            self._places.update((to, _KeyAndValue(self._span(each), self._span(each))) for to, each in places)
            return [self._value(each, to) for to, each in places]
        return _UNKNOWN

    def _entries(self, children: list[Any], path: Path) -> Iterator[tuple[str, Any]]:
        """Yield the entries of a map: its values are texts, as Terraform converts those of labels."""
        for each in children:
            if getattr(each, "data", "") == "object_elem":
                key, value = each.children[0], each.children[-1]
                name = self._value(key.children[0], path) if len(key.children) == 1 else _UNKNOWN
                name = _text(key) if name == _UNKNOWN and _is_identifier(key) else name if type(name) is str else _UNKNOWN
                to: Path = (*path, name)
                read = self._value(value, to)
                self._places[to] = _KeyAndValue(self._span(key), self._span(value))
                yield name, str(read).lower() if type(read) is bool else str(read) if type(read) is int else read

    def _span(self, tree: Any) -> Span:
        """Return the span of a tree of the parser."""
        meta = getattr(tree, "meta", tree)
        return Span(self.line + meta.line, meta.column, self.line + meta.end_line, meta.end_column)


def _string(children: list[Any]) -> str:
    """Return the text of a string without expressions."""
    parts = [each for each in children if getattr(each, "data", "") == "string_part"]
    tokens = [token for part in parts for token in part.children]
    if any(getattr(token, "type", "") != "STRING_CHARS" for token in tokens):
        return _UNKNOWN
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), "".join(map(str, tokens)))


def _text(tree: Any) -> str:
    """Return the text of an identifier or a string, which may be in other trees."""
    while getattr(tree, "children", None):
        tree = next((each for each in tree.children if getattr(each, "data", "") or getattr(each, "type", "") == "NAME"), tree.children[0])
    return str(tree)


def _is_identifier(key: Any) -> bool:
    inner = key.children[0]
    while getattr(inner, "data", "") == "expr_term" and len(inner.children) == 1:
        inner = inner.children[0]
    return bool(getattr(inner, "data", "") == "identifier")
