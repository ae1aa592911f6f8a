"""OpenShift's own monitoring: where its parts run stands as YAML in a string of a ConfigMap.

Names of the ConfigMaps and of their parts: openshift/cluster-monitoring-operator pkg/manifests/types.go, config.go.
"""

from collections.abc import Iterator
from typing import Any

from afflint.findings import Path
from afflint.kube.catalogue import Field, Place
from afflint.kube.custom import CustomWorkload
from afflint.kube.kinds import Kind
from afflint.kube.shapes import Holder, Part
from afflint.reading.documents import Document, read

_KEY = "config.yaml"
_FIELDS = tuple(Field(name, name, opened=True) for name in ("nodeSelector", "tolerations", "topologySpreadConstraints"))
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
    """The parts of the monitoring in a ConfigMap, each where it stands in the text; nothing in any other ConfigMap.

    Their document is that of the text: spans in it are those of the file, while paths lead through the text only.
    """
    metadata, texts = data.get("metadata"), data.get("data")
    if type(metadata) is not dict or type(texts) is not dict:
        return
    parts = _PARTS.get((str(metadata.get("namespace")), str(metadata.get("name"))))
    inner = _inner(document, (*base, "data", _KEY), texts.get(_KEY)) if parts else None
    if inner is None or type(inner.data) is not dict:
        return
    for name in parts or ():
        holder = inner.data.get(name)
        if type(holder) is dict:
            found = tuple([Part(field.shape, (name, field.name), holder[field.name]) for field in _FIELDS if holder.get(field.name)])
            place = Place((name,), "fields", _FIELDS, pods=True)
            yield CustomWorkload(inner, data, (), _KIND, Holder((name,), found), "opened", None, place)


def _inner(document: Document, path: Path, text: object) -> Document | None:
    """The YAML in a literal block as a document of its own: its lines are those of the file. None for text that is written otherwise."""
    node = document.node_at(path) if type(text) is str else None
    if node is None or getattr(node, "style", None) != "|":
        return None
    below = document.locate(path).line - document.line  # The line of the `|`, so that those below it are the text.
    lines = document.raw_bytes.splitlines(keepends=True)[below : below + str(text).count("\n") + 1]
    inner = read(b"".join(lines), document.index, document.line + below)
    # What is edited would have to be read in its block again.
    inner.filled = True
    return inner if inner.problem is None else None
