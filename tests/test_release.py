"""A release: version, changelog and tag agree, new rules begin in preview, and the issue forms ask for what is needed.

The last tests execute the steps of the release workflow that build: they need the package index, and npm for the extension.
"""

import hashlib
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from afflint import __version__
from afflint.checks.registry import Rule, rules
from checkout import ROOT, clean_environment, copy_to, run

RELEASE: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "release.py"))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
PACKAGE = (ROOT / "src" / "afflint" / "__init__.py").read_text(encoding="utf-8")
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))

WRITTEN = """\
# Changelog

## Unreleased

## 1.1.0 (2026-12-24)

- New: this.

## 1.0.0 (2026-12-01)

The first one.
"""


# The changelog, the version and the tag.


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_the_changelog_has_its_form_the_newest_first() -> None:
    sections = RELEASE["sections"](CHANGELOG)
    versions = [numbers(version) for version in sections if version != "Unreleased"]
    assert versions == sorted({*versions}, reverse=True)
    assert [*sections][:1] == ["Unreleased"] or versions[0] == numbers(__version__)
    assert all(version <= numbers(__version__) for version in versions), "the version is raised before a release"


def test_what_is_not_released_is_a_version_of_its_own() -> None:
    """Once a version is released, the next entry under Unreleased comes with the next number."""
    sections = RELEASE["sections"](CHANGELOG)
    assert not (sections.get("Unreleased") and __version__ in sections)


def test_the_version_is_in_one_place() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert RELEASE["version_of"](PACKAGE) == __version__
    assert 'dynamic = ["version"]' in project
    assert re.findall(r'(?m)^path = "(.+)"$', project) == ["src/afflint/__init__.py"]
    assert not re.findall(r"(?m)^version\s*=", project)


def test_the_notes_of_a_release_are_its_section() -> None:
    assert RELEASE["notes"]("v1.1.0", '__version__ = "1.1.0"\n', WRITTEN) == "- New: this.\n"


@pytest.mark.parametrize(
    "tag, version, changelog, message",
    [
        ("v1.0.0", "1.1.0", WRITTEN, "the tag is 'v1.0.0', but the version in src/afflint/__init__.py is 1.1.0: the tag must be v1.1.0"),
        ("1.1.0", "1.1.0", WRITTEN, "the tag is '1.1.0', but the version in src/afflint/__init__.py is 1.1.0: the tag must be v1.1.0"),
        ("v1.2.0", "1.2.0", WRITTEN, "CHANGELOG.md has no entries under `## 1.2.0 (DATE)`"),
        ("v1.1.0", "1.1.0", WRITTEN.replace("- New: this.", ""), "CHANGELOG.md has no entries under `## 1.1.0 (DATE)`"),
        (
            "v1.1.0",
            "1.1.0",
            WRITTEN.replace("Unreleased\n", "Unreleased\n\n- More.\n"),
            "CHANGELOG.md has entries under `## Unreleased`: move them to the release",
        ),
        (
            "v1.1.0",
            "1.1.0",
            WRITTEN.replace(" (2026-12-24)", ""),
            "CHANGELOG.md: '## 1.1.0' is not a valid heading; write `## Unreleased` or `## 1.2.3 (2026-01-31)`",
        ),
        ("v1.1.0", "1.1.0.dev1", WRITTEN, "src/afflint/__init__.py does not set `__version__` to a version such as 1.2.3"),
    ],
)
def test_a_tag_that_is_not_borne_out_makes_no_release(tag: str, version: str, changelog: str, message: str) -> None:
    with pytest.raises(RELEASE["ReleaseError"]) as raised:
        RELEASE["notes"](tag, f'__version__ = "{version}"\n', changelog)
    assert str(raised.value) == message


# How rules enter: docs/stability.md.


def on_too_early(known: dict[str, Rule], version: str, first: str) -> list[str]:
    """The rules of the version that is being made that are on without having been in preview."""
    new = [each for each in known.values() if each.since == version != first]
    return [each.name for each in new if each.default and each.category != "admission"]


def test_a_new_rule_begins_in_preview() -> None:
    oldest = min((each.since for each in rules().values()), key=numbers)
    assert on_too_early(rules(), __version__, oldest) == []


def test_rules_that_are_on_at_once_are_reported() -> None:
    some = {name: rules()[name]._replace(since="0.2.0") for name in ("affinity-cycle", "wrong-type", "hard-anti-affinity-topology")}
    assert on_too_early(some, "0.2.0", "0.1.0") == ["affinity-cycle"]
    assert on_too_early(some, "0.3.0", "0.1.0") == []


# Who reports something.


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_is_one_that_github_shows(form: Path) -> None:
    """By the syntax that GitHub documents for issue forms."""
    data: dict[str, Any] = YAML(typ="safe", pure=True).load(form)
    assert {"name", "description", "body"} <= data.keys() <= {"name", "description", "body", "labels", "title"}
    asked = [each for each in data["body"] if each["type"] != "markdown"]
    assert len({each["id"] for each in asked}) == len(asked)
    for each in asked:
        assert each["type"] in ("input", "textarea")
        assert {"label"} <= each["attributes"].keys() <= {"label", "description", "placeholder", "render"}


def test_every_form_asks_for_the_version_and_a_false_alarm_for_the_manifest() -> None:
    needed = {}
    for form in FORMS:
        body = YAML(typ="safe", pure=True).load(form)["body"]
        needed[form.stem] = {each["id"] for each in body if each.get("validations", {}).get("required")}
    assert all("version" in each for each in needed.values())
    assert {"rule", "manifest"} <= needed["false-alarm"]
    assert "manifest" in needed["missed-mistake"]


# A dry run: the steps of the job that builds, in their order.

WORKFLOW: dict[str, Any] = YAML(typ="safe", pure=True).load(ROOT / ".github" / "workflows" / "release.yml")
GATE, KREW, EXTENSION = "The gate", "The kubectl plugin for Krew", "The extension for Visual Studio Code"
TAG = f"v{__version__}"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a runner after its steps: all of them but the gate, which runs this test, and with one of four platforms of Krew."""
    if os.name == "nt" or not all(map(shutil.which, ("bash", "git", "sha256sum"))):
        pytest.skip("a runner of the release has bash, git and sha256sum")
    work = tmp_path_factory.mktemp("release")
    tree = copy_to(work / "afflint")
    changelog = tree / "CHANGELOG.md"
    changelog.write_text(changelog.read_text("utf-8").replace("## Unreleased", f"## {__version__} (2026-01-31)", 1), encoding="utf-8")
    venv.create(work / "python", with_pip=True)
    environment = clean_environment(
        GITHUB_REF_NAME=TAG,
        GITHUB_REPOSITORY="OWNER/afflint",
        RUNNER_TEMP=str(work),
        PATH=f"{work / 'python' / 'bin'}{os.pathsep}{os.environ['PATH']}",
    )
    for command in ("git init --quiet", "git add --all", "git commit --quiet --message release", f"git tag {TAG}"):
        run(command.split(), tree, environment=environment)
    for step in WORKFLOW["jobs"]["build"]["steps"]:
        name = step.get("name")
        if "run" not in step or name == GATE or (name == EXTENSION and shutil.which("npm") is None):
            continue
        command = f"{step['run']} linux/amd64" if name == KREW else step["run"]
        run(("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command), tree, environment=environment)
    return tree


def test_a_release_has_every_file_with_its_checksum(released: Path) -> None:
    folder = released / "release"
    expected = {
        f"afflint-{__version__}-py3-none-any.whl",
        f"afflint-{__version__}.tar.gz",
        "afflint.yaml",
        f"kubectl-afflint_{TAG}_linux_amd64.tar.gz",
    }
    if shutil.which("npm") is not None:
        expected.add(f"afflint-{__version__}.vsix")
    assert {path.name for path in folder.iterdir()} == {*expected, "SHA256SUMS"}
    sums = dict(line.split()[::-1] for line in (folder / "SHA256SUMS").read_text("utf-8").splitlines())
    assert sums == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in expected}
    assert {path.name for path in (released / "dist").iterdir()} == {
        name for name in expected if re.search(r"-py3-|afflint-[\d.]+\.tar", name)
    }
    assert (released / "notes.md").stat().st_size


def test_the_notes_and_everything_that_is_attested_come_from_the_steps() -> None:
    """What the other jobs take from artifacts is what the first job puts there."""
    jobs = WORKFLOW["jobs"]

    def names(job: str, action: str) -> list[str]:
        return [
            step["with"].get("name", "") for step in jobs[job]["steps"] if step.get("uses", "").startswith(f"actions/{action}-artifact@")
        ]

    assert names("build", "upload") == ["dist", "release", "notes"]
    assert (names("pypi", "download"), names("provenance", "download")) == (["dist"], ["release"])
    assert jobs["provenance"]["steps"][-1]["with"] == {"subject-path": "release/*"}
    assert names("release", "download") == [""], "all of them"
    assert "release/* " in jobs["release"]["steps"][-1]["run"]
    assert "--notes-file notes/notes.md" in jobs["release"]["steps"][-1]["run"]


@pytest.mark.skipif(sys.platform != "linux" or sys.implementation.name != "cpython", reason="the archive is for CPython on Linux")
def test_the_plugin_of_the_archive_runs(released: Path, tmp_path: Path) -> None:
    """As Krew installs it: it unpacks the archive and creates a link to the program."""
    store, programs = tmp_path / "store", tmp_path / "bin"
    programs.mkdir()
    with tarfile.open(released / "release" / f"kubectl-afflint_{TAG}_linux_amd64.tar.gz") as archive:
        assert all(each.isfile() and not each.name.startswith(("/", "..")) for each in archive)
        archive.extractall(store)
    (programs / "kubectl-afflint").symlink_to(store / "kubectl-afflint")
    (programs / "python3").symlink_to(sys.executable)
    template = '{"metadata": {"labels": {"app": "web"}}, "spec": {"nodeSelector": {"disk": 1}, "containers": []}}'
    spec = f'{{"selector": {{"matchLabels": {{"app": "web"}}}}, "template": {template}}}'
    listed = f'{{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {{"name": "web"}}, "spec": {spec}}}'
    (programs / "kubectl").write_text(
        f"#!/bin/sh\ncase \"$*\" in *api-resources*) echo daemonsets.apps;; *) echo '{listed}';; esac\n", encoding="utf-8"
    )
    (programs / "kubectl").chmod(0o755)
    environment = clean_environment(PATH=f"{programs}:/usr/bin:/bin")
    words = [programs / "kubectl-afflint", "check", "--format", "concise"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert "the value of `disk` must be a string" in done.stdout, done.stderr
    assert done.returncode == 1
