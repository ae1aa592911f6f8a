"""The sets of policies that come with afflint: each is a configuration that others extend, with a page whose examples hold."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from afflint import config as settings
from afflint.checks.registry import CATEGORIES, rules
from afflint.compliance.policy_tests import ExampleRunner, examples_in
from afflint.config import Config, ConfigError
from afflint.config.yaml import read_yaml
from afflint.policies.binding import page
from afflint.source.examples import Example, parse
from checkout import ROOT, clean_environment

PROFILES = ROOT / "rules" / "profiles"
NAMES = ("high-availability", "karpenter", "openshift-virtualization", "strict", "tkg-vsphere")
EXAMPLES = ROOT / "examples" / "policies"


def load(path: Path) -> Config:
    return settings.load(str(path), rule_names=tuple(rules()), categories=CATEGORIES)


def extending(folder: Path, name: str, more: str = "") -> Config:
    """A configuration that extends a set."""
    path = folder / ".afflint.yaml"
    path.write_text(f'extends: ["afflint:{name}"]\n{more}', encoding="utf-8")
    return load(path)


def judged(config: Config, page: Path) -> set[str]:
    """The policies that the examples of a page exercise. Fails where one does not give what it says."""
    judgement = ExampleRunner(config)
    exercised: set[str] = set()
    for example in examples_in([str(page)], {*rules(), *judgement.policies}):
        assert isinstance(example, Example)
        verdict = judgement.verdict(example)
        assert verdict.passed, (example, verdict.missing, [finding.message for finding in verdict.unexpected])
        exercised |= verdict.exercised
    return exercised


def test_each_set_has_a_page() -> None:
    assert sorted(each.name for each in PROFILES.iterdir()) == sorted(f"{name}.{end}" for name in NAMES for end in ("yaml", "md"))


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_its_page_exercise_all_of_it(tmp_path: Path, name: str) -> None:
    config = extending(tmp_path, name)
    assert judged(config, PROFILES / f"{name}.md") == {policy.name for policy in config.policies}


@pytest.mark.parametrize("name", NAMES)
def test_its_page_describes_each_policy(name: str) -> None:
    text = (PROFILES / f"{name}.md").read_text(encoding="utf-8")
    described = text.partition("## What it requires, and why")[2].partition("## How to extend it")[0]
    assert {policy.name for policy in load(PROFILES / f"{name}.yaml").policies} <= {*re.findall(r"`([a-z-]+)`", described)}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_extended_as_its_page_shows(tmp_path: Path, name: str) -> None:
    examples = parse("", (PROFILES / f"{name}.md").read_text(encoding="utf-8"))
    [shown] = [example.text for example in examples if example.info == "yaml"]
    (tmp_path / ".afflint.yaml").write_text(shown, encoding="utf-8")
    extended, own = load(tmp_path / ".afflint.yaml"), load(PROFILES / f"{name}.yaml")
    assert extended.extends == (f"afflint:{name}",)
    # What the page changes it changes: there is nothing in it that comes to the same without it.
    assert extended != own._replace(root=extended.root, origins=extended.origins, extends=extended.extends)
    assert {policy.name for policy in own.policies} <= {policy.name for policy in extended.policies}


def test_what_a_policy_of_the_same_name_says_holds(tmp_path: Path) -> None:
    own = 'policies: [{name: known-topology-keys, check: allowed-topology-keys, params: {keys: ["example.com/rack"]}}]\n'
    config = extending(tmp_path, "strict", own)
    [policy] = [policy for policy in config.policies if policy.name == "known-topology-keys"]
    assert policy.params == {"keys": ["example.com/rack"]}
    assert len(config.policies) == 4


def test_all_sets_go_together(tmp_path: Path) -> None:
    path = tmp_path / ".afflint.yaml"
    path.write_text(f"extends: {json.dumps([f'afflint:{name}' for name in NAMES])}\n", encoding="utf-8")
    config = load(path)
    assert len(config.policies) == 15
    assert config.physical_host_key == "node.cluster.x-k8s.io/esxi-host"
    ExampleRunner(config).verdict(Example("", 0, "yaml good", "kind: ConfigMap\n"))


def test_a_set_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="afflint:strict"):
        extending(tmp_path, "strickt")


# Policies after what organisations have published.


def test_published_policies_are_what_their_examples_say() -> None:
    config = load(EXAMPLES / ".afflint.yaml")
    assert judged(config, EXAMPLES) == {policy.name for policy in config.policies}


def test_each_published_policy_names_its_source_and_shows_both_sides() -> None:
    names = {policy.name for policy in load(EXAMPLES / ".afflint.yaml").policies}
    assert len(names) >= 10
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for name in names:
        text = (EXAMPLES / f"{name}.md").read_text(encoding="utf-8")
        assert re.search(r"^This follows .*\]\(https://[^)]+\)", text, re.MULTILINE | re.DOTALL), name
        assert {"yaml bad", "yaml good"} <= {example.info for example in parse(name, text)}
        assert f"({name}.md)" in listed
    assert {each.stem for each in EXAMPLES.glob("*.md")} == names | {"README"}


def test_pages_show_policies_as_a_configuration_says_them() -> None:
    for policy in load(EXAMPLES / ".afflint.yaml").policies:
        [shown] = re.findall(r"^```yaml policy\n(.*?)^```$", page(policy), re.MULTILINE | re.DOTALL)
        described = {key: value for key, value in policy._asdict().items() if value and key not in ("name", "severity")}
        assert read_yaml(shown).data == described


def test_a_machine_without_another_node_is_reported_once(tmp_path: Path) -> None:
    """The policy of the profile and the rule migration-blocked are about the same."""
    machine = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: erp}
spec:
  runStrategy: Always
  template:
    spec:
      evictionStrategy: LiveMigrate
      nodeSelector: {disk: fast}
      domain: {memory: {guest: 1Gi}, devices: {interfaces: [{name: default, masquerade: {}}]}}
      networks: [{name: default, pod: {}}]
"""
    (tmp_path / "vm.yaml").write_text(machine, encoding="utf-8")
    (tmp_path / "nodes.yaml").write_text("nodes: [{name: n1, labels: {disk: fast}}, {name: n2}]\n", encoding="utf-8")
    (tmp_path / ".afflint.yaml").write_text("extends: afflint:openshift-virtualization\n", encoding="utf-8")
    command = [sys.executable, "-m", "afflint", "check", "--no-cache", "--nodes", "nodes.yaml", "--format", "concise", "vm.yaml"]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, encoding="utf-8", check=False)
    assert done.stdout.count("no node to migrate to") == 1, done.stdout
    assert "[machines-have-another-node]" in done.stdout
