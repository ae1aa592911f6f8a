"""The entry point of afflint, as a command and as ``python -m afflint``.

Importing afflint takes longer than the rest of most runs, so this module imports nothing until it can handle an interrupt.
"""

import sys


def main() -> None:
    """Run the command line and exit with one of its exit codes; an interrupt exits with 130 at any time, and without a message."""
    try:
        from afflint.cli import main as run

        run()
    except KeyboardInterrupt as interrupt:
        sys.exit(128 + getattr(interrupt, "number", 2))


if __name__ == "__main__":
    main()
