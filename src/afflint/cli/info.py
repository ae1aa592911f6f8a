"""The commands that describe rules and settings: ``afflint rule`` and ``afflint config``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.command import FOLDER, Command, argument, check_choice, flag, option
from afflint.cli.command import RULE as RULE_NAME
from afflint.cli.options import ConfigOverrides
from afflint.cli.output import colored, notify, show
from afflint.config import ConfigError
from afflint.findings.errors import UserError
from afflint.findings.paths import field_of
from afflint.findings.phrases import visible

if TYPE_CHECKING:
    from afflint.checks.registry import Rule

_FORMATS = ("text", "json")


class RuleOptions(ConfigOverrides):
    """The options of ``afflint rule``."""

    name: str | None = argument("[NAME]", RULE_NAME, multiple=False)
    form: str = options.form_option(_FORMATS)
    config_file = options.CONFIG_FILE
    no_config = options.NO_CONFIG
    chart: str | None = option(
        "--chart", metavar="FOLDER", completion=FOLDER, help_text="List which values the templates of a chart read, and where they go."
    )


def rule(args: RuleOptions) -> int:
    """Show the page of a rule, or list the rules of a category; without a name, list all rules and configured policies."""
    if args.chart is not None:
        show([_listing_of(args.chart)])
        return 0
    from afflint.checks.registry import CATEGORIES, rules
    from afflint.report import rule_pages

    known, name = dict(rules()), args.name
    if name not in known:
        known |= {each.name: each for each in _policies(args)}
    if name is not None:
        if name not in (*known, *CATEGORIES):
            _check_not_policy_check(name)
        check_choice("rule", name, (*known, *CATEGORIES), "`afflint rule` lists all rules and categories")
    single = name in known
    chosen = [each for each in known.values() if name in (None, each.name, each.category)]
    if args.form == "json":
        show([rule_pages.as_json(chosen, single=single)])
    else:
        show([rule_pages.page(chosen[0], color=colored("auto"), width=_terminal_width()) if single else rule_pages.table(chosen)])
    return 0


def _listing_of(folder: str) -> str:
    """Return what afflint understands of a chart. Raises UserError."""
    from afflint.charts.chart_files import files_of_chart, parts_of_chart
    from afflint.charts.chart_table import ChartTable
    from afflint.report.chart_listing import chart_listing
    from afflint.source.sources import CHART

    if not os.path.isfile(os.path.join(folder, CHART)):
        raise UserError(f"--chart: {folder} is not the folder of a chart: it has no {CHART}")
    return chart_listing(ChartTable(parts_of_chart(files_of_chart(folder))))


def _policies(args: RuleOptions) -> list[Rule]:
    """Return the policies of the configuration; if it has mistakes, print them and return none, so that rules are still shown."""
    from afflint.checks.registry import policy_rule

    try:
        effective = options.configuration(args)
    except ConfigError as error:
        notify("\n".join(f"afflint: {visible(line)}" for line in str(error).splitlines()))
        return []
    # As with other rules, `severity` of the configuration takes precedence.
    declared = [each._replace(severity=effective.severity.get(each.name) or each.severity) for each in effective.policies]
    return [policy_rule(each, effective.origins[field_of(("policies", each.name))].file or "") for each in declared]


def _check_not_policy_check(name: str) -> None:
    """Raise UserError for the name of a policy check: only policies have pages, under their names in the configuration."""
    from afflint.policies.registry import CHECKS

    if name in CHECKS and CHECKS[name].subject != "admission":
        raise UserError(
            f"rule: `{name}` is a policy check, not a rule; docs/policies.md describes it, and `afflint rule policy` lists the "
            "policies of the configuration"
        )


def _terminal_width() -> int | None:
    """Return the width of the terminal; None if the output is not a terminal, so that lines are not wrapped."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return min(shutil.get_terminal_size().columns, 120)


class ConfigOptions(ConfigOverrides):
    """The options of ``afflint config``."""

    config_file = options.CONFIG_FILE
    no_config = options.NO_CONFIG
    schema: bool = flag("--schema", help_text="Show the JSON schema of the configuration, for editors.")


def config(args: ConfigOptions) -> int:
    """Show the effective configuration and where each value comes from."""
    from afflint.config.display import describe

    if args.schema:
        show([_config_schema()])
        return 0
    effective = options.configuration(args)
    rows = list(describe(effective))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    width = min(widths[1], 60)
    show(f"{key:<{widths[0]}}  {value:<{width}}  {origin}\n" for key, value, origin in rows)
    return 0


def _config_schema() -> str:
    from afflint import resources

    with open(os.path.join(resources.directory("schemas"), "config.schema.json"), encoding="utf-8") as file:
        return file.read()


RULE = Command(rule, RuleOptions, "Show the page of a rule, or list rules.")
CONFIG = Command(config, ConfigOptions)
