"""The labels that pods really have: those of their template and those that their controllers add.

Some added labels differ from pod to pod, and some are unknown until the pods exist. So a selector may match all pods of a workload, some,
or none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from afflint.controllers.replica_counts import PodCount, parse_count, pod_count
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Step
from afflint.kube.added_labels import CLONE_SET, DAEMON_SET, DEPLOYMENT, INDEXED, ROLLOUT, AddedLabel
from afflint.kube.kinds import EACH
from afflint.kube.selectors import Requirement, Selector, is_met, matches
from afflint.manifests.manifest import Labels, Workload
from afflint.yaml.placeholders import is_placeholder

_LONGEST_VALUE = 63
_ANYTHING = "*"


class PossibleValues(NamedTuple):
    """The possible values of a label on the pods of one workload: ``prefix``, followed by ``rest``.

    ``rest`` is "" for nothing, ``*`` for any text, else the name of a counter with ``number`` values from ``first``; ``number`` is None if
    it is unknown.
    """

    prefix: str
    rest: str = ""
    first: int = 0
    number: int | None = None

    def counted(self, value: str) -> int | None:
        """Return the index of the pod that has this value of the counter; None if no pod has it."""
        text = value[len(self.prefix) :]
        if not value.startswith(self.prefix) or not text.isascii() or not text.isdecimal() or (text[0] == "0" and text != "0"):
            return None
        # A longer number exceeds any number of pods.
        which = int(text) - self.first if len(text) < 12 else -1
        return which if which >= 0 and (self.number is None or which < self.number) else None

    def include(self, value: str) -> bool:
        """Return whether a pod may have this value."""
        if not self.rest:
            return value == self.prefix
        if self.rest == _ANYTHING:
            return value.startswith(self.prefix) and len(value) > len(self.prefix)
        return self.counted(value) is not None

    def certainly_include(self, value: str) -> bool:
        """Return whether a pod certainly has this value."""
        return self.rest != _ANYTHING and self.include(value)


class ControllerContext(NamedTuple):
    """What the labels that controllers add depend on. The labels are computed only when they are needed.

    ``name`` is None if it is unknown; ``ranges`` are the name, the first value and the number of values of each counter.
    """

    labels: tuple[AddedLabel, ...]
    kind: str = ""
    name: str | None = None
    part: str = ""
    hostname: str | None = None
    ranges: tuple[tuple[str, int, int | None], ...] = ()


NOTHING = ControllerContext(())


class PodLabels(NamedTuple):
    """The labels of the pods of one workload: those of the template and those that controllers add."""

    template: Labels
    source: ControllerContext = NOTHING

    @property
    def added(self) -> dict[str, PossibleValues]:
        """The possible values of the labels that controllers add."""
        return {
            label.key: values
            for label, values in zip(self.source.labels, _values_of(self.source), strict=True)
            if label.overwrites or label.key not in self.template
        }

    @property
    def certain(self) -> Labels:
        """The labels that all pods have with the same, known value."""
        added = self.added
        kept = {key: value for key, value in self.template.items() if key not in added}
        return {**kept, **{key: values.prefix for key, values in added.items() if not values.rest}}

    def some(self, selector: Selector) -> bool:
        """Return whether the selector may match at least one of the pods."""
        if not self._is_asked(selector):
            return matches(selector, self.template)
        added = self.added
        counted: dict[str, list[tuple[PossibleValues, Requirement]]] = {}
        for requirement in selector.requirements:
            values = added.get(requirement.key)
            if values is None:
                if not is_met(requirement, self.template.get(requirement.key)):
                    return False
            elif values.rest in ("", _ANYTHING):
                if not _may_hold(values, requirement):
                    return False
            else:
                counted.setdefault(values.rest, []).append((values, requirement))
        return all(_some_pod(requirements) for requirements in counted.values())

    def missed(self, selector: Selector, *, known: bool) -> int | None:
        """Return the index of the first requirement that certainly no pod meets, whatever the other requirements; None without any.

        ``known``: the pods have exactly these labels. Otherwise, as in a patch, they may have more.
        """
        for index, each in enumerate(selector.requirements):
            if not self.some(Selector((each,))) and (known or self._is_given(each.key)):
                return index
        return None

    def all(self, selector: Selector) -> bool:
        """Return whether the selector certainly matches all of the pods."""
        if not self._is_asked(selector):
            return matches(selector, self.template)
        added = self.added
        return all(
            is_met(each, self.template.get(each.key)) if each.key not in added else _surely_holds(added[each.key], each)
            for each in selector.requirements
        )

    def _is_given(self, key: str) -> bool:
        value = self.template.get(key)
        return value is not None and not is_placeholder(value)

    def _is_asked(self, selector: Selector) -> bool:
        labels = self.source.labels
        return bool(labels) and any(each.key == label.key for each in selector.requirements for label in labels)


def _may_hold(values: PossibleValues, requirement: Requirement) -> bool:
    if not values.rest:
        return is_met(requirement, values.prefix)
    if requirement.operator == "In":
        return any(values.include(value) for value in requirement.values)
    return requirement.operator in ("Exists", "NotIn")


def _surely_holds(values: PossibleValues, requirement: Requirement) -> bool:
    if not values.rest:
        return is_met(requirement, values.prefix)
    if requirement.operator == "NotIn":
        return not any(values.include(value) for value in requirement.values)
    if requirement.operator == "In" and values.number is not None and values.rest != _ANYTHING:
        return len({values.counted(value) for value in requirement.values} - {None}) == values.number
    return requirement.operator == "Exists"


def _some_pod(requirements: list[tuple[PossibleValues, Requirement]]) -> bool:
    """Return whether one pod meets all of these requirements, which are on labels with the same counter."""
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
    """Return the labels of the pods of a workload."""
    return PodLabels(workload.template_labels, controller_context(workload))


def added_labels(workload: Workload) -> tuple[AddedLabel, ...]:
    """Return the labels that controllers add to the pods of a workload."""
    labels = workload.declared.labels
    if not labels or workload.kind.group not in ("batch", "jobset.x-k8s.io"):
        return labels
    job = workload.above(1)
    if workload.kind.name == "Job" and job.get("manualSelector") is True:
        labels = ()
    # The Jobs of a JobSet are Indexed by default (jobset pkg/webhooks/jobset_webhook.go Default).
    mode = job.get("completionMode", "Indexed" if workload.kind.name == "JobSet" else None)
    return (*labels, *INDEXED) if mode == "Indexed" else labels


def controller_context(workload: Workload, count: PodCount | None = None) -> ControllerContext:
    """Return what the added labels of a workload depend on; ``count`` is its pod count, if the caller has it already."""
    labels = added_labels(workload)
    if not labels:
        return NOTHING
    free = _FREE.get(labels)
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
    return ControllerContext(labels, kind.name, name, template_part(workload), hostname if type(hostname) is str else None, ranges)


# Labels that do not depend on the object, so that all objects of a kind share one context.
_FREE: dict[tuple[AddedLabel, ...], ControllerContext] = {
    labels: ControllerContext(labels) for labels in (DEPLOYMENT, ROLLOUT, DAEMON_SET, CLONE_SET)
}


def _renames_machines(workload: Workload) -> bool:
    """Return whether the template of a VM pool or replica set may name its VMs differently."""
    given = workload.template.get("metadata")
    return workload.kind.name in _MACHINE_NAMES and type(given) is dict and not given.keys().isdisjoint(("name", "generateName"))


@lru_cache(maxsize=1024)
def _values_of(added: ControllerContext) -> tuple[PossibleValues, ...]:
    """Return the possible values of each added label."""
    known = {"part": added.part}
    if added.name is not None:
        known |= {"name": added.name, "guest": added.name.split(".")[0]}
    ranges = {name: (first, number) for name, first, number in added.ranges}
    return tuple([_values(machine_label_value(label.value, added.kind, added.hostname), known, ranges) for label in added.labels])


def template_part(workload: Workload) -> str:
    """Return what distinguishes the pods of one template from those of other templates of the object; "" for a single template.

    This is the name of the list item or map entry that contains the template, or the purpose of the field that does.
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


def machine_label_value(value: str, kind: str, hostname: str | None) -> str:
    """Return a label value of the table with the names of virtual machines as their controllers build them.

    The guest's name is the host name, or that of the VM up to a dot (kubevirt pkg/network/dns SanitizeHostname).
    """
    if value == "{hostname}":
        if hostname:
            return "{unknown}" if "{" in hostname else hostname
        return _MACHINE_NAMES.get(kind, "{guest}")
    return _MACHINE_NAMES.get(kind, "{name}") if value == "{machine}" else value


# The VMs of one object: pkg/virt-controller/watch/pool generateVMName, and generateName of the API server.
_MACHINE_NAMES = {"VirtualMachinePool": "{name}-{ordinal}", "VirtualMachineInstanceReplicaSet": "{name}{random}"}


def _ranges(workload: Workload, count: PodCount) -> tuple[tuple[str, int, int | None], ...]:
    """Return the first value and the number of values of each counter."""
    kind = workload.kind.name
    if kind == "StatefulSet":
        return (("ordinal", count.first, count.number),)
    if kind in ("Job", "CronJob"):
        return (("ordinal", 0, _completions(workload)),)
    if kind == "JobSet":
        return ("job", 0, count.groups), ("ordinal", 0, _completions(workload))
    if kind == "LeaderWorkerSet":
        return ("group", 0, count.groups), ("worker", count.first, count.each)
    # A pool may have gaps, because any of its VMs may be deleted.
    return (("ordinal", 0, None),) if kind == "VirtualMachinePool" else ()


def _completions(workload: Workload) -> int | None:
    return parse_count(workload.above(1).get("completions"))


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
    """Split a value of the table into pairs of text and the field after it; the last field is ""."""
    first, *rest = pattern.split("{")
    pieces, text = [], first
    for each in rest:
        field, _, following = each.partition("}")
        pieces.append((text, field))
        text = following
    return (*pieces, (text, "")) if text else tuple(pieces)


def fill_labels(labels: Iterable[AddedLabel], own: Mapping[str, str], field: Callable[[str], str]) -> Labels:
    """Return the labels of one pod: those of its template and the added ones, with the values of ``field`` for their fields."""
    result = dict(own)
    for label in labels:
        if label.overwrites or label.key not in own:
            result[label.key] = "".join([f"{text}{field(name) if name else ''}" for text, name in _pieces(label.value)])
    return result


def label_fields(value: str) -> Iterator[str]:
    """Yield the fields of a value of the table."""
    return (field for _, field in _pieces(value) if field)
