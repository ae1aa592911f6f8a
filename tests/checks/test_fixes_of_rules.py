"""How the fixes of rules change manifests, in the style of the file, and where no fix is offered because the intention is unclear."""

import textwrap

from fixed_text import becomes, fix_by_rule, stays


def pod(spec: str) -> str:
    return textwrap.dedent(
        """\
        apiVersion: v1
        kind: Pod
        metadata: {name: web}
        spec:
          containers: [{name: web, image: web}]
        """
    ) + textwrap.indent(textwrap.dedent(spec), "  ")


def deployment(above: str, spec: str, labels: str = "metadata: {labels: {app: web}}") -> str:
    """A Deployment with fields in its own spec, and in that of its pods."""
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n"
        + textwrap.indent(textwrap.dedent(above), "  ")
        + f"  template:\n    {labels}\n    spec:\n      containers: [{{name: web, image: web}}]\n"
        + textwrap.indent(textwrap.dedent(spec), "      ")
    )


class TestMisplacedConstraint:
    def test_fields_of_the_pods_in_the_spec_of_their_controller(self) -> None:
        assert becomes(
            "misplaced-constraint",
            deployment(
                "# the pool\ntolerations:\n  - {key: gpu}  # all\naffinity:\n  podAntiAffinity: {}\n", "terminationGracePeriodSeconds: 5\n"
            ),
            deployment(
                "", "terminationGracePeriodSeconds: 5\n# the pool\ntolerations:\n  - {key: gpu}  # all\naffinity:\n  podAntiAffinity: {}\n"
            ),
        )

    def test_what_is_there_is_merged_with(self) -> None:
        assert becomes(
            "misplaced-constraint",
            deployment("nodeSelector:\n  disk: ssd\n  zone: a  # why\n", "nodeSelector:\n  arch: arm\n"),
            deployment("", "nodeSelector:\n  arch: arm\n  disk: ssd\n  zone: a  # why\n"),
        )

    def test_but_not_where_the_two_contradict_each_other_or_are_lists(self) -> None:
        assert stays("misplaced-constraint", deployment("nodeSelector:\n  disk: ssd\n", "nodeSelector:\n  disk: hdd\n"))
        assert stays("misplaced-constraint", deployment("tolerations: [{key: a}]\n", "tolerations: [{key: b}]\n"))

    def test_no_word_is_written_in_another_way(self) -> None:
        assert stays("misplaced-constraint", deployment("", "", labels="labels: {x: y}\n    metadata: {labels: {app: web}}"))
        assert becomes(
            "misplaced-constraint",
            deployment("", "", labels="labels: {x: z}\n    metadata: {labels: {app: web}}"),
            deployment("", "", labels="metadata: {labels: {app: web, x: z}}"),
        )

    def test_a_topology_key_inside_the_selector(self) -> None:
        term = "affinity:\n  podAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
        assert becomes(
            "misplaced-constraint",
            pod(term + "    - labelSelector:\n        matchLabels: {app: db}\n        topologyKey: zone  # of the db\n"),
            pod(term + "    - labelSelector:\n        matchLabels: {app: db}\n      topologyKey: zone  # of the db\n"),
        )
        assert becomes(
            "misplaced-constraint",
            pod(term + "    - labelSelector:\n        matchExpressions:\n        - {key: app, operator: Exists, topologyKey: zone}\n"),
            pod(
                term + "    - labelSelector:\n        matchExpressions:\n        - {key: app, operator: Exists}\n      topologyKey: zone\n"
            ),
        )

    def test_labels_without_their_selector(self) -> None:
        before = "topologySpreadConstraints:\n- maxSkew: 1\n  topologyKey: zone\n  whenUnsatisfiable: DoNotSchedule\n"
        assert becomes(
            "misplaced-constraint",
            pod(before + "  matchLabels:\n    app: web\n"),
            pod(before + "  labelSelector:\n    matchLabels:\n      app: web\n"),
        )

    def test_fields_that_slipped_below_the_node_selector(self) -> None:
        assert becomes(
            "misplaced-constraint",
            pod("nodeSelector:\n  disk: ssd\n  tolerations:\n  - {key: gpu}\n  affinity: {}\n"),
            pod("nodeSelector:\n  disk: ssd\ntolerations:\n- {key: gpu}\naffinity: {}\n"),
        )
        assert becomes("misplaced-constraint", pod("nodeSelector:\n  matchLabels:\n    disk: ssd\n"), pod("nodeSelector:\n  disk: ssd\n"))


class TestUnknownField:
    def test_a_field_of_another_level_is_moved_there(self) -> None:
        assert becomes("unknown-field", deployment("restartPolicy: Always\n", ""), deployment("", "restartPolicy: Always\n"))

    def test_but_not_where_it_is_already_set(self) -> None:
        assert stays("unknown-field", deployment("restartPolicy: Always\n", "restartPolicy: Never\n"))


class TestMissingTermWrapper:
    PREFERRED = "affinity:\n  podAffinity:\n    preferredDuringSchedulingIgnoredDuringExecution:\n"
    REQUIRED = "affinity:\n  podAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
    NODES = "affinity:\n  nodeAffinity:\n"

    def test_around_a_preferred_term(self) -> None:
        assert becomes(
            "missing-term-wrapper",
            pod(
                self.PREFERRED
                + "    # near\n    - labelSelector:  # the db\n        matchLabels: {app: db}\n      topologyKey: zone\n      weight: 5\n"
            ),
            pod(
                self.PREFERRED
                + "    # near\n    - weight: 5\n      podAffinityTerm:\n        labelSelector:  # the db\n"
                + "          matchLabels: {app: db}\n        topologyKey: zone\n"
            ),
        )
        assert becomes(
            "missing-term-wrapper",
            pod(self.PREFERRED + "    - {weight: 5, topologyKey: zone, labelSelector: {}}\n"),
            pod(self.PREFERRED + "    - {weight: 5, podAffinityTerm: {topologyKey: zone, labelSelector: {}}}\n"),
        )

    def test_off_a_required_one_unless_it_may_be_a_preference(self) -> None:
        wrapped = "    - podAffinityTerm:\n        labelSelector:\n          matchLabels: {app: db}\n        topologyKey: zone  # near\n"
        bare = "    - labelSelector:\n        matchLabels: {app: db}\n      topologyKey: zone  # near\n"
        assert becomes("missing-term-wrapper", pod(self.REQUIRED + wrapped), pod(self.REQUIRED + bare))
        assert stays("missing-term-wrapper", pod(self.REQUIRED + wrapped + "      weight: 5\n"))
        # A comment above the first of its fields has no place behind the dash.
        assert stays(
            "missing-term-wrapper", pod(self.REQUIRED + wrapped.replace("        labelSelector", "        # db\n        labelSelector"))
        )

    def test_a_weight_inside_the_term(self) -> None:
        assert becomes(
            "missing-term-wrapper",
            pod(self.PREFERRED + "    - podAffinityTerm:\n        topologyKey: zone\n        labelSelector: {}\n        weight: 5\n"),
            pod(self.PREFERRED + "    - podAffinityTerm:\n        topologyKey: zone\n        labelSelector: {}\n      weight: 5\n"),
        )

    def test_terms_about_nodes(self) -> None:
        expression = "matchExpressions:\n{0}- {{key: disk, operator: Exists}}\n"
        required, preferred = (f"    {word}DuringSchedulingIgnoredDuringExecution:\n" for word in ("required", "preferred"))
        assert becomes(
            "missing-term-wrapper",
            pod(self.NODES + required + "      # fast\n      " + expression.format("        ")),
            pod(self.NODES + required + "      nodeSelectorTerms:\n        # fast\n        - " + expression.format("            ")),
        )
        assert becomes(
            "missing-term-wrapper",
            pod(self.NODES + preferred + "    - weight: 1\n      " + expression.format("      ")),
            pod(self.NODES + preferred + "    - weight: 1\n      preference:\n        " + expression.format("        ")),
        )


def test_a_descheduler_annotation_goes_to_the_template() -> None:
    machine = (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: db\n{}spec:\n  runStrategy: Always\n"
        "  template:\n{}    spec:\n      domain: {{devices: {{}}}}\n"
    )
    annotation = 'annotations:\n{0}# for the descheduler\n{0}descheduler.alpha.kubernetes.io/evict: "true"\n'
    assert becomes(
        "misplaced-descheduler-annotation",
        machine.format("  " + annotation.format("    "), ""),
        machine.format("", "    metadata:\n      " + annotation.format("        ")),
    )


def test_a_superfluous_toleration_goes_with_its_comment() -> None:
    assert becomes(
        "shadowed-toleration",
        pod("tolerations:\n# any gpu\n- {key: gpu, operator: Exists}\n# this one, too\n- {key: gpu, operator: Equal, value: a}\n"),
        pod("tolerations:\n# any gpu\n- {key: gpu, operator: Exists}\n"),
    )


def test_a_preference_for_what_is_required_goes() -> None:
    required = (
        "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n"
        "      - matchExpressions:\n        - {key: disk, operator: In, values: [ssd]}\n"
    )
    preferred = (
        "    preferredDuringSchedulingIgnoredDuringExecution:\n    - weight: 1\n      preference:\n        matchExpressions:\n"
        "        - {key: disk, operator: Exists}\n"
    )
    assert becomes("redundant-term", pod(required + preferred), pod(required))


def test_an_api_version_is_replaced_where_the_new_one_is_a_drop_in() -> None:
    text = deployment("", "")
    old = text.replace("apps/v1\n", "apps/v1beta2\n")
    assert becomes("unserved-api-version", old, text)
    without = old.replace("  selector: {matchLabels: {app: web}}\n", "")
    assert stays("unserved-api-version", without)
    assert stays("unserved-api-version", text.replace("apps/v1\n", "extensions/v1beta1\n"))


def test_a_number_is_quoted_where_its_field_takes_the_string() -> None:
    assert becomes("wrong-type", pod("nodeSelector: {a: 1, b: yes}\n"), pod('nodeSelector: {a: "1", b: "yes"}\n'))
    assert stays("wrong-type", pod("nodeSelector: {a: -1}\n"))
    assert stays("wrong-type", pod("tolerations: [{key: a, operator: 1}]\n"))
    assert fix_by_rule("wrong-type", pod("tolerations: [{key: a, value: 5}]\n")).endswith('value: "5"}]\n')


class TestDuplicateKey:
    def test_a_finding_that_is_made_twice_is_reported_once(self) -> None:
        selector = "nodeSelector:\n  disk: ssd\n  zone: a\n"
        assert becomes(
            "duplicate-key", pod(f"{selector}priority: 1\n{selector}tolerations: []\n"), pod(f"{selector}priority: 1\ntolerations: []\n")
        )
        assert becomes("duplicate-key", pod("nodeSelector: {a: b, c: d, a: b}\n"), pod("nodeSelector: {a: b, c: d}\n"))

    def test_but_nothing_goes_that_says_something(self) -> None:
        assert stays("duplicate-key", pod("nodeSelector:\n  disk: ssd\nnodeSelector:\n  disk: hdd\n"))
        assert stays("duplicate-key", pod('nodeSelector:\n  a: "1"\n  a: 1\n'))
        assert stays("duplicate-key", pod("nodeSelector:\n  a: b\n  a: b  # really\n"))
        assert stays("duplicate-key", pod("nodeSelector:\n  a: b\n  a: b\n  a: b\n"))
        assert stays("duplicate-key", pod("nodeSelector: &s\n  a: b\n  a: b\n"))


def test_a_separator_comes_above_the_comments_of_the_second_object() -> None:
    first = pod("tolerations:\n- key: gpu\n# the end of the first\n")
    assert becomes("missing-separator", first + "# the second\n" + pod(""), first + "---\n# the second\n" + pod(""))
