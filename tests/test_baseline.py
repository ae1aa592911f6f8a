"""A baseline keeps old findings silent by rule, object and field, whatever happens to the lines around them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint import baseline
from afflint.baseline import BaselineError, Entry
from afflint.engine import default_settings
from afflint.findings import NO_OBJECT, Finding, ObjectRef, Span
from afflint.reading.sources import Source
from afflint.session.run import Options, Outcome, run

TWO_WEIGHTS = """\
apiVersion: v1
kind: Pod
metadata: {name: till, namespace: shop}
spec:
  affinity:
    nodeAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 150
          preference: {matchExpressions: [{key: disk, operator: Exists}]}
        - weight: 0
          preference: {matchExpressions: [{key: gpu, operator: Exists}]}
  containers: [{name: till, image: "nginx:1.27"}]
"""


def check(text: str, known: Counter[Entry] | None = None) -> Outcome:
    return run([Source("till.yaml", "till.yaml", text.encode())], default_settings(), Options(baseline=known))


def written(outcome: Outcome, folder: Path) -> Counter[Entry]:
    path = folder / "baseline.json"
    path.write_text(baseline.dump(outcome.findings))
    return baseline.load(str(path))


def test_what_was_there_is_silent_even_on_other_lines(tmp_path: Path) -> None:
    known = written(check(TWO_WEIGHTS), tmp_path)
    later = check("# a comment\n# and another\n" + TWO_WEIGHTS, known)
    assert later.findings == []
    assert later.summary.suppressed == 2
    assert later.gone == 0


def test_of_several_alike_as_many_are_silent_as_there_were(tmp_path: Path) -> None:
    known = written(check(f"{TWO_WEIGHTS}---\n{TWO_WEIGHTS}"), tmp_path)
    assert sorted(known.values()) == [2, 2]
    later = check("---\n".join([TWO_WEIGHTS] * 3), known)
    assert [finding.span.line for finding in later.findings] == [34, 36]
    assert (later.summary.suppressed, later.gone) == (4, 0)


def test_what_is_new_is_reported(tmp_path: Path) -> None:
    known = written(check(TWO_WEIGHTS.replace("weight: 0", "weight: 5")), tmp_path)
    assert [finding.span.line for finding in check(TWO_WEIGHTS, known).findings] == [10]


def test_the_same_mistake_in_another_object_is_new(tmp_path: Path) -> None:
    known = written(check(TWO_WEIGHTS), tmp_path)
    assert len(check(TWO_WEIGHTS.replace("namespace: shop", "namespace: office"), known).findings) == 2


def test_objects_without_a_name_are_told_apart_by_their_files(tmp_path: Path) -> None:
    """A kind alone says nothing: mended in one file and made anew in another, the mistake would be silent for ever."""
    nameless = TWO_WEIGHTS.replace("name: till", "generateName: till-")
    mended = nameless.replace("weight: 150", "weight: 100").replace("weight: 0", "weight: 1")

    def checked(one: str, other: str, known: Counter[Entry] | None = None) -> Outcome:
        sources = [Source("one.yaml", "one.yaml", one.encode()), Source("other.yaml", "other.yaml", other.encode())]
        return run(sources, default_settings(), Options(baseline=known))

    known = written(checked(nameless, mended), tmp_path)
    assert checked(nameless, mended, known).findings == []
    later = checked(mended, nameless, known)
    assert [(finding.file, finding.span.line) for finding in later.findings] == [("other.yaml", 8), ("other.yaml", 10)]
    assert (later.summary.suppressed, later.gone) == (0, 2)


def test_mended_entries_are_counted_and_pruned_by_writing_anew(tmp_path: Path) -> None:
    known = written(check(TWO_WEIGHTS), tmp_path)
    mended = TWO_WEIGHTS.replace("weight: 150", "weight: 100")
    assert check(mended, known).gone == 1
    assert written(check(mended), tmp_path) == Counter({next(entry for entry in known if "[1]" in entry.field): 1})


def test_a_baseline_reads_well_in_a_diff() -> None:
    lines = baseline.dump(check(TWO_WEIGHTS).findings).splitlines()
    assert lines[0] == "{"
    assert [line.strip()[:57] for line in lines if "rule" in line] == ['{"rule": "weight-out-of-range", "kind": "Pod", "namespace'] * 2
    assert not [line for line in lines if "count" in line], "said only where there are several"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is no JSON"),
        ("[]", "is no baseline of version 1"),
        ('{"version": 2, "findings": []}', "is no baseline of version 1"),
        ('{"version": 1, "findings": [{"kind": "Pod"}]}', "entry 1 of the baseline"),
        ('{"version": 1, "findings": [{"rule": "x", "count": 0}]}', "count that is no number from 1 up"),
    ],
)
def test_a_file_that_is_none_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(BaselineError, match=complaint):
        baseline.load(str(path))


def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="--write-baseline makes one"):
        baseline.load(str(tmp_path / "none.json"))


words = st.sampled_from(["", "a", "b/c", 'd"', "\u202e"])
references = st.builds(ObjectRef, st.none(), st.none() | words, st.none() | words, st.none() | words) | st.just(NO_OBJECT)
some_findings = st.lists(
    st.builds(
        lambda rule, file, ref, field, line: Finding(rule, "labels", "error", "m", "h", file, 0, Span(line, 1, line, 2), ref, field),
        st.sampled_from(["one", "two"]),
        st.sampled_from(["a.yaml", "b.yaml"]),
        references,
        words,
        st.integers(1, 9),
    ),
    max_size=8,
)


@given(some_findings, some_findings)
def test_holding_against_a_baseline_loses_nothing(old: list[Finding], new: list[Finding]) -> None:
    """Old findings are all silent; of any others exactly those stay that the baseline does not account for."""
    known = Counter(baseline.entry_of(finding) for finding in old)
    assert baseline.apply(old, known) == baseline.Applied([], len(old), [])
    applied = baseline.apply(new, known)
    assert len(applied.new) + applied.silenced == len(new)
    assert Counter(map(baseline.entry_of, applied.new)) == Counter(map(baseline.entry_of, new)) - known
    assert dict(applied.gone) == dict(known - Counter(map(baseline.entry_of, new)))
