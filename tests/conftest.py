"""The helpers of the tests lie beside them; and no test depends on how busy the machine is."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from afflint.scheduler import cluster

if TYPE_CHECKING:
    from browser import Browser
    from command_line import Afflint, Done

sys.path.insert(0, str(Path(__file__).parent))
# The site is not part of the package: it is imported from the top of the checkout.
sys.path.append(str(Path(__file__).parents[1]))

# A shell starts what runs in the background with interrupts ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# CI draws the same examples each time: a change fails because of what it changes. Every other run draws new ones.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("any machine"), derandomize=True)
settings.load_profile("ci" if "CI" in os.environ else "any machine")

# Clusters in tests are small. Those of up to three nodes go the short way, so that both ways are held to the recorded answers.
cluster._MAX_UNGROUPED = 3


@pytest.fixture
def afflint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Afflint:
    """Runs the command line in this process."""
    from command_line import Done, exit_code

    def run(*words: str) -> Done:
        capsys.readouterr()
        monkeypatch.setenv("COLUMNS", "100")
        code = exit_code(monkeypatch, *words)
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium; the test is skipped without one, and on Windows, which has no pipes for it."""
    pytest.importorskip("fcntl", reason="Chromium is spoken to over pipes, as Windows has none")
    from browser import Browser

    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started
