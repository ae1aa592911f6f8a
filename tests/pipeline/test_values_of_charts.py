"""Which files are values of a chart without a name or a content that says so: those without a kind next to its Chart.yaml."""

from pathlib import Path

import pytest

from afflint import config
from afflint.pipeline.options import Options
from afflint.pipeline.run import run
from afflint.pipeline.session import Session
from afflint.source.sources import discover, is_in_chart
from linting import settings_of

WRONG = "server:\n  tolerations: [{key: a, operator: Is}]\n"
ALONE = "server:\n  nodeSelector: {a b: c}\n"
FILES = {
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "charts/web/production.yaml": ALONE,
    "charts/web/environments/test.yml": ALONE,
    "charts/web/environments/far/away.yaml": ALONE,
    "charts/web/templates/pieces.yaml": WRONG,
    "charts/web/values.schema.json": '{"tolerations": [{"key": "a", "operator": "Is"}]}',
    "charts/web/values.schema.yaml": ALONE,
    "charts/web/example.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + WRONG,
    "other/production.yaml": ALONE,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def messages(*paths: str, inline: bool = False) -> list[str]:
    findings = run(discover(paths), settings_of(), Options(inline=inline)).findings
    of_values = [each for each in findings if each.rule != "ignored-chart-value"]
    return [f"{each.file}:{each.span.line}:{each.span.column} {each.rule}" for each in of_values]


BOTH = ["charts/web/environments/test.yml:2:18 invalid-label-key", "charts/web/production.yaml:2:18 invalid-label-key"]


@pytest.mark.usefixtures("project")
def test_files_in_the_folder_of_a_chart_and_in_those_below_it() -> None:
    assert messages(".") == BOTH
    assert messages("charts/web/environments", "charts/web/production.yaml") == BOTH, "wherever one begins to look"
    assert messages(*FILES) == BOTH, "and file by file"


def test_a_buffer_of_such_a_file_is_one_as_well(project: Path) -> None:
    name = "charts/web/production.yaml"
    session = Session(config.default(), {str(project / name): WRONG.replace("Is", "Isn't").encode()})
    findings = session.check(session.sources([name])).findings
    assert any("`Isn't`" in each.message for each in findings)


def test_comments_in_them_may_be_meant_for_what_they_render_to(project: Path) -> None:
    (project / "charts/web/production.yaml").write_text("# afflint: ignore-file[unknown-operator]\nserver: {tolerations: []}\n")
    assert messages("charts/web/production.yaml", inline=True) == []


@pytest.mark.usefixtures("project")
def test_the_folders_of_values() -> None:
    found = [each.removeprefix("charts/web/") for each in FILES if is_in_chart(each)]
    assert found == ["Chart.yaml", "production.yaml", "environments/test.yml", "example.yaml"]
