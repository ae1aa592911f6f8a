"""What is found in a file depends neither on what else is named nor on the order, even where two sources go by one name."""

import os
import stat
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import run
from afflint.source.sources import Source
from deployment_text import deployment

GOOD = """\
apiVersion: v1
kind: Pod
metadata: {name: till}
spec:
  nodeSelector: {zone: a}
  containers: [{name: till, image: "nginx:1.27"}]
"""
BAD = GOOD.replace("zone: a", "zone: 1")
FOUND = ":5:24: error the value of `zone` must be a string, but unquoted `1` is a number [wrong-type]"


# A buffer of an editor: standard input under the name of a file.


@pytest.mark.parametrize("named", [["-", "pod.yaml"], ["pod.yaml", "-"], ["-", "."], [".", "-"], ["-"]], ids=" ".join)
def test_a_buffer_replaces_the_file_of_its_name(named: list[str], check: Any, write: Any) -> None:
    write("pod.yaml", GOOD)
    broken = check("--stdin-filename", "pod.yaml", *named, stdin=BAD)
    assert (broken.lines, broken.code) == ([f"pod.yaml{FOUND}"], 1)
    write("pod.yaml", BAD)
    fixed = check("--stdin-filename", "pod.yaml", *named, stdin=GOOD)
    assert (fixed.lines, fixed.code) == ([], 0)


def test_a_buffer_that_is_not_saved_yet_is_next_to_the_files(check: Any, write: Any) -> None:
    write("pod.yaml", BAD)
    assert check("--stdin-filename", "new.yaml", "-", "pod.yaml", stdin=BAD).lines == [f"new.yaml{FOUND}", f"pod.yaml{FOUND}"]


def test_what_is_asked_of_a_buffer_is_asked_of_its_text_and_not_of_the_file(check: Any, write: Any) -> None:
    """A selector in another file points into the text that is being written, not into the one on the disk."""
    web = deployment('{containers: [{name: web, image: "web:1"}]}', metadata="labels: {tier: front}")
    write("web.yaml", web)
    write("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {tier: front}, ports: [{port: 80}]}\n")
    [line] = check("--stdin-filename", "web.yaml", "-", "service.yaml", "web.yaml", stdin=f"# being written\n{web}").lines
    assert line.startswith("web.yaml:4:32: error the label `tier: front` is set only on the Deployment itself")


def test_a_buffer_that_is_only_context_replaces_the_file_that_is_checked_too(project: Path) -> None:
    (project / "pod.yaml").write_text(GOOD, encoding="utf-8")
    on_disk, buffer = Source("pod.yaml", "pod.yaml"), Source("pod.yaml", "pod.yaml", BAD.encode())
    for checked, beside in ((on_disk, buffer), (buffer, on_disk)):
        found = run([checked], default_settings(), context=[beside]).findings
        assert [(each.rule, each.span.line) for each in found] == [("wrong-type", 5)]


# The same chart twice, or two under one name.


@pytest.fixture
def helm(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that replaces helm and prints a broken manifest."""
    program = project / "bin" / "helm"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nprintf '%s' '{BAD}'\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("helm")
def test_a_chart_that_is_named_twice_is_reported_once(check: Any, write: Any) -> None:
    write("chart/Chart.yaml", "name: chart\n")
    once = check("--helm", "chart")
    assert len(once.lines) == 1
    assert check("--helm", "chart", "--helm", "chart").lines == once.lines


# Paths.


def test_a_file_that_is_named_in_two_ways_is_reported_once(check: Any, write: Any) -> None:
    write("d/pod.yaml", BAD)
    once = check("d/pod.yaml").lines
    assert once == [f"d/pod.yaml{FOUND}"]
    for named in (["d/pod.yaml", "d/pod.yaml"], ["d/pod.yaml", "./d/pod.yaml"], ["d", "d/pod.yaml"], [".", "d"]):
        assert check(*named).lines == once


def test_a_step_up_behind_a_link_leads_where_the_system_says(check: Any, write: Any, project: Path) -> None:
    """`d/link/../pod.yaml` is the file beside what the link points to, not `d/pod.yaml`."""
    write("d/pod.yaml", GOOD)
    write("real/below/none.txt", "")
    write("real/pod.yaml", BAD)
    (project / "d" / "link").symlink_to(project / "real" / "below", target_is_directory=True)
    for named in (["d/link/../pod.yaml"], ["d/link/../pod.yaml", "d/pod.yaml"], ["d/pod.yaml", "d/link/../pod.yaml"]):
        done = check(*named)
        assert len(done.lines) == 1
        assert not done.lines[0].startswith("d/pod.yaml")
        assert done.lines[0].endswith(FOUND)
        assert done.code == 1


# Any sources.

NAMES = ("a.yaml", "b.yaml", "<stdin>")
WAITING = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: lab, labels: {{tier: {tier}}}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: main, image: "nginx:1.27"}}]
      affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [
        {{topologyKey: zone, labelSelector: {{matchLabels: {{{asked}}}}}}}]}}}}
"""
texts = st.one_of(
    st.sampled_from([GOOD, BAD, f"{BAD}---\n{BAD}", "kind: Pod\na: [\n", BAD.replace("zone: 1", "zone: 1 # afflint: ignore")]),
    st.builds(
        WAITING.format, name=st.sampled_from(["x", "y"]), tier=st.sampled_from(["t", "u"]), asked=st.sampled_from(["app: y", "tier: t"])
    ),
)
some_sources = st.lists(st.tuples(st.sampled_from(NAMES), texts), min_size=1, max_size=6).map(
    lambda given: [Source(name, f"{number}/{name}", text.encode()) for number, (name, text) in enumerate(given)]
)


def reported(given: list[Source], names: list[str] | None = None) -> Counter[tuple[Any, ...]]:
    """How often each finding is in the report of a run over all of them."""
    return Counter((each.file, each.rule, each.span, each.message, each.related) for each in run(given, default_settings(names)).findings)


@given(some_sources)
@settings(max_examples=100)
def test_findings_in_one_manifest_add_up_under_whatever_names(given: list[Source]) -> None:
    """Of the rules that look at one manifest at a time; several files may go by one name."""
    names = ["wrong-type", "unreadable-manifest", "unused-suppression"]
    together: Counter[tuple[Any, ...]] = Counter()
    for each in given:
        together += reported([each], names)
    assert reported(given, names) == together


@given(some_sources, st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_the_order_of_the_sources_makes_no_difference(given: list[Source], random: Random) -> None:
    """Of all rules, where each source has a name of its own."""
    given = list({each.name: each for each in given}.values())
    mixed = random.sample(given, len(given))
    assert run(given, default_settings()).findings == run(mixed, default_settings()).findings
