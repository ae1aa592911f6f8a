"""Manifests, templates, expressions, policies and dumps, made or spoilt at random: what comes out of a manifest is a report, in which
every place exists, and nothing else fails or hangs either.

AFFLINT_FUZZ=1000 tries a thousand of each instead of a few.
"""

import contextlib
import hashlib
import json
import os
import random
import re
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifest_maker import MANIFESTS, SELECTOR, changed, changes, manifest, spoils, spoilt, written
from object_samples import SAMPLES
from template_maker import DATA, ExpressionMaker, TemplateMaker

from afflint.changes.git import Repository
from afflint.changes.snapshot import extract
from afflint.checks.match import Target
from afflint.checks.policies.admission_policies import AdmissionEvaluator
from afflint.checks.registry import rules
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES, Finding, Span
from afflint.kube.kinds import KINDS
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.options import Options
from afflint.pipeline.run import Outcome, run
from afflint.placement.planner import make_plan
from afflint.policies.policy_files import read_admission
from afflint.rendering.application_sets import ArgoClusters
from afflint.rendering.boundary import Boundary
from afflint.rendering.flux_variables import FluxVariable, Variables, substitute
from afflint.rendering.gitops import hints
from afflint.rendering.go_templates import TemplateError, fill
from afflint.rendering.helmfiles import add_helmfiles
from afflint.rendering.hints import Hints
from afflint.rendering.set_templates import fill_template
from afflint.report import FORMATS, Report, render
from afflint.simulation.inputs import read_place_inputs
from afflint.source.sources import Source
from afflint.source.temporary_folders import temporary_folder
from afflint.yaml.documents import to_utf8
from extras import needs_cel
from linting import settings_of

EXAMPLES = int(os.environ.get("AFFLINT_FUZZ", "0"))
fuzzed = settings(
    deadline=None,
    max_examples=EXAMPLES or 120,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
EVERYTHING = settings_of(rules(), target=Target(admission_plugins=frozenset(["LimitPodHardAntiAffinityTopology"]), complete=True))
NODES = Source(
    "nodes.yaml",
    "nodes.yaml",
    b"""nodes:
- {name: node-1, labels: {disk: ssd, topology.kubernetes.io/zone: a, cpu: "16"}, taints: ["dedicated=web:NoSchedule"]}
- {name: node-2, labels: {disk: ssd, topology.kubernetes.io/zone: b, gpu: ""}}
- {name: node-3, labels: {topology.kubernetes.io/zone: b}, unschedulable: true}
""",
)
LINE_BREAK = re.compile(r"\r\n|\n|\r")


@cache
def validator() -> Any:
    from jsonschema import Draft202012Validator

    schema = Path(__file__).parents[2] / "schemas" / "report.schema.json"
    return Draft202012Validator(json.loads(schema.read_text()))


def check(files: dict[str, bytes], *, nodes: bool = False, form: str = "json") -> Outcome:
    """Runs all rules over files, and holds what comes out to what a report is."""
    sources = [Source(name, name, data) for name, data in files.items()]
    outcome = run(sources, EVERYTHING, Options(), node_files=[NODES] if nodes else [])
    texts = {name: LINE_BREAK.split(_text(data)) for name, data in {**files, "nodes.yaml": NODES.data or b""}.items()}
    for finding in outcome.findings:
        _hold(finding, texts)
    assert outcome.summary.errors + outcome.summary.warnings + outcome.summary.info == len(outcome.findings)
    shown = _report(outcome, "json")
    validator().validate(json.loads(shown))
    again = run(sources, EVERYTHING, Options(), node_files=[NODES] if nodes else [])
    assert _report(again, "json") == shown
    other = _report(outcome, form)
    assert all(character.isprintable() or character == "\n" for character in other)
    return outcome


def _text(data: bytes) -> str:
    try:
        return to_utf8(data).decode("utf-8", "replace")
    except UnicodeDecodeError:
        return ""


def _report(outcome: Outcome, form: str) -> str:
    report = Report(outcome.findings, outcome.summary, list, outcome.text, "0", True, False)
    return "".join(render(form, report))


def _hold(finding: Finding, texts: dict[str, list[str]]) -> None:
    assert finding.rule in rules()
    assert finding.severity in SEVERITIES
    assert finding.message
    assert finding.help
    _inside(finding.span, texts[finding.file])
    for related in finding.related:
        _inside(related.span, texts[related.file])
    for edit in finding.fix.edits if finding.fix else ():
        _inside(edit.span, texts[finding.file])


def _inside(span: Span, lines: list[str]) -> None:
    assert 1 <= span.line <= span.end_line <= len(lines) + 1
    assert (span.line, span.column) <= (span.end_line, span.end_column)
    for line, column in ((span.line, span.column), (span.end_line, span.end_column)):
        assert 1 <= column <= (len(lines[line - 1]) if line <= len(lines) else 0) + 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.group or 'core'}/{kind.name}")
def test_what_the_others_spoil_is_valid(kind: Any) -> None:
    source = Source("a.yaml", "a.yaml", written(manifest(kind)).encode())
    findings = run([source], default_settings()).findings
    assert [each for each in findings if each.category in ("admission", "afflint")] == []


@fuzzed
@given(
    st.lists(st.tuples(st.sampled_from(MANIFESTS), st.lists(changes, min_size=1, max_size=4)), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
    st.sampled_from(FORMATS),
)
def test_values_and_keys_that_are_changed(
    manifests: list[tuple[Any, list[tuple[str, int, int]]]], apart: bool, nodes: bool, form: str
) -> None:
    texts = []
    for whole, its_changes in manifests:
        for change in its_changes:
            whole = changed(whole, change)
        texts.append(written(whole).encode() + b"\n")
    if apart:
        check({f"{number}.yaml": text for number, text in enumerate(texts)}, nodes=nodes, form=form)
    else:
        check({"a.yaml": b"---\n".join(texts)}, nodes=nodes, form=form)


@fuzzed
@given(st.sampled_from(MANIFESTS), st.lists(changes, max_size=3), st.lists(spoils, min_size=1, max_size=4), st.sampled_from(FORMATS))
def test_texts_that_are_changed(
    whole: Any, its_changes: list[tuple[str, int, int]], its_spoils: list[tuple[str, int, int]], form: str
) -> None:
    for change in its_changes:
        whole = changed(whole, change)
    data = written(whole).encode() + b"\n"
    for spoil in its_spoils:
        data = spoilt(data, spoil)
    check({"a.yaml": data}, form=form)


@fuzzed
@given(
    st.lists(st.tuples(st.sampled_from(MANIFESTS), st.lists(changes, max_size=2)), min_size=1, max_size=3),
    st.sampled_from(["List", "PodList", "DeploymentList", "VirtualMachineList"]),
    st.sampled_from([None, 1, 4]),
    st.lists(spoils, max_size=2),
)
def test_lists_in_json(
    manifests: list[tuple[Any, list[tuple[str, int, int]]]], kind: str, indent: int | None, its_spoils: list[tuple[str, int, int]]
) -> None:
    items = []
    for whole, its_changes in manifests:
        for change in its_changes:
            whole = changed(whole, change)
        items.append(whole)
    data = json.dumps({"apiVersion": "v1", "kind": kind, "items": items}, indent=indent).encode()
    for spoil in its_spoils:
        data = spoilt(data, spoil)
    check({"a.json": data})


@fuzzed
@given(st.binary(max_size=200), st.sampled_from(["kind: Pod\n", "", "kind: List\nitems:\n", '{"kind": "Pod", ']), st.sampled_from(FORMATS))
def test_any_bytes_at_all(data: bytes, start: str, form: str) -> None:
    check({"a.yaml": start.encode() + data}, form=form)
    check({"a.yaml": (start + data.decode("latin-1")).encode("utf-16")}, form=form)


# Evaluators. A seed makes the same input each time.

SEEDS = st.integers(0, 2**32)
PARAMETERS = {"name": "web", "a": "b" * 500, "path.segments[1]": "x", "values.a": "", "Values.name": "w"}
VARIABLES = Variables({"zone": FluxVariable("Zone-a.b.c"), "empty": FluxVariable(""), "long": FluxVariable("ab" * 400)}, is_complete=False)

PIECES = (
    *("${", "}", "$", "$$", "zone", "long", "empty", "none", ":", ":-", ":=", "/", "//", "/#", "/%", "#", "##", "%", "%%", "^", "^^"),
    *(",", ",,", "*", "?", "[", "]", "[!", "a", "-3", "2", "\\", "(", "\n", "\u2028", "\udc80"),
)
"""Pieces of texts with variables of Flux."""


@fuzzed
@given(SEEDS)
def test_go_templates(seed: int) -> None:
    text = TemplateMaker(seed).template()
    for is_complete, unknown in ((True, "?"), (False, None)):
        with contextlib.suppress(TemplateError):
            assert isinstance(fill(text, DATA, is_complete=is_complete, unknown=unknown).text, str)


@fuzzed
@given(SEEDS)
def test_templates_of_sets(seed: int) -> None:
    maker = TemplateMaker(seed)
    data = {"a": [f"x{{{{ {maker.action()} }}}}", {"b": maker.template()}]}
    assert isinstance(fill_template(data, PARAMETERS, is_complete=seed % 2 == 0), dict)


@fuzzed
@given(SEEDS)
def test_variables_of_flux(seed: int) -> None:
    choice = random.Random(seed)
    text = "".join(choice.choice(PIECES) if choice.random() < 0.8 else "${zone" for _ in range(choice.randrange(1, 40)))
    assert isinstance(substitute(text.encode("utf-8", "surrogateescape"), VARIABLES), bytes)


@fuzzed
@given(SEEDS)
def test_helmfiles(tmp_path: Path, seed: int) -> None:
    (tmp_path / ".git").mkdir(exist_ok=True)
    file = tmp_path / "helmfile.yaml"
    choice, maker = random.Random(seed), TemplateMaker(seed)
    release = {"name": f"{{{{ {maker.action()} }}}}", "chart": "./c", "values": [{"a": f"{{{{ {maker.action()} }}}}"}, "v.yaml"]}
    whole: Any = {
        "environments": {"a": {"values": [{"x": 1}, "v.yaml"]}},
        "values": [DATA["Values"]],
        "bases": ["b.yaml"],
        "releases": [release],
    }
    whole["releases"][0] |= {"set": [{"name": "a", "value": 1}], "installed": True, "condition": "a.b", "namespace": "shop"}
    for _ in range(choice.randrange(4)):
        whole = changed(whole, _change(choice))
    text = f"{maker.template() if seed % 3 == 0 else ''}\n---\n{written(whole)}\n"
    file.write_text(text, encoding="utf-8")
    add_helmfiles(Hints.none(), [str(file)], Boundary([str(file)]))


@fuzzed
@given(SEEDS)
def test_objects_of_gitops(tmp_path: Path, seed: int) -> None:
    (tmp_path / ".git").mkdir(exist_ok=True)
    (tmp_path / "app").mkdir(exist_ok=True)
    file = tmp_path / "a.yaml"
    text = _spoilt_objects(random.Random(seed), SAMPLES["gitops"] + SETS)
    file.write_bytes(text)
    hints([str(file)], Boundary([str(file)]), ArgoClusters([]))


def _change(choice: random.Random) -> tuple[str, int, int]:
    what = choice.choice(["replace", "replace", "remove", "rename", "wrap", "repeat", "move"])
    return what, choice.randrange(10_000), choice.randrange(10_000)


def _spoilt_objects(choice: random.Random, objects: list[dict[str, Any]], valid: int = 0) -> bytes:
    """The text of some objects with changes in their data, and sometimes in the text; ``valid`` of them are unchanged."""
    texts = [written(each).encode() for each in choice.sample(objects, min(valid, len(objects)))]
    for _ in range(choice.randrange(1, 5)):
        whole: Any = choice.choice(objects)
        for _ in range(choice.randrange(4)):
            whole = changed(whole, _change(choice))
        texts.append(written(whole).encode("utf-8", "replace"))
    text = b"\n---\n".join(texts) + b"\n"
    if choice.random() < 0.2:
        what = choice.choice(["indent", "dedent", "repeat line", "drop line", "flip", "insert", "cut", "token"])
        text = spoilt(text, (what, choice.randrange(100_000), choice.randrange(100_000)))
    return text


_TEMPLATE = {"metadata": {"name": "{{name}}-{{ .a | upper }}"}, "spec": {"source": {"path": "app", "helm": {"values": "a: {{a}}"}}}}
_ELEMENTS = {"list": {"elements": [{"name": "a", "a": {"b": 1}}, {"name": "b"}]}}
SETS: list[dict[str, Any]] = [
    {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "set"},
        "spec": {"generators": [generator], "template": _TEMPLATE, "templatePatch": "spec: {project: '{{ name }}'}"},
    }
    for generator in (
        {**_ELEMENTS, "selector": SELECTOR},
        {
            "git": {
                "files": [{"path": "*/*.yaml"}],
                "directories": [{"path": "*"}, {"path": "b", "exclude": True}],
                "values": {"x": "{{path}}"},
            }
        },
        {"matrix": {"generators": [_ELEMENTS, {"git": {"directories": [{"path": "{{name}}*"}]}}]}},
        {"merge": {"mergeKeys": ["name"], "generators": [_ELEMENTS, _ELEMENTS]}},
        {"list": {"elementsYaml": "- {name: a}\n- b\n"}},
    )
]
OBJECTS = [each for each in SAMPLES["manifests"] if each["kind"] in ("Deployment", "Pod", "CronJob", "VirtualMachine")]


@needs_cel
@fuzzed
@given(SEEDS)
def test_expressions(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "policies.yaml"
    maker = ExpressionMaker(seed)
    spec = {
        "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]},
        "variables": [{"name": "a", "expression": maker.expression()}, {"name": "b", "expression": maker.expression()}],
        "validations": [{"expression": maker.expression(), "messageExpression": maker.expression()}],
    }
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "team"}}
    binding = {**SAMPLES["policies"][1], "spec": {"policyName": "team", "validationActions": ["Deny"]}}
    text = f"{written({**policy, 'spec': spec})}\n---\n{written(binding)}\n"
    _evaluate(file, text.encode())


@needs_cel
@fuzzed
@given(SEEDS)
def test_policies(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "policies.yaml"
    text = _spoilt_objects(random.Random(seed), SAMPLES["policies"], valid=6)
    _evaluate(file, text)


def _evaluate(file: Path, text: bytes) -> None:
    file.write_bytes(text)
    admission = read_admission([str(file)])
    evaluator = AdmissionEvaluator(admission, [each.name for each in admission.policies])
    for data in OBJECTS:
        for outcome in evaluator.evaluate(data):
            assert str(outcome)


@fuzzed
@given(SEEDS)
def test_dumps(seed: int) -> None:
    objects = [*SAMPLES["cluster"], *SAMPLES["storage"]]
    text = _spoilt_objects(random.Random(seed), objects, valid=12)
    dump = Source("dump.yaml", "dump.yaml", text)
    workloads = Source("web.yaml", "web.yaml", written(SAMPLES["manifests"][seed % 4]).encode())
    with contextlib.suppress(UserError):
        inputs = read_place_inputs([workloads], [dump], [dump] if seed % 2 else [], default_settings())
        make_plan(inputs.simulation_input.inventory, inputs.simulation_input.pod_sources, classes=inputs.classes)


# Commits.

PARTS = (
    *("a", "b", "A", "..", ".", "", ".git", ".Git", "git~1", "a/b", "/", "nul", "con.yaml", "x.yaml", "x.YAML"),
    *("\u017f", "s", "e\u0301", "\u00e9", "a ", "a.", "a\\b", "n" * 300),
)
TARGETS = ("..", ".", "a", "b", "A", "/", "/etc", "a/..", "b/../..", "x.yaml", "../outside", "\u017f", "\x00", "")
MODES = ("100644", "100755", "100664", "120000", "120000", "40000", "40000", "160000", "0", "777")


class ObjectStore:
    """The objects of a repository, which are written without Git."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, kind: str, data: bytes) -> bytes:
        """Write an object, and return its checksum."""
        whole = f"{kind} {len(data)}".encode() + b"\0" + data
        name = hashlib.sha1(whole)
        path = self._folder / name.hexdigest()[:2] / name.hexdigest()[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(whole, 1))
        return name.digest()

    def tree(self, choice: random.Random, depth: int = 0) -> bytes:
        """Write a tree whose entries no checkout would create, some of them damaged."""
        data = b""
        for _ in range(choice.randrange(1, 7)):
            mode = choice.choice(MODES)
            if mode == "40000" and depth < 3:
                blob = self.tree(choice, depth + 1)
            elif mode == "120000":
                blob = self.add("blob", choice.choice(TARGETS).encode())
            else:
                blob = self.add("blob", choice.choice((b"", b"a: b\n", b"version https://git-lfs.github.com/spec/v1\n")))
            data += f"{mode} {choice.choice(PARTS)}".encode() + b"\0" + (blob if choice.random() < 0.98 else blob[:7])
        return self.add("tree", data)


@fuzzed
@given(SEEDS)
def test_commits(tmp_path: Path, seed: int) -> None:
    """Whatever the trees of a commit contain, its files and links are inside the snapshot."""
    choice = random.Random(seed)
    root = tmp_path / "repository"
    for name in ("objects", "refs"):
        (root / ".git" / name).mkdir(parents=True, exist_ok=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    store = ObjectStore(root / ".git" / "objects")
    tree = store.tree(choice)
    author = "a <a@example.com> 0 +0000"
    commit = store.add("commit", f"tree {tree.hex()}\nauthor {author}\ncommitter {author}\n\n".encode()).hex()
    with temporary_folder(str(tmp_path)) as folder, contextlib.suppress(UserError):
        repository = Repository(str(root))
        snapshot = extract(repository, repository.entries(commit), folder, lambda _: True)
        assert os.listdir(os.path.join(snapshot.root, ".git")) == ["config"]
        for here, folders, names in os.walk(snapshot.root):
            for name in (*folders, *names):
                assert f"{os.path.realpath(os.path.join(here, name))}{os.sep}".startswith(f"{snapshot.root}{os.sep}")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["repository"]
