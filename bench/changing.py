"""Add a comment to a file and execute the command that follows: ``changing.py FILE COMMAND...``."""

import os
import sys
import time

_, file, *command = sys.argv
with open(file, "a", encoding="utf-8") as text:
    text.write(f"# {time.time_ns()}\n")
os.execv(command[0], command)
