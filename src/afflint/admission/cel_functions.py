"""The functions that Kubernetes adds to CEL, in Python, as data for ``admission.cel``: names, types and what computes them.

After k8s.io/apiserver/pkg/cel/library (lists, quantity, url, ip, cidr, format, semver, jsonpatch) and cel-go/ext (strings). CEL gets no
types of its own from Python, so a quantity, an address and the like is a map with one key that says which it is: two of them are equal
when they mean the same. What raises ValueError is an error of the expression, as it is in the API server.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, unquote_plus

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.quantities import Quantity, parse_quantity

_QUANTITY, _SEMVER, _URL, _FORMAT = (f"kubernetes.{name}" for name in ("Quantity", "Semver", "URL", "NamedFormat"))
_IP, _CIDR = "net.IP", "net.CIDR"
_OWN_TYPES = frozenset((_QUANTITY, _SEMVER, _URL, _FORMAT, _IP, _CIDR))
Parsed = TypeVar("Parsed")
LONGEST_TEXT = 1 << 20
"""Characters of a text that a function makes: more is an error."""


class Function(NamedTuple):
    """One way to call a function: ``takes`` and ``gives`` are types of CEL as Kubernetes declares them, such as ``list<string>``.

    The first argument of a ``member`` is written before a dot. ``made`` gets and returns plain data: a quantity is a map, for instance,
    an optional value is that value or an empty list or map, and a duration or timestamp is returned as text (see ``cel_rewriting``).
    """

    name: str
    takes: tuple[str, ...]
    gives: str
    implementation: Callable[..., Any]
    member: bool = True


def _short(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise ValueError("the text becomes too long")
    return text


def _required(parse: Callable[[str], Parsed | None], text: str, noun: str) -> Parsed:
    parsed = parse(text)
    if parsed is None:
        raise ValueError(f"{text!r} is not a valid {noun}")
    return parsed


# Strings: cel-go/ext/strings.go. Positions count characters.


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise ValueError(f"index out of range: {position}")
    return text[position : position + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise ValueError(f"index out of range: {start}")
    return text.find(part, min(start, len(text)))


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise ValueError(f"index out of range: {start}")
    return text.rfind(part, 0, start + len(part)) if start < len(text) or not part else -1


def _join(parts: list[Any], between: str = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise ValueError("join requires a list of strings")
    if sum(map(len, parts)) + len(between) * len(parts) > LONGEST_TEXT:
        raise ValueError("the text becomes too long")
    return between.join(parts)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(new) > len(old) and len(text) + text.count(old) * len(new) > LONGEST_TEXT:
        raise ValueError("the text becomes too long")
    return text.replace(old, new, count)


def _split(text: str, by: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not by:
        pieces = list(text)
        return pieces if count < 0 or len(pieces) <= count else [*pieces[: count - 1], "".join(pieces[count - 1 :])]
    return text.split(by, count - 1 if count > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise ValueError(f"substring out of range: {start} to {end}")
    return text[start:end]


# Formatting: cel-go/ext/formatting.go, which prints numbers as golang.org/x/text does for American English.

CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?([A-Za-z])|(.?))", re.DOTALL)
"""A clause of a format: its precision and its letter, or, where it is not one, the character after the percent sign."""
_MOST_DIGITS = 1000
_DECIMALS = 6
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


def _format(text: str, values: list[Any]) -> str:
    rest = iter(values)

    def clause(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        if match[3] is not None:
            raise ValueError(f"format does not support the clause `%{match[3]}`")
        try:
            value = next(rest)
        except StopIteration:
            raise ValueError("format has fewer values than clauses") from None
        return _clause(match[2], min(int(match[1] or _DECIMALS), _MOST_DIGITS), value)

    return _short(CLAUSE.sub(clause, text))


def _clause(letter: str, precision: int, value: Any) -> str:
    kind = type(value)
    if letter == "s":
        return as_text(value)
    if letter == "d" and kind is int:
        return str(value)
    if letter in "fe" and (kind is float or value in _NO_NUMBERS):
        return (_fixed if letter == "f" else _scientific)(float(value), precision)
    if letter == "b" and kind in (int, bool):
        return f"{value:b}"
    if letter in "oxX" and kind is int:
        return f"{value:{letter}}"
    if letter in "xX" and kind in (str, bytearray):
        digits = str((value.encode() if kind is str else value).hex())
        return digits.upper() if letter == "X" else digits
    raise ValueError(f"format cannot write {_kind(value)} as `%{letter}`")


def _fixed(number: float, decimals: int) -> str:
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return "NaN" if math.isnan(number) else f"{number:,.{decimals}f}"


def _scientific(number: float, width: int) -> str:
    """Format a number as ``%e``: the precision of the clause is its width, and there are always six decimals."""
    if not math.isfinite(number):
        return _fixed(number, 0).rjust(width)
    mantissa, _, exponent = f"{number:.{_DECIMALS}e}".partition("e")
    return f"{mantissa}×10{exponent.lstrip('+').translate(_SUPERSCRIPT)}".rjust(width)


def as_text(value: Any) -> str:
    """Format a value as ``%s`` does; ``string()`` does the same for values other than lists and maps."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_inside_text, value)) + "]"
    if isinstance(value, dict):
        if value.keys() & _OWN_TYPES:
            raise ValueError(f"format cannot write {_kind(value)} as `%s`")
        pairs = sorted((_inside_text(key), _inside_text(each)) for key, each in value.items())
        return "{" + ", ".join(f"{key}:{each}" for key, each in pairs) + "}"
    return _scalar(value)


def _inside_text(value: Any) -> str:
    """Format a value within a list or map."""
    kind = type(value)
    if kind is str or kind is bytearray:
        return ("b" if kind is bytearray else "") + _quoted(_scalar(value))
    if kind is float:
        return f"{value:.{_DECIMALS}f}" if math.isfinite(value) else f'"{_scalar(value)}"'
    if isinstance(value, datetime | timedelta):
        return f'{"timestamp" if isinstance(value, datetime) else "duration"}("{_scalar(value)}")'
    return as_text(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return _shortest(value)
    if isinstance(value, bytearray):
        return value.decode()
    if isinstance(value, datetime):
        text = value.isoformat().replace("+00:00", "Z")
        return re.sub(r"(\.[0-9]*?)0+(?=Z|[+-])", lambda match: match[1].rstrip("."), text)
    if isinstance(value, timedelta):
        whole, micros = divmod(abs(value) // timedelta(microseconds=1), 10**6)
        return f"{'-' if value < timedelta() else ''}{whole}{f'.{micros:06}'.rstrip('0').rstrip('.')}s"
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else _TYPE_NAMES.get(str(value), str(value))


_TYPE_NAMES = {
    **{name.upper(): name for name in ("int", "uint", "double", "bool", "string", "bytes", "type", "dyn")},
    "NULL": "null_type", "DURATION": "google.protobuf.Duration", "TIMESTAMP": "google.protobuf.Timestamp",
    "LIST<DYN>": "list", "MAP<DYN, DYN>": "map",
}  # fmt: skip


def _shortest(number: float) -> str:
    """Format a number with the fewest unique digits, and with an exponent from a million and below 0.0001: Go's ``%g``."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, digits))
    point = len(written) + exponent - 1
    if number and not -4 <= point < 6:
        written = written[0] + (f".{written[1:]}" if len(written) > 1 else "") + f"e{'-' if point < 0 else '+'}{abs(point):02}"
        return f"{'-' if sign else ''}{written}"
    return f"{Decimal(repr(number)).normalize():f}"


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}

_QUOTED = str.maketrans(_ESCAPES)


def _quoted(text: str) -> str:
    """Quote a string as Go's ``%q`` does."""
    return '"' + "".join(_ESCAPES.get(each) or (each if each.isprintable() else _escape(each)) for each in text) + '"'


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _kind(value: Any) -> str:
    """Return the type of a value, for messages."""
    own = value.keys() & _OWN_TYPES if isinstance(value, dict) else ()
    if own:
        return str(next(iter(own))).rpartition(".")[2]
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "a list", dict: "a map", bytearray: "bytes"}
    return names.get(type(value), "null" if value is None else "a time")


def _string(value: Any) -> str:
    """Convert a value as ``string()`` does."""
    if isinstance(value, dict):
        return str(_held(value, _IP, _CIDR)[1])
    if value is None or isinstance(value, list):
        raise ValueError(f"`string` does not accept {_kind(value)}")
    return _scalar(value)


_STRINGS = (
    Function("charAt", ("string", "int"), "string", _char_at),
    Function("indexOf", ("string", "string"), "int", _index_of),
    Function("indexOf", ("string", "string", "int"), "int", _index_of),
    Function("lastIndexOf", ("string", "string"), "int", _last_index_of),
    Function("lastIndexOf", ("string", "string", "int"), "int", _last_index_of),
    Function("join", ("list<string>",), "string", _join),
    Function("join", ("list<string>", "string"), "string", _join),
    Function("replace", ("string", "string", "string"), "string", _replace),
    Function("replace", ("string", "string", "string", "int"), "string", _replace),
    Function("split", ("string", "string"), "list<string>", _split),
    Function("split", ("string", "string", "int"), "list<string>", _split),
    Function("substring", ("string", "int"), "string", _substring),
    Function("substring", ("string", "int", "int"), "string", _substring),
    Function("trim", ("string",), "string", str.strip),
    Function("lowerAscii", ("string",), "string", lambda text: re.sub("[A-Z]+", lambda match: match[0].lower(), text)),
    Function("upperAscii", ("string",), "string", lambda text: re.sub("[a-z]+", lambda match: match[0].upper(), text)),
    Function("format", ("string", "list<dyn>"), "string", _format),
    Function("strings.quote", ("string",), "string", lambda text: _short(f'"{text.translate(_QUOTED)}"'), member=False),
    Function("jsonpatch.escapeKey", ("string",), "string", lambda text: text.replace("~", "~0").replace("/", "~1"), member=False),
)


# Lists: library/lists.go.


def _alike(values: list[Any]) -> list[Any]:
    kinds = {float if type(each) in (int, float) else type(each) for each in values}
    if len(kinds) > 1 or not kinds <= {float, str, bool, bytearray, datetime, timedelta}:
        raise ValueError("the items of the list cannot be compared")
    return values


def _is_sorted(values: list[Any]) -> bool:
    return all(one <= two for one, two in zip(_alike(values), values[1:], strict=False))


def _sum(values: list[Any]) -> Any:
    kinds = set(map(type, values))
    if kinds == {timedelta}:
        return _timed(sum(values, timedelta()))
    if not kinds <= {int} and not kinds <= {float}:
        raise ValueError("sum requires a list of numbers")
    total = sum(values)
    if isinstance(total, int) and not -(2**63) <= total < 2**63:
        raise ValueError("integer overflow")
    return total


def _timed(value: Any) -> Any:
    """Convert a value to a result of a function: the library does not accept durations and timestamps from Python, only strings."""
    return _scalar(value) if isinstance(value, datetime | timedelta) else value


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def extreme(values: list[Any]) -> Any:
        if not values:
            raise ValueError(f"{choose.__name__} called on empty list")
        return _timed(choose(_alike(values)))

    return extreme


def _same(one: Any, two: Any) -> bool:
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _includes(whole: Any, wanted: Any) -> bool:
    return _first(whole, wanted) >= 0 if isinstance(whole, list) else _same(whole, wanted)


def _first(values: list[Any], wanted: Any) -> int:
    return next((number for number, each in enumerate(values) if _same(each, wanted)), -1)


def _last(values: list[Any], wanted: Any) -> int:
    return next((number for number in range(len(values) - 1, -1, -1) if _same(values[number], wanted)), -1)


_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMABLE = ("int", "uint", "double", "duration")

_LISTS = (
    *(Function("isSorted", (f"list<{kind}>",), "bool", _is_sorted) for kind in _COMPARABLE),
    *(Function("sum", (f"list<{kind}>",), kind, _sum) for kind in _SUMMABLE),
    *(Function("min", (f"list<{kind}>",), kind, _extreme(min)) for kind in _COMPARABLE),
    *(Function("max", (f"list<{kind}>",), kind, _extreme(max)) for kind in _COMPARABLE),
    Function("indexOf", ("list<~T>", "~T"), "int", _first),
    Function("lastIndexOf", ("list<~T>", "~T"), "int", _last),
    Function("includes", ("dyn", "dyn"), "bool", _includes),
)


# Quantities: library/quantity.go.

_NANO = 10**9


def _held(value: Any, *kinds: str) -> tuple[str, Any]:
    """Return which of the kinds a value has, and its content."""
    if isinstance(value, dict):
        for kind in kinds:
            if kind in value:
                return kind, value[kind]
    raise ValueError(f"a function requires {' or '.join(each.partition('.')[2] for each in kinds)}")


def _parsed_quantity(text: str) -> Quantity | None:
    return parse_quantity(text) if text == text.strip() else None


def _quantity(text: str) -> dict[str, Any]:
    parsed = _required(_parsed_quantity, text, "quantity")
    return {_QUANTITY: str(parsed.nanos), _WHOLE: 0 if _is_whole(text) else 0.0}


_WHOLE = "kubernetes.whole"
"""Of a quantity: 0 where ``isInteger`` holds, else 0.0. The two are equal, as quantities are that are written in several ways."""
_DIGITS = re.compile(r"[+-]?0*([0-9]*)\.?([0-9]*)([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]+)")
_POWERS = {**{suffix: 3 * power for power, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)}}
_BITS = {f"{suffix}i": 10 * power for power, suffix in enumerate("KMGTPE", 1)}


def _is_whole(text: str) -> bool:
    """Whether the API machinery keeps a quantity as an integer that it can hand out: one that is written without a fraction, and small."""
    match = _DIGITS.fullmatch(text)
    if match is None:
        return False
    digits, fraction, suffix = match.groups()
    number = int(digits + fraction or "0")
    if suffix in _BITS:
        return not fraction and len(digits or "0") + int(_BITS[suffix] * 0.3) <= 14
    power = _POWERS[suffix] if suffix in _POWERS else int(suffix[1:])
    scale = power - len(fraction)
    return scale >= 0 and len(digits or "0") + len(fraction) <= 18 and (not number or (scale < 20 and number * 10**scale < 2**63))


def _nanos(value: Any) -> int:
    return int(_held(value, _QUANTITY)[1])


def _added(one: Any, two: Any, sign: int = 1) -> dict[str, Any]:
    more = two * _NANO if type(two) is int else _nanos(two)
    whole = type(one[_WHOLE]) is int and (type(two) is int or type(two[_WHOLE]) is int)
    return {_QUANTITY: str(_nanos(one) + sign * more), _WHOLE: 0 if whole else 0.0}


def _as_integer(value: Any) -> int:
    if not _is_integer(value):
        raise ValueError("the quantity is not an integer")
    return _nanos(value) // _NANO


def _is_integer(value: Any) -> bool:
    return type(value.get(_WHOLE)) is int and -(2**63) <= _nanos(value) // _NANO < 2**63


def _compared(one: Any, two: Any) -> int:
    """-1, 0 or 1, of two quantities or of two versions."""
    kind, first = _held(one, _QUANTITY, _SEMVER)
    _, second = _held(two, kind)
    if kind == _SEMVER:
        return (_precedence(first) > _precedence(second)) - (_precedence(first) < _precedence(second))
    return (int(first) > int(second)) - (int(first) < int(second))


_QUANTITIES = (
    Function("quantity", ("string",), _QUANTITY, _quantity, member=False),
    Function("isQuantity", ("string",), "bool", lambda text: _parsed_quantity(text) is not None, member=False),
    *(
        function
        for kind in (_QUANTITY, _SEMVER)
        for function in (
            Function("isGreaterThan", (kind, kind), "bool", lambda one, two: _compared(one, two) > 0),
            Function("isLessThan", (kind, kind), "bool", lambda one, two: _compared(one, two) < 0),
            Function("compareTo", (kind, kind), "int", _compared),
        )
    ),
    Function("sign", (_QUANTITY,), "int", lambda value: (_nanos(value) > 0) - (_nanos(value) < 0), member=False),
    Function("isInteger", (_QUANTITY,), "bool", _is_integer),
    Function("asInteger", (_QUANTITY,), "int", _as_integer),
    Function("asApproximateFloat", (_QUANTITY,), "double", lambda value: _nanos(value) / _NANO),
    *(Function("add", (_QUANTITY, other), _QUANTITY, _added) for other in (_QUANTITY, "int")),
    *(Function("sub", (_QUANTITY, other), _QUANTITY, lambda one, two: _added(one, two, -1)) for other in (_QUANTITY, "int")),
)


# Versions: library/semverlib.go, after semver.org 2.0.

_NUMBER = "(?:0|[1-9][0-9]{0,17})"
_VERSION = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-((?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
    rf"(?:\.(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def _normal_version(text: str) -> str:
    """``v1.02`` as ``1.2.0``."""
    core, mark, rest = text.removeprefix("v"), "", ""
    for each in "-+":
        if each in core and (not mark or core.index(each) < core.index(mark)):
            mark = each
    if mark:
        core, _, rest = core.partition(mark)
    numbers = [number.lstrip("0") or "0" if number else number for number in core.split(".")]
    return ".".join([*numbers, "0", "0"][: max(3, len(numbers))]) + mark + rest


def _semver(text: str, normal: bool = False) -> dict[str, Any]:
    text = _normal_version(text) if normal else text
    return {_SEMVER: _required(_VERSION.fullmatch, text, "semantic version")[0].partition("+")[0]}


def _is_semver(text: str, normal: bool = False) -> bool:
    return _VERSION.fullmatch(_normal_version(text) if normal else text) is not None


def _version_part(number: int) -> Callable[[Any], int]:
    return lambda value: int(_held(value, _SEMVER)[1].partition("-")[0].split(".")[number])


def _precedence(version: str) -> tuple[Any, ...]:
    core, dash, before = version.partition("-")
    parts = [(0, int(each), "") if each.isdigit() else (1, 0, each) for each in before.split(".")] if dash else []
    return (*map(int, core.split(".")), not dash, parts)


_VERSIONS = (
    Function("semver", ("string",), _SEMVER, _semver, member=False),
    Function("semver", ("string", "bool"), _SEMVER, _semver, member=False),
    Function("isSemver", ("string",), "bool", _is_semver, member=False),
    Function("isSemver", ("string", "bool"), "bool", _is_semver, member=False),
    Function("major", (_SEMVER,), "int", _version_part(0)),
    Function("minor", (_SEMVER,), "int", _version_part(1)),
    Function("patch", (_SEMVER,), "int", _version_part(2)),
)


# URLs: library/urls.go, after Go's url.ParseRequestURI.

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_AUTHORITY = re.compile(r"(?:[A-Za-z0-9._:~!$&'()*+,;=%@-]*@)?(\[[0-9A-Fa-f:.]+(?:%25[^\]]+)?\]|[^\[:/?#@\s^`{|}\\%]*)(:[0-9]*)?")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class _IPAddress(NamedTuple):
    scheme: str
    host: str
    port: str
    path: str
    query: str


def _parsed_url(text: str) -> _IPAddress | None:
    if not text or any(ord(each) < 0x20 or ord(each) == 0x7F for each in text):
        return None
    head, colon, rest = text.partition(":")
    scheme = head.lower() if colon and _SCHEME.fullmatch(head) else ""
    rest = rest if scheme else text
    if not scheme and not rest.startswith("/"):
        return _IPAddress("", "", "", "*", "") if text == "*" else None
    body, _, query = rest.partition("?")
    host = port = ""
    if body.startswith("//"):
        authority, slash, path = body[2:].partition("/")
        match = _AUTHORITY.fullmatch(authority)
        if match is None:
            return None
        host, port, body = match[1], match[2] or "", slash + path
    if _BAD_ESCAPE.search(body):
        return None
    path = body.partition("#")[0]
    return _IPAddress(scheme, host, port, path if path.startswith("/") or not scheme else "", query)


def _url(text: str) -> dict[str, Any]:
    _required(_parsed_url, text, "URL")
    return {_URL: text}


def _of_url(field: Callable[[_IPAddress], Any]) -> Callable[[Any], Any]:
    def part(value: Any) -> Any:
        parsed = _parsed_url(_held(value, _URL)[1])
        assert parsed is not None
        return field(parsed)

    return part


def _query(address: _IPAddress) -> dict[str, list[str]]:
    """Parse a query without the parts that Go ignores: those with a semicolon or an invalid escape."""
    match: dict[str, list[str]] = {}
    for part in address.query.partition("#")[0].split("&"):
        if part and ";" not in part and not _BAD_ESCAPE.search(part):
            key, _, value = part.partition("=")
            match.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return match


_URLS = (
    Function("url", ("string",), _URL, _url, member=False),
    Function("isURL", ("string",), "bool", lambda text: _parsed_url(text) is not None, member=False),
    Function("getScheme", (_URL,), "string", _of_url(lambda url: url.scheme)),
    Function("getHost", (_URL,), "string", _of_url(lambda url: url.host + url.port)),
    Function("getHostname", (_URL,), "string", _of_url(lambda url: url.host.strip("[]").replace("%25", "%"))),
    Function("getPort", (_URL,), "string", _of_url(lambda url: url.port[1:])),
    Function("getEscapedPath", (_URL,), "string", _of_url(lambda url: quote(url.path, safe="/%!$&'()*+,;=:@~-._"))),
    Function("getQuery", (_URL,), "map<string, list<string>>", _of_url(_query)),
)


# Addresses: library/ip.go and cidr.go.

_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _parsed_ip(text: str) -> _Ip | None:
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return None
    strange = isinstance(parsed, ipaddress.IPv6Address) and (parsed.ipv4_mapped is not None or parsed.scope_id is not None)
    return None if strange else parsed


def _parsed_cidr(text: str) -> _Network | None:
    address, slash, length = text.partition("/")
    if not slash or _parsed_ip(address) is None or not re.fullmatch("0|[1-9][0-9]{0,2}", length):
        return None
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        return None


def _ip(text: str) -> dict[str, Any]:
    return {_IP: str(_required(_parsed_ip, text, "IP address"))}


def _cidr(text: str) -> dict[str, Any]:
    return {_CIDR: str(_required(_parsed_cidr, text, "network in CIDR notation"))}


def _address_of(value: Any) -> _Ip:
    return ipaddress.ip_address(_held(_ip(value) if isinstance(value, str) else value, _IP)[1])


def _network_of(value: Any) -> _Network:
    return ipaddress.ip_interface(_held(_cidr(value) if isinstance(value, str) else value, _CIDR)[1])


def _contains_ip(value: Any, other: Any) -> bool:
    network, address = _network_of(value), _address_of(other)
    return network.version == address.version and address in network.network


def _contains_cidr(value: Any, other: Any) -> bool:
    network, within = _network_of(value).network, _network_of(other)
    return within.version == network.version and within.ip in network and within.network.prefixlen >= network.prefixlen


def _is_link_local_multicast(value: Any) -> bool:
    address = _address_of(value)
    return address in ipaddress.ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")


def _is_global_unicast(value: Any) -> bool:
    address = _address_of(value)
    odd = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not odd and str(address) != "255.255.255.255"


_ADDRESSES = (
    Function("ip", ("string",), _IP, _ip, member=False),
    Function("ip", (_CIDR,), _IP, lambda value: {_IP: str(_network_of(value).ip)}),
    Function("isIP", ("string",), "bool", lambda text: _parsed_ip(text) is not None, member=False),
    Function("ip.isCanonical", ("string",), "bool", lambda text: _ip(text)[_IP] == text, member=False),
    Function("family", (_IP,), "int", lambda value: _address_of(value).version),
    Function("isUnspecified", (_IP,), "bool", lambda value: _address_of(value).is_unspecified),
    Function("isLoopback", (_IP,), "bool", lambda value: _address_of(value).is_loopback),
    Function("isLinkLocalMulticast", (_IP,), "bool", _is_link_local_multicast),
    Function("isLinkLocalUnicast", (_IP,), "bool", lambda value: _address_of(value).is_link_local),
    Function("isGlobalUnicast", (_IP,), "bool", _is_global_unicast),
    Function("cidr", ("string",), _CIDR, _cidr, member=False),
    Function("isCIDR", ("string",), "bool", lambda text: _parsed_cidr(text) is not None, member=False),
    *(Function("containsIP", (_CIDR, other), "bool", _contains_ip) for other in (_IP, "string")),
    *(Function("containsCIDR", (_CIDR, other), "bool", _contains_cidr) for other in (_CIDR, "string")),
    Function("masked", (_CIDR,), _CIDR, lambda value: {_CIDR: str(_network_of(value).network)}),
    Function("prefixLength", (_CIDR,), "int", lambda value: _network_of(value).network.prefixlen),
    *(Function("string", (kind,), "string", _string, member=False) for kind in (_IP, _CIDR)),
)


# Formats: library/format.go. Each gives what is wrong with a text, as the API server says it of names and labels.

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{12}")
_DNS_1123, _DNS_1035 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?", "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_1123}(\.{_DNS_1123})*"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENDS = "must start and end with an alphanumeric character"


def _matched(pattern: str, most: int, rule: str, *examples: str) -> Callable[[str], list[str]]:
    """Return a validator with the maximum length and the pattern of a valid string; ``rule`` and ``examples`` are for its message."""
    given = ",  or ".join(f"'{each}'" for each in examples)
    message = f"{rule} (e.g. {given}, regex used for validation is '{pattern}')"
    compiled = re.compile(pattern)

    def faults(text: str) -> list[str]:
        too_long = [f"must be no more than {most} characters"] if len(text.encode()) > most else []
        return too_long if compiled.fullmatch(text) else [*too_long, message]

    return faults


def _as_prefix(faults: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Adapt a validator to prefixes of names, which may end in a dash: the API server replaces it by a letter."""
    return lambda text: faults(f"{text[:-1]}a" if len(text) > 1 and text.endswith("-") else text)


_characters = "must consist of alphanumeric characters, '-', '_' or '.', and " + _ENDS
_label_rule = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_ENDS}"
_subdomain_rule = f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and {_ENDS}"
_label_1035_rule = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)
_dns_label = _matched(_DNS_1123, 63, _label_rule, "my-name", "123-abc")
_subdomain = _matched(_SUBDOMAIN, 253, _subdomain_rule, "example.com")
_dns_1035 = _matched(_DNS_1035, 63, _label_1035_rule, "my-name", "abc-123")
_name_part = _matched(_NAME, 63, f"name part {_characters}", "MyName", "my.name", "123-abc")
_label_value = _matched(
    f"({_NAME})?", 63, f"a valid label must be an empty string or {_characters.removeprefix('must ')}", "MyValue", "my_value", "12345"
)
_key = _matched(_NAME, 63, f"a valid label key {_characters}", "MyName", "my.name", "123-abc")


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [f"{_key('')[0]} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    before = ["prefix part must be non-empty"] if slash and not prefix else [f"prefix part {each}" for each in _subdomain(prefix) if slash]
    after = [] if name else ["name part must be non-empty"]
    return [*before, *after, *(each if each.startswith("name part") else f"name part {each}" for each in _name_part(name))]


def _only(is_good: Callable[[str], bool], message: str) -> Callable[[str], list[str]]:
    return lambda text: [] if is_good(text) else [message]


def _is_base64(text: str) -> bool:
    import base64

    try:
        return bool(base64.b64decode(text, validate=True))
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    match = _DATE_TIME.fullmatch(text)
    return match is not None and _is_date(match[1])


def _uri(text: str) -> list[str]:
    complaint = f"parse {_quoted(text)}: {'invalid URI for request' if text else 'empty url'}"
    return [complaint] if _parsed_url(text) is None else []


_FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": _dns_label,
    "dns1123LabelPrefix": _as_prefix(_dns_label),
    "dns1123Subdomain": _subdomain,
    "dns1123SubdomainPrefix": _as_prefix(_subdomain),
    "dns1035Label": _dns_1035,
    "dns1035LabelPrefix": _as_prefix(_dns_1035),
    "qualifiedName": _qualified_name,
    "labelValue": _label_value,
    "uri": _uri,
    "uuid": _only(lambda text: _UUID.fullmatch(text) is not None, "does not match the UUID format"),
    "byte": _only(_is_base64, "invalid base64"),
    "date": _only(_is_date, "invalid date"),
    "datetime": _only(_is_date_time, "invalid datetime"),
}


def _named_format(name: str) -> dict[str, Any]:
    return {_FORMAT: name} if name in _FORMATS else {}


_NAMED_FORMATS = (
    *(Function(f"format.{name}", (), _FORMAT, partial(_named_format, name), member=False) for name in _FORMATS),
    Function("format.named", ("string",), f"optional_type<{_FORMAT}>", _named_format, member=False),
    Function("validate", (_FORMAT, "string"), "optional_type<list<string>>", lambda value, text: _FORMATS[_held(value, _FORMAT)[1]](text)),
)

SEARCHES = (
    Function("find", ("string", "string"), "string", str),
    Function("findAll", ("string", "string"), "list<string>", str),
    Function("findAll", ("string", "string", "int"), "list<string>", str),
)
"""Those that look for patterns, which ``admission.cel`` implements by what the library has."""

FUNCTIONS: tuple[Function, ...] = (*_STRINGS, *_LISTS, *_QUANTITIES, *_VERSIONS, *_URLS, *_ADDRESSES, *_NAMED_FORMATS)


def _range(size: int) -> list[int]:
    if not 0 <= size <= _MOST_ITEMS:
        raise ValueError(f"lists.range takes a size from 0 to {_MOST_ITEMS}")
    return [*range(size)]


def _with_entries(gathered: dict[Any, Any], more: dict[Any, Any]) -> dict[Any, Any]:
    if gathered.keys() & more.keys():
        raise ValueError("the map has a duplicate key")
    return {**gathered, **more}


_MOST_ITEMS = 10**6
INTERNAL_FUNCTIONS = (
    Function("kubernetes.string", ("dyn",), "string", _string, member=False),
    Function("kubernetes.range", ("int",), "list<int>", _range, member=False),
    Function("kubernetes.mapInsert", ("map", "dyn", "dyn"), "map", lambda gathered, key, value: {**gathered, key: value}, member=False),
    Function("kubernetes.mapInsert", ("map", "map"), "map", _with_entries, member=False),
)
"""What functions of the language are evaluated by where the library's own do something else, or are missing."""


def without_groups(pattern: str) -> str:
    """Return an RE2 pattern whose groups do not capture, so that a search returns the complete match."""
    return "".join(_ungrouped(pattern))


def _ungrouped(pattern: str) -> Iterator[str]:
    position, in_class = 0, False
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            yield pattern[position : position + 2]
            position += 2
            continue
        if in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            opening = re.compile(r"\[\^?\]?").match(pattern, position)
            assert opening is not None
            yield opening[0]
            position = opening.end()
            continue
        elif char == "(":
            named = re.compile(r"\((?:\?P?<[^>]*>)?").match(pattern, position)
            assert named is not None
            if not pattern.startswith("(?", position) or named.end() > position + 1:
                yield "(?:"
                position = named.end()
                continue
        yield char
        position += 1
