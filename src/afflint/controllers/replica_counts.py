"""How many pods a controller makes from a template: the one answer, for rules and planner alike."""

from collections.abc import Callable
from functools import lru_cache

from afflint.findings.finding import Path, field_of
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.manifests import Workload

HALTED = ("Halted", "Manual", "WaitAsReceiver")
"""The run strategies by which a virtual machine waits for somebody to start it."""

ONE_ASSUMED = "one pod is assumed, but an autoscaler may create more"
"""What a plan has to assume where nobody says how many pods there are."""

_MOST = 2**31


class ReplicaRange(NamedTuple):
    """How many pods there are at a time, which is one and the same but where an autoscaler decides: ``least`` to ``most``, ``current`` at
    first. All None where nobody says; ``open_ended`` when the nodes or an unknown autoscaler surely decide.

    ``scaler`` is the autoscaler in words: ``HorizontalPodAutoscaler web``.
    """

    current: int | None = None
    least: int | None = None
    most: int | None = None
    open_ended: bool = False
    scaler: str = ""

    @property
    def may_replicate(self) -> bool:
        """Whether more than one of them may run, as far as the manifests say."""
        return self.open_ended if self.most is None else self.most > 1

    @property
    def is_single(self) -> bool:
        """Whether there is surely no more than one."""
        return self.most is not None and self.most <= 1

    @property
    def range(self) -> str:
        """``2 to 10``; ``3`` where there is no choice."""
        return f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"


UNKNOWN_SCALE = ReplicaRange()


class PodCount(NamedTuple):
    """How many pods of one template run at the same time, as far as their object says.

    ``number`` is None where the manifest does not say; ``open_ended`` when the nodes or an autoscaler surely decide. Without ``running``
    they are those that there will be once the object is started or resumed. ``notes`` say what a plan has to assume.

    The pods are counted from ``first``; those of a JobSet or LeaderWorkerSet come in ``groups`` of ``each``, counted in every group.
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
        """Their number by the object alone."""
        return ReplicaRange(self.number, self.number, self.number, self.open_ended)

    @property
    def planned(self) -> int:
        """How many a plan is to place: one where nobody says, none of what does not run."""
        if not self.running:
            return 0
        return 1 if self.number is None else self.number


def pod_count(workload: Workload) -> PodCount:
    """How many pods the object asks for, by the rules of its controller."""
    rule = _RULES.get((workload.kind.group, workload.kind.name))
    if rule is not None:
        return rule(workload)
    path = workload.declared.replicas
    return _NOBODY_SAYS if path is None else _said(workload.at(path), path)


def _said(value: object, path: Path) -> PodCount:
    """By the field that says so; where it is absent the API server fills in one, and an autoscaler may change that."""
    if value is None:
        return PodCount(None, notes=(f"{field_of(path)} is not set: {ONE_ASSUMED}",))
    number = whole(value)
    return _of(number) if number else PodCount(number, notes=(f"{field_of(path)} is 0: it has no pods",) if number == 0 else ())


@lru_cache(maxsize=64)
def _of(number: int) -> PodCount:
    return PodCount(number)


def waits(workload: Workload) -> str:
    """What a virtual machine says by which it waits for somebody to start it: ``runStrategy Halted``; empty for all that starts."""
    if not workload.kind.kubevirt or not workload.has_own_template:
        return ""
    machine = workload.above(1)
    if machine.get("running") is False:
        return "running: false"
    strategy = machine.get("runStrategy")
    return f"runStrategy {strategy}" if strategy in HALTED else ""


def whole(value: object) -> int | None:
    """A number of pods as a manifest writes it, negative ones as none; None for what is no such number."""
    if type(value) not in (int, float) or not isinstance(value, int | float) or value != value or abs(value) > _MOST:
        return None
    return max(int(value), 0)


def _or_one(value: object) -> int | None:
    return 1 if value is None else whole(value)


def _times(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one * other


_ONE, _NOBODY_SAYS = PodCount(1), PodCount(None)


def _single(_workload: Workload) -> PodCount:
    return _ONE


def _by_nodes(_workload: Workload) -> PodCount:
    return PodCount(None, open_ended=True)


def _by_autoscaler(_workload: Workload) -> PodCount:
    return PodCount(None, open_ended=True, notes=("one pod is assumed; an autoscaler sets the number",))


def _stateful(workload: Workload) -> PodCount:
    """Ordinals count from spec.ordinals.start (pkg/controller/statefulset getStartOrdinal)."""
    count, ordinals = _said(workload.spec.get("replicas"), ("spec", "replicas")), workload.spec.get("ordinals")
    first = whole(ordinals.get("start")) if type(ordinals) is dict else 0
    return PodCount(count.number, notes=count.notes, first=first) if first else count


def _job(workload: Workload) -> PodCount:
    """The pods of one run: no more than there is to complete (pkg/controller/job manageJob)."""
    job = workload.above(1)
    number = _of_one_job(job)
    if workload.spec.get("suspend") is True or job.get("suspend") is True:
        return PodCount(number, running=False, notes=("it is suspended, so it has no pods",))
    return PodCount(number, notes=("only one run of the CronJob is shown",) if workload.kind.name == "CronJob" else ())


def _of_one_job(job: dict[str, object]) -> int | None:
    parallelism, completions = _or_one(job.get("parallelism")), job.get("completions")
    if parallelism is None or completions is None:
        return parallelism
    return min(parallelism, completed) if (completed := whole(completions)) is not None else None


def _jobs(workload: Workload) -> PodCount:
    each, jobs = _of_one_job(workload.above(1)), _or_one(workload.above(3).get("replicas"))
    number = _times(each, jobs)
    if workload.spec.get("suspend") is True or workload.above(1).get("suspend") is True:
        return PodCount(number, running=False, notes=("it is suspended, so it has no pods",), each=each or 1, groups=jobs)
    return PodCount(number, each=each or 1, groups=jobs)


def _groups(workload: Workload) -> PodCount:
    """Each group has ``size`` pods, the first of which leads: made from the template of leaders, where there is one."""
    above = workload.above(1)
    size, groups = _or_one(above.get("size")), _or_one(workload.spec.get("replicas"))
    first = 0
    if workload.template_path[-1] == "leaderTemplate":
        size = 1
    elif type(above.get("leaderTemplate")) is dict:
        first, size = 1, size and size - 1
    return PodCount(_times(size, groups), first=first, each=size or 1, groups=groups)


_RULES: dict[tuple[str, str], Callable[[Workload], PodCount]] = {
    ("", "Pod"): _single,
    ("apps", "DaemonSet"): _by_nodes,
    ("apps.kruise.io", "DaemonSet"): _by_nodes,
    ("apps", "StatefulSet"): _stateful,
    ("apps.kruise.io", "StatefulSet"): _stateful,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _job,
    ("jobset.x-k8s.io", "JobSet"): _jobs,
    ("kubevirt.io", "VirtualMachine"): _single,
    ("kubevirt.io", "VirtualMachineInstance"): _single,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _groups,
    ("serving.knative.dev", "Service"): _by_autoscaler,
}
