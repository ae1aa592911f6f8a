"""Workloads on given nodes: what can never be placed, what depends on the order, what a failure, update or migration runs into."""

import pytest

from on_nodes import apart, lint, messages_of, rules, spread, workload

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

THREE = """
- {name: w1, labels: {topology.kubernetes.io/zone: a}}
- {name: w2, labels: {topology.kubernetes.io/zone: b, disk: fast}}
- {name: control, labels: {topology.kubernetes.io/zone: c}, taints: ["node-role.kubernetes.io/control-plane:NoSchedule"]}
"""
SIX = """
- {name: w1, labels: {topology.kubernetes.io/zone: a}}
- {name: w2, labels: {topology.kubernetes.io/zone: a, disk: fast}}
- {name: w3, labels: {topology.kubernetes.io/zone: b}}
- {name: w4, labels: {topology.kubernetes.io/zone: b, disk: fast}}
- {name: w5, labels: {topology.kubernetes.io/zone: c}}
- {name: w6, labels: {topology.kubernetes.io/zone: c, disk: fast}}
"""


# unschedulable


def test_pods_that_fit_no_node_with_what_excludes_how_many() -> None:
    assert messages_of("unschedulable", THREE, workload("nodeSelector: {disk: slow}")) == [
        (
            "a.yaml:10:7 error: none of the 3 replicas fits any of the 3 nodes: "
            "2 nodes lack disk=slow, 1 has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule"
        )
    ]


def test_the_only_pod_and_the_only_node() -> None:
    assert messages_of("unschedulable", "- {name: w1, unschedulable: true}", workload(replicas=1)) == [
        "a.yaml:3:18 error: the pod does not fit the only node: 1 node is cordoned"
    ]


def test_affinity_to_pods_that_no_workload_creates_is_a_warning_unless_the_context_is_complete() -> None:
    beside = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [TERM]}}"
    text = workload(beside.replace("TERM", "{labelSelector: {matchLabels: {app: cache}}, topologyKey: kubernetes.io/hostname}"))
    [unsure] = messages_of("unschedulable", SIX, text)
    assert unsure == (
        "a.yaml:10:32 warning: none of the 3 replicas fits any of the 6 nodes: 6 nodes have no pod with app=cache, "
        "and no pod of these manifests would change that"
    )
    [certain] = messages_of("unschedulable", SIX, text, complete=True)
    assert certain == "a.yaml:10:32 error: none of the 3 replicas fits any of the 6 nodes: 6 nodes have no pod with app=cache"
    assert messages_of("unschedulable", SIX, f"{text}---\n{workload(name='cache', replicas=1)}") == []


def test_labels_that_a_hand_written_inventory_leaves_out_are_taken_for_granted() -> None:
    linux = workload("nodeSelector: {kubernetes.io/os: linux, kubernetes.io/arch: amd64}")
    assert rules(SIX, linux) == []
    windows = workload("nodeSelector: {kubernetes.io/os: windows}")
    assert rules(SIX, windows) == ["unschedulable"]
    # Once a node says it, the others lack it.
    some = SIX.replace("disk: fast", "kubernetes.io/os: windows")
    assert messages_of("unschedulable", some, linux) != []


def test_a_template_with_values_to_fill_in_says_nothing_about_nodes() -> None:
    assert rules(SIX, workload('nodeSelector: {disk: "${DISK}"}')) == []


def test_a_cordoned_node_takes_only_what_tolerates_it() -> None:
    one = "- {name: w1, unschedulable: true}\n- {name: w2, labels: {disk: fast}, unschedulable: true}"
    assert rules(one, workload("tolerations: [{operator: Exists}]", kind="DaemonSet", replicas=None)) == []
    assert rules(one, workload(kind="DaemonSet", replicas=None)) == [], "the controller adds that toleration"


# too-few-domains


def test_with_the_feature_gate_a_toleration_compares_numbers() -> None:
    rated = '- {name: w1, taints: ["sla=5:NoSchedule"]}'
    gates = ["TaintTolerationComparisonOperators"]
    below_ten = workload('tolerations: [{key: sla, operator: Lt, value: "10", effect: NoSchedule}]', replicas=1)
    assert lint(rated, below_ten, gates=gates) == []
    below_five = workload('tolerations: [{key: sla, operator: Lt, value: "5", effect: NoSchedule}]', replicas=1)
    [finding] = lint(rated, below_five, gates=gates)
    assert finding.message == "the pod does not fit the only node: 1 node has the untolerated taint sla=5:NoSchedule"


def test_more_replicas_than_domains() -> None:
    assert messages_of("too-few-domains", THREE, workload(apart(ZONE))) == [
        (
            "a.yaml:10:86 error: 3 replicas, 2 zones: 1 node has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule; "
            "the required podAntiAffinity over zones allows only 2, so 1 stays Pending"
        )
    ]


def test_a_required_spread_that_may_not_run_ahead_of_a_zone_out_of_reach() -> None:
    assert messages_of("too-few-domains", THREE, workload(spread(ZONE))) == [
        (
            "a.yaml:10:36 error: 3 replicas, 2 zones: 1 node has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule; "
            "the spread constraint over zones allows only 2, so 1 stays Pending"
        )
    ]
    assert rules(THREE, workload(spread(ZONE, more=", nodeTaintsPolicy: Honor, matchLabelKeys: [pod-template-hash]"))) == []


def test_pods_of_a_job_wait_for_each_other() -> None:
    [found] = messages_of("too-few-domains", THREE, workload(apart(HOST), kind="Job"))
    assert found.startswith("a.yaml:10:86 info: 3 replicas, 2 nodes")
    assert found.endswith("allows only 2 at a time")


def test_as_many_replicas_as_domains_are_enough() -> None:
    assert messages_of("too-few-domains", SIX, workload(apart(ZONE))) == []
    assert messages_of("too-few-domains", SIX, workload(apart(HOST), replicas=6)) == []


def test_a_daemon_set_that_surges_onto_its_own_host_port_is_a_deadlock() -> None:
    port = "hostNetwork: false\nhostPID: false\n"
    agent = workload(
        port, kind="DaemonSet", name="agent", replicas=None, more="updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}\n"
    )
    agent = agent.replace("image: 'nginx:1.27'}", "image: 'nginx:1.27', ports: [{containerPort: 80, hostPort: 80}]}")
    (found,) = messages_of("rollout-deadlock", THREE, agent)
    assert found.endswith(
        "a rolling update runs the new pod beside the old one on each node (maxSurge is set), but both use host port 80: it never completes"
    )
    assert messages_of("rollout-deadlock", THREE, agent.replace("maxSurge: 1, maxUnavailable: 0", "maxUnavailable: 1")) == []
    assert messages_of("rollout-deadlock", THREE, agent.replace(", hostPort: 80", "")) == []


# competing-workloads


def test_replicas_of_one_workload_that_no_order_of_scheduling_places() -> None:
    """Anti-affinity per revision, and a spread constraint over a zone with one node: only a rollout brings two pods into that zone."""
    names = ("a1", "a2", "a3", "b1", "b2", "b3", "c1")
    nodes = "".join(f"- {{name: {name}, labels: {{topology.kubernetes.io/zone: {name[0]}}}}}\n" for name in names)
    text = workload(f"{apart(HOST)}\n{spread(ZONE)}", replicas=6)
    text = text.replace("topologyKey: kubernetes", "matchLabelKeys: [pod-template-hash], topologyKey: kubernetes")
    assert messages_of("too-few-domains", nodes, text) == []
    assert messages_of("competing-workloads", nodes, text) == [
        (
            "a.yaml:3:18 error: the replicas of Deployment shop/web compete for the same nodes: no order of scheduling places all of them, "
            "until a rollout or an eviction moves pods"
        )
    ]


SHY = apart(HOST, "orders")
"""Of another workload: it keeps off the nodes where orders run."""


def test_what_depends_on_the_order_is_a_warning_that_shows_an_order() -> None:
    nodes = "- {name: w1, labels: {disk: fast}}\n- {name: w2}\n"
    first, second = workload(SHY, name="batch", replicas=1), workload("nodeSelector: {disk: fast}", name="orders", replicas=1)
    [finding] = [each for each in lint(nodes, f"{first}---\n{second}") if each.rule == "competing-workloads"]
    assert f"{finding.span.line}:{finding.span.column} {finding.severity}: {finding.message}" == (
        "15:18 warning: orders-0 stays Pending if pods are scheduled in the order of the manifests; "
        "all can be scheduled in another order, such as orders-0 on w1 and batch-0 on w2"
    )
    assert [(each.span.line, each.message) for each in finding.related] == [(3, "Deployment batch competes for the same nodes")]
    # The other way round the order of the manifests has room for both: nothing is pending.
    assert messages_of("competing-workloads", nodes, f"{second}---\n{first}") == []


def test_priorities_decide_which_pods_stay_pending() -> None:
    nodes = "- {name: w1, labels: {disk: fast}}\n- {name: w2}\n"
    orders = workload("nodeSelector: {disk: fast}\npriorityClassName: gold", name="orders", replicas=1)
    assert messages_of("competing-workloads", nodes, f"{workload(SHY, name='batch', replicas=1)}---\n{orders}") == [
        (
            "a.yaml:15:18 info: Deployment shop/batch and Deployment shop/orders compete for the same nodes, and their priorities decide "
            "which pods stay Pending; all can be scheduled in some order, such as orders-0 on w1 and batch-0 on w2"
        )
    ]


def test_what_no_order_has_room_for_is_an_error() -> None:
    nodes = "- {name: w1, labels: {disk: fast}}\n- {name: w2}\n"
    texts = [
        workload(f"nodeSelector: {{disk: fast}}\n{SHY}", name="batch", replicas=1),
        workload("nodeSelector: {disk: fast}", name="orders", replicas=1),
    ]
    assert messages_of("competing-workloads", nodes, "---\n".join(texts)) == [
        (
            "a.yaml:16:18 error: Deployment shop/batch and Deployment shop/orders compete for the same nodes: "
            "no order of scheduling places all their replicas"
        )
    ]


def test_the_pods_of_a_job_make_room_in_the_end() -> None:
    nodes = "- {name: w1, labels: {disk: fast}}\n- {name: w2}\n"
    texts = [
        workload(f"nodeSelector: {{disk: fast}}\n{SHY}", name="batch", replicas=1, kind="Job"),
        workload("nodeSelector: {disk: fast}", name="orders", replicas=1),
    ]
    [found] = messages_of("competing-workloads", nodes, "---\n".join(texts))
    assert " info: orders-0 stays Pending if pods are scheduled in the order of the manifests; it is unknown whether all" in found


# not-failure-tolerant


def test_failures_are_named_by_kind_with_what_remains() -> None:
    assert messages_of("not-failure-tolerant", SIX, workload("nodeSelector: {disk: fast}\n" + apart(ZONE))) == [
        "a.yaml:3:18 warning: after a failure of node w2, w4 or w6, at most 2 of 3 replicas run, whatever the placement"
    ]


def test_the_help_names_what_is_missing() -> None:
    found = lint(SIX, workload("nodeSelector: {disk: fast}\n" + apart(ZONE)))
    [help_text] = [each.help for each in found if each.rule == "not-failure-tolerant"]
    assert help_text == (
        "Provide a node for the replicas of node w2; the other nodes do not accept them: "
        "3 nodes lack disk=fast, 2 share their zone with a replica of web."
    )


def test_the_help_advises_to_spread_where_no_node_would_help() -> None:
    """Four of seven nodes are on one physical host: if it fails, Kubernetes evicts nothing, so more nodes take no replica."""
    hosts = [(f"w{number}", "esx1" if number < 5 else "esx2") for number in range(1, 8)]
    labels = "{{kubernetes.io/hostname: {0}, topology.kubernetes.io/zone: a, node.cluster.x-k8s.io/esxi-host: {1}}}"
    nodes = "".join(f"- {{name: {name}, labels: {labels.format(name, host)}}}\n" for name, host in hosts)
    [help_text] = [each.help for each in lint(nodes, workload(apart(HOST), replicas=2)) if each.rule == "not-failure-tolerant"]
    assert help_text == (
        "Spread the replicas over several physical hosts: those of physical host esx1 are not replaced "
        "(evictions are suspended: 4 of 7 nodes in zone a are unavailable)."
    )


@pytest.mark.parametrize("key", [ZONE, HOST])
def test_one_of_several_with_its_domain_is_what_several_are_for(key: str) -> None:
    """Three replicas in three zones lose one with a zone, and as many replicas as nodes one with a node: that is the design."""
    assert messages_of("not-failure-tolerant", SIX, workload(apart(key), replicas=3 if key == ZONE else 6)) == []
    assert messages_of("not-failure-tolerant", SIX, workload(spread(key), replicas=3 if key == ZONE else 6)) == []


def budget(amount: str) -> str:
    head = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\n"
    return f"{head}spec: {{{amount}, selector: {{matchLabels: {{app: web}}}}}}\n---\n"


def test_fewer_than_the_budget_needs_are_too_few() -> None:
    apart_by_zone = workload(apart(ZONE))
    assert messages_of("not-failure-tolerant", SIX, budget("maxUnavailable: 1") + apart_by_zone) == []
    assert messages_of("not-failure-tolerant", SIX, budget("minAvailable: 3") + apart_by_zone) == [
        (
            "a.yaml:8:18 warning: after a failure of zone a, b or c, at most 2 of 3 replicas run, whatever the placement; "
            "PodDisruptionBudget `web` needs 3"
        )
    ]


def test_more_than_half_of_the_replicas_are_too_many_to_lose() -> None:
    """The zone that failed still counts as one that is empty, so that what it held waits."""
    two = "- {name: w1, labels: {topology.kubernetes.io/zone: a}}\n- {name: w2, labels: {topology.kubernetes.io/zone: b}}\n"
    assert messages_of("not-failure-tolerant", two, workload(spread(ZONE), replicas=3)) == [
        (
            "a.yaml:3:18 warning: after a failure of node w1, only 1 of 3 replicas run until the failed nodes recover or are removed, "
            "in this example placement"
        )
    ]


# drain-blocked


@pytest.mark.parametrize(
    ("amount", "replicas", "arithmetic"),
    [
        ("minAvailable: 1", 1, "(minAvailable 1) requires 1 of 1 pods to be healthy, and 1 is"),
        ("minAvailable: 67%", 3, "(minAvailable 67%) requires 3 of 3 pods to be healthy, and 3 are"),
        ("minAvailable: 51%", 2, "(minAvailable 51%) requires 2 of 2 pods to be healthy, and 2 are"),
        ("minAvailable: 5", 3, "(minAvailable 5) requires 5 of 3 pods to be healthy, and 3 are"),
    ],
)
def test_a_budget_that_lets_no_pod_go(amount: str, replicas: int, arithmetic: str) -> None:
    [found] = messages_of("drain-blocked", SIX, budget(amount) + workload(replicas=replicas))
    assert found.endswith(f" warning: PodDisruptionBudget web {arithmetic}: a drain of their nodes never completes")
    assert found.startswith("a.yaml:4:")


def test_a_budget_that_asks_for_it_may_mean_it() -> None:
    for amount in ("maxUnavailable: 0", "maxUnavailable: 0%", "minAvailable: 100%"):
        [found] = messages_of("drain-blocked", SIX, budget(amount) + workload())
        assert " info: " in found


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(budget("maxUnavailable: 1") + workload(replicas=1), id="one may go"),
        pytest.param(budget("minAvailable: 66%") + workload(), id="rounded up to two"),
        pytest.param(budget("minAvailable: 1") + workload(replicas=None), id="an autoscaler may ask for more"),
        pytest.param(budget("maxUnavailable: 1") + workload(kind="Job"), id="a Job ends before long"),
        pytest.param(budget("minAvailable: 9") + workload(kind="DaemonSet", replicas=None), id="a drain leaves a DaemonSet alone"),
        pytest.param(budget("minAvailable: 9") + workload(name="other"), id="it covers none of these"),
    ],
)
def test_budgets_that_let_pods_go_or_that_nothing_is_known_of(text: str) -> None:
    assert messages_of("drain-blocked", SIX, text) == []


def test_a_budget_that_is_there_again_in_an_overlay_counts_once() -> None:
    assert messages_of("drain-blocked", SIX, budget("minAvailable: 1") + budget("minAvailable: 1") + workload(replicas=2)) == []


def test_a_dump_has_each_pod_of_a_workload_once() -> None:
    """`kubectl get -o yaml` lists the ReplicaSet of a Deployment and the pods, too."""
    owned = "metadata: {name: %s, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, controller: true}]%s}"
    replica_set = workload(kind="ReplicaSet", name="web").replace(
        "metadata: {name: web, namespace: shop}", owned % ("web-1", "Deployment", "web", "")
    )
    running = "\n".join(
        f"apiVersion: v1\nkind: Pod\n{owned % (f'web-1-{name}', 'ReplicaSet', 'web-1', ', labels: {app: web}')}\n"
        f"spec: {{nodeName: w1, containers: [{{name: c, image: c}}]}}\n---"
        for name in "abc"
    )
    [found] = messages_of("drain-blocked", SIX, f"{budget('maxUnavailable: 0')}{workload()}---\n{replica_set}---\n{running}\n")
    assert "requires 3 of 3 pods to be healthy, and 3 are" in found


def test_a_single_replica_that_one_node_alone_takes() -> None:
    assert messages_of("not-failure-tolerant", THREE, workload("nodeSelector: {disk: fast}", replicas=1)) == [
        "a.yaml:3:18 warning: after a failure of node w2, the only replica cannot be scheduled, whatever the placement"
    ]


def test_physical_hosts_fail_too_under_the_key_that_the_configuration_names() -> None:
    nodes = """
    - {name: w1, labels: {host: esx-1, disk: fast}}
    - {name: w2, labels: {host: esx-1, disk: fast}}
    - {name: w3, labels: {host: esx-2}}
    """
    text = workload("nodeSelector: {disk: fast}", replicas=2)
    assert messages_of("not-failure-tolerant", nodes, text) == []
    assert messages_of("not-failure-tolerant", nodes, text, host_key="host") == [
        "a.yaml:3:18 warning: after a failure of physical host esx-1, none of the 2 replicas can be scheduled, whatever the placement"
    ]


def test_domains_that_fail_altogether_do_not_prove_a_spread() -> None:
    """With one zone gone both replicas may be in the other. That its second node is taken there is chance: lone might be elsewhere."""
    nodes = """
    - {name: a1, labels: {topology.kubernetes.io/zone: a}}
    - {name: a2, labels: {topology.kubernetes.io/zone: a}}
    - {name: b1, labels: {topology.kubernetes.io/zone: b}}
    - {name: b2, labels: {topology.kubernetes.io/zone: b}}
    - {name: spare, taints: ["spare:PreferNoSchedule"]}
    """
    lone = workload(apart(HOST), name="lone", replicas=1)
    web = workload(f"{apart(HOST)}\n{spread(ZONE)}", replicas=2)
    assert messages_of("not-failure-tolerant", nodes, f"{lone}---\n{web}") == [
        ("a.yaml:15:18 warning: after a failure of node a2, only 1 of 2 replicas run, in this example placement")
    ]


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        pytest.param("- {name: w1}", workload(), id="one node: nothing survives its loss"),
        pytest.param("- {name: w1}\n- {name: w2, taints: ['gpu:NoSchedule']}", workload(), id="one node open to all pods"),
        pytest.param(
            "- {name: w1, labels: {topology.kubernetes.io/zone: a}}\n- {name: w2, labels: {topology.kubernetes.io/zone: a}}",
            workload(spread(ZONE, skew=2)),
            id="one zone",
        ),
        pytest.param(SIX, workload("nodeSelector: {topology.kubernetes.io/zone: a}"), id="a zone that was chosen"),
        pytest.param(SIX, workload("nodeSelector: {kubernetes.io/hostname: w1}", replicas=1), id="a node that was chosen"),
        pytest.param(SIX, workload(apart(HOST)), id="room elsewhere"),
        pytest.param(SIX, workload(spread(ZONE)), id="a spread over the zones that remain"),
        pytest.param(SIX, workload("nodeSelector: {disk: fast}", kind="DaemonSet", replicas=None), id="a DaemonSet goes with its node"),
        pytest.param(THREE, workload("nodeSelector: {disk: fast}", kind="Job", replicas=1), id="a Job ends before long"),
        pytest.param(THREE, workload(apart(ZONE)), id="a replica that cannot be scheduled today is reported as such"),
        pytest.param(SIX, workload(replicas=0), id="no replicas"),
    ],
)
def test_what_survives_or_goes_down_on_purpose(nodes: str, text: str) -> None:
    assert messages_of("not-failure-tolerant", nodes, text) == []


def test_a_bare_pod_is_never_recreated() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: till}\nspec: {containers: [{name: till, image: 'nginx:1.27'}]}\n"
    assert rules(SIX, pod) == []


def test_a_machine_that_the_user_has_to_start_waits_for_that_and_not_for_a_node() -> None:
    machine = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: till}\nspec:\n  runStrategy: STRATEGY\n"
    machine += "  template: {metadata: {labels: {app: till}}, spec: {domain: {devices: {}}}}\n"
    for strategy in ("Always", "RerunOnFailure", "Manual", "Halted"):
        assert messages_of("not-failure-tolerant", SIX, machine.replace("STRATEGY", strategy)) == []


# rollout-deadlock


def test_an_update_that_has_to_add_a_pod_for_which_there_is_no_node() -> None:
    assert messages_of("rollout-deadlock", SIX, workload(apart(ZONE))) == [
        (
            "a.yaml:10:86 warning: a rolling update must add a pod before it removes one of the 3 replicas (maxUnavailable is 0), "
            "but no node accepts the new pod: 6 nodes share their zone with a replica of web"
        )
    ]


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        pytest.param(apart(ZONE), "strategy: {type: Recreate}\n", id="all pods are removed first"),
        pytest.param(apart(ZONE), "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}\n", id="one pod is removed first"),
        pytest.param(apart(ZONE), 'strategy: {rollingUpdate: {maxUnavailable: "40%"}}\n', id="one of three may be missing"),
        pytest.param(apart(ZONE, required=False), "", id="a preference"),
        pytest.param(
            apart(ZONE).replace("topologyKey", "matchLabelKeys: [pod-template-hash], topologyKey"), "", id="each revision by itself"
        ),
    ],
)
def test_updates_that_can_begin(spec: str, more: str) -> None:
    assert messages_of("rollout-deadlock", SIX, workload(spec, more=more)) == []


def test_a_stateful_set_never_surges() -> None:
    assert messages_of("rollout-deadlock", SIX, workload(apart(ZONE), kind="StatefulSet", more="serviceName: web\n")) == []


# migration-blocked

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: till}
spec:
  runStrategy: Always
  template:
    spec:
      evictionStrategy: LiveMigrate
      nodeSelector: {disk: fast}
      domain: {devices: {}}
"""


def test_a_vm_with_one_node_cannot_leave_it() -> None:
    assert messages_of("migration-blocked", THREE, VM) == [
        (
            "a.yaml:9:7 warning: the VM has no node to migrate to: 1 node already has a replica of till, "
            "1 has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule, 1 lacks disk=fast"
        )
    ]
    assert messages_of("migration-blocked", SIX, VM) == []


@pytest.mark.parametrize("strategy", ["evictionStrategy: None", "hostname: till"])
def test_a_vm_that_is_not_to_migrate(strategy: str) -> None:
    assert messages_of("migration-blocked", THREE, VM.replace("evictionStrategy: LiveMigrate", strategy)) == []


def test_what_virt_controller_asks_of_nodes_counts_once_any_node_has_it() -> None:
    handled = SIX.replace("zone: a, disk: fast", "zone: a, disk: fast, kubevirt.io/schedulable: 'true'")
    assert messages_of("migration-blocked", handled, VM) != []


# single-domain-possible


def test_replicas_apart_over_nodes_only_may_share_a_zone() -> None:
    nodes = SIX.replace("zone: b", "zone: a")
    assert messages_of("single-domain-possible", nodes, workload(apart(HOST))) == [
        "a.yaml:3:18 info: all 3 replicas may be scheduled in zone `a`: they are separated only over `kubernetes.io/hostname`"
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(workload(), id="no requirement"),
        pytest.param(workload(apart(HOST, required=False)), id="a preference only"),
        pytest.param(workload(f"{apart(HOST)}\n{spread(ZONE, hard=False)}"), id="the zone was thought of"),
        pytest.param(workload(apart(ZONE)), id="zones are kept apart"),
        pytest.param(workload(apart(HOST), replicas=1), id="one replica"),
        pytest.param(workload(apart(HOST), kind="Job"), id="a Job"),
        pytest.param(workload(f"nodeSelector: {{topology.kubernetes.io/zone: a}}\n{apart(HOST)}"), id="a zone was chosen"),
        pytest.param(workload(apart(HOST), replicas=5), id="no zone has room for all"),
        pytest.param(workload(apart(HOST, "other")), id="apart from others, not from each other"),
    ],
)
def test_workloads_that_do_not_mind_or_did_not_forget_the_zone(text: str) -> None:
    assert messages_of("single-domain-possible", SIX.replace("zone: b", "zone: a"), text) == []


def test_replicas_kept_apart_over_nothing_are_refused_before_they_land_anywhere() -> None:
    assert messages_of("single-domain-possible", SIX.replace("zone: b", "zone: a"), workload(apart("''"))) == []


# min-domains-unreachable


def test_more_domains_asked_for_than_there_are() -> None:
    assert messages_of("min-domains-unreachable", SIX, workload(spread(ZONE, skew=2, more=", minDomains: 4"))) == [
        (
            "a.yaml:10:36 warning: minDomains is 4, but the nodes have only 3 values of `topology.kubernetes.io/zone`: `a`, `b` and `c`; "
            "until more are added, each accepts at most 2 pods"
        )
    ]
    assert messages_of("min-domains-unreachable", SIX, workload(spread(ZONE, more=", minDomains: 3"))) == []


@pytest.mark.parametrize("spec", ["nodeSelector: {pool: none}\n" + spread(ZONE), spread("example.com/rack")])
def test_pods_that_no_domain_takes_are_another_rule(spec: str) -> None:
    """No minDomains helps: no node meets the nodeSelector, or has the label. Other rules report that."""
    assert messages_of("min-domains-unreachable", SIX, workload(spec)) == []
    assert not {"unschedulable", "unknown-node-label"}.isdisjoint(rules(SIX, workload(spec)))


def test_more_domains_than_there_are_for_pods_of_another_workload() -> None:
    other = spread(ZONE, more=", minDomains: 4").replace("app: web", "app: other")
    [found] = messages_of("min-domains-unreachable", SIX, workload(other))
    assert found.endswith("`a`, `b` and `c`; until more are added, none with more than 1 pod that it selects accepts another")


# spread-blocked-by-taints


def test_a_domain_behind_a_taint_counts_as_empty() -> None:
    [finding] = [each for each in lint(THREE, workload(spread(ZONE), replicas=2)) if each.rule == "spread-blocked-by-taints"]
    assert finding.severity == "warning"
    assert finding.message == (
        "`c` of `topology.kubernetes.io/zone` counts as an empty domain, but taints keep the pods out of it, "
        "so at most 2 pods can be scheduled elsewhere"
    )
    assert finding.help == "Add `nodeTaintsPolicy: Honor` to the constraint so that such domains no longer count."


@pytest.mark.parametrize(
    "spec",
    [
        spread(ZONE, more=", nodeTaintsPolicy: Honor"),
        spread(ZONE, hard=False),
        f"tolerations: [{{key: node-role.kubernetes.io/control-plane, operator: Exists}}]\n{spread(ZONE)}",
        spread("disk"),
    ],
)
def test_domains_that_are_open_or_do_not_count(spec: str) -> None:
    assert messages_of("spread-blocked-by-taints", THREE, workload(spec, replicas=2)) == []


# What all of them have in common.


def test_an_object_that_is_there_twice_is_placed_once() -> None:
    """Overlays of one repository repeat the objects that they change."""
    assert (
        rules(SIX, f"{workload(apart(HOST), replicas=6, more=MAY_MISS_ONE)}---\n{workload(apart(HOST), replicas=6, more=MAY_MISS_ONE)}")
        == []
    )


MAY_MISS_ONE = "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}\n"


def test_a_fragment_is_not_judged_by_what_it_lacks() -> None:
    patch = workload(apart(ZONE), replicas=9).replace("image: 'nginx:1.27'", "env: []")
    assert rules(SIX, patch) == []


def test_malformed_constraints_are_left_to_the_rules_about_them() -> None:
    assert rules(SIX, workload("affinity: [web]\nnodeSelector: 7")) == ["wrong-type"]


# Ports of the host


def on_port(port: int) -> str:
    """A pod spec with a container that takes a port of its host."""
    return f"containers: [{{name: c, image: nginx, ports: [{{containerPort: 80}}, {{containerPort: 80, hostPort: {port}}}]}}]"


def with_port(port: int, name: str = "web", replicas: int = 3) -> str:
    text = workload(name=name, replicas=replicas)
    return text.replace(f"containers: [{{name: {name}, image: 'nginx:1.27'}}]", on_port(port))


def test_more_replicas_than_nodes_for_a_port_of_the_host() -> None:
    assert messages_of("too-few-domains", THREE, with_port(80)) == [
        (
            "a.yaml:10:103 error: 3 replicas, 2 nodes: 1 node has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule; "
            "host port 80 allows only 2, so 1 stays Pending"
        )
    ]
    assert messages_of("too-few-domains", SIX, with_port(80)) == []


def test_two_workloads_that_want_one_port() -> None:
    six = f"{with_port(80)}---\n{with_port(80, 'shop', 4)}"
    [found] = messages_of("competing-workloads", SIX, six)
    assert found.endswith("compete for the same nodes: no order of scheduling places all their replicas")
    assert messages_of("competing-workloads", SIX, f"{with_port(80)}---\n{with_port(81, 'shop', 4)}") == []


def test_a_rolling_update_needs_one_more_node_for_the_port() -> None:
    [found] = messages_of("rollout-deadlock", THREE, with_port(80, replicas=2))
    assert found == (
        "a.yaml:10:103 warning: a rolling update must add a pod before it removes one of the 2 replicas (maxUnavailable is 0), "
        "but no node accepts the new pod: 2 nodes already use host port 80, "
        "1 has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule"
    )
    assert messages_of("rollout-deadlock", SIX, with_port(80, replicas=2)) == []
