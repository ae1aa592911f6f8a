"""``afflint place``: where each replica can go on the given nodes, and what a failure, a drain or the removal of nodes does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from afflint.cli import options
from afflint.cli.command import SEVERAL, Argument, Command, flag, option
from afflint.cli.output import FOUND, among, colored, say, shown, write_or_show
from afflint.findings.errors import UserError

if TYPE_CHECKING:
    from afflint.placement.plan import Plan

_FORMATS = ("text", "json", "html")


def place(paths: tuple[str, ...], **given: Any) -> int:
    """Where each replica can go on the given nodes, and what a failure, a drain or a removal does.

    PATHS are manifests: files, folders, globs. Default: the current folder, where the nodes may lie as well.

    Exit code 1 when a replica has no place, now or after what was asked for, when a drain does not end, or when pods of no
    manifest run on the nodes and were not judged.
    """
    from afflint.pipeline.session import Session
    from afflint.placement.planner import DisruptionRequest, make_plan

    options.one_of("--format", given["form"], _FORMATS)
    options.one_of("--color", given["color"], options.COLORS)
    session = Session(options.configuration(given))
    sources, reading = session.sources(paths or (".",)), {name: given[name] for name in ("resources", "only_running", "replan")}
    simulation_input, problems, names, notes, empty, classes = session.simulation_input(
        sources, given["pods"], counts=_counts(given["count"]), **reading
    )
    asked = DisruptionRequest(given["lose"], given["drain"], given["remove"])
    plan = make_plan(
        simulation_input.inventory,
        simulation_input.pod_sources,
        given["group_by"],
        asked,
        names.__getitem__,
        simulation_input.budgets,
        simulation_input.evictions,
        classes,
    )
    plan = plan._replace(notes=(*_nothing_in(among(empty, paths)), *notes, *plan.notes))
    if problems:
        more = f" (and {len(problems) - 1} more: `afflint check` tells them all)" if len(problems) > 1 else ""
        say(f"afflint: {shown(problems[0])}{more}")
    write_or_show(given["output"], _chunks(plan, given, to_file=given["output"] is not None))
    unplaced = any(replica.node is None for workload in plan.workloads for replica in workload.replicas)
    hurt = any(loss.blocked or loss.unevaluated or not {"dead", "degraded"}.isdisjoint(loss.outcomes.values()) for loss in plan.losses)
    return FOUND if (unplaced or hurt or problems) and not given["exit_zero"] else 0


def _counts(given: Sequence[str]) -> dict[str, int]:
    """The nodes of pools by the names of these. Raises UserError."""
    counts = {}
    for each in given:
        name, _, number = each.rpartition("=")
        if not (name and number.isascii() and number.isdigit() and int(number) <= _MOST_NODES):
            raise UserError(f"--count takes the name of a pool and a number of nodes up to {_MOST_NODES}, as in `gpu=3`, not {each!r}")
        counts[name] = int(number)
    return counts


_MOST_NODES = 5000


def _nothing_in(files: tuple[str, ...]) -> list[str]:
    """That files were named in vain, a line for each of a few."""
    if len(files) > 3:
        return [f"{len(files)} of the named files hold no manifest"]
    return [f"{shown(name)} holds no manifest" for name in files]


def _chunks(plan: Plan, given: dict[str, Any], *, to_file: bool) -> Iterator[str]:
    form = given["form"]
    if form == "json":
        from afflint.report.place import json_report

        return json_report.render(plan)
    if form == "html":
        from afflint.cli.page_metadata import page_metadata
        from afflint.report.place import page

        return iter([page.render(plan, page_metadata())])
    import shutil

    from afflint.report.place import table

    color, width = not to_file and colored(given["color"]), shutil.get_terminal_size((100, 24)).columns
    return table.render(plan, color=color, width=width, verbose=given["verbose"])


_OPTIONS = (
    options.nodes,
    option("--count", metavar="POOL=N", takes=SEVERAL, about="So many nodes in that pool, where nodes are declared as pools. Repeatable."),
    option(
        "--pods",
        metavar="FILE",
        takes=SEVERAL,
        completes=options.file,
        about="A dump of the pods (or VMIs) that run already: `kubectl get pods -A -o yaml`. Repeatable.",
    ),
    flag("--replan", about="Place running pods of the workloads anew; else they stay where they are."),
    flag("--resources", about="Count CPU, memory, pods and other resources: requests against what nodes have."),
    flag("--only-running", about="Leave out virtual machines that wait for somebody to start them."),
    option(
        "--by",
        called="group_by",
        metavar="KEY",
        default="zone",
        completes=options.one_word(("zone", "region")),
        about="The node label to group nodes by: zone (default), region, or any key.",
    ),
    option(
        "--lose",
        metavar="WHAT",
        takes=SEVERAL,
        about="Nodes that fail, and stay out of reach: the name of one, KEY=VALUE for those with a label, or each:node, each:zone, "
        "each:KEY for one after the other. Repeatable.",
    ),
    option(
        "--drain",
        metavar="WHAT",
        takes=SEVERAL,
        about="Nodes that `kubectl drain` empties as far as disruption budgets allow; WHAT as for --lose. Repeatable.",
    ),
    option("--remove", metavar="WHAT", takes=SEVERAL, about="Nodes that are deleted from the cluster; WHAT as for --lose. Repeatable."),
    options.form(_FORMATS),
    option("--output", metavar="FILE", completes=options.file, about="Where the plan goes. Default: standard output."),
    flag("-v", "--verbose", about="Show what each score is made of, too."),
    flag("--exit-zero", about="Exit with 0 even if a replica has no place."),
    *options.configured,
    options.color,
)

COMMAND = Command(
    place, {"": _OPTIONS}, Argument("paths", "[PATHS]...", options.file), "Where each replica can go, and what failures and drains do."
)
