"""docs/policies.md names every condition, every check and every parameter, in the words of the program.

``python tests/policies/test_docs.py`` rewrites what is generated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from afflint import config
from afflint.config.validation import schema
from afflint.policies.matching import Matching
from afflint.policies.messages import FIELDS
from afflint.policies.params import class_at, fields_of
from afflint.policies.registry import CHECKS

PAGE = Path(__file__).parents[2] / "docs" / "policies.md"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def _table(dataclass: Any) -> Iterator[str]:
    yield "| key | takes | |\n|---|---|---|\n"
    for key, takes, about, required in fields_of(dataclass):
        yield f"| `{key}`{'' if required else ' (optional)'} | {_cell(takes.schema['title'])} | {_cell(about)} |\n"


def _conditions() -> Iterator[str]:
    yield "| key | takes | |\n|---|---|---|\n"
    for key, takes, about, _ in fields_of(Matching):
        yield f"| `{key}` | {_cell(takes.schema['title'])} | {_cell(about)} |\n"


def _checks() -> Iterator[str]:
    for name, check in sorted(CHECKS.items()):
        if check.subject == "admission":  # No configuration names it.
            continue
        notes = ["Only with nodes."] if check.subject == "outcome" else []
        notes += ["It has a fix for `--unsafe-fixes`."] if check.fix != "none" else []
        yield f"### {name}\n\n{' '.join([check.requirement, *notes])}\n\n"
        if [*fields_of(class_at(check.params))]:
            yield f"{''.join(_table(class_at(check.params)))}\n"


def with_generated(page: str) -> str:
    """The page with its generated parts replaced."""
    for name, part in {"conditions": "".join(_conditions()), "checks": "".join(_checks()).rstrip("\n") + "\n"}.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{part}\n{end}{rest.split(end)[1]}"
    return page


def test_it_says_what_the_program_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_generated(page), "python tests/policies/test_docs.py rewrites it"


def test_it_names_every_field_of_a_message() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [each for each in FIELDS if f"`{{{each}}}`" not in page] == []


_EXAMPLES = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL) if text.startswith("# .afflint.yaml")]


@pytest.mark.parametrize("text", _EXAMPLES)
def test_what_it_shows_is_right(text: str, tmp_path: Path) -> None:
    data = YAML(typ="safe", pure=True).load(text)
    Draft7Validator(schema()).validate(data)
    for named in (*data.get("extends", ()), *(each for each in data.get("policies", ()) if isinstance(each, str))):
        (tmp_path / "here" / named).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "here" / named).write_text("policies: [{name: weights, check: no-pinning}]\n", "utf-8")
    (tmp_path / "here").mkdir(exist_ok=True)
    file = tmp_path / "here" / ".afflint.yaml"
    file.write_text(text, "utf-8")
    assert config.load(str(file), rule_names=(), categories=()).policies


def _shown() -> Iterator[tuple[str, dict[str, str], str]]:
    """Each message that the page shows, with the policy and the files above it that it comes of."""
    policy, files = "", {}
    for language, text in re.findall(r"```(yaml|text)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        if text.startswith("policies:\n"):
            policy, files = text.removeprefix("policies:\n"), {}
        elif policy and text.startswith(("apiVersion:", "nodes:")):
            files["a.yaml" if text.startswith("apiVersion:") else "nodes.yaml"] = text
        elif policy and language == "text":
            yield policy, files, text


@pytest.mark.parametrize(("policy", "files", "text"), [*_shown()])
def test_what_it_shows_is_found(policy: str, files: dict[str, str], text: str, tmp_path: Path) -> None:
    from policing import said  # Not where the page is only written.

    found = said(tmp_path, policy, files)
    assert [each.removeprefix("a.yaml:") for each in found] == text.splitlines()


def test_it_shows_what_each_family_finds() -> None:
    assert len([*_shown()]) == 3


if __name__ == "__main__":
    PAGE.write_text(with_generated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
