"""Findings across manifests: each rule alone finds the same as with others, and a file that changes meanwhile does no harm."""

from pathlib import Path

import pytest

from afflint.checks.match import Target
from afflint.kube import NEWEST
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import Options, run
from afflint.source.sources import Source
from linting import findings_of, places, settings_of
from on_nodes import POOL, workload

NODES = "nodes: [{name: w1, labels: {disk: hdd}}]\n"
HDD = workload("nodeSelector: {example.com/disk: hdd}")
MISSPELT = workload(
    "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {tier: databse}}}]}}"
)
DATABASE = workload(name="db").replace("labels: {app: db}", "labels: {app: db, tier: database}")


@pytest.mark.parametrize(
    ("rule", "files", "line"),
    [
        ("affinity-target-missing", {"web.yaml": MISSPELT, "db.yaml": DATABASE}, 10),
        ("unschedulable", {"web.yaml": HDD, "nodes.yaml": NODES}, 10),
        ("no-matching-pool", {"web.yaml": HDD, "pools.yaml": POOL}, 10),
    ],
)
def test_a_rule_alone_finds_what_it_finds_among_others(rule: str, files: dict[str, str], line: int) -> None:
    data = {name: text.encode() for name, text in files.items()}
    alone = findings_of(data, settings_of([rule]))
    assert [(each.file, each.span.line, each.rule) for each in alone] == [("web.yaml", line, rule)]
    assert alone == [each for each in findings_of(data, settings_of()) if each.rule == rule]
    del data[sorted(data.keys() - {"web.yaml"})[0]]
    assert findings_of(data, settings_of([rule])) == []


def test_namespaces_are_selected_by_labels_only_if_the_manifests_of_all_are_known() -> None:
    namespaces = "".join(
        f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{team: {team}}}}}\n"
        for name, team in (("shop", "green"), ("data", "blue"), ("other", "red"))
    )
    term = "labelSelector: {matchLabels: {tier: database}}, namespaceSelector: {matchLabels: {team: red}}"
    web = MISSPELT.replace("labelSelector: {matchLabels: {tier: databse}}", term)
    data = {"web.yaml": (web + namespaces).encode(), "db.yaml": DATABASE.replace("namespace: shop", "namespace: data").encode()}
    for complete, lines in ((False, []), (True, [10])):
        settings = settings_of(["affinity-target-missing"], target=Target(NEWEST, complete=complete))
        assert [each.span.line for each in findings_of(data, settings)] == lines
    data["db.yaml"] = DATABASE.replace("namespace: shop", "namespace: other").encode()
    assert findings_of(data, settings) == []


def test_a_suppression_without_effect_is_reported_only_by_its_rule() -> None:
    text = MISSPELT.replace("replicas: 3", "replicas: 3  # afflint: ignore[wrong-type]").encode()
    assert places(findings_of({"a.yaml": text}, settings_of(["wrong-type", "unused-suppression"]), inline=True)) == [
        "a.yaml:5:16 warning unused-suppression"
    ]
    assert findings_of({"a.yaml": text}, settings_of(["wrong-type"]), inline=True) == []
    assert findings_of({"a.yaml": text}, settings_of(["unused-suppression"]), inline=True) == [], (
        "the rule may find something in other runs"
    )


def test_a_suppression_in_values_of_a_chart_may_be_for_the_rendered_manifests() -> None:
    comment, settings = b"  # afflint: ignore[invalid-toleration]", settings_of(["invalid-toleration", "unused-suppression"])
    wrong = b"tolerations: [{key: '', operator: Equal, value: x}]"
    assert places(findings_of({"values.yaml": wrong}, settings)) == ["values.yaml:1:35 warning invalid-toleration"]
    assert findings_of({"values.yaml": wrong + comment}, settings, inline=True) == []
    right = wrong.replace(b"Equal, value: x", b"Exists")
    assert findings_of({"values.yaml": right + comment}, settings, inline=True) == []


@pytest.mark.parametrize("later", ["", "# empty\n", "kind: Pod\n", None], ids=["no text", "no document", "another object", "no file"])
def test_a_finding_in_a_file_that_changes_during_the_run_keeps_a_place_in_it(tmp_path: Path, later: str | None) -> None:
    web, database = tmp_path / "web.yaml", tmp_path / "db.yaml"
    web.write_text(MISSPELT)
    database.write_text(DATABASE)

    def change(_done: int) -> None:
        if later is None:
            web.unlink(missing_ok=True)
        else:
            web.write_text(later)

    # The file is read first, and again for the place of the finding.
    sources = [Source(str(path), str(path)) for path in (web, database)]
    found = run(sources, default_settings(), Options(progress=change)).findings
    assert [(each.rule, each.span.line) for each in found] == [("affinity-target-missing", 1)]
