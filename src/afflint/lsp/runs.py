"""Runs over projects, one after the other in a thread of their own, so that a keystroke never waits for one.

Threads of Python take turns, and a keystroke that met a run over ten thousand files would have to share its time with it. So the run looks
at each of its calls whether somebody is being answered, by way of the hook for profilers, and stands still meanwhile. It takes two to
three times as long for that; checking files, which is most of the first run, goes without the hook.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from queue import SimpleQueue

from afflint.errors import UserError
from afflint.lsp.memory import Buffer
from afflint.lsp.project import Project, State
from afflint.records import NamedTuple

_PATIENCE, _A_LITTLE = 0.1, 0.001
"""Seconds that a run stands still at most for one answer, and seconds after which it looks again."""


class Ran(NamedTuple):
    """A run that has ended. Without a ``state`` it failed: ``fault`` says why, and what was found before holds."""

    project: Project
    state: State | None
    fault: str = ""


class Progress(NamedTuple):
    """How far a run is."""

    project: Project
    done: int
    total: int


class Runs:
    """``tell`` is called, from the other thread, with what comes of them."""

    def __init__(self, tell: Callable[[Ran | Progress], None]) -> None:
        self._tell = tell
        self._jobs: SimpleQueue[tuple[Project, Mapping[str, Buffer]]] = SimpleQueue()
        self._answering = 0
        """The number of the answer that is being given; 0 while nobody waits for one."""
        self._answers = 0
        self._given_up = 0
        self._thread: threading.Thread | None = None

    def start(self, project: Project, buffers: Mapping[str, Buffer]) -> None:
        """Run over a project with these documents open, by their paths."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="runs", daemon=True)
            self._thread.start()
        self._jobs.put((project, buffers))

    def busy(self, is_busy: bool) -> None:
        """Say whether the server is answering somebody: a run stands still meanwhile."""
        self._answers += is_busy
        self._answering = self._answers if is_busy else 0

    def _step_back(self, *_: object) -> None:
        """Called at each call of a run. It may hold any lock then, so it takes none, and goes on if the answer may be waiting for one."""
        if self._answering and self._answering != self._given_up:
            end = time.monotonic() + _PATIENCE
            while self._answering:
                if time.monotonic() > end:
                    self._given_up = self._answering
                    return
                time.sleep(_A_LITTLE)

    def _work(self) -> None:
        runs = 0
        while True:
            self._tell(self._run(*self._jobs.get()))
            if runs % _BETWEEN_COLLECTIONS == 0:
                # Whoever runs for days must not keep what nothing refers to; what it does keep need not be looked through again.
                gc.collect()
                gc.freeze()
            runs += 1

    def _run(self, project: Project, buffers: Mapping[str, Buffer]) -> Ran:
        def between(done: int, total: int) -> None:
            if total >= _LONG and done % _STEP == 0:
                self._tell(Progress(project, done, total))

        started, before = time.monotonic(), project.checking
        sys.setprofile(self._step_back)
        try:
            project.reread()
            state, faults = project.run(buffers, between)
            project.cost = time.monotonic() - started - (project.checking - before)
        except UserError as error:
            return Ran(project, None, str(error))
        except Exception:
            return Ran(project, None, traceback.format_exc())
        finally:
            sys.setprofile(None)
        return Ran(project, state, "; ".join(faults))


_BETWEEN_COLLECTIONS = 200
"""Runs leave no cycles behind as a rule, and looking for some stops everything else meanwhile."""

_LONG, _STEP = 500, 100
"""How many files are worth showing how far a run is, and after how many it is shown."""
