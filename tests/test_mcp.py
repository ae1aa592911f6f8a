"""`afflint mcp`: an agent calls its tools through the client of the protocol's own SDK, in a process as an agent starts it."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from afflint.mcp.server import MOST_CHARACTERS, bounded, bounded_findings
from command_line import spawned
from deployment_text import deployment

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp import MCPError
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

WEB = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {disktype: 1}
  containers: [{name: web, image: "nginx:1.27"}]
"""
DB = deployment(
    "affinity:",
    "  podAntiAffinity:",
    "    requiredDuringSchedulingIgnoredDuringExecution:",
    "      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}",
    'containers: [{name: db, image: "db:1"}]',
    name="db",
    replicas=2,
)
NODES = """\
nodes:
  - {name: one, labels: {kubernetes.io/hostname: one}}
  - {name: two, labels: {kubernetes.io/hostname: two}}
"""

Call = tuple[str, dict[str, Any]]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    (root / ".git").mkdir()
    (root / "web.yaml").write_text(WEB, encoding="utf-8")
    (root / "db.yaml").write_text(DB, encoding="utf-8")
    (root / "nodes.yaml").write_text(NODES, encoding="utf-8")
    (tmp_path / "outside.yaml").write_text(WEB, encoding="utf-8")
    return root


def ask(folder: Path, *calls: Call, options: Sequence[str] = (), command: Sequence[str] = (sys.executable, "-m", "afflint")) -> list[Any]:
    """Returns what the tools answer: values, or texts; ``error: …`` for an error."""

    async def answers() -> list[Any]:
        parameters = StdioServerParameters(command=command[0], args=[*command[1:], "mcp", *options], cwd=folder)
        async with Client(stdio_client(parameters)) as client:
            return [_plain(await client.call_tool(name, arguments)) for name, arguments in calls]

    return asyncio.run(answers())


def _plain(result: Any) -> Any:
    text = "".join(part.text for part in result.content)
    if result.is_error:
        return f"error: {text}"
    structured = result.structured_content
    return structured if structured is not None and "findings" in structured else text


def test_check_returns_findings_with_errors_first_and_what_can_be_fixed(repository: Path) -> None:
    (report,) = ask(repository, ("check", {}))
    assert [finding["severity"] for finding in report["findings"]] == ["error", "error", "warning"]
    finding = next(finding for finding in report["findings"] if finding["rule"] == "wrong-type")
    assert (finding["file"], finding["line"], finding["column"], finding["fix"]) == ("web.yaml", 5, 28, "safe")
    assert finding["message"] == "the value of `disktype` must be a string, but unquoted `1` is a number"
    assert report["omitted"] == 0
    assert report["summary"]["errors"] == 2
    assert report["coverage"]["not_seen"] == []


def test_check_counts_the_findings_that_it_leaves_out(repository: Path) -> None:
    for number in range(4):
        (repository / f"{number}.yaml").write_text(WEB.replace("name: web}", f"name: web-{number}}}"), encoding="utf-8")
    (report,) = ask(repository, ("check", {"limit": 2, "rules": ["wrong-type"]}))
    assert [len(report["findings"]), report["omitted"]] == [2, 3]


def test_check_names_charts_that_were_not_rendered(repository: Path) -> None:
    (repository / "chart").mkdir()
    (repository / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n", encoding="utf-8")
    (repository / "chart" / "templates").mkdir()
    (repository / "chart" / "templates" / "web.yaml").write_text(DB.replace("name: db}", 'name: "{{ .Release.Name }}"}'), encoding="utf-8")
    (report,) = ask(repository, ("check", {}))
    assert report["coverage"]["not_seen_count"] == len(report["coverage"]["not_seen"]) == 1
    assert report["coverage"]["not_seen"][0]["name"] == "chart"


def test_fix_shows_a_diff_and_changes_nothing(repository: Path) -> None:
    diff, unknown = ask(repository, ("fix", {"paths": ["web.yaml"]}), ("apply_fixes", {}))
    assert '-  nodeSelector: {disktype: 1}\n+  nodeSelector: {disktype: "1"}\n' in diff
    assert "Would fix 1 finding in 1 file" in diff
    assert unknown.startswith("error: Unknown tool")
    assert (repository / "web.yaml").read_text(encoding="utf-8") == WEB


def test_only_a_server_that_may_write_writes_fixes(repository: Path) -> None:
    (left,) = ask(repository, ("apply_fixes", {"paths": ["web.yaml"]}), options=["--allow-write"])
    assert "Found 1 finding: fixed." in left
    assert 'nodeSelector: {disktype: "1"}' in (repository / "web.yaml").read_text(encoding="utf-8")


def test_explain_rule_shows_the_page_or_all_rules(repository: Path) -> None:
    page, table, near = ask(
        repository, ("explain_rule", {"name": "wrong-type"}), ("explain_rule", {}), ("explain_rule", {"name": "wrong-tpye"})
    )
    assert page.startswith("wrong-type  admission, error, safe fix")
    assert "empty-topology-key" in table
    assert near == "error: Error executing tool explain_rule: rule: unknown value 'wrong-tpye'; did you mean 'wrong-type'?"


def test_a_dump_is_the_whole_input_of_place_and_why(repository: Path) -> None:
    (repository / "dump.yaml").write_text(f"{NODES}---\n{DB.replace('name: db', 'name: cache')}", encoding="utf-8")
    plan, answer = ask(repository, ("place", {"nodes": ["dump.yaml"]}), ("why", {"name": "db", "nodes": ["dump.yaml"]}))
    assert "Deployment default/cache" in plan
    assert "Deployment default/db" not in plan
    assert "no workload or pod is named 'db'" in answer


def test_place_and_what_if_answer_as_the_command_does(repository: Path) -> None:
    given = {"paths": ["db.yaml"], "nodes": ["nodes.yaml"]}
    plan, failed, nothing = ask(repository, ("place", given), ("what_if", {**given, "lose": ["one"]}), ("what_if", given))
    assert "2 of 2 replicas scheduled" in plan
    assert "degraded" in failed
    assert "1 of 2 replicas" in failed
    assert "name nodes with `lose`, `drain` or `remove`" in nothing


def test_why_explains_one_workload(repository: Path) -> None:
    (repository / "db.yaml").write_text(DB.replace("replicas: 2", "replicas: 3"), encoding="utf-8")
    given = {"paths": ["db.yaml"], "nodes": ["nodes.yaml"]}
    found, near, option = ask(
        repository, ("why", {"name": "db", **given}), ("why", {"name": "bd", **given}), ("why", {"name": "--output=x"})
    )
    assert "Why db-2 does not run" in found
    assert "1. make the required podAntiAffinity over nodes preferred: all 3 replicas run" in found
    assert "no workload or pod is named 'bd'; did you mean 'db'?" in near
    assert "no workload or pod is named '--output=x'" in option


def test_diff_shows_what_a_change_does(repository: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *words], cwd=repository, check=True, capture_output=True)

    (repository / ".git").rmdir()
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    (repository / "db.yaml").write_text(DB.replace("replicas: 2", "replicas: 3"), encoding="utf-8")
    changed, outside = ask(repository, ("diff", {"base": "HEAD", "nodes": ["nodes.yaml"]}), ("diff", {"base": "../outside.yaml"}))
    assert "db" in changed
    assert "too-few-domains" in changed
    assert "is outside" in outside


@pytest.mark.parametrize(
    "arguments",
    [
        {"paths": ["../outside.yaml"]},
        {"paths": ["/etc/passwd"]},
        {"paths": ["../*.yaml"]},
        {"paths": ["link.yaml"]},
        {"paths": ["folder/*.yaml"]},
        {"paths": ["a/../../*.yaml"]},
        {"nodes": ["../outside.yaml"]},
        {"paths": ["web.yaml\0"]},
    ],
)
def test_nothing_outside_the_repository_is_read(repository: Path, arguments: dict[str, list[str]]) -> None:
    (repository / "link.yaml").symlink_to(repository.parent / "outside.yaml")
    (repository / "folder").symlink_to(repository.parent)
    (answer,) = ask(repository, ("check", arguments))
    assert answer.startswith("error: ")
    assert "is outside" in answer or "cannot contain `..`" in answer


def test_a_configuration_above_the_repository_is_not_read(repository: Path) -> None:
    (repository.parent / ".afflint.yaml").write_text("ignore: [wrong-type]\n", encoding="utf-8")
    (report,) = ask(repository, ("check", {}))
    assert "wrong-type" in [finding["rule"] for finding in report["findings"]]
    (repository / ".afflint.yaml").write_text("ignore: [wrong-type]\n", encoding="utf-8")
    (report,) = ask(repository, ("check", {}))
    assert "wrong-type" not in [finding["rule"] for finding in report["findings"]]


def test_a_path_that_looks_like_an_option_is_a_path(repository: Path) -> None:
    (repository / "--fix").write_text(WEB, encoding="utf-8")
    files, missing = ask(repository, ("check", {"paths": ["--fix"]}), ("check", {"paths": ["--allow-write"]}))
    assert [finding["file"] for finding in files["findings"]] == ["--fix"]
    assert "no such file or folder" in missing
    assert (repository / "--fix").read_text(encoding="utf-8") == WEB


def test_modules_of_the_repository_are_not_imported(repository: Path) -> None:
    for name in ("afflint", "json", "click", "ruamel"):
        (repository / f"{name}.py").write_text("open('imported', 'w').close()\n", encoding="utf-8")
    command = (str(Path(sys.executable).with_name("afflint")),)
    if not Path(command[0]).exists():
        pytest.skip("afflint is not installed as a command")
    (report,) = ask(repository, ("check", {}), command=command)
    assert "wrong-type" in [finding["rule"] for finding in report["findings"]]
    assert not (repository / "imported").exists()


def test_the_pages_of_rules_are_resources(repository: Path) -> None:
    async def read() -> tuple[list[str], str, str]:
        parameters = StdioServerParameters(command=sys.executable, args=["-m", "afflint", "mcp"], cwd=repository)
        async with Client(stdio_client(parameters)) as client:
            listed = [str(resource.uri) for resource in (await client.list_resources()).resources]
            table: Any = (await client.read_resource("afflint://rules")).contents[0]
            page: Any = (await client.read_resource("afflint://rules/empty-topology-key")).contents[0]
            with pytest.raises(MCPError, match="no rule is named 'nothing'"):
                await client.read_resource("afflint://rules/nothing")
            return listed, table.text, page.text

    listed, table, page = asyncio.run(read())
    assert listed == ["afflint://rules"]
    assert "empty-topology-key (admission, error): " in table
    assert page.startswith("# empty-topology-key\n")


def test_tools_say_what_they_do_and_that_they_only_read(repository: Path) -> None:
    async def listed() -> dict[str, Any]:
        parameters = StdioServerParameters(command=sys.executable, args=["-m", "afflint", "mcp", "--allow-write"], cwd=repository)
        async with Client(stdio_client(parameters)) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = asyncio.run(listed())
    assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["apply_fixes"]
    for tool in tools.values():
        assert tool.description.split("\n")[0].endswith(".")
        assert all(parameter["description"].endswith(".") for parameter in tool.input_schema["properties"].values())


def test_a_long_text_is_cut_at_a_line_and_says_so() -> None:
    text = "".join(f"line {number}\n" for number in range(5000))
    short = bounded(text, "Name fewer paths.")
    assert len(short) < MOST_CHARACTERS + 100
    *lines, last = short.splitlines()
    assert last == f"[{5000 - len(lines)} more lines are left out. Name fewer paths.]"
    assert text.startswith("\n".join(lines))
    assert bounded("short\n", "") == "short\n"


def test_wrong_usage_is_one_line() -> None:
    done = spawned("mcp", "nowhere")
    assert (done.code, done.err) == (2, "afflint: no such folder: 'nowhere'\n")


def test_notes_are_part_of_what_is_bounded() -> None:
    short = bounded("line\n" * 5000, "Name fewer paths.", [f"note {'x' * 5000}"] * 50)
    assert len(short) < MOST_CHARACTERS + 100
    assert "more lines are left out. Name fewer paths.]\nnote xxx" in short
    assert bounded("x" * 30_000, "Name fewer paths.").endswith(
        f"[{30_000 - MOST_CHARACTERS} more characters are left out. Name fewer paths.]\n"
    )


FINDING = {"rule": "wrong-type", "message": "m" * 100, "object": {"kind": "Pod", "name": "n" * 50}}


@pytest.mark.parametrize("long", ["findings", "messages", "notes", "kinds", "not_seen", "nothing"])
def test_an_answer_of_check_has_a_bound_whatever_is_long(long: str) -> None:
    findings: list[dict[str, Any]] = [FINDING] * (2000 if long == "findings" else 3)
    if long == "messages":
        findings = [{**FINDING, "message": "m" * 100_000, "object": {"kind": "\n" * 100_000, "name": "\u0001" * 100_000}}] * 100
    besides: dict[str, Any] = {
        "summary": {"errors": 3, "passed_over_kinds": {f"Kind{number}" * 30: 1 for number in range(5000 if long == "kinds" else 1)}},
        "coverage": {"not_seen": [{"name": "chart" * 50, "reason": "x" * 300}] * (500 if long == "not_seen" else 1), "not_seen_count": 500},
        "notes": ["note" * 1000] * 100 if long == "notes" else ["note"],
    }
    answer = bounded_findings(findings, 200, besides, "Name fewer paths.")
    assert len(json.dumps(answer, indent=2, ensure_ascii=False)) <= MOST_CHARACTERS + 200
    assert answer["omitted"] == len(findings) - len(answer["findings"])
    assert len(answer["findings"]) >= min(len(findings), 4)
    assert ("cut" in answer) is (long != "nothing")
    assert answer["summary"]["errors"] == 3
    assert answer["coverage"]["not_seen_count"] == 500


def test_check_answers_within_the_bound_and_says_how_to_ask_for_the_rest(repository: Path) -> None:
    for number in range(100):
        key = f"disk{number}{'x' * 40}"
        (repository / f"{number}.yaml").write_text(WEB.replace("disktype", key).replace("web", f"web-{number}"), encoding="utf-8")
    (report,) = ask(repository, ("check", {"limit": 200}))
    assert len(json.dumps(report, indent=2)) <= MOST_CHARACTERS + 200
    total = sum(report["summary"][severity] for severity in ("errors", "warnings", "info"))
    assert total > 100 > len(report["findings"]) > 20
    assert report["omitted"] == total - len(report["findings"])
    assert report["cut"] == "Findings or parts of texts and lists are left out. Name fewer paths, or `rules`."


def test_errors_have_the_bound_as_well(repository: Path) -> None:
    (answer,) = ask(repository, ("check", {"paths": ["gone" * 20_000]}))
    assert len(answer) < MOST_CHARACTERS + 200
