"""Workloads whose nodes are undecidable.

A value is a placeholder, the labels of a namespace are unknown, or it is unknown whether the annotations of the namespace are enforced.
Another scheduler places the pods, or one whose configuration disables a filter.
Workloads with affinity to such pods are undecidable, too. Nothing is proved about any of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from afflint.findings.phrases import quoted
from afflint.index.facts import REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, SPREAD, PodsKey, SelectorRef
from afflint.index.manifest_index import ManifestIndex, Scope
from afflint.inventory.admission import affects
from afflint.inventory.scheduler_profiles import NO_PROFILES, Profiles
from afflint.kube.selectors import EVERYTHING, Selector
from afflint.yaml.document import all_texts
from afflint.yaml.placeholders import is_placeholder


def undecidable_workloads(manifest_index: ManifestIndex, profiles: Profiles = NO_PROFILES) -> dict[PodsKey, str]:
    """Return the undecidable pods with the reason, which is empty for those of other schedulers and those that only depend on others."""
    found: dict[PodsKey, str] = {}
    for pods in manifest_index.pods:
        if pods.pod_source is not None and not pods.pod_source.node_name and not profiles.of(pods.pod_source).proves:
            found[pods.key] = ""
        text = next(filter(is_placeholder, all_texts(pods.spec)), None)
        if text is not None:
            found[pods.key] = f"{quoted(text)} is a placeholder; the simulation uses it literally"
        admission = manifest_index.admission(pods.pod_source.namespace) if pods.pod_source is not None else None
        if admission is not None and admission.uncertainty and pods.pod_source is not None and affects(pods.pod_source, admission):
            found.setdefault(pods.key, admission.uncertainty)
    for owner, name in _of_unknown_namespaces(manifest_index):
        if name is None:
            where = "a namespace that no manifest names"
        else:
            definers = "several manifests define" if name in manifest_index.ambiguous else "no manifest defines"
            where = f"namespace {quoted(name)}, which {definers}"
        assumed = "the simulation assumes that it has only the label with its name"
        found.setdefault(owner, f"a namespaceSelector requires labels of {where}; {assumed}")
    for owner in _drawn_elsewhere(manifest_index) if manifest_index.whole is not None else ():
        found.setdefault(owner, "its podAffinity requires pods that seem to belong to another cluster")
    if found:
        for owner in _dependants(manifest_index, found):
            found.setdefault(owner, "")
    return found


def _of_unknown_namespaces(manifest_index: ManifestIndex) -> Iterator[tuple[PodsKey, str | None]]:
    """Yield pods with a required term whose namespaceSelector may or may not match the namespaces of pods that it selects."""
    decided: dict[tuple[Selector, Selector], str | bool | None] = {}
    for ref in manifest_index.selector_refs:
        others = ref.namespace_selector
        if others is None or others == EVERYTHING or ref.template_path is None or ref.what not in _TERMS:
            continue
        asked = (ref.selector, others)
        if asked not in decided:
            unclear = (
                pods.namespace
                for pods in manifest_index.selected_anywhere(ref)
                if manifest_index.matches_namespace(others, pods.namespace) is None
            )
            decided[asked] = next(unclear, False)
        name = decided[asked]
        if not isinstance(name, bool):
            yield (ref.site, ref.template_path), name


def _drawn_elsewhere(manifest_index: ManifestIndex) -> Iterator[PodsKey]:
    """Yield pods with required affinity to pods that only another cluster seems to have: clusters are only guessed."""
    drawn = (ref for ref in manifest_index.selector_refs if ref.what == REQUIRED_AFFINITY and not manifest_index.is_selected(ref))
    for ref in drawn:
        if ref.template_path is not None and manifest_index.whole is not None and manifest_index.whole.is_selected(ref):
            yield ref.site, ref.template_path


_TERMS = (REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY)


def _dependants(manifest_index: ManifestIndex, start: dict[PodsKey, str]) -> Iterator[PodsKey]:
    """Yield the pods whose affinity or spread constraints select undecidable pods."""
    owners: dict[tuple[Selector, Scope], list[PodsKey]] = {}
    asking: dict[PodsKey, list[tuple[Selector, Scope]]] = {}
    for ref in manifest_index.selector_refs:
        if ref.template_path is not None and _draws(ref):
            asked = (ref.selector, ref.scope)
            if asked not in owners:
                owners[asked] = []
                for pods in manifest_index.selected(ref):
                    asking.setdefault(pods.key, []).append(asked)
            owners[asked].append((ref.site, ref.template_path))
    waiting, seen = list(start), set(start)
    while waiting:
        for asked in asking.get(waiting.pop(), ()):
            for owner in owners.pop(asked, ()):
                if owner not in seen:
                    seen.add(owner)
                    waiting.append(owner)
                    yield owner


def _draws(ref: SelectorRef) -> bool:
    return ref.what == REQUIRED_AFFINITY or (ref.what == SPREAD and ref.max_skew is not None)
