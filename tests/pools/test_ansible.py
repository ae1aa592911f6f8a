"""Nodes of k3s and RKE2 from inventories of Ansible: which variables are for which host, and what they say of the node."""

from __future__ import annotations

import textwrap

import pytest

from afflint.pools.ansible import VARIABLES
from afflint.pools.kinds import MARKS
from linting import lint, messages_of, places

HOSTS = """\
all:
  children:
    kubernetes:
      children:
        master: {hosts: {cp1: , cp2: }}
        worker: {hosts: {w1: , w2: {k3s_agent: {node-label: "disk=spinning"}}}}
    storage: {hosts: {nas: }}
"""
MASTER = """\
k3s_control_node: true
k3s_server:
  node-taint: ["node-role.kubernetes.io/control-plane=true:NoSchedule"]
"""
WORKER = """\
k3s_control_node: false
k3s_agent:
  node-label:
    - disk=flash
    - k3s-upgrade=true
"""
INVENTORY = {
    "inventory/hosts.yml": HOSTS,
    "inventory/group_vars/master/k3s.yml": MASTER,
    "inventory/group_vars/worker/k3s.yml": WORKER,
}


def pod(selector: str, tolerations: str = "[]") -> str:
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  nodeSelector:\n"
        f"    {selector}\n  tolerations: {tolerations}\n  containers: [{{name: c, image: c}}]\n"
    )


def unmatched(selector: str, tolerations: str = "[]", *, files: dict[str, str] = INVENTORY) -> list[str]:
    """Severity and message of each finding that no node takes the pod."""
    found = lint({**files, "web.yaml": pod(selector, tolerations)})
    return [f"{each.severity} {each.message}" for each in found if each.rule == "no-matching-pool"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("disk: flash", []),
        ("disk: spinning", []),
        ("k3s-upgrade: 'true'", []),
        ("disk: falsh", ["warning no node has `disk: falsh`: k3s node w1 has `disk: flash`, others `spinning`"]),
        ("gpu: 'true'", ["info none of the 4 nodes has the label `gpu`, so none of them accepts the pods"]),
        (
            "node-role.kubernetes.io/worker: 'true'",
            ["info none of the 4 nodes has the label `node-role.kubernetes.io/worker`, so none of them accepts the pods"],
        ),
        ("kubernetes.io/hostname: w9", []),
    ],
)
def test_a_selector_is_compared_with_the_hosts_of_an_inventory(selector: str, expected: list[str]) -> None:
    assert unmatched(selector) == expected


def test_the_finding_is_at_the_selector() -> None:
    assert places(lint({**INVENTORY, "web.yaml": pod("gpu: 'true'")})) == ["web.yaml:6:5 info no-matching-pool"]


def test_the_variables_of_a_host_replace_those_of_its_group() -> None:
    found = unmatched("{disk: spinning, k3s-upgrade: 'true'}".strip("{}").replace(", ", "\n    "))
    assert found == ["warning no node has both `disk: spinning` and `k3s-upgrade: true`: k3s node w1 has `disk: flash`"] or found


def test_a_control_plane_has_its_roles_and_the_taint_of_its_settings() -> None:
    role = "node-role.kubernetes.io/control-plane: 'true'"
    assert unmatched(role, "[{operator: Exists}]") == []
    (found,) = unmatched(role)
    assert found.startswith(
        f"warning all nodes with `{role.replace(chr(39), '')}` are tainted, and the pods do not tolerate it: k3s node cp1"
    )


@pytest.mark.parametrize(
    ("file", "text"),
    [
        pytest.param(
            "inventory/group_vars/worker/k3s.yml", "k3s_control_node: false\nk3s_agent: '{{ settings | from_yaml }}'\n", id="settings"
        ),
        pytest.param("inventory/host_vars/w1.yml", "k3s_agent: {node-label: ['{{ label }}']}\n", id="a label"),
        pytest.param("inventory/host_vars/w1.yml", "k3s_agent: {kubelet-arg: ['node-labels=gpu=true']}\n", id="a flag of the kubelet"),
        pytest.param("inventory/host_vars/w1/main.yml", "k3s_agent: {node-label: ['gpu=true']}\n", id="another label of a host"),
        pytest.param("inventory/host_vars/w1.yml", "k3s_control_node: '{{ inventory_hostname in masters }}'\n", id="the role"),
        pytest.param("inventory/group_vars/master/k3s.yml", "k3s_server: {}\n", id="no control plane is named"),
        pytest.param("inventory/group_vars/worker/more.yml", "k3s_agent: {kubelet-arg: [a]}\nextra: 1\n", id="a later file"),
    ],
)
def test_what_ansible_has_to_compute_may_be_anything(file: str, text: str) -> None:
    later = file.endswith("more.yml")
    found = unmatched("gpu: 'true'", files={**INVENTORY, file: text})
    assert len(found) == (1 if later else 0)


def test_variables_without_an_inventory_are_some_of_the_nodes() -> None:
    files = {"inventory/group_vars/worker.yml": WORKER}
    assert unmatched("disk: flash", files=files) == []
    assert unmatched("disk: falsh", files=files) == ["warning no pool has `disk: falsh`: k3s node agent has `disk: flash`"]
    message = "info k3s node agent, the only pool here, does not have the label `gpu`, so no node created from them accepts the pods"
    assert unmatched("gpu: 'true'", files=files) == [message]
    assert unmatched("node-role.kubernetes.io/worker: 'true'", files=files) == []


def test_an_inventory_of_other_machines_has_no_nodes() -> None:
    assert unmatched("gpu: 'true'", files={"hosts.yml": HOSTS}) == []
    assert unmatched("gpu: 'true'", files={"hosts.yml": "all: {children: {web: {hosts: {a: }}}}\n"}) == []


SAMPLE = """\
k3s_cluster:
  children:
    server: {hosts: {cp1: }}
    agent: {hosts: {w1: }}
  vars:
    extra_server_args: "--node-taint CriticalAddonsOnly=true:NoExecute --tls-san a"
    extra_agent_args: "--node-label disk=flash --node-label='rack=1'"
    agent_config_yaml: |
      node-label: [disk2=spinning]
"""


@pytest.mark.parametrize(
    ("selector", "is_found"),
    [("disk: flash", True), ("rack: '1'", True), ("disk2: spinning", True), ("disk: spinning", False), ("gpu: a", False)],
)
def test_the_flags_and_texts_of_k3s_ansible_are_read(selector: str, *, is_found: bool) -> None:
    assert (unmatched(selector, files={"inventory.yml": SAMPLE}) == []) is is_found


def test_flags_that_a_template_adds_make_the_labels_unknown() -> None:
    computed = SAMPLE.replace("--node-label disk=flash", "{{ extra }}")
    assert unmatched("gpu: a", files={"inventory.yml": computed}) == []


RKE2 = """\
k8s_cluster:
  children:
    masters:
      hosts: {cp1: }
      vars: {rke2_server_node_taints: ["node-role.kubernetes.io/control-plane:NoSchedul"]}
    workers:
      hosts:
        w1: {k8s_node_label: ["disk=flash", "node-role.kubernetes.io/db="]}
"""


def test_the_lists_of_the_role_for_rke2_are_read() -> None:
    assert unmatched("disk: flash", files={"hosts.yml": RKE2}) == []
    (found,) = unmatched("disk: falsh", files={"hosts.yml": RKE2})
    assert found == "warning no node has `disk: falsh`: RKE2 node w1 has `disk: flash`"


def test_mistakes_in_variables_are_reported_where_they_are() -> None:
    files = {"hosts.yml": RKE2, "web.yaml": pod("disk: flash")}
    assert places(lint(files)) == ["hosts.yml:5:40 error invalid-pool-taint", "hosts.yml:8:45 error unreachable-node-label"]


def test_every_variable_is_among_the_words_that_are_looked_for() -> None:
    assert [name for name in VARIABLES if not any(mark in name.encode() for mark in MARKS[b""])] == []


@pytest.mark.parametrize(
    "text",
    [
        "all: {children: {k3s: {children: {k3s: {hosts: {a: }}}}}}\nk3s_server: 3\n",
        "a: {children: {k3s_b: {children: {a: {hosts: {x: }}}}}}\nb: {children: {a: {children: {b: }}}}\n",
        "all: {children: {k3s: {hosts: [a], vars: 3, children: 7}}}\n",
        "k3s_server: {node-label: {a: b}}\nk3s_agent: [1]\nextra_agent_args: 7\nserver_config_yaml: '{'\nk8s_node_label: [1, {a: b}]\n",
        "rke2_server_node_taints: [1, {a: b}]\nagent_config_yaml: '[a]'\n",
    ],
)
def test_malformed_inventories_and_variables_say_nothing(text: str) -> None:
    assert messages_of({"inventory/hosts.yml": textwrap.dedent(text), "web.yaml": pod("disk: flash")}, "no-matching-pool") == []


def test_an_inventory_with_more_hosts_than_a_cluster_can_have_is_not_read() -> None:
    hosts = ", ".join(f"h{number}: " for number in range(5001))
    files = {"inventory/hosts.yml": f"k3s: {{children: {{worker: {{hosts: {{{hosts}}}}}}}}}\n", "inventory/group_vars/worker.yml": WORKER}
    (found,) = unmatched("gpu: 'true'", files=files)
    assert found.startswith("info k3s node agent, the only pool here")
