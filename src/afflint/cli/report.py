"""``afflint report``: the compliance of all workloads with the policies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.check_options import select_options
from afflint.cli.command import MULTIPLE, Argument, Command, option
from afflint.cli.output import ProgressLine, write_or_show
from afflint.cli.reporting import note_unused_render
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from afflint.report.compliance import Compliance

_FORMATS = ("text", "json", "html", "markdown")


class ReportOptions(NamedTuple):
    """The options of ``afflint report``."""

    paths: tuple[str, ...]
    nodes: tuple[str, ...]
    history: tuple[str, ...]
    render: str | None
    render_network: bool
    offline: bool
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    kubernetes_version: str | None
    config_file: str | None
    no_config: bool
    owner: str | None
    form: str
    output: str | None
    baseline: str | None
    verbose: bool
    jobs: int | None
    no_cache: bool
    cache_dir: str | None

    @property
    def config_overrides(self) -> options.ConfigOverrides:
        """The options that select and override the configuration."""
        return options.ConfigOverrides(
            self.config_file,
            self.no_config,
            select=self.select,
            ignore=self.ignore,
            nodes=self.nodes,
            kubernetes_version=self.kubernetes_version,
            render=self.render,
            baseline=self.baseline,
            jobs=self.jobs,
        )


def report(args: ReportOptions) -> int:
    """Show which workloads comply with which policies, by namespace and by owner.

    PATHS are manifests: files, folders, globs. Default: the current folder. The baseline of the configuration shows since when a
    workload violates a policy. With --history, the report shows how findings and violations have changed, and needs no policies.
    Exits with 0 even if there are violations; use `afflint check` to fail on them.
    """
    from afflint.pipeline.compliance import compliance
    from afflint.pipeline.session import Session

    options.check_choice("--format", args.form, _FORMATS)
    config = options.configuration(args.config_overrides)
    if not (config.policies or args.history):
        raise UserError('no policies: add `policies` to the configuration, or a profile such as `extends: ["afflint:strict"]`')
    session = Session(config)
    sources = session.sources(args.paths or (".",))
    note_unused_render(config)
    with ProgressLine(len(sources)) as progress:
        run = options.run_options(config, progress, cache=options.cache_folder(args.cache_dir, no_cache=args.no_cache))
        result = compliance(session, *session.with_renders(sources, run, network=args.render_network, offline=args.offline), args.owner)
    if args.history:
        from afflint.changes.report_history import trends
        from afflint.cli.page_metadata import today

        result = result._replace(trends=trends(args.history, result, today(), besides=args.output))
    write_or_show(args.output, _chunks(result, args))
    return 0


def _chunks(result: Compliance, args: ReportOptions) -> Iterator[str]:
    if args.form == "json":
        from afflint.report.policies import json_report

        return json_report.render(result)
    if args.form == "html":
        from afflint.cli.page_metadata import page_metadata
        from afflint.report.policies import page

        return page.render(result._replace(made=page_metadata()))
    if args.form == "markdown":
        from afflint.report.policies import markdown

        return markdown.render(result)
    from afflint.report.policies import text

    return text.render(result, verbose=args.verbose)


_OUTPUT_HELP = {
    "baseline": "Show since when a workload violates a policy, as this baseline records it.",
    "verbose": "List all violations and groups.",
}
"""The help of options that mean more, or less, than those of `check`."""
_SECTIONS = {
    "Input": [
        *select_options("nodes"),
        option(
            "--history",
            metavar="PATH",
            kind=MULTIPLE,
            completion=options.file,
            help_text="Show the trend from earlier JSON reports of check and report, named by day: a file or a folder. Repeatable.",
        ),
        *select_options("render", "render_network", "offline"),
    ],
    "Rules and configuration": [*select_options("select", "ignore", "kubernetes_version"), *options.configured],
    "Output": (
        option("--owner", metavar="KEY", help_text="Group by this label. Default: the most frequent of owner, team and similar labels."),
        options.format_option(_FORMATS),
        option("--output", metavar="FILE", completion=options.file, help_text="Write the report to a file. Default: standard output."),
        *(each._replace(help_text=_OUTPUT_HELP[each.name]) for each in select_options(*_OUTPUT_HELP)),
    ),
    "Execution": select_options("jobs", "no_cache", "cache_dir"),
}
COMMAND = Command(
    report,
    ReportOptions,
    _SECTIONS,
    Argument("paths", "[PATHS]...", options.file),
    "Show the compliance of all workloads with the policies.",
)
