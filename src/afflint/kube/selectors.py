"""Selectors of labels and nodes: how they are read, and what they match. ``selector_algebra`` says how they relate."""

import re
from collections.abc import Iterable, Mapping, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.label_syntax import is_key, is_value
from afflint.yaml.placeholders import is_placeholder

NODE_NAME = "metadata.name"
"""The only field of a node that ``matchFields`` can select by."""

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that the API server gives every Namespace, whatever its manifest says."""

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

_INTEGER = re.compile(r"[+-]?[0-9]+")


class Requirement(NamedTuple):
    """One condition on a label, or on a field of the node when ``field`` is set."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    field: bool = False


class Selector(NamedTuple):
    """Requirements that must all be met. Without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()


class AnyOf(NamedTuple):
    """Alternatives, such as the terms of a required node affinity; without any, it matches nothing."""

    selectors: tuple[Selector, ...] = ()


class Malformed(NamedTuple):
    """The result of parsing data that Kubernetes cannot parse. ``path`` leads to the invalid value.

    ``mistyped`` is whether decoding fails (a number for a string), not only validation.
    """

    path: Path
    problem: str
    mistyped: bool = False


Selection = Selector | AnyOf
Parsed = Selector | Malformed | None
"""A parsed selector; ``None`` is an absent selector or a node selector term without requirements. Both match nothing."""

EVERYTHING = Selector()


def parse_int64(text: str) -> int | None:
    """Return the integer that Gt and Lt read from ``text`` (`strconv.ParseInt`, base 10, 64 bits): None if invalid."""
    if not _INTEGER.fullmatch(text):
        return None
    if len(text.lstrip("+-0")) > 19:  # Python refuses to convert very long digit strings.
        return None
    number = int(text)
    return number if INT64_MIN <= number <= INT64_MAX else None


def from_labels(data: object) -> Selector | Malformed:
    """Return a map of labels (nodeSelector, matchLabels, a Service's selector) as requirements; null is the empty map or string.

    Keys and values are not checked here: the scheduler compares them as they are.
    """
    if data is None:
        return EVERYTHING
    if not isinstance(data, dict):
        return Malformed((), "is not a map of labels", mistyped=True)
    requirements = []
    for key, value in data.items():
        if not isinstance(key, str):
            return Malformed((), "has a key that is not a string", mistyped=True)
        if value is None:
            value = ""
        if not isinstance(value, str):
            return Malformed((key,), "is not a string", mistyped=True)
        requirements.append(Requirement(key, "In", (value,)))
    return Selector(tuple(requirements))


def parse_label_selector(data: object) -> Parsed:
    """Parse a LabelSelector: ``matchLabels`` first, then ``matchExpressions``, in the order of the manifest. None stays None."""
    if data is None:
        return None
    if not isinstance(data, dict):
        return Malformed((), "is not a label selector", mistyped=True)
    labels = from_labels(data.get("matchLabels"))
    if isinstance(labels, Malformed):
        return labels._replace(path=("matchLabels", *labels.path))
    for requirement in labels.requirements:
        fault = _label_fault(requirement)
        if fault is not None:
            return Malformed(("matchLabels", requirement.key), fault[1])
    expressions = _parse_expressions(data.get("matchExpressions"), "matchExpressions", LABEL_OPERATORS)
    if isinstance(expressions, Malformed):
        return expressions
    return Selector(labels.requirements + expressions)


def parse_expression(data: object) -> Requirement | Malformed:
    """Parse one of the ``matchExpressions`` of a LabelSelector."""
    return _parse_requirement(data, LABEL_OPERATORS, field=False)


def parse_node_term(data: object) -> Parsed:
    """Parse a node selector term: ``matchExpressions``, then ``matchFields``. A term without both is None: it matches no node."""
    if data is None:
        return None
    if not isinstance(data, dict):
        return Malformed((), "is not a node selector term", mistyped=True)
    expressions = _parse_expressions(data.get("matchExpressions"), "matchExpressions", NODE_OPERATORS)
    if isinstance(expressions, Malformed):
        return expressions
    fields = _parse_expressions(data.get("matchFields"), "matchFields", FIELD_OPERATORS)
    if isinstance(fields, Malformed):
        return fields
    return Selector(expressions + fields) if expressions or fields else None


def merge_label_keys(selector: Parsed, labels: Mapping[str, str], match: Iterable[str] = (), mismatch: Iterable[str] = ()) -> Parsed:
    """Add ``matchLabelKeys`` and ``mismatchLabelKeys`` to a selector, as the API server does for a pod with these labels.

    Keys that the pod lacks are ignored. An absent selector stays absent: it still matches nothing.
    """
    if not isinstance(selector, Selector):
        return selector
    merged = [Requirement(key, "In", (labels[key],)) for key in match if key in labels]
    merged += [Requirement(key, "NotIn", (labels[key],)) for key in mismatch if key in labels]
    return Selector((*selector.requirements, *merged)) if merged else selector


def requirement_paths(data: object) -> tuple[Path, ...]:
    """Return the path in ``data`` of each requirement of a parsed label selector, in order."""
    paths: list[Path] = []
    if isinstance(data, dict):
        paths += [("matchLabels", key) for key in data.get("matchLabels") or ()]
        paths += [("matchExpressions", index) for index in range(len(data.get("matchExpressions") or ()))]
    return tuple(paths)


def _parse_expressions(data: object, name: str, operators: Sequence[str]) -> tuple[Requirement, ...] | Malformed:
    if data is None:
        return ()
    if not isinstance(data, list):
        return Malformed((name,), "is not a list", mistyped=True)
    requirements = []
    for index, item in enumerate(data):
        requirement = _parse_requirement(item, operators, field=name == "matchFields")
        if isinstance(requirement, Malformed):
            return requirement._replace(path=(name, index, *requirement.path))
        requirements.append(requirement)
    return tuple(requirements)


def _parse_requirement(data: object, operators: Sequence[str], field: bool) -> Requirement | Malformed:
    entry = {} if data is None else data
    if not isinstance(entry, dict):
        return Malformed((), "is not a requirement", mistyped=True)
    key, operator, listed = entry.get("key"), entry.get("operator"), entry.get("values")
    if not isinstance(key, str | None):
        return Malformed(("key",), "is not a string", mistyped=True)
    if not isinstance(operator, str | None):
        return Malformed(("operator",), "is not a string", mistyped=True)
    if operator is None or operator not in operators:
        return Malformed(("operator",), "is not one of " + ", ".join(operators))
    values: list[str] = []
    if listed is not None:
        if not isinstance(listed, list):
            return Malformed(("values",), "is not a list", mistyped=True)
        for index, value in enumerate(listed):
            if value is not None and not isinstance(value, str):
                return Malformed(("values", index), "is not a string", mistyped=True)
            values.append(value or "")
    requirement = Requirement(key or "", operator, tuple(values), field)
    fault = _field_fault(requirement) if field else _label_fault(requirement)
    return requirement if fault is None else Malformed(*fault)


def _field_fault(requirement: Requirement) -> tuple[Path, str] | None:
    return None if len(requirement.values) == 1 else (("values",), "must have exactly one value")


def _label_fault(requirement: Requirement) -> tuple[Path, str] | None:
    """Return why the scheduler cannot parse a requirement on a label, with the path of the mistake, or None if it can."""
    key, operator, values, _ = requirement
    if not is_key(key):
        return ("key",), "is not a valid label key"
    if operator in ("In", "NotIn"):
        if not values:
            return ("values",), "needs at least one value"
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            return ("values",), "must be empty"
    else:
        if len(values) != 1:
            return ("values",), "must have exactly one value"
        if parse_int64(values[0]) is None:
            return ("values", 0), "is not an integer"
    for index, value in enumerate(values):
        if not is_value(value):
            return ("values", index), "is not a valid label value"
    return None


def is_met(requirement: Requirement, value: str | None) -> bool:
    """Return whether a requirement matches a label with this value; None is an absent label."""
    operator = requirement.operator
    if operator == "In":
        return value in requirement.values
    if operator == "NotIn":
        return value not in requirement.values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    number, operand = parse_int64(value or ""), parse_int64(requirement.values[0])
    if number is None or operand is None:
        return False
    return number > operand if operator == "Gt" else number < operand


def first_unmet(requirements: Iterable[Requirement], labels: Mapping[str, str], name: str = "") -> int | None:
    """Return the index of the first requirement that a pod or node with these labels (and this name) does not meet, or None."""
    for index, requirement in enumerate(requirements):
        if requirement.field:
            # Nodes have no other field to select by: any other key reads as the empty string.
            value: str | None = name if requirement.key == NODE_NAME else ""
        else:
            value = labels.get(requirement.key)
        if not is_met(requirement, value):
            return index
    return None


def matches(selection: Selection | Malformed | None, labels: Mapping[str, str], name: str = "") -> bool:
    """Return whether a selection matches a pod or node with these labels (and this name, for matchFields).

    Malformed and None match nothing.
    """
    if isinstance(selection, Selector):
        return first_unmet(selection.requirements, labels, name) is None
    if isinstance(selection, AnyOf):
        return any(matches(selector, labels, name) for selector in selection.selectors)
    return False


def has_placeholder(requirement: Requirement) -> bool:
    """Return whether a tool has to fill in the key or a value of a requirement."""
    return any(map(is_placeholder, (requirement.key, *requirement.values)))


def describe(requirement: Requirement) -> str:
    """Describe a requirement as in the manifest: ``zone In [east]``, ``gpu Exists``."""
    if requirement.operator in ("Exists", "DoesNotExist"):
        return f"{requirement.key} {requirement.operator}"
    values = ", ".join(requirement.values[:4]) + (", …" if len(requirement.values) > 4 else "")
    return f"{requirement.key} {requirement.operator} [{values}]"


def describe_briefly(requirement: Requirement) -> str:
    """Describe a requirement as users write labels, where possible: ``performance=high``."""
    if requirement.operator == "In" and len(requirement.values) == 1:
        return f"{requirement.key}={requirement.values[0]}" if requirement.values[0] else requirement.key
    return describe(requirement)


def intersection(first: Selector, second: Selector) -> Selector:
    """Return the selector that matches what both match."""
    return Selector(first.requirements + second.requirements)
