"""Where afflint starts, as a command and as ``python -m afflint``.

Importing afflint takes longer than most of its runs take otherwise: hence this module, which imports nothing until it can answer an
interrupt.
"""

import sys


def main() -> None:
    """Run the command line and end the process with one of its exit codes: quietly with 130 when it is interrupted, whenever that is."""
    try:
        from afflint.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
