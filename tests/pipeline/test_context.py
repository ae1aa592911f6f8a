"""Checking one file with its context gives what the full run gives for that file."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.findings.finding import Finding
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import run
from afflint.source.sources import Source

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: {name}
  namespace: lab
  labels:
    app: {label}
spec:
  runStrategy: Always
  template:
    metadata:
      labels:
        {home}: {label}
    spec:
      domain: {{devices: {{}}}}
"""
FOLLOWER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: lab}}
spec:
  selector:
    matchLabels: {{role: {name}}}
  template:
    metadata:
      labels: {{role: {name}}}
    spec:
      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector:
                matchLabels: {{app: {label}}}
              topologyKey: kubernetes.io/hostname
      containers:
        - {{name: main, image: "nginx:1.27"}}
"""


def source(name: str, text: str) -> Source:
    return Source(name, name, text.encode())


def findings_of(name: str, checked: list[Source], context: list[Source]) -> list[Finding]:
    return [finding for finding in run(checked, default_settings(), context=context).findings if finding.file == name]


def test_a_label_in_the_wrong_place_shows_only_with_its_selector() -> None:
    vm = source("vm.yaml", VM.format(name="fedora", label="fedora", home="tier"))
    follower = source("web.yaml", FOLLOWER.format(name="web", label="fedora"))
    assert [finding.rule for finding in findings_of("vm.yaml", [vm], [])] == []
    found = findings_of("vm.yaml", [vm], [follower])
    assert [(finding.rule, finding.severity, finding.span.line, finding.span.column) for finding in found] == [
        ("label-not-on-template", "error", 7, 5)
    ]
    assert [(related.file, related.span.line) for related in found[0].related] == [("web.yaml", 14)]


def test_context_is_not_reported_on_itself() -> None:
    vm = source("vm.yaml", VM.format(name="fedora", label="fedora", home="tier"))
    follower = source("web.yaml", FOLLOWER.format(name="web", label="fedora"))
    assert run([follower], default_settings(), context=[vm]).findings == []


manifests = st.lists(
    st.one_of(
        st.builds(
            VM.format, name=st.sampled_from("abc"), label=st.sampled_from(["fedora", "fedroa", "x"]), home=st.sampled_from(["app", "tier"])
        ),
        st.builds(FOLLOWER.format, name=st.sampled_from(["web", "api"]), label=st.sampled_from(["fedora", "fedroa", "x"])),
    ),
    min_size=1,
    max_size=5,
)


@given(manifests, st.integers(0, 4), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_one_file_with_context_equals_the_full_run(texts: list[str], number: int, random: Random) -> None:
    files = [source(f"m{index}.yaml", text) for index, text in enumerate(texts)]
    one = files[number % len(files)]
    others = [file for file in files if file is not one]
    random.shuffle(others)
    assert findings_of(one.name, [one], others) == findings_of(one.name, files, [])
