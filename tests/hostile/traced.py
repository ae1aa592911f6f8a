"""What a command did, as `strace -f` saw it: the files it opened for writing or changed, what it connected to, what it started."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_CALLS = (
    "open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,"
    "mknod,mknodat,truncate,chmod,fchmodat,connect,sendto,execve,execveat"
)
_LINE = re.compile(r"(\d+) +(?:<\.\.\. \w+ resumed>)?(.*)")
_TEXT = re.compile(r'(?:(AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)"')
_OWN = ("/dev/null", "/dev/tty", "/proc/", "/dev/shm/")
"""What keeps nothing, and semaphores."""


class Effects(NamedTuple):
    """Absolute paths that were written, addresses of the network, and names of programs, that of the command left out."""

    written: frozenset[str]
    connected: frozenset[str]
    started: frozenset[str]


def tracer(trace: Path) -> list[str]:
    """The words in front of a command that trace it; it stops only at the calls that are traced, or an installation takes minutes."""
    return ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "4096", "-e", f"trace={_CALLS}", "-e", "signal=none", "-o", str(trace)]


def can_trace() -> bool:
    """Whether strace is here, and the system lets it work."""
    if shutil.which("strace") is None:
        return False
    done = subprocess.run(["strace", "-f", "--seccomp-bpf", "-o", os.devnull, "true"], capture_output=True, check=False)
    return done.returncode == 0


def effects(trace: Path) -> Effects:
    """What a trace shows."""
    written: set[str] = set()
    connected: set[str] = set()
    started: list[str] = []
    for call, rest in _calls(trace.read_text(encoding="utf-8", errors="replace")):
        if call in ("connect", "sendto"):
            if re.search(r"sa_family=AF_INET6?\b", rest) and "sin_port=htons(0)" not in rest:
                connected.add(rest)
        elif call.startswith("execve"):
            started.append(os.path.basename(_paths(rest)[0]))
        elif not call.startswith("open") or re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", rest):
            paths = _paths(rest)[-1:] if call.startswith("symlink") else _paths(rest)  # The text of a link comes first.
            written.update(path for path in paths if not path.startswith(_OWN))
    return Effects(frozenset(written), frozenset(connected), frozenset(started[1:]))


def _calls(text: str) -> Iterator[tuple[str, str]]:
    """The calls that did not fail: their names, and the rest of their lines."""
    unfinished: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        process, rest = match.groups()
        if "resumed>" in line:
            rest = unfinished.pop(process, "") + rest
        if rest.endswith("<unfinished ...>"):
            unfinished[process] = rest.removesuffix("<unfinished ...>")
            continue
        if not re.search(r" = -1 E(?!INPROGRESS)\w+", rest):
            yield rest.partition("(")[0], rest
    for rest in unfinished.values():
        yield rest.partition("(")[0], rest


def _paths(rest: str) -> list[str]:
    arguments = rest.partition("(")[2]
    found = []
    for _, folder, name in _TEXT.findall(arguments if "execve" not in rest else arguments.partition(",")[0] + ","):
        found.append(os.path.normpath(os.path.join(folder, name)))
    return found


_DEADLINE = 600
"""Seconds: a busy machine takes minutes to install a package under strace."""


def traced(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str], trace: Path) -> tuple[int, str, Effects]:
    """How a command ended, what it printed, and what it did."""
    done = subprocess.run(
        [*tracer(trace), *map(str, command)],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=_DEADLINE,
    )
    return done.returncode, done.stdout, effects(trace)
