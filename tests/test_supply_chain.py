"""What others supply is named by its content: actions by their commit, images by their digest, packages by their hashes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from checkout import ROOT, clean_environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "requirements").glob("*.txt"))}
PROGRAMS = [ROOT / "action.yml", *sorted((ROOT / ".github").rglob("*.yml"))]

each_lock = pytest.mark.parametrize("name", LOCKS)


def locked(name: str) -> list[tuple[Requirement, int]]:
    """The requirements of a lock file, and how many hashes each has."""
    entries = re.split(r"\n(?=\S)", re.sub(r"(?m)^#.*\n", "", LOCKS[name]).strip())
    return [(Requirement(entry.partition("\\")[0]), entry.count("--hash=sha256:")) for entry in entries]


@each_lock
def test_every_package_is_one_version_with_hashes(name: str) -> None:
    assert locked(name)
    for requirement, hashes in locked(name):
        assert [each.operator for each in requirement.specifier] == ["=="]
        assert hashes, requirement


@each_lock
def test_no_index_is_named(name: str) -> None:
    """The user may install from a mirror."""
    assert "://" not in LOCKS[name]
    assert "--index-url" not in LOCKS[name]


@pytest.mark.parametrize(
    ("name", "wanted"), [("runtime", PROJECT["project"]["dependencies"]), ("build", [*PROJECT["build-system"]["requires"], "build>=1.2"])]
)
def test_the_locks_agree_with_pyproject(name: str, wanted: list[str]) -> None:
    """If this fails, run `.ci/lock`."""
    pinned: dict[str, list[Requirement]] = {}
    for requirement, _ in locked(name):
        pinned.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    for each in map(Requirement, wanted):
        found = pinned.get(canonicalize_name(each.name), [])
        versions = [specifier.version for pin in found for specifier in pin.specifier]
        assert versions, f"{each.name} is not in requirements/{name}.txt"
        assert [version for version in versions if not each.specifier.contains(version)] == []


def test_actions_are_named_by_their_commit() -> None:
    """Tags of actions can be moved by others. The comment says which version it is."""
    lines = [line.partition("uses: ")[2] for path in PROGRAMS for line in path.read_text(encoding="utf-8").splitlines() if "uses: " in line]
    assert len(lines) > 10
    pinned = re.compile(r"[a-z-]+(?:/[a-z-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [each for each in lines if each != "./" and not pinned.fullmatch(each)] == []


def test_an_action_has_one_commit_for_one_version() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PROGRAMS)
    used = {*re.findall(r"uses: (\S+)@([0-9a-f]{40}) # (v\S+)", text)}
    assert len(used) == len({(action, version) for action, _, version in used})


def test_images_are_named_by_their_digest() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert bases
    assert [each for each in bases if not re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", each)] == []


def test_the_action_and_the_image_install_nothing_without_a_hash() -> None:
    for path in (ROOT / "action.yml", ROOT / "Containerfile"):
        text = path.read_text(encoding="utf-8").replace("pip install --quiet --disable-pip-version-check --no-cache-dir)", "")
        installs = re.findall(r'(?:\bpip(?: --python \S+)? (?:install|wheel)|"\$\{pip\[@\]\}") [^&\n]*', text)
        assert len(installs) >= 3
        assert [each for each in installs if "--require-hashes" not in each and not {"--no-deps", "--no-index"} <= {*each.split()}] == []


def test_zizmor_finds_nothing_in_the_workflows() -> None:
    zizmor = shutil.which("zizmor", path=str(Path(sys.executable).parent)) or shutil.which("zizmor")
    if zizmor is None:
        pytest.skip("zizmor is not installed: pip install zizmor")
    command = [zizmor, "--offline", "--no-progress", "--min-severity", "medium", ".github", "action.yml"]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
