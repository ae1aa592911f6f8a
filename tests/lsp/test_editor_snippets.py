"""The snippets of docs/editors.md for editors that are not here: their form, their keys, and the command that they start."""

import json
import re
import shutil
import subprocess

import pytest

from checkout import ROOT

PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
COMMAND = ["afflint", "lsp"]


def snippet(editor: str, language: str) -> str:
    """The first block in a language below the heading of an editor."""
    section = PAGE.partition(f"\n## {editor}\n")[2].partition("\n## ")[0]
    (block, *_) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return str(block)


def test_helix() -> None:
    """Keys: https://docs.helix-editor.com/languages.html."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads TOML")
    languages = tomllib.loads(snippet("Helix", "toml"))
    server = languages["language-server"]["afflint"]
    assert server.keys() <= {"command", "args", "config", "timeout", "environment", "required-root-patterns"}
    assert [server["command"], *server["args"]] == COMMAND
    (yaml,) = languages["language"]
    # The list replaces that of Helix, which has one server for YAML.
    assert yaml == {"name": "yaml", "language-servers": ["yaml-language-server", "afflint"]}


def test_sublime_text() -> None:
    """Keys: https://lsp.sublimetext.io/client_configuration/."""
    clients = json.loads(snippet("Sublime Text", "json"))["clients"]
    client = clients["afflint"]
    assert client.keys() <= {"enabled", "command", "selector", "env", "initializationOptions", "settings", "priority_selector"}
    assert client["command"] == COMMAND
    assert client["enabled"] is True
    assert {each.strip() for each in client["selector"].split("|")} == {"source.yaml", "source.json"}


def test_emacs() -> None:
    text = snippet("Emacs", "lisp")
    assert text.count("(") == text.count(")")
    assert " ".join(json.dumps(word) for word in COMMAND) in text
    emacs = shutil.which("emacs")
    if emacs is None:
        pytest.skip("Emacs is not installed: only the form of its snippet is checked")
    registered = f"(progn (setq eglot-server-programs nil) {text} (provide 'eglot) (prin1 eglot-server-programs))"
    done = subprocess.run([emacs, "--batch", "--eval", registered], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == '(((yaml-mode yaml-ts-mode) "afflint" "lsp"))'


def test_each_editor_has_a_section() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    editors = ["Neovim", "Visual Studio Code", "JetBrains IDEs", "Emacs", "Helix", "Sublime Text", "Zed"]
    assert [each for each in editors if each not in headings] == []
    # Where afflint is, however it was installed.
    found = PAGE.partition("## If the editor does not find afflint")[2].partition("\n## ")[0]
    assert all(word in found for word in ("pipx", "uv tool", "virtual environment", "command -v afflint", "where afflint"))
