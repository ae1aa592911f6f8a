"""Plain English stays plain: the words that docs/glossary.md says to avoid do not occur, and a class name means one thing."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "afflint"
GLOSSARY = ROOT / "docs" / "glossary.md"
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "rules").rglob("*.md")),
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")),
]
MODULES = sorted(SOURCE.rglob("*.py"))
COMMENTED = [ROOT / "pyproject.toml", *(ROOT / ".ci" / name for name in ("lock", "run", "tools"))]
"""Files with comments after ``#`` that are not in Python."""
SCHEMAS = sorted((ROOT / "schemas").glob("*.schema.json"))


_ROW = re.compile(r"^\| (?P<avoid>[^|]+) \| [^|]+ \|$", re.MULTILINE)
_QUOTED = re.compile(r"``[^`]*``|`[^`]*`|\"[^\"\n]*\"|“[^”]*”")
# What is not prose on a page: front matter, fences, and the targets of links.
_NOT_PROSE = re.compile(
    r"\A---\n.*?\n---\n|^(?P<fence>```+|~~~+).*?^(?P=fence)|\]\([^)]*\)|<[^>\s]+>|https?://\S+", re.MULTILINE | re.DOTALL
)
_AVOIDED_IN_NAMES = frozenset(["told", "said", "mended", "mend", "anew", "nobody", "whoever", "affair", "sayings"])


@cache
def avoided_words() -> re.Pattern[str]:
    """Finds each word and phrase in the first column of the table in the glossary; "there is no" and "stand-in" are English."""
    table = GLOSSARY.read_text(encoding="utf-8").partition("## Words to avoid")[2]
    rows = [re.sub(r" \(.*?\)", "", row["avoid"]) for row in _ROW.finditer(table)]
    words = [word.strip() for row in rows for word in row.split(",") if row not in ("avoid", "---")]
    return re.compile(rf"\b(?<!there )(?:{'|'.join(map(re.escape, words))})\b(?! longer|-in\b)", re.IGNORECASE)


def prose_of_module(path: Path) -> Iterator[tuple[int, str]]:
    """Comments and texts, docstrings among them, with the lines on which they begin."""
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def prose_of_page(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page without its examples, reports, code and link targets."""
    text = path.read_text(encoding="utf-8")
    if path == GLOSSARY:
        text = text.partition("## Words to avoid")[0]
    yield from enumerate(_NOT_PROSE.sub(lambda match: "\n" * match[0].count("\n"), text).splitlines(), 1)


def comments_in(path: Path) -> Iterator[tuple[int, str]]:
    """The comments of a shell script or TOML file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        yield number, line.partition("# ")[2]


def avoided(path: Path) -> list[str]:
    """Where a file uses a word to avoid, outside quotations and code."""
    prose = {".py": prose_of_module, ".md": prose_of_page}.get(path.suffix, comments_in)(path)
    found = [(line, match[0]) for line, text in prose for match in avoided_words().finditer(_QUOTED.sub("", text))]
    return [f"{path.relative_to(ROOT)}:{line}: {word}" for line, word in found]


def avoided_names(path: Path) -> list[str]:
    """The names of classes, functions, parameters and variables in a module that have a word to avoid; those of tests are phrases."""
    names = list(names_in(path))
    words = [f"{line}: {name}" for line, name in names if _AVOIDED_IN_NAMES & {*name.lower().split("_")}]
    return words + [
        f"{line}: {name}" for line, name in names if name.startswith("test_") and avoided_words().search(name.replace("_", " "))
    ]


def names_in(path: Path) -> Iterator[tuple[int, str]]:
    """The names that a module gives: of classes, functions, parameters and variables."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_use_the_words_of_the_glossary(path: Path) -> None:
    assert avoided(path) == []


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_schemas_use_the_words_of_the_glossary(path: Path) -> None:
    texts = re.findall(r'"(?:description|title)": "([^"]*)"', path.read_text(encoding="utf-8"))
    assert [text for text in texts if avoided_words().search(_QUOTED.sub("", text))] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_modules_use_the_words_of_the_glossary(path: Path) -> None:
    assert avoided(path) == []
    assert avoided_names(path) == []


@pytest.mark.parametrize("folder", ["tests", "tools", "bench", "website", "playground", ".ci"])
def test_tests_and_tools_use_the_words_of_the_glossary(folder: str) -> None:
    paths = sorted({*(ROOT / folder).rglob("*.py")} - {Path(__file__)})
    assert paths
    assert {str(path.relative_to(ROOT)): found for path in paths if (found := avoided(path) + avoided_names(path))} == {}


@pytest.mark.parametrize("path", COMMENTED, ids=lambda path: path.name)
def test_comments_of_other_files_use_the_words_of_the_glossary(path: Path) -> None:
    assert any(text for _, text in comments_in(path))
    assert avoided(path) == []


def test_a_word_to_avoid_is_found() -> None:
    assert [match[0] for match in avoided_words().finditer("Nobody is told that this is no key of which there are so many.")] == [
        "Nobody",
        "told",
        "is no",
        "of which",
        "so many",
    ]


def test_a_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
