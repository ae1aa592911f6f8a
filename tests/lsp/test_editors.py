"""The server as real clients use it: Neovim, and the client of pygls, which holds each message against the types of the protocol."""

import asyncio
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from checkout import ROOT, clean_environment, run

NEOVIM = """
local results = {}
local function diagnostics()
  local lines = {}
  for _, each in ipairs(vim.diagnostic.get(0)) do
    table.insert(lines, string.format("%d:%d %s", each.lnum + 1, each.col + 1, each.code or each.user_data.lsp.code))
  end
  table.sort(lines)
  return lines
end
local function until_there_are(number)
  vim.wait(30000, function() return #vim.diagnostic.get(0) == number end, 20)
  table.insert(results, diagnostics())
end
local function request(method, params)
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, params, 30000) or {}) do
    return answer.result
  end
end
vim.cmd("edit cart.yaml")
local id = vim.lsp.start_client({ name = "afflint", cmd = AFFLINT, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, id)
until_there_are(2)
-- A fox in front of the value moves it by two units of UTF-16, one character, four bytes.
vim.api.nvim_buf_set_text(0, 18, 8, 18, 11, { '"🦊"' })
vim.api.nvim_win_set_cursor(0, { 19, 17 })
vim.wait(30000, function() return diagnostics()[1] == "19:17 wrong-type" end, 20)
table.insert(results, diagnostics())
local params = vim.lsp.util.make_range_params()
params.context = { diagnostics = {} }
for _, action in ipairs(request("textDocument/codeAction", params)) do
  if action.title:find("wrong%-type") and action.edit then
    vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
    break
  end
end
table.insert(results, vim.api.nvim_buf_get_lines(0, 18, 19, false))
until_there_are(2)
vim.api.nvim_win_set_cursor(0, { 23, 16 })
table.insert(results, request("textDocument/hover", vim.lsp.util.make_position_params()).contents.value)
vim.fn.writefile({ vim.json and vim.json.encode(results) or vim.fn.json_encode(results) }, "results.json")
vim.cmd("qall!")
"""


AS_DOCUMENTED = """
local results = {}
local function until_there_are(number)
  vim.wait(30000, function() return #vim.diagnostic.get(0) == number end, 20)
  for _, each in ipairs(vim.diagnostic.get(0)) do
    table.insert(results, string.format("%d:%d %s", each.lnum + 1, each.col + 1, each.code))
  end
end
vim.cmd("edit cart.yaml")
until_there_are(2)
vim.lsp.buf.code_action({ context = { only = { "source.fixAll.afflint" }, diagnostics = {} }, apply = true })
until_there_are(1)
table.insert(results, vim.api.nvim_buf_get_lines(0, 18, 19, false)[1])
vim.fn.writefile({ vim.json.encode(results) }, "results.json")
vim.cmd("qall!")
"""


def version_of_neovim() -> tuple[int, ...]:
    """(0, 0) without one."""
    if shutil.which("nvim") is None:
        return 0, 0
    printed = run(["nvim", "--version"], ROOT)
    return tuple(int(part) for part in printed.split("\n")[0].split("v")[-1].split("-")[0].split(".")[:2])


@pytest.mark.skipif(version_of_neovim() < (0, 8), reason="Neovim 0.8 is not installed")
def test_neovim_set_up_as_documented(shop: Path) -> None:
    (shop / ".git").mkdir()
    blocks = re.findall(r"```lua\n(.*?)```", (ROOT / "docs" / "editors.md").read_text(encoding="utf-8"), re.DOTALL)
    command = ", ".join(json.dumps(each) for each in (sys.executable, "-m", "afflint", "lsp"))
    written = '{ "afflint", "lsp" }'
    newest, older = blocks[:2]
    assert written in newest
    assert written in older
    block = newest if version_of_neovim() >= (0, 11) else older
    (shop.parent / "init.lua").write_text(block.replace(written, f"{{ {command} }}"), encoding="utf-8")
    (shop.parent / "session.lua").write_text(AS_DOCUMENTED, encoding="utf-8")
    environment = clean_environment(HOME=str(shop.parent), XDG_STATE_HOME=str(shop.parent), TERM="dumb")
    printed = run(
        ["nvim", "--headless", "-u", "../init.lua", "-c", "luafile ../session.lua", "-c", "cquit"],
        shop,
        environment=environment,
        expect=None,
    )
    assert (shop / "results.json").exists(), printed
    messages = json.loads((shop / "results.json").read_text(encoding="utf-8"))
    assert messages == ["7:5 label-not-on-template", "19:14 wrong-type", "7:5 label-not-on-template", '        ssd: "true"']


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples" / "shop", tmp_path / "shop"))


@pytest.mark.skipif(not (0, 1) <= version_of_neovim() < (0, 11), reason="no Neovim before 0.11, whose functions these are, is installed")
def test_neovim(shop: Path) -> None:
    command = ", ".join(json.dumps(each) for each in (sys.executable, "-m", "afflint", "lsp"))
    script = shop.parent / "session.lua"
    script.write_text(NEOVIM.replace("AFFLINT", f"{{ {command} }}"), encoding="utf-8")
    environment = clean_environment(HOME=str(shop.parent), XDG_STATE_HOME=str(shop.parent), TERM="dumb")
    printed = run(
        ["nvim", "--headless", "-u", "NONE", "-c", f"luafile {shlex.quote(str(script))}", "-c", "cquit"],
        shop,
        environment=environment,
        expect=None,
    )
    assert (shop / "results.json").exists(), printed
    first, moved, line, fixed, hover = json.loads((shop / "results.json").read_text(encoding="utf-8"))
    assert first == ["19:14 wrong-type", "7:5 label-not-on-template"]
    assert moved == ["19:17 wrong-type", "19:9 invalid-label-key", "7:5 label-not-on-template"]
    assert line == ['        "🦊": "true"']
    assert fixed == ["19:9 invalid-label-key", "7:5 label-not-on-template"]
    assert hover.startswith("Deployment cart must not share a node with any pod that has `tier=session`, in this namespace:")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_the_types_of_the_protocol(shop: Path, encoding: str) -> None:
    """The client of pygls reads each answer into the types of the protocol, and says what does not fit."""
    pytest.importorskip("pygls", reason="pygls is not installed")
    asyncio.run(_session(shop, encoding))


async def _session(folder: Path, encoding: str) -> None:
    from lsprotocol import types
    from pygls.lsp.client import LanguageClient

    client = LanguageClient("tests", "1")
    published: asyncio.Queue[Any] = asyncio.Queue()
    refreshed = asyncio.Event()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def shows(params: Any) -> None:
        published.put_nowait(params)

    @client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
    def refreshes(_params: Any) -> None:
        refreshed.set()

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def registers(_params: Any) -> None:
        pass

    await client.start_io(sys.executable, "-m", "afflint", "lsp", cwd=folder, env=clean_environment())
    capabilities = types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(encoding)]),
        text_document=types.TextDocumentClientCapabilities(inlay_hint=types.InlayHintClientCapabilities()),
        workspace=types.WorkspaceClientCapabilities(
            inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        ),
    )
    folders = [types.WorkspaceFolder(uri=folder.as_uri(), name="shop")]
    params = types.InitializeParams(capabilities=capabilities, process_id=None, root_uri=None, workspace_folders=folders)
    initialized = await client.initialize_async(params)
    assert initialized.capabilities.position_encoding == encoding
    client.initialized(types.InitializedParams())
    uri = (folder / "web.yaml").as_uri()
    text = (folder / "web.yaml").read_text(encoding="utf-8").replace("# The pages", "# 🦊 The pages")
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", 1, text)))
    shown = await asyncio.wait_for(published.get(), 60)
    assert {each.source for each in shown.diagnostics} == {"afflint"}
    await asyncio.wait_for(refreshed.wait(), 60)
    document, start = types.TextDocumentIdentifier(uri), shown.diagnostics[0].range.start
    whole = types.Range(types.Position(0, 0), types.Position(99, 0))
    context = types.CodeActionContext(diagnostics=shown.diagnostics)
    assert await client.text_document_code_action_async(types.CodeActionParams(document, whole, context))
    assert await client.text_document_hover_async(types.HoverParams(document, start))
    assert await client.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
    assert await client.text_document_completion_async(types.CompletionParams(document, start)) is not None
    assert await client.text_document_definition_async(types.DefinitionParams(document, start)) is not None
    assert await client.text_document_document_link_async(types.DocumentLinkParams(document)) is not None
    await client.shutdown_async(None)
    client.exit(None)
    await asyncio.sleep(0)
    await client.stop()
