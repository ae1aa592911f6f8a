"""Write schemas/charts.jsonl, the catalogue of Helm charts whose values are placement constraints: one line per chart.

    python tools/charts.py FACTS.jsonl.gz

FACTS has one line per chart, measured by rendering it with Helm: `chart`, `repository`, `path`, `commit`, `version`, `values` (each with
`path`, `kind`, `shape`, `workload`, `result`), `pods` (the labels of each workload, and the values that change them) and `ignored_traps`
(values that reach nothing). The catalogue is generated, never edited: changes are made here.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).parents[1] / "schemas" / "charts.jsonl"

FIELDS = ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "priorityClassName", "runtimeClassName", "schedulerName")
# Facts that are not named after their chart.
NAMES = {"airflow-bitnami": "airflow", "thanos-bitnami": "thanos"}
# Words in the address of a chart repository by which its publisher is recognised, if the owner of the source is not one of them.
PUBLISHERS = {
    "app-template": ("bjw-s",),
    "grafana": ("grafana",),
    "loki": ("grafana",),
    "tempo": ("grafana",),
    "cert-manager": ("jetstack", "cert-manager"),
    "argo-cd": ("argo",),
    "argo-workflows": ("argo",),
    "rook-ceph": ("rook",),
    "rook-ceph-cluster": ("rook",),
    "velero": ("vmware", "velero"),
    "vault": ("hashicorp",),
    "istiod": ("istio",),
    "gateway": ("istio",),
}
# Charts whose names many publishers use, so that the name alone does not identify them.
AMBIGUOUS = frozenset(
    (
        "airflow", "alertmanager", "gateway", "grafana", "harbor", "jenkins", "keycloak", "loki", "mariadb", "minio", "opensearch",
        "postgres-operator", "postgresql", "prometheus", "rabbitmq", "redis", "tempo", "thanos", "trino", "vault", "vector", "coredns",
        "fluent-bit", "snapshot-controller", "spark-operator",
    )
)  # fmt: skip
# The versions to which the facts of values that reach nothing apply, as a range of major versions; `None` is no limit. For the charts and
# keys here, `git log -G '\.Values\.KEY\b'` over the templates of the whole history shows no version that reads the value. Facts of other
# charts apply to the major version that was rendered.
ALL = (None, None)
RANGES: dict[str, tuple[int | None, int | None]] = {
    "app-template": (2, None),
    "kube-prometheus-stack": ALL,
    "argo-cd": ALL,
    "argo-workflows": ALL,
    "ingress-nginx": ALL,
    "rook-ceph": ALL,
    "rook-ceph-cluster": ALL,
    "metallb": ALL,
    "longhorn": ALL,
    "prometheus": ALL,
    "redis": ALL,
    "mariadb": ALL,
    "thanos": ALL,
    "prometheus-node-exporter": ALL,
}
# The first major version whose pods have the labels of the facts, and no others; else the major version that was rendered.
LABELS_SINCE = {
    "app-template": 2,
    "ingress-nginx": 3,
    "kube-prometheus-stack": 18,
    "argo-cd": 3,
    "longhorn": 1,
}
# Versions in the source that are placeholders: the major version of the releases from it.
MAJORS = {"cert-manager": 1, "kyverno": 3, "istiod": 1, "gateway": 1, "rook-ceph": 1, "rook-ceph-cluster": 1}
# Values that reach nothing, beyond those in the facts, found in the same way: `path` with `fields`, and what the chart reads instead.
FURTHER_IGNORED: dict[str, tuple[dict[str, Any], ...]] = {
    "kube-prometheus-stack": (
        {"path": "prometheus", "use": ["prometheus.prometheusSpec"]},
        {"path": "alertmanager", "use": ["alertmanager.alertmanagerSpec"]},
        {"path": "thanosRuler", "use": ["thanosRuler.thanosRulerSpec"]},
    ),
    "argo-cd": ({"path": "global", "fields": ["affinity"], "only": "kubernetes", "use": ["server", "controller", "repoServer"]},),
}
# What a chart reads instead of a value that reaches nothing, by the path of the latter; else the places for the same kind of value.
INSTEAD = {
    "app-template": {"": ["defaultPodOptions"], "pod": ["defaultPodOptions"], "controllers.{}": ["controllers.{}.pod"]},
    "rook-ceph-cluster": {"": ["cephClusterSpec.placement"]},
}
# Maps in which the chart reads no constraints but those of its known places.
CLOSED = {"app-template": ["defaultPodOptions", "controllers.{}"]}
# Resources of operators that a chart creates, by their kinds: the operator labels the pods.
GROUPS = {"Prometheus": "monitoring.coreos.com", "Alertmanager": "monitoring.coreos.com", "ThanosRuler": "monitoring.coreos.com"}
# The keys of all labels that prometheus-operator sets on these pods since 0.50: pkg/prometheus, pkg/alertmanager and pkg/thanos.
OF_OPERATOR = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by")
OPERATOR_LABELS = {
    "Prometheus": (
        *OF_OPERATOR,
        "prometheus",
        "operator.prometheus.io/name",
        "operator.prometheus.io/shard",
        "operator.prometheus.io/mode",
    ),
    "Alertmanager": (*OF_OPERATOR, "alertmanager"),
    "ThanosRuler": (*OF_OPERATOR, "thanos-ruler"),
}
# Labels whose values change with each version.
OF_VERSIONS = frozenset(("helm.sh/chart", "chart", "app.kubernetes.io/version"))


def catalogue(facts: list[dict[str, Any]]) -> str:
    """Return the text of the catalogue, sorted by name so that differences are readable."""
    entries = sorted((entry(each) for each in facts), key=lambda each: each["chart"])
    return "".join(json.dumps(each, separators=(",", ":"), ensure_ascii=False) + "\n" for each in entries)


def entry(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the line of one chart."""
    name = NAMES.get(facts["chart"], facts["chart"])
    owner = facts["repository"].partition("/")[0].lower()
    found: dict[str, Any] = {"chart": name, "publishers": sorted({owner, *PUBLISHERS.get(name, ())})}
    if name not in AMBIGUOUS and owner != "bitnami":
        found["unique"] = True
    found["source"] = " ".join(facts[key] for key in ("repository", "path", "commit", "version"))
    major = MAJORS.get(name, major_of(facts["version"]))
    known = LABELS_SINCE.get(name, major)
    if known is not None:
        found["labels_since"] = known
        if name not in LABELS_SINCE:
            found["labels_before"] = known + 1
    workloads = [each["workload"] for each in facts["pods"]]
    pods = [pod(each, name) for each in facts["pods"]]
    found["places"] = places(facts["values"], workloads, pods)
    if pods:
        found["pods"] = pods
    ignored = ignored_places(facts, name, major)
    if ignored:
        found["ignored"] = ignored
    if name in CLOSED:
        found["closed"] = [{"path": path, "use": INSTEAD[name].get(path, [path])} for path in CLOSED[name]]
    return found


def major_of(version: str) -> int | None:
    """Return the major version; None for a version that is a placeholder in the source of the chart."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)", version)
    return int(match[1]) if match and match.groups() not in (("0", "0", "0"), ("0", "0", "1"), ("1", "0", "0"), ("0", "1", "1")) else None


def places(values: list[dict[str, Any]], workloads: list[Any], pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the places with placement constraints: each a path with some fields, and the pods that they reach."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for value in values:
        path, _, name = value["path"].replace("*", "{}").rpartition(".")
        kind = value["kind"].partition(" ")[0]
        if kind not in FIELDS and kind != "preset":
            continue
        every = [pods_of(each, workloads, pods) for each in as_list(value["workload"]) if each["kind"] != "ConfigMap"]
        # Pods that were not measured may have other labels.
        reached = [number for each in every for number in each] if all(every) else []
        text = "text" in value["shape"]
        key = (path, tuple(dict.fromkeys(reached)), value["result"] != "arrives", text)
        each = found.setdefault(key, {"path": path, "fields": []})
        each["fields"].append(name if name == kind else f"{name}={kind}")
        if reached and kind != "preset":
            each["pods"] = list(key[1])
        if value["result"] != "arrives":
            each["unverified"] = True
        if text:
            each["text"] = True
    return [{**each, "fields": " ".join(each["fields"])} for each in found.values()]


def pods_of(workload: dict[str, Any], workloads: list[Any], pods: list[dict[str, Any]]) -> list[int]:
    """Return the numbers of the pods of a workload; those of an operator's resource are added to ``pods``."""
    if workload["kind"] in GROUPS:
        kind = workload["kind"]
        operated = {"kind": kind, "group": GROUPS[kind], "name": workload["name"], "labels": dict.fromkeys(OPERATOR_LABELS[kind], "")}
        if operated not in pods:
            pods.append(operated)
        return [pods.index(operated)]
    if "|" in workload["kind"] or workload["name"] == "*":  # Every controller of app-template, with the labels of each version.
        return list(range(len(workloads)))
    return [number for number, each in enumerate(workloads) if (each["kind"], each["name"]) == (workload["kind"], workload["name"])]


def pod(facts: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the labels of the pods of one workload. A value with unknown parts is empty."""
    changed = facts.get("changed_by") or {}
    labels = {key: "" if key in OF_VERSIONS else label_value(value) for key, value in facts["labels"].items()}
    found: dict[str, Any] = {"kind": facts["workload"]["kind"].partition(" ")[0], "labels": labels}
    if changed:
        found["overridden"] = {key: " ".join(sorted({each.rpartition(".")[2] for each in by})) for key, by in sorted(changed.items())}
    versions = re.match(r"(\d+)\.x", facts.get("versions", ""))
    if versions and name == "app-template":
        found.update({"since": 4} if versions[1] == "4" else {"before": 4})
    return found


def label_value(value: str) -> str:
    value = value.replace("{release} or global.nameOverride", "{release}")
    return value if re.fullmatch(r"(?:[^{}]|\{release\}|\{controllerKey\})*", value) and " " not in value else ""


def ignored_places(facts: dict[str, Any], name: str, major: int | None) -> list[dict[str, Any]]:
    """Return the places whose constraints reach nothing, with the versions of which that is known and the places to use instead."""
    low, high = RANGES.get(name, (major, major + 1 if major is not None else None))
    if name not in RANGES and major is None:
        return []
    found: dict[str, dict[str, Any]] = {}
    for trap in facts["ignored_traps"]:
        path, _, field = trap["path"].replace("*", "{}").rpartition(".")
        if any(path.startswith(each) for each in CLOSED.get(name, ())):
            continue
        if field in FIELDS and "no pod" in trap["result"]:
            found.setdefault(path, {"path": path, "fields": []})["fields"].append(field)
    for further in FURTHER_IGNORED.get(name, ()):
        found[further["path"]] = {"fields": list(FIELDS[:5]), **further}
    instead = INSTEAD.get(name, {})
    result = []
    for path, each in found.items():
        if path in instead:
            each["use"] = instead[path]
        each["fields"] = " ".join(each["fields"])
        limits = {key: value for key, value in (("since", low), ("before", high)) if value is not None}
        result.append({**each, **limits})
    return result


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
        text = catalogue([json.loads(line) for line in file])
    CATALOGUE.write_text(text, encoding="utf-8")
    print(f"{CATALOGUE.name}: {text.count(chr(10))} charts, {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
