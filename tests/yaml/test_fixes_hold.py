"""Every offered fix can be applied: the data changes as intended, the finding is gone, and nothing else changes.

Over recorded cases, real manifests, and generated ones in every style of YAML.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from emitter import Emitter
from hypothesis import event, given, settings
from hypothesis import strategies as st

from afflint import config
from afflint.checks.registry import rules
from afflint.findings.edits import Move, Remove, applied, is_same
from afflint.findings.finding import Finding, identity_of
from afflint.fix.rounds import fix_files
from afflint.pipeline.fixing import apply_fixes
from afflint.pipeline.map_step import fix_checker
from afflint.pipeline.options import Options
from afflint.pipeline.session import Session
from afflint.source.atomic_write import replace_file
from afflint.yaml import documents
from edited import edited
from linting import findings_of, settings_of
from mistaken_manifests import mistaken_manifests
from rule_pages import examples
from shared_material import cases, shared

# What an admission plugin refuses has to be asked for.
NAMES = [rule.name for rule in rules().values() if rule.name != "hard-anti-affinity-topology"]
SETTINGS = settings_of(NAMES)
CHECKER = fix_checker(SETTINGS)


def findings_in(data: bytes) -> list[Finding]:
    return findings_of({"a.yaml": data}, SETTINGS, inline=True)


def all_data(text: str) -> list[Any]:
    return [documents.read(piece, 0, 0).data for piece, _, _ in documents.split(text.encode())]


def is_made(data: bytes, finding: Finding, known: Counter[tuple[object, ...]]) -> bool:
    """Makes one fix alone, and holds it against its edits, its meaning, and what is found afterwards. False where it is refused."""
    assert finding.fix is not None
    result = apply_fixes("a.yaml", data, [finding], CHECKER)
    if not result.made:
        assert (result.refused, result.data) == ((finding,), data)
        return False
    before, after = documents.to_utf8(data).decode(), documents.to_utf8(result.data).decode()
    assert after == edited(before, finding.fix.edits), "nothing but its edits is made"
    if finding.rule != "missing-separator":
        old, new = all_data(before), all_data(after)
        assert len(old) == len(new)
        changed = [number for number in range(len(old)) if not is_same(old[number], new[number])]
        assert len(changed) == bool(finding.fix.meant)
        assert all(is_same(new[number], applied(old[number], finding.fix.meant)) for number in changed)
    assert Counter(map(identity_of, findings_in(result.data)))[identity_of(finding)] < known[identity_of(finding)]
    return True


def made_and_refused(texts: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """How many of the fixes that these texts are offered can be made, and how many not, by their rules."""
    made: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        found = findings_in(data)
        known = Counter(map(identity_of, found))
        for finding in found:
            if finding.fix is not None:
                (made if is_made(data, finding, known) else refused)[finding.rule] += 1
    return made, refused


def test_of_recorded_cases_every_one_is_made() -> None:
    """In each fourth case, and in each example of a rule page."""
    texts = [case["yaml"] for case in cases("validation_cases.jsonl.gz")][::4] + [each.text for each in examples()]
    made, refused = made_and_refused(texts)
    assert {"wrong-type", "unknown-field", "misplaced-constraint", "missing-term-wrapper"} <= made.keys()
    assert refused == Counter()


@pytest.mark.parametrize("unsafe", [False, True])
def test_of_real_manifests_every_one_is_made_and_the_numbers_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unsafe: bool) -> None:
    """What is fixed and what only appears then is the difference between the findings before and after; a second run has nothing to fix."""
    folders = ["plain", "md", "broken"]
    for folder in folders:
        shutil.copytree(shared("corpus", folder), tmp_path / folder, copy_function=shutil.copyfile)
    monkeypatch.chdir(tmp_path)
    session = Session(config.default())
    before = session.check(session.sources(folders), Options()).findings
    offered = [each for each in before if each.fix is not None and (unsafe or each.fix.safe)]
    assert len(offered) > 10
    first = fix_files(session, session.sources(folders), Options(), unsafe=unsafe, tops=folders)
    gone, new = first.compared(first.outcome)
    assert {(each.file, identity_of(each)) for each in offered} <= {(each.file, identity_of(each)) for each in gone}
    assert len(before) - len(gone) + len(new) == len(first.outcome.findings)
    assert [each.rule for each in first.outcome.findings if each.fix is not None and (unsafe or each.fix.safe)] == []
    for change in first.changes:
        replace_file(change.source.path, change.before, change.after)
    second = fix_files(session, session.sources(folders), Options(), unsafe=unsafe, tops=folders)
    assert second.changes == ()
    assert second.outcome.findings == first.outcome.findings


# Generated manifests.


def _with_anchors(text: str) -> str:
    """The text with the first unquoted ``web`` at the end of a line under an anchor, and the others as aliases for it."""
    words = re.compile(r"(?<=[:-] )web(?=[ \t]*(?:#[^\r\n]*)?[\r\n])")
    first = words.search(text)
    if first is None:
        return text
    return text[: first.start()] + "&w web" + words.sub("*w", text[first.end() :])


@settings(deadline=None, max_examples=150)
@given(st.lists(mistaken_manifests(), min_size=1, max_size=2), st.sampled_from(["\n", "\n", "\r\n"]), st.data())
def test_of_generated_manifests_every_one_holds_in_every_style(generated: list[dict[str, Any]], newline: str, data: st.DataObject) -> None:
    written = [Emitter(data.draw, newline).document(each) for each in generated]
    if data.draw(st.booleans()):
        written = [_with_anchors(each) for each in written]
    text = f"---{newline}".join(written)
    if data.draw(st.booleans()):
        text = text.replace("  # \u00e9", "\t# \u00e9")
    if data.draw(st.booleans()):
        text = text.rstrip("\r\n")
    if data.draw(st.booleans()):
        text += f"{'' if text.endswith(newline) else newline}# afflint: ignore[wrong-type] -- once"
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-be"]))
    before = text.encode(encoding)
    found = findings_in(before)
    known = Counter(map(identity_of, found))
    offered = [each for each in found if each.fix is not None]
    for finding in offered:
        event(finding.rule)
        assert is_made(before, finding, known)

    # All of them, until nothing is left.
    refused: set[object] = set()
    removals, moves, after = 0, 0, before
    for _ in range(30):
        left = [each for each in findings_in(after) if each.fix is not None and identity_of(each) not in refused]
        result = apply_fixes("a.yaml", after, left, CHECKER)
        refused.update(map(identity_of, result.refused))
        moves += sum(isinstance(edit, Move) for each in result.made if each.fix for edit in each.fix.meant)
        removals += sum(
            each.rule == "unused-suppression" or any(isinstance(edit, Remove) for edit in each.fix.meant)
            for each in result.made
            if each.fix
        )
        after = result.data
        if not result.made:
            break
    else:
        pytest.fail("it never ends")
    again = after.decode(encoding)
    assert again.encode(encoding) == after
    assert removals or again.count("#") == text.count("#"), "comments stay"
    assert newline == "\n" or "\n" not in again.replace("\r\n", ""), "line ends stay"
    # What stood last, without a line break, may have been moved away: then the line before it ends the file.
    assert removals or moves or again.endswith("\n") == text.endswith("\n")
