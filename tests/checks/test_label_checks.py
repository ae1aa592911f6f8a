"""Selectors and labels that are accepted and miss what they mean: each check at its borders."""

import json
import textwrap

import pytest

from afflint.findings.finding import Finding
from checks.admission.workload_texts import workload
from edited import edited
from linting import lint, messages_of, places

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  labels: {{{own}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{{labels}}}}}
  template:
    metadata: {{labels: {{{labels}}}}}
    spec:
      containers: [{{name: c, image: busybox}}]
{constraints}"""

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{selector: {{{labels}}}}}\n"


def deployment(name: str, labels: str, constraints: str = "", *, own: str = "", replicas: int = 2) -> str:
    indented = "".join(f"      {line}\n" for line in constraints.splitlines())
    return DEPLOYMENT.format(name=name, own=own, labels=labels, replicas=replicas, constraints=indented)


def apart(selector: str) -> str:
    return f"""\
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - labelSelector: {{matchLabels: {{{selector}}}}}
        topologyKey: kubernetes.io/hostname"""


def preferring(selector: str) -> str:
    return f"""\
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        podAffinityTerm:
          labelSelector: {{matchLabels: {{{selector}}}}}
          topologyKey: kubernetes.io/hostname"""


def spreading(selector: str, otherwise: str) -> str:
    return f"""\
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: {otherwise}
    labelSelector: {{matchLabels: {{{selector}}}}}"""


def fixed(files: dict[str, str], findings: list[Finding]) -> str:
    """The file of these findings with their fixes made."""
    (name,) = {each.file for each in findings}
    fixes = [each.fix for each in findings]
    assert None not in fixes
    return edited(files[name], [edit for fix in fixes if fix for edit in fix.edits])


class TestSelectorMatchesNothing:
    def test_label_keys_without_a_selector_are_refused_and_not_reported_twice(self) -> None:
        text = deployment(
            "web",
            "app: web",
            "topologySpreadConstraints:\n"
            "  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [pod-template-hash]}",
        )
        assert [each.rule for each in lint(text)] == ["label-keys-conflict"]

    def test_a_misspelt_selector_is_an_unknown_field_only(self) -> None:
        text = deployment(
            "web",
            "app: web",
            "topologySpreadConstraints:\n"
            "  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelectors: {matchLabels: {app: web}}}",
        )
        assert [each.rule for each in lint(text)] == ["unknown-field"]

    def test_terms_of_a_patch_are_whole(self) -> None:
        """Lists of affinity terms are replaced, never merged; spread constraints are merged by their key."""
        text = """\
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web}
            spec:
              template:
                spec:
                  topologySpreadConstraints:
                    - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
                    - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
                  affinity:
                    podAntiAffinity:
                      requiredDuringSchedulingIgnoredDuringExecution:
                        - topologyKey: kubernetes.io/hostname
            """
        assert places(lint(text)) == ["a.yaml:13:15 warning selector-matches-nothing"]

    def test_a_null_selector_selects_nothing(self) -> None:
        spread = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: }]"
        assert messages_of(deployment("web", "app: web", spread), "selector-matches-nothing") == [
            "13:101 this spread constraint has no labelSelector, so it counts no pod"
        ]


class TestSelectorMatchesEverything:
    def test_an_empty_selector_with_label_keys_is_narrowed_by_them(self) -> None:
        text = deployment(
            "web",
            "app: web",
            "topologySpreadConstraints:\n  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule,"
            " labelSelector: {}, matchLabelKeys: [pod-template-hash]}",
        )
        assert messages_of(text, "selector-matches-everything") == []

    def test_the_message_names_the_reach(self) -> None:
        text = deployment("web", "app: web", apart("").replace("topologyKey", "namespaceSelector: {}\n        topologyKey"))
        assert messages_of(text, "selector-matches-everything") == [
            "16:15 an empty labelSelector matches every pod of its namespaces: none of them may share a topology domain with these pods"
        ]


class TestContradictorySelector:
    def test_it_points_at_what_is_asked_last(self) -> None:
        constraints = """\
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: zone
        labelSelector:
          matchLabels: {app: web}
          matchExpressions:
            - key: app
              operator: DoesNotExist"""
        assert messages_of(deployment("web", "app: web", constraints), "contradictory-selector") == [
            "21:31 no pod can have `app In [web]` and also `app DoesNotExist`, so this selector matches nothing"
        ]

    def test_a_selector_of_namespaces_is_called_one(self) -> None:
        constraints = """\
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: zone
        labelSelector: {matchLabels: {app: web}}
        namespaceSelector:
          matchExpressions:
            - {key: team, operator: In, values: [a]}
            - {key: team, operator: NotIn, values: [a, b]}"""
        assert messages_of(deployment("web", "app: web", constraints), "contradictory-selector") == [
            "21:50 no namespace can have `team In [a]` and also `team NotIn [a, b]`, so this selector matches nothing"
        ]

    def test_a_selector_of_many_values_is_read_in_one_go(self) -> None:
        values = ", ".join(f"v{number}" for number in range(5_000))
        expressions = ", ".join(f"{{key: app, operator: {operator}, values: [{values}]}}" for operator in ("In", "NotIn"))
        term = f"{{topologyKey: zone, labelSelector: {{matchExpressions: [{expressions}]}}}}"
        spec = f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
        text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  containers: [{{name: c, image: i}}]\n  {spec}\n"
        assert len(messages_of(text, "contradictory-selector")) == 1


class TestLabelNotOnTemplate:
    def test_a_service_that_finds_nothing_makes_it_an_error(self) -> None:
        files = {
            "web.yaml": deployment("web", "app: web", own="tier: front"),
            "service.yaml": SERVICE.format(name="web", labels="tier: front"),
        }
        (found,) = lint(files)
        assert places([found]) == ["web.yaml:5:12 error label-not-on-template"]
        assert found.message == (
            "the label `tier: front` is set only on the Deployment itself, not on its pods; the Service selector of Service web selects it"
        )
        assert found.help == "Move or copy it to spec.template.metadata.labels; only labels there reach the pods."
        assert [(each.file, each.span.line) for each in found.related] == [("service.yaml", 4)]

    @pytest.mark.parametrize(
        "asking, level",
        [
            (apart("tier: front"), "error"),
            (apart("tier: front").replace("podAntiAffinity", "podAffinity"), "error"),
            (preferring("tier: front"), "warning"),
            (preferring("tier: front").replace("podAntiAffinity", "podAffinity"), "warning"),
            (spreading("tier: front", "DoNotSchedule"), "error"),
            (spreading("tier: front", "ScheduleAnyway"), "warning"),
        ],
        ids=["required apart", "required together", "preferred apart", "preferred together", "hard spread", "soft spread"],
    )
    def test_it_is_an_error_where_something_fails_without_the_label(self, asking: str, level: str) -> None:
        files = {"api.yaml": deployment("api", "app: api", asking), "web.yaml": deployment("web", "app: web", own="tier: front")}
        found = [each for each in lint(files) if each.rule == "label-not-on-template"]
        assert places(found) == [f"web.yaml:5:12 {level} label-not-on-template"]

    @pytest.mark.parametrize("kind, level", [("PodDisruptionBudget", "error"), ("NetworkPolicy", "warning")])
    def test_a_budget_needs_its_pods_and_a_network_policy_without_pods_forbids_nothing(self, kind: str, level: str) -> None:
        version, field = {
            "PodDisruptionBudget": ("policy/v1", "minAvailable: 1, selector"),
            "NetworkPolicy": ("networking.k8s.io/v1", "podSelector"),
        }[kind]
        asking = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: web}}\nspec: {{{field}: {{matchLabels: {{tier: front}}}}}}\n"
        files = {"asking.yaml": asking, "web.yaml": deployment("web", "app: web", own="tier: front")}
        assert places(lint(files)) == [f"web.yaml:5:12 {level} label-not-on-template"]

    def test_the_selector_that_makes_it_an_error_is_the_one_that_is_named(self) -> None:
        files = {
            "a.yaml": deployment("a", "app: a", preferring("tier: front")),
            "web.yaml": deployment("web", "app: web", own="tier: front, track: new"),
            "z.yaml": SERVICE.format(name="z", labels="tier: front, track: new"),
        }
        (found,) = [each for each in lint(files) if "tier: front" in each.message]
        assert found.message == (
            "the label `tier: front` is set only on the Deployment itself, not on its pods;"
            " the Service selector of Service z selects it, as does one more selector"
        )
        assert found.severity == "error"

    def test_a_selector_that_finds_others_means_those(self) -> None:
        files = {
            "web.yaml": deployment("web", "app: web", own="tier: front"),
            "proxy.yaml": deployment("proxy", "app: proxy, tier: front"),
            "service.yaml": SERVICE.format(name="web", labels="tier: front"),
        }
        assert lint(files) == []

    def test_pods_at_the_other_end_of_the_tree_do_not_hide_it(self) -> None:
        files = {
            "a/b/c/web.yaml": deployment("web", "app: web", apart("tier: front"), own="tier: front"),
            "x/y/z/proxy.yaml": deployment("proxy", "app: proxy, tier: front"),
        }
        assert places(lint(files)) == ["a/b/c/web.yaml:5:12 warning label-not-on-template"]

    def test_a_copy_for_another_cluster_does_not_hide_it_and_its_namesake_in_another_namespace_does(self) -> None:
        asking = deployment("web", "app: web", apart("tier: front").replace("topologyKey", "namespaces: [red, blue]\n        topologyKey"))
        wrong = asking.replace("labels: {}", "labels: {tier: front}").replace("name: web", "namespace: red\n  name: web", 1)
        right = deployment("web", "app: web, tier: front").replace("name: web", "namespace: red\n  name: web", 1)
        copies = {"one/web.yaml": wrong, "two/web.yaml": right}
        assert places(lint(copies)) == ["one/web.yaml:6:12 warning label-not-on-template"]
        namesakes = {"one/web.yaml": wrong, "two/web.yaml": right.replace("namespace: red", "namespace: blue")}
        assert lint(namesakes) == []

    def test_labels_that_a_patch_does_not_repeat_are_not_missing(self) -> None:
        files = {
            "base/service.yaml": SERVICE.format(name="web", labels="tier: front"),
            "base/patch.yaml": """
                apiVersion: apps/v1
                kind: Deployment
                metadata: {name: web, labels: {tier: front}}
                spec: {template: {metadata: {labels: {track: canary}}}}
                """,
        }
        assert lint(files) == []

    def test_the_selector_of_a_controller_says_what_its_pods_have(self) -> None:
        """A base without labels on the template, where the selector shows which labels a kustomization adds."""
        files = {
            "service.yaml": SERVICE.format(name="web", labels="app: web"),
            "web.yaml": """
                apiVersion: apps/v1
                kind: Deployment
                metadata: {name: web, labels: {app: web}}
                spec: {selector: {matchLabels: {app: web}}, template: {spec: {containers: [{name: c}]}}}
                """,
        }
        assert lint(files) == []

    def test_neighbouring_folders_belong_together_when_no_other_workload_has_the_label(self) -> None:
        shop = {
            "shop/web/web.yaml": deployment("web", "name: web", own="app: storefront"),
            "shop/edge/service.yaml": SERVICE.format(name="storefront", labels="app: storefront"),
        }
        assert places(lint(shop)) == ["shop/web/web.yaml:5:12 error label-not-on-template"]
        another = {"shop/copy/web.yaml": deployment("copy", "name: copy", own="app: storefront")}
        assert lint({**shop, **another}) == []

    def test_parts_of_one_application_belong_together(self) -> None:
        own = "app.kubernetes.io/part-of: cd"
        files = {
            "cd/dex/dex.yaml": deployment("dex", "app: dex", apart(own), own=own),
            "cd/web/web.yaml": deployment("web", "app: web", own=own),
            "cd/api/api.yaml": deployment("api", "app: api", own=own),
        }
        assert places(lint(files)) == [
            "cd/api/api.yaml:5:12 error label-not-on-template",
            "cd/dex/dex.yaml:5:12 warning label-not-on-template",
            "cd/web/web.yaml:5:12 error label-not-on-template",
        ]

    def test_every_job_of_a_set_is_held_to_its_own_template(self) -> None:
        text = """\
            apiVersion: jobset.x-k8s.io/v1alpha2
            kind: JobSet
            metadata: {name: train, labels: {team: ml}}
            spec:
              replicatedJobs:
                - name: leader
                  template:
                    spec:
                      template: {metadata: {labels: {role: leader, team: ml}}, spec: {containers: [{name: c, image: busybox}]}}
                - name: worker
                  template:
                    spec:
                      template:
                        metadata: {labels: {role: worker}}
                        spec:
                          containers: [{name: c, image: busybox}]
                          affinity:
                            podAffinity:
                              requiredDuringSchedulingIgnoredDuringExecution:
                                - {labelSelector: {matchLabels: {team: ml}}, topologyKey: kubernetes.io/hostname}
            """
        assert lint(text) == []

    def test_an_object_of_a_list_is_found_in_it(self) -> None:
        text = """\
            apiVersion: v1
            kind: List
            items:
              - apiVersion: v1
                kind: Service
                metadata: {name: web}
                spec: {selector: {tier: front}}
              - apiVersion: kubevirt.io/v1
                kind: VirtualMachine
                metadata:
                  name: web
                  labels:
                    tier: front
                spec:
                  runStrategy: Always
                  template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
            """
        (found,) = lint(text)
        assert places([found]) == ["a.yaml:13:9 error label-not-on-template"]
        assert found.help == "Move or copy it to spec.template.metadata.labels; only labels there reach the pods."

    def test_a_pool_keeps_the_labels_of_its_pods_deeper(self) -> None:
        files = {
            "pool.yaml": """\
                apiVersion: pool.kubevirt.io/v1beta1
                kind: VirtualMachinePool
                metadata: {name: desktops, labels: {app: desktop}}
                spec:
                  replicas: 2
                  selector: {matchLabels: {pool: desktops}}
                  virtualMachineTemplate:
                    metadata: {labels: {pool: desktops}}
                    spec: {runStrategy: Always, template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}}
                """,
            "service.yaml": SERVICE.format(name="desktop", labels="app: desktop"),
        }
        (found,) = lint(files)
        assert "to spec.virtualMachineTemplate.spec.template.metadata.labels;" in found.help

    def test_a_long_list_is_fixed_item_by_item(self) -> None:
        vm = """\
            - apiVersion: kubevirt.io/v1
              kind: VirtualMachine
              metadata:
                name: db-%d
                labels: {db: "%d"}
              spec:
                runStrategy: Always
                template:
                  spec: {domain: {memory: {guest: 1Gi}, devices: {}}}
            """
        items = "".join(textwrap.indent(textwrap.dedent(vm % (number, number)), "  ") for number in range(30))
        services = "".join("---\n" + SERVICE.format(name=f"db-{number}", labels=f'db: "{number}"') for number in range(30))
        text = f"apiVersion: v1\nkind: List\nitems:\n{items}{services}"
        found = lint(text)
        assert len(found) == 30
        assert lint(fixed({"a.yaml": text}, found)) == []


class TestTheFixOfLabelNotOnTemplate:
    """The label is copied to the template, in the style of the file, and then nothing is left to say."""

    VM = 'apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: db\n  labels:\n    app: db  # who it is\n    tier: "1"\n'
    SPEC = "    spec: {domain: {memory: {guest: 1Gi}, devices: {}}}\n"
    ASKING = SERVICE.format(name="db", labels='app: db, tier: "1"')

    @pytest.mark.parametrize(
        "before, after",
        [
            ("", '    metadata:\n      labels:\n        app: db\n        tier: "1"\n'),
            ("    metadata:\n", '    metadata:\n      labels:\n        app: db\n        tier: "1"\n'),
            ("    metadata: {}\n", '    metadata:\n      labels:\n        app: db\n        tier: "1"\n'),
            (
                "    metadata:\n      # none yet\n      annotations: {a: b}\n",
                '    metadata:\n      # none yet\n      annotations: {a: b}\n      labels:\n        app: db\n        tier: "1"\n',
            ),
            ("    metadata: {labels: {os: linux}}\n", '    metadata: {labels: {os: linux, app: db, tier: "1"}}\n'),
            (
                "    metadata:\n      labels:\n        os: linux  # for now\n\n",
                '    metadata:\n      labels:\n        os: linux  # for now\n        app: db\n        tier: "1"\n\n',
            ),
        ],
        ids=["no metadata", "null metadata", "empty metadata", "no labels", "labels in braces", "labels on lines"],
    )
    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_it_goes_where_the_other_labels_are(self, before: str, after: str, newline: str) -> None:
        vm, intended = (
            f"# The database.\n{self.VM}spec:\n  runStrategy: Always\n  template:\n{metadata}{self.SPEC}".replace("\n", newline)
            for metadata in (before, after)
        )
        files = {"service.yaml": self.ASKING, "vm.yaml": vm}
        found = lint(files)
        assert places(found)[:2] == ["vm.yaml:7:5 error label-not-on-template", "vm.yaml:8:5 error label-not-on-template"]
        files["vm.yaml"] = fixed(files, found[:1])
        # Both make what is missing, so one waits for the other.
        files["vm.yaml"] = fixed(files, lint(files))
        assert files["vm.yaml"] == intended
        assert lint(files) == []

    def test_of_the_second_object_of_a_file_and_in_json(self) -> None:
        spec = {"domain": {"memory": {"guest": "1Gi"}, "devices": {}}}
        vm = {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "metadata": {"name": "db", "labels": {"app": "db"}},
            "spec": {"runStrategy": "Always", "template": {"metadata": {}, "spec": spec}},
        }
        service = SERVICE.format(name="db", labels="app: db")
        for indent in (None, 2):
            text = f"{service}---\n{json.dumps(vm, indent=indent)}\n"
            (found,) = lint(text)
            after = fixed({"a.yaml": text}, [found])
            assert lint(after) == []
            vm["spec"] = {"runStrategy": "Always", "template": {"metadata": {"labels": {"app": "db"}}, "spec": spec}}
            assert json.loads(after.removeprefix(f"{service}---\n")) == vm
            vm["spec"] = {"runStrategy": "Always", "template": {"spec": spec}}

    def test_it_is_not_offered_where_more_would_change_or_the_effect_is_unknown(self) -> None:
        template = "    metadata: &m\n      annotations: {a: b}\n"
        shared = f"{self.VM}spec:\n  runStrategy: Always\n  template:\n{template}{self.SPEC}  other: *m\n"
        filled_in = self.VM.replace('"1"', "${TIER}") + f"spec:\n  runStrategy: Always\n  template:\n{self.SPEC}"
        for vm in (shared, filled_in):
            found = lint({"service.yaml": SERVICE.format(name="db", labels="tier: ${TIER}" if "$" in vm else "app: db"), "vm.yaml": vm})
            ours = [each for each in found if each.rule == "label-not-on-template"]
            assert [each.fix for each in ours] == [None]


class TestReservedLabel:
    VM = """\
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: web}
        spec:
          runStrategy: Always
          template:
            metadata: {labels: {%s}}
            spec: {domain: {memory: {guest: 1Gi}, devices: {}}}
        """

    def test_the_value_that_virt_controller_writes_anyway_is_fine(self) -> None:
        assert lint(self.VM % "kubevirt.io: virt-launcher, vm.kubevirt.io/name: web, kubevirt.io/domain: web") == []

    def test_any_other_is_lost(self) -> None:
        assert messages_of(self.VM % "vm.kubevirt.io/name: shop", "reserved-label") == [
            "7:25 virt-controller overwrites the label `vm.kubevirt.io/name` on the pod with the name of the VM"
        ]


@pytest.mark.parametrize(
    "written, read, kind",
    [
        ("on", "true", "a boolean"),
        ("y", "true", "a boolean"),
        ("True", "true", "a boolean"),
        ("n", "false", "a boolean"),
        ("off", "false", "a boolean"),
        ("1.10", "1.1", "a number"),
        ("010", "8", "a number"),
    ],
)
def test_a_label_key_that_yaml_reads_as_a_boolean_or_a_number_is_quoted(written: str, read: str, kind: str) -> None:
    text = workload("Pod", f"nodeSelector: {{{written}: x}}")
    (found,) = [each for each in lint(text) if each.rule == "misread-label-key"]
    assert found.severity == "warning"
    assert found.message == f"YAML reads the unquoted label key `{written}` as {kind}, so the label is called `{read}`"
    assert found.fix is not None
    assert (found.fix.safe, found.fix.edits[0].text) == (False, f'"{written}"')


@pytest.mark.parametrize("key", ['"on"', "'y'", "true", "10", "One", "nO-1", "!!str on"])
def test_a_label_key_that_is_read_as_it_is_written_is_not_reported(key: str) -> None:
    assert not [each for each in lint(workload("Pod", f"nodeSelector: {{{key}: x}}")) if each.rule == "misread-label-key"]


def test_keys_of_labels_and_selectors_are_read_too() -> None:
    text = deployment("web", "on: x", spreading("on: x", ""), own="on: x")
    assert [each.span.line for each in lint(text) if each.rule == "misread-label-key"] == [5, 8, 10, 17]


def test_a_misread_key_beside_the_one_that_is_meant_has_no_fix() -> None:
    (found,) = [each for each in lint(workload("Pod", 'nodeSelector: {on: x, "on": y}')) if each.rule == "misread-label-key"]
    assert found.fix is None
