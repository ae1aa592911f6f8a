"""How the time of each engine grows with its input: inputs of n, 2 n and 4 n, in processor time of whole processes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import NamedTuple

from bench import growing_inputs as inputs
from bench import trees
from bench.clusters import MANIFESTS, NODES
from bench.processes import Command, Usage, interpreter
from bench.trees import Tree
from bench.workloads import File

FACTORS = (1, 2, 4)
HIGHEST_EXPONENT = 1.2
"""Linear growth is 1, quadratic growth 2."""

_PLACE = ("place", MANIFESTS, "--nodes", NODES)
_FILL = "from afflint.rendering.go_templates import fill; fill({text}, {{'Values': {values}}}, is_complete=True)"
_VALUES = "{'on': True, 'name': 'web', 'names': ['a', 'b']}"
_SUBSTITUTE = "from afflint.rendering.flux_variables import *; substitute({text}.encode(), Variables({{'zone': FluxVariable('zone-a')}}))"


class Engine(NamedTuple):
    """An engine: the files of an input of some size, the smallest size that is measured, and the command that reads them."""

    files: Callable[[int], Iterator[File]]
    size: int
    command: Command
    """Runs in the folder of the input."""
    is_history: bool = False
    """Whether the input is a repository with two commits."""


def _afflint(*arguments: str) -> Command:
    return interpreter("-m", "afflint", *arguments, "--no-config")._replace(accepted=(0, 1))


def _check(*arguments: str) -> Command:
    return _afflint("check", *arguments, "--no-cache", "--jobs", "1")


def _python(code: str) -> Command:
    """Return a command that runs one line of Python over the text of the input."""
    return interpreter("-c", code.format(text=f"open({inputs.TEMPLATE!r}).read()", values=_VALUES))


ENGINES: Mapping[str, Engine] = {
    "check": Engine(inputs.deployments, 500, _check(MANIFESTS)),
    "place": Engine(inputs.cluster, 100, _afflint(*_PLACE)),
    "place, volumes": Engine(inputs.volumes, 100, _afflint(*_PLACE)),
    "place, local volumes": Engine(inputs.local_volumes, 100, _afflint(*_PLACE)),
    "place, preemption": Engine(inputs.priorities, 50, _afflint(*_PLACE, "--pods", "pods.yaml")),
    "place --lose each:node": Engine(inputs.cluster, 50, _afflint(*_PLACE, "--lose", "each:node")),
    "place --drain each:node": Engine(inputs.cluster, 50, _afflint(*_PLACE, "--drain", "each:node")),
    "place --upgrade": Engine(inputs.cluster, 50, _afflint(*_PLACE, "--upgrade", "=".join(*inputs.POOL.items()))),
    "place --roll each": Engine(inputs.cluster, 10, _afflint(*_PLACE, "--roll", "each")),
    "why": Engine(inputs.cluster, 50, _afflint("why", "app-00000", MANIFESTS, "--nodes", NODES)),
    "diff": Engine(inputs.cluster, 50, _afflint("diff", "HEAD~..HEAD", "--nodes", NODES, "--no-cache", "--jobs", "1"), is_history=True),
    "CEL": Engine(
        inputs.policies,
        200,
        interpreter("-m", "afflint", "check", MANIFESTS, "--config", inputs.POLICIES, "--no-cache", "--jobs", "1")._replace(
            accepted=(0, 1)
        ),
    ),
    "Go template": Engine(inputs.template, 400, _python(_FILL)),
    "Flux variables": Engine(inputs.variables, 20_000, _python(_SUBSTITUTE)),
    "helmfile": Engine(inputs.helmfile, 1000, _check("--render", ".")),
    "ApplicationSet": Engine(inputs.application_sets, 200, _check("--render", ".")),
}
"""The engines by name."""


def available() -> dict[str, Engine]:
    """Return the engines whose packages are installed."""
    return {name: engine for name, engine in ENGINES.items() if name != "CEL" or find_spec("cel_expr_python") is not None}


def input_of(engine: Engine, name: str, data: str, size: int) -> Tree:
    """Return the tree of an input of some size."""
    return (trees.grown_history if engine.is_history else trees.grown)(data, name, engine.files, size)


def exponent(start: float, seconds: Mapping[int, float]) -> float:
    """Return the exponent of the growth from the smallest to the largest of some sizes, without the time of the start."""
    least, most = min(seconds), max(seconds)
    # A start takes as long as it takes, give or take a few milliseconds.
    return math.log(max(seconds[most] - start, 1e-3) / max(seconds[least] - start, 1e-3)) / math.log(most / least)


def fastest(usages: list[Usage]) -> float:
    """Return the least processor time of several runs: other load on the machine only adds to it."""
    return min(usage.cpu for usage in usages)


def command_in(engine: Engine, tree: Tree) -> Command:
    """Return the command of an engine for an input."""
    return engine.command._replace(folder=os.path.abspath(tree.folder))
