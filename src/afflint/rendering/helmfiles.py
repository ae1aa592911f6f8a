"""The releases of helmfiles whose charts are in the repository: each environment gives its own render roots.

After docs/configuration.md and docs/writing-helmfile.md of github.com/helmfile/helmfile. Templates are filled as far as ``go_templates``
understands them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.rendering.application_sets import flatten
from afflint.rendering.boundary import Boundary
from afflint.rendering.given_values import Inline, Setting, Written, merged
from afflint.rendering.go_templates import Filled, TemplateBudget, TemplateError, fill
from afflint.rendering.hints import Declared, Hint, Hints, RemoteObject, UnsupportedObject
from afflint.rendering.set_templates import NO_PARAMETERS, Parameters, has_placeholder
from afflint.rendering.source_documents import SourceText, documents_of, source_texts, value_at
from afflint.source.files import read_regular
from afflint.source.repositories import is_inside
from afflint.source.sources import CHART
from afflint.yaml.document import list_at, map_at, text_at, texts_at

_NAMES = frozenset(f"helmfile{ending}" for ending in (".yaml", ".yml", ".yaml.gotmpl", ".yml.gotmpl"))
_FOLDER, _TEMPLATE = "helmfile.d", ".gotmpl"
_LARGEST = 1 << 20
_MOST, _MOST_RELEASES = 200, 2_000
"""The most different things that one helmfile renders, and the most releases of it, over all its environments."""
_MOST_ENVIRONMENTS, _MOST_FILES = 30, 50
"""The most environments of one helmfile, and the most values or bases of one list."""
_UNKNOWN = "afflint-unknown-value"
_DEFAULT = "default"
_PREFIXES = ("Values", "Environment.Values", "StateValues")
_PART = re.compile(r"(?m)^---[^\n]*$")
"""The line between the parts of a helmfile; each is a template of its own, whose data are the environments of the parts before it."""


def add_helmfiles(found: Hints, paths: Iterable[str], boundary: Boundary) -> None:
    """Add what the helmfiles among some files render."""
    for path in paths:
        if _is_helmfile(path):
            file = os.path.realpath(path)
            with suppress(OSError, UnicodeDecodeError):
                text = read_regular(file, _LARGEST).decode("utf-8")
                for each in _Helmfile(file, text, boundary).read():
                    found.add(each)


def _is_helmfile(path: str) -> bool:
    folder, name = os.path.split(path)
    in_folder = os.path.basename(folder) == _FOLDER and name.removesuffix(_TEMPLATE).endswith((".yaml", ".yml"))
    return name in _NAMES or in_folder


class _UnsupportedError(Exception):
    """A template that cannot be filled."""


class _Environment(NamedTuple):
    """An environment with its values. ``is_complete``: all of them are known.

    ``parameters`` are the single values by the names that templates have for them, and where they are written.
    """

    name: str
    values: Mapping[str, Any]
    is_complete: bool
    budget: TemplateBudget
    parameters: Parameters = NO_PARAMETERS

    def with_values(self, values: Mapping[str, Any], text: SourceText, path: Path = ()) -> _Environment:
        """Return the environment with more values, which are at a path of a document."""
        flat = flatten(values, text=text, path=path)
        written = {f"{prefix}.{key}": value for prefix in _PREFIXES for key, value in flat.items()}
        return self._replace(values=merged(self.values, values), parameters={**self.parameters, **written})

    def filled(self, text: str, unknown: str | None = None, what: str = "its template", **others: Any) -> Filled:
        """Return a template filled with the values, and with ``others``. Raises _UnsupportedError for ``what`` has the template."""
        environment = {"Name": self.name, "Values": self.values}
        data = {"Environment": environment, "Values": self.values, "StateValues": self.values, **others}
        try:
            return fill(text, data, is_complete=self.is_complete, unknown=unknown, budget=self.budget)
        except TemplateError as error:
            action = quoted(error.action)
            if error.is_too_large:
                raise _UnsupportedError(f"{what} is too large to be filled at {action}") from None
            verb, reason = ("depends on", "known") if error.is_known else ("uses", "supported")
            raise _UnsupportedError(f"{what} {verb} {action}, which is not {reason}") from None


_Item = TypeVar("_Item")


class _Helmfile:
    def __init__(self, file: str, text: str, boundary: Boundary) -> None:
        self._file = file
        self._text = text
        self._folder = os.path.dirname(file)
        self._top = boundary.top(self._folder)
        self._title = f"Helmfile {os.path.basename(self._folder)}"
        self._budget = TemplateBudget()
        self._cuts: dict[str, None] = {}
        """What of the helmfile was not checked because it exceeds a limit."""

    def read(self) -> Iterator[Declared]:
        """Yield what each release of each environment renders, and its values files; what several environments share is yielded once."""
        seen: set[object] = set()
        for each in self._each_release():
            key = each.key if isinstance(each, Hint) else each
            if key not in seen:
                seen.add(key)
                yield each
            if len(seen) >= _MOST:
                self._cuts[f"it renders more than {_MOST} releases and values files"] = None
                break
        for cut in self._cuts:
            yield UnsupportedObject(self._title, f"{cut}, and the rest was not checked", self._file)

    def _each_release(self) -> Iterator[Declared]:
        try:
            environments = self._environments(self._parts())
        except _UnsupportedError as error:
            yield UnsupportedObject(self._title, str(error), self._file)
            return
        count = 0
        for environment in environments:
            try:
                filled = environment.filled(self._text, _UNKNOWN)
                documents = self._read(filled.text)
            except _UnsupportedError as error:
                suffix = "" if environment.name == _DEFAULT else f", {environment.name}"
                yield UnsupportedObject(f"{self._title}{suffix}", str(error), self._file)
                continue
            for text in documents:
                for number, release in enumerate(list_at(text.data, "releases")):
                    count += 1
                    if count > _MOST_RELEASES:
                        self._cuts[f"it has more than {_MOST_RELEASES:,} releases in its environments"] = None
                        return
                    yield from self._release(map_at(release), number, environment, text if filled.is_aligned else None)

    def _first(self, items: Sequence[_Item], most: int, what: str) -> Sequence[_Item]:
        """Return the first ``most`` items of a list, and note if there are more."""
        if len(items) > most:
            self._cuts[f"it has more than {most} {what}"] = None
        return items[:most]

    def _read(self, filled: str) -> list[SourceText]:
        documents = documents_of(filled.encode("utf-8", "replace")).values()
        if any(each.problem is not None for each in documents):
            raise _UnsupportedError("its template cannot be filled")
        return [SourceText(self._file, each, each.index) for each in documents]

    def _parts(self) -> list[SourceText]:
        """Return the documents that declare environments, which can be read without one. Raises _UnsupportedError."""
        found: list[SourceText] = []
        problems: list[_UnsupportedError] = []
        for part in _PART.split(self._text):
            try:
                found += self._read(_Environment(_DEFAULT, {}, False, self._budget).filled(part, _UNKNOWN).text)
            except _UnsupportedError as error:  # noqa: PERF203
                problems.append(error)
        if problems and not any(map_at(each.data, "environments") for each in found):
            raise problems[0]
        return found

    # Environments.

    def _environments(self, documents: Iterable[SourceText]) -> list[_Environment]:
        files = [*documents]
        for text in [*files]:
            for base in self._first(list_at(text.data, "bases"), _MOST_FILES, "bases"):
                files += self._plain(base) if type(base) is str else ()
        declared = list(dict.fromkeys(str(name) for text in files for name in map_at(text.data, "environments")))
        values = [(text, path) for text in files for path in _items_at(text, "values")]
        return [
            self._environment(
                name, [*values, *((text, path) for text in files for path in _items_at(text, "environments", name, "values"))]
            )
            for name in self._first(declared or [_DEFAULT], _MOST_ENVIRONMENTS, "environments")
        ]

    def _environment(self, name: str, values: Sequence[tuple[SourceText, Path]]) -> _Environment:
        known = _Environment(name, {}, len(values) <= _MOST_FILES, self._budget)
        for source, path in self._first(values, _MOST_FILES, "values of an environment"):
            each = value_at(source.data, path)
            if type(each) is dict:
                known = known.with_values(each, source, path)
                continue
            texts = self._plain(_filled_text(str(each), known))
            known = known._replace(is_complete=known.is_complete and bool(texts))
            for text in texts:
                known = known.with_values(map_at(text.data), text)
        return known

    def _plain(self, name: str) -> list[SourceText]:
        """Return the documents of a file of the repository without a template; none if it cannot be read."""
        file = self._existing(name)
        if file is None or file.endswith(_TEMPLATE):
            return []
        try:
            return source_texts(file, read_regular(file, _LARGEST))
        except OSError:
            return []

    def _existing(self, name: str) -> str | None:
        """Return the real path of a file or folder of the repository; None if it does not exist."""
        if not name or "\0" in name or "://" in name or has_placeholder(name) or _UNKNOWN in name:
            return None
        path = os.path.realpath(os.path.join(self._folder, name))
        return path if is_inside(path, self._top) and os.path.exists(path) else None

    # Releases.

    def _release(self, data: Mapping[str, Any], number: int, environment: _Environment, text: SourceText | None) -> Iterator[Declared]:
        own = {"Name": text_at(data, "name"), "Namespace": text_at(data, "namespace")}
        release = _filled_data(data, environment, own)
        name, chart = text_at(release, "name"), text_at(release, "chart")
        suffix = "" if environment.name == _DEFAULT else f", {environment.name}"
        declared_by = f"Release {name}{suffix}"
        if not name or not chart or not _is_installed(release, environment):
            return
        files = [self._existing(each) for each in texts_at(release, "values")]
        yield from (each for each in files if each is not None and not each.endswith(_TEMPLATE))
        unknown = self._unknown(release)
        if unknown:
            yield UnsupportedObject(declared_by, unknown, self._file)
            return
        folder = self._existing(chart)
        if folder is None or not os.path.isfile(os.path.join(folder, CHART)):
            yield RemoteObject(declared_by, f"chart {chart}", self._file)
            return
        try:
            inline = tuple(self._values(release, number, environment, text))
        except _UnsupportedError as error:
            yield UnsupportedObject(declared_by, str(error), self._file)
            return
        settings: list[Setting] = []
        for place, each in enumerate(list_at(release, "set")):
            if type(each) is dict and "value" in each:
                value = flatten({"": each["value"]}).get("", "")
                written = self._written(text, environment, ("releases", number, "set", place, "value"))
                settings.append(Setting("--set", text_at(each, "name"), value, written))
        namespace = text_at(release, "namespace") or None
        yield Hint(folder, declared_by, self._file, namespace, release=name, inline=inline, settings=tuple(settings))

    def _written(self, text: SourceText | None, environment: _Environment, path: Path) -> Written | None:
        """Return what is at a path of a document of the helmfile, which is a template; None without a document."""
        return None if text is None else Written(text, path, environment.parameters, self._text)

    def _unknown(self, release: Mapping[str, Any]) -> str:
        """Return why it is unknown what a release renders, or ""."""
        for key in ("name", "chart", "namespace", "values", "set", "installed", "installedTemplate", "condition"):
            written = str(release.get(key))
            if has_placeholder(written) or _UNKNOWN in written:
                return f"its `{key}` is not known"
        return ""

    def _values(self, release: Mapping[str, Any], number: int, environment: _Environment, text: SourceText | None) -> Iterator[Inline]:
        """Yield the values of a release in their order. Raises _UnsupportedError."""
        for place, each in enumerate(self._first(list_at(release, "values"), _MOST_FILES, "values of a release")):
            if type(each) is dict:
                yield Inline(each, self._written(text, environment, ("releases", number, "values", place)))
                continue
            file = self._existing(str(each))
            if file is not None and file.endswith(_TEMPLATE):
                yield from self._filled(file, environment)
            for document in self._plain(str(each)):
                if type(document.data) is dict:
                    yield Inline(document.data, Written(document))

    def _filled(self, file: str, environment: _Environment) -> Iterator[Inline]:
        try:
            text = read_regular(file, _LARGEST).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return
        filled = environment.filled(text, what=f"its values file {quoted(os.path.basename(file))}")
        for document in documents_of(filled.text.encode("utf-8", "replace")).values():
            if type(document.data) is dict:
                written = Written(SourceText(file, document, document.index), (), environment.parameters, text)
                yield Inline(document.data, written if filled.is_aligned else None)


def _items_at(text: SourceText, *steps: str) -> list[Path]:
    """Return the paths of the items of a list in a document."""
    return [(*steps, number) for number, _ in enumerate(list_at(text.data, *steps))]


def _filled_text(text: str, environment: _Environment, **others: Any) -> str:
    """Return a text with its templates filled; as it is if that is not possible."""
    try:
        return environment.filled(text, **others).text
    except _UnsupportedError:
        return text


def _filled_data(value: Any, environment: _Environment, release: Mapping[str, Any]) -> Any:
    """Return data with the templates in its strings filled, as far as that is possible."""
    if type(value) is dict:
        return {key: _filled_data(each, environment, release) for key, each in value.items()}
    if type(value) is list:
        return [_filled_data(each, environment, release) for each in value]
    return _filled_text(value, environment, Release=release) if type(value) is str else value


def _is_installed(release: Mapping[str, Any], environment: _Environment) -> bool:
    """Return whether a release is installed, as far as it is known."""
    if release.get("installed") is False or text_at(release, "installedTemplate") == "false":
        return False
    condition = text_at(release, "condition")
    if not condition:
        return True
    enabled: Any = environment.values
    for key in condition.split("."):
        enabled = enabled.get(key) if type(enabled) is dict else None
    return enabled is True or (enabled is None and not environment.is_complete)
