"""The helpers of the tests lie beside them; and no test depends on how busy the machine is."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

from afflint.scheduler import cluster

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# Clusters in tests are small. Those of up to three nodes go the short way, so that both ways are held to the recorded answers.
cluster._FEW = 3
