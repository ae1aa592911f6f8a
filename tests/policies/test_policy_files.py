"""Where policies are defined: in the configuration, in what it extends, in files that it names, and in the sets of afflint."""

from pathlib import Path
from textwrap import dedent

import pytest

from afflint import config, resources
from afflint.config import Config, ConfigError
from afflint.config.display import describe


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")


def load(text: str) -> Config:
    write(".afflint.yaml", text)
    return config.load(".afflint.yaml", rule_names=("pinned-node",), categories=("policy",))


def mistakes(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(text)
    return str(caught.value)


def checks(read: Config) -> dict[str, str]:
    return {policy.name: policy.check for policy in read.policies}


TEAM = """\
policies:
- {name: hosts, check: no-pinning}
- {name: weights, check: maximum-weight, params: {weight: 50}, mandatory: true}
"""


def test_policies_of_extended_files_are_added_to_one_by_one() -> None:
    write("team.yaml", TEAM)
    read = load(
        """
        extends: [team.yaml]
        policies:
        - {name: anti-affinity, check: no-hard-anti-affinity}
        - {name: weights, check: maximum-weight, params: {weight: 20}}
        """
    )
    assert checks(read) == {"hosts": "no-pinning", "weights": "maximum-weight", "anti-affinity": "no-hard-anti-affinity"}
    assert [(each.params, each.mandatory) for each in read.policies if each.name == "weights"] == [({"weight": 20}, False)]


def test_files_that_policies_names_are_next_to_them() -> None:
    write("policies/team.yaml", TEAM)
    read = load("policies:\n- policies/team.yaml\n- {name: own, check: no-pinning}\n")
    assert checks(read) == {"hosts": "no-pinning", "weights": "maximum-weight", "own": "no-pinning"}


def test_a_pattern_finds_the_files_of_teams() -> None:
    write("teams/a.yaml", TEAM)
    write("teams/b.yaml", "policies: [{name: no-hard, check: no-hard-anti-affinity}]\n")
    write("teams/notes.yaml", "owner: b\n")
    read = load("policies: ['teams/*.yaml']\n")
    assert checks(read) == {"hosts": "no-pinning", "weights": "maximum-weight", "no-hard": "no-hard-anti-affinity"}
    write("teams/b.yaml", "policies: [{name: no-hard, check: no-hard-antiaffinity}]\n")
    assert mistakes("policies: ['teams/*.yaml']\n") == (
        "teams/b.yaml:1:35: unknown check `no-hard-antiaffinity`; did you mean `no-hard-anti-affinity`?"
    )


def test_each_is_shown_with_where_it_is_set() -> None:
    write("policies/team.yaml", TEAM)
    read = load("policies:\n- policies/team.yaml\n- {name: own, check: no-pinning, severity: error}\n")
    assert [row for row in describe(read) if row[0].startswith("policies")] == [
        ("policies.hosts", "{check: no-pinning}", "policies/team.yaml:2:4"),
        ("policies.weights", "{check: maximum-weight, params: {weight: 50}, mandatory: true}", "policies/team.yaml:3:4"),
        ("policies.own", "{check: no-pinning, severity: error}", ".afflint.yaml:3:4"),
    ]


def test_a_file_of_policies_holds_nothing_else() -> None:
    write("team.yaml", f"ignore: [pinned-node]\n{TEAM}")
    assert mistakes("policies: [team.yaml]\n") == (
        ".afflint.yaml:1:12: `team.yaml` sets keys other than `policies`, such as `ignore`; use `extends` to apply all of them"
    )


def test_mistakes_are_shown_in_the_file_that_makes_them() -> None:
    write("team.yaml", "policies:\n- {name: hosts, check: no-pining}\n")
    assert mistakes("policies: [team.yaml]\n") == "team.yaml:2:24: unknown check `no-pining`; did you mean `no-pinning`?"
    assert mistakes("policies: [team.yml]\n") == ".afflint.yaml:1:12: `team.yml` cannot be read: No such file or directory"
    assert mistakes("policies: [.afflint.yaml]\n") == ".afflint.yaml:1:12: `.afflint.yaml` is this file itself"


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sets of policies that come with afflint."""
    for name in ("strict", "high-availability"):
        write(f"shipped/rules/profiles/{name}.yaml", f"policies:\n- {{name: of-{name}, check: no-pinning}}\n")
    monkeypatch.setattr(
        resources,
        "directory",
        lambda name, real=resources.directory: str(tmp_path / "shipped" / "rules") if name == "rules" else real(name),
    )


@pytest.mark.usefixtures("sets")
class TestSetsThatComeWithAfflint:
    def test_they_are_extended_by_name(self) -> None:
        read = load("extends: ['afflint:strict', 'afflint:high-availability']\n")
        assert checks(read) == {"of-strict": "no-pinning", "of-high-availability": "no-pinning"}
        assert str(read.origins["policies.of-strict"]) == "afflint:strict:2:4"
        assert read.extends == ("afflint:strict", "afflint:high-availability")

    def test_by_the_file_of_a_folder_below_too(self) -> None:
        write("team/base.yaml", "extends: 'afflint:strict'\n")
        assert checks(load("extends: team/base.yaml\n")) == {"of-strict": "no-pinning"}

    @pytest.mark.parametrize(
        "name, hint",
        [("strikt", "; did you mean `afflint:strict`?"), ("x", "; known profiles are `high-availability`, `strict`"), ("../strict", "")],
    )
    def test_one_that_is_not_there_is_refused(self, name: str, hint: str) -> None:
        assert mistakes(f"extends: 'afflint:{name}'\n").startswith(
            f".afflint.yaml:1:10: `afflint:{name}` is not a policy profile of afflint{hint}"
        )


MISTAKES = {
    "a check that is not there": (
        "{name: a, check: forbidden-labels}",
        "2:20: unknown check `forbidden-labels`; did you mean `forbidden-node-labels`?",
    ),
    "a key that is not there": (
        "{name: a, check: no-pinning, exclud: {}}",
        "2:32: unknown key `exclud` in `policies[0]`; did you mean `exclude`?",
    ),
    "a parameter that is not there": (
        "{name: a, check: maximum-weight, params: {weigth: 5, weight: 5}}",
        "2:45: unknown key `weigth` in `policies[0].params`; did you mean `weight`?",
    ),
    "a parameter that is missing": (
        "{name: a, check: maximum-weight, params: {}}",
        "2:44: missing key `weight` in `policies[0].params`",
    ),
    "no parameters": ("{name: a, check: maximum-weight}", "2:3: missing key `params` in `policies[0]`"),
    "a parameter of another type": (
        "{name: a, check: maximum-weight, params: {weight: heavy}}",
        "2:53: `policies[0].params.weight` must be a number from 1 to 100, not the string `heavy`",
    ),
    "a number out of range": (
        "{name: a, check: maximum-weight, params: {weight: 101}}",
        "2:53: `policies[0].params.weight` must be a number from 1 to 100, not the number `101`",
    ),
    "a condition that is not there": (
        "{name: a, check: no-pinning, match: {kind: Pod}}",
        "2:40: unknown key `kind` in `policies[0].match`; did you mean `kinds`?",
    ),
    "a kind that is a slip": (
        "{name: a, check: no-pinning, match: {kinds: [Pod, Deploymnet]}}",
        "2:53: unknown kind `Deploymnet`; did you mean `Deployment`?",
    ),
    "a kind in the plural": (
        "{name: a, check: no-pinning, exclude: {kinds: deployments}}",
        "2:49: unknown kind `deployments`; did you mean `Deployment`?",
    ),
    "a label key": (
        "{name: a, check: forbidden-node-labels, params: {labels: {-gpu: x}}}",
        "2:67: `-gpu` is not a valid label key",
    ),
    "a label value": (
        "{name: a, check: forbidden-node-labels, params: {labels: {gpu: [a, 'b c']}}}",
        "2:70: `b c` is not a valid label value",
    ),
    "a number for a label value": (
        "{name: a, check: forbidden-node-labels, params: {labels: {gpu: [1]}}}",
        "2:67: `policies[0].params.labels.gpu[0]` must be a label value in quotes, not the number `1`",
    ),
    "no label": (
        "{name: a, check: forbidden-node-labels, params: {labels: {}}}",
        "2:60: at least one label is required",
    ),
    "a selector": (
        "{name: a, check: no-pinning, match: {labels: {matchExpressions: [{key: a, operator: IsIn}]}}}",
        "2:87: this is not one of In, NotIn, Exists, DoesNotExist",
    ),
    "a selector in two ways": (
        "{name: a, check: no-pinning, match: {labels: {matchLabels: {a: b}, tier: db}}}",
        "2:76: `tier` must be below `matchLabels` in a selector that has `matchLabels` or `matchExpressions`",
    ),
    "a number in a selector": (
        "{name: a, check: no-pinning, match: {labels: {tier: 1}}}",
        "2:55: label values must be strings: put quotes around the value of `tier`",
    ),
    "a glob": ("{name: a, check: no-pinning, match: {names: ['a[']}}", "2:48: the glob `a[` cannot match anything"),
    "a word out of a few": (
        "{name: a, check: allowed-topology-keys, params: {keys: a, constraints: [hard-spred]}}",
        "2:75: unknown value `hard-spred`; did you mean `hard-spread`?",
    ),
    "a toleration": (
        "{name: a, check: allowed-tolerations, params: {tolerations: [{key: a, operator: Exists, value: b}]}}",
        "2:98: `value` must be empty if `operator` is `Exists`",
    ),
}


@pytest.mark.parametrize("policy, expected", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_shown_where_it_is(policy: str, expected: str) -> None:
    assert mistakes(f"policies:\n- {policy}\n") == f".afflint.yaml:{expected}"


def test_an_unknown_kind_may_be_a_kind_of_the_user() -> None:
    assert load("policies:\n- {name: a, check: no-pinning, match: {kinds: [Widget, 'Sand*', Cluster.postgresql.cnpg.io]}}\n").policies
