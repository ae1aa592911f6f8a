"""Policies about results of the simulation: their findings, checked against the plan of `afflint place`."""

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.checks.registry import bound_policies
from afflint.pipeline.map_step import MapSettings, default_settings
from afflint.pipeline.options import Options
from afflint.pipeline.run import run
from afflint.placement.plan import Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.policies.policy import Policy
from afflint.simulation.inputs import read_place_inputs
from afflint.source.sources import Source
from on_nodes import apart, spread, workload
from policing import findings_of, messages_of, policy, session_of

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NODES = """\
nodes:
- {name: a1, labels: {topology.kubernetes.io/zone: a}}
- {name: a2, labels: {topology.kubernetes.io/zone: a}}
- {name: b1, labels: {topology.kubernetes.io/zone: b, disk: ssd}}
- {name: c1, labels: {topology.kubernetes.io/zone: c, disk: ssd}, unschedulable: true}
"""


def on_nodes(folder: Path, check: str, params: str, manifests: str, nodes: str = NODES) -> list[str]:
    found = findings_of(folder, policy(check, params), {"a.yaml": manifests, "nodes.yaml": nodes})
    return [f"{each.file}:{each.span.line}:{each.span.column} {each.message}" for each in found if each.rule == "ours"]


class TestSurvives:
    def test_enough_replicas_elsewhere(self, tmp_path: Path) -> None:
        web = workload(replicas=3)
        assert on_nodes(tmp_path, "survives", "{loss: zone, keeps: 1}", web) == []
        assert on_nodes(tmp_path, "survives", "{loss: node, keeps: 2}", web) == []

    def test_replicas_that_a_rollout_may_bring_together(self, tmp_path: Path) -> None:
        nodes = NODES.replace("- {name: a2, labels: {topology.kubernetes.io/zone: a}}\n", "").replace(", unschedulable: true", "")
        nodes = nodes[: nodes.index("- {name: c1")]
        together = (
            "a.yaml:3:18 after a rollout, all 2 replicas may be on the nodes of zone=a; during a failure of it, none of 2 replicas keeps "
            "running until others are ready, but 1 must"
        )
        for spec in (spread(ZONE), spread(ZONE, hard=False)):
            assert on_nodes(tmp_path, "survives", "{loss: zone}", workload(spec, replicas=2), nodes) == [together]
        per_revision = spread(ZONE, more=", matchLabelKeys: [pod-template-hash]")
        assert on_nodes(tmp_path, "survives", "{loss: zone}", workload(per_revision, replicas=2), nodes) == []
        recreated = workload(spread(ZONE), replicas=2, more="strategy: {type: Recreate}\n")
        assert on_nodes(tmp_path, "survives", "{loss: zone}", recreated, nodes) == []
        assert on_nodes(tmp_path, "survives", "{loss: zone, at-all-times: 0}", workload(spread(ZONE), replicas=2), nodes) == []

    def test_too_few_are_left(self, tmp_path: Path) -> None:
        web = workload(apart(ZONE), replicas=2)
        (found,) = on_nodes(tmp_path, "survives", "{loss: zone, keeps: 2}", web)
        what, why = found.split(": ")
        after = "after a failure of zone=a (and 1 other failure), at most 1 of 2 replicas runs, but 2 must"
        assert what == f"a.yaml:3:18 {after}, whatever the placement"
        assert why == "1 node is cordoned, 1 shares its zone with a replica of web"
        assert on_nodes(tmp_path, "survives", "{loss: zone, keeps: 1}", web) == []

    def test_all_of_them_at_once(self, tmp_path: Path) -> None:
        web = workload(f"nodeSelector: {{{ZONE}: a}}", replicas=2)
        (found,) = on_nodes(tmp_path, "survives", "{loss: zone}", web)
        assert found.startswith("a.yaml:3:18 after a failure of zone=a, none of 2 replicas runs, but 1 must, whatever the placement")

    def test_a_break_until_others_have_come_up(self, tmp_path: Path) -> None:
        web = workload("", replicas=1)
        (found,) = on_nodes(tmp_path, "survives", "{loss: node, keeps: 1}", web)
        assert found.startswith(
            "a.yaml:3:18 during a failure of node a1, the only replica does not keep running until others are ready,"
            " but 1 must, in this example placement"
        )
        assert on_nodes(tmp_path, "survives", "{loss: node, keeps: 1, at-all-times: 0}", web) == []

    def test_too_few_have_a_place_anyway(self, tmp_path: Path) -> None:
        web = workload(apart(ZONE), replicas=3)
        (found,) = on_nodes(tmp_path, "survives", "{loss: zone, keeps: 3}", web)
        assert found.startswith("a.yaml:3:18 2 of 3 replicas run even before any failure, but 3 must, in this example placement")

    def test_fewer_replicas_than_must_run(self, tmp_path: Path) -> None:
        assert on_nodes(tmp_path, "survives", "{loss: zone, keeps: 2}", workload("", replicas=1)) == [
            "a.yaml:3:18 there is only 1 replica, but 2 must run after any failure"
        ]
        assert on_nodes(tmp_path, "survives", "{loss: zone, keeps: 3}", workload("", replicas=2)) == [
            "a.yaml:3:18 there are only 2 replicas, but 3 must run after any failure"
        ]

    def test_a_label_that_no_node_has_proves_nothing(self, tmp_path: Path) -> None:
        assert on_nodes(tmp_path, "survives", "{loss: rack, keeps: 9}", workload()) == []

    def test_that_is_reported(self, tmp_path: Path) -> None:
        files = [("a.yaml", workload()), ("nodes.yaml", NODES)]
        asked = session_of(tmp_path, policy("survives", "{loss: topology.kubernetes.io/zones}"))
        outcome = asked.check([Source(name, name, text.encode()) for name, text in files], Options())
        (line,) = outcome.unevaluated
        assert line == (
            "policy `ours`: no failure to simulate: no node has the label topology.kubernetes.io/zones; did you mean "
            "'topology.kubernetes.io/zone'?"
        )

    def test_without_nodes_nothing_is_known(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, policy("survives", "{loss: zone, keeps: 9}"), workload()) == []


def requesting(cpu: int, manifests: str) -> str:
    """The manifests with containers that request CPU."""
    return manifests.replace("'nginx:1.27'", f"'nginx:1.27', resources: {{requests: {{cpu: {cpu}}}}}")


class TestRequests:
    """Policies count the requests of pods, as `place` does. Rules prove what holds for any requests."""

    NODES = f"""\
nodes:
- {{name: a1, labels: {{{ZONE}: a}}, allocatable: {{cpu: 2, pods: 9}}}}
- {{name: b1, labels: {{{ZONE}: b}}, allocatable: {{cpu: 2, pods: 9}}}}
"""

    def test_survives_needs_free_resources_on_other_nodes(self, tmp_path: Path) -> None:
        params = "{loss: node, keeps: 2, at-all-times: 0}"
        assert on_nodes(tmp_path, "survives", params, requesting(1, workload(replicas=2)), self.NODES) == []
        (found,) = on_nodes(tmp_path, "survives", params, requesting(2, workload(replicas=2)), self.NODES)
        after = "after a failure of node a1 (and 1 other failure), 1 of 2 replicas runs, but 2 must"
        assert found == f"a.yaml:3:18 {after}, in this example placement: 1 node has insufficient CPU"

    def test_fits_needs_free_resources(self, tmp_path: Path) -> None:
        assert on_nodes(tmp_path, "fits", "{}", requesting(2, workload(replicas=3)), self.NODES) == [
            "a.yaml:3:18 1 of 3 replicas cannot be scheduled, in this example placement: 2 nodes have insufficient CPU"
        ]

    def test_default_requests_of_a_limit_range_count(self, tmp_path: Path) -> None:
        limits = "limits: [{type: Container, defaultRequest: {cpu: 2}}]"
        limit_range = f"---\napiVersion: v1\nkind: LimitRange\nmetadata: {{name: cpu, namespace: shop}}\nspec: {{{limits}}}\n"
        (found,) = on_nodes(tmp_path, "fits", "{}", f"{workload(replicas=3)}{limit_range}", self.NODES)
        assert found.endswith("2 nodes have insufficient CPU")

    def test_nodes_that_list_no_resources_have_enough(self, tmp_path: Path) -> None:
        assert on_nodes(tmp_path, "fits", "{}", requesting(64, workload(replicas=3))) == []


class TestFits:
    def test_a_node_that_there_is_not(self, tmp_path: Path) -> None:
        pod = workload("nodeName: z9", replicas=2)
        why = "whatever the placement: spec.nodeName is z9, but the inventory has no node with this name"
        assert on_nodes(tmp_path, "fits", "{}", pod) == [f"a.yaml:3:18 2 of 2 replicas cannot be scheduled, {why}"]
        assert on_nodes(tmp_path, "survives", "{loss: node}", pod) == [
            f"a.yaml:3:18 none of 2 replicas runs even before any failure, but 1 must, {why}"
        ]
        assert on_nodes(tmp_path, "fits", "{}", workload("nodeName: c1", replicas=2)) == []

    def test_a_place_for_each(self, tmp_path: Path) -> None:
        assert on_nodes(tmp_path, "fits", "{}", workload(replicas=5)) == []

    def test_a_replica_without_one(self, tmp_path: Path) -> None:
        assert on_nodes(tmp_path, "fits", "{}", workload(apart(HOST), replicas=4)) == [
            "a.yaml:3:18 1 of 4 replicas cannot be scheduled, whatever the placement: 3 nodes already have a replica of web, 1 is cordoned"
        ]
        assert on_nodes(tmp_path, "fits", "{}", workload("nodeSelector: {disk: nvme}", replicas=1)) == [
            "a.yaml:3:18 the only replica cannot be scheduled, whatever the placement: 3 nodes lack disk=nvme, 1 is cordoned"
        ]

    def test_as_many_as_no_placement_has_a_node_for(self, tmp_path: Path) -> None:
        """In this placement only two run: the first replica is on the node that excludes two others."""
        racks = "{name: n0, labels: {rack: s, zone: b}}, {name: n1, labels: {zone: b}}, {name: n2, labels: {rack: s, zone: c}}"
        nodes = f"nodes: [{racks}, {{name: n3, labels: {{rack: r, zone: a}}}}]"
        terms = ", ".join(f"{{topologyKey: {key}, labelSelector: {{matchLabels: {{app: web}}}}}}" for key in ("rack", "zone"))
        both = f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{terms}]}}}}"
        (found,) = on_nodes(tmp_path, "fits", "{}", workload(both, replicas=4), nodes)
        assert found.startswith("a.yaml:3:18 1 of 4 replicas cannot be scheduled, whatever the placement: ")


VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db}
spec:
  runStrategy: Always
  template:
    metadata: {labels: {kubevirt.io/vm: db}}
    spec:
      networks: [{name: default, pod: {}}]
      domain: {devices: {interfaces: [{name: default, masquerade: {}}]DEVICES}}
      MORE
"""


class TestMigratable:
    def test_another_node(self, tmp_path: Path) -> None:
        assert on_nodes(tmp_path, "migratable", "{}", VM.replace("DEVICES", "").replace("MORE", "")) == []

    def test_no_other_node(self, tmp_path: Path) -> None:
        pinned = VM.replace("DEVICES", "").replace("MORE", "nodeSelector: {disk: ssd}")
        (found,) = on_nodes(tmp_path, "migratable", "{}", pinned)
        assert found.startswith("a.yaml:11:7 the VM has no node to migrate to, whatever the placement: ")

    def test_a_machine_that_cannot(self, tmp_path: Path) -> None:
        tied = VM.replace("DEVICES", ", hostDevices: [{name: a, deviceName: b/c}]").replace("MORE", "")
        assert on_nodes(tmp_path, "migratable", "{}", tied) == ["a.yaml:10:73 the VM cannot migrate: host devices cannot be live-migrated"]

    def test_pods_are_not_machines(self, tmp_path: Path) -> None:
        assert on_nodes(tmp_path, "migratable", "{}", workload("nodeSelector: {disk: ssd}", replicas=1)) == []


# Checked against the plan.


def planned(sources: list[Source], loss: str) -> Plan:
    """What `afflint place --lose each:LOSS` shows."""
    placing = read_place_inputs(sources[:1], sources[1:], (), default_settings())
    return make_plan(
        placing.simulation_input.inventory, placing.simulation_input.pod_sources, asked=DisruptionRequest(lose=(f"each:{loss}",))
    )


def runs(plan: Plan, key: str) -> list[tuple[int, int]]:
    """For each loss how many replicas of a workload run afterwards, and how many of them without a break."""
    (placed,) = [[each for each in workload.replicas if each.node is not None] for workload in plan.workloads if workload.key == key]
    found = []
    for loss in plan.losses:
        moves = [move for move in loss.moves if move.workload == key]
        found.append((len(placed) - sum(move.target is None for move in moves), len(placed) - len(moves)))
    return found


specs = st.sampled_from(
    ["", apart(ZONE), apart(HOST), spread(ZONE), spread(HOST), spread(ZONE, hard=False), f"nodeSelector: {{{ZONE}: a}}"]
)
clusters = st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.sampled_from([0, 2, 3])), min_size=2, max_size=6)


@settings(max_examples=100, deadline=None)
@given(
    specs,
    st.integers(0, 2),
    st.integers(1, 4),
    st.sampled_from(["Deployment", "StatefulSet"]),
    clusters,
    st.sampled_from(["zone", "node"]),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_survives_and_fits_agree_with_the_plan(
    spec: str, cpu: int, replicas: int, kind: str, cluster: list[Any], loss: str, keeps: int, throughout: int
) -> None:
    listed = [
        f"- {{name: n{number}, labels: {{{ZONE}: {zone}}}, unschedulable: {str(shut).lower()}, allocatable: {{cpu: {cores}, pods: 9}}}}"
        for number, (zone, shut, cores) in enumerate(cluster)
    ]
    text = requesting(cpu, workload(spec, kind=kind, replicas=replicas))
    sources = [Source("a.yaml", "a.yaml", text.encode()), Source("nodes.yaml", "nodes.yaml", "\n".join(["nodes:", *listed]).encode())]
    params = {"loss": loss, "keeps": keeps, "at-all-times": throughout}
    policies = (Policy("survives", "survives", params), Policy("fits", "fits"))
    findings = run(sources[:1], MapSettings(bound_policies(policies)), Options(), node_files=sources[1:]).findings
    # The plan is that before a rollout.
    found = {each.rule for each in findings if not each.message.startswith("after a rollout")}
    plan = planned(sources, loss)
    (key,) = [each.key for each in plan.workloads]
    assert ("fits" in found) is any(each.node is None for workload in plan.workloads for each in workload.replicas)
    assert ("survives" in found) is any(after < keeps or on < throughout for after, on in runs(plan, key))
