"""What is shipped is tested as shipped: the wheel, made from the sdist, in an environment of its own, the source tree out of reach.

Building and installing needs the package index, once for all these tests.
"""

import json
import os
import shutil
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from checkout import ROOT, copy_to, run

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
    - {name: web, image: "nginx:1.27"}
  nodeSelector:
    disktype: 1
"""


class Shipped(NamedTuple):
    """The archives, and the scripts' folder of an environment into which the wheel is installed."""

    sdist: Path
    wheel: Path
    scripts: Path


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    folder = tmp_path_factory.mktemp("shipped")
    tree = copy_to(folder / "tree")
    run((sys.executable, "-m", "build", "--outdir", folder / "dist", tree), folder)
    shutil.rmtree(tree)
    (sdist,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run((scripts / "python", "-m", "pip", "install", "--quiet", wheel), folder)
    return Shipped(sdist, wheel, scripts)


def files_below(name: str) -> set[str]:
    return {path.name for path in (ROOT / name).iterdir() if path.is_file()}


def test_the_rules_of_the_wheel_are_those_of_the_tree(shipped: Shipped, tmp_path: Path) -> None:
    here = json.loads(run((sys.executable, "-m", "afflint", "rule", "--format", "json"), ROOT))
    there = json.loads(run((shipped.scripts / "afflint", "rule", "--format", "json"), tmp_path))

    assert there == here
    assert {f"{rule['name']}.md" for rule in there} == files_below("rules")


def test_the_installed_afflint_runs_its_own_files(shipped: Shipped, tmp_path: Path) -> None:
    module = run((shipped.scripts / "python", "-c", "import afflint; print(afflint.__file__)"), tmp_path).strip()

    assert Path(module).is_relative_to(shipped.scripts.parent)
    assert not {"rules", "schemas"} - {path.name for path in Path(module).parent.iterdir()}


def test_the_installed_afflint_checks_a_manifest(shipped: Shipped, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD, encoding="utf-8")

    report = run((shipped.scripts / "afflint", "check", "--format", "concise"), tmp_path, expect=1)
    assert report.startswith("pod.yaml:9:15: error the value of `disktype` must be a string")
    assert report.endswith("[wrong-type]\n")


def test_the_installed_afflint_checks_a_configuration_against_its_schema(shipped: Shipped, tmp_path: Path) -> None:
    (tmp_path / ".afflint.yaml").write_text("ignore: [wrong-type]\nexcludes: [vendor/]\n", encoding="utf-8")

    report = run((shipped.scripts / "afflint", "check"), tmp_path, expect=2)
    assert report == "afflint: .afflint.yaml:2:1: unknown key `excludes`; did you mean `exclude`?\n"


def test_the_wheel_has_the_package_its_data_and_nothing_else(shipped: Shipped) -> None:
    with zipfile.ZipFile(shipped.wheel) as archive:
        names = archive.namelist()
    data = {f"afflint/{folder}/{name}" for folder in ("rules", "schemas") for name in files_below(folder)}

    assert not data - {*names}
    assert "afflint/py.typed" in names
    assert {name.split("/")[0] for name in names} == {"afflint", shipped.wheel.name.rsplit("-", 3)[0] + ".dist-info"}
    assert not [name for name in names if name.endswith((".pyc", ".c", ".so"))]


def test_the_sdist_has_what_its_tests_need_and_no_leftovers(shipped: Shipped) -> None:
    with tarfile.open(shipped.sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    needed = {"pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", ".ci/run", ".gitignore"}
    needed |= {".pre-commit-hooks.yaml", ".pre-commit-config.yaml"}
    for folder in ("src", "tests", "rules", "schemas", "examples", "bench", "docs", "website"):
        needed |= {
            path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts
        }

    assert sorted(needed - names) == []
    assert not [name for name in names if "__pycache__" in name or name.startswith((".venv", ".git/", ".hypothesis", "dist"))]
