"""How the kustomizations of a repository use a manifest, and the directives of patches."""

import os
from pathlib import Path

import pytest

from afflint.pipeline.map_step import Checker, default_settings
from afflint.pipeline.run import run
from afflint.simulation.inputs import read_place_inputs
from afflint.source import kustomizations as module
from afflint.source.kustomizations import Kustomizations, Use
from afflint.source.sources import discover
from afflint.yaml.patch_directives import is_directed


def write(path: Path, text: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    write(tmp_path / "repo" / ".git", "gitdir: elsewhere")
    return tmp_path / "repo"


def use_of(path: Path) -> Use | None:
    return Kustomizations().use_of(str(path))


@pytest.mark.parametrize(
    "text",
    [
        "resources: [ns.yaml, ../web/dep.yaml]",
        "resources: [./../web/../web/dep.yaml]",
        "bases: [../web/dep.yaml]",
        "replacements: [{path: ../web/dep.yaml}]",
        "transformers: [../web/dep.yaml]",
        "---\nresources: [../web/dep.yaml]\n---\n",
        "# Ours.\n--- # First\nresources: [../web/dep.yaml]\n",
        "\ufeffresources: [../web/dep.yaml]",
        "resources: [../web/dep.yaml]\npatches: [{path: ../web/dep.yaml}]",
    ],
)
@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_a_file_is_used_by_a_kustomization_in_any_folder_of_its_repository(text: str, name: str, repo: Path) -> None:
    write(repo / "overlay" / name, text)
    assert use_of(repo / "web" / "dep.yaml") == Use()
    assert use_of(repo / "dep.yaml") is None
    assert use_of(repo / "deep" / "web" / "dep.yaml") is None


@pytest.mark.parametrize(
    "text",
    [
        "patchesStrategicMerge: [../web/dep.yaml]",
        "patches: [{path: ../web/dep.yaml}]",
        "patches: [../web/dep.yaml]",
        "kind: Component\npatches: [{path: ../web/dep.yaml}]",
    ],
)
def test_a_patch_is_not_an_object_of_its_own(text: str, repo: Path) -> None:
    write(repo / "overlay" / "kustomization.yaml", text)
    assert use_of(repo / "web" / "dep.yaml") == Use(patches=True)


@pytest.mark.parametrize(
    "text",
    [
        "{{- if .x }}\npatches:\n- path: ../web/dep.yaml\n{{- end }}",
        "patches: [{path: '../web/dep.yaml'}\nbroken: ]",
        "patches:\n- path: ../web/dep.yaml\n\tx: y\n",
    ],
)
def test_what_a_kustomization_mentions_that_cannot_be_read_may_be_anything(text: str, repo: Path) -> None:
    write(repo / "overlay" / "kustomization.yaml", text)
    assert use_of(repo / "web" / "dep.yaml") == Use(targeted=True)
    assert use_of(repo / "dep.yaml") is None


@pytest.mark.parametrize("name", ["my dep.yaml", "dép.yaml", "a@b=c.yaml"])
def test_a_file_may_have_an_odd_name(name: str, repo: Path) -> None:
    write(repo / "overlay" / "kustomization.yaml", f"resources: ['../{name}', \"a\\0b\"]")
    assert use_of(repo / name) == Use()


def test_links_are_followed_on_both_sides(repo: Path) -> None:
    write(repo / "shared" / "dep.yaml")
    (repo / "link").symlink_to("shared")
    (repo / "web").mkdir()
    (repo / "web" / "dep.yaml").symlink_to("../shared/dep.yaml")
    used = {"shared/dep.yaml", "link/dep.yaml"}
    for listed in ("../link/dep.yaml", "../shared/dep.yaml", "../web/dep.yaml"):
        write(repo / "overlay" / "kustomization.yaml", f"resources: [{listed}]")
        assert {each for each in used if use_of(repo / each) == Use()} == used, listed
        assert use_of(repo / "web" / "dep.yaml") == Use(), listed


@pytest.mark.parametrize("field", ["patches", "patchesJson6902"])
@pytest.mark.parametrize(
    ("target", "use"),
    [
        ("{kind: StatefulSet, name: db}", Use(True, frozenset(("StatefulSet",)), patches=True)),
        ("{kind: Deployment|StatefulSet}", Use(True, patches=True)),
        ("{labelSelector: app=web}", Use(True, patches=True)),
    ],
)
def test_a_target_determines_the_objects_of_a_patch(field: str, target: str, use: Use, repo: Path) -> None:
    write(
        repo / "overlay" / "kustomization.yaml", f"{field}: [{{path: ../web/dep.yaml, target: {target}}}, {{patch: 'a: b', target: {{}}}}]"
    )
    assert use_of(repo / "web" / "dep.yaml") == use


def test_uses_by_several_kustomizations_add_up(repo: Path) -> None:
    write(repo / "a" / "kustomization.yaml", "patches: [{path: ../p.yaml, target: {kind: Job}}, {path: ../p.yaml, target: {kind: Pod}}]")
    write(repo / "b" / "c" / "kustomization.yaml", "patches: [{path: ../../p.yaml}]")
    assert use_of(repo / "p.yaml") == Use(True, frozenset(("Job", "Pod")), patches=True)


def test_kustomizations_outside_the_repository_do_not_count(repo: Path) -> None:
    write(repo.parent / "kustomization.yaml", "resources: [repo/web/dep.yaml]")
    write(repo / "kustomization.yaml", "resources: [dep.yaml]")
    assert use_of(repo / "web" / "dep.yaml") is None
    assert use_of(repo / "dep.yaml") == Use()


def test_without_a_repository_the_highest_folder_with_a_kustomization_counts(tmp_path: Path) -> None:
    write(tmp_path / "kustomization.yaml", "resources: [a]")
    write(tmp_path / "a" / "b" / "kustomization.yaml", "resources: [../../c/d/dep.yaml]")
    assert use_of(tmp_path / "c" / "d" / "dep.yaml") == Use()


def test_without_a_repository_the_folder_of_all_files_of_the_run_is_one(tmp_path: Path) -> None:
    files = [write(tmp_path / "base" / "dep.yaml"), write(tmp_path / "overlay" / "kustomization.yaml", "patches: [../base/dep.yaml]")]
    assert Kustomizations().use_of(files[0]) is None
    assert Kustomizations(files=files).use_of(files[0]) == Use(patches=True)


def test_labels_come_from_all_kustomizations_above(repo: Path) -> None:
    write(repo / "base" / "kustomization.yaml", "resources: [dep.yaml]\ncommonLabels: {a: x}")
    write(repo / "base" / "overlay" / "kustomization.yaml", "resources: [..]\nlabels: [{pairs: {b: x}, includeTemplates: true}]")
    write(repo / "top" / "kustomization.yaml", "components: [../base/overlay]\nlabels: [{pairs: {c: x}, includeSelectors: true}]")
    write(repo / "other" / "kustomization.yaml", "labels: [{pairs: {d: x}, includeTemplates: true}]\npatches: [../base/dep.yaml]")
    write(repo / "loose" / "kustomization.yaml", "resources: [../base]\nlabels: [{pairs: {e: x}}]\nbases: [../loose]")
    assert Kustomizations().labels_added(str(repo / "base" / "dep.yaml")) == {"a", "b", "c"}


def test_a_limited_number_of_kustomizations_is_kept(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 40)
    for name in "abc":
        write(repo / name / "deep" / "kustomization.yaml", "resources: [dep.yaml]\n")
        write(repo / name / "deep" / "deeper" / "kustomization.yaml", "resources: [dep.yaml]\n")
    used = [use_of(repo / name / "deep" / "dep.yaml") for name in "abc"]
    assert used == [Use(), Use(), Use()]
    assert use_of(repo / "a" / "deep" / "deeper" / "dep.yaml") is None


@pytest.mark.parametrize(
    "text", ["", "- dep.yaml", "resources: dep.yaml", "resources: [{dep.yaml: 1}, 5]", "patches: [{path: [dep.yaml]}]", "dep.yam: ["]
)
def test_an_invalid_kustomization_lists_nothing(text: str, repo: Path) -> None:
    write(repo / "kustomization.yaml", text)
    assert use_of(repo / "dep.yaml") is None


def test_each_kustomization_is_read_once_in_a_run_and_parsed_if_it_mentions_the_file(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        write(repo / "a" / f"o{number}" / "kustomization.yaml", f"resources: [../b/web{number}.yaml]")
    counts = {"read_regular": 0, "read": 0}

    def counted(name: str) -> None:
        function = getattr(module, name)

        def count(*arguments: object) -> object:
            counts[name] += 1
            return function(*arguments)

        monkeypatch.setattr(module, name, count)

    counted("read_regular")
    counted("read")
    kustomizations = Kustomizations()
    used = [kustomizations.use_of(str(repo / "a" / "b" / f"web{number}.yaml")) for number in (0, 1, 1, 7, 8, 9)]
    assert used == [Use(), Use(), Use(), None, None, None]
    assert counts == {"read_regular": 5, "read": 2}


# A run over a repository.

PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n"
TEMPLATE = "  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: b}]}}\n"


def rules_in(repo: Path, patch: str, use: str) -> list[str]:
    write(repo / "patches" / "p.yaml", patch)
    write(repo / "overlays" / "prod" / "kustomization.yaml", use)
    return [each.rule for each in run(list(discover([str(repo / "patches")])), default_settings()).findings]


def test_fields_that_a_patch_in_another_folder_leaves_out_are_not_reported(repo: Path) -> None:
    assert rules_in(repo, PATCH + TEMPLATE, "patches: []") == ["selector-missing"]
    assert rules_in(repo, PATCH + TEMPLATE, "patches: [{path: ../../patches/p.yaml}]") == []


def test_version_and_kind_of_a_patch_with_a_target_are_placeholders(repo: Path) -> None:
    patch = PATCH.replace("apps/v1", "apps/v1beta1") + "  serviceName: db\n  template: {spec: {nodeSelector: {ssd: true}}}\n"
    plain, targeted = "patches: [{path: ../../patches/p.yaml}]", "patches: [{path: ../../patches/p.yaml, target: {kind: %s}}]"
    assert rules_in(repo, patch, plain) == ["unserved-api-version", "unknown-field", "wrong-type"]
    assert rules_in(repo, patch, targeted % "Deployment") == ["unknown-field", "wrong-type"]
    assert rules_in(repo, patch, targeted % "StatefulSet") == []


def test_a_run_that_has_nothing_to_excuse_looks_for_no_kustomization(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kustomizations, "use_of", None)
    assert rules_in(repo, PATCH + "  template: {spec: {tolerations: [{operator: Is}]}}\n", "patches: []") == ["unknown-operator"]


LABELLED = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, labels: {app: db}}
spec:
  serviceName: db
  selector: {matchLabels: {x: z}}
  template:
    metadata: {labels: {x: z}}
    spec:
      containers: [{name: a, image: b}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}]
"""


def test_labels_that_a_kustomization_adds_are_on_the_template(repo: Path) -> None:
    assert rules_in(repo, LABELLED, "resources: [../../patches/p.yaml]") == ["label-not-on-template"]
    assert rules_in(repo, LABELLED, "resources: [../../patches/p.yaml]\ncommonLabels: {other: db}") == ["label-not-on-template"]
    assert rules_in(repo, LABELLED, "resources: [../../patches/p.yaml]\ncommonLabels: {app: db}") == []
    mistake = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeSelector: {ssd: true}, containers: [{name: a, image: a}]}\n"
    assert rules_in(repo, LABELLED + mistake, "resources: [../../patches/p.yaml]\ncommonLabels: {app: db}") == ["wrong-type"]


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the folders that are searched for kustomizations from now on."""
    folders: list[str] = []
    scandir = os.scandir

    def recorded(folder: str) -> object:
        folders.append(folder)
        return scandir(folder)

    monkeypatch.setattr(module.os, "scandir", recorded)
    return folders


def rules_of(file: str) -> list[str]:
    return [each.rule for each in run(list(discover([file])), default_settings()).findings]


WHOLE = PATCH + "  selector: {matchLabels: {app: web}}\n" + TEMPLATE


def test_a_finding_in_a_whole_object_searches_no_folder(repo: Path, searched: list[str]) -> None:
    for number in range(30):
        write(repo / f"team{number}" / "app" / "kustomization.yaml", "resources: [web.yaml]\n")
    file = write(repo / "web" / "dep.yaml", WHOLE.replace("apps/v1", "apps/v1beta1") + "  serviceName: db\n  nodeSelector: {a: b}\n")
    assert rules_of(file) == ["unserved-api-version", "unknown-field", "misplaced-constraint"]
    assert searched == []


def test_a_finding_in_an_object_that_may_be_a_patch_searches_each_folder_once(repo: Path, searched: list[str]) -> None:
    for number in range(30):
        write(repo / f"team{number}" / "app" / "kustomization.yaml", "resources: [web.yaml]\n")
    file = write(repo / "web" / "dep.yaml", PATCH + "  serviceName: db\n  template: {spec: {nodeSelector: {a: true}}}\n")
    assert rules_of(file) == ["unknown-field", "wrong-type"]
    assert len(searched) == len({*searched}) == 1 + 30 * 2 + 1


@pytest.mark.parametrize("folder", ["patches", "."])
def test_a_kustomization_above_uses_a_whole_object_as_a_patch_of_another_kind(folder: str, repo: Path) -> None:
    file = write(repo / "patches" / "p.yaml", WHOLE + "  serviceName: db\n")
    assert rules_of(file) == ["unknown-field"]
    listed = os.path.relpath(file, repo / folder)
    write(repo / folder / "kustomization.yaml", f"patches: [{{path: {listed}, target: {{kind: StatefulSet}}}}]")
    assert rules_of(file) == []


def test_an_object_without_a_selector_may_be_a_patch_of_another_kind(repo: Path) -> None:
    use = "patches: [{path: ../../patches/p.yaml, target: {kind: StatefulSet}}]"
    assert rules_in(repo, PATCH + TEMPLATE + "  serviceName: db\n", "patches: []") == ["selector-missing", "unknown-field"]
    assert rules_in(repo, PATCH + TEMPLATE + "  serviceName: db\n", use) == []


def test_a_file_that_is_a_resource_of_a_kustomization_above_is_not_a_patch(repo: Path, searched: list[str]) -> None:
    write(repo / "base" / "kustomization.yaml", "resources: [web/dep.yaml]\npatches: [{path: p.yaml}]")
    kustomizations = Kustomizations()
    assert not kustomizations.is_patch(str(repo / "base" / "web" / "dep.yaml"))
    assert searched == []
    assert kustomizations.is_patch(str(repo / "base" / "p.yaml"))
    write(repo / "overlay" / "kustomization.yaml", "resources: [../base/p.yaml]")
    assert not Kustomizations().is_patch(str(repo / "base" / "p.yaml"))


NODES = "nodes: [{name: n1, labels: {zone: a}}]\n"


def test_a_patch_is_not_placed(repo: Path) -> None:
    patch = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: any}\nspec:\n" + TEMPLATE.replace(
        "containers", "nodeSelector: {zone: b}, containers"
    )
    write(repo / "base" / "p.yaml", patch)
    nodes = write(repo / "nodes.yaml", NODES)

    def placed() -> list[str]:
        sources = list(discover([str(repo / "base")]))
        simulation_input = read_place_inputs(sources, list(discover([nodes])), [], default_settings())
        return [*simulation_input.notes]

    assert placed() == []
    write(repo / "overlay" / "kustomization.yaml", "patches: [{path: ../base/p.yaml, target: {kind: Job}}]")
    name = str(repo / "base" / "p.yaml")
    assert placed() == [f"skipped: Job any in {name} (it is a patch, or it lacks a name or containers with images)"]


# Directives and nulls.


@pytest.mark.parametrize(
    "spec",
    [
        "  $patch: delete\n",
        "  $retainKeys: [template]\n  template: {spec: {nodeSelector: {a: b}}}\n",
        "  template: {spec: {$setElementOrder/containers: [{name: a}], containers: [{name: a}]}}\n",
        "  template: {spec: {nodeSelector: {$patch: replace, a: b}}}\n",
        "  template: {metadata: {labels: {$patch: replace, a: b}}}\n",
        "  template: {spec: {affinity: {$patch: delete}}}\n",
        "  template: {spec: {tolerations: [{$patch: replace}, {key: a, operator: Exists}]}}\n",
        "  template: {spec: {tolerations: [{$patch: delete, key: a}]}}\n",
        "  template: {spec: {topologySpreadConstraints: [{$patch: delete, topologyKey: zone}]}}\n",
        "  template: {spec: {affinity: null, nodeSelector: {a: null}, tolerations: null}}\n",
        "  replicas: null\n",
        "  template: {spec: {containers: [{name: a, image: b}], topologySpreadConstraints: [{topologyKey: zone, maxSkew: 2}]}}\n",
    ],
)
def test_directives_and_nulls_of_a_patch_are_not_reported(spec: str) -> None:
    assert Checker(default_settings()).check("p.yaml", (PATCH + spec).encode()).found == ()


def test_a_null_in_the_patch_of_a_virtual_machine_deletes() -> None:
    head = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: vm}\nspec: "
    text = head + "{template: {metadata: {labels: {a: null}}, spec: %s}}"
    check = Checker(default_settings()).check
    assert check("vm.yaml", (text % "{nodeSelector: {b: null}}").encode()).found == ()
    assert [each.rule for each in check("vm.yaml", (text % "{domain: {devices: {}}}").encode()).found] == ["wrong-type"]


def test_beside_a_directive_the_rest_is_judged() -> None:
    text = (
        PATCH
        + "  template: {spec: {$setElementOrder/containers: [], nodeSelector: {a: 1}, tolerations: [{$patch: replace}, {operator: Is}]}}\n"
    )
    found = Checker(default_settings()).check("p.yaml", text.encode()).found
    assert [each.rule for each in found] == ["unknown-operator", "wrong-type"]


def test_what_is_directed() -> None:
    data = {"a": {"$patch": "replace", "b": [{}]}, "c": [{"$patch": "delete", "d": 1}, {"d": 1}], "$setElementOrder/c": []}
    directed = [("a",), ("a", "b", 0), ("c", 0, "d"), ("c", 0), ("$setElementOrder/c",), ("a", "no", "such")]
    assert all(is_directed(data, path) for path in directed)
    assert not any(is_directed(data, path) for path in [(), ("c",), ("c", 1, "d"), ("c", 2), ("x", "y")])


def test_a_directive_is_not_a_node_label(tmp_path: Path) -> None:
    text = PATCH + "  template: {spec: {containers: [{name: a}], nodeSelector: {$patch: replace, zone: b}}}\n"
    sources = list(discover([write(tmp_path / "p.yaml", text)]))
    nodes = list(discover([write(tmp_path / "nodes" / "n.yaml", NODES)]))
    assert run(sources, default_settings(), node_files=nodes).findings == []
