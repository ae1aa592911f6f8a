"""docs/reference.md: every option and every key, in the words of the program and of the schema."""

from __future__ import annotations

from collections.abc import Iterator

from tools.generate import ROOT, GeneratedFile, with_parts

from website import reference

REFERENCE = ROOT / "docs" / "reference.md"
COMMANDS = ("check", "place", "why", "report", "init", "rule", "config", "test", "lsp", "mcp")


def files() -> Iterator[GeneratedFile]:
    """Yield the reference."""
    yield GeneratedFile(REFERENCE, _reference)


def _reference() -> str:
    options = "\n".join(map(_command, COMMANDS))
    parts = {"options": f"\n{options}\n", "keys": f"\n{''.join(reference.keys())}\n"}
    return with_parts(REFERENCE.read_text(encoding="utf-8"), parts)


def _command(name: str) -> str:
    return f"## `afflint {name}`\n\n{reference.about(name)}\n{''.join(reference.options(name))}"
