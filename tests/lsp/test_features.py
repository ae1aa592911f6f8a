"""Features about constraints: hover, navigation, hints and completion."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from afflint.checks.registry import rules
from afflint.inventory.node_files import nodes_of
from afflint.kube.selectors import Requirement, Selector
from afflint.lsp.completion import completions
from afflint.lsp.explanation import describe_labels
from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer.workspace import Workspace
from afflint.lsp.text import EditorText
from afflint.lsp.uris import to_uri
from afflint.source.sources import Source
from lsp_client import Client
from on_nodes import POOL

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


def written(folder: Path) -> Path:
    (folder / ".afflint.yaml").write_text("nodes: [nodes.yaml]\n")
    (folder / "nodes.yaml").write_text(NODES)
    (folder / "vm.yaml").write_text(MACHINE)
    (folder / "web.yaml").write_text(WEB)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """An editor in which both manifests are open and do not change. It supports hints, but not Markdown."""
    plain = {"textDocument": {"hover": {"contentFormat": ["plaintext"]}, "inlayHint": {}}}
    with Client(written(tmp_path_factory.mktemp("folder")), capabilities=plain) as client:
        client.open("web.yaml")
        client.open("vm.yaml")
        client.settle()
        yield client


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
                    "Deployment web must be spread over zones with a skew of at most 1 pod,"
                    " counting pods that have `app=web`, in this namespace: Deployment web itself."
                    " 3 of 3 nodes have `topology.kubernetes.io/zone`: 2 zones."
                ),
            ),
            (
                "web.yaml",
                "key: dedicated",
                (
                    "Deployment web may run on nodes with the taint `dedicated`, whatever its value, with the effect `NoSchedule`,"
                    " but does not prefer them: 1 of 3 nodes has such a taint."
                ),
            ),
            (
                "vm.yaml",
                "{labels: {app",
                "The pods of VirtualMachine node-affinity-vm are selected by required podAffinity of Deployment web.",
            ),
            ("web.yaml", "labels:", "The pods of Deployment web are selected by its own topologySpreadConstraint and Service web."),
            ("web.yaml", "{selector: {app", "Service web selects pods that have `app=web`, in this namespace: Deployment web."),
        ],
    )
    def test_a_constraint_in_words(self, reader: Client, name: str, part: str, meaning: str) -> None:
        line, column = line_of((reader.folder / name).read_text(), part)
        shown = reader.request("textDocument/hover", reader.at(name, line, column + 12))
        assert shown["contents"]["value"] == meaning

    def test_a_finding_comes_with_the_page_of_its_rule(self, folder: Path) -> None:
        text = WEB.replace("disk: ssd", "disk: true")
        with Client(folder) as client:
            client.open("web.yaml", text)
            shown = client.request("textDocument/hover", client.at("web.yaml", *line_of(text, "true")))
            value = shown["contents"]["value"]
            assert shown["contents"]["kind"] == "markdown"
            assert "error: the value of `disk` must be a string" in value
            assert to_uri(rules()["wrong-type"].path) in value
            assert "**Why it matters**" in value
            assert shown["range"]["start"] == {"line": 13, "character": 14}

    def test_other_places_have_no_hover(self, reader: Client) -> None:
        assert reader.request("textDocument/hover", reader.at("web.yaml", 0, 3)) is None
        assert reader.request("textDocument/hover", reader.at("web.yaml", 999, 999)) is None


@pytest.mark.parametrize(
    "expressions, words",
    [
        ([("disk", "In", ["ssd", "nvme"])], "has `disk=ssd` or `disk=nvme`"),
        ([("disk", "NotIn", ["hdd"])], "does not have `disk=hdd`"),
        (
            [("zone", "NotIn", ["c"]), ("disk", "Exists", []), ("old", "DoesNotExist", [])],
            "has a label `disk` and no label `old` and does not have `zone=c`",
        ),
        ([("cpus", "Gt", ["4"])], "has `cpus` above `4`"),
        ([], "has any labels"),
    ],
)
def test_labels_in_words(expressions: list[tuple[str, str, list[str]]], words: str) -> None:
    assert describe_labels(Selector(tuple(Requirement(*each[:2], tuple(each[2])) for each in expressions))) == words


def places(client: Client, answer: Any) -> list[tuple[str, int, int]]:
    return [(client.name(each["uri"]), *each["range"]["start"].values()) for each in answer]


class TestNavigation:
    @pytest.mark.parametrize("method", ["definition", "references"])
    def test_from_a_selector_to_the_labels_and_back(self, reader: Client, method: str) -> None:
        more = {"context": {"includeDeclaration": True}}
        asked = reader.at("web.yaml", *line_of(WEB, "app: fedora"), **more)
        assert places(reader, reader.request(f"textDocument/{method}", asked)) == [("vm.yaml", *line_of(MACHINE, "labels: {app"))]
        asked = reader.at("vm.yaml", *line_of(MACHINE, "app: fedora"), **more)
        assert places(reader, reader.request(f"textDocument/{method}", asked)) == [("web.yaml", 24, 14)]

    def test_all_that_select_a_pod(self, reader: Client) -> None:
        asked = reader.at("web.yaml", *line_of(WEB, "labels:"), context={"includeDeclaration": False})
        spread, service = line_of(WEB, "labelSelector: {"), line_of(WEB, "selector: {app")
        assert places(reader, reader.request("textDocument/references", asked)) == [("web.yaml", *spread), ("web.yaml", *service)]


class TestHints:
    def test_a_selector_is_followed_by_what_it_selects(self, reader: Client) -> None:
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        found = reader.request("textDocument/inlayHint", {"textDocument": {"uri": reader.uri("web.yaml")}, "range": whole})
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
        with Client(folder, options={"hints": False}) as client:
            assert not {"inlayHintProvider", "codeLensProvider"} & client.capabilities.keys()


def test_the_rules_in_a_suppression_lead_to_their_pages(folder: Path) -> None:
    text = WEB.replace("        disk: ssd", "        # afflint: ignore[wrong-type, no-such-rule, pinned-node] -- a test\n        disk: ssd")
    with Client(folder) as client:
        client.open("web.yaml", text)
        found = client.request("textDocument/documentLink", {"textDocument": {"uri": client.uri("web.yaml")}})
        line, column = line_of(text, "wrong-type")
        assert [each["target"] for each in found] == [to_uri(rules()[name].path) for name in ("wrong-type", "pinned-node")]
        assert found[0]["range"] == {"start": {"line": line, "character": column}, "end": {"line": line, "character": column + 10}}


TERM = "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/- "
NODE_TERM = "affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/- matchExpressions/- "


def nested(steps: str) -> str:
    """``a/- b/c: |`` as YAML: each step below the one before; a plus is next to it."""
    lines, column = [], 2
    for step in steps.split("/"):
        beside = step.startswith("+")
        column -= 2 * beside
        text = step.removeprefix("+")
        lines.append(" " * column + text + ("" if ":" in text or text.endswith("|") else ":"))
        column += 4 if text.startswith("- ") else 2
    return "\n".join(lines)


def at_bar(text: str) -> tuple[EditorText, tuple[int, int]]:
    """A text without its bar, and where that stood."""
    before = text.partition("|")[0]
    return EditorText(text.replace("|", ""), "utf-32"), (before.count("\n"), len(before.rpartition("\n")[2]))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    found = Workspace(str(written(tmp_path_factory.mktemp("folder"))), CommandLineConfig(), all_files=True)
    found.run({}, lambda _done, _total: None)
    return found


class TestCompletion:
    """A bar marks the cursor."""

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
            # Flow style.
            ("nodeSelector: {|}", ["disk", "kubernetes.io~hostname", "topology.kubernetes.io~zone"]),
            ("nodeSelector: {to|}", ["disk", "kubernetes.io~hostname", "topology.kubernetes.io~zone"]),
            ("nodeSelector: {disk: |", ["ssd"]),
            ('nodeSelector: {other: "{", disk: s|, topology.kubernetes.io~zone: a}', ["ssd"]),
            ("tolerations/- {key: |}", ["dedicated"]),
            ("tolerations: [{key: x}, {value: |, key: dedicated}]", ["db"]),
            ("tolerations/- {effect: |", ["NoSchedule", "PreferNoSchedule", "NoExecute"]),
            ("tolerations/- {operator: |}", ["Equal", "Exists"]),
            (f"{TERM}labelSelector: {{matchLabels: {{ap|}}}}", ["app"]),
            (f"{TERM}labelSelector: {{matchLabels: {{app: |}}}}", ["fedora", "web"]),
            (f"{TERM}labelSelector: {{matchExpressions: [{{key: app, operator: In, values: [web, |]}}]}}", ["fedora", "web"]),
            (f"{TERM}labelSelector: {{matchExpressions: [{{operator: |}}]}}", ["In", "NotIn", "Exists", "DoesNotExist"]),
            (f"{NODE_TERM}key: topology.kubernetes.io~zone/+values: [|]", ["a", "b"]),
            (f"{NODE_TERM}{{values: [|], key: topology.kubernetes.io~zone}}", ["a", "b"]),
            ("nodeSelector: {} |", []),
            ("nodeSelector: { # |", []),
            ("containers: [{name: |}]", []),
            ("# topologyKey: |", []),
            ("containers/- name: |", []),
        ],
    )
    def test_proposals(self, workspace: Workspace, typed: str, expected: list[str]) -> None:
        text, place = at_bar(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: fox}}\nspec:\n{nested(typed)}".replace("~", "/"))
        assert workspace.state is not None
        _, found = completions(text, place, workspace.state.reduced.manifest_index, workspace.state.reduced.nodes)
        assert [each.label.replace("/", "~") for each, _ in found] == expected

    def test_labels_and_taints_of_node_pools_are_proposed(self, tmp_path: Path) -> None:
        (tmp_path / "pool.yaml").write_text(POOL)
        (tmp_path / "fox.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: fox}\nspec: {nodeSelector: {example.com/disk: }}\n")
        with Client(tmp_path) as client:
            client.open("fox.yaml")
            client.settle()
            asked = client.at("fox.yaml", 3, len("spec: {nodeSelector: {example.com/disk: "))
            (found,) = client.request("textDocument/completion", asked)["items"]
            assert (found["label"], found["detail"]) == ("ssd", "of NodePool fast")

    def test_a_completion_replaces_the_typed_text(self, folder: Path) -> None:
        with Client(folder) as client:
            client.open("fox.yaml", "kind: Pod\nspec: {nodeSelector: {di}}\n")
            client.settle()
            asked = client.at("fox.yaml", 1, line_of("spec: {nodeSelector: {di}}", "}}")[1])
            found, *_ = client.request("textDocument/completion", asked)["items"]
            assert (found["label"], found["detail"], found["filterText"]) == ("disk", "on nodes: ssd", "disk")
            start, end = {"line": 1, "character": 22}, {"line": 1, "character": 24}
            assert found["textEdit"] == {"range": {"start": start, "end": end}, "newText": "disk: "}

    @pytest.mark.parametrize(
        "typed, expected",
        [
            ("spec:\n  nodeSelector:\n    disk: |", "spec:\n  nodeSelector:\n    disk: ssd"),
            ("spec:\n  nodeSelector:\n    di|", "spec:\n  nodeSelector:\n    disk: "),
            ("spec: {nodeSelector: {disk: |}}", "spec: {nodeSelector: {disk: ssd}}"),
            ("spec: {nodeSelector: {di|}}", "spec: {nodeSelector: {disk: }}"),
            ("spec: {nodeSelector: {'di|'}}", "spec: {nodeSelector: {'disk'}}"),
            ("spec:\n  nodeSelector:\n    disk: 's|'", "spec:\n  nodeSelector:\n    disk: 'ssd'"),
            ('{"spec": {"nodeSelector": {"disk": |}}}', '{"spec": {"nodeSelector": {"disk": "ssd"}}}'),
            ('{"spec": {"nodeSelector": {"di|"}}}', '{"spec": {"nodeSelector": {"disk"}}}'),
            ('{"spec": {"nodeSelector": {|}}}', '{"spec": {"nodeSelector": {"disk": }}}'),
            ("spec: {nodeSelector: {\n  x: y,\n  disk: s|\n}}", "spec: {nodeSelector: {\n  x: y,\n  disk: ssd\n}}"),
        ],
    )
    def test_inserted_text(self, typed: str, expected: str) -> None:
        nodes = nodes_of({0: Source("nodes.yaml", "nodes.yaml", b"nodes: [{name: one, labels: {disk: ssd}}]")})
        text, (line, column) = at_bar(typed)
        start, found = completions(text, (line, column), None, nodes)
        text.replace((line, start), (line, column), found[0][0].text)
        assert str(text) == expected
