"""The renderer process: it checks a folder once with rendering, as `afflint check --render` does, and ends.

It reads the files on disk, never the text of the editor. It ends as soon as its standard input does, with every program that it has
started: because the server has ended, or because a file was saved and another render follows.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from afflint.config import Config
from afflint.config.trust import renderers
from afflint.findings.errors import UserError
from afflint.findings.finding import NO_FILE, FileId, Finding, Span, identity_of
from afflint.findings.grouping import grouped
from afflint.lsp.folder_config import ConfiguredFolder
from afflint.lsp.indexer import protocol
from afflint.lsp.indexer.map_cache import MapCache
from afflint.lsp.indexer.protocol import RenderedFile, RenderEnded, RenderRequest, ReplacedFinding, content_checksum
from afflint.lsp.indexer.workspace import without_faulty
from afflint.pipeline.baseline import of_config
from afflint.pipeline.options import Options
from afflint.pipeline.run import Outcome
from afflint.pipeline.session import Session
from afflint.report.coverage import coverage_lines
from afflint.source.files import read_regular

_NICE_VALUE = 10
"""The nice value of the process and of the programs that it starts: typing comes first on a busy machine."""
_LARGEST = 64 << 20


def main() -> None:
    """Do the render that standard input requests, and write its result to standard output."""
    incoming, outgoing = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # Only the result may reach the server.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICE_VALUE)
    lines = protocol.read_lines(incoming)
    line = next(lines, None)
    if line is None:
        return
    with suppress(KeyboardInterrupt):
        threading.Thread(target=_interrupt_at_end, args=(lines,), name="reader", daemon=True).start()
        message = protocol.REPORTS.encode(render(protocol.RENDERS.decode(line)))
        with suppress(OSError):  # The server has ended.
            protocol.write_line(outgoing, message)


def _interrupt_at_end(lines: Iterator[bytes]) -> None:
    """Interrupt the main thread when standard input ends: it then ends the programs that run and removes temporary files."""
    with suppress(OSError):
        for _ in lines:
            pass
    # Its result is not needed any more. Python would print an interrupt that arrives in a finalizer, or at the end of the process.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def render(request: RenderRequest) -> RenderEnded:
    """Check the files of a folder with rendering and without it, and return what rendering changes."""
    started = time.monotonic()
    try:
        os.chdir(request.folder)  # Names in messages and the boundary of the repository are those of a check in this folder.
        ended = _render(request)
    except (UserError, OSError) as error:
        return RenderEnded(request.folder, fault=str(error))
    except Exception:
        return RenderEnded(request.folder, fault=traceback.format_exc(), unexpected=True)
    return ended._replace(seconds=time.monotonic() - started)


def _render(request: RenderRequest) -> RenderEnded:
    config = ConfiguredFolder(request.folder, request.command_line).setup.config
    try:
        return _rendered(request, config)
    except UserError as error:
        smaller = without_faulty(config, error)
        if smaller == config:
            raise
        return _rendered(request, smaller)  # The run over the files reports the error.


def _rendered(request: RenderRequest, config: Config) -> RenderEnded:
    session = Session(config)
    sources = session.sources(["."])
    map_cache = MapCache(request.folder)
    jobs = config.jobs or max((os.cpu_count() or 1) // 2, 1)
    options = Options(jobs, baseline=of_config(config), mapper=map_cache.mapper(lambda _done, _total: None), reader=map_cache.reader)
    checked, with_renders = session.with_renders(sources, options, network=False)
    if with_renders.renders is None:
        return RenderEnded(request.folder)
    rendered = session.check(checked, with_renders)
    files, paths = _changes(session.check(sources, options), rendered, request.folder)
    summary = rendered.summary
    assert summary.renders is not None
    notes = tuple(coverage_lines(summary.renders, summary.coverage, verbose=False))
    failed = {tool for tool, _, _ in summary.renders.failed}
    missing = tuple([tool for tool in renderers(config) if tool in failed and not _is_installed(tool)])
    return RenderEnded(request.folder, files, paths, notes, missing)


def _is_installed(tool: str) -> bool:
    from afflint.rendering.programs import helm_command, kustomize_command

    return (helm_command if tool == "helm" else kustomize_command)() is not None


def _changes(plain: Outcome, rendered: Outcome, folder: str) -> tuple[tuple[RenderedFile, ...], tuple[str, ...]]:
    """Return what rendering changes in each file, and the paths that related positions refer to."""
    paths: dict[str, int] = {}
    real = os.path.realpath(folder)

    def path_of(outcome: Outcome, file: FileId) -> str:
        path = os.path.abspath(outcome.sources[file].path)
        # The editor knows the folder by the path with which it was opened.
        return os.path.join(folder, os.path.relpath(path, real)) if path.startswith(os.path.join(real, "")) else path

    def numbered(finding: Finding) -> Finding:
        numbers = [paths.setdefault(path_of(rendered, each.source), len(paths)) for each in finding.related]
        related = [each._replace(source=protocol.FIRST_PATH - number) for each, number in zip(finding.related, numbers, strict=True)]
        return finding._replace(related=tuple(related), fix=None, source=NO_FILE)

    before, after = _by_path(plain, path_of), _by_path(rendered, path_of)
    files = []
    for path in sorted({*before, *after}):
        added, replaced = _difference(before.get(path, ()), after.get(path, ()))
        if added or replaced:
            files.append(RenderedFile(path, _content(path), tuple(map(numbered, added)), tuple(replaced)))
    return tuple(files), tuple(paths)


def _by_path(outcome: Outcome, path_of: Callable[[Outcome, FileId], str]) -> dict[str, list[Finding]]:
    return grouped((path_of(outcome, each.source), each) for each in outcome.findings)


def _difference(plain: Sequence[Finding], rendered: Sequence[Finding]) -> tuple[list[Finding], list[ReplacedFinding]]:
    """Return the findings of a file that are not found without rendering, and the identities and spans of those that rendering replaces."""
    alike, there = {_key(each) for each in rendered}, {_key(each) for each in plain}
    replaced = {identity_of(each): each.span for each in plain if _key(each) not in alike}
    added = [each for each in rendered if _key(each) not in there or identity_of(each) in replaced]
    return added, [ReplacedFinding(*each) for each in replaced.items()]


def _key(finding: Finding) -> tuple[str, Span, str]:
    return finding.rule, finding.span, finding.message


def _content(path: str) -> str:
    try:
        return content_checksum(read_regular(path, _LARGEST))
    except OSError:
        return ""
