"""afflint, whose workers are started by the method that comes first: `python started_by.py METHOD WORD...`."""

import multiprocessing
import sys

if __name__ == "__main__":
    from afflint.__main__ import main

    multiprocessing.set_start_method(sys.argv.pop(1))
    main()
