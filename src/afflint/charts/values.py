"""Values of Helm charts: constraints that a chart copies into its pods, recognised by shape and checked where they are set.

A values file is recognised by its name or by a whole constraint in it (``are_values``). Custom resources contain values, too: as data
(Flux, Argo CD's ``valuesObject``), where they are found like any other constraint of a custom resource, or as text in a block scalar
(Argo CD's ``values``, ``valuesContent`` of k3s and RKE2). A ConfigMap or a Secret that a HelmRelease names under ``valuesFrom`` contains a
values file under the key ``values.yaml``, unless it names another. Charts that call ``tpl`` take a constraint itself as text
(``affinity: |``), in which there may be actions.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any

from afflint.findings.paths import Path
from afflint.kube.constraints import ShapedValue
from afflint.kube.kinds import Kind, possible_kinds
from afflint.kube.shapes import POD_FIELDS, Holder, holders_in, is_pod_spec, mentions_placement, shape_of
from afflint.manifests.custom_resources import CustomWorkload
from afflint.yaml.document import Document, map_at, value_at_path
from afflint.yaml.embedded import EmbeddedDocument, document_in_text, documents_in_block, entry_with_text, text_of_block
from afflint.yaml.object_fields import kind_of
from afflint.yaml.prefilter import is_values_file
from afflint.yaml.template_text import named_templates_in, template_text

VALUES = Kind("values", "", (), (), None)
"""What the constraints in a values file are those of."""
_ENTRY = Kind("values", "text", (), (), None)
"""One constraint as text; its path in the values is not part of the document."""
_NAMED = Kind("template", "text", (), (), None)
_FIELDS = frozenset(("values", "valuesContent", "valuesTemplate"))


def constraints_in_values(document: Document, data: dict[str, Any], *, whole: bool = True) -> Iterator[CustomWorkload]:
    """Yield the constraints in a document with values; ``data`` is the object that the values belong to, or the values themselves.

    ``whole`` is False for a document with one constraint instead of all values of a chart.
    """
    if type(document.data) is dict:
        for holder in holders_in(document.data, (), in_values=whole):
            yield CustomWorkload(document, data, (), VALUES if whole else _ENTRY, holder, "shape")


def are_values(document: Document) -> bool | None:
    """Return whether a document without a kind contains the values of a chart or pods; None if no placement constraint is in it.

    An affinity, tolerations or spread constraints show it. A node selector shows it if a label has a prefix or the keys above it are those
    of a known chart, because settings of other tools have maps of that name. The expectations of tests, patches without a kind, and files
    in JSON are not values.
    """
    data = document.data
    if type(data) is not dict or any(each in data for each in _OF_APIS):
        return None
    holders = [each for each in holders_in(data, ()) if _OF_SCHEMAS.isdisjoint(each.path)]
    parts = [part for each in holders for part in each.parts]
    if not parts or data.keys() <= _OF_PATCHES or not _OF_TESTS.isdisjoint(data) or document.raw_bytes.lstrip()[:1] == b"{":
        return False if parts else None
    pods = any(each.is_pod_spec or is_pod_spec(map_at(value_at_path(data, *each.path), "spec")) for each in holders)
    if pods or any(map(_is_distinct, parts)):
        return True
    from afflint.charts.releases import release_by_keys

    return any(release_by_keys(data, (), part.path[:-1], None) is not None for part in parts)


def _is_distinct(part: ShapedValue) -> bool:
    """Return whether nothing but a constraint of Kubernetes can have this form: a node selector needs a label with a prefix."""
    return part.shape != "nodeSelector" or any("/" in str(key) for key in part.value)


_OF_PATCHES = frozenset(("apiVersion", "metadata", "spec", "status"))
"""The keys of an object: without a kind it is a patch, whose missing fields are somewhere else."""
_OF_APIS, _OF_TESTS = ("openapi", "swagger"), frozenset(("expected", "expect", "want", "wants"))
_OF_SCHEMAS = frozenset(("properties", "patternProperties", "openAPIV3Schema"))


def embedded_values(document: Document) -> Iterator[tuple[Path, EmbeddedDocument]]:
    """Yield the values that a document contains as text, each with its path, as a document whose lines are those of the file.

    Only literal block scalars count, whose lines are the same in the file and in the text. Invalid YAML is left out.
    """
    for path in _texts(document.data, lambda key, _: key in _FIELDS or (type(key) is str and is_values_file(key))):
        found = text_of_block(document, path)
        if found is not None and mentions_placement(found[0]):
            yield from ((path, each) for each in documents_in_block(document, path))


def embedded_constraints(document: Document) -> Iterator[tuple[Path, EmbeddedDocument]]:
    """Yield the constraints that a document contains as text, each with the path of its map, as a document with its key and its data."""
    for path in _texts(document.data, lambda key, text: type(key) is str and key.endswith(_CONSTRAINTS) and "\n" in text):
        found = entry_with_text(document, path)
        if found is not None:
            yield path[:-1], found


def embedded_patches(document: Document) -> Iterator[tuple[Path, Document]]:
    """Yield the patches about placement that a document contains as text, each with its path: those of kustomize, Flux and KubeVirt."""
    for path in _texts(document.data, lambda key, text: (key == "patch" or type(key) is int) and mentions_placement(text.encode())):
        inner = document_in_text(document, path)
        if inner is not None:
            yield path, inner


def constraints_in_patch(document: Document, data: dict[str, Any], known: Container[int] = ()) -> Iterator[CustomWorkload]:
    """Yield the constraints in a patch, as a part of an object or as a list of operations (RFC 6902); ``data`` is the object with it.

    The operations with the indexes ``known`` are left out.
    """
    holders = list(holders_in(document.data, ())) if type(document.data) is dict else []
    for index, operation in _operations(document):
        if index not in known:
            holders += _holders_in_operation(operation, index)
    for holder in holders:
        yield CustomWorkload(document, data, (), _PATCH, holder, "shape")


_PATCH = Kind("patch", "text", (), (), None)


def _operations(patch: Document) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the operations of a JSON patch that set a value, with their indexes."""
    for index, each in enumerate(patch.data if type(patch.data) is list else ()):
        if type(each) is dict and each.get("op") in ("add", "replace") and type(each.get("path")) is str and "value" in each:
            yield index, each


class PatchedPart(Document):
    """What one operation of a JSON patch sets, as a part of an object of the kind that is patched.

    ``operation`` is its index, ``path`` the path of its value in the part. Positions are those of the patch.
    """

    __slots__ = ("operation", "path")

    def __init__(self, patch: Document, operation: int, path: Path, data: dict[str, Any]) -> None:
        super().__init__(patch.raw_bytes, patch.index, patch.line)
        self.data, self.root, self.operation, self.path = data, patch.root, operation, path
        self._directed = patch.has_directives

    def in_patch(self, path: Path) -> Path:
        """Return the path in the patch for one in the part: at the value of the operation, or at its path."""
        depth = len(self.path)
        return (self.operation, "value", *path[depth:]) if path[:depth] == self.path else (self.operation, "path")

    def plain_key(self, path: Path) -> str | None:
        """Return the unquoted key of a value inside the value of the operation; None for those in its path, which is text."""
        return super().plain_key(path) if len(path) > len(self.path) else None

    def _find(self, path: Path, *, exact: bool = False) -> tuple[Any, Any]:
        return super()._find(self.in_patch(path), exact=exact)


def patched_parts(patch: Document, target: dict[str, Any]) -> Iterator[PatchedPart]:
    """Yield what the operations of a JSON patch about placement set in the objects of its target; nothing if they are not workloads.

    ``target`` is that of a kustomization; only a kind of Kubernetes counts. Without a group, a path through ``tasks`` shows that a Job
    or a CronJob is Volcano's.
    """
    group, kind = target.get("group") or "", next(iter(possible_kinds(None, kind_of(target))), None)
    if kind is None or group not in ("", kind.group):
        return
    for index, operation in _operations(patch):
        steps = _steps(operation["path"])
        if steps is None or (not group and "tasks" in steps):
            continue
        if not mentions_placement(f"{steps} {operation['value']}".encode("utf-8", "replace")):
            continue
        part: Any = operation["value"]
        for step in reversed(steps):
            part = [part] if step == 0 else {step: part}
        api_version = f"{kind.group}/{kind.versions[0]}".removeprefix("/")
        yield PatchedPart(patch, index, steps, {"apiVersion": api_version, "kind": kind.name, **part})


def _steps(pointer: str) -> Path | None:
    """Return the path that a JSON pointer below ``spec`` names, with 0 for an item of a list.

    None for other pointers, and for those into an item of a constraint: the rest of the item is unknown.
    """
    steps: list[str | int] = []
    for token in pointer.split("/")[1:]:
        is_item = (token == "-" or token.isdecimal()) and steps[-1:] not in (["nodeSelector"], ["matchLabels"], ["labels"], ["annotations"])
        steps.append(0 if is_item else token.replace("~1", "/").replace("~0", "~"))
    start = next((index for index, step in enumerate(steps) if step in POD_FIELDS), len(steps))
    return None if steps[:1] != ["spec"] or 0 in steps[start:-1] or len(steps) > _DEEPEST else tuple(steps)


_DEEPEST = 32


def _holders_in_operation(operation: dict[str, Any], index: int) -> Iterator[Holder]:
    """Yield the constraints that an operation adds: its value is one, an item of one, or contains some."""
    steps = operation["path"].split("/")
    name, last = "".join(steps[-2:-1]), steps[-1]
    is_item = last == "-" or last.isdigit()
    value, to = operation.get("value"), (index, "value")
    field, given = (name, [value]) if is_item else (last, value)
    shape = shape_of(field, given)
    if shape is not None:
        yield Holder((index,), (ShapedValue(shape, to, given),))
    else:
        yield from holders_in(value, to)


def constraints_in_named_templates(text: str) -> Iterator[tuple[EmbeddedDocument, list[CustomWorkload]]]:
    """Yield the documents in the named templates of a file with constraints: fields of a pod, an affinity, or spread constraints.

    A template that includes them may add further items.
    """
    for body, line in named_templates_in(text):
        written = body.encode("utf-8", "replace")
        for read in _literal_documents(written, line) if mentions_placement(written) else ():
            document = read.document
            holders = holders_in(document.data, ()) if type(document.data) is dict else ()
            found = [CustomWorkload(document, {}, (), _NAMED, holder, "shape") for holder in holders]
            if found:
                yield read, found


def _literal_documents(text: bytes, line: int) -> Iterator[EmbeddedDocument]:
    """Yield the documents in the text of a named template below ``line`` lines; a list of spread constraints gets the key of its field."""
    template = template_text(text, line)
    for document in template.documents(mentions_placement) if template is not None else ():
        if not shape_of(_SPREAD, document.data):
            yield EmbeddedDocument(document, template)
        elif text.lstrip(b" \r").startswith(b"\n"):  # The key takes the place of the action that begins the template.
            keyed = template_text(f"{_SPREAD}:".encode() + text.lstrip(b" "), line)
            yield from (EmbeddedDocument(each, keyed) for each in keyed.documents(mentions_placement)) if keyed is not None else ()


_SPREAD = "topologySpreadConstraints"


_CONSTRAINTS = ("ffinity", "olerations", "odeSelector", "opologySpreadConstraints")


def _texts(data: Any, matches: Callable[[Any, str], bool]) -> Iterator[Path]:
    """Yield the paths of all strings whose key and text match."""
    waiting: list[tuple[Any, Path]] = [(data, ())]
    while waiting:
        here, at = waiting.pop()
        items = here.items() if type(here) is dict else enumerate(here) if type(here) is list else ()
        for key, each in items:
            if type(each) is str:
                if matches(key, each):
                    yield (*at, key)
            elif each:
                waiting.append((each, (*at, key)))
