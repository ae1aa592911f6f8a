"""The frame of the HTML pages: one file with one style and one script, and a content security policy that allows nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from html import escape
from string import Template

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import visible


class PageMetadata(NamedTuple):
    """The time at which a page was made, as text, and the command line that made it."""

    when: str
    command: str


def shown(text: str) -> str:
    """Escape ``text`` from a manifest for an HTML element or a quoted attribute."""
    return escape(visible(text), quote=True)


def state(style: str, words: str = "") -> str:
    """Return a coloured word: a severity, or the outcome of something."""
    return f'<span class="state {style}">{words or style}</span>'


def details(classes: str, summary: str, body: str, *, opened: bool = False, more: str = "") -> str:
    """Return a part that the reader can unfold; ``more`` are further attributes."""
    return f"<details{_class(classes)}{more}{' open' * opened}>\n<summary>{summary}</summary>\n{body}</details>\n"


def bullets(items: Iterable[str], classes: str = "", *, left_out: int = 0) -> str:
    """Return a list, with a last item that counts those that are left out; an empty text without items."""
    listed = "".join(f"<li>{item}</li>\n" for item in items) + f"<li>and {left_out} more</li>\n" * (left_out > 0)
    return f"<ul{_class(classes)}>\n{listed}</ul>\n" if listed else ""


def notes(items: Iterable[str]) -> str:
    """Return the list of notes; an empty text without items."""
    listed = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="notes">{listed}</ul>' if listed else ""


def column_heads(words: Iterable[str], classes: str = "") -> str:
    """Return the heads of the columns of a table."""
    return "".join(f'<th scope="col"{_class(classes)}>{word}</th>' for word in words)


def table(classes: str, heads: str, rows: Iterable[str]) -> str:
    """Return a table."""
    return f'<table class="{classes}">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{"".join(rows)}</tbody>\n</table>'


def wide_table(classes: str, label: str, heads: str, rows: Iterable[str], left_out: int = 0, more: str = "more") -> str:
    """Return a table that scrolls, also with the keyboard, with its attribute ``label``, and the number of rows that are left out."""
    scroll = f'<div class="scroll" tabindex="0" role="group" {label}>{table(classes, heads, rows)}</div>\n'
    return scroll + f'<p class="soft">and {left_out} {more}</p>\n' * (left_out > 0)


def _class(classes: str) -> str:
    return f' class="{classes}"' if classes else ""


def options(words: Iterable[str], values: Iterable[str] | None = None) -> str:
    """Return the options of a choice; ``values`` are what the script reads, if that is not the words."""
    if values is None:
        return "".join(f"<option>{shown(word)}</option>" for word in words)
    return "".join(f'<option value="{shown(value)}">{shown(word)}</option>' for word, value in zip(words, values, strict=True))


def fragment(name: str, **parts: object) -> str:
    """Return a part of a page with the template ``name.html`` in this package, whose values are ``parts``."""
    return Template(asset(f"{name}.html")).substitute(parts)


def page(name: str, title: str, made: PageMetadata | None, parts: Mapping[str, str], rules: str = "") -> str:
    """Return the page with the template, style and script ``name.html``, ``name.css`` and ``name.js`` in this package.

    ``parts`` are the values of the template; ``title``, ``lead`` and ``notes`` go into the common head. ``rules`` is additional CSS.
    """
    style = "\n" + asset("page.css") + asset(f"{name}.css") + rules
    script = f'\n(() => {{\n  "use strict";\n{asset("page.js")}{asset(f"{name}.js")}}})();\n'
    when = f'<p class="soft">{shown(made.when)}: <code>{shown(made.command)}</code></p>' if made else ""
    head = Template(asset("page_head.html")).substitute(parts, made=when)
    return Template(asset("page.html")).substitute(
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        title=title + (f", {shown(made.when[:10])}" if made else ""),
        body=Template(asset(f"{name}.html")).substitute(parts, head=head),
    )


def asset(name: str) -> str:
    """Return the text of a file of this package: a template, a style or a script."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
        return file.read()


def _hash(text: str) -> str:
    """Return the hash by which the content security policy of the page allows its own style or script."""
    import base64
    import hashlib

    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
