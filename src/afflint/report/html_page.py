"""What the HTML pages have in common: one file, nothing from the network, one style and one script, and what lets in those alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from string import Template

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import visible


class PageMetadata(NamedTuple):
    """When a page was made, as it is to be shown, and the command line that made it."""

    when: str
    command: str


def shown(text: str) -> str:
    """``text`` out of a manifest, fit to stand in HTML: in an element or in a quoted attribute."""
    return escape(visible(text), quote=True)


def page(name: str, title: str, made: PageMetadata | None, parts: Mapping[str, str], rules: str = "") -> str:
    """The page whose own template, style and script are the files ``name.html``, ``name.css`` and ``name.js`` beside this one.

    ``parts`` are put into the template, ``title``, ``lead`` and ``notes`` of them into the head that all pages have; ``rules`` are rules of
    style that belong to this page alone.
    """
    style = "\n" + _asset("page.css") + _asset(f"{name}.css") + rules
    script = f'\n(() => {{\n  "use strict";\n{_asset("page.js")}{_asset(f"{name}.js")}}})();\n'
    when = f'<p class="soft">{shown(made.when)}: <code>{shown(made.command)}</code></p>' if made else ""
    head = Template(_asset("page_head.html")).substitute(parts, made=when)
    return Template(_asset("page.html")).substitute(
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        title=title + (f", {shown(made.when[:10])}" if made else ""),
        body=Template(_asset(f"{name}.html")).substitute(parts, head=head),
    )


def _asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
        return file.read()


def _hash(text: str) -> str:
    """The only style and the only script that the page's policy lets in are its own."""
    import base64
    import hashlib

    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
