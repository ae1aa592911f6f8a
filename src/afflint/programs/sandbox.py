"""Limits for programs: their environment, memory and processor time, and on Linux a network namespace without interfaces."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache

from afflint.programs.lookup import find_program

MOST_MEMORY = 1 << 30
"""The number of bytes that a program may allocate; only enforced on Linux."""
MOST_WRITTEN = 1 << 26
"""The number of bytes of the largest file that a program may write; only enforced on Linux."""
_GO_MEMORY = "900MiB"
_PATIENCE = 5.0
_NULL = subprocess.DEVNULL

_KEPT = frozenset(("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TEMP", "TMP"))
_KEPT_ON_WINDOWS = frozenset(("APPDATA", "COMSPEC", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "SYSTEMDRIVE", "SYSTEMROOT", "USERPROFILE"))
_KEPT_PREFIXES = ("HELM_", "KUSTOMIZE_", "LC_", "XDG_", "ASDF_", "MISE_")
"""The last two choose which version of a tool runs."""
_KEPT_FOR_NETWORK = ("GIT_ASKPASS", "GIT_CONFIG_", "GIT_HTTP_", "GIT_PROXY_", "GIT_SSH", "GIT_SSL_", "SSH_", "SSL_CERT_")
"""Not what leads Git to another repository: a Git hook that starts afflint has `GIT_DIR`, into which kustomize would fetch."""
_PROTOCOLS = "http:https"
"""What Git may fetch with: a URL may contain options of `git fetch`, and one of them starts a program where SSH or a path leads."""
_CREDENTIALS = ("HELM_KUBE",)
"""Credentials for a cluster, which rendering does not need."""
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
NO_PROXY = "http://127.0.0.1:9"
"""A proxy that does not exist: port 9 (discard) never answers, even if something listens there."""

GIT_SETTINGS = [
    word
    for setting in (
        f"core.hooksPath={os.devnull}",
        "core.fsmonitor=false",
        "gc.auto=0",
        "maintenance.auto=false",
        "submodule.recurse=false",
        "transfer.unpackLimit=1",
    )
    for word in ("-c", setting)
]
"""Options of Git with which the configuration of a repository starts no hook, no file system monitor and no maintenance."""

_NAMESPACES = (["--net"], ["--user", "--map-root-user", "--net"])
"""Options of `unshare`, without a user namespace first, because in one root may not read the files of others.

Only root may use the first.
"""


_END_WITH_AFFLINT = ("--pdeathsig", "KILL")
"""Options of `setpriv` with which the system ends a program when afflint ends, in whatever way."""
_MOST_PROCESSORS = 4


def environment(*, network: bool) -> Mapping[str, str]:
    """Return the environment of the programs: only the variables that they need, so that a template cannot reveal the others.

    kustomize has no option that disables the network; the variables here disable it for git, and for programs that use a proxy.
    """
    names = {name: name.upper() for name in os.environ}
    kept = {name for name, upper in names.items() if upper in _KEPT | _KEPT_ON_WINDOWS or upper.startswith(_KEPT_PREFIXES)}
    if network:
        kept |= {name for name, upper in names.items() if upper.startswith(_KEPT_FOR_NETWORK) or upper in (*_PROXIES, "NO_PROXY")}
    kept -= {name for name, upper in names.items() if upper.startswith(_CREDENTIALS)}
    known = {name: os.environ[name] for name in names if name in kept}
    known |= {"GIT_TERMINAL_PROMPT": "0", "GOMEMLIMIT": _GO_MEMORY}
    if network:
        return {**known, "GIT_ALLOW_PROTOCOL": _PROTOCOLS}
    for name in _PROXIES:
        known[name] = known[name.lower()] = NO_PROXY
    return {**known, "GIT_ALLOW_PROTOCOL": "none"}


def prefix(tool: str, *, network: bool) -> Sequence[str]:
    """Return the arguments in front of a command that starts the program ``tool``, as far as the system allows each of them.

    They end the program with afflint and, without ``network``, start it in its own network namespace.
    """
    # Programs from a snap need setuid, which does not work in a user namespace.
    is_isolated = not network and os.path.basename(os.path.realpath(tool)) != "snap"
    return _allowed(is_isolated)


@cache
def _allowed(is_isolated: bool) -> Sequence[str]:
    """Return the first of the possible prefixes that the system allows. The namespace comes first: it resets the signal."""
    unshare, setpriv, true = find_program("unshare"), find_program("setpriv"), find_program("true")
    namespaces = [[unshare, *options, "--"] for options in _NAMESPACES] if is_isolated and unshare is not None else []
    ending = [setpriv, *_END_WITH_AFFLINT, "--"] if setpriv is not None else []
    candidates = [[*each, *ending] for each in namespaces] + (namespaces if ending else []) + ([ending] if ending else [])
    for command in candidates:
        if true is None:
            break
        with suppress(OSError, subprocess.TimeoutExpired):
            if subprocess.run([*command, true], stdin=_NULL, stdout=_NULL, stderr=_NULL, timeout=_PATIENCE, check=False).returncode == 0:
                return command
    return ()


def limit_resources(process: int, seconds: float) -> None:
    """Limit the memory and the processor time of a process and its children, and the files that they write, if the system can do that.

    Go programs exit when they reach the limit of memory. ``seconds`` is the time limit of the process, which may use several processors.
    """
    with suppress(ImportError, AttributeError, OSError):  # Windows; macOS; the process has already ended.
        import resource

        used = int(seconds + 1) * min(os.cpu_count() or 1, _MOST_PROCESSORS)
        resource.prlimit(process, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
        resource.prlimit(process, resource.RLIMIT_FSIZE, (MOST_WRITTEN, MOST_WRITTEN))
        resource.prlimit(process, resource.RLIMIT_CPU, (used, used))


_OUT_OF_MEMORY = re.compile(rb"(?i)\bout of memory\b|cannot allocate memory|pthread_create failed|failed to create new OS thread")
"""What the Go runtime prints at the limit: the stack of a new thread counts as well, and which allocation fails first is chance."""


def ran_out_of_memory(complaint: bytes) -> bool:
    """Return whether the error output of a program reports a lack of memory."""
    return _OUT_OF_MEMORY.search(complaint) is not None
