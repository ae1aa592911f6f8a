"""The commands that tell about afflint itself: ``afflint rule`` and ``afflint config``."""

from __future__ import annotations

import sys

from afflint.cli import options
from afflint.cli.command import Argument, Command, flag, option
from afflint.cli.output import colored, show

_FORMATS = ("text", "json")


def rule(name: str | None, form: str) -> None:
    """The page of a rule, or the rules of a category; without a name all rules."""
    from afflint import rulebook
    from afflint.rules import CATEGORIES, rules

    options.one_of("--format", form, _FORMATS)
    if name is not None:
        options.one_of("rule", name, (*rules(), *CATEGORIES), "afflint rule")
    single = name in rules()
    chosen = [each for each in rules().values() if name in (None, each.name, each.category)]
    if form == "json":
        show([rulebook.as_json(chosen, single=single)])
    else:
        show([rulebook.page(chosen[0], color=colored("auto"), width=_terminal_width()) if single else rulebook.table(chosen)])


def _terminal_width() -> int | None:
    """How wide the terminal is; None where the output goes elsewhere, and lines are left as they are."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return min(shutil.get_terminal_size().columns, 120)


def config(config_file: str | None, no_config: bool, schema: bool) -> None:
    """The effective configuration and where each value comes from."""
    from afflint import config as settings

    if schema:
        show([_config_schema()])
        return
    effective = options.configuration({"config_file": config_file, "no_config": no_config})
    rows = list(settings.describe(effective))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    width = min(widths[1], 60)
    show(f"{key:<{widths[0]}}  {value:<{width}}  {origin}\n" for key, value, origin in rows)


def _config_schema() -> str:
    import os

    from afflint import shipped

    with open(os.path.join(shipped.directory("schemas"), "config.schema.json"), encoding="utf-8") as file:
        return file.read()


_FORMAT = option(
    "--format", called="form", default="text", metavar="FORMAT", completes=options.one_word(_FORMATS), about="text (default) or json."
)
RULE = Command(
    rule, {"": (_FORMAT,)}, Argument("name", "[NAME]", options.rule_name, several=False), "The page of a rule, or a list of rules."
)
CONFIG = Command(config, {"": (*options.configured, flag("--schema", about="The JSON schema of a configuration, for editors."))})
