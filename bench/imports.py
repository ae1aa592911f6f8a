"""The modules that a run over one file imports, compared with those that it needs, to find unnecessary imports."""

from __future__ import annotations

from typing import NamedTuple

from bench.processes import Command, interpreter, output_of

_PACKAGES = ("runpy", "typing", "__future__")
"""The imports of ``python -m`` and of annotations: the modules that these import are allowed."""

_NEEDED = frozenset(
    (
        # Standard library: garbage collection is delayed, and a full disk has an error number.
        *("gc", "errno"),
        # The command line, the configuration, the sources, the map and reduce steps, and the requested report.
        *(
            "afflint",
            "afflint.cli",
            "afflint.cli.check",
            "afflint.cli.command",
            "afflint.cli.options",
            "afflint.cli.output",
            "afflint.cli.fast_parser",
        ),
        *(
            "afflint.findings.errors",
            "afflint.findings.namedtuples",
            "afflint.config",
            "afflint.findings.finding",
            "afflint.checks.registry",
            "afflint.resources",
        ),
        *("afflint.reading", "afflint.source.files", "afflint.source.sources", "afflint.yaml.prefilter"),
        *("afflint.yaml.document", "afflint.yaml.documents"),
        *("afflint.yaml.fast_parser", "afflint.yaml.scalars", "afflint.yaml.placeholders"),
        *(
            "afflint.pipeline.map_step",
            "afflint.findings.edits",
            "afflint.findings.similarity",
            "afflint.findings.phrases",
            "afflint.session",
            "afflint.pipeline.run",
        ),
        "afflint.pipeline.files",
        *("afflint.pipeline.mapping", "afflint.pools", "afflint.pools.kinds"),
        *("afflint.pipeline.reduce_step", "afflint.pipeline.session", "afflint.source.kustomizations"),
        *("afflint.report", "afflint.report.escape", "afflint.report.text", "afflint.report.phrases"),
    )
)
_NEEDED_WHOLE = ("afflint.checks", "afflint.controllers", "afflint.fleet", "afflint.kube")
"""Every check is bound to its rule at start, with what it knows of Kubernetes and of other manifests."""


class Import(NamedTuple):
    """A module from ``-X importtime``, with its import time in microseconds without its own imports."""

    name: str
    microseconds: int


def imports_of(command: Command) -> list[Import]:
    """Return the modules that a command of the interpreter imports, in the order in which their imports finished."""
    timed = command._replace(arguments=(command.arguments[0], "-X", "importtime", *command.arguments[1:]))
    _, errors = output_of(timed)
    rows = [line.removeprefix("import time:").split("|") for line in errors.splitlines() if line.startswith("import time:")]
    return [Import(name.strip(), int(own)) for own, _, name in rows if own.strip().isdigit()]


def foundation() -> frozenset[str]:
    """Return the modules of the interpreter, which afflint always needs."""
    return frozenset(each.name for each in imports_of(interpreter("-c", f"import {', '.join(_PACKAGES)}")))


def unneeded(imported: list[Import], allowed: frozenset[str]) -> list[Import]:
    """Return the imported modules that are neither ``allowed`` nor needed for one file without findings and configuration."""
    return [each for each in imported if each.name not in allowed and not _is_needed(each.name)]


def _is_needed(name: str) -> bool:
    return name in _NEEDED or any(name == whole or name.startswith(f"{whole}.") for whole in _NEEDED_WHOLE)
