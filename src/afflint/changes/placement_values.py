"""Compares two versions of a file by the names of its fields, where what the file creates is not known.

The values of a chart in another place, the releases of a helmfile, and a patch show which placement values a change sets, but not in
which pods they end. Fields are recognised by the names that charts give them: ``replicaCount``, ``nodeSelector``, ``server.tolerations``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.kube.kinds import is_custom
from afflint.manifests.reader import objects_in
from afflint.report.changes.model import ValueChange
from afflint.yaml import documents
from afflint.yaml.document import Document, text_at
from afflint.yaml.embedded import documents_in_block
from afflint.yaml.object_fields import api_version_of, group_of, kind_of, name_of, namespace_of

_ENDINGS = ("replicas", "replicacount", "nodeselector", "tolerations", "topologyspreadconstraints", "affinity", "affinitypreset")
"""How the names of placement values end, in lower case."""
_WHOLE = frozenset(("nodename", "schedulername"))
_REPLICAS = ("replicas", "replicacount")
_SIZES = frozenset(("count", "instances", "members", "nodecount", "servers", "size"))
"""What custom resources call the number of their pods, in lower case."""
_OF_IMAGES = frozenset(
    ("tag", "image", "digest", "imagetag", "newtag", "newname", "repository", "registry", "pullpolicy", "imagepullpolicy")
)
"""The names of values that only say which image a container runs, in lower case."""
_LONGEST = 90


class ObjectDifference(NamedTuple):
    """What differs between two versions of an object: its placement values, and whether other fields do, images excepted.

    ``data`` is the newer version; for a document without a kind, its content. ``title``: its kind and name. ``is_whole``: one of the
    versions does not have the object.
    """

    document: Document
    data: dict[str, Any]
    title: str
    values: tuple[ValueChange, ...] = ()
    others: bool = False
    images: bool = False
    """Whether images differ: fields with names such as ``tag``."""
    is_whole: bool = False


class _FieldValue(NamedTuple):
    """A field with its value, and where it is. ``counts``: it is a placement value."""

    value: Any
    document: Document
    path: Path
    counts: bool


_FieldKey = tuple[object, ...]
_Fields = dict[_FieldKey, _FieldValue]


class _ReadObject(NamedTuple):
    title: str
    data: dict[str, Any]
    fields: _Fields
    document: Document


_NOTHING = _ReadObject("", {}, {}, Document(b"", 0, 0))


def object_differences(file: str, before: bytes | None, after: bytes | None) -> list[ObjectDifference] | None:
    """Return what differs between two versions of a YAML or JSON file, by object; None if one cannot be read. None is a missing version."""
    try:
        old, new = _objects(before), _objects(after)
        if old is None or new is None:
            return None
        found = [_difference(file, old.get(key, _NOTHING), new.get(key, _NOTHING)) for key in dict.fromkeys((*new, *old))]
    except RecursionError:  # Maps in maps, hundreds of times.
        return None
    return [each for each in found if each.values or each.others or each.images]


def _difference(file: str, old: _ReadObject, new: _ReadObject) -> ObjectDifference:
    here = new if new is not _NOTHING else old
    values, others, images = [], False, False
    for key in dict.fromkeys((*new.fields, *old.fields)):
        was, now = old.fields.get(key), new.fields.get(key)
        shown = now or was
        if shown is None or (was is not None and now is not None and was.value == now.value):
            continue
        if shown.counts:
            values.append(_change(file, here.title, key, was, now))
        else:
            name = next((step for step in reversed(key) if type(step) is str), "")
            is_image = name.lower() in _OF_IMAGES
            others, images = others or not is_image, images or is_image
    values.sort(key=lambda each: (each.line, each.field))
    return ObjectDifference(here.document, here.data, here.title, tuple(_once(values)), others, images, old is _NOTHING or new is _NOTHING)


def _once(values: Sequence[ValueChange]) -> Iterator[ValueChange]:
    """Yield the changes; fields that share a value, as the aliases of an anchor do, are one change."""
    alike = grouped(((each.line, each.text), each) for each in values)
    for first, *others in alike.values():
        yield first._replace(others=len(others))


def _objects(data: bytes | None) -> dict[_FieldKey, _ReadObject] | None:
    """Return the objects of a file by keys that do not depend on their order, with the fields that hold a value; None if it is not YAML."""
    found: dict[_FieldKey, _ReadObject] = {}
    alike: Counter[_FieldKey] = Counter()
    try:
        text = b"" if data is None else documents.to_utf8(data)
    except UnicodeDecodeError:
        return None
    for piece, line, problem in documents.split(text):
        document = documents.read(piece, 0, line)
        if problem is not None or document.problem is not None:
            return None
        for each, base in objects_in(document):
            identity = (api_version_of(each).rpartition("/")[0], kind_of(each), namespace_of(each), name_of(each))
            alike[identity] += 1
            title = f"{kind_of(each)} {name_of(each)}" if kind_of(each) and name_of(each) else ""
            key = (*identity, alike[identity])
            found[key] = _ReadObject(title, each, _fields_of(document, each, base), document)
        if type(document.data) is list:
            alike[()] += 1
            found["", alike[()]] = _ReadObject("", {}, _operations_of(document), document)
    return found


def _operations_of(document: Document) -> _Fields:
    """Return what the operations of a JSON patch set (RFC 6902), by the fields that they name."""
    found: _Fields = {}
    for index, each in enumerate(document.data if type(document.data) is list else ()):
        steps = text_at(each, "path").split("/")[1:]
        if steps:
            value = each.get("value", text_at(each, "op"))
            counts = "value" in each and _is_placement(steps[-1], value)
            repeated = sum(key[: len(steps)] == (*steps,) for key in found)
            key = (*steps, repeated) if repeated else (*steps,)
            _add(found, _Walked(document, value, key, (index, "value" if "value" in each else "op")), counts=counts)
    return found


class _NamedItem(NamedTuple):
    """The item of a list with this name."""

    name: str


class _TextDocument(NamedTuple):
    """The document with this number in a text."""

    number: int


class _Walked(NamedTuple):
    """A value, its key and its path in a document."""

    document: Document
    value: Any
    key: _FieldKey
    path: Path

    def below(self, step: str | int, identity: object, value: Any) -> _Walked:
        """Return the place of a value below this one."""
        return _Walked(self.document, value, (*self.key, identity), (*self.path, step))


def _fields_of(document: Document, data: dict[str, Any], base: Path) -> _Fields:
    """Return the placement values of an object, and its other single values; none that are empty."""
    found: _Fields = {}
    top = _Walked(document, data, (), base)
    waiting, is_operated = [top], is_custom(group_of(data))
    while waiting:
        here = waiting.pop()
        name = here.path[-1] if here.path else ""
        is_size = is_operated and type(here.value) is int and type(name) is str and name.lower() in _SIZES
        if here is not top and type(name) is str and (is_size or _is_placement(name, here.value)):
            _add(found, here, counts=True)
        elif type(here.value) is dict:
            waiting += [here.below(key, key, value) for key, value in here.value.items() if type(key) is str]
        elif type(here.value) is list:
            names = Counter[object]()
            for index, each in enumerate(here.value):
                identity = _identity(index, each)
                names[identity] += 1
                waiting.append(here.below(index, identity if names[identity] == 1 else (identity, names[identity]), each))
        else:
            texts = [*_documents_in(here)] if type(here.value) is str and "\n" in here.value else []
            waiting += [_Walked(each, each.data, (*here.key, _TextDocument(number)), ()) for number, each in enumerate(texts)]
            if not texts:
                _add(found, here, counts=False)
    return found


def _documents_in(place: _Walked) -> Iterator[Document]:
    """Yield the maps that a text contains as YAML."""
    return (each.document for each in documents_in_block(place.document, place.path) if type(each.document.data) is dict)


def _add(found: _Fields, place: _Walked, *, counts: bool) -> None:
    if counts or place.value not in (None, "", {}, []):
        found[place.key] = _FieldValue(place.value, place.document, place.path, counts)


def _identity(index: int, item: Any) -> object:
    """Return what identifies an item of a list: its name, or else its index."""
    name = item.get("name") if type(item) is dict else None
    return _NamedItem(name) if type(name) is str else index


def _is_placement(name: str, value: Any) -> bool:
    """Return whether a field with this name sets where pods run, or how many there are."""
    lower = name.lower()
    if lower in _WHOLE:
        return type(value) is str
    if not lower.endswith(_ENDINGS):
        return False
    if lower.endswith(_REPLICAS):
        return type(value) in (int, list) or (type(value) is str and value.isdigit())
    # ``sessionAffinity: ClientIP``, and the affinity of requests in an Ingress.
    return value is None or type(value) in (dict, list) or lower.endswith("preset")


def _change(file: str, title: str, key: _FieldKey, was: _FieldValue | None, now: _FieldValue | None) -> ValueChange:
    shown = now or was
    assert shown is not None
    line = shown.document.locate(shown.path, key=True).line
    if was is None:
        text = f"new, {_short(shown.value)}"
    elif now is None:
        text = f"removed, {_short(shown.value)}"
    else:
        old, new = _short(was.value), _short(now.value)
        text = f"{old} → {new}" if old != new else f"changed, now {new}"
    is_loss = now is not None and was is not None and str(now.value) == "0" != str(was.value)
    return ValueChange(file, line, title, _field(key), text, is_loss)


def _field(key: _FieldKey) -> str:
    """Return the name of a field in reports: ``releases[web].nodeSelector``."""
    text = ""
    for step in key:
        if isinstance(step, str):
            name = field_of((step,))
            text += name if name.startswith("[") or not text else f".{name}"
        elif not isinstance(step, _TextDocument):
            text += f"[{step.name if isinstance(step, _NamedItem) else step}]"
    return text


def _short(value: Any) -> str:
    """Return a value in one line of YAML, shortened."""
    text = _flow(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _flow(value: Any) -> str:
    if type(value) is dict:
        return f"{{{', '.join(f'{key}: {_flow(each)}' for key, each in value.items())}}}"
    if type(value) is list:
        return f"[{', '.join(map(_flow, value))}]"
    return "true" if value is True else "false" if value is False else "null" if value is None else str(value)
