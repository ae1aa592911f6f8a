"""Other users of ruamel.yaml in the process, and other threads, are not affected."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from afflint.yaml.documents import read
from checkout import clean_environment

TEXT = "a: &x [1, 'b', {c: d}]\nb: *x\nc: |\n  text\n? k\n: 2020-01-01\n"


@pytest.mark.parametrize("kind", ["safe", "rt"])
def test_other_readers_of_yaml_get_the_same_result(kind: str) -> None:
    script = f"from ruamel.yaml import YAML; print(repr(YAML(typ={kind!r}).load({TEXT!r})))"
    alone, beside = (
        subprocess.run(
            [sys.executable, "-c", f"{imported}{script}"], capture_output=True, text=True, env=clean_environment(), check=True
        ).stdout
        for imported in ("", "from afflint.yaml.documents import read; read(b'a: [b]', 0, 1); ")
    )
    assert beside == alone != ""


def test_several_threads_read_at_once() -> None:
    text = b"".join(b"k%d: [{b: [c, {d: e}]}, {f: [g, h]}]\n" % number for number in range(50))
    expected = read(text, 0, 0).data
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: read(text, 0, 0).data, range(200)))
    finally:
        sys.setswitchinterval(before)
    assert all(each == expected for each in found)
