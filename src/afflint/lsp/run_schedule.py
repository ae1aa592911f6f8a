"""When the indexer checks all manifests of a folder: after changes, one folder at a time, and not right after the indexer has failed."""

from __future__ import annotations

import time

from afflint.lsp.project import Project

_PAUSE, _LONGEST_PAUSE = 0.25, 3.0
"""Seconds without a change before a run over all manifests; in a large folder, 1.5 times the duration of a run."""
_AT_LEAST_EVERY = 40
"""During continuous typing, a run starts at the latest after this multiple of its duration."""
_RESTART_DELAY, _MAX_RESTART_DELAY = 1.0, 60.0
"""Seconds before the indexer is restarted after a failure; they double with each failure until a run ends."""


class RunSchedule:
    """The runs that are due and the one that runs."""

    def __init__(self) -> None:
        self.running: Project | None = None
        self.outdated = False
        """Whether a new indexer would be another version of afflint, so that the server has to be restarted before the next run."""
        self._due: dict[Project, tuple[float, float]] = {}
        """The earliest time of each run, and the time of the first request for it."""
        self._failures, self._not_before = 0, 0.0
        """Failures of the indexer since the end of a run, and the time before which it is not restarted."""

    def request(self, project: Project, pause: float | None = None) -> None:
        """Check a folder after a pause in seconds, so that a run does not slow down each keystroke."""
        if self.outdated:
            return
        now = time.monotonic()
        if pause is None:
            pause = min(max(_PAUSE, 1.5 * project.cost), _LONGEST_PAUSE)
        since = self._due.get(project, (now, now))[1]
        latest = since + max(_AT_LEAST_EVERY * project.cost, _LONGEST_PAUSE)
        self._due[project] = min(now + pause, max(latest, now)), since

    def forget(self, project: Project) -> None:
        """Do not check a folder that has been closed."""
        self._due.pop(project, None)
        if self.running is project:
            self.running = None

    def next_times(self) -> list[float]:
        """Return the times of the next runs; none while one runs."""
        return [] if self.running is not None else [max(when, self._not_before) for when, _ in self._due.values()]

    def start_due(self) -> Project | None:
        """Return the folder whose run starts now; None if none is due, or if another one runs."""
        now = time.monotonic()
        if self.running is None and now >= self._not_before:
            self.running = next((project for project, (when, _) in self._due.items() if when <= now), None)
            if self.running is not None:
                del self._due[self.running]
            return self.running
        return None

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
