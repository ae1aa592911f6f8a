"""Mistakes in documents that can still be read are reported once, at their position, with what the API server does."""

import pytest

from afflint.pipeline.map_step import Checker, default_settings
from edited import edited

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
                "4:1 text-after-document: `nodeSelector` is indented less than the first line, which ends the document here: "
                "the API server ignores it and reads only Pod web"
            ),
        ),
        (
            "# a pod\n---\n" + POD + 'spec:\n  nodeSelector: {ssd: "true"}\n',
            (
                "6:1 text-after-document: `spec` is indented less than the first line, which ends the document here: "
                "the API server ignores it and reads only Pod web"
            ),
        ),
        (
            " apiVersion: v1\nkind: Pod\nspec: {nodeSelector: {ssd: 1}}\n",
            (
                "2:1 text-after-document: `kind` is indented less than the first line, which ends the document here: "
                "the API server ignores it, and the text above it is not an object"
            ),
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n...\n\n# more\n[\n",
            "7:1 text-after-document: text after the line `...`, which ends the document: the API server ignores it and reads only Pod web",
        ),
        (
            "--\n# another\nkind: Pod\nmetadata: {name: web}\n",
            (
                "3:1 text-after-document: text after the end of the document: "
                "the API server ignores it, and the text above it is not an object"
            ),
        ),
        (
            "kind: List\nitems: [{kind: Pod}]\n...\nitems: []\n",
            (
                "4:1 text-after-document: text after the line `...`, which ends the document: "
                "the API server ignores it and reads only the List"
            ),
        ),
    ],
)
def test_text_behind_the_end_of_a_document_is_reported_at_its_first_character(text: str, found: str) -> None:
    assert findings(text) == [found]


def test_the_help_shows_how_to_write_a_separator() -> None:
    (found,) = CHECKER.check("a.yaml", b"--\n# another\nkind: Pod\n").found
    assert found.help == "Write the separator as `---`: `--` is text."


@pytest.mark.parametrize("end", ["...\n", "...\n# the end\n", "...\n---\n", "...\n...\n", "\n  # the end\n"])
def test_a_document_may_say_that_it_ends(end: str) -> None:
    assert findings("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n" + end) == []


def test_a_template_may_leave_text_behind_its_first_action() -> None:
    assert CHECKER.check("a.yaml", b"{{- if .Values.on }}\nkind: Pod\n{{- end }}\n").templated


# A separator that is missing.

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n"
WEB = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: b}]}\n"
CONFIG = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: web}\ndata: {}\n"


def fixed(text: str) -> str:
    return edited(text, [edit for each in CHECKER.check("a.yaml", text.encode()).found for edit in each.edits])


def test_a_second_object_in_a_document_is_one_finding_where_it_begins() -> None:
    message = (
        "another object begins here without a line `---` before it: of each key that occurs twice, such as `apiVersion`, "
        "only the last value takes effect"
    )
    assert findings(SERVICE + WEB) == [f"5:1 missing-separator: {message}"]
    assert [each.split(":")[0] for each in findings(SERVICE + CONFIG + WEB)] == ["5", "9"]
    assert findings(SERVICE + CONFIG.replace("kind: ConfigMap", '"kind": ConfigMap'))[0].startswith("5:1 missing-separator")


def test_the_fix_inserts_the_separator() -> None:
    assert fixed(SERVICE + WEB + CONFIG) == f"{SERVICE}---\n{WEB}---\n{CONFIG}"
    assert fixed(f"{SERVICE}# The pods\n  # behind it.\n{WEB}") == f"{SERVICE}---\n# The pods\n  # behind it.\n{WEB}"
    assert fixed(f"---\r\n{SERVICE}{WEB}".replace("\n", "\r\n")) == f"---\r\r\n{SERVICE}---\n{WEB}".replace("\n", "\r\n").replace(
        "\r\r", "\r"
    )
    indented = "".join(f"  {line}\n" for line in (SERVICE + WEB).splitlines())
    assert findings(fixed(indented)) == []


@pytest.mark.parametrize("key", ["spec: {}", "metadata: {name: b}", "kind: Pod", "apiVersion: v1"])
def test_one_repeated_key_does_not_begin_an_object(key: str) -> None:
    assert [each.split(": ")[0] for each in findings(f"{WEB}{key}\n")] == ["5:1 duplicate-key"]


def test_two_objects_within_braces_do_not_lack_a_separator() -> None:
    found = findings('{"kind": "Pod", "apiVersion": "v1",\n "kind": "Pod", "apiVersion": "v1"}\n')
    assert [each.split(": ")[0] for each in found] == ["2:2 duplicate-key", "2:17 duplicate-key"]
