"""``krew.py WHEEL REPOSITORY FOLDER [PLATFORM]...``: write the archives and the manifest of the kubectl plugin for Krew into a folder.

``WHEEL`` is the built package, ``REPOSITORY`` the ``OWNER/NAME`` on GitHub whose release has the archives. ``PLATFORM``, such as
linux/amd64, is one to build for; default: all. An archive has the wheel and the locked packages that it needs at run time, once for each
version of Python, because some of them are compiled. It does not contain Python. The script needs pip, `packaging` and the package index.

The manifest has the form that https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/ describes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    # Krew starts only .exe files on Windows.
    "linux/amd64": ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"],
    "linux/arm64": ["manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"],
    "darwin/amd64": ["macosx_12_0_x86_64"],
    "darwin/arm64": ["macosx_12_0_arm64"],
}
"""The tags of wheels for each platform of Krew."""
LAUNCHER = '''\
#!/usr/bin/env python3
"""Starts the kubectl plugin of afflint with the packages next to this file.

Versions of Python that are too old read this file as well.
"""

import os
import sys

HERE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib")
LIBRARY = os.path.join(HERE, "cp%d%d%s" % (sys.version_info[0], sys.version_info[1], getattr(sys, "abiflags", "")))
if not os.path.isdir(LIBRARY) or sys.implementation.name != "cpython":
    sys.exit("kubectl afflint needs CPython OLDEST to NEWEST as `python3` on PATH; it is Python %d.%d" % sys.version_info[:2])
sys.path[0:1] = [os.path.join(HERE, "afflint"), LIBRARY]

if __name__ == "__main__":
    from afflint.cli.kubectl import main

    main()
'''


def build(wheel: Path, repository: str, folder: Path, platforms: Sequence[str] = tuple(PLATFORMS)) -> Path:
    """Write the archives and the manifest; return the path of the manifest. Raises CalledProcessError if a package has no wheel."""
    version = wheel.name.split("-")[1]
    folder.mkdir(parents=True, exist_ok=True)
    archives = {}
    for platform in platforms:
        archive = folder / f"kubectl-afflint_v{version}_{platform.replace('/', '_')}.tar.gz"
        with tempfile.TemporaryDirectory() as made:
            _fill(Path(made), wheel, platform)
            _pack(Path(made), archive)
        archives[platform] = archive
    target = folder / "afflint.yaml"
    target.write_text(manifest(version, repository, archives), encoding="utf-8")
    return target


def _fill(folder: Path, wheel: Path, platform: str) -> None:
    """Write the content of an archive into a folder."""
    launcher = folder / "kubectl-afflint"
    launcher.write_text(LAUNCHER.replace("OLDEST", PYTHONS[0]).replace("NEWEST", PYTHONS[-1]), encoding="utf-8")
    launcher.chmod(0o755)
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
    _install(folder / "lib" / "afflint", "--no-index", str(wheel))
    lock = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    for python in PYTHONS:
        tag = f"cp{python.replace('.', '')}"
        with tempfile.TemporaryDirectory() as made:
            chosen = Path(made) / "requirements.txt"
            chosen.write_text(locked_for(lock, python, platform.partition("/")[0]), encoding="utf-8")
            tags = [word for each in PLATFORMS[platform] for word in ("--platform", each)]
            target = ["--implementation", "cp", "--python-version", python, "--abi", tag, *tags, "--only-binary", ":all:"]
            _install(folder / "lib" / tag, *target, "--require-hashes", "--requirement", str(chosen))


def _install(folder: Path, *words: str) -> None:
    pip = [sys.executable, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"]
    subprocess.run([*pip, "--target", str(folder), *words], check=True)
    shutil.rmtree(folder / "bin", ignore_errors=True)


def locked_for(lock: str, python: str, system: str) -> str:
    """Return the entries of a lock file that apply to a version of Python and a system, without their conditions.

    pip evaluates the conditions for the Python that runs it, whatever version it installs for.
    """
    environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": system}
    entries = re.split(r"\n(?=\S)", re.sub(r"(?m)^#.*\n", "", lock).strip())
    kept = []
    for entry in entries:
        first, _, hashes = entry.partition("\\\n")
        requirement = Requirement(first)
        if requirement.marker is None or requirement.marker.evaluate(environment):
            kept.append(f"{requirement.name}{requirement.specifier} \\\n{hashes}\n")
    return "".join(kept)


def _pack(folder: Path, archive: Path) -> None:
    """Write the files of a folder into an archive. The same files make the same bytes: the dates are those of SOURCE_DATE_EPOCH."""
    date = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))

    def normalized(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = date
        entry.mode = 0o755 if entry.mode & 0o100 or entry.isdir() else 0o644
        return entry

    with (
        open(archive, "wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=date) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            tar.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=normalized)


def manifest(version: str, repository: str, archives: dict[str, Path]) -> str:
    """Return the manifest of a version: its archives by platform, with their checksums."""
    home = f"https://github.com/{repository}"
    lines = [
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2",
        "kind: Plugin",
        "metadata:",
        "  name: afflint",
        "spec:",
        f"  version: v{version}",
        f"  homepage: {home}",
        "  shortDescription: Check and simulate where workloads run",
        "  description: |",
        "    Shows where the workloads of a cluster run, and what failures and drains",
        "    of nodes do to them; explains why a workload does not run; and checks",
        "    labels, affinity, spread constraints and tolerations for mistakes.",
        "    It lists objects with your rights and changes nothing in the cluster.",
        "  caveats: |",
        f"    Needs CPython {PYTHONS[0]} to {PYTHONS[-1]} as `python3` on PATH and, on Linux, glibc.",
        "  platforms:",
    ]
    for platform, archive in archives.items():
        system, _, machine = platform.partition("/")
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        lines += [
            "  - selector:",
            "      matchLabels:",
            f"        os: {system}",
            f"        arch: {machine}",
            f"    uri: {json.dumps(f'{home}/releases/download/v{version}/{archive.name}')}",
            f"    sha256: {digest}",
            "    bin: kubectl-afflint",
        ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: krew.py WHEEL REPOSITORY FOLDER [PLATFORM]...")
    print(build(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4:] or tuple(PLATFORMS)))
