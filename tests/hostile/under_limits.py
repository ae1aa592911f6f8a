"""How a run of the command line under limits ended."""

from collections.abc import Callable
from typing import NamedTuple


class Ended(NamedTuple):
    """How a command ended, what it printed, and what it took."""

    code: int
    out: str
    err: str
    seconds: float
    """Of processor time: what else the machine does is none of its affairs."""
    megabytes: float

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Afflint = Callable[..., Ended]
