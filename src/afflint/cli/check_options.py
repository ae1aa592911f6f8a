"""The options of ``afflint check``."""

from __future__ import annotations

from afflint.cli import options
from afflint.cli.command import FILE, FOLDER, MULTIPLE, argument, flag, option
from afflint.cli.options import ConfigOverrides, ExecutionOptions, RulesAndConfiguration
from afflint.findings.phrases import join_words
from afflint.report import FORMATS


class CheckInput(ConfigOverrides, heading="Input"):
    nodes = options.NODES
    render = options.RENDER
    render_network = options.RENDER_NETWORK
    offline = options.OFFLINE
    kustomizations: tuple[str, ...] = option(
        "--kustomize", metavar="DIR", kind=MULTIPLE, completion=FOLDER, help_text="Check the output of a kustomization. Repeatable."
    )
    charts: tuple[str, ...] = option(
        "--helm", metavar="CHART", kind=MULTIPLE, completion=FOLDER, help_text="Check the output of a chart. Repeatable."
    )
    values: tuple[str, ...] = option(
        "--values", metavar="FILE", kind=MULTIPLE, completion=FILE, help_text="Use a values file for --helm. Repeatable."
    )
    crds: tuple[str, ...] = option(
        "--crds", metavar="PATH", kind=MULTIPLE, completion=FILE, help_text="Read CustomResourceDefinitions. Repeatable."
    )
    stdin_filename: str | None = option(
        "--stdin-filename", metavar="NAME", completion=FILE, help_text="Name the file that standard input ('-') replaces."
    )
    force_exclude: bool = flag("--force-exclude", help_text="Apply `exclude` to files that are named, too.")
    from_index: bool = flag(
        "--index", help_text="Check the files of Git's index, which the next commit will contain, not those of the work tree."
    )
    show_files: bool = flag("--show-files", help_text="List the files that would be read, and exit.")


class CheckOutput(ConfigOverrides, heading="Output"):
    formats = option("--format", metavar="FORMAT", kind=MULTIPLE, completion=FORMATS, help_text=f"Report as {join_words(FORMATS, 'or')}.")
    outputs = options.OUTPUTS
    statistics: bool = flag("--statistics", help_text="Count findings by rule instead of listing them.")
    baseline = options.BASELINE
    write_baseline: bool = flag("--write-baseline", help_text="Record all findings in --baseline (.afflint-baseline.json).")
    since: str | None = option(
        "--since", metavar="REF", help_text="Report only what is new since the work tree branched off from a ref of Git."
    )
    no_ignore: bool = flag("--no-ignore", help_text="Report suppressed findings, too.")
    color = options.COLOR
    quiet: bool = flag("-q", "--quiet", help_text="Print only findings, no summary.")
    verbose = options.VERBOSE


class CheckFixes(ConfigOverrides, heading="Fixes"):
    fix: bool = flag("--fix", help_text="Apply safe fixes; report the remaining findings.")
    unsafe_fixes: bool = flag("--unsafe-fixes", help_text="Let --fix and --diff change the meaning of manifests.")
    diff: bool = flag("--diff", help_text="Show what --fix would change and write nothing; exit with 1 on changes.")


class CheckExitCode(ConfigOverrides, heading="Exit code"):
    fail_on = options.FAIL_ON
    fail_on_empty: bool = flag("--fail-on-empty", help_text="Exit with 1 if no manifest was found.")
    fail_on_unrendered: bool = flag(
        "--fail-on-unrendered", help_text="Exit with 1 if a chart, kustomization, HelmRelease or Application was not rendered."
    )
    fail_on_unread: bool = flag(
        "--fail-on-unread", help_text="Exit with 1 if a file cannot be read, is encrypted, or has placement values that no rule read."
    )
    exit_zero = options.EXIT_ZERO


class CheckExecution(ExecutionOptions, heading="Execution"):
    executor: str | None = option(
        "--executor", metavar="URL", help_text="Run on a Dask cluster, dask://HOST:PORT; ?paths=shared sends no files."
    )
    watch: bool = flag("--watch", help_text="Check again after each change.")


class CheckOptions(CheckInput, RulesAndConfiguration, CheckOutput, CheckFixes, CheckExitCode, CheckExecution):
    """The options of ``afflint check``, in the order of its help."""

    paths: tuple[str, ...] = argument("[PATHS]...", FILE)
