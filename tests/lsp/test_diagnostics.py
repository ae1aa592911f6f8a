"""Diagnostics while typing: the findings of `afflint check`, at positions in the units of the editor."""

import random
import shutil
from pathlib import Path

import pytest

from afflint import config
from afflint.checks.registry import CATEGORIES, rules
from afflint.lsp.uris import to_uri
from afflint.pipeline.session import Session
from afflint.source.sources import Source
from checkout import ROOT
from lsp_client import Client, short
from shared_material import shared
from widgets import DEFINITION, WIDGET

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: fox, labels: {app: fox}}
spec:
  containers: [{name: fox, image: fox}]
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - labelSelector: {matchLabels: {app: hunter}}
          topologyKey: ""
"""
EMPTY_KEY = "9:23 empty-topology-key"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples" / "shop", tmp_path / "shop")
    return tmp_path / "shop"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pod.yaml").write_text(POD)
    return tmp_path


def test_a_diagnostic_has_all_that_an_editor_can_show(shop: Path) -> None:
    with Client(shop) as client:
        client.open("cart.yaml")
        client.wait_for("cart.yaml", "6:4 label-not-on-template", "18:13 wrong-type")
        on_label, wrong_type = client.published["cart.yaml"]
    assert wrong_type == {
        "range": {"start": {"line": 18, "character": 13}, "end": {"line": 18, "character": 17}},
        "severity": 1,
        "code": "wrong-type",
        "codeDescription": {"href": to_uri(rules()["wrong-type"].path)},
        "source": "afflint",
        "message": "the value of `ssd` must be a string, but unquoted `true` is a boolean",
    }
    assert on_label["severity"] == 2
    (related,) = on_label["relatedInformation"]
    assert related["location"]["uri"].endswith("/cart.yaml")
    assert related["location"]["range"]["start"] == {"line": 22, "character": 14}


def test_diagnostics_follow_changes_and_have_a_version(folder: Path) -> None:
    with Client(folder) as client:
        client.open("pod.yaml")
        client.wait_for("pod.yaml", EMPTY_KEY)
        client.change("pod.yaml", (0, 0, 0, 0, "# A fox.\n# It hunts.\n"))
        client.wait_for("pod.yaml", "11:23 empty-topology-key")
        assert client.versions["pod.yaml"] == 2
        client.change("pod.yaml", (11, 23, 11, 25, "kubernetes.io/hostname"), (0, 0, 2, 0, ""))
        client.wait_for("pod.yaml")
        assert client.versions["pod.yaml"] == 3
        client.change("pod.yaml", POD)
        client.wait_for("pod.yaml", EMPTY_KEY)


def test_values_of_a_chart_in_the_folder_follow_changes(tmp_path: Path) -> None:
    template = "apiVersion: v1\nkind: Pod\nmetadata: {name: fox}\nspec:\n  nodeSelector: {{- toYaml .Values.nodeSelector | nindent 4 }}\n"
    for name, text in {"Chart.yaml": "apiVersion: v2\nname: fox\nversion: 1.0.0\n", "templates/fox.yaml": template}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "values-prod.yaml").write_text("web:\n  nodeSelector: {disk: ssd}\n")
    with Client(tmp_path) as client:
        client.open("values-prod.yaml")
        client.wait_for("values-prod.yaml", "1:2 ignored-chart-value")
        client.change("values-prod.yaml", "nodeSelector: {disk: ssd}\n")
        client.wait_for("values-prod.yaml")
        client.change("values-prod.yaml", (0, 0, 0, 12, "tolerations"))
        client.wait_for("values-prod.yaml", "0:0 ignored-chart-value")


def test_a_closed_document_has_no_diagnostics(folder: Path) -> None:
    with Client(folder) as client:
        client.open("pod.yaml")
        client.wait_for("pod.yaml", EMPTY_KEY)
        client.close("pod.yaml")
        client.wait_for("pod.yaml")


@pytest.mark.parametrize("encoding, columns", [("utf-8", 8), ("utf-16", 6), ("utf-32", 5)])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_columns_use_the_negotiated_encoding(folder: Path, encoding: str, columns: int, line_break: str, mark: str) -> None:
    """A fox is one character, two units of UTF-16, and four bytes."""
    text = mark + POD.replace("topologyKey:", '"🦊": x, topologyKey:').replace("- labelSelector", "- {labelSelector")
    text = text.replace('hunter}}\n          "', 'hunter}}, "').replace('topologyKey: ""', 'topologyKey: ""}').replace("\n", line_break)
    # The line of the finding with its column, in characters.
    line = next(number for number, each in enumerate(text.splitlines()) if "🦊" in each)
    before = text.splitlines()[line].partition('topologyKey: ""')[0]
    widened = len(before) + len("topologyKey: ") - 1 + columns - 4
    with Client(folder, capabilities={"general": {"positionEncodings": [encoding]}}) as client:
        assert client.capabilities["positionEncoding"] == encoding
        client.open("pod.yaml", text)
        client.until(lambda: any(each["code"] == "empty-topology-key" for each in client.published.get("pod.yaml", [])))
        found = next(each for each in client.published["pod.yaml"] if each["code"] == "empty-topology-key")
        assert found["range"]["start"] == {"line": line, "character": widened}
        # What is typed behind the fox arrives where it was typed.
        client.change("pod.yaml", (line, widened + 1, line, widened + 1, "kubernetes.io/hostname"))
        client.until(lambda: not any(each["code"] == "empty-topology-key" for each in client.published["pod.yaml"]))


def test_the_best_offered_encoding_is_chosen(folder: Path) -> None:
    with Client(folder, capabilities={"general": {"positionEncodings": ["utf-16", "utf-8", "utf-32"]}}) as client:
        assert client.capabilities["positionEncoding"] == "utf-32"
    with Client(folder) as client:
        assert client.capabilities["positionEncoding"] == "utf-16"


class TestAcrossManifests:
    """A finding may depend on a file that is not open, or that is open and changes."""

    def test_changes_in_another_open_file_count(self, folder: Path) -> None:
        (folder / "pod.yaml").write_text(POD.replace('topologyKey: ""', "topologyKey: kubernetes.io/hostname"))
        (folder / "hunter.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: hunter, labels: {app: huntre}}\n")
        with Client(folder) as client:
            client.open("pod.yaml")
            client.wait_for("pod.yaml", "8:10 affinity-target-missing")
            client.open("hunter.yaml")
            client.change("hunter.yaml", (2, 43, 2, 45, "er"))
            client.wait_for("pod.yaml")
            # It moves with the text above it, without another look at all files.
            client.change("hunter.yaml", (2, 43, 2, 45, "re"))
            client.wait_for("pod.yaml", "8:10 affinity-target-missing")
            client.change("pod.yaml", (0, 0, 0, 0, "---\n"))
            client.wait_for("pod.yaml", "9:10 affinity-target-missing")

    def test_an_unfinished_line_does_not_change_findings_in_other_files(self, shop: Path) -> None:
        with Client(shop) as client:
            client.open("cart.yaml")
            client.open("orders.yaml")
            client.open("orders-db.yaml")
            client.settle()
            before = client.rules("orders-db.yaml")
            assert "6:4 label-not-on-template" in before
            client.change("orders.yaml", (12, 0, 12, 0, "  - [\n"))
            client.until(lambda: any("unreadable-manifest" in each for each in client.rules("orders.yaml")))
            client.settle()
            assert client.rules("orders-db.yaml") == before
            client.change("orders.yaml", (12, 0, 13, 0, ""))
            client.until(lambda: not any("unreadable-manifest" in each for each in client.rules("orders.yaml")))

    def test_a_file_that_is_created_or_removed_outside_the_editor_counts(self, folder: Path) -> None:
        text = POD.replace('topologyKey: ""', "topologyKey: kubernetes.io/hostname").replace("app: hunter", "app: huntre")
        (folder / "pod.yaml").write_text(text)
        watching = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
        with Client(folder, capabilities=watching) as client:
            client.open("pod.yaml")
            client.until(lambda: any(each["method"] == "client/registerCapability" for each in client.asked))
            client.wait_for("pod.yaml")
            (folder / "hunter.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: hunter, labels: {app: hunter}}\n")
            changed = {"changes": [{"uri": client.uri("hunter.yaml"), "type": 1}]}
            client.notify("workspace/didChangeWatchedFiles", changed)
            client.wait_for("pod.yaml", "8:10 affinity-target-missing")
            (folder / "hunter.yaml").unlink()
            client.notify("workspace/didChangeWatchedFiles", changed)
            client.wait_for("pod.yaml")

    def test_without_file_watching_a_save_lists_files_again(self, folder: Path) -> None:
        text = POD.replace('topologyKey: ""', "topologyKey: kubernetes.io/hostname").replace("app: hunter", "app: huntre")
        (folder / "pod.yaml").write_text(text)
        with Client(folder) as client:
            client.open("pod.yaml")
            client.settle()
            assert client.rules("pod.yaml") == []
            (folder / "hunter.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: hunter, labels: {app: hunter}}\n")
            client.save("pod.yaml")
            client.wait_for("pod.yaml", "8:10 affinity-target-missing")

    def test_values_of_a_chart_are_recognised_by_their_folder(self, tmp_path: Path) -> None:
        (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
        values = "server:\n  tolerations: [{key: a, operator: Is}]\n"
        (tmp_path / "production.yaml").write_text(values)
        with Client(tmp_path) as client:
            client.open("production.yaml", values)
            client.wait_for("production.yaml", "1:35 unknown-operator")
            client.change("production.yaml", (1, 35, 1, 37, "Equal"))
            client.wait_for("production.yaml")

    def test_kinds_that_another_file_defines_are_known_while_typing(self, tmp_path: Path) -> None:
        (tmp_path / "widgets.yaml").write_text(DEFINITION)
        with Client(tmp_path) as client:
            client.open("widget.yaml", WIDGET)
            client.wait_for("widget.yaml", "5:4 wrong-type")
            client.change("widget.yaml", (5, 17, 5, 25, "[]"))
            client.wait_for("widget.yaml")
            client.change("widget.yaml", (0, 0, 5, 19, WIDGET.rstrip("\n")))
            client.wait_for("widget.yaml", "5:4 wrong-type")


class TestSettingsOfTheProject:
    """The configuration applies as for `afflint check`."""

    def test_the_configuration_and_its_changes_apply(self, folder: Path) -> None:
        with Client(folder) as client:
            client.open("pod.yaml")
            client.wait_for("pod.yaml", EMPTY_KEY)
            (folder / ".afflint.yaml").write_text("ignore: [empty-topology-key]\n")
            client.save(".afflint.yaml")
            client.wait_for("pod.yaml")
            (folder / ".afflint.yaml").write_text("exclude: [nothing.yaml]\n")
            client.save(".afflint.yaml")
            client.wait_for("pod.yaml", EMPTY_KEY)
            (folder / ".afflint.yaml").write_text("exclude: [pod.yaml]\n")
            client.save(".afflint.yaml")
            client.wait_for("pod.yaml")

    def test_a_mistake_in_the_configuration_is_shown_and_the_previous_one_applies(self, folder: Path) -> None:
        (folder / ".afflint.yaml").write_text("ignore: [empty-topology-key]\n")
        with Client(folder) as client:
            client.open("pod.yaml")
            client.wait_for("pod.yaml")
            (folder / ".afflint.yaml").write_text("ignore: [empty-topology-kye]\n")
            client.open(".afflint.yaml")
            client.save(".afflint.yaml")
            client.wait_for(".afflint.yaml", "0:9 configuration")
            client.wait_for("pod.yaml")
            assert "did you mean" in client.notifications[-1]["params"]["message"]

    @pytest.mark.parametrize(
        "settings, comment",
        [
            ("per-file-ignores: {'pod.yaml': [admission]}", ""),
            ("baseline: known.json", ""),
            ("{}", "  # afflint: ignore[empty-topology-key] -- a test"),
            ("exclude: ['*.yaml']", ""),
            ("select: [spread]", ""),
        ],
    )
    def test_suppressed_findings_are_not_shown(self, folder: Path, settings: str, comment: str) -> None:
        (folder / ".afflint.yaml").write_text(settings)
        (folder / "known.json").write_text(
            '{"version": 1, "findings": [{"rule": "empty-topology-key", "kind": "Pod", "name": "fox", "file": "pod.yaml", "field": '
            '"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[topologyKey=].topologyKey"}]}'
        )
        with Client(folder) as client:
            client.open("pod.yaml", POD.replace('topologyKey: ""', f'topologyKey: ""{comment}'))
            client.settle()
            assert client.rules("pod.yaml") == []

    def test_unreadable_nodes_are_left_out_and_reported_once(self, folder: Path) -> None:
        (folder / ".afflint.yaml").write_text("nodes: [nodes.yaml]\n")
        (folder / "nodes.yaml").write_text("nodes: [{labels: {}}]\n")
        with Client(folder) as client:
            client.open("pod.yaml")
            client.wait_for("pod.yaml", EMPTY_KEY)
            client.until(lambda: client.notifications)
            client.change("pod.yaml", (0, 0, 0, 0, "\n"))
            client.wait_for("pod.yaml", "10:23 empty-topology-key")
            client.settle()
            assert [each["params"]["message"].partition(":")[0] for each in client.notifications] == ["afflint"]
            (folder / "nodes.yaml").write_text("nodes: [{name: one}]\n")

    def test_a_chart_and_what_is_excluded_are_left_alone(self, folder: Path) -> None:
        with Client(folder) as client:
            client.open("templates/pod.yaml", POD, language="helm")
            client.open("pod.yaml")
            client.wait_for("pod.yaml", EMPTY_KEY)
            assert "templates/pod.yaml" not in client.published

    def test_another_server_may_report_what_it_can(self, folder: Path) -> None:
        text = POD.replace("  affinity:", "  afinity: {}\n  affinity:").replace("{name: fox, l", "{name: fox, name: fox, l")
        with Client(folder) as client:
            client.open("pod.yaml", text)
            client.wait_for("pod.yaml", "2:22 duplicate-key", "5:2 unknown-field", "10:23 empty-topology-key")
        with Client(folder, options={"syntaxErrors": False, "unknownFields": False}) as client:
            client.open("pod.yaml", text)
            client.wait_for("pod.yaml", "10:23 empty-topology-key")

    def test_an_unknown_setting_is_reported(self, folder: Path) -> None:
        with Client(folder, options={"hint": True, "diagnostics": "all"}) as client:
            client.until(lambda: len(client.notifications) == 2)
            assert [each["params"]["message"] for each in client.notifications] == [
                "afflint: unknown setting `hint`; did you mean `hints`?",
                "afflint: the setting `diagnostics` must be `open` or `workspace`, not `all`",
            ]

    def test_the_editor_is_asked_for_its_settings(self, folder: Path) -> None:
        with Client(folder, capabilities={"workspace": {"configuration": True}}, initialize=True) as client:
            client.settings = {"unknownFields": False}
            client.notify("workspace/didChangeConfiguration", {"settings": None})
            client.open("pod.yaml", POD.replace("  affinity:", "  afinity: {}\n  affinity:"))
            client.wait_for("pod.yaml", "10:23 empty-topology-key")


class TestPull:
    """The server sends no diagnostics to a client that pulls them."""

    PULLS = {"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": True}}}  # noqa: RUF012

    def test_unchanged_diagnostics_are_not_sent_again(self, folder: Path) -> None:
        with Client(folder, capabilities=self.PULLS) as client:
            client.open("pod.yaml")
            first = client.request("textDocument/diagnostic", {"textDocument": {"uri": client.uri("pod.yaml")}})
            assert [short(each) for each in first["items"]] == [EMPTY_KEY]
            again = {"textDocument": {"uri": client.uri("pod.yaml")}, "previousResultId": first["resultId"]}
            assert client.request("textDocument/diagnostic", again) == {"kind": "unchanged", "resultId": first["resultId"]}
            client.until(lambda: any(each["method"] == "workspace/diagnostic/refresh" for each in client.asked))
            assert not client.published

    def test_diagnostics_are_pushed_to_a_client_without_refresh(self, shop: Path) -> None:
        """Neovim 0.11 is one: what other files say would never show there."""
        with Client(shop, capabilities={"textDocument": {"diagnostic": {}}}) as client:
            assert "diagnosticProvider" not in client.capabilities
            client.open("cart.yaml")
            client.wait_for("cart.yaml", "6:4 label-not-on-template", "18:13 wrong-type")

    def test_diagnostics_of_the_workspace(self, shop: Path) -> None:
        with Client(shop, capabilities=self.PULLS, options={"diagnostics": "workspace"}) as client:
            assert client.capabilities["diagnosticProvider"]["workspaceDiagnostics"] is True
            client.until(lambda: any(each["method"] == "workspace/diagnostic/refresh" for each in client.asked))
            reports = client.request("workspace/diagnostic", {"previousResultIds": []})["items"]
            found = {client.name(each["uri"]): [short(item) for item in each["items"]] for each in reports}
            assert found == {name: lines for name, lines in checked(shop).items() if lines}
            ids = [{"uri": each["uri"], "value": each["resultId"]} for each in reports]
            again = client.request("workspace/diagnostic", {"previousResultIds": ids})["items"]
            assert {each["kind"] for each in again} == {"unchanged"}

    def test_diagnostics_of_unopened_files_are_pushed(self, shop: Path) -> None:
        with Client(shop, options={"diagnostics": "workspace"}) as client:
            expected = {name: lines for name, lines in checked(shop).items() if lines}
            client.until(lambda: {name: client.rules(name) for name in client.published} == expected)


# The same findings as a run of `afflint check`.


def checked(folder: Path, buffers: dict[str, bytes] | None = None) -> dict[str, list[str]]:
    """What a fresh run over a folder finds, by file, as the protocol counts it (of text that is ASCII)."""
    path = config.find(str(folder))
    settings = config.default()._replace(root=str(folder))
    if path is not None:
        settings = config.load(path, rule_names=tuple(rules()), categories=CATEGORIES)
    session = Session(settings, {str(folder / name): data for name, data in (buffers or {}).items()})
    sources = session.sources([str(folder)])
    found: dict[str, list[str]] = {str(Path(each.path).relative_to(folder)): [] for each in sources}
    outcome = session.check([Source(each.path, each.path, each.data) for each in sources])
    for each in sorted(outcome.findings, key=lambda each: (each.span, each.rule, each.message)):
        found[str(Path(each.file).relative_to(folder))].append(f"{each.span.line - 1}:{each.span.column - 1} {each.rule}")
    return found


def same_as_checked(folder: Path) -> None:
    expected = {name: lines for name, lines in checked(folder).items() if lines}
    with Client(folder, options={"diagnostics": "workspace"}, capabilities={"general": {"positionEncodings": ["utf-32"]}}) as client:
        client.until(lambda: {name: client.rules(name) for name in client.published if client.rules(name)} == expected)


@pytest.mark.parametrize("name", ["shop", "fixed", "customapp", "customapp-typo"])
def test_a_workspace_has_the_findings_of_a_run(name: str) -> None:
    same_as_checked(ROOT / "examples" / name)


@pytest.mark.parametrize("name", ["plain", "whole"])
def test_a_workspace_of_real_manifests_has_the_findings_of_a_run(name: str) -> None:
    same_as_checked(shared("corpus", name))


WORDS = (
    "cart",
    "orders",
    "orders-db",
    "search",
    "web",
    "tier: session",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "required",
    "3",
)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("example", ["shop", "customapp"])
def test_after_any_edits_the_findings_are_those_of_a_fresh_run(tmp_path: Path, example: str, seed: int) -> None:
    """Words are exchanged, lines are doubled, removed and broken, files are written; whatever came before, the end counts."""
    chance = random.Random(seed)
    original = ROOT / "examples" / example
    shop = Path(shutil.copytree(original, tmp_path / example))
    names = sorted(each.name for each in shop.iterdir())
    with Client(shop) as client:
        texts = {name: (shop / name).read_text() for name in names}
        for name in names:
            client.open(name)
        for _ in range(6):
            for _ in range(chance.randint(1, 6)):
                name = chance.choice(names)
                lines = texts[name].split("\n")
                number = chance.randrange(len(lines) - 1)
                line = lines[number]
                kind = chance.randrange(5)
                if kind == 0:
                    change = (number, 0, number + 1, 0, "")
                elif kind == 1:
                    change = (number, 0, number, 0, f"{line}\n")
                elif kind == 2:
                    change = (number, len(line), number, len(line), chance.choice((" [", ": x", " # x", "\n---\n")))
                else:
                    begin = line.find(": ") + 2 if ": " in line else len(line)
                    change = (number, begin, number, len(line), chance.choice(WORDS))
                texts[name] = edited(texts[name], change)
                client.change(name, change)
            if chance.random() < 0.3:
                name = chance.choice(names)
                texts[name] = (original / name).read_text()
                client.change(name, texts[name])
        # A broken document is checked as it was before: all of it is fixed in the end.
        for name in names:
            if any("unreadable" in each or "text-after" in each for each in checked(shop, as_bytes(texts))[name]):
                texts[name] = (original / name).read_text()
                client.change(name, texts[name])
        expected = checked(shop, as_bytes(texts))
        client.until(lambda: {name: client.rules(name) for name in names} == expected, f"never {expected}")


def edited(text: str, change: tuple[int, int, int, int, str]) -> str:
    lines = text.split("\n")
    first, start, last, end, new = change
    before = "\n".join([*lines[:first], lines[first][:start]])
    return before + new + "\n".join([lines[last][end:], *lines[last + 1 :]])


def as_bytes(texts: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in texts.items()}


class TestLargeDocuments:
    """A document above 1 MB is not checked while it is open, so that requests are answered."""

    POD = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {a: 5}}\nspec: {nodeSelector: {a: 5, b: 6}, nope: 1}\n"
    TEXT = POD * (9_000_000 // len(POD))

    def test_requests_are_answered_at_once(self, tmp_path: Path) -> None:
        with Client(tmp_path) as client:
            client.open("large.yaml", self.TEXT)
            assert client.request("textDocument/hover", client.at("large.yaml", 1, 1)) is None
            client.wait_for("large.yaml", "0:0 too-large")
            assert any(
                "larger than 1 MB" in each["params"]["message"] for each in client.notifications if each["method"] == "window/logMessage"
            )
            client.close("large.yaml")
            client.wait_for("large.yaml")

    def test_a_document_that_grows_is_no_longer_checked(self, tmp_path: Path) -> None:
        with Client(tmp_path) as client:
            client.open("pod.yaml", self.POD)
            client.until(lambda: client.rules("pod.yaml"))
            client.change("pod.yaml", self.TEXT)
            client.wait_for("pod.yaml", "0:0 too-large")
            client.change("pod.yaml", self.POD)
            client.settle()
            assert client.rules("pod.yaml") == ["0:0 too-large"]
            client.close("pod.yaml")
            client.open("pod.yaml", self.POD)
            client.until(lambda: len(client.rules("pod.yaml")) > 1)

    def test_a_client_that_pulls_gets_the_note(self, tmp_path: Path) -> None:
        with Client(tmp_path, capabilities={"textDocument": {"diagnostic": {"dynamicRegistration": False}}}) as client:
            client.open("large.yaml", self.TEXT)
            pulled = client.request("textDocument/diagnostic", {"textDocument": {"uri": client.uri("large.yaml")}})
            assert [each["code"] for each in pulled["items"]] == ["too-large"]
