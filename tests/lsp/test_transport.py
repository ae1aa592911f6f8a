"""Messages in pieces, too long, malformed or out of order: they neither end the server nor block later requests."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from afflint.lsp.transport import INVALID_REQUEST, PARSE_ERROR, InvalidMessage, Message, MessageReader, MessageWriter
from checkout import clean_environment
from lsp_client import PATIENCE, Client


def messages(data: bytes, longest: int = 1000, piece: int = 1 << 20) -> list[Message | InvalidMessage]:
    """What a reader makes of a stream that comes in pieces."""
    stream = io.BytesIO(data)
    reader = MessageReader(lambda size: stream.read(min(size, piece)), longest)
    found = []
    while (message := reader.read()) is not None:
        found.append(message)
    return found


ONE = b'Content-Length: 7\r\n\r\n{"a":1}'


@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_messages_may_arrive_in_pieces(piece: int) -> None:
    assert messages(ONE + ONE, piece=piece) == [{"a": 1}, {"a": 1}]


@pytest.mark.parametrize(
    "before, expected",
    [
        (b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n", []),
        (b"content-length: 3\r\n", []),  # the last one counts
        (b"\r\n\r\n", []),
        (b"nonsense\r\n" * 10, []),
        (b"x" * 20_000 + b"\r\n", []),
        (b"Content-Length: 2000\r\n\r\n" + b"x" * 2000, [INVALID_REQUEST]),
        (b"Content-Length: 3\r\n\r\n{a:", [PARSE_ERROR]),
        (b"Content-Length: 2\r\n\r\n[]", [INVALID_REQUEST]),
        (b"Content-Length: 400\r\n\r\n" + b"[" * 400, [PARSE_ERROR]),
        (b"Content-Length: 99999999999999999999999\r\n", []),
        (b"Content-Length: -1\r\n", []),
    ],
)
def test_the_message_after_invalid_input_is_read(before: bytes, expected: list[int]) -> None:
    *faults, last = messages(before + ONE)
    assert [each.code for each in faults if isinstance(each, InvalidMessage)] == expected
    assert last == {"a": 1}


def test_a_partial_message_is_the_end() -> None:
    assert messages(ONE + ONE[:-1]) == [{"a": 1}]


def test_any_text_can_be_written_and_a_closed_reader_is_reported_once() -> None:
    lost: list[int] = []
    stream = io.BytesIO()
    writer = MessageWriter(stream, lambda: lost.append(1))
    writer.write({"params": "\ud800 🦊"})
    assert messages(stream.getvalue()) == [{"jsonrpc": "2.0", "params": "\ud800 🦊"}]
    stream.close()
    writer.write({})
    writer.write({})
    assert lost == [1]


class TestSession:
    def test_only_initialize_is_accepted_first(self, tmp_path: Path) -> None:
        with Client(tmp_path, initialize=False) as client:
            assert client.request("textDocument/hover", {})["error"]["code"] == -32002
            client.notify("textDocument/didOpen", {})
            assert "capabilities" in client.request("initialize", {"capabilities": {}})
            assert client.request("initialize", {"capabilities": {}})["error"]["code"] == -32600

    def test_the_message_after_a_broken_one_is_answered(self, tmp_path: Path) -> None:
        with Client(tmp_path) as client:
            client.raw(b"{no json")
            client.raw(b"[]")
            client.notify("$/unknown", None)
            assert client.request("no/such", {})["error"] == {"code": -32601, "message": "unknown method 'no/such'"}
            assert client.request("textDocument/definition", client.at("none.yaml", 0, 0)) == []

    @pytest.mark.parametrize("params", [None, [], {}, {"textDocument": 1}, {"textDocument": {"uri": 7}, "position": {"line": -1}}])
    def test_invalid_parameters_are_an_error_response(self, tmp_path: Path, params: object) -> None:
        client = Client(tmp_path)
        client.open("a.yaml", "a: b\n")
        assert client.request("textDocument/hover", params)["error"]["code"] == -32602
        client.notify("textDocument/didChange", params)
        client.notify("textDocument/didOpen", params)
        assert client.request("textDocument/hover", client.at("a.yaml", 0, 0)) is None
        client.end()

    def test_a_cancelled_request_gets_no_result(self, tmp_path: Path) -> None:
        with Client(tmp_path) as client:
            client.open("a.yaml", "a: b\n" * 1000)
            body = b""
            for number in (901, 902):
                request = b'{"jsonrpc":"2.0","id":%d,"method":"textDocument/codeLens","params":{"textDocument":{"uri":"x"}}}' % number
                body += b"Content-Length: %d\r\n\r\n%b" % (len(request), request)
            cancel = b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":902}}'
            client.bytes(b"Content-Length: %d\r\n\r\n%b" % (len(cancel), cancel) + body)
            assert "result" in client.wait(901)
            assert client.wait(902)["error"]["code"] == -32800

    def test_after_a_shutdown_only_exit_is_accepted(self, tmp_path: Path) -> None:
        with Client(tmp_path) as client:
            assert client.request("shutdown", None) is None
            assert client.request("textDocument/hover", {})["error"]["code"] == -32600
            client.notify("exit", None)
            assert client.process.wait(PATIENCE) == 0

    def test_an_exit_or_an_end_without_a_shutdown_is_a_failure(self, tmp_path: Path) -> None:
        for end in (lambda client: client.notify("exit", None), lambda client: client.process.stdin.close()):
            client = Client(tmp_path)
            end(client)
            assert client.process.wait(PATIENCE) == 1
            client.end()

    @pytest.mark.skipif(os.name != "posix", reason="only there the end of a process can be seen")
    def test_the_server_ends_with_its_editor(self, tmp_path: Path) -> None:
        editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        client = Client(tmp_path, "--stdio", f"--clientProcessId={editor.pid}")
        assert editor.stdin is not None
        editor.stdin.close()
        editor.wait()
        assert client.process.wait(PATIENCE) == 1
        client.end()

    def test_wrong_usage_is_reported_at_once(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "afflint", "lsp", "--config", "none.yaml"]
        done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), input=b"", capture_output=True, check=False)
        assert done.returncode == 2
        assert done.stderr == b"afflint: no such configuration file: 'none.yaml'\n"


def test_a_plain_check_imports_no_server(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Pod\n")
    program = "import sys; from afflint import cli; cli._exit_code(); print([each for each in sys.modules if 'lsp' in each])"
    command = [sys.executable, "-c", program, "check", "a.yaml"]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, encoding="utf-8", check=False)
    assert done.stdout.splitlines()[-1] == "[]"


def test_fast_typing_needs_few_checks(tmp_path: Path) -> None:
    """What waits is put together: a hundred keystrokes at once are far from a hundred checks."""
    with Client(tmp_path) as client:
        client.open("a.yaml", "kind: Pod\n" + "# a\n" * 2000)
        body = b""
        for version in range(2, 102):
            change = b'{"range":{"start":{"line":5,"character":1},"end":{"line":5,"character":1}},"text":"x"}'
            document = b'{"uri":"%b","version":%d}' % (client.uri("a.yaml").encode(), version)
            params = b'{"textDocument":%b,"contentChanges":[%b]}' % (document, change)
            note = b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":%b}' % params
            body += b"Content-Length: %d\r\n\r\n%b" % (len(note), note)
        before = len(client.versions_seen)
        client.bytes(body)
        client.until(lambda: client.versions.get("a.yaml") == 101)
        assert len(client.versions_seen) - before < 50


JUNK = (None, 5, -1, 10**30, 1.5, True, "", "text", [], [[]], [{}], {"uri": 5}, {"a": 1})


def test_malformed_messages_cause_no_internal_error(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("kind: Pod\n")
    with Client(tmp_path) as client:
        client.open("web.yaml")
        for junk in JUNK:
            for method in (
                "textDocument/didOpen",
                "textDocument/didSave",
                "workspace/didChangeWatchedFiles",
                "workspace/didChangeWorkspaceFolders",
            ):
                for params in (
                    junk,
                    {"textDocument": junk},
                    {"changes": junk},
                    {"event": junk},
                    {"event": {"added": junk, "removed": junk}},
                ):
                    client.send({"method": method, "params": params})
            for method in ("textDocument/hover", "codeAction/resolve", junk):
                client.send({"id": 1_000_000, "method": method, "params": junk})
            client.send({"id": {"a": junk}, "method": "textDocument/hover", "params": {}})
        assert client.request("workspace/diagnostic", {"previousResultIds": []})["items"] is not None


def test_the_server_starts_with_an_unfinished_configuration(tmp_path: Path) -> None:
    (tmp_path / ".afflint.yaml").write_text("policies: [{name\n")
    started = subprocess.run(
        [sys.executable, "-m", "afflint", "lsp"], cwd=tmp_path, env=clean_environment(), input=b"", capture_output=True
    )
    assert (started.returncode, started.stderr) == (1, b"")
