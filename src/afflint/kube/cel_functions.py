"""The functions that Kubernetes adds to CEL, in Python, as data for ``kube.cel``: names, types and what computes them.

After k8s.io/apiserver/pkg/cel/library (lists, quantity, url, ip, cidr, format, semver) and cel-go/ext (strings). CEL gets no types of its
own from Python, so a quantity, an address and the like is a map with one key that says which it is: two of them are equal when they mean
the same. What raises ValueError is an error of the expression, as it is in the API server.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Any

from afflint.kube.label_syntax import is_dns_label, is_key, is_subdomain, is_value
from afflint.kube.quantities import Quantity, parse_quantity
from afflint.records import NamedTuple

LONGEST_TEXT = 1 << 20
"""Characters of a text that a function makes: more is an error."""


class Function(NamedTuple):
    """One way to call a function: ``takes`` and ``gives`` are names of types of CEL; of a ``member`` the first stands before a dot."""

    name: str
    takes: tuple[str, ...]
    gives: str
    made: Callable[..., Any]
    member: bool = True


def _short(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise ValueError("the text becomes too long")
    return text


# Strings: cel-go/ext/strings.go. Positions count characters.


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise ValueError(f"index out of range: {position}")
    return text[position : position + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if not 0 <= start <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text.rfind(part, 0, start + len(part))


def _join(parts: list[Any], between: str = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise ValueError("join takes a list of strings")
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


def _lower_ascii(text: str) -> str:
    return re.sub("[A-Z]+", lambda found: found[0].lower(), text)


def _upper_ascii(text: str) -> str:
    return re.sub("[a-z]+", lambda found: found[0].upper(), text)


def _quote(text: str) -> str:
    escapes = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
    return _short('"' + "".join(escapes.get(each, each) for each in text) + '"')


_CLAUSE = re.compile(r"%(?:\.([0-9]{1,3}))?(.)", re.DOTALL)


def _format(text: str, values: list[Any]) -> str:
    rest = iter(values)

    def clause(found: re.Match[str]) -> str:
        if found[2] == "%":
            return "%"
        try:
            value = next(rest)
        except StopIteration:
            raise ValueError("format has fewer values than clauses") from None
        return _clause(found[2], int(found[1] or 6), value)

    return _short(_CLAUSE.sub(clause, text))


def _clause(kind: str, precision: int, value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "s":
        return shown(value)
    if kind == "d" and number and int(value) == value:
        return str(int(value))
    if kind in "fe" and number:
        return f"{value:.{precision}{kind}}"
    if kind == "b" and isinstance(value, int):
        return f"{value:b}"
    if kind in "ox" and isinstance(value, int) and number:
        return f"{value:{kind}}"
    if kind == "X" and isinstance(value, int) and number:
        return f"{value:X}"
    if kind in "xX" and isinstance(value, str):
        digits = value.encode().hex()
        return digits.upper() if kind == "X" else digits
    raise ValueError(f"format cannot write {shown(value)} by %{kind}")


def shown(value: Any) -> str:
    """A value as ``%s`` writes it."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in sorted(value.items(), key=str)) + "}"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


_STRINGS = (
    Function("charAt", ("string", "int"), "string", _char_at),
    Function("indexOf", ("string", "string"), "int", _index_of),
    Function("indexOf", ("string", "string", "int"), "int", _index_of),
    Function("lastIndexOf", ("string", "string"), "int", _last_index_of),
    Function("lastIndexOf", ("string", "string", "int"), "int", _last_index_of),
    Function("join", ("list",), "string", _join),
    Function("join", ("list", "string"), "string", _join),
    Function("replace", ("string", "string", "string"), "string", _replace),
    Function("replace", ("string", "string", "string", "int"), "string", _replace),
    Function("split", ("string", "string"), "list", _split),
    Function("split", ("string", "string", "int"), "list", _split),
    Function("substring", ("string", "int"), "string", _substring),
    Function("substring", ("string", "int", "int"), "string", _substring),
    Function("trim", ("string",), "string", str.strip),
    Function("lowerAscii", ("string",), "string", _lower_ascii),
    Function("upperAscii", ("string",), "string", _upper_ascii),
    Function("reverse", ("string",), "string", lambda text: text[::-1]),
    Function("format", ("string", "list"), "string", _format),
    Function("strings.quote", ("string",), "string", _quote, member=False),
)


# Lists: library/lists.go.


def _alike(values: list[Any]) -> list[Any]:
    kinds = {float if type(each) in (int, float) else type(each) for each in values}
    if len(kinds) > 1 or not kinds <= {float, str, bool} | _TIMES:
        raise ValueError("the items of the list cannot be compared")
    return values


def _times() -> set[type]:
    from datetime import datetime, timedelta

    return {datetime, timedelta}


_TIMES = _times()


def _is_sorted(values: list[Any]) -> bool:
    return all(one <= two for one, two in zip(_alike(values), values[1:], strict=False))


def _sum(values: list[Any]) -> Any:
    if not all(type(each) in (int, float) for each in values):
        raise ValueError("sum takes a list of numbers")
    total = sum(values)
    if isinstance(total, int) and not -(2**63) <= total < 2**63:
        raise ValueError("integer overflow")
    return total


def _least(values: list[Any]) -> Any:
    if not values:
        raise ValueError("min called on empty list")
    return min(_alike(values))


def _greatest(values: list[Any]) -> Any:
    if not values:
        raise ValueError("max called on empty list")
    return max(_alike(values))


def _same(one: Any, two: Any) -> bool:
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _first(values: list[Any], wanted: Any) -> int:
    return next((number for number, each in enumerate(values) if _same(each, wanted)), -1)


def _last(values: list[Any], wanted: Any) -> int:
    return next((number for number in range(len(values) - 1, -1, -1) if _same(values[number], wanted)), -1)


_LISTS = (
    Function("isSorted", ("list",), "bool", _is_sorted),
    Function("sum", ("list",), "dyn", _sum),
    Function("min", ("list",), "dyn", _least),
    Function("max", ("list",), "dyn", _greatest),
    Function("indexOf", ("list", "dyn"), "int", _first),
    Function("lastIndexOf", ("list", "dyn"), "int", _last),
)


# Quantities: library/quantity.go.

_QUANTITY, _SEMVER, _URL, _IP, _CIDR, _FORMAT, _OPTIONAL = (
    f"kubernetes.{name}" for name in ("Quantity", "Semver", "URL", "IP", "CIDR", "NamedFormat", "Optional")
)
_NANO = 10**9


def _held(value: Any, *kinds: str) -> tuple[str, Any]:
    """What kind of thing a value is, of these, and what it holds."""
    if isinstance(value, dict) and len(value) == 1:
        (kind,) = value
        if kind in kinds:
            return kind, value[kind]
    raise ValueError(f"a function takes {' or '.join(each.partition('.')[2] for each in kinds)}, and is given something else")


def _parsed_quantity(text: str) -> Quantity | None:
    return parse_quantity(text) if text == text.strip() else None


def _quantity(text: str) -> dict[str, Any]:
    parsed = _parsed_quantity(text)
    if parsed is None:
        raise ValueError(f"{text!r} is no quantity")
    return {_QUANTITY: str(parsed.nanos)}


def _nanos(value: Any) -> int:
    return int(_held(value, _QUANTITY)[1])


def _added(one: Any, two: Any, sign: int = 1) -> dict[str, Any]:
    more = two * _NANO if type(two) is int else _nanos(two)
    return {_QUANTITY: str(_nanos(one) + sign * more)}


def _as_integer(value: Any) -> int:
    whole, rest = divmod(_nanos(value), _NANO)
    if rest or not -(2**63) <= whole < 2**63:
        raise ValueError("the quantity is no integer")
    return whole


def _is_integer(value: Any) -> bool:
    return _nanos(value) % _NANO == 0


def _compared(one: Any, two: Any) -> int:
    """-1, 0 or 1, of two quantities or of two versions."""
    kind, first = _held(one, _QUANTITY, _SEMVER)
    _, second = _held(two, kind)
    if kind == _SEMVER:
        return _versions_compared(first, second)
    return (int(first) > int(second)) - (int(first) < int(second))


_QUANTITIES = (
    Function("quantity", ("string",), "dyn", _quantity, member=False),
    Function("isQuantity", ("string",), "bool", lambda text: _parsed_quantity(text) is not None, member=False),
    Function("isGreaterThan", ("dyn", "dyn"), "bool", lambda one, two: _compared(one, two) > 0),
    Function("isLessThan", ("dyn", "dyn"), "bool", lambda one, two: _compared(one, two) < 0),
    Function("compareTo", ("dyn", "dyn"), "int", _compared),
    Function("sign", ("dyn",), "int", lambda value: (_nanos(value) > 0) - (_nanos(value) < 0)),
    Function("isInteger", ("dyn",), "bool", _is_integer),
    Function("asInteger", ("dyn",), "int", _as_integer),
    Function("asApproximateFloat", ("dyn",), "double", lambda value: _nanos(value) / _NANO),
    Function("add", ("dyn", "dyn"), "dyn", _added),
    Function("sub", ("dyn", "dyn"), "dyn", lambda one, two: _added(one, two, -1)),
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
    if _VERSION.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no semantic version")
    return {_SEMVER: text.partition("+")[0]}


def _is_semver(text: str, normal: bool = False) -> bool:
    return _VERSION.fullmatch(_normal_version(text) if normal else text) is not None


def _version_part(number: int) -> Callable[[Any], int]:
    return lambda value: int(_held(value, _SEMVER)[1].partition("-")[0].split(".")[number])


def _versions_compared(one: str, two: str) -> int:
    first, second = _precedence(one), _precedence(two)
    return (first > second) - (first < second)


def _precedence(version: str) -> tuple[Any, ...]:
    core, dash, before = version.partition("-")
    parts = [(0, int(each), "") if each.isdigit() else (1, 0, each) for each in before.split(".")] if dash else []
    return (*map(int, core.split(".")), not dash, parts)


_VERSIONS = (
    Function("semver", ("string",), "dyn", _semver, member=False),
    Function("semver", ("string", "bool"), "dyn", _semver, member=False),
    Function("isSemver", ("string",), "bool", _is_semver, member=False),
    Function("isSemver", ("string", "bool"), "bool", _is_semver, member=False),
    Function("major", ("dyn",), "int", _version_part(0)),
    Function("minor", ("dyn",), "int", _version_part(1)),
    Function("patch", ("dyn",), "int", _version_part(2)),
)


# URLs: library/urls.go, after Go's url.ParseRequestURI.

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_AUTHORITY = re.compile(r"(?:[^@/?#\[\]\s]*@)?(\[[0-9A-Fa-f:.%]+\]|[^\[\]:/?#@\s<>\"^`{|}\\]*)(?::([0-9]*))?")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class _Address(NamedTuple):
    scheme: str
    host: str
    port: str
    path: str
    query: str


def _parsed_url(text: str) -> _Address | None:
    if not text or any(ord(each) < 0x20 or ord(each) == 0x7F for each in text):
        return None
    head, colon, rest = text.partition(":")
    scheme = head.lower() if colon and _SCHEME.fullmatch(head) else ""
    rest = rest if scheme else text
    if not scheme and not rest.startswith("/"):
        return None
    body, _, query = rest.partition("?")
    host = port = ""
    if scheme and body.startswith("//"):
        authority, slash, path = body[2:].partition("/")
        found = _AUTHORITY.fullmatch(authority)
        if found is None:
            return None
        host, port, body = found[1], found[2] or "", slash + path
    if _BAD_ESCAPE.search(body):
        return None
    return _Address(scheme, host, port, body if body.startswith("/") or not scheme else "", query)


def _url(text: str) -> dict[str, Any]:
    if _parsed_url(text) is None:
        raise ValueError(f"{text!r} is no URL")
    return {_URL: text}


def _of_url(field: Callable[[_Address], Any]) -> Callable[[Any], Any]:
    def part(value: Any) -> Any:
        parsed = _parsed_url(_held(value, _URL)[1])
        assert parsed is not None
        return field(parsed)

    return part


def _escaped_path(address: _Address) -> str:
    from urllib.parse import quote

    return quote(address.path, safe="/%!$&'()*+,;=:@~-._")


def _query(address: _Address) -> dict[str, list[str]]:
    from urllib.parse import parse_qs

    return parse_qs(address.query, keep_blank_values=True)


_URLS = (
    Function("url", ("string",), "dyn", _url, member=False),
    Function("isURL", ("string",), "bool", lambda text: _parsed_url(text) is not None, member=False),
    Function("getScheme", ("dyn",), "string", _of_url(lambda url: url.scheme)),
    Function("getHost", ("dyn",), "string", _of_url(lambda url: f"{url.host}:{url.port}" if url.port else url.host)),
    Function("getHostname", ("dyn",), "string", _of_url(lambda url: url.host.strip("[]"))),
    Function("getPort", ("dyn",), "string", _of_url(lambda url: url.port)),
    Function("getEscapedPath", ("dyn",), "string", _of_url(_escaped_path)),
    Function("getQuery", ("dyn",), "dyn", _of_url(_query)),
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
    parsed = _parsed_ip(text)
    if parsed is None:
        raise ValueError(f"{text!r} is no IP address")
    return {_IP: str(parsed)}


def _cidr(text: str) -> dict[str, Any]:
    parsed = _parsed_cidr(text)
    if parsed is None:
        raise ValueError(f"{text!r} is no network in CIDR notation")
    return {_CIDR: str(parsed)}


def _address_of(value: Any) -> _Ip:
    return ipaddress.ip_address(_held(_ip(value) if isinstance(value, str) else value, _IP)[1])


def _network_of(value: Any) -> _Network:
    return ipaddress.ip_interface(_held(_cidr(value) if isinstance(value, str) else value, _CIDR)[1])


def _is_canonical(text: str) -> bool:
    parsed = _parsed_ip(text)
    if parsed is None:
        raise ValueError(f"{text!r} is no IP address")
    return str(parsed) == text


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


def _as_text(value: Any) -> str:
    _, text = _held(value, _IP, _CIDR)
    return str(text)


def _family(value: Any) -> int:
    return _address_of(value).version


_ADDRESSES = (
    Function("ip", ("string",), "dyn", _ip, member=False),
    Function("ip", ("dyn",), "dyn", lambda value: {_IP: str(_network_of(value).ip)}),
    Function("isIP", ("string",), "bool", lambda text: _parsed_ip(text) is not None, member=False),
    Function("ip.isCanonical", ("string",), "bool", _is_canonical, member=False),
    Function("family", ("dyn",), "int", _family),
    Function("isUnspecified", ("dyn",), "bool", lambda value: _address_of(value).is_unspecified),
    Function("isLoopback", ("dyn",), "bool", lambda value: _address_of(value).is_loopback),
    Function("isLinkLocalMulticast", ("dyn",), "bool", _is_link_local_multicast),
    Function("isLinkLocalUnicast", ("dyn",), "bool", lambda value: _address_of(value).is_link_local),
    Function("isGlobalUnicast", ("dyn",), "bool", _is_global_unicast),
    Function("cidr", ("string",), "dyn", _cidr, member=False),
    Function("isCIDR", ("string",), "bool", lambda text: _parsed_cidr(text) is not None, member=False),
    Function("containsIP", ("dyn", "dyn"), "bool", _contains_ip),
    Function("containsCIDR", ("dyn", "dyn"), "bool", _contains_cidr),
    Function("masked", ("dyn",), "dyn", lambda value: {_CIDR: str(_network_of(value).network)}),
    Function("prefixLength", ("dyn",), "int", lambda value: _network_of(value).network.prefixlen),
    Function("string", ("map",), "string", _as_text, member=False),
)


# Formats: library/format.go. ``validate`` gives an optional list, of which ``hasValue`` and ``value`` can be asked.

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})")
_UUID = re.compile(r"[0-9A-Fa-f]{8}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{12}")
_DNS_1035 = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")


def _as_prefix(text: str) -> str:
    """A name that is to be a prefix may end in a dash: the API server puts a letter there."""
    return f"{text[:-1]}a" if len(text) > 1 and text.endswith("-") else text


def _is_base64(text: str) -> bool:
    import base64

    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def _is_date(text: str) -> bool:
    from datetime import date

    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text[:10]))
    except ValueError:
        return False


_FORMATS: dict[str, Callable[[str], bool]] = {
    "dns1123Label": is_dns_label,
    "dns1123LabelPrefix": lambda text: is_dns_label(_as_prefix(text)),
    "dns1123Subdomain": is_subdomain,
    "dns1123SubdomainPrefix": lambda text: is_subdomain(_as_prefix(text)),
    "dns1035Label": lambda text: _DNS_1035.fullmatch(text) is not None,
    "dns1035LabelPrefix": lambda text: _DNS_1035.fullmatch(_as_prefix(text)) is not None,
    "qualifiedName": is_key,
    "labelValue": is_value,
    "uri": lambda text: _parsed_url(text) is not None,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "byte": _is_base64,
    "date": _is_date,
    "datetime": lambda text: _DATE_TIME.fullmatch(text) is not None and _is_date(text[:10]),
}


def _named_format(name: str) -> dict[str, Any]:
    return {_OPTIONAL: [{_FORMAT: name}] if name in _FORMATS else []}


def _validate(value: Any, text: str) -> dict[str, Any]:
    name = _held(value, _FORMAT)[1]
    return {_OPTIONAL: [] if _FORMATS[name](text) else [[f"{text!r} is no {name}"]]}


def _value(value: Any) -> Any:
    _, held = _held(value, _OPTIONAL)
    if not held:
        raise ValueError("optional.none() dereference")
    return held[0]


def _format_maker(name: str) -> Callable[[], dict[str, Any]]:
    return lambda: {_FORMAT: name}


_NAMED_FORMATS = (
    *(Function(f"format.{name}", (), "dyn", _format_maker(name), member=False) for name in _FORMATS),
    Function("format.named", ("string",), "dyn", _named_format, member=False),
    Function("validate", ("dyn", "string"), "dyn", _validate),
    Function("hasValue", ("map",), "bool", lambda value: bool(_held(value, _OPTIONAL)[1])),
    Function("value", ("map",), "dyn", _value),
)

FUNCTIONS: tuple[Function, ...] = (*_STRINGS, *_LISTS, *_QUANTITIES, *_VERSIONS, *_URLS, *_ADDRESSES, *_NAMED_FORMATS)


def without_groups(pattern: str) -> str:
    """A pattern of RE2 whose groups capture nothing, so that what is found is all that it matches."""
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
