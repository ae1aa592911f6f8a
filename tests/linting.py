"""Lints manifests written in a test: a run over a few files, with what it finds as short lines."""

import textwrap
from collections.abc import Iterable, Mapping

from afflint.checks.match import Target
from afflint.checks.registry import bind_rules, rules
from afflint.findings.finding import Finding
from afflint.pipeline.map_step import MapSettings
from afflint.pipeline.options import Options
from afflint.pipeline.run import run
from afflint.source.sources import Source

ON_BY_DEFAULT = frozenset(rule.name for rule in rules().values() if rule.default)


def settings_of(
    names: Iterable[str] = ON_BY_DEFAULT, *, target: Target | None = None, host_key: str = "node.cluster.x-k8s.io/esxi-host"
) -> MapSettings:
    """Settings with the named rules, at their own severities."""
    return MapSettings(bind_rules(names), target or Target(), host_key=host_key)


def findings_of(files: Mapping[str, bytes], settings: MapSettings, *, nodes: Iterable[str] = (), inline: bool = False) -> list[Finding]:
    """What a run says about files by name, all of them buffers; ``nodes`` are those that hold the nodes."""
    sources = [Source(name, name, data) for name, data in files.items()]
    of_nodes = [source for source in sources if source.name in nodes]
    return run(sources, settings, Options(inline=inline), node_files=of_nodes).findings


def lint(files: dict[str, str] | str, *, also: str | None = None, target: Target | None = None) -> list[Finding]:
    """The findings of all rules that are on by default (``also`` one that is not), over files by name or the text of one."""
    named = {"a.yaml": files} if isinstance(files, str) else files
    data = {name: textwrap.dedent(text).encode() for name, text in named.items()}
    return findings_of(data, settings_of(ON_BY_DEFAULT | ({also} if also else frozenset()), target=target))


def places(findings: list[Finding]) -> list[str]:
    """``a.yaml:12:5 warning rule`` for each finding."""
    return [f"{each.file}:{each.span.line}:{each.span.column} {each.severity} {each.rule}" for each in findings]


def messages_of(files: dict[str, str] | str, rule: str, *, target: Target | None = None) -> list[str]:
    """``12:5 message`` for each finding of one rule."""
    found = [each for each in lint(files, also=rule, target=target) if each.rule == rule]
    return [f"{each.span.line}:{each.span.column} {each.message}" for each in found]
