"""Twice as much input takes about twice as long, whatever part of it is large."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import run
from afflint.source.examples import ExampleError, parse
from afflint.source.sources import Source
from afflint.yaml.documents import read
from growth import assert_linear

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers: [{name: web, image: "web:1"}]
"""
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db-@, labels: {app: db}}
spec:
  runStrategy: Always
  template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {selector: {app: db}}\n"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES = POD + "  affinity:\n    nodeAffinity:\n      " + REQUIRED + ":\n        nodeSelectorTerms:\n"
WIDGET = "- {apiVersion: example.com/v1, kind: Widget, metadata: {name: w@}, spec: {nodeSelector: {a: b}}}\n"
TERM = "        - matchExpressions:\n"


def lines(text: str, count: int) -> str:
    """The text repeated, with its number in place of ``@``."""
    return "".join(text.replace("@", str(number)) for number in range(count))


MUCH: dict[str, tuple[int, Callable[[int], str]]] = {
    "repeated keys": (10_000, lambda n: POD + "  nodeSelector:\n" + lines("    k: v\n", n)),
    "findings in a map": (5_000, lambda n: POD + "  nodeSelector:\n" + lines("    k@: 5\n", n)),
    "findings in a list": (4_000, lambda n: POD + "  tolerations:\n" + lines("  - {operator: Equal, value: x}\n", n)),
    "values without a kind": (4_000, lambda n: lines("c-@: {d@: {e@: {nodeSelector: {a/b: c}, tolarations: []}}}\n", n)),
    "values of unknown charts": (4_000, lambda n: lines("c-@: {d@: {e@: {nodeSelector: {a: b}}}}\n", n)),
    "unknown fields": (1_000, lambda n: POD + lines("  nodSelector@: x\n", n)),
    "labels": (5_000, lambda n: POD.replace("  name: web\n", "  name: web\n  labels:\n" + lines("    'a b@': x\n", n))),
    "labels on a line": (5_000, lambda n: POD + "  nodeSelector: {" + lines("k@: 5, ", n) + "}\n"),
    "comments": (5_000, lambda n: POD + lines("  # afflint: ignore[wrong-type]\n", n)),
    "misspelt comments": (5_000, lambda n: POD + lines("  # afflint: ignore[x@]\n", n)),
    "comments before nodes": (5_000, lambda n: POD + "  nodeSelector:\n" + lines("    # afflint: ignore\n    k@: 5\n", n)),
    "texts before comments": (5_000, lambda n: POD + "  x:\n" + lines("    k@: 'text' # afflint: ignore-document\n", n)),
    "comments behind a block": (10_000, lambda n: POD + "  x:\n    y:\n      - z\n" + lines("      # more\n", n) + "  # afflint: ignore\n"),
    "Gt on one label": (2_000, lambda n: NODES + TERM + lines("          - {key: a, operator: Gt, values: ['@']}\n", n)),
    "Gt and Lt that contradict": (
        1_000,
        lambda n: (
            NODES
            + TERM
            + lines("          - {key: a, operator: Gt, values: ['@']}\n          - {key: a, operator: Lt, values: ['@']}\n", n)
        ),
    ),
    "NotIn on one label": (2_000, lambda n: NODES + TERM + lines("          - {key: a, operator: NotIn, values: [v@]}\n", n)),
    "In that contradict": (2_000, lambda n: NODES + TERM + lines("          - {key: a, operator: In, values: [v@]}\n", n)),
    "documents": (2_000, lambda n: "---\n".join(n * [POD])),
    "documents with findings": (1_000, lambda n: "---\n".join(n * [POD + "  nodeSelector: {a: 5}\n"])),
    "documents in JSON": (2_000, lambda n: n * '{"apiVersion": "v1", "kind": "Pod", "spec": {"nodeSelector": {"a": "b"}}}\n'),
    "items of a list": (1_000, lambda n: "kind: List\nitems:\n" + n * ("- " + POD.replace("\n", "\n  ")[:-2])),
    "custom resources of a list": (2_000, lambda n: "apiVersion: v1\nkind: List\nitems:\n" + lines(WIDGET, n)),
    "items with findings": (
        1_000,
        lambda n: "kind: List\nitems:\n" + n * ("- " + (POD + "  nodeSelector: {a: 5}\n").replace("\n", "\n  ")[:-2]),
    ),
    "items with fixes that take a reading": (
        200,
        lambda n: f"{SERVICE}---\nkind: List\nitems:\n" + lines("- " + VM.replace("\n", "\n  ")[:-2], n),
    ),
    "aliases": (5_000, lambda n: POD + "  x: &x 5\n  nodeSelector:\n" + lines("    k@: *x\n", n)),
    "anchors": (5_000, lambda n: POD + "  x:\n" + lines("  - &x@ y\n", n) + "  y: &x0 z\n"),
    "merges": (2_000, lambda n: POD + "  x: &x {a: b}\n  y:\n" + lines("  - {<<: *x, c: d}\n", n)),
    "separators": (20_000, lambda n: POD + n * "---\n"),
    "faulty separators": (5_000, lambda n: POD + n * "--- x\n"),
    "blanks": (200_000, lambda n: POD + n * " " + "\n" + n * "\n"),
    "braces": (20_000, lambda n: "kind: Pod\nx: " + n * "{{ " + n * "}} " + "\n"),
    "actions without an end": (5_000, lambda n: POD + "  nodeSelector:\n    a: " + n * "{{ " + "\n"),
    "actions without an end of a text": (5_000, lambda n: POD + "  nodeSelector:\n    a: " + n * "{{ " + '"}}\n'),
    "comments of actions without an end": (5_000, lambda n: POD + "  x: " + n * "{{/*" + "\n"),
    "variables without an end": (10_000, lambda n: POD + "  ${" + n * "${" + ": a\n"),
    "braces in a text": (20_000, lambda n: POD + '  nodeSelector: {a: "' + n * "{" + '"}\n'),
    "quotes": (20_000, lambda n: POD + "  x: " + n * "''" + "\n"),
    "colons": (20_000, lambda n: POD + "  x: [" + n * "a:" + "]\n"),
    "escapes": (20_000, lambda n: '{"kind": "Pod", "x": "' + n * "\\ud83d\\ude00" + '"}'),
    "kinds in JSON": (5_000, lambda n: '{"apiVersion": "a/v1", "x": [' + ", ".join(f'{{"kind": "K{each}"}}' for each in range(n)) + "]}"),
    "words": (20_000, lambda n: POD + "  x: " + n * "word " + "\n"),
    "lines of a text": (20_000, lambda n: POD + "  x: |\n" + n * "    text # afflint: ignore\n"),
}


def check(text: str) -> None:
    run([Source("a.yaml", "a.yaml", text.encode())], default_settings())


@pytest.mark.parametrize("kind", MUCH)
def test_time_grows_with_the_input(kind: str) -> None:
    count, text = MUCH[kind]
    check(POD)
    assert_linear(lambda size: check(text(size)), 2 * count)


def test_places_are_found_without_a_search() -> None:
    def locate(count: int) -> None:
        document = read(("a:\n" + lines("  k@: {b: c}\n", count)).encode(), 0, 0)
        for number in range(count):
            assert document.locate(("a", f"k{number}", "b")).line == number + 2

    assert_linear(locate, 20_000)


@pytest.mark.parametrize("page", ["```yaml bad\n", "```\ntext\n```\n", " "])
def test_pages_with_examples_are_read_through_once(page: str) -> None:
    def read_page(count: int) -> None:
        text = count * page if page.strip() else f"```yaml good\n#{count * page}x\n```\n"
        for example in parse("team", text):
            with suppress(ExampleError):
                example.expected()

    assert_linear(read_page, 40_000)


def test_quadratic_growth_is_noticed() -> None:
    with pytest.raises(AssertionError, match="8 times the input takes"):
        assert_linear(lambda size: [each for each in range(size) for _ in range(size)], 2_000)
