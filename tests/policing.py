"""Holds manifests written in a test to policies written in a test."""

import textwrap
from pathlib import Path

from afflint import config
from afflint.checks.registry import CATEGORIES, rules
from afflint.findings.finding import Finding
from afflint.pipeline.options import Options
from afflint.pipeline.session import Session
from afflint.source.sources import Source

Files = dict[str, str] | str


def configured(folder: Path, text: str) -> Session:
    """A session under a configuration, which is written into the folder."""
    file = folder / ".afflint.yaml"
    file.write_text(text, encoding="utf-8")
    return Session(config.load(str(file), rule_names=tuple(rules()), categories=CATEGORIES))


def session_of(folder: Path, policies: str, more: str = "") -> Session:
    """A session with policies, as a configuration lists them, and other keys of a configuration."""
    return configured(folder, textwrap.dedent(more) + ("policies:\n" + textwrap.dedent(policies) if policies else ""))


def policy(check: str, params: str = "{}") -> str:
    """A policy ``ours`` of the list of policies."""
    return f"- {{name: ours, check: {check}, params: {params}}}\n"


def findings_of(folder: Path, policies: str, files: Files, more: str = "") -> list[Finding]:
    """What policies, and the rules that are on by default, find in files by name, or in the text of one; they lie in the folder."""
    named = {"a.yaml": files} if isinstance(files, str) else files
    sources = [Source(str(folder / name), str(folder / name), textwrap.dedent(text).encode()) for name, text in named.items()]
    outcome = session_of(folder, policies, more).check(sources, Options())
    return [each._replace(file=str(Path(each.file).relative_to(folder))) for each in outcome.findings]


def messages_of(folder: Path, policies: str, files: Files, more: str = "") -> list[str]:
    """``12:5 message`` for each finding of a policy, with the name of the file in front where there are several."""
    several = not isinstance(files, str) and len(files) > 1
    return [
        f"{f'{each.file}:' if several else ''}{each.span.line}:{each.span.column} {each.message}"
        for each in findings_of(folder, policies, files, more)
        if each.category == "policy"
    ]
