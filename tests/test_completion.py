"""What shells complete, asked as they ask: the words so far in the environment, an answer a line (click's protocol), and in bash itself."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from afflint.checks.registry import CATEGORIES, rules
from afflint.report import FORMATS
from checkout import clean_environment


def completed(*words: str, folder: Path | None = None) -> list[str]:
    """What completes the last of the words after ``afflint``: each with its type, in the words of click."""
    environment = clean_environment(_AFFLINT_COMPLETE="bash_complete", COMP_WORDS=" ".join(("afflint", *words)), COMP_CWORD=str(len(words)))
    done = subprocess.run(
        [sys.executable, "-m", "afflint"], env=environment, cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line for line in done.stdout.splitlines() if line]


def test_commands_and_options() -> None:
    assert completed("che") == ["plain,check"]
    assert completed("check", "--ext") == ["plain,--extend-select"]
    assert completed("place", "--dr") == ["plain,--drain"]


@pytest.mark.parametrize("option", ["--select", "--extend-select", "--ignore"])
def test_rules_and_categories(option: str) -> None:
    assert completed("check", option, "empty-t") == ["plain,empty-term", "plain,empty-topology-key"]
    assert completed("check", option, "aff") == [f"plain,{name}" for name in (*rules(), *CATEGORIES) if name.startswith("aff")]


def test_the_last_of_a_list_of_rules_without_those_that_are_there() -> None:
    assert completed("check", "--ignore", "labels,empty-term,empty-t") == ["plain,labels,empty-term,empty-topology-key"]


def test_a_page_has_one_name() -> None:
    assert completed("rule", "empty-topo") == ["plain,empty-topology-key"]
    assert completed("rule", "labels,") == []
    assert completed("rule", "al") == []


def test_words_that_an_option_takes() -> None:
    assert completed("check", "--format", "") == [f"plain,{name}" for name in FORMATS]
    assert completed("place", "--format", "h") == ["plain,html"]
    assert completed("check", "--fail-on", "w") == ["plain,warning"]
    assert completed("check", "--color", "n") == ["plain,never"]
    assert completed("check", "--kubernetes-version", "1.2")[0] == "plain,1.29"


def test_files_and_folders_are_the_shells() -> None:
    assert completed("check", "deploy/w") == ["file,deploy/w"]
    assert completed("place", "--nodes", "no") == ["file,no"]
    assert completed("check", "--helm", "ch") == ["dir,ch"]


def test_what_is_wrong_already_is_not_complained_about() -> None:
    assert completed("nothing", "x") == []
    assert completed("check", "--no-such-option", "x") == ["file,x"]


def test_a_mistake_in_the_configuration_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / ".afflint.yaml").write_text("{", encoding="utf-8")
    assert completed("rule", "empty-topo", folder=tmp_path) == ["plain,empty-topology-key"]


@pytest.mark.skipif(os.name == "nt" or shutil.which("bash") is None, reason="there is no bash of this system")
def test_in_bash_as_the_manual_has_it(tmp_path: Path) -> None:
    """The script that the manual's line loads answers for the words of a command line."""
    (tmp_path / "deploy").mkdir()
    script = """
        eval "$(_AFFLINT_COMPLETE=bash_source afflint)"
        complete -p afflint
        COMP_WORDS=(afflint check --select empty-t); COMP_CWORD=3
        _afflint_completion afflint
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    environment = clean_environment(PATH=f"{Path(sys.executable).parent}:/usr/bin:/bin")
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=environment, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    if "4.4" in done.stdout + done.stderr:
        pytest.skip("this bash is too old for completion")
    assert done.stdout.splitlines() == ["complete -o nosort -F _afflint_completion afflint", "empty-term", "empty-topology-key"], (
        done.stderr
    )


@pytest.mark.parametrize("shell, words", [("zsh", "#compdef afflint"), ("fish", "complete --no-files --command afflint")])
def test_for_the_other_shells_there_is_a_script_too(shell: str, words: str) -> None:
    environment = clean_environment(_AFFLINT_COMPLETE=f"{shell}_source")
    done = subprocess.run([sys.executable, "-m", "afflint"], env=environment, capture_output=True, encoding="utf-8", check=True)
    assert words in done.stdout
    assert "_AFFLINT_COMPLETE" in done.stdout
