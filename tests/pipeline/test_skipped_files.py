"""Files that are neither manifests nor values are skipped and counted, whatever their names are: encrypted files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import Afflint, exit_code

Report = Callable[..., list[str]]

_SOPS = "sops:\n  age:\n  - recipient: age1x\n  lastmodified: '2026-01-01T00:00:00Z'\n  mac: ENC[AES256_GCM,data:m==,type:str]\n"


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Report:
    """The lines of ``afflint check`` over the folder."""

    def report(*options: str) -> list[str]:
        assert exit_code(monkeypatch, "check", *options, ".") == 0
        return capsys.readouterr().out.splitlines()

    return report


@pytest.mark.parametrize(
    ("data", "by"),
    [
        (b"\0GITCRYPT\0\x7a\x12\xdbabc", "git-crypt"),
        (b"age-encryption.org/v1\n-> X25519 abc\n\xff\0\x81", "age"),
        (b"-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----\n", "age"),
        (b"-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n", "PGP"),
        (b"\x85\x01\x0c\x03\xaa\xbb\xcc\xdd\xee\xff\x00\x11\x01\x07", "PGP"),
        (b"\x84\x5e\x03\xaa\xbb\xcc\xdd", "PGP"),
        (b"\xc1\xc0\x4c\x03\xaa\xbb", "PGP"),
        (b"\x8c\x0d\x04\x09\x03\x08", "PGP"),
        (b"$ANSIBLE_VAULT;1.1;AES256\n3131\n", "Ansible Vault"),
        (b"U2FsdGVkX1+abcd==\n", "OpenSSL"),
        (b'{"data": "ENC[AES256_GCM,data:x==,type:str]", "sops": {"age": [], "lastmodified": "2026"}}', "SOPS"),
        (b"nodeSelector:\n  disk: ENC[AES256_GCM,data:x==,type:str]\n#ENC[AES256_GCM,data:x==]\nnone: null\n" + _SOPS.encode(), "SOPS"),
        (b"kind: ENC[AES256_GCM,data:x==,type:str]\ntolerations:\n- key: ENC[AES256_GCM,data:x==]\n" + _SOPS.encode(), "SOPS"),
    ],
)
@pytest.mark.parametrize("name", ["a.yaml", "values.yaml", "secret.json"])
def test_an_encrypted_file_is_counted_and_not_an_error(project: Path, report: Report, name: str, data: bytes, by: str) -> None:
    (project / name).write_bytes(data)
    assert report()[-1] == "1 encrypted file skipped."
    assert report("-v")[-1] == f"1 file skipped: encrypted by {by}."
    assert json.loads("\n".join(report("--format", "json")))["summary"]["skipped_files"] == {f"encrypted by {by}": 1}


@pytest.mark.parametrize(
    "data",
    [
        "kind: Pod\n",
        "# age-encryption.org/v1\nkind: Pod\n",
        "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\ndata:\n  key: |\n    -----BEGIN PGP MESSAGE-----\n",
    ],
)
def test_a_manifest_that_mentions_encryption_is_read(project: Path, report: Report, data: str) -> None:
    (project / "a.yaml").write_text(data, encoding="utf-8")
    assert not [line for line in report("-v") if "encrypted" in line]


def test_the_plain_part_of_a_manifest_that_sops_encrypts_in_part_is_checked(write: Callable[[str, str], None], check: Any) -> None:
    template = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector:
        disk: ENC[AES256_GCM,data:x==,iv:y=,tag:z=,type:str]
      tolerations:
      - key: ENC[AES256_GCM,data:x==,iv:y=,tag:z=,type:str]
        operator: ENC[AES256_GCM,data:x==,iv:y=,tag:z=,type:str]
      - key: gpu
        operator: Exist
      containers: [{name: web, image: web}]
"""
    write("a.yaml", template + _SOPS)
    assert check("a.yaml").lines == [
        "a.yaml:15:19: error a toleration does not support the operator `Exist`; did you mean `Exists`? [unknown-operator]"
    ]


WRONG = "tolerations: [{key: a, operator: Is}]\n"
SUITE = f"""\
suite: web
tests:
- it: passes tolerations on
  set: {{{WRONG.strip()}}}
  asserts:
  - equal: {{path: spec.template.spec.tolerations, value: [{{key: a, operator: Is}}]}}
"""
SCHEMA = """\
type: object
properties:
  nodeSelector: {type: object, description: Labels that nodes must have.}
  affinity: {nodeAffinity: {type: object}}
"""
RECORDED = """\
apiVersion: v1
kind: Pod
metadata: {name: a, uid: 3c1f7a52-0d0f-4d4b-9a8e-0b6f1c2d3e4f}
spec: {tolerations: [{key: a, operator: Is}]}
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {tolerations: [{key: a, operator: Is}]}\n"


YTT = """\
#@ load("@ytt:data", "data")
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeSelector: #@ data.values.nodes
  topologySpreadConstraints:
  - topologyKey: #@ data.values.key
"""


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("config/pod.yaml", YTT, "template of ytt"),
        ("config/pod.yaml", YTT.partition("---\n")[2], "template of ytt"),
        ("config/values.yaml", f"#@data/values\n---\n{WRONG}", "template of ytt"),
        ("web/tests/tolerations_test.yaml", SUITE, "test suite of helm-unittest"),
        ("web/tests/values-test.yaml", SUITE.replace("suite: web\n", ""), "test suite of helm-unittest"),
        ("web/values.schema.yaml", SCHEMA, "JSON schema"),
        ("web/values.schema.yaml", "$schema: http://json-schema.org/draft-07/schema#\nnodeSelector: {a b: c d}\n", "JSON schema"),
        (
            "web/values.schema.yml",
            "schema: http://json-schema.org/draft-07/schema#\nproperties:\n  nodeSelector: {a b: c d}\n",
            "JSON schema",
        ),
        ("pods.json", '{"$schema": "https://json-schema.org/draft/2020-12/schema", "kind": "Pod"}', "JSON schema"),
        ("roles/k8s/molecule/default/pod.yaml", POD, "scenario of Molecule"),
        ("pkg/testdata/golden/pod.yaml", POD, "golden file of a test"),
        ("pkg/render/pod.golden.yaml", POD, "golden file of a test"),
        ("pkg/testdata/pods/a.yaml", RECORDED, "recorded output in test data"),
        ("tests/data/pods.yaml", RECORDED, "recorded output in test data"),
        ("vendor/k8s.io/apiserver/handlers/node.yaml", POD, "source code of a dependency"),
        ("tests/data/rendered.yaml", f"---\n# Source: web/templates/pod.yaml\n{POD}", "recorded output in test data"),
    ],
)
def test_a_file_of_a_test_or_a_schema_is_neither_a_manifest_nor_values(
    write: Callable[[str, str], None], report: Report, name: str, text: str, reason: str
) -> None:
    write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
    write("roles/k8s/molecule/default/molecule.yml", "driver: {name: default}\n")
    write("vendor/modules.txt", "# k8s.io/apiserver v0.34.0\n")
    write(name, text)
    assert f"{reason}." in " ".join(report("-v"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("web/values-test.yaml", f"tests:\n  asserts: []\n{WRONG}"),
        ("web/values-object.yaml", f"type: object\nproperties: {{a: 1}}\n{WRONG}"),
        ("pkg/testdata/pod.yaml", POD),
        ("golden/pod.yaml", POD),
        ("vendor/charts/pod.yaml", POD),
        ("pod.yaml", f"#@author: someone\n# @param {{x}} a: #@\n{POD}"),
        ("molecule/pod.yaml", POD),
        ("recorded.yaml", RECORDED),
        ("crd.yaml", f"{POD}type: object\nproperties:\n  a: {{}}\n"),
    ],
)
def test_other_files_are_read(write: Callable[[str, str], None], check: Any, name: str, text: str) -> None:
    write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
    write(name, text)
    assert any("[unknown-operator]" in line for line in check(".").lines)


@pytest.mark.parametrize("name", ["pkg/testdata/golden/pod.yaml", "molecule/default/pod.yaml", "tests/data/pod.yaml"])
def test_a_file_or_a_folder_that_the_user_names_is_read(write: Callable[[str, str], None], check: Any, name: str) -> None:
    write("molecule/default/molecule.yml", "driver: {name: default}\n")
    write(name, RECORDED)
    assert check(".").lines == []
    assert check(name).lines == check(str(Path(name).parent)).lines != []


class TestPlacementValuesOfUnknownFiles:
    """Placement values in a file that may be something else: they are not checked, and the summary says so."""

    HUB = "hub:\n  nodeSelector: {pool: core}\n"

    def test_the_summary_names_the_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, afflint: Afflint) -> None:
        monkeypatch.chdir(tmp_path)
        for name in ("prod.yaml", "config/common.yaml"):
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(self.HUB, encoding="utf-8")
        done = afflint("check")
        assert "Not read: placement values in config/common.yaml, prod.yaml; `values` in the name of a file" in done.out
        assert (done.code, afflint("check", "--fail-on-unread").code) == (0, 1)

    @pytest.mark.parametrize(("name", "text"), [("values-prod.yaml", HUB), ("notes.yaml", "affinity: high\n"), ("mkdocs.yml", "a: 1\n")])
    def test_other_files_are_not_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, afflint: Afflint, name: str, text: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / name).write_text(text, encoding="utf-8")
        done = afflint("check", "--fail-on-unread")
        assert "Not read" not in done.out
        assert done.code == 0
