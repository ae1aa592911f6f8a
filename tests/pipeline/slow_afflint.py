"""afflint, but each file takes its time, and each process first writes its number: `python slow_afflint.py START-METHOD ...`."""

import multiprocessing
import os
import sys
import time
from typing import Any

from afflint.cli import main
from afflint.yaml.prefilter import Triage

_triaged = Triage.triaged
_introduced: list[int] = []


def _slowly_triaged(triage: Triage, data: bytes, **wanted: Any) -> Any:
    if os.getpid() not in _introduced:
        _introduced.append(os.getpid())
        os.write(1, f"{os.getpid()}\n".encode())
    time.sleep(0.05)
    return _triaged(triage, data, **wanted)


# Also in processes that import this again, such as those started by `spawn`.
Triage.triaged = _slowly_triaged  # type: ignore[method-assign]

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv.pop(1))
    main()
