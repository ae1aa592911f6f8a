"""The projects of files: folders that are open in the editor, each with its own configuration, and files outside them."""

import json
import os
from pathlib import Path

import pytest

from lsp_client import REFRESHING, Client

POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: fox}\nspec: {nodeName: one, tolerations: [{key: "", operator: Equal}]}\n'


def pod(asked: str, own: str) -> str:
    """A pod that must be near pods with a label."""
    term = f"{{labelSelector: {{matchLabels: {{app: {asked}}}}}, topologyKey: kubernetes.io/hostname}}"
    affinity = f"{{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    head = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {own}, labels: {{app: {own}}}}}\n"
    return f"{head}spec:\n  containers: [{{name: a, image: a}}]\n  affinity: {affinity}\n"


TARGET = "apiVersion: v1\nkind: Pod\nmetadata: {name: hunter, labels: {app: hunter}}\n"
MISSED = "affinity-target-missing"


def start(folder: Path, *folders: str) -> Client:
    client = Client(folder, initialize=False)
    given = [{"uri": (folder / each).as_uri(), "name": each} for each in folders]
    client.request("initialize", {"capabilities": REFRESHING, "workspaceFolders": given})
    client.notify("initialized", {})
    return client


def missed(client: Client, name: str) -> bool:
    return any(each.endswith(MISSED) for each in client.rules(name))


def test_each_folder_has_its_own_configuration(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "fox.yaml").write_text(pod("huntre", "fox"))
    (tmp_path / "one" / "hunter.yaml").write_text(TARGET)
    (tmp_path / "three" / "hunter.yaml").write_text(TARGET)
    (tmp_path / "three" / ".afflint.yaml").write_text(f"ignore: [{MISSED}]\n")
    with start(tmp_path, "one", "two", "three") as client:
        for name in ("one", "two", "three"):
            client.open(f"{name}/fox.yaml")
        client.until(lambda: missed(client, "one/fox.yaml"))
        client.settle()
        assert [missed(client, f"{name}/fox.yaml") for name in ("two", "three")] == [False, False]


def test_folders_are_added_and_removed(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "fox.yaml").write_text(pod("huntre", "fox"))
        (tmp_path / name / "hunter.yaml").write_text(TARGET)
    with start(tmp_path, "one") as client:
        client.open("one/fox.yaml")
        client.open("two/fox.yaml")
        client.until(lambda: missed(client, "one/fox.yaml"))
        assert not missed(client, "two/fox.yaml")
        folders = {name: {"uri": (tmp_path / name).as_uri(), "name": name} for name in ("one", "two")}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folders["two"]], "removed": [folders["one"]]}})
        client.until(lambda: missed(client, "two/fox.yaml") and not missed(client, "one/fox.yaml"))


def test_files_outside_all_folders_are_checked_with_open_files_next_to_them(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "fox.yaml").write_text(pod("huntre", "fox"))
    (tmp_path / "hunter.yaml").write_text(TARGET)
    with start(tmp_path, "one") as client:
        client.open("fox.yaml")
        client.settle()
        assert not missed(client, "fox.yaml")
        client.open("hunter.yaml")
        client.until(lambda: missed(client, "fox.yaml"))
        client.close("hunter.yaml")
        client.until(lambda: not missed(client, "fox.yaml"))


def test_a_document_that_was_never_saved_belongs_to_the_first_folder(tmp_path: Path) -> None:
    (tmp_path / "hunter.yaml").write_text(TARGET)
    with Client(tmp_path) as client:
        document = {"uri": "untitled:Untitled-1", "languageId": "yaml", "version": 1, "text": pod("huntre", "fox")}
        client.notify("textDocument/didOpen", {"textDocument": document})
        client.until(lambda: missed(client, "untitled:Untitled-1"))


def test_a_new_file_counts_before_it_is_saved(tmp_path: Path) -> None:
    (tmp_path / "fox.yaml").write_text(pod("huntre", "fox"))
    with Client(tmp_path) as client:
        client.open("fox.yaml")
        client.open("hunter.yaml", TARGET)
        client.until(lambda: missed(client, "fox.yaml"))
        client.close("hunter.yaml")
        client.until(lambda: not missed(client, "fox.yaml"))


@pytest.mark.parametrize("name", ["ignored/fox.yaml", "fox.txt", "excluded.yaml"])
def test_files_that_a_run_skips_are_not_checked(tmp_path: Path, name: str) -> None:
    os.makedirs(tmp_path / "ignored")
    os.makedirs(tmp_path / ".git")
    (tmp_path / ".gitignore").write_text("ignored/\n")
    (tmp_path / ".afflint.yaml").write_text("exclude: [excluded.yaml]\n")
    (tmp_path / name).write_text(POD)
    (tmp_path / "fox.yaml").write_text(POD)
    with Client(tmp_path) as client:
        client.open(name)
        client.open("fox.yaml")
        client.until(lambda: client.rules("fox.yaml"))
        client.settle()
        assert client.rules(name) == []


def test_nodes_of_the_command_line_count(tmp_path: Path) -> None:
    (tmp_path / "fox.yaml").write_text(POD.replace("nodeName: one, ", "nodeSelector: {disk: sdd}, containers: [{name: a, image: a}], "))
    (tmp_path / "nodes.json").write_text(json.dumps({"nodes": [{"name": "one", "labels": {"disk": "ssd"}}]}))
    with Client(tmp_path, "--nodes", "nodes.json") as client:
        client.open("fox.yaml")
        client.until(lambda: any("unknown-node-label" in each or "unschedulable" in each for each in client.rules("fox.yaml")))


def test_a_name_with_special_characters_survives_the_conversion_to_a_uri(tmp_path: Path) -> None:
    (tmp_path / "hunter.yaml").write_text(TARGET)
    (tmp_path / "fox ä#%.yaml").write_text(pod("huntre", "fox"))
    with Client(tmp_path) as client:
        client.open("fox ä#%.yaml")
        client.until(lambda: missed(client, "fox ä#%.yaml"))
        found = next(each for each in client.published["fox ä#%.yaml"] if each["code"] == MISSED)
        assert client.name(found["relatedInformation"][0]["location"]["uri"]) == "hunter.yaml"
