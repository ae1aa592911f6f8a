"""Comments and annotations that silence findings: what each form covers, and what is said about those that silence nothing."""

import pytest

from afflint.findings.finding import Edit, Finding, Span
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.options import Options
from afflint.pipeline.run import Outcome, run
from afflint.source.sources import Source
from afflint.yaml.documents import read
from growth import assert_linear

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  nodeSelector:
    a: 5
    b: 6
  tolerations:
  - {key: "", operator: Equal, value: x}
  containers:
  - {name: web, image: "web:1"}
"""
ALL = ["7:8 wrong-type", "8:8 wrong-type", "10:25 invalid-toleration"]


def outcome(*texts: str, options: Options | None = None) -> Outcome:
    sources = [Source(f"{chr(97 + number)}.yaml", "", text.encode()) for number, text in enumerate(texts)]
    return run(sources, default_settings(), options or Options())


def found(*texts: str) -> list[str]:
    """``line:column rule`` of what is not silenced, the file before it where there are several."""
    several = len(texts) > 1
    findings = outcome(*texts).findings
    return [f"{each.file + ':' if several else ''}{each.span.line}:{each.span.column} {each.rule}" for each in findings]


def at(line: int, addition: str, text: str = POD) -> str:
    """The text with something added to the end of a line."""
    lines = text.split("\n")
    lines[line - 1] += addition
    return "\n".join(lines)


def before(line: int, addition: str, text: str = POD) -> str:
    """The text with a line put in before another, as far in as that is."""
    lines = text.split("\n")
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    lines.insert(line - 1, " " * indent + addition)
    return "\n".join(lines)


def messages(text: str, rule: str) -> list[str]:
    return [each.message for each in outcome(text).findings if each.rule == rule]


def edited(text: str, finding: Finding) -> str:
    """The text with the edits of a finding's fix applied."""
    assert finding.fix is not None
    assert finding.fix.safe
    for span, replacement in reversed(finding.fix.edits):
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        start, end = starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1
        text = text[:start] + replacement + text[end:]
    return text


def test_without_a_suppression_all_is_found() -> None:
    assert found(POD) == ALL


# The forms.


@pytest.mark.parametrize(
    "comment",
    [
        "  # afflint: ignore[wrong-type] -- the operator fills it in",
        " # afflint: ignore[wrong-type]",
        "\t#afflint:ignore[wrong-type]",
        "  #  afflint:  ignore [ wrong-type ]  -- why",
        "  # afflint: ignore[wrong-type, invalid-toleration]",
        "  # a note  # afflint: ignore[wrong-type]",
        "  # afflint: ignore",
        "  # afflint: ignore -- all of it",
        "  # afflint: ignore[admission]",
        "  # afflint: ignore[all]",
    ],
)
def test_at_the_end_of_a_line_it_covers_that_line(comment: str) -> None:
    remaining = [each for each in found(at(7, comment)) if "unused" not in each]
    assert remaining == ALL[1:]


def test_it_covers_its_line_from_the_first_column_to_the_end_and_no_more() -> None:
    twice = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nkind: Pod\nspec: {containers: [{name: web, image: 'web:1'}]}\n"
    assert found(twice) == ["4:1 duplicate-key"]
    assert found(at(4, "  # afflint: ignore[duplicate-key]", twice)) == []
    assert found(at(3, "  # afflint: ignore[duplicate-key]", twice)) == ["3:24 unused-suppression", "4:1 duplicate-key"]


def test_how_many_were_silenced_is_counted() -> None:
    summary = outcome(at(7, " # afflint: ignore[wrong-type]")).summary
    assert (summary.suppressed, summary.errors) == (1, 2)


def test_another_rule_is_not_silenced() -> None:
    assert found(at(10, " # afflint: ignore[label-not-on-template]")) == ALL


def test_on_a_line_of_its_own_it_covers_the_next_node_and_all_below_it() -> None:
    assert found(before(6, "# afflint: ignore[wrong-type] -- both")) == ["11:25 invalid-toleration"]
    assert found(before(7, "# afflint: ignore[wrong-type] -- this one")) == ["9:8 wrong-type", "11:25 invalid-toleration"]
    # A list item is a node as well, and so is the whole spec.
    assert found(before(10, "# afflint: ignore[invalid-toleration]")) == ALL[:2]
    assert found(before(5, "# afflint: ignore[admission]")) == []


def test_comments_and_blank_lines_may_be_between_it_and_the_node() -> None:
    text = POD.replace("  nodeSelector:", "  # afflint: ignore[wrong-type]\n\n  # more about it\n  nodeSelector:")
    assert found(text) == ["13:25 invalid-toleration"]


def test_several_comments_in_a_row_cover_the_same_node() -> None:
    text = before(5, "# afflint: ignore[wrong-type]", before(5, "# afflint: ignore[invalid-toleration]"))
    assert found(text) == []


def test_one_within_the_reach_of_another_does_not_end_it() -> None:
    text = before(5, "# afflint: ignore[wrong-type] -- all of the spec", at(7, "  # afflint: ignore[wrong-type] -- and this"))
    assert found(text) == ["11:25 invalid-toleration"]


def test_one_within_the_reach_of_a_later_one_does_not_end_that_either() -> None:
    item = '  - {key: "", operator: Equal, value: x}\n'
    two_items = POD.replace(item, item + item)
    text = before(9, "# afflint: ignore", at(10, " # afflint: ignore", at(7, " # afflint: ignore", two_items)))
    assert found(text) == ["8:8 wrong-type"]


def test_two_stretches_of_one_rule_leave_what_lies_between() -> None:
    text = at(10, " # afflint: ignore", at(7, " # afflint: ignore"))
    assert found(text) == ["8:8 wrong-type"]


def test_behind_another_comment_on_a_line_of_its_own_it_covers_the_next_node_too() -> None:
    assert found(before(6, "# set by the operator  # afflint: ignore[wrong-type]")) == ["11:25 invalid-toleration"]


def test_behind_the_last_node_it_covers_nothing() -> None:
    assert found(POD + "  # afflint: ignore[wrong-type]\n") == [*ALL, "13:3 unused-suppression"]


def test_a_comment_anywhere_in_a_document_covers_the_document() -> None:
    for line in (1, 6, 12):
        text = before(line, "# afflint: ignore-document[wrong-type]")
        remaining = found(text)
        assert remaining == [f"{10 if line == 12 else 11}:25 invalid-toleration"]
    two = f"{POD}---\n{before(12, '# afflint: ignore-document')}---\n{POD}"
    assert found(two) == [*ALL, "34:8 wrong-type", "35:8 wrong-type", "37:25 invalid-toleration"]


def test_a_comment_anywhere_in_a_file_covers_the_file() -> None:
    comment = "# afflint: ignore-file[wrong-type] -- rendered"
    expected = ["10:25 invalid-toleration", "23:25 invalid-toleration"]
    assert found(f"{POD}---\n{POD}{comment}\n") == expected
    assert found(f"{POD}---\n{POD}---\n{comment}\n") == expected
    # The place where most people look first: above everything, with or without a separator behind it.
    assert found(f"{comment}\n{POD}---\n{POD}") == ["11:25 invalid-toleration", "24:25 invalid-toleration"]
    assert found(f"{comment}\n---\n{POD}---\n{POD}") == ["12:25 invalid-toleration", "25:25 invalid-toleration"]
    # Or in a document that afflint does not read otherwise.
    assert found(f"kind: ConfigMap {comment}\n---\n{POD}") == ["12:25 invalid-toleration"]


def test_a_file_covers_no_other_file() -> None:
    assert found("# afflint: ignore-file\n" + POD, POD) == [f"b.yaml:{each}" for each in ALL]


def test_an_annotation_covers_its_object() -> None:
    annotated = POD.replace("  name: web\n", '  name: web\n  annotations:\n    afflint.dev/ignore: "wrong-type: set by the operator"\n')
    assert found(annotated) == ["12:25 invalid-toleration"]
    several = annotated.replace("wrong-type:", "wrong-type, invalid-toleration:")
    assert found(several) == []
    lines = annotated.replace('"wrong-type: set by the operator"', "|\n      wrong-type: here\n      invalid-toleration: there")
    assert found(lines) == []
    assert found(f"{annotated}---\n{POD}") == ["12:25 invalid-toleration", "22:8 wrong-type", "23:8 wrong-type", "25:25 invalid-toleration"]


def test_comments_and_annotations_cover_a_document_from_its_first_to_its_last_line() -> None:
    def document(comment: str = "", annotation: str = "") -> str:
        """Four lines, with findings in the first and in the last one."""
        spec = "{nodeSelector: {a: 5}, containers: [{name: c, image: i}]}"
        return f"kind: Pod{comment}\nmetadata: {{name: web{annotation}}}\nspec:\n  {spec}\n"

    rules = "missing-api-version, wrong-type"
    first, second, third = ([f"{line}:1 missing-api-version", f"{line + 3}:22 wrong-type"] for line in (1, 6, 11))
    comment, annotation = f"  # afflint: ignore-document[{rules}]", f', annotations: {{afflint.dev/ignore: "{rules}: old"}}'
    for covered in (document(comment), document("", annotation)):
        assert found(covered) == []
        assert found("---\n".join((document(), covered, document()))) == [*first, *third]
        assert found("---\n".join((covered, document(), covered))) == second


def test_an_annotation_of_a_list_item_covers_that_item() -> None:
    item = "- " + POD.rstrip("\n").replace("\n", "\n  ") + "\n"
    annotated = item.replace("    name: web\n", "    name: web\n    annotations: {afflint.dev/ignore: 'admission: old'}\n")
    text = f"apiVersion: v1\nkind: List\nitems:\n{item}{annotated}{item}"
    assert found(text) == [f"{line}:{column} {rule}" for first in (3, 28) for line, column, rule in [
        (first + 7, 10, "wrong-type"), (first + 8, 10, "wrong-type"), (first + 10, 27, "invalid-toleration"),
    ]]  # fmt: skip


def test_an_annotation_covers_no_other_object_on_its_line() -> None:
    one = "{apiVersion: v1, kind: Pod, metadata: {name: one}, spec: {nodeSelector: {a: 5}}}"
    two = one.replace("{name: one}", "{name: one, annotations: {afflint.dev/ignore: 'wrong-type: old'}}")
    before_it = len("items: [, ") + len(one)
    text = f"{{apiVersion: v1, kind: List,\nitems: [{one}, {two}, {one}]}}\n"
    first = 1 + len("items: [") + one.index("5}")
    assert found(text) == [f"2:{first} wrong-type", f"2:{first + len(one) + len(two) + 4} wrong-type"]
    # Used suppressions are found at the same positions.
    fixed = text[: text.index("a: 5")] + "b: x" + text[text.index("a: 5") + 4 :]
    assert found(fixed.replace(two, two.replace("a: 5", "a: x"))) == [
        f"2:{before_it + 1 + two.index(chr(39))} unused-suppression",
        f"2:{first + len(one) + len(two) + 4} wrong-type",
    ]


def test_comments_cover_items_of_a_list_in_any_indentation() -> None:
    item = "  - " + POD.rstrip("\n").replace("\n", "\n    ") + "\n"
    text = f"apiVersion: v1\nkind: List\nitems:\n  # afflint: ignore\n{item}{item}"
    assert found(text) == ["23:12 wrong-type", "24:12 wrong-type", "26:29 invalid-toleration"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_breaks_and_marks_do_not_matter(newline: str, mark: str) -> None:
    text = mark + before(5, "# afflint: ignore[wrong-type]").replace("\n", newline)
    assert found(text) == ["11:25 invalid-toleration"]
    assert found(mark + at(8, " # afflint: ignore[wrong-type]").replace("\n", newline)) == [ALL[0], ALL[2]]
    assert found(mark + (POD + "# afflint: ignore-document[wrong-type]\n").replace("\n", newline)) == ALL[2:]


def test_a_value_that_is_defined_elsewhere_is_silenced_there() -> None:
    text = POD.replace("a: 5", "a: &five 5").replace("b: 6", "b: *five")
    assert found(text)[:2] == ["7:14 wrong-type", "7:14 wrong-type"]
    assert found(at(7, " # afflint: ignore[wrong-type]", text)) == ["10:25 invalid-toleration"]


# What is not a comment.


@pytest.mark.parametrize(
    "line",
    [
        "    text: 'web # afflint: ignore-document'",
        '    text: "web # afflint: ignore-document"',
        "    text: |\n      # afflint: ignore-document",
        "    text: >-\n      web\n      web # afflint: ignore-document",
        '    text: "web\n      # afflint: ignore-document"',
        "    text: web#afflint:ignore-document",
        "    text: afflint:ignore-document",
    ],
)
def test_in_a_text_it_is_text(line: str) -> None:
    text = POD.replace("  name: web\n", f"  name: web\n  annotations:\n{line}\n")
    assert [each.split()[1] for each in found(text)] == ["wrong-type", "wrong-type", "invalid-toleration"]


def test_in_a_key_it_is_text() -> None:
    assert found(POD.replace("{name: web,", "{'# afflint: ignore-document': x, name: web,")) == ALL


@pytest.mark.parametrize(
    "line",
    [
        "    text: 'web # afflint: nonsense' # afflint: ignore-document",
        "    text: | # afflint: ignore-document\n      web",
        "    text: >-  # afflint: ignore-document\n      web\n\n      web",
        "    text:  # afflint: ignore-document\n      web",
        "    text: |\n      web\n    # afflint: ignore-document",
        "    text: |\n      web\n# afflint: ignore-document",
        '    text: "web" # afflint: ignore-document',
    ],
)
def test_behind_a_text_it_is_a_comment(line: str) -> None:
    assert found(POD.replace("  name: web\n", f"  name: web\n  annotations:\n{line}\n")) == []


# What is misunderstood.


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("ignore[wrong-typ]", "unknown rule `wrong-typ`; did you mean `wrong-type`?"),
        ("ignore[wrong_type]", "unknown rule `wrong_type`; did you mean `wrong-type`?"),
        ("ignore[admision]", "unknown rule `admision`; did you mean `admission`?"),
        ("ignore[wrong-type, qqq]", "unknown rule `qqq`"),
        ("ignore[]", "an empty list of rules silences nothing"),
        ("ignore[ , ]", "an empty list of rules silences nothing"),
        ("ignroe[wrong-type]", "`ignroe[wrong-type]` is not a valid afflint comment; did you mean `ignore[rule] -- why`?"),
        ("Ignore[wrong-type]", "`Ignore[wrong-type]` is not a valid afflint comment; did you mean `ignore[rule] -- why`?"),
        ("ignore-fle", "`ignore-fle` is not a valid afflint comment; did you mean `ignore-file[rule] -- why`?"),
        ("ignore-all", "`ignore-all` is not a valid afflint comment; did you mean `ignore-file[rule] -- why`?"),
        ("ignore[wrong-type", "`ignore[wrong-type` is not a valid afflint comment; did you mean `ignore[rule] -- why`?"),
        ("ignore wrong-type", "`ignore wrong-type` is not a valid afflint comment; did you mean `ignore[rule] -- why`?"),
        ("", '`""` is not a valid afflint comment; did you mean `ignore[rule] -- why`?'),
    ],
)
def test_a_comment_that_is_misspelt_is_a_finding_of_its_own(comment: str, message: str) -> None:
    text = POD + f"  # afflint: {comment}\n"
    assert messages(text, "invalid-suppression") == [message]
    [finding] = [each for each in outcome(text).findings if each.rule == "invalid-suppression"]
    assert finding.span == Span(13, 3, 13, len(f"  # afflint: {comment}".rstrip()) + 1)


def test_an_annotation_that_is_misspelt_is_a_finding_of_its_own() -> None:
    text = POD.replace("  name: web\n", '  name: web\n  annotations: {afflint.dev/ignore: "wrong-typ: why"}\n')
    assert messages(text, "invalid-suppression") == ["unknown rule `wrong-typ`; did you mean `wrong-type`?"]
    assert "5:37 invalid-suppression" in found(text)


def test_the_rules_that_are_known_are_still_silenced() -> None:
    assert found(at(7, " # afflint: ignore[wrong-type, qqq]")) == ["7:10 invalid-suppression", *ALL[1:]]


# What silences nothing.


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (at(4, " # afflint: ignore[wrong-type]"), "4:13"),
        (at(4, "  # about it  # afflint: ignore[wrong-type] -- why  "), "4:26"),
        (before(11, "# afflint: ignore[wrong-type]"), "11:3"),
        (before(11, "# about it # afflint: ignore[wrong-type]"), "11:14"),
        (before(1, "# afflint: ignore[wrong-type]"), "1:1"),
        (POD + "# afflint: ignore[wrong-type]\n", "13:1"),
        (POD + "# afflint: ignore[wrong-type]", "13:1"),
        (POD + "---\nkind: Service # afflint: ignore-document[wrong-type]\n", "14:15"),
        (f"# afflint: ignore-file[empty-topology-key]\n---\n{POD}", "1:1"),
        (at(4, " # afflint: ignore[wrong-type]").replace("\n", "\r\n"), "4:13"),
        (before(11, "# afflint: ignore[wrong-type]").replace("\n", "\r\n"), "11:3"),
        (before(11, "# \u00e9 # afflint: ignore[wrong-type]"), "11:7"),
    ],
)
def test_it_is_reported_with_a_fix_that_removes_nothing_else(text: str, place: str) -> None:
    [finding] = [each for each in outcome(text).findings if each.rule == "unused-suppression"]
    assert f"{finding.span.line}:{finding.span.column}" == place
    after = edited(text, finding)
    assert "afflint" not in after
    assert _data(after) == _data(text)
    assert after.count("\n") >= text.count("\n") - 1
    assert not [each for each in outcome(after).findings if each.rule == "unused-suppression"]


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_the_fix_leaves_the_text_as_it_was_without_the_comment(line_break: str) -> None:
    comment = "# afflint: ignore[wrong-type]"
    for text in (at(4, f"  {comment} -- why  "), before(11, comment), before(1, comment), POD + comment, f"{POD}{comment}\n"):
        text = text.replace("\n", line_break)
        [finding] = [each for each in outcome(text).findings if each.rule == "unused-suppression"]
        assert edited(text, finding) == POD.replace("\n", line_break)
    about = POD.replace("  tolerations:", "  # about it\n  tolerations:")
    [finding] = [each for each in outcome(about.replace("# about it", f"# about it  {comment}")).findings if "unused" in each.rule]
    assert edited(about.replace("# about it", f"# about it  {comment}"), finding) == about


def _data(text: str) -> list[object]:
    return [read(part.encode(), 0, 0).data for part in text.split("---")]


def test_of_several_rules_those_are_named_that_silence_nothing() -> None:
    text = at(7, " # afflint: ignore[wrong-type, invalid-toleration, empty-topology-key]")
    assert messages(text, "unused-suppression") == [
        "this suppression silences nothing: afflint reports no `invalid-toleration` or `empty-topology-key` here"
    ]
    [finding] = [each for each in outcome(text).findings if each.rule == "unused-suppression"]
    assert finding.fix is None  # One of them is needed.


def test_without_rules_it_is_reported_when_nothing_at_all_is_there() -> None:
    unused = ["this suppression silences nothing: afflint reports no finding here"]
    assert messages(at(4, " # afflint: ignore"), "unused-suppression") == unused
    assert found(at(7, " # afflint: ignore")) == ALL[1:]


def test_rules_that_may_find_something_in_another_run_are_given_the_benefit_of_the_doubt() -> None:
    # It needs other files; it is off by default; it is a category.
    for name in ("label-not-on-template", "hard-anti-affinity-topology", "labels", "all"):
        assert found(at(4, f" # afflint: ignore[{name}]")) == ALL


def test_an_annotation_that_silences_nothing_is_reported_without_a_fix() -> None:
    text = POD.replace("  name: web\n", '  name: web\n  annotations: {afflint.dev/ignore: "empty-topology-key: why"}\n')
    [finding] = [each for each in outcome(text).findings if each.rule == "unused-suppression"]
    assert (finding.span, finding.fix) == (Span(5, 37, 5, 62), None)


# Around it.


def test_with_no_ignore_nothing_is_silenced_and_nothing_unused() -> None:
    text = at(4, " # afflint: ignore[wrong-type]", before(6, "# afflint: ignore[wrong-type]"))
    shown = outcome(text, options=Options(inline=False))
    assert [each.rule for each in shown.findings] == ["wrong-type", "wrong-type", "invalid-toleration"]
    assert shown.summary.suppressed == 0


def test_what_a_file_may_ignore_by_configuration_does_not_count_as_silenced() -> None:
    options = Options(ignored_in=lambda name: frozenset(["wrong-type"]) if name == "a.yaml" else frozenset())
    text = at(7, " # afflint: ignore[wrong-type]")
    assert [f"{each.span.line} {each.rule}" for each in outcome(text, options=options).findings] == [
        "7 unused-suppression", "10 invalid-toleration",
    ]  # fmt: skip


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels:
    tier: front
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1"}]
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {selector: {tier: front}, ports: [{port: 80}]}\n"


def test_what_shows_only_across_files_is_silenced_in_the_file_it_is_in() -> None:
    assert "a.yaml:7:5 label-not-on-template" in found(DEPLOYMENT, SERVICE)
    silenced = found(at(7, " # afflint: ignore[label-not-on-template]", DEPLOYMENT), SERVICE)
    assert "a.yaml:7:5 label-not-on-template" not in silenced
    assert not [each for each in silenced if "suppression" in each]
    assert "a.yaml:7:5 label-not-on-template" in found(DEPLOYMENT, "# afflint: ignore-file\n" + SERVICE)


def test_a_file_without_manifests_is_not_looked_at() -> None:
    assert found("kind: ConfigMap # afflint: nonsense\n") == []


# However many there are.


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("    a: 5\n", "    a@: 5 # afflint: ignore[wrong-type]\n"),
        ("    a: 5\n", "    # afflint: ignore\n    a@: 5\n"),
        ("", "# afflint: ignore-file[wrong-type]\n"),
        ("", "# afflint: ignore[x@]\n"),
        ("    a: 5\n", "    a@: 'x' # afflint: ignore[empty-topology-key]\n"),
    ],
    ids=["at the end of lines", "on lines of their own", "for the file", "of no rule", "unused"],
)
def test_their_cost_is_linear(place: str, line: str) -> None:
    def text(count: int) -> str:
        return POD.replace(place, "".join(line.replace("@", str(number)) for number in range(count)), 1)

    assert_linear(lambda count: outcome(text(count)), 10_000)


def test_a_patch_that_it_is_for_may_be_in_a_file_outside_of_the_run() -> None:
    """A finding in a file of JSON patches is reported where the kustomization names the file."""
    text = "resources: [https://example.com/base]\npatches:\n- path: patch.yaml  # afflint: ignore[RULE]\n  target: {kind: Deployment}\n"
    patch = Source("patch.yaml", "patch.yaml", b"- {op: add, path: /spec/template/spec/tolerations, value: dedicated}\n")

    def rules(rule: str, name: str, *more: Source) -> list[str]:
        kustomization = Source(name, name, text.replace("RULE", rule).encode())
        return [each.rule for each in run([kustomization, *more], default_settings(), Options()).findings]

    assert rules("wrong-type", "kustomization.yaml") == []
    assert rules("wrong-type", "kustomization.yaml", patch) == []
    assert rules("invalid-toleration", "kustomization.yaml", patch) == ["wrong-type", "unused-suppression"]


def test_the_edits_of_unused_suppressions_do_not_overlap() -> None:
    text = POD + "# afflint: ignore[wrong-type]\n# afflint: ignore[wrong-type]\n"
    edits: list[Edit] = [
        edit for each in outcome(text).findings if each.fix and each.rule == "unused-suppression" for edit in each.fix.edits
    ]
    assert [tuple(edit.span) for edit in edits] == [(13, 1, 14, 1), (14, 1, 15, 1)]
