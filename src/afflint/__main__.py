"""``python -m afflint``."""

from afflint.cli import main

if __name__ == "__main__":
    main()
