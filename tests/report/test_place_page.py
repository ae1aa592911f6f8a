"""The page: one file that needs nothing else, says everything without a script, and lets nothing of a manifest out of its place."""

import base64
import hashlib
import re

import pytest
from html_page import Page
from place_sample import BAKERY, TROUBLE, hostile, large, node, verdict, workload

from afflint.placement.plan import (
    Application,
    ApplicationEffect,
    Blocked,
    DisruptionEffect,
    Outcome,
    Plan,
    Replica,
    ReplicaMove,
    RolloutEffect,
)
from afflint.report.html_page import PageMetadata
from afflint.report.place import page as place_page
from afflint.report.place.scene import badges

EVIL = (
    "</script><script>alert(1)</script>",
    "\"onload='x' <b>",
    "\u202eevil\u2066",
    "</style><img src=x>",
    "$style ${title} &amp;",
    "\ud800\x00",
    "",
)


def page(plan: Plan) -> Page:
    return Page(place_page.render(plan))


PLANS = {
    "bakery": BAKERY,
    "trouble": TROUBLE,
    "large": large(60, 40),
    "each node": large(60, 40, each="node"),
    "empty": Plan("zone", (), (), (), ()),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_page_is_whole_and_the_same_every_time(name: str) -> None:
    text = place_page.render(PLANS[name])
    assert text == place_page.render(PLANS[name])
    ids = Page(text).having("id")
    assert len(ids) == len(set(ids))
    assert {link for link in Page(text).having("href") if link.removeprefix("#") not in ids} == set()


@pytest.mark.parametrize("name", PLANS)
def test_the_page_needs_nothing_but_itself(name: str) -> None:
    text = place_page.render(PLANS[name])
    found = Page(text)
    assert not {tag for tag, _ in found.tags} & {"link", "img", "iframe", "object", "form", "base", "svg"}
    assert [attributes for tag, attributes in found.tags if tag == "script"] == [{}]
    assert not found.having("src") + found.having("style") + found.having("action")
    assert not [key for _, attributes in found.tags for key in attributes if key.startswith("on")]
    assert all(link.startswith("#") for link in found.having("href"))
    assert not re.search(r"url\(|@import|https?://", text)


def test_the_policy_lets_in_the_one_style_and_the_one_script_and_nothing_else() -> None:
    text = place_page.render(TROUBLE)
    digests = []
    for tag in ("style", "script"):
        found = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert len(found) == 1
        digests.append(base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode())
    policy = next(attributes["content"] for tag, attributes in page(TROUBLE).tags if "http-equiv" in attributes)
    style, script = digests
    assert policy == f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"


@pytest.mark.parametrize("name", EVIL)
def test_nothing_of_a_manifest_gets_out_of_its_place(name: str) -> None:
    """The tags are those of the same plan with a harmless name, and what a name says is there to be read."""
    evil, harmless = place_page.render(hostile(name)), place_page.render(hostile("harmless"))
    assert [tag for tag, _ in Page(evil).tags] == [tag for tag, _ in Page(harmless).tags] or not name
    assert [sorted(attributes) for _, attributes in Page(evil).tags] == [
        sorted(attributes) for _, attributes in Page(harmless).tags
    ] or not name
    assert re.findall("<style>.*</style>", evil, re.DOTALL) == re.findall("<style>.*</style>", harmless, re.DOTALL)
    assert all(char == "\n" or char.isprintable() for char in evil)
    assert evil.encode()


def test_a_hostile_name_is_shown_as_it_is_written() -> None:
    assert "After the failure of </script><script>alert(1)</script> degraded" in page(hostile(EVIL[0])).text
    assert r"\u202eevil\u2066" in page(hostile(EVIL[2])).text
    assert "$style ${title} &amp;" in page(hostile(EVIL[4])).text


def test_every_failure_is_in_the_document_with_what_it_does() -> None:
    found = page(TROUBLE)
    assert [value for value in found.having("id") if value.startswith("f")] == ["f0", "f1", "f2", "f3", "f4"]
    assert found.with_class("after") == 1 + len(TROUBLE.losses)
    for words in (
        "After the failure of all fast nodes 3 nodes down LE bakery/ledger down , 0 of 4 replicas run: ledger-0 ,",
        "ledger-0 , ledger-1 , ledger-2 stay Pending (4 nodes lack disk=nvme)",
        "OC bakery/oven-cache survives : oven-cache-1 on fast-2 is recreated on plain-2; oven-cache-2 on fast-3 is recreated on plain-1",
        "After the failure of node control-1 survives No replica runs there.",
    ):
        assert words in found.text


def test_a_failure_marks_what_it_takes_and_what_it_brings() -> None:
    """Failure 1, the worst, takes three nodes; two caches come up on the plain nodes, and no ledger anywhere."""
    text = place_page.render(TROUBLE)
    nodes = dict(re.findall(r'<li class="(node[^"]*)"><span class="name">([^<]*)', text))
    taken = sorted(
        name for classes, name in re.findall(r'<li class="(node[^"]*)"><span class="name">([^<]*)', text) if "l1" in classes.split()
    )
    assert taken == ["fast-1", "fast-2", "fast-3"], nodes
    arrivals = re.findall(
        r'<li class="arrival when a1"><a [^>]*><b [^>]*>OC</b><span>([^<]*)</span></a> <span class="moved">([^<]*)</span>', text
    )
    assert arrivals == [("oven-cache-2", "from fast-3"), ("oven-cache-1", "from fast-2")]
    assert '<span class="moved when a1">to plain-2</span>' in text
    assert text.count('<span class="moved when a1">Pending</span>') == 3
    style = text[: text.index("</style>")]
    assert ".losses:has(#f1:checked) ~ .scene .l1" in style
    assert ".losses:has(#f4:checked) ~ .scene .a4" in style
    assert "#f5" not in style


def test_replicas_without_a_node_lie_in_a_tray_with_the_reason() -> None:
    text = place_page.render(TROUBLE)
    tray = Page("<section>" + text.split('<section class="tray">')[1].split("</section>")[0] + "</section>").text
    assert "SC scale-0 SC scale-1 6 nodes lack arch=s390x, 1 has a taint that is not tolerated" in tray
    assert "BR broken-0 a spread constraint has an empty topologyKey" in tray
    # The tray of a plan in which everything has a place appears with the failures that need it.
    assert re.findall(r'<section class="(tray[^"]*)"', place_page.render(BAKERY)) == ["tray when a1 a2 a3"]
    assert "tray" not in page(BAKERY._replace(losses=())).having("class")


def test_a_replica_on_a_node_that_is_not_there_is_not_lost() -> None:
    bound = workload("Pod a/b", (), [Replica("b", "elsewhere")])
    assert "on elsewhere, which is not one of the nodes" in page(BAKERY._replace(workloads=(bound,), losses=())).text


def test_nodes_carry_their_marks_and_the_labels_that_tell_them_apart() -> None:
    found = page(TROUBLE)
    assert "control-1 failed control plane tainted node-role.kubernetes.io/control-plane:NoSchedule" in found.text
    assert "plain-3 failed cordoned disk=sata" in found.text
    assert "no zone 1 node spare tainted lent=out:NoExecute tainted old:NoSchedule" in found.text
    assert found.with_class("closed") == 3


def test_each_workload_has_the_verdict_of_each_node() -> None:
    found = page(BAKERY)
    assert "zone mill control-1 no has the taint node-role.kubernetes.io/control-plane:NoSchedule, which is not tolerated" in found.text
    assert "fast-1 yes 200 ledger-0 plain-1 no lacks disk=nvme zone shop" in found.text
    assert "Degraded after the failure of node fast-1, node fast-2, node fast-3." in found.text


def test_a_workload_without_a_running_replica_is_not_reported_to_survive() -> None:
    summaries = re.findall(r"<summary>.*?</summary>", place_page.render(TROUBLE), re.DOTALL)
    scale = next(summary for summary in summaries if "bakery/scale" in summary)
    assert "survives" not in scale


def test_workloads_are_distinguished_by_more_than_their_colour() -> None:
    names = ["order-api", "order-audit", "web", "week", "\u202e", "9", "web"]
    found = badges([workload(f"Job {number}/{name}", (), ()) for number, name in enumerate(names)])
    assert [badge.initials for badge in found.values()] == ["OA", "OA2", "WE", "WE2", "?", "9", "WE3"]
    many = badges([workload(f"Job a/w-{number}", (), ()) for number in range(300)])
    assert len({badge.initials for badge in many.values()}) == 300
    assert len({badge.classes for badge in many.values()}) == 28


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_everything_can_be_read_in_the_light_in_the_dark_and_on_paper() -> None:
    """WCAG AA: 4.5 to 1 for text."""
    style = place_page.render(BAKERY)
    schemes = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)]
    assert len(schemes) == 3
    for colours in schemes:
        for known_topology in ("paper", "box", "lost"):
            for ink in ("ink", "soft", "dead", "degraded", "survives"):
                assert contrast(colours[ink], colours[known_topology]) >= 4.5, (ink, known_topology, colours)
        assert contrast(colours["on-state"], colours["dead"]) >= 4.5
    hues = re.findall(r"--hue: (#[0-9a-f]{6}); --on-hue: (#[0-9a-f]{6})", style)
    assert len(hues) == 7
    assert all(contrast(hue, ink) >= 4.5 for hue, ink in hues)


def test_a_reader_who_hears_the_page_finds_headings_and_names() -> None:
    found = page(BAKERY)
    assert [tag for tag, _ in found.tags if re.fullmatch("h[1-6]", tag)][:5] == ["h1", "h2", "h3", "h3", "h3"]
    assert ("html", {"lang": "en"}) in found.tags
    labelled = [attributes["aria-labelledby"] for tag, attributes in found.tags if "aria-labelledby" in attributes]
    assert set(labelled) <= set(found.having("id"))
    # A radio button is named by the label around it; a group of them by a legend.
    text = place_page.render(BAKERY)
    assert len(re.findall('<label[^>]*><input type="radio"', text)) == text.count('<input type="radio"') == 8 + 4
    assert "<legend>Failure</legend>" in text


def test_in_a_large_cluster_chips_are_initials_with_the_name_as_title() -> None:
    text = place_page.render(large(60, 40))
    assert '<a class="chip c0 s0" href="#w1" tabindex="-1" title="order-api-0-0"><b>OA</b></a>' in text
    assert "Show only affected nodes" in text


def test_a_large_page_folds_what_is_well() -> None:
    text = place_page.render(large(300, 300, each="node"))
    assert "270 failures that every workload survives" in text
    assert "workloads completely scheduled, and surviving every disruption" in text
    assert '<a href="#g' in text


@pytest.mark.parametrize("each", ["zone", "node"])
def test_a_large_page_stays_small(each: str) -> None:
    assert len(place_page.render(large(300, 300, each=each)).encode()) < 2_000_000


def test_the_page_does_not_list_names_without_end() -> None:
    """Each workload may run on a node of its own: as many groups of nodes as workloads."""
    rows = [node(f"a-node-with-a-rather-long-name.in.some.domain.example-{number}", "a") for number in range(200)]
    pinned = [
        workload(f"Job a/w-{one}", [verdict(row.name, "" if row is rows[one] else "is another node", score=0) for row in rows], [])
        for one in range(200)
    ]
    text = place_page.render(Plan("zone", tuple(rows), tuple(pinned), (), ()))
    assert len(text.encode()) < 2_500_000
    assert "<td>199 nodes</td>" in text


def test_a_daemon_that_ends_with_its_node_does_no_harm() -> None:
    daemon = workload("DaemonSet kube/log", [verdict("n1", score=0)], [Replica("log-x", "n1")])
    loss = DisruptionEffect("node n1", ("n1",), (ReplicaMove(daemon.key, "log-x", "n1", None),), {daemon.key: "survives"})
    found = page(Plan("zone", (node("n1", "a"),), (daemon,), (loss,), ()))
    assert "kube/log survives : log-x stops with its node" in found.text
    assert not found.with_class("tray")


def manifest_index(replicas: int = 4, nodes: int = 60) -> Plan:
    """Nodes with long names in two zones, the first two tainted; one workload on the first ones that are not."""
    rows = [
        node(f"node-{number:02}.zone-{'ab'[number % 2]}.example.internal", "ab"[number % 2], *["gpu:NoSchedule"] * (number < 2))
        for number in range(nodes)
    ]
    standing = [Replica(f"web-{number}", rows[2 + number].name) for number in range(replicas)]
    web = workload("Deployment shop/web", [verdict(row.name, score=0) for row in rows], standing)
    mail = workload("Deployment shop/mail", [verdict(row.name, score=0) for row in rows], [Replica("mail-0", rows[2].name)])
    losses = [DisruptionEffect(f"node {row.name}", (row.name,), (), {}) for row in rows]
    moves = tuple(ReplicaMove(web.key, replica.pod, str(replica.node), None, "no zone is left") for replica in standing)
    lost = tuple(str(replica.node) for replica in standing)
    losses.append(DisruptionEffect("zone=a", lost, moves, {web.key: "dead"}))
    return Plan("topology.kubernetes.io/zone", tuple(rows), (web, mail), tuple(losses), ())


def test_names_of_nodes_are_shown_without_what_they_share_and_whole_when_pointed_at() -> None:
    text = place_page.render(manifest_index())
    assert '<span class="name" title="node-02.zone-a.example.internal">node-02</span>' in text
    assert '<span class="what" title="node node-02.zone-a.example.internal">node node-02</span>' in text
    assert "node names are shortened: <code>node-00</code> is <code>node-00.zone-a.example.internal</code>" in text
    assert "names of nodes are shown without" not in place_page.render(BAKERY)


def test_nodes_that_never_have_a_replica_fold_where_they_have_the_same_marks() -> None:
    text = place_page.render(manifest_index(nodes=62))
    boxes = re.findall(r'<li class="node( many)?', text)
    assert boxes.count("") == 4 + 2, "the four with a replica, and one with a taint in each zone"
    assert boxes.count(" many") == 2
    folded = re.search(r'<li class="node many[^"]*"><details>.*?</details>', text)
    assert folded is not None
    assert Page(folded[0] + "</li>").text.startswith("28 nodes without a replica node-06.zone-a.example.internal, node-08.zone-a")


def test_a_box_of_folded_nodes_comes_out_with_the_failure_of_any_of_them() -> None:
    plan = manifest_index()
    lost = DisruptionEffect("node x", (plan.nodes[20].name,), (), {})
    text = place_page.render(plan._replace(losses=(lost,)))
    assert re.findall(r'<li class="node many([^"]*)"', text) == [" t1", ""]


def test_failures_are_grouped_by_kind_with_their_numbers() -> None:
    text = Page(place_page.render(manifest_index())).text
    assert "1 zone : 1 down zone=a down 1 workload, 4 replicas" in text
    assert "60 nodes : 60 survived 60 failures that every workload survives" in text


def test_one_workload_can_be_seen_alone_without_a_script() -> None:
    text = place_page.render(manifest_index())
    assert '<label><input type="radio" name="one" id="s1" value="shop/web"> ' in text
    style = text[: text.index("</style>")]
    assert '.ones:has(#s1:checked) ~ * [href="#w1"],.ones:has(#s2:checked) ~ * [href="#w2"] { --fade: 1; }' in style
    assert "shop/web: 4 of 4 replicas scheduled, fits 60 of 60 nodes. Details by node" in Page(text).text


def test_where_nodes_are_hidden_that_a_failure_does_not_touch_those_of_the_chosen_workload_are_not() -> None:
    plan = manifest_index()
    text = place_page.render(plan)
    assert ".ones:has(#s1:checked) ~ .racks .h1,.ones:has(#s2:checked) ~ .racks .h2 { display: block; }" in text
    homes = [
        attributes["class"].split() for tag, attributes in page(plan).tags if tag == "li" and "h1" in attributes.get("class", "").split()
    ]
    assert len(homes) == len({replica.node for replica in plan.workloads[0].replicas})
    # Where nothing can be hidden nothing needs to be brought back.
    assert ".racks .h1" not in place_page.render(BAKERY)


def test_tables_say_that_they_do_not_follow_what_is_chosen() -> None:
    still = "The tables show the cluster before any disruption."
    assert still in place_page.render(BAKERY)
    assert still not in place_page.render(BAKERY._replace(losses=()))


def test_workloads_that_suffer_for_the_same_reason_are_grouped() -> None:
    plan = manifest_index()
    move = ReplicaMove("Deployment shop/mail", "mail-0", plan.nodes[2].name, None, "no zone is left")
    loss = plan.losses[-1]
    both = loss._replace(moves=(*loss.moves, move), outcomes={**loss.outcomes, "Deployment shop/mail": "dead"})
    text = page(plan._replace(losses=(both,))).text
    assert "2 workloads whose replicas stay Pending (no zone is left): WE shop/web down , 0 of 4 replicas run: web-0 ," in text
    assert text.count("no zone is left") == 1


def test_few_stops_of_the_tab_key() -> None:
    """One to skip the picture, one for each group of radio buttons and each fold, none for a replica."""
    found = page(large(300, 300, each="node"))
    first = next(attributes for tag, attributes in found.tags if tag == "a")
    assert first == {"class": "skip", "href": "#workloads"}
    chips = [attributes for tag, attributes in found.tags if tag == "a" and "chip" in (attributes.get("class") or "")]
    assert len(chips) > 800
    assert all(attributes["tabindex"] == "-1" for attributes in chips)


def test_a_large_page_has_a_search_which_is_not_seen_without_the_script() -> None:
    found = page(large(60, 40))
    assert ("div", {"class": "find", "id": "find", "hidden": None}) in found.tags
    assert "find" not in page(BAKERY).having("id")


def test_the_page_says_when_and_how_it_was_made() -> None:
    text = place_page.render(BAKERY, PageMetadata("2026-11-22 02:40 UTC", "afflint place 'a <b>'"))
    assert "<title>Placement: 3 workloads on 7 nodes in 3 zones, 2026-11-22</title>" in text
    assert "2026-11-22 02:40 UTC: afflint place &#x27;a &lt;b&gt;&#x27;" in re.sub("</?code>", "", text)


def test_three_hundred_nodes_stay_under_a_megabyte() -> None:
    assert len(place_page.render(large(300, 100, each="node")).encode()) < 1_000_000


def cells(plan: Plan) -> dict[str, list[str]]:
    """The rows of the first table: classes and words of the cells by application."""
    text = place_page.render(plan)
    body = text.split('<table class="matrix">')[1].split("<tbody>")[1].split("</tbody>")[0]
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th>(.*)</tr>', body)
    return {name: re.findall(r'<td class="([a-z]*)">(?:<a [^>]*>)?([^<]*)', row) for name, row in rows}


def test_the_page_starts_with_the_view_after_a_disruption_and_ends_with_notes() -> None:
    text = place_page.render(BAKERY)
    places = [text.index(part) for part in ('class="stage', '<table class="matrix">', '<h2 id="workloads">', '<h2 id="notes">')]
    assert places == sorted(places)
    assert text.index("No node carries kubevirt.io/schedulable") > places[-1]


def test_the_table_says_what_each_application_survives() -> None:
    # The columns are in the order of their names, not of the harm.
    ledger = [("dead", "down"), ("degraded", "2 of 4"), ("survives", "survives"), ("degraded", "2 of 4")]
    assert cells(TROUBLE) == {"bakery/ledger": ledger}
    assert "1 other workload survives everything." in page(TROUBLE).text


def test_where_nothing_runs_there_is_nothing_to_survive() -> None:
    nothing = BAKERY._replace(workloads=tuple(each._replace(replicas=()) for each in BAKERY.workloads))
    nothing = nothing._replace(losses=tuple(DisruptionEffect(each.what, each.nodes, (), {}) for each in BAKERY.losses))
    assert "What each workload survives" not in page(nothing).text
    assert "What each workload survives" in page(BAKERY).text


def test_notes_are_a_list_with_options_as_code() -> None:
    text = place_page.render(BAKERY._replace(notes=("not rendered: 2 charts; `--render` places them",)))
    assert "<li>not rendered: 2 charts; <code>--render</code> places them</li>" in text


def test_a_cell_leads_to_its_disruption() -> None:
    text = place_page.render(TROUBLE)
    linked = re.findall(r'<td class="dead"><a href="#f([0-9]+)" data-loss="([0-9]+)">down</a>', text)
    assert linked == [("1", "1")]
    assert '<input type="radio" name="loss" id="f1" value="all fast nodes"' in text


def test_vms_that_are_one_application_share_a_row() -> None:
    machines = [workload(f"VirtualMachine shop/sql-{number}", (), [Replica(f"sql-{number}", f"n{number}")]) for number in range(3)]
    keys = tuple(each.key for each in machines)
    losses = tuple(
        DisruptionEffect(
            f"node n{number}",
            (f"n{number}",),
            (ReplicaMove(keys[number], f"sql-{number}", f"n{number}", None),),
            {keys[number]: "dead"},
            applications=(ApplicationEffect("shop/sql", "degraded", 2, 3, keys),),
        )
        for number in range(3)
    )
    nodes = tuple(node(f"n{number}", "a") for number in range(3))
    plan = Plan("zone", nodes, tuple(machines), losses, (), applications=(Application("shop/sql", "anti-affinity", keys),))
    assert cells(plan) == {"shop/sql": [("degraded", "2 of 3")] * 3}
    assert "Of 3 failures: 3 degrade an application." in page(plan).text
    assert "shop/sql degraded keeps 2 of 3 replicas" in page(plan).text


def test_many_single_machines_share_a_row_whose_sums_equal_theirs() -> None:
    """Twelve VMs on three nodes: a failure takes four down, and one of them does not run again when its node is removed."""
    machines = [workload(f"VirtualMachine shop/vm{number}", (), [Replica(f"vm{number}", f"n{number % 3}")]) for number in range(12)]
    losses = []
    for on in range(3):
        here = {each.key: "n2" if number else None for number, each in enumerate(machines[on::3])}
        moves = tuple(ReplicaMove(key, key.partition("/")[2], f"n{on}", None) for key in here)
        again = tuple(move._replace(target=here[move.workload]) for move in moves)
        outcomes: dict[str, Outcome] = {key: "interrupted" if target else "dead" for key, target in here.items()}
        removed = DisruptionEffect(f"node n{on}", (f"n{on}",), again, outcomes, "remove")
        losses.append(DisruptionEffect(f"node n{on}", (f"n{on}",), moves, dict.fromkeys(here, "dead"), removed=removed))
    web = workload("Deployment shop/web", (), [Replica("web-0", "n0"), Replica("web-1", "n1")])
    moves = *losses[0].moves, ReplicaMove(web.key, "web-0", "n0", None)
    losses[0] = losses[0]._replace(outcomes={**losses[0].outcomes, web.key: "degraded"}, moves=moves)
    plan = Plan("zone", tuple(node(f"n{number}", "a") for number in range(3)), (*machines, web), tuple(losses), ())
    text = place_page.render(plan)
    assert cells(plan) == {"shop/web": [("degraded", "1 of 2"), ("survives", "survives"), ("survives", "survives")]}
    row = next(line for line in text.splitlines() if "12 single VMs" in line)
    assert "12 single VMs <small>down with their nodes; all but 3 run again once these are removed</small>" in row
    assert re.findall(r">([0-9]+ down)</a>", row) == ["4 down"] * 3


def test_pods_of_daemon_sets_are_not_drawn() -> None:
    log = workload("DaemonSet kube/log", [], [Replica("log-x", "n1"), Replica("log-y", "n2")])
    web = workload("Deployment shop/web", [], [Replica("web-0", "n1")])
    text = place_page.render(Plan("zone", (node("n1", "a"), node("n2", "a")), (log, web), (), ()))
    racks = text.partition('<div class="racks">')[2].partition('<ul class="key">')[0]
    assert ("web-0" in racks, "log-x" in racks) == (True, False)
    assert "pods of DaemonSets are not drawn" in text


def test_a_pod_that_keeps_its_node_from_being_drained_is_drawn_as_before() -> None:
    web, db = (workload(f"Deployment shop/{name}", (), [Replica(f"{name}-0", "n1")]) for name in ("web", "db"))
    drain = DisruptionEffect(
        "node n1", ("n1",), (ReplicaMove(db.key, "db-0", "n1", "n2"),), {db.key: "survives"}, "drain",
        blocked=(Blocked(web.key, "web-0", "n1", "a budget"),),
    )  # fmt: skip
    lose = drain._replace(action="lose", blocked=())
    text = place_page.render(Plan("zone", (node("n1", "a"), node("n2", "a")), (web, db), (drain, lose), ()))
    number = re.findall('id="f([0-9])" value="node n1" data-action="drain"', text)[0]
    assert re.findall(r'<li class="(k[0-9])"><a class="chip[^>]*><b[^>]*>[A-Z]*</b><span>([a-z0-9-]*)', text) == [(f"k{number}", "web-0")]
    assert f".k{number} {{ --ghost: initial;" in text
    # The node is failed after one disruption, and drained after the other.
    assert sorted(re.findall(r'<em class="when a[0-9]">([a-z]*)</em>', text)) == ["drained", "failed"]


def test_many_disruptions_of_a_kind_share_a_column() -> None:
    found = cells(large(60, 40, each="node"))
    assert {len(row) for row in found.values()} == {1}
    assert [row for row in found.values() if not re.fullmatch("[0-9]+ (down|degraded)", row[0][1])] == []


def test_a_blocked_drain_and_volumes_do_not_count_as_survival() -> None:
    web = workload("Deployment shop/web", (), [Replica("web-0", "n1")])
    moved = (ReplicaMove(web.key, "web-0", "n1", "n2"),)
    losses = (
        DisruptionEffect("node n1", ("n1",), (), {}, "drain", blocked=(Blocked(web.key, "web-0", "n1", "a budget"),)),
        DisruptionEffect("node n1", ("n1",), moved, {web.key: "survives"}, volumes=(web.key,)),
    )
    plan = Plan("zone", (node("n1", "a"), node("n2", "b")), (web,), losses, ())
    assert sorted(cells(plan)["shop/web"]) == [("blocked", "blocked"), ("unjudged", "if volumes allow")]


def test_a_disruption_names_the_workloads_that_it_harms_for_the_search() -> None:
    text = place_page.render(TROUBLE)
    assert re.findall(r'<label(?: data-hits="([0-9 ]*)")?><input type="radio" name="loss" id="f1"', text) == ["1"]


def test_the_first_line_has_the_results_of_rollouts() -> None:
    rollout = RolloutEffect("Deployment/web", "maxSurge 1, maxUnavailable 0", "blocked", (), "no node accepts it", {"a": 1}, (), 1, 1)
    text = place_page.render(TROUBLE._replace(rollouts=(rollout,)))
    assert " 1 rollout: 1 never completes." in text
