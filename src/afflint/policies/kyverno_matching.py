"""Which objects a rule of Kyverno applies to: its ``match`` and ``exclude``, with their wildcards.

Semantics: pkg/engine/utils/match.go, and ext/wildcard: ``*`` for any text and ``?`` for one character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import NAMESPACE_NAME, Malformed, Selector, is_met, matches, parse_label_selector
from afflint.manifests.manifest import labels_at, reference
from afflint.yaml.document import map_at

_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?|\*")
_OF_USERS = ("roles", "clusterRoles", "subjects")
OWN_NAMESPACES = frozenset(("kube-system", "kube-public", "kube-node-lease", "kyverno"))
"""The namespaces that Kyverno leaves alone unless it is configured otherwise (the resourceFilters of its chart)."""


class UndecidedError(Exception):
    """The manifests do not decide what a policy does to an object; the message says what is missing."""


def holds_any(conditions: Iterable[Callable[[], bool]]) -> bool:
    """Return whether a condition holds. Raises UndecidedError if none does for certain, and one may."""
    doubts: list[UndecidedError] = []
    if any(_holds(each, doubts) for each in conditions):
        return True
    if doubts:
        raise doubts[0]
    return False


def _holds(condition: Callable[[], bool], doubts: list[UndecidedError]) -> bool:
    """Return whether a condition holds; one that is undecided is added to ``doubts``."""
    try:
        return condition()
    except UndecidedError as error:
        doubts.append(error)
        return False


def holds_all(conditions: Iterable[Callable[[], bool]]) -> bool:
    """Return whether all conditions hold. Raises UndecidedError if none fails for certain, and one may."""
    return not holds_any([lambda each=each: not each() for each in conditions])  # type: ignore[misc]


class Candidate(NamedTuple):
    """An object that is created, with the labels of its namespace; None if they are unknown."""

    data: dict[str, Any]
    namespace: str | None
    namespace_labels: Mapping[str, str] | None

    @property
    def name(self) -> str:
        """The name of the object, or the beginning of the name that it gets."""
        metadata = map_at(self.data, "metadata")
        name = metadata.get("name") or metadata.get("generateName")
        return name if isinstance(name, str) else ""


def applies(match: Any, exclude: Any, candidate: Candidate) -> bool:
    """Return whether a rule with these conditions applies to an object. Raises UndecidedError."""
    matching = [partial(_covers, each, candidate) for each in filters_of(match)]
    excluding = [partial(_covers, each, candidate) for each in filters_of(exclude) if each]
    if not matching or not (holds_any if match.get("any") else holds_all)(matching):
        return False
    return not excluding or not (holds_all if exclude.get("all") and not exclude.get("any") else holds_any)(excluding)


def kinds_of(match: Any) -> list[str]:
    """Return the kinds that a ``match`` or ``exclude`` names."""
    return [kind for each in filters_of(match) for kind in _texts(map_at(each, "resources").get("kinds"))]


def filters_of(match: Any) -> list[dict[str, Any]]:
    """Return the blocks of conditions of a ``match`` or ``exclude``."""
    if not isinstance(match, dict):
        return []
    listed = match.get("any") or match.get("all")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else [match]


def _covers(block: dict[str, Any], candidate: Candidate) -> bool:
    """Return whether all conditions of one block hold. An empty block covers nothing."""
    resources = map_at(block, "resources")
    conditions: list[Callable[[], bool]] = [
        partial(_CONDITIONS[field], value, candidate) for field, value in resources.items() if field in _CONDITIONS and value
    ]
    if any(block.get(each) for each in _OF_USERS):
        conditions.append(partial(_raise_undecided, "it depends on the user who creates the object"))
    return bool(conditions) and holds_all(conditions)


def _raise_undecided(reason: str) -> bool:
    raise UndecidedError(reason)


def _of_kind(kinds: Any, candidate: Candidate) -> bool:
    ref = reference(candidate.data)
    group, _, version = (ref.api_version or "").rpartition("/")
    own = (group, version, ref.kind or "", "")
    return any(all(map(is_match, _parsed_kind(each), own)) for each in _texts(kinds))


def _parsed_kind(text: str) -> tuple[str, str, str, str]:
    """Return group, version, kind and subresource of a selector of kinds (ParseKindSelector, pkg/utils/kube/kind.go)."""
    *above, last = text.split("/")
    parts = [*above, *last.split(".")]
    if len(parts) == 1:
        return "*", "*", parts[0], ""
    if len(parts) == 2:
        if parts == ["*", "*"]:
            return "*", "*", "*", "*"
        if parts[0] == "*" and parts[1].islower():
            return "*", "*", parts[0], parts[1]
        return ("*", parts[0], parts[1], "") if _VERSION.fullmatch(parts[0]) else ("*", "*", parts[0], parts[1])
    if len(parts) == 3:
        return ("*", *parts) if _VERSION.fullmatch(parts[0]) else (*parts, "")  # type: ignore[return-value]
    return (*parts,) if len(parts) == 4 else ("", "", "", "")  # type: ignore[return-value]


def _of_name(names: Any, candidate: Candidate) -> bool:
    return any(is_match(each, candidate.name) for each in ([names] if isinstance(names, str) else _texts(names)))


def _in_namespace(namespaces: Any, candidate: Candidate) -> bool:
    ref = reference(candidate.data)
    namespace = ref.name if ref.kind == "Namespace" else candidate.namespace
    if namespace is None:
        if "*" in _texts(namespaces):
            return True
        raise UndecidedError("it depends on the namespace, which the object does not set")
    return any(is_match(each, namespace) for each in _texts(namespaces))


def _annotated(annotations: Any, candidate: Candidate) -> bool:
    own = map_at(map_at(candidate.data, "metadata"), "annotations")
    if not isinstance(annotations, dict):
        return False
    return all(
        any(is_match(str(key), str(one)) and is_match(str(value), str(other)) for one, other in own.items())
        for key, value in annotations.items()
    )


def _in_labelled_namespace(selector: Any, candidate: Candidate) -> bool:
    if reference(candidate.data).kind == "Namespace":
        return True
    if candidate.namespace_labels is not None:
        return _selects(selector, candidate.namespace_labels)
    return selects_unknown_namespace(_selector(selector), candidate.namespace)


def selects_unknown_namespace(selector: Selector, name: str | None) -> bool:
    """Return whether a selector selects a namespace without a manifest, by its name. Raises UndecidedError."""
    by_name = [each for each in selector.requirements if each.key == NAMESPACE_NAME]
    if name is not None and not all(is_met(each, name) for each in by_name):
        return False
    if name is not None and len(by_name) == len(selector.requirements):
        return True
    raise UndecidedError("it depends on the labels of the namespace, which no manifest shows")


def _selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector, which may have wildcards in ``matchLabels``, selects an object with these labels."""
    if not isinstance(selector, dict):
        return matches(_selector(selector), labels)
    wanted = {str(key): str(value) for key, value in map_at(selector, "matchLabels").items()}
    vague = {key: value for key, value in wanted.items() if has_wildcards(key + value)}
    plain = {key: value for key, value in map_at(selector, "matchLabels").items() if str(key) not in vague}
    if not all(any(is_match(key, one) and is_match(value, other) for one, other in labels.items()) for key, value in vague.items()):
        return False
    return matches(_selector({**selector, "matchLabels": plain}), labels)


def _selector(selector: Any) -> Selector:
    parsed = parse_label_selector(selector)
    if parsed is None or isinstance(parsed, Malformed):
        raise UndecidedError("its label selector is not valid")
    return parsed


_CONDITIONS: dict[str, Callable[[Any, Candidate], bool]] = {
    "kinds": _of_kind,
    "name": _of_name,
    "names": _of_name,
    "namespaces": _in_namespace,
    "annotations": _annotated,
    "selector": lambda selector, candidate: _selects(selector, labels_at(candidate.data)),
    "namespaceSelector": _in_labelled_namespace,
    "operations": lambda operations, _: "CREATE" in _texts(operations),
}


def _texts(values: Any) -> list[str]:
    return [each for each in values if isinstance(each, str)] if isinstance(values, list) else []


_MOST_COMPARED = 10_000_000
"""The limit of the product of both lengths, which bounds the time of a comparison."""


def is_match(pattern: str, text: str) -> bool:
    """Return whether a pattern with wildcards matches the whole text. Raises UndecidedError if both are very long."""
    if pattern == text or not has_wildcards(pattern):
        return pattern == text
    if len(pattern) * len(text) > _MOST_COMPARED:
        raise UndecidedError("it compares very long texts")
    at, position, star, resumed = 0, 0, -1, 0
    while position < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, resumed = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[position]):
            at, position = at + 1, position + 1
        elif star >= 0:
            resumed += 1
            at, position = star + 1, resumed
        else:
            return False
    return not pattern[at:].strip("*")


def may_match(pattern: str, text: str) -> bool:
    """Return whether a pattern matches the whole text; true if both are very long."""
    try:
        return is_match(pattern, text)
    except UndecidedError:
        return True


def has_wildcards(text: str) -> bool:
    """Return whether a text has a wildcard."""
    return "*" in text or "?" in text
