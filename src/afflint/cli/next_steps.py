"""What to run next: shown on a terminal after a run without findings, in a repository that has no configuration yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import join
from typing import TYPE_CHECKING

from afflint.findings.phrases import visible

if TYPE_CHECKING:
    from afflint.report import Summary

_MOST = 2


def next_steps(summary: Summary, paths: Sequence[str]) -> list[str]:
    """Return lines with the most useful commands for this repository, with what each of them does; none if nothing was read."""
    if not summary.documents and not summary.coverage:
        return []
    commands = list(_commands(summary, paths))[:_MOST]
    width = max(len(command) for command, _ in commands)
    return ["Next:", *[f"  {visible(command):<{width}}  {purpose}" for command, purpose in commands]]


def _commands(summary: Summary, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    if summary.coverage.not_seen and summary.renders is None and not summary.missing_tools:
        yield join(["afflint", "check", "--render", *paths]), "also check what charts and kustomizations create"
    yield "afflint init", "write a configuration for this repository"
    yield (
        join(["afflint", "place", "--nodes", "nodes.yaml", *paths]),
        "show where replicas run; `kubectl get nodes -o yaml` writes nodes.yaml",
    )
