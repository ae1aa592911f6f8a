"""The extension for Visual Studio Code: what it declares, what its program does, and what is in the package."""

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from afflint.lsp.settings import _DEFAULTS, _NAMES
from checkout import ROOT

EXTENSION = ROOT / "editors" / "vscode"
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
SETTINGS: dict[str, Any] = MANIFEST["contributes"]["configuration"]["properties"]
PROGRAM = (EXTENSION / "src" / "extension.ts").read_text(encoding="utf-8")

SHOP = """\
# Two objects.
apiVersion: v1
kind: Service
metadata:
  name: shop
---
apiVersion: apps/v1
kind: "Deployment"
metadata:
  labels:
    name: label
  name: 'cart'   # of the shop
spec:
  template:
    metadata:
      name: inner
---
kind: Pod
metadata: {namespace: shop, name: flow}
---
{kind: Pod, metadata: {name: json}}
"""


def test_it_declares_the_settings_of_the_server_with_their_defaults() -> None:
    declared = {name.removeprefix("afflint."): setting["default"] for name, setting in SETTINGS.items()}
    assert {name: declared[name] for name in _NAMES} == {name: getattr(_DEFAULTS, field) for name, field in _NAMES.items()}
    assert declared.keys() - _NAMES.keys() == {"path", "nodes"}


def test_the_folder_that_is_open_can_neither_render_nor_start_another_program() -> None:
    """Settings with the scope `machine` are not read from a file of the folder; one that is overridable is, in a folder that is trusted."""
    assert SETTINGS["afflint.render"]["scope"] == "machine"
    assert SETTINGS["afflint.path"]["scope"] == "machine-overridable"
    assert MANIFEST["capabilities"]["untrustedWorkspaces"]["supported"] is False


def test_the_page_on_the_marketplace_has_what_people_look_for() -> None:
    icon = (EXTENSION / MANIFEST["icon"]).read_bytes()
    assert (icon[:8], icon[16:24]) == (b"\x89PNG\r\n\x1a\n", (128).to_bytes(4, "big") * 2)
    # The Marketplace takes at most 30 keywords, and these categories.
    assert len(MANIFEST["keywords"]) <= 30
    assert set(MANIFEST["categories"]) == {"Linters", "Programming Languages"}
    links = [MANIFEST["homepage"], MANIFEST["repository"]["url"], MANIFEST["bugs"]["url"]]
    assert all(link.startswith("https://github.com/OWNER/afflint") for link in links), "the release replaces OWNER"
    assert MANIFEST["galleryBanner"] == {"color": "#12343b", "theme": "dark"}


def test_each_command_is_registered() -> None:
    declared = {command["command"] for command in MANIFEST["contributes"]["commands"]}
    assert declared == {f"afflint.{name}" for name in re.findall(r'\bcommand\("(\w+)"', PROGRAM)}


def test_the_extension_and_the_package_have_one_version() -> None:
    from afflint import __version__

    assert MANIFEST["version"] == __version__


def test_the_package_contains_what_it_runs_and_nothing_else(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        names = {name.removeprefix("extension/") for name in archive.namelist() if name.startswith("extension/")}
        manifest = archive.read("extension.vsixmanifest").decode()
    (wheel,) = [name for name in names if name.endswith(".whl")]
    assert names == {"LICENSE.txt", "readme.md", "package.json", "icon.png", "dist/extension.js", "schemas/config.schema.json", wheel}
    assert 'Id="Microsoft.VisualStudio.Code.Engine"' in manifest


@pytest.mark.parametrize(
    ("line", "workload"),
    [
        (0, {"kind": "Service", "name": "shop"}),
        (4, {"kind": "Service", "name": "shop"}),
        (5, {"kind": "Deployment", "name": "cart"}),
        (15, {"kind": "Deployment", "name": "cart"}),
        (18, {"kind": "Pod", "name": "flow"}),
        (20, None),
        (99, None),
    ],
)
def test_the_workload_at_a_line_is_that_of_the_document_around_it(packed: Path, line: int, workload: dict[str, str] | None) -> None:
    assert packed.exists()
    bundle = [shutil.which("npx") or "npx", "esbuild", "src/workload.ts", "--format=cjs", "--log-level=error"]
    program = subprocess.run(bundle, cwd=EXTENSION, capture_output=True, encoding="utf-8", check=True).stdout
    asked = f"{program}\nconsole.log(JSON.stringify(module.exports.workloadAt({json.dumps(SHOP.splitlines())}, {line}) ?? null))"
    answer = subprocess.run([shutil.which("node") or "node", "-e", asked], capture_output=True, encoding="utf-8", check=True).stdout
    assert json.loads(answer) == workload
