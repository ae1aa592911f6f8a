"""The one place where text out of manifests is made fit to be shown."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""``text`` with every character that is not plainly printable written as an escape: ``\n``, ``\x1b``, ``\u202e``.

    Those are the controls, bidirectional overrides, zero-width characters, line separators, odd spaces, unpaired surrogates
    and unassigned code points: all that could move a cursor, break a line, hide, or not be encoded at all. What comes out
    is one line that XML 1.0 can carry. A backslash stays as it is, so that Windows paths stay readable.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
