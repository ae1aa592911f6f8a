"""Labels that are accepted and still select the wrong thing, or nothing."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.match import FleetMatch, Match, Place, Target
from afflint.checks.wording import listing, quoted
from afflint.facts import SPREAD, Pods, Reach
from afflint.findings import field_of
from afflint.fleet import Fleet
from afflint.kube.selectors import Selector, matches

# Labels of tools: they say who made an object, and nobody expects them on pods.
_TOOL_PREFIXES = (
    "app.kubernetes.io/", "helm.sh/", "argocd.argoproj.io/", "kustomize.", "olm.", "velero.io/", "kubevirt.io/", "operators.coreos.com/",
    "vm.kubevirt.io/", "instancetype.kubevirt.io/", "os.template.kubevirt.io/", "workload.template.kubevirt.io/", "flavor.template.kubevirt.io/",
    "template.kubevirt.io/", "k8s-app", "chart", "heritage", "release",
)  # fmt: skip


def label_not_on_template(fleet: Fleet, _target: Target) -> Iterator[FleetMatch]:
    """Labels in metadata.labels that a selector asks for and the pod template lacks.

    Three triggers: the workload's own constraints ask for the label; a selector elsewhere that matches nothing would match;
    or, as information only, a VM's template has no labels at all.
    """
    reported: set[tuple[object, str]] = set()
    for reach in fleet.reaches:
        if not reach.selector.requirements:
            continue
        nearly = [pods for pods in fleet.nearly_selected(reach) if not matches(reach.selector, pods.template_labels)]
        if not nearly or any(True for _ in fleet.selected(reach)):
            continue
        for pods in nearly:
            own = pods.site == reach.site
            if pods.partial and not pods.template_labels and not own:
                continue  # A patch says only what it changes.
            for key in _needed(reach.selector, pods):
                if (pods.site, key) not in reported:
                    reported.add((pods.site, key))
                    yield FleetMatch(pods.site, pods.ref, _depended_on(pods, key, reach, own))
    for pods in fleet.pods:
        if _unlabelled_vm(pods) and not any(site == pods.site for site, _ in reported):
            yield FleetMatch(pods.site, pods.ref, _informed(pods))


def _needed(selector: Selector, pods: Pods) -> list[str]:
    """The labels of the object that the selector asks for and the template does not have."""
    asked = dict.fromkeys(requirement.key for requirement in selector.requirements)
    return [key for key in asked if key in pods.labels and key not in pods.template_labels]


def _depended_on(pods: Pods, key: str, reach: Reach, own: bool) -> Match:
    label = quoted(f"{key}: {pods.labels[key]}")
    home = _home(pods)
    if own:
        what = "spread constraint" if reach.what == SPREAD else reach.what
        message = f"the label {label} stands only on the {pods.ref.kind} itself; its own {what} asks for it, and the pods lack it"
    else:
        message = (
            f"the label {label} stands only on the {pods.ref.kind} itself, and the {reach.what} of {reach.title} asks for it on the pods"
        )
    related = Place(reach.site.file, reach.site.document, reach.path, True, f"the {reach.what} that asks for {label}")
    help_ = f"Move it, or copy it, to {home}; only labels there reach the pods."
    return Match(
        (*pods.site.base, "metadata", "labels", key), message, help_, key=True, related=(related,), severity=None if own else "error"
    )


def _home(pods: Pods) -> str:
    return field_of((*pods.template_path[len(pods.site.base) :], "metadata", "labels"))


def _unlabelled_vm(pods: Pods) -> bool:
    if not pods.kubevirt or not pods.has_own_template or pods.partial or pods.template_labels:
        return False
    return any(not key.startswith(_TOOL_PREFIXES) for key in pods.labels)


def _informed(pods: Pods) -> Match:
    keys = [key for key in pods.labels if not key.startswith(_TOOL_PREFIXES)]
    message = (
        f"the {'label' if len(keys) == 1 else 'labels'} {listing(quoted(key) for key in keys[:4])} of this {pods.ref.kind} will not reach its pod:"
        f" the template has no labels. Nothing selects {'it' if len(keys) == 1 else 'them'} yet"
    )
    help_ = f"If a selector is to find the pod, put the label under {_home(pods)}."
    return Match((*pods.site.base, "metadata", "labels", keys[0]), message, help_, key=True, severity="info")
