"""The settings of a run with the place each came from: a configuration file, the command line or the defaults.

Globs (``include``, ``exclude``, ``context``, ``per-file-ignores``) are read as lines of a ``.gitignore`` and match paths relative to
``Config.root``, also those that a configuration inherits by ``extends``. Paths (``extends``, ``nodes``) are relative to the file that
contains them.

Every run imports this module, so the modules that read a configuration file (YAML, TOML, the schema) are imported only if one exists.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES, Severity, Span, field_of
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import did_you_mean, nearest, visible
from afflint.kube import NEWEST

__all__ = [
    "ALL",
    "AUTO_NODES",
    "COMMAND_LINE",
    "DEFAULT",
    "KEYS",
    "NO_NODES",
    "RENDERERS",
    "SEVERITIES",
    "SHIPPED",
    "Config",
    "ConfigError",
    "ConfigProblem",
    "CustomWorkloadSetting",
    "Origin",
    "Policy",
    "covers",
    "default",
    "describe",
    "find",
    "ignores",
    "is_selected",
    "is_version",
    "load",
    "matcher",
    "quoted",
    "selected",
    "unknown_name",
    "with_overrides",
    "written",
]

RENDERERS = ("kustomize", "helm")
"""What can be rendered, by the name of the tool."""

ALL = "all"
"""Means every rule, wherever a rule or category can be named."""

AUTO_NODES, NO_NODES = "auto", "none"
"""The values of ``nodes`` that are not files: the nodes among the manifests, or none at all."""

SHIPPED = "afflint:"
"""The prefix of the policy profiles of afflint, where ``extends`` and ``policies`` name files."""

_FILES = (".afflint.yaml", ".afflint.yml")
_LARGEST_PYPROJECT = 8 << 20


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


class Policy(NamedTuple):
    """A rule that the user configures: a check with its parameters, and the workloads that it applies to, as in the file.

    ``severity`` and ``message`` are None for those of the check. A suppression in a manifest has no effect on a ``mandatory`` policy.
    """

    name: str
    check: str
    params: Mapping[str, Any] = {}
    match: Mapping[str, Any] = {}
    exclude: Mapping[str, Any] = {}
    severity: Severity | None = None
    message: str | None = None
    mandatory: bool = False


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
    admission_plugins: tuple[str, ...] = ()
    feature_gates: tuple[str, ...] = ()
    workloads: tuple[CustomWorkloadSetting, ...] = ()
    policies: tuple[Policy, ...] = ()
    physical_host_key: str = "node.cluster.x-k8s.io/esxi-host"
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


def find(start: str) -> str | None:
    """Return the nearest configuration upward from ``start``, a directory or a file in it; relative to the working directory if below it.

    In one directory ``.afflint.yaml`` comes before ``.afflint.yml`` before pyproject.toml; a pyproject.toml without ``[tool.afflint]`` is
    skipped. As with ruff, the search ends at the root of the file system; a ``.git`` directory does not end it.
    """
    directory = os.path.abspath(start)
    if not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    while True:
        found = _find_in(directory)
        parent = os.path.dirname(directory)
        if found or parent == directory:
            return found and _from_here(found)
        directory = parent


def _find_in(directory: str) -> str | None:
    for name in _FILES:
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            return path
    path = os.path.join(directory, "pyproject.toml")
    return path if os.path.isfile(path) and _has_table(path) else None


def _has_table(pyproject: str) -> bool:
    """Whether the file has ``[tool.afflint]``; most do not even contain the word, so that no parser has to be imported."""
    from afflint.source.files import read_regular

    try:
        raw = read_regular(pyproject, _LARGEST_PYPROJECT)
    except OSError:  # without permission to read it, afflint cannot tell whether it is a configuration
        return False
    if b"afflint" not in raw:
        return False
    from afflint.config.toml import has_table

    return has_table(raw)


def _from_here(path: str) -> str:
    here = os.path.join(os.getcwd(), "")
    return path[len(here) :] if path.startswith(here) else path


def default() -> Config:
    """Return the settings of a run without a configuration; globs are relative to the working directory."""
    return Config(os.getcwd(), dict.fromkeys(KEYS, DEFAULT))


def load(path: str, *, rule_names: Sequence[str], categories: Sequence[str], root: str | None = None, was_found: bool = False) -> Config:
    """Load the configuration in ``path`` (``.toml``: its ``[tool.afflint]`` table; anything else: YAML) and those it extends.

    ``root``: what globs are relative to; without it, the directory of ``path``. ``was_found``: the user did not name the file, so it is
    trusted only as far as ``config.trust`` says. Raises ConfigError with all mistakes at once.
    """
    from afflint.config.loader import resolve
    from afflint.config.trust import repository_root

    repository = repository_root(os.path.dirname(os.path.abspath(path))) if was_found else None
    values, origins = resolve(path, (*rule_names,), (*categories,), repository)
    values = {**values, **({"policies": tuple(values["policies"].values())} if "policies" in values else {})}
    directory = os.path.dirname(path) if root is None else root
    return default()._replace(
        root=os.path.abspath(directory),
        repository=repository,
        origins={**dict.fromkeys(KEYS, DEFAULT), **origins},
        **{key.replace("-", "_"): value for key, value in values.items()},
    )


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


def is_selected(name: str, category: str, on_by_default: bool, config: Config) -> bool:
    """Whether a rule runs.

    The name of a rule takes precedence over its category, and its category over ``all``; at equal rank ``ignore`` takes precedence.
    """
    ranked = (ALL, category, name)

    def rank(names: Iterable[str]) -> int:
        return max((ranked.index(word) + 1 for word in names if word in ranked), default=0)

    wanted = rank((*(config.select or ()), *config.extend_select))
    unwanted = rank(config.ignore)
    if wanted == unwanted == 0:
        return on_by_default and config.select is None
    return wanted > unwanted


def selected(rules: Iterable[tuple[str, str, bool]], config: Config) -> frozenset[str]:
    """Return the names of the rules that run, of rules given as (name, category, on by default)."""
    return frozenset(name for name, category, on in rules if is_selected(name, category, on, config))


def covers(names: frozenset[str], name: str, category: str) -> bool:
    """Whether ``names`` (of rules, categories, or ``all``) include this rule."""
    return name in names or category in names or ALL in names


def ignores(config: Config) -> Callable[[str], frozenset[str]]:
    """Return the function from a path relative to ``config.root`` to the names that ``per-file-ignores`` has for it (see ``covers``)."""
    entries = [(matcher((glob,)), names) for glob, names in config.per_file_ignores.items()]

    def names_for(path: str) -> frozenset[str]:
        return frozenset(name for matches, names in entries if matches(path) for name in names)

    return names_for


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tests a path against ``patterns``, as in a ``.gitignore``: ``!`` negates, and the last match counts.

    Paths are relative to the root with forward slashes; a directory's ends with one. A leading ``#`` does not begin a comment: lists in
    a configuration have comments of their own.
    """
    if not patterns:
        return lambda _: False
    from afflint.source.globs import Patterns, pattern

    return Patterns(map(pattern, patterns)).covers


def unknown_name(name: str, rule_names: Iterable[str], categories: Iterable[str]) -> str | None:
    """Return what is wrong with ``name`` as the name of a rule, a category or ``all``; None if it is one."""
    known = (*rule_names, *categories, ALL)
    return None if name in known else f"unknown rule or category {quoted(name)}{did_you_mean(nearest(name, known))}"


def is_version(text: str) -> bool:
    """Whether ``text`` is a Kubernetes version in the form of ``kubernetes-version``: ``1.34``."""
    minor = text[2:]
    return text.startswith("1.") and minor.isascii() and minor.isdigit() and len(minor) <= 2 and str(int(minor)) == minor


def quoted(text: str) -> str:
    """Quote ``text`` for a message: printable, on one line, between backticks, shortened if it is long."""
    return f"`{visible(text if len(text) <= 80 else text[:79] + '…')}`"


def describe(config: Config) -> Iterator[tuple[str, str, str]]:
    """Yield each setting as (key, value in YAML on one line, origin); each entry of a map on its own."""
    for key in KEYS:
        value = getattr(config, key.replace("-", "_"))
        if key == "policies":
            value = {policy.name: policy for policy in value}
        if isinstance(value, dict) and value:
            for entry, item in value.items():
                name = field_of((key, entry))
                yield visible(name), display_value(item), str(config.origins.get(name, config.origins[key]))
        else:
            if key == "nodes" and not value:
                value = AUTO_NODES
            yield (
                key,
                display_value(value or () if key == "policies" else value) if value is not None else _UNSAID[key],
                str(config.origins[key]),
            )


_UNSAID = {"select": "(the default rules)", "baseline": "(none)", "jobs": "(one for each core)"}
"""What applies if a key without a default value is not set."""


def display_value(value: object) -> str:
    """Format a value in YAML's flow style, for people to read."""
    if isinstance(value, CustomWorkloadSetting):
        value = {"apiVersion": value.api_version, "kind": value.kind, "template": ".".join(value.template)}
    elif isinstance(value, Policy):
        value = {field: item for field, item in value._asdict().items() if field != "name" and item not in (None, {}, False)}
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{display_value(key)}: {display_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(display_value, value)) + "]"
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "null"
    text = str(value)
    plain = text.isprintable() and not any(char in text for char in ",[]{}\"'#: ") and text
    return text if plain else '"' + visible(text).replace('"', '\\"') + '"'
