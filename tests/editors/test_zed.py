"""The extension for Zed: what it declares, and that it compiles against the interface of Zed."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from afflint import __version__
from checkout import ROOT, clean_environment
from rendering.real_tools import FOLDER

EXTENSION = ROOT / "editors" / "zed"


def toml(path: Path) -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads TOML")
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return data


def test_it_declares_the_languages_that_the_server_knows() -> None:
    manifest = toml(EXTENSION / "extension.toml")
    # https://zed.dev/docs/extensions/developing-extensions
    assert manifest.keys() == {"id", "name", "description", "version", "schema_version", "authors", "repository", "language_servers"}
    assert (manifest["id"], manifest["schema_version"]) == ("afflint", 1)
    server = manifest["language_servers"]["afflint"]
    assert server["languages"] == [*server["language_ids"]] == ["YAML", "JSON", "Helm"]
    vscode = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
    events = {event.removeprefix("onLanguage:") for event in vscode["activationEvents"] if event.startswith("onLanguage:")}
    assert {*server["language_ids"].values()} == events


def test_it_has_the_version_of_the_package() -> None:
    versions = {toml(EXTENSION / "extension.toml")["version"], toml(EXTENSION / "Cargo.toml")["package"]["version"]}
    assert versions == {__version__}


def test_the_documented_settings_are_those_that_it_reads() -> None:
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8").partition("## Zed")[2].partition("\n## ")[0]
    settings = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])["lsp"]["afflint"]
    program = (EXTENSION / "src" / "lib.rs").read_text(encoding="utf-8")
    assert settings.keys() == {"settings"}
    assert {*re.findall(r"for_worktree\(NAME, worktree\)\?\.(\w+)", program)} == {*settings}


def test_no_setting_of_a_repository_starts_anything() -> None:
    """Zed merges `.zed/settings.json` of a repository into what an extension reads: only the section of the server is passed on."""
    program = (EXTENSION / "src" / "lib.rs").read_text(encoding="utf-8")
    code = "\n".join(line.partition("//")[0] for line in program.splitlines())
    assert code.count("LspSettings::") == 1
    command = "".join(code.partition("fn language_server_command")[2].partition("\n    }\n")[0].split())
    assert "Settings" not in command
    assert "worktree.which(NAME)" in command
    assert "initialization_options" not in code


def test_it_compiles(tmp_path: Path) -> None:
    """The first time downloads and compiles its dependencies; they are kept for the next."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed")
    folder = shutil.copytree(EXTENSION, tmp_path / "zed", ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    # The newest versions of its dependencies that the installed compiler knows.
    environment = clean_environment(CARGO_TARGET_DIR=str(FOLDER / "zed"), CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS="fallback")
    done = subprocess.run([cargo, "check", "--quiet"], cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    if "Could not resolve host" in done.stderr:
        pytest.skip("the dependencies cannot be downloaded")
    assert (done.returncode, done.stderr) == (0, "")
