"""The placement in the terminal."""

import re
from typing import Any

import pytest
from place_sample import BAKERY, FULL, LEDGER, TROUBLE, hostile, large, node, table, verdict, workload

from afflint.kube.node_labels import ZONE
from afflint.placement.plan import (
    Application,
    ApplicationEffect,
    Blocked,
    DisruptionEffect,
    NodeVerdict,
    Plan,
    Preempted,
    Replica,
    ReplicaMove,
)
from afflint.report.phrases import columns
from afflint.report.place import table as place_table
from afflint.report.place.view import short_titles
from afflint.report.place.words import reason_words


def plan(*verdicts: str, replicas: tuple[Replica, ...] = (), **more: Any) -> Plan:
    """A workload on nodes ``n1`` and so on, all in zone a; each verdict is a reason, empty for a node that fits."""
    nodes = tuple(node(f"n{number + 1}", "a") for number in range(len(verdicts)))
    seen = [verdict(row.name, why, score=7) for row, why in zip(nodes, verdicts, strict=True)]
    return Plan("topology.kubernetes.io/zone", nodes, (workload("Deployment shop/web", seen, replicas, **more),), (), ())


def block(text: str, heading: str) -> list[str]:
    """The lines of the block that starts with ``heading``."""
    return next(part.strip("\n").split("\n") for part in text.split("\n\n") if part.startswith(heading))


def test_a_workload_is_a_table_of_the_nodes_as_it_sees_them() -> None:
    text = table(plan("", "lacks disk=ssd", replicas=(Replica("web-0", "n1"),)))
    assert block(text, "Deployment") == [
        "Deployment shop/web (bakery/web.yaml:1)",
        "1 of 1 replica scheduled",
        "          NODE  FITS  SCORE  REPLICAS  REASON",
        "  zone a  n1    yes       7  web-0",
        "          n2    no                     lacks disk=ssd",
    ]


def test_replicas_without_a_place_are_reported_with_the_reason_in_words() -> None:
    pending = tuple(Replica(f"web-{number}", None, "2 nodes lack disk=ssd") for number in range(6))
    text = table(plan("lacks disk=ssd", "lacks disk=ssd", replicas=pending))
    assert block(text, "Deployment")[1:3] == [
        "0 of 6 replicas scheduled",
        "  web-0, web-1, web-2 and 3 more stay Pending: 2 nodes lack disk=ssd",
    ]


def test_cordons_and_taints_are_visible() -> None:
    lines = block(table(TROUBLE), "8 nodes")
    assert "             plain-3    cordoned" in lines
    assert "  no zone    spare      tainted lent=out:NoExecute, tainted old:NoSchedule" in lines
    assert any(line.startswith("             plain-3 (cordoned)   yes") for line in block(table(TROUBLE), "Deployment bakery/oven-cache"))


def test_in_a_large_cluster_nodes_of_equal_verdict_fold() -> None:
    text = table(plan(*[""] * 3, *["lacks disk=ssd"] * 41, "is cordoned", replicas=(Replica("web-0", "n2"),)))
    assert block(text, "Deployment")[2:] == [
        "          NODE      FITS  SCORE  REPLICAS  REASON",
        "  zone a  n2        yes       7  web-0",
        "          n1, n3    yes       7",
        "          41 nodes  no                     lack disk=ssd",
        "          n45       no                     is cordoned",
    ]


def test_with_a_domain_per_node_they_fold_across_domains() -> None:
    nodes = tuple(node(f"n{number}", f"rack-{number}") for number in range(40))
    many = Plan("rack", nodes, (workload("Job a/b", [verdict(row.name, score=0) for row in nodes], [Replica("b-0", "n3")]),), (), ())
    assert block(table(many), "40 nodes by rack") == ["40 nodes by rack", "  40 domains  40 nodes"]
    assert block(table(many), "Job")[3:] == ["  n3        yes       0  b-0", "  39 nodes  yes       0"]


def test_of_many_workloads_those_placed_in_full_take_a_line() -> None:
    lines = table(large(300, 300)).split("\n")
    assert "288 workloads completely scheduled" in lines
    assert sum(line.startswith("2 of 3 replicas scheduled") for line in lines) == 12
    # A line for each workload that is well, a score of lines for each that is not: readable, and far from 300 times 300.
    assert len(lines) < 288 + 12 * 30 + 100


def test_a_failure_is_a_line() -> None:
    lines = block(table(BAKERY, width=300), "7 failures")
    assert lines == [
        "7 failures, worst first (the nodes become unreachable, the Node objects remain)",
        *(
            f"  node fast-{number + 1}     degraded  bakery/ledger: 2 of 3 replicas run; ledger-{number} stays Pending ({FULL})"
            for number in range(3)
        ),
        *(
            f"  node plain-{number + 1}    survives  "
            f"recreated: oven-cache-{number} -> fast-{number + 1}, till-{number} -> fast-{number + 1}"
            for number in range(3)
        ),
        "  node control-1  survives  no replica runs there",
    ]
    assert table(BAKERY).endswith("\n7 failures: 3 degrade a workload, 4 are survived by every workload.\n")


def test_the_worst_failure_comes_first() -> None:
    order = [line.split("  ")[1] for line in block(table(TROUBLE, width=400), "4 failures")[1:] if not line.startswith("   ")]
    assert order == ["all fast nodes (3 nodes)", "zone=yard (2 nodes)", "node fast-1", "node control-1"]


def test_of_many_failures_those_survived_share_a_line_and_so_do_those_with_one_reason() -> None:
    lines = block(table(large(300, 300, each="node"), width=200), "300 failures")
    assert lines[0].endswith("; --only NODE shows one node)")
    assert lines[1].startswith("  30 failures  degraded  30 workloads: team-0/order-api-0 (worker-4), team-3/order-db-150 (worker-12),")
    listed = " ".join(" ".join(lines).split())
    assert "and 18 more; for example, team-0/order-api-0: 2 of 3 replicas run; order-api-0-0 stays Pending (no fast node is free)" in listed
    assert " degraded " not in "".join(lines[2:])
    assert sum(" others   survives" in line for line in lines) == 1
    assert lines[-1].startswith("  270 others   survives  node worker-1, node worker-2,")
    assert lines[-1].endswith(" and 262 more; 746 replicas move in total")


def test_equal_reasons_that_differ_in_names_and_numbers_are_listed_once() -> None:
    numbers = range(14)
    pods = [workload(f"VirtualMachine erp/vm{number}", [], [Replica(f"virt-launcher-vm{number}", f"n{number}")]) for number in numbers]
    reasons = [f"PVC vm{number}-root is not shared" if number < 10 else f"{number} nodes are full" for number in numbers]
    losses = tuple(
        DisruptionEffect(
            f"node n{number}.example.com",
            (f"n{number}.example.com",),
            (),
            {each.key: "survives"},
            "drain",
            blocked=(Blocked(each.key, each.replicas[0].pod, f"n{number}.example.com", why),),
        )
        for number, each, why in zip(numbers, pods, reasons, strict=True)
    )
    nodes = tuple(node(f"n{number}.example.com", "a") for number in numbers)
    lines = block(table(Plan("zone", nodes, tuple(pods), losses, ()), width=300), "14 drains")
    fixed, moving = ([f"erp/vm{number} (n{number})" for number in those] for those in (range(10), range(10, 14)))
    example = "for example, virt-launcher-{0} of erp/{0} is not evicted from"
    assert lines[1:] == [
        f"  10 drains  blocked  10 pods are not evicted: {', '.join(fixed)}; {example.format('vm0')} n0: PVC vm0-root is not shared",
        f"  4 drains   blocked  4 pods are not evicted: {', '.join(moving)}; {example.format('vm10')} n10: 10 nodes are full",
    ]


def test_one_failure_that_harms_many_workloads_for_one_reason_lists_it_once() -> None:
    held = "the pod stays on its node"
    pods = [workload(f"VirtualMachine erp/vm{number}", [], [Replica(f"vm{number}-0", f"n{number % 3}")]) for number in range(20)]
    moves = tuple(ReplicaMove(each.key, each.replicas[0].pod, each.replicas[0].node or "", None, held, "held") for each in pods)
    again = tuple(move._replace(target="n4", why="", fate="waits") for move in moves)
    dead = DisruptionEffect("zone=a", ("n0", "n1", "n2"), moves, {each.key: "dead" for each in pods})
    removed = DisruptionEffect("zone=a", dead.nodes, again, {each.key: "interrupted" for each in pods}, "remove")
    nodes = tuple(node(f"n{number}", "a") for number in range(3))
    lines = block(table(Plan("zone", nodes, tuple(pods), (dead._replace(removed=removed),), ()), width=400), "1 failure")
    listed = ", ".join(f"erp/vm{number}" for number in range(12)) + " and 8 more; for example, erp/vm0"
    assert lines[1:] == [
        f"  zone=a (3 nodes)  down         20 VMs: {listed}: VM down; vm0-0 is not recreated ({held})",
        f"    after removal   interrupted  20 VMs: {listed} has no running replica for a time; recreated: vm0-0 -> n4",
    ]


def test_of_many_failures_preempted_pods_share_a_row() -> None:
    web = workload("Deployment a/web", [], [Replica("web-0", "n0")])
    nodes = tuple(node(f"n{number}", "a") for number in range(13))
    losses = tuple(
        DisruptionEffect(
            f"node n{number}",
            (f"n{number}",),
            (),
            {web.key: "survives"},
            preempted=(Preempted(f"batch-{number}", "", "n12", "gold-0", web.key, None),) if number < 2 else (),
        )
        for number in range(13)
    )
    lines = block(table(Plan("zone", nodes, (web,), losses, ()), width=200), "13 failures")
    assert " ".join(lines[1].split()) == "2 failures batch-0 is preempted by gold-0 on n12; likewise batch-1 (n12)"


def test_a_daemon_that_ends_with_its_node_does_no_harm() -> None:
    daemon = workload("DaemonSet kube/log", [verdict("n1", score=0)], [Replica("log-x", "n1")])
    loss = DisruptionEffect("node n1", ("n1",), (ReplicaMove(daemon.key, "log-x", "n1", None),), {daemon.key: "survives"})
    text = table(Plan("zone", (node("n1", "a"),), (daemon,), (loss,), ()))
    assert block(text, "1 failure") == [
        "1 failure (the nodes become unreachable, the Node objects remain)",
        "  node n1  survives  log-x stops with its node",
    ]
    assert text.endswith("\n1 failure: 1 is survived by every workload.\n")


def test_a_workload_without_a_running_replica_survives_nothing() -> None:
    web = workload("Deployment shop/web", [verdict("n1", "lacks disk=ssd")], [Replica("web-0", None)])
    losses = tuple([DisruptionEffect("node n1", ("n1",), (), {}, action) for action in ("lose", "drain")])
    text = table(Plan("zone", (node("n1", "a"),), (web,), losses, ()))
    assert text.splitlines()[-2:] == [
        "1 failure: 1 is survived by every workload that runs.",
        "1 drain: 1 is survived by every workload that runs.",
    ]


def test_two_kinds_of_one_name_are_distinguished() -> None:
    pair = [workload(f"{kind} shop/web", [verdict("n1")], [Replica(f"{kind}-0", "n1")]) for kind in ("Job", "Deployment")]
    moves = tuple(ReplicaMove(each.key, each.replicas[0].pod, "n1", None) for each in pair)
    loss = DisruptionEffect("node n1", ("n1",), moves, {each.key: "dead" for each in pair})
    lines = block(table(Plan("zone", (node("n1", "a"),), tuple(pair), (loss,), ())), "1 failure")
    assert lines[1].startswith("  node n1  down  Job shop/web: does not run; ")
    assert lines[2].startswith("           down  Deployment shop/web: does not run; ")


def test_lines_are_as_wide_as_asked_where_the_words_allow_it() -> None:
    for width in (80, 100, 132):
        wide = [line for line in table(BAKERY, width=width).split("\n") if columns(line) > width and line.startswith(" ")]
        assert all("control-plane:NoSchedule" in line for line in wide)
    lines = table(BAKERY, width=60).split("\n")
    moves = next(number for number, line in enumerate(lines) if line.startswith("  node plain-1 "))
    assert lines[moves + 1].strip() == "oven-cache-0 -> fast-1,", "a move stays in one piece"
    assert table(BAKERY, width=0), "a terminal that does not know its width"


def test_in_a_narrow_terminal_the_table_stays_as_it_is() -> None:
    """The last column is wrapped, but never to less than 24 columns; what is wider than the terminal is wrapped by that."""
    assert block(table(plan("lacks disk=ssd and a good deal more"), width=40), "Deployment")[2:] == [
        "          NODE  FITS  SCORE  REPLICAS  REASON",
        "  zone a  n1    no                     lacks disk=ssd and a",
        "                                       good deal more",
    ]


def test_the_widest_of_the_other_columns_is_wrapped_where_it_leaves_the_last_no_room() -> None:
    one = workload(
        "Job a/b", [verdict("n1", "lacks disk=ssd and a good deal more")], [Replica(f"replica-{n}-of-b", "n1") for n in range(3)]
    )
    lines = block(table(Plan("zone", (node("n1", "a"),), (one,), (), ()), width=80), "Job a/b")[2:]
    assert lines == [
        "          NODE  FITS  SCORE  REPLICAS                   REASON",
        "  zone a  n1    no           replica-0-of-b,            lacks disk=ssd and a",
        "                             replica-1-of-b,            good deal more",
        "                             replica-2-of-b",
    ]


def test_the_weights_that_a_node_meets_are_next_to_its_score_and_the_parts_with_verbose() -> None:
    fits = NodeVerdict("n1", True, None, "", 400, (15, 18), (("TaintToleration", 300), ("NodeAffinity", 100), ("InterPodAffinity", 0)))
    one = Plan("zone", (node("n1", "a"),), (workload("Job a/b", [fits], [Replica("b-0", "n1")]),), (), ())
    assert block(table(one), "Job a/b")[2:] == [
        "          NODE  FITS   WEIGHTS  SCORE  REPLICAS  REASON",
        "  zone a  n1    yes   15 of 18    400  b-0",
    ]
    assert block(table(one, verbose=True), "Job a/b")[2:] == [
        "          NODE  FITS   WEIGHTS  SCORE  REPLICAS  SCORE PARTS, OR REASON",
        "  zone a  n1    yes   15 of 18    400  b-0       TaintToleration 300 + NodeAffinity 100",
    ]


def test_wide_characters_count_twice_and_marks_not_at_all() -> None:
    assert [columns(text) for text in ("ab", "日本", "e\u0301", "か\u3099", "")] == [2, 4, 1, 2, 0]
    one = Plan("zone", (node("日本", "a"), node("e\u0301xx", "a")), (), (), ())
    cordoned = one._replace(nodes=tuple(row._replace(cordoned=True) for row in one.nodes))
    assert block(table(cordoned), "2 nodes")[1:] == ["  zone a  e\u0301xx   cordoned", "          日本  cordoned"]


def test_nodes_come_in_the_order_of_their_numbers() -> None:
    names = ("w10", "w9", "w1", "w" + "9" * 5000)
    lines = block(table(Plan("zone", tuple(node(name, None) for name in names), (), (), ())), "4 nodes")
    assert [line.split()[-1][:3] for line in lines[1:]] == ["w1", "w9", "w10", "w99"]


def test_colors_change_nothing_but_colors() -> None:
    colored = table(TROUBLE, color=True)
    assert "\x1b[1;31mdown\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == table(TROUBLE)


@pytest.mark.parametrize("name", ["\x1b[31mred", "two\nlines", "\u202eevil", "\ud800", "a\tb"])
def test_names_out_of_manifests_never_reach_the_terminal_raw(name: str) -> None:
    text = table(hostile(name))
    assert name not in text
    assert all(char == "\n" or char.isprintable() for char in text)
    assert text.encode()


def test_what_is_not_known_is_not_made_up() -> None:
    """A node without a verdict, a scheduler that fails, a workload without replicas, no nodes at all."""
    text = table(TROUBLE)
    assert "  no zone    spare (tainted)      ?\n" in text
    assert block(text, "Deployment bakery/broken")[1:] == [
        "pods cannot be scheduled",
        "  a spread constraint has an empty topologyKey",
        "0 of 1 replica scheduled",
        "  broken-0 stays Pending",
    ]
    assert block(text, "Job bakery/idle")[1] == "no replicas requested"
    assert table(Plan("zone", (), (), (), ())) == "0 nodes by zone\n\n0 of 0 replicas of 0 workloads scheduled on 0 nodes.\n"


def test_a_failure_of_a_workload_that_is_not_there_is_still_reported() -> None:
    stray = BAKERY._replace(
        workloads=(), losses=(DisruptionEffect("node x", ("x",), (ReplicaMove(LEDGER, "p", "x", None, "why"),), {LEDGER: "dead"}),)
    )
    assert block(table(stray, width=200), "1 failure")[1] == f"  node x  down  {LEDGER}: does not run; p stays Pending (why)"


def test_the_taint_of_control_planes_is_not_a_reason_beside_others() -> None:
    taint = "3 have the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule"
    assert reason_words(f"9 nodes lack disk=ssd, {taint}") == "9 nodes lack disk=ssd"
    assert reason_words(f"9 nodes lack disk=ssd, {taint}; the VM itself runs there") == "9 nodes lack disk=ssd; the VM itself runs there"
    assert reason_words("its volume is in zone a; 3 nodes have the untolerated taint node-role.kubernetes.io/master:NoSchedule") == (
        "its volume is in zone a"
    )
    first = "3 nodes have the untolerated taint node-role.kubernetes.io/master:NoSchedule, 2 lack disk=ssd"
    assert reason_words(first) == "2 nodes lack disk=ssd"
    assert reason_words(f"9 nodes lack disk=ssd, {taint}; it is one, so it stays") == "9 nodes lack disk=ssd; it is one, so it stays"
    assert reason_words(taint) == taint
    assert reason_words("2 nodes have the untolerated taint gpu:NoSchedule, 1 is cordoned") == (
        "2 nodes have the untolerated taint gpu:NoSchedule, 1 is cordoned"
    )


def test_a_topology_key_is_shortened_where_no_other_ends_the_same() -> None:
    rack = node("n1", "a", **{"example.com/rack": "r1", "example.com/zone": "x", ZONE: "a"})
    plan = Plan(ZONE, (rack,), (), tuple(DisruptionEffect(what, ("n1",), (), {}) for what in ("example.com/rack=r1", f"{ZONE}=a")), ())
    assert list(short_titles(plan).values()) == ["rack=r1", f"{ZONE}=a"]


def test_the_summary_has_the_counts_only() -> None:
    text = "".join(place_table.render(BAKERY, color=False, width=100, summary=True))
    assert text == table(BAKERY)[table(BAKERY).index("note: No node carries") :] + "Not shown: notes about 1 workload.\n"


def test_an_application_that_is_harmed_is_described_with_its_workloads() -> None:
    single = [workload(f"VirtualMachine shop/{name}", (), [Replica(f"{name}-pod", "n1")]) for name in ("a-0", "a-1", "b-0", "b-1")]
    moves = tuple(ReplicaMove(each.key, each.replicas[0].pod, "n1", None, "stuck", "held") for each in single[::2])
    pairs = (("shop/a", single[:2]), ("shop/b", single[2:]))
    effects = tuple(ApplicationEffect(name, "degraded", 1, 2, tuple(each.key for each in pair)) for name, pair in pairs)
    loss = DisruptionEffect("node n1", ("n1",), moves, {move.workload: "dead" for move in moves}, applications=effects)
    groups = tuple(Application(name, "Service x", tuple(each.key for each in pair)) for name, pair in pairs)
    text = table(Plan("zone", (node("n1", "a"),), tuple(single), (loss,), (), applications=groups), width=120)
    lines = [f"shop/{name} keeps 1 of 2 replicas: shop/{name}-0: VM down; {name}-0-pod is not recreated (stuck)" for name in "ab"]
    assert f"  node n1  degraded  {lines[0]}\n           degraded  {lines[1]}\n" in text
    assert text.endswith("1 failure: 1 degrades an application.\n")
