"""How many pods a controller creates from a template, for rules and simulation."""

from collections.abc import Callable
from functools import lru_cache

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.manifests.manifest import Workload
from afflint.yaml.document import map_at, maps_at, text_at

HALTED = ("Halted", "Manual", "WaitAsReceiver")
"""The run strategies with which a VirtualMachine does not start by itself."""

ONE_ASSUMED = "the simulation assumes one pod, but an autoscaler may create more"
"""What a simulation assumes if the number of pods is not known."""

_MAX_COUNT = 2**31


class ReplicaRange(NamedTuple):
    """How many pods a workload has at a time: ``current`` now, and between ``least`` and ``most`` if an autoscaler decides.

    All three are None if the number is unknown; ``open_ended`` if the nodes or an unknown autoscaler decide. ``scaler`` is the name of the
    autoscaler: ``HorizontalPodAutoscaler web``.
    """

    current: int | None = None
    least: int | None = None
    most: int | None = None
    open_ended: bool = False
    scaler: str = ""

    @property
    def may_replicate(self) -> bool:
        """Whether more than one pod may run, as far as the manifests show."""
        return self.open_ended if self.most is None else self.most > 1

    @property
    def is_single(self) -> bool:
        """Whether at most one pod runs."""
        return self.most is not None and self.most <= 1

    @property
    def range(self) -> str:
        """``2 to 10``, or ``3`` if the number is fixed."""
        return f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"


UNKNOWN_SCALE = ReplicaRange()


class PodCount(NamedTuple):
    """How many pods of one template run at a time, according to their object.

    ``number`` is None if the manifest does not set it; ``open_ended`` if the nodes or an autoscaler decide. Without ``running`` it is the
    number after the object is started or resumed. ``notes`` are the assumptions of a simulation.

    Ordinals start at ``first``; a JobSet or LeaderWorkerSet has ``groups`` of ``each`` pods, with ordinals in each group.
    """

    number: int | None
    open_ended: bool = False
    running: bool = True
    notes: tuple[str, ...] = ()
    first: int = 0
    each: int = 1
    groups: int | None = None

    @property
    def scale(self) -> ReplicaRange:
        """The number as a range, by the object alone."""
        return ReplicaRange(self.number, self.number, self.number, self.open_ended)

    @property
    def planned(self) -> int:
        """The number of pods to simulate: 1 if it is unknown, 0 if the object does not run."""
        if not self.running:
            return 0
        return 1 if self.number is None else self.number


def pod_count(workload: Workload) -> PodCount:
    """Return how many pods an object declares, by the rules of its controller."""
    rule = _RULES.get((workload.kind.group, workload.kind.name))
    if rule is not None:
        return rule(workload)
    path = workload.declared.replicas
    return _UNKNOWN_COUNT if path is None else _count_from_field(workload.at(path), path)


def _count_from_field(value: object, path: Path) -> PodCount:
    """Return the count of a replicas field. If it is absent the API server sets 1, which an autoscaler may change."""
    if value is None:
        return PodCount(None, notes=(f"{field_of(path)} is not set: {ONE_ASSUMED}",))
    number = parse_count(value)
    return _fixed_count(number) if number else PodCount(number, notes=(f"{field_of(path)} is 0: it has no pods",) if number == 0 else ())


@lru_cache(maxsize=64)
def _fixed_count(number: int) -> PodCount:
    return PodCount(number)


def not_started_by(workload: Workload) -> str:
    """Return the field that keeps a VirtualMachine from starting, such as ``runStrategy Halted``; empty for what starts or runs."""
    if not workload.kind.kubevirt or not workload.has_own_template:
        return ""
    machine = workload.above(1)
    if map_at(workload.above(2), "status").get("created") is True:
        return ""
    if machine.get("running") is False:
        return "running: false"
    strategy = machine.get("runStrategy")
    return f"runStrategy {strategy}" if strategy in HALTED else ""


def parse_count(value: object) -> int | None:
    """Return a number of pods as an int, 0 if it is negative; None if the value is not a valid number of pods."""
    if type(value) not in (int, float) or not isinstance(value, int | float) or value != value or abs(value) > _MAX_COUNT:
        return None
    return max(int(value), 0)


def _count_or_one(value: object) -> int | None:
    return 1 if value is None else parse_count(value)


def _multiply(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one * other


_ONE, _UNKNOWN_COUNT = PodCount(1), PodCount(None)


def _single(_workload: Workload) -> PodCount:
    return _ONE


def _machine(workload: Workload) -> PodCount:
    """Return the count of a VirtualMachine: none if a user has to start it, and its status in a cluster says that it is stopped."""
    stopped = not_started_by(workload) and text_at(workload.above(2), "status", "printableStatus") == "Stopped"
    return PodCount(1, running=False, notes=("it is stopped, so it has no pod",)) if stopped else _ONE


def _by_nodes(_workload: Workload) -> PodCount:
    return PodCount(None, open_ended=True)


def _by_autoscaler(_workload: Workload) -> PodCount:
    return PodCount(None, open_ended=True, notes=("the simulation assumes one pod; an autoscaler sets the number",))


def _stateful(workload: Workload) -> PodCount:
    """Return the count of a StatefulSet, whose ordinals start at spec.ordinals.start (pkg/controller/statefulset getStartOrdinal)."""
    count, ordinals = _count_from_field(workload.spec.get("replicas"), ("spec", "replicas")), workload.spec.get("ordinals")
    first = parse_count(ordinals.get("start")) if type(ordinals) is dict else 0
    return PodCount(count.number, notes=count.notes, first=first) if first else count


def _job(workload: Workload) -> PodCount:
    """Return the pods of one run: ``parallelism``, but at most ``completions`` (pkg/controller/job manageJob).

    A Job that is complete or has failed, by its status in a cluster, creates no more pods.
    """
    job = workload.above(1)
    number = _job_parallelism(job)
    conditions = maps_at(workload.above(2), "status", "conditions") if workload.kind.name == "Job" else []
    ended = next((_ENDED[kind] for each in conditions if each.get("status") == "True" and (kind := text_at(each, "type")) in _ENDED), "")
    if ended:
        return PodCount(number, running=False, notes=(f"it {ended}, so it has no pods",))
    if workload.spec.get("suspend") is True or job.get("suspend") is True:
        return PodCount(number, running=False, notes=("it is suspended, so it has no pods",))
    return PodCount(number, notes=("only one run of the CronJob is shown",) if workload.kind.name == "CronJob" else ())


_ENDED = {
    "Complete": "is complete",
    "SuccessCriteriaMet": "is complete",
    "Failed": "has failed",
    "FailureTarget": "has failed",
}
"""What the conditions of a Job that ends or has ended say."""


def _job_parallelism(job: dict[str, object]) -> int | None:
    parallelism, completions = _count_or_one(job.get("parallelism")), job.get("completions")
    if parallelism is None or completions is None:
        return parallelism
    return min(parallelism, completed) if (completed := parse_count(completions)) is not None else None


def _jobs(workload: Workload) -> PodCount:
    each, jobs = _job_parallelism(workload.above(1)), _count_or_one(workload.above(3).get("replicas"))
    number = _multiply(each, jobs)
    if workload.spec.get("suspend") is True or workload.above(1).get("suspend") is True:
        return PodCount(number, running=False, notes=("it is suspended, so it has no pods",), each=each or 1, groups=jobs)
    return PodCount(number, each=each or 1, groups=jobs)


def _groups(workload: Workload) -> PodCount:
    """Return the count of a LeaderWorkerSet: ``size`` pods per group; the first pod may have its own template."""
    above = workload.above(1)
    size, groups = _count_or_one(above.get("size")), _count_or_one(workload.spec.get("replicas"))
    first = 0
    if workload.template_path[-1] == "leaderTemplate":
        size = 1
    elif type(above.get("leaderTemplate")) is dict:
        first, size = 1, size and size - 1
    return PodCount(_multiply(size, groups), first=first, each=size or 1, groups=groups)


_RULES: dict[tuple[str, str], Callable[[Workload], PodCount]] = {
    ("", "Pod"): _single,
    ("apps", "DaemonSet"): _by_nodes,
    ("apps.kruise.io", "DaemonSet"): _by_nodes,
    ("apps", "StatefulSet"): _stateful,
    ("apps.kruise.io", "StatefulSet"): _stateful,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _job,
    ("jobset.x-k8s.io", "JobSet"): _jobs,
    ("kubevirt.io", "VirtualMachine"): _machine,
    ("kubevirt.io", "VirtualMachineInstance"): _single,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _groups,
    ("serving.knative.dev", "Service"): _by_autoscaler,
}
