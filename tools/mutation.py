"""Change the code in small ways, and report the changes that no test of the package notices.

    python tools/mutation.py pipeline index             # the packages; a module is named by its path below src/afflint
    python tools/mutation.py scheduler --count 300 --seed 7
    python tools/mutation.py kube/taints.py --all

A mutant is one function with one change: a comparison, a condition, a number, a keyword argument or a statement. The tests of the
package (`TESTS`) run once, and the functions that each test calls are recorded. For each mutant the process forks; the child takes the
changed code into the function and runs the tests that call it, until one fails. The survivors are printed with their positions, and the
exit code is 1 if less than the floor is killed. Tests that start processes do not see the changes: they are not in `TESTS`.
Code that runs on import, and functions that no test calls, are not changed; the latter are counted as survivors.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import contextlib
import copy
import cProfile
import functools
import gc
import os
import random
import signal
import sys
import time
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple  # noqa: TID251 (this script does not start often)

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "afflint"
FLOOR = 85
"""Per cent of the mutants that the tests have to kill."""
TESTS = {
    "pipeline/reduce_step.py": "tests/pipeline/test_reduce.py tests/pipeline/test_context.py tests/pipeline/test_settings.py "
    "tests/test_suppressions.py tests/inventory/test_stage.py tests/policies/test_policies.py tests/policies/test_outcomes.py "
    "tests/policies/test_implied.py tests/rendering/test_clusters.py tests/rendering/test_rendered_policies.py",
    "pipeline/suppressions.py": "tests/test_suppressions.py tests/policies/test_policies.py",
    "pipeline/suppression_filter.py": "tests/test_suppressions.py tests/source/test_kustomizations.py tests/policies/test_policies.py",
    "pipeline/baseline.py": "tests/test_baseline.py tests/test_report_command.py",
    "pipeline/map_step.py": "tests/pipeline/test_single_files.py tests/pipeline/test_values_of_charts.py tests/pipeline/test_settings.py "
    "tests/kube/test_values.py tests/yaml/test_triage.py tests/test_suppressions.py tests/lsp/test_kept.py tests/policies/test_policies.py "
    "tests/policies/test_outcomes.py tests/checks/test_custom_resources.py tests/checks/test_fleet_checks.py "
    "tests/inventory/test_stage.py tests/pipeline/test_definitions.py",
    "pipeline": "tests/pipeline tests/policies tests/rendering tests/lsp/test_kept.py tests/test_suppressions.py tests/test_baseline.py "
    "tests/test_cli.py",
    "index": "tests/index tests/checks/test_fleet_checks.py tests/checks/test_label_checks.py tests/checks/test_affinity_checks.py "
    "tests/checks/test_kubevirt_checks.py tests/checks/test_namespaces.py tests/checks/test_autoscaled.py tests/inventory",
    "inventory": "tests/inventory tests/checks/test_nodes.py tests/checks/test_placement.py tests/checks/test_pools.py "
    "tests/checks/test_room_in_pools.py tests/checks/test_autoscaled.py tests/pipeline/test_placing.py "
    "tests/pipeline/test_placing_on_pools.py tests/pipeline/test_nodes_beside.py tests/pipeline/test_pools_beside.py",
    "policies": "tests/policies tests/test_policy_commands.py tests/test_report_command.py",
    "kube/taints.py": "tests/kube/test_taints.py tests/checks/test_toleration_checks.py",
    "kube": "tests/kube tests/checks tests/controllers",
    "manifests": "tests/kube tests/checks tests/pipeline",
    "storage": "tests/scheduler tests/kube tests/checks/test_volumes.py tests/test_place_volumes.py",
    "scheduler": "tests/scheduler tests/placement tests/conformance/test_living.py tests/test_place_volumes.py",
    "placement": "tests/placement tests/inventory tests/conformance/test_living.py tests/test_place_command.py tests/test_place_dump.py "
    "tests/test_place_moves.py tests/test_place_sequences.py tests/test_place_volumes.py tests/test_why_command.py "
    "tests/checks/test_placement.py tests/policies/test_outcomes.py",
    "simulation": "tests/inventory tests/pipeline tests/test_place_command.py",
    "changes": "tests/changes tests/test_diff_command.py tests/test_diff_rendered.py",
    "rendering": "tests/rendering tests/charts tests/checks/test_chart_checks.py tests/test_diff_rendered.py",
    "rendered": "tests/rendering",
    "controllers": "tests/controllers tests/placement",
    "pools": "tests/pools tests/checks",
    "checks": "tests/checks tests/policies tests/test_rules.py tests/test_rule_silence.py",
    "fix": "tests/test_fixing.py tests/test_fix_command.py tests/test_edits.py",
    "findings": "tests/test_identity.py tests/test_phrases.py tests/test_namedtuples.py tests/test_edits.py tests/pipeline",
}
"""The tests that a developer of a package runs, or of one module of it."""
EQUIVALENT: frozenset[tuple[str, str, str, str]] = frozenset(
    (
        # Cached columns are computed again.
        ("scheduler/nodes.py", "NodeTable.changed", "drop the statement", "other._amounts.update(self._amounts)"),
        (
            "scheduler/nodes.py", "NodeTable.changed", "drop the statement",
            "other._marks.update(((key, marks) for key, marks in self._marks.items() if key not in keys))",
        ),
        # The name is the first field of a node, and names differ.
        ("scheduler/nodes.py", "NodeTable.__init__", "drop the argument `key`", "sorted(nodes, key=lambda node: node.name)"),
        # No score is half-way between two numbers, since it is a multiple of a logarithm.
        ("scheduler/topology_spread.py", "_rounded", "compare the other way", "score - whole >= 0.5"),
        # The order of labels means nothing.
        ("inventory/node_files.py", "with_kubelet_labels", "reverse the order", "sorted(KUBELET_LABELS.keys() & set(asked) - carried)"),
        # The pods of a run with pools have a spec.
        ("checks/pool_view.py", "_asked_by_selector", "drop operand 2", "pods.spec or {}"),
        ("checks/pool_view.py", "_asked_by_terms", "drop operand 2", "pods.spec or {}"),
        # Terms are always those of a template.
        (
            "inventory/simulation_input.py", "_drawn_elsewhere", "drop operand 1",
            "ref.template_path is not None and manifest_index.whole is not None and manifest_index.whole.is_selected(ref)",
        ),
        # Only a spread constraint has a maxSkew.
        ("index/facts.py", "SelectorRef.is_required", "drop operand 1", "self.what == SPREAD and self.max_skew is not None"),
        # What comes twice is the same as what comes once.
        ("inventory/simulation_input.py", "_dependants", "drop the statement", "seen.add(owner)"),
        # A file that does not name afflint has no suppressions to read.
        ("pipeline/map_step.py", "Checker.check", "drop operand 3", "self._settings.inventory and (not count) and (_MARKER in data)"),
        # Without edits there are none to drop, and none to resolve.
        (
            "pipeline/map_step.py", "_certain", "drop operand 1",
            "any((each.edits for each in found)) and prefilter.looks_templated(name, data)",
        ),
        ("checks/match.py", "located", "drop operand 2", "fixing and match.edits and (not document.filled)"),
        # Without suppressions there are none to mark.
        (
            "pipeline/map_step.py", "Checker._with_unused_policies", "drop operand 2",
            "self._judge is None or not suppressions or any((each.unknown for each in results))",
        ),
        # The function for directives finds none.
        ("pipeline/map_step.py", "Checker._check_document", "drop operand 1", "document.has_directives and _is_directed(document, match)"),
        # No kind is among those of a configuration without kinds.
        (
            "pipeline/map_step.py", "Checker._ways", "drop operand 1",
            "self._custom and (each.kind.group, each.kind.name) in self._custom",
        ),
        # The constraints of a resource that only its shape shows come after the others.
        ("pipeline/map_step.py", "Checker._ways", "drop operand 2", "each.base not in ways or each.placement_source != 'its shape'"),
        # Values that are text are marked as filled, so they get no fixes.
        ("pipeline/map_step.py", "Checker._embedded_values", "change the constant", "False"),
        # Without the rule there is no finding with these edits.
        (
            "pipeline/map_step.py", "Checker._duplicates", "drop operand 2",
            "len(document.duplicates) <= _FEW_REPEATED and self._fixing.get('duplicate-key', 'none') != 'none' and (not document.filled)",
        ),
        # Two ranges that touch cover the same as one.
        ("pipeline/suppressions.py", "_SuppressedRanges.__init__", "compare the other way", "start <= ends[-1]"),
    )
)  # fmt: skip
"""Changes that do the same as the original: the module, the function, the change, and the first line of what is changed."""
_WIDTH = 60
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_SWAPPED_CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}


class Mutant(NamedTuple):
    """A changed copy of a module: what was changed, where, and the outermost function around it. ``text`` is what was there before."""

    path: Path
    line: int
    function: str
    change: str
    text: str
    tree: ast.Module

    @property
    def is_equivalent(self) -> bool:
        """Whether it does the same as the original, as far as a test can tell."""
        return (self.path.relative_to(SOURCE).as_posix(), self.function, self.change, self.text) in EQUIVALENT

    def __str__(self) -> str:
        short = self.text if len(self.text) <= _WIDTH else f"{self.text[:_WIDTH]}..."
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.function}: {self.change} in `{short}`"


def variants(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what may take the place of a node, with a description."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield "compare the other way", ast.Compare(node.left, [_OPPOSITES[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "swap `and` and `or`", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for place, value in enumerate(node.values):
            rest = [other for other in node.values if other is not value]
            yield f"drop operand {place + 1}", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "drop `not`", node.operand
    elif isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
        changed = copy.copy(node)
        changed.test = ast.UnaryOp(ast.Not(), node.test)
        yield "negate the condition", changed
    elif isinstance(node, ast.Constant) and type(node.value) in (bool, int):
        yield "change the constant", ast.Constant(not node.value if type(node.value) is bool else node.value + 1)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield "swap `+` and `-`", ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)
    elif isinstance(node, ast.Call):
        yield from _variants_of_call(node)
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "drop the statement", ast.Pass()
    elif isinstance(node, ast.Continue):
        yield "break instead of continue", ast.Break()


def _variants_of_call(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.func, ast.Name) and node.func.id in _SWAPPED_CALLS:
        yield f"swap `{node.func.id}`", ast.Call(ast.Name(_SWAPPED_CALLS[node.func.id], ast.Load()), node.args, node.keywords)
    if isinstance(node.func, ast.Name) and node.func.id == "sorted":
        yield "reverse the order", ast.Call(ast.Name("list", ast.Load()), [ast.Call(ast.Name("reversed", ast.Load()), [node], [])], [])
    for keyword in node.keywords:
        if keyword.arg == "strict":
            continue  # It asserts that two lists are equally long.
        rest = [other for other in node.keywords if other is not keyword]
        yield f"drop the argument `{keyword.arg}`", ast.Call(node.func, node.args, rest)


class _Replacement(ast.NodeTransformer):
    """Put one node in place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(self.new, node) if node is self.old else self.generic_visit(node)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of the functions of a module. The trees share what does not change until `compiled` makes them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name, function in _functions(tree, ""):
        for node in _changeable(function):
            for change, new in variants(node):
                text = ast.unparse(node).partition("\n")[0]
                yield Mutant(path, getattr(node, "lineno", function.lineno), name, change, text, _with(tree, node, new))


def _with(tree: ast.Module, old: ast.AST, new: ast.AST) -> ast.Module:
    """Return a copy of a tree with one node replaced, made when it is needed only: it holds the two nodes until then."""
    changed = ast.Module(tree.body, [])
    changed.replacement = (old, new)  # type: ignore[attr-defined]
    return changed


def compiled(mutant: Mutant) -> types.CodeType:
    """Return the code of the changed function."""
    old, new = mutant.tree.replacement  # type: ignore[attr-defined]
    memo: dict[int, object] = {}
    tree = copy.deepcopy(ast.Module(mutant.tree.body, []), memo)
    changed = _Replacement(memo[id(old)], copy.deepcopy(new)).visit(tree)  # type: ignore[arg-type]
    module = compile(ast.fix_missing_locations(changed), str(mutant.path), "exec", dont_inherit=True)
    code = module
    for part in mutant.function.split("."):
        code = next(const for const in code.co_consts if isinstance(const, types.CodeType) and const.co_name == part)
    return code


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def _changeable(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes in the body of a function, without annotations and without what is raised or asserted."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue
        yield node
        left_out = {
            id(getattr(node, name, None)) for name in ("annotation", "returns", "args" if isinstance(node, ast.FunctionDef) else "")
        }
        waiting += reversed([child for child in ast.iter_child_nodes(node) if id(child) not in left_out])


class InThisThread(concurrent.futures.ThreadPoolExecutor):
    """Threads in name only: the profile of a thread does not see what others call."""

    def submit(self, function: Callable[..., object], /, *args: object, **kwargs: object) -> concurrent.futures.Future[object]:
        done = concurrent.futures.Future[object]()
        try:
            done.set_result(function(*args, **kwargs))
        except BaseException as error:
            done.set_exception(error)
        return done


class Tester:
    """A pytest plugin that runs the tests once, and then those that call a function for each mutant of it."""

    def __init__(self, mutants: list[Mutant], limit: float) -> None:
        self.mutants, self.limit = mutants, limit
        self.functions: dict[tuple[str, str], list[types.FunctionType]] = {}
        self.survivors: list[tuple[Mutant, str]] = []
        self.killed = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        calls, seconds, items = self._first_run(session.items)
        self.functions = _functions_of_package()
        gc.freeze()  # The children share this memory, as long as they do not look through it for garbage.
        for number, mutant in enumerate(self.mutants, 1):
            key = (str(mutant.path), mutant.function)
            chosen = sorted(calls.get(key, ()), key=lambda index: seconds[index])
            outcome = self._outcome(mutant, [items[index] for index in chosen], sum(seconds[index] for index in chosen))
            if outcome:
                self.survivors.append((mutant, outcome))
                print(f"{mutant} ({outcome})", flush=True)
            else:
                self.killed += 1
            if number % 50 == 0:
                print(f"-- {number} of {len(self.mutants)}, {100 * self.killed // number} % killed", flush=True)
        return True

    def _first_run(self, items: list[pytest.Item]) -> tuple[dict[tuple[str, str], list[int]], list[float], list[pytest.Item]]:
        """Return the tests by the function that they call, their seconds, and the tests themselves."""
        calls = defaultdict(list)
        seconds, passing = [], []
        top = str(SOURCE)
        for item in items:
            _clear_caches()
            profile = cProfile.Profile(subcalls=False, builtins=False)
            started = time.perf_counter()
            profile.enable()
            try:
                passed = _passes(item)
            finally:
                profile.disable()
            called = [entry.code for entry in profile.getstats() if isinstance(entry.code, types.CodeType)]
            if not passed:
                print(f"-- left out, since it fails without a change: {item.nodeid}", flush=True)
                continue
            for key in {(code.co_filename, _outermost(code)) for code in called if code.co_filename.startswith(top)}:
                calls[key].append(len(passing))
            seconds.append(time.perf_counter() - started)
            passing.append(item)
        return calls, seconds, passing

    def _outcome(self, mutant: Mutant, items: list[pytest.Item], seconds: float) -> str:
        """Return why a mutant survives, an empty text if a test fails or the tests run far longer than before."""
        if not items:
            return "no test calls the function"
        try:
            code = compiled(mutant)
        except (SyntaxError, StopIteration):
            return ""
        child = os.fork()
        if not child:
            signal.alarm(int(10 + 5 * min(seconds, self.limit)))
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            os._exit(_run_changed(self.functions.get((str(mutant.path), mutant.function), []), code, items, self.limit))
        return f"{len(items)} tests pass" if os.waitpid(child, 0)[1] == 0 else ""


def _outermost(code: types.CodeType) -> str:
    """Return the name of the outermost function around some code, with its classes."""
    return str(getattr(code, "co_qualname", code.co_name)).partition(".<locals>")[0]


def _clear_caches() -> None:
    """Forget what functions remember, so that they are called again."""
    for cache in _caches(len(sys.modules)):
        cache.cache_clear()


@functools.lru_cache(maxsize=1)
def _caches(modules: int) -> list[functools._lru_cache_wrapper[object]]:
    """Return the caches of all functions; there are more only after an import, hence with another number of ``modules``."""
    assert modules
    found = [each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper)]
    return [each for each in found if str(each.__module__).startswith("afflint")]


def _functions_of_package() -> dict[tuple[str, str], list[types.FunctionType]]:
    """Return the functions that exist by file and name; a decorated one is there although no module has it."""
    found = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and each.__code__.co_filename.startswith(str(SOURCE)):
            found[each.__code__.co_filename, each.__qualname__].append(each)
    return found


def _run_changed(functions: list[types.FunctionType], code: types.CodeType, items: list[pytest.Item], limit: float) -> int:
    """Give the functions other code and run the tests. Returns 1 when one fails."""
    changed = False
    for function in functions:
        with contextlib.suppress(ValueError):
            function.__code__ = code
            changed = True
    if not changed:
        return 1
    _clear_caches()
    deadline = time.monotonic() + limit
    return int(any(not _passes(item) for item in items if time.monotonic() < deadline))


def _passes(item: pytest.Item) -> bool:
    from _pytest.runner import runtestprotocol

    item.session._setupstate.teardown_exact(None)
    if hasattr(item, "_initrequest"):
        item._initrequest()
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def tests_of(name: str) -> str:
    """Return the tests of a package or module: those of the module, if it has some of its own."""
    return TESTS.get(name) or TESTS[name.partition("/")[0]]


def main() -> int:
    """Run the mutants of the packages that the command line names. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Report small changes of the code that no test notices.")
    parser.add_argument("packages", nargs="+", help=f"one of {', '.join(TESTS)}, or a module such as kube/taints.py")
    parser.add_argument("--count", type=int, default=100, help="how many mutants to try, taken at random (default: 100)")
    parser.add_argument("--all", action="store_true", help="try all mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the random choice; the same seed gives the same mutants (default: 0)")
    parser.add_argument("--limit", type=float, default=60, help="seconds of tests for one mutant (default: 60)")
    parser.add_argument("--tests", help="run these tests instead of those of the packages")
    options = parser.parse_args()
    paths = [
        path for name in options.packages for path in sorted((SOURCE / name).rglob("*.py") if (SOURCE / name).is_dir() else [SOURCE / name])
    ]
    mutants = [mutant for path in paths for mutant in mutants_of(path) if not mutant.is_equivalent]
    if not options.all and len(mutants) > options.count:
        mutants = sorted(random.Random(options.seed).sample(mutants, options.count), key=lambda each: (each.path, each.line))
    rooms = dict.fromkeys(word for name in options.packages for word in (options.tests or tests_of(name)).split())
    concurrent.futures.ThreadPoolExecutor = InThisThread  # type: ignore[misc]
    os.environ["CI"] = "1"  # Property tests then draw the same examples in each run.
    tester = Tester(mutants, options.limit)
    pytest.main(
        [*rooms, "-o", "addopts=", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:unraisableexception", "-s", "--no-header"],
        plugins=[tester],
    )
    tried = tester.killed + len(tester.survivors)
    share = 100 * tester.killed / max(tried, 1)
    print(f"{tester.killed} of {tried} mutants killed: {share:.0f} %; the floor is {FLOOR} %")
    return int(share < FLOOR)


if __name__ == "__main__":
    sys.exit(main())
