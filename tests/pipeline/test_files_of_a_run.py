"""What a file is called, from where afflint is started and how its text comes make no difference to what is found in it."""

import io
from pathlib import Path

import pytest

from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import run
from afflint.simulation.inputs import read_place_inputs
from afflint.source import sources
from afflint.source.sources import Source, standard_input
from deployment_text import deployment

CACHE = deployment('{containers: [{name: main, image: "nginx:1.27"}]}', name="cache", selector="app: database")
WEB = deployment(
    'containers: [{name: main, image: "nginx:1.27"}]',
    "affinity:",
    "  podAffinity:",
    "    requiredDuringSchedulingIgnoredDuringExecution:",
    "    - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: databse}}}",
)
NUMBER = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  nodeSelector: {disk: 5}\n  containers: [{name: c, image: "i:1"}]\n'


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "web.yaml").write_text(WEB)
    (folder / "cache.yaml").write_text(CACHE)
    monkeypatch.chdir(tmp_path)
    return folder


def rules(named: list[Source], context: list[Source]) -> list[str]:
    return [finding.rule for finding in run(named, default_settings(), context=context).findings]


def test_a_file_may_be_named_by_any_path(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    near = Source("app/cache.yaml", "app/cache.yaml")
    absolute = str(app / "web.yaml")
    assert rules([Source("app/web.yaml", "app/web.yaml")], [near]) == ["affinity-target-missing"]
    assert rules([Source(absolute, absolute)], [near]) == ["affinity-target-missing"]
    assert rules([Source(absolute, absolute, WEB.encode())], [near]) == ["affinity-target-missing"]
    monkeypatch.chdir(app)
    assert rules([Source("web.yaml", "web.yaml")], [Source("cache.yaml", "cache.yaml")]) == ["affinity-target-missing"]


def test_a_file_elsewhere_is_as_far_away_from_wherever_it_is_looked_at(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = app.parent / "other" / "one" / "two" / "three" / "cache.yaml"
    far.parent.mkdir(parents=True)
    far.write_text(CACHE)
    monkeypatch.chdir(app)
    assert rules([Source("web.yaml", "web.yaml")], [Source("../other/one/two/three/cache.yaml", str(far))]) == []


def test_standard_input_that_is_too_large_is_not_read_on_from_where_it_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(b"# more\n" * 1000 + NUMBER.encode())

    monkeypatch.setattr(sources, "LARGEST", 5000)
    monkeypatch.setattr("sys.stdin", Input())
    for name in (None, "web.yaml"):
        [finding] = run([standard_input(name)], default_settings()).findings
        assert (finding.rule, "larger than" in finding.message) == ("unreadable-manifest", True)
        Input.buffer.seek(0)


def test_what_is_silenced_in_a_file_of_nodes_is_silent_though_the_file_is_not_checked() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {{name: w{}, labels: {{zone: {}}}}}\n"
    text = f"{node.format(1, 'east')}---\n{node.format(2, 'East')}"
    web = Source("web.yaml", "web.yaml", CACHE.encode())

    def found(nodes: str) -> list[str]:
        outcome = run([web], default_settings(), node_files=[Source("nodes.yaml", "nodes.yaml", nodes.encode())])
        return [f"{each.file} {each.rule}" for each in outcome.findings]

    assert found(text) == ["nodes.yaml near-duplicate-label"]
    assert found(f"# afflint: ignore-file -- on purpose\n{text}") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nodes:\n- {name: w1, labels: {zone: east}}\n- {name: w2, labels: {zone: East}}\n", ["3:29 near-duplicate-label"]),
        ("nodes:\n- {name: w1, labels: {zone: east}}\n- {name: w2, labels: {zone: East}} # afflint: ignore\n", []),
        ("nodes:\n- {name: w1, labels: {zone: east}}\n# afflint: ignore[nodes] -- why\n- {name: w2, labels: {zone: East}}\n", []),
        ("# afflint: ignore-file\n---\nnodes: [{name: w1, labels: {zone: east}}, {name: w2, labels: {zone: East}}]\n", []),
        (
            "nodes:\n- {name: w1, labels: {zone: east}} # afflint: ignore\n- {name: w2, labels: {zone: East}}\n",
            ["2:36 unused-suppression", "3:29 near-duplicate-label"],
        ),
    ],
)
def test_what_is_silenced_in_a_list_of_nodes_written_by_hand_is_silent(text: str, expected: list[str]) -> None:
    nodes = Source("nodes.yaml", "nodes.yaml", text.encode())
    web = Source("web.yaml", "web.yaml", CACHE.encode())
    for checked in ([web], [web, nodes]):
        outcome = run(checked, default_settings(), node_files=[nodes])
        assert [f"{each.span.line}:{each.span.column} {each.rule}" for each in outcome.findings] == expected


def test_suppressions_in_what_only_looks_like_a_list_of_nodes_are_left_alone() -> None:
    values = Source("values.yaml", "values.yaml", b"nodes: {count: 3} # afflint: nonsense\n")
    outcome = run([values], default_settings(), node_files=[Source("n.yaml", "n.yaml", b"nodes: [{name: w1}]")])
    assert outcome.findings == []


def test_fragments_of_services_and_budgets_are_not_a_problem_of_a_plan() -> None:
    patches = "apiVersion: v1\nkind: Service\nspec: {type: LoadBalancer}\n"
    patches += "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nspec: {minAvailable: 1}\n"
    nodes = [Source("n", "n", b"nodes: [{name: w1}]")]
    placing = read_place_inputs([Source("a.yaml", "a.yaml", f"{CACHE}---\n{patches}".encode())], nodes, [], default_settings())
    assert placing.problems == ()


def test_a_file_that_vanishes_before_it_is_read_is_a_finding(tmp_path: Path) -> None:
    web = Source("web.yaml", "web.yaml", f"{CACHE}".encode())
    outcome = run([Source("gone.yaml", str(tmp_path / "gone.yaml")), web], default_settings())
    assert [(each.file, each.rule) for each in outcome.findings] == [("gone.yaml", "unreadable-manifest")]
    assert outcome.summary.unread == 1


def test_a_namespace_of_two_minds_is_taken_for_neither() -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{team: {}}}}}\n"
    namespaces = [Source(f"{team}.yaml", f"{team}.yaml", namespace.format(team).encode()) for team in ("blue", "red")]
    only = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: databse}}}"
    web = WEB.replace(only, only.replace("databse", "database").replace("{top", "{namespaceSelector: {matchLabels: {team: blue}}, top"))
    text = f"{CACHE}---\n{web}".replace("metadata: {name: ", "metadata: {namespace: shop, name: ")
    manifests = Source("w.yaml", "w.yaml", text.encode())
    nodes = [Source("n", "n", b"nodes: [{name: w1}]")]
    for given in ([*namespaces, manifests], [manifests, *reversed(namespaces)]):
        placing = read_place_inputs(given, nodes, [], default_settings())
        [notes] = [pod_source.notes for pod_source in placing.simulation_input.pod_sources if pod_source.name == "web"]
        assert any("which several manifests define" in note for note in notes)
        assert {each.name: each.labels for each in placing.simulation_input.inventory.namespaces} == {
            "shop": {"kubernetes.io/metadata.name": "shop"}
        }
