"""Findings that are new, fixed or moved: by the identity that baselines use, whatever their lines."""

from afflint.changes.findings import compare, without_silenced
from afflint.findings.finding import Finding, ObjectRef, Span

WEB = ObjectRef("v1", "Pod", None, "web")


def finding(
    file: str = "a.yaml", line: int = 1, rule: str = "wrong-type", field: str = "spec.nodeSelector", ref: ObjectRef = WEB
) -> Finding:
    return Finding(rule, "admission", "error", "message", "Help.", file, 0, Span(line, 1, line, 2), ref, field)


def test_a_finding_on_another_line_is_the_same() -> None:
    assert compare([finding(line=3)], [finding(line=9)]) == ([], [], [], [])


def test_new_and_fixed() -> None:
    changes = compare([finding(), finding(rule="empty-topology-key")], [finding(), finding(field="spec.affinity")])
    assert [each.field for each in changes.new] == ["spec.affinity"]
    assert [each.rule for each in changes.fixed] == ["empty-topology-key"]


def test_equal_findings_are_counted() -> None:
    changes = compare([finding(line=1)], [finding(line=1), finding(line=2)])
    assert [each.span.line for each in changes.new] == [2]


def test_an_object_in_another_file_is_moved() -> None:
    changes = compare([finding()], [finding("b.yaml")])
    assert [(before.file, after.file) for before, after in changes.moved] == [("a.yaml", "b.yaml")]
    assert not changes.new
    assert not changes.fixed


def test_a_finding_in_its_own_file_is_matched_first() -> None:
    changes = compare([finding()], [finding("0.yaml"), finding()])
    assert [each.file for each in changes.new] == ["0.yaml"]


def test_an_object_without_a_name_is_only_the_same_in_a_renamed_file() -> None:
    unnamed = ObjectRef("v1", "Pod", None, None)
    before, after = [finding(ref=unnamed)], [finding("b.yaml", ref=unnamed)]
    assert compare(before, after).new == after
    changes = compare(before, after, {"a.yaml": "b.yaml"})
    assert not changes.new
    assert len(changes.moved) == 1


def test_a_finding_that_is_only_suppressed_is_not_fixed() -> None:
    changes = compare([finding(), finding(field="spec.affinity")], [])
    judged = without_silenced(changes, [finding(line=5)])
    assert [each.field for each in judged.fixed] == ["spec.affinity"]
    assert [each.field for each in judged.silenced] == ["spec.nodeSelector"]


def test_an_item_of_a_list_is_the_same_at_another_place_or_with_other_content() -> None:
    """A constraint over hosts that is over zones now is the same constraint; one that others were put above is, too."""
    hosts = finding(field="constraints[0]")._replace(item="constraints[topologyKey=host]")
    assert compare([hosts], [hosts._replace(field="constraints[1]")]) == ([], [], [], [])
    assert compare([hosts], [hosts._replace(item="constraints[topologyKey=zone]")]) == ([], [], [], [])
    other = hosts._replace(field="constraints[1]", item="constraints[topologyKey=zone]")
    assert compare([hosts], [other])[:2] == ([other], [hosts])
