"""From files to what `afflint place` needs: the same reading as for `afflint check`, and the pods that run already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from afflint.engine import FileResult, Settings
from afflint.fleet.index import Fleet
from afflint.inventory.node_files import NodeFileError, nodes_of
from afflint.inventory.pod_files import running_pods
from afflint.inventory.stage import Stage, set_stage
from afflint.reading.sources import STDIN, Source
from afflint.session.run import mapped

UNREADABLE = "unreadable-manifest"
NO_NODES = "no nodes: name a dump of the nodes with --nodes FILE (`kubectl get nodes -o yaml`), or put it beside the manifests"


class Placing(NamedTuple):
    """The stage, and the documents that could not be read: ``file:line:column: message``."""

    stage: Stage
    problems: tuple[str, ...]


def read_stage(
    sources: Sequence[Source],
    node_files: Sequence[Source],
    pod_files: Sequence[Source],
    settings: Settings,
    *,
    resources: bool = False,
) -> Placing:
    """Read the workloads (and nodes) in ``sources``, the nodes in ``node_files`` and the running pods in ``pod_files``.

    Nodes among the sources count where no file of nodes is named. With ``resources`` what pods request and what nodes have counts.

    Raises NodeFileError when there are no nodes, something that can be none, or pods that can be none.
    """
    nodes = nodes_of(_each_once(node_files), resources=resources)
    running_files = {_identity(source) for source in pod_files}
    read = [source for source in sources if _identity(source) not in running_files]
    settings = settings._replace(selected=frozenset((UNREADABLE,)), with_nodes=True, resources=resources)
    results = list(mapped(read, settings))
    if not node_files:
        holding = [source for source, result in zip(read, results, strict=True) if result.facts.holds_nodes]
        nodes = nodes_of(holding, resources=resources)
    if not nodes:
        raise NodeFileError(NO_NODES)
    running: list[dict[str, Any]] = [pod for source in pod_files for pod in running_pods(source, resources=resources)]
    workloads = [pods for result in results for pods in result.facts.pods]
    stage = set_stage(nodes, Fleet([result.facts for result in results]), workloads, running, resources=resources)
    return Placing(stage, tuple([problem for result in results for problem in _problems(result)]))


def _problems(result: FileResult) -> Iterator[str]:
    if result.templated:
        yield f"{result.name}:1:1: this is a template, and left out: name what is rendered from it"
    found = [(finding.span, finding.message) for finding in result.findings]
    found += [(unusable.span, unusable.message) for unusable in result.facts.unusable]
    for span, message in sorted(found):
        yield f"{result.name}:{span.line}:{span.column}: {message}"


def _each_once(sources: Iterable[Source]) -> list[Source]:
    return list({_identity(source): source for source in sources}.values())


def _identity(source: Source) -> str:
    return source.path if source.path == STDIN else os.path.realpath(source.path)
