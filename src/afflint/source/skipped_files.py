"""Recognises files that contain neither manifests nor values, whatever their name is: what tools have encrypted.

A file that is not recognised here is read as YAML. A recogniser is therefore for a format that no manifest has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple


class Recognizer(NamedTuple):
    """Recognises one kind of file by its bytes. ``reason`` says what a file is; ``mark`` is a text that all such files contain."""

    reason: str
    mark: bytes
    matches: Callable[[bytes], bool]


def reason_to_skip(data: bytes) -> str:
    """Return what a file is instead of manifests or values, such as ``encrypted by git-crypt``; "" for a file to read."""
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


_RECOGNIZERS = (Recognizer(f"{_ENCRYPTED} by SOPS", b"ENC[AES256_GCM,", _is_sops),)
"""What files are that can be recognised only by more of their text."""
