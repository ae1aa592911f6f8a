"""What one file decides: which manifests a fault may have damaged, whether it is empty, and whether its nodes are used."""

from __future__ import annotations

import pytest

from afflint.pipeline.map_step import Checker, default_settings
from afflint.pipeline.run import run
from afflint.source.sources import Source
from linting import lint, places

BRACE_TOO_MANY = """\
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: "web:1"}]}}
}
---
"""
NO_VERSION = """\
kind: Pod
metadata: {name: till}
spec: {containers: [{name: till, image: "till:1"}]}
"""


def test_after_a_fault_a_missing_api_version_is_not_reported() -> None:
    """The text with the apiVersion may have been lost at the fault."""
    assert places(lint(NO_VERSION)) == ["a.yaml:1:1 error missing-api-version"]
    assert places(lint(BRACE_TOO_MANY + NO_VERSION)) == ["a.yaml:2:1 error text-after-document"]


def test_the_documents_with_a_fault_are_known_by_their_numbers() -> None:
    """Fixes are kept out of them."""
    checker = Checker(default_settings())
    assert checker.check("a.yaml", (BRACE_TOO_MANY + NO_VERSION).encode()).broken == (0,)
    assert checker.check("a.yaml", f"{NO_VERSION}---\n{NO_VERSION}---\n[\n".encode()).broken == (2,)
    assert checker.check("a.yaml", NO_VERSION.encode()).broken == ()


def test_custom_resources_are_counted_by_what_shows_where_they_place_pods() -> None:
    text = (
        "apiVersion: example.com/v1\nkind: Farm\nmetadata: {name: web}\n"
        "spec: {template: {spec: {tolerations: [{key: a, operator: Exists}], containers: [{name: c, image: i}]}}}\n"
    )
    source = Source("a.yaml", "a.yaml", f"{text}---\n{text}---\n{NO_VERSION}".encode())
    assert run([source], default_settings()).summary.custom == (("Farm by its shape", 2),)
    assert Checker(default_settings()).check("a.yaml", f"{text}---\n{text}".encode()).unknown == (("example.com", "Farm"),)


@pytest.mark.parametrize(
    ("text", "documents", "passed"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", 0, ("ConfigMap",)),
        ("apiVersion: example.com/v1\nkind: Deployment\nmetadata: {name: a}\n", 1, ()),
        ("kind: Pod\nkey: [\n", 1, ()),
        ("# kind: Pod\nkey: value\n", 0, ("no kind",)),
    ],
    ids=["another kind", "a known kind of another group", "broken", "no object"],
)
def test_what_may_be_an_object_counts_as_a_document(text: str, documents: int, passed: tuple[str, ...]) -> None:
    result = Checker(default_settings()).check("a.yaml", text.encode())
    assert (result.documents, result.passed) == (documents, passed)


def test_a_file_with_nothing_but_nodes_is_not_empty() -> None:
    texts = {"nodes.yaml": b"nodes: [{name: w1}]\n", "comment.yaml": b"# later\n"}
    outcome = run([Source(name, name, data) for name, data in texts.items()], default_settings())
    assert [outcome.sources[file].name for file in outcome.empty] == ["comment.yaml"]


def test_comments_in_a_list_of_nodes_are_read_only_if_the_nodes_are_used() -> None:
    nodes = Source("nodes.yaml", "nodes.yaml", b"nodes:\n- {name: w1}  # afflint: ignroe\n")
    settings = default_settings()
    assert places(run([nodes], settings).findings) == ["nodes.yaml:2:15 warning invalid-suppression"]
    assert run([nodes], settings._replace(auto_nodes=False)).findings == []


@pytest.mark.parametrize(
    ("text", "templated", "filled"),
    [
        (NO_VERSION, False, False),
        (f"{{{{ if .Values.on }}}}\n{NO_VERSION}{{{{ end }}}}\n", True, False),
        (NO_VERSION.replace("name: till,", "name: '{{ .Values.name }}',"), False, False),
        ("{{ .Values.whole }}\n", True, False),
        ("# {{ not used }}\nkey: value\n", False, False),
    ],
    ids=["a manifest", "a block", "a quoted value", "the whole", "a comment"],
)
def test_a_text_that_only_a_template_engine_can_read_counts_as_a_template(text: str, *, templated: bool, filled: bool) -> None:
    result = Checker(default_settings()).check("templates/web.yaml", text.encode())
    assert (result.templated, result.filled) == (templated, filled)
    assert bool(result.broken) is templated
