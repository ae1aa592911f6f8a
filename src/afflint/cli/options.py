"""Options that commands share, and how their values are checked: a word that is not known is refused with the nearest one."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from afflint.cli.command import SEVERAL, flag, option
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES

if TYPE_CHECKING:
    from click import Context, Parameter
    from click.shell_completion import CompletionItem

    from afflint.cli.command import Completion, Option
    from afflint.config import Config


def one_word(known: Sequence[str]) -> Completion:
    """Completes to one of these words."""

    def complete(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
        from afflint.cli.completion import words

        return words(known, incomplete)

    return complete


def rule_names(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the last of several rules and categories, with commas between them."""
    from afflint.cli import completion

    return completion.rule_names(incomplete, several=True)


def rule_name(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes a rule or a category."""
    from afflint.cli import completion

    return completion.rule_names(incomplete, several=False)


def version(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes a version of Kubernetes."""
    from afflint.cli.completion import versions

    return versions(incomplete)


def file(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes a file."""
    from afflint.cli.completion import places

    return places(incomplete, "file")


def folder(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes a folder."""
    from afflint.cli.completion import places

    return places(incomplete, "dir")


nodes = option(
    "--nodes",
    metavar="FILE",
    takes=SEVERAL,
    completes=file,
    about="Nodes: a dump (- for stdin), manifests, pools, a list; or none.",
)
COLORS = ("auto", "always", "never")
color = option(
    "--color",
    default="auto",
    metavar="WHEN",
    completes=one_word(COLORS),
    about="auto (default), always or never; NO_COLOR and FORCE_COLOR count.",
)


def form(words: Sequence[str]) -> Option:
    """Which form the output takes: one of some words, the first where none is asked for."""
    from afflint.findings.phrases import join_words

    about = join_words([f"{words[0]} (default)", *words[1:]], "or")
    return option("--format", called="form", default=words[0], metavar="FORMAT", completes=one_word(words), about=f"{about}.")


configured = (
    option("--config", called="config_file", metavar="FILE", completes=file, about="This configuration, not the nearest upward."),
    flag("--no-config", about="No configuration file at all."),
)
"""The two options that say which configuration holds."""


def one_of(option: str, value: str, known: Collection[str], listing: str = "") -> None:
    """Refuse a word that is none of the known ones, with the nearest of them."""
    if value in known:
        return
    from afflint.findings.phrases import nearest

    close = nearest(value, known)
    hint = f"; did you mean {close!r}?" if close else f"; `{listing}` lists them" if listing else f"; it takes {', '.join(known)}"
    raise UserError(f"{option}: there is no {value!r}{hint}")


def configuration_file(options: Mapping[str, Any]) -> str | None:
    """The configuration file that the options of a command ask for: the one that is named, or found; None for none."""
    from afflint.config import find

    path = options.get("config_file")
    if path is not None and options.get("no_config"):
        raise UserError("--config and --no-config exclude each other")
    if path is not None and not os.path.isfile(path):
        raise UserError(f"no such configuration file: {path!r}")
    return find(os.getcwd()) if path is None and not options.get("no_config") else path


def configuration(options: Mapping[str, Any], *, was_found: bool = False) -> Config:
    """The settings that the options of a command ask for: a configuration file with what the command line says on top.

    ``was_found``: the configuration file among the options is not one that the user names, so it is not trusted as one.
    """
    from afflint import config as settings
    from afflint.checks.registry import CATEGORIES, rules

    path = configuration_file(options)
    known = tuple(rules())
    was_found = was_found or options.get("config_file") is None
    config = settings.default() if path is None else settings.load(path, rule_names=known, categories=CATEGORIES, was_found=was_found)
    named = {key: options.get(key) or () for key in ("select", "ignore", "extend_select")}
    own = tuple([policy.name for policy in config.policies])
    chosen = {key: _names(f"--{key.replace('_', '-')}", values, own) for key, values in named.items()}
    node_files = tuple(options.get("nodes") or ())
    words = node_files in ((settings.AUTO_NODES,), (settings.NO_NODES,))
    for file in () if words else node_files:
        if file != "-" and not os.path.exists(file):
            raise UserError(f"--nodes: no such file: {file!r}")
    fail_on = options.get("fail_on")
    if fail_on is not None:
        one_of("--fail-on", fail_on, SEVERITIES)
    return settings.with_overrides(
        config,
        **chosen,
        nodes=node_files,
        kubernetes_version=_version(options.get("kubernetes_version")),
        render=_renderers(options.get("render")),
        baseline=options.get("baseline"),
        fail_on=fail_on,
        format=options.get("formats") or (),
        output=options.get("outputs") or (),
        jobs=_jobs(options.get("jobs")),
    )


def _names(option: str, values: Sequence[str], policies: Sequence[str]) -> tuple[str, ...]:
    """The names of rules, ``policies`` and categories in comma-separated values, each known."""
    from afflint.checks.registry import CATEGORIES, rules

    listed = tuple(name.strip() for value in values for name in value.split(",") if name.strip())
    if option == "--select" and values and not listed:
        raise UserError(f"{option} names no rule and no category")
    for name in listed:
        one_of(option, name, (*rules(), *policies, *CATEGORIES, "all"), "afflint rule")
    return listed


def _renderers(text: str | None) -> tuple[str, ...]:
    from afflint.config import RENDERERS

    listed = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    for name in listed:
        one_of("--render", name, RENDERERS)
    return listed


def _version(text: str | None) -> str | None:
    if text is None:
        return None
    major, _, rest = text.removeprefix("v").partition(".")
    minor = rest.partition(".")[0]
    if major != "1" or not (minor.isascii() and minor.isdigit() and len(minor) < 4):
        raise UserError(f"--kubernetes-version takes a version such as 1.34, not {text!r}")
    return f"1.{int(minor)}"


def _jobs(given: int | None) -> int | None:
    if given is not None and given < 1:
        raise UserError("--jobs takes a number of processes, 1 or more")
    return given


def jobs(asked: int | None) -> int:
    """How many processes: as many as asked for, or as the machine lets us have."""
    if asked is not None:
        return asked
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
