"""What is found in a file depends neither on what else is named nor on the order, even where two sources go by one name."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.engine import default_settings
from afflint.reading.sources import Source
from afflint.session.run import run

GOOD = """\
apiVersion: v1
kind: Pod
metadata: {name: till}
spec:
  nodeSelector: {zone: a}
  containers: [{name: till, image: "nginx:1.27"}]
"""
BAD = GOOD.replace("zone: a", "zone: 1")
FOUND = ":5:24: error the value of `zone` must be a string, and unquoted `1` is a number [wrong-type]"


def test_a_buffer_that_is_not_saved_yet_stands_beside_the_files(check: Any, write: Any) -> None:
    write("pod.yaml", BAD)
    assert check("--stdin-filename", "new.yaml", "-", "pod.yaml", stdin=BAD).lines == [f"new.yaml{FOUND}", f"pod.yaml{FOUND}"]


# Paths.


def test_a_file_that_is_named_in_two_ways_is_reported_once(check: Any, write: Any) -> None:
    write("d/pod.yaml", BAD)
    once = check("d/pod.yaml").lines
    assert once == [f"d/pod.yaml{FOUND}"]
    for named in (["d/pod.yaml", "d/pod.yaml"], ["d/pod.yaml", "./d/pod.yaml"], ["d", "d/pod.yaml"], [".", "d"]):
        assert check(*named).lines == once


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
sources = st.lists(st.builds(lambda name, text: Source(name, name, text.encode()), st.sampled_from(NAMES), texts), min_size=1, max_size=6)


@given(sources, st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_the_order_of_the_sources_makes_no_difference(given: list[Source], random: Random) -> None:
    """Of all rules, where each source has a name of its own."""
    given = list({each.name: each for each in given}.values())
    mixed = random.sample(given, len(given))
    assert run(given, default_settings()).findings == run(mixed, default_settings()).findings
