"""Policies as rules: how severe they are, their messages, what silences them, and which files they may be in."""

import os
import textwrap
from pathlib import Path

import pytest

from afflint.config import ConfigError
from afflint.findings.finding import Finding
from afflint.pipeline.options import Options
from afflint.pipeline.results import Keys
from afflint.source.sources import Source
from policing import findings_of, messages_of, session_of

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  nodeSelector: {kubernetes.io/hostname: n1}
  containers: [{name: web, image: nginx}]
"""
PINNED = "- {name: no-hosts, check: no-pinning%s}\n"


def policed(folder: Path, policy: str, text: str = POD, more: str = "") -> list[Finding]:
    return [each for each in findings_of(folder, policy, text, more) if each.category == "policy"]


class TestSeverity:
    @pytest.mark.parametrize(
        "policy, more, expected",
        [
            (PINNED % "", "", "warning"),
            (PINNED % ", severity: error", "", "error"),
            (PINNED % ", severity: error", "severity: {no-hosts: info}\n", "info"),
        ],
    )
    def test_of_the_policy_or_of_the_configuration(self, tmp_path: Path, policy: str, more: str, expected: str) -> None:
        assert [(each.rule, each.category, each.severity) for each in policed(tmp_path, policy, more=more)] == [
            ("no-hosts", "policy", expected)
        ]


class TestMessage:
    OWN = "Pod web is restricted to the node `n1` by name"
    REMEDY = "Select a label that several nodes have."

    def test_the_check_speaks_for_itself(self, tmp_path: Path) -> None:
        (found,) = policed(tmp_path, PINNED % "")
        assert (found.message, found.help) == (self.OWN, self.REMEDY)

    def test_what_the_check_says_goes_in_front_of_the_help(self, tmp_path: Path) -> None:
        (found,) = policed(tmp_path, PINNED % ', message: "{kind} {name} of {namespace} breaks {policy}"')
        assert found.message == "Pod web of shop breaks no-hosts"
        assert found.help == f"{self.OWN}. {self.REMEDY}"

    def test_or_where_the_message_has_it(self, tmp_path: Path) -> None:
        (found,) = policed(tmp_path, PINNED % ', message: "{{{object}}}: {message}"')
        assert (found.message, found.help) == (f"{{Pod web}}: {self.OWN}", self.REMEDY)

    @pytest.mark.parametrize(
        "message, mistake",
        [
            ("{objekt}", "unknown field `{objekt}`; did you mean `{object}`?"),
            ("{object.__class__}", "unknown field `{object.__class__}`; the fields are `{object}`, `{kind}`, "),
            ("{name!r:>1000000}", "unknown field `{name!r:>1000000}`; the fields are `{object}`, `{kind}`, "),
            ("{0}", "unknown field `{0}`; the fields are `{object}`, `{kind}`, "),
            ("100 {", "unmatched `{`; write `{{` for a literal brace"),
            ("} of", "unmatched `}`; write `}}` for a literal brace"),
        ],
    )
    def test_nothing_but_its_fields_means_anything(self, tmp_path: Path, message: str, mistake: str) -> None:
        with pytest.raises(ConfigError) as caught:
            session_of(tmp_path, PINNED % f', message: "{message}"')
        assert f":2:48: {mistake}" in str(caught.value)


class TestSelection:
    """Names of policies, and their category, can be used like those of rules."""

    @pytest.mark.parametrize(
        "more, found",
        [
            ("ignore: [no-hosts]\n", False),
            ("ignore: [policy]\n", False),
            ("select: [admission]\n", False),
            ("select: [admission, policy]\n", True),
            ("ignore: [policy]\nextend-select: [no-hosts]\n", True),
            ('per-file-ignores: {"*.yaml": [no-hosts]}\n', False),
            ('per-file-ignores: {"*.yaml": [policy]}\n', False),
            ('per-file-ignores: {"b.yaml": [policy]}\n', True),
        ],
    )
    def test_in_the_configuration(self, tmp_path: Path, more: str, found: bool) -> None:
        assert bool(policed(tmp_path, PINNED % "", more=more)) is found


class TestSuppressions:
    LINE = POD.replace("n1}", "n1}  # afflint: ignore[%s] -- it has the disk")

    @pytest.mark.parametrize("word", ["no-hosts", "policy", "all"])
    def test_they_silence_a_policy(self, tmp_path: Path, word: str) -> None:
        assert findings_of(tmp_path, PINNED % "", self.LINE % word) == []

    def test_a_misspelt_one_is_reported(self, tmp_path: Path) -> None:
        found = findings_of(tmp_path, PINNED % "", self.LINE % "no-host")
        assert [each.message for each in found if each.rule == "invalid-suppression"] == [
            "unknown rule `no-host`; did you mean `no-hosts`?"
        ]

    def test_one_that_does_not_run_is_still_known(self, tmp_path: Path) -> None:
        assert findings_of(tmp_path, PINNED % "", self.LINE % "no-hosts", more="ignore: [no-hosts]\n") == []

    def test_the_annotation(self, tmp_path: Path) -> None:
        text = POD.replace("namespace: shop", 'namespace: shop, annotations: {afflint.dev/ignore: "no-hosts: it has the disk"}')
        assert findings_of(tmp_path, PINNED % "", text) == []

    def test_nothing_in_a_manifest_silences_one_that_is_mandatory(self, tmp_path: Path) -> None:
        for text in (
            self.LINE % "no-hosts",
            self.LINE % "all",
            f"# afflint: ignore-file\n{POD}",
            POD.replace("namespace: shop", 'namespace: shop, annotations: {afflint.dev/ignore: "no-hosts: it has the disk"}'),
        ):
            assert [each.rule for each in policed(tmp_path, PINNED % ", mandatory: true", text)] == ["no-hosts"]

    def test_and_that_is_reported(self, tmp_path: Path) -> None:
        found = findings_of(tmp_path, PINNED % ", mandatory: true", self.LINE % "no-hosts")
        assert [(each.rule, each.message) for each in found] == [
            ("no-hosts", TestMessage.OWN),
            ("unused-suppression", "`no-hosts` is mandatory: a suppression in a manifest has no effect on it"),
        ]

    @pytest.mark.parametrize("word", ["", "[all]", "[policy]"])
    def test_where_no_name_says_what_is_meant_too(self, tmp_path: Path, word: str) -> None:
        text = POD.replace("n1}", f"n1}}  # afflint: ignore{word}")
        found = findings_of(tmp_path, PINNED % ", mandatory: true", text)
        assert [each.message for each in found if each.rule == "unused-suppression"] == [
            "`no-hosts` is mandatory: a suppression in a manifest has no effect on it"
        ]

    @pytest.mark.parametrize(
        "text",
        [
            LINE.replace("kubernetes.io/hostname", "disk") % "no-hosts",
            "# afflint: ignore-file[no-hosts]\n" + POD.replace("kubernetes.io/hostname", "disk"),
            POD.replace("kubernetes.io/hostname", "disk").replace("shop", 'shop, annotations: {afflint.dev/ignore: "no-hosts: x"}'),
        ],
    )
    def test_one_that_silences_nothing_is_reported(self, tmp_path: Path, text: str) -> None:
        found = findings_of(tmp_path, PINNED % "", text)
        assert [(each.rule, each.message) for each in found] == [
            ("unused-suppression", "this suppression silences nothing: afflint reports no `no-hosts` here")
        ]

    HPA = """\
        apiVersion: autoscaling/v2
        kind: HorizontalPodAutoscaler
        metadata: {name: web}
        spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 1, maxReplicas: 5}
    """
    DEPLOYMENT = """\
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          replicas: 1
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec:
              nodeSelector: {kubernetes.io/hostname: n1}  # afflint: ignore[no-hosts]
              containers: [{name: web, image: web}]
    """

    def test_not_where_other_manifests_may_tell_otherwise(self, tmp_path: Path) -> None:
        many = PINNED % ", match: {min-replicas: 3}"
        assert findings_of(tmp_path, many, self.DEPLOYMENT) == []
        assert findings_of(tmp_path, many, {"web.yaml": self.DEPLOYMENT, "scaler.yaml": self.HPA}) == []
        certain = self.DEPLOYMENT.replace("kind: Deployment", "kind: DaemonSet").replace("replicas: 1", "minReadySeconds: 1")
        assert [each.rule for each in findings_of(tmp_path, many, certain)] == ["unused-suppression"]

    def test_for_a_file_all_its_documents_are_asked(self, tmp_path: Path) -> None:
        many = PINNED % ", match: {min-replicas: 3}"
        open_ended = textwrap.dedent(self.DEPLOYMENT).replace("  # afflint: ignore[no-hosts]", "")
        certain = open_ended.replace("kind: Deployment", "kind: DaemonSet").replace("replicas: 1", "minReadySeconds: 1")
        comment = "# afflint: ignore-file[no-hosts]\n"
        assert [each.rule for each in findings_of(tmp_path, many, comment + certain)] == ["unused-suppression"]
        assert findings_of(tmp_path, many, f"{comment}{certain}---\n{open_ended}") == []

    def test_not_in_a_patch_nor_of_an_outcome(self, tmp_path: Path) -> None:
        patch = """\
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web}
            spec:
              template:
                spec:
                  nodeSelector: {disk: ssd}  # afflint: ignore[no-hosts]
        """
        assert findings_of(tmp_path, PINNED % "", patch) == []
        assert findings_of(tmp_path, "- {name: has-room, check: fits}\n", self.LINE % "has-room") == []

    def test_of_several_documents_each_is_asked_alone(self, tmp_path: Path) -> None:
        fine = self.LINE.replace("kubernetes.io/hostname", "disk") % "no-hosts"
        found = findings_of(tmp_path, PINNED % "", f"{self.LINE % 'no-hosts'}---\n{fine}")
        assert [(each.rule, each.document) for each in found] == [("unused-suppression", 1)]
        assert (
            findings_of(tmp_path, PINNED % "", f"# afflint: ignore-file[no-hosts]\n{POD}---\n{fine.replace('  # afflint', ' # was')}") == []
        )

    def test_a_patch_in_the_same_document_may_be_meant(self, tmp_path: Path) -> None:
        """The findings about a patch are in the file of the object that it changes."""
        pods = POD.replace("kubernetes.io/hostname", "disk")
        patch = "apiVersion: v1\nkind: Pod\nmetadata: {name: till}\nspec: {nodeSelector: {disk: ssd}}\n"
        items = [f"- {each.rstrip().replace(chr(10), chr(10) + '  ')}\n" for each in (pods, patch)]
        head = "# afflint: ignore-document[no-hosts]\napiVersion: v1\nkind: List\nitems:\n"
        assert [each.rule for each in findings_of(tmp_path, PINNED % "", head + items[0])] == ["unused-suppression"]
        assert findings_of(tmp_path, PINNED % "", f"{head}{items[0]}{items[1]}") == []
        assert findings_of(tmp_path, PINNED % "", f"{head}{items[1]}{items[0]}") == []

    def test_a_resource_of_an_unknown_kind_may_be_meant(self, tmp_path: Path) -> None:
        pods = "# afflint: ignore-file[no-hosts]\n" + POD.replace("kubernetes.io/hostname", "disk")
        shape = "spec: {template: {spec: {tolerations: [{key: a, operator: Exists}], containers: [{name: c, image: i}]}}}"
        custom = f"apiVersion: example.com/v1\nkind: Farm\nmetadata: {{name: web}}\n{shape}\n"
        assert [each.rule for each in findings_of(tmp_path, PINNED % "", pods)] == ["unused-suppression"]
        assert findings_of(tmp_path, PINNED % "", f"{pods}---\n{custom}") == []

    def test_the_configuration_may(self, tmp_path: Path) -> None:
        assert policed(tmp_path, PINNED % ", mandatory: true", more="ignore: [no-hosts]\n") == []


def test_a_baseline_keeps_them_silent(tmp_path: Path) -> None:
    from collections import Counter

    from afflint.pipeline.baseline import Baseline, BaselineEntry

    session = session_of(tmp_path, PINNED % ", mandatory: true")
    source = Source("web.yaml", str(tmp_path / "web.yaml"), POD.encode())
    (found,) = session.check([source]).findings
    entry = BaselineEntry("no-hosts", "Pod", "shop", "web", "web.yaml", found.field)
    outcome = session.check([source], Options(baseline=Baseline(Counter({entry: 1}))))
    assert (outcome.findings, outcome.summary.suppressed) == ([], 1)


class TestWhatIsKept:
    def test_the_policies_are_part_of_what_a_result_is_known_by(self, tmp_path: Path) -> None:
        settings = [
            session_of(tmp_path, policies).settings()
            for policies in (
                "",
                PINNED % "",
                PINNED % ", params: {several: false}",
                PINNED % ", match: {kinds: Pod}",
                PINNED % ", exclude: {kinds: Pod}",
                "- {name: no-host, check: no-pinning}\n",
            )
        ]
        assert len({Keys(each).settings for each in settings}) == len(settings)

    def test_where_the_configuration_lies_is_not(self, tmp_path: Path) -> None:
        """So that the machines of a build share what they keep."""
        for name in ("one", "other"):
            (tmp_path / name).mkdir()
        assert (
            len({Keys(session_of(tmp_path / name, PINNED % ", match: {files: a.yaml}").settings()).settings for name in ("one", "other")})
            == 1
        )

    def test_what_is_kept_says_the_same(self, tmp_path: Path) -> None:
        sources = []
        for number in range(70):
            path = tmp_path / f"{number:02}.yaml"
            path.write_text(POD.replace("web", f"web-{number}"), "utf-8")
            sources.append(Source(path.name, str(path)))
        options = Options(cache=str(tmp_path / "kept"))
        first = session_of(tmp_path, PINNED % "").check(sources, options).findings
        assert [each.rule for each in first] == ["no-hosts"] * 70
        assert session_of(tmp_path, PINNED % "").check(sources, options).findings == first
        assert session_of(tmp_path, PINNED % ", match: {names: web-1*}").check(sources, options).findings == [
            each for each in first if each.object.name is not None and each.object.name.startswith("web-1")
        ]

    def test_workloads_that_obey_cost_nothing(self, tmp_path: Path) -> None:
        """Nothing of them goes from the map step to the reduce step."""
        from afflint.pipeline.map_step import Checker

        checker = Checker(session_of(tmp_path, PINNED % "").settings())
        assert checker.check("a.yaml", POD.replace("kubernetes.io/hostname", "disk").encode()).facts.policy_candidates == ()
        assert [each.policies for each in checker.check("a.yaml", POD.encode()).facts.policy_candidates] == [("no-hosts",)]


class TestFiles:
    def test_the_context_is_not_judged(self, tmp_path: Path) -> None:
        (tmp_path / "other.yaml").write_text(POD, "utf-8")
        assert (
            messages_of(
                tmp_path, PINNED % "", {"a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"}, 'context: ["*.yaml"]\n'
            )
            == []
        )

    def test_a_policy_may_be_about_files(self, tmp_path: Path) -> None:
        files = {"deploy/a.yaml": POD, "test/a.yaml": POD}
        place = "5:42 Pod web is restricted to the node `n1` by name"
        assert messages_of(tmp_path, PINNED % ", match: {files: deploy/}", files) == [f"deploy/a.yaml:{place}"]
        assert messages_of(tmp_path, PINNED % ", exclude: {files: 'te*/**'}", files) == [f"deploy/a.yaml:{place}"]

    def test_what_is_rendered_lies_in_the_folder_of_its_root(self, tmp_path: Path) -> None:
        name = f"<kustomize {os.path.join(str(tmp_path), 'overlays', 'prod')}>"
        for globs, number in (("overlays/prod/", 1), ("overlays/test/", 0)):
            session = session_of(tmp_path, PINNED % f", match: {{files: {globs}}}")
            assert len(session.check([Source(name, name, POD.encode())]).findings) == number
