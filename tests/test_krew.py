"""The kubectl plugin as Krew gets it: which packages an archive has, and a manifest that passes the validation of Krew.

The archive itself is built and started in tests/test_release.py. The rules are those of ``ValidatePlugin`` in
https://github.com/kubernetes-sigs/krew/blob/master/internal/index/validation/validate.go.
"""

import hashlib
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from checkout import ROOT

KREW: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "krew.py"))
LOCK = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
WORKFLOWS = ROOT / ".github" / "workflows"


def problems(manifest: dict[str, Any], name: str) -> list[str]:
    """Returns what Krew would reject in the manifest of a plugin."""
    spec = manifest["spec"]
    found = []
    if (manifest["apiVersion"], manifest["kind"]) != ("krew.googlecontainertools.github.com/v1alpha2", "Plugin"):
        found.append("version and kind")
    if manifest["metadata"] != {"name": name} or not re.fullmatch(r"[\w-]+", name):
        found.append("name")
    if not spec["shortDescription"] or re.search(r"[\r\n]", spec["shortDescription"]):
        found.append("short description")
    if not re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"]):
        found.append("version")
    if not spec["platforms"] or not all(map(accepts_platform, spec["platforms"])):
        found.append("platforms")
    return found


def accepts_platform(platform: dict[str, Any]) -> bool:
    selector = platform["selector"]
    valid = selector.keys() == {"matchLabels"} and {*selector["matchLabels"]} == {"os", "arch"}
    return valid and bool(platform["bin"]) and bool(re.fullmatch("[a-f0-9]{64}", platform["sha256"])) and "files" not in platform


@pytest.fixture
def manifest(tmp_path: Path) -> dict[str, Any]:
    archives = {}
    for platform in KREW["PLATFORMS"]:
        archives[platform] = tmp_path / f"{platform.replace('/', '_')}.tar.gz"
        archives[platform].write_text(platform, encoding="utf-8")
    made: dict[str, Any] = YAML(typ="safe", pure=True).load(KREW["manifest"]("1.2.3", "OWNER/afflint", archives))
    return made


def test_krew_accepts_the_manifest(manifest: dict[str, Any]) -> None:
    assert problems(manifest, "afflint") == []
    assert manifest["spec"].keys() == {"version", "homepage", "shortDescription", "description", "caveats", "platforms"}


def test_each_platform_has_its_archive_of_the_release(manifest: dict[str, Any]) -> None:
    found = {}
    for each in manifest["spec"]["platforms"]:
        labels = each["selector"]["matchLabels"]
        found[f"{labels['os']}/{labels['arch']}"] = each
    assert found.keys() == KREW["PLATFORMS"].keys()
    for platform, each in found.items():
        assert each["uri"] == f"https://github.com/OWNER/afflint/releases/download/v1.2.3/{platform.replace('/', '_')}.tar.gz"
        assert each["sha256"] == hashlib.sha256(platform.encode()).hexdigest()


@pytest.mark.parametrize("python", KREW["PYTHONS"])
@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_an_archive_has_one_version_of_each_package_for_each_python(python: str, system: str) -> None:
    chosen = KREW["locked_for"](LOCK, python, system)
    names = re.findall(r"(?m)^([\w.-]+)==", chosen)
    assert len({*names}) == len(names)
    assert ";" not in chosen, "pip would evaluate a condition for the Python that runs it"
    assert {"click", "ruamel-yaml", "ruamel-yaml-clib", "rpds-py"} <= {*names}
    assert ("tomli" in names) is (python == "3.10")
    assert chosen.count("==") == len(names)
    assert chosen.count("--hash=sha256:") >= len(names)


def test_it_has_the_versions_of_python_that_are_tested() -> None:
    workflow = YAML(typ="safe", pure=True).load(WORKFLOWS / "ci.yml")
    assert list(KREW["PYTHONS"]) == workflow["jobs"]["gate"]["strategy"]["matrix"]["python"]


def test_another_python_is_named_in_one_line(tmp_path: Path) -> None:
    launcher = tmp_path / "kubectl-afflint"
    launcher.write_text(KREW["LAUNCHER"].replace("OLDEST", "3.10").replace("NEWEST", "3.14"), encoding="utf-8")
    done = subprocess.run([sys.executable, launcher], capture_output=True, encoding="utf-8", check=False)
    version = "{}.{}".format(*sys.version_info[:2])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"kubectl afflint needs CPython 3.10 to 3.14 as `python3` on PATH; it is Python {version}\n"
