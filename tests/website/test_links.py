"""Links: those of the checkout become those of the site, and a built site that leads nowhere, or loads from elsewhere, is refused."""

from pathlib import Path

import pytest
from website.links import LinkError, convert_links, faults


@pytest.mark.parametrize(
    "source, link, converted",
    [
        ("docs/nodes.md", "../rules/wrong-type.md", "rules/wrong-type.md"),
        ("docs/nodes.md", "reference.md#keys", "reference.md#keys"),
        ("rules/wrong-type.md", "../docs/nodes.md#which", "../nodes.md#which"),
        ("rules/wrong-type.md", "unknown-field.md", "unknown-field.md"),
        ("CONTRIBUTING.md", "docs/stability.md", "stability.md"),
        ("docs/policies.md", "../rules/profiles", "rules/profiles/index.md"),
        ("docs/policies.md", "../rules/profiles/", "rules/profiles/index.md"),
        ("docs/stability.md", "../CONTRIBUTING.md", "contributing.md"),
        ("docs/ci.md", "../schemas/report.schema.json", "schemas/report.schema.json"),
        ("docs/ci.md", "https://kubernetes.io/docs/", "https://kubernetes.io/docs/"),
        ("docs/ci.md", "#below", "#below"),
    ],
)
def test_a_link_leads_to_the_same_page_on_the_site(source: str, link: str, converted: str) -> None:
    assert convert_links(f"See [it]({link}).", source) == f"See [it]({converted})."


def test_links_in_a_fence_are_kept() -> None:
    text = "```yaml\na: [b](../x.md)\n```\n"
    assert convert_links(text, "docs/ci.md") == text


def test_a_link_to_a_file_outside_the_site_becomes_text() -> None:
    assert convert_links("See [`web.yaml`](../examples/shop/web.yaml).", "docs/ci.md") == "See `web.yaml`."


def test_a_link_to_a_missing_file_is_an_error() -> None:
    with pytest.raises(LinkError, match=r"docs/ci\.md: there is no \.\./src/x\.py"):
        convert_links("[code](../src/x.py)", "docs/ci.md")


def faults_of(folder: Path, **pages: str) -> list[str]:
    for name, text in pages.items():
        path = folder / name.replace("_", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(faults(folder))


def test_a_valid_site(tmp_path: Path) -> None:
    links = '<a href="rules/aDOThtml#why"></a><a href="rules/"></a><a href="#here"></a><p id="here"></p>'.replace("DOT", ".")
    away = '<a href="https://example.com/x"></a><a href="mailto:x@example.com"></a>'
    loaded = '<link rel="stylesheet" href="s.css"><script src="x.js"></script>'
    found = faults_of(
        tmp_path,
        indexDOThtml=links + away + loaded,
        rules_aDOThtml='<h2 id="why"><a href="../index.html"></a></h2>',
        rules_indexDOThtml="",
        sDOTcss="a {background: url(data:image/svg+xml,x)}",
        xDOTjs="",
    )
    assert found == []


@pytest.mark.parametrize(
    "text, fault",
    [
        ('<a href="b.html"></a>', "leads nowhere: b.html"),
        ('<a href="#b"></a>', "no such place there: #b"),
        ('<a href="a.html#b"></a>', "no such place there: a.html#b"),
        ('<img src="x.png">', "leads nowhere: x.png"),
        ('<script src="https://cdn.example.com/x.js"></script>', "is loaded from elsewhere: https://cdn.example.com/x.js"),
        ('<link rel="stylesheet" href="//fonts.example.com/x">', "is loaded from elsewhere: //fonts.example.com/x"),
        ('<link rel="preconnect" href="https://fonts.example.com">', "is loaded from elsewhere: https://fonts.example.com"),
    ],
)
def test_what_is_wrong_with_a_site(tmp_path: Path, text: str, fault: str) -> None:
    assert faults_of(tmp_path, aDOThtml=text) == [f"a.html: {fault}"]


def test_styles_that_load_from_elsewhere(tmp_path: Path) -> None:
    style = '@import "x.css";\n@font-face {src: url("https://fonts.example.com/f")}\n'
    assert faults_of(tmp_path, aDOTcss=style) == [
        'a.css: is loaded from elsewhere: @import "x.css"',
        'a.css: is loaded from elsewhere: url("https://fonts.example.com/f"',
    ]
