"""Why a pod cannot go to a node, in words: one phrase for each node, and a sentence that counts the nodes behind each phrase."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from afflint.kube.selectors import EVERYTHING, NODE_NAME, Malformed, Requirement, Selector, holds, matches
from afflint.kube.taints import first_untolerated
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.node_fit import NODE_AFFINITY, NODE_UNSCHEDULABLE, TAINT_TOLERATION, NodeFit
from afflint.scheduler.node_fit import NODE_NAME as NODE_NAME_PLUGIN
from afflint.scheduler.node_ports import NODE_PORTS, HostPort, clash
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT, Shortage
from afflint.scheduler.nodes import ITSELF, Node, NodeTable
from afflint.scheduler.pods import Pod, SpreadConstraint, Term
from afflint.scheduler.topology_spread import HOSTNAME, POD_TOPOLOGY_SPREAD, ZONE

_MOST_VALUES = 3
REGION = "topology.kubernetes.io/region"


class Phrase(NamedTuple):
    """Why one node is out of the question: ``one`` in full, and how to say it of one and of several nodes when they are counted."""

    one: str
    singular: str
    plural: str


class Standing(NamedTuple):
    """A pod that runs, and its node."""

    pod: Pod
    node: str


def standing_pods(cluster: Cluster) -> list[Standing]:
    """The pods that run in a cluster, but for those that are being deleted."""
    where = cluster.pods
    return [Standing(pod, where[pod.namespace, pod.name]) for pod in cluster.evicted(cluster.nodes)]


def domain(key: str, value: str) -> str:
    """How people call a domain: ``zone a``, ``node worker-1``, ``rack=r1``."""
    word = {ZONE: "zone", HOSTNAME: "node", REGION: "region"}.get(key)
    return f"{word} {value}" if word else f"{key}={value}"


def kind_of_domain(key: str) -> str:
    """``zone``, ``node``, ``region``; other keys are called as they are."""
    return {ZONE: "zone", HOSTNAME: "node", REGION: "region", ITSELF: "node"}.get(key, key)


def port_words(port: HostPort) -> str:
    """``host port 80``; the protocol is named unless it is TCP."""
    return f"host port {port.port}{'' if port.protocol == 'TCP' else f'/{port.protocol}'}"


def summary(phrases: Iterable[Phrase]) -> str:
    """``4 nodes lack performance=high, 1 is cordoned``: how many nodes each phrase excludes, most first."""
    counted: dict[tuple[str, str], int] = {}
    for phrase in phrases:
        said = (phrase.singular, phrase.plural)
        counted[said] = counted.get(said, 0) + 1
    parts: list[str] = []
    for (singular, plural), count in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
        noun = "" if parts else (" node" if count == 1 else " nodes")
        parts.append(f"{count}{noun} {singular if count == 1 else plural}")
    return ", ".join(parts)


class Rejections:
    """Puts a verdict of a cluster on one pod into words.

    ``titles`` says to which workload a running pod belongs, by namespace and name; ``own`` is that of the pod itself.
    """

    def __init__(
        self,
        cluster: Cluster,
        pod: Pod,
        titles: Mapping[tuple[str, str], str] | None = None,
        own: str = "",
        standing: list[Standing] | None = None,
    ) -> None:
        self._cluster = cluster
        self._pod = pod
        self._titles = titles or {}
        self._own = own
        self._standing_pods = standing
        self._table = cluster.table
        self._said: dict[object, Phrase] = {}
        self._spread: list[_SpreadState] | None = None
        self._blocked: list[tuple[str, Mapping[str, str]]] | None = None
        self._companions: list[tuple[Term, set[str]]] | None = None

    def phrases(self, reasons: Mapping[str, str]) -> dict[str, Phrase]:
        """The phrase for each node that was rejected, from the plugin that rejected it first."""
        return {node: self.phrase(node, plugin) for node, plugin in reasons.items()}

    def phrase(self, node: str, plugin: str) -> Phrase:
        row = self._table.nodes[self._table.numbers[node]]
        if plugin == NODE_UNSCHEDULABLE:
            return _CORDONED
        if plugin == NODE_NAME_PLUGIN:
            return _OTHER_NODE
        if plugin == TAINT_TOLERATION:
            return self._taint(row)
        if plugin == NODE_AFFINITY:
            return self._affinity(row)
        if plugin == NODE_PORTS:
            return self._port(row)
        if plugin == NODE_RESOURCES_FIT:
            return self._room(row)
        if plugin == POD_TOPOLOGY_SPREAD:
            return self._spread_phrase(row)
        if plugin == INTER_POD_AFFINITY:
            return self._interpod(row)
        return Phrase(f"rejected by {plugin}", f"is rejected by {plugin}", f"are rejected by {plugin}")

    # --- the node itself -----------------------------------------------------------------------------------------------

    def _taint(self, node: Node) -> Phrase:
        said = self._said.get(node.taints)
        if said is None:
            taint = first_untolerated(node.taints, self._pod.rules.tolerations)
            text = f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}" if taint else ""
            said = Phrase(f"tainted {text}, not tolerated", f"is tainted {text}", f"are tainted {text}")
            self._said[node.taints] = said
        return said

    def _affinity(self, node: Node) -> Phrase:
        rules = self._pod.rules
        for requirement in rules.node_selector.requirements:
            if not holds(requirement, node.labels.get(requirement.key)):
                return self._requirement(requirement, node)
        terms = [term for term in rules.terms or () if isinstance(term, Selector)]
        if len(terms) == 1:
            for requirement in terms[0].requirements:
                named = requirement.field and requirement.key == NODE_NAME
                value = node.name if named else "" if requirement.field else node.labels.get(requirement.key)
                if not holds(requirement, value):
                    return self._requirement(requirement, node)
        if not terms:
            return _NO_TERM
        text = f"none of its {len(terms)} node affinity terms"
        return Phrase(f"matches {text}", f"matches {text}", f"match {text}")

    def _requirement(self, requirement: Requirement, node: Node) -> Phrase:
        value = node.labels.get(requirement.key)
        asked = (requirement, value)
        if requirement.field:
            return _OTHER_NAME
        said = self._said.get(asked)
        if said is None:
            said = self._said[asked] = _requirement_phrase(requirement, value)
        return said

    def _room(self, node: Node) -> Phrase:
        found = self._cluster.shortages(self._pod, node.name)
        if not found:
            return _NO_ROOM
        full = "; ".join([_shortage(each) for each in found])
        if found[0].resource == "pods":
            return Phrase(full, "takes no more pods", "take no more pods")
        lacking = f"too little {_CALLED.get(found[0].resource, found[0].resource)}"
        return Phrase(full, f"has {lacking}", f"have {lacking}")

    def _port(self, node: Node) -> Phrase:
        for each in self._standing:
            for port in self._pod.ports if each.node == node.name else ():
                if clash((port,), each.pod.ports):
                    number = port_words(port)
                    return Phrase(f"{number} is taken by {self._who(each)}", f"has {number} taken", f"have {number} taken")
        return _TERMINATING

    # --- topology spread -----------------------------------------------------------------------------------------------

    def _spread_phrase(self, node: Node) -> Phrase:
        if self._spread is None:
            fit = NodeFit(self._pod.rules, self._table)
            keys = tuple([constraint.key for constraint in self._pod.hard_spread])
            self._spread = [
                _SpreadState(constraint, *fit.domains(constraint, keys), self._table, self._pod, self._standing)
                for constraint in self._pod.hard_spread
            ]
        for state in self._spread:
            said = state.phrase(node)
            if said is not None:
                return said
        return _SPREAD

    # --- other pods ----------------------------------------------------------------------------------------------------

    @property
    def _standing(self) -> list[Standing]:
        if self._standing_pods is None:
            self._standing_pods = standing_pods(self._cluster)
        return self._standing_pods

    def _interpod(self, node: Node) -> Phrase:
        if self._pod.malformed_terms:
            return _UNREADABLE
        if self._companions is None or self._blocked is None:
            self._companions = self._drawn()
            self._blocked = self._kept_away()
        for term, values in self._companions:
            value = node.labels.get(term.key)
            if value is None:
                return _lacks_key(term.key)
            if value not in values:
                return _alone(term, value)
        for key, culprits in self._blocked:
            value = node.labels.get(key, None)
            if value is not None and value in culprits:
                return _taken(key, value, culprits[value])
        return _TERMINATING

    def _drawn(self) -> list[tuple[Term, set[str]]]:
        """For each required pod affinity term the values where a pod runs that matches all of them."""
        terms = self._pod.affinity
        if isinstance(terms, Malformed) or not terms:
            return []
        scopes = [(self._cluster.directory.scope(term), term.selector) for term in terms]
        rows = [
            self._table.nodes[self._table.numbers[each.node]]
            for each in self._standing
            if all((names is None or each.pod.namespace in names) and matches(selector, each.pod.labels) for names, selector in scopes)
        ]
        found = [(term, {row.labels[term.key] for row in rows if term.key in row.labels}) for term in terms]
        if not any(values for _, values in found):
            # Then the pod was let in by the rule for the first of a group, if at all: only a missing key can have rejected a node.
            own = all((names is None or self._pod.namespace in names) and matches(selector, self._pod.labels) for names, selector in scopes)
            if own:
                return [(term, set(self._table.column(term.key)) - {None}) for term in terms]  # type: ignore[misc]
        return found

    def _kept_away(self) -> list[tuple[str, Mapping[str, str]]]:
        """By topology key and value, who keeps the pod away: by its own anti-affinity first, then by that of others."""
        found: list[tuple[str, Mapping[str, str]]] = []
        own = self._pod.anti_affinity
        for term in () if isinstance(own, Malformed) else own:
            names = self._cluster.directory.scope(term)
            culprits: dict[str, str] = {}
            for each in self._standing:
                if (names is None or each.pod.namespace in names) and matches(term.selector, each.pod.labels):
                    self._blame(culprits, term.key, each, "")
            found.append((term.key, culprits))
        by_key: dict[str, dict[str, str]] = {}
        for each in self._standing:
            theirs = each.pod.anti_affinity
            for term in () if isinstance(theirs, Malformed) else theirs:
                if matches(term.selector, self._pod.labels) and self._cluster.directory.covers(term, self._pod.namespace):
                    self._blame(by_key.setdefault(term.key, {}), term.key, each, ", which keeps it away")
        return [*found, *by_key.items()]

    def _blame(self, culprits: dict[str, str], key: str, each: Standing, addition: str) -> None:
        value = self._table.nodes[self._table.numbers[each.node]].labels.get(key)
        if value is not None and value not in culprits:
            culprits[value] = self._who(each, addition)

    def _who(self, each: Standing, addition: str = "") -> str:
        """How a running pod is called: by its workload, if that is known. ``addition`` is said of pods of others."""
        title = self._titles.get((each.pod.namespace, each.pod.name), "")
        if not title:
            return f"pod {each.pod.name}{addition}"
        name = title.rpartition("/")[2]
        return f"a replica of {name}" if title == self._own else f"a pod of {name}{addition}"


_CORDONED = Phrase("cordoned", "is cordoned", "are cordoned")
_OTHER_NODE = Phrase("not the node that spec.nodeName names", "is not the node of spec.nodeName", "are not the node of spec.nodeName")
_OTHER_NAME = Phrase("not one of the nodes that its node affinity names", "has another name", "have other names")
_NO_TERM = Phrase("its node affinity matches no node", "matches no node affinity term", "match no node affinity term")
_NO_ROOM = Phrase("has no room", "has no room", "have no room")
_SPREAD = Phrase("against its topology spread", "is against its topology spread", "are against its topology spread")
_UNREADABLE = Phrase(
    "its pod affinity cannot be parsed", "is rejected for an unparsable pod affinity", "are rejected for an unparsable pod affinity"
)
_TERMINATING = Phrase(
    "a pod that is being deleted keeps it away", "is barred by a pod that is being deleted", "are barred by pods that are being deleted"
)


_CALLED = {"cpu": "CPU"}
_BYTES = ("memory", "ephemeral-storage")


def _shortage(shortage: Shortage) -> str:
    """``too little memory: 3Gi asked, 1Gi left``."""
    resource, asked, left = shortage
    if resource == "pods":
        return "takes no more pods"
    left = max(left, 0)
    if resource == "cpu":
        amounts = _thousandths(asked), _thousandths(left)
    elif resource in _BYTES or resource.startswith("hugepages-"):
        amounts = _bytes(asked, up=True), _bytes(left, up=False)
    else:
        amounts = str(asked), str(left)
    return f"too little {_CALLED.get(resource, resource)}: {amounts[0]} asked, {amounts[1]} left"


def _thousandths(amount: int) -> str:
    return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"


def _bytes(amount: int, *, up: bool) -> str:
    """Bytes in the largest unit that they fill, to a hundredth: what is asked rounded up and what is left down, so that it shows."""
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
        return Phrase(f"runs no pod with {wanted}", f"runs no pod with {wanted}", f"run no pod with {wanted}")
    return Phrase(
        f"{domain(term.key, value)} has no pod with {wanted}",
        f"shares its {where} with no pod with {wanted}",
        f"share their {where} with no pod with {wanted}",
    )


def _taken(key: str, value: str, culprit: str) -> Phrase:
    where = kind_of_domain(key)
    if key == HOSTNAME:
        return Phrase(f"already has {culprit}", f"already has {culprit}", f"already have {culprit}")
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
    """How the pods that one hard constraint counts lie over its domains."""

    def __init__(
        self,
        constraint: SpreadConstraint,
        members: list[bool],
        domains: Mapping[str | None, int],
        table: NodeTable,
        pod: Pod,
        standing: list[Standing],
    ) -> None:
        self.constraint = constraint
        self.counts = dict(domains)
        column = table.column(constraint.key)
        if isinstance(constraint.selector, Selector) and constraint.selector != EVERYTHING:
            for each in standing:
                number = table.numbers[each.node]
                if members[number] and each.pod.namespace == pod.namespace and matches(constraint.selector, each.pod.labels):
                    self.counts[column[number]] += 1
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
            reason = "no domain counts"
        where = kind_of_domain(key)
        full = f"{domain(key, value)} has {count} of its pods, {reason} (maxSkew {self.constraint.max_skew})"
        return Phrase(
            full,
            f"would exceed maxSkew {self.constraint.max_skew} per {where}",
            f"would exceed maxSkew {self.constraint.max_skew} per {where}",
        )
