"""Parses generated pages, more strictly than a browser does."""

from html.parser import HTMLParser

VOID = {"meta", "input", "br", "hr", "link", "img"}
_INLINE = {"a", "abbr", "b", "code", "em", "i", "small", "span", "strong", "sub", "sup", "td", "th", "tspan"}
"""Tags that do not begin a line."""


class Page(HTMLParser):
    """The tags and the text of a page. Fails for a tag that closes what is not open."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._lines: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.tags.append((tag, dict(attrs)))
        self._lines.append(" " if tag in _INLINE else "\n")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag
        self._lines.append("" if tag in _INLINE else "\n")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.words.append(data)
            self._lines.append(data.replace("\n", " "))

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def lines(self) -> str:
        """The text without tags, each block on a line."""
        lines = (" ".join(line.split()) for line in "".join(self._lines).split("\n"))
        return "".join(f"{line}\n" for line in lines if line)

    def having(self, name: str) -> list[str]:
        """The values of an attribute, of any tag."""
        return [value or "" for _, attributes in self.tags for key, value in attributes.items() if key == name]

    def with_class(self, name: str) -> int:
        return sum(name in value.split() for value in self.having("class"))
