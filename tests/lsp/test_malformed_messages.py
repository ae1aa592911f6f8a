"""Messages in which something has another type than the protocol says: answered with an error or skipped, never an internal error."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp_client import Client

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeSelector: {disktype: 1}, containers: [{name: c, image: i}]}\n"
VALUES = (
    None,
    5,
    -1,
    10**30,
    1.5,
    True,
    "",
    "text",
    "\ud800",
    "file:///\ud800%00",
    "file:///a\0b",
    "file://[",
    [],
    [[]],
    [None],
    [{}],
    {},
    {"a": 1},
)
CAPABILITIES: tuple[Any, ...] = (
    {},
    {"workspace": {"configuration": True, "inlayHint": {"refreshSupport": True}}},
    {"general": {"positionEncodings": [[]]}},
)
SEEDS = 8
MESSAGES = 400


def valid_messages(uri: str) -> list[tuple[str, Any]]:
    """One valid message of each kind that the server handles, and its parameters."""
    document = {"textDocument": {"uri": uri}}
    place = {"line": 3, "character": 24}
    span = {"start": place, "end": {"line": 3, "character": 30}}
    return [
        ("initialize", {"processId": None, "rootUri": uri, "capabilities": {"general": {"positionEncodings": ["utf-8"]}}}),
        ("initialized", {}),
        ("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": POD}}),
        (
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"range": span, "text": "x"}, {"text": POD}]},
        ),
        ("textDocument/didSave", document),
        ("textDocument/didClose", {"textDocument": {"uri": f"{uri}.other"}}),
        ("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]}),
        (
            "workspace/didChangeWorkspaceFolders",
            {"event": {"added": [{"uri": uri, "name": "x"}], "removed": [{"uri": "file:///gone", "name": "y"}]}},
        ),
        ("workspace/didChangeConfiguration", {"settings": {"afflint": {"hints": False, "diagnostics": "open"}}}),
        ("textDocument/hover", {**document, "position": place}),
        ("textDocument/definition", {**document, "position": place}),
        ("textDocument/references", {**document, "position": place, "context": {"includeDeclaration": True}}),
        ("textDocument/completion", {**document, "position": place, "context": {"triggerKind": 1}}),
        ("textDocument/inlayHint", {**document, "range": span}),
        ("textDocument/codeLens", document),
        ("textDocument/documentLink", document),
        ("textDocument/codeAction", {**document, "range": span, "context": {"diagnostics": [], "only": ["quickfix"]}}),
        ("codeAction/resolve", {"title": "Fix", "kind": "quickfix", "data": {"uri": uri, "rule": "wrong-type"}}),
        ("textDocument/diagnostic", {**document, "identifier": "a", "previousResultId": "b"}),
        ("workspace/diagnostic", {"previousResultIds": [{"uri": uri, "value": "a"}]}),
        ("$/cancelRequest", {"id": 5}),
        ("$/setTrace", {"value": "off"}),
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in a value."""
    yield path
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(each, (*path, key))


def malformed(message: dict[str, Any], path: tuple[Any, ...], value: Any, *, missing: bool) -> dict[str, Any]:
    """The message with another value at a path, or without it."""
    if not path:
        return message
    changed: Any = copy.deepcopy(message)
    *above, last = path
    holder = changed
    for key in above:
        holder = holder[key]
    if missing:
        del holder[last]
    else:
        holder[last] = value
    result: dict[str, Any] = changed
    return result


def logged(client: Client) -> list[str]:
    return [each["params"]["message"] for each in client.notifications if each["method"] == "window/logMessage"]


@pytest.mark.parametrize(
    "params",
    [
        {"contentChanges": [{"text": "x"}]},
        {"version": 2, "contentChanges": 5},
        {"version": 2, "contentChanges": [5]},
        {"version": 2, "contentChanges": [{"text": "kind: Pod\n"}, {"text": 5}]},
        {"version": 2, "contentChanges": [{"text": "x", "range": {"start": {"line": 0, "character": 0}}}]},
        {"version": "2", "contentChanges": [{"text": "x"}]},
    ],
)
def test_a_malformed_change_is_skipped_as_a_whole_and_named_in_the_log(params: dict[str, Any], tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        client.open("web.yaml", POD)
        version = {name: params[name] for name in ("version",) if name in params}
        document = {"uri": client.uri("web.yaml"), **version}
        client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": params["contentChanges"]})
        client.change("web.yaml", (3, 32, 3, 33, '"2"'))
        client.until(lambda: client.versions.get("web.yaml") == 2)
        assert client.rules("web.yaml") == []
        assert logged(client) == ["afflint: skipped a malformed notification `textDocument/didChange`"]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_value_of_any_type_anywhere_is_an_internal_error(seed: int, tmp_path: Path) -> None:
    """What is wrong is answered or skipped, and the server works as before: its standard error is empty, as the client checks."""
    draw = random.Random(seed)
    (tmp_path / "web.yaml").write_text(POD)
    with Client(tmp_path, capabilities=draw.choice(CAPABILITIES)) as client:
        client.open("web.yaml", POD)
        messages = valid_messages(client.uri("web.yaml"))
        for number in range(MESSAGES):
            method, params = draw.choice(messages)
            message: dict[str, Any] = {"method": method, "params": params}
            if draw.random() < 0.6:
                message["id"] = 1_000_000 + number
            if draw.random() < 0.05:
                message = {"id": f"afflint-{draw.randrange(5)}", "result": [{"hints": True}]}
            path = draw.choice([*places(message)])
            client.send(malformed(message, path, draw.choice(VALUES), missing=draw.random() < 0.2))
        client.close("web.yaml")
        client.open("web.yaml", POD)
        hover = client.request("textDocument/hover", client.at("web.yaml", 3, 25))
        assert "error" not in json.dumps(hover)
        assert not [line for line in logged(client) if "internal error" in line]
