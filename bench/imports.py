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
        *("afflint", "afflint.resources", "afflint.config"),
        *("afflint.config.discovery", "afflint.config.selection", "afflint.config.settings", "afflint.policies", "afflint.policies.policy"),
        *(
            "afflint.cli",
            "afflint.cli.check",
            "afflint.cli.check_options",
            "afflint.cli.command",
            "afflint.cli.parser",
            "afflint.cli.options",
            "afflint.cli.output",
            "afflint.cli.reporting",
        ),
        *("afflint.findings", "afflint.findings.edits", "afflint.findings.errors", "afflint.findings.finding"),
        *("afflint.findings.namedtuples", "afflint.findings.paths", "afflint.findings.phrases", "afflint.findings.similarity"),
        *(
            "afflint.source",
            "afflint.source.files",
            "afflint.source.kustomizations",
            "afflint.source.repositories",
            "afflint.source.sources",
        ),
        *("afflint.yaml", "afflint.yaml.document", "afflint.yaml.documents", "afflint.yaml.fast_parser"),
        *("afflint.yaml.placeholders", "afflint.yaml.prefilter", "afflint.yaml.scalars"),
        *("afflint.pipeline", "afflint.pipeline.files", "afflint.pipeline.map_step", "afflint.pipeline.mapping"),
        *(
            "afflint.pipeline.definitions",
            "afflint.pipeline.locating",
            "afflint.pipeline.options",
            "afflint.pipeline.reduce_step",
            "afflint.pipeline.reduced_run",
            "afflint.pipeline.run",
            "afflint.pipeline.session",
            "afflint.pipeline.suppression_filter",
        ),
        *("afflint.pools", "afflint.pools.kinds"),
        *("afflint.report", "afflint.report.escape", "afflint.report.model", "afflint.report.phrases", "afflint.report.text"),
    )
)
_NEEDED_PACKAGES = ("afflint.checks", "afflint.constraints", "afflint.controllers", "afflint.index", "afflint.kube")
"""The modules of all checks, with what they know about Kubernetes and other manifests: rules are bound to their checks at the start."""


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
    return name in _NEEDED or any(name == package or name.startswith(f"{package}.") for package in _NEEDED_PACKAGES)
