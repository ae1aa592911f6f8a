"""A release: version, changelog and tag agree, new rules begin in preview, and whoever reports something is asked for what it takes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from afflint import __version__
from afflint.checks.registry import Rule, rules
from checkout import ROOT

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
    told = RELEASE["sections"](CHANGELOG)
    versions = [numbers(version) for version in told if version != "Unreleased"]
    assert versions == sorted({*versions}, reverse=True)
    assert [*told][:1] == ["Unreleased"] or versions[0] == numbers(__version__)
    assert all(version <= numbers(__version__) for version in versions), "the version is raised before a release"


def test_what_is_not_released_is_a_version_of_its_own() -> None:
    """Once a version is released, the next entry under Unreleased comes with the next number."""
    told = RELEASE["sections"](CHANGELOG)
    assert not (told.get("Unreleased") and __version__ in told)


def test_the_version_stands_in_one_place() -> None:
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


def test_rules_that_are_on_at_once_are_told() -> None:
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
