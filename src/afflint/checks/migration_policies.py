"""The virtual machines that MigrationPolicies select. Semantics: KubeVirt's pkg/virt-controller/watch/migration/migrationpolicy.go."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace, Target
from afflint.findings.finding import folder_distance
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted, summarize_names
from afflint.index.facts import Pods, SelectorRef
from afflint.index.manifest_index import ManifestIndex, NearMiss
from afflint.kube.kinds import MIGRATION_POLICY
from afflint.kube.selectors import EVERYTHING, Malformed, Selector, from_labels
from afflint.yaml.document import map_at
from afflint.yaml.placeholders import is_placeholder

if TYPE_CHECKING:
    from afflint.index.cluster_objects import MaintenanceObject

_OF_MACHINES, _OF_NAMESPACES = "virtualMachineInstanceSelector", "namespaceSelector"
_ADDED = ("kubevirt.io/", "vm.kubevirt.io/")
"""Prefixes of the labels that controllers add to virtual machines while these run."""
_LOOKED_AT = 1000


class _SelectingPolicy(NamedTuple):
    """A MigrationPolicy whose selectors can be evaluated. ``machines`` is the selector of the labels of virtual machines."""

    source: MaintenanceObject
    machines: SelectorRef
    namespaces: Selector

    @property
    def detail(self) -> tuple[int, int]:
        """The number of labels in both selectors, and in that of virtual machines: KubeVirt takes the policy with most."""
        machines = len(self.machines.selector.requirements)
        return machines + len(self.namespaces.requirements), machines

    @property
    def settings(self) -> dict[str, object]:
        """What the policy sets for the migrations."""
        return {key: value for key, value in self.source.spec.items() if key != "selectors"}

    def may_apply(self, manifest_index: ManifestIndex, pods: Pods) -> bool | None:
        """Return whether the policy covers the namespace of virtual machines; None if that is not known."""
        if not pods.kubevirt:
            return False
        return True if self.namespaces == EVERYTHING else manifest_index.matches_namespace(self.namespaces, pods.namespace)

    def selected(self, manifest_index: ManifestIndex) -> Iterator[Pods]:
        """Yield the virtual machines that the policy certainly selects."""
        for pods in islice(manifest_index.selected_anywhere(self.machines), _LOOKED_AT):
            if pods.labels_known and self.may_apply(manifest_index, pods):
                yield pods

    def may_select_any(self, manifest_index: ManifestIndex) -> bool:
        found = manifest_index.selected_anywhere(self.machines)
        return any(self.may_apply(manifest_index, pods) is not False for pods in found)


def _policies(manifest_index: ManifestIndex) -> Iterator[_SelectingPolicy]:
    for each in manifest_index.facts.maintenance:
        selectors = each.spec.get("selectors")
        if each.ref.kind != MIGRATION_POLICY or type(selectors) is not dict:
            continue
        machines, namespaces = (from_labels(map_at(selectors, field)) for field in (_OF_MACHINES, _OF_NAMESPACES))
        if isinstance(machines, Malformed) or isinstance(namespaces, Malformed) or any(map(_is_open, (machines, namespaces))):
            continue
        path = (*each.site.base, "spec", "selectors", _OF_MACHINES)
        title = f"{MIGRATION_POLICY} {each.ref.name}"
        ref = SelectorRef(each.site, each.ref, title, f"{MIGRATION_POLICY} selector", path, None, (), True, machines, None)
        yield _SelectingPolicy(each, ref, namespaces)


def _is_open(selector: Selector) -> bool:
    """Return whether manifests do not show whether a selector matches."""
    return any(
        each.key.startswith(_ADDED) or is_placeholder(each.key) or any(map(is_placeholder, each.values)) for each in selector.requirements
    )


def selector_matches_nothing(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report MigrationPolicies that select no virtual machine: found by a near miss, or because the context is complete."""
    for policy in _policies(manifest_index):
        if policy.may_select_any(manifest_index):
            continue
        miss = _meant(manifest_index, policy)
        if miss is not None:
            where = f"on {miss.pods.title}" if miss.in_template else f"on {miss.pods.title}, but only in metadata.labels"
            label, asked = quoted(f"{miss.key}: {miss.value}"), quoted(f"{miss.asked.key}: {miss.asked.values[0]}")
            message = f"no virtual machine has {asked}, so this policy applies to none; {label} is {where}"
            path = (*miss.pods.template_path, "metadata", "labels") if miss.in_template else (*miss.pods.site.base, "metadata", "labels")
            site = miss.pods.site
            related = RelatedPlace(site.file, site.document, (*path, miss.key), True, f"{label} of {miss.pods.title}")
            remedy = "Select the labels in `spec.template.metadata.labels` of the virtual machines."
            match = Match((*policy.machines.path, miss.asked.key), message, remedy, related=(related,))
            yield CrossManifestMatch(policy.source.site, policy.source.ref, match)
        elif target.complete and all(pods.labels_known for pods in manifest_index.pods if pods.kubevirt):
            message = "this MigrationPolicy selects no virtual machine, and the configuration sets `complete: true`"
            path = (*policy.source.site.base, "spec", "selectors")
            match = Match(path, message, "Select the labels in `spec.template.metadata.labels` of the virtual machines.", key=True)
            yield CrossManifestMatch(policy.source.site, policy.source.ref, match)


def _meant(manifest_index: ManifestIndex, policy: _SelectingPolicy) -> NearMiss | None:
    """Return the label of a virtual machine that the selector probably means."""
    ref = policy.machines
    miss = manifest_index.near_miss(ref)
    if miss is None and manifest_index.is_nearly_selected(ref):
        for pods in islice(manifest_index.nearly_selected(ref), _LOOKED_AT):
            for asked in ref.selector.requirements:
                if asked.key in pods.labels and asked.key not in pods.template_labels:
                    miss = miss or NearMiss(asked, pods, asked.key, pods.labels[asked.key], False)
    is_meant = miss is not None and miss.pods.labels_known and policy.may_apply(manifest_index, miss.pods) is not False
    return miss if is_meant else None


def ignored_operator_setting(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report MigrationPolicies that lose against another one only by their name."""
    policies = list(_policies(manifest_index))
    if len(policies) < 2:
        return
    chosen: dict[object, _SelectingPolicy] = {}
    ordered = sorted(policies, key=lambda each: ((-each.detail[0], -each.detail[1]), each.source.ref.name or ""))
    for policy in ordered:
        lost: list[Pods] = []
        winner: _SelectingPolicy | None = None
        for pods in policy.selected(manifest_index):
            other = chosen.setdefault(pods.key, policy)
            if other is not policy and _compete(other, policy):
                winner = winner or other
                lost.append(pods)
        if winner is not None:
            yield _tie(policy, winner, lost)


def _compete(first: _SelectingPolicy, second: _SelectingPolicy) -> bool:
    """Return whether only the names of two policies decide, and the decision matters."""
    if first.detail != second.detail or first.settings == second.settings or first.source.ref.name == second.source.ref.name:
        return False
    up, down = folder_distance(first.source.site, second.source.site)
    return (up, down) == (0, 0)  # Others may be for different clusters.


def _tie(policy: _SelectingPolicy, winner: _SelectingPolicy, lost: list[Pods]) -> CrossManifestMatch:
    name = quoted(winner.source.ref.name)
    machines = summarize_names([each.title for each in lost])
    message = f"KubeVirt ignores this MigrationPolicy for {machines}: {name} selects as many labels, and its name sorts first"
    site = winner.source.site
    related = RelatedPlace(site.file, site.document, (*site.base, "metadata", "name"), False, f"MigrationPolicy {winner.source.ref.name}")
    remedy = "Add a label to the selector of the policy that should apply: KubeVirt takes the policy with most labels."
    match = Match((*policy.source.site.base, "spec", "selectors"), message, remedy, key=True, related=(related,))
    return CrossManifestMatch(policy.source.site, policy.source.ref, match)
