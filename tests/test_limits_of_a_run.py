"""Hostile input through the real command line, under a limit of memory: a finding at a place, and the rest of the run goes on."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.checks.registry import rules
from afflint.findings.finding import SEVERITIES
from afflint.pipeline.map_step import default_settings
from afflint.report import FORMATS
from checkout import clean_environment
from linting import findings_of

GOOD = """\
apiVersion: v1
kind: Pod
metadata: {name: till}
spec: {nodeSelector: {zone: 1}, containers: [{name: till, image: "nginx:1.27"}]}
"""
"""A manifest with one mistake, which must be found whatever lies beside it."""

HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: odd}\n"
LIMIT = 1 << 30


class Done(NamedTuple):
    """What a run came to; ``seconds`` of the processor, which do not depend on what else the machine does."""

    code: int
    rules: list[tuple[str, str]]
    seconds: float
    megabytes: int


# A process of its own starts afflint: what a process had before it became another counts as its memory, and pytest is large.
_LAUNCHER = f"""
import os, resource, subprocess, sys
limit = lambda: resource.setrlimit(resource.RLIMIT_AS, ({LIMIT}, {LIMIT}))
process = subprocess.Popen(sys.argv[2:], preexec_fn=limit)
_, status, usage = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as file:
    file.write(f"{{usage.ru_utime + usage.ru_stime}} {{usage.ru_maxrss}}")
os._exit(os.waitstatus_to_exitcode(status))
"""


def check(folder: Path, *options: str) -> Done:
    """Runs afflint over a folder within 1 GiB of address space; the report is JSON."""
    command = [sys.executable, "-m", "afflint", "check", "--no-config", "--jobs", "1", "--format", "json", *options, str(folder)]
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as taken:
        launched = [sys.executable, "-c", _LAUNCHER, taken.name, *command]
        done = subprocess.run(launched, capture_output=True, env=clean_environment(), check=False)
        seconds, kilobytes = taken.read().split()
    assert done.returncode in (0, 1), done.stderr.decode("utf-8", "replace")[-2000:]
    assert done.stderr == b""
    report = json.loads(done.stdout)
    found = [(os.path.basename(each["file"]), each["rule"]) for each in report["findings"]]
    return Done(done.returncode, found, float(seconds), int(kilobytes) // 1024)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    return tmp_path


BOMB = HEAD + "spec:\n  a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(f"  a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
DEEP = 100_000

UNREADABLE = {
    "an alias bomb": BOMB,
    "lists nested 100,000 deep": HEAD + "spec: " + "[" * DEEP,
    "maps nested 100,000 deep": HEAD + "spec: " + "{a: " * DEEP,
    "compact lists nested 100,000 deep": HEAD + "spec:\n  " + "- " * DEEP,
    "a NUL byte": HEAD + "spec: {a: \0}\n",
    "an unpaired surrogate": (HEAD + "spec: {a: ").encode() + b"\xed\xa0\x80}\n",
    "bytes that are not valid UTF-8": (HEAD + "spec: {a: ").encode() + b"\xff\xfe}\n",
    "a tab for indentation": HEAD + "spec:\n\tcontainers: []\n",
    "a key that is a map": HEAD + "spec:\n  ? {a: b}\n  : c\n",
    "an anchor that holds itself": HEAD + "spec: &a\n  b: *a\n",
    "an escape sequence": HEAD + "spec: {a: \x1b[2J}\n",
    "half of UTF-16": ("\ufeff" + HEAD).encode("utf-16-le")[:-1],
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_a_finding_and_the_run_goes_on(name: str, folder: Path) -> None:
    text = UNREADABLE[name]
    (folder / "odd.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = check(folder)
    assert ("good.yaml", "wrong-type") in done.rules
    assert ("odd.yaml", "unreadable-manifest") in done.rules
    assert done.megabytes < 200
    assert done.seconds < 5


@pytest.mark.parametrize("encode", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_other_encodings_are_read_like_any(encode: str, folder: Path) -> None:
    (folder / "odd.yaml").write_bytes(GOOD.replace("\n", "\r\n").encode(encode))
    assert check(folder).rules == [("good.yaml", "wrong-type"), ("odd.yaml", "wrong-type")]


def test_names_never_reach_the_terminal_raw(folder: Path) -> None:
    evil = GOOD.replace("till}", '"\\u001b]0;x\\u0007\\u202e]]>"}').replace("zone: 1", '"a\\u001b[2J": 1')
    (folder / "evil\x1b[31m.yaml").write_text(evil, encoding="utf-8")
    for form in FORMATS:
        command = [sys.executable, "-m", "afflint", "check", "--no-config", "--format", form, str(folder)]
        out = subprocess.run(command, capture_output=True, env=clean_environment(), check=False).stdout.decode()
        assert "evil" in out
        assert not [character for character in out if character != "\n" and not character.isprintable()], form


def test_fifty_megabytes_of_something_else_cost_little(folder: Path) -> None:
    with open(folder / "large.yaml", "w", encoding="utf-8") as file:
        file.write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata:\n  blob: |\n")
        line = "    " + "0123456789" * 12 + "\n"
        for _ in range(50_000_000 // len(line)):
            file.write(line)
    done = check(folder)
    assert done.rules == [("good.yaml", "wrong-type")]
    assert done.seconds < 20


def test_very_many_documents_take_time_in_proportion(folder: Path) -> None:
    def seconds(count: int) -> float:
        (folder / "many.yaml").write_text("---\nkind: Pod\napiVersion: v1\nmetadata: {name: a}\n" * count, encoding="utf-8")
        return check(folder).seconds

    few, many = seconds(10_000), seconds(40_000)
    assert many < 8 * few + 1


def test_very_many_findings_in_one_document_take_time_in_proportion(folder: Path) -> None:
    labels = "".join(f"    l{number}: {number}\n" for number in range(20_000))
    (folder / "odd.yaml").write_text(f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n{labels}spec: {{}}\n", encoding="utf-8")
    done = check(folder)
    assert len(done.rules) == 20_001
    assert done.seconds < 30


def test_links_that_lead_in_circles(folder: Path) -> None:
    (folder / "down").mkdir()
    (folder / "down" / "up").symlink_to(folder, target_is_directory=True)
    (folder / "self.yaml").symlink_to(folder / "self.yaml")
    assert check(folder).rules == [("good.yaml", "wrong-type")]


def test_a_file_that_vanishes_before_it_is_read_is_a_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from afflint.pipeline import run
    from afflint.source.sources import Source

    monkeypatch.chdir(folder)
    outcome = run.run([Source("gone.yaml", "gone.yaml"), Source("good.yaml", "good.yaml")], default_settings())
    assert [(finding.file, finding.rule) for finding in outcome.findings] == [
        ("gone.yaml", "unreadable-manifest"),
        ("good.yaml", "wrong-type"),
    ]
    assert outcome.summary.unread == 1


# Mutations.

BASES = [
    GOOD,
    """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm, labels: {app: vm}}
spec:
  runStrategy: Always
  template:
    metadata: {labels: {app: vm}}
    spec:
      evictionStrategy: LiveMigrate
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 50
            podAffinityTerm:
              labelSelector: {matchExpressions: [{key: app, operator: In, values: [vm]}]}
              topologyKey: kubernetes.io/hostname
      tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]
      domain: {devices: {}}
""",
    """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{key: cores, operator: Gt, values: ["4"]}]
              matchFields: [{key: metadata.name, operator: In, values: [n1]}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys: [pod-template-hash]
      containers: [{name: web, image: nginx}]
""",
]
VALUES = [
    "null",
    "[]",
    "{}",
    "5",
    "-1",
    "1e3",
    '""',
    "yes",
    "[null]",
    "{a: [b]}",
    "&x y",
    "*x",
    "!!int x",
    "'",
    "[",
    "\ud83d\ude00",
    "a: b: c",
    "|\n  x",
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A manifest with a few values, keys, lines or bytes changed."""
    lines = draw(st.sampled_from(BASES)).splitlines()
    for _ in range(draw(st.integers(1, 4))):
        number = draw(st.integers(0, len(lines) - 1))
        line = lines[number]
        kind = draw(st.sampled_from(["value", "delete", "repeat", "dedent", "indent", "swap", "key"]))
        if kind == "value":
            head, colon, _ = line.partition(": ")
            lines[number] = f"{head}{colon}{draw(st.sampled_from(VALUES))}"
        elif kind == "delete" and len(lines) > 1:
            del lines[number]
        elif kind == "repeat":
            lines.insert(number, line)
        elif kind == "dedent":
            lines[number] = line[2:]
        elif kind == "indent":
            lines[number] = "  " + line
        elif kind == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[number], lines[other] = lines[other], lines[number]
        else:
            lines[number] = line.replace("e", draw(st.sampled_from(["", "E", "ee"])), 1)
    data = bytearray("\n".join(lines).encode("utf-8", "surrogatepass"))
    if draw(st.integers(0, 5)) == 0:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


@given(mutated())
@settings(max_examples=int(os.environ.get("AFFLINT_FUZZ", "300")))
def test_mutated_manifests_give_findings_inside_the_file(data: bytes) -> None:
    findings = findings_of({"m.yaml": data}, default_settings())
    text = data.decode("utf-8", "replace")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for finding in findings:
        assert finding.rule in rules()
        assert finding.severity in SEVERITIES
        assert finding.message
        assert 1 <= finding.span.line <= finding.span.end_line <= len(lines) + 1
        if finding.span.line <= len(lines):
            assert 1 <= finding.span.column <= len(lines[finding.span.line - 1]) + 2
    assert findings_of({"m.yaml": data}, default_settings()) == findings
