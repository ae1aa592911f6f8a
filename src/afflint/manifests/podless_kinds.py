"""The kinds for which no controller makes pods, and that say nothing about pods of others.

Custom resources of other kinds may create workloads. The groups and kinds are those of the definitions that each project publishes.
"""

from __future__ import annotations

from afflint.kube.kinds import is_custom

_GROUPS = frozenset(
    (
        "acme.cert-manager.io", "addons.projectcontour.io", "apiextensions.crossplane.io", "autoscaling.k8s.io", "bitnami.com",
        "cert-manager.io", "cilium.io", "config.gatekeeper.sh", "configuration.konghq.com", "constraints.gatekeeper.sh",
        "crd.projectcalico.org", "externaldns.k8s.io", "external-secrets.io", "gateway.networking.k8s.io", "generators.external-secrets.io",
        "getambassador.io", "image.toolkit.fluxcd.io", "k8s.cni.cncf.io", "k8s.nginx.org", "metallb.io",
        "networking.istio.io", "notification.toolkit.fluxcd.io", "oauth.openshift.io",
        "policy.linkerd.io", "policy.networking.k8s.io", "projectcontour.io", "route.openshift.io", "secrets-store.csi.x-k8s.io",
        "security.istio.io", "security.openshift.io", "snapshot.storage.k8s.io", "telemetry.istio.io", "templates.gatekeeper.sh",
        "traefik.containo.us", "traefik.io", "user.openshift.io", "wgpolicyk8s.io",
    )
)  # fmt: skip
"""The API groups all of whose kinds are of this sort."""
_KINDS = {
    "argoproj.io": ("AppProject",),
    "gateway.envoyproxy.io": ("BackendTrafficPolicy", "ClientTrafficPolicy", "SecurityPolicy"),
    "grafana.integreatly.org": ("GrafanaAlertRuleGroup", "GrafanaDashboard", "GrafanaDatasource", "GrafanaFolder"),
    "monitoring.coreos.com": ("AlertmanagerConfig", "PodMonitor", "Probe", "PrometheusRule", "ScrapeConfig", "ServiceMonitor"),
}
"""Those of groups with other kinds, too."""
_OF_KUBERNETES = frozenset(
    (
        "APIService", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "CustomResourceDefinition", "Endpoints", "EndpointSlice", "Ingress",
        "IngressClass", "MutatingWebhookConfiguration", "NetworkPolicy", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
    )
)  # fmt: skip


def is_podless(group: str, kind: str) -> bool:
    """Return whether neither the objects of a kind make pods, nor does the placement of pods depend on them."""
    if not is_custom(group):
        return kind in _OF_KUBERNETES
    return group in _GROUPS or kind in _KINDS.get(group, ())
