"""Runs a command under limits, in a process of its own: python limits.py MEGABYTES REPORT COMMAND...

Only a small process between the tests and the command can tell how much memory the command took: what a process inherits
counts as its own. REPORT receives exit code, seconds of processor time and megabytes.
"""

import os
import resource
import sys

_PATIENCE = 300
"""The seconds of processor time after which a command that does not end is killed."""


def main(megabytes: str, report: str, *command: str) -> None:
    limit = int(megabytes) * 2**20
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CPU, (_PATIENCE, _PATIENCE))
        os.execv(command[0], command)
    _, status, usage = os.wait4(child, 0)
    taken = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    with open(report, "w", encoding="ascii") as file:
        file.write(f"{os.waitstatus_to_exitcode(status)} {usage.ru_utime + usage.ru_stime} {taken}")


main(*sys.argv[1:])
