"""Messages of the CEL library, rewritten in plain English with the position of the mistake. Unknown messages are quoted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import did_you_mean, join_words, nearest, quoted, visible


class ExpressionMistake(NamedTuple):
    """A mistake in an expression with its line and column, both counted from 1."""

    message: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.message} (at {self.line}:{self.column} of the expression)" if self.line > 0 else self.message


_MISTAKE = re.compile(r"ERROR: <input>:(-?[0-9]+):(-?[0-9]+): ([^\n]*)")
_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")


_QUOTED = "CEL reports: %s"


# Mistakes that the library reports when it compiles an expression.

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
"""White space at the end of a token; the library writes line breaks as escapes."""
_SHORT_LIST = 3
_END = "<EOF>"
_ERROR = "*error*"
"""The type of an expression with a mistake that is already reported."""

_EQUIVALENTS = {
    "=": "==",
    "&": "&&",
    "|": "||",
    "and": "&&",
    "or": "||",
    "self": "object",
    "None": "null",
    "nil": "null",
    "undefined": "null",
}
"""The CEL spelling of operators and names of other languages."""
_FORMS = {
    "has": "has(object.spec)", "all": "all(each, …)", "exists": "exists(each, …)", "exists_one": "exists_one(each, …)",
    "map": "map(each, …)", "filter": "filter(each, …)",
}  # fmt: skip
_LITERALS = ("true", "false", "null")


def mistakes_in(error: str) -> list[ExpressionMistake]:
    """Parse an error message of the library, with the library's own wording."""
    return [ExpressionMistake(each[3], int(each[1]), int(each[2])) for each in _MISTAKE.finditer(_STATUS.sub("", error))]


def in_words(
    mistakes: Sequence[ExpressionMistake], text: str, variables: Collection[str], functions: Collection[str]
) -> list[ExpressionMistake]:
    """Rewrite the mistakes of the library, sorted by position. Of syntax errors only the first is kept, as it causes the others."""
    mistakes = sorted(mistakes, key=lambda each: (each.line, each.column))
    grammar = [each for each in mistakes if _SYNTAX.match(each.message) or _RESERVED.match(each.message)]
    causes = grammar[:1] or [each for each in mistakes if _ERROR not in each.message] or mistakes
    rewritten = {_rewritten(each, text, variables, functions) for each in causes}
    return sorted(rewritten, key=lambda each: (each.line, each.column, each.message))


def _rewritten(mistake: ExpressionMistake, text: str, variables: Collection[str], functions: Collection[str]) -> ExpressionMistake:
    message = mistake.message
    if match := UNDECLARED.match(message):
        return _undeclared(match[1], mistake, text, variables, functions)
    if match := _SYNTAX.match(message):
        rest = "\n".join(text.split("\n")[mistake.line - 1 :])[mistake.column - 1 :].strip()
        return mistake._replace(message=_of_grammar(match[1], rest))
    if match := _RESERVED.match(message):
        return mistake._replace(message=f"{quoted(match[1])} is a reserved word in CEL{did_you_mean(nearest(match[1], variables))}")
    if match := _NO_OVERLOAD.match(message):
        return mistake._replace(message=_no_overload(match[1], list(_types(match[2]))))
    if match := _NO_FIELDS.match(message):
        return mistake._replace(message=f"{type_in_words(match[1])} has no fields")
    if match := _NO_ITEMS.match(message):
        return mistake._replace(message=f"{type_in_words(match[1])} cannot be iterated over")
    if match := _OTHER_TYPE.match(message):
        return mistake._replace(message=f"expected {type_in_words(match[1])}, but this is {type_in_words(match[2])}")
    if _NO_NUMBER.match(message):
        return mistake._replace(message="this number is too large for CEL")
    if message.startswith("has() argument"):
        return mistake._replace(message=f"`has` requires a field, as in `{_FORMS['has']}`")
    return mistake._replace(message=_QUOTED % visible(message))


def _undeclared(
    name: str, mistake: ExpressionMistake, text: str, variables: Collection[str], functions: Collection[str]
) -> ExpressionMistake:
    """Rewrite the message about an undefined name, or about a function that is called with invalid arguments."""
    column, row = mistake.column, _row(text, mistake.line)
    # The library reports the position after a name: the bracket of a call, or the last dot before a field.
    before = name.rpartition(".")[0] or name
    if not row.startswith(name, column - 1) and row[: column - 1].endswith(before):
        column -= len(before)
    first = name.lstrip(".").partition(".")[0]
    known: Collection[str] = (*variables, *_LITERALS)
    if row[column - 1 + len(name) :].lstrip().startswith("("):
        known = (*functions, *_FORMS)
        if name in known:
            form = f"; write {quoted(_FORMS[name])}" if name in _FORMS else ""
            return ExpressionMistake(f"{quoted(name)} cannot be called with these arguments{form}", mistake.line, column)
    close = did_you_mean(_EQUIVALENTS.get(first) or nearest(first, known))
    return ExpressionMistake(f"{quoted(first)} is not defined{close}", mistake.line, column)


def _of_grammar(message: str, rest: str) -> str:
    """Rewrite a syntax error; ``rest`` is the text that follows."""
    if match := _STRAY.match(message):
        return _stray(match[1])
    if match := _UNEXPECTED.match(message):
        return _unexpected(match[1], [each.strip().strip("'") for each in match[2].strip("{}").split(", ")])
    if match := _MISSING.match(message):
        return f"syntax error: {quoted(match[1].strip(chr(39)))} is missing {_before(match[2])}"
    if match := _UNCLEAR.match(message):
        token = quoted(_BLANK.sub("", match[1]))
        return f"syntax error: unexpected {token}" if rest else f"syntax error: something is missing after {token}"
    return f"syntax error: {visible(message)}"


def _stray(token: str) -> str:
    token = _BLANK.sub("", token)
    if token.lstrip("rRbB")[:1] in ("'", '"'):
        escape = re.search(r"\\.$", token)
        return f"{quoted(escape[0])} is not a valid escape in a CEL string" if escape else "syntax error: this string is not closed"
    return f"syntax error: unexpected {quoted(token)}{did_you_mean(_EQUIVALENTS.get(token))}"


def _unexpected(token: str, expected: Sequence[str]) -> str:
    if expected == [_END]:
        return f"syntax error: unexpected {quoted(token)} after the end of the expression{did_you_mean(_EQUIVALENTS.get(token))}"
    words = dict.fromkeys("a name" if each.endswith("IDENTIFIER") else quoted(each) for each in sorted(expected))
    wanted = join_words(words, "or") if len(words) <= _SHORT_LIST else "something"
    return f"syntax error: {wanted} is missing {_before(token)}"


def _before(token: str) -> str:
    return "at the end" if token == _END else f"before {quoted(token)}"


def _row(text: str, line: int) -> str:
    rows = text.split("\n")
    return rows[line - 1] if 0 < line <= len(rows) else ""


# Reasons why an expression cannot be evaluated.

_OF_FUNCTIONS = "OUT_OF_RANGE: "
"""The prefix of messages of functions in Python, which afflint has worded itself."""
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
"""Messages about limits of afflint, which the API server does not have."""
_PLAIN = {
    "divide by zero": "division by zero",
    "modulus by zero": "division by zero",
    "integer overflow": "integer overflow",
    "optional.none() dereference": "`value` is called on an empty optional value",
}


class UnevaluatedReason(NamedTuple):
    """The reason why an expression cannot be evaluated; ``word`` is the field, key or function that causes it, or "".

    ``certain``: the API server cannot evaluate it either for the same values; False for unknown values and for limits of afflint.
    """

    message: str
    word: str = ""
    certain: bool = False
    is_missing_key: bool = False


def value_unknown(name: str) -> str:
    """Return the reason why an expression that reads a name without a value has no result."""
    return f"the value of {quoted(name)} is unknown"


def reason_of(error: str) -> UnevaluatedReason:
    """Rewrite the error message of an evaluation."""
    text = _STATUS.sub("", error.strip())
    if match := _NO_VALUE.search(text):
        return UnevaluatedReason(value_unknown(match[1]))
    if match := _NO_KEY.search(text):
        return UnevaluatedReason(f"{quoted(match[1])} does not exist", match[1], certain=True, is_missing_key=True)
    if match := _NO_OVERLOADS.match(text):
        types = [*_types(match[1] or ""), *_types(match[3] or "")]
        return UnevaluatedReason(_no_overload(match[2], types), match[2] if match[1] else "", certain=True)
    if words := _PLAIN.get(text) or _of_values(text):
        return UnevaluatedReason(words, certain="Iteration budget" not in text)
    own = error.strip() == text or error.lstrip().startswith(_OF_FUNCTIONS)
    shown = visible(text.partition("\n")[0][:200])
    return UnevaluatedReason(shown if own else _QUOTED % shown, certain=own and not _LIMIT.search(text))


def _of_values(text: str) -> str | None:
    if match := _NO_ITEM.match(text):
        return f"index {match[1]} is out of range for a list of {match[2]}"
    if match := _NO_INDEX.match(text):
        return f"a list index cannot be {type_in_words(match[1])}"
    if match := _NO_CONTAINER.match(text):
        return f"{type_in_words(match[1])} cannot be indexed"
    if match := _CONVERSION.match(text):
        return f"{type_in_words(match[1] or match[3])} cannot be converted to {type_in_words(match[2] or match[4])}"
    if match := _TIME.match(text):
        return f"the string is not a valid {match[1].lower()}"
    if "SELECT to non-message" in text:
        return "null, a number or a string has no fields"
    if "Iteration budget" in text:
        return "the expression iterates over more than 10,000 items"
    return f"invalid regular expression: {visible(match[1])}" if (match := _NO_PATTERN.match(text)) else None


def place_of(name: str, text: str, quiet: str) -> str:
    """Return the position of a field, key or method in an expression, to be added to a message.

    Returns "" if the name does not occur exactly once. ``quiet`` matches strings and comments.
    """
    field = re.escape(name)
    pattern = re.compile(rf"""\[\s*\??\s*["']({field})["']\s*\]|\.\s*\??\s*({field})(?!\w)|{quiet}""", re.DOTALL)
    starts = [match.start(match.lastindex) for match in pattern.finditer(text) if match.lastindex]
    if len(starts) != 1:
        return ""
    line, column = text.count("\n", 0, starts[0]) + 1, starts[0] - text.rfind("\n", 0, starts[0])
    return f" (at {line}:{column} of the expression)"


# Operators, functions and types.

_CONDITION = frozenset(("_?_:_", "<jump_condition>"))
_OF_TRUTH = frozenset(("_&&_", "_||_", "!_", *_CONDITION))
_TYPES = {
    "int": "a whole number", "int64": "a whole number", "uint": "an unsigned number", "uint64": "an unsigned number", "double": "a number",
    "string": "a string", "bool": "a boolean", "bytes": "bytes", "null_type": "null", "list": "a list", "map": "a map", "dyn": "any value",
    "optional_type": "an optional value", "google.protobuf.Duration": "a duration", "google.protobuf.Timestamp": "a timestamp",
}  # fmt: skip


def _no_overload(name: str, types: Sequence[str]) -> str:
    """Return the message about an operator or function with arguments of wrong types."""
    if name in _CONDITION:
        return "the condition before `?` must be a boolean, and both results must have the same type"
    given = f" does not accept {join_words(map(type_in_words, types))}" if types else " does not accept these arguments"
    word = name.strip("_@") or name
    hint = "; it requires booleans" if name in _OF_TRUTH else ""
    if name == "_+_" and types.count("string") == 1:
        hint = "; use `string(…)` to convert the other value"
    return ("`[…]`" if name.startswith("_[") else quoted(word)) + given + hint


def _types(listed: str) -> Iterator[str]:
    """Split a list of types such as ``string, map(string, dyn)``."""
    depth, start = 0, 0
    for place, letter in enumerate(f"{listed}," if listed else ""):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            yield listed[start:place].strip()
            start = place + 1


def type_in_words(name: str) -> str:
    """Return the name of a CEL type in plain English."""
    return _TYPES.get(name.partition("(")[0]) or quoted(name)
