"""Ends a run that the system terminates as one that the user interrupts, so that nothing of it stays behind."""

from __future__ import annotations

import os
import signal
from types import FrameType

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What a cancelled job and a closed terminal send."""


class TerminatedError(KeyboardInterrupt):
    """The run was terminated by a signal with this number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_code(interrupt: BaseException | None) -> int:
    """Return the exit code of an interrupted run, as a shell reports it: 128 and the number of the signal."""
    return 128 + (interrupt.number if isinstance(interrupt, TerminatedError) else int(signal.SIGINT))


def clean_up_when_terminated() -> None:
    """Let SIGTERM and SIGHUP raise TerminatedError in the main thread from now on, unless they are handled or ignored.

    Other threads cannot set this; a call from them has no effect.
    """
    import threading

    if threading.current_thread() is not threading.main_thread():
        return
    process = os.getpid()

    def terminate(number: int, _: FrameType | None) -> None:
        if os.getpid() != process:  # A process that was forked from this one has nothing to remove.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        for each in _SIGNALS:  # The removal is not interrupted a second time.
            signal.signal(each, signal.SIG_IGN)
        raise TerminatedError(number)

    for each in _SIGNALS:
        if signal.getsignal(each) is signal.SIG_DFL:
            signal.signal(each, terminate)
