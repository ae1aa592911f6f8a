"""``afflint init``: a first configuration, out of what the repository shows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.command import Argument, Command, flag
from afflint.cli.output import ProgressLine, show, shown
from afflint.findings.errors import UserError
from afflint.findings.phrases import pluralize
from afflint.source.sources import relative

if TYPE_CHECKING:
    from afflint.config import Config
    from afflint.config.writer import ConfigEntry
    from afflint.init.repository_scan import RepositoryScan
    from afflint.pipeline.run import Options, Outcome

_FILE, _PROJECT = ".afflint.yaml", "pyproject.toml"
_LARGEST_PROJECT = 8 << 20


def init(folder: str | None, dry_run: bool, pyproject: bool, baseline: bool) -> int:
    """Write a first .afflint.yaml, out of what the repository shows.

    FOLDER is where it goes, and what it is about. Default: the current folder. What can be told from the manifests, nodes, kustomizations
    and charts there is set, with the reason; what only you can know stands there as a comment. Nothing that is there is overwritten.
    """
    from afflint.init import proposal
    from afflint.pipeline.baseline import DEFAULT_FILE, dump

    place = os.path.normpath(folder or os.curdir)
    if not os.path.isdir(place):
        raise UserError(f"init takes the folder that the configuration is for, and {place!r} is none")
    target = os.path.normpath(os.path.join(place, _PROJECT if pyproject else _FILE))
    if not dry_run:
        _refuse(place, target, pyproject=pyproject)
    above = _above(place)
    config = _configuration(above)._replace(root=os.path.abspath(place))
    seen = _looked(config, place)
    known = os.path.normpath(os.path.join(place, DEFAULT_FILE))
    extends = relative(above, place).replace(os.sep, "/") if above else None
    entries = [*proposal.entries(seen, above=extends)]
    outcome = None
    if baseline and not os.path.lexists(known):
        outcome = _checked(proposal.as_config(entries, config, target), place)
    if os.path.lexists(known) or (outcome is not None and outcome.findings):
        entries = [*proposal.entries(seen, above=extends, baseline=True)]
    text = _text(proposal.heading(seen), entries, pyproject=pyproject)
    if dry_run:
        show([text])
        return 0
    there = os.path.lexists(known)
    if outcome is not None and outcome.findings:
        from afflint.cli.page_metadata import today

        _write(known, dump(outcome.findings, place, today=today()))
    _put(target, text, pyproject=pyproject)
    keys = [each.key for each in entries if not each.offered]
    show(
        [
            f"Wrote {shown(target)}{', which sets ' + ', '.join(keys) if keys else ', for you to fill in'}.\n",
            _about(known, outcome, there=there),
        ]
    )
    return 0


def _refuse(place: str, target: str, *, pyproject: bool) -> None:
    """Refuse to begin where somebody has begun."""
    from afflint.config import find

    found = find(place)
    if found is not None and os.path.dirname(os.path.abspath(found)) == os.path.abspath(place):
        what = f"{found!r} configures afflint already; `afflint config` shows what it says"
        raise UserError(f"{what}, and `afflint init --dry-run` what would be written")
    if pyproject and not os.path.isfile(target):
        raise UserError(f"there is no {target!r}; without --pyproject it is {_FILE} that is written")
    if not pyproject and os.path.lexists(target):
        raise UserError(f"{target!r} is there already, and no file that can be read")


def _above(place: str) -> str | None:
    """The configuration that holds in a folder because it stands above it, in the same repository."""
    from afflint.config import find

    here = os.path.abspath(place)
    above = os.path.dirname(here)
    found = find(above) if above != here and not os.path.lexists(os.path.join(here, ".git")) else None
    if found is None:
        return None
    top = os.path.dirname(os.path.abspath(found))
    # One above the repository is of this machine only.
    while above != top:
        if os.path.lexists(os.path.join(above, ".git")):
            return None
        above = os.path.dirname(above)
    return found


def _configuration(above: str | None) -> Config:
    """The settings that hold before there is a configuration of the folder."""
    return options.configuration({"config_file": above, "no_config": above is None}, was_found=True)


def _looked(config: Config, place: str) -> RepositoryScan:
    from afflint.init import repository_scan
    from afflint.pipeline.session import Session

    session = Session(config)
    sources = session.sources((place,))
    with ProgressLine(len(sources)) as progress:
        return repository_scan.scan_repository(session, sources, place, _options(config, progress))


def _checked(config: Config, place: str) -> Outcome:
    """What `afflint check` will find in the folder."""
    from afflint.pipeline.session import Session

    session = Session(config)
    sources = session.sources((place,))
    with ProgressLine(len(sources)) as progress:
        return session.check(*session.with_renders(sources, _options(config, progress), network=False))


def _options(config: Config, progress: ProgressLine) -> Options:
    from afflint.pipeline.mapping import DEFAULT_CACHE
    from afflint.pipeline.run import Options

    cache = None if os.environ.get("AFFLINT_NO_CACHE") else os.environ.get("AFFLINT_CACHE_DIR") or DEFAULT_CACHE
    return Options(options.jobs(config.jobs), progress=progress, cache=cache)


def _text(heading: str, entries: Sequence[ConfigEntry], *, pyproject: bool) -> str:
    from afflint.config import writer

    return (writer.as_toml if pyproject else writer.as_yaml)(heading, entries)


def _put(target: str, text: str, *, pyproject: bool) -> None:
    if not pyproject:
        _write(target, text)
        return
    from afflint.config.positions import ReadError, decode
    from afflint.config.toml import read_toml
    from afflint.source.atomic_write import replace_file
    from afflint.source.files import read_regular

    try:
        before = read_regular(target, _LARGEST_PROJECT)
        added = text.replace("\n", "\r\n") if b"\r\n" in before else text
        end = "\r\n" if b"\r\n" in before else "\n"
        after = before + (b"" if before.endswith(b"\n") or not before else end.encode()) + (end if before else "").encode() + added.encode()
        read_toml(decode(after))
    except OSError as error:
        raise UserError(f"cannot read {target!r}: {error.strerror or error}") from None
    except ReadError as refused:
        raise UserError(f"a table cannot be added to {target!r}, which {refused.message}") from None
    replace_file(target, before, after, doing="write to")


def _write(target: str, text: str) -> None:
    """Write a file that is not there yet."""
    from afflint.source.atomic_write import write_new_file

    try:
        write_new_file(target, text.encode())
    except OSError as error:
        raise UserError(f"cannot write {target!r}: {error.strerror or error}") from None


def _about(known: str, outcome: Outcome | None, *, there: bool) -> str:
    """What has been done about a baseline, or what to do."""
    if there:
        return f"{shown(known)} is there already, and stays as it is.\n"
    if outcome is None:
        return (
            "`afflint check` tells what it finds. To hear only of what is new from now on: `afflint check --write-baseline`, and take the\n"
            "comment sign from `baseline`.\n"
        )
    count = len(outcome.findings)
    if not count:
        return "Nothing is found today.\n"
    return f"Wrote the {pluralize(count, 'finding')} of today to {shown(known)}: they stay silent from now on.\n"


COMMAND = Command(
    init,
    {
        "": (
            flag("--dry-run", about="Print what would be written, and write nothing."),
            flag("--baseline", about="Record what is found today in .afflint-baseline.json, which stays silent."),
            flag("--pyproject", about="Put it at the end of pyproject.toml, as the table [tool.afflint]."),
        )
    },
    Argument("folder", "[FOLDER]", options.folder, several=False),
    "Write a first configuration.",
)
