"""The benchmark is not part of the package: it is imported from the top of the checkout."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
