"""Values that an object of Argo CD or Flux, a helmfile or a kustomization gives a chart, and where each of them is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.rendering.set_templates import NO_PARAMETERS, Parameters, used_parameter
from afflint.rendering.source_documents import SourcePlace, SourceText, WrittenText, documents_of, only_or_with, value_at

VALUE, PARAMETER = "value", "parameter"
"""The kinds of places of values, and of parameters that templates of values use."""


class Written(NamedTuple):
    """A document and a path in it. If the document comes from a template, ``parameters`` are those that it was filled with.

    ``template``: the text that the document was filled from, with the same lines; None if the document has the placeholders itself.
    """

    text: SourceText
    path: Path = ()
    parameters: Parameters = NO_PARAMETERS
    template: str | None = None
    patched: Written | None = None
    """What the document patches: values that it does not have are written there."""

    def below(self, path: Path) -> Written:
        """Return what is at a path below this one."""
        return self._replace(path=(*self.path, *path), patched=self.patched and self.patched.below(path))

    def inside(self, text: str) -> list[Written]:
        """Return the documents in the scalar that is written here, whose text is ``text`` after parameters have been replaced."""
        holder = self.holder(())
        if holder is not self:
            return [] if holder is None else holder.inside(text)
        template = str(value_at(self.text.data, self.path))
        if template.count("\n") != text.count("\n"):
            return []
        return [Written(each, (), self.parameters, template) for each in self.text.inside(self.path, text)]

    def holder(self, below: Path) -> Written | None:
        """Return this, or what it patches: whichever has a value at a path below this one; None if neither has."""
        try:
            value_at(self.text.data, (*self.path, *below))
        except (LookupError, TypeError):
            return None if self.patched is None else self.patched.holder(below)
        return self

    def places(self, below: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """Return the place of a value at a path below this one, or of its key, and that of the parameter that it contains."""
        holder = self.holder(below)
        if holder is not None and holder is not self:
            return holder.places(below, key=key)
        path = (*self.path, *below)
        place = self.text.place(path, VALUE, key=key, exact=True)
        used = None if key or not self.parameters else used_parameter(self._line_from(path), self.parameters)
        parameter = None if used is None else self.parameters[used[0]]
        if used is None or not isinstance(parameter, WrittenText):
            return (place,)
        return only_or_with(place, is_only=used[1]), parameter.text.place(parameter.path, PARAMETER, exact=True)

    def _line_from(self, path: Path) -> str:
        """Return the rest of the line of the template from the value at a path on."""
        span = self.text.document.locate(path)
        template = self.template
        if template is None:
            template = "\n" * self.text.document.line + self.text.document.text()
        lines = template.split("\n")
        return lines[span.line - 1][span.column - 1 :] if span.line <= len(lines) else ""


class Inline(NamedTuple):
    """Helm values that are not in a values file, and where they are written, if that is known.

    ``target``: the path in the values of the single value that is written there.
    """

    values: Mapping[str, Any]
    written: Written | None = None
    target: Path = ()

    @property
    def data(self) -> Mapping[str, Any]:
        """The values."""
        return self.values

    def is_at(self, path: Path) -> bool:
        """Return whether it is known where the value at a path is written."""
        return path[: len(self.target)] == self.target and self.holder(path) is not None

    def holder(self, path: Path) -> Written | None:
        """Return what has the value at a path; None if that is unknown."""
        return None if self.written is None else self.written.holder(path[len(self.target) :])

    def places(self, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """Return where the value at a path is written, and the parameter that it contains."""
        return () if self.written is None else self.written.places(path[len(self.target) :], key=key)


class Setting(NamedTuple):
    """A value that an option of Helm sets: ``--set`` or ``--set-string``."""

    option: str
    name: str
    value: str
    written: Written | None = None

    @property
    def path(self) -> Path:
        """The path of the value. After ``strvals`` of Helm: a backslash escapes a dot, and brackets have an index."""
        steps: list[Any] = []
        for part in re.split(r"(?<!\\)\.", self.name):
            key, *indexes = re.split(r"\[(\d{1,6})\]", part)
            steps += [re.sub(r"\\(.)", r"\1", key)] if key else []
            steps += [int(each) for each in indexes[::2]]
        return tuple(steps)

    @property
    def data(self) -> Mapping[str, Any]:
        """Nothing: only Helm knows the values that the text means."""
        return {}

    def words(self, value: str | None = None) -> tuple[str, str]:
        """Return the words of the option, with another value if one is given."""
        return self.option, f"{self.name}={self.value if value is None else value}"

    def places(self, _path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:  # noqa: ARG002
        """Return where the value is written, and the parameter that it contains."""
        return () if self.written is None else self.written.places(())


def inline_text(values: str, written: Written) -> tuple[Inline, ...]:
    """Return the values in a string that is ``written`` in an object."""
    inside = None if not values else next((each for each in written.inside(values) if type(each.text.data) is dict), None)
    if inside is not None:
        return (Inline(inside.text.data, inside),)
    document = next(iter(documents_of(values.encode("utf-8", "replace")).values()), None)
    return (Inline(document.data),) if document is not None and type(document.data) is dict else ()


def merged(data: Any, patch: Any) -> Any:
    """Return data with a patch: maps are merged, and everything else is replaced."""
    if type(data) is not dict or type(patch) is not dict:
        return patch
    return {**data, **{key: merged(data.get(key), each) for key, each in patch.items()}}
