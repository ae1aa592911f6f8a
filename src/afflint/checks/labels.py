"""Labels that are accepted and still select the wrong thing, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from afflint.checks.constraint_selectors import says
from afflint.checks.match import FleetMatch, Match, Place, Target
from afflint.checks.wording import listing, quoted
from afflint.facts import SPREAD, Pods, Reach, Site
from afflint.findings import Severity, field_of
from afflint.fleet import Fleet, near
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.selectors import Selector, conflict, matches, parse_label_selector, requirement_paths

# Labels of tools: they say who made an object, and nobody expects them on pods.
_TOOL_PREFIXES = (
    "app.kubernetes.io/", "helm.sh/", "argocd.argoproj.io/", "kustomize.", "olm.", "operators.coreos.com/", "velero.io/",
    "kubevirt.io/", "vm.kubevirt.io/", "instancetype.kubevirt.io/", "template.kubevirt.io/", "os.template.kubevirt.io/",
    "workload.template.kubevirt.io/", "flavor.template.kubevirt.io/", "k8s-app", "chart", "heritage", "release",
)  # fmt: skip
_MOST_RELATED, _LOOKED_AT = 3, 50


def selector_matches_nothing(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Pod terms and spread constraints without a labelSelector, which match no pod at all."""
    if not isinstance(manifest, Workload):
        return
    for term in manifest.constraints.pod_terms:
        if term.data.get("labelSelector") is None and not _is_misspelt(term.data):
            yield Match((*term.path, "labelSelector"), f"this {term.name} has no labelSelector, so it matches no pod")
    for spread in manifest.constraints.spreads:
        if spread.data.get("labelSelector") is None and not _is_misspelt(spread.data) and not manifest.partial:
            yield Match((*spread.path, "labelSelector"), "this spread constraint has no labelSelector, so it counts no pod")


def _is_misspelt(data: dict[str, Any]) -> bool:
    """True when something stands in for the selector that the admission rules complain of."""
    return any(key not in _KNOWN_BESIDE for key in data)


_KNOWN_BESIDE = frozenset(
    (
        "labelSelector", "topologyKey", "namespaces", "namespaceSelector", "matchLabelKeys", "mismatchLabelKeys",
        "maxSkew", "whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy",
    )
)  # fmt: skip


def selector_matches_everything(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Empty selectors: in required anti-affinity against every pod of the namespace, in a spread constraint counting none."""
    if not isinstance(manifest, Workload):
        return
    for term in manifest.constraints.pod_terms:
        if term.anti and term.required and _is_empty(term.data):
            message = "an empty labelSelector: the pods keep away from every pod of the namespace, and each of those from them"
            yield Match((*term.path, "labelSelector"), message, key=True)
    for spread in manifest.constraints.spreads:
        if _is_empty(spread.data):
            message = "an empty labelSelector counts no pods in a spread constraint, so nothing is spread"
            yield Match((*spread.path, "labelSelector"), message, key=True, severity="warning")


def _is_empty(data: dict[str, Any]) -> bool:
    selector = data.get("labelSelector")
    if type(selector) is not dict or data.get("matchLabelKeys") or data.get("mismatchLabelKeys"):
        return False
    return (
        not selector.get("matchLabels")
        and not selector.get("matchExpressions")
        and not selector.keys() - {"matchLabels", "matchExpressions"}
    )


def contradictory_selector(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Label selectors that no label set can satisfy."""
    if not isinstance(manifest, Workload):
        return
    for selector in manifest.constraints.selectors:
        parsed = parse_label_selector(selector.data)
        if not isinstance(parsed, Selector) or len(parsed.requirements) < 2:
            continue
        clash = conflict(parsed.requirements)
        if clash:
            path = requirement_paths(selector.data)[clash[-1]]
            words = listing((quoted(says(parsed.requirements[index])) for index in clash), "and also")
            yield Match((*selector.path, *path), f"no pod can have {words}, so this selector matches nothing", key=True)


def label_not_on_template(fleet: Fleet, _target: Target) -> Iterator[FleetMatch]:
    """Labels in metadata.labels that a selector asks for and the pod template lacks.

    Three triggers: the workload's own constraints ask for the label; a selector elsewhere that matches nothing would match;
    or, as information only, a VM's template has no labels at all.
    """
    asked: dict[tuple[Site, str], _Asked] = {}
    for reaches in _alike(fleet):
        selector = reaches[0].selector
        nearly = [pods for pods in fleet.nearly_selected(reaches[0]) if not matches(selector, pods.template_labels)]
        if not nearly or any(True for _ in fleet.selected(reaches[0])):
            continue
        by_site = {reach.site: reach for reach in reaches}
        for pods in nearly:
            own = by_site.get(pods.site)
            others = _others(reaches, pods)
            if own or (others and (pods.template_labels or not pods.partial)):
                for key in _needed(selector, pods):
                    asked.setdefault((pods.site, key), _Asked(pods, own, others, len(reaches) - (own is not None)))
    for (_, key), each in asked.items():
        yield FleetMatch(each.pods.site, each.pods.ref, _depended_on(each, key))
    reported = {site for site, _ in asked}
    for pods in fleet.pods:
        if pods.site not in reported and _unlabelled_vm(pods):
            yield FleetMatch(pods.site, pods.ref, _informed(pods))


class _Asked(NamedTuple):
    """A label that is asked for on the pods: by their own constraints, and by these of ``selectors`` that stand elsewhere."""

    pods: Pods
    own: Reach | None
    others: list[Reach]
    selectors: int


def _alike(fleet: Fleet) -> Iterator[list[Reach]]:
    """Selectors that ask the same in the same namespaces, together: a label is often asked for by every workload of an application."""
    groups: dict[tuple[object, ...], list[Reach]] = {}
    for reach in fleet.reaches:
        if reach.selector.requirements:
            groups.setdefault((reach.selector, reach.namespace, reach.namespaces, reach.everywhere), []).append(reach)
    return iter(groups.values())


def _others(reaches: list[Reach], pods: Pods) -> list[Reach]:
    """A few of the selectors elsewhere that stand close enough to mean these pods. Looks at so many only: the first few tell."""
    close = (reach for reach in reaches[:_LOOKED_AT] if reach.site != pods.site and near(reach, pods))
    return list(islice(close, _MOST_RELATED))


def _needed(selector: Selector, pods: Pods) -> list[str]:
    """The labels of the object that the selector asks for and the template does not have."""
    asked = dict.fromkeys(requirement.key for requirement in selector.requirements)
    return [key for key in asked if key in pods.labels and key not in pods.template_labels]


def _depended_on(asked: _Asked, key: str) -> Match:
    pods, own, others = asked.pods, asked.own, asked.others
    label = quoted(f"{key}: {pods.labels[key]}")
    message = f"the label {label} stands only on the {pods.ref.kind} itself, not on its pods; "
    if own:
        message += f"its own {'spread constraint' if own.what == SPREAD else own.what} asks for it"
    else:
        message += f"the {others[0].what} of {others[0].title} asks for it"
    more = (asked.selectors if own else asked.selectors - 1) if others else 0
    if more:
        message += f", as {'does one more selector' if more == 1 else f'do {more} more selectors'}"
    related = tuple(
        Place(reach.site.file, reach.site.document, reach.path, True, f"the {reach.what} of {reach.title} that asks for {label}")
        for reach in ([own] if own else []) + others
    )
    help_ = f"Move it, or copy it, to {_home(pods)}; only labels there reach the pods."
    severity: Severity | None = "error" if others else None
    return Match((*pods.site.base, "metadata", "labels", key), message, help_, key=True, related=related, severity=severity)


def _home(pods: Pods) -> str:
    return field_of((*pods.template_path[len(pods.site.base) :], "metadata", "labels"))


def _unlabelled_vm(pods: Pods) -> bool:
    if not pods.kubevirt or not pods.has_own_template or pods.partial or pods.template_labels:
        return False
    return any(not key.startswith(_TOOL_PREFIXES) for key in pods.labels)


def _informed(pods: Pods) -> Match:
    keys = [key for key in pods.labels if not key.startswith(_TOOL_PREFIXES)]
    message = (
        f"the {'label' if len(keys) == 1 else 'labels'} {listing(quoted(key) for key in keys[:4])} of this {pods.ref.kind}"
        f" will not reach its pod: the template has no labels. Nothing selects {'it' if len(keys) == 1 else 'them'} yet"
    )
    help_ = f"If a selector is to find the pod, put the label under {_home(pods)}."
    return Match((*pods.site.base, "metadata", "labels", keys[0]), message, help_, key=True, severity="info")
