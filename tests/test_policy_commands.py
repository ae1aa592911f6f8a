"""Policies on the command line: what `check`, `rule` and `config` print about them, in every format that shows rules."""

import json
from pathlib import Path

import pytest

from command_line import Afflint, Done, spawned

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: n1
  containers: [{name: web, image: nginx}]
"""
POLICIES = """\
policies:
- name: no-hosts
  severity: error
  check: no-pinning
  match: {kinds: [Pod]}
  message: "{object}: by name, but {message}"
- {name: weights, check: maximum-weight, params: {weight: 50}, mandatory: true}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / ".afflint.yaml").write_text(POLICIES)
    return tmp_path


class TestCheck:
    def test_findings(self, afflint: Afflint) -> None:
        done = afflint("check", "--format", "concise")
        assert (done.code, done.out) == (
            1,
            "pod.yaml:5:13: error Pod web: by name, but Pod web is assigned to the node `n1` by name [no-hosts]\n",
        )

    def test_json_has_the_category(self, afflint: Afflint) -> None:
        (found,) = json.loads(afflint("check", "--format", "json").out)["findings"]
        assert (found["rule"], found["category"], found["severity"]) == ("no-hosts", "policy", "error")

    def test_sarif_has_the_policy_among_the_rules(self, afflint: Afflint) -> None:
        (run,) = json.loads(afflint("check", "--format", "sarif").out)["runs"]
        assert [each["id"] for each in run["tool"]["driver"]["rules"]] == ["no-hosts"]

    @pytest.mark.parametrize("form", ["text", "html", "markdown", "gitlab", "junit", "github"])
    def test_every_other_format(self, afflint: Afflint, form: str) -> None:
        assert "no-hosts" in afflint("check", "--format", form).out

    @pytest.mark.parametrize(
        "arguments, code",
        [
            (("--select", "policy"), 1),
            (("--select", "no-hosts"), 1),
            (("--select", "weights"), 0),
            (("--select", "admission"), 0),
            (("--ignore", "no-hosts"), 0),
            (("--ignore", "policy"), 0),
            (("--ignore", "policy", "--extend-select", "no-hosts"), 1),
        ],
    )
    def test_they_are_selected_like_rules(self, afflint: Afflint, arguments: tuple[str, ...], code: int) -> None:
        assert afflint("check", *arguments).code == code

    def test_a_slip_is_distinguished_from_them(self, afflint: Afflint) -> None:
        done = afflint("check", "--ignore", "no-host")
        assert (done.code, done.err) == (2, "afflint: --ignore: unknown value 'no-host'; did you mean 'no-hosts'?\n")

    def test_a_selection_that_leaves_all_of_them_out_is_reported(self, afflint: Afflint, project: Path) -> None:
        (project / ".afflint.yaml").write_text(f"select: [admission]\n{POLICIES}")
        assert "no policy is selected: `select` replaces all rules that are on by default" in afflint("check").err
        (project / ".afflint.yaml").write_text(f"select: [admission]\nextend-select: [weights]\n{POLICIES}")
        assert "no policy" not in afflint("check").err

    def test_a_baseline(self, afflint: Afflint) -> None:
        assert afflint("check", "--write-baseline", "--baseline", "known.json").code == 0
        assert afflint("check", "--baseline", "known.json").code == 0

    def test_processes_and_what_is_kept_say_the_same(self, project: Path) -> None:
        for number in range(300):
            (project / f"pod{number}.yaml").write_text(POD.replace("web}", f"web-{number}}}", 1))
        runs: list[Done] = [spawned("check", "--format", "concise", "--jobs", jobs, "--cache-dir", "kept") for jobs in ("1", "2", "2")]
        assert len(runs[0].out.splitlines()) == 301
        assert runs[0] == runs[1] == runs[2]


class TestRule:
    def test_they_are_next_to_the_others(self, afflint: Afflint) -> None:
        table = afflint("rule").out
        assert "\npolicy\n  no-hosts" in table
        lines = [line.split() for line in table.splitlines() if line.startswith(("  no-hosts", "  weights"))]
        assert [line[:2] for line in lines] == [["no-hosts", "error"], ["weights", "warning"]]

    def test_a_category_of_its_own(self, afflint: Afflint) -> None:
        assert [line.split()[0] for line in afflint("rule", "policy").out.splitlines()] == ["policy", "no-hosts", "weights"]
        assert afflint("rule", "policy", "--no-config").out == "No policies are configured.\n"

    def test_the_page_of_one(self, afflint: Afflint) -> None:
        assert afflint("rule", "weights").out == (
            "weights  policy, warning, unsafe fix\n"
            "\n"
            "No preference may have a weight above this maximum.\n"
            "\n"
            "How to fix it\n"
            "\n"
            "Lower the weight.\n"
            "\n"
            "The policy\n"
            "\n"
            "\n"
            "    check: maximum-weight\n"
            "    params: {weight: 50}\n"
            "    mandatory: true\n"
        )

    def test_the_severity_is_the_one_that_holds(self, afflint: Afflint, project: Path) -> None:
        (project / ".afflint.yaml").write_text(f"severity: {{no-hosts: info, weights: error}}\n{POLICIES}")
        assert afflint("rule", "no-hosts").out.startswith("no-hosts  policy, info\n")
        assert afflint("rule", "weights").out.startswith("weights  policy, error, ")

    def test_a_check_is_not_a_rule(self, afflint: Afflint) -> None:
        done = afflint("rule", "required-spread")
        assert (done.code, done.out) == (2, "")
        assert "`required-spread` is a policy check, not a rule" in done.err
        assert "docs/policies.md" in done.err
        assert "`afflint rule policy`" in done.err

    def test_as_data(self, afflint: Afflint) -> None:
        described = json.loads(afflint("rule", "no-hosts", "--format", "json").out)
        assert (described["name"], described["category"], described["severity"], described["default"]) == (
            "no-hosts",
            "policy",
            "error",
            True,
        )

    def test_a_configuration_with_mistakes_does_not_prevent_the_report(self, afflint: Afflint, project: Path) -> None:
        (project / ".afflint.yaml").write_text("policies: [{name: a, check: b}]\n")
        done = afflint("rule")
        assert done.code == 0
        assert "empty-topology-key" in done.out
        assert "unknown check `b`" in done.err
        assert afflint("rule", "empty-topology-key").err == ""


def test_config_shows_each_with_its_origin(afflint: Afflint) -> None:
    rows = {line.split()[0]: line.split()[-1] for line in afflint("config").out.splitlines()}
    assert (rows["policies.no-hosts"], rows["policies.weights"]) == (".afflint.yaml:2:3", ".afflint.yaml:7:4")


@pytest.mark.parametrize(
    "text, shown", [("", "auto"), ("nodes: auto\n", "auto"), ("nodes: none\n", "[none]"), ("nodes: n.yaml\n", "[n.yaml]")]
)
def test_config_shows_where_nodes_come_from(afflint: Afflint, project: Path, text: str, shown: str) -> None:
    (project / ".afflint.yaml").write_text(text + POLICIES)
    assert {line.split()[0]: line.split()[1] for line in afflint("config").out.splitlines()}["nodes"] == shown


class TestWithoutNodes:
    """A policy about outcomes is not evaluated without nodes, and says so, also where the run before is found again."""

    @pytest.fixture(autouse=True)
    def outcome(self, project: Path) -> None:
        (project / ".afflint.yaml").write_text("policies:\n- {name: placed, check: fits}\n")

    def test_that_is_reported(self, afflint: Afflint) -> None:
        done = afflint("check", "--quiet")
        assert (done.code, done.err) == (0, "afflint: no nodes are known, so `placed` is not evaluated: name the nodes with --nodes\n")

    def test_each_time(self, afflint: Afflint, project: Path) -> None:
        for number in range(80):
            (project / f"pod{number}.yaml").write_text(POD.replace("web}", f"web-{number}}}", 1).replace("  nodeName: n1\n", ""))
        assert {afflint("check", "--quiet", "--cache-dir", "kept").err.count("is not evaluated") for _ in range(3)} == {1}

    def test_with_nodes_there_is_nothing_to_tell(self, afflint: Afflint, project: Path) -> None:
        (project / "nodes.yaml").write_text("nodes:\n- name: n1\n- name: n2\n")
        assert afflint("check", "--quiet", "--nodes", "nodes.yaml").err == ""
