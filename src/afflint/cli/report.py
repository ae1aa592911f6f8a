"""``afflint report``: the compliance of all workloads with the policies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from afflint.cli import check as checking
from afflint.cli import options
from afflint.cli.command import Argument, Command, option
from afflint.cli.output import ProgressLine, write_or_show
from afflint.findings.errors import UserError

if TYPE_CHECKING:
    from afflint.report.compliance import Compliance

_FORMATS = ("text", "json", "html")


def report(args: dict[str, Any]) -> int:
    """Show which workloads comply with which policies, by namespace and by owner.

    PATHS are manifests: files, folders, globs. Default: the current folder. The baseline of the configuration shows since when a
    workload violates a policy. Exits with 0 even if there are violations; use `afflint check` to fail on them.
    """
    from afflint.pipeline.compliance import compliance
    from afflint.pipeline.session import Session

    options.check_choice("--format", args["form"], _FORMATS)
    names = ("config_file", "no_config", "select", "ignore", "nodes", "kubernetes_version", "render", "baseline", "jobs")
    config = options.configuration(options.ConfigOverrides(**{name: args[name] for name in names}))
    if not config.policies:
        raise UserError('no policies: add `policies` to the configuration, or a profile such as `extends: ["afflint:strict"]`')
    session = Session(config)
    sources = session.sources(args["paths"] or (".",))
    checking.note_unused_render(config)
    with ProgressLine(len(sources)) as progress:
        run = checking.run_options(config, {"no_ignore": False, "write_baseline": False, **args}, progress)
        result = compliance(session, *session.with_renders(sources, run, network=args["render_network"]), args["owner"])
    write_or_show(args["output"], _chunks(result, args))
    return 0


def _chunks(result: Compliance, args: dict[str, Any]) -> Iterator[str]:
    form = args["form"]
    if form == "json":
        from afflint.report.policies import json_report

        return json_report.render(result)
    if form == "html":
        from afflint.cli.page_metadata import page_metadata
        from afflint.report.policies import page

        return page.render(result._replace(made=page_metadata()))
    from afflint.report.policies import text

    return text.render(result, verbose=args["verbose"])


_OF_CHECK = {each.name: each for each in checking.COMMAND.options}
_SECTIONS = {
    "Input": [_OF_CHECK[name] for name in ("nodes", "render", "render_network")],
    "Rules and configuration": [*(_OF_CHECK[name] for name in ("select", "ignore", "kubernetes_version")), *options.configured],
    "Output": (
        option("--owner", metavar="KEY", help_text="Group by this label. Default: the most frequent of owner, team and similar labels."),
        options.format_option(_FORMATS),
        option("--output", metavar="FILE", completion=options.file, help_text="Write the report to a file. Default: standard output."),
        _OF_CHECK["baseline"]._replace(help_text="Show since when a workload violates a policy, as this baseline records it."),
        _OF_CHECK["verbose"]._replace(help_text="List all violations and groups."),
    ),
    "Execution": [_OF_CHECK[name] for name in ("jobs", "no_cache", "cache_dir")],
}
COMMAND = Command(
    report, dict, _SECTIONS, Argument("paths", "[PATHS]...", options.file), "Show the compliance of all workloads with the policies."
)
