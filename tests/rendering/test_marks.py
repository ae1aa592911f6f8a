"""Lines of templates that may end in a comment, and lines that may not."""

import pytest

from afflint.rendering.line_marks import Mark, add_marks, marks_in


@pytest.mark.parametrize(
    "line",
    [
        "kind: Deployment",
        "  name: {{ .Values.name }}",
        "labels:",
        "  - name: web",
        "  - {key: gpu, operator: Exists}",
        '"quoted key": 1',
        "{{ .Values.key }}: x",
        "args: |",
        "- x",
    ],
)
def test_a_line_with_a_mark(line: str) -> None:
    assert add_marks(line, 3) == f"{line} #@@3:1:0"


@pytest.mark.parametrize(
    "line",
    ["  {{- toYaml .Values.x | nindent 4 }}", '  {{ include "web.labels" . | indent 4 }}', "labels: {{- toYaml .Values.x | nindent 4 }}"],
)
def test_a_line_that_may_produce_several(line: str) -> None:
    assert add_marks(line, 0) == f"{line} #@@0:1:1"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# a comment",
        "---",
        "{{- if .Values.x }}",
        '{{- define "web.name" -}}',
        "{{ .Release.Name }}-web",
        "{{- $name := .Values.name | indent 2 }}",
        "key: {{ .Values.x -}}",
        'key: "open',
        "key: [a,",
    ],
)
def test_a_line_without_one(line: str) -> None:
    assert add_marks(line, 0) == line


def test_open_blocks_and_brackets_are_tracked() -> None:
    text = "run: |\n  # text\n  key: text\n{{- .Values.x | nindent 2 }}\nlist: [a,\n  b: c]\n{{/*\nkey: comment\n*/}}\nlast: 1"
    assert [line for line in add_marks(text, 0).split("\n") if "#@@" in line] == ["run: | #@@0:1:0", "last: 1 #@@0:10:0"]


def test_lines_are_left_out_and_ends_of_lines_stay() -> None:
    assert add_marks("a: 1\r\nb: 2\r\n", 7, without=[1]) == "a: 1\r\nb: 2 #@@7:2:0\r\n"


def test_marks_of_templates_in_each_other() -> None:
    assert marks_in("    app: web #@@1:2:0 #@@0:9:1") == [Mark(1, 2, False), Mark(0, 9, True)]
