"""Scalars resolve as go-yaml v2 resolves them: every table here was checked against the answers of the real library."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.yaml.scalars import Scalar, key_text, plain_key, resolve_plain, resolve_tagged

NULLS = ["", "~", "null", "Null", "NULL"]
TRUE = ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]
FALSE = ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]
NO_JSON = [".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN"]

INTEGERS = {
    "0": 0,
    "5": 5,
    "+5": 5,
    "-1": -1,
    "-0": 0,
    # A leading zero is octal, as in C; so are 0o and, unlike in YAML 1.2, both in either case.
    "010": 8,
    "+010": 8,
    "-010": -8,
    "00": 0,
    "0o10": 8,
    "0O10": 8,
    "0x1F": 31,
    "0X1f": 31,
    "-0x1F": -31,
    "0b11": 3,
    "0B11": 3,
    "-0b11": -3,
    # Underscores count for nothing, anywhere behind the first character.
    "1_000": 1000,
    "1__0": 10,
    "1_": 1,
    "0_10": 8,
    "0x_1F": 31,
    # The whole range of 64 bits, signed and unsigned.
    "-9223372036854775808": -(2**63),
    "9223372036854775808": 2**63,
    "18446744073709551615": 2**64 - 1,
    "0xFFFFFFFFFFFFFFFF": 2**64 - 1,
    "0" * 5000 + "17": 15,
}
FLOATS = {
    "1.5": 1.5,
    "1.0": 1.0,
    "5.": 5.0,
    ".5": 0.5,
    "-.5": -0.5,
    "+.5_5": 0.55,
    "1e3": 1000.0,
    "1E3": 1000.0,
    "12e03": 12000.0,
    "1e-3": 0.001,
    ".5e1": 5.0,
    "1_0.5": 10.5,
    # With an 8 or a 9 it is not octal, and a float has no octal.
    "08": 8.0,
    "09.5": 9.5,
    # After a leading point underscores have to be between digits.
    ".1_5": 0.15,
    # What no integer holds.
    "18446744073709551616": 1.8446744073709552e19,
    "-9223372036854775809": -9.223372036854775808e18,
    "0777777777777777777777777": 7.777777777777778e23,
    "1e-400": 0.0,
    "0." + "0" * 5000 + "1": 0.0,
}
STRINGS = [
    "web",
    "1e",
    "1e+",
    "0x",
    "0o",
    "0b",
    "0b2",
    "0o8",
    "0xg",
    "0.1.2",
    "1.2.3",
    "v1.0",
    "1:30",
    "190:20:30",
    "2024-01-01",
    "2024-01-01T00:00:00Z",
    "=",
    "<<",
    "-",
    "+",
    ".",
    "..",
    "--1",
    "+-1",
    "1-",
    "1,000",
    "_1",
    "._5",
    ".5_",
    ".5e_1",
    "+_",
    "1f",
    "0x1p4",
    "yEs",
    "nULL",
    "inf",
    "NaN",
    "-.nan",
    "1e400",
    "-1e400",
    ".1e400",
    "9" * 5000,
    "0x1" + "F" * 16,
    # Digits of other scripts are not digits.
    "\u0661",
    "1\u0662",
    "\u00b2",
    "\u00bd",
    # Nor is a blank nothing: only the parser trims.
    " ",
    "1 ",
    "true ",
    "5\n",
]


def same(found: Scalar, wanted: Scalar) -> bool:
    """Equal and of the same type: 1, 1.0 and True are three values here."""
    return type(found) is type(wanted) and found == wanted


@pytest.mark.parametrize("text", NULLS)
def test_these_words_and_nothing_at_all_are_null(text: str) -> None:
    assert resolve_plain(text) is None


@pytest.mark.parametrize(("words", "value"), [(TRUE, True), (FALSE, False)])
def test_these_words_are_booleans(words: list[str], value: bool) -> None:
    assert [resolve_plain(word) for word in words] == [value] * len(words)


@pytest.mark.parametrize(("text", "value"), INTEGERS.items(), ids=lambda each: str(each)[:30])
def test_these_are_integers(text: str, value: int) -> None:
    assert same(resolve_plain(text), value)


@pytest.mark.parametrize(("text", "value"), FLOATS.items(), ids=lambda each: str(each)[:30])
def test_these_are_floats(text: str, value: float) -> None:
    assert same(resolve_plain(text), value)


@pytest.mark.parametrize("text", STRINGS, ids=lambda each: repr(each[:30]))
def test_these_stay_strings(text: str) -> None:
    assert same(resolve_plain(text), text)


@pytest.mark.parametrize("text", NO_JSON)
def test_what_json_cannot_carry_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        resolve_plain(text)


# With a tag.


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        ("str", "5", "5"),
        ("str", "~", "~"),
        ("int", "5", 5),
        ("int", "010", 8),
        ("float", "5", 5.0),
        ("float", "1.5", 1.5),
        ("bool", "yes", True),
        ("null", "~", None),
        ("null", "", None),
        ("timestamp", "2024-01-01", "2024-01-01"),
        ("timestamp", "2024-1-1T1:02:03.5Z", "2024-1-1T1:02:03.5Z"),
        ("timestamp", "2024-01-01 10:00:00", "2024-01-01 10:00:00"),
        ("binary", "d2Vi", "web"),
        ("binary", "d2\nVi\n", "web"),
        ("binary", "/w==", "\ufffd"),
        # Tags for collections say nothing about a scalar.
        ("map", "5", "5"),
        ("set", "5", "5"),
    ],
)
def test_a_tag_of_yaml_determines_the_type_of_a_scalar(tag: str, text: str, value: Scalar) -> None:
    assert same(resolve_tagged(f"tag:yaml.org,2002:{tag}", text), value)


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("int", "web"),
        ("int", "1.0"),
        ("int", ""),
        ("float", "web"),
        ("bool", "1"),
        ("bool", "yess"),
        ("null", "x"),
        ("timestamp", "web"),
        ("timestamp", "2024"),
        ("binary", "d2V"),
        ("binary", "%%"),
        ("binary", "d2Vi d2Vi"),
        ("float", ".inf"),
    ],
)
def test_a_scalar_that_does_not_match_its_tag_is_an_error(tag: str, text: str) -> None:
    with pytest.raises(ValueError):
        resolve_tagged(f"tag:yaml.org,2002:{tag}", text)


@pytest.mark.parametrize("tag", ["!foo", "!", "tag:example.org,2024:int", "!<x>", ""])
def test_with_any_other_tag_a_scalar_is_its_text(tag: str) -> None:
    assert same(resolve_tagged(tag, "5"), "5")


# As keys, which JSON knows only as strings.


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("app", "app"),
        ("yes", "true"),
        ("off", "false"),
        ("5", "5"),
        ("010", "8"),
        ("0x1F", "31"),
        ("-1", "-1"),
        ("1.5", "1.5"),
        ("1.0", "1"),
        ("0.1", "0.1"),
        # Go writes a float key at 32 bits, with an exponent from a million on.
        ("16777217.0", "1.6777216e+07"),
        ("123456.0", "123456"),
        ("1e6", "1e+06"),
        ("1e-5", "1e-05"),
        ("0.0001", "0.0001"),
        ("3.5e38", ".inf"),
        ("-3.5e38", "-.inf"),
        ("1e-79", "0"),
        (".inf", ".inf"),
        ("+.INF", ".inf"),
        ("-.inf", "-.inf"),
        (".NaN", ".nan"),
        ("2024-01-01", "2024-01-01"),
        ("9223372036854775807", "9223372036854775807"),
    ],
)
def test_a_key_becomes_a_string(text: str, key: str) -> None:
    assert plain_key(text) == key


@pytest.mark.parametrize("text", NULLS)
def test_the_null_key_is_recognised(text: str) -> None:
    assert plain_key(text) is None
    assert key_text(None) is None


def test_a_key_beyond_63_bits_is_an_error() -> None:
    with pytest.raises(ValueError, match="too large"):
        plain_key("9223372036854775808")


# Whatever the text.

number_like = st.text(alphabet="0123456789+-._eExXoObBaAfF", max_size=12)


@given(st.text() | number_like)
def test_every_text_resolves_except_the_infinities_and_nan(text: str) -> None:
    if text in NO_JSON:
        return
    value = resolve_plain(text)
    assert value is None or type(value) in (bool, int, float, str)
    if type(value) is str:
        assert value == text


@given(st.text())
def test_a_string_that_was_read_is_read_the_same_again(text: str) -> None:
    if text not in NO_JSON and isinstance(value := resolve_plain(text), str):
        assert same(resolve_plain(value), value)


@given(st.integers(min_value=-(2**63), max_value=2**64 - 1))
def test_integers_come_back_in_every_base(value: int) -> None:
    sign, digits = ("-" if value < 0 else ""), abs(value)
    for text in (str(value), f"{sign}0x{digits:x}", f"{sign}0o{digits:o}", f"{sign}0b{digits:b}", f"{value:_}"):
        assert same(resolve_plain(text), value), text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back(value: float) -> None:
    found = resolve_plain(repr(value))
    assert isinstance(found, float)
    assert struct.pack(">d", found) == struct.pack(">d", value)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_keys_lose_nothing_that_32_bits_hold(value: float) -> None:
    key = key_text(value)
    assert key is not None
    assert struct.pack(">f", float(key)) == struct.pack(">f", value)


@given(st.sampled_from(["int", "float", "bool", "null", "str", "timestamp", "binary", "map", "x"]), st.text() | number_like)
def test_a_tagged_scalar_has_its_tags_type_or_is_an_error(tag: str, text: str) -> None:
    types: dict[str, Any] = {"int": int, "float": float, "bool": bool, "null": type(None)}
    try:
        value = resolve_tagged(f"tag:yaml.org,2002:{tag}", text)
    except ValueError:
        assert tag not in ("str", "map", "x")
    else:
        assert type(value) is types.get(tag, str)
