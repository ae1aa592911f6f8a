"""The settings of a run with the place each came from: a configuration file, the command line or the defaults.

Globs (``include``, ``exclude``, ``context``, ``per-file-ignores``) are read as lines of a ``.gitignore`` and match paths relative to
``Config.root``, also those that a configuration inherits by ``extends``. Paths (``extends``, ``nodes``) are relative to the file that
contains them.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from afflint.findings.errors import UserError
from afflint.findings.finding import Severity, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import visible
from afflint.kube import NEWEST
from afflint.kube.node_labels import PHYSICAL_HOST
from afflint.policies.policy import Policy

RENDERERS = ("kustomize", "helm")
"""What can be rendered, by the name of the tool."""

ALL = "all"
"""Means every rule, wherever a rule or category can be named."""

AUTO_NODES, NO_NODES = "auto", "none"
"""The values of ``nodes`` that are not files: the nodes among the manifests, or none at all."""

SHIPPED = "afflint:"
"""The prefix of the policy profiles of afflint, where ``extends`` and ``policies`` name files."""


class Origin(NamedTuple):
    """Where a value was set.

    ``file`` is None for defaults and the command line. ``source`` says what added to a list of the file.
    """

    file: str | None
    line: int
    column: int
    source: str = "file"

    def __str__(self) -> str:
        if self.file is None:
            return self.source
        place = f"{visible(self.file)}:{self.line}:{self.column}"
        return place if self.source == "file" else f"{place} and {self.source}"


DEFAULT = Origin(None, 0, 0, "default")
COMMAND_LINE = Origin(None, 0, 0, "command line")


class CustomWorkloadSetting(NamedTuple):
    """A custom resource that embeds a pod template, and the keys that lead to it."""

    api_version: str
    kind: str
    template: tuple[str, ...]


class StorageSetting(NamedTuple):
    """What is known of a StorageClass or a provisioner.

    ``topology`` is ``node``, ``zone``, ``any`` or a label key, "" if it is not set; ``default`` marks the default StorageClass.
    """

    topology: str = ""
    default: bool = False


class Config(NamedTuple):
    """The effective settings: one field per key of the configuration, ``-`` written as ``_``.

    ``root`` is the directory that globs are relative to. ``repository`` is the root of the repository of a configuration that was found,
    links resolved; None for one that the user names. ``origins`` has every key, and ``severity.<rule>``, ``policies.<name>`` and
    ``per-file-ignores.<glob>`` (written as ``findings.field_of`` writes them) for the entries of maps.
    """

    root: str
    origins: Mapping[str, Origin]
    repository: str | None = None
    extends: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    complete: bool = False
    nodes: tuple[str, ...] = ()  # files, or NO_NODES alone
    complete_nodes: bool = False
    select: tuple[str, ...] | None = None  # None: the rules that are on by default
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = {}  # plain dicts: a read-only view cannot be pickled
    per_file_ignores: Mapping[str, tuple[str, ...]] = {}
    kubernetes_version: str = f"{NEWEST[0]}.{NEWEST[1]}"
    kubevirt_version: str | None = None
    admission_plugins: tuple[str, ...] = ()
    feature_gates: tuple[str, ...] = ()
    workloads: tuple[CustomWorkloadSetting, ...] = ()
    policies: tuple[Policy, ...] = ()
    physical_host_key: str = PHYSICAL_HOST
    storage: Mapping[str, StorageSetting] = {}  # by the name of a StorageClass or a provisioner
    render: tuple[str, ...] = ()
    baseline: str | None = None
    fail_on: Severity = "warning"
    format: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    jobs: int | None = None


KEYS = tuple(field.replace("_", "-") for field in Config._fields[3:])
"""The keys of a configuration file."""


class ConfigProblem(NamedTuple):
    """A mistake in a configuration file."""

    file: str
    span: Span
    message: str

    def __str__(self) -> str:
        return f"{visible(self.file)}:{self.span.line}:{self.span.column}: {self.message}"


class ConfigError(UserError):
    """All mistakes in a configuration and in those it extends; as text, one line each."""

    def __init__(self, problems: tuple[ConfigProblem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def default() -> Config:
    """Return the settings of a run without a configuration; globs are relative to the working directory."""
    return Config(os.getcwd(), dict.fromkeys(KEYS, DEFAULT))


def with_overrides(
    config: Config,
    *,
    nodes: Sequence[str] = (),
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    extend_select: Sequence[str] = (),
    kubernetes_version: str | None = None,
    render: Sequence[str] = (),
    baseline: str | None = None,
    fail_on: Severity | None = None,
    format: Sequence[str] = (),  # noqa: A002 (the name of the key)
    output: Sequence[str] = (),
    jobs: int | None = None,
) -> Config:
    """Return the settings with those of the command line on top; an empty value or None means that it was not set.

    As with ruff, ``select`` starts over: the file's ``ignore`` and ``extend-select`` no longer apply. Without it ``ignore`` and
    ``extend-select`` add to the file's lists, and a name in ``extend-select`` is no longer ignored by the file. ``format`` and
    ``output`` belong together: a command line that sets one of them replaces both.
    """
    overrides: dict[str, Any] = {}
    if nodes:
        overrides["nodes"] = () if tuple(nodes) == (AUTO_NODES,) else tuple(nodes)
    if render:
        overrides["render"] = tuple(render)
    single = {"kubernetes-version": kubernetes_version, "baseline": baseline, "fail-on": fail_on, "jobs": jobs}
    overrides |= {key: value for key, value in single.items() if value is not None}
    if format or output:
        overrides |= {"format": tuple(format), "output": tuple(output)}
    if select:
        overrides |= {"select": tuple(select), "ignore": tuple(ignore), "extend-select": tuple(extend_select)}
    origins = {**config.origins, **dict.fromkeys(overrides, COMMAND_LINE)}
    if not select and (ignore or extend_select):
        remaining = tuple(name for name in config.ignore if name not in extend_select)
        overrides |= {"ignore": (*remaining, *ignore), "extend-select": (*config.extend_select, *extend_select)}
        for key, added, before in (("ignore", ignore, remaining), ("extend-select", extend_select, config.extend_select)):
            if added:
                origins[key] = origins[key]._replace(source=COMMAND_LINE.source) if before else COMMAND_LINE
    return config._replace(origins=origins, **{key.replace("-", "_"): value for key, value in overrides.items()})


def is_version(text: str) -> bool:
    """Whether ``text`` is a version in the form of ``kubernetes-version`` and ``kubevirt-version``: ``1.34``."""
    minor = text[2:]
    return text.startswith("1.") and minor.isascii() and minor.isdigit() and len(minor) <= 2 and str(int(minor)) == minor
