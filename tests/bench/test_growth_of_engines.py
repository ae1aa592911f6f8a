"""The growth of engines: exponents leave out the start of a process, and every part of an input grows with its size."""

from __future__ import annotations

import pytest
from bench.growth import ENGINES, exponent


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [({100: 1.5, 200: 2.5, 400: 4.5}, 1.0), ({100: 1.0, 200: 2.5, 400: 8.5}, 2.0), ({100: 0.75, 200: 0.75, 400: 0.75}, 0.0)],
)
def test_an_exponent_is_that_of_the_time_after_the_start(seconds: dict[int, float], expected: float) -> None:
    assert exponent(0.5, seconds) == pytest.approx(expected)


@pytest.mark.parametrize("name", ENGINES)
def test_an_input_of_twice_the_size_has_twice_as_much_text(name: str) -> None:
    files = ENGINES[name].files
    once, twice, thrice = (sum(len(file.text) for file in files(size)) for size in (100, 200, 300))
    assert thrice - twice == pytest.approx(twice - once, rel=0.02)
    assert twice > 1.8 * once
