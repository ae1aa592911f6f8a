"""Kubernetes quantities (``500m``, ``1.5Gi``, ``1e3``) as exact numbers, rounded where the API machinery rounds them."""

from __future__ import annotations

import re

from afflint.findings.namedtuples import NamedTuple

LARGEST = 2**63 - 1
"""The largest quantity; larger ones are read as this."""

_NANO = 10**9
_MILLI = 10**6
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_OF = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
# A lone E is 10^18, an E before digits an exponent; trying the exponent first distinguishes the two.
_SYNTAX = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+)|([KMGTPE]i|[numkMGTPE]?))")

# Longer than any digits that change a quantity; limits what Python has to convert to a number.
_MOST_CHARACTERS = 200
# 10^19 exceeds the largest quantity, and 10^-30 of the largest suffix is less than the smallest unit.
_LARGEST_MAGNITUDE = 19
_SMALLEST_MAGNITUDE = -30


class Quantity(NamedTuple):
    """An amount in billionths, the smallest unit of a quantity. ``binary``: written with Ki, Mi, and so on."""

    nanos: int
    binary: bool = False

    @property
    def value(self) -> int:
        """The amount in whole units, rounded away from zero."""
        return _rounded_up(self.nanos, _NANO)

    @property
    def milli(self) -> int:
        """The amount in thousandths, rounded away from zero. The API server stores nothing finer in lists of resources."""
        return _rounded_up(self.nanos, _MILLI)

    def __str__(self) -> str:
        """Return the canonical form: no fraction, and the largest suffix that allows it."""
        whole, rest = divmod(abs(self.nanos), _NANO)
        sign = "-" if self.nanos < 0 else ""
        if self.binary and not rest and whole >= 1024:
            suffix = next((suffix for suffix, bits in reversed(_BINARY.items()) if whole % (1 << bits) == 0), "")
            return f"{sign}{whole >> _BINARY.get(suffix, 0)}{suffix}"
        if not self.nanos:
            return "0"
        digits, exponent = abs(self.nanos), -9
        while digits % 1000 == 0 and exponent < 18:
            digits, exponent = digits // 1000, exponent + 3
        return f"{sign}{digits}{_SUFFIX_OF[exponent]}"


def parse_quantity(data: object) -> Quantity | None:
    """Parse a quantity of a manifest, which may be a plain number; return None if it is not valid.

    Numbers with an excessive number of digits are not valid either.
    """
    if isinstance(data, bool) or not isinstance(data, str | int | float):
        return None
    if isinstance(data, int):
        # Python refuses to convert the largest integers to text.
        data = max(-LARGEST, min(data, LARGEST))
    text = data.strip() if isinstance(data, str) else repr(data)
    found = _SYNTAX.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if found is None:
        return None
    sign, whole, fraction, exponent, suffix = found.groups()
    fraction = fraction or ""
    if not whole and not fraction:
        return None
    bits = _BINARY.get(suffix or "", 0)
    power = int(exponent) if exponent else _DECIMAL.get(suffix or "", 0)
    nanos = _nanos((whole + fraction).lstrip("0"), power - len(fraction), bits)
    return Quantity(-nanos if sign == "-" else nanos, bits > 0)


def _nanos(digits: str, power: int, bits: int) -> int:
    """Return ``digits`` x 10^power x 2^bits in billionths: capped, and rounded up, so that an amount never becomes zero."""
    if not digits:
        return 0
    magnitude = len(digits) + power
    if magnitude > _LARGEST_MAGNITUDE:
        return LARGEST * _NANO
    if magnitude < _SMALLEST_MAGNITUDE:
        return 1
    number = int(digits) << bits
    power += 9
    nanos = number * 10**power if power >= 0 else _rounded_up(number, 10**-power)
    return min(nanos, LARGEST * _NANO)


def _rounded_up(number: int, unit: int) -> int:
    """Return the number of units that contain the number, rounded away from zero."""
    return -(-number // unit) if number >= 0 else number // unit
