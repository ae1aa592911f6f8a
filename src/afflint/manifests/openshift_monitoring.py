"""OpenShift's own monitoring: the placement of its components is YAML in a string of a ConfigMap.

Names of the ConfigMaps and of their components: openshift/cluster-monitoring-operator pkg/manifests/types.go, config.go.
"""

from collections.abc import Iterator
from typing import Any

from afflint.findings.paths import Path
from afflint.kube.constraints import ShapedValue
from afflint.kube.kinds import Kind
from afflint.kube.shapes import Holder
from afflint.manifests.catalogue import CatalogueField, ConstraintPlace
from afflint.manifests.custom_resources import CustomWorkload
from afflint.yaml.documents import Document
from afflint.yaml.embedded import document_in_block
from afflint.yaml.object_fields import name_of, namespace_of

_KEY = "config.yaml"
_FIELDS = tuple(CatalogueField(name, name, opened=True) for name in ("nodeSelector", "tolerations", "topologySpreadConstraints"))
_PARTS = {
    ("openshift-monitoring", "cluster-monitoring-config"): (
        "alertmanagerMain", "metricsServer", "kubeStateMetrics", "prometheusK8s", "prometheusOperator", "openshiftStateMetrics",
        "telemeterClient", "thanosQuerier", "monitoringPlugin", "prometheusOperatorAdmissionWebhook",
    ),
    ("openshift-user-workload-monitoring", "user-workload-monitoring-config"): (
        "alertmanager", "prometheus", "prometheusOperator", "thanosRuler",
    ),
}  # fmt: skip
_KIND = Kind("ConfigMap", "", (), (), None)


def monitoring_workloads(document: Document, data: dict[str, Any], base: Path) -> Iterator[CustomWorkload]:
    """Yield the monitoring components in a ConfigMap, each with its place in the text; nothing for other ConfigMaps.

    Their document is the text: its spans are positions in the file, but its paths begin in the text.
    """
    if type(data.get("data")) is not dict:
        return
    parts = _PARTS.get((namespace_of(data), name_of(data)))
    inner = document_in_block(document, (*base, "data", _KEY)) if parts else None
    if inner is None or type(inner.data) is not dict:
        return
    for name in parts or ():
        holder = inner.data.get(name)
        if type(holder) is dict:
            found = tuple([ShapedValue(field.shape, (name, field.name), holder[field.name]) for field in _FIELDS if holder.get(field.name)])
            place = ConstraintPlace((name,), "fields", _FIELDS, pods=True)
            yield CustomWorkload(inner, data, (), _KIND, Holder((name,), found), "opened", None, place)
