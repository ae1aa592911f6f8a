"""The server as Visual Studio Code uses it: its own language client, on a replacement for the rest of the editor.

The client comes from npm: `npm install --prefix DIR vscode-languageclient@9 jest-mock-vscode`, and NODE_PATH=DIR/node_modules.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from afflint.lsp import settings as client_settings
from checkout import ROOT, clean_environment

SESSION = Path(__file__).with_name("visual_studio_code") / "session.js"


def documented() -> list[dict[str, Any]]:
    """The settings that the documentation has, whole or a line of them."""
    blocks = re.findall(r"```jsonc\n(.*?)```", (ROOT / "docs" / "editors.md").read_text(encoding="utf-8"), re.DOTALL)
    return [json.loads(each if each.startswith("{") else f"{{{each}}}") for each in blocks]


def has_client() -> bool:
    wanted = ("vscode-languageclient/node", "jest-mock-vscode")
    looking = "; ".join(f"require.resolve({each!r})" for each in wanted)
    node = shutil.which("node")
    return node is not None and subprocess.run([node, "-e", looking], cwd=SESSION.parent, capture_output=True, check=False).returncode == 0


def test_the_documented_settings_are_those_of_the_extension_and_the_server() -> None:
    extension = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
    declared = extension["contributes"]["configuration"]["properties"]
    whole, line = documented()
    assert {name for name in (*whole, *line) if name.startswith("afflint.")} <= declared.keys()
    faults: list[str] = []
    settings = {name.removeprefix("afflint."): value for name, value in line.items()}
    assert client_settings.read(settings, faults) != client_settings.EditorSettings()
    assert not faults


GIVEN = {"glspc.server.commandArguments": ["lsp"], "glspc.server.languageId": ["yaml", "json"]}


def test_the_client_of_visual_studio_code(tmp_path: Path) -> None:
    if not has_client():
        pytest.skip("node, or what it needs from npm (see at the top of this file), is not installed")
    shop = tmp_path / "the shop (ä)"
    shutil.copytree(ROOT / "examples" / "shop", shop)
    (shop.parent / ".git").mkdir()
    (shop / ".afflint.yaml").write_text("nodes: [../nodes.json]\n")
    (tmp_path / "nodes.json").write_text('{"nodes": [{"name": "one", "labels": {"ssd": "true"}}]}')
    environment = clean_environment(**{name: os.environ[name] for name in ("NODE_PATH",) if name in os.environ})
    command = ["node", str(SESSION), sys.executable, "-m", "afflint"]
    done = subprocess.run(command, input=json.dumps(GIVEN), cwd=shop, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    events = json.loads(done.stdout)
    # A file with line breaks of Windows, and a fox in it, which counts as two, until that is typed over.
    assert events["behindFox"] == ["19:15 wrong-type"]
    assert events["shown"] == ["19:14 wrong-type", "7:5 label-not-on-template"]
    assert events["hover"].startswith("Deployment cart must not share a node with any pod that has `tier=session`, in this namespace:")
    assert events["hints"] == ["selects no pods here"]
    assert events["fixed"] == ["7:5 label-not-on-template", '        ssd: "true"']
    # The settings change while it runs.
    assert "27:15 missing-term-wrapper" in events["unopened"]
    assert events["openOnly"] == []
    # So do nodes outside of the folder.
    assert events["withOtherNodes"] == ["18:7 unschedulable", "19:9 unknown-node-label", "7:5 label-not-on-template"]
    assert events["exit"] == 0
    assert events["log"] == []
