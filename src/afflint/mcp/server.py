"""The MCP server: the commands of afflint as tools, and the pages of its rules as resources.

A tool runs the command of the same name, so that an agent gets what a user would get. https://modelcontextprotocol.io is the specification.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from afflint import __version__
from afflint.checks import registry
from afflint.findings.errors import UserError
from afflint.mcp.runner import CommandResult, CommandRunner

_INSTRUCTIONS = """\
afflint checks where Kubernetes and KubeVirt workloads run: labels, node selectors, affinity, anti-affinity, topology spread, tolerations.
It needs no cluster. Run `check` after you change a manifest, and `explain_rule` for a finding that you do not understand.
`place` shows where replicas can run on the given nodes, `what_if` what failures and drains do to them. `why` explains one workload.
Paths are relative to the folder of the server.\
"""

Paths = Annotated[list[str], Field(description="Files, folders or globs below the folder of the server. Default: all of it.")]
Nodes = Annotated[
    list[str],
    Field(description="Files with nodes: dumps of `kubectl get nodes -o yaml`, node pools or lists. Default: nodes among the manifests."),
]
Pods = Annotated[list[str], Field(description="Dumps of running pods: `kubectl get pods -A -o yaml`.")]
Disruptions = Annotated[
    list[str], Field(description="Nodes by name, KEY=VALUE for all nodes with a label, or each:node, each:zone, each:KEY, one at a time.")
]
Only = Annotated[list[str], Field(description="Show only these workloads, applications or nodes, by name or glob.")]

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
_ALL: list[str] = []
_SEVERITIES = ("error", "warning", "info")


def create_server(root: str, *, allow_write: bool) -> MCPServer[Any]:
    """Return a server whose tools read ``root``, an absolute path, and nothing else. Only with ``allow_write`` can they change files."""
    server: MCPServer[Any] = MCPServer("afflint", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING", subscriptions=False)
    tools = Tools(CommandRunner(root))
    for tool in (tools.check, tools.fix, tools.diff, tools.explain_rule, tools.place, tools.what_if, tools.why):
        server.add_tool(_reporting_errors(tool), annotations=_READS)
    if allow_write:
        server.add_tool(_reporting_errors(tools.apply_fixes), annotations=_WRITES)
    server.resource("afflint://rules", title="Rules", description="All rules, one a line.", mime_type="text/plain")(rule_list)
    server.resource(
        "afflint://rules/{name}", title="Rule", description="Why a rule matters, how to fix it, examples.", mime_type="text/markdown"
    )(rule_page)
    return server


class Tools:
    """The tools of the server. Their docstrings and annotations are what an agent reads about them. They raise UserError."""

    def __init__(self, runner: CommandRunner) -> None:
        self._runner = runner

    def check(
        self,
        paths: Paths = _ALL,
        nodes: Nodes = _ALL,
        rules: Annotated[list[str], Field(description="Only these rules or categories.")] = _ALL,
        limit: Annotated[int, Field(ge=1, le=200, description="The most findings to return; errors come first.")] = 30,
    ) -> dict[str, Any]:
        """Lint manifests: report constraints that the API server rejects, that do not mean what they seem to, or that cannot be met.

        Each finding has its file, line, column, field, message and help. `omitted` counts findings that are left out, and `cut` says how
        to get them. `coverage` names sources of workloads that were not read: no findings does not mean that those are right.
        """
        options = ["--format=json", *self._files("--nodes", nodes), *_options("--select", rules)]
        result = self._run("check", options, paths)
        report = json.loads(result.output)
        findings = sorted(report["findings"], key=lambda finding: _SEVERITIES.index(finding["severity"]))
        # Only some of the sources that were not read may fit, so their number is returned, too.
        coverage = {**report["coverage"], "not_seen_count": len(report["coverage"]["not_seen"])}
        besides = {"summary": report["summary"], "coverage": coverage, "notes": list(result.notes)}
        return bounded_findings([_brief(finding) for finding in findings], limit, besides, "Name fewer paths, or `rules`.")

    def fix(
        self,
        paths: Paths = _ALL,
        unsafe: Annotated[bool, Field(description="Include fixes that may change the meaning of a manifest.")] = False,
    ) -> str:
        """Return the fixes of findings as a unified diff. No file is changed."""
        result = self._run("check", ["--diff", *(["--unsafe-fixes"] if unsafe else [])], paths)
        return bounded(result.output, "Name fewer paths.", result.notes)

    def apply_fixes(
        self,
        paths: Paths = _ALL,
        unsafe: Annotated[bool, Field(description="Include fixes that may change the meaning of a manifest.")] = False,
    ) -> str:
        """Write the fixes of findings to the files, and report the findings that are left."""
        result = self._run("check", ["--fix", "--color=never", *(["--unsafe-fixes"] if unsafe else [])], paths)
        return bounded(result.output, "Name fewer paths.", result.notes)

    def diff(
        self,
        base: Annotated[str, Field(description="The commit to compare with. Empty: where the branch left the default branch.")] = "",
        paths: Paths = _ALL,
        nodes: Nodes = _ALL,
    ) -> str:
        """Compare the files with a commit of Git: new and fixed findings, and what changes in where workloads run."""
        # The command takes what is not a ref for a path.
        arguments = self._runner.inside([*([base] if base else []), *paths])
        result = self._runner.run("diff", self._files("--nodes", nodes), arguments)
        return bounded(result.output, "Name fewer paths.", result.notes)

    def explain_rule(
        self, name: Annotated[str, Field(description="The name of a rule or of a category. Empty: a list of all rules.")] = ""
    ) -> str:
        """Explain a rule: why it matters, how to fix it, when it is silent, examples."""
        result = self._runner.run("rule", [], [name] if name else [])
        return bounded(result.output, "Name a rule.")

    def place(self, paths: Paths = _ALL, nodes: Nodes = _ALL, pods: Pods = _ALL, only: Only = _ALL) -> str:
        """Simulate the scheduler: show on which nodes each replica can run, and why not on the others."""
        return self._plan(paths, [*self._files("--nodes", nodes), *self._files("--pods", pods), *_options("--only", only)])

    def what_if(
        self,
        paths: Paths = _ALL,
        nodes: Nodes = _ALL,
        pods: Pods = _ALL,
        lose: Disruptions = _ALL,
        drain: Disruptions = _ALL,
        remove: Disruptions = _ALL,
        only: Only = _ALL,
    ) -> str:
        """Simulate failures (`lose`), drains and removals of nodes: what survives, what stays Pending, which drains never complete."""
        disruptions = [*_options("--lose", lose), *_options("--drain", drain), *_options("--remove", remove)]
        if not disruptions:
            raise UserError("name nodes with `lose`, `drain` or `remove`, for example each:node")
        files = [*self._files("--nodes", nodes), *self._files("--pods", pods)]
        return self._plan(paths, [*files, *_options("--only", only), *disruptions])

    def why(
        self,
        name: Annotated[str, Field(description="A workload (web, shop/web, deployment/web) or a pod.")],
        paths: Paths = _ALL,
        nodes: Nodes = _ALL,
        pods: Pods = _ALL,
    ) -> str:
        """Explain why a workload or a pod does not run or survive a failure, and list the smallest changes that help when tried."""
        options = [*self._files("--nodes", nodes), *self._files("--pods", pods)]
        result = self._runner.run("why", options, [name, *self._runner.inside(paths)])
        return bounded(result.output, "Name fewer paths.", result.notes)

    def _plan(self, paths: list[str], options: list[str]) -> str:
        result = self._runner.run("place", options, self._runner.inside(paths))
        return bounded(result.output, "Name workloads with `only`.", result.notes)

    def _files(self, option: str, files: list[str]) -> list[str]:
        return _options(option, self._runner.inside(files))

    def _run(self, command: str, options: list[str], paths: list[str]) -> CommandResult:
        return self._runner.run(command, options, self._runner.inside(paths) or ["."])


def rule_list() -> str:
    """Return all rules, one a line, with category, severity and the first sentence of the page."""
    return "".join([f"{rule.name} ({rule.category}, {rule.severity}): {rule.summary}\n" for rule in registry.rules().values()])


def rule_page(name: str) -> str:
    """Return the page of a rule as Markdown."""
    known = registry.rules()
    if name not in known:
        raise ResourceNotFoundError(f"no rule is named {name!r}")
    return known[name].page()


def _options(option: str, values: list[str]) -> list[str]:
    return [f"{option}={value}" for value in values]


def _brief(finding: dict[str, Any]) -> dict[str, Any]:
    """Return what an agent needs of a finding of the JSON report."""
    brief = {key: finding[key] for key in ("rule", "severity", "file", "line", "column", "field", "message", "help")}
    fix = finding["fix"]
    return {**brief, "object": finding["object"], "fix": "none" if fix is None else "safe" if fix["safe"] else "unsafe"}


def _reporting_errors(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return the tool with its UserErrors as errors that the agent reads."""

    @functools.wraps(tool)
    def reporting(**arguments: Any) -> Any:
        try:
            return tool(**arguments)
        except UserError as error:
            raise ToolError(bounded(str(error), "The rest is more of the same.")) from None

    return reporting


# Bounds of the answers of tools: an agent pays for each character with its context, and the author of a tree chooses many of them.


MOST_CHARACTERS = 20_000
"""The longest answer of a tool."""
_LONGEST_TEXT = 400
"""The longest text in a list or map."""
_MOST_ITEMS = (20, 10, 5, 2, 0)
"""How many items of each list or map are shown besides the findings: as many as fit."""
_BESIDES = 6_000
"""The most characters of everything but the findings."""


def bounded(text: str, narrower: str, notes: Sequence[str] = ()) -> str:
    """Return the lines of a text that fit into an answer, and notes below it. ``narrower`` says how to ask for less."""
    below = "".join(f"{shortened(line)}\n" for line in notes[: _MOST_ITEMS[0]])
    most = MOST_CHARACTERS - len(below)
    if len(text) > most:
        end = text.rfind("\n", 0, most) + 1 or most
        lines, characters = text.count("\n", end), len(text) - end
        left = f"{lines} more lines are" if lines else f"{characters} more characters are"
        text = f"{text[:end]}[{left} left out. {narrower}]\n"
    return text + below


def bounded_findings(findings: Sequence[dict[str, Any]], limit: int, besides: dict[str, Any], narrower: str) -> dict[str, Any]:
    """Return an answer with the first findings, at most ``limit``, as many as fit, and with ``besides``.

    ``omitted`` counts the other findings. If something was cut, ``cut`` says how to ask for the rest.
    """
    others, is_cut = _fitting(besides)
    shown: list[dict[str, Any]] = []
    left = MOST_CHARACTERS - _size(others)
    for finding in findings[:limit]:
        brief = shortened(finding)
        left -= _size(brief)
        if left < 0:
            break
        is_cut = is_cut or brief != finding
        shown.append(brief)
    omitted = len(findings) - len(shown)
    cut = {"cut": f"Findings or parts of texts and lists are left out. {narrower}"} if is_cut or omitted else {}
    return {"findings": shown, "omitted": omitted, **others, **cut}


def shortened(value: Any, most: int = _MOST_ITEMS[0]) -> Any:
    """Return a value of JSON with no text longer than an answer can take, and no list or map with more than ``most`` items."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}… ({len(value) - _LONGEST_TEXT} more characters)"
    if isinstance(value, dict):
        return {shortened(key): shortened(each, most) for key, each in [*value.items()][: max(most, _MOST_ITEMS[0])]}
    if isinstance(value, list):
        return [shortened(each, most) for each in value[:most]]
    return value


def _fitting(value: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a value of JSON shortened so that it fits beside the findings, and whether something was cut."""
    short = value
    for most in _MOST_ITEMS:
        short = {key: shortened(each, most) for key, each in value.items()}
        if _size(short) <= _BESIDES:
            break
    return short, short != value


def _size(value: Any) -> int:
    """Return how many characters a value takes, as the server writes it, in a list or map of an answer."""
    return sum(len(line) + 5 for line in json.dumps(value, ensure_ascii=False, indent=2).split("\n"))
