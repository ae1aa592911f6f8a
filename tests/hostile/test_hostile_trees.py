"""A tree from an untrusted source, with entries that are not files or that never end, in places that afflint reads by itself."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from under_limits import Afflint

# Only a Deployment that lacks something makes afflint look for a kustomization.
LACKING = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
"""
FOUND = "web.yaml:4:1: error this Deployment has no selector [selector-missing]"
STARS = "*a" * 25 + "b"
LONG = "a" * 60 + ".yaml"


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def huge(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(3 * 2**30)  # A hole: it takes no room.


THINGS = pytest.mark.parametrize("make", [endless, pipe, huge])


@THINGS
@pytest.mark.parametrize("name", ["Kustomization", ".gitignore", "pyproject.toml"])
def test_what_afflint_looks_for_by_itself_is_not_a_trap(name: str, make: Callable[[Path], None], afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "web.yaml").write_text(LACKING)
    make(tmp_path / name)
    ended = afflint("check", "--format", "concise", ".", megabytes=400)
    assert (ended.code, ended.lines, ended.err) == (1, [FOUND], "")
    assert ended.megabytes < 100


@THINGS
@pytest.mark.parametrize("key", ["extends", "nodes"])
def test_nor_is_what_a_configuration_names(key: str, make: Callable[[Path], None], afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(LACKING)
    (tmp_path / ".afflint.yaml").write_text(f"{key}: [thing]\n")
    make(tmp_path / "thing")
    ended = afflint("check", "--format", "concise", ".", megabytes=400)
    assert ended.code == 2
    assert any(reason in ended.err for reason in ("not a regular file", "larger than", "outside the repository"))
    assert ended.megabytes < 100


@pytest.mark.parametrize("words", [["check", "pipe.yaml"], ["check", "--nodes", "pipe.yaml"], ["place", "pipe.yaml"]])
def test_a_named_pipe_is_refused(words: list[str], afflint: Afflint, tmp_path: Path) -> None:
    """Nothing may ever write to it, and to wait for that would look like a long run."""
    pipe(tmp_path / "pipe.yaml")
    ended = afflint(*words)
    reason = "a named pipe (FIFO); use `-` with a redirection, or `<(command)`"
    assert (ended.code, ended.err) == (2, f"afflint: 'pipe.yaml' cannot be read: {reason}\n")


def test_so_is_a_baseline(afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / ".afflint.yaml").write_text("baseline: pipe\n")
    pipe(tmp_path / "pipe")
    ended = afflint("check")
    assert (ended.code, "a named pipe (FIFO)" in ended.err) == (2, True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("words", ["<(cat web.yaml)", "/dev/stdin < web.yaml", "- < web.yaml", "/dev/fd/0 < <(cat web.yaml)"])
def test_what_the_shell_makes_a_pipe_of_is_read(words: str, afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(LACKING)
    ended = afflint("check", "--format=concise", before=["/bin/bash", "-c", f'"$@" {words}', "bash"])
    assert (ended.code, ended.err, "[selector-missing]" in ended.out) == (1, "", True)


def test_stars_in_patterns_do_not_stall_a_run(afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text(f"{STARS}\n")
    (tmp_path / ".afflint.yaml").write_text(f"exclude: ['{STARS}']\nper-file-ignores: {{'{STARS}': [all]}}\n")
    (tmp_path / LONG).write_text(LACKING)
    for words in (["."], ["--force-exclude", LONG]):
        ended = afflint("check", "--format", "concise", *words)
        assert (ended.code, ended.lines) == (1, [FOUND.replace("web.yaml", LONG)])


# Faults of the machine.


def test_without_standard_error_the_exit_code_still_shows_the_result(afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(LACKING)
    shell = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh"]
    assert afflint("check", "--bogus", before=shell).code == 2
    assert afflint("check", "--no-config", ".", before=shell).code == 1


def test_a_working_directory_that_is_gone(afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(LACKING)
    shell = ["/bin/sh", "-c", 'mkdir gone; cd gone; rmdir ../gone; exec "$@"', "sh"]
    ended = afflint("check", "--no-config", str(tmp_path / "web.yaml"), before=shell)
    assert (ended.code, ended.err) == (2, "afflint: the working directory no longer exists; change to an existing one\n")


def test_a_baseline_nested_without_end_is_none(afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / "deep").write_text(100_000 * "[")
    ended = afflint("check", "--no-config", "--baseline", "deep", ".")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "afflint: the baseline 'deep' is nested too deeply; --write-baseline creates one\n"


def test_a_file_for_which_there_is_no_memory_is_a_finding(afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(LACKING)
    (tmp_path / "a.yaml").write_text(LACKING + "# " + 100_000_000 * "x")
    ended = afflint("check", "--no-config", "--format", "concise", ".", megabytes=200)
    assert (ended.code, ended.lines) == (1, ["a.yaml:1:1: error the file needs more memory than is available [unreadable-manifest]", FOUND])


def test_a_baseline_is_not_written_through_a_link_of_the_tree(afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(LACKING)
    (tmp_path / "precious").write_text("mine")
    (tmp_path / ".afflint-baseline.json").symlink_to("precious")
    ended = afflint("check", "--no-config", "--write-baseline", "web.yaml")
    assert ended.code == 2
    assert ended.err == "afflint: cannot write '.afflint-baseline.json': it is a symbolic link; name the file to write\n"
    assert (tmp_path / "precious").read_text() == "mine"


# Policies, and examples of them.

POLICY = "policies:\n- {name: team, check: required-template-labels, params: {labels: {team: '*'}}}\n"


@pytest.mark.parametrize(
    "page",
    [
        "```yaml bad\n" * 20_000,
        "```\ntext\n```\n" * 20_000,
        "```yaml good\n#" + " " * 30_000 + "x\n```\n",
        "```yaml bad line=" + "9" * 5_000 + " column=1\n```\n",
    ],
)
def test_a_page_that_is_not_an_example_is_read_through_once(page: str, afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / ".afflint.yaml").write_text(POLICY)
    (tmp_path / "team.md").write_text(page)
    ended = afflint("test", ".")
    assert ended.code in (0, 1, 2)


def test_owners_are_not_orders_to_a_terminal(afflint: Afflint, tmp_path: Path) -> None:
    (tmp_path / ".afflint.yaml").write_text(POLICY)
    (tmp_path / "web.yaml").write_text(LACKING)
    ended = afflint("report", "--owner", "\x1b[31m", ".")
    assert "\x1b" not in ended.out + ended.err
    assert "label \\x1b[31m" in ended.out
