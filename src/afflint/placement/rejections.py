"""Why a pod cannot be scheduled, in words: a phrase for each node, and a summary that counts the nodes for each phrase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from afflint.controllers.launcher_pod import MIGRATION_MODEL
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.node_labels import HOSTNAME, domain_word
from afflint.kube.selectors import Malformed, Requirement, Selector, first_unmet, matches
from afflint.kube.taints import Toleration, first_untolerated, format_taint, near_miss, unused, written
from afflint.placement.volumes import place_of
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.declared_features import NODE_DECLARED_FEATURES
from afflint.scheduler.host_ports import HostPort, ports_conflict
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.node_fit import BOTH_NAMES, NODE_AFFINITY, NODE_UNSCHEDULABLE, TAINT_TOLERATION, NodeFit
from afflint.scheduler.node_fit import NODE_NAME as NODE_NAME_PLUGIN
from afflint.scheduler.node_ports import NODE_PORTS
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT, Shortage
from afflint.scheduler.nodes import ITSELF, Node
from afflint.scheduler.pods import Pod, PodKey, SpreadConstraint, Term, parsed_terms
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD

if TYPE_CHECKING:
    from afflint.scheduler.cluster_storage import PodStorage
    from afflint.scheduler.volume_rejection import VolumeRejection

_MOST_VALUES = 3
VOLUME_PLUGINS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")
_CONFLICT, _NO_ZONE = "node(s) didn't match PersistentVolume's node affinity", "node(s) had no available volume zone"
_NO_DRIVER = " CSI driver is not installed on the node"


class Phrase(NamedTuple):
    """Why one node rejects a pod: ``one`` in full, and the forms for counting one and several nodes."""

    one: str
    singular: str
    plural: str


class RunningPod(NamedTuple):
    """A running pod and its node."""

    pod: Pod
    node: str


class RunningPodIndex:
    """The running pods of a cluster in the order in which they were placed, without those that are being deleted."""

    def __init__(self, cluster: Cluster) -> None:
        where = cluster.pods
        self._pods = [RunningPod(pod, where[pod.key]) for pod in cluster.evicted(cluster.nodes)]
        self._table = cluster.table
        self._domains: dict[str, dict[str, list[RunningPod]]] = {}
        self._known: dict[object, dict[str, RunningPod | None]] = {}

    def __iter__(self) -> Iterator[RunningPod]:
        return iter(self._pods)

    def __len__(self) -> int:
        return len(self._pods)

    def in_domain(self, key: str, value: str) -> Sequence[RunningPod]:
        """Return the pods on nodes with this value of a label."""
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = {}
            column, numbers = self._table.column(key), self._table.numbers
            for running in self._pods:
                domain_value = column[numbers[running.node]]
                if domain_value is not None:
                    domains.setdefault(domain_value, []).append(running)
        return domains.get(value, ())

    def known(self, question: object) -> dict[str, RunningPod | None]:
        """Return the shared cache of the first pod in each domain that excludes pods, for one term or set of terms."""
        return self._known.setdefault(question, {})

    def first(self, culprits: Culprits, value: str, absent: Container[PodKey]) -> RunningPod | None:
        """Return the first of the culprits in a domain, ignoring the ``absent`` pods."""
        known = culprits.known
        if value not in known:
            known[value] = next(filter(culprits.selects, self.in_domain(culprits.key, value)), None)
        culprit = known[value]
        if culprit is not None and (culprit.pod.namespace, culprit.pod.name) in absent:
            present = (each for each in self.in_domain(culprits.key, value) if (each.pod.namespace, each.pod.name) not in absent)
            return next(filter(culprits.selects, present), None)
        return culprit


class Culprits(NamedTuple):
    """The running pods that exclude a pod from their topology domains. ``known`` caches the first of them by domain."""

    key: str
    known: dict[str, RunningPod | None]
    selects: Callable[[RunningPod], bool]
    addition: str
    """Text that follows their name."""


def domain(key: str, value: str) -> str:
    """Return the name of a topology domain: ``zone a``, ``node worker-1``, ``rack=r1``."""
    word = domain_word(key)
    return f"{word} {value}" if word else f"{key}={value}"


def kind_of_domain(key: str) -> str:
    """Return ``zone``, ``node`` or ``region``; for other keys the key itself."""
    return "node" if key == ITSELF else domain_word(key) or key


def port_words(port: HostPort) -> str:
    """Return ``host port 80``, with the protocol unless it is TCP."""
    return f"host port {port.port}{'' if port.protocol == 'TCP' else f'/{port.protocol}'}"


def unknown_node(name: str) -> str:
    """Return why a pod with an unknown `spec.nodeName` does not run: the scheduler ignores such pods."""
    return f"spec.nodeName is {name}, but the inventory has no node with this name"


def _summary(counted: Mapping[tuple[str, str], int]) -> str:
    """Return ``4 nodes lack performance=high, 1 is cordoned``, most nodes first, from the counts by singular and plural phrase."""
    parts: list[str] = []
    for (singular, plural), count in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
        noun = "" if parts else (" node" if count == 1 else " nodes")
        parts.append(f"{count}{noun} {singular if count == 1 else plural}")
    return ", ".join(parts)


_SAME_MODEL = "the CPU model of its host, required for a live migration"


class Rejections:
    """The reasons for which nodes reject one pod, in words.

    ``titles`` are the workloads of running pods, by namespace and name; ``own`` is the workload of the pod itself.
    ``running_pods`` is their index, ``absent`` are those of them that are ignored. ``volume_rejections`` is why the plugins for volumes
    reject nodes, by the number of the node, as far as it is known.
    """

    def __init__(
        self,
        cluster: Cluster,
        pod: Pod,
        titles: Mapping[tuple[str, str], str] | None = None,
        own: str = "",
        running_pods: RunningPodIndex | None = None,
        absent: Container[PodKey] = (),
        volume_rejections: Mapping[int, VolumeRejection] | None = None,
    ) -> None:
        self._cluster = cluster
        self._pod = pod
        self._titles = titles or {}
        self._own = own
        self._given_running_pods = running_pods
        self._absent = absent
        self._volume_rejections = volume_rejections or {}
        self._table = cluster.table
        self._phrases: dict[object, Phrase] = {}
        self._spread: list[_SpreadState] | None = None

    def summary(self, reasons: Mapping[str, str]) -> str:
        """Return ``4 nodes lack performance=high, 1 is cordoned``: how many nodes each phrase excludes, most first."""
        counted: dict[tuple[str, str], int] = {}
        for node, plugin, number in self._alike(reasons):
            phrase = self.phrase(node, plugin)
            forms = (phrase.singular, phrase.plural)
            counted[forms] = counted.get(forms, 0) + number
        if not counted.pop(_OUT_OF_REACH, 0):
            return _summary(counted)
        return "; ".join(filter(None, [self.volumes, _summary(counted)]))

    def _alike(self, reasons: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
        """Yield rejected nodes with their plugins and how many nodes are rejected for the same reason."""
        numbers: list[int] = []
        for node, plugin in reasons.items():
            if plugin == INTER_POD_AFFINITY:
                numbers.append(self._table.numbers[node])
            else:
                yield node, plugin, 1
        if not numbers:
            return
        companions, blocked = self._other_pods
        columns = [
            self._table.column(key) for key in dict.fromkeys([*[term.key for term, _ in companions], *[each.key for each in blocked]])
        ]
        rows = list(zip(*[map(column.__getitem__, numbers) for column in columns], strict=True)) if columns else [()] * len(numbers)
        first = dict(zip(reversed(rows), reversed(numbers), strict=True))
        for row, number in Counter(rows).items():
            yield self._table.names[first[row]], INTER_POD_AFFINITY, number

    def phrase(self, node: str, plugin: str) -> Phrase:
        number = self._table.numbers[node]
        row = self._table.nodes[number]
        if plugin == NODE_UNSCHEDULABLE:
            return _CORDONED
        if plugin in (NODE_NAME_PLUGIN, BOTH_NAMES) or (not plugin and node != self._pod.rules.node_name):
            return _OTHER_NODE
        if plugin == TAINT_TOLERATION:
            return self._taint(row)
        if plugin in (NODE_AFFINITY, ""):  # "": the node in spec.nodeName, which the node affinity does not match.
            return self._affinity(row)
        if plugin == NODE_PORTS:
            return self._port(row)
        if plugin == NODE_RESOURCES_FIT:
            return self._room(number)
        if plugin == POD_TOPOLOGY_SPREAD:
            return self._spread_phrase(row)
        if plugin == INTER_POD_AFFINITY:
            return self._interpod(row)
        if plugin in VOLUME_PLUGINS:
            return self._volume(number)
        if plugin == NODE_DECLARED_FEATURES:
            feature = ", ".join(sorted(self._pod.features))
            return Phrase(*[f"{lacks} the kubelet feature {feature}" for lacks in ("lacks", "lacks", "lack")])
        return Phrase(f"rejected by {plugin}", f"is rejected by {plugin}", f"are rejected by {plugin}")

    # --- the node itself -----------------------------------------------------------------------------------------------

    def _taint(self, node: Node) -> Phrase:
        phrase = self._phrases.get(node.taints)
        if phrase is None:
            taint = first_untolerated(node.taints, self._pod.rules.tolerations)
            text = format_taint(taint) if taint else ""
            similar = near_miss(taint, self._pod.rules.tolerations, self._unused) if taint else None
            but = f" (the toleration says {written(similar, taint)})" if taint and similar else ""
            taints = f"untolerated taint {text}{but}"
            phrase = Phrase(f"has the {taints}", f"has the {taints}", f"have the {taints}")
            self._phrases[node.taints] = phrase
        return phrase

    @cached_property
    def _unused(self) -> list[Toleration]:
        """The tolerations that match no taint of the cluster."""
        return unused(self._pod.rules.tolerations, {taint for taints, _ in self._table.taint_classes for taint in taints})

    def _affinity(self, node: Node) -> Phrase:
        rules = self._pod.rules
        terms = [term for term in rules.terms or () if isinstance(term, Selector)]
        certain = (*rules.node_selector.requirements, *(terms[0].requirements if len(terms) == 1 else ()))
        unmet = first_unmet(certain, node.labels, node.name)
        if unmet is not None:
            return self._requirement(certain[unmet], node)
        added = rules.profile.added_terms
        if added is not None and not any(matches(term, node.labels, node.name) for term in added if isinstance(term, Selector)):
            return self._added(node, [term for term in added if isinstance(term, Selector)])
        if not terms:
            return _NO_TERM
        text = f"none of its {len(terms)} node affinity terms"
        return Phrase(f"matches {text}", f"matches {text}", f"match {text}")

    def _added(self, node: Node, terms: Sequence[Selector]) -> Phrase:
        """Return why a node does not match the addedAffinity of the scheduler."""
        unmet = first_unmet(terms[0].requirements, node.labels, node.name) if len(terms) == 1 else None
        if unmet is None:
            return Phrase(*[f"{word} no term of the scheduler's addedAffinity" for word in ("matches", "matches", "match")])
        return Phrase(
            *[f"{text} (required by the scheduler's addedAffinity)" for text in self._requirement(terms[0].requirements[unmet], node)]
        )

    def _requirement(self, requirement: Requirement, node: Node) -> Phrase:
        value = node.labels.get(requirement.key)
        cache_key = (requirement, value)
        if requirement.field:
            return _OTHER_NAME
        phrase = self._phrases.get(cache_key)
        if phrase is None:
            phrase = _requirement_phrase(requirement, value)
            if requirement.key in self._pod.added:
                required = _SAME_MODEL if requirement.key.startswith(MIGRATION_MODEL) else "required by KubeVirt"
                phrase = Phrase(*[f"{text} ({required})" for text in phrase])
            self._phrases[cache_key] = phrase
        return phrase

    def _room(self, number: int) -> Phrase:
        [load] = self._cluster.loads((number,))
        phrase = self._phrases.get(load)
        if phrase is None:
            phrase = self._phrases[load] = self._shortages(self._table.names[number])
        return phrase

    def _shortages(self, node: str) -> Phrase:
        shortages = self._cluster.shortages(self._pod, node)
        if not shortages:
            return _NO_ROOM
        full = "; ".join([_shortage(each) for each in shortages])
        if shortages[0].resource == "pods":
            return Phrase(full, "has the maximum number of pods", "have the maximum number of pods")
        lacking = f"insufficient {_CALLED.get(shortages[0].resource, shortages[0].resource)}"
        return Phrase(full, f"has {lacking}", f"have {lacking}")

    def _port(self, node: Node) -> Phrase:
        for each in self._running_pods.in_domain(ITSELF, node.name):
            for port in self._pod.ports if (each.pod.namespace, each.pod.name) not in self._absent else ():
                if ports_conflict((port,), each.pod.ports):
                    number = port_words(port)
                    return Phrase(f"{number} is used by {self._who(each)}", f"already uses {number}", f"already use {number}")
        return _TERMINATING

    # --- volumes -------------------------------------------------------------------------------------------------------

    @cached_property
    def _storage(self) -> PodStorage | None:
        storage = self._cluster.examine_volumes(self._pod)
        if storage is not None:
            storage.compare(range(len(self._table.nodes)))
        return storage

    @cached_property
    def volumes(self) -> str:
        """Where the volumes of the pod are, as text; empty if they can be used everywhere."""
        if self._storage is None:
            return ""
        return place_of(self._storage.bound)

    def _volume(self, number: int) -> Phrase:
        rejection = self._volume_rejections.get(number)
        if rejection is None and self._storage is not None:
            rejection = self._storage.reject(number)
        message = rejection.messages[0] if rejection is not None else ""
        phrase = self._phrases.get(message)
        if phrase is None:
            phrase = self._phrases[message] = self._volume_phrase(message)
        return phrase

    def _volume_phrase(self, message: str) -> Phrase:
        if message in (_CONFLICT, _NO_ZONE):
            return Phrase(self.volumes, *_OUT_OF_REACH) if self.volumes else _CANNOT_USE
        if message.endswith(_NO_DRIVER):
            text = f"the CSI driver {message.removesuffix(_NO_DRIVER)}"
            return Phrase(f"lacks {text}", f"lacks {text}", f"lack {text}")
        return _VOLUME_PHRASES.get(message) or Phrase(
            f"its volume: {message}", f"rejects its volume: {message}", f"reject its volume: {message}"
        )

    # --- topology spread -----------------------------------------------------------------------------------------------

    def _spread_phrase(self, node: Node) -> Phrase:
        if self._spread is None:
            fit = NodeFit(self._pod.rules, self._table)
            keys = tuple([constraint.key for constraint in self._pod.hard_spread])
            self._spread = [
                _SpreadState(constraint, *fit.domains(constraint, keys), self._cluster, self._pod) for constraint in self._pod.hard_spread
            ]
        for state in self._spread:
            phrase = state.phrase(node)
            if phrase is not None:
                return phrase
        return _SPREAD

    # --- other pods ----------------------------------------------------------------------------------------------------

    @property
    def _running_pods(self) -> RunningPodIndex:
        if self._given_running_pods is None:
            self._given_running_pods = RunningPodIndex(self._cluster)
        return self._given_running_pods

    def _interpod(self, node: Node) -> Phrase:
        if self._pod.malformed_terms:
            return _UNREADABLE
        companions, blocked = self._other_pods
        for term, values in companions:
            value = node.labels.get(term.key)
            if value is None:
                return _lacks_key(term.key)
            if value not in values:
                return _alone(term, value)
        for culprits in blocked:
            value = node.labels.get(culprits.key)
            culprit = None if value is None else self._running_pods.first(culprits, value, self._absent)
            if value is not None and culprit is not None:
                who = self._who(culprit, culprits.addition)
                return _host_taken(who) if culprits.key == HOSTNAME else _taken(culprits.key, value, who)
        return _TERMINATING

    @cached_property
    def _other_pods(self) -> tuple[list[tuple[Term, set[str]]], list[Culprits]]:
        """The domains of the pods that affinity requires nearby, and the pods that exclude this one by anti-affinity."""
        return self._drawn(), self._kept_away()

    def _drawn(self) -> list[tuple[Term, set[str]]]:
        """Return the values of the topology key where a matching pod runs, for each required pod affinity term."""
        terms = self._pod.affinity
        if isinstance(terms, Malformed) or not terms:
            return []
        scopes = [(self._cluster.directory.scope(term), term.selector) for term in terms]
        rows = [self._table.nodes[node] for node in self._cluster.companions(terms, terminating=False)]
        values_by_term = [(term, {row.labels[term.key] for row in rows if term.key in row.labels}) for term in terms]
        if not any(values for _, values in values_by_term):
            # The first pod of a group matches its own term: then only a missing key can have rejected a node.
            own = all((names is None or self._pod.namespace in names) and matches(selector, self._pod.labels) for names, selector in scopes)
            if own:
                return [(term, set(self._table.column(term.key)) - {None}) for term in terms]  # type: ignore[misc]
        return values_by_term

    def _kept_away(self) -> list[Culprits]:
        """Return the pods that exclude this one: by its own anti-affinity first, then by theirs."""
        own = [self._by_own_term(term) for term in parsed_terms(self._pod.anti_affinity)]
        theirs = frozenset(self._cluster.forbidding(self._pod))
        return own + [self._by_their_terms(key, theirs) for key in self._in_order({term.key for term in theirs}, theirs)]

    def _by_own_term(self, term: Term) -> Culprits:
        names = self._cluster.directory.scope(term)

        def selects(running: RunningPod) -> bool:
            return (names is None or running.pod.namespace in names) and matches(term.selector, running.pod.labels)

        return Culprits(term.key, self._running_pods.known(term), selects, "")

    def _by_their_terms(self, key: str, theirs: frozenset[Term]) -> Culprits:
        def selects(running: RunningPod) -> bool:
            return any(term.key == key and term in theirs for term in parsed_terms(running.pod.anti_affinity))

        return Culprits(key, self._running_pods.known((key, theirs)), selects, ", whose anti-affinity excludes it")

    def _in_order(self, keys: set[str], theirs: frozenset[Term]) -> list[str]:
        """Return the keys in the order in which terms of the running pods have them."""
        if len(keys) < 2:
            return list(keys)
        ordered: dict[str, None] = {}
        for running in self._running_pods:
            if (running.pod.namespace, running.pod.name) not in self._absent:
                ordered.update(dict.fromkeys(term.key for term in parsed_terms(running.pod.anti_affinity) if term in theirs))
                if len(ordered) == len(keys):
                    break
        return list(ordered)

    def _who(self, running: RunningPod, addition: str = "") -> str:
        """Return the name of a running pod: by its workload, if that is known. `addition` follows the names of other workloads."""
        title = self._titles.get((running.pod.namespace, running.pod.name), "")
        if not title:
            return f"pod {running.pod.name}{addition}"
        name = title.rpartition("/")[2]
        return f"a replica of {name}" if title == self._own else f"a pod of {name}{addition}"


_OUT_OF_REACH = ("cannot use its volume", "cannot use its volume")
_CANNOT_USE = Phrase(
    "its volume cannot be used there", "is outside the node affinity of its volume", "are outside the node affinity of its volume"
)
_VOLUME_PHRASES = {
    "node(s) didn't find available persistent volumes to bind": Phrase(
        "its claim cannot be bound to a volume there", "has no volume for its claim", "have no volume for its claim"
    ),
    "node(s) did not have enough free storage": Phrase("has too little storage", "has too little storage", "have too little storage"),
    "node(s) exceed max volume count": Phrase(
        "has the maximum number of volumes", "has the maximum number of volumes", "have the maximum number of volumes"
    ),
    "node(s) had no available disk": Phrase("a pod there uses its disk", "runs a pod that uses its disk", "run pods that use its disk"),
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod": Phrase(
        "its ReadWriteOncePod claim is used by another pod",
        "is rejected because another pod uses its ReadWriteOncePod claim",
        "are rejected because another pod uses its ReadWriteOncePod claim",
    ),
}
"""The messages of the scheduler about volumes in other words."""
_CORDONED = Phrase("cordoned", "is cordoned", "are cordoned")
_OTHER_NODE = Phrase("not the node in spec.nodeName", "is not the node in spec.nodeName", "are not the node in spec.nodeName")
_OTHER_NAME = Phrase("not named by its node affinity", "is not named by the node affinity", "are not named by the node affinity")
_NO_TERM = Phrase("its node affinity matches no node", "matches no node affinity term", "match no node affinity term")
_NO_ROOM = Phrase("has insufficient resources", "has insufficient resources", "have insufficient resources")
_SPREAD = Phrase(
    "does not satisfy its topology spread constraints",
    "does not satisfy the topology spread constraints",
    "do not satisfy the topology spread constraints",
)
_UNREADABLE = Phrase(
    "its pod affinity cannot be parsed", "is rejected: the pod affinity cannot be parsed", "are rejected: the pod affinity cannot be parsed"
)
_TERMINATING = Phrase(
    "blocked by a pod that is being deleted", "is blocked by a pod that is being deleted", "are blocked by pods that are being deleted"
)


_CALLED = {"cpu": "CPU"}
_BYTES = ("memory", "ephemeral-storage")


def _shortage(shortage: Shortage) -> str:
    """Return ``insufficient memory: 3Gi requested, 1Gi available``."""
    resource, asked, left = shortage
    if resource == "pods":
        return "has the maximum number of pods"
    left = max(left, 0)
    if resource == "cpu":
        amounts = _thousandths(asked), _thousandths(left)
    elif resource in _BYTES or resource.startswith("hugepages-"):
        amounts = _bytes(asked, up=True), _bytes(left, up=False)
    else:
        amounts = str(asked), str(left)
    return f"insufficient {_CALLED.get(resource, resource)}: {amounts[0]} requested, {amounts[1]} available"


def _thousandths(amount: int) -> str:
    return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"


def _bytes(amount: int, *, up: bool) -> str:
    """Return bytes in the largest unit that they fill, to a hundredth; requests are rounded up, free bytes down."""
    for bits, unit in ((60, "Ei"), (50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if amount >> bits:
            hundredths = -(-amount * 100 >> bits) if up else amount * 100 >> bits
            return f"{hundredths / 100:g}{unit}" if hundredths < 10**6 else f"{hundredths // 100}{unit}"
    return str(amount)


def _requirement_phrase(requirement: Requirement, value: str | None) -> Phrase:
    key, operator, values, _ = requirement
    if operator == "In":
        wanted = _one_of(values)
        text = f"{key}={wanted}" if len(values) == 1 else f"{key} in {wanted}"
        full = f"lacks {text}" if value is None else f"has {key}={value}, not {wanted}"
        return Phrase(full, f"lacks {text}", f"lack {text}")
    if operator == "NotIn":
        return Phrase(f"has {key}={value}, which is excluded", f"has {key}={value}", f"have {key}={value}")
    if operator == "DoesNotExist":
        return Phrase(f"has the label {key}", f"has the label {key}", f"have the label {key}")
    if operator == "Exists":
        return Phrase(f"lacks the label {key}", f"lacks the label {key}", f"lack the label {key}")
    bound = f"{key} {'>' if operator == 'Gt' else '<'} {values[0] if values else ''}"
    full = f"lacks {key}" if value is None else f"has {key}={value}, not {bound}"
    return Phrase(full, f"lacks {bound}", f"lack {bound}")


def _one_of(values: tuple[str, ...]) -> str:
    if len(values) == 1:
        return values[0]
    shown = ", ".join(values[:_MOST_VALUES])
    return f"({shown}{', …' if len(values) > _MOST_VALUES else ''})"


def _lacks_key(key: str) -> Phrase:
    return Phrase(f"lacks the topology key {key}", f"lacks the topology key {key}", f"lack the topology key {key}")


def _alone(term: Term, value: str) -> Phrase:
    wanted = _selector_words(term.selector)
    where = kind_of_domain(term.key)
    if term.key == HOSTNAME:
        return Phrase(f"has no pod with {wanted}", f"has no pod with {wanted}", f"have no pod with {wanted}")
    return Phrase(
        f"{domain(term.key, value)} has no pod with {wanted}",
        f"has no pod with {wanted} in its {where}",
        f"have no pod with {wanted} in their {where}",
    )


# With anti-affinity there are workloads times nodes of these phrases: equal ones share the text.
@lru_cache(maxsize=16384)
def _host_taken(culprit: str) -> Phrase:
    return Phrase(f"already has {culprit}", f"already has {culprit}", f"already have {culprit}")


@lru_cache(maxsize=16384)
def _taken(key: str, value: str, culprit: str) -> Phrase:
    where = kind_of_domain(key)
    return Phrase(
        f"{domain(key, value)} already has {culprit}", f"shares its {where} with {culprit}", f"share their {where} with {culprit}"
    )


def _selector_words(selector: Selector | None) -> str:
    if selector is None:
        return "no selector"
    parts = []
    for key, operator, values, _ in selector.requirements[:_MOST_VALUES]:
        if operator == "In":
            parts.append(f"{key}={values[0]}" if len(values) == 1 else f"{key} in {_one_of(values)}")
        elif operator == "NotIn":
            parts.append(f"{key} not in {_one_of(values)}")
        else:
            parts.append(key if operator == "Exists" else f"no {key}")
    return ", ".join(parts) or "any label"


class _SpreadState:
    """How many pods a hard spread constraint counts in each topology domain."""

    def __init__(
        self,
        constraint: SpreadConstraint,
        members: list[bool],
        domains: Mapping[str | None, int],
        cluster: Cluster,
        pod: Pod,
    ) -> None:
        self.constraint = constraint
        self.counts = dict(domains)
        column = cluster.table.column(constraint.key)
        for node, count in cluster.matched(constraint, pod.namespace).items():
            if members[node]:
                self.counts[column[node]] += count
        self.least = min(self.counts.values(), default=0) if len(self.counts) >= constraint.min_domains else 0
        self.own = matches(constraint.selector, pod.labels)
        self.emptiest = next((value for value, count in self.counts.items() if count == self.least), None)

    def phrase(self, node: Node) -> Phrase | None:
        key = self.constraint.key
        value = node.labels.get(key)
        if value is None:
            return _lacks_key(key)
        count = self.counts.get(value, 0)
        if count + self.own - self.least <= self.constraint.max_skew:
            return None
        if len(self.counts) < self.constraint.min_domains:
            reason = f"{len(self.counts)} of {self.constraint.min_domains} minDomains exist"
        elif self.emptiest is not None:
            reason = f"{domain(key, self.emptiest)} has {self.least}"
        else:
            reason = "no topology domain counts"
        where = kind_of_domain(key)
        skew = f"maxSkew {self.constraint.max_skew}"
        # Constraints of pods have a path.
        source = "" if self.constraint.path else " in the scheduler's defaultConstraints"
        full = f"{domain(key, value)} has {count} of its pods, {reason} ({skew}{source})"
        exceeds = f"would exceed {skew} per {where}{source}"
        return Phrase(full, exceeds, exceeds)
