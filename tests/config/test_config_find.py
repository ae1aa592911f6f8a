"""Which file configures a run."""

import os
import subprocess
import sys

import pytest
from configured import Write

import afflint
from afflint.config import find


def test_the_nearest_configuration_upward_is_found(write: Write) -> None:
    write(".afflint.yaml", "")
    write("team/.afflint.yaml", "")
    write("team/app/deploy/web.yaml", "")
    assert find(".") == ".afflint.yaml"
    assert find("team/app/deploy") == "team/.afflint.yaml".replace("/", os.sep)
    assert find("team/app/deploy/web.yaml") == "team/.afflint.yaml".replace("/", os.sep)


def test_above_the_working_directory_the_path_is_absolute(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    above = write(".afflint.yaml", "")
    write("team/web.yaml", "")
    monkeypatch.chdir("team")
    found = find(".")
    assert found is not None
    assert os.path.isabs(found)
    assert os.path.samefile(found, above)


def test_in_one_directory_yaml_comes_before_yml_before_pyproject(write: Write) -> None:
    write("pyproject.toml", "[tool.afflint]\n")
    assert find(".") == "pyproject.toml"
    write(".afflint.yml", "")
    assert find(".") == ".afflint.yml"
    write(".afflint.yaml", "")
    assert find(".") == ".afflint.yaml"


@pytest.mark.parametrize(
    "pyproject",
    [
        '[project]\nname = "web"\n',
        '[project.optional-dependencies]\ndev = ["afflint"]\n',
        '[tool.other]\nafflint = "no"\n',
        'tool = "afflint"\n',
        "[broken\nafflint\n",
    ],
)
def test_a_pyproject_without_the_table_is_skipped(write: Write, pyproject: str) -> None:
    write(".afflint.yaml", "")
    write("app/pyproject.toml", pyproject)
    assert find("app") == ".afflint.yaml"


@pytest.mark.parametrize(
    "pyproject",
    [
        "[tool]\nafflint.select = []\n",
        "[[tool.afflint.policies]]\n",
        "[tool.afflint]\nselect = [\n",
        "[tool.afflint]\n" + "#" * (1 << 20),
    ],
)
def test_a_pyproject_with_our_table_is_taken_and_a_broken_one_is_not_hidden(write: Write, pyproject: str) -> None:
    write("app/pyproject.toml", pyproject)
    assert find("app") == os.path.join("app", "pyproject.toml")


def test_a_git_directory_does_not_end_the_search(write: Write) -> None:
    write(".afflint.yaml", "")
    write("repository/.git/HEAD", "ref: refs/heads/main\n")
    assert find("repository") == ".afflint.yaml"


def test_a_directory_of_that_name_is_not_a_configuration(write: Write) -> None:
    write("app/.afflint.yaml/README", "")
    write(".afflint.yaml", "")
    assert find("app") == ".afflint.yaml"


def test_without_a_configuration_nothing_is_imported_for_one() -> None:
    code = """
import sys
from afflint import config
settings = config.with_overrides(config.default(), select=["all"])
config.is_selected("empty-topology-key", "admission", True, settings)
heavy = {"jsonschema", "json", "pathlib", "pathspec", "ruamel", "ruamel.yaml", "tomllib", "tomli", "difflib"}
print(sorted(heavy & set(sys.modules)))
"""
    source = os.path.abspath(os.path.join(os.path.dirname(afflint.__file__), ".."))
    environment = {**os.environ, "PYTHONPATH": source}
    # -S: packages of the environment may import what they like at start-up, e.g. to measure coverage.
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.strip() == "[]"
