"""The command line of the benchmark: makes what is missing of the trees, runs the chosen parts, prints figures and bars."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from bench import trees
from bench.beside import comparison
from bench.clusters import CONSTRAINTS, FREE
from bench.figures import Bar, Row, bar_line, cpu, over_rounds, ratio, rows, table, wall
from bench.imports import Import, foundation, imports_of, unneeded
from bench.peers import Peers, peers
from bench.processes import (
    BenchError,
    Command,
    Usage,
    afflint,
    afflint_place,
    after_a_change,
    in_turns,
    interpreter,
    output_of,
    references,
    run,
)
from bench.trees import Tree
from bench.typing_speed import at, keystrokes, many_documents, one_document

ONE_JOB, TWO_JOBS, NOTHING = "afflint --jobs 1", "afflint --jobs 2", "python -c pass"
_GROWTH = 4
# One small file takes little time and that little varies much: so many times more rounds.
_SINGLE_ROUNDS = 8
_MEGABYTE = 1_000_000
_PAUSE = 0.2
"""Seconds between two keystrokes of somebody who types."""
_NOT_MET, _FAILED = 1, 2


class Result(NamedTuple):
    """What a part of the benchmark found: rows of the table, bars, and lines to print."""

    rows: list[Row]
    bars: list[Bar]
    notes: tuple[str, ...] = ()


class Settings(NamedTuple):
    data: str
    files: int
    rounds: int

    @property
    def judged(self) -> bool:
        return self.files == trees.FILES


def fleet(settings: Settings) -> Result:
    """Workloads and what selects them: one job and two, held against the bare composition, and the peers where they are."""
    tree = trees.fleet(settings.data, settings.files)
    others = _peers(settings, tree)
    bare = references(tree.folder)
    usages = _measured(tree, settings, {ONE_JOB: 1, TWO_JOBS: 2}, bare | others.commands)
    one, two = usages[ONE_JOB], usages[TWO_JOBS]
    bars = [
        *_bars_of_references("fleet, one job", one, bare, usages, 1.8, settings),
        _bar("fleet, two jobs, in times one job", two, one, 0.6, settings.judged),
    ]
    return Result(rows("fleet", usages, next(iter(bare))), bars, (_described("fleet", tree), *others.skipped))


def mixed(settings: Settings) -> Result:
    """Nine bytes of ten are nothing that afflint reads."""
    tree = trees.mixed(settings.data, settings.files)
    others = _peers(settings, tree)
    bare = references(tree.folder)
    usages = _measured(tree, settings, {ONE_JOB: 1}, bare | others.commands)
    bars = _bars_of_references("mixed tree, one job", usages[ONE_JOB], bare, usages, 0.5, settings)
    return Result(rows("mixed", usages, next(iter(bare))), bars, (_described("mixed", tree), *others.skipped))


def cache(settings: Settings) -> Result:
    """The fleet again, unchanged and with one file changed since the run before."""
    tree = trees.fleet(settings.data, settings.files)
    _assert_quiet(tree)
    kept = os.path.join(settings.data, "kept")
    usages: dict[str, list[Usage]] = {}
    bars = []
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as beside:
            shutil.rmtree(kept, ignore_errors=True)
            # Not in the tree, which is kept as it was made.
            changed = os.path.join(beside, "changed.yaml")
            shutil.copy(trees.path_of_single(trees.single(settings.data)), changed)
            everything = (tree.folder, changed)
            again = afflint(*everything, jobs=jobs, cache=kept)
            names = [f"{name}, --jobs {jobs}" for name in ("without a cache", "unchanged", "one file changed")]
            without, unchanged, one = names
            first = run(again)
            commands = {without: afflint(*everything, jobs=jobs), unchanged: again, one: after_a_change(changed, again)}
            usages |= in_turns(commands, settings.rounds)
            bars += [
                Bar(
                    f"the run that fills the cache, in times without one, --jobs {jobs}",
                    cpu(first) / cpu(usages[without][0]),
                    1.15,
                    judged=False,
                ),
                _bar(
                    f"unchanged fleet, in times without a cache, --jobs {jobs}", usages[unchanged], usages[without], 0.25, settings.judged
                ),
                _bar(f"one file changed, in times without a cache, --jobs {jobs}", usages[one], usages[without], 0.3, settings.judged),
            ]
    return Result(rows("cache", usages, "without a cache, --jobs 1"), bars, (_described("cache", tree),))


def policies(settings: Settings) -> Result:
    """The fleet, and the fleet held to twenty policies, which hardly any of its workloads breaks."""
    tree = trees.fleet(settings.data, settings.files)
    _assert_quiet(tree)
    here, without, held = os.path.dirname(os.path.abspath(__file__)), "without policies", "held to twenty"
    files = {without: "without_policies.yaml", held: "policies.yaml"}
    commands = {
        name: afflint(tree.folder, configuration=os.path.join(here, file), options=("--exit-zero",)) for name, file in files.items()
    }
    for command in commands.values():
        run(command)
    usages = in_turns(commands, settings.rounds)
    bars = [_bar("fleet held to twenty policies, in times without", usages[held], usages[without], 1.2, settings.judged)]
    return Result(rows("policies", usages, without), bars, (_described("policies", tree),))


def growth(settings: Settings) -> Result:
    """Four times the files: time must grow with them and no faster, and memory stay small."""
    small, large = (trees.fleet(settings.data, files) for files in (settings.files, _GROWTH * settings.files))
    names = {tree: f"{tree.files} files" for tree in (small, large)}
    for tree in names:
        _assert_quiet(tree)
    usages = in_turns({name: afflint(tree.folder) for tree, name in names.items()}, settings.rounds)
    few, many = usages[names[small]], usages[names[large]]
    peak = max(usage.peak for usage in many) / _MEGABYTE
    bars = [
        _bar(f"{large.files} files, in times {small.files} files", many, few, 4.4, settings.judged),
        Bar(f"peak MB of the only process at {large.files} files", peak, 200, settings.judged),
    ]
    return Result(rows("growth", usages, names[small]), bars, (_described("growth", large),))


def single(settings: Settings) -> Result:
    """One file of 1 KB: what starting takes, and what is imported for it."""
    tree = trees.single(settings.data)
    command = afflint(trees.path_of_single(tree))
    run(command)
    usages = in_turns({ONE_JOB: command, NOTHING: interpreter("-c", "pass")}, _SINGLE_ROUNDS * settings.rounds)
    bars = [_bar(f"one file of {tree.size} bytes, in times `{NOTHING}`", usages[ONE_JOB], usages[NOTHING], 6, judged=True)]
    imported = imports_of(command)
    allowed = foundation()
    superfluous = unneeded(imported, allowed)
    bars.append(Bar("modules imported for one file without need", len(superfluous), 0))
    return Result(rows("single", usages, NOTHING), bars, (*_import_notes(imported, allowed, superfluous),))


def nodes(settings: Settings) -> Result:
    """Constrained workloads on twelve nodes: four times as many take about four times as long, whatever the constraint."""
    few, some, many = (max(size * settings.files // trees.FILES, 4) for size in (500, 1000, 2000))
    free = f"{many} workloads without constraints"
    commands = {free: _checked_on_nodes(trees.cluster(settings.data, FREE, many, 2, 12))}
    for constraint in CONSTRAINTS:
        for size in (few, some, many):
            commands[f"{constraint}, {size} workloads"] = _checked_on_nodes(trees.cluster(settings.data, constraint, size, 2, 12))
    usages = in_turns(commands, settings.rounds)
    bars = []
    for constraint in CONSTRAINTS:
        small, large = (f"{constraint}, {size} workloads" for size in (few, many))
        bars += [
            _bar(f"{large}, in times as many without constraints", usages[large], usages[free], 2.2, settings.judged),
            _bar(f"{large}, in times {few} workloads", usages[large], usages[small], 4.8, settings.judged),
            _seconds(large, usages[large], 3),
        ]
    growing, more = _more_nodes(settings)
    return Result([*rows("nodes", usages, free), *growing], [*bars, *more])


def _more_nodes(settings: Settings) -> tuple[list[Row], list[Bar]]:
    """As many constrained workloads on four times as many nodes do not take four times as long."""
    workloads, few = (max(size * settings.files // trees.FILES, 4) for size in (1000, 250))
    many = 4 * few
    commands = {
        f"apart, {workloads} workloads of 3 on {size} nodes": _checked_on_nodes(trees.cluster(settings.data, "apart", workloads, 3, size))
        for size in (few, many)
    }
    usages = in_turns(commands, settings.rounds)
    small, large = commands
    growth_bar = _bar(f"{large}, in times {few} nodes", usages[large], usages[small], 2.5, settings.judged)
    return rows("nodes", usages, small), [growth_bar, _seconds(large, usages[large], 3)]


def place(settings: Settings) -> Result:
    """A plan for 3,000 pods on 2,000 nodes."""
    table_rows, bars, notes = [], [], []
    workloads, replicas, size = max(1000 * settings.files // trees.FILES, 4), 3, max(2000 * settings.files // trees.FILES, 8)
    for constraint in ("apart", "spread"):
        tree = trees.cluster(settings.data, constraint, workloads, replicas, size)
        manifests, listed = trees.parts_of_cluster(tree)
        name = f"{constraint}, {workloads * replicas} pods on {size} nodes"
        bare, reference = _first_reference(tree.folder)
        usages = in_turns({name: afflint_place(manifests, listed), bare: reference}, settings.rounds)
        table_rows += rows("place", usages, bare)
        peak = max(usage.peak for usage in usages[name]) / _MEGABYTE
        bars += [
            _bar(f"{name}, in times {bare} (R)", usages[name], usages[bare], 14, settings.judged),
            _seconds(name, usages[name], 6),
            Bar(f"peak MB, {name}", peak, 150, settings.judged),
        ]
        notes.append(_described(name, tree))
    return Result(table_rows, bars, tuple(notes))


def typing(settings: Settings) -> Result:
    """A file of 1,000 lines in a folder of 10,000 manifests: from a keystroke to its diagnostics, while runs over the folder go on."""
    tree = trees.fleet(settings.data, settings.files)
    with open(trees.path_of_single(trees.single(settings.data)), encoding="utf-8") as file:
        manifest = file.read()
    count, pause = 24 * settings.rounds, _PAUSE if settings.judged else 0.0
    bars, notes = [], []
    for name, text in (("20 documents", many_documents(manifest, 1000)), ("one document", one_document(manifest, 1000))):
        delays = keystrokes(tree.folder, text, count, pause)
        beside = 1000 * at(0.95, delays.processor) if delays.processor else None
        what = f"keystroke to diagnostics, {name}, 95th percentile, in ms"
        bars.append(Bar(what, 1000 * at(0.95, delays.seconds), 50, settings.judged, beside))
        figures = f"median {1000 * at(0.5, delays.seconds):.1f} ms, slowest {1000 * max(delays.seconds):.1f} ms"
        notes.append(f"typing, {name}: {count} keystrokes, {figures}; the folder was read in {delays.ready:.1f} s")
    return Result([], bars, tuple(notes))


PARTS: dict[str, Callable[[Settings], Result]] = {
    "fleet": fleet,
    "mixed": mixed,
    "cache": cache,
    "policies": policies,
    "growth": growth,
    "single": single,
    "nodes": nodes,
    "place": place,
    "typing": typing,
}


def _first_reference(folder: str) -> tuple[str, Command]:
    return next(iter(references(folder).items()))


def _checked_on_nodes(tree: Tree) -> Command:
    """``afflint check`` of the manifests of a cluster on its nodes. What is placed there is healthy and complete."""
    manifests, listed = trees.parts_of_cluster(tree)
    # All replicas may land in one zone, which is worth an information.
    command = afflint(manifests, options=("--nodes", listed, "--fail-on", "warning"))
    run(command)
    return command


def _seconds(what: str, usages: list[Usage], limit: float) -> Bar:
    """Processor time as such, beside the ratios: it says something of a machine at rest only, so that nobody is judged by it."""
    return Bar(f"{what}, in seconds of processor time", over_rounds(map(cpu, usages)).median, limit, judged=False)


def _peers(settings: Settings, tree: Tree) -> Peers:
    sample = trees.path_of_single(trees.single(settings.data))
    return peers(tree.folder, sample, os.path.join(settings.data, "schemas"))


def _measured(tree: Tree, settings: Settings, jobs: Mapping[str, int], beside: dict[str, Command]) -> dict[str, list[Usage]]:
    """afflint with so many jobs and what runs beside it on a tree, in turns, everything once before the clock runs."""
    _assert_quiet(tree)
    for command in beside.values():
        run(command)
    return in_turns({name: afflint(tree.folder, jobs=number) for name, number in jobs.items()} | beside, settings.rounds)


def _bars_of_references(
    what: str, usages: list[Usage], bare: Iterable[str], all_usages: dict[str, list[Usage]], limit: float, settings: Settings
) -> list[Bar]:
    """The bar in times R, and for comparison the same in times the other binding."""
    return [
        _bar(f"{what}, in times {name}{'' if number else ' (R)'}", usages, all_usages[name], limit, settings.judged and not number)
        for number, name in enumerate(bare)
    ]


def _assert_quiet(tree: Tree) -> None:
    """The trees are healthy: a finding is a mistake in them or in afflint, and times with findings say something else."""
    report = json.loads(output_of(afflint(tree.folder, options=("--format", "json")))[0])
    if report["findings"] or report["summary"]["files"] != tree.files:
        raise BenchError(f"{tree.folder}: {len(report['findings'])} findings in {report['summary']['files']} of {tree.files} files")


def _bar(what: str, usages: list[Usage], base: list[Usage], limit: float, judged: bool) -> Bar:
    return Bar(what, ratio(usages, base, wall).median, limit, judged, ratio(usages, base, cpu).median)


def _described(name: str, tree: Tree) -> str:
    return f"{name}: {tree.files} files, {tree.size / _MEGABYTE:.1f} MB, in {tree.folder}"


def _import_notes(imported: list[Import], allowed: frozenset[str], superfluous: list[Import]) -> list[str]:
    own = [each for each in imported if each.name not in allowed]
    total = sum(each.microseconds for each in imported) / 1000
    slowest = ", ".join(f"{each.name} {each.microseconds / 1000:.1f}" for each in sorted(own, key=lambda each: -each.microseconds)[:5])
    mine = sum(each.microseconds for each in own) / 1000
    line = f"imports: {len(imported)} modules, {total:.0f} ms; of afflint and for it alone {len(own)}, {mine:.0f} ms (slowest: {slowest})"
    return [line] + [f"imported without need: {each.name}, {each.microseconds / 1000:.1f} ms" for each in superfluous]


# Options and output.


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Times afflint as whole processes on trees of its own making, in turns with the bare libyaml composition of the same"
        " bytes (the reference R), and holds the ratios against the bars that the project promises.",
        epilog="Bars use the median, over all rounds, of the ratio of wall times within a round; the same in processor time stands beside."
        " Exit codes: 0 every bar is met (or not judged, with another --files); 1 one is not; 2 a command failed or a tree is not quiet.",
    )
    parser.add_argument("--only", metavar="PARTS", default=",".join(PARTS), help=f"comma-separated, of {', '.join(PARTS)}; default: all")
    parser.add_argument("--files", metavar="N", type=int, default=trees.FILES, help="size of the fleet; bars are judged at %(default)s")
    parser.add_argument("--rounds", metavar="N", type=int, default=5, help="times that each command runs on a tree; default: %(default)s")
    data = os.path.join(tempfile.gettempdir(), f"afflint-bench-{os.getuid()}")
    parser.add_argument("--data", metavar="FOLDER", default=data, help="where the trees are made and kept; default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--table", action="store_true", help="only compare with the other linters on PATH, as a Markdown table")
    parser.add_argument("--schemas", metavar="LOCATION", help="with --table: where kubeconform finds schemas, as its -schema-location")
    return parser


def _parts(parser: argparse.ArgumentParser, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PARTS:
            parser.error(f"--only: there is no part {name!r}; there are {', '.join(PARTS)}")
    return names


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.files < 10 or options.rounds < 1:
        parser.error("--files takes 10 or more, --rounds 1 or more")
    names = _parts(parser, options.only)
    settings = Settings(os.path.abspath(options.data), options.files, options.rounds)
    results: list[Result] = []
    try:
        if options.table:
            print(comparison(settings.data, settings.files, settings.rounds, options.schemas), end="")
            return 0
        for name in names:
            results.append(PARTS[name](settings))
            if not options.json:
                _print(results[-1])
    except BenchError as error:
        print(error, file=sys.stderr)
        return _FAILED
    if options.json:
        print(json.dumps(_as_json(results, settings), indent=2))
    return 0 if all(bar.met or not bar.judged for result in results for bar in result.bars) else _NOT_MET


def _print(result: Result) -> None:
    lines = [*result.notes, table(result.rows), *(bar_line(bar) for bar in result.bars)]
    print("\n".join(lines), end="\n\n", flush=True)


def _as_json(results: list[Result], settings: Settings) -> dict[str, Any]:
    return {
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()},
        "settings": settings._asdict(),
        "rows": [_row_as_json(row) for result in results for row in result.rows],
        "bars": [{**bar._asdict(), "met": bar.met} for result in results for bar in result.bars],
        "notes": [note for result in results for note in result.notes],
    }


def _row_as_json(row: Row) -> dict[str, Any]:
    return {name: value._asdict() if hasattr(value, "_asdict") else value for name, value in row._asdict().items()}


if __name__ == "__main__":
    sys.exit(main())
