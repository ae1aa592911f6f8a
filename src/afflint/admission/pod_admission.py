"""Node selectors and tolerations that annotations of a namespace add to its pods, or restrict.

Three admission plugins read the annotations before a pod is stored:

- OpenShift's scheduling.openshift.io/OriginPodNodeEnvironment (openshift/kubernetes, openshift-kube-apiserver/admission/scheduler/nodeenv),
  which takes the cluster's ``defaultNodeSelector`` where the namespace says nothing, and leaves namespaces with the annotation of
  Kubernetes' own plugin to that one;
- PodNodeSelector (plugin/pkg/admission/podnodeselector), off by default;
- PodTolerationRestriction (plugin/pkg/admission/podtolerationrestriction), off by default.

The labels are merged into ``spec.nodeSelector`` of every pod; a pod with another value for one of them is rejected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from afflint.findings.finding import Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.label_syntax import is_key, is_value
from afflint.manifests.manifest import Manifest
from afflint.yaml.object_fields import annotations_of
from afflint.yaml.placeholders import is_placeholder

PROJECT_SELECTOR, NAMESPACE_SELECTOR = "openshift.io/node-selector", "scheduler.alpha.kubernetes.io/node-selector"
DEFAULT_TOLERATIONS = "scheduler.alpha.kubernetes.io/defaultTolerations"
ALLOWED_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
ANNOTATIONS = {
    PROJECT_SELECTOR: "",
    NAMESPACE_SELECTOR: "PodNodeSelector",
    DEFAULT_TOLERATIONS: "PodTolerationRestriction",
    ALLOWED_TOLERATIONS: "PodTolerationRestriction",
}
"""The annotations of a Namespace that affect its pods, each with the admission plugin that reads it if it is off by default."""
SCHEDULER, DEFAULT_SELECTOR = "Scheduler", "defaultNodeSelector"
"""The kind of OpenShift's scheduler configuration, one object for each cluster, and its field."""


class NamespaceRule(NamedTuple):
    """An annotation of a Namespace that affects its pods, or the ``defaultNodeSelector`` of OpenShift's Scheduler.

    ``field`` is the name of the annotation or field, ``owner`` the object in messages, such as ``namespace shop``.
    """

    site: Site
    owner: str
    field: str
    text: str

    @property
    def plugin(self) -> str:
        """The admission plugin that reads the annotation, if it is off by default; "" if OpenShift always reads it."""
        return ANNOTATIONS.get(self.field, "")

    @property
    def path(self) -> Path:
        """The path of the annotation or field in its document."""
        return (*self.site.base, *(("spec",) if self.field == DEFAULT_SELECTOR else ("metadata", "annotations")), self.field)

    @property
    def title(self) -> str:
        """``openshift.io/node-selector of namespace shop``."""
        return f"{self.field} of {self.owner}"

    @property
    def enforcer(self) -> str:
        """The component that applies the rule."""
        return f"the admission plugin {self.plugin}" if self.plugin else "OpenShift"

    @property
    def fault(self) -> str:
        """Why the value is invalid, so that every pod is rejected; "" for a valid value or a placeholder."""
        if is_placeholder(self.text):
            return ""
        if self.of_labels:
            return "" if node_labels(self.text) is not None else "which is not a list of key=value"
        return "" if tolerations(self.text) is not None else "which is not a JSON list of tolerations"

    @property
    def of_labels(self) -> bool:
        """Whether it is a node selector."""
        return self.field in (PROJECT_SELECTOR, NAMESPACE_SELECTOR, DEFAULT_SELECTOR)


class PodAdmission(NamedTuple):
    """The rules for the pods of one namespace: a node selector, default tolerations, and allowed tolerations.

    ``uncertainty`` is the reason why the rules may not apply; "" if they do. ``is_guess``: other rules may apply instead; False if the
    rules only depend on whether an admission plugin is enabled.
    """

    selector: NamespaceRule | None = None
    default_tolerations: NamespaceRule | None = None
    allowed_tolerations: NamespaceRule | None = None
    uncertainty: str = ""
    is_guess: bool = False

    @property
    def rules(self) -> tuple[NamespaceRule, ...]:
        """The rules that are set."""
        return tuple([each for each in self if isinstance(each, NamespaceRule)])


class PodRejection(NamedTuple):
    """The reason why pods are rejected: the rule, the path in the pod spec that violates it (None if no pod can meet it), and a message."""

    rule: NamespaceRule
    path: Path | None
    message: str


def namespace_rules(manifest: Manifest, site: Site) -> Iterator[NamespaceRule]:
    """Yield the rules for pods in a Namespace or in OpenShift's Scheduler."""
    if manifest.kind.name == "Namespace":
        annotations = annotations_of(manifest.data)
        values = [(field, annotations[field]) for field in ANNOTATIONS if field in annotations]
        yield from (NamespaceRule(site, f"namespace {manifest.ref.name}", field, text) for field, text in values)
    elif manifest.kind.name == SCHEDULER:
        spec = manifest.data.get("spec")
        text = spec.get(DEFAULT_SELECTOR) if type(spec) is dict else None
        if type(text) is str and text.strip():
            yield NamespaceRule(site, f"{SCHEDULER} {manifest.ref.name}", DEFAULT_SELECTOR, text)


def combined(
    namespace: str, own: Sequence[NamespaceRule], default: NamespaceRule | None, plugins: Collection[str], *, known: bool
) -> PodAdmission | None:
    """Combine the rules of a namespace with the default of the cluster; None if there are no rules.

    ``known`` is False if the manifest of the namespace is missing; ``plugins`` are the admission plugins known to be enabled.
    """
    by_field = {rule.field: rule for rule in own}
    selector = by_field.get(NAMESPACE_SELECTOR) or by_field.get(PROJECT_SELECTOR)
    uncertainty, is_guess = "", False
    # The namespaces of the platform disable the default.
    if selector is None and default is not None and (known or not namespace.startswith(_OF_PLATFORM)):
        selector = default
        if not known:
            is_guess = True
            uncertainty = f"the manifest of namespace {namespace} is missing; its node selector may override the {default.title}"
    admission = PodAdmission(selector, by_field.get(DEFAULT_TOLERATIONS), by_field.get(ALLOWED_TOLERATIONS))
    for rule in admission.rules:
        if is_placeholder(rule.text):
            uncertainty, is_guess = f"{rule.title} is a placeholder", True
        elif rule.plugin and rule.plugin not in plugins and not is_guess:
            uncertainty = f"{rule.title} only has an effect if the admission plugin {rule.plugin} is enabled"
    return admission._replace(uncertainty=uncertainty, is_guess=is_guess) if admission.rules else None


_OF_PLATFORM = ("openshift-", "kube-", "default", "openshift")


def node_labels(text: str) -> dict[str, str] | None:
    """Parse ``key=value,key=value``; the last value of a key wins. Returns None for any other text.

    Values may be empty. OpenShift's labelselector.Parse and Kubernetes' labels.ConvertSelectorToLabelsMap only differ for a text of spaces,
    which OpenShift treats as empty.
    """
    labels: dict[str, str] = {}
    for part in text.split(",") if text.strip() else ():
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not is_key(key) or not is_value(value):
            return None
        labels[key] = value
    return labels


def tolerations(text: str) -> list[dict[str, Any]] | None:
    """Parse a JSON list of tolerations; None if the text is not such a list."""
    if not text:
        return []
    import json

    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if parsed is None:
        return []
    return parsed if type(parsed) is list and all(type(each) is dict for each in parsed) else None


def rejections(admission: PodAdmission, pod: Mapping[str, Any]) -> Iterator[PodRejection]:
    """Yield the reasons why the pods of a spec are rejected."""
    for rule in admission.rules:
        if rule.fault:
            yield PodRejection(rule, None, f"{rule.title} is {rule.text}, {rule.fault}")
    yield from _contradicted(admission, pod)
    yield from _not_allowed(admission, pod)


def _contradicted(admission: PodAdmission, pod: Mapping[str, Any]) -> Iterator[PodRejection]:
    """Yield labels in the pod's nodeSelector with another value than in the namespace."""
    rule, own = admission.selector, pod.get("nodeSelector")
    if rule is None or not isinstance(own, dict):
        return
    for key, value in given_labels(admission).items():
        other = own.get(key, value)
        if other != value and type(other) is str and not is_placeholder(other):
            yield PodRejection(rule, ("nodeSelector", key), f"{rule.title} sets {key}={value}, but its nodeSelector has {key}={other}")


def _not_allowed(admission: PodAdmission, pod: Mapping[str, Any]) -> Iterator[PodRejection]:
    """Yield tolerations of the pod that no allowed toleration covers."""
    rule, own = admission.allowed_tolerations, pod.get("tolerations")
    allowed = tolerations(rule.text) if rule is not None and not is_placeholder(rule.text) else None
    if rule is None or not allowed or not isinstance(own, list):
        return
    for index, each in enumerate(own):
        known = isinstance(each, dict) and not any(type(value) is str and is_placeholder(value) for value in each.values())
        if known and not any(_covers(other, each) for other in allowed):
            name = each.get("key") or "every taint"
            yield PodRejection(rule, ("tolerations", index), f"{rule.title} does not allow its toleration of {name}")
            return


def _covers(allowed: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Return whether one toleration covers another, as isSuperset of pkg/util/tolerations."""
    if allowed == own:
        return True
    key, operator, effect = (allowed.get(field) or "" for field in ("key", "operator", "effect"))
    if key != (own.get("key") or "") and (key or operator != "Exists"):
        return False
    if effect and effect != (own.get("effect") or ""):
        return False
    seconds, own_seconds = allowed.get("tolerationSeconds"), own.get("tolerationSeconds")
    if effect == "NoExecute" and type(seconds) is int and not (type(own_seconds) is int and own_seconds <= seconds):
        return False
    if operator == "Exists":
        return True
    return (own.get("operator") or "Equal") == "Equal" and (own.get("value") or "") == (allowed.get("value") or "")


def given_labels(admission: PodAdmission) -> dict[str, str]:
    """Return the labels that are added to the nodeSelector of pods; none if they cannot be parsed."""
    rule = admission.selector
    return {} if rule is None or is_placeholder(rule.text) else node_labels(rule.text) or {}


def given_tolerations(admission: PodAdmission) -> list[dict[str, Any]]:
    """Return the tolerations that are added to pods; none if they cannot be parsed."""
    rule = admission.default_tolerations
    return [] if rule is None or is_placeholder(rule.text) else tolerations(rule.text) or []
