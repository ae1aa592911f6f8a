"""When folders are checked and rendered: after a pause in the changes, one folder at a time, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer.client import PATIENCE, Message, RenderLost, report_until_lost, start_process
from afflint.lsp.indexer.protocol import RENDERS, RenderEnded, RenderRequest, write_line
from afflint.lsp.project import Project

_RUN_PAUSE, _LONGEST_PAUSE = 0.25, 3.0
"""Seconds without a change before a run over all manifests; in a large folder, 1.5 times the duration of a run."""
_AT_LEAST_EVERY = 40
"""During continuous typing, a run starts at the latest after this multiple of its duration."""
_RESTART_DELAY, _MAX_RESTART_DELAY = 1.0, 60.0
"""Seconds before the indexer is restarted after a failure; they double with each failure until a run ends."""
_RENDER_PAUSE = 0.3
"""Seconds after a change before a render: editors save several files, and report each, one after another."""


class Debounce:
    """The folders for which work is due after a pause without another request for it."""

    def __init__(self) -> None:
        self._due: dict[Project, tuple[float, float]] = {}
        """The time of the work, and the time of the first request for it."""

    def request(self, project: Project, pause: float, longest: float | None = None) -> None:
        """Do the work after a pause in seconds, but at most ``longest`` seconds after the first request."""
        now = time.monotonic()
        since = self._due.get(project, (now, now))[1]
        self._due[project] = now + pause if longest is None else min(now + pause, max(since + longest, now)), since

    def forget(self, project: Project) -> None:
        """Cancel the work that is due for a folder."""
        self._due.pop(project, None)

    def next_times(self) -> list[float]:
        """Return the times at which work is due."""
        return [when for when, _ in self._due.values()]

    def take(self) -> Project | None:
        """Return the folder whose work is due, and forget it; None if none is due."""
        now = time.monotonic()
        project = next((project for project, (when, _) in self._due.items() if when <= now), None)
        if project is not None:
            del self._due[project]
        return project

    def clear(self) -> None:
        """Cancel the work that is due for all folders."""
        self._due.clear()


class RunSchedule:
    """The runs of the indexer that are due, and the one that runs. After a failure of the indexer, the next one waits."""

    def __init__(self) -> None:
        self.running: Project | None = None
        self.outdated = False
        """Whether a new indexer would be another version of afflint, so that the server has to be restarted before the next run."""
        self._due = Debounce()
        self._failures, self._not_before = 0, 0.0
        """Failures of the indexer since the end of a run, and the time before which it is not restarted."""

    def request(self, project: Project, pause: float | None = None) -> None:
        """Check a folder after a pause in seconds, so that a run does not slow down each keystroke."""
        if not self.outdated:
            usual = min(max(_RUN_PAUSE, 1.5 * project.cost), _LONGEST_PAUSE)
            self._due.request(project, usual if pause is None else pause, max(_AT_LEAST_EVERY * project.cost, _LONGEST_PAUSE))

    def forget(self, project: Project) -> None:
        """Do not check a folder that has been closed."""
        self._due.forget(project)
        if self.running is project:
            self.running = None

    def next_times(self) -> list[float]:
        """Return the times of the next runs; none while one runs."""
        return [] if self.running is not None else [max(when, self._not_before) for when in self._due.next_times()]

    def start_due(self) -> Project | None:
        """Return the folder whose run starts now; None if none is due, or if another one runs."""
        if self.running is not None or time.monotonic() < self._not_before:
            return None
        self.running = self._due.take()
        return self.running

    def ended(self) -> None:
        """Take note of the end of the run."""
        self.running = None
        self._failures = 0

    def failed(self, *, outdated: bool) -> None:
        """Take note that the indexer has failed. ``outdated`` says whether the installed afflint is now another version."""
        self.running = None
        self._failures += 1
        self._not_before = time.monotonic() + min(_RESTART_DELAY * 2 ** (self._failures - 1), _MAX_RESTART_DELAY)
        self.outdated |= outdated
        if self.outdated:
            self._due.clear()


class RenderSchedule:
    """The renders that are due, and the one that runs, in a process of its own. ``report`` is called from another thread with its end."""

    def __init__(self, report: Callable[[Message], None]) -> None:
        self._report = report
        self._due = Debounce()
        self._running: Project | None = None
        self._process: subprocess.Popen[bytes] | None = None
        """The renderer that was started, until its end has been handled."""
        self._cancelled = False

    def request(self, project: Project) -> None:
        """Render a folder soon, if its configuration allows that. A render of the folder that runs is cancelled: its result is outdated."""
        if project.is_rendered:
            self._due.request(project, _RENDER_PAUSE)
            if self._running is project:
                self._cancel()

    def forget(self, project: Project) -> None:
        """Do not render a folder that has been closed."""
        self._due.forget(project)
        if self._running is project:
            self._running = None
            self._cancel()

    def next_times(self) -> list[float]:
        """Return the times of the next renders; none while one runs."""
        return [] if self._process is not None else self._due.next_times()

    def start_due(self, command_line: CommandLineConfig) -> None:
        """Start the render that is due, unless another one runs. Raises OSError."""
        project = None if self._process is not None else self._due.take()
        if project is not None and project.is_rendered:
            if command_line.config_file is not None:
                command_line = command_line._replace(config_file=os.path.abspath(command_line.config_file))
            request = RENDERS.encode(RenderRequest(project.folder, command_line))
            self._process, self._cancelled = start_process("renderer"), False
            self._running = project
            threading.Thread(target=self._read, args=(self._process, request), name="renders", daemon=True).start()

    def ended(self, report: RenderEnded | RenderLost) -> Project | None:
        """Take note of the end of the render that runs, and return its folder; None if it was closed, or if the render was cancelled."""
        self._process = None
        project, self._running = self._running, None
        return None if isinstance(report, RenderLost) and not report.reason else project

    def end(self) -> None:
        """End the render, and wait until its programs have ended, too."""
        process, self._process = self._process, None
        if process is not None:
            self._cancelled = True
            _close(process)
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            process.kill()
            process.wait()

    def _cancel(self) -> None:
        """End the render and the programs that it runs, without waiting; its end is reported as usual."""
        process = self._process
        if process is not None and not self._cancelled:
            self._cancelled = True
            _close(process)
            timer = threading.Timer(PATIENCE, process.kill)
            timer.daemon = True
            timer.start()

    def _read(self, process: subprocess.Popen[bytes], request: bytes) -> None:
        assert process.stdin is not None
        results: list[Message] = []
        with suppress(OSError, ValueError):  # The process has ended, or was cancelled at once.
            write_line(process.stdin.fileno(), request)
        lost = report_until_lost(process, results.append)
        _close(process)
        if results and not self._cancelled:
            self._report(results[-1])
        else:
            self._report(RenderLost("" if self._cancelled else lost.reason.replace("indexer", "renderer")))


def _close(process: subprocess.Popen[bytes]) -> None:
    """Close the standard input of the renderer, so that it ends."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
