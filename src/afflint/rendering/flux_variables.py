"""Variables that Flux substitutes in the output of kustomize, `${NAME}` with or without an operator.

After ``SubstituteVariables`` of github.com/fluxcd/pkg/kustomize and ``Eval`` of github.com/fluxcd/pkg/envsubst. Flux replaces a variable
that is not set by its default, or by nothing. A variable that a Secret or an unknown ConfigMap may set is kept instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.rendering.source_documents import SourcePlace, SourceText
from afflint.yaml.document import text_at
from afflint.yaml.documents import read, split

VARIABLE = "variable"
"""The kind of the place that sets a variable."""
_DISABLING = "kustomize.toolkit.fluxcd.io/substitute"
_MOST_NESTED = 4
_LONGEST = 1000
"""The longest value that is cut by a pattern, and the longest pattern: this takes quadratic time."""
_MOST_INSERTED = 1 << 24
"""The most characters of values that are read or inserted for a text."""


class FluxVariable(NamedTuple):
    """The value of a variable, and the document and path that set it, if they are known."""

    value: str
    text: SourceText | None = None
    path: Path = ()

    def place(self) -> SourcePlace | None:
        """Return where the variable is set."""
        return None if self.text is None else self.text.place(self.path, VARIABLE, exact=True)


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables of a Kustomization of Flux. ``is_complete``: no other variable is set."""

    by_name: Mapping[str, FluxVariable] = field(default_factory=dict)
    is_complete: bool = True

    @property
    def key(self) -> str:
        """A text that is equal for variables with the same values."""
        return repr(({name: each.value for name, each in self.by_name.items()}, self.is_complete))

    def fill(self, text: str) -> str:
        """Return a text with the values of the variables."""
        return _VariableText(text, self._value).filled() if self.by_name and "$" in text else text

    def used_in(self, text: str) -> tuple[FluxVariable, bool] | None:
        """Return the first of these variables that a text uses, and whether the whole text is this variable; None without one."""
        for match in _USE.finditer(text):
            if match[1] in self.by_name:
                return self.by_name[match[1]], match[0] == text
        return None

    def _value(self, name: str) -> str | None:
        known = self.by_name.get(name)
        return known.value if known is not None else "" if self.is_complete else None


NO_VARIABLES = Variables()


def substitute(output: bytes, variables: Variables) -> bytes:
    """Return output with the values of variables. Objects that disable the substitution are kept as they are."""
    if not variables.by_name:
        return output
    if _DISABLING.encode() not in output:
        return _filled(output, variables)
    pieces = (piece if _is_disabled(piece) else _filled(piece, variables) for piece, _, _ in split(output))
    return b"---\n".join(piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces)


def _filled(output: bytes, variables: Variables) -> bytes:
    return variables.fill(output.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _is_disabled(piece: bytes) -> bool:
    data = read(piece, 0, 0).data
    return any(text_at(data, "metadata", place, _DISABLING) == "disabled" for place in ("labels", "annotations"))


# The syntax.

_USE = re.compile(r"(?<!\$)\$\{#?(\w+)[^}]*\}")
_START = re.compile(r"\$\$|\$\{")
_HEAD = re.compile(r"(\w+)(:[=?+\-]|=|//|/#|/%|/|##|#|%%|%|\^\^?|,,?|:|(?=\}))")
_LENGTH = re.compile(r"#(\w+)\}")
_ENDS = {"/": "/", ":": ":}"}
"""The ends of the first argument of operators with two."""


_STOPS = {ends: re.compile(rf"\$\{{|[{ends}]") for ends in ("}", *_ENDS.values())}


class _BadSubstitutionError(Exception):
    """A variable with a syntax that Flux rejects, or with a value that is unknown."""


class _VariableText:
    """A text with variables. ``value`` returns the value of a variable, None if it is unknown."""

    def __init__(self, text: str, value: Callable[[str], str | None]) -> None:
        self._text = text
        self._value = value
        self._remaining = _MOST_INSERTED

    def filled(self) -> str:
        """Return the text with values. A variable that is unknown or malformed is kept."""
        text, pieces, position = self._text, [], 0
        while (start := _START.search(text, position)) is not None:
            pieces.append(text[position : start.start()])
            position = start.end()
            if start[0] == "$$":
                pieces.append("$")
                continue
            try:
                value, position = self._variable(position, 0)
                pieces.append(value)
            except _BadSubstitutionError:
                pieces.append(start[0])
        return "".join((*pieces, text[position:]))

    def _variable(self, position: int, depth: int) -> tuple[str, int]:
        """Return the value of a variable, and the position after it; ``position`` is that after its opening brace."""
        length = _LENGTH.match(self._text, position)
        if length is not None:
            return str(len(self._known(length[1]).encode("utf-8", "surrogatepass"))), length.end()
        head = _HEAD.match(self._text, position)
        if head is None or depth > _MOST_NESTED:
            raise _BadSubstitutionError
        name, operator = head[1], head[2]
        arguments, position = self._arguments(operator, head.end(), depth)
        value, function = self._known(name), _FUNCTIONS.get(operator, _default)
        if function is _trim:
            self._take(len(value) * (len(value) + sum(map(len, arguments))))
        inserted = function(value, operator, arguments)
        self._take(len(inserted))
        return inserted, position

    def _known(self, name: str) -> str:
        value = self._value(name)
        if value is None:
            raise _BadSubstitutionError
        self._take(len(value))
        return value

    def _take(self, count: int) -> None:
        """Count characters that are read or inserted. Raises _BadSubstitutionError if they are too many."""
        self._remaining -= count
        if self._remaining < 0:
            raise _BadSubstitutionError

    def _arguments(self, operator: str, position: int, depth: int) -> tuple[list[str], int]:
        """Return the arguments of an operator, and the position after the closing brace."""
        found: list[str] = []
        ends = _ENDS.get(operator[:1], "") if operator[1:] not in ("=", "?", "+", "-") else ""
        if ends:
            argument, position = self._argument(position, ends, depth)
            found.append(argument)
            if self._text[position : position + 1] != "}":
                position += 1
        if self._text[position : position + 1] != "}":
            argument, position = self._argument(position, "}", depth)
            found.append(argument)
        return found, position + 1

    def _argument(self, position: int, ends: str, depth: int) -> tuple[str, int]:
        """Return the text up to one of ``ends``, with the values of variables in it, and the position of that end."""
        pieces: list[str] = []
        while True:
            match = _STOPS[ends].search(self._text, position)
            if match is None:
                raise _BadSubstitutionError
            pieces.append(self._text[position : match.start()])
            if match[0] != "${":
                return "".join(pieces), match.start()
            value, position = self._variable(match.end(), depth + 1)
            pieces.append(value)


def _default(value: str, _operator: str, arguments: list[str]) -> str:
    return value or "".join(arguments)


def _change_case(value: str, operator: str, _arguments: list[str]) -> str:
    changed = value.upper() if operator.startswith("^") else value.lower()
    return changed if len(operator) == 2 else changed[:1] + value[1:]


def _cut(value: str, _operator: str, arguments: list[str]) -> str:
    if not all(re.fullmatch(r"[+-]?\d{1,9}", each) for each in arguments):
        return value
    first, *rest = map(int, arguments)
    start = max(len(value) + first, 0) if first < 0 else first
    if not rest or start + rest[0] >= len(value):
        return value[start:]
    if rest[0] < 0:
        raise _BadSubstitutionError
    return value[start : start + rest[0]]


def _replace(value: str, operator: str, arguments: list[str]) -> str:
    old, new = (*arguments, "")[:2]
    if operator == "/#":
        return new + value[len(old) :] if len(arguments) == 2 and value.startswith(old) else value
    if operator == "/%":
        return value[: len(value) - len(old)] + new if len(arguments) == 2 and value.endswith(old) else value
    if value.count(old) * len(new) > _MOST_INSERTED:
        raise _BadSubstitutionError
    return value.replace(old, new, -1 if operator == "//" else 1)


def _trim(value: str, operator: str, arguments: list[str]) -> str:
    pattern = "".join(arguments).replace("[^", "[!")
    if len(value) > _LONGEST or len(pattern) > _LONGEST:
        raise _BadSubstitutionError
    lengths = range(1, len(value) + 1)
    at_start = operator.startswith("#")
    fitting = [each for each in lengths if fnmatchcase(value[:each] if at_start else value[-each:], pattern)]
    if not fitting:
        return value
    length = fitting[0] if len(operator) == 1 else fitting[-1]
    return value[length:] if at_start else value[: len(value) - length]


_FUNCTIONS: Mapping[str, Callable[[str, str, list[str]], str]] = {
    **dict.fromkeys(("^", "^^", ",", ",,"), _change_case),
    **dict.fromkeys(("/", "//", "/#", "/%"), _replace),
    **dict.fromkeys(("#", "##", "%", "%%"), _trim),
    ":": _cut,
}
