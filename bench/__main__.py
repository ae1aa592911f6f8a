"""The command line of the benchmark: generate missing trees, run the selected parts, print figures and limits."""

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

from bench import growth as growth_of
from bench import trees
from bench.beside import comparison
from bench.clusters import CONSTRAINTS, FREE
from bench.figures import Bar, Row, bar_line, cpu, over_rounds, ratio, rows, table, wall
from bench.imports import Import, foundation, imports_of, unneeded
from bench.peers import Peers, peers
from bench.policy_cases import BUILT_IN, GATEKEEPER, IN_CEL, MANIFESTS, WITHOUT
from bench.processes import (
    BenchError,
    Command,
    Usage,
    afflint,
    afflint_diff,
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
# One small file takes little time, which varies a lot: it gets this many times more rounds.
_SINGLE_ROUNDS = 8
_MEGABYTE = 1_000_000
_PAUSE = 0.2
"""Seconds between two keystrokes of a typical user."""
_NOT_MET, _FAILED = 1, 2


class Result(NamedTuple):
    """The result of a part: rows of the table, limits, and lines to print."""

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
    """Measure workloads and the objects that select them: one job and two, compared with R and the other linters."""
    tree = trees.fleet(settings.data, settings.files)
    others = _peers(settings, tree)
    bare = references(tree.folder)
    usages = _measured(tree, settings, {ONE_JOB: 1, TWO_JOBS: 2}, bare | others.commands)
    one, two = usages[ONE_JOB], usages[TWO_JOBS]
    bars = [
        *_bars_of_references("fleet, one job", one, bare, usages, 1.8, settings),
        _bar("fleet, two jobs, relative to one job", two, one, 0.6, settings.judged),
    ]
    return Result(rows("fleet", usages, next(iter(bare))), bars, (_described("fleet", tree), *others.skipped))


def mixed(settings: Settings) -> Result:
    """Measure a tree in which nine of ten bytes are in files that afflint ignores."""
    tree = trees.mixed(settings.data, settings.files)
    others = _peers(settings, tree)
    bare = references(tree.folder)
    usages = _measured(tree, settings, {ONE_JOB: 1}, bare | others.commands)
    bars = _bars_of_references("mixed tree, one job", usages[ONE_JOB], bare, usages, 0.5, settings)
    return Result(rows("mixed", usages, next(iter(bare))), bars, (_described("mixed", tree), *others.skipped))


def cache(settings: Settings) -> Result:
    """Measure the fleet with a cache, unchanged and with one file changed since the previous run."""
    tree = trees.fleet(settings.data, settings.files)
    _assert_quiet(tree)
    cache_folder = os.path.join(settings.data, "kept")
    usages: dict[str, list[Usage]] = {}
    bars = []
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as beside:
            shutil.rmtree(cache_folder, ignore_errors=True)
            # Outside the tree, which must not change.
            changed = os.path.join(beside, "changed.yaml")
            shutil.copy(trees.path_of_single(trees.single(settings.data)), changed)
            paths = (tree.folder, changed)
            again = afflint(*paths, jobs=jobs, cache=cache_folder)
            names = [f"{name}, --jobs {jobs}" for name in ("without a cache", "unchanged", "one file changed")]
            uncached, unchanged, one = names
            first = run(again)
            commands = {uncached: afflint(*paths, jobs=jobs), unchanged: again, one: after_a_change(changed, again)}
            usages |= in_turns(commands, settings.rounds)
            bars += [
                Bar(
                    f"the run that fills the cache, relative to a run without one, --jobs {jobs}",
                    cpu(first) / cpu(usages[uncached][0]),
                    1.15,
                    judged=False,
                ),
                _bar(f"unchanged fleet, relative to no cache, --jobs {jobs}", usages[unchanged], usages[uncached], 0.25, settings.judged),
                _bar(f"one file changed, relative to no cache, --jobs {jobs}", usages[one], usages[uncached], 0.3, settings.judged),
            ]
    return Result(rows("cache", usages, "without a cache, --jobs 1"), bars, (_described("cache", tree),))


def policies(settings: Settings) -> Result:
    """Measure the fleet with and without twenty policies, which few of its workloads violate."""
    tree = trees.fleet(settings.data, settings.files)
    _assert_quiet(tree)
    here, without_policies, with_policies = os.path.dirname(os.path.abspath(__file__)), "without policies", "with twenty policies"
    files = {without_policies: "without_policies.yaml", with_policies: "policies.yaml"}
    commands = {
        name: afflint(tree.folder, configuration=os.path.join(here, file), options=("--exit-zero",)) for name, file in files.items()
    }
    for command in commands.values():
        run(command)
    usages = in_turns(commands, settings.rounds)
    bars = [
        _bar("fleet with twenty policies, relative to no policies", usages[with_policies], usages[without_policies], 1.2, settings.judged)
    ]
    return Result(rows("policies", usages, without_policies), bars, (_described("policies", tree),))


def diff(settings: Settings) -> Result:
    """Measure what two commits of the fleet differ in, against a check of one of them: what both have is read once."""
    tree = trees.history(settings.data, settings.files)
    _assert_quiet(tree)
    checked, since = "a check", "a check with --since"
    findings, everything = "a diff of findings", "a diff of findings and placement"
    check = afflint(".")._replace(folder=tree.folder)
    commands = {
        checked: check,
        since: check._replace(arguments=(*check.arguments, "--since", "HEAD~")),
        findings: afflint_diff(tree.folder, "--no-placement"),
        everything: afflint_diff(tree.folder),
    }
    usages = in_turns(commands, settings.rounds)
    bars = [
        _bar(f"{name}, relative to {checked}", usages[name], usages[checked], 1.5, settings.judged)
        for name in (since, findings, everything)
    ]
    return Result(rows("diff", usages, checked), bars, (_described("diff", tree),))


def policy(settings: Settings) -> Result:
    """Measure one policy at a time over 2,000 Deployments, where 300 violate it: each built-in check, and CEL next to gator."""
    tree = trees.policies(settings.data, max(2000 * settings.files // trees.FILES, 20))
    manifests = os.path.join(tree.folder, MANIFESTS)

    def command(name: str) -> Command:
        return afflint(manifests, configuration=os.path.join(tree.folder, f"{name}.yaml"), options=("--exit-zero",))

    commands = {name: command(name) for name in (WITHOUT, *BUILT_IN, *IN_CEL)}
    gator = shutil.which("gator")
    if gator is not None:
        folders = (manifests, os.path.join(tree.folder, GATEKEEPER))
        commands["gator"] = Command((gator, "test", *(f"--filename={each}" for each in folders)), accepted=(0, 1))
    for each in commands.values():
        run(each)
    usages = in_turns(commands, settings.rounds)

    def bar(name: str, base: str, limit: float) -> Bar:
        # In processor time, because gator uses several cores.
        value = ratio(usages[name], usages[base], cpu).median
        return Bar(f"{name}, relative to {base}, in processor time", value, limit, settings.judged)

    bars = [bar(name, WITHOUT, 1.5) for name in BUILT_IN]
    bars += [bar(name, "gator", 1.0) for name in IN_CEL if gator is not None]
    skipped = () if gator is not None else ("gator: skipped, not on PATH",)
    return Result(rows("policy", usages, WITHOUT), bars, (_described("policy", tree), *skipped))


def growth(settings: Settings) -> Result:
    """Measure four times as many files: time must not grow faster than the number of files, and memory must stay small."""
    small, large = (trees.fleet(settings.data, files) for files in (settings.files, _GROWTH * settings.files))
    names = {tree: f"{tree.files} files" for tree in (small, large)}
    for tree in names:
        _assert_quiet(tree)
    usages = in_turns({name: afflint(tree.folder) for tree, name in names.items()}, settings.rounds)
    few, many = usages[names[small]], usages[names[large]]
    peak = max(usage.peak for usage in many) / _MEGABYTE
    bars = [
        _bar(f"{large.files} files, relative to {small.files} files", many, few, 4.4, settings.judged),
        Bar(f"peak MB of the only process at {large.files} files", peak, 200, settings.judged),
    ]
    return Result(rows("growth", usages, names[small]), bars, (_described("growth", large),))


def single(settings: Settings) -> Result:
    """Measure one file of 1 KB: start time and imports."""
    tree = trees.single(settings.data)
    command = afflint(trees.path_of_single(tree))
    run(command)
    usages = in_turns({ONE_JOB: command, NOTHING: interpreter("-c", "pass")}, _SINGLE_ROUNDS * settings.rounds)
    bars = [_bar(f"one file of {tree.size} bytes, relative to `{NOTHING}`", usages[ONE_JOB], usages[NOTHING], 6, judged=True)]
    imported = imports_of(command)
    allowed = foundation()
    superfluous = unneeded(imported, allowed)
    bars.append(Bar("modules imported unnecessarily for one file", len(superfluous), 0))
    return Result(rows("single", usages, NOTHING), bars, (*_import_notes(imported, allowed, superfluous),))


def nodes(settings: Settings) -> Result:
    """Measure constrained workloads on twelve nodes: four times as many take about four times as long with any constraint."""
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
            _bar(f"{large}, relative to as many without constraints", usages[large], usages[free], 2.2, settings.judged),
            _bar(f"{large}, relative to {few} workloads", usages[large], usages[small], 4.8, settings.judged),
            _seconds(large, usages[large], 3),
        ]
    growing, more = _more_nodes(settings)
    return Result([*rows("nodes", usages, free), *growing], [*bars, *more])


def _more_nodes(settings: Settings) -> tuple[list[Row], list[Bar]]:
    """Measure the same workloads on four times as many nodes: they must not take four times as long."""
    workloads, few = (max(size * settings.files // trees.FILES, 4) for size in (1000, 250))
    many = 4 * few
    commands = {
        f"apart, {workloads} workloads of 3 on {size} nodes": _checked_on_nodes(trees.cluster(settings.data, "apart", workloads, 3, size))
        for size in (few, many)
    }
    usages = in_turns(commands, settings.rounds)
    small, large = commands
    growth_bar = _bar(f"{large}, relative to {few} nodes", usages[large], usages[small], 2.5, settings.judged)
    return rows("nodes", usages, small), [growth_bar, _seconds(large, usages[large], 3)]


def place(settings: Settings) -> Result:
    """Measure a simulation of 3,000 pods on 2,000 nodes."""
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
            _bar(f"{name}, relative to {bare} (R)", usages[name], usages[bare], 14, settings.judged),
            _seconds(name, usages[name], 6),
            Bar(f"peak MB, {name}", peak, 150, settings.judged),
        ]
        notes.append(_described(name, tree))
    return Result(table_rows, bars, tuple(notes))


def typing(settings: Settings) -> Result:
    """Measure the delay from a keystroke in a file of 1,000 lines to its diagnostics, during runs over a folder of 10,000 manifests."""
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


def engines(settings: Settings) -> Result:
    """Measure each engine with inputs of n, 2 n and 4 n: its time must grow about as fast as its input."""
    table_rows, bars = [], []
    for name, engine in growth_of.available().items():
        sizes = (1, *[factor * max(engine.size * settings.files // trees.FILES, 2) for factor in growth_of.FACTORS])
        made = {size: growth_of.input_of(engine, name, settings.data, size) for size in sizes}
        commands = {size: growth_of.command_in(engine, tree) for size, tree in made.items()}
        usages = in_turns({f"{name}, n = {size}": command for size, command in commands.items()}, settings.rounds)
        seconds = {size: growth_of.fastest(taken) for size, taken in zip(commands, usages.values(), strict=True)}
        start = seconds.pop(1)
        table_rows += rows("engines", usages, next(iter(usages)))
        what = f"{name}: exponent of the growth of processor time from n = {min(seconds)} to {max(seconds)}"
        bars.append(Bar(what, growth_of.exponent(start, seconds), growth_of.HIGHEST_EXPONENT, settings.judged))
    return Result(table_rows, bars)


PARTS: dict[str, Callable[[Settings], Result]] = {
    "fleet": fleet,
    "mixed": mixed,
    "cache": cache,
    "policies": policies,
    "diff": diff,
    "policy": policy,
    "growth": growth,
    "single": single,
    "nodes": nodes,
    "place": place,
    "engines": engines,
    "typing": typing,
}


def _first_reference(folder: str) -> tuple[str, Command]:
    return next(iter(references(folder).items()))


def _checked_on_nodes(tree: Tree) -> Command:
    """Return ``afflint check`` of the manifests of a cluster with its nodes, after a run that verifies that they are healthy."""
    manifests, listed = trees.parts_of_cluster(tree)
    # All replicas may be scheduled in one zone, which is an info.
    command = afflint(manifests, options=("--nodes", listed, "--fail-on", "warning"))
    run(command)
    return command


def _seconds(what: str, usages: list[Usage], limit: float) -> Bar:
    """Return a limit on processor time in seconds. It only means something on an idle machine, so it is not judged."""
    return Bar(f"{what}, in seconds of processor time", over_rounds(map(cpu, usages)).median, limit, judged=False)


def _peers(settings: Settings, tree: Tree) -> Peers:
    sample = trees.path_of_single(trees.single(settings.data))
    return peers(tree.folder, sample, os.path.join(settings.data, "schemas"))


def _measured(tree: Tree, settings: Settings, jobs: Mapping[str, int], beside: dict[str, Command]) -> dict[str, list[Usage]]:
    """Measure afflint and other commands on a tree in turns, after each ran once."""
    _assert_quiet(tree)
    for command in beside.values():
        run(command)
    return in_turns({name: afflint(tree.folder, jobs=number) for name, number in jobs.items()} | beside, settings.rounds)


def _bars_of_references(
    what: str, usages: list[Usage], bare: Iterable[str], all_usages: dict[str, list[Usage]], limit: float, settings: Settings
) -> list[Bar]:
    """Return the limit relative to R, and the same ratio to the other bindings for comparison."""
    return [
        _bar(f"{what}, relative to {name}{'' if number else ' (R)'}", usages, all_usages[name], limit, settings.judged and not number)
        for number, name in enumerate(bare)
    ]


def _assert_quiet(tree: Tree) -> None:
    """Raise BenchError for a tree with findings: they are a mistake in the tree or in afflint, and change the times."""
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
    line = f"imports: {len(imported)} modules, {total:.0f} ms; only for afflint {len(own)}, {mine:.0f} ms (slowest: {slowest})"
    return [line] + [f"imported unnecessarily: {each.name}, {each.microseconds / 1000:.1f} ms" for each in superfluous]


# Options and output.


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Times afflint as whole processes on generated trees, in turns with the bare libyaml composition of the same"
        " bytes (the reference R), and compares the ratios with the limits that the project promises.",
        epilog="Limits apply to the median, over all rounds, of the ratio of wall times within a round; the"
        " ratio of processor times is shown next to it. Exit codes: 0 all limits are met (or not judged, with another --files); 1 a limit"
        " is not met; 2 a command failed or a tree has findings.",
    )
    parser.add_argument("--only", metavar="PARTS", default=",".join(PARTS), help=f"comma-separated, of {', '.join(PARTS)}; default: all")
    parser.add_argument("--files", metavar="N", type=int, default=trees.FILES, help="size of the fleet; limits are judged at %(default)s")
    parser.add_argument("--rounds", metavar="N", type=int, default=5, help="times that each command runs on a tree; default: %(default)s")
    data = os.path.join(tempfile.gettempdir(), f"afflint-bench-{os.getuid()}")
    parser.add_argument("--data", metavar="FOLDER", default=data, help="where the trees are generated and kept; default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--table", action="store_true", help="only compare with the other linters on PATH, as a Markdown table")
    parser.add_argument("--schemas", metavar="LOCATION", help="with --table: where kubeconform finds schemas, as its -schema-location")
    return parser


def _parts(parser: argparse.ArgumentParser, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PARTS:
            parser.error(f"--only: unknown part {name!r}; the parts are {', '.join(PARTS)}")
    return names


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.files < 10 or options.rounds < 1:
        parser.error("--files must be at least 10, --rounds at least 1")
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
