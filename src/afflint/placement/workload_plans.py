"""The plan of each workload: the verdict on every node, and where its replicas run or why they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from afflint.controllers import replicas
from afflint.controllers.evictions import eviction_of, migration_note
from afflint.controllers.pod_source import PodSource
from afflint.controllers.running_machines import waiting_changes
from afflint.findings.finding import FileId
from afflint.findings.phrases import join_words, pluralize, summarize_names
from afflint.inventory.inventory import Inventory
from afflint.kube.node_labels import HOSTNAME, domain_noun
from afflint.kube.selectors import AnyOf, Malformed, describe
from afflint.placement.plan import VOLUMES_LEFT_OUT, AnonymousVerdict, Preferred, Replica, Verdicts, WorkloadPlan
from afflint.placement.rejections import Phrase, Rejections, RunningPodIndex, unknown_node
from afflint.placement.schedule import PlacedWorkload, Schedule
from afflint.scheduler.cluster import Cluster, NumberedVerdict, Rating
from afflint.scheduler.node_fit import NODE_AFFINITY
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT
from afflint.scheduler.pods import NodeRules, Pod, PodKey
from afflint.scheduler.requests import HUGE_PAGES, REPORTED

_MOST_NAMES = 3


def _fitting(rating: Rating | None, possible: int) -> AnonymousVerdict:
    """Return the verdict on a node that fits. The rating is None if the scheduler fails in scoring."""
    if rating is None:
        return AnonymousVerdict(True, None, "", None)
    return AnonymousVerdict(True, None, "", rating.total, (rating.met, possible) if possible else None, rating.parts)


def preferences_of(template: Pod | None, cluster: Cluster) -> tuple[Preferred, ...]:
    """Return how many nodes match each preferred node affinity term of a pod."""
    if template is None or not template.preferences or isinstance(template.preferences, Malformed):
        return ()
    usable = [reason is None for reason in cluster.static_rejections(template)]
    usable = usable if any(usable) else [True] * len(usable)
    preferences = []
    for preference in template.preferences:
        met = cluster.table.matching(AnyOf((preference.term,)))
        both = sum(is_met and may_go for is_met, may_go in zip(met, usable, strict=True))
        asks = " and ".join(map(describe, preference.term.requirements))
        preferences.append(Preferred(asks, preference.weight, sum(met), both))
    return tuple(preferences)


class WorkloadPlans:
    """The plans of the workloads of one schedule, which share what is computed about its pods."""

    def __init__(
        self,
        schedule: Schedule,
        inventory: Inventory,
        name_of: Callable[[FileId], str],
        violating: Container[tuple[str, str]],
        *,
        key: str,
        drained: bool,
        disrupted: bool,
    ) -> None:
        """``violating`` are the running pods whose rules no longer allow their nodes: workload key and name; ``key`` groups nodes."""
        self.scattered: list[str] = []
        """The workloads that run in several topology domains although nothing requires that, once the plans are known."""
        self._key = key
        self._disrupted = disrupted
        self._waits = any(placed.pending for placed in schedule.workloads)
        self._violating = violating
        self._schedule = schedule
        self._storage = inventory.storage
        self._machines = inventory.machines
        self._name_of = name_of
        self._drained = drained
        self._titles = {identity: placed.pod_source.key for identity, placed in schedule.owners.items()}
        # A copy: the pods of one workload at a time are removed from it.
        self._cluster = schedule.cluster.copy()
        self._running_pods = RunningPodIndex(schedule.cluster)
        self._fitting: dict[tuple[Rating | None, int], AnonymousVerdict] = {}
        self._known: dict[tuple[str, str], AnonymousVerdict] = {}
        self._rejected_as_such: dict[NodeRules, dict[int, AnonymousVerdict]] = {}

    def plans(self) -> list[WorkloadPlan]:
        """Return the plans in the order of the workloads."""
        return [self._plan(placed) for placed in self._schedule.workloads]

    def _plan(self, placed: PlacedWorkload) -> WorkloadPlan:
        pod_source = placed.pod_source
        notes = replicas.notes(pod_source, self._schedule.before)
        assumed = migration_note(eviction_of(pod_source)) if self._drained else ""
        verdicts, error = self._verdicts(placed)
        changes = waiting_changes(pod_source, [self._machines[key] for key in sorted(placed.stays) if key in self._machines])
        return WorkloadPlan(
            key=pod_source.key,
            kind=pod_source.kind,
            namespace=pod_source.namespace,
            name=pod_source.full_name,
            file="" if pod_source.observed else self._name_of(pod_source.site.file),
            line=pod_source.line,
            verdicts=verdicts,
            replicas=self._replicas(placed),
            error=placed.error or error,
            notes=(
                *notes,
                *([VOLUMES_LEFT_OUT] if self._has_unknown_volumes(pod_source) else []),
                *self._volume_notes(pod_source),
                *([_waiting_words(changes)] if changes else self._outdated_affinity_notes(placed)),
                *self._waiting_migrations(placed),
                *_outdated_pending_pods(placed),
                *([assumed] if assumed else []),
                *self._missing_devices(placed),
                *self._unknown_priority(placed),
                *self._unrequired_spread(placed),
            ),
            preferences=preferences_of(placed.template, self._cluster),
            volumes=self._has_unknown_volumes(pod_source),
            unjudged=placed.unjudged,
            waiting_changes=changes,
        )

    def _waiting_migrations(self, placed: PlacedWorkload) -> Iterator[str]:
        """Yield which requested migrations wait because no node takes their target pods."""
        for pod in placed.pods if self._machines else ():
            machine = self._machines.get(pod.key)
            if machine is not None and machine.migration is not None and pod.key in placed.running:
                from afflint.placement.migrations import requested_target

                found = requested_target(self._schedule, placed, pod, machine)
                if found is not None and not found.targets:
                    whys = join_words([f"{pluralize(len(each.nodes), 'node')} {each.text}" for each in found.reasons])
                    yield f"VirtualMachineInstanceMigration {found.name} waits: {found.words}{whys and ': '}{whys}"

    def _has_unknown_volumes(self, pod_source: PodSource) -> bool:
        if not pod_source.bound_by_volumes or self._storage is None:
            return pod_source.bound_by_volumes
        volumes = self._storage.workloads.get(pod_source.key)
        return volumes is None or bool(volumes.unknown)

    def _volume_notes(self, pod_source: PodSource) -> tuple[str, ...]:
        """Return why volumes of a workload are not considered, and what is assumed about the others."""
        volumes = self._storage.workloads.get(pod_source.key) if self._storage is not None else None
        if volumes is None:
            return ()
        unknown = volumes.unknown if pod_source.bound_by_volumes else ()
        listed = [f"its volumes: {summarize_names(unknown, most=_MOST_NAMES)}"] if unknown else []
        return (*listed, *volumes.notes)

    def _outdated_affinity_notes(self, placed: PlacedWorkload) -> Iterator[str]:
        """Yield a note about pods on nodes that their node affinity no longer matches: the cluster does not move them."""
        template = placed.template
        if template is None or placed.pod_source.daemon or placed.pod_source.node_name or not placed.nodes or placed.unjudged:
            return
        as_such, numbers = self._cluster.static_rejections(template), self._cluster.table.numbers
        # Nothing is scheduled on such a node: these pods ran there before.
        outdated = [
            (pod, node)
            for (_, pod), node in placed.nodes.items()
            if as_such[numbers[node]] == NODE_AFFINITY and (placed.pod_source.key, pod) not in self._violating
        ]
        if outdated:
            rejections = Rejections(self._cluster, template, self._titles, placed.pod_source.key, self._running_pods, placed.nodes)
            shown = [f"{pod} on {node} ({rejections.phrase(node, NODE_AFFINITY).one})" for pod, node in outdated[:_MOST_NAMES]]
            more = f" and {len(outdated) - _MOST_NAMES} more" if len(outdated) > _MOST_NAMES else ""
            stay = "stays on its node" if len(outdated) == 1 else "stay on their nodes"
            yield f"{', '.join(shown)}{more} {stay}, although node affinity no longer matches: it applies only when a pod is scheduled"

    def _missing_devices(self, placed: PlacedWorkload) -> Iterator[str]:
        """Yield a note on each resource of a device plugin that no node has."""
        known, table = self._schedule.before.nodes, self._schedule.before.table
        for resource, _ in placed.template.requests if placed.template is not None and known else ():
            if resource not in REPORTED and not resource.startswith(HUGE_PAGES) and set(table.amounts(resource)) == {0}:
                yield f"no node has {resource} in status.allocatable: its pods stay Pending until a device plugin reports it"

    def _unrequired_spread(self, placed: PlacedWorkload) -> list[str]:
        """Return a note if nothing requires the topology domains of the replicas to differ, as far as volumes are known."""
        note = "" if self._has_unknown_volumes(placed.pod_source) else unrequired_spread(placed, self._cluster, self._key)
        self.scattered += [placed.pod_source.key] * bool(note)
        return [note] if note else []

    def _unknown_priority(self, placed: PlacedWorkload) -> Iterator[str]:
        """Yield a note if it matters that the priority of a workload is not known."""
        if placed.pod_source.priority is None and (self._disrupted or self._waits):
            name = placed.pod_source.pod["priorityClassName"]
            unknown = f"PriorityClass {name} is not defined in the manifests"
            yield f"{unknown}: the simulation neither preempts its pods nor lets them preempt others"

    def _verdicts(self, placed: PlacedWorkload) -> tuple[Verdicts, str | None]:
        """Return the verdict on each node while all other workloads are placed and none of the pods of this one is."""
        template = placed.template
        if template is None or placed.unjudged:
            return Verdicts(), None
        mine = [pod for pod in placed.pods if pod.key in placed.nodes]
        # A volume that exists only in the plan does not restrict the first replica.
        take_away(mine, placed, self._cluster)
        judged = self._cluster.judge(template)
        judgements = self._judgements(placed, template, judged)
        for pod in mine:
            self._cluster.bind(pod, placed.nodes[pod.key])
        return Verdicts(self._cluster.table.names if judgements else (), judgements), judged.error

    def _judgements(self, placed: PlacedWorkload, template: Pod, judged: NumberedVerdict) -> list[AnonymousVerdict]:
        """Return the verdict on each node; the pods of the workload have been removed from the cluster."""
        rejections = Rejections(
            self._cluster, template, self._titles, placed.pod_source.key, self._running_pods, placed.nodes, judged.volume_rejections
        )
        # Rejections that do not depend on running pods are computed once for all workloads with the same node requirements.
        as_such, shared = self._cluster.static_rejections(template), self._rejected_as_such.setdefault(template.rules, {})
        verdicts, names = [], self._cluster.table.names
        # Equal nodes share one rating. Its hash is computed once, because that of nested tuples takes longer than all the rest.
        fitting: dict[int, AnonymousVerdict] = {}
        # What equal rejections by resources and volumes have in common.
        crowded = [node for node, plugin in enumerate(judged.rejections) if plugin == NODE_RESOURCES_FIT]
        causes: dict[int, object] = {**judged.volume_rejections, **dict(zip(crowded, self._cluster.loads(crowded), strict=True))}
        explained: dict[object, AnonymousVerdict] = {}
        for node, (plugin, rating) in enumerate(zip(judged.rejections, judged.ratings, strict=True)):
            if plugin is None:
                judgement = fitting.get(id(rating))
                if judgement is None:
                    new = _fitting(rating, judged.possible)
                    judgement = fitting[id(rating)] = self._fitting.setdefault((rating, judged.possible), new)
            elif plugin == as_such[node]:
                judgement = shared.get(node)
                if judgement is None:
                    judgement = shared[node] = self._rejected(plugin, rejections.phrase(names[node], plugin))
            elif node in causes:
                judgement = explained.get(causes[node])
                if judgement is None:
                    judgement = explained[causes[node]] = self._rejected(plugin, rejections.phrase(names[node], plugin))
            else:
                judgement = self._rejected(plugin, rejections.phrase(names[node], plugin))
            verdicts.append(judgement)
        return verdicts

    def _rejected(self, plugin: str, phrase: Phrase) -> AnonymousVerdict:
        judgement = self._known.get((plugin, phrase.one))
        if judgement is None:
            judgement = self._known[plugin, phrase.one] = AnonymousVerdict(False, plugin, phrase.one, None)
        return judgement

    def _replicas(self, placed: PlacedWorkload) -> tuple[Replica, ...]:
        if placed.template is None and not placed.pod_source.daemon:
            # The pods cannot be created, but the manifest requests them.
            count = min(placed.pod_source.replicas, replicas.MAX_REPLICAS)
            return tuple([Replica(replicas.pod_name(placed.pod_source, index), None) for index in range(count)])
        result = []
        # Pending replicas mostly have the same reasons.
        reasons_in_words: dict[tuple[object, int], str] = {}
        for pod in placed.pods:
            identity = pod.key
            node = placed.nodes.get(identity)
            if node is None and placed.unjudged and identity not in placed.held:
                result.append(Replica(pod.name, None, f"not evaluated: {placed.unjudged}"))
                continue
            why = other_reason(placed, pod) if node is None else placed.waits.get(identity, "")
            if node is None and not why:
                reasons = placed.pending.get(identity, {})
                asked = (pod.subject, id(reasons))  # Replicas share the reasons, which cannot be hashed.
                if asked not in reasons_in_words:
                    reasons_in_words[asked] = self._why(placed, identity, reasons)
                why = reasons_in_words[asked]
            result.append(Replica(pod.name, node, why))
        return tuple(result)

    def _why(self, placed: PlacedWorkload, identity: PodKey, reasons: Mapping[str, str]) -> str:
        pod = next(pod for pod in placed.pods if pod.key == identity)
        rejections = Rejections(self._schedule.cluster, pod, self._titles, placed.pod_source.key, self._running_pods)
        return rejections.summary(reasons)


def _outdated_pending_pods(placed: PlacedWorkload) -> Iterator[str]:
    """Yield a note about Pending pods of a dump that differ from the template, and that their controller keeps."""
    names = [name for _, name in placed.recreated.keys() & placed.pending.keys() - placed.stays]
    if names:
        are = "is Pending and differs" if len(names) == 1 else "are Pending and differ"
        shown = summarize_names(sorted(names), most=_MOST_NAMES)
        yield f"{shown} {are} from the template: the {placed.pod_source.kind} creates pods from the template only after a deletion"


def other_reason(placed: PlacedWorkload, pod: Pod) -> str:
    """Return why a pod does not run if no node rejects it; empty if the nodes do."""
    identity = pod.key
    if identity in placed.waits:
        return placed.waits[identity]
    if identity in placed.held:
        return placed.held[identity].why
    if identity in placed.victims and identity not in placed.pending:
        return f"{placed.victims[identity].by.name} preempts it, and it is not recreated"
    if placed.pod_source.node_name:
        return unknown_node(placed.pod_source.node_name)
    return placed.error or "" if not placed.pending.get(identity) else ""


# StatefulSets whose replicas are in several topology domains although one domain could take them all.


def unrequired_spread(placed: PlacedWorkload, cluster: Cluster, key: str) -> str:
    """Return a note if nothing requires the domains of the replicas to differ: a schedule with all of them in one domain proves it.

    ``cluster`` has all pods, and is the same afterwards; its other pods stay where they are.
    """
    pods, nodes = placed.pods, placed.nodes
    if placed.pod_source.kind != "StatefulSet" or placed.unjudged or key == HOSTNAME or len(nodes) < len(pods):
        return ""
    column, numbers = cluster.table.column(key), cluster.table.numbers
    domains = Counter(column[numbers[node]] for node in nodes.values())
    if len(domains) < 2 or None in domains:
        return ""
    take_away(pods, placed, cluster)
    enough = next((domain for domain, _ in domains.most_common() if _can_take_all(pods, placed, cluster, column, domain)), None)
    for pod in pods:
        cluster.bind(pod, nodes[pod.key])
    if enough is None:
        return ""
    noun, seen = domain_noun(key), "" if len(placed.stays) == len(pods) else " in this schedule"
    return f"its replicas are in {pluralize(len(domains), noun)}{seen}; nothing requires that: {noun} {enough} can take all {len(pods)}"


def _can_take_all(pods: Sequence[Pod], placed: PlacedWorkload, cluster: Cluster, column: list[str | None], domain: str | None) -> bool:
    """Return whether all pods can be scheduled in a domain, one after another."""
    numbers, bound = cluster.table.numbers, list[Pod]()
    for pod in pods:
        among = [node for node in cluster.feasible_nodes(pod) if column[numbers[node]] == domain]
        if not among:
            break
        cluster.bind(pod, cluster.table.names[cluster.emptiest(numbers[node] for node in among)])
        bound.append(pod)
    take_away(bound, placed, cluster)
    return len(bound) == len(pods)


def take_away(pods: Sequence[Pod], placed: PlacedWorkload, cluster: Cluster) -> None:
    """Remove pods; a volume that exists only in the plan is removed with its pod."""
    for pod in pods:
        (cluster.unbind if pod.key in placed.stays else cluster.release)(pod)


def _waiting_words(changes: Sequence[str]) -> str:
    """Return ``1 change waits for a restart: nodeSelector disk hdd -> ssd``."""
    return f"{pluralize(len(changes), 'change')} wait{'s' * (len(changes) == 1)} for a restart: {', '.join(changes)}"
