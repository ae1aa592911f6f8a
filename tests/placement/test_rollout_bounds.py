"""The bounds of rollouts hold in every order that the simulation of rollouts finds."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from afflint.kube.node_labels import ZONE as ZONE_KEY
from afflint.placement.bounds import UNLIMITED, ScheduleBounds
from afflint.placement.rollout_bounds import RolloutBounds
from afflint.placement.rollouts import Rollouts
from afflint.placement.schedule import build_schedule
from afflint.scheduler.nodes import ITSELF
from cluster_objects import HOST, ZONE, Object, zoned
from workload_objects import apart_by, inventory, pod_source


def even(key: str = ZONE, app: str = "web", **more: object) -> Object:
    selector = {"matchLabels": {"app": app}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector, **more}


@pytest.mark.parametrize("seed", range(100))
def test_no_order_brings_more_replicas_together(seed: int) -> None:
    random = Random(seed)
    nodes = zoned(**{f"{zone}{number}": zone for zone in "abc"[: random.randint(2, 3)] for number in range(random.randint(1, 2))})
    revision = {"matchLabelKeys": ["pod-template-hash"]} if random.random() < 0.4 else {}
    spread = even(random.choice([ZONE, ZONE, HOST]), maxSkew=random.choice([1, 1, 2]), **revision)
    apart = apart_by(HOST, "web") if random.random() < 0.2 else {}
    limits = {"maxSurge": random.choice([1, 1, 2]), "maxUnavailable": random.randint(0, 1)}
    web = pod_source("web", replicas=random.randint(2, 4), strategy={"rollingUpdate": limits}, topologySpreadConstraints=[spread], **apart)
    others = [pod_source("other", replicas=2, labels={"app": random.choice(["web", "other"])})] if random.random() < 0.3 else []
    given = inventory(nodes)
    arrangement = build_schedule(given, [web, *others])
    survey = ScheduleBounds(arrangement.before, [web, *others])
    for key in (ZONE_KEY, ITSELF):
        effect = Rollouts(arrangement, key, most=400).roll(arrangement.workloads[0])
        most = RolloutBounds(survey, arrangement, key).most_together(0)
        for placement in effect.placements:
            domains = Counter(node if key == ITSELF else node[0] for node in placement)
            assert max(domains.values()) <= most, (effect.strategy, placement)


@pytest.mark.parametrize(("zones", "replicas", "most"), [("ab", 2, 2), ("abc", 2, 1), ("abc", 3, 2), ("abcd", 3, 1)])
def test_as_many_zones_as_old_and_surge_pods_keep_all_apart(zones: str, replicas: int, most: int) -> None:
    web = pod_source("web", replicas=replicas, topologySpreadConstraints=[even()])
    arrangement = build_schedule(inventory(zoned(**{zone: zone for zone in zones})), [web])
    survey = ScheduleBounds(arrangement.before, [web])
    assert RolloutBounds(survey, arrangement, ZONE_KEY).most_together(0) == most
    assert max(max(each.values()) for each in Rollouts(arrangement, ZONE_KEY).roll(arrangement.workloads[0]).outcomes) == most


def test_a_constraint_that_counts_the_pods_of_others_bounds_nothing() -> None:
    web = pod_source("web", replicas=2, topologySpreadConstraints=[even()])
    other = pod_source("other", labels={"app": "web"})
    arrangement = build_schedule(inventory(zoned(a="a", b="b", c="c")), [web, other])
    survey = ScheduleBounds(arrangement.before, [web, other])
    assert RolloutBounds(survey, arrangement, ZONE_KEY).most_together(0) == UNLIMITED
