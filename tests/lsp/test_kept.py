"""After a change, only the changed documents of a file are parsed again, with the same result as a fresh check."""

import random

import pytest

from afflint.pipeline.map_step import Checker, DocumentCache, default_settings
from afflint.yaml import documents
from checkout import ROOT

EXAMPLES = "---\n".join(path.read_text() for path in sorted((ROOT / "examples" / "shop").glob("*.yaml")))
PIECES = (
    "---\n",
    "kind: Pod\n",
    "  - [\n",
    "# afflint: ignore-file\n",
    "    ssd: true\n",
    "\n",
    "{{ if }}\n",
    "x: {a: 1, a: 2}\n",
    "kind: Node\n",
)


@pytest.mark.parametrize("with_nodes", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_result_after_any_changes_is_that_of_a_fresh_check(seed: int, with_nodes: bool) -> None:
    chance = random.Random(seed)
    checker, kept = Checker(default_settings()._replace(inventory=with_nodes)), DocumentCache()
    lines = EXAMPLES.splitlines(keepends=True)
    for _ in range(60):
        number, kind = chance.randrange(len(lines)), chance.randrange(4)
        if kind == 0:
            lines.insert(number, chance.choice(PIECES))
        elif kind == 1 and len(lines) > 10:
            del lines[number]
        elif kind == 2:
            lines[number], lines[-1] = lines[-1], lines[number]
        else:
            lines[number] = lines[number].replace("cart", "orders")
        data = "".join(lines).encode()
        assert checker.check("a.yaml", data, kept) == checker.check("a.yaml", data)


def test_a_keystroke_reads_one_document_again(monkeypatch: pytest.MonkeyPatch) -> None:
    checker, kept = Checker(default_settings()), DocumentCache()
    checker.check("a.yaml", EXAMPLES.encode(), kept)
    read: list[bytes] = []
    original = documents.read

    def counted(piece: bytes, index: int, line: int) -> documents.Document:
        read.append(piece)
        return original(piece, index, line)

    monkeypatch.setattr(documents, "read", counted)
    checker.check("a.yaml", EXAMPLES.replace("ssd: true", 'ssd: "true"').encode(), kept)
    assert len(read) == EXAMPLES.count("ssd: true") == 1
    # Another checker may find something else in the same text.
    read.clear()
    Checker(default_settings(["pinned-node"])).check("a.yaml", EXAMPLES.encode(), kept)
    assert len(read) == EXAMPLES.count("---\n") + 1
