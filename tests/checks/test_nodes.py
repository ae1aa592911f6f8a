"""The nodes themselves: labels that are missing, contradict each other or differ by a slip, and hosts that nodes share."""

import pytest

from on_nodes import apart, lint, messages_of, rules, spread, workload

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

# inconsistent-node-labels

ONE_LACKS = """
- {name: w1, labels: {rack: a}}
- {name: w2, labels: {disk: fast}}
- {name: w3, labels: {rack: b}}
"""


def labels_of(entry: str) -> str:
    """A workload with one replica, for which all nodes are open: only the tested rule reports it."""
    return workload(entry, replicas=2)


@pytest.mark.parametrize(
    ("spec", "severity", "effect"),
    [
        (apart("rack"), "error", "the required podAntiAffinity separates no pods there"),
        (spread("rack"), "error", "the required spread constraint never uses such a node and does not count its pods"),
        (apart("rack").replace("podAntiAffinity", "podAffinity"), "error", "the required podAffinity never allows pods there"),
        (apart("rack", required=False), "warning", "preferences ignore such a node"),
        (spread("rack", hard=False), "warning", "preferences ignore such a node"),
    ],
)
def test_a_topology_key_in_use_that_a_node_lacks(spec: str, severity: str, effect: str) -> None:
    assert messages_of("inconsistent-node-labels", ONE_LACKS, labels_of(spec)) == [
        f"nodes.yaml:3:14 {severity}: node w2 lacks the label `rack`, a topology key of Deployment web: {effect}"
    ]


def test_the_workloads_that_suffer_are_related_places() -> None:
    texts = [workload(apart("rack", name), name=name, replicas=2) for name in ("web", "till")]
    [finding] = [each for each in lint(ONE_LACKS, "---\n".join(texts)) if each.rule == "inconsistent-node-labels"]
    assert finding.message.startswith("node w2 lacks the label `rack`, a topology key of Deployment web and Deployment till")
    assert [(each.file, each.span.line, each.message) for each in finding.related] == [
        ("a.yaml", 10, "required podAntiAffinity of Deployment web"),
        ("a.yaml", 22, "required podAntiAffinity of Deployment till"),
    ]
    assert finding.help == "Label it like the others: `kubectl label node w2 rack=…`, or keep these pods off it."


def test_where_many_lack_it_only_the_first_is_named() -> None:
    nodes = "".join(f"- {{name: w{number:02}, labels: {{disk: fast}}}}\n" for number in range(20)) + "- {name: x, labels: {rack: a}}\n"
    assert messages_of("inconsistent-node-labels", nodes, labels_of(apart("rack", required=False))) == [
        (
            "nodes.yaml:2:15 warning: 20 nodes, such as w00, lack the label `rack`, a topology key of Deployment web: "
            "preferences ignore such a node"
        )
    ]


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        pytest.param(
            ONE_LACKS + "- {name: control, taints: ['node-role.kubernetes.io/control-plane:NoSchedule']}",
            labels_of("affinity: {}"),
            id="no workload selects it",
        ),
        pytest.param(
            ONE_LACKS.replace("labels: {disk: fast}", "taints: ['node-role.kubernetes.io/control-plane:NoSchedule']"),
            labels_of(apart("rack")),
            id="a control plane that the workload does not tolerate",
        ),
        pytest.param(ONE_LACKS.replace("labels: {disk: fast}", "unschedulable: true"), labels_of(apart("rack")), id="a cordoned node"),
        pytest.param(
            ONE_LACKS.replace("{rack: ", "{disk: slow, rack: "),
            labels_of("nodeSelector: {disk: slow}\n" + apart("rack")),
            id="a node that the workload does not select",
        ),
        pytest.param(ONE_LACKS.replace("rack", "row"), labels_of(apart("rack")), id="no node has it: unknown-node-label"),
        pytest.param(ONE_LACKS, labels_of(apart("rack")).replace("image: 'nginx:1.27'", "env: []"), id="a patch"),
    ],
)
def test_nodes_that_may_be_labelled_as_they_like(nodes: str, text: str) -> None:
    assert messages_of("inconsistent-node-labels", nodes, text) == []


def test_a_control_plane_that_is_tolerated_counts() -> None:
    nodes = ONE_LACKS.replace("labels: {disk: fast}", "taints: ['node-role.kubernetes.io/control-plane:NoSchedule']")
    tolerating = "tolerations: [{operator: Exists}]\n" + apart("rack")
    assert messages_of("inconsistent-node-labels", nodes, labels_of(tolerating)) == [
        (
            "nodes.yaml:3:4 error: node w2 lacks the label `rack`, a topology key of Deployment web: "
            "the required podAntiAffinity separates no pods there"
        )
    ]


def test_a_well_known_label_that_most_nodes_have_is_missed_even_if_no_workload_selects_it() -> None:
    nodes = """
    - {name: w1, labels: {topology.kubernetes.io/zone: a}}
    - {name: w2, labels: {topology.kubernetes.io/zone: b}}
    - {name: w3, labels: {disk: fast}}
    - {name: control, taints: ["node-role.kubernetes.io/control-plane:NoSchedule"]}
    """
    [found] = messages_of("inconsistent-node-labels", nodes, workload())
    assert found == (
        "nodes.yaml:4:14 warning: node w3 lacks the label `topology.kubernetes.io/zone`, "
        "which 2 of the 3 nodes that are open to all pods have"
    )
    assert rules(nodes.replace("zone: b", "area: b"), workload()) == [], "one of three is not a convention"
    half = nodes.replace("    - {name: control", "    - {name: w4, labels: {disk: fast}}\n    - {name: control")
    assert rules(half, workload()) == [], "nor are two of four"


# inconsistent-topology


def test_a_zone_in_two_regions() -> None:
    nodes = """
    - {name: w1, labels: {topology.kubernetes.io/region: r, topology.kubernetes.io/zone: a}}
    - {name: w2, labels: {topology.kubernetes.io/region: s, topology.kubernetes.io/zone: a}}
    - {name: w3, labels: {topology.kubernetes.io/region: r, topology.kubernetes.io/zone: a}}
    """
    [finding] = lint(nodes, workload())
    assert (finding.rule, finding.severity, finding.span.line, finding.span.column) == ("inconsistent-topology", "error", 3, 54)
    assert finding.message == "node w2 is in zone `a` of region `s`, but 2 nodes are in zone `a` of region `r`"
    assert [each.span.line for each in finding.related] == [2]


def test_two_nodes_with_one_hostname() -> None:
    nodes = "- {name: w1, labels: {kubernetes.io/hostname: w}}\n- {name: w2, labels: {kubernetes.io/hostname: w}}\n"
    assert messages_of("inconsistent-topology", nodes, workload()) == [
        "nodes.yaml:3:47 error: nodes w1 and w2 have the same kubernetes.io/hostname `w`: constraints over hostnames treat them as one node"
    ]


def test_an_old_label_that_disagrees_with_the_new() -> None:
    nodes = "- {name: w1, labels: {failure-domain.beta.kubernetes.io/zone: a, topology.kubernetes.io/zone: b}}\n"
    assert messages_of("inconsistent-topology", nodes, workload()) == [
        (
            "nodes.yaml:2:63 error: node w1 has the conflicting labels"
            " `failure-domain.beta.kubernetes.io/zone: a` and `topology.kubernetes.io/zone: b`"
        )
    ]


# near-duplicate-label


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ("zone: east", "zone: East", "`zone: East` on node w3 is nearly the same as `zone: east` on 2 nodes"),
        ("zone: east", "Zone: east", "the label key `Zone` on node w3 is nearly the same as `zone` on 2 nodes"),
        ("gpu: a", "gpus: a", "the label key `gpus` on node w3 is nearly the same as `gpu` on 2 nodes"),
        ("fast-disk: a", "fastdisk: a", "the label key `fastdisk` on node w3 is nearly the same as `fast-disk` on 2 nodes"),
        ("performance: high", "preformance: high", "the label key `preformance` on node w3 is nearly the same as `performance` on 2 nodes"),
        ("pool: storage", "pool: sotrage", "`pool: sotrage` on node w3 is nearly the same as `pool: storage` on 2 nodes"),
        (f"{ZONE}: east", f"{ZONE}: East", f"`{ZONE}: East` on node w3 is nearly the same as `{ZONE}: east` on 2 nodes"),
    ],
)
def test_labels_that_differ_by_a_slip(one: str, other: str, message: str) -> None:
    nodes = f"- {{name: w1, labels: {{{one}}}}}\n- {{name: w2, labels: {{{one}}}}}\n- {{name: w3, labels: {{{other}}}}}\n"
    [found] = messages_of("near-duplicate-label", nodes, "")
    assert found.startswith("nodes.yaml:4:")
    assert found.endswith(f" warning: {message}")


@pytest.mark.parametrize(
    "labels",
    [
        ["pool: a", "pool: b", "pool: c"],
        ["pool: blue-a", "pool: blue-b", "pool: blue-c"],
        ["version: v1.33.1", "version: v1.33.2", "version: v1.34.1"],
        ["rack: rack-1", "rack: rack-2", "rack: rack-11"],
        ["commit: 3f9ac2d", "commit: 3f9ac2e", "commit: 4f9ac2d"],
        ["instance: m5.large", "instance: m6.large", "instance: m5.xlarge"],
        ["zone: east", "zone: west", "zone: north"],
        ["size: '1008'", "size: '1009'", "size: '1100'"],
        ["disks: a, disk: b", "disk: b", "disk: c"],
        ["feature.node.kubernetes.io/cpu-AVXVNNI: x", "feature.node.kubernetes.io/cpu-AVXVNNJ: x", "disk: fast"],
    ],
)
def test_names_that_are_meant_to_differ(labels: list[str]) -> None:
    nodes = "".join(f"- {{name: w{number}, labels: {{{each}}}}}\n" for number, each in enumerate(labels))
    assert messages_of("near-duplicate-label", nodes, "") == []


def test_a_key_with_a_value_for_nearly_every_node_is_left_alone() -> None:
    names = ["alberta", "albertb", "carolin", "carolim", "dieters", "dietert", "edwards", "edwardt"]
    nodes = "".join(f"- {{name: w{number}, labels: {{owner: {each}}}}}\n" for number, each in enumerate(names))
    assert messages_of("near-duplicate-label", nodes, "") == []


@pytest.mark.parametrize("key", ["site", ZONE])
def test_values_that_differ_by_case_alone_are_one_value_however_many_there_are(key: str) -> None:
    values = ["scu", "bcn", "sab", "SAB", "alberta", "albertb"]
    nodes = "".join(f"- {{name: w{number}, labels: {{{key}: {each}}}}}\n" for number, each in enumerate(values))
    assert messages_of("near-duplicate-label", nodes, "") == [
        f"nodes.yaml:5:{25 + len(key)} warning: `{key}: SAB` on node w3 is nearly the same as `{key}: sab` on node w2"
    ]


def test_of_several_spellings_the_usual_one_is_meant() -> None:
    values = ["sab", "SAB", "sab", "Sab", "a", "b", "c", "d"]
    nodes = "".join(f"- {{name: w{number}, labels: {{site: {each}}}}}\n" for number, each in enumerate(values))
    assert messages_of("near-duplicate-label", nodes, "") == [
        "nodes.yaml:3:29 warning: `site: SAB` on node w1 is nearly the same as `site: sab` on 2 nodes",
        "nodes.yaml:5:29 warning: `site: Sab` on node w3 is nearly the same as `site: sab` on 2 nodes",
    ]


# shared-host

ESX = """
- {name: w1, labels: {node.cluster.x-k8s.io/esxi-host: esx-1}}
- {name: w2, labels: {node.cluster.x-k8s.io/esxi-host: esx-1}}
- {name: w3, labels: {node.cluster.x-k8s.io/esxi-host: esx-2}}
- {name: w4, labels: {node.cluster.x-k8s.io/esxi-host: esx-2}}
- {name: w5, labels: {node.cluster.x-k8s.io/esxi-host: esx-3}}
"""


@pytest.mark.parametrize(
    ("spec", "column"),
    [(apart(HOST), 141), (apart(HOST, required=False), 171), (spread(HOST), 61)],
)
def test_replicas_on_different_nodes_of_one_host(spec: str, column: int) -> None:
    assert messages_of("shared-host", ESX, workload(spec)) == [
        (
            f"a.yaml:10:{column} warning: replicas on different nodes can still share a physical host: w1 and w2 run on `esx-1`, "
            "and 1 more host runs several nodes"
        )
    ]


def test_the_key_of_the_host_is_the_one_that_is_configured() -> None:
    nodes = ESX.replace("node.cluster.x-k8s.io/esxi-host", "hypervisor")
    assert messages_of("shared-host", nodes, workload(apart(HOST))) == []
    assert len(messages_of("shared-host", nodes, workload(apart(HOST)), host_key="hypervisor")) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(workload(), id="not kept apart at all"),
        pytest.param(workload(apart(HOST), replicas=1), id="one replica"),
        pytest.param(workload(f"{apart(HOST)}\n{spread(ZONE, hard=False)}"), id="spread over zones, which are larger"),
        pytest.param(workload(f"{apart(HOST)}\n{spread('topology.kubernetes.io/region', hard=False)}"), id="spread over regions"),
        pytest.param(workload(f"{apart(HOST)}\n{spread('node.cluster.x-k8s.io/esxi-host', hard=False)}"), id="spread over hosts as well"),
        pytest.param(workload(apart(HOST, "other")), id="apart from another workload"),
        pytest.param(workload(f"nodeSelector: {{kubernetes.io/hostname: w5}}\n{apart(HOST)}"), id="no two nodes of one host in reach"),
    ],
)
def test_replicas_that_share_no_host_or_may(text: str) -> None:
    assert messages_of("shared-host", ESX, text) == []


def control_plane(*hosts: str, role: str = "control-plane") -> str:
    labels = "{{node-role.kubernetes.io/{}: '', node.cluster.x-k8s.io/esxi-host: {}}}"
    return "".join(f"- {{name: cp{number}, labels: {labels.format(role, host)}}}\n" for number, host in enumerate(hosts))


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (["a", "a", "b"], "cp0 and cp1 both run on `a`: if it fails, 1 of 3 is left, but etcd needs 2"),
        (["a", "a", "a"], "cp0, cp1 and cp2 all run on `a`: if it fails, none is left, but etcd needs 2"),
        (["a", "b", "b", "b", "c"], "cp1, cp2 and cp3 all run on `b`: if it fails, 2 of 5 are left, but etcd needs 3"),
    ],
)
@pytest.mark.parametrize("role", ["control-plane", "master", "etcd"])
def test_a_host_that_takes_the_majority_of_the_control_plane(hosts: list[str], message: str, role: str) -> None:
    (found,) = messages_of("shared-host", control_plane(*hosts, role=role), "")
    assert found.partition(" ")[2] == f"warning: the control-plane nodes {message}"


@pytest.mark.parametrize("hosts", [["a", "b", "c"], ["a"], ["a", "b"], ["a", "a", "b", "c", "d"]])
def test_a_control_plane_that_survives_each_host_or_has_no_majority_to_lose(hosts: list[str]) -> None:
    assert messages_of("shared-host", control_plane(*hosts), "") == []


def test_workers_on_one_host_are_not_a_control_plane_and_members_of_etcd_are_counted_where_they_are_labelled() -> None:
    assert messages_of("shared-host", control_plane("a", "a", "b", role="worker"), "") == []
    stacked = control_plane("a", "a", "b") + control_plane("a", "b", "c", role="etcd").replace("cp", "etcd")
    assert messages_of("shared-host", stacked, "") == []


ESXI = "node.cluster.x-k8s.io/esxi-host"


def test_more_replicas_than_hosts() -> None:
    assert messages_of("shared-host", ESX, workload(spread(ESXI), replicas=4)) == [
        "a.yaml:10:61 info: 4 replicas for 3 physical hosts: at least 2 share a host, and may share a node as well"
    ]
    assert messages_of("shared-host", ESX, workload(spread(ESXI, hard=False), replicas=7)) == [
        "a.yaml:10:61 info: 7 replicas for 3 physical hosts: at least 3 share a host, and may share a node as well"
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(workload(spread(ESXI), replicas=3), id="as many as hosts"),
        pytest.param(workload(spread(ESXI), replicas=None), id="unknown how many"),
        pytest.param(workload(f"{apart(HOST, required=False)}\n{spread(ESXI)}", replicas=4), id="on different nodes as well"),
        pytest.param(workload(apart(ESXI), replicas=4), id="too-few-domains says it"),
        pytest.param(workload(spread(ZONE), replicas=4), id="over zones"),
    ],
)
def test_replicas_for_which_there_are_hosts_or_that_other_rules_judge(text: str) -> None:
    assert messages_of("shared-host", ESX, text) == []


# unknown-node-label


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        (
            "nodeSelector: {dsk: fast}",
            "10:22 error: none of the 3 known nodes has the label `dsk`, so the pods stay Pending; did you mean `disk`?",
        ),
        (apart("row"), "10:141 error: none of the 3 known nodes has the label `row`, so no pods are separated"),
        (apart("row", required=False), "10:171 warning: none of the 3 known nodes has the label `row`, so the preference is ignored"),
        (spread("row"), "10:61 error: none of the 3 known nodes has the label `row`, so the pods stay Pending"),
        (spread("row", hard=False), "10:61 warning: none of the 3 known nodes has the label `row`, so the preference is ignored"),
    ],
)
def test_a_label_that_no_node_carries(spec: str, found: str) -> None:
    assert messages_of("unknown-node-label", ONE_LACKS, workload(spec)) == [f"a.yaml:{found}"]


@pytest.mark.parametrize("label", ["kubernetes.io/os", "kubevirt.io/schedulable", "feature.node.kubernetes.io/cpu-AVX", '"${KEY}"'])
def test_labels_that_a_hand_written_inventory_leaves_out(label: str) -> None:
    assert messages_of("unknown-node-label", ONE_LACKS, workload(f"nodeSelector: {{{label}: x}}")) == []
