"""What an editor shows of a constraint: what it means, what it selects, and what may be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from afflint.lsp.uris import of_path
from afflint.rules import rules
from lsp_client import Client

NODES = """\
nodes:
  - {name: one, labels: {topology.kubernetes.io/zone: a, disk: ssd}}
  - {name: two, labels: {topology.kubernetes.io/zone: a}, taints: ["dedicated=db:NoSchedule"]}
  - {name: three, labels: {topology.kubernetes.io/zone: b}}
"""
MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: node-affinity-vm}
spec:
  runStrategy: Always
  template:
    metadata: {labels: {app: fedora}}
    spec:
      domain: {devices: {}, memory: {guest: 1Gi}}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - {key: disk, operator: In, values: [ssd]}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels:
        app: web
    spec:
      containers: [{name: web, image: web}]
      nodeSelector:
        disk: ssd
      tolerations:
        - {key: dedicated, operator: Exists, effect: NoSchedule}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector:
                matchLabels:
                  app: fedora
              topologyKey: kubernetes.io/hostname
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".afflint.yaml").write_text("nodes: [nodes.yaml]\n")
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "vm.yaml").write_text(MACHINE)
    (tmp_path / "web.yaml").write_text(WEB)
    return tmp_path


REFRESHING = {"textDocument": {"inlayHint": {}}, "workspace": {"inlayHint": {"refreshSupport": True}}}


def ready(client: Client) -> None:
    """Wait until all manifests have been read."""
    client.until(lambda: any(each["method"] == "workspace/inlayHint/refresh" for each in client.asked))


def line_of(text: str, part: str) -> tuple[int, int]:
    line = next(number for number, each in enumerate(text.splitlines()) if part in each)
    return line, text.splitlines()[line].index(part)


class TestHover:
    @pytest.mark.parametrize(
        "name, part, meaning",
        [
            (
                "web.yaml",
                "app: fedora",
                (
                    "Deployment web must share a node with a pod that has `app=fedora`, in this namespace: VirtualMachine node-affinity-vm."
                    " 3 of 3 nodes have `kubernetes.io/hostname`: 3 nodes."
                ),
            ),
            ("vm.yaml", "key: disk", "VirtualMachine node-affinity-vm must run on a node that has `disk=ssd`: 1 of 3 nodes matches."),
            ("web.yaml", "disk: ssd", "Deployment web must run on a node that has `disk=ssd`: 1 of 3 nodes matches."),
            (
                "web.yaml",
                "maxSkew",
                (
                    "Deployment web must be spread over the zones: none may have more than 1 more of the pods than the emptiest,"
                    " counting pods that have `app=web`, in this namespace: Deployment web itself."
                    " 3 of 3 nodes have `topology.kubernetes.io/zone`: 2 zones."
                ),
            ),
            (
                "web.yaml",
                "key: dedicated",
                (
                    "Deployment web may run on nodes with the taint `dedicated`, whatever its value, with the effect `NoSchedule`,"
                    " but is not drawn there: 1 of 3 nodes has such a taint."
                ),
            ),
            (
                "vm.yaml",
                "{labels: {app",
                "The pods of VirtualMachine node-affinity-vm are selected by required podAffinity of Deployment web.",
            ),
            ("web.yaml", "{selector: {app", "Service web selects pods that have `app=web`, in this namespace: Deployment web."),
        ],
    )
    def test_a_constraint_in_words(self, folder: Path, name: str, part: str, meaning: str) -> None:
        plain = {"textDocument": {"hover": {"contentFormat": ["plaintext"]}, "inlayHint": {}}}
        with Client(folder, capabilities={**REFRESHING, **plain}) as client:
            client.open(name)
            ready(client)
            line, column = line_of((folder / name).read_text(), part)
            shown = client.request("textDocument/hover", client.at(name, line, column + 12))
            assert shown["contents"]["value"] == meaning

    def test_a_finding_comes_with_the_page_of_its_rule(self, folder: Path) -> None:
        text = WEB.replace("disk: ssd", "disk: true")
        with Client(folder, capabilities=REFRESHING) as client:
            client.open("web.yaml", text)
            ready(client)
            shown = client.request("textDocument/hover", client.at("web.yaml", *line_of(text, "true")))
            value = shown["contents"]["value"]
            assert shown["contents"]["kind"] == "markdown"
            assert "error: the value of `disk` must be a string" in value
            assert of_path(rules()["wrong-type"].path) in value
            assert "**Why it matters**" in value
            assert shown["range"]["start"] == {"line": 13, "character": 14}

    def test_elsewhere_there_is_nothing_to_say(self, folder: Path) -> None:
        with Client(folder, capabilities=REFRESHING) as client:
            client.open("web.yaml")
            ready(client)
            assert client.request("textDocument/hover", client.at("web.yaml", 0, 3)) is None
            assert client.request("textDocument/hover", client.at("web.yaml", 999, 999)) is None


def places(client: Client, answer: Any) -> list[tuple[str, int, int]]:
    return [(client.name(each["uri"]), *each["range"]["start"].values()) for each in answer]


class TestNavigation:
    @pytest.mark.parametrize("method", ["definition", "references"])
    def test_from_a_selector_to_the_labels_and_back(self, folder: Path, method: str) -> None:
        with Client(folder, capabilities=REFRESHING) as client:
            client.open("web.yaml")
            client.open("vm.yaml")
            ready(client)
            more = {"context": {"includeDeclaration": True}}
            asked = client.at("web.yaml", *line_of(WEB, "app: fedora"), **more)
            assert places(client, client.request(f"textDocument/{method}", asked)) == [("vm.yaml", 6, 15)]
            asked = client.at("vm.yaml", *line_of(MACHINE, "app: fedora"), **more)
            assert places(client, client.request(f"textDocument/{method}", asked)) == [
                ("web.yaml", *line_of(WEB, "labelSelector:\n".strip())[:0], 24, 14)
            ]

    def test_all_that_select_a_pod(self, folder: Path) -> None:
        with Client(folder, capabilities=REFRESHING) as client:
            client.open("web.yaml")
            ready(client)
            asked = client.at("web.yaml", *line_of(WEB, "labels:"), context={"includeDeclaration": False})
            spread, service = line_of(WEB, "labelSelector: {"), line_of(WEB, "selector: {app")
            assert places(client, client.request("textDocument/references", asked)) == [("web.yaml", *spread), ("web.yaml", *service)]


class TestHints:
    def test_a_selector_is_followed_by_what_it_selects(self, folder: Path) -> None:
        with Client(folder, capabilities=REFRESHING) as client:
            client.open("web.yaml")
            ready(client)
            whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
            found = client.request("textDocument/inlayHint", {"textDocument": {"uri": client.uri("web.yaml")}, "range": whole})
            assert [(each["position"]["line"], each["label"]) for each in found] == [
                (24, "selects 1 pod in 1 manifest"),
                (20, "selects 3 pods in 1 manifest"),
                (32, "selects 3 pods in 1 manifest"),
            ]

    def test_a_client_without_hints_has_lenses(self, folder: Path) -> None:
        with Client(folder) as client:
            assert "inlayHintProvider" not in client.capabilities
            client.open("web.yaml")
            asked = {"textDocument": {"uri": client.uri("web.yaml")}}
            client.until(lambda: len(client.request("textDocument/codeLens", asked)) == 3)

    def test_they_can_be_turned_off(self, folder: Path) -> None:
        with Client(folder, options={"hints": False}, capabilities=REFRESHING) as client:
            assert not {"inlayHintProvider", "codeLensProvider"} & client.capabilities.keys()


def test_the_rules_in_a_suppression_lead_to_their_pages(folder: Path) -> None:
    text = WEB.replace("        disk: ssd", "        # afflint: ignore[wrong-type, no-such-rule, pinned-node] -- a test\n        disk: ssd")
    with Client(folder) as client:
        client.open("web.yaml", text)
        found = client.request("textDocument/documentLink", {"textDocument": {"uri": client.uri("web.yaml")}})
        line, column = line_of(text, "wrong-type")
        assert [each["target"] for each in found] == [of_path(rules()[name].path) for name in ("wrong-type", "pinned-node")]
        assert found[0]["range"] == {"start": {"line": line, "character": column}, "end": {"line": line, "character": column + 10}}


TERM = "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/- "
NODE_TERM = "affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/- matchExpressions/- "


def nested(steps: str) -> str:
    """``a/- b/c: |`` as YAML: each step below the one before; a plus stands beside it."""
    lines, column = [], 2
    for step in steps.split("/"):
        beside = step.startswith("+")
        column -= 2 * beside
        text = step.removeprefix("+")
        lines.append(" " * column + text + ("" if ":" in text or text.endswith("|") else ":"))
        column += 4 if text.startswith("- ") else 2
    return "\n".join(lines)


class TestCompletion:
    """A bar stands where the cursor is."""

    @pytest.mark.parametrize(
        "typed, expected",
        [
            (f"{TERM}topologyKey: |", ["kubernetes.io~hostname", "topology.kubernetes.io~zone", "topology.kubernetes.io~region", "disk"]),
            ("topologySpreadConstraints/- maxSkew: 1/+whenUnsatisfiable: |", ["DoNotSchedule", "ScheduleAnyway"]),
            ("tolerations/- operator: |", ["Equal", "Exists"]),
            ("tolerations/- effect: No|", ["NoSchedule", "PreferNoSchedule", "NoExecute"]),
            ("tolerations/- key: |", ["dedicated"]),
            ("tolerations/- key: dedicated/+value: |", ["db"]),
            ("nodeSelector/|", ["disk", "kubernetes.io~hostname", "topology.kubernetes.io~zone"]),
            ("nodeSelector/disk: |", ["ssd"]),
            ("nodeSelector/disk: s|", ["ssd"]),
            (f"{NODE_TERM}key: topology.kubernetes.io~zone/+values/- |", ["a", "b"]),
            (f"{NODE_TERM}key: x/+operator: |", ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
            (f"{TERM}labelSelector/matchExpressions/- operator: |", ["In", "NotIn", "Exists", "DoesNotExist"]),
            (f"{TERM}labelSelector/matchExpressions/- key: |", ["app"]),
            (f"{TERM}labelSelector/matchExpressions/- key: app/+values/- |", ["fedora", "web"]),
            (f"{TERM}labelSelector/matchLabels/app: |", ["fedora", "web"]),
            (f"{TERM}labelSelector/matchLabels/a|", ["app"]),
            ("# topologyKey: |", []),
            ("containers/- name: |", []),
        ],
    )
    def test_what_may_stand_there(self, folder: Path, typed: str, expected: list[str]) -> None:
        text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: fox}}\nspec:\n{nested(typed)}".replace("~", "/")
        before = text.partition("|")[0]
        with Client(folder, capabilities=REFRESHING) as client:
            client.open("web.yaml")
            ready(client)
            client.open("fox.yaml", text.replace("|", ""))
            line, column = before.count("\n"), len(before.rpartition("\n")[2])
            found = client.request("textDocument/completion", client.at("fox.yaml", line, column))["items"]
            assert [each["label"].replace("/", "~") for each in found] == expected
            for each in found[:1]:
                assert each["textEdit"]["range"]["end"] == {"line": line, "character": column}
