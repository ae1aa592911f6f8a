"""A small valid object of each kind that some reader of afflint knows, by the reader that takes it: the files in ``objects``."""

from pathlib import Path
from typing import Any

from manifest_maker import MANIFESTS, METADATA
from ruamel.yaml import YAML

SAMPLES: dict[str, list[dict[str, Any]]] = {
    path.stem: [each for each in YAML(typ="safe", pure=True).load_all(path) if each]
    for path in sorted(Path(__file__).with_name("objects").iterdir())
}
SAMPLES["manifests"] = [{**each, "metadata": METADATA} for each in MANIFESTS if each["kind"] in (
    "Deployment", "StatefulSet", "DaemonSet", "Pod", "CronJob", "VirtualMachine", "VirtualMachinePool", "Service",
      "PodDisruptionBudget",
    "NetworkPolicy", "Node", "Rollout", "PodTemplate",
)]  # fmt: skip
