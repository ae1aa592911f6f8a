"""What a wildcard finds through a link that leads out of a tree: nothing, neither to read nor to write."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from afflint.findings.errors import UserError
from afflint.mcp.runner import CommandRunner
from afflint.source.globs import paths_like
from afflint.source.sources import SourceError, discover
from command_line import Afflint

FAULTY = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {nodeSelector: {disktype: 1}, containers: [{name: c, image: i}]}\n"
GLOBS = [
    "l*/secret.yaml",
    "l*/*.yaml",
    "l*",
    "*",
    "[l]ink/*",
    "?ink/deep/*.yaml",
    "*/secret.yaml",
    "*/*",
    "**/l*/*",
    "s*",
    "sub/l*/*.yaml",
    "sub/*",
]
UPWARD = ["in*/../../outside/*.yaml", "*/../../outside/secret.yaml"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with links to a folder and a file outside; it is the working directory."""
    for name in ("outside/secret.yaml", "outside/deep/secret.yaml", "tree/web.yaml", "tree/sub/web.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(FAULTY.replace("NAME", "secret" if "secret" in name else "web"))
    top = tmp_path / "tree"
    (top / ".git").mkdir()
    (top / "link").symlink_to("../outside")
    (top / "secret.yaml").symlink_to("../outside/secret.yaml")
    (top / "sub" / "link").symlink_to("../link")
    (top / "inside").symlink_to("sub")
    (top / "inside.yaml").symlink_to("web.yaml")
    monkeypatch.chdir(top)
    return top


def found(*paths: str) -> list[str]:
    try:
        return sorted(source.name for source in discover(paths))
    except SourceError:
        return []


@pytest.mark.parametrize("version_control", [True, False])
@pytest.mark.parametrize("glob", GLOBS)
def test_no_file_outside_is_found(glob: str, version_control: bool, tree: Path) -> None:
    if not version_control:
        (tree / ".git").rmdir()
    outside = str(tree.parent / "outside")
    assert [name for name in found(glob) if os.path.realpath(name).startswith(outside)] == []
    assert [name for name in found(str(tree / glob)) if os.path.realpath(name).startswith(outside)] == []
    assert [name for name in paths_like(str(tree), glob) if os.path.realpath(name).startswith(outside)] == []


@pytest.mark.parametrize("glob", UPWARD)
def test_nor_with_dots_behind_a_link(glob: str, tree: Path) -> None:
    (tree / "inside").unlink()
    (tree / "inside").symlink_to(".")
    assert found(glob) == []


@pytest.mark.usefixtures("tree")
def test_links_that_stay_inside_and_links_that_are_named_are_followed() -> None:
    assert found("in*") == ["inside.yaml", "inside/web.yaml"]
    assert found("in*/*.yaml") == ["inside/web.yaml"]
    assert found("link/*.yaml") == ["link/secret.yaml"]
    assert found("secret.yaml") == ["secret.yaml"]
    assert [*paths_like(".", "in*/*.yaml")] == ["inside/web.yaml"]
    assert [*paths_like(".", "link/s*.yaml")] == ["link/secret.yaml"]


def test_what_was_left_out_is_reported_to_the_caller(tree: Path) -> None:
    asked: list[str] = []

    def may_enter(path: str) -> bool:
        asked.append(os.path.relpath(path, tree))
        return True

    assert [*paths_like(str(tree), "l*/*", may_enter)] == []
    assert asked == [".", "link"]


@pytest.mark.parametrize("glob", GLOBS)
def test_check_reads_and_fix_writes_nothing_outside(glob: str, tree: Path, afflint: Afflint) -> None:
    before = (tree.parent / "outside" / "secret.yaml").read_text()
    for words in (("check",), ("check", "--diff"), ("check", "--fix", "--unsafe-fixes"), ("check", "--show-files")):
        done = afflint(*words, glob)
        assert "secret" not in done.out
    assert (tree.parent / "outside" / "secret.yaml").read_text() == before


@pytest.mark.parametrize("words", [("check", "--fix", "secret.yaml"), ("check", "--fix", "link/secret.yaml"), ("check", "--fix", "link")])
def test_fix_does_not_write_outside_even_if_the_link_is_named(words: tuple[str, ...], tree: Path, afflint: Afflint) -> None:
    """A shell expands `*` to the names of links."""
    before = (tree.parent / "outside" / "secret.yaml").read_text()
    done = afflint(*words)
    assert done.code == 2
    assert "is a symbolic link that leads out of the repository" in done.err
    assert (tree.parent / "outside" / "secret.yaml").read_text() == before


CONFIGURATIONS: dict[str, Callable[[str], str]] = {
    "policies": lambda glob: f"policies: ['{glob}']\n",
    "include": lambda glob: f"include: ['{glob}']\n",
    "context": lambda glob: f"context: ['{glob}']\n",
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("key", CONFIGURATIONS)
@pytest.mark.parametrize("glob", ["l*/*.yaml", "s*.yaml"])
def test_the_globs_of_a_configuration_find_nothing_outside(key: str, glob: str, named: bool, tree: Path, afflint: Afflint) -> None:
    policies = "policies: {canary: {check: required-template-labels, params: {labels: {canary: '*'}}}}\n"
    for name in ("secret.yaml", "deep/secret.yaml"):
        (tree.parent / "outside" / name).write_text(policies if key == "policies" else FAULTY.replace("NAME", "secret"))
    (tree / ".afflint.yaml").write_text(CONFIGURATIONS[key](glob))
    done = afflint("check", "--format", "json", *(["--config", ".afflint.yaml"] if named else []))
    assert "canary" not in done.out + done.err
    assert '"name": "secret"' not in done.out


def checked(runner: CommandRunner, glob: str) -> str:
    """The report about a glob, or that it matches nothing."""
    try:
        return runner.run("check", ["--format=json"], runner.inside([glob])).output
    except UserError as error:
        return str(error).replace(repr(glob), "")


class TestAgents:
    """The server for agents reads the folder that it was started in, even where the repository extends beyond it."""

    @pytest.mark.parametrize("glob", [*GLOBS, "."])
    def test_find_nothing_outside(self, glob: str, tree: Path) -> None:
        runner = CommandRunner(str(tree))
        assert "secret" not in checked(runner, glob)

    @pytest.mark.parametrize("glob", ["l*", "*", ".", "s*.yaml"])
    def test_find_nothing_elsewhere_in_the_repository(self, glob: str, tree: Path) -> None:
        (tree / "sub" / "link").unlink()
        (tree / "sub" / "link").symlink_to("../private")
        (tree / "sub" / "secret.yaml").symlink_to("../private/secret.yaml")
        (tree / "private").mkdir()
        (tree / "private" / "secret.yaml").write_text(FAULTY.replace("NAME", "secret"))
        runner = CommandRunner(str(tree / "sub"))
        assert "secret" not in checked(runner, glob)

    def test_write_nothing_outside(self, tree: Path) -> None:
        before = (tree.parent / "outside" / "secret.yaml").read_text()
        runner = CommandRunner(str(tree))
        runner.run("check", ["--fix", "--exit-zero"], runner.inside(["*"]))
        assert (tree.parent / "outside" / "secret.yaml").read_text() == before
        assert "disktype: 1}" not in (tree / "web.yaml").read_text()
