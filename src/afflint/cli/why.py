"""``afflint why``: why a workload does not run or does not survive a failure, and the smallest changes that help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.command import FILE, Command, CommandOptions, argument, with_help
from afflint.cli.output import FOUND, colored, notify, write_or_show
from afflint.cli.place import SimulationArguments, by_cluster, in_each_cluster, note_outside, read_inputs, with_notes
from afflint.findings.phrases import visible

if TYPE_CHECKING:
    from afflint.placement.why import Explanation, UnknownWorkloadError
    from afflint.simulation.inputs import Cluster

_FORMATS = ("text", "json")


class WhyOutput(CommandOptions, heading="Output"):
    form: str = options.form_option(_FORMATS)
    output: str | None = options.output_option("answer")
    exit_zero = with_help(options.EXIT_ZERO, "Exit with 0 even if the workload does not run or survive.")
    color = options.COLOR


class WhyOptions(SimulationArguments, WhyOutput):
    """The options of ``afflint why``."""

    arguments: tuple[str, ...] = argument("NAME [PATHS]...", FILE, required=True)


def why(args: WhyOptions) -> int:
    """Explain why a workload or a pod does not run, or which failures it does not survive, and show the smallest changes that help.

    NAME is the name of a workload (web, shop/web, deployment/web) or of a pod. PATHS are manifests: files, folders, globs. Default: the
    current folder, unless the files of --nodes and --pods have workloads or pods. `kubectl afflint why NAME` asks the cluster.

    Each change is tried: afflint schedules all workloads again with it, in several orders. A line says if it helps in some of these
    only, or if another workload stays Pending then.

    In a folder of several clusters, the workload is explained in each that has it.

    Of a virtual machine that runs, it shows where the machine may migrate, or what prevents that.

    Exits with 0 if all replicas run and survive the failure of each single node and zone, and with 1 otherwise. For a single virtual
    machine that runs, it exits with 0 if the machine may migrate.
    """
    from afflint.placement.why import UnknownWorkloadError

    name, *paths = args.arguments
    found, clusters = by_cluster(partial(_explained, args, name, paths))
    explained = {folder: each for folder, each in found.items() if not isinstance(each, UnknownWorkloadError)}
    if not explained:
        note_outside(args, paths, clusters)
        raise max((each for each in found.values() if isinstance(each, UnknownWorkloadError)), key=lambda each: "did you mean" in str(each))
    if clusters:
        answers = {folder: (nodes, _chunks(explanation, args)) for folder, (nodes, explanation) in explained.items()}
        write_or_show(args.output, in_each_cluster(answers, args.form, "explanation"))
    else:
        write_or_show(args.output, _chunks(explained[""][1], args))
    return 0 if all(each.is_fine for _, each in explained.values()) or args.exit_zero else FOUND


def _explained(
    args: WhyOptions, name: str, paths: Sequence[str], cluster: Cluster | None
) -> tuple[int, Explanation] | UnknownWorkloadError:
    """Return the number of nodes and the explanation for one cluster, or for all files; an error if it has no workload of this name."""
    from afflint.checks.admission.pod_specs import rejections
    from afflint.placement.changes import PlanInput
    from afflint.placement.planner import make_plan
    from afflint.placement.why import UnknownWorkloadError, explain, selected_workload

    inputs, _ = read_inputs(args, paths, cluster=cluster)
    found = inputs.simulation_input
    plan = make_plan(
        found.inventory,
        found.pod_sources,
        name_of=inputs.names.__getitem__,
        budgets=found.budgets,
        evictions=found.evictions,
        classes=inputs.classes,
    )
    plan = with_notes(plan, inputs, args)
    plan_input = PlanInput(found.inventory, found.pod_sources, "", inputs.classes, partial(rejections, target=inputs.target), found.budgets)
    try:
        chosen = selected_workload(plan, plan_input, name)
    except UnknownWorkloadError as error:
        return error
    if inputs.problems:
        notify(f"afflint: {visible(inputs.problems[0])}")
    explanation = explain(plan, plan_input._replace(key=chosen.key), chosen.pod, decidable=chosen.key not in found.undecidable)
    return len(plan.nodes), explanation


def _chunks(explanation: Explanation, args: WhyOptions) -> Iterator[str]:
    from afflint.report.place import why as report

    if args.form == "json":
        return report.render_json(explanation)
    import shutil

    color, width = args.output is None and colored(args.color), shutil.get_terminal_size((100, 24)).columns
    return report.render(explanation, color=color, width=width)


COMMAND = Command(why, WhyOptions, "Explain why a workload does not run, and what would help.")
