"""Quantities: what Kubernetes reads as an amount, exactly, and where it rounds."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.kube.quantities import LARGEST, Quantity, parse_quantity

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(1000 ** (power + 1)) for power, suffix in enumerate("kMGTPE")},
    **{f"{suffix}i": Fraction(1024 ** (power + 1)) for power, suffix in enumerate("KMGTPE")},
}


def read(data: object) -> Quantity:
    found = parse_quantity(data)
    assert found is not None, data
    return found


@pytest.mark.parametrize(
    "text, milli",
    [
        ("1", 1000),
        ("500m", 500),
        ("1.5", 1500),
        (".5", 500),
        ("1.", 1000),
        ("+2", 2000),
        ("007", 7000),
        ("12k", 12_000_000),
        ("1Ki", 1_024_000),
        ("1.5Gi", 1536 * 1024**2 * 1000),
        ("0.5Ki", 512_000),
        ("1e3", 1_000_000),
        ("1E3", 1_000_000),
        ("1e+09", 10**12),
        ("25e-1", 2500),
        ("1E", 10**21),
        ("1Ei", 1024**6 * 1000),
        (" 2 ", 2000),
        (2, 2000),
        (0.1, 100),
        (1e21, LARGEST * 1000),
        pytest.param(10**5000, LARGEST * 1000, id="an int of 5000 digits"),
    ],
)
def test_exact_amounts(text: object, milli: int) -> None:
    assert read(text).milli == milli


@pytest.mark.parametrize(
    "data",
    ["", " ", "Gi", "-", ".", "e3", "1K", "1ki", "1kb", "1GB", "1 Gi", "1_000", "0x10", "1e", "1e+", "1.2.3", "1,5", "٣", "1Gi\n2"],
)
def test_text_that_is_not_a_quantity(data: str) -> None:
    assert parse_quantity(data) is None


@pytest.mark.parametrize("data", [None, True, [], {}, float("inf"), float("nan"), "9" * 300])
def test_values_that_are_not_a_quantity(data: object) -> None:
    assert parse_quantity(data) is None


@pytest.mark.parametrize(
    "text, value, milli",
    [
        ("1m", 1, 1),  # any part of a unit is a whole one
        ("1001m", 2, 1001),
        ("0.1m", 1, 1),
        ("1n", 1, 1),
        ("0.0001n", 1, 1),  # the smallest amount there is, not nothing
        ("1e-99999", 1, 1),
        ("0.0", 0, 0),
        ("0e99999", 0, 0),
        ("-1500m", -2, -1500),  # away from zero
        ("-0.1m", -1, -1),
    ],
)
def test_rounding_is_up(text: str, value: int, milli: int) -> None:
    assert (read(text).value, read(text).milli) == (value, milli)


@pytest.mark.parametrize("text", ["8Ei", "9.3E", "1e19", "1e999999999", "9223372036854775808"])
def test_more_than_the_most_is_the_most(text: str) -> None:
    assert read(text).value == LARGEST


@pytest.mark.parametrize(
    "text, canonical",
    [
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("2000m", "2"),
        ("1000", "1k"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("1e6", "1M"),
        ("0", "0"),
        ("0Mi", "0"),
        ("-2048", "-2048"),
        ("-2Ki", "-2Ki"),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert str(read(text)) == canonical


numbers = st.from_regex(r"[+-]?([0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12})", fullmatch=True)
exponents = st.integers(-12, 12).map(lambda power: (f"e{power}", Fraction(10) ** power))
scales = st.one_of(st.sampled_from(sorted(SUFFIXES.items())), exponents)


@given(numbers, scales)
def test_the_amount_is_the_number_times_the_suffix_rounded_up_to_billionths(number: str, scale: tuple[str, Fraction]) -> None:
    suffix, factor = scale
    exact = Fraction(number.removesuffix(".")) * factor
    nanos = -(-abs(exact) * 10**9 // 1)
    assert abs(read(number + suffix).nanos) == min(nanos, LARGEST * 10**9)
    assert (read(number + suffix).nanos < 0) == (exact < 0)


@given(numbers, scales)
def test_the_canonical_form_reads_as_the_same_amount_and_is_its_own(number: str, scale: tuple[str, Fraction]) -> None:
    quantity = read(number + scale[0])
    again = read(str(quantity))
    assert again.nanos == quantity.nanos
    assert str(again) == str(quantity) or quantity.binary


@given(st.text(max_size=12))
def test_any_text_is_an_amount_or_none(text: str) -> None:
    found = parse_quantity(text)
    assert found is None or read(str(found)).nanos == found.nanos
