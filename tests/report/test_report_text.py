"""The report for people."""

import re

from report_sample import FINDINGS, NOTHING, SUMMARY, finding, rendered, report

from afflint.findings.finding import Edit, Finding, Fix, ObjectRef, Span
from afflint.report import FORMATS, Summary


def summary_of(given: Summary) -> str:
    return rendered("text", report(summary=given))


def test_a_clean_run_is_one_line() -> None:
    assert summary_of(NOTHING) == "No findings. Read 3 documents in 2 files.\n"


def test_a_clean_run_still_says_what_was_suppressed() -> None:
    assert summary_of(NOTHING._replace(files=1, documents=1, suppressed=1)) == (
        "No findings. Read 1 document in 1 file. 1 finding suppressed.\n"
    )


def test_files_without_a_manifest_are_not_called_clean() -> None:
    assert summary_of(NOTHING._replace(documents=0)) == "No manifest found in 2 files.\n"
    assert summary_of(NOTHING._replace(files=0, documents=0)) == "No files were read.\n"


def test_templated_files_are_counted_with_the_way_to_check_them() -> None:
    assert summary_of(NOTHING._replace(documents=0, templated=2)) == (
        "No manifest found in 2 files.\n2 Go-templated files skipped; `--render` checks what charts render to, with your `helm`.\n"
    )


def test_templates_that_were_checked_in_part_are_counted_apart() -> None:
    whole = "In 3 Go-templated files, only constraints without template actions were checked"
    rendering = "`--render` checks what charts render to, with your `helm`."
    assert summary_of(NOTHING._replace(literal=3)).endswith(f"\n{whole}; {rendering}\n")
    assert summary_of(NOTHING._replace(literal=3, templated=1)).endswith(f"\n{whole}.\n1 Go-templated file skipped; {rendering}\n")


def test_files_that_could_not_be_read_are_counted() -> None:
    assert summary_of(NOTHING._replace(unread=1)).endswith("\n1 file could not be read.\n")


def test_counts_of_severities_that_did_not_occur_are_left_out() -> None:
    output = rendered("text", report(finding(), summary=NOTHING._replace(errors=1, info=2)))
    assert output.endswith("\nFound 1 error, 2 info. Read 3 documents in 2 files.\n")


def test_skipped_documents_are_reported_with_their_kinds_when_asked() -> None:
    summary = NOTHING._replace(passed=(("KubeVirt", 2), ("ConfigMap", 1)))
    assert summary_of(summary) == "No findings. Read 3 documents in 2 files, skipped 3 of other kinds.\n"
    assert summary_of(summary._replace(documents=0)) == "No manifest found in 2 files; skipped 3 documents of other kinds.\n"
    text = rendered("text", report(summary=summary, verbose=True))
    assert text.endswith("kinds.\nSkipped: KubeVirt (2), ConfigMap (1).\n")


def test_named_files_that_hold_nothing_are_named_while_they_are_few() -> None:
    assert summary_of(NOTHING._replace(empty=("a.yaml", "b\x1b.yaml"))).split("\n")[1:3] == [
        "a.yaml contains no manifest.",
        "b\\x1b.yaml contains no manifest.",
    ]
    assert summary_of(NOTHING._replace(empty=("a", "b", "c", "d"))).split("\n")[1] == "4 of the named files contain no manifest."


def test_files_with_placeholders_are_counted() -> None:
    line = "contains template placeholders; values that depend on them were not checked."
    assert summary_of(NOTHING._replace(filled=1)).split("\n")[1] == f"1 file {line}"
    assert summary_of(NOTHING._replace(filled=2)).split("\n")[1] == f"2 files {line.replace('contains', 'contain')}"


def test_quiet_prints_the_findings_and_nothing_else() -> None:
    assert rendered("text", report(finding(), quiet=True)) == "error[empty-topology-key]: topologyKey is empty\n --> a.yaml:1:1\n"
    assert rendered("text", report(quiet=True)) == ""


def test_verbose_shows_the_edits_of_a_fix_and_where_to_read_more() -> None:
    edits = (Edit(Span(1, 3, 1, 5), '"a\n"'), Edit(Span(2, 1, 2, 1), "x" * 200))
    fixed = finding(help="Quote it.")._replace(fix=Fix(True, edits))
    assert rendered("text", report(fixed, verbose=True, quiet=True)) == (
        "error[empty-topology-key]: [*] topologyKey is empty\n"
        " --> a.yaml:1:1\n"
        "  = help: Quote it.\n"
        "  = fix available (safe)\n"
        '  = edit: 1:3 to 1:5 becomes ""a\\n""\n'
        f'  = edit: 2:1 to 2:1 becomes "{"x" * 100}..."\n'
        "  = more: afflint rule empty-topology-key\n"
    )


def test_an_object_is_named_as_far_as_it_is_known() -> None:
    def about(*parts: str | None) -> list[str]:
        output = rendered("text", report(finding(ref=ObjectRef(*parts)), quiet=True))
        return [line for line in output.split("\n") if "object" in line]

    assert about("v1", "Pod", "shop", "web") == ["  = object: Pod web in namespace shop"]
    assert about("v1", "Pod", None, None) == ["  = object: Pod"]
    assert about(None, None, None, "web") == ["  = object: web"]
    assert about("v1", None, "shop", None) == []


def hints(count: int) -> list[Finding]:
    return [finding(f"hint {number}", file=f"{number}.yaml")._replace(severity="info") for number in range(count)]


def test_hints_that_come_many_times_are_one_line() -> None:
    lines = rendered("text", report(*hints(4), finding("wrong"))).splitlines()
    assert [line for line in lines if "hint" in line] == [
        "info[empty-topology-key]: hint 0 (0.yaml:1:1; 4 times in 4 files, `-v` shows all)"
    ]
    assert lines.index("error[empty-topology-key]: wrong") == 0, "what must be fixed is in its own block"


def test_a_few_hints_and_all_with_verbose_are_shown_one_by_one() -> None:
    assert rendered("text", report(*hints(3))).count("info[empty-topology-key]: hint") == 3
    assert rendered("text", report(*hints(4))._replace(verbose=True)).count("info[empty-topology-key]: hint") == 4


def test_warnings_with_different_messages_are_shown_one_by_one() -> None:
    assert rendered("text", report(*[each._replace(severity="warning") for each in hints(19)])).count("-->") == 19


def test_of_many_errors_with_one_message_in_one_folder_the_first_is_shown_with_their_number() -> None:
    alike = [finding("no kind", file=f"golden/{number}.yaml") for number in range(11)]
    others = [finding("no kind", file="golden/deep/a.yaml"), finding("other", file="golden/0.yaml")]
    shown = rendered("text", report(*alike, *others)).split("\n\n")
    assert [each.splitlines()[1].strip() for each in shown[:3]] == [
        "--> golden/0.yaml:1:1",
        "--> golden/deep/a.yaml:1:1",
        "--> golden/0.yaml:1:1",
    ]
    assert shown[0].endswith("= repeated: 10 more times in 10 files of this folder (`-v` shows all)")
    assert rendered("text", report(*alike[:10])).count("-->") == 10
    assert rendered("text", report(*alike)._replace(verbose=True)).count("-->") == 11
    assert rendered("concise", report(*alike)).count("no kind") == 11, "other formats list each place"


def test_colors_change_nothing_but_colors() -> None:
    colored = rendered("text", report(*FINDINGS), color=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == rendered("text", report(*FINDINGS))
    assert "\x1b[1;31merror[empty-topology-key]\x1b[0m\x1b[1m: [*] topologyKey is empty" in colored
    assert "\x1b[1;34m15 |\x1b[0m               topologyKey" in colored
    assert re.findall(r"\x1b(?!\[[\d;]+m)", colored) == []


def test_only_text_is_ever_colored() -> None:
    for name in FORMATS[1:]:
        assert rendered(name, report(*FINDINGS), color=True) == rendered(name, report(*FINDINGS))


def test_summary_numbers_are_those_of_the_run() -> None:
    assert rendered("text", report(*FINDINGS, summary=SUMMARY)).split("\n")[-4] == (
        "Found 2 errors, 2 warnings, 1 info. Read 6 documents in 5 files, skipped 4 of other kinds. 3 findings suppressed."
    )
