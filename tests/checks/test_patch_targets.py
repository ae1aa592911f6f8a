"""Patches of a kustomization that select none of its objects."""

import pytest

from linting import lint, places

WEB = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, labels: {app: shop}}\n"
RULE = "patch-without-target"
OPERATIONS = "[{op: add, path: /spec/template/spec/tolerations, value: []}]"


def found(kustomization: str, **others: str) -> list[str]:
    """The findings of the rule in a kustomization, with its position, beside files by name: ``base__kustomization`` is in a folder."""
    files = {f"{name.replace('__', '/')}.yaml": text for name, text in others.items()}
    return [each for each in places(lint({"kustomization.yaml": kustomization, **files})) if each.endswith(RULE)]


def targeted(target: str, more: str = "resources: [web.yaml]") -> str:
    return f"{more}\npatches:\n- target: {{{target}}}\n  patch: '{OPERATIONS}'\n"


@pytest.mark.parametrize(
    "target",
    [
        "kind: Deployment",
        "kind: Deploy.*",
        "kind: StatefulSet|Deployment",
        "group: apps, version: v1, kind: Deployment, name: web",
        "name: w.b",
        "namespace: shop",
        "kind: Deployment, labelSelector: app=shop",
        "kind: Deployment, labelSelector: app in (a)",
        "name: (a+)+b",
        "name: null",
    ],
)
def test_a_target_that_may_select_an_object_is_silent(target: str) -> None:
    assert found(targeted(target), web=WEB) == []


@pytest.mark.parametrize(
    ("target", "column"),
    [
        ("group: Pod, kind: Deployment", 19),
        ("kind: Deploy", 18),
        ("kind: Deployment, name: we", 36),
        ("kind: Deployment, namespace: default", 41),
        ("kind: Deployment, labelSelector: zone=nowhere", 3),
        ("version: v1beta1, group: apps", 21),
    ],
)
def test_a_target_that_selects_nothing_is_reported_at_the_field_that_excludes(target: str, column: int) -> None:
    assert found(targeted(target), web=WEB) == [f"kustomization.yaml:3:{column} warning {RULE}"]


def test_the_message_names_what_the_target_nearly_selects() -> None:
    (each,) = [
        each for each in lint({"kustomization.yaml": targeted("group: Pod, kind: Deployment"), "web.yaml": WEB}) if each.rule == RULE
    ]
    assert each.message == (
        "no object of this kustomization matches the target `group: Pod, kind: Deployment`: the patch changes nothing; "
        "without `group: Pod` it would match Deployment web"
    )


@pytest.mark.parametrize(
    "resources",
    [
        "resources: [web.yaml, https://example.com/app.yaml]",
        "resources: [web.yaml, missing.yaml]",
        "resources: [web.yaml, ../outside]",
        "resources: [web.yaml]\ngenerators: [secrets.yaml]",
        "resources: [web.yaml]\nhelmCharts: [{name: a}]",
        "resources: [web.yaml]\nreplacements: [{path: r.yaml}]",
        "resources: [web.yaml, '${APP}.yaml']",
        "kind: Component\nresources: [web.yaml]",
    ],
)
def test_where_some_objects_are_unknown_it_is_silent(resources: str) -> None:
    assert found(targeted("kind: StatefulSet", resources), web=WEB) == []


def test_a_patch_about_something_else_is_silent() -> None:
    assert found(targeted("kind: StatefulSet").replace("tolerations", "volumes"), web=WEB) == []


@pytest.mark.parametrize(("name", "number"), [("web", 0), ("x-web", 0), ("x-web-y", 0), ("y-web", 1)])
def test_names_before_and_after_a_prefix_are_selected(name: str, number: int) -> None:
    base = "resources: [web.yaml]\nnamePrefix: x-\nnameSuffix: -y\n"
    middle = base.replace("\nnameSuffix: -y", "")
    kustomization = targeted(f"name: {name}", "resources: [base, other]")
    others = {"base__kustomization": base, "base__web": WEB, "other__kustomization": middle, "other__web": WEB}
    assert len(found(kustomization, **others)) == number


def test_generated_objects_may_have_any_name() -> None:
    generator = "configMapGenerator: [{name: a}]"
    assert found(targeted("kind: ConfigMap, name: b-5h7", generator)) == []
    assert len(found(targeted("kind: Deployment", generator))) == 1


def test_patches_of_the_older_field_and_in_a_file() -> None:
    text = "resources: [web.yaml]\npatchesJson6902:\n- target: {version: v1, kind: Pod, name: web}\n  path: patch.yaml\n"
    assert found(text, web=WEB, patch=OPERATIONS) == [f"kustomization.yaml:3:31 warning {RULE}"]
    assert found(text, web=WEB) == [], "the file of the patch is not in the run"


MERGE = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME}\nspec: {template: {spec: {nodeSelector: {disk: ssd}}}}\n"


@pytest.mark.parametrize(("name", "expected"), [("web", []), ("wbe", [f"kustomization.yaml:3:3 error {RULE}"])])
def test_without_its_object_a_merge_patch_fails_the_build(name: str, expected: list[str]) -> None:
    patch = MERGE.replace("NAME", name)
    assert found("resources: [web.yaml]\npatches:\n- path: patch.yaml\n", web=WEB, patch=patch) == expected
    older = [each.replace("3:3", "2:25") for each in expected]
    assert found("resources: [web.yaml]\npatchesStrategicMerge: [patch.yaml]\n", web=WEB, patch=patch) == older


def test_kustomizations_that_include_each_other_are_unknown() -> None:
    other = "resources: [../]\n"
    assert found(targeted("kind: Deployment", "resources: [other]"), other__kustomization=other) == []


FLUX = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop}
spec:
  path: ./apps/shop
  sourceRef: {kind: GitRepository, name: home}
  MORE
  patches:
    - target: {kind: TARGET}
      patch: '[{op: add, path: /spec/template/spec/tolerations, value: []}]'
"""


def of_flux(
    target: str, more: str = "prune: true", *, path: str = "./apps/shop", kustomization: str = "resources: [web.yaml]\n"
) -> list[str]:
    """The findings of the rule in an object of Flux, beside the kustomization of the folder ``apps/shop``."""
    flux = FLUX.replace("TARGET", target).replace("MORE", more).replace("./apps/shop", path)
    files = {"flux/shop.yaml": flux, "apps/shop/kustomization.yaml": kustomization, "apps/shop/web.yaml": WEB}
    return [each for each in places(lint(files)) if each.endswith(RULE)]


def test_a_patch_of_flux_without_an_object_is_reported_in_the_object_of_flux() -> None:
    assert of_flux("Deployment") == []
    assert of_flux("Deployment, namespace: shop") == []
    assert of_flux("StatefulSet") == [f"flux/shop.yaml:13:22 warning {RULE}"]
    assert of_flux("Deployment, name: wed") == [f"flux/shop.yaml:13:40 warning {RULE}"]


def test_the_namespace_that_flux_sets_counts() -> None:
    assert of_flux("Deployment, namespace: store", "targetNamespace: store") == []
    assert of_flux("Deployment, namespace: other", "targetNamespace: store") == [f"flux/shop.yaml:13:45 warning {RULE}"]


@pytest.mark.parametrize("more", ["components: [../parts]", "namePrefix: a-", "nameSuffix: -a"])
def test_what_flux_adds_makes_the_objects_unknown(more: str) -> None:
    assert of_flux("StatefulSet", more) == []


@pytest.mark.parametrize("path", ["./", "./shop", "./apps/other", "./apps/${APP}", "../apps/shop"])
def test_a_folder_that_may_be_in_another_repository_is_silent(path: str) -> None:
    assert of_flux("StatefulSet", path=path) == []


def test_objects_that_the_run_does_not_have_are_unknown_to_flux() -> None:
    assert of_flux("StatefulSet", kustomization="resources: [web.yaml, https://example.com/more.yaml]\n") == []


def test_patches_in_older_objects_of_flux_are_data() -> None:
    operations = "patchesJson6902: [{target: {kind: Job}, patch: [{op: add, path: /spec/template/spec/tolerations, value: []}]}]"
    assert of_flux("Deployment", operations) == [f"flux/shop.yaml:11:37 warning {RULE}"]
    spec = "{template: {spec: {tolerations: []}}}"
    merged = f"patchesStrategicMerge: [{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: NAME}}, spec: {spec}}}]"
    assert of_flux("Deployment", merged.replace("NAME", "web")) == []
    assert of_flux("Deployment", merged.replace("NAME", "other")) == [f"flux/shop.yaml:11:28 error {RULE}"]


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        (
            "Deployment",
            "/spec/template/nodeSelector",
            "{disk: ssd}",
            "nodeSelector is not a field of the pod template; it belongs in spec.template.spec (in `patch.yaml`, line 1)",
        ),
        (
            "StatefulSet",
            "/spec/template/spec/nodeSelector",
            "disk=ssd",
            "`nodeSelector` must be a map, not a string (in `patch.yaml`, line 1)",
        ),
        ("Deployment", "/spec/template/spec/nodeSelector", "{disk: ssd}", None),
        ("HelmRelease", "/spec/nodeSelector", "{disk: ssd}", None),
        ("null", "/spec/nodeSelector", "{disk: ssd}", None),
        ("Job, group: batch.volcano.sh", "/spec/nodeSelector", "{disk: ssd}", None),
        ("Job", "/spec/tasks/0/template/spec/nodeSelector", "disk=ssd", None),
    ],
)
def test_an_operation_in_a_file_of_patches(kind: str, path: str, value: str, message: str | None) -> None:
    files = {
        "kustomization.yaml": f"resources: [https://example.com/base]\npatches:\n- path: patch.yaml\n  target: {{kind: {kind}}}\n",
        "patch.yaml": f"- {{op: add, path: {path}, value: {value}}}\n",
    }
    found = lint(files)
    assert [each.message for each in found] == ([] if message is None else [message])
    assert all((each.span.line, each.span.column) == (3, 9) for each in found)


def test_an_operation_for_a_kind_that_another_group_has_too() -> None:
    def findings(target: str, version: str) -> list[str]:
        job = f"apiVersion: {version}\nkind: Job\nmetadata: {{name: train}}\n"
        kustomization = f"resources: [job.yaml]\npatches:\n- path: patch.yaml\n  target: {{{target}}}\n"
        patch = "- {op: add, path: /spec/nodeSelector, value: {disk: ssd}}\n"
        return [each.rule for each in lint({"kustomization.yaml": kustomization, "job.yaml": job, "patch.yaml": patch})]

    assert findings("kind: Job", "batch/v1") == ["misplaced-constraint"]
    assert findings("kind: Job", "batch.volcano.sh/v1alpha1") == []
    assert "misplaced-constraint" in findings("kind: Job, group: batch", "batch.volcano.sh/v1alpha1")
