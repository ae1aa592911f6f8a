"""``afflint report``: the compliance of all workloads with the policies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.command import FILE, MULTIPLE, Command, argument, option, with_help
from afflint.cli.options import ConfigOverrides, ExecutionOptions
from afflint.cli.output import ProgressLine, format_module, page_metadata, today, write_or_show
from afflint.cli.reporting import note_unused_render
from afflint.findings.errors import UserError

if TYPE_CHECKING:
    from afflint.report.compliance import Compliance

_FORMATS = ("text", "json", "html", "markdown")


class ReportInput(ConfigOverrides, heading="Input"):
    nodes = options.NODES
    history: tuple[str, ...] = option(
        "--history",
        metavar="PATH",
        kind=MULTIPLE,
        completion=FILE,
        help_text="Show the trend from earlier JSON reports of check and report, named by day: a file or a folder. Repeatable.",
    )
    render = options.RENDER
    render_network = options.RENDER_NETWORK
    offline = options.OFFLINE


class ReportConfiguration(ConfigOverrides, heading="Rules and configuration"):
    select = options.SELECT
    ignore = options.IGNORE
    kubernetes_version = options.KUBERNETES_VERSION
    config_file = options.CONFIG_FILE
    no_config = options.NO_CONFIG


class ReportOutput(ConfigOverrides, heading="Output"):
    owner: str | None = option(
        "--owner", metavar="KEY", help_text="Group by this label. Default: the most frequent of owner, team and similar labels."
    )
    form: str = options.form_option(_FORMATS)
    output: str | None = options.output_option("report")
    baseline = with_help(options.BASELINE, "Show since when a workload violates a policy, as this baseline records it.")
    verbose = with_help(options.VERBOSE, "List all violations and groups.")


class ReportOptions(ReportInput, ReportConfiguration, ReportOutput, ExecutionOptions):
    """The options of ``afflint report``."""

    paths: tuple[str, ...] = argument("[PATHS]...", FILE)


def report(args: ReportOptions) -> int:
    """Show which workloads comply with which policies, by namespace and by owner.

    PATHS are manifests: files, folders, globs. Default: the current folder. The baseline of the configuration shows since when a
    workload violates a policy. With --history, the report shows how findings and violations have changed, and needs no policies.
    Exits with 0 even if there are violations; use `afflint check` to fail on them.
    """
    from afflint.compliance.applied_policies import compliance
    from afflint.pipeline.session import Session

    config = options.configuration(args)
    if not (config.policies or args.history):
        raise UserError('no policies: add `policies` to the configuration, or a profile such as `extends: ["afflint:strict"]`')
    session = Session(config)
    sources = session.sources(args.paths or (".",))
    note_unused_render(config)
    with ProgressLine(len(sources)) as progress:
        run = options.run_options(config, progress, cache=options.cache_folder(args.cache_dir, no_cache=args.no_cache))
        result = compliance(session, *session.with_renders(sources, run, network=args.render_network, offline=args.offline), args.owner)
    if args.history:
        from afflint.compliance.history import trends

        result = result._replace(trends=trends(args.history, result, today(), besides=args.output))
    write_or_show(args.output, _chunks(result, args))
    return 0


def _chunks(result: Compliance, args: ReportOptions) -> Iterator[str]:
    module = format_module("policies", args.form)
    result = result._replace(made=page_metadata()) if args.form == "html" else result
    chunks: Iterator[str] = module.render(result, verbose=args.verbose) if args.form == "text" else module.render(result)
    return chunks


COMMAND = Command(report, ReportOptions, "Show the compliance of all workloads with the policies.")
