"""Write the generated text of the repository.

    python -m tools.generate                  # everything
    python -m tools.generate readme rules     # only the named parts

Files with parts that stay as they are, because a program or data is missing, are named, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import sys

from tools.generate.generators import GENERATORS


def main() -> int:
    """Write what the command line names. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.generate", description="Write the generated text of the repository.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these parts, of {', '.join(GENERATORS)}")
    names = parser.parse_args().names
    if unknown := {*names} - {*GENERATORS}:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; the parts are {', '.join(GENERATORS)}")
    files = [file for name in names or GENERATORS for file in GENERATORS[name]()]
    for file in files:
        text = file.make()
        if text != file.current():
            file.path.write_bytes(text.encode())
            print(f"wrote {file.name}")
    for file in files:
        if file.missing:
            print(f"{file.name} is not up to date in every part: {file.missing}", file=sys.stderr)
    return int(any(file.missing for file in files))


if __name__ == "__main__":
    sys.exit(main())
