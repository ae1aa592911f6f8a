"""What goes to standard output: the same bytes on every system, where no person reads them."""

import io

import pytest

from afflint.cli.output import prepare


def printed(text: str, *, windows: bool, encoding: str = "cp1252") -> bytes:
    """What a stream with an encoding and with the line ends of Windows makes of a text."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\r\n")
    prepare(stream, windows=windows)
    stream.write(text)
    stream.flush()
    return raw.getvalue()


def test_on_windows_a_pipe_gets_utf8_and_plain_line_ends() -> None:
    assert printed("zone: Zürich 日本\n", windows=True) == "zone: Zürich 日本\n".encode()


def test_elsewhere_the_encoding_of_the_system_holds_and_what_it_lacks_is_escaped() -> None:
    assert printed("日本 ü\n", windows=False, encoding="ascii") == b"\\u65e5\\u672c \\xfc\r\n"


def test_an_encoding_that_is_asked_for_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    assert printed("ü 日\n", windows=True) == b"\xfc \\u65e5\r\n"


def test_a_stream_that_cannot_be_changed_stays(capsys: pytest.CaptureFixture[str]) -> None:
    prepare(io.StringIO(), windows=True)
    assert capsys.readouterr() == ("", "")
