"""The files by which other programs run afflint have the formats that these programs document, and do what they should."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from afflint.config import find
from checkout import ROOT, clean_environment, run

FOLDER = ROOT / "integrations"
SHOP = ROOT / "examples" / "shop"
SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / "config.schema.json").read_text(encoding="utf-8"))


def afflint(*words: str, folder: Path, expect: int | None = 0) -> str:
    return run((sys.executable, "-m", "afflint", *words), folder, expect=expect)


# SchemaStore: what its CONTRIBUTING.md and cli.js require of a catalogue entry with an external schema.

ENTRY: dict[str, Any] = json.loads((FOLDER / "schemastore.json").read_text(encoding="utf-8"))


def test_the_entry_of_the_catalogue_has_its_form() -> None:
    assert ENTRY.keys() == {"name", "description", "fileMatch", "url"}
    for text in (ENTRY["name"], ENTRY["description"]):
        assert re.search(r"[,. \t\n-]\Z|\n", text) is None
        assert "schema" not in text.lower()
    assert not [name for name in ENTRY["fileMatch"] if set(name) & set("*?[]{}/")], "names match without wildcards everywhere"


def test_the_entry_names_the_files_that_are_found_and_the_schema_that_exists(tmp_path: Path) -> None:
    for name in ENTRY["fileMatch"]:
        (tmp_path / name).write_text("complete: true\n", encoding="utf-8")
        assert find(str(tmp_path)) == str(tmp_path / name)
        (tmp_path / name).unlink()
    start, _, path = ENTRY["url"].partition("/main/")
    assert start == "https://raw.githubusercontent.com/OWNER/afflint"
    assert (ROOT / path) == ROOT / "schemas" / "config.schema.json"


def parts(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from parts(each)


def test_the_schema_is_one_of_draft_7_which_editors_support() -> None:
    assert SCHEMA["$schema"] == Draft7Validator.META_SCHEMA["$schema"]
    Draft7Validator.check_schema(SCHEMA)
    for part in parts(SCHEMA):
        assert "$ref" not in part or part.keys() <= {"$ref", "title", "description", "default"}, "draft 7 ignores what is next to $ref"
        newer = {"prefixItems", "unevaluatedProperties", "unevaluatedItems", "dependentRequired", "dependentSchemas", "minContains"}
        assert not part.keys() & newer


# MegaLinter: megalinter-descriptor.jsonschema.json and docs/plugins.md.

PLUGIN = FOLDER / "mega-linter-plugin-afflint" / "afflint.megalinter-descriptor.yml"
DESCRIPTOR: dict[str, Any] = YAML(typ="safe", pure=True).load(PLUGIN)
(LINTER,) = DESCRIPTOR["linters"]
FLAVORS = {"all_flavors", "ci_light", "cupcake", "documentation", "security"}
TEXTS = [
    "cli_executable",
    "cli_help_arg_name",
    "cli_lint_errors_regex",
    "cli_lint_fix_arg_name",
    "cli_version_arg_name",
    "linter_name",
    "linter_repo",
    "linter_rules_configuration_url",
    "linter_rules_inline_disable_url",
    "linter_rules_url",
    "linter_spdx_license",
    "linter_url",
    "name",
]
LISTS = ("cli_lint_extra_args", "cli_sarif_args", "examples")


def test_the_plugin_of_megalinter_has_its_form() -> None:
    assert DESCRIPTOR.keys() == {"descriptor_id", "descriptor_type", "descriptor_flavors", "file_extensions", "linters"}
    assert DESCRIPTOR["descriptor_type"] in ("language", "format", "tooling_format", "other")
    assert {*DESCRIPTOR["descriptor_flavors"]} <= FLAVORS
    assert LINTER.keys() == {*TEXTS, *LISTS, "cli_lint_mode", "cli_lint_errors_count", "can_output_sarif", "install"}
    assert all(type(LINTER[key]) is str for key in TEXTS)
    assert all(type(word) is str for key in LISTS for word in LINTER[key])
    assert LINTER["cli_lint_mode"] in ("file", "list_of_files", "project")
    assert LINTER["cli_lint_errors_count"] in ("regex_number", "regex_count", "regex_sum", "total_lines")
    assert LINTER["name"].startswith(f"{DESCRIPTOR['descriptor_id']}_")
    assert re.search(r"/mega-linter-plugin-[^/]+/", PLUGIN.as_posix())
    assert LINTER["install"].keys() == {"dockerfile"}
    assert all(line.startswith("RUN ") for line in LINTER["install"]["dockerfile"])


def test_what_megalinter_runs_reports_errors_and_sarif(tmp_path: Path) -> None:
    """MegaLinter calls the executable with the extra arguments, those for SARIF, and the files."""
    sarif = tmp_path / "afflint.sarif"
    words = [word.replace("{{SARIF_OUTPUT_FILE}}", str(sarif)) for word in (*LINTER["cli_lint_extra_args"], *LINTER["cli_sarif_args"])]
    files = [path.name for path in sorted(SHOP.glob("*.yaml"))]
    out = afflint(*words, *files, folder=SHOP, expect=1)
    results = json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"]
    assert len(re.findall(LINTER["cli_lint_errors_regex"], out)) == len(results) > 0
    assert re.search(r"\d+\.\d+\.\d+", afflint(LINTER["cli_version_arg_name"], folder=SHOP))
    assert LINTER["cli_lint_fix_arg_name"] in afflint("check", LINTER["cli_help_arg_name"], folder=SHOP)


# GitLab: https://docs.gitlab.com/ci/inputs/ and https://docs.gitlab.com/ci/components/.

COMPONENT = ROOT / "templates" / "afflint.yml"


def component(**given: str) -> dict[str, Any]:
    """Returns the jobs of the component, with the inputs in place as GitLab puts them there."""
    text = COMPONENT.read_text(encoding="utf-8")
    header, body = re.split(r"(?m)^---\n", text)
    inputs = YAML(typ="safe", pure=True).load(header)["spec"]["inputs"]
    values = {name: given[name] if name in given else about["default"] for name, about in inputs.items()}
    assert given.keys() <= inputs.keys()
    found: dict[str, Any] = YAML(typ="safe", pure=True).load(re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda match: values[match[1]], body))
    return found


def test_the_component_declares_its_inputs_and_uses_each() -> None:
    header, body = re.split(r"(?m)^---\n", COMPONENT.read_text(encoding="utf-8"))
    spec = YAML(typ="safe", pure=True).load(header)
    assert spec.keys() == {"spec"}
    assert spec["spec"].keys() == {"inputs"}
    inputs = spec["spec"]["inputs"]
    assert all(about.keys() <= {"default", "description", "options", "regex", "type"} for about in inputs.values())
    assert {*re.findall(r"\$\[\[ inputs\.(\w+) \]\]", body)} == inputs.keys()
    assert [name for name, about in inputs.items() if "default" not in about] == ["package"], "there is no release to be the default"


@pytest.mark.skipif(os.name == "nt" or shutil.which("bash") is None, reason="the job needs a POSIX shell")
def test_the_job_of_the_component_writes_the_report_that_it_keeps(tmp_path: Path) -> None:
    (job,) = component(package="git+REPO", paths="shop", args="--ignore 'wrong-type'").values()
    assert job.keys() == {"stage", "image", "variables", "script", "artifacts"}
    assert job["artifacts"].keys() == {"when", "reports"}
    shutil.copytree(SHOP, tmp_path / "shop")
    install, check = job["script"]
    assert install.endswith(' "$AFFLINT_PACKAGE"')
    assert job["variables"]["AFFLINT_PACKAGE"] == "git+REPO"
    call = f'afflint() {{ "{sys.executable}" -m afflint "$@"; }}\n{check}'
    done = subprocess.run(["bash", "-euc", call], cwd=tmp_path, capture_output=True, env=clean_environment(), check=False)
    assert done.returncode == 1, done.stderr
    report = json.loads((tmp_path / job["artifacts"]["reports"]["codequality"]).read_text(encoding="utf-8"))
    assert {each["check_name"] for each in report} >= {"empty-topology-key"}
    assert "wrong-type" not in {each["check_name"] for each in report}


# Problem matchers: https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md and
# https://code.visualstudio.com/docs/debugtest/tasks#_defining-a-problem-matcher.

MATCHER_KEYS = {"regexp", "file", "line", "column", "severity", "message", "code"}
LINES = {
    "deploy/web.yaml:9:15: error the value of `disktype` must be a string [wrong-type]": ("deploy/web.yaml", "9", "15", "error"),
    "a: b.yaml:1:2: warning one [x] two [label-not-on-template]": ("a: b.yaml", "1", "2", "warning"),
    r"C:\deploy\web.yaml:9:15: error the value [wrong-type]": (r"C:\deploy\web.yaml", "9", "15", "error"),
    "web.yaml:9:15: info the value [some-rule]": ("web.yaml", "9", "15", "info"),
}


def matched(pattern: dict[str, Any], line: str, default: str = "") -> tuple[str, ...] | None:
    """Returns file, line, column and severity as a problem matcher reads them; None if it does not match."""
    found = re.search(pattern["regexp"], line)
    if found is None:
        return None
    severity = found[pattern["severity"]] if "severity" in pattern else default
    assert re.fullmatch(r"[\w-]+", found[pattern["code"]])
    return (*(found[pattern[key]] for key in ("file", "line", "column")), severity)


def github_patterns() -> list[tuple[dict[str, Any], str]]:
    data = json.loads((FOLDER / "github-problem-matcher.json").read_text(encoding="utf-8"))
    assert data.keys() == {"problemMatcher"}
    assert len({each["owner"] for each in data["problemMatcher"]}) == len(data["problemMatcher"])
    for each in data["problemMatcher"]:
        assert {"owner", "pattern"} <= each.keys() <= {"owner", "pattern", "severity"}
    return [(pattern, each.get("severity", "")) for each in data["problemMatcher"] for pattern in each["pattern"]]


def code_pattern() -> dict[str, Any]:
    tasks = json.loads((FOLDER / "vscode-tasks.json").read_text(encoding="utf-8"))
    assert tasks["version"] == "2.0.0"
    (task,) = tasks["tasks"]
    assert task["type"] == "process"
    assert [task["command"], *task["args"]] == ["afflint", "check", "--format", "concise"]
    assert task["problemMatcher"]["fileLocation"] == ["relative", "${workspaceFolder}"]
    pattern: dict[str, Any] = task["problemMatcher"]["pattern"]
    return pattern


@pytest.mark.parametrize("line", LINES)
def test_problem_matchers_read_each_line_once(line: str) -> None:
    expected = LINES[line]
    assert matched(code_pattern(), line) == expected
    in_github = [found for pattern, default in github_patterns() if (found := matched(pattern, line, default)) is not None]
    assert in_github == [(*expected[:3], "notice" if expected[3] == "info" else expected[3])], "the runner has no severity info"


def test_problem_matchers_read_what_afflint_prints() -> None:
    assert all(pattern.keys() <= MATCHER_KEYS for pattern in (code_pattern(), *[each for each, _ in github_patterns()]))
    lines = afflint("check", "--format", "concise", folder=SHOP, expect=1).splitlines()
    assert len(lines) > 3
    for line in lines:
        assert matched(code_pattern(), line) is not None
        assert sum(matched(pattern, line) is not None for pattern, _ in github_patterns()) == 1
