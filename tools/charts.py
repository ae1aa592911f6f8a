"""Write schemas/charts.jsonl, the catalogue of Helm charts whose values are placement constraints: one line per chart.

    python tools/charts.py FACTS.jsonl.gz

FACTS and chart_facts.jsonl.gz, next to this script and written by chart_facts.py, have one line per version of a chart, measured by
rendering it with Helm: `chart`, `repository`, `path`, `commit`, `version`, `values` (each with `path`, `kind`, `shape`, `workload`,
`result`) and `pods` (the labels of each workload, and the values that change them). Values that reach nothing are `ignored_traps` in FACTS,
and `ignored` in the other file, which also has `publishers`, `unique`, `dependencies` and `members`. The catalogue is generated, never
edited: changes are made here.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).parents[1] / "schemas" / "charts.jsonl"
MEASURED = Path(__file__).parent / "chart_facts.jsonl.gz"

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
    "vector": ("vector.dev",),
}
# Charts whose names many publishers use, so that the name alone does not identify them.
AMBIGUOUS = frozenset(
    (
        "airflow", "alertmanager", "gateway", "grafana", "harbor", "jenkins", "keycloak", "loki", "mariadb", "minio", "opensearch",
        "postgres-operator", "postgresql", "prometheus", "rabbitmq", "redis", "tempo", "thanos", "trino", "vault", "vector", "coredns",
        "fluent-bit", "snapshot-controller", "spark-operator",
    )
)  # fmt: skip
# The versions to which the facts of values that reach nothing apply, as a range of major versions; `None` means unlimited. For the charts
# and keys here, `git log -G '\.Values\.KEY\b'` over the templates of the whole history shows no version that reads the value. Facts of
# other charts apply to the major version that was rendered.
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
    "jupyterhub": (1, None),
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
MAJORS = {"cert-manager": 1, "kyverno": 3, "istiod": 1, "gateway": 1, "rook-ceph": 1, "rook-ceph-cluster": 1, "tailscale-operator": 1}
# Charts whose placeholders say nothing about the version of the releases.
UNVERSIONED = frozenset(("reflector",))
# Values that reach nothing, beyond those in the facts, found in the same way: `path` with `fields`, and what the chart reads instead.
FURTHER_IGNORED: dict[str, tuple[dict[str, Any], ...]] = {
    "kube-prometheus-stack": (
        {"path": "prometheus", "use": ["prometheus.prometheusSpec"]},
        {"path": "alertmanager", "use": ["alertmanager.alertmanagerSpec"]},
        {"path": "thanosRuler", "use": ["thanosRuler.thanosRulerSpec"]},
    ),
    # The templates of 0.9 and older read `proxy.nodeSelector`. Since 1.0, neither the templates nor the hub's jupyterhub_config.py, which
    # gets all values, read any of these.
    "jupyterhub": (
        {"path": "", "fields": ["nodeSelector", "tolerations", "affinity", "topologySpreadConstraints"]},
        {"path": "proxy", "use": ["proxy.chp", "proxy.traefik"]},
        {"path": "prePuller", "use": ["prePuller.hook"]},
        {"path": "scheduling", "fields": ["nodeSelector", "tolerations", "affinity"], "use": ["scheduling.userScheduler"]},
        {"path": "singleuser", "fields": ["tolerations", "affinity", "topologySpreadConstraints"], "use": ["scheduling.userPods"]},
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
    by_name: dict[str, list[dict[str, Any]]] = {}
    for each in facts:
        by_name.setdefault(NAMES.get(each["chart"], each["chart"]), []).append(each)
    every = [entry(each[0]) if "publishers" not in each[-1] else entry_of_versions(each) for each in by_name.values()]
    entries = sorted(every, key=lambda each: each["chart"])
    note_dependencies(entries, facts)
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


RENAMED: dict[str, dict[str, str]] = {
    "argo-cd": {"app.kubernetes.io/name": "name", "app.kubernetes.io/component": "name"},
    "argo-events": {"app.kubernetes.io/name": "name", "app.kubernetes.io/component": "name"},
    "argo-rollouts": {"app.kubernetes.io/component": "component"},
    "argo-workflows": {"app": "name", "app.kubernetes.io/name": "name", "app.kubernetes.io/component": "name"},
    "coredns": {"k8s-app": "k8sApp k8sAppLabelOverride"},
    "keda": {"app": "name", "app.kubernetes.io/name": "name", "app.kubernetes.io/part-of": "name", "name": "name"},
    "prometheus": {"app.kubernetes.io/component": "name"},
    "traefik": {"app.kubernetes.io/instance": "instanceLabelOverride"},
}
"""Values that change labels of charts whose facts are older than the canaries of chart_facts.py, which have found them."""


def pod(facts: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the labels of the pods of one workload of the chart ``name``. A value with unknown parts is empty."""
    changed = facts.get("changed_by") or {}
    labels = {key: "" if key in OF_VERSIONS else label_value(value) for key, value in facts["labels"].items()}
    found: dict[str, Any] = {"kind": facts["workload"]["kind"].partition(" ")[0], "labels": labels}
    for key, by in RENAMED.get(name, {}).items():
        if key in labels:
            changed = changed | {key: [*changed.get(key, ()), *by.split(" ")]}
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
    """Return the places whose constraints reach nothing, with the versions for which that is known and the places to use instead."""
    low, high = RANGES.get(name, (major, major + 1 if major is not None else None))
    if name not in RANGES and major is None:
        return []
    found: dict[str, dict[str, Any]] = {}
    for trap in facts.get("ignored_traps", ()):
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


# Charts with several measured versions.


def entry_of_versions(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the line of a chart, from the facts of some of its major versions: that in `source`, and the other `versions`."""
    if len({each["repository"] for each in rows}) != 1:
        raise ValueError(f"{rows[0]['chart']} has several publishers")
    newest = max((each for each in rows if "publishers" in each), key=lambda each: version_number(each["version"]))
    name = newest["chart"]
    found: dict[str, Any] = {"chart": name, "publishers": sorted(set(newest["publishers"]))}
    if newest["unique"]:
        found["unique"] = True
    found["source"] = " ".join(newest[key] for key in ("repository", "path", "commit", "version"))
    others = sorted((each["version"] for each in rows if each["version"] != newest["version"]), key=version_number)
    if others:
        found["versions"] = " ".join(dict.fromkeys(others))
    majors = {major_of_row(each) for each in rows}
    if None in majors or any("members" in each for each in rows):
        # The versions of the chart are not known: only its places are.
        return {**found, "places": [{**each, "pods": []} for each in places_of_versions(rows, {}, sorted(majors, key=str))]}
    known = sorted(each for each in majors if each is not None)
    found.update(labels_since=known[0], labels_before=known[-1] + 1)
    pods, numbers = pods_of_versions(rows, known)
    found["places"] = places_of_versions(rows, numbers, known)
    found["pods"] = pods
    ignored = ignored_in_versions(rows, known, found["places"])
    if name in RANGES:
        ignored = [*ignored_places(rows[0], name, None), *(each for each in ignored if each["path"])]
    return {**found, **({"ignored": ignored} if ignored else {})}


def major_of_row(row: dict[str, Any]) -> int | None:
    """Return the major version of a measured chart; None if the source of the chart does not have it."""
    if row["chart"] in UNVERSIONED:
        return None
    return MAJORS.get(row["chart"], version_number(row["version"])[0])


def version_number(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version)[:3])


def rows_of_majors(rows: list[dict[str, Any]], majors: list[Any]) -> dict[Any, list[dict[str, Any]]]:
    """Return the facts of each major version, the oldest first."""
    return {major: [each for each in rows if major_of_row(each) == major] for major in majors}


def runs(chosen: set[Any], majors: list[Any]) -> list[tuple[int, int]]:
    """Return the runs of neighbouring major versions among some, as first and last."""
    found: list[list[Any]] = []
    for major in majors:
        if major in chosen:
            before = majors.index(major) - 1
            if found and majors[before] == found[-1][-1]:
                found[-1].append(major)
            else:
                found.append([major])
    return [(each[0], each[-1]) for each in found]


def limits(first: int, last: int, majors: list[int]) -> dict[str, int]:
    """Return a range of versions as in a line; the oldest and the newest measured versions do not count as limits."""
    since = {"since": first} if first != majors[0] else {}
    return {**since, "before": last + 1} if last != majors[-1] else since


def pods_of_versions(rows: list[dict[str, Any]], majors: list[int]) -> tuple[list[dict[str, Any]], dict[tuple[str, str], list[int]]]:
    """Return the pods of all versions, and their numbers by kind and name of the workload."""
    by_major = rows_of_majors(rows, majors)
    every = dict.fromkeys((each["workload"]["kind"], each["workload"]["name"]) for row in rows for each in row["pods"])
    pods: list[dict[str, Any]] = []
    numbers: dict[tuple[str, str], list[int]] = {}
    for workload in every:
        known: dict[str, tuple[dict[str, Any], set[int]]] = {}
        for major, own in by_major.items():
            same = [each for row in own for each in row["pods"] if (each["workload"]["kind"], each["workload"]["name"]) == workload]
            if same:
                merged = merged_pods([pod(each, rows[0]["chart"]) for each in same])
                known.setdefault(json.dumps(merged), (merged, set()))[1].add(major)
        for merged, chosen in known.values():
            for first, last in runs(chosen, majors):
                numbers.setdefault(workload, []).append(len(pods))
                pods.append({**merged, **limits(first, last, majors)})
    return pods, numbers


def merged_pods(same: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the labels of the pods of a workload in several versions; what differs is unknown."""
    keys = dict.fromkeys(key for each in same for key in each["labels"])
    values = {key: {each["labels"].get(key, "") for each in same} for key in keys}
    found = {"kind": same[0]["kind"], "labels": {key: next(iter(every)) if len(every) == 1 else "" for key, every in values.items()}}
    overridden: dict[str, set[str]] = {}
    for each in same:
        for key, names in each.get("overridden", {}).items():
            overridden.setdefault(key, set()).update(names.split(" "))
    return {**found, **({"overridden": {key: " ".join(sorted(names)) for key, names in sorted(overridden.items())}} if overridden else {})}


def places_of_versions(rows: list[dict[str, Any]], numbers: dict[tuple[str, str], list[int]], majors: list[Any]) -> list[dict[str, Any]]:
    """Return the places of all versions: a path with fields, the pods that they reach, and the versions that read them."""
    by_field: dict[tuple[str, str], dict[str, Any]] = {}
    for major, own in rows_of_majors(rows, majors).items():
        for value in (value for row in own for value in row["values"] if value["kind"].partition(" ")[0] in (*FIELDS, "preset")):
            path, _, name = value["path"].replace("*", "{}").rpartition(".")
            kind = value["kind"].partition(" ")[0]
            field = by_field.setdefault(
                (path, name if name == kind else f"{name}={kind}"),
                {"read": set(), "named": set(), "pods": {}, "unknown": False, "text": False},
            )
            field["named"].add(major)
            if value["result"] == "arrives":
                field["read"].add(major)
                for each in as_list(value["workload"]):
                    field["pods"][each["kind"], each["name"]] = True
            elif value["result"] != "nowhere":
                field["unknown"] = True
            field["text"] |= "text" in value["shape"]
    found: dict[str, dict[str, Any]] = {}
    for (path, name), field in by_field.items():
        each_pods = sorted({number for each in field["pods"] for number in numbers.get(each, ())})
        verified = bool(field["read"]) and not field["unknown"]
        # A value for the whole chart is the default of others, so that the rendering with all values does not show all of its pods.
        is_default = path.partition(".")[0] in DEFAULTS and any(own == name and other != path for other, own in by_field)
        if is_default or not all(each in numbers for each in field["pods"]) or not verified or name.endswith("=preset"):
            each_pods = []
        read = field["read"] if verified else field["named"]
        each: dict[str, Any] = {"path": path, "fields": "", **({"pods": each_pods} if each_pods else {})}
        each.update({} if verified else {"unverified": True}, **({"text": True} if field["text"] else {}))
        if verified and None not in majors and not name.endswith("=preset"):
            each.update(limits(min(read), max(read), majors))
        same = found.setdefault(json.dumps(each), each)
        same["fields"] = f"{same['fields']} {name}".strip()
    return list(found.values())


# Paths of values for the whole chart.
DEFAULTS = ("", "global", "common", "defaults", "default")

# Maps of values in which constraints are not expected.
UNLIKELY = re.compile(
    r"(?i)(?:annotations|labels|securityContext|resources|image|probe|secrets?|tls|env|rules|config|configuration|monitor|auth|ldap|rbac"
    r"|networkPolicy|serviceAccount|route|ingress|pdb|updateStrategy|strategy|urls?|hooks?|mail|tokens?|params|settings|options)$|cert"
)


def ignored_in_versions(rows: list[dict[str, Any]], majors: list[int], every: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the places whose constraints reach nothing, each with the versions in all of whose measured ones it is so."""
    by_major = {major: [each for each in own if "ignored" in each] for major, own in rows_of_majors(rows, majors).items()}
    known: dict[tuple[str, str], set[int]] = {}
    for major, own in by_major.items():
        for path in own[0]["ignored"] if own else ():
            for field in own[0]["ignored"][path].split(" "):
                if all(field in row["ignored"].get(path, "").split(" ") for row in own):
                    known.setdefault((path, field), set()).add(major)
    prefixes = {each["path"].partition(".")[0] for each in every}
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for (path, field), chosen in known.items():
        if ("." in path and path.partition(".")[0] not in prefixes) or any(map(UNLIKELY.search, path.split("."))):
            continue
        below = [each["path"] for each in every if path and each["path"].startswith(f"{path}.") and field in each["fields"].split(" ")]
        for first, last in runs(chosen, majors):
            each = {"path": path, "fields": "", "use": below, "since": first, "before": last + 1}
            each = found.setdefault((path, first, last, *below), each)
            each["fields"] = f"{each['fields']} {field}".strip()
    together: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in found.values():
        key = (not each["path"], each["fields"], each["since"], each["before"], *each["use"])
        if key in together:
            together[key]["path"] += f" {each['path']}"
        else:
            together[key] = each
    return [{key: value for key, value in each.items() if value != []} for each in together.values()]


def note_dependencies(entries: list[dict[str, Any]], facts: list[dict[str, Any]]) -> None:
    """Add the dependencies of charts that have lines of their own, with the major versions of both."""
    by_name = {each["chart"]: each for each in entries}
    for row in facts:
        own = by_name[NAMES.get(row["chart"], row["chart"])]
        members = row.get("members")
        found = list(dependencies_of(row.get("dependencies", ()), by_name))
        if members is not None:
            own["members"] = " ".join(sorted(members))
            found = [{"of": name, **each} for name, every in sorted(members.items()) for each in dependencies_of(every, by_name)]
        if found:
            own["dependencies"] = found


def dependencies_of(dependencies: list[dict[str, Any]], by_name: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the dependencies of a chart that are in the catalogue: `chart`, and the major versions of both."""
    uses: dict[str, dict[int, set[int]]] = {}
    for each in dependencies:
        entry = by_name.get(each["name"])
        if entry is not None and any(publisher in each["repository"] for publisher in entry["publishers"]):
            for major, own in each["majors"].items():
                uses.setdefault(each["name"], {}).setdefault(int(major), set()).update(own)
    for name, majors in uses.items():
        grouped: dict[tuple[int, int], set[int]] = {}
        for major, own in majors.items():
            grouped.setdefault((min(own), max(own)), set()).add(major)
        for (first, last), chosen in sorted(grouped.items()):
            if name in RANGES or first >= by_name[name].get("labels_since", 0):
                for since, before in runs(chosen, list(range(min(chosen), max(chosen) + 1))):
                    yield {"chart": name, "since": since, "before": before + 1, "chart_since": first, "chart_before": last + 1}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    facts = []
    for name in (sys.argv[1], MEASURED):
        with gzip.open(name, "rt", encoding="utf-8") as file:
            facts += [json.loads(line) for line in file]
    text = catalogue(facts)
    CATALOGUE.write_text(text, encoding="utf-8")
    print(f"{CATALOGUE.name}: {text.count(chr(10))} charts, {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
