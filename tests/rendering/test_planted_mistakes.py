"""A finding in rendered output is at the line that has to be edited: after the edit there, nothing is reported."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from afflint.rendering.given_values import Setting
from afflint.rendering.set_templates import used_parameter, without_actions
from rendering.planted_mistakes import names, tree
from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("tools")

LINE = re.compile(r"\bline (\d+)(?: of ([\w./-]+))?")
"""A line that a message names, with its file if that is another one than that of the finding."""


@pytest.mark.parametrize("name", names())
def test_a_planted_mistake_is_found_at_the_line_to_edit(name: str, project: Path, checking: Checking) -> None:
    planted = tree(name)
    write(planted.files)
    findings = checking.report(*WITHOUT_ADVICE)["findings"]
    assert [place_of(each) for each in findings] == [each.place for each in planted.mistakes]
    for finding in findings:
        assert_no_line_of_the_output(finding, project)
        planted = planted.with_correction(place_of(finding))
    for each in project.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    write(planted.files)
    corrected = checking.report(*WITHOUT_ADVICE)
    assert [place_of(each) for each in corrected["findings"]] == []
    assert corrected["summary"]["rendered"]["failed"] == []


WITHOUT_ADVICE = ("--ignore", "spread-lost-in-rollout")
"""The trees have spread constraints that a rollout may leave violated, which is not what was planted."""


def test_each_tree_has_a_mistake() -> None:
    assert len(names()) >= 30
    assert [name for name in names() if not tree(name).mistakes] == []


def place_of(finding: dict[str, Any]) -> str:
    return f"{finding['file']}:{finding['line']}:{finding['column']} {finding['rule']}"


def assert_no_line_of_the_output(finding: dict[str, Any], project: Path) -> None:
    """Each line that a message names is one of the file."""
    for number, file in LINE.findall(finding["message"]):
        assert int(number) <= len((project / (file or finding["file"])).read_text("utf-8").splitlines()), finding["message"]


def test_a_message_names_the_line_of_a_helper(checking: Checking) -> None:
    write(tree("helm/key-of-a-helper-again").files)
    (finding,) = checking.report()["findings"]
    assert "(first set on line 3 of templates/_helpers.tpl)" in finding["message"]


def test_the_key_of_a_value_that_a_replacement_sets_is_in_the_base(checking: Checking) -> None:
    kustomization = """\
resources: [../base]
configMapGenerator: [{name: settings, literals: [arch=arm64]}]
replacements:
  - source: {kind: ConfigMap, name: settings, fieldPath: data.arch}
    targets: [{select: {kind: Pod}, fieldPaths: ["spec.nodeSelector.[kubernetes.io/archh]"]}]
"""
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
        "spec:\n  nodeSelector: {kubernetes.io/archh: any}\n  containers: [{name: a, image: b}]\n"
    )
    write({".git/HEAD": "", "overlay/kustomization.yaml": kustomization})
    write({"base/pod.yaml": pod, "base/kustomization.yaml": "resources: [pod.yaml]\n"})
    assert checking.messages() == ["base/pod.yaml:5:18 unknown-node-label spec.nodeSelector[kubernetes.io/archh] ['overlay']"]


# Where values are written.


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a.b", ("a", "b")),
        (r"nodeSelector.kubernetes\.io/os", ("nodeSelector", "kubernetes.io/os")),
        ("tolerations[1].key", ("tolerations", 1, "key")),
        ("a[0][2]", ("a", 0, 2)),
    ],
)
def test_the_path_that_an_option_sets(name: str, path: tuple[str | int, ...]) -> None:
    assert Setting("--set", name, "x").path == path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ .zone }}", ("zone", True)),
        ("'{{zone}}' # of the cluster", ("zone", True)),
        ("{{ .zone | quote }}, b: c}", ("zone", True)),
        ("{{ .zone }}-a", ("zone", False)),
        ("a-{{ .zone }}", ("zone", False)),
        ("{{ .other }}", None),
        ('{{ "a.zone" }}', None),
        ("zone", None),
    ],
)
def test_the_parameter_that_a_template_uses(text: str, expected: tuple[str, bool] | None) -> None:
    assert used_parameter(text, {"zone": "b"}) == expected


def test_a_template_without_its_actions_has_the_same_lines_and_columns() -> None:
    text = 'a: {{ .x }}\n{{- include "b" . | nindent 2 }}\nc: "{{ .y }}" # d'
    assert without_actions(text) == 'a: xxxxxxxx\n################################\nc: "xxxxxxxx" # d'
