"""What the library for CEL says of an expression, in plain words and at the word that is meant. What of it is not known here is quoted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import did_you_mean, join_words, nearest, quoted, visible


class ExpressionMistake(NamedTuple):
    """What is wrong with an expression, and where in it; both count from 1."""

    message: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.message} (at {self.line}:{self.column} of the expression)" if self.line > 0 else self.message


_MISTAKE = re.compile(r"ERROR: <input>:(-?[0-9]+):(-?[0-9]+): ([^\n]*)")
_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")


_QUOTED = "CEL says of it: %s"


# What is wrong with an expression itself.

_SYNTAX = re.compile(r"Syntax error: (.*)")
_RESERVED = re.compile(r"reserved identifier: (\w+)")
_STRAY = re.compile(r"token recognition error at: '(.*)'$")
_UNEXPECTED = re.compile(r"(?:mismatched|extraneous) input '(.*?)' expecting (.*)$")
_MISSING = re.compile(r"missing ('.*?'|\w+) at '(.*)'$")
_UNCLEAR = re.compile(r"no viable alternative at input '(.*)'$")
_NO_OVERLOAD = re.compile(r"found no matching overload for '(.*?)' applied to '\((.*)\)'")
_NO_FIELDS = re.compile(r"expression of type '(.*?)' cannot be the operand of a select operation")
_NO_ITEMS = re.compile(r"expression of type '(.*?)' cannot be the range of a comprehension")
_OTHER_TYPE = re.compile(r"expected type '(.*?)' but found '(.*?)'")
_NO_NUMBER = re.compile(r"invalid (?:int|uint|double|float) literal")
_BLANK = re.compile(r"(?:\\[nrt]|\s)+$")
"""What is blank at the end of a token, where the library writes escapes for line breaks."""
_SHORT_LIST = 3
_END = "<EOF>"
_ERROR = "*error*"
"""The type of what has a mistake in it, which is told of that already."""

_MEANT = {"=": "==", "&": "&&", "|": "||", "and": "&&", "or": "||", "self": "object", "None": "null", "nil": "null", "undefined": "null"}
"""What CEL has for what other languages write so."""
_FORMS = {
    "has": "has(object.spec)", "all": "all(each, …)", "exists": "exists(each, …)", "exists_one": "exists_one(each, …)",
    "map": "map(each, …)", "filter": "filter(each, …)",
}  # fmt: skip
_LITERALS = ("true", "false", "null")


def mistakes_in(said: str) -> list[ExpressionMistake]:
    """The mistakes that the library tells of, in its own words."""
    return [ExpressionMistake(each[3], int(each[1]), int(each[2])) for each in _MISTAKE.finditer(_STATUS.sub("", said))]


def in_words(
    found: Sequence[ExpressionMistake], text: str, variables: Collection[str], functions: Collection[str]
) -> list[ExpressionMistake]:
    """The mistakes that the library finds in an expression, in order. Of those in its grammar the first, which the others come of."""
    found = sorted(found, key=lambda each: (each.line, each.column))
    grammar = [each for each in found if _SYNTAX.match(each.message) or _RESERVED.match(each.message)]
    own = grammar[:1] or [each for each in found if _ERROR not in each.message] or found
    told = {_told(each, text, variables, functions) for each in own}
    return sorted(told, key=lambda each: (each.line, each.column, each.message))


def _told(mistake: ExpressionMistake, text: str, variables: Collection[str], functions: Collection[str]) -> ExpressionMistake:
    message = mistake.message
    if found := UNDECLARED.match(message):
        return _undeclared(found[1], mistake, text, variables, functions)
    if found := _SYNTAX.match(message):
        return mistake._replace(message=_of_grammar(found[1], _rest(text, mistake)))
    if found := _RESERVED.match(message):
        return mistake._replace(
            message=f"{quoted(found[1])} is a word that CEL keeps for itself{did_you_mean(nearest(found[1], variables))}"
        )
    if found := _NO_OVERLOAD.match(message):
        return mistake._replace(message=_no_overload(found[1], list(_types(found[2]))))
    if found := _NO_FIELDS.match(message):
        return mistake._replace(message=f"{type_in_words(found[1])} has no fields")
    if found := _NO_ITEMS.match(message):
        return mistake._replace(message=f"{type_in_words(found[1])} has no items to go through")
    if found := _OTHER_TYPE.match(message):
        return mistake._replace(message=f"{type_in_words(found[2])} stands where {type_in_words(found[1])} belongs")
    if _NO_NUMBER.match(message):
        return mistake._replace(message="this number is too large for CEL")
    if message.startswith("has() argument"):
        return mistake._replace(message=f"`has` takes a field, as in `{_FORMS['has']}`")
    return mistake._replace(message=_QUOTED % visible(message))


def _undeclared(
    name: str, mistake: ExpressionMistake, text: str, variables: Collection[str], functions: Collection[str]
) -> ExpressionMistake:
    """A name that nobody knows, or a function that is called with something else than it takes."""
    column, row = mistake.column, _row(text, mistake.line)
    # The library points at what stands behind a name: at the bracket of a call, at the last dot in front of a field.
    before = name.rpartition(".")[0] or name
    if not row.startswith(name, column - 1) and row[: column - 1].endswith(before):
        column -= len(before)
    first = name.lstrip(".").partition(".")[0]
    known: Collection[str] = (*variables, *_LITERALS)
    if row[column - 1 + len(name) :].lstrip().startswith("("):
        known = (*functions, *_FORMS)
        if name in known:
            form = f": it is written {quoted(_FORMS[name])}" if name in _FORMS else ""
            return ExpressionMistake(f"{quoted(name)} does not take what it is given here{form}", mistake.line, column)
    close = did_you_mean(_MEANT.get(first) or nearest(first, known))
    return ExpressionMistake(f"there is no {quoted(first)} here{close}", mistake.line, column)


def _of_grammar(message: str, rest: str) -> str:
    """A mistake in the grammar; ``rest`` is what follows."""
    if found := _STRAY.match(message):
        return _stray(found[1])
    if found := _UNEXPECTED.match(message):
        return _unexpected(found[1], [each.strip().strip("'") for each in found[2].strip("{}").split(", ")])
    if found := _MISSING.match(message):
        return f"it is not CEL: {quoted(found[1].strip(chr(39)))} is missing {_before(found[2])}"
    if found := _UNCLEAR.match(message):
        token = quoted(_BLANK.sub("", found[1]))
        return f"it is not CEL: {token} cannot be understood here" if rest else f"it is not CEL: something is missing behind {token}"
    return f"it is not CEL: {visible(message)}"


def _stray(token: str) -> str:
    token = _BLANK.sub("", token)
    if token.lstrip("rRbB")[:1] in ("'", '"'):
        escape = re.search(r"\\.$", token)
        return f"{quoted(escape[0])} is no escape in a text of CEL" if escape else "it is not CEL: a text begins here that does not end"
    return f"it is not CEL: {quoted(token)} means nothing here{did_you_mean(_MEANT.get(token))}"


def _unexpected(token: str, expected: Sequence[str]) -> str:
    if expected == [_END]:
        return f"it is not CEL: {quoted(token)} stands behind what is complete already{did_you_mean(_MEANT.get(token))}"
    words = dict.fromkeys("a name" if each.endswith("IDENTIFIER") else quoted(each) for each in sorted(expected))
    wanted = join_words(words, "or") if len(words) <= _SHORT_LIST else "something"
    return f"it is not CEL: {wanted} is missing {_before(token)}"


def _before(token: str) -> str:
    return "at its end" if token == _END else f"before {quoted(token)}"


def _row(text: str, line: int) -> str:
    rows = text.split("\n")
    return rows[line - 1] if 0 < line <= len(rows) else ""


def _rest(text: str, mistake: ExpressionMistake) -> str:
    return "\n".join(text.split("\n")[mistake.line - 1 :])[mistake.column - 1 :].strip()


# Why it comes to no result.

_OF_FUNCTIONS = "OUT_OF_RANGE: "
"""So it begins what functions say that are written in Python: that is in our own words."""
_NO_KEY = re.compile(r'(?:Key not found in map|no such key)\s*:?\s*"?(.*?)"?$')
_NO_VALUE = re.compile(r'No value with name "(\w+)" found')
_NO_OVERLOADS = re.compile(r"No matching overloads found : (?:\((.*?)\)\.)?([^()]+)(?:\((.*)\))?$")
_NO_ITEM = re.compile(r"Index error: index=(-?\d+) size=(\d+)")
_NO_INDEX = re.compile(r"Index error: expected integer type, got (\w+)")
_NO_CONTAINER = re.compile(r"Invalid container type: '(.*)'")
_NO_PATTERN = re.compile(r"invalid regular expression: (.*)")
_CONVERSION = re.compile(r"cannot convert (\w+) to (\w+)$|(\w+) out of (\w+) range$")
_TIME = re.compile(r"String to (Duration|Timestamp) conversion failed")
_LIMIT = re.compile("becomes too long|in all$|takes a size")
"""What functions say that are given, or would make, more than is handled here."""
_PLAIN = {
    "divide by zero": "it divides by zero",
    "modulus by zero": "it divides by zero",
    "integer overflow": "a whole number becomes too large",
    "optional.none() dereference": "it asks for the `value` of an optional value that is not there",
}


class UnevaluatedReason(NamedTuple):
    """Why an expression comes to no result; ``word`` is the field, key or function in it that this is about, "" for none.

    ``certain``: the API server comes to none either, for the same values; not so where something is unknown or too large here.
    """

    message: str
    word: str = ""
    certain: bool = False


def reason_of(said: str) -> UnevaluatedReason:
    """Why there is no result, by what the library or a function says."""
    text = _STATUS.sub("", said.strip())
    if found := _NO_VALUE.search(text):
        return UnevaluatedReason(f"{quoted(found[1])} is not known here")
    if found := _NO_KEY.search(text):
        return UnevaluatedReason(f"there is no {quoted(found[1])}", found[1], certain=True)
    if found := _NO_OVERLOADS.match(text):
        types = [*_types(found[1] or ""), *_types(found[3] or "")]
        return UnevaluatedReason(_no_overload(found[2], types), found[2] if found[1] else "", certain=True)
    if words := _PLAIN.get(text) or _of_values(text):
        return UnevaluatedReason(words, certain="Iteration budget" not in text)
    own = said.strip() == text or said.lstrip().startswith(_OF_FUNCTIONS)
    shown = visible(text.partition("\n")[0][:200])
    return UnevaluatedReason(shown if own else _QUOTED % shown, certain=own and not _LIMIT.search(text))


def _of_values(text: str) -> str | None:
    if found := _NO_ITEM.match(text):
        return f"there is no item {found[1]} in a list of {found[2]}"
    if found := _NO_INDEX.match(text):
        return f"it asks for an item of a list by {type_in_words(found[1])}"
    if found := _NO_CONTAINER.match(text):
        return f"it asks for an item of {type_in_words(found[1])}"
    if found := _CONVERSION.match(text):
        return f"{type_in_words(found[1] or found[3])} cannot be read as {type_in_words(found[2] or found[4])}"
    if found := _TIME.match(text):
        return f"a text is no {found[1].lower()}"
    if "SELECT to non-message" in text:
        return "it asks for a field of what is null, a number or text"
    if "Iteration budget" in text:
        return "it goes through more than 10,000 items"
    return f"the regular expression is wrong: {visible(found[1])}" if (found := _NO_PATTERN.match(text)) else None


def place_of(name: str, text: str, quiet: str) -> str:
    """Where an expression names a field, a key or a function behind a dot, to be added to what is said of it.

    "" where nowhere, or several times. ``quiet`` matches texts and comments.
    """
    field = re.escape(name)
    pattern = re.compile(rf"""\[\s*\??\s*["']({field})["']\s*\]|\.\s*\??\s*({field})(?!\w)|{quiet}""", re.DOTALL)
    starts = [found.start(found.lastindex) for found in pattern.finditer(text) if found.lastindex]
    if len(starts) != 1:
        return ""
    line, column = text.count("\n", 0, starts[0]) + 1, starts[0] - text.rfind("\n", 0, starts[0])
    return f" (at {line}:{column} of the expression)"


# Operators, functions and types.

_CONDITION = frozenset(("_?_:_", "<jump_condition>"))
_OF_TRUTH = frozenset(("_&&_", "_||_", "!_", *_CONDITION))
_TYPES = {
    "int": "a whole number", "int64": "a whole number", "uint": "an unsigned number", "uint64": "an unsigned number", "double": "a number",
    "string": "text", "bool": "a truth value", "bytes": "bytes", "null_type": "null", "list": "a list", "map": "a map", "dyn": "any value",
    "optional_type": "an optional value", "google.protobuf.Duration": "a duration", "google.protobuf.Timestamp": "a timestamp",
}  # fmt: skip


def _no_overload(name: str, types: Sequence[str]) -> str:
    """An operator or a function that is given values of types that it is not for."""
    if name in _CONDITION:
        return "what stands before `?` must be true or false, and what it chooses from of one type"
    given = f" is not for {join_words(map(type_in_words, types))}" if types else " is not for what it is given"
    word = name.strip("_@") or name
    hint = "; it takes true or false" if name in _OF_TRUTH else ""
    if name == "_+_" and types.count("string") == 1:
        hint = "; `string(…)` makes text of what is none"
    return ("`[…]`" if name.startswith("_[") else quoted(word)) + given + hint


def _types(listed: str) -> Iterator[str]:
    """``string, map(string, dyn)`` one by one."""
    depth, start = 0, 0
    for place, letter in enumerate(f"{listed}," if listed else ""):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            yield listed[start:place].strip()
            start = place + 1


def type_in_words(name: str) -> str:
    """A type of CEL in plain words."""
    return _TYPES.get(name.partition("(")[0]) or quoted(name)
