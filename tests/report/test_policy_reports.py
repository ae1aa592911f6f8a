"""Compliance of workloads with policies: as text, as JSON, and as one page that is complete without a script."""

import json
import re

import pytest
from html_page import Page
from jsonschema import Draft202012Validator
from standing_sample import LOSSES, ORDERS, STANDING, TOLERATIONS, TRENDS, WEB, ZONES, rendered, workload

from afflint.report.compliance import Breach, Compliance, ComplianceVerdict, grouped
from afflint.report.policies import json_report
from afflint.report.policies import page as policy_page
from afflint.report.policies import text as policy_text
from checkout import ROOT

EVIL = ("</script><script>alert(1)</script>", "\"onload='x' <b>", "\u202e\x1b[2J", "</style><img src=x>", "$title ${style} &amp;", "=x&y")


def page(standing: Compliance) -> str:
    return "".join(policy_page.render(standing))


def test_each_policy_has_its_numbers() -> None:
    lines = rendered("policies.txt").splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["policy", "compliant", "of", "violating", "exempt", "new", "since"],
        ["at-least-two-zones", "1", "4", "2", "1", "1", "2026-08-30"],
        ["listed-tolerations", "4", "4", "0", "0", "0"],
        ["survives-a-zone", "-", "-", "-", "-", "-"],
    ]
    assert lines[-1] == "1 of 3 policies met by all workloads, 1 not evaluated; 5 workloads, 1 without a policy."


def test_without_workloads_no_policy_is_called_met() -> None:
    empty = STANDING._replace(policies=(ZONES._replace(verdicts=()), LOSSES), workloads=0, outside=0)
    assert "".join(policy_text.render(empty)).splitlines()[-1] == "No workload found; 2 policies."


def test_without_a_baseline_nothing_is_new_or_old() -> None:
    text = "".join(policy_text.render(STANDING._replace(baseline=None)))
    assert text.splitlines()[0].split() == ["policy", "compliant", "of", "violating", "exempt"]
    assert "since" not in text.splitlines()[-5]
    assert "To see since when violations exist" in page(STANDING._replace(baseline=None))


def test_who_is_undecided_has_a_column_where_anybody_is() -> None:
    some = TOLERATIONS._replace(
        verdicts=(*TOLERATIONS.verdicts[:3], ComplianceVerdict(WEB, "undecided", reason="it goes through too much"))
    )
    text = "".join(policy_text.render(STANDING._replace(policies=(ZONES, some, LOSSES))))
    assert [line.split() for line in text.splitlines()[:4]] == [
        ["policy", "compliant", "of", "violating", "exempt", "not", "evaluated", "new", "since"],
        ["at-least-two-zones", "1", "4", "2", "1", "0", "1", "2026-08-30"],
        ["listed-tolerations", "3", "4", "0", "0", "1", "0"],
        ["survives-a-zone", "-", "-", "-", "-", "-", "-"],
    ]
    assert '<th scope="col" class="number">Not evaluated</th>' in page(STANDING._replace(policies=(some,)))
    assert "Not evaluated</th>" not in page(STANDING)
    text = "".join(policy_text.render(STANDING._replace(policies=(some,), baseline=None)))
    assert text.splitlines()[0].split() == ["policy", "compliant", "of", "violating", "exempt", "not", "evaluated"]


def test_of_the_clusters_own_policies_only_breaches_are_known() -> None:
    own = ZONES._replace(verdicts=ZONES.verdicts[1:3], only_unmet=True)
    standing = STANDING._replace(policies=(own,))
    assert "".join(policy_text.render(standing)).splitlines()[1].split() == ["at-least-two-zones", "-", "-", "2", "0", "1", "2026-08-30"]
    assert json.loads("".join(json_report.render(standing)))["policies"][0]["met"] is None
    assert Page(page(standing)).with_class("bar") == 3 + 2 + 2  # those of the key, of two namespaces and of two owners


def test_groups_count_workloads_once_and_breaches_each_time() -> None:
    twice = STANDING._replace(policies=(ZONES, ZONES._replace(name="again")))
    [data, shop, none] = grouped(twice, "namespace")
    assert (data.name, data.workloads, data.content, data.unmet, data.since) == ("data", 1, 0, 2, "2026-08-30")
    # One of the shop is excepted, and content; what is wrong with the other is new.
    assert (shop.name, shop.workloads, shop.content, shop.unmet, shop.since) == ("shop", 2, 1, 2, None)
    assert (none.name, none.workloads, none.content, none.unmet) == ("", 1, 1, 0)
    assert data.policies == ("again", "at-least-two-zones")


def test_json_has_all_workloads_met_or_not() -> None:
    report = json.loads(rendered("policies.json"))
    zones = report["policies"][0]
    assert (zones["met"], zones["unmet"], zones["excepted"], len(zones["workloads"])) == (1, 2, 1, 4)
    known = {each["object"]["name"]: (each["state"], each["known"], each["since"]) for each in zones["workloads"]}
    assert known == {
        "loose": ("met", False, None),
        "orders": ("unmet", True, "2026-08-30"),
        "cart": ("unmet", False, None),
        "web": ("excepted", True, None),
    }
    assert report["owner_key"] == "team"


def test_json_is_as_its_schema_says() -> None:
    schema = json.loads((ROOT / "schemas" / "policies.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    for standing in (
        STANDING,
        STANDING._replace(trends=TRENDS),
        STANDING._replace(owner_key="", policies=(ZONES._replace(only_unmet=True),)),
    ):
        Draft202012Validator(schema).validate(json.loads("".join(json_report.render(standing))))


def test_a_few_are_listed_and_with_verbose_all() -> None:
    many = tuple(ComplianceVerdict(workload(f"w{number}"), "unmet", (Breach("no", "a.yaml", 1),)) for number in range(20))
    crowded = STANDING._replace(policies=(ZONES._replace(verdicts=many),))
    assert "and 8 more (`-v` shows all)" in "".join(policy_text.render(crowded))
    assert "".join(policy_text.render(crowded, verbose=True)).count("  a.yaml:1  ") == 20


def test_the_page_is_whole_and_links_lead_somewhere() -> None:
    found = Page(rendered("policies.html"))
    ids = found.having("id")
    assert len(ids) == len(set(ids))
    assert {link for link in found.having("href") if link.removeprefix("#") not in ids} == set()
    assert not {tag for tag, _ in found.tags} & {"link", "img", "iframe", "object", "form", "base", "svg"}
    assert not found.having("src") + found.having("style") + found.having("action")
    assert not re.search(r"url\(|@import|https?://", rendered("policies.html"))


def test_bars_have_the_widths_of_their_numbers() -> None:
    text = rendered("policies.html")
    assert '<i class="met w25"></i><i class="excepted w25"></i><i class="unmet w50"></i>' in text
    assert ".bar .w25 { width: 25%; }\n.bar .w50 { width: 50%; }\n" in text


@pytest.mark.parametrize("evil", EVIL)
def test_nothing_of_a_manifest_gets_out_of_its_place(evil: str) -> None:
    def standing(text: str) -> Compliance:
        loose = ORDERS._replace(title=text, namespace=text, owner=text, file=text)
        policy = ZONES._replace(
            configuration=text,
            unasked="",
            verdicts=(ComplianceVerdict(loose, "unmet", (Breach(text, text, 1, None),)), ComplianceVerdict(loose, "met")),
        )
        return Compliance((policy,), 1, 0, text, "b.json", "1")

    ill, harmless = Page(page(standing(evil))), Page(page(standing("harmless")))
    assert [(tag, sorted(attributes)) for tag, attributes in ill.tags] == [(tag, sorted(attributes)) for tag, attributes in harmless.tags]


def test_a_page_of_many_stays_small() -> None:
    many = tuple(ComplianceVerdict(workload(f"w{number}"), "unmet", (Breach("no " * 20, "a.yaml", 1),)) for number in range(5000))
    assert len(page(STANDING._replace(policies=(ZONES._replace(verdicts=many),)))) < 400_000
