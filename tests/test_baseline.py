"""A baseline keeps old findings silent by rule, object and field, whatever happens to the lines around them."""

import json
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.findings.finding import NO_OBJECT, Finding, ObjectRef, Span
from afflint.findings.paths import named_field
from afflint.pipeline import baseline
from afflint.pipeline.baseline import Baseline, BaselineError
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.options import Options
from afflint.pipeline.run import Outcome, run
from afflint.source.sources import Source

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


def check(text: str, known: Baseline | None = None) -> Outcome:
    return run([Source("till.yaml", "till.yaml", text.encode())], default_settings(), Options(baseline=known))


def written(outcome: Outcome, folder: Path) -> Baseline:
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
    assert sorted(known.known.values()) == [2, 2]
    later = check("---\n".join([TWO_WEIGHTS] * 3), known)
    assert [finding.span.line for finding in later.findings] == [34, 36]
    assert (later.summary.suppressed, later.gone) == (4, 0)


def test_what_is_new_is_reported(tmp_path: Path) -> None:
    known = written(check(TWO_WEIGHTS.replace("weight: 0", "weight: 5")), tmp_path)
    assert [finding.span.line for finding in check(TWO_WEIGHTS, known).findings] == [10]


def test_the_same_mistake_in_another_object_is_new(tmp_path: Path) -> None:
    known = written(check(TWO_WEIGHTS), tmp_path)
    assert len(check(TWO_WEIGHTS.replace("namespace: shop", "namespace: office"), known).findings) == 2


def test_objects_without_a_name_are_distinguished_by_their_files(tmp_path: Path) -> None:
    """A kind alone identifies nothing: fixed in one file and added to another, the mistake would be silent for ever."""
    nameless = TWO_WEIGHTS.replace("name: till", "generateName: till-")
    fixed = nameless.replace("weight: 150", "weight: 100").replace("weight: 0", "weight: 1")

    def checked(one: str, other: str, known: Baseline | None = None) -> Outcome:
        sources = [Source("one.yaml", "one.yaml", one.encode()), Source("other.yaml", "other.yaml", other.encode())]
        return run(sources, default_settings(), Options(baseline=known))

    known = written(checked(nameless, fixed), tmp_path)
    assert checked(nameless, fixed, known).findings == []
    later = checked(fixed, nameless, known)
    assert [(finding.file, finding.span.line) for finding in later.findings] == [("other.yaml", 8), ("other.yaml", 10)]
    assert (later.summary.suppressed, later.gone) == (0, 2)


def test_fixed_entries_are_counted_and_pruned_when_the_file_is_rewritten(tmp_path: Path) -> None:
    known = written(check(TWO_WEIGHTS), tmp_path)
    fixed = TWO_WEIGHTS.replace("weight: 150", "weight: 100")
    assert check(fixed, known).gone == 1
    assert len(written(check(fixed), tmp_path).known) == 1
    assert written(check(fixed), tmp_path).known <= known.known


def test_a_baseline_reads_well_in_a_diff() -> None:
    lines = baseline.dump(check(TWO_WEIGHTS).findings).splitlines()
    assert lines[0] == "{"
    assert [line.strip()[:57] for line in lines if "rule" in line] == ['{"rule": "weight-out-of-range", "kind": "Pod", "namespace'] * 2
    assert not [line for line in lines if "count" in line], "said only where there are several"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not valid JSON"),
        ("[]", "is not a baseline of version 1"),
        ('{"version": 2, "findings": []}', "is not a baseline of version 1"),
        ('{"version": 1}', "is not a baseline of version 1"),
        ('{"version": 1, "findings": {}}', "is not a baseline of version 1"),
        ('{"version": 1, "findings": [{"kind": "Pod"}]}', "entry 1 of the baseline"),
        ('{"version": 1, "findings": [{"rule": "x", "kind": 5}]}', "entry 1 of the baseline"),
        ('{"version": 1, "findings": [{"rule": "x"}, ["x"]]}', "entry 2 of the baseline"),
        ('{"version": 1, "findings": [{"rule": "x", "count": 0}]}', "invalid count: it must be an integer of 1 or more"),
        ('{"version": 1, "findings": [{"rule": "x", "count": 1.5}]}', "invalid count: it must be an integer of 1 or more"),
        ('{"version": 1, "findings": [{"rule": "x", "count": true}]}', "invalid count: it must be an integer of 1 or more"),
    ],
)
def test_a_file_that_is_none_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(BaselineError, match=complaint):
        baseline.load(str(path))


def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="--write-baseline creates one"):
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
    entries = Counter(baseline.entry_of(finding) for finding in old)
    known = Baseline(entries)
    files = {finding.file for finding in (*old, *new)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baseline.os.path, "lexists", files.__contains__)
        assert baseline.apply(old, known) == baseline.Applied([], len(old), [])
        applied = baseline.apply(new, known, files)
        assert len(applied.new) + applied.silenced == len(new)
        assert Counter(map(baseline.entry_of, applied.new)) == Counter(map(baseline.entry_of, new)) - entries
        assert dict(applied.gone) == dict(entries - Counter(map(baseline.entry_of, new)))


def test_the_oldest_day_of_several_alike_is_kept(tmp_path: Path) -> None:
    """A finding that is added beside an old one has the same entry; an entry without a day is older than any day."""
    one, two = check(TWO_WEIGHTS).findings, check(f"{TWO_WEIGHTS}---\n{TWO_WEIGHTS}").findings
    for first, days in (("2026-01-05", {"2026-01-05"}), ("", set())):
        before = Baseline(Counter(map(baseline.entry_of, one)), "", dict.fromkeys(map(baseline.entry_of, one), first) if first else {})
        path = tmp_path / "baseline.json"
        path.write_text(baseline.dump(two, today="2026-03-09", before=before))
        assert set(baseline.load(str(path)).since.values()) == days
    path.write_text(baseline.dump(one, today="2026-03-09"))
    assert set(baseline.load(str(path)).since.values()) == {"2026-03-09"}


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2026-1-022",
        "20261-1-22",
        "2026-111-2",
        "2026-11-2-",
        "2026-1-2-3",
        "2026-111-222",
        "2026-1a-22",
        "2026/11/22",
        "２０２６-11-22",
    ],
)
def test_a_text_that_is_not_a_day_is_ignored(text: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    for day, kept in ((text, []), ("2026-11-22", ["2026-11-22"])):
        path.write_text(json.dumps({"version": 1, "findings": [{"rule": "x", "file": "a.yaml", "since": day}]}))
        assert list(baseline.load(str(path)).since.values()) == kept


def test_entries_are_in_the_order_of_their_rules_and_objects_whatever_the_order_of_the_findings() -> None:
    findings = check(f"{TWO_WEIGHTS}---\n{TWO_WEIGHTS.replace('name: till', 'name: cart')}").findings
    text = baseline.dump(findings)
    assert [json.loads(line.rstrip(","))["name"] for line in text.splitlines() if "rule" in line] == ["cart", "cart", "till", "till"]
    assert baseline.dump(findings[::-1]) == text


# Where an entry holds.


def in_files(known: Baseline | None = None, **texts: str) -> Outcome:
    for name, text in texts.items():
        path = Path(f"{name}.yaml")
        path.write_text(text)
    sources = [Source(f"{name}.yaml", f"{name}.yaml") for name in texts]
    return run(sources, default_settings(), Options(baseline=known))


FIXED = TWO_WEIGHTS.replace("weight: 150", "weight: 100").replace("weight: 0", "weight: 1")


def test_the_same_object_in_another_file_is_new_while_the_old_file_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = written(in_files(here=TWO_WEIGHTS, there=FIXED), tmp_path)
    later = in_files(known, here=FIXED, there=TWO_WEIGHTS)
    assert [(finding.file, finding.span.line) for finding in later.findings] == [("there.yaml", 8), ("there.yaml", 10)]
    assert later.gone == 2


def test_a_file_that_was_moved_keeps_its_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = written(in_files(here=TWO_WEIGHTS), tmp_path)
    (tmp_path / "here.yaml").unlink()
    later = in_files(known, there=TWO_WEIGHTS)
    assert (later.findings, later.summary.suppressed, later.gone) == ([], 2, 0)


def test_what_is_still_where_it_was_keeps_its_entry_from_what_came_besides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = written(in_files(zoo=TWO_WEIGHTS), tmp_path)
    old = Baseline(Counter({entry._replace(file=""): count for entry, count in known.known.items()}), known.folder)
    for each in (known, old):
        assert {finding.file for finding in in_files(each, ant=TWO_WEIGHTS, zoo=TWO_WEIGHTS).findings} <= {"ant.yaml", "zoo.yaml"}
        assert len(in_files(each, ant=TWO_WEIGHTS, zoo=TWO_WEIGHTS).findings) == 2
    assert [finding.file for finding in in_files(known, ant=TWO_WEIGHTS, zoo=TWO_WEIGHTS).findings] == ["ant.yaml"] * 2


def test_an_item_that_is_added_above_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = written(in_files(till=TWO_WEIGHTS), tmp_path)
    above = "        - weight: 7\n          preference: {matchExpressions: [{key: ssd, operator: Exists}]}\n"
    later = in_files(known, till=TWO_WEIGHTS.replace("        - weight: 150", above + "        - weight: 150"))
    assert (later.findings, later.gone) == ([], 0)


def test_items_of_lists_are_named_by_what_they_hold() -> None:
    data = {"spec": {"containers": [{"name": "web", "ports": [{"hostPort": 0}]}, "odd", None]}}
    fields = [("spec", "containers", 0, "ports", 0, "hostPort"), ("spec", "containers", 1), ("spec", "containers", 2), ("spec", "none", 3)]
    assert [named_field(data, path, 1) for path in fields] == [
        f"containers[name=web].ports[#{crc32(repr({'hostPort': 0}).encode()):08x}].hostPort",
        "containers[odd]",
        "containers[null]",
        "none[3]",
    ]


def test_entries_without_a_file_still_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As baselines were written once: by object and field, list items by their place."""
    monkeypatch.chdir(tmp_path)
    findings = in_files(till=TWO_WEIGHTS).findings
    old = Counter(baseline.entry_of(each)._replace(file="", field=each.field) for each in findings)
    assert (in_files(Baseline(old, ""), till=TWO_WEIGHTS).findings) == []


def test_entries_name_list_items_by_their_place_as_they_did_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    findings = in_files(till=TWO_WEIGHTS).findings
    assert all(each.item != each.field for each in findings)
    old = Counter(baseline.entry_of(each)._replace(field=each.field) for each in findings)
    assert in_files(Baseline(old), till=TWO_WEIGHTS).findings == []
    twice = in_files(Baseline(old), till=f"{TWO_WEIGHTS}---\n{TWO_WEIGHTS}")
    assert (len(twice.findings), twice.summary.suppressed) == (2, 2), "each entry silences one finding"


def test_an_entry_about_no_kind_holds_only_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for ref, moves in ((ObjectRef(None, "Pod", None, "web"), True), (ObjectRef(None, None, None, "web"), False), (NO_OBJECT, False)):
        finding = Finding("x", "labels", "error", "m", "h", "there.yaml", 0, Span(1, 1, 1, 2), ref, "spec")
        known = Baseline(Counter([baseline.entry_of(finding._replace(file="gone.yaml"))]))
        assert (baseline.apply([finding], known).new == []) is moves


def test_without_a_folder_files_keep_the_names_that_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "till.yaml"
    path.write_text(TWO_WEIGHTS)
    findings = run([Source(str(path), str(path))], default_settings(), Options()).findings
    assert {baseline.entry_of(each).file for each in findings} == {path.as_posix()}
    assert {baseline.entry_of(each, str(tmp_path)).file for each in findings} == {"till.yaml"}


def test_files_are_named_from_the_folder_of_the_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = tmp_path / "team" / "app"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    findings = in_files(till=TWO_WEIGHTS).findings
    (tmp_path / "known.json").write_text(baseline.dump(findings, str(tmp_path)))
    known = baseline.load(str(tmp_path / "known.json"))
    assert {entry.file for entry in known.known} == {"team/app/till.yaml"}
    assert in_files(known, till=TWO_WEIGHTS).findings == []


def test_entries_for_files_that_were_not_checked_are_not_reported_as_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = written(in_files(here=TWO_WEIGHTS, there=TWO_WEIGHTS), tmp_path)
    assert in_files(known, here=FIXED).gone == 2
    Path("there.yaml").unlink()
    assert in_files(known, here=TWO_WEIGHTS).gone == 2, "of a file that is gone"


def test_several_alike_in_a_file_that_was_moved_stay_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    twice = f"{TWO_WEIGHTS}---\n{TWO_WEIGHTS}"
    known = written(in_files(here=twice), tmp_path)
    Path("here.yaml").rename("there.yaml")
    assert in_files(known, there=twice).findings == []
    assert len(in_files(known, there=f"{twice}---\n{TWO_WEIGHTS}").findings) == 2


def test_entries_that_no_longer_occur_are_in_the_order_of_the_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = written(in_files(ant=TWO_WEIGHTS, zoo=TWO_WEIGHTS), tmp_path)
    gone = [entry.file for entry, _ in baseline.apply([], known, ["zoo.yaml", "ant.yaml"]).gone]
    assert gone == ["ant.yaml", "ant.yaml", "zoo.yaml", "zoo.yaml"]
    without_files = Baseline(Counter(entry._replace(file="") for entry in known.known))
    assert len(baseline.apply([], without_files).gone) == 2
