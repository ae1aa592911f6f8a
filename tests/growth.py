"""How much more work more input makes, as a ratio or in calls: neither depends on how busy the machine is, as seconds would."""

import gc
import sys
import time
from collections.abc import Callable

FACTOR = 8
HIGHEST_RATIO = 24
"""Between linear growth, for which it is 8, and quadratic growth, for which it is 64."""
_ATTEMPTS = 5


def assert_linear(run: Callable[[int], object], size: int) -> None:
    """Fail where eight times a size takes far more than eight times as long.

    Args:
        run: Does the work for an input of some size.
        size: The larger of the two sizes.
    """
    ratios: list[float] = []
    for _ in range(_ATTEMPTS):  # The machine may have had something else to do.
        small = _processor_time(run, size // FACTOR)
        ratios.append(_processor_time(run, size) / max(small, sys.float_info.min))
        if ratios[-1] < HIGHEST_RATIO:
            return
    raise AssertionError(f"{FACTOR} times the input takes {min(ratios):.0f} times as long")


def _processor_time(run: Callable[[int], object], size: int) -> float:
    """Return the processor time of a run, without collections of garbage: the command line makes none either."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        started = time.process_time()
        run(size)
        return time.process_time() - started
    finally:
        if was_enabled:
            gc.enable()


def calls(run: Callable[[], object]) -> int:
    """Return how many functions a run calls, those of C among them."""
    count = 0

    def profile(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count
