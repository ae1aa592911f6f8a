"""The node pools that manifests declare, with the workloads for them, and what the rules about pools compute from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from posixpath import commonpath, dirname

from afflint.constraints.nodes import Alternative, NodeAffinityTerm, NodeConstraints, NodeRequirement, nodes_of, parse_node_constraints
from afflint.controllers.pod_source import PodSource
from afflint.controllers.replicas import compile_template
from afflint.findings.finding import FileId, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import NodeDemand, Pods
from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.cluster_folders import ClusterFolders, PolicyScopes, chart_of, folder_of, is_in_folder, is_trial
from afflint.inventory.node_files import NodeFact
from afflint.inventory.simulation_input import SimulationInput, SimulationOptions, build_simulation_input
from afflint.kube.constraints import constraints_of
from afflint.kube.decoding import InventoryError
from afflint.kube.node_labels import HOSTNAME
from afflint.kube.selectors import Parsed, Selector, matches
from afflint.kube.taints import Toleration, first_untolerated, readable_tolerations
from afflint.placement.bounds import ScheduleBounds
from afflint.pools.matching import PoolIndex, declared_keys
from afflint.pools.node_features import discovered_keys
from afflint.pools.pool import Pool
from afflint.pools.references import Pools
from afflint.scheduler.node_fit import SCHEDULER
from afflint.scheduler.pods import NodeRules, Pod
from afflint.yaml.placeholders import is_placeholder


class PoolRequirements(NamedTuple):
    """What the pods of a workload ask of their nodes: any of the alternatives, whose requirements must all hold. One at least.

    ``daemon``: a DaemonSet, which may match no node. ``patch``: its tolerations are unknown, so it is assumed to tolerate everything.
    """

    pods: Pods | NodeDemand
    alternatives: tuple[Alternative, ...]
    tolerations: tuple[Toleration, ...]
    daemon: bool = False
    patch: bool = False
    pod_source: PodSource | None = None
    """With no more replicas than an autoscaler surely keeps; None of a patch."""
    pod: Pod | None = None
    """One of its pods."""


def _cluster_of(pool: Pool) -> str:
    """Return the name of the cluster that a pool names, or whose configuration declares it; "" without one."""
    return pool.cluster or (pool.ref.name or "" if pool.ref.kind == "ClusterConfig" else "")


def _are_siblings(chart: str | None, other: str | None) -> bool:
    """Return whether two folders are those of different charts of one collection."""
    if chart is None or other is None or is_in_folder(chart, other) or is_in_folder(other, chart):
        return False
    return is_in_folder(chart, dirname(other))


def ends_of(name: str) -> list[str]:
    """Return a name with words between hyphens without its first word, its first two words, and so on."""
    words = name.split("-")
    return ["-".join(words[index:]) for index in range(1, min(len(words), _MOST_WORDS))]


_MOST_WORDS = 32
_PATCHED = frozenset(("base", "bases", "components", "patches"))
"""Folders with manifests that overlays of other folders complete."""
_ANYTHING = (Toleration(operator="Exists"),)
_OF_HOSTED_CLUSTERS = "hypershift.openshift.io/"


class PoolView:
    """Node pools and workloads of one cluster; everything is computed on first use.

    ``pools`` are those of the cluster that the workloads are for, as far as one can tell, ``others`` those of other clusters, and
    ``everything`` both. Pools of managed services, such as a GKE ContainerNodePool, are of other clusters unless ``--nodes`` names
    their file.
    """

    def __init__(
        self,
        pools: Pools,
        manifest_index: ManifestIndex,
        name_of: Callable[[FileId], str] = str,
        version: tuple[int, int] = SCHEDULER,
        nodes: Sequence[NodeFact] = (),
        feature_gates: Collection[str] = (),
    ) -> None:
        """``nodes`` are there already, whichever pool they are of."""
        self.nodes = nodes
        self._tied: dict[tuple[str, str | None], bool] = {}
        self.manifest_index = manifest_index
        self._name_of = name_of
        self._version = version
        self._feature_gates = feature_gates
        self.parts = pools.parts
        self.everything = pools.whole
        self.named = pools.named
        self.pools = tuple([pool for pool in self.everything if pools.is_here(pool) and not self._is_trial(pool)])
        self.others = tuple([pool for pool in self.everything if not pools.is_here(pool) or self._is_trial(pool)])

    @cached_property
    def listed(self) -> bool:
        """Whether files list every node of the cluster, so that a label which no node has is most probably a mistake."""
        return bool(self.pools) and all(pool.listed for pool in self.pools)

    @cached_property
    def has_other_machines(self) -> bool:
        """Whether files configure machines one by one, and do not list all of them."""
        return any(pool.whose == "described" and not pool.listed for pool in self.pools)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The names of the hosts, as far as they are known."""
        labels = (label.requirement for pool in self.pools for label in pool.labels if label.key == HOSTNAME)
        return frozenset(value for each in labels for value in each.values)

    @cached_property
    def ends_of_hosts(self) -> frozenset[str]:
        """The names of the hosts without their first words."""
        return frozenset(end for host in self.hosts for end in ends_of(host))

    @property
    def noun(self) -> str:
        """The word for one of ``pools`` in messages."""
        return "node" if self.listed else "pool"

    def is_elsewhere(self, site: Site) -> bool:
        """Whether an object is in the folder of another cluster than those whose nodes are listed, or may be."""
        return bool(self._folders) and self._folders.is_elsewhere(self._name_of(site.file))

    def ties(self, site: Site) -> bool:
        """Return whether a workload is for the cluster of some of ``pools``, as far as the folders of the files show it.

        Pools of several clusters have only workloads in the folder of the cluster, or in a folder with its name. A pool that a chart
        creates has no workloads of the charts beside it.
        """
        if self.named:
            return True
        file = self._name_of(site.file)
        folder, chart = folder_of(file), chart_of(file)
        if (folder, chart) not in self._tied:
            self._tied[folder, chart] = any(
                self._scopes.reaches(self._name_of(pool.site.file), file)
                and not _are_siblings(chart, chart_of(self._name_of(pool.site.file)))
                and (home is None or is_in_folder(folder, home) or _cluster_of(pool) in folder.split("/"))
                for pool, home in self._homes
            )
        return self._tied[folder, chart]

    def home_of(self, pool: Pool) -> str | None:
        """Return the folder of the cluster of a pool; None if all pools are of one cluster, as far as one can tell."""
        folder = folder_of(self._name_of(pool.site.file))
        holder = max((each for each in self._holders if folder != each and is_in_folder(folder, each)), key=len, default=None)
        if holder is None:
            return folder if self._several else None
        return "/".join(folder.split("/")[: len(holder.split("/")) + 1 if holder else 1])

    @cached_property
    def _homes(self) -> list[tuple[Pool, str | None]]:
        return [(pool, self.home_of(pool)) for pool in self.pools]

    @cached_property
    def _several(self) -> bool:
        return len({_cluster_of(pool) for pool in self.pools} - {""}) > 1

    @cached_property
    def _holders(self) -> set[str]:
        """The folders with a folder for each cluster: those above pools of several clusters, and above two pools of one name."""
        folders: dict[object, set[str]] = {}
        for pool in self.pools:
            folder = folder_of(file := self._name_of(pool.site.file))
            if self._several and _cluster_of(pool):
                folders.setdefault(None, set()).add(folder)
            completed = is_trial(file) or not _PATCHED.isdisjoint(folder.split("/"))
            if pool.ref.name and not completed and not is_placeholder(pool.ref.name):
                folders.setdefault(pool.ref, set()).add(folder)
        several = [each for each in folders.values() if len(each) > 1 and len({folder.startswith("/") for folder in each}) == 1]
        return {holder for each in several if (holder := commonpath(each)) not in each}

    def _is_trial(self, pool: Pool) -> bool:
        """Return whether a pool is for an example or a test, and all workloads are for something else."""
        file = self._name_of(pool.site.file)
        if self.named or not is_trial(file) or not self._workload_files:
            return False
        return not any(self._scopes.reaches(file, each) for each in self._workload_files)

    @cached_property
    def _scopes(self) -> PolicyScopes:
        return PolicyScopes({*self._workload_files, *(self._name_of(pool.site.file) for pool in self.everything)})

    @cached_property
    def _workload_files(self) -> frozenset[str]:
        """One file with workloads of each folder."""
        return frozenset({folder_of(each): each for each in sorted(self._files_of_workloads())}.values())

    @cached_property
    def _folders(self) -> ClusterFolders:
        listing = {(self._name_of(pool.site.file), pool.cluster) for pool in self.pools if pool.listed}
        return ClusterFolders(listing, self._files_of_workloads() if listing else ())

    def _files_of_workloads(self) -> set[str]:
        sites = [pods.site for pods in self.manifest_index.pods]
        sites += [demand.site for demand in self.manifest_index.facts.demands if demand.alternatives]
        return {self._name_of(site.file) for site in sites}

    @cached_property
    def index(self) -> PoolIndex:
        """The labels of the cluster's pools."""
        return PoolIndex(self.pools, declared_keys(self.pools))

    @cached_property
    def index_of_others(self) -> PoolIndex:
        """The labels of the pools of other clusters."""
        return PoolIndex(self.others, declared_keys(self.others))

    @cached_property
    def lost_keys(self) -> frozenset[str]:
        """The labels that are written where they never reach a node."""
        return frozenset([each.key for pool in self.everything for each in pool.unreachable])

    @cached_property
    def added_keys(self) -> frozenset[str]:
        """The labels that rules of node feature discovery add to nodes of any pool."""
        return discovered_keys(self.parts)

    @cached_property
    def declared(self) -> tuple[str, ...]:
        """The labels that the cluster's pools declare, in their order."""
        return tuple(dict.fromkeys(label.key for pool in self.pools for label in pool.labels))

    @cached_property
    def demands(self) -> list[PoolRequirements]:
        """The node requirements of each workload, without undecidable workloads and those with a `spec.nodeName`."""
        # Machines of a hosted cluster run in the infrastructure cluster; the pools beside them may be of the hosted one.
        return [each for each in self._demands() if not (each.pods.ref.api_version or "").startswith(_OF_HOSTED_CLUSTERS)]

    def tolerations(self) -> set[Toleration]:
        """Return every toleration with a key, also those of patches, of values of charts, and of custom resources."""
        given = [requirements.tolerations for requirements in self.demands]
        given += [demand.tolerations for demand in self.manifest_index.facts.demands]
        given += [readable_tolerations((pods.spec or {}).get("tolerations")) for pods in self.manifest_index.pods]
        return {toleration for each in given for toleration in each if toleration.key}

    def has_node(self, demands: PoolRequirements) -> bool:
        """Whether a node that is there takes the pods."""
        asked = nodes_of(demands.alternatives)
        return any(
            matches(asked, fact.labels, fact.name) and first_untolerated(fact.node.taints, demands.tolerations) is None
            for fact in self.nodes
        )

    def survey(self, pod_sources: Sequence[PodSource]) -> ScheduleBounds:
        """Return what is true for every order of scheduling some of the workloads and does not depend on nodes."""
        return ScheduleBounds(self._stage.inventory.cluster(), pod_sources)

    @cached_property
    def _stage(self) -> SimulationInput:
        return build_simulation_input(
            (),
            self.manifest_index,
            self.manifest_index.pods,
            SimulationOptions(self._version, self._feature_gates, at_least=True),
            name_of=self._name_of,
        )

    def _demands(self) -> Iterator[PoolRequirements]:
        simulation_input = self._stage
        cluster = simulation_input.inventory.cluster()
        for pod_source, pods in zip(simulation_input.pod_sources, simulation_input.sources, strict=True):
            if pod_source.key in simulation_input.undecidable or pod_source.node_name or pod_source.refused:
                continue
            try:
                pod = compile_template(pod_source, cluster, "")
            except InventoryError:
                continue  # What is wrong with its constraints, other rules say.
            rules = pod.rules
            if rules.node_name or rules.named is not None:
                continue
            alternatives = pods.asks if pods.operated else tuple(_alternatives(pods, rules))
            if alternatives:
                yield PoolRequirements(pods, alternatives, rules.tolerations, pod_source.daemon, pod_source=pod_source, pod=pod)
        for pods in self.manifest_index.pods:
            alternatives = pods.asks
            if not pods.operated and pods.spec:
                alternatives = tuple([each for each in _own_constraints(pods).alternatives if each])
            if pods.pod_source is None and alternatives and not any(each.requirement.field for asked in alternatives for each in asked):
                yield PoolRequirements(pods, alternatives, _ANYTHING, patch=True)
        for demand in self.manifest_index.facts.demands:
            if demand.alternatives and not any(each.requirement.field for asked in demand.alternatives for each in asked):
                yield PoolRequirements(demand, demand.alternatives, _ANYTHING, patch=True)


def _own_constraints(pods: Pods) -> NodeConstraints:
    return parse_node_constraints(constraints_of(pods.spec or {}, (*pods.template_path, "spec")))


def _alternatives(pods: Pods, rules: NodeRules) -> Iterator[Alternative]:
    """Return what the scheduler reads from the pods of a workload, with requirements from outside its manifest."""
    own = _own_constraints(pods)
    selector = tuple(_asked_by_selector(rules.node_selector, own))
    terms = _asked_by_terms(rules.terms, own.terms or ()) if rules.terms is not None else ((),)
    yield from ((*selector, *term) for term in terms)


def _asked_by_selector(selector: Selector, own: NodeConstraints) -> Iterator[NodeRequirement]:
    path = own.selector_path
    keys = {each.key for each in own.selector.requirements} if isinstance(own.selector, Selector) else ()
    for each in selector.requirements:
        yield NodeRequirement(each, (*path, each.key) if path is not None and each.key in keys else None)


def _asked_by_terms(terms: Sequence[Parsed], own: Sequence[NodeAffinityTerm]) -> Iterator[Alternative]:
    """Return the requirements of each required term that can be read; a term without any matches no node."""
    for index, term in enumerate(terms):
        if isinstance(term, Selector):
            in_manifest = len(own) == len(terms) and own[index].selector == term
            yield own[index].requirements if in_manifest else tuple([NodeRequirement(each, None) for each in term.requirements])
