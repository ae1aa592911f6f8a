"""``afflint place``: schedules the replicas on the known nodes, and simulates failures, drains, removals and upgrades of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from afflint.cli import options
from afflint.cli.command import FILE, MULTIPLE, Command, CommandOptions, argument, flag, option, with_help
from afflint.cli.options import ConfigOverrides
from afflint.cli.output import FOUND, ProgressLine, colored, format_module, named_files, notify, page_metadata, write_or_show
from afflint.cli.reporting import note_unused_render
from afflint.findings.errors import UnknownNameError, UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize, summarize_names, visible
from afflint.report.coverage import coverage_lines

if TYPE_CHECKING:
    from afflint.placement.plan import Plan
    from afflint.placement.upgrade_pools import UpgradeRequest
    from afflint.simulation.inputs import Cluster, PlaceInputs
    from afflint.workers import Workers

T = TypeVar("T")
_FORMATS = ("text", "json", "csv", "html")
RESOURCES_LEFT_OUT = "the simulation considers placement constraints only, not CPU, memory or other resources (`--no-resources`)"


COUNTS: tuple[str, ...] = option(
    "--count", metavar="POOL=N", kind=MULTIPLE, help_text="Assume N nodes in a pool, if nodes are declared as pools. Repeatable."
)
PODS: tuple[str, ...] = option(
    "--pods",
    metavar="FILE",
    kind=MULTIPLE,
    completion=FILE,
    help_text="Read running pods (or VMIs) from a dump: `kubectl get pods -A -o yaml`. It may have other objects, too. Repeatable.",
)
NO_RESOURCES: bool = flag("--no-resources", help_text="Ignore requests for CPU, memory and other resources.")
ONLY_RUNNING: bool = flag("--only-running", help_text="Leave out virtual machines that do not start by themselves.")


class PlaceInput(ConfigOverrides, heading="Input"):
    """The options for what is placed, and on which nodes."""

    nodes = options.NODES
    counts = COUNTS
    pods = PODS
    render = with_help(options.RENDER, "Place what kustomizations and charts render to.")
    render_network = options.RENDER_NETWORK
    config_file = options.CONFIG_FILE
    no_config = options.NO_CONFIG


class SchedulingOptions(CommandOptions, heading="Scheduling"):
    """The options for how pods are scheduled."""

    replan: bool = flag("--replan", help_text="Schedule running pods of the workloads again; by default they stay on their nodes.")
    resources: bool = flag(
        "--resources", help_text="Compare requests for CPU, memory and other resources with what nodes can allocate. This is the default."
    )
    no_resources = NO_RESOURCES
    only_running = ONLY_RUNNING


class SimulationArguments(PlaceInput, SchedulingOptions):
    """The options of the commands that simulate, for their input."""


def read_inputs(
    args: SimulationArguments, paths: Sequence[str], kinds: Sequence[str] = (), cluster: Cluster | None = None
) -> tuple[PlaceInputs, Workers]:
    """Return what a command simulates, with the objects of some kinds, and the processes of the run. Raises UserError.

    ``cluster`` is the one whose files are read.
    """
    from afflint.inventory.node_files import ParsedFiles
    from afflint.inventory.pod_files import has_workloads
    from afflint.pipeline.options import Options
    from afflint.pipeline.session import Session
    from afflint.simulation.inputs import PlaceRequest, inputs_of

    if args.resources and args.no_resources:
        raise UserError("--resources and --no-resources exclude each other")
    session = Session(options.configuration(args))
    note_unused_render(session.config)
    parsed, dumps = ParsedFiles(), () if paths else session.dumps(args.pods)
    # A dump of a cluster is the whole input: the current folder may have manifests of another cluster.
    is_whole = any(has_workloads(parsed.documents(each)) for each in dumps)
    given = session.sources(paths or (() if is_whole else (".",)))
    sources, run = session.with_renders(given, Options(options.jobs(session.config.jobs)), network=args.render_network)
    request = PlaceRequest(
        resources=not args.no_resources,
        only_running=args.only_running,
        replan=args.replan,
        counts=parse_counts(args.counts),
        kinds=kinds,
        needs_nodes=cluster is None or bool(cluster.name),
        cluster=cluster,
    )
    inputs = inputs_of(session, sources, args.pods, request, run, parsed=parsed)
    return inputs._replace(also_read=_also_read(inputs) if dumps and not is_whole else ()), run.workers


def _also_read(inputs: PlaceInputs) -> tuple[str, ...]:
    """Return the line about what was read besides the files that the options name, if that has manifests."""
    if inputs.renders is not None:
        return ("also read: the current folder",)
    files = inputs.manifest_files
    return (f"also read: {pluralize(files, 'file')} with manifests in the current folder",) if files else ()


class PlaceDisruptions(CommandOptions, heading="Disruptions"):
    lose: tuple[str, ...] = option(
        "--lose",
        metavar="WHAT",
        kind=MULTIPLE,
        help_text="Simulate the failure of a node by name, of all nodes with the label KEY=VALUE, of several of these separated by "
        "commas, or of each:node, each:zone or each:KEY, one at a time. Repeatable.",
    )
    drain: tuple[str, ...] = option(
        "--drain",
        metavar="WHAT",
        kind=MULTIPLE,
        help_text="Simulate `kubectl drain`, which evicts pods as far as PodDisruptionBudgets allow; WHAT as for --lose. Several nodes "
        "are cordoned first and then drained in the given order. Repeatable.",
    )
    remove: tuple[str, ...] = option(
        "--remove", metavar="WHAT", kind=MULTIPLE, help_text="Simulate the deletion of Node objects; WHAT as for --lose. Repeatable."
    )
    together: bool = flag(
        "--together",
        help_text="Simulate all of these as one disruption: first the failures, then the drains, then the removals. One of them may be "
        "each:node, each:zone or each:KEY, which is combined with the others one at a time.",
    )


class PlaceChanges(CommandOptions, heading="Rollouts, upgrades and descheduling"):
    roll: tuple[str, ...] = option(
        "--roll",
        metavar="WORKLOAD",
        kind=MULTIPLE,
        help_text="Simulate the rollout of a new template of a workload, by its name, or of each workload: `each`. It shows where "
        "the replicas may be in the end, over the orders in which pods can be created and removed. Repeatable.",
    )
    upgrade: tuple[str, ...] = option(
        "--upgrade",
        metavar="POOL",
        kind=MULTIPLE,
        help_text="Simulate a rolling upgrade of a node pool, a role such as `worker`, all nodes with the label KEY=VALUE, or of each "
        "pool, one after another. Repeatable.",
    )
    max_unavailable: str | None = option(
        "--max-unavailable",
        metavar="N",
        help_text="Drain at most N nodes (or N%) of a pool at a time. Default: as the pool declares, else 1.",
    )
    surge: str | None = option(
        "--surge",
        metavar="N",
        help_text="Create N new nodes (or N%) before old ones are drained, and replace nodes instead of restarting them. Default: "
        "as the pool declares.",
    )
    deschedule: bool = flag(
        "--deschedule",
        help_text="Simulate the descheduler with each DeschedulerPolicy and KubeDescheduler of the input: what it moves in each run, "
        "and loops that never end.",
    )


class PlaceOutput(CommandOptions, heading="Output"):
    group_by: str = option(
        "--by",
        metavar="KEY",
        default="zone",
        completion=("zone", "region"),
        help_text="Group nodes by a label: zone (default), region, or any key.",
    )
    group_label: str = option(
        "--group-by",
        metavar="KEY",
        default="",
        help_text="Judge workloads of a namespace with the same value of a pod label as one application. Default: what a Service, a "
        "PodDisruptionBudget, or the anti-affinity or spread constraints of single virtual machines select together.",
    )
    only: tuple[str, ...] = option(
        "--only",
        metavar="NAME",
        kind=MULTIPLE,
        help_text="Show only a workload, an application or a node and its workloads, by name or glob. The exit code is that of "
        "the whole simulation. Repeatable.",
    )
    summary: bool = flag("--summary", help_text="As text, show only the counts and what the simulation does not consider.")
    form: str = options.form_option(_FORMATS)
    output: str | None = options.output_option("plan")
    verbose: bool = flag("-v", "--verbose", help_text="Show the parts of each score, and the events of each disruption, too.")
    exit_zero = with_help(options.EXIT_ZERO, "Exit with 0 even if a replica cannot be scheduled.")
    color = options.COLOR


class PlaceExecution(ConfigOverrides, heading="Execution"):
    jobs = with_help(options.JOBS, "Use N processes to render, and to simulate many disruptions. Default: one per CPU.")


class PlaceOptions(SimulationArguments, PlaceDisruptions, PlaceChanges, PlaceOutput, PlaceExecution):
    """The options of ``afflint place``."""

    paths: tuple[str, ...] = argument("[PATHS]...", FILE)


def place(args: PlaceOptions) -> int:
    """Show on which nodes each replica can be scheduled, and simulate failures, drains and removals of nodes, and rollouts.

    PATHS are manifests: files, folders, globs. Default: the current folder, which may contain the nodes as well.

    A dump of a cluster is enough: `kubectl afflint dump | afflint place --nodes -`.
    If the files of --nodes and --pods have workloads or pods, the current folder is not read. Pods of controllers that are not in the
    dump are replicas of these controllers.

    Exits with 1 if a replica cannot be scheduled, now or after a disruption, if a drain, an upgrade or a rollout may never complete,
    or if affected pods cannot be evaluated.
    """
    if args.together and not (args.lose or args.drain or args.remove):
        raise UserError("--together needs --lose, --drain or --remove")
    if not args.upgrade and (args.max_unavailable is not None or args.surge is not None):
        raise UserError("--max-unavailable and --surge need --upgrade")
    found, clusters = by_cluster(partial(_placed_as_named, args), one=args.form in ("csv", "html"))
    _note_unknown({name: errors for name, (_, errors) in found.items()})
    placed = {name: each for name, (each, _) in found.items() if each is not None}
    note_outside(args, args.paths, clusters)
    if clusters:
        plans = {name: (len(each.plan.nodes), _chunks(each.plan, args)) for name, each in placed.items()}
        write_or_show(args.output, in_each_cluster(plans, args.form, "placement"))
    else:
        write_or_show(args.output, _chunks(placed[""].plan, args))
    return FOUND if any(each.fails for each in placed.values()) and not args.exit_zero else 0


def by_cluster(answer: Callable[[Cluster | None], T], *, one: bool = False) -> tuple[dict[str, T], Sequence[Cluster]]:
    """Return the answer for each cluster whose folder has nodes, and the clusters; a single answer, named "", if there are not several.

    Raises SeveralClustersError for other clusters, and with ``one`` for all.
    """
    with ProgressLine():
        return _by_cluster(answer, one=one)


def _by_cluster(answer: Callable[[Cluster | None], T], *, one: bool) -> tuple[dict[str, T], Sequence[Cluster]]:
    from afflint.inventory.node_folders import FolderCluster
    from afflint.simulation.inputs import SeveralClustersError

    try:
        return {"": answer(None)}, ()
    except SeveralClustersError as error:
        if one or not any(isinstance(each, FolderCluster) for each in error.clusters):
            raise
        clusters = error.clusters
    return {each.name: answer(each) for each in clusters if each.name}, clusters


class _Placed(NamedTuple):
    """The plan of a cluster, with the selected workloads; ``fails``: the command exits with 1."""

    plan: Plan
    fails: bool


def _placed_as_named(args: PlaceOptions, cluster: Cluster | None) -> tuple[_Placed | None, dict[str, UnknownNameError]]:
    """Return the plan of one cluster, and errors for the values of options that name what only other clusters may have.

    There is no plan if the cluster has nothing that is selected.
    """
    errors: dict[str, UnknownNameError] = {}
    while True:
        named = {option: tuple([each for each in getattr(args, option) if each not in errors]) for option in _NAMING}
        if args.only and not named["only"]:
            return None, errors
        try:
            return _placed(type(args)(**{**vars(args), **named}), cluster), errors
        except UnknownNameError as error:
            if cluster is None or not error.value:
                raise
            errors[error.value] = error


_NAMING = ("lose", "drain", "remove", "roll", "only")
"""The options whose values name nodes or workloads."""


def _note_unknown(errors: Mapping[str, Mapping[str, UnknownNameError]]) -> None:
    """Say which clusters lack what is named. Raises UnknownNameError for what none has; the message suggests a name if it can."""
    for value in dict.fromkeys(value for each in errors.values() for value in each):
        lacking = {cluster: each[value] for cluster, each in errors.items() if value in each}
        if len(lacking) == len(errors):
            raise max(lacking.values(), key=lambda error: "did you mean" in str(error))
        for cluster, error in lacking.items():
            notify(f"afflint: {visible(cluster)}: {visible(str(error))}")


def _placed(args: PlaceOptions, cluster: Cluster | None) -> _Placed:
    """Return the plan of one cluster, or of all files. Raises UserError."""
    from afflint.placement.descheduler_policy import KINDS, read_policies
    from afflint.placement.planner import DisruptionRequest, make_plan
    from afflint.placement.selection import selected
    from afflint.placement.upgrade_pools import CONFIG_POOL

    kinds = (*([CONFIG_POOL] if args.upgrade else []), *(KINDS if args.deschedule else ()))
    inputs, workers = read_inputs(args, args.paths, kinds, cluster)
    upgrade = _upgrade_request(args, inputs) if args.upgrade else None
    policies = read_policies(inputs.objects) if args.deschedule else []
    if args.deschedule and not policies:
        raise UserError("--deschedule: no DeschedulerPolicy or KubeDescheduler is among the manifests")
    request = DisruptionRequest(args.lose, args.drain, args.remove, args.together, upgrade, policies)
    plan = make_plan(
        inputs.simulation_input.inventory,
        inputs.simulation_input.pod_sources,
        args.group_by,
        request,
        inputs.names.__getitem__,
        inputs.simulation_input.budgets,
        inputs.simulation_input.evictions,
        inputs.classes,
        args.group_label,
        args.roll,
        workers,
    )
    plan = with_notes(plan, inputs, args, _empty_file_notes(named_files(inputs.empty, args.paths)), verbose=args.verbose)
    shown = selected(plan, args.only) if args.only else plan
    if problems := inputs.problems:
        more = f" (and {len(problems) - 1} more: `afflint check` reports them all)" if len(problems) > 1 else ""
        notify(f"afflint: {visible(problems[0])}{more}")
    unplaced = any(replica.node is None or replica.why for workload in plan.workloads for replica in workload.replicas)
    unfinished = any(rollout.result in ("blocked", "may-block", "unjudged") for rollout in plan.rollouts)
    unknown = any(loss.unevaluated or not loss.evaluates for loss in plan.losses)
    disrupted = unknown or any(loss.blocked or not {"dead", "degraded"}.isdisjoint(loss.outcomes.values()) for loss in plan.losses)
    stopped = not (all(each.is_harmless for each in plan.upgrades) and all(each.is_harmless for each in plan.descheduling))
    fails = unplaced or disrupted or stopped or unfinished or problems
    return _Placed(shown, bool(fails))


def note_outside(args: SimulationArguments, paths: Sequence[str], clusters: Sequence[Cluster]) -> None:
    """Say which workloads are in the folder of no cluster, and are not placed."""
    for cluster in clusters:
        workloads = [] if cluster.name else read_inputs(args, paths, cluster=cluster)[0].simulation_input.pod_sources
        if workloads:
            names = summarize_names([each.key for each in workloads])
            notify(f"afflint: not placed, because they are in the folder of no cluster: {visible(names)}")


def in_each_cluster(answers: Mapping[str, tuple[int, Iterator[str]]], form: str, key: str) -> Iterator[str]:
    """Yield the answers for several clusters, by their folders, each with the number of nodes. In JSON, ``key`` is that of an answer."""
    if form == "json":
        import json

        yield '{\n  "version": 1,\n  "clusters": ['
        for number, (name, (_, chunks)) in enumerate(answers.items()):
            yield f'{"," if number else ""}\n    {{"folder": {json.dumps(name)}, "{key}": '
            yield from chunks
            yield "}"
        yield "\n  ]\n}\n"
        return
    for number, (name, (nodes, chunks)) in enumerate(answers.items()):
        yield f"{chr(10) * bool(number)}cluster {visible(name)} ({pluralize(nodes, 'node')})\n\n"
        yield from chunks


def _upgrade_request(args: PlaceOptions, inputs: PlaceInputs) -> UpgradeRequest:
    """Return which pools are upgraded, and how. Raises UserError."""
    from afflint.placement.upgrade_pools import CONFIG_POOL, UpgradeRequest
    from afflint.pools.upgrades import amount_of

    amounts = []
    for name, value in (("--max-unavailable", args.max_unavailable), ("--surge", args.surge)):
        amount = None if value is None else amount_of(value)
        if value is not None and amount is None:
            raise UserError(f"{name} takes a number of nodes or a percentage of the pool, as in `2` or `20%`, not {value!r}")
        amounts.append(amount)
    return UpgradeRequest(args.upgrade, inputs.pools, [each for each in inputs.objects if each.get("kind") == CONFIG_POOL], *amounts)


def parse_counts(values: Sequence[str]) -> dict[str, int]:
    """Parse the values of --count: numbers of nodes by pool name. Raises UserError."""
    counts = {}
    for each in values:
        name, _, number = each.rpartition("=")
        if not (name and number.isascii() and number.isdigit() and int(number) <= _MOST_NODES):
            raise UserError(f"--count takes the name of a pool and a number of nodes up to {_MOST_NODES}, as in `gpu=3`, not {each!r}")
        counts[name] = int(number)
    return counts


_MOST_NODES = 5000


def _empty_file_notes(files: tuple[str, ...]) -> list[str]:
    """Return notes for named files without a manifest: one for each file, or their number if there are more than three."""
    if len(files) > 3:
        return [f"{len(files)} of the named files contain no manifest"]
    return [f"{visible(name)} contains no manifest" for name in files]


def with_notes(plan: Plan, inputs: PlaceInputs, args: SimulationArguments, empty: Sequence[str] = (), *, verbose: bool = False) -> Plan:
    """Return the plan with notes on what was read and rendered, and what was not and is thus not placed."""
    lines = coverage_lines(inputs.renders, inputs.coverage, verbose, "places")
    coverage = [visible(line[0].lower() + line[1:].removesuffix(".")) for line in lines]
    left_out = [RESOURCES_LEFT_OUT] if args.no_resources else []
    notes = (*empty, *coverage, *inputs.notes, *plan.notes, *left_out)
    return plan._replace(notes=notes, coverage=inputs.coverage, also_read=inputs.also_read)


def _chunks(plan: Plan, args: PlaceOptions) -> Iterator[str]:
    if args.form == "html":
        return iter([format_module("place", "html").render(plan, page_metadata())])
    if args.form in ("json", "csv"):
        return iter(format_module("place", args.form).render(plan))
    import shutil

    from afflint.report.place import table

    color, width = args.output is None and colored(args.color), shutil.get_terminal_size((100, 24)).columns
    return table.render(plan, color=color, width=width, verbose=args.verbose, summary=args.summary)


COMMAND = Command(place, PlaceOptions, "Simulate scheduling, failures and drains.")
