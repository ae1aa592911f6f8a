"""Compares the commits of real repositories with `afflint diff`, and confirms each statement with `afflint place` in both states.

    python tools/diff_histories.py CLONE:FOLDER... --commits 200

For each commit that touches a folder, the statements about placement are compared with two runs of ``place``, which simulate the failure of
each zone and node and the drain of each node. If there are no statements, the two runs must agree. The clones are only read.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from afflint.changes.placement import SEEN
from afflint.findings.namedtuples import NamedTuple

ZONE = "topology.kubernetes.io/zone"
ZONES = ("a", "b", "c")
NODES = {f"{zone}{number}": zone for zone in ZONES for number in (1, 2)}
"""The nodes that the manifests are placed on, with their zones. Real repositories rarely contain their own."""
_MAY_PLACE = "replicas:|nodeSelector:|ffinity:|olerations:|opologySpread|topologyKey|nodeName:|kind: PodDisruptionBudget|whenUnsatisfiable"
"""A change of a line with one of these words may change placement."""
_SEVERITY = {"survives": 0, "interrupted": 1, "degraded": 2, "dead": 3}
_OUTCOMES = {"is interrupted": 1, "has fewer replicas": 2, "is down": 3}
_HARMS = {
    "does no harm": 0,
    "did no harm": 0,
    "interrupts it": 1,
    "interrupted it": 1,
    "leaves it fewer replicas": 2,
    "left it fewer replicas": 2,
    "takes it down": 3,
    "took it down": 3,
}

Judgement = tuple[str, str]
"""``confirmed``, ``refuted`` or ``unchecked``, and what contradicts the statement or why it is not checked."""


class End:
    """What `afflint place` says in one state, from its JSON: the workloads, and what failures and drains do to them."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.workloads = {each["key"]: each for each in data["workloads"]}
        self.zones = {each["name"]: each["labels"].get(ZONE, "") for each in data["nodes"]}
        self._losses = data["losses"]

    def scheduled(self, key: str) -> int:
        """Return how many replicas of a workload have a node."""
        return len(self.nodes(key))

    def replicas(self, key: str) -> int:
        """Return how many replicas a workload has."""
        return len(self.workloads[key]["replicas"])

    def nodes(self, key: str) -> list[str]:
        """Return the nodes of the replicas."""
        return [each["node"] for each in self.workloads[key]["replicas"] if each["node"] is not None]

    def usable(self, key: str) -> set[str]:
        """Return the nodes that the scheduler accepts for the first replica, and those of all replicas."""
        return {each["node"] for each in self.workloads[key]["verdicts"] if each["feasible"]} | {*self.nodes(key)}

    def harmed(self, key: str, word: str) -> dict[str, int]:
        """Return the severity of the failure of each ``zone`` or ``node`` for a workload, by the name of the zone or node."""
        start = f"{ZONE}=" if word == "zone" else "node "
        return {
            each["what"].removeprefix(start): _SEVERITY[each["outcomes"].get(key, "survives")]
            for each in self._losses
            if each["action"] == "lose" and each["what"].startswith(start)
        }

    def blocked(self, key: str) -> set[str]:
        """Return the nodes whose drain a workload blocks."""
        drains = [each for each in self._losses if each["action"] == "drain"]
        return {each["what"].removeprefix("node ") for each in drains if any(one["workload"] == key for one in each["blocked"])}

    def preferred(self, key: str) -> dict[tuple[str, int], int]:
        """Return how many usable nodes match each preference, by its words and its weight."""
        return {(each["asks"], each["weight"]): each["usable"] for each in self.workloads[key]["preferences"]}

    def shown(self) -> dict[str, object]:
        """Return what can be compared with another state without any statement."""
        return {
            key: (
                self.replicas(key),
                self.scheduled(key),
                max(self.harmed(key, "zone").values(), default=0),
                max(self.harmed(key, "node").values(), default=0),
                bool(self.blocked(key)),
            )
            for key in self.workloads
        }


# Statements: each pattern, and what has to hold in both states. The names that a statement lists are checked, "and 2 more" is not.


def confirm(key: str, text: str, before: End, after: End) -> Judgement:
    """Return whether a statement about a workload holds in two states."""
    for pattern, judge in _STATEMENTS:
        if (match := re.fullmatch(pattern, text.removesuffix(SEEN))) is not None:
            problem = judge(key, match, before, after)
            return ("refuted", problem) if problem else ("confirmed", "")
    return "unchecked", "it says what the manifest requires"


def _new(key: str, match: re.Match[str], before: End, after: End) -> str:
    if key in before.workloads:
        return "the workload exists before"
    return "" if match[1] is None or after.replicas(key) == int(match[1]) else f"it has {after.replicas(key)} replicas"


def _removed(key: str, _match: re.Match[str], before: End, after: End) -> str:
    return "" if key in before.workloads and key not in after.workloads else "the workload exists in both states or in none"


def _replicas(key: str, match: re.Match[str], before: End, after: End) -> str:
    found = before.replicas(key), after.replicas(key)
    return "" if found == (int(match[1]), int(match[2])) else f"{found[0]} before, {found[1]} after"


def _scheduled(key: str, match: re.Match[str], before: End, after: End) -> str:
    found = after.scheduled(key)
    if found != int(match["number"]):
        return f"{found} are scheduled"
    was = (before.replicas(key) - before.scheduled(key)) if key in before.workloads else 0
    now = after.replicas(key) - found
    if match["before"] is None:
        return "" if now > was else f"{was} were Pending before"
    return "" if now < was and before.scheduled(key) == int(match["before"]) else f"{before.scheduled(key)} were scheduled before"


def _zones(key: str, match: re.Match[str], before: End, after: End) -> str:
    for end, number in ((before, int(match[1])), (after, int(match[2]))):
        used = {end.zones[node] for node in end.usable(key)} - {""}
        if len(used) > number:
            return f"pods can be in {', '.join(sorted(used))}"
    listed = _split(match[3] or "")
    used = {after.zones[node] for node in after.nodes(key)}
    return f"pods are in {', '.join(sorted(used))}" if "more" not in (match[3] or "") and listed and not used <= listed else ""


def _nodes(key: str, match: re.Match[str], before: End, after: End) -> str:
    for end, number in ((before, int(match[1])), (after, int(match[2]))):
        if len(end.usable(key)) > number:
            return f"pods can use {len(end.usable(key))} nodes"
    return ""


def _no_longer_survives(key: str, match: re.Match[str], before: End, after: End) -> str:
    was, now = before.harmed(key, match["word"]), after.harmed(key, match["word"])
    if any(was.values()):
        return f"before, it did not survive the failure of {_first(was)} either"
    return _all_harmed(now, _names(match), _OUTCOMES[match["outcome"]])


def _survives(key: str, match: re.Match[str], before: End, after: End) -> str:
    now = after.harmed(key, match["word"])
    if any(now.values()):
        return f"it does not survive the failure of {_first(now)}"
    was = before.harmed(key, match["word"])
    return _all_harmed(was, _names(match), _OUTCOMES[match["outcome"]])


def _worse_failure(key: str, match: re.Match[str], before: End, after: End) -> str:
    was, now = before.harmed(key, match["word"]), after.harmed(key, match["word"])
    if max(was.values(), default=0) != _HARMS[match["was"]]:
        return f"before, the worst was {max(was.values(), default=0)}"
    return _all_harmed(now, _names(match), _HARMS[match["now"]])


def _milder_failure(key: str, match: re.Match[str], before: End, after: End) -> str:
    was, now = before.harmed(key, match["word"]), after.harmed(key, match["word"])
    if max(now.values(), default=0) != _HARMS[match["now"]]:
        return f"the worst is {max(now.values(), default=0)}"
    return _all_harmed(was, _names(match), _HARMS[match["was"]])


def _blocks(key: str, match: re.Match[str], before: End, after: End) -> str:
    if before.blocked(key):
        return f"it blocked the drain of {min(before.blocked(key))} before"
    missing = _names(match) - after.blocked(key)
    return f"the drain of {min(missing)} completes" if missing else "" if after.blocked(key) else "no drain is blocked"


def _blocks_no_longer(key: str, match: re.Match[str], before: End, after: End) -> str:
    if after.blocked(key):
        return f"it blocks the drain of {min(after.blocked(key))}"
    missing = _names(match) - before.blocked(key)
    return f"the drain of {min(missing)} completed before" if missing else "" if before.blocked(key) else "no drain was blocked"


def _stopped_counting(key: str, match: re.Match[str], before: End, after: End) -> str:
    asked = match[1], int(match[2])
    return "" if before.preferred(key).get(asked, 0) and not after.preferred(key).get(asked, 1) else "usable nodes match it"


def _all_harmed(found: Mapping[str, int], names: set[str], severity: int) -> str:
    if max(found.values(), default=0) != severity:
        return f"the worst outcome is {max(found.values(), default=0)}, not {severity}"
    other = next((name for name in sorted(names) if found.get(name) != severity), None)
    return f"that of {other} has the outcome {found.get(other)}" if other is not None else ""


def _names(match: re.Match[str]) -> set[str]:
    return _split(match["names"] or "")


def _split(text: str) -> set[str]:
    return {each for each in re.split(r", | and | or ", text.strip()) if each and not re.fullmatch(r"\d+ more", each)}


def _first(found: Mapping[str, int]) -> str:
    return min(name for name, severity in found.items() if severity)


_FAILURE = r"the failure of (?:a )?(?P<word>zone|node)(?P<names> .+?)?"
_NAMED = r"(?:a )?(?:zone|node)(?P<names> .+?)?"
_OUTCOME = "|".join(_OUTCOMES)
_HARM = "|".join(_HARMS)
_STATEMENTS: list[tuple[str, Callable[[str, re.Match[str], End, End], str]]] = [
    (r"new workload(?: with (\d+) replicas?)?", _new),
    (r"removed", _removed),
    (r"replicas: (\d+) → (\d+)", _replicas),
    (
        r"(?P<number>\d+) of \d+ replicas? can be scheduled(?: \(before: (?P<before>\d+) of \d+\))?(?:: .*)?",
        _scheduled,
    ),
    (r"zones: (\d+) → (\d+)(?: \((.+)\))?", _zones),
    (r"(?:nodes that it can use|runs on): (\d+) → (\d+)", _nodes),
    (rf"no longer survives {_FAILURE}: it (?P<outcome>{_OUTCOME})", _no_longer_survives),
    (
        rf"survives the failure of any (?P<word>zone|node) \(before, it (?P<outcome>{_OUTCOME}) after that of {_NAMED}\)",
        _survives,
    ),
    (rf"{_FAILURE} now (?P<now>{_HARM}); before, it only (?P<was>{_HARM})", _worse_failure),
    (rf"{_FAILURE} no longer (?P<was>{_HARM}); it only (?P<now>{_HARM})", _milder_failure),
    (r"drains of (?:a node with its pods|node(?P<names> .+?)) no longer complete: .*", _blocks),
    (r"no longer blocks drains(?: \(before: of node(?P<names> .+?)\))?", _blocks_no_longer),
    (r"the preference for nodes with (.+) \(weight (\d+)\) no longer counts: .*", _stopped_counting),
]


# --- commits -----------------------------------------------------------------------------------------------------------


class Tally(NamedTuple):
    """The numbers of a run over commits."""

    commits: Counter[str]
    statements: Counter[str]
    problems: list[str]


def run(clone: str, folder: str, commits: int, tally: Tally) -> None:
    """Compare the newest commits of a clone that touch a folder: half of them may change placement, the others may be anything."""
    with tempfile.TemporaryDirectory(prefix="diff-histories-") as scratch:
        repository = os.path.join(scratch, "repository")
        _run("git", "clone", "--quiet", "--shared", "--no-checkout", clone, repository)
        nodes = _write_nodes(scratch)
        for commit in _chosen(repository, folder, commits):
            compare(repository, commit, folder, nodes, tally)
            print(f"{folder} {commit[:10]}: {dict(tally.commits)} {dict(tally.statements)}", file=sys.stderr)


def compare(repository: str, commit: str, folder: str, nodes: str, tally: Tally) -> None:
    """Compare a commit with its parent, and add what is confirmed, refuted and not checked to the tally."""
    data = _afflint("diff", f"{commit}~..{commit}", folder, "--nodes", nodes, folder=repository)
    if data is None:
        tally.commits["failed"] += 1
        return
    before, after = (_placed(repository, each, folder, nodes) for each in (f"{commit}~", commit))
    if before is None or after is None:
        tally.commits["not placed"] += 1
        return
    name = f"{commit[:10]} {folder}"
    if not data["placement"]:
        same = before.shown() == after.shown()
        tally.commits["unchanged" if same else "unchanged, although one simulation differs"] += 1
        if not same:
            tally.problems.append(f"{name}: no statement, but {_difference(before, after)}")
        return
    tally.commits["changed"] += 1
    for change in data["placement"]:
        for text in change["changes"]:
            verdict, why = confirm(change["workload"], text, before, after)
            tally.statements[verdict] += 1
            if verdict == "refuted":
                tally.problems.append(f"{name}: {change['workload']}: {text}: {why}")


def _difference(before: End, after: End) -> str:
    one, other = before.shown(), after.shown()
    return "; ".join(f"{key}: {one.get(key)} → {other.get(key)}" for key in sorted({*one, *other}) if one.get(key) != other.get(key))[:300]


def _chosen(repository: str, folder: str, number: int) -> list[str]:
    listed = ("git", "-C", repository, "log", "--no-merges", "--format=%H", f"-n{number}")
    placing = _run(*listed, f"-G{_MAY_PLACE}", "--", folder).split()
    others = [each for each in _run(*listed, "--", folder).split() if each not in placing]
    return [*placing[: number - min(len(others), number // 2)], *others[: max(number // 2, number - len(placing))]]


def _placed(repository: str, commit: str, folder: str, nodes: str) -> End | None:
    """Return what ``place`` says about a commit; None if it has no workloads."""
    with tempfile.TemporaryDirectory(prefix="diff-histories-") as checkout:
        os.mkdir(os.path.join(checkout, ".git"))
        archive = subprocess.run(["git", "-C", repository, "archive", commit, folder], capture_output=True, check=False)
        if archive.returncode == 0:
            subprocess.run(["tar", "-x", "-C", checkout], input=archive.stdout, check=True)
        else:
            os.makedirs(os.path.join(checkout, folder))
        words = [word for zone in ZONES for word in ("--lose", f"{ZONE}={zone}")]
        words += [word for node in NODES for word in ("--lose", node, "--drain", node)]
        data = _afflint("place", folder, "--nodes", nodes, *words, folder=checkout)
    return End(data) if data is not None else None


def _write_nodes(folder: str) -> str:
    path = os.path.join(folder, "nodes.json")
    nodes = [{"name": name, "labels": {ZONE: zone, "kubernetes.io/os": "linux"}} for name, zone in NODES.items()]
    Path(path).write_text(json.dumps({"nodes": nodes}), encoding="utf-8")
    return path


def _afflint(*words: str, folder: str) -> Any:
    command = [sys.executable, "-m", "afflint", *words, "--no-config", "--format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return json.loads(done.stdout) if done.returncode in (0, 1) and done.stdout else None


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")


def _lines(tally: Tally) -> Iterator[str]:
    yield f"commits: {sum(tally.commits.values())}: " + ", ".join(f"{number} {name}" for name, number in tally.commits.most_common())
    yield f"statements: {sum(tally.statements.values())}: " + ", ".join(f"{n} {name}" for name, n in tally.statements.most_common())
    yield from tally.problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Run over all clones and print the numbers; return 1 if a statement is refuted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="+", metavar="CLONE:FOLDER", help="a Git repository, and a folder in it with manifests")
    parser.add_argument("--commits", type=int, default=200, metavar="N", help="how many commits of all clones together; default: 200")
    options = parser.parse_args(arguments)
    tally = Tally(Counter(), Counter(), [])
    for each in options.clones:
        clone, _, folder = each.rpartition(":")
        run(clone, folder, options.commits // len(options.clones), tally)
    print("\n".join(_lines(tally)))
    return 1 if tally.statements["refuted"] else 0


if __name__ == "__main__":
    sys.exit(main())
