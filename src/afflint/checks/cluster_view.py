"""The nodes of a run with the workloads of its manifests, and what the rules about nodes and placement compute from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from afflint.constraints.nodes import parse_node_constraints
from afflint.controllers.pod_source import PodSource
from afflint.findings.finding import FileId
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import PREFERRED_ANTI_AFFINITY, REQUIRED_ANTI_AFFINITY, SPREAD, Pods, PodsKey, SelectorRef
from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.node_classes import NodeClass
from afflint.inventory.node_files import NodeFact
from afflint.inventory.simulation_input import SimulationInput, SimulationOptions, build_simulation_input, without_controlled
from afflint.kube.constraints import constraints_of, items
from afflint.kube.node_labels import HOSTNAME, PHYSICAL_HOST, ZONE, domain_noun
from afflint.kube.selectors import NODE_NAME, Selector
from afflint.kube.taints import first_untolerated
from afflint.manifests.label_places import node_choices
from afflint.placement.bounds import ScheduleBounds
from afflint.placement.disruption_budgets import Disruptions
from afflint.placement.failures import Disruption
from afflint.placement.plan import DisruptionEffect
from afflint.placement.scenarios import Scenarios, scenarios_of
from afflint.placement.schedule import Schedule, Start, build_schedules, start
from afflint.placement.schedule_index import ScheduleIndex
from afflint.pools.node_features import discovered_keys
from afflint.scheduler.node_fit import SCHEDULER
from afflint.scheduler.pods import NodeRules

if TYPE_CHECKING:
    from afflint.placement.changes import Rejections, SmallChange

AS_ORDERED = "in this example placement"
"""How messages refer to the placement in the order of the manifests; another order may have another result."""


_MOST_EDITS, _MOST_PLANS, _MOST_WORK = 5, 25, 50_000
"""For how many workloads a run looks for the smallest edit, how many plans it makes for all of them, and of how many objects for one."""


class FailureDomain(NamedTuple):
    """Nodes that fail together: those with the value ``name`` of the label ``key``. ``word`` is its kind: zone."""

    word: str
    name: str
    key: str


class ClusterView:
    """Nodes and workloads of one cluster; everything is computed on first use, so that runs without placement rules schedule nothing."""

    def __init__(
        self,
        nodes: Sequence[NodeFact],
        manifest_index: ManifestIndex,
        host_key: str,
        name_of: Callable[[FileId], str] = str,
        version: tuple[int, int] = SCHEDULER,
        classes: Sequence[NodeClass] = (),
        feature_gates: Collection[str] = (),
        *,
        resources: bool = False,
    ) -> None:
        """``classes``: pools that may make more nodes. ``resources``: whether requests are compared with what nodes can allocate."""
        self.manifest_index = manifest_index
        self.host_key = host_key
        self.classes = classes
        self.simulation_input: SimulationInput = build_simulation_input(
            nodes,
            manifest_index,
            without_controlled(manifest_index.pods, with_pods=True),
            SimulationOptions(version, feature_gates, resources, at_least=True),
            name_of=name_of,
            classes=classes,
        )
        self.nodes = self.simulation_input.nodes
        self._by_name = {node.name: node for node in self.nodes}
        self._lost: dict[Disruption, DisruptionEffect] = {}
        self._lacking: dict[tuple[int, str], list[NodeFact]] = {}
        self._edits_left, self._plans_left = _MOST_EDITS, _MOST_PLANS

    def may_be_made(self, selector: Selector) -> bool:
        """Return whether a pool may create a node that a selector matches."""
        return any(each.known is not None and not each.known.unmet(selector.requirements) for each in self.classes)

    @cached_property
    def label_keys(self) -> frozenset[str]:
        """The labels that some node has, that a pool gives to its nodes, or that node feature discovery adds."""
        declared = [each.known.pool.keys for each in self.classes if each.known is not None]
        return self.discovered_keys.union(*[node.labels for node in self.nodes], *declared)

    @cached_property
    def discovered_keys(self) -> frozenset[str]:
        """The labels that rules of node feature discovery add to any node."""
        return discovered_keys(self.manifest_index.facts.pool_parts)

    def may_get_labels(self, pods: Pods) -> bool:
        """Return whether node feature discovery may add a label that the pods require of their nodes."""
        if not self.discovered_keys:
            return False
        nodes = parse_node_constraints(constraints_of(pods.spec or {}, ()))
        return any(each.requirement.key in self.discovered_keys for alternative in nodes.alternatives for each in alternative)

    @cached_property
    def pod_sources(self) -> list[PodSource]:
        """The workloads in the order of the manifests, without undecidable ones."""
        return [pod_source for pod_source in self.simulation_input.pod_sources if pod_source.key not in self.simulation_input.undecidable]

    @cached_property
    def _pods_by_key(self) -> dict[str, Pods]:
        return {
            pod_source.key: pods for pod_source, pods in zip(self.simulation_input.pod_sources, self.simulation_input.sources, strict=True)
        }

    def pods_of(self, pod_source: PodSource) -> Pods:
        """Return the manifest of a workload."""
        return self._pods_by_key[pod_source.key]

    @cached_property
    def numbers(self) -> dict[PodsKey, int]:
        """The number of each workload among ``pod_sources``, by the key of the pods that it was read from."""
        return {self.pods_of(pod_source).key: number for number, pod_source in enumerate(self.pod_sources)}

    @cached_property
    def survey(self) -> ScheduleBounds:
        """What is true of every order of scheduling."""
        return ScheduleBounds(self._start.before, self.pod_sources, self.simulation_input.inventory.classes, self._start.compiled)

    @cached_property
    def schedule(self) -> Schedule:
        """The placement that the order of the manifests gives."""
        return build_schedules(self._start)

    @cached_property
    def _start(self) -> Start:
        return start(self.simulation_input.inventory, self.pod_sources)

    def smallest_edit(self, pod_source: PodSource, rejections: Rejections | None = None) -> SmallChange | None:
        """Return the edit of a manifest that is the one smallest change with which all pods of a workload run; None without one.

        Only the first few workloads are examined: each takes some plans.
        """
        if self.classes or self._edits_left <= 0 or self._plans_left <= 0:
            return None
        from afflint.placement.changes import PlanInput
        from afflint.placement.remedies import smallest_edit

        plan_input = PlanInput(self.simulation_input.inventory, self.pod_sources, pod_source.key, rejections=rejections)
        found = smallest_edit(plan_input, self.schedule, min(self._plans_left, _MOST_WORK // max(plan_input.work, 1)))
        self._edits_left -= 1
        self._plans_left -= found.plans
        change = found.change
        return change if change is not None and _fits_manifest(change, pod_source, self.pods_of(pod_source)) else None

    @cached_property
    def disruptions(self) -> Disruptions:
        """The PodDisruptionBudgets, with what they cover in that placement."""
        return Disruptions(self.schedule.cluster, self.schedule.pods_of_workloads, self.simulation_input.budgets)

    def budgets_over(self, pod_source: PodSource) -> tuple[int, ...]:
        """Return the indexes of the budgets that cover a workload."""
        return self._budgets_over.get(pod_source.key, ())

    @cached_property
    def _budgets_over(self) -> dict[str, tuple[int, ...]]:
        if not self.simulation_input.budgets:
            return {}
        placed = self.schedule.workloads
        return {each.pod_source.key: self.disruptions.of(each.template) for each in placed if each.template is not None}

    # --- what may fail -------------------------------------------------------------------------------------------------

    @cached_property
    def parts(self) -> dict[str, FailureDomain]:
        """What may fail, by the name of the failure: every single node, zone and physical host."""
        return {failure.what: part for failure, part in self._failures}

    def loss_of(self, failure: Disruption) -> DisruptionEffect:
        """Return the effect of a failure until the nodes recover or are removed, as in `place --lose`."""
        if failure not in self._lost:
            self._lost[failure] = self._scenarios.effect_of("lose", *failure)
        return self._lost[failure]

    @cached_property
    def _scenarios(self) -> Scenarios:
        return scenarios_of(ScheduleIndex(self.schedule))

    @property
    def failures(self) -> list[Disruption]:
        """The failures that leave at least one node that takes workloads, and each set of nodes once."""
        return [failure for failure, _ in self._failures]

    @cached_property
    def _failures(self) -> list[tuple[Disruption, FailureDomain]]:
        workers = {node.name for node in self.nodes if is_open(node)}
        found: dict[tuple[str, ...], tuple[Disruption, FailureDomain]] = {}
        for part, names in self._parts():
            # When nothing remains to run on, how workloads are placed makes no difference.
            if not workers <= set(names):
                found.setdefault(names, (Disruption(f"{part.word} {part.name}", names), part))
        return list(found.values())

    def _parts(self) -> Iterator[tuple[FailureDomain, tuple[str, ...]]]:
        for name in sorted(self._by_name):
            yield FailureDomain(domain_noun(HOSTNAME), name, HOSTNAME), (name,)
        for key, word in ((ZONE, domain_noun(ZONE)), (self.host_key, domain_noun(PHYSICAL_HOST))):
            nodes_of = grouped((node.labels[key], node.name) for node in self.nodes if key in node.labels)
            for value, names in sorted(nodes_of.items()):
                yield FailureDomain(word, value, key), tuple(names)

    def asks_for(self, pod_source: PodSource) -> set[str]:
        """Return the node labels in required constraints of a workload; for a node name, the label of the host name."""
        constraints = constraints_of(dict(pod_source.pod), ())
        keys = {place.key for place in node_choices(constraints) if place.required}
        for term in constraints.node_terms:
            if term.required:
                keys |= {HOSTNAME for each in items(term.data, "matchFields", ()) if each.data.get("key") == NODE_NAME}
        return keys

    # --- where pods may be ---------------------------------------------------------------------------------------------

    def usable(self, pods: Pods) -> list[NodeFact]:
        """Return the nodes that node constraints and tolerations allow; none for patches and fragments."""
        return self._usable.get(_place_of(pods.pod_source), []) if pods.pod_source is not None else []

    def lacking(self, pods: Pods, key: str) -> list[NodeFact]:
        """Return the usable nodes that lack a label."""
        usable = self.usable(pods)
        asked = id(usable), key  # Pods share a list, which exists as long as this view.
        if asked not in self._lacking:
            self._lacking[asked] = [node for node in usable if key not in node.labels]
        return self._lacking[asked]

    @cached_property
    def _usable(self) -> dict[tuple[object, ...], list[NodeFact]]:
        """Pods with the same node constraints share a list."""
        survey, shared = self.survey, dict[NodeRules, list[NodeFact]]()
        found = {}
        for pod_source, compiled in zip(survey.pod_sources, survey.compiled, strict=True):
            # Malformed constraints are reported as such: such pods have no template.
            if compiled.template is not None and not pod_source.node_name:
                rules = compiled.template.rules
                if rules not in shared:
                    shared[rules] = [self._by_name[survey.table.names[node]] for node in survey.fit(compiled.template).candidates]
                found[_place_of(pod_source)] = shared[rules]
        return found


def _fits_manifest(change: SmallChange, pod_source: PodSource, pods: Pods) -> bool:
    """Return whether the manifest has what a change edits: a namespace may have added to the nodeSelector and the tolerations."""
    spec = pods.spec or {}
    return all(pod_source.pod.get(field) == spec.get(field) for field in {str(edit.path[0]) for edit in change.edits})


def keeps_apart(ref: SelectorRef, pods: Pods) -> bool:
    """Return whether a constraint requires or prefers to separate the pods that have it from each other."""
    return ref.what in (REQUIRED_ANTI_AFFINITY, PREFERRED_ANTI_AFFINITY, SPREAD) and pods.pod_labels.all(ref.selector)


def is_open(fact: NodeFact) -> bool:
    """Return whether a node takes pods that tolerate nothing."""
    return not fact.node.unschedulable and first_untolerated(fact.node.taints, ()) is None


def _place_of(pod_source: PodSource | None) -> tuple[object, ...]:
    assert pod_source is not None
    return pod_source.site, pod_source.pod_path
