"""What limits a program that renders: its environment, its memory, and on Linux a network namespace without any interface."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from shutil import which

MOST_MEMORY = 1 << 30
"""Bytes that one program may allocate. Only Linux keeps to it."""
_GO_MEMORY = "900MiB"
_PATIENCE = 5.0
_NULL = subprocess.DEVNULL

_KEPT = frozenset(("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TEMP", "TMP"))
_KEPT_ON_WINDOWS = frozenset(("APPDATA", "COMSPEC", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "SYSTEMDRIVE", "SYSTEMROOT", "USERPROFILE"))
_KEPT_PREFIXES = ("HELM_", "KUSTOMIZE_", "LC_", "XDG_", "ASDF_", "MISE_")
"""The last two choose which version of a tool runs."""
_KEPT_FOR_NETWORK = ("GIT_", "SSH_", "SSL_CERT_")
_CREDENTIALS = ("HELM_KUBE",)
"""For a cluster, which no template is rendered with."""
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
NO_PROXY = "http://127.0.0.1:9"
"""A proxy that does not exist: port 9 discards what it receives, where anything listens there at all."""

_NAMESPACES = (["--net"], ["--user", "--map-root-user", "--net"])
"""Without a user namespace first: root keeps its access to the files of others. It takes a privilege that only root may have."""


def program(name: str) -> str | None:
    """A program on PATH; None where it is not installed. Never one of the current folder, where Windows would look first."""
    found = which(name)
    return found if found is not None and os.path.isabs(found) else None


def environment(*, network: bool) -> Mapping[str, str]:
    """The environment of the programs: of the user's only what they need, so that a template cannot show the rest.

    kustomize has no option that forbids the network; these variables forbid it git, and anything that uses a proxy.
    """
    names = {name: name.upper() for name in os.environ}
    kept = {name for name, upper in names.items() if upper in _KEPT | _KEPT_ON_WINDOWS or upper.startswith(_KEPT_PREFIXES)}
    if network:
        kept |= {name for name, upper in names.items() if upper.startswith(_KEPT_FOR_NETWORK) or upper in (*_PROXIES, "NO_PROXY")}
    kept -= {name for name, upper in names.items() if upper.startswith(_CREDENTIALS)}
    known = {name: os.environ[name] for name in names if name in kept}
    known |= {"GIT_TERMINAL_PROMPT": "0", "GOMEMLIMIT": _GO_MEMORY}
    if network:
        return known
    for name in _PROXIES:
        known[name] = known[name.lower()] = NO_PROXY
    return {**known, "GIT_ALLOW_PROTOCOL": "none"}


def without_network(tool: str) -> Sequence[str]:
    """The words in front of a command that start it in a network namespace of its own; none where the system does not allow that."""
    # A program from a snap gets its rights by setuid, which a user namespace takes away.
    return () if os.path.basename(os.path.realpath(tool)) == "snap" else _namespace()


@cache
def _namespace() -> Sequence[str]:
    unshare, true = program("unshare"), program("true")
    if unshare is None or true is None:
        return ()
    for options in _NAMESPACES:
        command = [unshare, *options, "--"]
        with suppress(OSError, subprocess.TimeoutExpired):
            if subprocess.run([*command, true], stdin=_NULL, stdout=_NULL, stderr=_NULL, timeout=_PATIENCE, check=False).returncode == 0:
                return command
    return ()


def limit_memory(process: int) -> None:
    """Limit what a process, and those that it starts, may allocate, where the system can do that. Go ends when it gets no more."""
    with suppress(ImportError, AttributeError, OSError):  # Windows; macOS; it has ended already.
        import resource

        resource.prlimit(process, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def ran_out_of_memory(complaint: bytes) -> bool:
    """Whether a program says that it got no more memory."""
    return re.search(rb"\bout of memory\b|cannot allocate memory", complaint, re.IGNORECASE) is not None
