"""Which labels pods really carry: those of their template, and what their controller puts there besides.

Some of the latter differ from pod to pod, and some nobody knows before the pods are there. So a selector may match all pods of a
workload, some, or none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from afflint.controllers.replica_counts import PodCount, pod_count, whole
from afflint.findings.finding import Step
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.added_labels import CLONE_SET, DAEMON_SET, DEPLOYMENT, INDEXED, ROLLOUT, AddedLabel
from afflint.kube.kinds import EACH
from afflint.kube.manifests import Labels, Workload
from afflint.kube.selectors import Requirement, Selector, holds, matches
from afflint.yaml.placeholders import is_placeholder

_LONGEST_VALUE = 63
_ANYTHING = "*"


class PossibleValues(NamedTuple):
    """What a label may be on the pods of one workload: ``prefix``, and then what ``rest`` says.

    That is "" for nothing, ``*`` for anything, else the name of what is counted: ``number`` of them from ``first``, any when that is None.
    """

    prefix: str
    rest: str = ""
    first: int = 0
    number: int | None = None

    def counted(self, value: str) -> int | None:
        """Which of the pods has this value, where they are counted; None when none has it."""
        text = value[len(self.prefix) :]
        if not value.startswith(self.prefix) or not text.isascii() or not text.isdecimal() or (text[0] == "0" and text != "0"):
            return None
        # Whatever is longer is no number of pods.
        which = int(text) - self.first if len(text) < 12 else -1
        return which if which >= 0 and (self.number is None or which < self.number) else None

    def include(self, value: str) -> bool:
        """Whether some pod may have this value."""
        if not self.rest:
            return value == self.prefix
        if self.rest == _ANYTHING:
            return value.startswith(self.prefix) and len(value) > len(self.prefix)
        return self.counted(value) is not None

    def surely_include(self, value: str) -> bool:
        """Whether it is known that some pod has this value."""
        return self.rest != _ANYTHING and self.include(value)


class ControllerContext(NamedTuple):
    """What decides which labels controllers add to the pods of a workload: few ask, so the labels are worked out only then.

    ``name`` is None where it is not known; ``ranges`` are the first and the number of what is counted.
    """

    labels: tuple[AddedLabel, ...]
    kind: str = ""
    name: str | None = None
    part: str = ""
    hostname: str | None = None
    ranges: tuple[tuple[str, int, int | None], ...] = ()


NOTHING = ControllerContext(())


class PodLabels(NamedTuple):
    """The labels of the pods of one workload: those of the template, and those that are added."""

    template: Labels
    source: ControllerContext = NOTHING

    @property
    def added(self) -> dict[str, PossibleValues]:
        """What the labels may be that controllers add."""
        return {
            label.key: values
            for label, values in zip(self.source.labels, _values_of(self.source), strict=True)
            if label.overwrites or label.key not in self.template
        }

    @property
    def certain(self) -> Labels:
        """Those that every one of the pods has with the same, known value."""
        added = self.added
        kept = {key: value for key, value in self.template.items() if key not in added}
        return {**kept, **{key: values.prefix for key, values in added.items() if not values.rest}}

    def some(self, selector: Selector) -> bool:
        """Whether at least one of the pods may be matched."""
        if not self._is_asked(selector):
            return matches(selector, self.template)
        added = self.added
        counted: dict[str, list[tuple[PossibleValues, Requirement]]] = {}
        for requirement in selector.requirements:
            values = added.get(requirement.key)
            if values is None:
                if not holds(requirement, self.template.get(requirement.key)):
                    return False
            elif values.rest in ("", _ANYTHING):
                if not _may_hold(values, requirement):
                    return False
            else:
                counted.setdefault(values.rest, []).append((values, requirement))
        return all(_some_pod(requirements) for requirements in counted.values())

    def all(self, selector: Selector) -> bool:
        """Whether every one of the pods is surely matched."""
        if not self._is_asked(selector):
            return matches(selector, self.template)
        added = self.added
        return all(
            holds(each, self.template.get(each.key)) if each.key not in added else _surely_holds(added[each.key], each)
            for each in selector.requirements
        )

    def _is_asked(self, selector: Selector) -> bool:
        labels = self.source.labels
        return bool(labels) and any(each.key == label.key for each in selector.requirements for label in labels)


def _may_hold(values: PossibleValues, requirement: Requirement) -> bool:
    if not values.rest:
        return holds(requirement, values.prefix)
    if requirement.operator == "In":
        return any(values.include(value) for value in requirement.values)
    return requirement.operator in ("Exists", "NotIn")


def _surely_holds(values: PossibleValues, requirement: Requirement) -> bool:
    if not values.rest:
        return holds(requirement, values.prefix)
    if requirement.operator == "NotIn":
        return not any(values.include(value) for value in requirement.values)
    if requirement.operator == "In" and values.number is not None and values.rest != _ANYTHING:
        return len({values.counted(value) for value in requirement.values} - {None}) == values.number
    return requirement.operator == "Exists"


def _some_pod(requirements: list[tuple[PossibleValues, Requirement]]) -> bool:
    """Whether there is a pod that meets all of these, which are about labels that count the same."""
    wanted: set[int] | None = None
    unwanted: set[int] = set()
    for values, requirement in requirements:
        which = {pod for pod in map(values.counted, requirement.values) if pod is not None}
        if requirement.operator == "In":
            wanted = which if wanted is None else wanted & which
        elif requirement.operator == "NotIn":
            unwanted |= which
        elif requirement.operator != "Exists":
            return False
    if wanted is not None:
        return bool(wanted - unwanted)
    number = requirements[0][0].number
    return number is None or len(unwanted) < number


# --- of a workload -----------------------------------------------------------------------------------------------------


def pod_labels(workload: Workload) -> PodLabels:
    """The labels of the pods that an object makes."""
    return PodLabels(workload.template_labels, added_to(workload))


def added_labels(workload: Workload) -> tuple[AddedLabel, ...]:
    """What the controllers of a workload add to its pods."""
    labels = workload.declared.labels
    if not labels or workload.kind.group not in ("batch", "jobset.x-k8s.io"):
        return labels
    job = workload.above(1)
    if workload.kind.name == "Job" and job.get("manualSelector") is True:
        labels = ()
    # A JobSet's Jobs are Indexed unless they say otherwise (jobset pkg/webhooks/jobset_webhook.go Default).
    mode = job.get("completionMode", "Indexed" if workload.kind.name == "JobSet" else None)
    return (*labels, *INDEXED) if mode == "Indexed" else labels


def added_to(workload: Workload, count: PodCount | None = None) -> ControllerContext:
    """What decides which labels are added. ``count`` is how many pods there are, if that is known already."""
    labels = added_labels(workload)
    if not labels:
        return NOTHING
    free = _FREE.get(id(labels))
    if free is not None:
        return free
    kind, name, hostname = workload.kind, workload.ref.name, None
    if name is not None and is_placeholder(name):
        name = None
    if kind.kubevirt:
        hostname = workload.pod.get("hostname")
        if name is not None and (len(name) > _LONGEST_VALUE or _renames_machines(workload)):
            name = None
    ranges = _ranges(workload, pod_count(workload) if count is None else count)
    return ControllerContext(labels, kind.name, name, part_of(workload), hostname if type(hostname) is str else None, ranges)


# The tables that say nothing about the object, so that they are the same for all of a kind.
_FREE = {id(labels): ControllerContext(labels) for labels in (DEPLOYMENT, ROLLOUT, DAEMON_SET, CLONE_SET)}


def _renames_machines(workload: Workload) -> bool:
    """Whether a template may name the machines of a set or pool otherwise than after that."""
    given = workload.template.get("metadata")
    return workload.kind.name in _MACHINE_NAMES and type(given) is dict and not given.keys().isdisjoint(("name", "generateName"))


@lru_cache(maxsize=1024)
def _values_of(added: ControllerContext) -> tuple[PossibleValues, ...]:
    """What each of the labels may be."""
    known = {"part": added.part}
    if added.name is not None:
        known |= {"name": added.name, "guest": added.name.split(".")[0]}
    ranges = {name: (first, number) for name, first, number in added.ranges}
    return tuple([_values(spelled(label.value, added.kind, added.hostname), known, ranges) for label in added.labels])


def part_of(workload: Workload) -> str:
    """What tells the pods of one template from those of another of the same object: "" for objects that have only one.

    That is the name of the item of a list or map that the template lies in, or what the field is for that holds it.
    """
    path = workload.declared.path
    if EACH not in path and len(workload.kind.templates) == 1:
        return ""
    own = workload.template_path[len(workload.base) :]
    parts = [_item_name(workload, index, own[index]) for index, step in enumerate(path) if step == EACH]
    if len(workload.kind.templates) > 1 and _has_others(workload):
        field = next(str(step) for step in reversed(path) if step not in ("template", EACH))
        parts.append(field.removesuffix("Template"))
    return "-".join(parts)


def _item_name(workload: Workload, index: int, step: Step) -> str:
    name = workload.above(len(workload.declared.path) - index - 1).get("name") if type(step) is int else step
    return name if type(name) is str else str(step)


def _has_others(workload: Workload) -> bool:
    return any(type(workload.at(each.path)) is dict for each in workload.kind.templates if each is not workload.declared)


def spelled(value: str, kind: str, hostname: str | None) -> str:
    """A value of the table in which the names of virtual machines are spelled out as their controllers make them.

    The guest's name is the host name, or that of the machine up to a dot (kubevirt pkg/network/dns SanitizeHostname).
    """
    if value == "{hostname}":
        if hostname:
            return "{unknown}" if "{" in hostname else hostname
        return _MACHINE_NAMES.get(kind, "{guest}")
    return _MACHINE_NAMES.get(kind, "{name}") if value == "{machine}" else value


# Several machines of one object: pkg/virt-controller/watch/pool generateVMName, and a generateName of the API server's.
_MACHINE_NAMES = {"VirtualMachinePool": "{name}-{ordinal}", "VirtualMachineInstanceReplicaSet": "{name}{random}"}


def _ranges(workload: Workload, count: PodCount) -> tuple[tuple[str, int, int | None], ...]:
    """From where what is counted counts, and how far."""
    kind = workload.kind.name
    if kind == "StatefulSet":
        return (("ordinal", count.first, count.number),)
    if kind in ("Job", "CronJob"):
        return (("ordinal", 0, _completions(workload)),)
    if kind == "JobSet":
        return ("job", 0, count.groups), ("ordinal", 0, _completions(workload))
    if kind == "LeaderWorkerSet":
        return ("group", 0, count.groups), ("worker", count.first, count.each)
    # Machines of a pool may be gone out of the middle.
    return (("ordinal", 0, None),) if kind == "VirtualMachinePool" else ()


def _completions(workload: Workload) -> int | None:
    return whole(workload.above(1).get("completions"))


def _values(pattern: str, known: Mapping[str, str], ranges: Mapping[str, tuple[int, int | None]]) -> PossibleValues:
    prefix, pieces = "", _pieces(pattern)
    for index, (text, field) in enumerate(pieces):
        prefix += text
        if not field:
            continue
        if field in known:
            prefix += known[field]
        elif field in ranges and index == len(pieces) - 1:
            return PossibleValues(prefix, field, *ranges[field])
        else:
            return PossibleValues(prefix, _ANYTHING)
    return PossibleValues(prefix)


@lru_cache(maxsize=256)
def _pieces(pattern: str) -> tuple[tuple[str, str], ...]:
    """A value of the table taken apart: each time some text and the field that follows it, "" at the end."""
    first, *rest = pattern.split("{")
    pieces, text = [], first
    for each in rest:
        field, _, following = each.partition("}")
        pieces.append((text, field))
        text = following
    return (*pieces, (text, "")) if text else tuple(pieces)


def filled(labels: Iterable[AddedLabel], own: Mapping[str, str], field: Callable[[str], str]) -> Labels:
    """The labels of one pod: those of its template, and those that are added, with what ``field`` gives for each of their fields."""
    result = dict(own)
    for label in labels:
        if label.overwrites or label.key not in own:
            result[label.key] = "".join([f"{text}{field(name) if name else ''}" for text, name in _pieces(label.value)])
    return result


def fields_of(value: str) -> Iterator[str]:
    """The fields that a value of the table has."""
    return (field for _, field in _pieces(value) if field)
