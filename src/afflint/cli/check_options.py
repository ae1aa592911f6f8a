"""The options of ``afflint check``. Other commands have some of them as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from afflint.cli import options
from afflint.cli.command import MULTIPLE, NUMBER, Option, flag, option, select
from afflint.cli.options import ConfigOverrides
from afflint.cli.reporting import ReportingOptions
from afflint.config import RENDERERS
from afflint.findings.finding import SEVERITIES
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words
from afflint.report import FORMATS


class CheckOptions(NamedTuple):
    """The options of ``afflint check``, in the order of its help."""

    paths: tuple[str, ...]
    nodes: tuple[str, ...]
    render: str | None
    render_network: bool
    offline: bool
    kustomizations: tuple[str, ...]
    charts: tuple[str, ...]
    values: tuple[str, ...]
    crds: tuple[str, ...]
    stdin_filename: str | None
    force_exclude: bool
    from_index: bool
    show_files: bool
    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    kubernetes_version: str | None
    config_file: str | None
    no_config: bool
    formats: tuple[str, ...]
    outputs: tuple[str, ...]
    statistics: bool
    baseline: str | None
    write_baseline: bool
    since: str | None
    no_ignore: bool
    color: str
    quiet: bool
    verbose: bool
    fix: bool
    unsafe_fixes: bool
    diff: bool
    fail_on: str | None
    fail_on_empty: bool
    fail_on_unrendered: bool
    exit_zero: bool
    jobs: int | None
    no_cache: bool
    cache_dir: str | None
    executor: str | None
    watch: bool

    @property
    def config_overrides(self) -> ConfigOverrides:
        """The options that select and override the configuration."""
        return ConfigOverrides(
            self.config_file,
            self.no_config,
            select=self.select,
            extend_select=self.extend_select,
            ignore=self.ignore,
            nodes=self.nodes,
            kubernetes_version=self.kubernetes_version,
            render=self.render,
            baseline=self.baseline,
            fail_on=self.fail_on,
            formats=self.formats,
            outputs=self.outputs,
            jobs=self.jobs,
        )

    @property
    def reporting(self) -> ReportingOptions:
        """The options of the report and the exit code."""
        return ReportingOptions(
            self.formats,
            self.outputs,
            statistics=self.statistics,
            write_baseline=self.write_baseline,
            color=self.color,
            quiet=self.quiet,
            verbose=self.verbose,
            fail_on_empty=self.fail_on_empty,
            exit_zero=self.exit_zero,
            unsafe_fixes=self.unsafe_fixes,
            fail_on_unrendered=self.fail_on_unrendered,
        )


SECTIONS: Mapping[str, Sequence[Option]] = {
    "Input": (
        options.nodes,
        option(
            "--render",
            metavar="[TOOLS]",
            bare_value=",".join(RENDERERS),
            completion=options.word_completion(RENDERERS),
            help_text="Check what kustomizations and charts render to.",
        ),
        flag("--render-network", help_text="Let --render fetch bases and charts over the network."),
        flag("--offline", help_text="Let --render use the bases and charts that --render-network has fetched before."),
        option(
            "--kustomize",
            dest="kustomizations",
            metavar="DIR",
            kind=MULTIPLE,
            completion=options.folder,
            help_text="Check the output of a kustomization. Repeatable.",
        ),
        option(
            "--helm",
            dest="charts",
            metavar="CHART",
            kind=MULTIPLE,
            completion=options.folder,
            help_text="Check the output of a chart. Repeatable.",
        ),
        option("--values", metavar="FILE", kind=MULTIPLE, completion=options.file, help_text="Use a values file for --helm. Repeatable."),
        option(
            "--crds",
            metavar="PATH",
            kind=MULTIPLE,
            completion=options.file,
            help_text="Read CustomResourceDefinitions. Repeatable.",
        ),
        option("--stdin-filename", metavar="NAME", completion=options.file, help_text="Name the file that standard input ('-') replaces."),
        flag("--force-exclude", help_text="Apply `exclude` to files that are named, too."),
        flag(
            "--index",
            dest="from_index",
            help_text="Check the files of Git's index, which the next commit will contain, not those of the work tree.",
        ),
        flag("--show-files", help_text="List the files that would be read, and exit."),
    ),
    "Rules and configuration": (
        option(
            "--select",
            metavar="NAMES",
            kind=MULTIPLE,
            completion=options.rule_names,
            help_text="Enable only these rules or categories; comma-separated.",
        ),
        option(
            "--extend-select",
            metavar="NAMES",
            kind=MULTIPLE,
            completion=options.rule_names,
            help_text="Enable these rules or categories as well.",
        ),
        option("--ignore", metavar="NAMES", kind=MULTIPLE, completion=options.rule_names, help_text="Disable these rules or categories."),
        option(
            "--kubernetes-version",
            metavar="1.N",
            completion=options.version,
            help_text="Set the Kubernetes version of the cluster. Default: the newest.",
        ),
        *options.configured,
    ),
    "Output": (
        option(
            "--format",
            dest="formats",
            metavar="FORMAT",
            kind=MULTIPLE,
            completion=options.word_completion(FORMATS),
            help_text=f"Report as {join_words(FORMATS, 'or')}.",
        ),
        option(
            "--output",
            dest="outputs",
            metavar="FILE",
            kind=MULTIPLE,
            completion=options.file,
            help_text="Write the report to a file ('-': standard output), one for each --format.",
        ),
        flag("--statistics", help_text="Count findings by rule instead of listing them."),
        option("--baseline", metavar="FILE", completion=options.file, help_text="Leave out findings that --write-baseline recorded."),
        flag("--write-baseline", help_text="Record all findings in --baseline (.afflint-baseline.json)."),
        option("--since", metavar="REF", help_text="Report only what is new since the work tree branched off from a ref of Git."),
        flag("--no-ignore", help_text="Report suppressed findings, too."),
        options.color,
        flag("-q", "--quiet", help_text="Print only findings, no summary."),
        flag("-v", "--verbose", help_text="Explain each finding and list skipped files."),
    ),
    "Fixes": (
        flag("--fix", help_text="Apply safe fixes; report the remaining findings."),
        flag("--unsafe-fixes", help_text="Let --fix and --diff change the meaning of manifests."),
        flag("--diff", help_text="Show what --fix would change and write nothing; exit with 1 on changes."),
    ),
    "Exit code": (
        option(
            "--fail-on",
            metavar="SEVERITY",
            completion=options.word_completion(SEVERITIES),
            help_text="Exit with 1 for findings of at least this severity: error, warning (default) or info.",
        ),
        flag("--fail-on-empty", help_text="Exit with 1 if no manifest was found."),
        flag("--fail-on-unrendered", help_text="Exit with 1 if a chart, kustomization, HelmRelease or Application was not rendered."),
        flag("--exit-zero", help_text="Exit with 0 even if there are findings."),
    ),
    "Execution": (
        option("--jobs", metavar="N", kind=NUMBER, help_text="Use N processes. Default: one per CPU."),
        flag("--no-cache", help_text="Do not read or write the cache.", envvar="AFFLINT_NO_CACHE"),
        option(
            "--cache-dir",
            metavar="DIR",
            envvar="AFFLINT_CACHE_DIR",
            completion=options.folder,
            help_text="Keep the cache in this folder.",
        ),
        option("--executor", metavar="URL", help_text="Run on a Dask cluster, dask://HOST:PORT; ?paths=shared sends no files."),
        flag("--watch", help_text="Check again after each change."),
    ),
}
"""The options by their heading in the help."""


def select_options(*names: str) -> list[Option]:
    """Return the options with these names, in the order of the help."""
    return select(SECTIONS, names)
