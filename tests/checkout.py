"""The checkout as a stranger gets it: a copy without what work leaves behind, and an environment without our settings."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LEFT_BEHIND = (".git", ".venv", "venv", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis", "dist", "build")


def copy_to(target: Path) -> Path:
    """Copies the checkout to ``target``, committed or not, and gives ``target``."""
    return Path(shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*_LEFT_BEHIND)))


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without what would lead Python back to the checkout, and without any git, colour or tool settings or a cache."""
    names = ("PYTHONPATH", "PYTHONHOME", "NO_COLOR", "FORCE_COLOR", "SKIP")
    prefixes = ("GIT_", "PRE_COMMIT", "AFFLINT")
    kept = {name: value for name, value in os.environ.items() if name not in names and not name.startswith(prefixes)}
    git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        git |= {f"GIT_{role}_NAME": "A Tester", f"GIT_{role}_EMAIL": "tester@example.com"}
    return {**kept, "AFFLINT_NO_CACHE": "1", **git, **more}


def run(command: Sequence[str | Path], folder: Path, *, environment: dict[str, str] | None = None, expect: int | None = 0) -> str:
    """Runs a command with no standard input, and gives what it printed, errors included. ``expect`` is its exit code; None: any."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment or clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    shown = " ".join(str(word) for word in command)
    assert expect is None or done.returncode == expect, f"`{shown}` ended with {done.returncode}:\n{done.stdout}"
    return done.stdout
