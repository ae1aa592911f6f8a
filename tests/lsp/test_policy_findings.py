"""Violations of policies in an editor: they have no rule page, and mandatory policies have no suppression."""

from pathlib import Path

import pytest

from lsp_client import Client

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: n1
  containers: [{name: web, image: nginx}]
"""
POLICIES = "policies:\n- {name: no-hosts, check: no-pinning, severity: error%s}\n"
PLACE = "4:12 no-hosts"


@pytest.mark.parametrize("more, silenced", [("", 1), (", mandatory: true", 0)])
def test_a_policy_of_the_folder(tmp_path: Path, more: str, silenced: int) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / ".afflint.yaml").write_text(POLICIES % more)
    with Client(tmp_path) as client:
        client.open("pod.yaml")
        client.wait_for("pod.yaml", PLACE)
        (shown,) = client.published["pod.yaml"]
        assert (shown["severity"], shown["message"]) == (1, "Pod web is assigned to the node `n1` by name")
        assert "codeDescription" not in shown
        hovered = client.request("textDocument/hover", client.at("pod.yaml", 4, 13))
        assert "Select a label that several nodes have." in hovered["contents"]["value"]
        asked = {"textDocument": {"uri": client.uri("pod.yaml")}, "range": shown["range"], "context": {"diagnostics": []}}
        actions = client.request("textDocument/codeAction", asked)
        assert sum("no-hosts" in each["title"] for each in actions) == silenced


def test_a_policy_file_is_read_again_after_a_change(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / ".afflint.yaml").write_text("policies: [ours.yaml]\n")
    (tmp_path / "ours.yaml").write_text(POLICIES % "")
    with Client(tmp_path) as client:
        client.open("pod.yaml")
        client.wait_for("pod.yaml", PLACE)
        (tmp_path / "ours.yaml").write_text(POLICIES % ", exclude: {names: [web]}")
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": client.uri("ours.yaml"), "type": 2}]})
        client.wait_for("pod.yaml")


def test_a_field_that_a_mutating_policy_may_set_is_an_info_as_in_a_check(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD.replace("nodeName: n1", 'nodeSelector: {node-role.kubernetes.io/control-plane: ""}'))
    rule = "{name: a, match: {resources: {kinds: [Pod]}}, mutate: {patchStrategicMerge: {spec: {tolerations: [{operator: Exists}]}}}}"
    (tmp_path / "policy.yaml").write_text(
        f"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: a}}\nspec: {{rules: [{rule}]}}\n"
    )
    with Client(tmp_path) as client:
        client.open("pod.yaml")
        client.until(lambda: [each["severity"] for each in client.published.get("pod.yaml", ())] == [3])
        (shown,) = client.published["pod.yaml"]
        assert shown["message"].endswith("; the Kyverno ClusterPolicy `a` may set `spec.tolerations`")
