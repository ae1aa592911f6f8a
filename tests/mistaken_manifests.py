"""Generated manifests of a Deployment or a VirtualMachine, with one mistake or several in them."""

from contextlib import suppress
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

PREFERRED, REQUIRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("preferred", "required"))
ZONE = "topology.kubernetes.io/zone"


def _term(app: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}


POD_SPEC: dict[str, Any] = {
    "containers": [{"name": "web", "image": "web:1"}],
    "nodeSelector": {"disk": "ssd", "kubernetes.io/os": "linux"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "podAntiAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": _term("web")}], REQUIRED: [_term("cache")]},
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}},
    },
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "web"}}}
    ],
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web", "tier": "front"}, "annotations": {"a/b": "c"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC},
    },
}
MACHINE: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "runStrategy": "Always",
        "template": {"spec": {"domain": {"devices": {}}, **{key: POD_SPEC[key] for key in ("nodeSelector", "tolerations", "affinity")}}},
    },
}


def mistakes(pod: dict[str, Any], whole: dict[str, Any]) -> list[Any]:
    """Each takes no argument and makes one mistake in a manifest."""
    affinity = pod["affinity"]
    anti = affinity["podAntiAffinity"]
    metadata, template = whole["metadata"], whole["spec"]["template"]

    def renamed(holder: dict[str, Any], old: str, new: str) -> None:
        if old in holder:
            entries = [(new if key == old else key, value) for key, value in holder.items()]
            holder.clear()
            holder.update(entries)

    def moved(holder: dict[str, Any], key: str, to: dict[str, Any]) -> None:
        if key in holder:
            to[key] = holder.pop(key)

    def unwrapped() -> None:
        preferred = anti[PREFERRED][0]
        preferred.update(preferred.pop("podAffinityTerm", {}))

    return [
        lambda: pod["nodeSelector"].update(disk=1) if "nodeSelector" in pod else None,
        lambda: pod["nodeSelector"].update({"gpu": True, "on": 0.5}) if "nodeSelector" in pod else None,
        lambda: metadata.setdefault("annotations", {}).update({"a/number": 5}),
        lambda: metadata["labels"].update(version=2),
        lambda: renamed(pod.get("nodeSelector", {}), "kubernetes.io/os", "beta.kubernetes.io/os"),
        lambda: anti[REQUIRED][0].update(topologyKey="failure-domain.beta.kubernetes.io/zone"),
        lambda: renamed(anti[REQUIRED][0], "topologyKey", "topologykey"),
        lambda: renamed(pod, "tolerations", "toleration"),
        lambda: affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"][0]["matchExpressions"][0].update(operator="in"),
        lambda: (
            pod["tolerations"].append({"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}) if "tolerations" in pod else None
        ),
        lambda: pod["tolerations"].append({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}) if "tolerations" in pod else None,
        lambda: moved(pod, "tolerations", whole["spec"]),
        lambda: moved(pod, "nodeSelector", whole["spec"]),
        lambda: moved(affinity, "podAntiAffinity", pod),
        lambda: moved(anti[REQUIRED][0], "topologyKey", anti[REQUIRED][0]["labelSelector"]),
        unwrapped,
        lambda: anti[REQUIRED].append({"podAffinityTerm": _term("other")}),
        lambda: anti[REQUIRED].append({"labelSelector": {"matchLabels": {"tier": "front"}}, "topologyKey": ZONE}),
        lambda: template.pop("metadata", None),
        lambda: metadata.setdefault("annotations", {}).update({"descheduler.alpha.kubernetes.io/evict": "true"}),
        lambda: whole.pop("apiVersion"),
    ]


@st.composite
def mistaken_manifests(draw: st.DrawFn) -> dict[str, Any]:
    whole = deepcopy(draw(st.sampled_from([DEPLOYMENT, DEPLOYMENT, MACHINE])))
    pod = whole["spec"]["template"]["spec"]
    made = mistakes(pod, whole)
    for number in draw(st.lists(st.integers(0, len(made) - 1), min_size=1, max_size=3, unique=True)):
        with suppress(KeyError):  # What another mistake took away.
            made[number]()
    return whole
