"""The commands that tell about afflint itself: ``afflint rule`` and ``afflint config``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.command import Argument, Command, flag
from afflint.cli.output import colored, say, show, shown
from afflint.findings.errors import UserError

if TYPE_CHECKING:
    from afflint.checks.registry import Rule

_FORMATS = ("text", "json")


def rule(name: str | None, form: str, config_file: str | None, no_config: bool) -> None:
    """The page of a rule, or the rules of a category; without a name all rules, the policies of the configuration included."""
    from afflint.checks.registry import CATEGORIES, rules
    from afflint.report import rule_pages

    options.one_of("--format", form, _FORMATS)
    known = dict(rules())
    if name not in known:
        known |= {each.name: each for each in _policies(config_file, no_config=no_config)}
    if name is not None:
        if name not in (*known, *CATEGORIES):
            _refuse_check(name)
        options.one_of("rule", name, (*known, *CATEGORIES), "afflint rule")
    single = name in known
    chosen = [each for each in known.values() if name in (None, each.name, each.category)]
    if form == "json":
        show([rule_pages.as_json(chosen, single=single)])
    else:
        show([rule_pages.page(chosen[0], color=colored("auto"), width=_terminal_width()) if single else rule_pages.table(chosen)])


def _policies(config_file: str | None, *, no_config: bool) -> list[Rule]:
    """The policies of the configuration that holds here. One with mistakes is no reason not to tell of the rules."""
    from afflint.checks.registry import policy_rule
    from afflint.config import ConfigError
    from afflint.findings.finding import field_of

    try:
        effective = options.configuration({"config_file": config_file, "no_config": no_config})
    except ConfigError as error:
        say("\n".join(f"afflint: {shown(line)}" for line in str(error).splitlines()))
        return []
    # As with other rules, `severity` of the configuration has the last word.
    declared = [each._replace(severity=effective.severity.get(each.name) or each.severity) for each in effective.policies]
    return [policy_rule(each, effective.origins[field_of(("policies", each.name))].file or "") for each in declared]


def _refuse_check(name: str) -> None:
    """Say of the name of a check what it is: policies have pages, which are called as the configuration calls them."""
    from afflint.policies.registry import CHECKS

    if name in CHECKS and CHECKS[name].subject != "admission":
        raise UserError(
            f"rule: `{name}` is a check that policies ask for, no rule; docs/policies.md describes it, and `afflint rule policy` lists the "
            "policies of the configuration"
        )


def _terminal_width() -> int | None:
    """How wide the terminal is; None where the output goes elsewhere, and lines are left as they are."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return min(shutil.get_terminal_size().columns, 120)


def config(config_file: str | None, no_config: bool, schema: bool) -> None:
    """The effective configuration and where each value comes from."""
    from afflint.config.display import describe

    if schema:
        show([_config_schema()])
        return
    effective = options.configuration({"config_file": config_file, "no_config": no_config})
    rows = list(describe(effective))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    width = min(widths[1], 60)
    show(f"{key:<{widths[0]}}  {value:<{width}}  {origin}\n" for key, value, origin in rows)


def _config_schema() -> str:
    import os

    from afflint import resources

    with open(os.path.join(resources.directory("schemas"), "config.schema.json"), encoding="utf-8") as file:
        return file.read()


RULE = Command(
    rule,
    {"": (options.form(_FORMATS), *options.configured)},
    Argument("name", "[NAME]", options.rule_name, several=False),
    "The page of a rule, or a list of rules.",
)
CONFIG = Command(config, {"": (*options.configured, flag("--schema", about="The JSON schema of a configuration, for editors."))})
