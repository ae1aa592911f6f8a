"""The pages under rules/, for the tests.

What afflint says of a bad example stands under it in a fence ```` ```said ````, made by ``python tests/test_rules.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from afflint.source.examples import REPORT_FENCE, Example, ExamplePage, parse

__all__ = ["FOLDER", "Example", "ExamplePage", "examples", "names", "page", "parse", "with_messages"]

FOLDER = Path(__file__).parents[1] / "rules"


def names() -> list[str]:
    """The rules that have a page: the stems of rules/*.md."""
    return sorted(path.stem for path in FOLDER.glob("*.md"))


def page(name: str) -> ExamplePage:
    """The page of a rule."""
    return parse(name, (FOLDER / f"{name}.md").read_text(encoding="utf-8"))


def with_messages(name: str, text: str, said: Callable[[Example], str]) -> str:
    """The text of a page with what afflint says of each bad example under it."""
    text = re.sub(rf"\n```{REPORT_FENCE}\n(?:.*\n)*?```\n", "", text)
    for example in reversed(parse(name, text).examples):
        if example.bad:
            lines = text.splitlines(keepends=True)
            end = example.line + example.text.count("\n") + 1
            lines.insert(end, f"\n```{REPORT_FENCE}\n{said(example)}```\n")
            text = "".join(lines)
    return text


def examples() -> list[Example]:
    """Every example of every page."""
    return [example for name in names() for example in page(name).examples]
