"""The extension in a real Visual Studio Code, as a user sees it. The example is `examples/shop`."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from afflint import __version__
from browser import chromium
from checkout import ROOT
from editors.vscode_window import VSCode, Window, code_server, running, wait_until

NODE = """\
apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{ssd: "true", kubernetes.io/hostname: {name}, topology.kubernetes.io/zone: {zone}}}}}
status: {{allocatable: {{cpu: "8", memory: 32Gi, pods: "110"}}}}
"""


@pytest.fixture(scope="module")
def vscode(tmp_path_factory: pytest.TempPathFactory, packed: Path, python_extension: Path) -> Iterator[VSCode]:
    chromium()
    code_server()
    with running(tmp_path_factory.mktemp("code-server"), packed, python_extension) as vscode:
        yield vscode


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The example, with the afflint of this environment in a virtual environment of the folder: no setting names it."""
    shop = tmp_path / "shop"
    shutil.copytree(ROOT / "examples" / "shop", shop)
    (shop / ".venv" / "bin").mkdir(parents=True)
    (shop / ".venv" / "bin" / "afflint").symlink_to(Path(sys.executable).parent / "afflint")
    return shop


def opened(vscode: VSCode, shop: Path, line: int = 1, column: int = 1) -> Window:
    """A window with `cart.yaml`, as soon as its findings are there."""
    window = vscode.window(shop, "cart.yaml", line, column)
    window.page.until("!!document.querySelector('.squiggly-error') && !!document.querySelector('.squiggly-warning')")
    return window


def test_it_marks_findings_counts_them_and_says_which_afflint_runs(vscode: VSCode, shop: Path) -> None:
    window = opened(vscode, shop)
    assert window.item("status.problems") == "Errors: 1, Warnings: 1"
    assert f"afflint {__version__}, from the virtual environment .venv of shop" in window.item("status.languageStatus")


def test_the_pointer_on_a_finding_shows_its_message_and_its_rule(vscode: VSCode, shop: Path) -> None:
    window = opened(vscode, shop)
    window.point_at(".squiggly-error")
    assert "wrong-type" in window.until_text(".monaco-hover", "the value of `ssd` must be a string, but unquoted `true` is a boolean")


def test_the_first_quick_fix_applies_the_fix(vscode: VSCode, shop: Path) -> None:
    window = opened(vscode, shop, 19, 15)
    window.press(".", control=True)
    assert window.text(".action-widget").splitlines() == [
        "Quick Fix",
        'Quote it: `"true"` (wrong-type)',
        "Ignore `wrong-type` here, with a reason",
    ]
    window.press("Enter")
    assert window.until_text(".view-line", '"true"').strip() == 'ssd: "true"'
    window.page.until("!document.querySelector('.squiggly-error')")


def test_it_fixes_on_save_what_is_safe_to_fix(vscode: VSCode, shop: Path) -> None:
    (shop / ".vscode").mkdir()
    (shop / ".vscode" / "settings.json").write_text(json.dumps({"editor.codeActionsOnSave": {"source.fixAll.afflint": "explicit"}}))
    before = (shop / "cart.yaml").read_text()
    window = opened(vscode, shop)
    window.press("End")
    window.page.type("  # Saved")
    window.press("s", control=True)
    after = before.replace("apps/v1", "apps/v1  # Saved").replace("ssd: true", 'ssd: "true"')
    wait_until(lambda: (shop / "cart.yaml").read_text() == after, "cart.yaml is fixed on disk")


def test_a_command_fixes_the_open_file(vscode: VSCode, shop: Path) -> None:
    window = opened(vscode, shop)
    window.run("afflint: Fix all")
    assert window.until_text(".view-line", '"true"').strip() == 'ssd: "true"'


def test_a_page_shows_where_the_workload_at_the_cursor_runs(vscode: VSCode, shop: Path) -> None:
    (shop / "nodes.yaml").write_text("---\n".join(NODE.format(name=name, zone=f"zone-{name}") for name in "ab"))
    window = opened(vscode, shop, 19, 15)
    window.press("End")
    window.page.type("  # Not saved yet")
    window.run("afflint: Show where this workload runs")
    page = window.webview()
    assert window.page.value(f"{page}.querySelector('h1').innerText") == "1 workload on 2 nodes in 2 zones"
    window.until_text(".tab.active .label-name", "Deployment cart")
    assert "# Not saved yet" in (shop / "cart.yaml").read_text()
    # The policy of the page lets its style and its script apply.
    chosen = "input[name=loss][data-action=lose]"
    ruled = f"{page}.defaultView.getComputedStyle({page}.querySelector('h2')).borderTopWidth"
    assert window.page.value(ruled) == "1px"
    window.page.value(f"{page}.querySelector({chosen!r}).click()")
    window.page.until(f"{page}.location.hash.includes('after=')")


def test_without_nodes_it_offers_to_name_them(vscode: VSCode, shop: Path) -> None:
    window = opened(vscode, shop)
    window.run("afflint: Show where this workload runs")
    assert "Set the Nodes" in window.until_text(".notification-toast", "no nodes are known")


def test_why_opens_the_reasons_beside_the_manifest(vscode: VSCode, shop: Path) -> None:
    (shop / "nodes.yaml").write_text(NODE.format(name="a", zone="zone-a"))
    window = opened(vscode, shop)
    window.run("afflint: Why does it not run here")
    window.until_text(".editor-group-container.active .view-lines", "Deployment default/cart (cart.yaml:4): 0 of 3 replicas run.")


def test_an_afflint_that_does_not_start_is_reported(vscode: VSCode, shop: Path) -> None:
    (shop / ".vscode").mkdir()
    (shop / ".vscode" / "settings.json").write_text(json.dumps({"afflint.path": "missing/afflint"}))
    window = vscode.window(shop, "cart.yaml")
    window.until_text(".notification-toast", "afflint.path is missing/afflint, which does not start.")
    assert "afflint not found" in window.item("status.languageStatus")


# Which afflint runs, and for how long.

STATUS = "status.languageStatus"


def until_status(window: Window, part: str) -> None:
    """Wait until the status item says something."""
    window.page.until(f"document.getElementById({STATUS!r})?.ariaLabel?.includes({part!r})")


def scripted(folder: Path, body: str) -> Path:
    """An afflint of the user's own: a script that may do something before it is the afflint of this environment."""
    folder.mkdir(parents=True)
    script = folder / "afflint"
    script.write_text(f'#!/bin/sh\n{body}\nexec {Path(sys.executable).parent / "afflint"} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def test_another_interpreter_starts_the_server_of_its_environment(vscode: VSCode, shop: Path) -> None:
    window = opened(vscode, shop)
    until_status(window, "from the virtual environment .venv of shop")
    started = shop / "started"
    python = scripted(shop / "other" / "bin", f'[ "$1" = lsp ] && touch {started}').with_name("python")
    (shop / ".selected").write_text(str(python), encoding="utf-8")
    window.run("Python: Select Interpreter")
    until_status(window, "from the selected Python environment")
    wait_until(started.exists, "the server of the other environment has started")


def test_a_changed_setting_starts_the_server_that_it_names(vscode: VSCode, shop: Path) -> None:
    window = opened(vscode, shop)
    own = scripted(shop / "own", "")
    (shop / ".vscode").mkdir()
    (shop / ".vscode" / "settings.json").write_text(json.dumps({"afflint.path": str(own)}))
    until_status(window, "from the setting afflint.path")
    window.page.until("!!document.querySelector('.squiggly-error')")


def test_after_a_crash_the_server_starts_again_and_the_status_says_when_it_does_not(vscode: VSCode, shop: Path) -> None:
    broken, pid = shop / "broken", shop / "pid"
    (shop / ".venv" / "bin" / "afflint").unlink()
    (shop / ".venv" / "bin").rmdir()
    scripted(shop / ".venv" / "bin", f'if [ "$1" = lsp ]; then [ -e {broken} ] && exit 1; echo $$ >{pid}; fi')
    window = opened(vscode, shop)
    first = pid.read_text()
    os.kill(int(first), signal.SIGKILL)
    wait_until(lambda: pid.read_text() not in (first, ""), "the server has started again")
    until_status(window, f"afflint {__version__}")
    window.page.until("!!document.querySelector('.squiggly-error')")
    broken.touch()
    os.kill(int(pid.read_text()), signal.SIGKILL)
    until_status(window, "afflint stopped")
    broken.unlink()
    window.run("afflint: Restart the server")
    until_status(window, f"afflint {__version__}, from the virtual environment .venv")


# What the open folder must not do.


def test_names_that_begin_like_options_are_not_options(vscode: VSCode, shop: Path) -> None:
    (shop / "-nodes.yaml").write_text(NODE.format(name="a", zone="zone-a"))
    (shop / ".vscode").mkdir()
    (shop / ".vscode" / "settings.json").write_text(json.dumps({"afflint.nodes": ["-nodes.yaml"]}))
    (shop / "cart.yaml").write_text((shop / "cart.yaml").read_text().replace("name: cart", "name: --output=written", 1))
    window = opened(vscode, shop, 4)
    window.run("afflint: Show where this workload runs")
    page = window.webview()
    assert window.page.value(f"{page}.querySelector('h1').innerText") == "1 workload on 1 node in 1 zone"
    window.run("afflint: Why does it not run here")
    window.until_text(".editor-group-container.active .view-lines", "Deployment default/--output=written (cart.yaml:4)")
    assert not (shop / "written").exists()


def test_a_folder_that_is_not_trusted_starts_no_program(tmp_path: Path, packed: Path, shop: Path) -> None:
    chromium()
    ran = shop / "ran"
    (shop / ".venv" / "bin" / "afflint").unlink()
    (shop / ".venv" / "bin").rmdir()
    scripted(shop / ".venv" / "bin", f"touch {ran}")
    (shop / ".vscode").mkdir()
    (shop / ".vscode" / "settings.json").write_text(json.dumps({"afflint.path": str(shop / ".venv" / "bin" / "afflint")}))
    with running(tmp_path / "untrusted", packed, trusted=False) as vscode:
        window = vscode.window(shop, "cart.yaml")
        window.until_text(".statusbar-item", "Restricted Mode")
        window.until_text(".view-line", "kind: Deployment")
        window.run("Workspaces: Manage Workspace Trust")
        window.until_text(".workspace-trust-editor .monaco-button", "Trust")
        assert not ran.exists()
        # The same folder, trusted: the program would have started.
        buttons = "[...document.querySelectorAll('.workspace-trust-editor .monaco-button')]"
        window.page.value(f"{buttons}.find((each) => each.innerText.trim() === 'Trust').click()")
        wait_until(ran.exists, "the program of the trusted folder has started")
