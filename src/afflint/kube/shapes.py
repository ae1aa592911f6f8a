"""Placement constraints recognised by their shape in data without a known schema: custom resources, chart values.

A value counts only if its own form identifies it: field names alone mean other things elsewhere (session affinity, label selectors of
nodes, Percona's and CloudNativePG's own ``affinity``). Values with another shape are ignored.
"""

import functools
import itertools
import re
from collections.abc import Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.constraints import PREFERRED, REQUIRED, ShapedValue
from afflint.yaml.object_fields import api_version_of, kind_of

AFFINITY_FIELDS = frozenset(("nodeAffinity", "podAffinity", "podAntiAffinity"))
"""The fields of an affinity."""
_POD_FIELD_TYPES = (("affinity", dict), ("nodeSelector", dict), ("tolerations", list), ("topologySpreadConstraints", list))
POD_FIELDS = tuple(name for name, _ in _POD_FIELD_TYPES)
"""The placement fields of a pod spec that are maps and lists."""
_POD_FIELDS = frozenset(POD_FIELDS)


class Holder(NamedTuple):
    """A map at ``path`` with some placement fields of the same pods. ``is_pod_spec``: it has containers, too."""

    path: Path
    parts: tuple[ShapedValue, ...]
    is_pod_spec: bool = False


def mentions_placement(text: bytes) -> bool:
    """Return whether a text may contain a constraint: a fast search for words that every constraint contains."""
    return any(map(text.__contains__, _WORDS))


# Parts of words, so that a misspelt one is met, too; the last one is the effect of most tolerations.
_WORDS = (
    b"ffin",
    b"afin",
    b"olerat",
    b"oleRat",
    b"ollerat",
    b"olarat",
    b"odeSel",
    b"odesel",
    b"ySpread",
    b"SpreadConstr",
    b"topologyKey",
    b"NoSchedule",
)


def holders_in(
    value: Any,
    path: Path,
    passing: frozenset[Path] = frozenset(),
    manifests: list[tuple[dict[str, Any], Path]] | None = None,
    *,
    in_values: bool = False,
) -> Iterator[Holder]:
    """Yield the maps in ``value`` with placement constraints, recognised by the shape of their values.

    ``path`` is the path of ``value``. Values at and below the paths of ``passing`` are known already and skipped, and so are ``status`` and
    ``metadata``. Complete objects are not searched; those in a field in which policies and templates contain objects are added to
    ``manifests``. A map with only empty fields with misspelt names is yielded without parts. ``in_values``: so are the maps in which
    ``misshapen_fields`` are all that looks like a constraint.
    """
    # A map that contains a recognised constraint is not a constraint itself.
    above = frozenset(each[:length] for each in passing for length in range(len(path), len(each)))
    waiting: list[tuple[Any, Path]] = [(value, path)]
    while waiting:
        here, at = waiting.pop()
        if type(here) is list:
            waiting += [(each, (*at, index)) for index, each in reversed([*enumerate(here)]) if type(each) is dict or type(each) is list]
            continue
        if type(here) is not dict or at in passing:
            continue
        if at != path and _is_manifest(here):
            if manifests is not None and next((step for step in reversed(at) if type(step) is str), "") in _FIELDS_WITH_MANIFESTS:
                manifests.append((here, at))
            continue
        parts: list[ShapedValue] = []
        below: list[tuple[Any, Path]] = []
        has_mistake = False
        for key, each in here.items():
            if type(each) is not dict and type(each) is not list and key not in _POD_FIELDS:
                continue
            if not each:
                if type(each) is not dict and type(each) is not list:
                    continue
                has_mistake = has_mistake or meant_field(key) is not None
                continue
            to = (*at, key)
            if to in passing or key in ("status", "metadata"):
                continue
            shape = (shape_of(key, each) or _shape_in_place(key, each, here, in_values=in_values)) if to not in above else None
            if shape is None:
                below.append((each, to))
            else:
                parts.append(ShapedValue(shape, to, each))
        if parts:
            yield from _group_by_pods(at, parts, is_pod_spec=is_pod_spec(here))
        elif has_mistake or dedented_field(here) or (in_values and misshapen_fields(here)):
            yield Holder(at, ())
        waiting += reversed(below)


def is_pattern(group: str) -> bool:
    """Return whether an API group is one of policies, with patterns whose keys and values may be expressions."""
    return group.endswith(_OF_PATTERNS)


def is_compared(group: str, path: Path) -> bool:
    """Return whether a policy compares objects with the value at a path, which may be an expression, and gives it to no object."""
    return group.startswith("constraints.") if group.endswith("gatekeeper.sh") else is_pattern(group) and "validate" in path


_OF_PATTERNS = ("kyverno.io", "gatekeeper.sh")


_FIELDS_WITH_MANIFESTS = frozenset(("objectDefinition", "objects", "manifest", "manifests", "resources", "resourceTemplates", "template"))


def _is_manifest(value: dict[str, Any]) -> bool:
    return bool(api_version_of(value) and kind_of(value)) and (type(value.get("metadata")) is dict or type(value.get("spec")) is dict)


def is_pod_spec(value: dict[str, Any]) -> bool:
    """Return whether a map is a pod spec: it lists containers."""
    containers = value.get("containers")
    return (
        type(containers) is list
        and bool(containers)
        and all(type(each) is dict and ("name" in each or "image" in each) for each in containers)
    )


def shape_of(key: object, value: Any) -> str | None:
    """Return the shape of the value of a field with this name, or None if it is not a placement field or means something else.

    A mistake inside does not hide the shape: a misspelt or misplaced field, or one map in place of a list.
    """
    if type(key) is not str or not value:
        return None
    if type(value) is dict:
        return _shape_of_map(key, value)
    if type(value) is list and all(type(each) is dict for each in value):
        return _shape_of_list(key, value)
    return None


def _shape_in_place(key: str, value: Any, holder: dict[str, Any], *, in_values: bool) -> str | None:
    """Return the shape of a value that has the wrong type for it, if the fields next to it are those of a pod."""
    if type(value) is str and re.match(_GO_TEXT, value):
        return key if key in POD_FIELDS else None
    if key == "affinity":
        listed = type(value) is list and all(type(each) is dict and AFFINITY_FIELDS.issuperset(each) for each in value)
        return key if listed and value else None
    if key != "nodeSelector" or not value or not _is_beside_placement(holder):
        return None
    if type(value) is dict and not in_values:
        return None  # Resources of operators may have selectors of another form.
    if type(value) is dict:
        return (
            key if _NOT_LABELS.issuperset(value) or any("/" in str(name) and type(each) is list for name, each in value.items()) else None
        )
    if type(value) is str:
        return key if re.fullmatch(_ONE_LABEL, value) else None
    of_labels = type(value) is list and all(type(each) is str or (type(each) is dict and _holds_labels("", each)) for each in value)
    return key if of_labels else None


def misshapen_fields(holder: dict[str, Any]) -> list[str]:
    """Return the placement fields of a map whose value is text, or a list in place of a map, or a map in place of a list.

    A nodeSelector is one of them if the value of a label is a list or a map.
    """
    found = [name for name, type_ in _POD_FIELD_TYPES if type(holder.get(name)) in {str, list, dict} - {type_} and holder[name]]
    labels = holder.get("nodeSelector")
    return [*found, "nodeSelector"] if type(labels) is dict and any(type(each) not in _SCALARS for each in labels.values()) else found


_NOT_LABELS = frozenset(("matchLabels", "matchExpressions"))
"""The fields of selectors, which a nodeSelector does not have."""
_GO_TEXT = r"\[?map\["
"""How Go prints a map or a list."""
_ONE_LABEL = r"[\w./-]+(?: *[:=] *[\w.-]*)?"


def _is_beside_placement(holder: dict[str, Any]) -> bool:
    """Return whether a map has placement fields of pods besides a nodeSelector, perhaps empty ones."""
    return any(
        type(holder.get(name)) is type_ for name, type_ in (("tolerations", list), ("topologySpreadConstraints", list), ("affinity", dict))
    )


def dedented_field(holder: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """Return a placement field without a value, and the fields directly after it that belong inside it but are not indented."""
    for field in ("affinity", "nodeSelector"):
        if field in holder and holder[field] is None:
            after = list(holder)
            after = after[after.index(field) + 1 :]
            inside = tuple(itertools.takewhile(functools.partial(_belongs_in, field, holder), after))
            if inside:
                return field, inside
    return None


def _belongs_in(field: str, holder: dict[str, Any], name: str) -> bool:
    if field == "affinity":
        return name in AFFINITY_FIELDS and shape_of(name, holder[name]) == name
    return "/" in name and type(holder[name]) is str


def _shape_of_map(key: str, value: dict[str, Any]) -> str | None:
    if key.endswith("odeSelector") or _is_misspelt(key, "nodeSelector"):
        if _holds_labels(key, value):
            return "nodeSelector"
        return "labelSelector" if "matchExpressions" in value and _has_unknown_key(value) else None
    if AFFINITY_FIELDS.issuperset(value):
        rules = any(type(each) is dict for each in value.values())
        return "affinity" if key not in _WHOLES and (rules or any(map(_is_list_of_terms, value.values()))) else None
    if key == "tolerations" and value.keys() <= _OF_TOLERATIONS and not value.keys().isdisjoint(("operator", "effect")):
        return key
    # Charts such as CockroachDB's take a map without a selector and write the list themselves.
    if key == "topologySpreadConstraints" and value.keys() <= _EVERY_OF_SPREADS and {"topologyKey", "labelSelector"} <= value.keys():
        return key
    return _one_affinity(key, value) or ("affinity" if _is_affinity_with_mistakes(key, value) else None)


_WHOLES = ("spec", "values", "valuesObject")
"""Fields whose map is never an affinity, even if it has the fields of one by mistake."""
_SCALARS = (str, int, float, bool, type(None))
_OF_TOLERATIONS = frozenset(("key", "operator", "value", "effect", "tolerationSeconds"))
_OF_SPREADS = frozenset(("maxSkew", "topologyKey", "whenUnsatisfiable"))
_EVERY_OF_SPREADS = _OF_SPREADS | {"labelSelector", "matchLabelKeys", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy"}
_OF_POD_TERMS = frozenset(("topologyKey", "labelSelector", "namespaces", "namespaceSelector", "podAffinityTerm"))
_RULES = (REQUIRED, PREFERRED)
_BESIDE_AFFINITY = frozenset(("nodeSelector", "tolerations", "topologySpreadConstraints"))


def _holds_labels(key: str, value: dict[str, Any]) -> bool:
    """Return whether a map is a nodeSelector: it has only labels, or labels and fields that are indented too far."""
    others = [name for name, each in value.items() if type(each) not in _SCALARS]
    return not others or (key == "nodeSelector" and len(others) < len(value) and _MISPLACED_IN_LABELS.issuperset(others))


def _has_unknown_key(value: dict[str, Any]) -> bool:
    """Return whether a label selector has a match expression with a field that none has; other label selectors of nodes do not matter."""
    expressions = value["matchExpressions"]
    return (
        value.keys() <= {"matchLabels", "matchExpressions"}
        and type(expressions) is list
        and any(type(each) is dict and "operator" in each and not each.keys() <= _OF_EXPRESSIONS for each in expressions)
    )


_OF_EXPRESSIONS = frozenset(("key", "operator", "values"))
_MISPLACED_IN_LABELS = AFFINITY_FIELDS | {"affinity", "tolerations", "topologySpreadConstraints"}


def _is_misspelt(name: str, field: str) -> bool:
    """Return whether a name is the field, its plural or its singular, with a wrong letter in its words or a wrong case.

    The plural or singular itself may be a field of its own. A name in snake case is a field of an operator or a chart that writes all its
    fields so.
    """
    if name == field or "_" in name or abs(len(name) - len(field)) > 2 or name[:1].lower() != field[:1].lower():
        return False
    from afflint.findings.similarity import is_likely_typo

    forms = field, field.removesuffix("s") if field.endswith("s") else f"{field}s"
    if name in forms:
        return False
    words = [re.findall(_CAMEL_WORD, each) for each in (name, field)]
    pairs = [(one, own) for one, own in zip(*words, strict=False) if one != own] if "".join(words[0]) == name else []
    in_words = len(words[0]) == len(words[1]) and bool(pairs) and all(is_likely_typo(*pair) for pair in pairs)
    return in_words or any(is_likely_typo(name, each) for each in forms)


_CAMEL_WORD = r"[A-Za-z][a-z]*"


@functools.lru_cache(maxsize=1024)
def meant_field(name: object) -> str | None:
    """Return the placement field of a pod spec or an affinity that a misspelt name means; None for other names."""
    if type(name) is not str or name[:1] not in _FIRST_LETTERS:
        return None
    return next((field for field in (*POD_FIELDS, *sorted(AFFINITY_FIELDS)) if _is_misspelt(name, field)), None)


_FIRST_LETTERS = tuple("AaNnPpTt")


def misspelt_rule(name: str) -> str | None:
    """Return the rule of an affinity, required or preferred, that a long name means; None if it is one or means something else."""
    if name in _RULES or len(name) < _SHORTEST_RULE:
        return None
    lower = name.lower()
    word, during, _ = lower.partition("during")
    return next((rule for rule in _RULES if during and (lower[:8] == rule[:8] or _is_near(word, rule[: rule.index("D")]))), None)


def _is_near(word: str, other: str) -> bool:
    """Return whether two words begin with one letter, and have the others in common except for two."""
    letters = {*word, *other}
    return word[:1] == other[:1] and sum(abs(word.count(each) - other.count(each)) for each in letters) <= _FEW_LETTERS


_FEW_LETTERS = 2
_SHORTEST_RULE = len("requiredDuring")


def _is_rule(name: object) -> bool:
    return type(name) is str and (name in _RULES or misspelt_rule(name) is not None)


def _is_list_of_terms(value: Any) -> bool:
    return type(value) is list and bool(value) and all(type(each) is dict and not _OF_POD_TERMS.isdisjoint(each) for each in value)


def _is_affinity_with_mistakes(key: str, value: dict[str, Any]) -> bool:
    """Return whether a map is an affinity with a misspelt or misplaced field. A word of an operator or a chart makes it something else."""
    if key.lower() != "affinity" and not _is_misspelt(key, "affinity"):
        return False
    rules = [name for name, each in value.items() if type(each) is dict and any(map(_is_rule, each))]
    lost = any(map(_is_rule, value)) and not AFFINITY_FIELDS.isdisjoint(value)
    return (bool(rules) or lost) and all(
        name in AFFINITY_FIELDS or name in _BESIDE_AFFINITY or _is_rule(name) or any(_is_misspelt(name, each) for each in AFFINITY_FIELDS)
        for name in value
    )


def _shape_of_list(key: str, value: list[dict[str, Any]]) -> str | None:
    if (key.lower().endswith("tolerations") or key == "toleration" or _is_misspelt(key, "tolerations")) and all(map(_is_toleration, value)):
        return "tolerations"
    if all("topologyKey" in each and "whenUnsatisfiable" in each for each in value):
        return "topologySpreadConstraints"
    if key.endswith("opologySpreadConstraints") and all(not _OF_SPREADS.isdisjoint(each) for each in value):
        return "topologySpreadConstraints"
    return None


def _is_toleration(value: dict[str, Any]) -> bool:
    """Return whether a map is a toleration, perhaps with a misspelt field; a taint has ``timeAdded``, too."""
    others = value.keys() - _OF_TOLERATIONS
    if value.keys() >= {"key", "operator"}:
        return True
    return len(others) < len(value) and all(type(value[name]) in _SCALARS and _is_meant_for_toleration(name) for name in others)


def _is_meant_for_toleration(name: str) -> bool:
    return any(_is_misspelt(name, each) or name in (f"{each}s", each.capitalize()) for each in _OF_TOLERATIONS)


def _one_affinity(key: str, value: dict[str, Any]) -> str | None:
    """Distinguish node and pod affinity by the required and preferred terms."""
    if not value.keys() <= {REQUIRED, PREFERRED} and not (key in AFFINITY_FIELDS and any(map(_is_rule, value))):
        return None
    rules = {name if name in _RULES else misspelt_rule(name): each for name, each in value.items()}
    required, preferred = rules.get(REQUIRED), rules.get(PREFERRED)
    weighted = [each for each in preferred if type(each) is dict] if type(preferred) is list else []
    if type(required) is dict and "nodeSelectorTerms" in required:
        return "nodeAffinity"
    if any("preference" in each for each in weighted):
        return "nodeAffinity"
    if _is_list_of_terms(required) or any("podAffinityTerm" in each for each in weighted):
        return "podAntiAffinity" if "anti" in key.lower() else "podAffinity"
    if key in AFFINITY_FIELDS and (_is_list_of_terms(preferred) or _holds_expressions(required)):
        return key
    return None


def _holds_expressions(value: Any) -> bool:
    """Return whether a value is a node selector term, or a list of some, instead of the map with ``nodeSelectorTerms``."""
    terms = value if type(value) is list else [value]
    return any(type(each) is dict and ("matchExpressions" in each or "matchFields" in each) for each in terms)


def _group_by_pods(at: Path, parts: list[ShapedValue], *, is_pod_spec: bool) -> Iterator[Holder]:
    """Group the parts of one map by the pods they apply to: ``redisTolerations`` do not belong to ``memcachedTolerations``."""
    groups: dict[str, list[ShapedValue]] = {}
    for part in parts:
        name = str(part.path[-1])
        stem = name[: -len(part.shape)] if name.lower().endswith(part.shape.lower()) else name if name not in _STEMLESS else ""
        groups.setdefault(stem, []).append(part)
    for group in groups.values():
        seen: dict[str, ShapedValue] = {}
        for part in group:
            if part.shape in seen:
                yield Holder(at, (part,))
            else:
                seen[part.shape] = part
        yield Holder(at, tuple(seen.values()), is_pod_spec)


_STEMLESS = ("toleration",)
