"""Which values the templates of a chart cannot read."""

from pathlib import Path

import pytest

from afflint.rendering.template_reads import TemplateReads

INCLUDE = '{{ include "lib.labels" . }}'


@pytest.mark.parametrize(
    ("template", "cannot_read"),
    [
        ("a: {{ .Values.replicas }}\n", True),
        ("a: {{ .Values.nodeSelector.disk }}\n", False),
        (INCLUDE, False),
        ("{{ if eq .a '\"' }}a{{ end }}\n" + INCLUDE, False),
    ],
    ids=["another value", "the value", "a template of another chart", "behind an action whose end is not found"],
)
def test_a_value_that_no_template_reads(tmp_path: Path, template: str, cannot_read: bool) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n", encoding="utf-8")
    (tmp_path / "templates" / "a.yaml").write_text(template, encoding="utf-8")
    assert TemplateReads(str(tmp_path)).cannot_read(("nodeSelector",)) == cannot_read
