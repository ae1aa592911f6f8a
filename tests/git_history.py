"""A Git repository that a test makes commit by commit, without the configuration of the user."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_ENVIRONMENT = {
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_AUTHOR_NAME": "a",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class History:
    """A repository with the branch `main`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        """Runs Git, and gives what it prints."""
        environment = {**{name: value for name, value in os.environ.items() if not name.startswith("GIT_")}, **_ENVIRONMENT}
        done = subprocess.run(["git", *words], cwd=self.root, env=environment, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Writes files of the work tree; None deletes one."""
        for name, text in files.items():
            path = self.root / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)

    def commit(self, files: Mapping[str, str | bytes | None] | None = None) -> str:
        """Writes files, commits everything, and gives the commit."""
        self.write(files or {})
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change")
        return self.git("rev-parse", "HEAD")
