"""Resolves a configuration file: the files it extends, the mistakes in all of them, and the resulting values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from glob import has_magic
from itertools import islice
from typing import Any

from afflint import resources
from afflint.config.positions import START, ConfigMistake, Located, ReadError, decode, read_bytes
from afflint.config.selection import unknown_name
from afflint.config.settings import (
    ALL,
    AUTO_NODES,
    NO_NODES,
    RENDERERS,
    SHIPPED,
    ConfigError,
    ConfigProblem,
    CustomWorkloadSetting,
    Origin,
    StorageSetting,
)
from afflint.config.trust import NEEDS_CONFIG
from afflint.config.validation import shape_faults
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.policies.policy import Policy
from afflint.source.globs import paths_like, pattern, separates_by_backslash
from afflint.source.repositories import is_really_inside

MOST_PROBLEMS = 100
"""The most mistakes that are reported for one file."""

LONGEST_CHAIN = 32

_MAPS = ("severity", "per-file-ignores", "policies", "storage")
_PATHS = ("extends", "nodes")
_NAMES = ("select", "ignore", "extend-select")
_GLOBS = ("include", "exclude", "context")


class _ConfigValues(NamedTuple):
    """The values of a file and of those it extends, by key, and where each is set."""

    values: Mapping[str, Any]
    origins: Mapping[str, Origin]

    def under(self, override: _ConfigValues) -> _ConfigValues:
        """Merge both: ``above`` takes precedence, maps merge key by key."""
        merged = {key: {**self.values[key], **override.values[key]} for key in _MAPS if key in self.values and key in override.values}
        return _ConfigValues({**self.values, **override.values, **merged}, {**self.origins, **override.origins})


_NOTHING = _ConfigValues({}, {})


def resolve(path: str, rule_names: tuple[str, ...], categories: tuple[str, ...], repository: str | None = None) -> _ConfigValues:
    """Resolve a configuration file to values and origins by key, including the files it extends. Raises ConfigError.

    ``repository``: the only folder to read files from.
    """
    loader = _Loader(rule_names, categories, repository)
    resolved = loader.resolve(path)
    loader.check_names()
    if loader.problems:
        raise ConfigError(tuple(sorted(set(loader.problems), key=loader.order)))
    return resolved


class _File(NamedTuple):
    name: str
    located: Located

    def problem(self, fault: ConfigMistake) -> ConfigProblem:
        return ConfigProblem(self.name, fault.span, fault.message)


class _Loader:
    def __init__(self, rule_names: tuple[str, ...], categories: tuple[str, ...], repository: str | None) -> None:
        self.rule_names = rule_names
        self.categories = categories
        self.repository = repository
        self.problems: list[ConfigProblem] = []
        self.names_read: list[str] = []  # the names of all files, the requested one first
        self.files: list[_File] = []
        self.resolved: dict[str, _ConfigValues] = {}  # by real path: two files may extend the same third
        self.admission: set[str] = set()  # the names of the cluster's own policies

    def order(self, problem: ConfigProblem) -> tuple[object, ...]:
        """Return the sort key of a problem: files in the order in which they were read, in a file by position."""
        return (self.names_read.index(problem.file), *problem)

    def resolve(self, path: str) -> _ConfigValues:
        """Resolve the requested file; its mistakes are added to ``problems``."""
        try:
            if not self._is_inside(path):
                self.names_read.append(path)
                raise ReadError(f"this file is a link that leads outside the repository; {NEEDS_CONFIG}")
            return self._resolve(path, ())
        except ReadError as refused:
            self.problems.append(ConfigProblem(path, START, refused.message))
            return _NOTHING

    def _resolve(self, name: str, chain: tuple[str, ...]) -> _ConfigValues:
        """Resolve a file; its own mistakes are added to ``problems``.

        Raises ReadError if it cannot be opened, because that is a mistake in the file that names it.
        """
        self.names_read.append(name)
        self._check_inside(name)
        path = _shipped(name) if name.startswith(SHIPPED) else name
        raw = read_bytes(path)
        identity = os.path.realpath(path)
        if identity not in self.resolved:
            file = self._read(name, raw)
            self.resolved[identity] = self._checked(file, (*chain, identity)) if file else _NOTHING
        return self.resolved[identity]

    def _is_inside(self, name: str) -> bool:
        return self.repository is None or is_really_inside(name, self.repository)

    def _may_enter(self, folder: str, outside: list[str]) -> bool:
        """Whether a glob may enter a folder; if not, the folder is added to ``outside``."""
        if self._is_inside(folder):
            return True
        outside.append(folder)
        return False

    def _check_inside(self, name: str) -> None:
        """Raise ReadError for a file outside the repository."""
        if not name.startswith(SHIPPED) and not self._is_inside(name):
            raise ReadError(f"is outside the repository; {NEEDS_CONFIG}")

    def _read(self, name: str, raw: bytes) -> _File | None:
        try:
            text = decode(raw)
            located: Located
            if name.endswith(".toml"):
                from afflint.config.toml import read_toml

                located = read_toml(text)
            else:
                from afflint.config.yaml import read_yaml

                located = read_yaml(text)
            self.files.append(_File(name, located))
        except ReadError as refused:
            self.problems.append(ConfigProblem(name, refused.span, refused.message))
            return None
        return self.files[-1]

    def _checked(self, file: _File, chain: tuple[str, ...]) -> _ConfigValues:
        """Merge the values of the file over those it extends; its mistakes are added to ``problems``."""
        inherited = self._extended(file, chain)
        faults = list(islice(_faults(file.located), MOST_PROBLEMS))
        self.problems += map(file.problem, faults)
        inherited = inherited.under(self._named_policies(file, chain))
        return inherited if faults else inherited.under(_typed(file))

    def _named_policies(self, file: _File, chain: tuple[str, ...]) -> _ConfigValues:
        """Load the policies of the files that ``policies`` names."""
        found = _NOTHING
        manifests: dict[str, Path] = {}
        for path, target in _texts(file.located, ("policies",)):
            glob = target if has_magic(target) else f"{target.rstrip('/')}/**/*" if self._is_folder(file, target) else ""
            for name in self._matching_files(file, path, target, glob) if glob else [_resolve_path(file.name, target)]:
                shown_name = name if glob else target
                try:
                    self._check_inside(name)
                    if _holds_manifests(name):
                        manifests[name] = path
                    else:
                        found = found.under(self._policies_of(file, path, (shown_name, name), chain))
                except ReadError as refused:
                    self.problems.append(file.problem(file.located.mistake(path, f"{quoted(shown_name)} {refused.message}")))
        return found.under(self._admission_policies(file, manifests)) if manifests else found

    def _is_folder(self, file: _File, target: str) -> bool:
        name = _resolve_path(file.name, target)
        try:
            self._check_inside(name)
        except ReadError:
            return False
        return os.path.isdir(name)

    def _policies_of(self, file: _File, path: Path, names: tuple[str, str], chain: tuple[str, ...]) -> _ConfigValues:
        """Load the policies of one file; ``names`` are its name in ``policies`` and its path. Raises ReadError."""
        shown_name, name = names
        values = self._resolve_extended(name, chain)
        others = sorted(values.values.keys() - {"policies"})
        if others:
            message = f"{quoted(shown_name)} sets keys other than `policies`, such as `{others[0]}`; use `extends` to apply all of them"
            self.problems.append(file.problem(file.located.mistake(path, message)))
        origins = {key: origin for key, origin in values.origins.items() if key.startswith("policies")}
        return _ConfigValues({key: value for key, value in values.values.items() if key == "policies"}, origins)

    def _matching_files(self, file: _File, path: Path, target: str, glob: str) -> list[str]:
        """Find the files that match a glob and contain policies or manifests; others are skipped. Messages name them as ``target``."""
        found = []
        suffixes = "" if glob == target else (".yaml", ".yml", ".json")
        folder = os.path.dirname(file.name) or os.curdir
        outside: list[str] = []
        for name in [_resolve_path(file.name, each) for each in paths_like(folder, glob, lambda each: self._may_enter(each, outside))]:
            try:
                self._check_inside(name)
                if name.endswith(suffixes) and os.path.isfile(name) and (_holds_manifests(name) or _holds_policies(name)):
                    found.append(name)
            except ReadError as refused:  # noqa: PERF203 - each one is a mistake of its own
                self.problems.append(file.problem(file.located.mistake(path, f"{quoted(name)} {refused.message}")))
        if outside:
            message = f"{quoted(target)} leads outside the repository; {NEEDS_CONFIG}"
            self.problems.append(file.problem(file.located.mistake(path, message)))
        elif not found:
            message = f"{quoted(target)} matches no file with policies and no manifest"
            self.problems.append(file.problem(file.located.mistake(path, message)))
        return found

    def _admission_policies(self, file: _File, manifests: Mapping[str, Path]) -> _ConfigValues:
        """Load the admission policies from manifests that ``policies`` names, by path and the position of the name."""
        from afflint.admission.cel import ensure_available
        from afflint.policies.policy_files import read_admission

        policies: dict[str, Policy] = {}
        origins: dict[str, Origin] = {}
        try:
            admission = read_admission(manifests, {*self.rule_names, *self.categories, ALL})
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror}") from None
        for policy in admission.policies:
            policies[policy.name] = Policy(policy.name, "validating-admission-policy", {"manifests": [*manifests]})
            origins[field_of(("policies", policy.name))] = _origin(file, manifests[policy.origin.file])
        if policies:
            ensure_available()
        else:
            path = next(iter(manifests.values()))
            reason = f"; {admission.first_reason}" if admission.first_reason else ""
            message = f"none of these manifests contains a policy in CEL{reason}"
            self.problems.append(file.problem(file.located.mistake(path, message)))
        self.admission |= policies.keys()
        return _ConfigValues({"policies": policies}, origins)

    def _extended(self, file: _File, chain: tuple[str, ...]) -> _ConfigValues:
        """Load the files that this one extends; a later file takes precedence."""
        inherited = _NOTHING
        for path, target in _texts(file.located, ("extends",)):
            try:
                inherited = inherited.under(self._resolve_extended(_resolve_path(file.name, target), chain))
            except ReadError as refused:  # noqa: PERF203 - each one is a mistake of its own
                self.problems.append(file.problem(file.located.mistake(path, f"{quoted(target)} {refused.message}")))
        return inherited

    def _resolve_extended(self, name: str, chain: tuple[str, ...]) -> _ConfigValues:
        if len(chain) > LONGEST_CHAIN:
            raise ReadError(f"is too deep in a chain of more than {LONGEST_CHAIN} configurations that extend each other")
        if "\0" not in name and os.path.realpath(_shipped(name) if name.startswith(SHIPPED) else name) in chain:
            raise ReadError("creates a cycle: it already extends this file" if len(chain) > 1 else "is this file itself")
        return self._resolve(name, chain)

    def check_names(self) -> None:
        """Report unknown names of rules and categories; called last, because a file can name the policies of another."""
        policies = {str(name) for file in self.files for _, name in _texts(file.located, ("policies",), "name")}
        known = (*self.rule_names, *sorted((policies | self.admission) - {*self.rule_names}))
        for file in self.files:
            faults = [*_policy_faults(file.located, {*self.rule_names, *self.categories, ALL})]
            faults += islice(_name_faults(file.located, known, self.categories), MOST_PROBLEMS)
            self.problems += map(file.problem, faults)


def _texts(located: Located, path: Path, key: str | None = None) -> Iterator[tuple[Path, str]]:
    """Yield the strings at ``path``: of a list there each string, or with ``key`` that value of each map; other types are skipped."""
    value: Any = located.data
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, str):
        yield path, value
    for index, item in enumerate(value if isinstance(value, list) else ()):
        below = (key,) if key is not None and isinstance(item, dict) else ()
        text = item.get(key) if below else item
        if isinstance(text, str):
            yield (*path, index, *below), text


def _keys(located: Located, key: str) -> list[str]:
    value = located.data.get(key)
    return list(value) if isinstance(value, dict) else []


def _faults(located: Located) -> Iterator[ConfigMistake]:
    """Yield what is wrong with a file by itself, except for unknown names of rules."""
    yield from located.faults
    yield from shape_faults(located)
    for key in _GLOBS:
        for path, glob in _texts(located, (key,)):
            if glob:
                yield from (located.mistake(path, message) for message in _glob_faults(glob))
    for glob in _keys(located, "per-file-ignores"):
        negated = f"{quoted(glob)}: a glob of `per-file-ignores` cannot begin with `!`"
        for message in (negated,) if glob.startswith("!") else _glob_faults(glob):
            yield located.mistake(("per-file-ignores", glob), message, key=True)


def _glob_faults(glob: str) -> Iterator[str]:
    if separates_by_backslash(glob):
        yield f"{quoted(glob)}: use `/` to separate folders in a glob, on Windows too"
    elif pattern(glob) is None:
        yield f"{quoted(glob)} is a glob that matches nothing"


def _policy_faults(located: Located, reserved: set[str]) -> Iterator[ConfigMistake]:
    """Yield mistakes in policies that the schema cannot express, such as a name that is already taken."""
    listed = located.data.get("policies")
    if isinstance(listed, list):
        from afflint.policies.binding import faults_of

        for index, policy in enumerate(listed):
            if isinstance(policy, dict):
                for path, message in faults_of(policy):
                    yield located.mistake(("policies", index, *path), message)
    seen: set[str] = set()
    for path, name in _texts(located, ("policies",), "name"):
        if path[-1] != "name":
            continue  # A file or folder of policies.
        if name in reserved:
            yield located.mistake(path, f"{quoted(name)} is the name of a rule or category of afflint; choose another name for the policy")
        elif name in seen:
            yield located.mistake(path, f"duplicate policy name {quoted(name)}")
        seen.add(name)


def _name_faults(located: Located, known: tuple[str, ...], categories: tuple[str, ...]) -> Iterator[ConfigMistake]:
    """Yield names that are neither a rule nor, where allowed, a category."""
    lists: list[Path] = [(key,) for key in _NAMES]
    lists += [("per-file-ignores", glob) for glob in _keys(located, "per-file-ignores")]
    for list_path in lists:
        for path, name in _texts(located, list_path):
            message = unknown_name(name, known, categories)
            if message and len(path) > len(list_path):
                yield located.mistake(path, message)
    for name in _keys(located, "severity"):
        path = ("severity", name)
        if name in categories or name == ALL:
            yield located.mistake(path, f"`{name}` is not a rule; set the severity of each rule separately", key=True)
        elif name not in known:
            yield located.mistake(path, f"unknown rule {quoted(name)}{did_you_mean(nearest(name, known))}", key=True)


def _holds_manifests(name: str) -> bool:
    """Whether a file that ``policies`` names contains Kubernetes objects. Raises ReadError."""
    if name.startswith(SHIPPED):
        return False
    from afflint.policies.policy_files import looks_like_manifest

    return looks_like_manifest(read_bytes(name))


def _holds_policies(name: str) -> bool:
    """Whether a file that matches a pattern contains policies of afflint. Raises ReadError."""
    return re.search(rb"^[\"']?policies[\"']?[ \t]*:", read_bytes(name), re.MULTILINE) is not None


def _shipped(name: str) -> str:
    """Return the path of a policy profile of afflint. Raises ReadError for an unknown one."""
    folder = os.path.join(resources.directory("rules"), "profiles")
    word = name.removeprefix(SHIPPED)
    known = sorted(each.removesuffix(".yaml") for each in os.listdir(folder) if each.endswith(".yaml")) if os.path.isdir(folder) else []
    if word not in known:
        close = nearest(word, known)
        hint = did_you_mean(close and f"{SHIPPED}{close}") or (
            f"; known profiles are {', '.join(f'`{each}`' for each in known)}" if known else ""
        )
        raise ReadError(f"is not a policy profile of afflint{hint}")
    return os.path.join(folder, f"{word}.yaml")


def _resolve_path(file: str, path: str) -> str:
    """Resolve a path that is relative to ``file``; the name of a policy profile stays as it is."""
    return path if path.startswith(SHIPPED) else os.path.normpath(os.path.join(os.path.dirname(file), path))


def _typed(file: _File) -> _ConfigValues:
    """Return the values of a file without mistakes, with the types of Config, and their origins."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    data: Mapping[str, Any] = file.located.data
    for key, value in data.items():
        values[key] = _value(file.name, key, value)
        origins[key] = _origin(file, (key,))
        if key == "policies":
            own = [(index, item) for index, item in enumerate(value) if isinstance(item, dict)]
            origins |= {field_of((key, item["name"])): _origin(file, (key, index)) for index, item in own}
        elif key in _MAPS:
            origins |= {field_of((key, entry)): _origin(file, (key, entry)) for entry in values[key]}
    return _ConfigValues(values, origins)


def typed(file: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file without mistakes by the fields of Config."""
    return {key.replace("-", "_"): _value(file, key, value) for key, value in values.items()}


def _origin(file: _File, path: Path) -> Origin:
    span = file.located.span(path, key=True)
    return Origin(file.name, span.line, span.column)


def _value(name: str, key: str, value: Any) -> object:
    if key == "baseline":
        return _resolve_path(name, value)
    if key == "output":
        return tuple(each if each == "-" else _resolve_path(name, each) for each in ([value] if isinstance(value, str) else value))
    if key == "format" and isinstance(value, str):
        return (value,)
    if key == "nodes" and value in (AUTO_NODES, NO_NODES):
        return () if value == AUTO_NODES else (NO_NODES,)
    if key == "nodes":
        paths = [_resolve_path(name, path) for path in ([value] if isinstance(value, str) else value)]
        return tuple(os.path.join(os.curdir, path) if path == NO_NODES else path for path in paths)
    if key in _PATHS:
        return tuple(_resolve_path(name, path) for path in ([value] if isinstance(value, str) else value))
    if key == "render" and not isinstance(value, list):
        return RENDERERS if value else ()
    if key == "per-file-ignores":
        return {glob: tuple(names) for glob, names in value.items()}
    if key == "storage":
        return {each: StorageSetting(**item) for each, item in value.items()}
    if key == "workloads":
        return tuple(CustomWorkloadSetting(item["apiVersion"], item["kind"], tuple(item["template"].split("."))) for item in value)
    if key == "policies":
        return {item["name"]: Policy(**{"params": {}, "match": {}, "exclude": {}, **item}) for item in value if isinstance(item, dict)}
    return tuple(value) if isinstance(value, list) else value
