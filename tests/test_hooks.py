"""The hooks as users have them: the real pre-commit installs them from the real hook file into a git repository of its own.

The first test waits for pre-commit to build the hooks' environment, which needs the package index.
"""

import re
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from checkout import ROOT, clean_environment, copy_to, run

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or find_spec("pre_commit") is None, reason="git and pre-commit are needed to try the hooks"
)

GOOD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
    - {name: web, image: "nginx:1.27"}
  nodeSelector:
    disktype: ssd
"""
BAD = GOOD.replace("disktype: ssd", "disktype: 1")
MISTAKE = "web.yaml:9:15: error the value of `disktype` must be a string"
VALUES = "replicaCount: 2\nnodeSelector: {disktype: 1}\n"


class Repository:
    """A git repository that uses afflint's hooks."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment

    def git(self, *words: str, expect: int = 0) -> str:
        return run(("git", *words), self.folder, environment=self.environment, expect=expect)

    def pre_commit(self, *words: str, expect: int = 0) -> str:
        return run((sys.executable, "-m", "pre_commit", *words), self.folder, environment=self.environment, expect=expect)

    def simulation_input(self, **files: str) -> None:
        """Writes manifests, named without their suffix, and stages them."""
        for name, text in files.items():
            (self.folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        self.git("add", "--all")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, str]]:
    """The repository that has the hooks, its revision, and an environment in which pre-commit keeps what it installs to itself."""
    folder = copy_to(tmp_path_factory.mktemp("hooks") / "afflint")
    environment = clean_environment(PRE_COMMIT_HOME=str(tmp_path_factory.mktemp("pre-commit")))
    for command in ("git init --quiet", "git add --all", "git commit --quiet --message tree"):
        run(command.split(), folder, environment=environment)
    return folder, run(("git", "rev-parse", "HEAD"), folder, environment=environment).strip(), environment


@pytest.fixture
def repository(hooks: tuple[Path, str, dict[str, str]], tmp_path: Path) -> Callable[[str], Repository]:
    """Makes a repository whose .pre-commit-config.yaml lists these hooks."""
    source, revision, environment = hooks

    def repository(listed: str) -> Repository:
        made = Repository(tmp_path, environment)
        config = f"repos:\n- repo: {source}\n  rev: {revision}\n  hooks: [{listed}]\n"
        (tmp_path / ".pre-commit-config.yaml").write_text(config, encoding="utf-8")
        made.git("init", "--quiet")
        return made

    return repository


def test_pre_commit_finds_no_mistake_in_the_hook_file_or_in_our_own_configuration() -> None:
    for command in (("validate-manifest", ".pre-commit-hooks.yaml"), ("validate-config", ".pre-commit-config.yaml")):
        assert run((sys.executable, "-m", "pre_commit", *command), ROOT) == ""


def test_our_own_hook_passes_over_what_is_wrong_on_purpose() -> None:
    config = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    (exclude,) = re.findall(r"^ +exclude: (.*)$", config, re.MULTILINE)
    manifests = [path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").rglob("*.yaml")]
    checked = [name for name in manifests if not re.search(exclude, name)]
    assert run((sys.executable, "-m", "afflint", "check", "--format", "concise", *checked), ROOT) == ""


def test_the_changed_files_are_checked(repository: Callable[[str], Repository]) -> None:
    project = repository("{id: afflint}")
    project.simulation_input(web=GOOD, values=VALUES)
    assert "afflint (changed files)" in project.pre_commit("run", "--all-files")

    project.simulation_input(web=BAD)
    assert MISTAKE in project.pre_commit("run", "afflint", expect=1)


def test_a_commit_is_refused_until_it_is_fixed(repository: Callable[[str], Repository]) -> None:
    project = repository("{id: afflint}")
    project.pre_commit("install")
    project.simulation_input(web=BAD)
    assert MISTAKE in project.git("commit", "--message", "web", expect=1)

    project.simulation_input(web=GOOD)
    project.git("commit", "--message", "web")
    assert project.git("log", "--format=%s") == "web\n"


def test_changed_files_that_are_not_yaml_start_nothing(repository: Callable[[str], Repository]) -> None:
    project = repository("{id: afflint}, {id: afflint-all}")
    project.simulation_input(web=BAD)
    project.git("commit", "--quiet", "--message", "before the hooks")
    (project.folder / "README.md").write_text("# Web\n", encoding="utf-8")
    project.git("add", "--all")

    assert project.pre_commit("run").count("Skipped") == 2


def test_the_whole_repository_is_checked_when_any_manifest_changes(repository: Callable[[str], Repository]) -> None:
    project = repository("{id: afflint}, {id: afflint-all}")
    project.simulation_input(web=BAD)
    project.git("commit", "--quiet", "--message", "before the hooks")
    project.simulation_input(other=GOOD)

    report = project.pre_commit("run", expect=1)
    assert [line.rsplit(".", 1)[1] for line in report.splitlines() if line.startswith("afflint (")] == ["Passed", "Failed"]
    assert MISTAKE in report

    project.simulation_input(web=GOOD)
    assert project.pre_commit("run", "--all-files").count("Passed") == 2


def test_an_untracked_file_neither_stops_nor_fixes_a_commit(repository: Callable[[str], Repository]) -> None:
    project = repository("{id: afflint-all}")
    project.pre_commit("install")
    project.simulation_input(web=GOOD)
    (project.folder / "draft.yaml").write_text(BAD, encoding="utf-8")
    project.git("commit", "--message", "web")

    (project.folder / "web.yaml").write_text(BAD, encoding="utf-8")
    assert MISTAKE in project.git("commit", "--all", "--message", "the index of `git commit --all`", expect=1)
    assert project.git("log", "--format=%s") == "web\n"


def test_a_rule_across_manifests_sees_all_files_that_a_commit_changes(repository: Callable[[str], Repository]) -> None:
    project = repository("{id: afflint}")
    shop = ROOT / "examples" / "shop"
    project.simulation_input(**{path.stem: path.read_text(encoding="utf-8") for path in (shop / "orders.yaml", shop / "orders-db.yaml")})

    assert "orders-db.yaml:7:5: error the label `app: orders-db` is set only on the VirtualMachine itself" in project.pre_commit(
        "run", expect=1
    )


def test_args_of_a_configuration_replace_the_format(repository: Callable[[str], Repository]) -> None:
    project = repository("{id: afflint, args: [--format, github, --ignore, labels]}")
    project.simulation_input(web=BAD)

    assert "::error file=web.yaml,line=9,col=15," in project.pre_commit("run", expect=1)


def test_the_fixing_hook_fixes_and_ends_the_commit(repository: Callable[[str], Repository]) -> None:
    project = repository("{id: afflint-fix}")
    project.pre_commit("install")
    project.simulation_input(web=BAD, values=VALUES)
    report = project.git("commit", "--message", "web", expect=1)
    assert "files were modified by this hook" in report
    assert (project.folder / "web.yaml").read_text(encoding="utf-8") == BAD.replace("disktype: 1", 'disktype: "1"')
    assert (project.folder / "values.yaml").read_text(encoding="utf-8") == VALUES

    project.git("add", "--all")
    project.git("commit", "--message", "web")
    assert project.git("log", "--format=%s") == "web\n"


def test_the_fixing_hook_reports_what_it_cannot_fix(repository: Callable[[str], Repository]) -> None:
    project = repository("{id: afflint-fix, args: [--format, concise, --ignore, labels]}")
    project.simulation_input(web=GOOD.replace("disktype: ssd", "-a-: ssd"))
    assert "web.yaml:9:5: error" in project.pre_commit("run", "afflint-fix", expect=1)
