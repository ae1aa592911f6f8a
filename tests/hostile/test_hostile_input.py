"""Input that was made to do harm: a finding where that can be, never a fault, and the rest of the run goes on."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from under_limits import Afflint, Ended

from afflint.report import FORMATS
from deployment_text import deployment

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers: [{name: web, image: "web:1"}]
"""
BAD = POD + "  nodeSelector: {a: 5}\n"
FOUND = "bad.yaml:7:21: error the value of `a` must be a string, but unquoted `5` is a number [wrong-type]"

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files by name; texts in UTF-8."""

    def write(files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return write


@pytest.fixture
def unreadable(afflint: Afflint, write: Write) -> Callable[[str | bytes], str]:
    """Checks a hostile file beside a bad one; gives what is said about the hostile one, and sees to its memory and to the other."""

    def check(content: str | bytes, megabytes: float = 200) -> str:
        write({"a.yaml": content, "bad.yaml": BAD})
        ended = afflint("check", "--no-config", "--format", "concise", ".")
        assert ended.err == ""
        assert ended.code == 1
        assert FOUND in ended.lines
        assert ended.megabytes < megabytes
        [message] = [line for line in ended.lines if line != FOUND]
        return message.removeprefix("a.yaml:")

    return check


def under_spec(text: str) -> str:
    return POD + text


# Bombs.


def test_an_alias_bomb(unreadable: Callable[[str], str]) -> None:
    levels = ["  l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"  l{number}: &l{number} [{', '.join(10 * [f'*l{number - 1}'])}]" for number in range(1, 60)]
    message = unreadable(under_spec("\n".join(levels)))
    assert message.endswith(
        "error excessive aliasing: the aliases expand to far more data than the document contains [unreadable-manifest]"
    )


def test_a_merge_bomb(unreadable: Callable[[str], str]) -> None:
    levels = ["  l0: &l0 {a: b}"]
    levels += [f"  l{number}: &l{number} {{<<: [{', '.join(10 * [f'*l{number - 1}'])}], k{number}: v}}" for number in range(1, 60)]
    assert "excessive aliasing" in unreadable(under_spec("\n".join(levels)))


@pytest.mark.parametrize(
    "text",
    [
        under_spec("  x: " + "[" * 100_000),
        under_spec("  x: " + "[" * 100_000 + "]" * 100_000),
        under_spec("  x: " + "{a: " * 100_000 + "}" * 100_000),
        under_spec("  x: " + "[{a: " * 50_000),
        under_spec("  x: &x " + "[" * 100_000),
        under_spec("  x: [a:b, " + "[" * 100_000),
        under_spec("  x:\n    " + "- " * 100_000 + "x"),
        under_spec("  ? " + "? " * 100_000 + "x"),
        under_spec("  x:\n" + "".join(" " * depth + "x:\n" for depth in range(4, 2_000))),
        under_spec("  x:\r" + "".join(" " * depth + "x:\r" for depth in range(4, 2_000))),
        under_spec("  x:\n" + "".join(" " * depth + "- \n" for depth in range(4, 2_000))),
        '{"kind": "Pod", "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"kind": "Pod", "x": ' + '{"a":' * 100_000 + "1" + "}" * 100_001,
        '{"kind": "Pod", "y": "\\ud83d\\ude00", "x": ' + "[" * 100_000,
    ],
    ids=[
        "open lists", "lists", "maps", "lists of maps", "with an anchor", "behind a colon", "dashes", "question marks", "indented",
        "indented with CR", "indented lists", "JSON lists", "JSON objects", "behind surrogates",
    ],
)  # fmt: skip
def test_nesting_without_end(unreadable: Callable[[str], str], text: str) -> None:
    assert unreadable(text).endswith("error nested more than 300 levels deep [unreadable-manifest]")


def test_an_anchor_in_itself(unreadable: Callable[[str], str]) -> None:
    assert unreadable(under_spec("  x: &x {y: *x}\n")) == "7:6: error an anchor that contains itself [unreadable-manifest]"


def test_a_key_that_is_a_map(unreadable: Callable[[str], str]) -> None:
    assert unreadable(under_spec("  {a: b}: c\n")).startswith("7:3: error a key that is a list or a map")
    assert unreadable(under_spec("  ? [a]\n  : c\n")).startswith("7:5: error a key that is a list or a map")


# Bytes.


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (under_spec("  x: a\0b\n"), "7:7: error a control character, which YAML does not allow"),
        (under_spec("  x: \x1b[31m\n"), "7:6: error a control character, which YAML does not allow"),
        (POD.encode() + b"  x: caf\xe9\n", "7:9: error bytes that are not valid UTF-8"),
        (POD.encode() + b"  x: \xed\xa0\x80\n", "7:6: error bytes that are not valid UTF-8"),
        (under_spec('  x: "\\ud800"\n'), "7:9: error an escape that is not a Unicode character"),
        (under_spec("\tx: y\n"), "7:1: error a tab, which YAML does not allow as indentation; use spaces"),
        (BAD.encode("utf-16") + b"\0", "1:1: error broken UTF-16: truncated data"),
        (b"\xff\xfe" + "kind: Pod\n".encode("utf-16-le") + b"\0\xd8\0\0", "1:1: error broken UTF-16: illegal UTF-16 surrogate"),
    ],
    ids=["NUL", "escape", "Latin-1", "surrogate", "escaped surrogate", "tab", "half a unit of UTF-16", "half a pair of UTF-16"],
)
def test_bytes_that_are_not_a_manifest(unreadable: Callable[[str | bytes], str], content: str | bytes, message: str) -> None:
    assert unreadable(content) == f"{message} [unreadable-manifest]"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_bytes_that_are_a_manifest_nevertheless(afflint: Afflint, write: Write, encoding: str, newline: str) -> None:
    write({"bad.yaml": ("# \U0001f600\n" + BAD).replace("\n", newline).encode(encoding)})
    ended = afflint("check", "--no-config", "--format", "concise", "bad.yaml")
    assert (ended.code, ended.lines) == (1, [FOUND.replace(":7:", ":8:")])


def test_surrogates_in_json_may_be_unpaired(afflint: Afflint, write: Write) -> None:
    write(
        {"a.json": json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"a": "\ud800", "b": "\U0001f600"}}})}
    )
    ended = afflint("check", "--no-config", "--format", "concise", ".")
    assert (ended.code, [line.split(": ", 1)[0] for line in ended.lines]) == (1, ["a.json:1:79", "a.json:1:94"])
    assert "`\ufffd` is not a valid label value" in ended.lines[0]


# Size.


@pytest.mark.parametrize("kind", ["documents", "a list", "a text"])
def test_sixteen_megabytes(afflint: Afflint, write: Write, kind: str) -> None:
    note = "  annotations:\n    note: |\n" + 240 * "      a line of text that is there to take its place, and nothing else\n"
    large = BAD.replace("  name: web\n", f"  name: web\n{note}")
    count = 16_000_000 // len(large)
    if kind == "documents":
        content = "---\n".join(count * [large])
    elif kind == "a list":
        content = "apiVersion: v1\nitems:\n" + count * ("- " + large.replace("\n", "\n  ")[:-2]) + "kind: List\n"
    else:
        count, content = 1, BAD.replace("  name: web\n", "  name: web\n  annotations: {note: '" + 16_000_000 * "x" + "'}\n")
    write({"a.yaml": content})
    ended = afflint("check", "--no-config", "--format", "concise", "a.yaml", megabytes=350)
    assert (ended.code, ended.err) == (1, "")
    assert sum("[wrong-type]" in line for line in ended.lines) == count


def test_a_document_of_millions_of_values(unreadable: Callable[..., str]) -> None:
    message = unreadable(under_spec("  x: [" + 3_000_000 * "1," + "]\n"))
    assert message.startswith("1:1: error the document is too large; split it")


def test_a_file_that_is_too_large(afflint: Afflint, tmp_path: Path, write: Write) -> None:
    with open(tmp_path / "a.yaml", "wb") as file:
        file.truncate(2**40)
    write({"bad.yaml": BAD})
    ended = afflint("check", "--no-config", "--format", "concise", ".")
    assert (ended.code, ended.lines) == (1, ["a.yaml:1:1: error cannot be read: larger than 256 MB [unreadable-manifest]", FOUND])


def test_tiny_documents_without_number(afflint: Afflint, write: Write) -> None:
    seconds = {}
    for _ in range(4):  # The machine may have had something else to do.
        for count in (10_000, 20_000):
            write({"a.yaml": "---\n".join(count * ["kind: Pod\n"])})
            ended = afflint("check", "--no-config", "a.yaml")
            assert (ended.code, ended.lines[-1]) == (0, f"No findings. Read {count} documents in 1 file.")
            assert ended.megabytes < 200
            seconds[count] = ended.seconds
        if seconds[20_000] < 3 * seconds[10_000]:
            return
    pytest.fail(f"more than twice the time for twice the documents: {seconds}")


def test_an_empty_file_and_one_of_blanks(afflint: Afflint, write: Write) -> None:
    write({"a.yaml": "", "b.yaml": 1_000_000 * " ", "c.yaml": 1_000_000 * "\n", "d.yaml": 100_000 * "---\n", "e.yaml": 1_000_000 * "#"})
    ended = afflint("check", "--no-config", ".")
    assert (ended.code, ended.err) == (0, "")


# Texts that are to be shown.

ESCAPES = '"\\e[31mred\\e[0m\\a\\r\\n\\u202egnp.exe ]]> <b> & \\u2028 ::error::x %0A \\x85"'
NASTY = f"""\
apiVersion: v1
kind: Pod
metadata:
  name: {ESCAPES}
  namespace: {ESCAPES}
  labels: {{{ESCAPES}: {ESCAPES}}}
spec:
  {ESCAPES}: x
  nodeSelector: {{{ESCAPES}: {ESCAPES}}}
  tolerations: [{{key: {ESCAPES}, operator: {ESCAPES}, effect: {ESCAPES}}}]
  containers: [{{name: web, image: "web:1"}}]
# afflint: ignore[{ESCAPES}]
# afflint: \u202e\u200b\ufeff
"""


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("arguments", [[], ["--verbose"], ["--color", "always"]], ids=lambda each: "".join(each[:1]))
def test_nothing_that_a_terminal_obeys_comes_out(afflint: Afflint, tmp_path: Path, form: str, arguments: list[str]) -> None:
    for name in ("\x1b[2J.yaml", "a\nb.yaml", "\u202e.yaml"):
        (tmp_path / name).write_text(NASTY, encoding="utf-8")
    ended = afflint("check", "--no-config", "--format", form, *arguments, ".")
    assert (ended.code, ended.err) == (1, "")
    shown = ended.out
    if "--color" in arguments:  # These are our own.
        for style in ("0", "1", "1;31", "1;32", "1;33", "1;34", "1;36"):
            shown = shown.replace(f"\x1b[{style}m", "")
    odd = {character for character in shown if not character.isprintable()} - {"\n"}
    assert odd == set()
    if form == "github":
        assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in ended.lines)
    if form == "concise":
        assert all(line.count(".yaml:") == 1 for line in ended.lines)


@pytest.mark.parametrize("arguments", [["--statistics"], ["--show-files"]], ids=str)
def test_lists_are_not_better(afflint: Afflint, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "\x1b[2J\n\u202e.yaml").write_text(NASTY, encoding="utf-8")
    ended = afflint("check", "--no-config", *arguments, ".")
    assert ended.code in (0, 1)
    assert {character for character in ended.out + ended.err if not character.isprintable()} <= {"\n"}


def test_reports_hold_whatever_names_and_values_hold(afflint: Afflint, write: Write) -> None:
    write({"a.yaml": NASTY})
    for form in ("json", "sarif", "gitlab"):
        json.loads(afflint("check", "--no-config", "--format", form, ".").out)
    suites = ElementTree.fromstring(afflint("check", "--no-config", "--format", "junit", ".").out)
    assert "]]>" in "".join(suites.itertext())


def test_a_configuration_is_not_better(afflint: Afflint, write: Write) -> None:
    write({".afflint.yaml": f"{ESCAPES}: {ESCAPES}\n"})
    ended = afflint("check", ".")
    assert ended.code == 2
    assert {character for character in ended.err if not character.isprintable()} <= {"\n"}


# Files.


def test_names_in_no_encoding(afflint: Afflint, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9\n.yaml"
    try:
        with open(name, "wb") as file:
            file.write(BAD.encode())
    except OSError:
        pytest.skip("this file system takes only names in UTF-8")
    for form in FORMATS:
        ended = afflint("check", "--no-config", "--format", form, ".")
        assert (ended.code, ended.err) == (1, ""), form
        assert "wrong-type" in ended.out
    assert afflint("check", "--show-files", ".").lines == ["caf\\udce9\\n.yaml"]
    assert afflint("check", "--no-config", "-q", b"caf\xe9\n.yaml").code == 1
    assert afflint("check", "--no-config", "-q", b"caf\xe8.yaml").code == 2


def test_loops_of_links(afflint: Afflint, tmp_path: Path, write: Write) -> None:
    write({"bad.yaml": BAD})
    os.symlink(".", tmp_path / "self")
    os.symlink("loop.yaml", tmp_path / "loop.yaml")
    os.symlink("nowhere", tmp_path / "broken.yaml")
    ended = afflint("check", "--no-config", "--format", "concise", ".")
    assert (ended.code, ended.lines) == (1, [FOUND])
    ended = afflint("check", "--no-config", "--format", "concise", "loop.yaml", "broken.yaml", "bad.yaml")
    assert (ended.code, ended.lines) == (
        1,
        [
            FOUND,
            "broken.yaml:1:1: error cannot be read: No such file or directory [unreadable-manifest]",
            "loop.yaml:1:1: error cannot be read: Too many levels of symbolic links [unreadable-manifest]",
        ],
    )


def test_pipes_and_devices_in_folders(afflint: Afflint, tmp_path: Path, write: Write) -> None:
    write({"bad.yaml": BAD})
    os.mkfifo(tmp_path / "pipe.yaml")
    os.mkfifo(tmp_path / ".gitignore")
    if os.path.exists("/dev/zero"):
        os.symlink("/dev/zero", tmp_path / "endless.yaml")
    ended = afflint("check", "--no-config", "--format", "concise", ".")
    assert (ended.code, ended.lines) == (1, [FOUND])


def test_folders_and_files_without_permission(afflint: Afflint, tmp_path: Path, write: Write) -> None:
    if os.geteuid() == 0:
        pytest.skip("nothing is forbidden to root")
    write({"bad.yaml": BAD, "secret.yaml": BAD})
    (tmp_path / "folder").mkdir(mode=0)
    (tmp_path / "secret.yaml").chmod(0)
    ended = afflint("check", "--no-config", "--format", "concise", ".")
    (tmp_path / "folder").chmod(0o700)
    assert ended.code == 1
    assert FOUND in ended.lines
    assert sum("cannot be read: Permission denied" in line for line in ended.lines) == 2


def test_closed_standard_input(afflint: Afflint) -> None:
    ended = afflint("check", "--no-config", "--format", "concise", "-", stdin=None, closed=True)
    assert (ended.code, ended.err) == (1, "")
    assert ended.lines == ["<stdin>:1:1: error cannot be read: standard input is closed [unreadable-manifest]"]


def test_a_gitignore_of_nonsense(afflint: Afflint, write: Write) -> None:
    write({"bad.yaml": BAD, "b.yaml": BAD, ".gitignore": b"!\n\\\n[z-a]\n[[:alpha:]\n\xff\nb.yaml\nx\\\n"})
    ended = afflint("check", "--no-config", "--format", "concise", ".")
    assert (ended.code, ended.lines, ended.err) == (1, [FOUND], "")


def test_all_of_it_in_one_run(afflint: Afflint, write: Write) -> None:
    hostile: dict[str, str | bytes] = {
        "a1.yaml": under_spec("  x: " + "[" * 100_000),
        "a2.yaml": under_spec("  x: a\0b\n"),
        "a3.yaml": BAD.encode("utf-16") + b"\0",
        "a4.yaml": under_spec("  x: &x {y: *x}\n"),
        "a5.yaml": POD.encode() + b"  x: \xff\n",
        "a6.json": "[" * 100_000,
        "a7.yaml": f"kind: Pod\n--- {POD}",
        "a8.yaml": "\0" * 1000,
    }
    write({**hostile, "bad.yaml": BAD})
    one = afflint("check", "--no-config", "--format", "json", "--jobs", "1", ".")
    two = afflint("check", "--no-config", "--format", "json", "--jobs", "2", ".")
    assert one.code == two.code == 1
    assert one.out == two.out
    findings = json.loads(one.out)["findings"]
    assert [(each["file"], each["rule"]) for each in findings if each["file"] == "bad.yaml"] == [("bad.yaml", "wrong-type")]
    assert {each["rule"] for each in findings if each["file"] != "bad.yaml"} == {"unreadable-manifest"}


# While afflint looks.


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Ended]:
    """The command line in this process, where what happens between two reads can be arranged."""
    from afflint import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gc.disable", lambda: None)

    def run(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["afflint", *words])
        code = cli._exit_code()
        out, err = capsys.readouterr()
        return Ended(code, out, err, 0, 0)

    return run


def after(reads: int, happen: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls a function after a number of files have been read."""
    from afflint.source import sources

    read, count = sources.read_bytes, [0]

    def counting(source: Any) -> bytes:
        count[0] += 1
        if count[0] == reads + 1:
            happen()
        return read(source)

    monkeypatch.setattr("afflint.pipeline.run.read_bytes", counting)
    monkeypatch.setattr("afflint.pipeline.definitions.read_bytes", counting)
    monkeypatch.setattr("afflint.pipeline.mapping.read_bytes", counting)
    monkeypatch.setattr("afflint.source.sources.read_bytes", counting)


DEPLOYMENT = deployment('{containers: [{name: web, image: "web:1"}]}', namespace="shop", metadata="labels: {tier: front}")
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {selector: {tier: front}, ports: [{port: 80}]}\n"


@pytest.mark.parametrize("content", [None, b"", b"\0\xff", b"a: [", b"- 1\n- 2\n", b"kind: Pod\n", POD.encode()[:30]])
@pytest.mark.parametrize("form", ["text", "json"])
def test_files_that_change_or_vanish_between_two_looks(
    main: Callable[..., Ended], write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, form: str
) -> None:
    write({"a.yaml": DEPLOYMENT, "b.yaml": SERVICE, "bad.yaml": BAD})

    def change() -> None:
        for file in tmp_path.iterdir():
            if content is None:
                file.unlink()
            else:
                file.write_bytes(content)

    after(3, change, monkeypatch)
    ended = main("check", "--no-config", "--format", form, ".")
    assert (ended.code, ended.err) == (1, "")
    assert "label-not-on-template" in ended.out
    assert "wrong-type" in ended.out


def test_files_that_vanish_before_they_are_read(
    main: Callable[..., Ended], write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"a.yaml": DEPLOYMENT, "b.yaml": SERVICE, "bad.yaml": BAD})
    after(1, (tmp_path / "b.yaml").unlink, monkeypatch)
    ended = main("check", "--no-config", "--format", "concise", ".")
    assert ended.code == 1
    assert ended.lines == ["b.yaml:1:1: error cannot be read: No such file or directory [unreadable-manifest]", FOUND]
