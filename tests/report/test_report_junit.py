"""JUnit: the structure that its schema demands."""

from xml.etree import ElementTree

from report_sample import FINDINGS, finding, rendered, report

from afflint.findings.finding import Finding, Span


def suites_of(*findings: Finding) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(rendered("junit", report(*findings)))
    assert root.tag == "testsuites"
    assert root.attrib == {}
    return list(root)


def test_every_suite_has_what_the_schema_demands_in_its_order() -> None:
    for number, suite in enumerate(suites_of(*FINDINGS)):
        tags = [child.tag for child in suite]
        cases = list(suite.iter("testcase"))
        assert tags == ["properties", *["testcase"] * len(cases), "system-out", "system-err"]
        required = {"name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "time"}
        assert set(suite.attrib) == required
        assert suite.get("id") == str(number)
        assert suite.get("tests") == suite.get("failures") == str(len(cases))
        assert (suite.get("timestamp"), suite.get("hostname"), suite.get("time")) == ("1970-01-01T00:00:00", "localhost", "0")
        for case in cases:
            assert set(case.attrib) == {"name", "classname", "time"}
            assert [set(failure.attrib) for failure in case] == [{"message", "type"}]


def test_there_is_one_suite_per_file_and_one_case_per_finding() -> None:
    suites = suites_of(finding(file="a"), finding(file="a", rule="other"), finding(file="b"))
    assert [(suite.get("name"), [case.get("name") for case in suite.iter("testcase")]) for suite in suites] == [
        ("a", ["empty-topology-key at 1:1", "other at 1:1"]),
        ("b", ["empty-topology-key at 1:1"]),
    ]


def test_two_findings_of_a_rule_at_one_place_are_two_cases_with_different_names() -> None:
    (suite,) = suites_of(finding("one"), finding("two"), finding("three", span=Span(2, 1, 2, 2)))
    assert [case.get("name") for case in suite.iter("testcase")] == [
        "empty-topology-key at 1:1",
        "empty-topology-key at 1:1 (2)",
        "empty-topology-key at 2:1",
    ]


def test_a_report_without_findings_is_one_case_that_passed() -> None:
    (suite,) = suites_of()
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("afflint", "1", "0")
    (case,) = suite.iter("testcase")
    assert case.attrib == {"name": "check", "classname": "afflint", "time": "0"}
    assert list(case) == []


def test_what_ends_a_cdata_section_and_what_xml_cannot_carry_is_escaped() -> None:
    output = rendered("junit", report(finding(']]> <b> & " \x00 \x1b \ufffe \ud800')))
    assert "]]&gt; &lt;b&gt; &amp; &quot; \\x00 \\x1b \\ufffe \\ud800" in output
    assert "]]>" not in output


def test_the_body_says_where_on_what_and_what_to_do() -> None:
    failure = next(suites_of(FINDINGS[1])[0].iter("failure"))
    assert failure.get("type") == "warning"
    assert failure.text is not None
    assert failure.text.split("\n") == [
        "deploy/web.yaml:7:5: The label app=web is on the Deployment, but not on its pods",
        "object: Deployment web in namespace shop",
        "field: metadata.labels[app]",
        "help: Put it under spec.template.metadata.labels.",
        "deploy/service.yaml:5:13: Service web selects it",
    ]
