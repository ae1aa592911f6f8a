"""What a run has not seen, in the formats for services and readers."""

import json

from report_sample import rendered, report

from afflint.findings.coverage import Coverage, WorkloadSource
from afflint.report import RenderSummary, Report

RELEASE = WorkloadSource("HelmRelease", "web", "apps/web.yaml", "the chart redis is not in the repository", "chart redis")


def unseen(*sources: WorkloadSource, renders: RenderSummary | None = None) -> Report:
    """A report without findings on a run that has not seen some sources."""
    found = report()
    return found._replace(summary=found.summary._replace(coverage=Coverage((), sources), renders=renders))


def test_sarif_has_a_notification_for_each_source() -> None:
    for renders, level in ((None, "note"), (RenderSummary(1, 0), "warning")):
        (run,) = json.loads(rendered("sarif", unseen(RELEASE, renders=renders)))["runs"]
        assert run["invocations"] == [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {
                        "level": level,
                        "message": {"text": "HelmRelease web was not checked: the chart redis is not in the repository"},
                        "locations": [{"physicalLocation": {"artifactLocation": {"uri": "apps/web.yaml", "uriBaseId": "%SRCROOT%"}}}],
                    }
                ],
            }
        ]
    assert "invocations" not in json.loads(rendered("sarif", unseen()))["runs"][0]


def test_markdown_has_a_line_with_counts_and_a_collapsed_list() -> None:
    shown = rendered("markdown", unseen(RELEASE))
    assert "Not rendered: 1 HelmRelease; <code>--render</code> checks what they create." in shown
    listed = "- <code>apps/web.yaml</code>: HelmRelease web was not checked: the chart redis is not in the repository\n"
    assert f"<details><summary>Not checked: 1</summary>\n\n{listed}\n</details>\n" in shown


def test_markdown_stays_within_the_limit_of_a_comment() -> None:
    shown = rendered("markdown", unseen(*(RELEASE._replace(name=f"web-{number}") for number in range(2_000))))
    assert len(shown.encode()) < 65_000
    assert "more\n\n</details>" in shown


def test_the_page_has_a_list_that_opens() -> None:
    shown = rendered("html", unseen(RELEASE._replace(name="<web>")))
    assert "<summary>Not checked: 1</summary>" in shown
    assert "<li><code>apps/web.yaml</code>: HelmRelease &lt;web&gt; was not checked: the chart redis is not in the repository</li>" in shown
