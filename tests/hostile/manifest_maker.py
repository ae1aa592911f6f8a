"""Valid manifests of every kind, and ways to spoil them."""

import json
from typing import Any

from hypothesis import strategies as st

from afflint.findings.paths import Path
from afflint.kube.kinds import KINDS, Kind

SELECTOR = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["front", "back"]}]}
NODE_TERM = {
    "matchExpressions": [
        {"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["c"]},
        {"key": "cpu", "operator": "Gt", "values": ["8"]},
        {"key": "gpu", "operator": "Exists"},
    ],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}],
}
POD_TERM = {
    "labelSelector": SELECTOR,
    "namespaceSelector": {"matchLabels": {"team": "a"}},
    "namespaces": ["shop"],
    "topologyKey": "kubernetes.io/hostname",
    "matchLabelKeys": ["pod-template-hash"],
}
POD_SPEC: dict[str, Any] = {
    "nodeSelector": {"disk": "ssd", "kubernetes.io/os": "linux"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NODE_TERM]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "preference": NODE_TERM}],
        },
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": POD_TERM}]},
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [POD_TERM],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": POD_TERM}],
        },
    },
    "tolerations": [
        {"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
    ],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "minDomains": 2,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": SELECTOR,
            "matchLabelKeys": ["pod-template-hash"],
            "nodeAffinityPolicy": "Honor",
            "nodeTaintsPolicy": "Ignore",
        }
    ],
    "priorityClassName": "high",
    "schedulerName": "default-scheduler",
}
METADATA: dict[str, Any] = {
    "name": "web",
    "namespace": "shop",
    "labels": {"app": "web", "tier": "front"},
    "annotations": {"example.com/note": "text", "descheduler.alpha.kubernetes.io/evict": "true"},
}
OTHER_SPECS: dict[str, dict[str, Any]] = {
    "Node": {"taints": [{"key": "dedicated", "value": "web", "effect": "NoSchedule"}], "unschedulable": False},
    "Namespace": {},
    "Service": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    "PodDisruptionBudget": {"selector": SELECTOR, "minAvailable": 1},
    "NetworkPolicy": {"podSelector": SELECTOR, "ingress": [{"from": [{"podSelector": SELECTOR}]}]},
    "VirtualMachineInstancePreset": {"selector": SELECTOR, "domain": {}},
}


def manifest(kind: Kind) -> dict[str, Any]:
    """A full manifest of a kind."""
    version = kind.versions[0] if kind.versions else "v1alpha1"
    whole: dict[str, Any] = {"apiVersion": f"{kind.group}/{version}" if kind.group else version, "kind": kind.name, "metadata": METADATA}
    if kind.name == "KubeSchedulerConfiguration":  # A configuration file, not an object: it has neither metadata nor a spec.
        return {"apiVersion": whole["apiVersion"], "kind": kind.name}
    if not kind.templates:
        return {**whole, "spec": OTHER_SPECS.get(kind.name, {})}
    pod = {**POD_SPEC, "domain": {"devices": {}}} if kind.kubevirt else {**POD_SPEC, "containers": [{"name": "web", "image": "web:1"}]}
    for template in kind.templates:
        if not template.path:
            return {**whole, "spec": pod}
        put(whole, template.path, {"metadata": METADATA, "spec": pod})
        if template.replicas:
            put(whole, template.replicas, 3)
    if kind.selector in ("core", "kubevirt"):
        whole["spec"]["selector"] = SELECTOR
    if kind.name == "VirtualMachinePool":
        whole["spec"]["virtualMachineTemplate"]["metadata"] = METADATA
    return whole


def put(data: dict[str, Any], path: Path, value: Any) -> None:
    """Puts a value at a path, what leads there made on the way; ``*`` is the one item of a list."""
    for step, following in zip(path, (*path[1:], None), strict=True):
        if step == "*":
            continue
        if following is None:
            data[step] = value
        elif following == "*":
            data = data.setdefault(step, [{}])[0]
        else:
            data = data.setdefault(step, {})


MANIFESTS = [manifest(kind) for kind in KINDS]
ODD: list[Any] = [
    None, "", "x", "a b", "\x1b[31m", "\U0001f600", "-", ".inf", "yes", "0", "-1", "9" * 30, "{{ x }}", "$(X)", "<x>", 64 * "x", 300 * "x",
    True, False, 0, 1, -1, 2**31, 2**63, 2**70, 1.5, 1e300, [], {}, [None], [[]], [{}], {"": None}, {"x": {"y": [1]}}, [1, "x", None, {}],
    {"key": "x", "operator": "In", "values": []}, {"matchLabels": {}}, {"matchExpressions": [None]}, "In", "Exists", "NoExecute", "Always",
    ["metadata.name"], "afflint: ignore", {"afflint.dev/ignore": "x"}, "web", {"app": "web"}, "kubernetes.io/hostname", "zone",
]  # fmt: skip
WORDS = [
    "app", "name", "kind", "spec", "metadata", "labels", "affinity", "nodeAffinity", "nodeAntiAffinity", "podAffinity", "weight", "values",
    "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm", "preference",
    "labelSelector", "matchLabels", "matchExpressions", "topologyKey", "topologykey", "nodeSelectorTerms", "template", "", "a b", "<<", "~",
]  # fmt: skip

changes = st.tuples(
    st.sampled_from(["replace", "replace", "remove", "rename", "wrap", "repeat", "move"]),
    st.integers(0, 10_000),
    st.integers(0, 10_000),
)
"""What to do, with which node, and with what: numbers that are taken modulo what there is."""


def places(value: Any, path: Path = ()) -> list[Path]:
    """The paths of all that lies in data."""
    entries = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    return [below for step, each in entries for below in [(*path, step), *places(each, (*path, step))]]


def changed(whole: Any, change: tuple[str, int, int]) -> Any:
    """A copy of data with one change; the data itself when it is too small for one."""
    whole = json.loads(json.dumps(whole))
    found = places(whole)
    if not found:
        return whole
    what, which, with_what = change
    path = found[which % len(found)]
    parent = at(whole, path[:-1])
    step = path[-1]
    if what == "replace":
        parent[step] = ODD[with_what % len(ODD)]
    elif what == "remove":
        del parent[step]
    elif what == "rename" and isinstance(parent, dict):
        parent[WORDS[with_what % len(WORDS)]] = parent.pop(step)
    elif what == "wrap":
        parent[step] = [parent[step]] if with_what % 2 else {WORDS[with_what % len(WORDS)]: parent[step]}
    elif what == "repeat" and isinstance(parent, list):
        parent.extend([parent[step]] * (with_what % 4))
    elif what == "move":
        target = at(whole, found[with_what % len(found)])
        if isinstance(target, dict) and not isinstance(parent[step], (dict, list)):
            target[str(step)] = parent[step]
        elif isinstance(target, dict):
            target[str(step)] = json.loads(json.dumps(parent[step]))
    return whole


def at(value: Any, path: Path) -> Any:
    """What lies at a path."""
    for step in path:
        value = value[step]
    return value


def written(value: Any, indent: int = 0) -> str:
    """Data in block style, a key or an item to a line."""
    if not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=False)
    lines = []
    entries = list(value.items()) if isinstance(value, dict) else [("", each) for each in value]
    for key, each in entries:
        head = (key if key.replace("/", "").replace(".", "").isalnum() else json.dumps(key)) + ":" if isinstance(value, dict) else "-"
        if isinstance(each, (dict, list)) and each:
            lines.append(f"{' ' * indent}{head}\n{written(each, indent + 2)}")
        else:
            lines.append(f"{' ' * indent}{head} {written(each)}")
    return "\n".join(lines)


spoils = st.tuples(
    st.sampled_from(["indent", "dedent", "repeat line", "drop line", "flip", "insert", "cut", "token"]),
    st.integers(0, 100_000),
    st.integers(0, 100_000),
)
TOKENS = [
    b":", b": ", b"- ", b"\n", b"\n---\n", b"\n--- x\n", b"{", b"}", b"[", b"]", b"&a ", b"*a", b"<<: *a", b"!!str ",
    b"!!int ", b"|", b">-",
    b"'", b'"', b"#", b" # afflint: ignore", b" # afflint: ignore[wrong-type]", b"\n# afflint: ignore-file\n", b"\t", b"\r", b"\r\n", b"\0",
    b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc2\x85", b"\x1b", b"? ", b"%", b"@", b"`", b"{{ x }}", b"{{- if x }}",
    b"...", b"~", b"\\", "\U0001f600".encode(), b"kind: Pod\n", b"a: 1\na: 2\n",
]  # fmt: skip


def spoilt(data: bytes, spoil: tuple[str, int, int]) -> bytes:
    """The bytes of a file with one thing done to them."""
    what, which, with_what = spoil
    lines = data.split(b"\n")
    line = which % len(lines)
    place = which % (len(data) + 1)
    if what == "indent":
        lines[line] = b" " * (with_what % 3 + 1) + lines[line]
    elif what == "dedent":
        lines[line] = lines[line][with_what % 3 + 1 :]
    elif what == "repeat line":
        lines.insert(line, lines[line])
    elif what == "drop line":
        del lines[line]
    elif what == "flip":
        return data[:place] + bytes([b ^ (1 << with_what % 8) for b in data[place : place + 1]]) + data[place + 1 :]
    elif what == "insert":
        return data[:place] + bytes([with_what % 256]) + data[place:]
    elif what == "cut":
        return data[:place] + data[place + with_what % 50 :]
    else:
        return data[:place] + TOKENS[with_what % len(TOKENS)] + data[place:]
    return b"\n".join(lines)
