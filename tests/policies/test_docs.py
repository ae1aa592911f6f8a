"""What docs/policies.md shows is valid, and its messages are those of afflint."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from afflint import config
from afflint.config.validation import schema
from afflint.policies.messages import FIELDS
from policing import messages_of

PAGE = Path(__file__).parents[2] / "docs" / "policies.md"


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
    found = messages_of(tmp_path, policy, files)
    assert [each.removeprefix("a.yaml:") for each in found] == text.splitlines()


def test_it_shows_what_each_family_finds() -> None:
    assert len([*_shown()]) == 3
