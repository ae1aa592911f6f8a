"""The bounds of rollouts hold in every order that the simulation of rollouts finds."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from afflint.kube.node_labels import ZONE as ZONE_KEY
from afflint.placement.bounds import UNLIMITED, ScheduleBounds
from afflint.placement.proofs import too_few_domains
from afflint.placement.rollout_bounds import RolloutBounds
from afflint.placement.rollouts import Rollouts
from afflint.placement.schedule import build_schedule
from afflint.scheduler.nodes import ITSELF
from cluster_objects import HOST, ZONE, Object, apart, app, node, term, zoned
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
    schedule = build_schedule(given, [web, *others])
    survey = ScheduleBounds(schedule.before, [web, *others])
    for key in (ZONE_KEY, ITSELF):
        effect = Rollouts(schedule, key, most=400).roll(schedule.workloads[0])
        most = RolloutBounds(survey, schedule, key).most_together(0)
        for placement in effect.placements:
            domains = Counter(node if key == ITSELF else node[0] for node in placement)
            assert max(domains.values()) <= most, (effect.strategy, placement)


def apart_per_revision(key: str = HOST) -> Object:
    return apart(term(key, app("web"), matchLabelKeys=["pod-template-hash"]))


@pytest.mark.parametrize("limits", [{"maxSurge": 2}, {"maxSurge": 0, "maxUnavailable": 1}])
def test_two_revisions_fill_a_small_zone_together_so_that_the_others_accept_more(limits: dict[str, int]) -> None:
    # Zone c has one node. With an old and a new pod there, zones a and b accept a third pod.
    nodes = zoned(a1="a", a2="a", a3="a", b1="b", b2="b", b3="b", c1="c")
    strategy = {"rollingUpdate": limits}
    web = pod_source("web", replicas=6, strategy=strategy, affinity=apart_per_revision(), topologySpreadConstraints=[even()])
    schedule = build_schedule(inventory(nodes), [web])
    assert len(schedule.workloads[0].nodes) == 5
    effect = Rollouts(schedule, ZONE_KEY).roll(schedule.workloads[0])
    assert {"a": 3, "b": 2, "c": 1} in (*effect.outcomes, *effect.rare)
    survey = ScheduleBounds(schedule.before, [web])
    assert list(too_few_domains(survey)) == []
    # Without pods of two revisions, or with anti-affinity between them, no more than five ever run.
    for bounded in (replace(web, strategy={"type": "Recreate"}), replace(web, pod={**web.pod, "affinity": apart_by(HOST, "web")})):
        (found,) = too_few_domains(ScheduleBounds(schedule.before, [bounded]))
        assert found.most == 5


@pytest.mark.parametrize("seed", range(60))
def test_no_rollout_runs_more_replicas_than_the_bound_for_all_orders(seed: int) -> None:
    random = Random(seed)
    nodes = zoned(**{f"{zone}{number}": zone for zone in "abc" for number in range(random.choice([1, 3, 3]))})
    revision = {"matchLabelKeys": ["pod-template-hash"]}
    separated = apart_per_revision() if random.random() < 0.7 else apart_by(HOST, "web")
    spread = even(maxSkew=random.choice([1, 1, 2]), **(revision if random.random() < 0.3 else {}))
    limits = {"maxSurge": random.randint(0, 2), "maxUnavailable": random.randint(0, 1)}
    replicas, strategy = random.randint(3, 6), {"rollingUpdate": limits}
    web = pod_source("web", replicas=replicas, strategy=strategy, affinity=separated, topologySpreadConstraints=[spread])
    schedule = build_schedule(inventory(nodes), [web])
    effect = Rollouts(schedule, ZONE_KEY, most=2000).roll(schedule.workloads[0])
    for found in too_few_domains(ScheduleBounds(schedule.before, [web])):
        assert found.most < replicas
        assert (effect.outcomes, effect.rare) == ((), ()), "all replicas of the new revision run"


def test_a_rollout_of_another_workload_may_fill_the_domain_that_limits_the_others() -> None:
    # One pod of the gateway in zone b lets zone a accept two pods of web; the second, which its rollout adds, a third.
    labels = {"tier": "web"}
    counted = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": labels}}
    nodes = [*zoned(a1="a"), node("b1", {HOST: "b1", ZONE: "b"}, taints=["gateway:NoSchedule"])]
    web = pod_source("web", replicas=3, labels=labels, topologySpreadConstraints=[counted])
    exists = [{"operator": "Exists"}]
    for gateway in (
        pod_source("gateway", labels=labels, nodeSelector={ZONE: "b"}, tolerations=exists),
        pod_source("gateway", labels=labels, nodeSelector={ZONE: "b"}, tolerations=exists, strategy={"type": "Recreate"}),
    ):
        schedule = build_schedule(inventory(nodes), [gateway, web])
        found = [each.most for each in too_few_domains(ScheduleBounds(schedule.before, [gateway, web]))]
        assert found == ([2] if gateway.strategy else [])


@pytest.mark.parametrize(("zones", "replicas", "most"), [("ab", 2, 2), ("abc", 2, 1), ("abc", 3, 2), ("abcd", 3, 1)])
def test_as_many_zones_as_old_and_surge_pods_keep_all_apart(zones: str, replicas: int, most: int) -> None:
    web = pod_source("web", replicas=replicas, topologySpreadConstraints=[even()])
    schedule = build_schedule(inventory(zoned(**{zone: zone for zone in zones})), [web])
    survey = ScheduleBounds(schedule.before, [web])
    assert RolloutBounds(survey, schedule, ZONE_KEY).most_together(0) == most
    assert max(max(each.values()) for each in Rollouts(schedule, ZONE_KEY).roll(schedule.workloads[0]).outcomes) == most


def test_a_constraint_that_counts_the_pods_of_others_bounds_nothing() -> None:
    web = pod_source("web", replicas=2, topologySpreadConstraints=[even()])
    other = pod_source("other", labels={"app": "web"})
    schedule = build_schedule(inventory(zoned(a="a", b="b", c="c")), [web, other])
    survey = ScheduleBounds(schedule.before, [web, other])
    assert RolloutBounds(survey, schedule, ZONE_KEY).most_together(0) == UNLIMITED
