"""Which volume a claim takes is looked up in groups of free volumes that are kept up to date: checked against comparing all volumes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_against_naive import rarely
from test_volume_plugins import LOCAL, claim, volume, with_claims

from afflint.scheduler import cluster as grouping
from afflint.scheduler.cluster import Cluster
from cluster_objects import HOST, ZONE, Object, app, node

ZONES = ("a", "b", "c")
NODES = [node(f"n{number:02}", {HOST: f"n{number:02}", ZONE: ZONES[number % 3]}) for number in range(36)]
"""More nodes than the scheduler evaluates one by one."""

LOCAL_ON = ("n00", "n01", "n03")

sizes = st.sampled_from(("1Gi", "5Gi", "5Gi", "10Gi"))
modes = st.sampled_from((*[["ReadWriteOnce"]] * 4, ["ReadWriteOnce", "ReadOnlyMany"], ["ReadOnlyMany"]))
applications = st.sampled_from(("db", "web"))
kinds = st.sampled_from((*["Filesystem"] * 6, "Block"))
reach = st.one_of(
    st.none(),
    st.tuples(st.just(ZONE), st.sampled_from(("In", "NotIn")), st.lists(st.sampled_from(ZONES), min_size=1, max_size=2, unique=True)),
    st.tuples(st.just(HOST), st.sampled_from(("In", "NotIn")), st.lists(st.sampled_from(LOCAL_ON), min_size=1, max_size=2)),
)


def reached(wanted: tuple[str, str, list[str]] | None) -> Object | None:
    """A node affinity with one requirement."""
    if wanted is None:
        return None
    key, operator, values = wanted
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]}}


@st.composite
def volumes(draw: st.DrawFn) -> list[Object]:
    """Some volumes of different kinds, and local ones, which are equal on several nodes."""
    drawn = []
    for number in range(draw(st.integers(0, 6))):
        more: dict[str, Any] = {"accessModes": draw(modes), "volumeMode": draw(kinds)}
        if draw(st.integers(0, 5)) == 0:
            more["claimRef"] = {"namespace": "default", "name": f"c{draw(st.integers(0, 5))}"}
        drawn.append(volume(f"v{number}", reached(draw(reach)), size=draw(sizes), labels={"app": draw(applications)}, **more))
    local = draw(st.lists(sizes, max_size=3))
    for name in LOCAL_ON:
        for size in local[draw(rarely) :]:
            affinity = reached((HOST, "In", [name]))
            drawn.append(volume(f"l{len(drawn)}", affinity, size=size, labels={"app": draw(applications)}, volumeMode="Filesystem"))
    return drawn


@st.composite
def claims(draw: st.DrawFn) -> list[Object]:
    drawn = []
    for number in range(6):
        more: dict[str, Any] = {"volumeMode": draw(kinds)}
        if draw(st.integers(0, 3)) == 0:
            more["selector"] = app(draw(applications))
        drawn.append(claim(f"c{number}", size=draw(sizes), modes=tuple(draw(modes)), **more))
    return drawn


steps = st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.sampled_from((*LOCAL_ON, "n10"))), min_size=1, max_size=5)
"""A pod that is bound to a node, or (False) released, so that its two claims are no longer bound."""


class NaiveStorage:
    """Volumes and claims as they are, and which claim has which volume."""

    def __init__(self, listed: list[Object], claimed: list[Object]) -> None:
        self.volumes = sorted(listed, key=lambda each: (_size(each["spec"]["capacity"]["storage"]), each["metadata"]["name"]))
        self.claims = {each["metadata"]["name"]: each for each in claimed}
        self.taken: dict[str, str] = {}
        """The volume of each claim that is bound."""

    def choice(self, names: tuple[str, ...], on: Object) -> dict[str, str] | None:
        """Return what claims take on a node; None if that is not possible there."""
        chosen: dict[str, str] = {}
        if any(name in self.taken and not _usable(self._volume(self.taken[name]), on) for name in names):
            return None
        unbound = [self.claims[name] for name in names if name not in self.taken]
        for each in sorted(unbound, key=lambda each: _size(each["spec"]["resources"]["requests"]["storage"])):
            found = next((one for one in self._possible(each) if one["metadata"]["name"] not in chosen.values()), None)
            if found is None or "claimRef" not in found["spec"]:
                possible = [one for one in self._possible(each) if _usable(one, on)]
                found = next((one for one in possible if one["metadata"]["name"] not in chosen.values()), None)
            if found is None or not _usable(found, on):
                return None
            chosen[each["metadata"]["name"]] = found["metadata"]["name"]
        return chosen

    def _volume(self, name: str) -> Object:
        return next(each for each in self.volumes if each["metadata"]["name"] == name)

    def _possible(self, wanted: Object) -> list[Object]:
        """Return the volumes that a claim may take, on any node: those reserved for it first, by name."""
        spec, free = wanted["spec"], [each for each in self.volumes if each["metadata"]["name"] not in self.taken.values()]
        fitting = [
            each
            for each in free
            if _size(each["spec"]["capacity"]["storage"]) >= _size(spec["resources"]["requests"]["storage"])
            and each["spec"]["volumeMode"] == spec["volumeMode"]
        ]
        reserved = [each for each in fitting if each["spec"].get("claimRef", {}).get("name") == wanted["metadata"]["name"]]
        others = [
            each
            for each in fitting
            if "claimRef" not in each["spec"]
            and set(spec["accessModes"]) <= set(each["spec"]["accessModes"])
            and ("selector" not in spec or each["metadata"]["labels"] == spec["selector"]["matchLabels"])
        ]
        return [*sorted(reserved, key=lambda each: str(each["metadata"]["name"])), *others]


def _size(amount: str) -> int:
    return int(amount.removesuffix("Gi"))


def _usable(offered: Object, on: Object) -> bool:
    affinity = offered["spec"].get("nodeAffinity")
    if affinity is None:
        return True
    [requirement] = affinity["required"]["nodeSelectorTerms"][0]["matchExpressions"]
    return (on["metadata"]["labels"][requirement["key"]] in requirement["values"]) is (requirement["operator"] == "In")


PAIRS = (("c0", "c1"), ("c2", "c3"), ("c4", "c5"))


@settings(max_examples=100)
@given(listed=volumes(), claimed=claims(), happens=steps)
def test_claims_take_the_smallest_volume_that_fits(listed: list[Object], claimed: list[Object], happens: list[Any]) -> None:
    cluster = Cluster(NODES, persistent_volumes=listed, persistent_volume_claims=claimed, storage_classes=[LOCAL])
    naive = NaiveStorage(listed, claimed)
    running: dict[int, str] = {}
    _compare(cluster, naive)
    for starts, number, name in happens:
        pod = cluster.read(with_claims(f"p{number}", *PAIRS[number]))
        if starts and number not in running:
            found = naive.choice(PAIRS[number], next(each for each in NODES if each["metadata"]["name"] == name))
            cluster.bind(pod, name)
            naive.taken.update(found or {})
            running[number] = name
        elif not starts and number in running:
            cluster.release(pod)
            for each in PAIRS[number]:
                naive.taken.pop(each, None)
            del running[number]
        _compare(cluster, naive)
    _compare(cluster.copy(), naive)


def _compare(cluster: Cluster, naive: NaiveStorage) -> None:
    for number, names in enumerate((*PAIRS, *[(name,) for pair in PAIRS for name in pair])):
        pod = with_claims(f"q{number}", *names)
        verdict = cluster.evaluate(pod)
        expected = {each["metadata"]["name"]: naive.choice(names, each) for each in NODES}
        assert verdict.feasible == {name: found is not None for name, found in expected.items()}
        assert verdict.bindings == {name: found for name, found in expected.items() if found}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grouping, "_MAX_UNGROUPED", len(NODES))
            one_by_one = cluster.evaluate(pod)
        assert verdict == one_by_one
        assert verdict.messages == one_by_one.messages
