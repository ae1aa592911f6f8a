"""A run in shards: each of several machines checks some of the files and writes their results; one machine merges the results.

A results file has a line of JSON for its header and one for each result: the name of the file, the key of the result, and the result,
with a checksum in front. Keys depend on bytes, settings and the version of afflint. A file that has changed has no result under its new
key, and the merging machine checks it again. The report is therefore always that of a single run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING

from afflint import __version__
from afflint.findings.codec import Codec, PlainError
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.definitions import DefinitionReader, with_definitions
from afflint.pipeline.files import Files
from afflint.pipeline.locating import named_nodes
from afflint.pipeline.map_step import FileResult, MapSettings
from afflint.pipeline.mapping import Progress, bytes_of, map_by_key, map_files
from afflint.pipeline.results import ELSEWHERE, KEY_SIZE, Keys, checksum
from afflint.source.sources import Source

if TYPE_CHECKING:
    from afflint.pipeline.session import Session

_FORMAT = 1
_CHECKSUM = 16
_LONGEST_HEADER = 1 << 24
MOST_SHARDS = 10_000


class ShardError(UserError):
    """Results files that cannot be merged; the message is for the user."""


class Share(NamedTuple):
    """The number of a shard, counted from 1, and the number of shards."""

    number: int
    of: int

    def part(self, sources: Collection[Source]) -> list[Source]:
        """Return every n-th source: neighbouring files are similar, so each shard gets about the same work."""
        return [source for number, source in enumerate(sources) if number % self.of == self.number - 1]


class Arguments(NamedTuple):
    """The arguments of `afflint check` that affect the findings. Without ``config_file``, there is no configuration."""

    paths: tuple[str, ...]
    nodes: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    config_file: str | None = None
    kubernetes_version: str | None = None
    force_exclude: bool = False
    render: tuple[str, ...] = ()
    """The tools that `--render` starts. The shards check files as they are; the merge renders."""


class _Header(NamedTuple):
    """``settings`` is the checksum of the settings of the configuration; ``made_with`` has the checksums for the results."""

    share: Share
    results: int
    settings: str
    made_with: tuple[str, ...]
    arguments: Arguments


class _ShardLine(NamedTuple):
    key: str
    file: str
    result: FileResult


_HEADER = Codec(_Header)
_LINE = Codec(_ShardLine, ELSEWHERE)


# One shard.


def lines_of_share(
    session: Session, sources: Sequence[Source], share: Share, arguments: Arguments, jobs: int, progress: Progress | None = None
) -> Iterator[str]:
    """Yield the lines of the results file for one shard of a run over ``sources``. Raises NodeFileError."""
    files = Files(sources, session.context(), session.node_files())
    base = session.settings()
    named_nodes(files)
    settings = with_definitions(files, base, DefinitionReader())
    only_facts = settings._replace(rules=())
    checked = frozenset(files.checked)
    only_nodes = [file for file in files.nodes if file not in checked]
    lines: list[str] = []
    for numbers, under in ((files.checked, settings), (files.context, only_facts), (only_nodes, only_facts)):
        part = share.part(files.of(numbers).values())
        keys = Keys(under, __version__)
        for source, result in zip(part, map_by_key(part, under, keys, jobs, progress), strict=True):
            if result is not None:
                lines.append(f'"{result.key.hex()}",{json.dumps(source.name)},{(result.text or b"").decode("ascii")}]')
    made_with = tuple(Keys(under, __version__).settings for under in (settings, only_facts))
    header = _HEADER.encode(_Header(share, len(lines), Keys(base, __version__).settings, made_with, arguments)).decode("ascii")
    yield f'{{"afflint":{json.dumps(__version__)},"format":{_FORMAT},"checksum":"{_checksum(header)}","run":{header}}}\n'
    for line in lines:
        yield f'["{_checksum(line)}",{line}\n'


# All shards.


class Merged:
    """The results of all shards as a mapper for the whole run. It checks files without a result itself."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Read all results. Raises ShardError for damaged files and for shards of different runs."""
        self._results: dict[bytes, FileResult] = {}
        self._jobs: int = 1
        self._progress: Progress | None = None
        headers = [(path, self._read(path)) for path in paths]
        _check_same_run(headers)
        header = headers[0][1]
        self.arguments = header.arguments
        self._settings, self._made_with = header.settings, frozenset(header.made_with)
        self.changed: list[str] = []
        """The files that have changed since the shards ran."""
        self.new_definitions = False
        """Whether nodes, pools or custom resources have changed since the shards ran, so that all files are checked again."""
        self.renders = False
        """Whether the run renders. No shard has results for rendered output, nor for the values files that only GitOps objects name."""

    def check_settings(self, settings: MapSettings) -> None:
        """Raise ShardError if the shards ran with another configuration."""
        if Keys(settings, __version__).settings != self._settings:
            raise ShardError("the configuration differs from that of the shards; run `afflint merge` in the same checkout")

    def set_processes(self, jobs: int, progress: Progress | None) -> None:
        """Set how many processes check files without a result."""
        self._jobs, self._progress = jobs, progress

    def __call__(self, sources: Collection[Source], settings: MapSettings) -> Iterator[FileResult]:
        """Return the results of the map step: those of the shards, and those of the files that are checked again."""
        keys = Keys(settings, __version__)
        known: list[FileResult | None] = []
        unknown: list[Source] = []
        changed: list[str] = []
        for source in sources:
            data = bytes_of(source)
            result = None if isinstance(data, Exception) else self._results.get(keys.key(source.known_as, checksum(data)))
            known.append(result)
            if result is None:
                unknown.append(source)
                if source.data is None and not (self.renders and source.values):
                    changed.append(source.name)
        if keys.settings in self._made_with:
            self.changed += changed
        else:
            self.new_definitions = self.new_definitions or bool(changed)
        rest = iter(map_files(unknown, settings, self._jobs, self._progress))
        return (next(rest) if result is None else result for result in known)

    def _read(self, path: str) -> _Header:
        try:
            with open(path, "rb") as file:
                header = _header(path, file.readline(_LONGEST_HEADER))
                count = 0
                for count, line in enumerate(file, 1):
                    read = _parsed_line(line)
                    if read is None:
                        raise ShardError(f"{path}:{count + 1}: damaged; run the shard again")
                    self._results[bytes.fromhex(read.key)] = read.result
        except OSError as error:
            raise ShardError(f"{path!r} cannot be read: {error.strerror or error}") from None
        if count != header.results:
            raise ShardError(f"{path}:{count + 2}: {header.results} results were written, but {count} are in the file; run the shard again")
        return header


@contextmanager
def rejecting_mismatches() -> Iterator[None]:
    """Raise ShardError for exceptions from results of shards: a checksum is not a signature, so results may be forged."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise ShardError(f"the results of the shards do not match the files or the rules ({reason}); run the shards again") from error


def _header(path: str, line: bytes) -> _Header:
    """Parse the header of a results file. Raises ShardError for any other file, and for a file of another version."""
    try:
        data = json.loads(line)
        by, form, checksum, run = (data[name] for name in ("afflint", "format", "checksum", "run"))
    except (ValueError, TypeError, LookupError, RecursionError):
        raise ShardError(f"{path!r} contains no results of `afflint check --shard`") from None
    if by != __version__ or form != _FORMAT:
        raise ShardError(f"{path!r} was written by afflint {str(by)[:40]}, but this is {__version__}: use the same version for all shards")
    try:
        text = json.dumps(run, separators=(",", ":"))
        header = _HEADER.decode(text.encode("ascii"))
    except (PlainError, RecursionError):
        header = None
    if header is None or checksum != _checksum(text) or not 0 < header.share.number <= header.share.of <= MOST_SHARDS:
        raise ShardError(f"{path}:1: damaged; run the shard again")
    return header


def _parsed_line(line: bytes) -> _ShardLine | None:
    """Parse a line of a results file; None if it is damaged."""
    start, text = line[:_START], line[_START:].removesuffix(b"\n").decode("ascii", "replace")
    if start != f'["{_checksum(text)}",'.encode():
        return None
    try:
        parsed = _LINE.decode(f"[{text}".encode())
        return parsed if len(bytes.fromhex(parsed.key)) == KEY_SIZE else None
    except (PlainError, ValueError):
        return None


def _check_same_run(headers: Sequence[tuple[str, _Header]]) -> None:
    first_path, first = headers[0]
    there: dict[int, str] = {}
    for path, header in headers:
        for what, same in (
            ("the number of shards", header.share.of == first.share.of),
            ("the arguments", header.arguments == first.arguments),
            ("the configuration or the nodes", (header.settings, header.made_with) == (first.settings, first.made_with)),
        ):
            if not same:
                raise ShardError(f"{first_path!r} and {path!r} are from different runs: {what} differ{'' if what.endswith('s') else 's'}")
        if header.share.number in there:
            raise ShardError(f"{there[header.share.number]!r} and {path!r} are both shard {header.share.number} of {header.share.of}")
        there[header.share.number] = path
    missing = [str(number) for number in range(1, first.share.of + 1) if number not in there]
    if missing:
        which = f"shard {missing[0]}" if len(missing) == 1 else f"shards {', '.join(missing[:10])}{' …' if len(missing) > 10 else ''}"
        raise ShardError(f"{which} of {first.share.of} {'is' if len(missing) == 1 else 'are'} missing")


def _checksum(text: str) -> str:
    return blake2b(text.encode("ascii", "replace"), digest_size=_CHECKSUM).hexdigest()


_START = len('["",') + 2 * _CHECKSUM
