"""Parses a YAML text to events with ruamel.yaml's parser in Python, if libyaml's is not installed.

Both parsers have the same origin, but differ. This one reads what libyaml reads, and reports mistakes at the same position with the
same message: functions that differ follow libyaml 0.1 (``scanner.c``, ``parser.c``, ``reader.c``), the rest is inherited.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from ruamel.yaml.error import MarkedYAMLError, StringMark
from ruamel.yaml.events import DocumentEndEvent, ScalarEvent
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import Scanner, ScannerError
from ruamel.yaml.tokens import AliasToken, BlockEndToken, DocumentEndToken, KeyToken, ScalarToken, TagToken, ValueToken

_BREAKS = "\n\r\x85\u2028\u2029"
_BLANKZ = " \t\0" + _BREAKS
_ENDS = "\0" * 4
"""Added at the end of a text: the scanner never looks further."""

_BREAK = re.compile(f"\r\n|[{_BREAKS}]")
_LINE = re.compile(f"[^{_BREAKS}\0]*")
_WORD = re.compile("[0-9A-Za-z_-]*")
_URI = re.compile("(?:[0-9A-Za-z_;/?:@&=+$,.!~*'()\\[\\]-]|%[0-9A-Fa-f]{2})*")
_DIGITS = re.compile("[0-9]*")
_HEXADECIMAL = re.compile("[0-9A-Fa-f]+")
_BLOCK_HEADER = re.compile("[+-][0-9]?|[0-9][+-]?|")
# Runs of literal characters inside a scalar, by what encloses it.
_IN_SINGLE = re.compile(f"(?:[^'{_BLANKZ}]|'')*")
_IN_DOUBLE = re.compile(f'[^"\\\\{_BLANKZ}]*')
_IN_BLOCK = re.compile(f"(?:[^:{_BLANKZ}]|:(?![{_BLANKZ}]))*")
_IN_BRACKETS = re.compile(f"[^,:?\\[\\]{{}}{_BLANKZ}]*")
_FORBIDDEN = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class PureParser(Scanner, Parser):
    """The parser of one text of UTF-8 bytes: a scanner and its own reader."""

    processing_version = (1, 1)
    comment_handling = None
    # The base classes call each other through these; here they are one object.
    reader = scanner = resolver = property(lambda self: self)

    def __init__(self, raw_bytes: bytes) -> None:
        self._scanner = self._parser = self._reader = self
        self._filled = False
        self.encoding = "utf-8"
        self.buffer = _decoded(raw_bytes) + _ENDS
        self.index = self.line = self.column = 0
        Scanner.__init__(self, self)
        Parser.__init__(self, self)

    # Events, with libyaml's messages for mistakes.

    def peek_event(self) -> Any:
        try:
            return super().peek_event()
        except MarkedYAMLError as error:
            error.problem = _in_words_of_libyaml(error)
            raise

    def get_event(self) -> Any:
        event = self.last_event = self.peek_event()
        self.current_event = None
        return event

    def check_event(self, *kinds: type) -> bool:
        event = self.peek_event()
        return event is not None and (not kinds or isinstance(event, kinds))

    # The reader: the whole text is available from the start.

    def peek(self, index: int = 0) -> str:
        return self.buffer[self.index + index]

    def prefix(self, length: int = 1) -> str:
        return self.buffer[self.index : self.index + length]

    def forward(self, length: int = 1) -> None:
        start = self.index
        self.index = end = start + length
        for found in _BREAK.finditer(self.buffer, start, end):
            if found.end() == end and found[0] == "\r" and self.buffer[end] == "\n":
                break  # Half of a break.
            self.line += 1
            self.column, start = 0, found.end()
        self.column += end - start

    def get_mark(self) -> StringMark:
        return StringMark("<byte string>", self.index, self.line, self.column, self.buffer, self.index)

    # The scanner. Whether more tokens are needed is determined once for each token, not on each access.

    def _fill(self) -> None:
        if not self._filled:
            while self.need_more_tokens():
                self.fetch_more_tokens()
            self._filled = True

    def check_token(self, *kinds: type) -> bool:
        self._fill()
        return bool(self.tokens) and (not kinds or isinstance(self.tokens[0], kinds))

    def peek_token(self) -> Any:
        self._fill()
        return self.tokens[0] if self.tokens else None

    def get_token(self) -> Any:
        token = self.peek_token()
        if token is not None:
            self._filled = False
            self.tokens_taken += 1
            self.tokens.pop(0)
        return token

    def _fail(self, context: str, start: Any, problem: str) -> NoReturn:
        raise ScannerError(context, start, problem, self.get_mark())

    def _skip(self, characters: str) -> None:
        end = self.index
        while self.buffer[end] in characters:
            end += 1
        self.forward(end - self.index)

    def scan_line_break(self) -> str:
        """Scan the line break at the current position, and return its value in a scalar; "" without one."""
        found = _BREAK.match(self.buffer, self.index)
        if found is None:
            return ""
        self.forward(found.end() - self.index)
        return found[0] if found[0] in "\u2028\u2029" else "\n"

    def _at_indicator(self) -> bool:
        """Whether a line `---` or `...` begins here."""
        return self.column == 0 and self.prefix(3) in ("---", "...") and self.peek(3) in _BLANKZ

    def scan_to_next_token(self) -> None:
        while True:
            if self.column == 0 and self.peek() == "\ufeff":
                self.forward()
            # A tab is allowed where a key is not: after an indicator, and in brackets.
            self._skip(" " if not self.flow_level and self.allow_simple_key else " \t")
            if self.peek() == "#":
                self._skip_line()
            if not self.scan_line_break():
                return
            if not self.flow_level:
                self.allow_simple_key = True

    def _skip_line(self) -> None:
        self.forward(_LINE.match(self.buffer, self.index).end() - self.index)  # type: ignore[union-attr]

    def fetch_stream_end(self) -> None:
        if self.column:
            self.column = 0
            self.line += 1
        self.stale_possible_simple_keys()
        super().fetch_stream_end()

    def scan_directive_name(self, start: Any) -> str:
        name = self._word()
        if not name:
            self._fail("while scanning a directive", start, "could not find expected directive name")
        if self.peek() not in _BLANKZ:
            self._fail("while scanning a directive", start, "found unexpected non-alphabetical character")
        if name not in ("YAML", "TAG"):
            self._fail("while scanning a directive", start, "found unknown directive name")
        return name

    def scan_yaml_directive_value(self, start: Any) -> Any:
        self._skip(" \t")
        major = self._version_number(start)
        if self.peek() != ".":
            self._fail("while scanning a %YAML directive", start, "did not find expected digit or '.' character")
        self.forward()
        minor = self._version_number(start)
        # The parser rejects version 0.
        return (1, minor) if (major, minor) in ((1, 1), (1, 2)) else (0, minor)

    def _version_number(self, start: Any) -> int:
        digits: str = _DIGITS.match(self.buffer, self.index)[0]  # type: ignore[index]
        if not 0 < len(digits) < 10:
            self.forward(min(len(digits), 9))
            long = "found extremely long version number" if digits else "did not find expected version number"
            self._fail("while scanning a %YAML directive", start, long)
        self.forward(len(digits))
        return int(digits)

    def scan_directive_ignored_line(self, start: Any) -> None:
        self._skip(" \t")
        if self.peek() == "#":
            self._skip_line()
        if self.peek() not in _BREAKS + "\0":
            self._fail("while scanning a directive", start, "did not find expected comment or line break")
        self.scan_line_break()

    def _word(self) -> str:
        word: str = _WORD.match(self.buffer, self.index)[0]  # type: ignore[index]
        self.forward(len(word))
        return word

    def scan_anchor(self, kind: Any) -> Any:
        start = self.get_mark()
        self.forward()
        name = self._word()
        if not name or self.peek() not in _BLANKZ + "?:,]}%@`":
            what = "alias" if kind is AliasToken else "anchor"
            self._fail(f"while scanning an {what}", start, "did not find expected alphabetic or numeric character")
        return kind(name, start, self.get_mark())

    def scan_tag(self) -> Any:
        start = self.get_mark()
        if self.peek(1) == "<":
            self.forward(2)
            handle, suffix = None, self.scan_tag_uri("tag", start)
            if self.peek() != ">":
                self._fail("while scanning a tag", start, "did not find the expected '>'")
            self.forward()
        else:
            self.forward()
            word = self._word()
            if self.peek() == "!":
                self.forward()
                handle, suffix = f"!{word}!", self.scan_tag_uri("tag", start)
            else:
                handle, suffix = "!", self.scan_tag_uri("tag", start, word, least=0)
                if not suffix:
                    handle, suffix = None, "!"
        if self.peek() not in _BLANKZ:
            self._fail("while scanning a tag", start, "did not find expected whitespace or line break")
        return TagToken((handle, suffix), start, self.get_mark())

    def scan_tag_uri(self, _name: str, start: Any, head: str = "", least: int = 1) -> str:
        found: str = _URI.match(self.buffer, self.index)[0]  # type: ignore[index]
        self.forward(len(found))
        if self.peek() == "%":
            self._fail("while parsing a tag", start, "did not find URI escaped octet")
        if len(head + found) < least:
            self._fail("while parsing a tag", start, "did not find expected tag URI")
        return head + found

    def scan_block_scalar(self, style: str, rt: bool | None = False) -> Any:  # noqa: ARG002
        start = self.get_mark()
        header = _BLOCK_HEADER.match(self.buffer, self.index + 1)
        assert header is not None
        if "0" in header[0]:
            self.forward(header[0].index("0") + 1)
            self._fail("while scanning a block scalar", start, "found an indentation indicator equal to 0")
        self.forward(1 + len(header[0]))
        self._skip(" \t")
        if self.peek() == "#":
            self._skip_line()
        if self.peek() not in _BREAKS + "\0":
            self._fail("while scanning a block scalar", start, "did not find expected comment or line break")
        self.scan_line_break()
        digits = header[0].strip("+-")
        indent = max(self.indent, 0) + int(digits) if digits else 0
        return self._block_scalar(style, start, indent, header[0].strip(digits) if digits else header[0])

    def _block_scalar(self, style: str, start: Any, indent: int, chomping: str) -> Any:
        chunks: list[str] = []
        line_break, after_blank = "", False
        indent, breaks, end = self._block_breaks(indent, start)
        while self.column == indent and self.peek() != "\0":
            blank = self.peek() in " \t"
            if style == ">" and line_break == "\n" and not after_blank and not blank:
                chunks.append("" if breaks else " ")
            else:
                chunks.append(line_break)
            chunks.append(breaks)
            after_blank = blank
            first = self.index
            self._skip_line()
            chunks.append(self.buffer[first : self.index])
            line_break = self.scan_line_break()
            indent, breaks, end = self._block_breaks(indent, start)
        if chomping != "-":
            chunks.append(line_break)
        if chomping == "+":
            chunks.append(breaks)
        return ScalarToken("".join(chunks), False, start, end, style)

    def _block_breaks(self, indent: int, start: Any) -> tuple[int, str, Any]:
        """Scan the empty lines of a block scalar; return its indentation, found if unknown, the line breaks and their end."""
        breaks, deepest, end = "", 0, self.get_mark()
        while True:
            while (not indent or self.column < indent) and self.peek() == " ":
                self.forward()
            deepest = max(deepest, self.column)
            if (not indent or self.column < indent) and self.peek() == "\t":
                self._fail("while scanning a block scalar", start, "found a tab character where an indentation space is expected")
            line_break = self.scan_line_break()
            if not line_break:
                return indent or max(deepest, self.indent + 1, 1), breaks, end
            breaks += line_break
            end = self.get_mark()

    def scan_flow_scalar(self, style: str) -> Any:
        start = self.get_mark()
        self.forward()
        plainly = _IN_SINGLE if style == "'" else _IN_DOUBLE
        chunks: list[str] = []
        while True:
            if self._at_indicator():
                self._fail("while scanning a quoted scalar", start, "found unexpected document indicator")
            if self.peek() == "\0":
                self._fail("while scanning a quoted scalar", start, "found unexpected end of stream")
            joined = False
            while True:
                run: str = plainly.match(self.buffer, self.index)[0]  # type: ignore[index]
                self.forward(len(run))
                chunks.append(run.replace("''", "'") if style == "'" else run)
                if self.peek() != "\\" or style == "'":
                    break
                if self.peek(1) in _BREAKS:
                    self.forward()
                    self.scan_line_break()
                    joined = True
                    break
                chunks.append(self._escaped(start))
            if not joined and self.peek() == style:
                break
            chunks.append(self._folded_blanks(start, joined=joined))
        self.forward()
        return ScalarToken("".join(chunks), False, start, self.get_mark(), style)

    def _folded_blanks(self, start: Any, *, joined: bool = False, indent: int = 0) -> str:
        """Return spaces and breaks inside a scalar after folding; ``joined`` if they follow an escaped break.

        A tab is not allowed in the first ``indent`` columns of a line after the first.
        """
        first = self.index
        if not joined:
            self._skip(" \t")
        blanks = self.buffer[first : self.index]
        line_break = "" if joined else self.scan_line_break()
        if not line_break and not joined:
            return blanks
        breaks = ""
        while True:
            self._skip(" ")
            if self.peek() == "\t":
                if self.column < indent:
                    self._fail("while scanning a plain scalar", start, "found a tab character that violates indentation")
                self.forward()
                continue
            more = self.scan_line_break()
            if not more:
                return (breaks or " ") if line_break == "\n" else line_break + breaks
            breaks += more

    def _escaped(self, start: Any) -> str:
        """Return the value of an escape."""
        kind = self.peek(1)
        length = self.ESCAPE_CODES.get(kind)
        if length is None:
            if kind not in self.ESCAPE_REPLACEMENTS:
                self._fail("while parsing a quoted scalar", start, "found unknown escape character")
            self.forward(2)
            return str(self.ESCAPE_REPLACEMENTS[kind])
        self.forward(2)
        digits = self.prefix(length)
        if _HEXADECIMAL.fullmatch(digits) is None:
            self._fail("while parsing a quoted scalar", start, "did not find expected hexdecimal number")
        code = int(digits, 16)
        if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
            self._fail("while parsing a quoted scalar", start, "found invalid Unicode character escape code")
        self.forward(length)
        return chr(code)

    def scan_plain(self) -> Any:
        start = end = self.get_mark()
        run_of = _IN_BRACKETS if self.flow_level else _IN_BLOCK
        indent = self.indent + 1
        chunks: list[str] = []
        blanks, broken = "", False
        while not self._at_indicator() and self.peek() != "#":
            run: str = run_of.match(self.buffer, self.index)[0]  # type: ignore[index]
            if run:
                self.forward(len(run))
                end = self.get_mark()
                chunks += (blanks, run)
                broken = False
            if self.flow_level and self.peek() == ":" and self.peek(1) not in _BLANKZ:
                self._fail("while scanning a plain scalar", start, "found unexpected ':'")
            if self.peek() not in " \t" + _BREAKS:
                break
            line = self.line
            blanks = self._folded_blanks(start, indent=indent)
            broken = self.line > line
            if not self.flow_level and self.column < indent:
                break
        if broken:
            self.allow_simple_key = True
        return ScalarToken("".join(chunks), True, start, end)

    # The parser.

    def parse_document_end(self) -> Any:
        token = self.scanner.peek_token()
        start = end = token.start_mark
        explicit = self.scanner.check_token(DocumentEndToken)
        if explicit:
            end = self.scanner.get_token().end_mark
        self.state = self.parse_document_start
        return DocumentEndEvent(start, end, explicit=explicit)

    def parse_node(self, block: bool = False, indentless_sequence: bool = False) -> Any:
        first = self.scanner.peek_token()
        event = super().parse_node(block, indentless_sequence)
        if type(first) is TagToken:
            event.start_mark = first.start_mark  # Not that of an anchor after it.
            if type(event) is ScalarEvent and event.tag == "!" and not event.value and event.style is None:
                event.implicit = (False, False)  # The tag has an empty value.
        return event

    def process_empty_scalar(self, mark: Any, comment: Any = None) -> Any:
        if self.state.__name__.startswith("parse_flow_"):
            mark = self.scanner.peek_token().start_mark  # In brackets: before the next token, not after the previous one.
        return super().process_empty_scalar(mark, comment)

    def parse_block_mapping_value(self) -> Any:
        self.state = self.parse_block_mapping_key
        token = self.scanner.peek_token()
        if not self.scanner.check_token(ValueToken):
            return self.process_empty_scalar(token.start_mark)
        self.scanner.get_token()
        if self.scanner.check_token(KeyToken, ValueToken, BlockEndToken):
            return self.process_empty_scalar(token.end_mark)
        self.states.append(self.parse_block_mapping_key)
        return self.parse_block_node_or_indentless_sequence()


def _decoded(raw_bytes: bytes) -> str:
    """Decode the text without its byte order mark. Raises ReaderError, with an offset in bytes, for invalid characters."""
    raw_bytes = raw_bytes.removeprefix(b"\xef\xbb\xbf")
    try:
        text, wrong = raw_bytes.decode(), None
    except UnicodeDecodeError as error:
        text, wrong = raw_bytes[: error.start].decode(), error
    forbidden = _FORBIDDEN.search(text)
    if forbidden is not None:
        offset = len(text[: forbidden.start()].encode())
        raise ReaderError("<byte string>", offset, ord(forbidden[0]), "utf-8", "control characters are not allowed")
    if wrong is not None:
        after = raw_bytes[wrong.end : wrong.end + 1]
        # If a continuation byte is invalid, libyaml reports that byte, else the first one.
        inside = wrong.reason == "invalid continuation byte" and not b"\x80" <= after < b"\xc0"
        reason = "invalid trailing UTF-8 octet" if inside else "invalid leading UTF-8 octet"
        raise ReaderError("<byte string>", wrong.end if inside else wrong.start, raw_bytes[wrong.start], "utf-8", reason)
    return text


# The beginnings of messages of inherited functions, and libyaml's messages.
_WORDS = {
    "expected ' '": "did not find expected whitespace",
    "expected '!'": "did not find expected '!'",
    "found character": "found character that cannot start any token",
    "sequence entries": "block sequence entries are not allowed in this context",
    "mapping keys": "mapping keys are not allowed in this context",
    "mapping values": "mapping values are not allowed in this context",
    "expected '<document start>'": "did not find expected <document start>",
    "expected ',' or ']'": "did not find expected ',' or ']'",
    "expected ',' or '}'": "did not find expected ',' or '}'",
    "expected the node content": "did not find expected node content",
    "found undefined tag handle": "found undefined tag handle",
    "found duplicate YAML": "found duplicate %YAML directive",
    "found incompatible YAML": "found incompatible YAML document",
    "duplicate tag handle": "found duplicate %TAG directive",
}


def _in_words_of_libyaml(error: MarkedYAMLError) -> str:
    problem = error.problem or ""
    if problem.startswith("expected <block end>"):
        return "did not find expected key" if error.context == "while parsing a block mapping" else "did not find expected '-' indicator"
    return next((words for beginning, words in _WORDS.items() if problem.startswith(beginning)), problem)
