"""Words for objects and render roots, and the colours and widths of text, shared by the report formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from afflint.findings.finding import ObjectRef
from afflint.findings.phrases import visible

Paint = Callable[[str, str], str]
"""Takes the name of a style and a text, returns the text in that style."""
_STYLES = {
    **dict.fromkeys(("error", "dead", "worse", "bad"), "1;31"),
    **dict.fromkeys(("warning", "degraded", "blocked", "refused"), "1;33"),
    **dict.fromkeys(("info", "neutral"), "1;36"),
    **dict.fromkeys(("good", "better"), "1;32"),
    **dict.fromkeys(("interrupted", "unjudged"), "33"),
    **dict.fromkeys(("no", "dim"), "2"),
    "survives": "32",
    "strong": "1",
    "frame": "1;34",
}


def painter(color: bool) -> Paint:
    """Return a function that writes text in a style; without ``color``, it leaves the text as it is."""
    if not color:
        return lambda _, text: text
    return lambda style, text: f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text else text


def columns(text: str) -> int:
    """Return how many terminal columns ``text`` takes: two for a wide character, none for a combining mark."""
    if text.isascii():
        return len(text)
    import unicodedata

    alone = [char for char in text if unicodedata.category(char) not in ("Mn", "Me")]
    return len(alone) + sum(unicodedata.east_asian_width(char) in "WF" for char in alone)


def object_words(ref: ObjectRef) -> str:
    """Return ``Deployment web in namespace shop``, without unknown parts; "" for an object without kind and name."""
    words = " ".join(visible(part) for part in (ref.kind, ref.name) if part)
    if words and ref.namespace:
        words += f" in namespace {visible(ref.namespace)}"
    return words


MOST_ROOTS = 3


def roots(names: Sequence[str], most: int | None = MOST_ROOTS) -> str:
    """List the kustomizations and charts that a finding occurs in, at most ``most`` of them."""
    shown = names[:most]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return ("in " if len(names) == 1 else f"in {len(names)} places: ") + ", ".join(map(visible, shown)) + more


def html_words(text: str) -> str:
    """Return a sentence as HTML, with the text in backticks as code."""
    from afflint.report.html_page import shown

    parts = text.split("`")
    if len(parts) % 2 == 0:  # An unpaired backtick.
        parts[-2:] = ["`".join(parts[-2:])]
    return "".join(f"<code>{shown(part)}</code>" if number % 2 else shown(part) for number, part in enumerate(parts) if part)
