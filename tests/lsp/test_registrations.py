"""Capabilities that are registered after the start, as in Visual Studio Code: it only reports events that were registered."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsp_client import PATIENCE, Client, short

CODE = {
    "workspace": {
        "configuration": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "diagnostics": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
    },
    "textDocument": {"diagnostic": {"dynamicRegistration": True}, "inlayHint": {"dynamicRegistration": True}},
}
"""What Visual Studio Code announces, as far as it makes a difference here."""

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: fox}\nspec: {containers: [{name: a, image: a}], nodeSelector: {disk: sdd}}\n"


class Code(Client):
    """It keeps what has been registered with it, by its method."""

    def registered(self, method: str) -> list[Any]:
        """The options of what is registered now."""
        made: dict[str, Any] = {}
        for each in self.asked:
            if each["method"] == "client/registerCapability":
                made |= {one["id"]: one for one in each["params"]["registrations"]}
            elif each["method"] == "client/unregisterCapability":
                for one in each["params"]["unregisterations"]:
                    assert made.pop(one["id"])["method"] == one["method"]
        return [each["registerOptions"] for each in made.values() if each["method"] == method]

    def change_settings(self, section: Any) -> None:
        self.settings = section
        self.notify("workspace/didChangeConfiguration", {"settings": None})

    def eventually(self, condition: Callable[[], Any]) -> None:
        """Until something holds that is asked for: no message has to come before it is asked again."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end
            self._next(0.05)

    def pull(self, name: str, identifier: str = "afflint") -> list[str]:
        found = self.request("textDocument/diagnostic", {"textDocument": {"uri": self.uri(name)}, "identifier": identifier})
        return [short(each) for each in found["items"]]

    def pull_all(self, identifier: str) -> dict[str, list[str]]:
        found = self.request("workspace/diagnostic", {"previousResultIds": [], "identifier": identifier})["items"]
        return {self.name(each["uri"]): [short(item) for item in each["items"]] for each in found}


class TestSettings:
    def test_changes_of_settings_are_registered(self, tmp_path: Path) -> None:
        with Code(tmp_path, capabilities=CODE) as client:
            client.until(lambda: client.registered("workspace/didChangeConfiguration") == [{"section": "afflint"}])

    def test_missing_settings_keep_their_initial_values(self, tmp_path: Path) -> None:
        text = POD.replace("nodeSelector", "nodeSelektor").replace("name: fox", "name: fox, name: fox")
        with Code(tmp_path, capabilities=CODE, options={"unknownFields": False}) as client:
            client.settings = None  # It has no such section.
            client.open("pod.yaml", text)
            client.eventually(lambda: client.pull("pod.yaml") == ["2:22 duplicate-key"])
            client.change_settings({"syntaxErrors": False})
            client.eventually(lambda: client.pull("pod.yaml") == [])
            client.change_settings(None)
            client.eventually(lambda: client.pull("pod.yaml") == ["2:22 duplicate-key"])
            client.change_settings({"unknownFields": True})
            client.eventually(lambda: client.pull("pod.yaml") == ["2:22 duplicate-key", "3:42 unknown-field"])

    def test_capabilities_can_be_switched_off_and_on(self, tmp_path: Path) -> None:
        text = POD.replace("nodeSelector: {disk: sdd}", "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [TERM]}}")
        text = text.replace("TERM", "{labelSelector: {matchLabels: {app: fox}}, topologyKey: }")
        place = text.split("\n")[3].index("topologyKey: ") + len("topologyKey: ")
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
        with Code(tmp_path, capabilities=CODE) as client:
            client.open("pod.yaml", text)

            def offered() -> list[bool]:
                at = client.at("pod.yaml", 3, place)
                hints = client.request("textDocument/inlayHint", {"textDocument": at["textDocument"], "range": whole})
                hover = client.request("textDocument/hover", client.at("pod.yaml", 3, place - 12))
                return [bool(hints), bool(hover), bool((client.request("textDocument/completion", at) or {}).get("items"))]

            client.eventually(lambda: offered() == [True, True, True])
            client.settle()
            asked = len(client.asked)
            client.change_settings({"hints": False, "hover": False, "completion": False})
            client.eventually(lambda: offered() == [False, False, False])
            # An editor that shows hints is notified that they have changed.
            assert "workspace/inlayHint/refresh" in [each["method"] for each in client.asked[asked:]]
            client.change_settings({})
            client.eventually(lambda: offered() == [True, True, True])


class TestFilesThatAreNotOpen:
    def test_later_settings_may_request_unopened_files(self, tmp_path: Path) -> None:
        """The start offers no pulls for the whole folder: whether they are wanted is not known then."""
        for name in ("one.yaml", "two.yaml"):
            (tmp_path / name).write_text(POD.replace("disk: sdd", "'': sdd"))
        with Code(tmp_path, capabilities=CODE) as client:
            assert client.capabilities["diagnosticProvider"]["workspaceDiagnostics"] is False
            client.change_settings({"diagnostics": "workspace"})
            client.until(lambda: client.registered("textDocument/diagnostic"))
            (options,) = client.registered("textDocument/diagnostic")
            other = options["identifier"]
            assert options["workspaceDiagnostics"] is True
            client.open("one.yaml")
            client.eventually(lambda: client.pull_all(other).get("two.yaml"))
            client.eventually(lambda: client.pull("one.yaml") == client.pull_all(other)["two.yaml"])
            # Nothing is shown twice: what is open is pulled for under the name that was offered at the start.
            assert client.pull("one.yaml", other) == []
            assert "one.yaml" not in client.pull_all(other)
            client.change_settings({})
            client.until(lambda: client.registered("textDocument/diagnostic") == [])
            assert client.pull_all(other) == {}

    def test_initial_capabilities_are_not_registered_again(self, tmp_path: Path) -> None:
        (tmp_path / "one.yaml").write_text(POD)
        with Code(tmp_path, capabilities=CODE, options={"diagnostics": "workspace"}) as client:
            client.settle()
            assert client.registered("textDocument/diagnostic") == []


class TestFiles:
    def test_files_that_a_configuration_names_are_watched_anywhere(self, tmp_path: Path) -> None:
        folder = tmp_path / "work"
        folder.mkdir()
        for name, disk in (("ssd.json", "ssd"), ("s[d]d.json", "sdd")):
            (tmp_path / name).write_text(json.dumps({"nodes": [{"name": "one", "labels": {"disk": disk}}]}))
        (folder.parent / ".git").mkdir()
        (folder / ".afflint.yaml").write_text("nodes: [../ssd.json]\n")

        def outside(client: Code) -> list[str]:
            (options,) = client.registered("workspace/didChangeWatchedFiles")
            patterns = [each["globPattern"] for each in options["watchers"]]
            return [each["pattern"] for each in patterns if isinstance(each, dict) and each["baseUri"] == tmp_path.as_uri()]

        with Code(folder, capabilities=CODE) as client:
            client.open("pod.yaml", POD)
            client.eventually(lambda: client.pull("pod.yaml"))
            assert outside(client) == ["ssd.json"]
            # A configuration that names others is followed by another registration; no name is a pattern by chance.
            (folder.parent / ".git").mkdir(exist_ok=True)
            (folder / ".afflint.yaml").write_text("nodes: ['../s[d]d.json']\n")
            client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": client.uri(".afflint.yaml"), "type": 2}]})
            client.eventually(lambda: not client.pull("pod.yaml"))
            client.until(lambda: outside(client) == ["s?d?d.json"])

    def test_a_client_without_relative_patterns_gets_paths(self, tmp_path: Path) -> None:
        (tmp_path / "nodes.json").write_text('{"nodes": [{"name": "one"}]}')
        (tmp_path / ".afflint.yaml").write_text("nodes: [nodes.json]\n")
        watching = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
        with Code(tmp_path, capabilities=watching) as client:
            client.until(lambda: client.registered("workspace/didChangeWatchedFiles"))
            (options,) = client.registered("workspace/didChangeWatchedFiles")
            assert {"globPattern": str(tmp_path / "nodes.json")} in options["watchers"]
