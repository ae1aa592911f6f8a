"""What can be read although something is wrong with its text: said once, at its place, with what the API server makes of it."""

from __future__ import annotations

import pytest

from afflint.engine import Checker, default_settings

CHECKER = Checker(default_settings())


def findings(text: str, name: str = "a.yaml") -> list[str]:
    """``line:column rule: message`` of each finding of the rules that are on by default."""
    return [f"{each.span.line}:{each.span.column} {each.rule}: {each.message}" for each in CHECKER.check(name, text.encode()).found]


POD = "  apiVersion: v1\n  kind: Pod\n  metadata: {name: web}\n"


# Text behind the end of a document.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            POD + "nodeSelector: {ssd: true}\n",
            (
                "4:1 text-after-document: `nodeSelector` stands further left than the first line of the document, which ends it here: "
                "the API server takes Pod web without it"
            ),
        ),
        (
            "# a pod\n---\n" + POD + 'spec:\n  nodeSelector: {ssd: "true"}\n',
            (
                "6:1 text-after-document: `spec` stands further left than the first line of the document, which ends it here: "
                "the API server takes Pod web without it"
            ),
        ),
        (
            " apiVersion: v1\nkind: Pod\nspec: {nodeSelector: {ssd: 1}}\n",
            (
                "2:1 text-after-document: `kind` stands further left than the first line of the document, which ends it here: "
                "what stands above is no object, and the API server looks no further"
            ),
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n...\n\n# more\n[\n",
            "7:1 text-after-document: text behind the line `...`, which ends the document: the API server takes Pod web without it",
        ),
        (
            "--\n# another\nkind: Pod\nmetadata: {name: web}\n",
            (
                "3:1 text-after-document: text behind the end of the document: "
                "what stands above is no object, and the API server looks no further"
            ),
        ),
        (
            "kind: List\nitems: [{kind: Pod}]\n...\nitems: []\n",
            "4:1 text-after-document: text behind the line `...`, which ends the document: the API server takes the List without it",
        ),
    ],
)
def test_text_behind_the_end_of_a_document_is_reported_at_its_first_character(text: str, found: str) -> None:
    assert findings(text) == [found]


def test_the_help_says_how_to_write_a_separator() -> None:
    (found,) = CHECKER.check("a.yaml", b"--\n# another\nkind: Pod\n").found
    assert found.help == "Write the separator as `---`: `--` is text."


@pytest.mark.parametrize("end", ["...\n", "...\n# the end\n", "...\n---\n", "...\n...\n", "\n  # the end\n"])
def test_a_document_may_say_that_it_ends(end: str) -> None:
    assert findings("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n" + end) == []


def test_a_template_may_leave_text_behind_its_first_action() -> None:
    assert CHECKER.check("a.yaml", b"{{- if .Values.on }}\nkind: Pod\n{{- end }}\n").templated
