"""The indexer, which reads all manifests: it may end at any time, is restarted, and never outlives the server."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from afflint import __version__
from afflint.findings.finding import NO_OBJECT, Edit, Found, FoundPlace, Span
from afflint.lsp.capabilities import Client as ClientOf
from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer import client, protocol
from afflint.lsp.indexer.process import Indexer, _encode
from afflint.lsp.indexer.protocol import (
    DocumentFindings,
    DocumentRecognized,
    IndexerInit,
    IndexerRequest,
    NumberedFile,
    Response,
    RunEnded,
    RunFindings,
    RunRequest,
    read_lines,
)
from afflint.lsp.project import Project
from checkout import ROOT
from lsp_client import PATIENCE, Client
from on_nodes import POOL
from widgets import DEFINITION

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the processes are looked up in /proc")

CART = ("6:4 label-not-on-template", "18:13 wrong-type")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples" / "shop", tmp_path / "shop"))


def second(client: Client) -> int:
    """The number of the second process."""
    (found,) = children(client)
    return found


def children(client: Client) -> list[int]:
    # Each is a child of the thread that started it.
    return [int(each) for file in Path(f"/proc/{client.process.pid}/task").glob("*/children") for each in file.read_text().split()]


def is_there(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def ends(process: int) -> bool:
    end = time.monotonic() + PATIENCE
    while is_there(process) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_there(process)


class TestRestart:
    def test_a_killed_indexer_is_restarted(self, shop: Path) -> None:
        with Client(shop) as client:
            client.open("cart.yaml")
            client.open("search.yaml")
            client.settle()
            before = client.rules("search.yaml")
            killed = second(client)
            os.kill(killed, signal.SIGKILL)
            client.until(lambda: client.notifications)
            assert client.notifications[0]["params"]["message"] == (
                "afflint: the indexer process was killed by SIGKILL; findings across manifests are not updated until it has restarted"
            )
            # What a keystroke needs is here, and what was found across manifests stays.
            client.change("cart.yaml", (0, 0, 0, 0, "# A cart.\n"))
            client.wait_for("cart.yaml", "7:4 label-not-on-template", "19:13 wrong-type")
            assert client.rules("search.yaml") == before
            # Then all is known again.
            client.settle()
            assert second(client) != killed
            assert client.request("textDocument/hover", client.at("cart.yaml", 23, 17))["contents"]["value"].startswith(
                "Deployment cart must"
            )
            client.notifications.clear()

    def test_its_requests_are_answered_without_it(self, shop: Path) -> None:
        with Client(shop) as client:
            client.open("cart.yaml")
            client.wait_for("cart.yaml", *CART)
            client.settle()
            stopped = second(client)
            os.kill(stopped, signal.SIGSTOP)
            hover = client.start("textDocument/hover", client.at("cart.yaml", 18, 14))
            lens = client.start("textDocument/codeLens", client.at("cart.yaml", 0, 0))
            os.kill(stopped, signal.SIGKILL)
            assert "the value of `ssd` must be a string" in client.wait(hover)["result"]["contents"]["value"]
            assert client.wait(lens)["result"] == []

    def test_a_keystroke_does_not_wait_for_the_indexer(self, shop: Path) -> None:
        with Client(shop) as client:
            client.open("cart.yaml")
            client.settle()
            stopped = second(client)
            os.kill(stopped, signal.SIGSTOP)
            for _ in range(20):
                client.change("cart.yaml", (0, 0, 0, 0, "# A cart.\n" * 1000))
            client.wait_for("cart.yaml", "20006:4 label-not-on-template", "20018:13 wrong-type")
            os.kill(stopped, signal.SIGCONT)


class TestUpgrade:
    """afflint is upgraded while an editor is open: the server has the old code, and a new indexer has the new code."""

    CHANGES = (
        (
            "__init__.py",
            f'__version__ = "{__version__}"',
            '__version__ = "99.1"',
            f"afflint 99.1 has been installed, but this server is {__version__}",
            f"afflint: this process is afflint 99.1, but the server that started it is {__version__}\n",
        ),
        (
            "lsp/indexer/protocol.py",
            "    client: Client\n",
            "    client: Client\n    more: int\n",
            "afflint has changed since this server was started",
            "afflint: unknown command from the server: ",
        ),
    )

    @pytest.mark.parametrize(("file", "before", "after", "reason", "refused"), CHANGES)
    def test_an_upgrade_is_reported_once_and_nothing_is_restarted(
        self, shop: Path, file: str, before: str, after: str, reason: str, refused: str
    ) -> None:
        package = shop.parent / "installed" / "afflint"
        for below in ("", "lsp", "lsp/indexer"):
            (package / below).mkdir(parents=True)
            for each in (ROOT / "src" / "afflint" / below).iterdir():
                if each.name not in ("lsp", "indexer", "__pycache__"):
                    (package / below / each.name).symlink_to(each)
        assert not (package / file).parent.is_symlink(), "the real package stays as it is"
        for each in ("rules", "schemas"):
            (package / each).symlink_to(ROOT / each)
        start = f"import sys; sys.path.insert(0, {str(package.parent)!r}); from afflint.__main__ import main; main()"
        client = Client(shop, command=[sys.executable, "-c", start, "lsp"])
        try:
            client.open("cart.yaml")
            client.open("search.yaml")
            client.settle()
            found = client.rules("search.yaml")
            text = (package / file).read_text()
            assert before in text
            (package / file).unlink()
            (package / file).write_text(text.replace(before, after))
            os.kill(second(client), signal.SIGKILL)
            client.until(lambda: len(client.notifications) == 2)
            assert client.notifications[1]["params"]["message"] == (
                f"afflint: {reason}: restart the language server; until then findings across manifests are not updated"
            )
            client.notifications.clear()
            # What a keystroke needs is here, what was found across manifests stays, and the editor does not try again.
            client.change("cart.yaml", (0, 0, 0, 0, "# A cart.\n"))
            client.wait_for("cart.yaml", "7:4 label-not-on-template", "19:13 wrong-type")
            assert client.request("textDocument/codeLens", client.at("cart.yaml", 0, 0)) == []
            assert client.rules("search.yaml") == found
            assert children(client) == []
            assert not client.notifications
            client.request("shutdown", None)
            client.notify("exit", None)
            assert client.process.wait(PATIENCE) == 0
            assert client.errors().startswith(refused)
        finally:
            client.end()


class TestEnd:
    @pytest.mark.parametrize("how", ["exit", "end of input", "SIGTERM", "SIGKILL"])
    def test_the_indexer_ends_with_the_server(self, shop: Path, how: str) -> None:
        client = Client(shop)
        client.open("cart.yaml")
        client.settle()
        other = second(client)
        if how == "exit":
            client.notify("exit", None)
        elif how == "end of input":
            assert client.process.stdin is not None
            client.process.stdin.close()
        else:
            client.process.send_signal(signal.Signals[how])
        client.process.wait(PATIENCE)
        assert ends(other)
        client.end()

    def test_the_indexer_ends_during_a_run(self, tmp_path: Path) -> None:
        text = (ROOT / "examples" / "shop" / "cart.yaml").read_text()
        for number in range(600):
            (tmp_path / f"{number}.yaml").write_text(text * 3)
        working = {"window": {"workDoneProgress": True}}
        client = Client(tmp_path, capabilities=working)
        client.until(lambda: any(each["method"] == "$/progress" for each in client.notifications))
        other = second(client)
        client.process.kill()
        client.process.wait(PATIENCE)
        assert ends(other)
        client.end()

    def test_the_indexer_ends_without_a_traceback_if_the_server_ended_first(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-c", client._START, __version__, *sys.path]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=PATIENCE)
        os.close(writing)
        assert done.stderr == b""

    def test_the_indexer_imports_no_modules_from_the_open_folder(self, shop: Path) -> None:
        for name in ("afflint", "json", "signal", "ruamel", "threading"):
            (shop / f"{name}.py").write_text("raise SystemExit('not this one')\n")
        command = [str(Path(sys.executable).with_name("afflint")), "lsp"]
        if not os.access(command[0], os.X_OK):
            pytest.skip("afflint is not installed as a command")
        with Client(shop, command=command) as client:
            client.open("cart.yaml")
            client.settle()
            assert client.rules("cart.yaml") == [*CART]


@pytest.mark.parametrize("beside", ["nodes: [{name: one}]\n", POOL, DEFINITION, DEFINITION + "---\n" + POOL])
def test_the_server_checks_under_the_settings_of_the_run(shop: Path, beside: str) -> None:
    (shop / "beside.yaml").write_text(beside)
    (shop / "widget.yaml").write_text("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {where: {tolerations: []}}\n")
    messages: SimpleQueue[Any] = SimpleQueue()
    command_line = CommandLineConfig(no_config=True)
    indexer = Indexer(IndexerInit(ClientOf(), command_line), lambda what: messages.put(protocol.REPORTS.decode(_encode(what))))
    indexer.execute(RunRequest(str(shop), True, True))
    ended = messages.get(timeout=PATIENCE)
    assert isinstance(ended, RunEnded)
    assert ended.findings is not None, ended.fault
    project, workspace = Project(str(shop), command_line, all_files=True), indexer._workspaces[str(shop)]
    before = project.settings
    project.adopt(ended.findings)
    assert workspace.state is not None
    assert project.settings == workspace.state.reduced.settings != before


class TestMessages:
    FOUND = Found("rule", "message", "help", 0, Span(1, 2, 3, 4), NO_OBJECT, "spec", "error", (FoundPlace(7, Span(1, 1, 1, 2), "there"),))

    def test_messages_arrive_unchanged(self) -> None:
        known = DocumentFindings(
            "file:///a%20b", 3, NumberedFile(1, "a b", "/srv/a b"), (self.FOUND,), (NumberedFile(7, "c", "/srv/\udcff"),)
        )
        for report in (
            RunEnded("/srv", RunFindings(True, "/srv", (known,))),
            DocumentRecognized("/srv", known),
            Response(3, {"a": [1, None, "🦊\ud800"]}),
        ):
            assert protocol.REPORTS.decode(protocol.REPORTS.encode(report)) == report
        order = IndexerRequest(1, "textDocument/hover", {"position": {"line": 0, "character": 1}})
        assert protocol.COMMANDS.decode(protocol.COMMANDS.encode(order)) == order

    def test_a_fix_that_json_cannot_represent_is_dropped(self) -> None:
        from afflint.findings.edits import Insert

        found = self.FOUND._replace(edits=(Edit(Span(1, 1, 1, 1), "x"),), meant=(Insert(("spec",), "a", {1: object()}),))
        report = RunEnded("/srv", RunFindings(False, "/srv", (DocumentFindings("file:///a", 1, None, (found,)),)))
        arrived = protocol.REPORTS.decode(_encode(report))
        assert arrived == RunEnded("/srv", RunFindings(False, "/srv", (DocumentFindings("file:///a", 1, None, (self.FOUND,)),)))

    def test_lines_may_arrive_in_pieces(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "_BLOCK", 5)
        reading, writing = os.pipe()
        os.write(writing, b"one\ntwo\n\na longer line\nhal")
        os.close(writing)
        assert list(read_lines(reading)) == [b"one", b"two", b"", b"a longer line"]
        os.close(reading)
