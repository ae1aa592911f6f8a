"""The plugin NodeDeclaredFeatures: features of kubelets that a pod needs, from Kubernetes 1.36 on.

Semantics: pkg/scheduler/framework/plugins/nodedeclaredfeatures, and InferForScheduling of the features in
k8s.io/component-helpers/nodedeclaredfeatures. Those of features that are off by default are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.yaml.document import maps_at

NODE_DECLARED_FEATURES = "NodeDeclaredFeatures"
SINCE = (1, 36)
"""From this version on, the plugin is part of the default configuration."""
RESTARTS_ALL = "RestartAllContainersOnContainerExits"
_NOTHING = frozenset[str]()


def read_features(spec: Mapping[str, Any]) -> frozenset[str]:
    """Return the features that the node of a pod must declare."""
    for each in (*maps_at(spec, "initContainers"), *maps_at(spec, "containers")):
        if any(rule.get("action") == "RestartAllContainers" for rule in maps_at(each, "restartPolicyRules")):
            return frozenset((RESTARTS_ALL,))
    return _NOTHING
