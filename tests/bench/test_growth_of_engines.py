"""The growth of engines: exponents leave out the start of a process, and every part of an input grows with its size."""

import subprocess
from pathlib import Path

import pytest
from bench.growth import ENGINES, Engine, available, command_in, exponent, input_of

from bench import counting


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


ROLLOUTS = "place --roll each"
"""Explores states up to a limit, which workloads of this size do not reach."""


@pytest.mark.parametrize("name", [name for name in available() if name != ROLLOUTS])
def test_twice_the_input_takes_at_most_slightly_more_than_twice_the_steps(name: str, tmp_path: Path) -> None:
    engine = ENGINES[name]
    start, once, twice = (steps(engine, name, size, tmp_path) for size in (1, engine.size // 2, engine.size))
    assert twice - start < 2.4 * (once - start), f"{name}: {once - start} steps, then {twice - start}"


def steps(engine: Engine, name: str, size: int, folder: Path) -> int:
    """How many functions are called for an input of some size: a number that does not depend on how busy the machine is."""
    command = command_in(engine, input_of(engine, name, str(folder), size))
    interpreter, *arguments = command.arguments
    done = subprocess.run(
        [interpreter, counting.__file__, str(folder / "steps"), *arguments], cwd=command.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode in command.accepted, done.stderr
    return int((folder / "steps").read_text())
