"""Code actions: the edited text is as expected, in every encoding of columns."""

from pathlib import Path
from typing import Any

import pytest

from afflint.findings.finding import Finding
from afflint.fix.rounds import fix_text, is_safe
from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer.map_cache import EditorBuffer
from afflint.lsp.project import Project
from afflint.lsp.text import EditorText
from afflint.source.sources import Source
from lsp_client import Client

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: fox}  # 🦊
spec:
  selector: {matchLabels: {app: fox}}
  template:
    metadata: {labels: {app: fox}}
    spec:
      nodeSelector:
        ssd: true
        "🦊": {nothing: here}
        "🦊🦊": true
      tolerations:
        - {key: 🦊, operator: exists}
      containers: [{name: fox, image: fox}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def actions(client: Client, name: str, line: int, *only: str) -> list[Any]:
    at = {"line": line, "character": 0}, {"line": line, "character": 1000}
    context = {"diagnostics": [], **({"only": list(only)} if only else {})}
    params = {"textDocument": {"uri": client.uri(name)}, "range": {"start": at[0], "end": at[1]}, "context": context}
    found = client.request("textDocument/codeAction", params)
    assert isinstance(found, list), found
    return found


def applied(text: str, client: Client, name: str, edit: Any) -> str:
    """The text with an edit, as the editor would make it: all places are those of the text before."""
    changes = edit["changes"][client.uri(name)] if "changes" in edit else edit["documentChanges"][0]["edits"]
    result = EditorText(text, client.capabilities["positionEncoding"])
    for each in sorted(changes, key=lambda each: (each["range"]["start"]["line"], each["range"]["start"]["character"]), reverse=True):
        result.replace(result.from_lsp(each["range"]["start"]), result.from_lsp(each["range"]["end"]), each["newText"])
    return str(result)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_fix_gives_the_expected_text_in_all_encodings(folder: Path, encoding: str, line_break: str, mark: str) -> None:
    text = mark + DEPLOYMENT.replace("\n", line_break)
    with Client(folder, capabilities={"general": {"positionEncodings": [encoding]}}) as client:
        client.open("fox.yaml", text)
        first, *_ = actions(client, "fox.yaml", 9)
        assert first["kind"] == "quickfix"
        assert first["isPreferred"] is True
        assert "wrong-type" in first["title"]
        assert applied(text, client, "fox.yaml", first["edit"]) == text.replace("ssd: true", 'ssd: "true"')
        second = next(each for each in actions(client, "fox.yaml", 13) if "unknown-operator" in each["title"])
        assert applied(text, client, "fox.yaml", second["edit"]) == text.replace("operator: exists", "operator: Exists")


def test_fix_all_of_a_rule_and_all_safe_fixes(folder: Path) -> None:
    text = DEPLOYMENT.replace('        "🦊": {nothing: here}\n', "").replace('"🦊🦊"', "hdd")
    quoted = text.replace("ssd: true", 'ssd: "true"').replace("hdd: true", 'hdd: "true"')
    with Client(folder, capabilities={"workspace": {"workspaceEdit": {"documentChanges": True}}}) as client:
        client.open("fox.yaml", text)
        all_of_rule = next(
            each for each in actions(client, "fox.yaml", 9) if each["title"] == "Fix all 2 findings of `wrong-type` in this file"
        )
        assert applied(text, client, "fox.yaml", all_of_rule["edit"]) == quoted
        assert all_of_rule["edit"]["documentChanges"][0]["textDocument"] == {"uri": client.uri("fox.yaml"), "version": 1}
        (fix_all,) = actions(client, "fox.yaml", 0, "source.fixAll")
        assert fix_all["kind"] == "source.fixAll.afflint"
        assert applied(text, client, "fox.yaml", fix_all["edit"]) == quoted
        assert actions(client, "fox.yaml", 9, "refactor") == []


def test_the_next_round_fixes_what_a_fix_reveals(folder: Path) -> None:
    one = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: fox}\nspec:\n  containers: [{name: fox, image: fox}]\n  nodeSelector:\n    ssd: true\n"
    )
    text = one + one.replace("{name: fox}\nspec", "{name: dog}\nspec")
    project = Project(str(folder), CommandLineConfig(no_config=True), all_files=True)

    def check(source: Source) -> list[Finding]:
        buffer = project.checked(EditorBuffer(source.path, 1, source.data or b""))
        assert buffer.result is not None
        return project.unsuppressed(buffer, buffer.result, None, ())

    source = Source("fox.yaml", str(folder / "fox.yaml"), text.encode())
    assert fix_text(source, check, is_safe, project.fix_checker).decode() == text
    fixed = fix_text(source, check, lambda _: True, project.fix_checker).decode()
    assert fixed.count("---\n") == 1
    assert fixed.replace("---\n", "") == text.replace("true", '"true"')


def test_a_client_that_resolves_edits_gets_them_on_request(folder: Path) -> None:
    resolving = {"textDocument": {"codeAction": {"resolveSupport": {"properties": ["edit"]}}}}
    with Client(folder, capabilities=resolving) as client:
        client.open("fox.yaml", DEPLOYMENT)
        (fix_all,) = actions(client, "fox.yaml", 0, "source.fixAll.afflint")
        assert "edit" not in fix_all
        # Neovim leaves out what is null.
        assert None not in fix_all["data"].values()
        resolved = client.request("codeAction/resolve", fix_all)
        assert 'ssd: "true"' in applied(DEPLOYMENT, client, "fox.yaml", resolved["edit"])


def test_a_save_without_fixes_changes_nothing(folder: Path) -> None:
    with Client(folder) as client:
        client.open("fox.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fox}\n")
        assert actions(client, "fox.yaml", 0) == []
        (fix_all,) = actions(client, "fox.yaml", 0, "source.fixAll.afflint")
        assert fix_all["edit"] == {"changes": {client.uri("fox.yaml"): []}}


def ignored(client: Client, name: str, text: str, line: int, rule: str) -> str:
    found = next(each for each in actions(client, name, line) if each["title"] == f"Ignore `{rule}` here, with a reason")
    return applied(text, client, name, found["edit"])


class TestIgnore:
    """The comment is written where it suppresses the finding."""

    def test_above_the_line_with_its_indentation(self, folder: Path) -> None:
        with Client(folder) as client:
            client.open("fox.yaml", DEPLOYMENT)
            comment = "        # afflint: ignore[wrong-type] -- TODO: say why\n"
            changed = ignored(client, "fox.yaml", DEPLOYMENT, 9, "wrong-type")
            assert changed == DEPLOYMENT.replace("        ssd: true\n", f"{comment}        ssd: true\n")
            client.change("fox.yaml", changed)
            client.until(lambda: "fox.yaml" in client.published and not any(each.startswith("10:") for each in client.rules("fox.yaml")))

    def test_in_an_existing_list_of_rules(self, folder: Path) -> None:
        text = DEPLOYMENT.replace("ssd: true", "ssd: true  # afflint: ignore[unknown-node-label] -- new")
        with Client(folder) as client:
            client.open("fox.yaml", text)
            changed = ignored(client, "fox.yaml", text, 9, "wrong-type")
            assert "# afflint: ignore[unknown-node-label, wrong-type] -- new" in changed

    def test_after_the_line_if_a_comment_above_means_something_else(self, folder: Path) -> None:
        text = DEPLOYMENT.replace("ssd: true", "ssd:\n          true")
        with Client(folder) as client:
            client.open("fox.yaml", text)
            changed = ignored(client, "fox.yaml", text, 10, "wrong-type")
            assert "          true  # afflint: ignore[wrong-type] -- TODO: say why\n" in changed

    def test_json_has_no_comments(self, folder: Path) -> None:
        text = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "fox"},\n "spec": {"tolerations": [{"operator": "exists"}]}}\n'
        with Client(folder) as client:
            client.open("fox.json", text, language="json")
            titles = [each["title"] for each in actions(client, "fox.json", 1)]
            assert any("unknown-operator" in each for each in titles)
            assert not any(each.startswith("Ignore") for each in titles)
