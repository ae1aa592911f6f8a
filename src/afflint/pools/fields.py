"""What the formats of node pools have in common: maps of labels, taints in five spellings, counts, and labels that kubelets may not set."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import join_words, quoted
from afflint.kube.node_labels import (
    ARCH,
    CONTROL_PLANE,
    ETCD,
    HOSTNAME,
    INSTANCE_TYPE,
    MASTER,
    OS,
    REGION,
    ROLES,
    WORKER,
    ZONE,
    is_set_by_components,
)
from afflint.kube.selectors import Requirement
from afflint.kube.taints import EFFECTS, Taint
from afflint.pools.pool import Label, PoolMistake, PoolTaint, UnreachableLabel
from afflint.yaml.document import map_at, texts_at, value_at_path
from afflint.yaml.placeholders import is_placeholder

UNREACHABLE_LABEL, INVALID_TAINT = "unreachable-node-label", "invalid-pool-taint"
"""The rules that a declaration can break by itself."""


# --- data ----------------------------------------------------------------------------------------------------------------


def text(data: Any, *path: str) -> str:
    """Return the text at a path; "" if it is absent or a placeholder."""
    value = value_at_path(data, *path)
    return value if type(value) is str and not is_placeholder(value) else ""


def texts(data: Any, *path: str) -> tuple[str, ...]:
    """Return the texts of the list at a path; none if one is a placeholder, because the list is not known completely."""
    values = texts_at(data, *path)
    return () if any(map(is_placeholder, values)) else tuple(values)


def number(data: Any, *path: str) -> int | None:
    """Return the number at a path, also one in quotes; None if it is absent or a placeholder."""
    value = value_at_path(data, *path)
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if type(value) is int else None


def is_malformed_number(data: Any, *path: str) -> bool:
    """Return whether the value at a path is set but is not a number, such as a placeholder."""
    return value_at_path(data, *path) is not None and number(data, *path) is None


# --- labels --------------------------------------------------------------------------------------------------------------


def is_known(value: Any) -> bool:
    """Return whether a value is a text without placeholders."""
    return type(value) is str and not is_placeholder(value)


def label(key: str, value: Any, path: Path = ()) -> Label:
    """Return a label with a value, or with any value if it is a placeholder or not a text."""
    return Label(Requirement(key, "In", (value,)) if is_known(value) else Requirement(key, "Exists"), path)


def one_of(key: str, values: Iterable[str], path: Path = ()) -> Label:
    """Return a label with one of some values, or with any value if none or not all of them are known."""
    known = tuple(dict.fromkeys(values))
    return Label(Requirement(key, "In", known) if known and all(map(is_known, known)) else Requirement(key, "Exists"), path)


def labels_of(data: Any, path: Path) -> list[Label]:
    """Return the labels of a map. Keys that are placeholders are left out: see ``is_open``."""
    entries = data.items() if type(data) is dict else ()
    return [label(key, "" if value is None else value, (*path, key)) for key, value in entries if is_known(key)]


def unreachable_labels(data: Any, path: Path, own: Any, why: str, remedy: str) -> tuple[UnreachableLabel, ...]:
    """Return the entries of a map that look like node labels and are not, without the pool's ``own`` labels: see ``UnreachableLabel``."""
    entries = [(key, value) for key, value in map_at(data).items() if type(key) is str and is_known(value) and key not in map_at(own)]
    return tuple([UnreachableLabel(key, value, (*path, key), why, remedy) for key, value in entries])


def is_open(*maps: Any) -> bool:
    """Return whether a map of labels or one of its keys is a placeholder, so that any label is possible."""
    return any(type(each) is not dict or any(type(key) is not str or is_placeholder(key) for key in each) for each in maps if each)


def zone(names: Iterable[str], path: Path = ()) -> list[Label]:
    """Return the zone label of nodes in one of some zones; none if no zone is known."""
    known = [name for name in names if name]
    return [one_of(ZONE, known, path)] if known else []


def region(name: str, path: Path = ()) -> list[Label]:
    """Return the region label of nodes, if the region is known."""
    return [label(REGION, name, path)] if name else []


def parse_pairs(data: str) -> dict[str, str]:
    """Return ``a=b,c=d`` as a map: the format of the kubelet's --node-labels."""
    entries = [entry.partition("=") for entry in data.split(",") if entry.strip()]
    return {key.strip(): value.strip() for key, _, value in entries}


_OF_LISTED = frozenset((CONTROL_PLANE, MASTER, WORKER, INSTANCE_TYPE))
_COMMONROLES = frozenset((CONTROL_PLANE, MASTER, WORKER, ETCD, f"{ROLES}controlplane"))


def may_be_added(key: str, declared: Collection[str], *, listed: bool = False) -> bool:
    """Return whether anything but the pools may set this label; ``declared`` are the keys that pools declare.

    Roles are set by hand as well, unless a pool declares the role. Most control planes are in no pool. The nodes of a cluster whose
    file has ``listed`` them all have no role, type or place that the file does not declare, unless a user labels them by hand.
    """
    if listed and (key in _OF_LISTED or (key in declared and key in (ZONE, REGION, HOSTNAME))):
        return False
    if key.startswith(ROLES):
        return key in _COMMONROLES or key not in declared
    return is_set_by_components(key)


# --- labels of kubelets --------------------------------------------------------------------------------------------------

_KUBELET_KEYS = frozenset(
    (
        HOSTNAME, OS, ARCH, ZONE, REGION, INSTANCE_TYPE, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type", "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
    )
)  # fmt: skip
_KUBELET_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")


def kubelet_rejects(key: str) -> bool:
    """Return whether a kubelet with this key in ``--node-labels`` fails to start (k8s.io/kubelet pkg/apis IsKubeletLabel).

    The API server rejects the same keys when a kubelet sets them on its own node (NodeRestriction).
    """
    prefix, slash, _ = key.partition("/")
    reserved = any(prefix == each or prefix.endswith("." + each) for each in ("kubernetes.io", "k8s.io"))
    if not slash or not reserved or key in _KUBELET_KEYS:
        return False
    return not any(prefix == each or prefix.endswith("." + each) for each in _KUBELET_PREFIXES)


def kubelet_mistakes(labels: Iterable[Label]) -> Iterator[PoolMistake]:
    """Yield a mistake for each label with which kubelets fail to start."""
    for each in labels:
        if each.path and kubelet_rejects(each.key):
            message = f"a kubelet does not start with {quoted(each.key)} in `--node-labels`: it may not set labels of that domain"
            help_ = "Use your own domain or `node.kubernetes.io/`, or label the nodes after they have joined."
            yield PoolMistake(UNREACHABLE_LABEL, each.path, message, help_, key=type(each.path[-1]) is str and each.path[-1] == each.key)


# --- taints --------------------------------------------------------------------------------------------------------------

PLAIN: Mapping[str, str] = {effect: effect for effect in EFFECTS}
UPPER: Mapping[str, str] = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}
KEBAB: Mapping[str, str] = {"no-schedule": "NoSchedule", "prefer-no-schedule": "PreferNoSchedule", "no-execute": "NoExecute"}
"""The taint effects as formats spell them, with those of Kubernetes."""


class Taints(NamedTuple):
    """The taints of a pool, and the mistakes in them."""

    taints: tuple[PoolTaint, ...] = ()
    faults: tuple[PoolMistake, ...] = ()


def taints_of(data: Any, path: Path, spelling: Mapping[str, str] = PLAIN) -> Taints:
    """Return the taints of a list of maps with key, value and effect."""
    taints, faults = [], []
    for index, entry in enumerate(data if type(data) is list else ()):
        if type(entry) is not dict or not text(entry, "key"):
            continue
        effect, where = entry.get("effect"), (*path, index)
        if type(effect) is str and effect in spelling:
            value = entry.get("value")
            taints += [PoolTaint(Taint(entry["key"], value or "", spelling[effect]), where)] if value is None or is_known(value) else []
        elif effect is None or (type(effect) is str and not is_placeholder(effect)):
            faults.append(_misspelt(effect or "", (*where, "effect") if effect else where, spelling))
    return Taints(tuple(taints), tuple(faults))


def taints_in_texts(data: Any, path: Path) -> Taints:
    """Return the taints of a list of texts ``key=value:Effect`` or ``key:Effect``."""
    taints, faults = [], []
    for index, entry in enumerate(data if type(data) is list else ()):
        if not is_known(entry):
            continue
        pair, colon, effect = entry.rpartition(":")
        key, _, value = pair.partition("=")
        if effect in EFFECTS and colon:
            taints.append(PoolTaint(Taint(key, value, effect), (*path, index)))
        else:
            faults.append(_misspelt(effect if colon else "", (*path, index), PLAIN, entry))
    return Taints(tuple(taints), tuple(faults))


def taints_in_map(data: Any, path: Path) -> Taints:
    """Return the taints of a map from keys to ``value:Effect`` or ``Effect``; a text without a colon is an effect."""
    taints, faults = [], []
    for key, entry in data.items() if type(data) is dict else ():
        if not (is_known(key) and is_known(entry)):
            continue
        value, _, effect = entry.rpartition(":")
        in_key = key.rpartition(":")[2]
        if in_key in EFFECTS:
            faults.append(_effect_in_key(key, in_key, entry, (*path, key)))
        elif effect in EFFECTS:
            taints.append(PoolTaint(Taint(key, value, effect), (*path, key)))
        else:
            faults.append(_misspelt(effect, (*path, key), PLAIN, entry))
    return Taints(tuple(taints), tuple(faults))


def _effect_in_key(key: str, effect: str, value: str, path: Path) -> PoolMistake:
    """Return the mistake of a taint written as ``key:effect`` where the effect is the value of the key."""
    name, _, given = key.removesuffix(f":{effect}").partition("=")
    right = f"{name}: {given or value}:{effect}" if given or (value and value not in EFFECTS) else f"{name}: {effect}"
    message = f"{quoted(key)} is not a valid taint key: the effect is the value of the key, as in {quoted(right)}"
    return PoolMistake(INVALID_TAINT, path, message, f"Write `{right}`.", key=True)


def taints_in_line(data: str, path: Path) -> Taints:
    """Return the taints of ``a=b:Effect,c:Effect``, the format of a flag."""
    parsed = taints_in_texts([each.strip() for each in data.split(",") if each.strip()], path)
    # All taints are in one scalar.
    return Taints(tuple([each._replace(path=path) for each in parsed.taints]), tuple([each._replace(path=path) for each in parsed.faults]))


def _misspelt(effect: str, path: Path, spelling: Mapping[str, str], written: str = "") -> PoolMistake:
    known = join_words(map(quoted, spelling), "or")
    suggestion = next((each for each, plain in spelling.items() if _normalize(each) == _normalize(effect) or plain == effect), "")
    if not effect:
        what = f"the taint {quoted(written)} has no effect: append `:` and" if written else "the taint has no effect: set"
        return PoolMistake(INVALID_TAINT, path, f"{what} {known}", f"Add one of {known}.")
    in_whole = f" in {quoted(written)}" if written not in ("", effect) else ""
    hint = f"; did you mean {quoted(suggestion)}?" if suggestion else ""
    help_ = f"Write `{suggestion}`." if suggestion else f"Write {known}."
    return PoolMistake(INVALID_TAINT, path, f"{quoted(effect)}{in_whole} is not a taint effect here; use {known}{hint}", help_)


def _normalize(effect: str) -> str:
    return effect.lower().replace("-", "").replace("_", "").replace(" ", "")
