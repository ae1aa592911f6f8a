"""Runs a module or a line of Python like the interpreter, and writes how many functions were called: `counting.py FILE -m afflint ...`.

The number does not depend on how busy the machine is.
"""

from __future__ import annotations

import runpy
import sys


def main() -> None:
    """Count the calls of functions, those of C as well, until the program ends."""
    target, option, program, *arguments = sys.argv[1:]
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        if event in ("call", "c_call"):
            calls += 1

    sys.argv = [program, *arguments]
    sys.setprofile(count)
    try:
        if option == "-m":
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
    finally:
        sys.setprofile(None)
        with open(target, "w", encoding="ascii") as file:
            file.write(str(calls))


if __name__ == "__main__":
    main()
