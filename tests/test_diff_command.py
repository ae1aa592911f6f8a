"""`afflint diff`: what a change does to findings and placement, from Git objects, in every format."""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from afflint.changes.placement import SEEN
from afflint.report.changes.markdown import MARKER
from checkout import ROOT
from command_line import Afflint
from git_history import History

NODES = """\
nodes:
  - {name: a1, labels: {topology.kubernetes.io/zone: a, disk: ssd}}
  - {name: a2, labels: {topology.kubernetes.io/zone: a}}
  - {name: b1, labels: {topology.kubernetes.io/zone: b}}
  - {name: b2, labels: {topology.kubernetes.io/zone: b}}
  - {name: c1, labels: {topology.kubernetes.io/zone: c}}
  - {name: c2, labels: {topology.kubernetes.io/zone: c}}
"""
SPREAD = """\
      topologySpreadConstraints:
        - topologyKey: topology.kubernetes.io/zone
          maxSkew: 1
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: NAME}}
"""


def deployment(name: str = "web", replicas: int = 3, constraints: str = SPREAD) -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
{constraints.replace("NAME", name)}\
      containers: [{{name: {name}, image: "nginx:1.27"}}]
"""


def validator() -> Draft202012Validator:
    """Checks JSON reports against the schema, in which findings are those of `check`."""
    of_diff, of_check = (json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")) for name in ("diff", "report"))
    registry: Registry[Any] = Registry().with_resource(of_check["$id"], Resource.from_contents(of_check))
    return Draft202012Validator(of_diff, registry=registry)


VALIDATOR = validator()
SELECTOR = "      nodeSelector: {disk: ssd}\n"
BROKEN = "      nodeSelector: {disk: 1}\n"


PREFERS_SSD = (
    "preferredDuringSchedulingIgnoredDuringExecution: "
    "[{weight: 9, preference: {matchExpressions: [{key: disk, operator: In, values: [ssd]}]}}]"
)


def affinity(parts: str) -> str:
    return f"      affinity: {{nodeAffinity: {{{parts}}}}}\n"


def requires(operator: str) -> str:
    terms = f"[{{matchExpressions: [{{key: disk, operator: {operator}}}]}}]"
    return f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {terms}}}"


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """A repository with nodes and a workload, in whose root the command runs."""
    history = History(tmp_path / "shop")
    history.commit({"nodes.yaml": NODES, "web.yaml": deployment()})
    monkeypatch.chdir(history.root)
    return history


def report(afflint: Afflint, *words: str) -> dict[str, Any]:
    """Runs `afflint diff` and gives its JSON report."""
    done = afflint("diff", "--format", "json", "--exit-zero", *words)
    assert done.err == "", done.err
    result: dict[str, Any] = json.loads(done.out)
    VALIDATOR.validate(result)
    return result


def changes(data: dict[str, Any]) -> dict[str, list[str]]:
    return {each["workload"]: each["changes"] for each in data["placement"]}


# What is compared.


@pytest.mark.usefixtures("history")
def test_nothing_has_changed(afflint: Afflint) -> None:
    done = afflint("diff")
    assert done.code == 0
    assert "Placement unchanged (6 nodes of nodes.yaml)" in done.out
    assert "No new findings, and none is fixed." in done.out


@pytest.mark.parametrize("seed", range(4))
def test_another_order_of_documents_changes_nothing(history: History, afflint: Afflint, seed: int) -> None:
    documents = [deployment("web"), deployment("api", constraints=BROKEN), deployment("db", 1, SELECTOR), deployment("job", 2)]
    history.commit({"web.yaml": "---\n".join(documents)})
    Random(seed).shuffle(documents)
    history.write({"web.yaml": "---\n".join(documents[:2]), "more.yaml": "---\n".join(documents[2:])})
    data = report(afflint)
    assert (data["new"], data["fixed"], data["placement"]) == ([], [], [])


def test_the_json_report_has_its_keys(history: History, afflint: Afflint) -> None:
    base = history.git("rev-parse", "HEAD")
    history.write({"web.yaml": deployment(constraints=SELECTOR)})
    data = report(afflint)
    assert list(data)[:6] == ["version", "base", "head", "new", "fixed", "moved"]
    assert (data["version"], data["base"], data["head"]) == (1, base[:10], "work tree")
    (change,) = data["placement"]
    assert list(change)[:4] == ["workload", "before", "after", "changes"]
    assert change["before"]["zones"] == ["a", "b", "c"]
    assert change["after"]["zones"] == ["a"]
    assert data["summary"]["placement_worse"] == 1


def test_findings_that_are_new_and_fixed(history: History, afflint: Afflint) -> None:
    history.commit({"old.yaml": deployment("old", constraints=BROKEN)})
    history.git("checkout", "--quiet", "-b", "feature")
    history.commit({"old.yaml": deployment("old"), "new.yaml": deployment("new", constraints=BROKEN)})
    data = report(afflint)
    assert [(each["rule"], each["file"]) for each in data["new"] if each["category"] == "admission"] == [("wrong-type", "new.yaml")]
    assert [(each["rule"], each["file"]) for each in data["fixed"] if each["category"] == "admission"] == [("wrong-type", "old.yaml")]


def test_two_commits_and_a_path_whatever_the_work_tree_has(history: History, afflint: Afflint) -> None:
    first = history.git("rev-parse", "HEAD")
    second = history.commit({"apps/api.yaml": deployment("api", constraints=BROKEN), "other.yaml": deployment("other", constraints=BROKEN)})
    history.write({"apps/api.yaml": "", "web.yaml": None})
    data = report(afflint, f"{first}..{second}", "apps")
    assert [each["file"] for each in data["new"]] == ["apps/api.yaml"]
    assert data["head"] == second[:10]
    assert history.git("status", "--porcelain") == "M apps/api.yaml\n D web.yaml"


def test_files_are_named_as_in_the_working_directory(history: History, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
    history.write({"apps/api.yaml": deployment("api", constraints=BROKEN)})
    monkeypatch.chdir(history.root / "apps")
    assert [each["file"] for each in report(afflint)["new"]] == ["api.yaml"]
    assert Path.cwd() == history.root / "apps"


def test_the_base_is_read_as_a_checkout_would_be(history: History, afflint: Afflint, tmp_path: Path) -> None:
    """With .gitignore, links, a file that is not UTF-8, CRLF, a kustomization and its patch, a chart and a file name with odd bytes."""
    files: dict[str, str | bytes] = {
        ".gitignore": "/ignored.yaml\n",
        "latin.yaml": b"a: \xfc\n",
        "crlf.yaml": deployment("crlf", constraints=BROKEN).replace("\n", "\r\n"),
        "kustomization.yaml": "resources: [web.yaml]\npatches: [{path: patch.yaml}]\n",
        "patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {replicas: 1}\n",
        "chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "chart/values.yaml": "nodeSelector: {disk: 1}\n",
        "chart/templates/a.yaml": "kind: {{ .Values.kind }}\n",
        "with space and ü.yaml": deployment("space", constraints=BROKEN),
    }
    (history.root / "linked.yaml").symlink_to("crlf.yaml")
    (history.root / "outside.yaml").symlink_to("/etc/hostname")
    commit = history.commit(files)
    checkout = tmp_path / "checkout"
    history.git("worktree", "add", "--quiet", "--detach", str(checkout), commit)
    for name in [*files, "linked.yaml", "outside.yaml", "web.yaml", "nodes.yaml"]:
        (history.root / name).unlink()
    fixed = report(afflint, commit)["fixed"]
    os.chdir(checkout)
    checked = json.loads(afflint("check", "--format", "json", "--exit-zero").out)["findings"]
    assert [(each["file"], each["rule"], each["line"], each["message"]) for each in fixed] == [
        (each["file"], each["rule"], each["line"], each["message"]) for each in checked
    ]
    assert {"crlf.yaml", "with space and ü.yaml"} <= {each["file"] for each in fixed}


@pytest.mark.skipif(os.name == "nt", reason="names are not bytes")
def test_a_name_that_is_not_utf_8(history: History, afflint: Afflint) -> None:
    name = os.fsdecode(b"\xff.yaml")
    commit = history.commit({name: deployment("odd", constraints=BROKEN)})
    (history.root / name).unlink()
    assert [each["rule"] for each in report(afflint, commit)["fixed"] if each["category"] == "admission"] == ["wrong-type"]


def test_a_renamed_file_moves_its_findings(history: History, afflint: Afflint) -> None:
    text = deployment("api", constraints=BROKEN)
    history.commit({"api.yaml": text})
    history.write({"api.yaml": None, "apps/api.yaml": text})
    data = report(afflint)
    assert (data["new"], data["fixed"], data["placement"]) == ([], [], [])
    assert [(each["from"], each["finding"]["file"]) for each in data["moved"]] == [("api.yaml", "apps/api.yaml")] * len(data["moved"])
    assert data["moved"]


def test_a_suppressed_finding_is_not_called_fixed(history: History, afflint: Afflint) -> None:
    text = deployment("api", constraints=BROKEN)
    history.commit({"api.yaml": text})
    history.write({"api.yaml": text.replace("disk: 1}", "disk: 1} # afflint: ignore[wrong-type] -- later")})
    data = report(afflint)
    assert [each["rule"] for each in data["suppressed"]] == ["wrong-type"]
    assert "wrong-type" not in [each["rule"] for each in data["fixed"]]


def test_submodules_and_files_of_git_lfs_are_left_out_and_named(history: History, afflint: Afflint, tmp_path: Path) -> None:
    other = History(tmp_path / "other")
    inner = other.commit({"a.yaml": deployment("inner", constraints=BROKEN)})
    history.write({"large.yaml": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"})
    history.git("add", "--all")
    history.git("update-index", "--add", "--cacheinfo", f"160000,{inner},vendor")
    history.git("commit", "--quiet", "--message", "submodule")
    history.write({"large.yaml": deployment("large", constraints=BROKEN), "vendor/a.yaml": deployment("inner", constraints=BROKEN)})
    data = report(afflint)
    assert not data["new"]
    assert any("`large.yaml`, `vendor`" in note for note in data["summary"]["notes"])


class TestConfiguration:
    """A change of the configuration is part of the change: each state is checked with its own."""

    @pytest.fixture
    def lax(self, history: History) -> History:
        """A commit with a mistake that its configuration ignores."""
        history.commit({"api.yaml": deployment("api", constraints=BROKEN), ".afflint.yaml": "ignore: [all]\n"})
        return history

    def test_a_rule_that_the_change_turns_on_has_new_findings(self, lax: History, afflint: Afflint) -> None:
        lax.write({".afflint.yaml": "ignore: [affinity]\n"})
        data = report(afflint)
        assert "wrong-type" in [each["rule"] for each in data["new"]]
        assert not any("configuration" in note for note in data["summary"]["notes"])

    def test_a_rule_that_the_change_turns_off_has_none_left(self, lax: History, afflint: Afflint) -> None:
        lax.write({".afflint.yaml": "ignore: [affinity]\n"})
        head = lax.commit()
        data = report(afflint, f"{head}..{head}~")
        assert "wrong-type" in [each["rule"] for each in data["fixed"]]
        assert not data["new"]

    def test_the_work_tree_makes_no_difference_to_two_commits(self, lax: History, afflint: Afflint) -> None:
        head = lax.commit({".afflint.yaml": None, "web.yaml": deployment("web", replicas=4)})
        lax.write({".afflint.yaml": "ignore: [affinity]\n"})
        data = report(afflint, f"{head}~..{head}")
        assert "wrong-type" in [each["rule"] for each in data["new"]], "the defaults apply to a commit without a configuration"

    def test_files_that_it_extends_and_policies_are_those_of_the_commit(self, history: History, afflint: Afflint) -> None:
        policy = "policies: [{name: on-disks, check: required-node-labels, params: {labels: {disk: VALUE}}}]\n"
        base = {
            ".afflint.yaml": "extends: shared/afflint.toml\npolicies: [policies/*.yaml]\n",
            "shared/afflint.toml": '[tool.afflint]\nignore = ["all"]\n',
            "policies/one.yaml": policy.replace("VALUE", "ssd"),
            "apps/api.yaml": deployment("api", constraints=SELECTOR),
        }
        history.commit(base)
        strict = {"shared/afflint.toml": '[tool.afflint]\nselect = ["policy"]\n', "policies/one.yaml": policy.replace("VALUE", "hdd")}
        head = history.commit(strict)
        history.write({"shared/afflint.toml": None, ".afflint.yaml": None})
        assert [each["rule"] for each in report(afflint, f"{head}~..{head}", "apps")["new"]] == ["on-disks"]

    def test_nodes_that_it_names_are_those_of_the_commit_or_were_never_committed(self, history: History, afflint: Afflint) -> None:
        history.commit({"nodes.yaml": None, ".afflint.yaml": "nodes: dumps/nodes.yaml\n", ".gitignore": "dumps\n"})
        history.write({"dumps/nodes.yaml": NODES, "web.yaml": deployment(constraints=SELECTOR)})
        assert changes(report(afflint))["Deployment shop/web"][0] == "zones: 3 → 1 (a)"

    def test_a_file_outside_the_repository_is_not_read(self, history: History, afflint: Afflint, tmp_path: Path) -> None:
        (tmp_path / "secret.yaml").write_text(NODES, encoding="utf-8")
        head = history.commit({"nodes.yaml": None, ".afflint.yaml": "nodes: ../secret.yaml\n"})
        history.commit({".afflint.yaml": None})
        done = afflint("diff", f"{head}..HEAD")
        assert done.code == 2
        assert "only a configuration named with --config may use it" in done.err

    def test_a_configuration_that_cannot_be_used_does_not_stop_the_comparison(self, history: History, afflint: Afflint) -> None:
        history.commit({".afflint.yaml": "ignore: [no-such-rule]\n"})
        base = history.git("rev-parse", "--short=10", "HEAD")
        history.write({".afflint.yaml": "ignore: [affinity]\n", "api.yaml": deployment("api", constraints=BROKEN)})
        data = report(afflint)
        assert "wrong-type" in [each["rule"] for each in data["new"]]
        expected = f"the configuration of {base} cannot be used, so that of the work tree is used instead: .afflint.yaml:1:"
        assert any(note.startswith(expected) for note in data["summary"]["notes"])

    def test_a_configuration_above_the_repository_applies_to_both(self, history: History, afflint: Afflint, tmp_path: Path) -> None:
        (tmp_path / ".afflint.yaml").write_text("ignore: [all]\n", encoding="utf-8")
        history.write({"api.yaml": deployment("api", constraints=BROKEN)})
        assert not report(afflint)["new"]

    def test_one_that_the_user_names_applies_to_both(self, lax: History, afflint: Afflint) -> None:
        lax.write({".afflint.yaml": "ignore: [affinity]\n", "web.yaml": deployment(replicas=4)})
        data = report(afflint, "--config", ".afflint.yaml")
        assert "wrong-type" not in [each["rule"] for each in data["new"]]
        assert any("`.afflint.yaml` has changed" in note for note in data["summary"]["notes"])

    def test_since_uses_that_of_the_commit(self, lax: History, afflint: Afflint) -> None:
        lax.write({".afflint.yaml": "select: [admission]\n"})
        assert afflint("check", "--since", "HEAD", "--format", "concise").rules == ["wrong-type"]


def test_a_baseline_leaves_out_known_findings(history: History, afflint: Afflint) -> None:
    history.write({"api.yaml": deployment("api", constraints=BROKEN)})
    assert report(afflint)["new"]
    afflint("check", "--write-baseline")
    assert not report(afflint, "--baseline", ".afflint-baseline.json")["new"]


# Exit codes and errors.


def test_the_exit_code(history: History, afflint: Afflint) -> None:
    history.write({"api.yaml": deployment("api", constraints=BROKEN)})
    assert afflint("diff", "--no-placement").code == 1
    assert afflint("diff", "--no-placement", "--exit-zero").code == 0
    history.write({"api.yaml": None, "web.yaml": deployment(constraints=SPREAD + SELECTOR)})
    assert afflint("diff", "--ignore", "all").code == 1
    assert afflint("diff", "--ignore", "all", "--fail-on", "error").code == 0, "placement that got worse counts as a warning"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mian"], "Git does not know a commit `mian`; did you mean 'main'?"),
        (["main..x"], "Git does not know a commit `x`"),
        (["main", "nothing"], "no such file or folder: 'nothing'"),
        (["main", "-"], "standard input (`-`) cannot be compared with a commit"),
        (["main", "/"], "is not in the repository"),
        (["--format", "txt"], "did you mean 'text'?"),
    ],
)
@pytest.mark.usefixtures("history")
def test_wrong_usage_is_one_line(afflint: Afflint, words: list[str], message: str) -> None:
    done = afflint("diff", *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_name_that_is_a_ref_and_a_file(history: History, afflint: Afflint) -> None:
    history.write({"main": "a: 1\n"})
    assert "'main' is a ref and a file: write `./main`" in afflint("diff", "main").err
    assert afflint("diff", "./main").code == 0
    assert afflint("diff", "main..").code == 0


def test_outside_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, afflint: Afflint) -> None:
    monkeypatch.chdir(tmp_path)
    done = afflint("diff")
    assert (done.code, done.err) == (2, "afflint: not in a Git repository: this folder and those above it have no `.git`\n")


# `check --since`.


class TestSince:
    """`check --since REF` reports what is new, in every format, and exits by `--fail-on`."""

    @pytest.fixture
    def feature(self, history: History) -> History:
        """A branch with a known finding, a new one, and one on main that the branch does not have."""
        history.commit({"old.yaml": deployment("old", constraints=BROKEN)})
        history.git("checkout", "--quiet", "-b", "feature")
        history.commit({"new.yaml": deployment("new", constraints=BROKEN)})
        return history

    @pytest.mark.usefixtures("feature")
    def test_only_new_findings_are_reported(self, afflint: Afflint) -> None:
        done = afflint("check", "--since", "main", "--select", "admission", "--format", "concise")
        assert done.code == 1
        assert done.rules == ["wrong-type"]
        assert done.out.startswith("new.yaml:")
        found = json.loads(afflint("check", "--since", "main", "--select", "admission", "--format", "json").out)
        assert [each["file"] for each in found["findings"]] == ["new.yaml"]
        assert (found["summary"]["errors"], found["summary"]["suppressed"]) == (1, 1)

    def test_without_new_findings_it_exits_with_0(self, feature: History, afflint: Afflint) -> None:
        feature.write({"new.yaml": deployment("new", constraints="")})
        assert afflint("check", "--select", "admission").code == 1
        assert afflint("check", "--since", "main", "--select", "admission").code == 0

    def test_what_main_has_fixed_since_is_not_new(self, feature: History, afflint: Afflint) -> None:
        feature.git("checkout", "--quiet", "main")
        feature.commit({"old.yaml": deployment("old", constraints="")})
        feature.git("checkout", "--quiet", "feature")
        done = afflint("check", "--since", "main", "--select", "admission", "--format", "concise")
        assert [line.partition(":")[0] for line in done.out.splitlines() if "wrong-type" in line] == ["new.yaml"]

    def test_a_finding_in_an_edited_file_is_known(self, feature: History, afflint: Afflint) -> None:
        feature.write({"new.yaml": None, "old.yaml": "# A comment.\n" + deployment("old", replicas=1, constraints=BROKEN)})
        assert afflint("check", "--since", "main", "--select", "admission").code == 0

    @pytest.mark.usefixtures("feature")
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--since", "mian"], "did you mean 'main'?"),
            (["--since", "main..feature"], "--since takes one ref, not 'main..feature'; `afflint diff` compares two commits"),
            (["--since", "main", "--fix"], "--since cannot be used with --fix"),
            (["--since", "main", "--write-baseline"], "--since cannot be used with --write-baseline"),
            (["--since", "main", "-"], "standard input (`-`) cannot be compared with a commit"),
        ],
    )
    def test_wrong_usage(self, afflint: Afflint, words: list[str], message: str) -> None:
        done = afflint("check", *words)
        assert (done.code, done.out) == (2, "")
        assert message in done.err


# Formats.


def test_markdown_begins_with_the_marker_and_escapes_what_manifests_say(history: History, afflint: Afflint) -> None:
    history.write({"web.yaml": deployment(constraints=SELECTOR), "evil.yaml": deployment('"a|b</details>@all"', constraints=BROKEN)})
    text = afflint("diff", "--format", "markdown").out
    assert text.startswith(f"{MARKER}\n### afflint: placement gets worse for 2 workloads; ")
    assert "zones: 3 → 1" in text
    assert "</details>@all" not in text


def test_a_comment_has_a_limit(history: History, afflint: Afflint) -> None:
    history.write({"many.yaml": "---\n".join(deployment(f"web-{number}", constraints=BROKEN) for number in range(400))})
    text = afflint("diff", "--format", "markdown").out
    assert len(text.encode()) <= 65_536
    assert text.count("<details>") == text.count("</details>")
    assert "The report is longer than a comment can be" in text


def test_several_reports_of_one_run(history: History, afflint: Afflint) -> None:
    history.write({"web.yaml": deployment(constraints=SELECTOR)})
    done = afflint(
        "diff", "--format", "text", "--output", "-", "--format", "json", "--output", "d.json", "--format", "html", "--output", "d.html"
    )
    assert "zones: 3 → 1 (a)" in done.out
    assert json.loads((history.root / "d.json").read_text(encoding="utf-8"))["version"] == 1
    page = (history.root / "d.html").read_text(encoding="utf-8")
    assert "Before and after" in page
    assert page.count('<span class="name">a1</span>') == 2
    assert "<td>fewer replicas</td><td>down</td>" in page


# Placement. The words are those for a reviewer.


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(
            deployment(constraints=""),
            deployment(constraints=SELECTOR),
            [
                "zones: 3 → 1 (a)",
                "nodes that it can use: 6 → 1",
                f"no longer survives the failure of zone a: it is down{SEEN}",
                f"no longer survives the failure of node a1: it is down{SEEN}",
            ],
            id="a node selector",
        ),
        pytest.param(
            deployment(),
            deployment(constraints=""),
            [
                "its replicas are no longer required to be in different zones: all of them may be in one",
                f"survives the failure of any zone (before, it has fewer replicas after that of zone a, b or 1 more){SEEN}",
            ],
            id="no spread any more",
        ),
        pytest.param(
            deployment(constraints=""),
            deployment(constraints=SPREAD),
            [
                "one zone may have at most 1 replica more than another",
                f"no longer survives the failure of zone a, b or 1 more: it has fewer replicas{SEEN}",
            ],
            id="a spread",
        ),
        pytest.param(deployment(), deployment(replicas=5), ["replicas: 3 → 5"], id="more replicas"),
        pytest.param(
            deployment(constraints=""),
            deployment(constraints="      nodeSelector: {disk: none}\n"),
            ["0 of 3 replicas can be scheduled: 6 nodes lack disk=none"],
            id="unschedulable",
        ),
        pytest.param(
            deployment(constraints=affinity(PREFERS_SSD)),
            deployment(constraints=affinity(f"{PREFERS_SSD}, {requires('DoesNotExist')}")),
            [
                "nodes that it can use: 6 → 5",
                f"survives the failure of any zone (before, it is interrupted after that of a zone){SEEN}",
                f"survives the failure of any node (before, it is interrupted after that of a node){SEEN}",
                "the preference for nodes with disk=ssd (weight 9) no longer counts: its pods cannot use such a node",
            ],
            id="a preference that stopped counting",
        ),
        pytest.param(
            deployment(constraints="      nodeSelector: {disk: ssd}\n"),
            deployment(constraints=affinity(requires("In, values: [ssd]"))),
            None,
            id="the same constraint in other words",
        ),
        pytest.param(
            deployment(constraints=""),
            deployment(constraints="      tolerations: [{key: gpu, operator: Exists}]\n"),
            None,
            id="a toleration of no taint",
        ),
    ],
)
def test_what_a_change_does_to_a_workload(history: History, afflint: Afflint, before: str, after: str, expected: list[str] | None) -> None:
    history.commit({"web.yaml": before})
    history.write({"web.yaml": after})
    assert changes(report(afflint)) == ({"Deployment shop/web": expected} if expected else {})


def test_the_other_way_round_everything_gets_better(history: History, afflint: Afflint) -> None:
    history.commit({"web.yaml": deployment(constraints=SELECTOR)})
    history.write({"web.yaml": deployment(constraints="")})
    (change,) = report(afflint)["placement"]
    assert change["direction"] == "better"
    assert change["changes"] == [
        "zones: 1 → 3 (a, b and c)",
        "nodes that it can use: 1 → 6",
        f"survives the failure of any zone (before, it is down after that of zone a){SEEN}",
        f"survives the failure of any node (before, it is down after that of node a1){SEEN}",
    ]


def test_a_budget_that_blocks_drains(history: History, afflint: Afflint) -> None:
    head = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\n"
    budget = head + "spec: {maxUnavailable: %d, selector: {matchLabels: {app: web}}}\n"
    history.commit({"pdb.yaml": budget % 1})
    history.write({"pdb.yaml": budget % 0})
    (text,) = changes(report(afflint))["Deployment shop/web"]
    why = "PodDisruptionBudget web (maxUnavailable 0) requires 3 of 3 pods"
    assert text.startswith(f"drains of a node with its pods no longer complete: {why}")
    history.commit()
    history.write({"pdb.yaml": budget % 1})
    assert changes(report(afflint, "HEAD"))["Deployment shop/web"] == ["no longer blocks drains"]


def test_new_and_removed_workloads(history: History, afflint: Afflint) -> None:
    history.commit({"old.yaml": deployment("old")})
    history.write({"old.yaml": None, "new.yaml": deployment("new", constraints=SPREAD + "      nodeSelector: {disk: none}\n")})
    data = report(afflint)
    assert changes(data) == {
        "Deployment shop/new": ["new workload with 3 replicas", "0 of 3 replicas can be scheduled: 6 nodes lack disk=none"],
        "Deployment shop/old": ["removed"],
    }
    assert [(each["before"] is None, each["after"] is None) for each in data["placement"]] == [(True, False), (False, True)]


@pytest.mark.parametrize("words", [[], ["--ignore", "all"]])
def test_what_the_api_server_rejects_is_not_placed_whatever_is_reported(history: History, afflint: Afflint, words: list[str]) -> None:
    history.write({"web.yaml": deployment(constraints=BROKEN)})
    (text,) = changes(report(afflint, *words))["Deployment shop/web"]
    assert text.startswith("the API server would reject it: ")
    history.commit()
    history.write({"web.yaml": deployment()})
    assert changes(report(afflint, *words)) == {"Deployment shop/web": ["the API server accepts it, which it did not before"]}


@pytest.mark.parametrize("name", ["aaa", "zzz"])
def test_another_workload_changes_nothing_for_the_others(history: History, afflint: Afflint, name: str) -> None:
    """Though it moves their replicas to other nodes in the example schedule."""
    for each in ("b", "c", "d"):
        history.write({f"{each}.yaml": deployment(each, replicas=2, constraints="")})
    history.commit()
    history.write({f"{name}.yaml": deployment(name, replicas=1, constraints="")})
    assert list(changes(report(afflint))) == [f"Deployment shop/{name}"]


def test_the_order_of_manifests_and_the_names_of_files_change_nothing(history: History, afflint: Afflint) -> None:
    texts = [deployment(each, replicas=4, constraints="") for each in "abcdef"]
    history.commit({"all.yaml": "---\n".join(texts)})
    history.write({"all.yaml": "---\n".join(reversed(texts))})
    assert report(afflint)["placement"] == []
    history.write({"all.yaml": None, "z.yaml": "---\n".join(texts[::2]), "0/y.yaml": "---\n".join(texts[1::2])})
    data = report(afflint)
    assert data["placement"] == []
    assert data["summary"]["workloads"] == 7


def test_what_depends_on_the_order_is_not_named(history: History, afflint: Afflint) -> None:
    """Two replicas must be in one zone. Which zone depends on the order of scheduling; that its failure takes both down does not."""
    near = (
        "      affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "[{labelSelector: {matchLabels: {app: NAME}}, topologyKey: topology.kubernetes.io/zone}]}}\n"
    )
    history.commit({"api.yaml": deployment("api", replicas=1, constraints=""), "web.yaml": deployment(replicas=2, constraints="")})
    history.write({"web.yaml": deployment(replicas=2, constraints=near)})
    assert changes(report(afflint))["Deployment shop/web"] == [
        "now must share a zone with pods app=web",
        f"no longer survives the failure of a zone: it is down{SEEN}",
    ]


@pytest.mark.parametrize("zones", [["a"], ["a", "a"], ["a", "b"]])
def test_the_failure_of_the_only_zone_or_node_takes_a_workload_down(history: History, afflint: Afflint, zones: list[str]) -> None:
    listed = [f"{{name: n{number}, labels: {{topology.kubernetes.io/zone: {zone}}}}}" for number, zone in enumerate(zones)]
    nodes = f"nodes: [{', '.join(listed)}]\n"
    history.commit({"nodes.yaml": nodes, "web.yaml": deployment(replicas=2, constraints="")})
    history.write({"web.yaml": deployment(replicas=3, constraints="")})
    (after,) = [each["after"] for each in report(afflint)["placement"]]
    dead = ("dead", "survives")
    assert after["zone_failure"] == dead[len(set(zones)) > 1]
    assert after["node_failure"] == dead[len(zones) > 1]


def test_which_workload_lacks_room_is_not_certain(history: History, afflint: Afflint) -> None:
    """Four replicas for three nodes: which one stays Pending depends on the order of scheduling, so no workload is named for certain."""
    apart = (
        "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "[{labelSelector: {matchLabels: {app: NAME}}, topologyKey: topology.kubernetes.io/zone}]}}\n"
    )
    history.commit({"web.yaml": deployment(replicas=3, constraints=apart)})
    history.write({"web.yaml": deployment(replicas=4, constraints=apart)})
    assert changes(report(afflint))["Deployment shop/web"][0].startswith("3 of 4 replicas can be scheduled: ")


def test_without_nodes_the_manifests_show_what_they_can(history: History, afflint: Afflint) -> None:
    history.commit({"nodes.yaml": None, "web.yaml": deployment(constraints=SPREAD + "      tolerations: [{key: gpu, operator: Exists}]\n")})
    history.write({"web.yaml": deployment(replicas=2, constraints=SELECTOR)})
    data = report(afflint)
    assert changes(data)["Deployment shop/web"] == [
        "replicas: 3 → 2",
        "can use fewer nodes: requires disk=ssd (before: any node)",
        "no longer tolerates gpu",
        "its replicas are no longer required to be in different zones: all of them may be in one",
    ]
    assert data["summary"]["placement_basis"] == "no nodes are known: only what the manifests show"


def test_nodes_that_were_never_committed_count_for_both_sides(history: History, afflint: Afflint) -> None:
    history.commit({"nodes.yaml": None, "web.yaml": deployment(constraints="")})
    history.write({"nodes.yaml": NODES, "web.yaml": deployment(constraints=SELECTOR)})
    data = report(afflint)
    assert changes(data)["Deployment shop/web"][0] == "zones: 3 → 1 (a)"
    assert any("has no nodes, so its workloads run on those of work tree" in note for note in data["summary"]["notes"])


def test_nodes_in_a_file_that_git_does_not_have(history: History, afflint: Afflint, tmp_path: Path) -> None:
    history.commit({"nodes.yaml": None, "web.yaml": deployment(constraints="")})
    (tmp_path / "dump.yaml").write_text(NODES, encoding="utf-8")
    history.write({"web.yaml": deployment(constraints=SELECTOR)})
    assert changes(report(afflint, "--nodes", "../dump.yaml"))["Deployment shop/web"][0] == "zones: 3 → 1 (a)"


def test_a_node_that_is_gone_changes_the_placement(history: History, afflint: Afflint) -> None:
    history.commit({"web.yaml": deployment(constraints=SELECTOR)})
    history.write({"nodes.yaml": NODES.replace(", disk: ssd", "")})
    assert changes(report(afflint, "--nodes", "nodes.yaml"))["Deployment shop/web"] == [
        "0 of 3 replicas can be scheduled: 6 nodes lack disk=ssd"
    ]


# `check --index`.


class TestIndex:
    """`check --index` reads the files that the next commit will contain, whatever the work tree has."""

    @pytest.fixture
    def staged(self, history: History) -> History:
        """A mistake that is staged and fixed in the work tree only, and another in an untracked file."""
        history.write({"web.yaml": deployment("web", constraints=BROKEN)})
        history.git("add", "web.yaml")
        history.write({"web.yaml": deployment("web"), "untracked.yaml": deployment("untracked", constraints=BROKEN)})
        return history

    @pytest.mark.usefixtures("staged")
    def test_staged_files_are_checked(self, afflint: Afflint) -> None:
        done = afflint("check", "--index", "--select", "admission", "--format", "concise")
        assert done.code == 1
        assert done.rules == ["wrong-type"]
        assert done.out.startswith("web.yaml:")

    @pytest.mark.usefixtures("staged")
    def test_the_text_report_has_the_lines_of_the_index(self, afflint: Afflint) -> None:
        out = afflint("check", "--index", "--select", "admission").out
        assert "untracked" not in out
        assert "nodeSelector: {disk: 1}" in out, "a line that the work tree no longer has"

    @pytest.mark.usefixtures("staged")
    def test_in_a_folder_names_are_relative_to_it(self, staged: History, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        staged.write({"deploy/api.yaml": deployment("api", constraints=BROKEN)})
        staged.git("add", "deploy")
        monkeypatch.chdir(staged.root / "deploy")
        assert afflint("check", "--index", "--show-files").out == "api.yaml\n"
        assert afflint("check", "--index", "--select", "admission", "--format", "concise").out.startswith("api.yaml:")

    def test_definitions_are_read_where_they_are_named(self, staged: History, afflint: Afflint) -> None:
        staged.write({"definitions/crd.yaml": "a: 1\n"})
        assert afflint("check", "--index", "--crds", "definitions", "--select", "admission", "--format", "concise").code == 1

    def test_a_configuration_that_is_not_staged_is_reported(self, staged: History, afflint: Afflint) -> None:
        staged.write({".afflint.yaml": "ignore: [all]\n"})
        note = "afflint: `.afflint.yaml` is not staged as it is in the work tree; the configuration of the work tree is used\n"
        done = afflint("check", "--index", "--format", "concise")
        assert (done.code, done.out) == (0, "")
        assert note in done.err
        staged.git("add", ".afflint.yaml")
        assert note not in afflint("check", "--index", "--format", "concise").err

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--since", "main"], "--index cannot be used with --since"),
            (["--fix"], "--index cannot be used with --fix"),
            (["--watch"], "--watch cannot be used with --index"),
            (["-"], "--index cannot be used with standard input (`-`)"),
            (["untracked.yaml"], "no such file or folder in the index of Git: 'untracked.yaml'"),
        ],
    )
    @pytest.mark.usefixtures("staged")
    def test_wrong_usage(self, afflint: Afflint, words: list[str], message: str) -> None:
        done = afflint("check", "--index", *words)
        assert (done.code, done.out, done.err) == (2, "", f"afflint: {message}\n")
