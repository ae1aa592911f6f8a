"""When folders are rendered: after they are opened and after each save, one at a time, in a process of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from afflint.config import RENDERERS
from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer.client import Message, RenderClient, RenderLost
from afflint.lsp.indexer.protocol import RenderEnded, RenderRequest
from afflint.lsp.project import Project

_PAUSE = 0.3
"""Seconds after a change before a render: editors save several files, and report each, one after another."""
_NEEDED_BY = {"kustomize": "kustomizations", "helm": "charts"}


class RenderSchedule:
    """The renders that are due and the one that runs. ``report`` is called from another thread with the end of each."""

    def __init__(self, report: Callable[[Message], None]) -> None:
        self._client = RenderClient(report)
        self._due: dict[Project, float] = {}
        self._running: Project | None = None

    def request(self, project: Project, pause: float = _PAUSE) -> None:
        """Render a folder soon, if its configuration allows that. A render of the folder that runs is cancelled: its result is outdated."""
        if project.is_rendered:
            self._due[project] = time.monotonic() + pause
            if self._running is project:
                self._client.cancel()

    def forget(self, project: Project) -> None:
        """Do not render a folder that has been closed."""
        self._due.pop(project, None)
        if self._running is project:
            self._running = None
            self._client.cancel()

    def next_time(self) -> float | None:
        """Return the time of the next render; None if none is due, or if it has to wait for the end of another one."""
        return min(self._due.values()) if self._due and not self._client.runs else None

    def start_due(self, command_line: CommandLineConfig) -> None:
        """Start the render that is due, unless another one runs. Raises OSError."""
        now = time.monotonic()
        ready = [] if self._client.runs else [project for project, when in self._due.items() if when <= now]
        if not ready:
            return
        project = ready[0]
        del self._due[project]
        if project.is_rendered:
            if command_line.config_file is not None:
                command_line = command_line._replace(config_file=os.path.abspath(command_line.config_file))
            self._client.start(RenderRequest(project.folder, command_line))
            self._running = project

    def ended(self, report: RenderEnded | RenderLost) -> Project | None:
        """Take note of the end of the render that runs, and return its folder; None if it was closed, or if the render was cancelled."""
        self._client.ended()
        project, self._running = self._running, None
        return None if isinstance(report, RenderLost) and not report.reason else project

    def end(self) -> None:
        """End the render that runs."""
        self._client.end()


def missing_tools_message(tools: tuple[str, ...]) -> str:
    """Return the message about tools that are not installed."""
    missing = " and ".join(f"`{each}`" for each in tools)
    what = " and ".join(_NEEDED_BY[each] for each in RENDERERS if each in tools)
    return f"{missing} {'is' if len(tools) == 1 else 'are'} not on PATH, so {what} are not rendered"
