"""Recognises files that contain neither manifests nor values: encrypted files, test suites, schemas, and what tests compare results with.

A file that is not recognised here is read as YAML. A recogniser is therefore for a format that no manifest has. Files of tests are
recognised by their folders, too, but only those below a folder that the user names: a file or a folder that the user names is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple


class Recognizer(NamedTuple):
    """Recognises one kind of file by its bytes. ``reason`` says what a file is; ``mark`` is a text that all such files contain."""

    reason: str
    mark: bytes
    matches: Callable[[bytes], bool]


def reason_to_skip(name: str, data: bytes) -> str:
    """Return what a file is instead of manifests or values, such as ``encrypted by git-crypt``; "" for a file to read.

    ``name`` begins with the role of the file in tests, if it has one.
    """
    if name.startswith("<"):
        role = role_in(name)
        if role in _ROLES or (role == TEST_DATA and re.search(_RECORDED, data) is not None):
            return _ROLES.get(role, "recorded output in test data")
    for beginning, reason in _BEGINNINGS.items():
        if data.startswith(beginning):
            return reason
    if data[:1] in _PACKETS and _is_packet(data):
        return _PGP
    return next((each.reason for each in _RECOGNIZERS if each.mark in data and each.matches(data)), "")


_ENCRYPTED = "encrypted"  # Reports count the files whose reason begins so.
_PGP = f"{_ENCRYPTED} by PGP"
_BEGINNINGS = {
    b"\0GITCRYPT\0": f"{_ENCRYPTED} by git-crypt",
    b"age-encryption.org/": f"{_ENCRYPTED} by age",
    b"-----BEGIN AGE ENCRYPTED FILE-----": f"{_ENCRYPTED} by age",
    b"-----BEGIN PGP MESSAGE-----": _PGP,
    b"$ANSIBLE_VAULT;": f"{_ENCRYPTED} by Ansible Vault",
    b"Salted__": f"{_ENCRYPTED} by OpenSSL",
    b"U2FsdGVkX1": f"{_ENCRYPTED} by OpenSSL",  # The same in base64, as transcrypt writes it.
}
"""What files are that begin with a text that no YAML file begins with."""

_PACKETS = (b"\x84", b"\x85", b"\x8c", b"\xc1")
"""The first byte of a session key in an OpenPGP message (RFC 9580, 5.1 and 5.3). A text in UTF-8 or UTF-16 begins with none of them."""


def _is_packet(data: bytes) -> bool:
    """Return whether the first packet of an OpenPGP message contains a session key: its length, then its version."""
    at = 3 if data[:1] == b"\x85" or (data[:1] == b"\xc1" and data[1:2] >= b"\xc0") else 2
    return data[at : at + 1] in (b"\x03", b"\x04", b"\x05", b"\x06")


def _is_sops(data: bytes) -> bool:
    """Return whether SOPS has encrypted every value of a file, or a file of any kind as a whole."""
    if data.lstrip()[:1] == b"{":
        from json import loads

        try:
            texts = list(_texts_in({key: each for key, each in loads(data).items() if key != "sops"}))
        except (ValueError, RecursionError):
            return False
        return any(texts) and all(each.startswith("ENC[") for each in texts if each)
    above, own, _ = data.decode("utf-8", "replace").partition("\nsops:\n")
    return bool(own) and all(map(_is_without_cleartext, above.splitlines()))


def _is_without_cleartext(line: str) -> bool:
    """Return whether a line of YAML as SOPS writes it has no value, or an encrypted one."""
    entry = line.strip().removeprefix("- ")
    if entry.startswith(("#", "---")) or entry.endswith(":"):
        return True
    value = entry.partition(": ")[2] if ": " in entry else entry
    return value.startswith("ENC[") or value in ("", "[]", "{}", "null", '""')


def _texts_in(data: Any) -> Iterator[str]:
    """Yield all values of a parsed JSON text, except for null, as text."""
    waiting = [data]
    while waiting:
        here = waiting.pop()
        if isinstance(here, (dict, list)):
            waiting += here.values() if isinstance(here, dict) else here
        elif here is not None:
            yield str(here)


def _is_suite(data: bytes) -> bool:
    """Return whether a file is a suite of helm-unittest: tests with assertions."""
    return (
        re.search(rb"(?m)^tests:", data) is not None and re.search(rb"(?m)^(?:suite:|[ \t-]+it:)", data) is not None and not _has_kind(data)
    )


def _is_json_schema(data: bytes) -> bool:
    """Return whether a file is a JSON schema, in JSON or in YAML: it names the standard, or describes the properties of an object."""
    if data.lstrip()[:1] == b"{":
        return (
            re.match(rb"\s*\{\s*(?:\"\$(?:id|comment)\"\s*:\s*\"[^\"]*\"\s*,\s*)*\"\$schema\"\s*:\s*\"https?://json-schema\.org/", data)
            is not None
        )
    named = re.search(rb"(?m)^[\"']?\$?schema[\"']?:[ \t]+\S*json-schema\.org/", data)
    described = re.search(rb"(?m)^type:[ \t]+[\"']?object\b", data) and re.search(rb"(?m)^properties:[ \t\r]*$", data)
    return bool(named or described) and not _has_kind(data)


def _is_ytt(data: bytes) -> bool:
    """Return whether a file is a template of ytt: comments contain its values and statements."""
    return re.search(rb"(?m)^[ \t]*#@(?:[ \t]|data/values|schema/|overlay/)|[:-][ \t]+#@[ \t]", data) is not None


def _has_kind(data: bytes) -> bool:
    return data.startswith((b"kind:", b"apiVersion:")) or b"\nkind:" in data or b"\napiVersion:" in data


_RECOGNIZERS = (
    Recognizer(f"{_ENCRYPTED} by SOPS", b"ENC[AES256_GCM,", _is_sops),
    Recognizer("test suite of helm-unittest", b"asserts:", _is_suite),
    Recognizer("template of ytt", b"#@", _is_ytt),
    Recognizer("JSON schema", b"json-schema.org/", _is_json_schema),
    Recognizer("JSON schema", b"\nproperties:", _is_json_schema),
)
"""What files are that can be recognised only by more of their text."""


NEEDS_TERRAFORM = "node pools of Terraform, for which the extra `terraform` has to be installed"

# What files are by their folders.

MOLECULE, GOLDEN, TEST_DATA, VENDORED = "<molecule>", "<golden>", "<test data>", "<vendored>"
"""The roles of files in tests, and of the source code of other projects."""
_ROLES = {MOLECULE: "scenario of Molecule", GOLDEN: "golden file of a test", VENDORED: "source code of a dependency"}
_RECORDED = (
    rb"(?m)\b(?:uid[\"']?: ?[\"']?[0-9a-f]{8}-[0-9a-f]{4}-|resourceVersion[\"']?: ?[\"']\d)"  # The API server has added it.
    rb"|^# Source: \S+/templates/"  # Helm has rendered it.
)


SIGNS = ("molecule.yml", "modules.txt")
"""Files that show the role of a folder: a scenario of Molecule, and ``vendor`` with the dependencies of a Go module."""


def role_of_folder(name: str, role: str, above: str, names: Container[str]) -> str:
    """Return the role of a folder, which has the entries ``names``; ``role`` is that of the folder ``above``."""
    if role in _ROLES or SIGNS[0] in names:
        return role or MOLECULE
    if name == "vendor" and SIGNS[1] in names:
        return VENDORED
    if name in ("golden", "goldens") and (role or above in _TESTS):
        return GOLDEN
    return TEST_DATA if name == "testdata" or (name in ("data", "fixtures") and above in _TESTS) else role


_TESTS = frozenset(("test", "tests"))


def role_of_file(name: str, role: str) -> str:
    """Return the role of a file in a folder with a role."""
    return role if role in _ROLES or re.search(r"[._-]golden\.(?:ya?ml|json)$", name) is None else GOLDEN


def role_in(name: str) -> str:
    """Return the role that the name of a file begins with, see ``Source.known_as``; "" for a file without one."""
    role = name.partition("/")[0]
    return role if role in _ROLES or role == TEST_DATA else ""
