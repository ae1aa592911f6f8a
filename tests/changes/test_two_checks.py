"""The findings of a comparison are those of two separate checks, of a checkout of each commit: reading files once loses nothing."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afflint import config
from afflint.changes.findings import compare
from afflint.findings.finding import Finding
from afflint.pipeline.session import Session
from command_line import Afflint
from git_history import History

_POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{app: {name}}}}}
spec:
  {field}
  containers: [{{name: a, image: b}}]
"""
_FIELDS = (
    "nodeSelector: {disk: 1}",
    "nodeSelector: {disk: ssd} # afflint: ignore",
    "nodeSelector: {beta.kubernetes.io/os: linux}",
    "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: b}}}]}}",
    "tolerations: [{key: a, effect: no}]",
    "nodeName: ''",
)
_BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: b}}}
"""
_NODES = "nodes: [{name: one, labels: {disk: ssd}}]\n"
_OTHERS = (_BUDGET, _NODES, "ignore: [admission]\n", "a: [\n", "")

pods = st.builds(lambda name, field: _POD.format(name=name, field=field), st.sampled_from("ab"), st.sampled_from(_FIELDS))
files = st.dictionaries(
    st.sampled_from(["a.yaml", "b.yaml", "apps/c.yaml", "apps/d.yml", "nodes.yaml", ".gitignore"]),
    st.one_of(pods, pods, st.sampled_from(_OTHERS)),
    min_size=1,
)


def checked(history: History, commit: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """The findings of a checkout of a commit."""
    history.git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    monkeypatch.chdir(folder)
    session = Session(config.default())
    return session.check(session.sources(["."])).findings


def shown(findings: list[Finding]) -> list[tuple[object, ...]]:
    return [(each.rule, each.file, each.span.line, each.span.column, each.message) for each in findings]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files, files)
def test_new_and_fixed_findings_are_those_of_two_checks(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    afflint: Afflint,
    before: dict[str, str],
    after: dict[str, str],
) -> None:
    folder = tmp_path_factory.mktemp("two")
    history = History(folder / "repository")
    base = history.commit(before)
    head = history.commit({**dict.fromkeys(before), **after})
    with monkeypatch.context() as patch:
        was, now = (checked(history, commit, folder / name, patch) for name, commit in (("base", base), ("head", head)))
        patch.chdir(history.root)
        done = afflint("diff", f"{base}..{head}", "--no-config", "--no-placement", "--format", "json", "--exit-zero")
    data = json.loads(done.out)
    moved = {path: [name for name in after if after[name] == text and name not in before] for path, text in before.items()}
    renamed = {path: min(names) for path, names in moved.items() if names and path not in after}
    expected = compare(was, now, renamed)
    found = {kind: [(e["rule"], e["file"], e["line"], e["column"], e["message"]) for e in data[kind]] for kind in ("new", "fixed")}
    suppressed = [(e["rule"], e["file"], e["line"], e["column"], e["message"]) for e in data["suppressed"]]
    assert found["new"] == shown(expected.new)
    assert sorted(found["fixed"] + suppressed) == sorted(shown(expected.fixed))
