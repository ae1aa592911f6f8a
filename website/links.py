"""Convert links between files of the checkout to links of the site, and find dead links in a built site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FENCE = re.compile(r"^(```+)[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[(?P<text>(?:[^][]|\[[^][]*\])*)\]\((?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
_ROOT = Path(__file__).parents[1]

PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "vulnerabilities.md"}
"""Files at the top of the checkout that are pages of the site."""


class LinkError(Exception):
    """A dead link; the message names the link and its page."""


def site_path(path: str) -> str | None:
    """Return the path on the site of a file of the checkout; None if the site does not contain it."""
    if path in PAGES:
        return PAGES[path]
    folder, _, rest = path.partition("/")
    if folder == "docs":
        return rest
    if path in ("rules", "rules/profiles"):
        return f"{path}/index.md"
    return path if rest and folder in ("rules", "schemas") else None


def convert_links(text: str, source: str) -> str:
    """Return the text of a page with links of the site. ``source`` is its path in the checkout.

    A link to a file that is not on the site becomes plain text. Raises LinkError for a link to a file that does not exist.
    """
    own = site_path(source)
    assert own is not None

    def converted(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"]))
        page = site_path(target)
        if page is None:  # The build finds missing pages: some are generated.
            if not (_ROOT / target).exists():
                raise LinkError(f"{source}: there is no {link['target']}")
            return link["text"]
        return f"[{link['text']}]({posixpath.relpath(page, posixpath.dirname(own) or '.')}{link['anchor'] or ''})"

    return outside_fences(text, lambda prose: _LINK.sub(converted, prose))


def outside_fences(text: str, changed: object) -> str:
    """Return the text with ``changed`` applied to everything outside code fences."""
    assert callable(changed)
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [changed(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, changed(text[end:])])


class _Page(HTMLParser):
    """The anchors, links and loaded files of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.files: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe", "source", "object") and "src" in given:
            self.files.append(given["src"])
        elif tag == "link" and given.get("rel", "") not in ("canonical", "prev", "next", "alternate", "edit"):
            self.files.append(given["href"])


def faults(site: Path) -> Iterator[str]:
    """Yield the faults of a built site: dead links and anchors, and files loaded from other sites."""
    pages: dict[Path, _Page] = {}
    for path in sorted(site.rglob("*.html")):
        pages[path] = _Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    for path, page in pages.items():
        # It is served for any address, so its links are relative to the top of the site.
        here = site if path.name == "404.html" else path.parent
        for address in (*page.links, *page.files):
            fault = _fault(address, path, here, site, pages)
            if fault:
                yield f"{path.relative_to(site).as_posix()}: {fault}: {address}"
        for address in page.files:
            if urlsplit(address).netloc:
                yield f"{path.relative_to(site).as_posix()}: is loaded from elsewhere: {address}"
    for path in sorted(site.rglob("*.css")):
        for address in re.findall(r"@import[^;]*|url\(\s*[\"']?(?:https?:)?//[^)]*", path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site).as_posix()}: is loaded from elsewhere: {address}"


def _fault(address: str, path: Path, here: Path, site: Path, pages: dict[Path, _Page]) -> str | None:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    base = site if parts.path.startswith("/") else here
    target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "leads nowhere"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors and parts.fragment != "__skip":
        return "no such place there"
    return None
