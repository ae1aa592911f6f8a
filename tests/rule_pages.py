"""The pages under rules/, and what a run reports for an example on one of them."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

import pytest

from afflint import config
from afflint.checks import registry
from afflint.findings.finding import Finding
from afflint.pipeline.map_step import MapSettings
from afflint.pipeline.options import Options
from afflint.pipeline.session import Session
from afflint.source.examples import Example, parse
from linting import findings_of
from rendering.real_tools import on_path, tool
from rendering.rendered_trees import write

__all__ = ["CHECKS", "FOLDER", "Example", "RulePage", "examples", "findings_in", "names", "page", "parse"]

FOLDER = Path(__file__).parents[1] / "rules"
CHECKS = {each.name: each for each in reversed(registry.bind_rules(registry.rules()))}
"""Each rule as it is bound first; a rule may apply to several subjects."""


def names() -> list[str]:
    """The rules that have a page: the stems of rules/*.md."""
    return sorted(path.stem for path in FOLDER.glob("*.md"))


class RulePage(NamedTuple):
    """A page: its front matter, the headings and prose outside fences, and its examples."""

    front: dict[str, str]
    headings: list[str]
    prose: list[str]
    examples: list[Example]


def page(name: str) -> RulePage:
    """The page of a rule."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    matter, _, body = text.removeprefix("---\n").partition("\n---\n")
    front = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in matter.splitlines())}
    prose = "".join(body.split("\n```")[::2]).splitlines()
    return RulePage(front, [line for line in prose if line.startswith("#")], prose, parse(name, text))


def examples() -> list[Example]:
    """Every example of every page."""
    return [example for name in names() for example in page(name).examples]


def findings_in(text: str, rule: str, fix: Literal["unsafe"] | None = None) -> list[Finding]:
    """What a run over one file reports with ``rule`` and all rules that are on by default, suppressions included.

    With ``fix`` every rule offers the fixes that its check knows, whatever its page says.
    """
    if text.startswith("# file: "):
        return _findings_in_chart(text, renders=CHECKS[rule].subject == "charts")
    default = {each.name for each in registry.rules().values() if each.default}
    data = text.encode()
    # kustomize reads only files of that name. Node objects in an example are its inventory.
    name = "kustomization.yaml" if "kind: Kustomization\n" in text else "example.yaml"
    nodes = [name] if "kind: Node\n" in text else []
    chosen = tuple(each._replace(rule=each.rule._replace(fix=fix or each.fix)) for each in registry.bind_rules({*default, rule}))
    return findings_of({name: data}, MapSettings(chosen), nodes=nodes, inline=True)


@cache
def _findings_in_chart(text: str, *, renders: bool) -> list[Finding]:
    """What a run reports for a chart, with ``--render`` if it ``renders``. Each file of it begins with ``# file: NAME``."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        if renders:
            tool("helm")
            on_path(monkeypatch, "helm")
        monkeypatch.chdir(folder)
        files = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n"}
        line = 0
        for part in text.split("---\n"):
            first, _, _ = part.partition("\n")
            files[first.removeprefix("# file: ")] = "\n" * line + part
            line += part.count("\n") + 1
        write(files)
        session = Session(config.default()._replace(render=("helm",) if renders else ()))
        sources, options = session.with_renders(session.sources(["."]), Options(), network=False)
        return session.check(sources, options).findings
