"""``afflint init``: writes a first configuration for a repository."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.command import FOLDER, Command, CommandOptions, argument, flag
from afflint.cli.output import ProgressLine, show, today
from afflint.cli.parser import value_unless_given
from afflint.config import find
from afflint.findings.errors import UserError
from afflint.findings.phrases import pluralize, visible
from afflint.source.files import read_regular
from afflint.source.sources import relative

if TYPE_CHECKING:
    from afflint.config import Config
    from afflint.config.writer import ConfigEntry
    from afflint.init.repository_scan import RepositoryScan
    from afflint.pipeline.options import Options
    from afflint.pipeline.run import Outcome

_FILE, _PROJECT = ".afflint.yaml", "pyproject.toml"
_LARGEST_PROJECT = 8 << 20


class InitOptions(CommandOptions):
    """The options of ``afflint init``."""

    folder: str | None = argument("[FOLDER]", FOLDER, multiple=False)
    dry_run: bool = flag("--dry-run", help_text="Print what would be written, and write nothing.")
    baseline: bool = flag("--baseline", help_text="Record today's findings in .afflint-baseline.json, so that they are not reported again.")
    pyproject: bool = flag("--pyproject", help_text="Append the configuration to pyproject.toml, as the table [tool.afflint].")


def init(args: InitOptions) -> int:
    """Write a first .afflint.yaml for a folder.

    FOLDER is scanned, and the file is written to it. Default: the current folder. Settings that follow from its manifests, nodes,
    kustomizations and charts are set, with the reason; settings that only you can decide are added as comments. Existing files are
    never overwritten.
    """
    from afflint.init import proposal
    from afflint.pipeline.baseline import DEFAULT_FILE, dump

    pyproject, place = args.pyproject, os.path.normpath(args.folder or os.curdir)
    if not os.path.isdir(place):
        raise UserError(f"{place!r} is not a folder; init takes the folder that the configuration is for")
    target = os.path.normpath(os.path.join(place, _PROJECT if pyproject else _FILE))
    if not args.dry_run:
        _check_target(place, target, pyproject=pyproject)
    above = _inherited(place)
    config = _configuration(above)._replace(root=os.path.abspath(place))
    scan = _scan(config, place)
    known = os.path.normpath(os.path.join(place, DEFAULT_FILE))
    extends = relative(above, place).replace(os.sep, "/") if above else None
    entries = [*proposal.entries(scan, above=extends)]
    outcome = None
    if args.baseline and not os.path.lexists(known):
        outcome = _check(proposal.as_config(entries, config, target), place)
    if os.path.lexists(known) or (outcome is not None and outcome.findings):
        entries = [*proposal.entries(scan, above=extends, baseline=True)]
    text = _text(proposal.heading(scan), entries, pyproject=pyproject)
    if args.dry_run:
        show([text])
        return 0
    exists = os.path.lexists(known)
    if outcome is not None and outcome.findings:
        _write(known, dump(outcome.findings, place, today=today()))
    _write_configuration(target, text, pyproject=pyproject)
    keys = [each.key for each in entries if not each.offered]
    show(
        [
            f"Wrote {visible(target)}{', which sets ' + ', '.join(keys) if keys else ', with all settings as comments'}.\n",
            _baseline_message(known, outcome, exists=exists),
        ]
    )
    return 0


def _check_target(place: str, target: str, *, pyproject: bool) -> None:
    """Raise UserError if the folder is configured already, or the file cannot be written."""
    existing = find(place)
    if existing is not None and os.path.dirname(os.path.abspath(existing)) == os.path.abspath(place):
        raise UserError(
            f"{existing!r} already configures afflint; `afflint config` shows its settings, and `afflint init --dry-run` a new proposal"
        )
    if pyproject and not os.path.isfile(target):
        raise UserError(f"{target!r} does not exist; without --pyproject, init writes {_FILE}")
    if not pyproject and os.path.lexists(target):
        raise UserError(f"{target!r} already exists and is not a readable file")


def _inherited(place: str) -> str | None:
    """Return the configuration in a parent folder of the same repository, which applies to the folder as well."""
    here = os.path.abspath(place)
    above = os.path.dirname(here)
    found = find(above) if above != here and not os.path.lexists(os.path.join(here, ".git")) else None
    if found is None:
        return None
    top = os.path.dirname(os.path.abspath(found))
    # A configuration above the repository exists on this machine only.
    while above != top:
        if os.path.lexists(os.path.join(above, ".git")):
            return None
        above = os.path.dirname(above)
    return found


def _configuration(above: str | None) -> Config:
    """Return the settings that apply to the folder before it has its own configuration."""
    return options.configuration(options.ConfigOverrides(config_file=above, no_config=above is None), was_found=True)


def _scan(config: Config, place: str) -> RepositoryScan:
    from afflint.init import repository_scan
    from afflint.pipeline.session import Session

    session = Session(config)
    sources = session.sources((place,))
    with ProgressLine(len(sources)) as progress:
        return repository_scan.scan_repository(session, sources, place, _options(config, progress))


def _check(config: Config, place: str) -> Outcome:
    """Return what `afflint check` will find in the folder."""
    from afflint.pipeline.session import Session

    session = Session(config)
    sources = session.sources((place,))
    with ProgressLine(len(sources)) as progress:
        return session.check(*session.with_renders(sources, _options(config, progress), network=False))


def _options(config: Config, progress: ProgressLine) -> Options:
    folder, no_cache = map(value_unless_given, (options.CACHE_DIR, options.NO_CACHE))
    cache = options.cache_folder(folder, no_cache=no_cache)
    return options.run_options(config, progress, cache=cache, use_baseline=False)


def _text(heading: str, entries: Sequence[ConfigEntry], *, pyproject: bool) -> str:
    from afflint.config import writer

    return (writer.as_toml if pyproject else writer.as_yaml)(heading, entries)


def _write_configuration(target: str, text: str, *, pyproject: bool) -> None:
    if not pyproject:
        _write(target, text)
        return
    from afflint.config.positions import ReadError, decode
    from afflint.config.toml import read_toml
    from afflint.source.atomic_write import replace_file

    try:
        before = read_regular(target, _LARGEST_PROJECT)
        added = text.replace("\n", "\r\n") if b"\r\n" in before else text
        end = "\r\n" if b"\r\n" in before else "\n"
        after = before + (b"" if before.endswith(b"\n") or not before else end.encode()) + (end if before else "").encode() + added.encode()
        read_toml(decode(after))
    except OSError as error:
        raise UserError(f"cannot read {target!r}: {error.strerror or error}") from None
    except ReadError as error:
        raise UserError(f"a table cannot be added to {target!r}, which {error.message}") from None
    replace_file(target, before, after, doing="write to")


def _write(target: str, text: str) -> None:
    """Write a file that does not exist yet."""
    from afflint.source.atomic_write import write_new_file

    try:
        write_new_file(target, text.encode())
    except OSError as error:
        raise UserError(f"cannot write {target!r}: {error.strerror or error}") from None


def _baseline_message(known: str, outcome: Outcome | None, *, exists: bool) -> str:
    """Say whether a baseline was written, or how to write one."""
    if exists:
        return f"{visible(known)} already exists and is left unchanged.\n"
    if outcome is None:
        return (
            "`afflint check` reports the findings. To see only new findings from now on, run `afflint check --write-baseline` and\n"
            "uncomment `baseline`.\n"
        )
    count = len(outcome.findings)
    if not count:
        return "There are no findings today.\n"
    return f"Wrote {pluralize(count, 'finding')} to {visible(known)}, which afflint no longer reports.\n"


COMMAND = Command(init, InitOptions, "Write a first configuration.")
