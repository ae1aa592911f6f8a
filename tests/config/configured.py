"""Shared by the tests of the configuration: the rules it can name, the types of fixtures, a configuration with every key."""

from collections.abc import Callable
from pathlib import Path

from afflint.config import Config

RULES = ("empty-topology-key", "weight-out-of-range", "label-not-on-template", "no-single-target")
CATEGORIES = ("admission", "labels", "fleet", "policy")

Write = Callable[[str, str], Path]
Load = Callable[[str], Config]
Mistakes = Callable[[str], str]

EVERYTHING = """\
include: [deploy/**]
exclude: [vendor/, "!vendor/ours/"]
context: ["**/*.yaml"]
complete: true
nodes: nodes.yaml
select: [admission, labels]
ignore: [weight-out-of-range]
extend-select: [all]
severity:
  empty-topology-key: warning
per-file-ignores:
  "legacy/**": [labels]
kubernetes-version: "1.32"
kubevirt-version: "1.7"
admission-plugins: [LimitPodHardAntiAffinityTopology]
feature-gates: [TaintTolerationComparisonOperators]
workloads:
- apiVersion: argoproj.io/v1alpha1
  kind: Rollout
  template: spec.template
policies:
- name: zones
  check: allowed-topology-keys
  params: {keys: topology.kubernetes.io/zone}
  match: {kinds: [Deployment]}
  message: "zones alone: nothing else"
physical-host-key: example.com/host
storage:
  fast: {topology: zone, default: true}
baseline: known.json
fail-on: error
format: [sarif, text]
output: [reports/afflint.sarif, "-"]
jobs: 3
"""
