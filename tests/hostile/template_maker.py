"""Templates, expressions and patterns that are made or spoilt at random, from a seed: the same seed makes the same ones."""

import random
from collections.abc import Iterator
from typing import Any

from afflint.rendering.go_templates import _FUNCTIONS

DATA: dict[str, Any] = {
    "Values": {
        "name": "web", "on": True, "count": 2, "half": 0.5, "names": ["a", "b", None, 3], "map": {"x": 1, "y": {"z": [1, "b"]}},
        "none": None,
        "empty": "", "long": "ab" * 200, "many": [*range(60)],
    },
    "Release": {"Name": "web", "Namespace": "shop"},
}  # fmt: skip
_PATHS = [
    ".",
    "$",
    "$a",
    "$b",
    "$c.x",
    ".x",
    ".Values",
    *(f".Values.{key}" for key in DATA["Values"]),
    ".Values.map.y.z",
    ".Release.Name",
    "$.Values",
]
_LITERALS = ['""', '"a"', '"%s-%d"', "`a.b`", '"%s%s%s"', "0", "1", "-7", "99", "999999999999999999", "true", "false", "nil", r'"\u0000\n"']
_NAMES = [
    *_FUNCTIONS,
    "and",
    "or",
    "get",
    "getOrNil",
    "hasKey",
    "env",
    "requiredEnv",
    "include",
    "tpl",
    "lookup",
    "b64enc",
]
_NOISE = [
    "{{",
    "}}",
    "{{-",
    "-}}",
    "(",
    ")",
    "|",
    '"',
    "`",
    ":=",
    "=",
    ",",
    "$",
    ".",
    "\\",
    "end",
    "else",
    "/*",
    "*/",
    "\n",
    "\0",
    "é",
    "\U0001f600",
]


class TemplateMaker:
    """Makes Go templates of nested blocks, variables, pipelines and functions with arguments of any number and type."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def template(self) -> str:
        """A template; a fifth of them are spoilt."""
        text = "".join(self._pieces(3))
        for _ in range(self._random.choice((0, 0, 0, 0, 3))):
            at = self._random.randrange(len(text) + 1)
            text = text[:at] + self._random.choice(_NOISE) + text[at + self._random.randrange(3) :]
        return text

    def action(self) -> str:
        """The inside of one action."""
        return self._pipeline(3)

    def _pieces(self, depth: int) -> Iterator[str]:
        for _ in range(self._random.randrange(1, 6)):
            what = self._random.randrange(8 if depth else 4)
            if what == 0:
                yield self._random.choice(["a: b\n", "- x\n", " ", "---\n", "releases: [{name: "])
            elif what < 3:
                yield f"{{{{ {self._random.choice(['$a', '$b', '$c'])} {self._random.choice([':=', '='])} {self._pipeline(depth)} }}}}"
            elif what == 3:
                yield f"{{{{{self._random.choice(['', '-'])} {self._pipeline(depth)} {self._random.choice(['', '-'])}}}}}"
            else:
                yield from self._block(depth)

    def _block(self, depth: int) -> Iterator[str]:
        names = self._random.choice(["", "$a := ", "$a, $b := ", "$b = "])
        yield f"{{{{ {self._random.choice(['if', 'with', 'range', 'range'])} {names}{self._pipeline(depth)} }}}}"
        yield from self._pieces(depth - 1)
        if self._random.random() < 0.3:
            yield f"{{{{ else{self._random.choice(['', f' if {self._pipeline(1)}'])} }}}}"
            yield from self._pieces(depth - 1)
        yield "{{ end }}"

    def _pipeline(self, depth: int) -> str:
        stages = [self._call(depth) if self._random.random() < 0.7 else self._operand(0)]
        while self._random.random() < 0.3:
            stages.append(self._call(max(depth - 1, 0)))
        return " | ".join(stages)

    def _call(self, depth: int) -> str:
        return " ".join([self._random.choice(_NAMES), *(self._operand(depth) for _ in range(self._random.randrange(4)))])

    def _operand(self, depth: int) -> str:
        if depth and self._random.random() < 0.3:
            return f"({self._pipeline(depth - 1)})"
        return self._random.choice(_PATHS if self._random.random() < 0.5 else _LITERALS)


_OPERATIONS = ["==", "!=", "<", ">=", "+", "-", "*", "/", "%", "&&", "||", "in"]
_MACROS = ["all", "exists", "exists_one", "map", "filter"]
_MEMBERS = [
    "size", "matches", "split", "join", "replace", "substring", "indexOf", "lowerAscii", "format", "contains", "startsWith", "find",
    "findAll",
    "sum", "min", "max", "isSorted", "flatten", "distinct", "sort", "reverse", "slice", "first", "charAt", "trim", "orValue",
    "hasValue", "value",
]  # fmt: skip
_CONSTANTS = [
    "0", "1", "-1", "9223372036854775807", "1.5", "1e300", "'a'", "''", "'(a+)+$'", "'%s %d %e %x'", "'ab' + 'ab'", "[]", "[1, 2]",
    "['a', 'b']",
    "{'a': 1}", "{}", "null", "true", "b'x'", "duration('1h')", "timestamp('2026-01-01T00:00:00Z')", "type(1)", "lists.range(50)",
    "quantity('1Gi')", "ip('10.0.0.1')", "cidr('10.0.0.0/8')", "url('https://a/b')", "semver('1.2.3')", "optional.of(1)",
    "optional.none()",
]  # fmt: skip
_READS = [
    "object", "object.metadata", "object.metadata.name", "object.metadata.labels", "object.spec", "object.?spec.?replicas",
    "object.spec.template",
    "object.spec.template.spec.containers", "oldObject", "request.namespace", "params", "namespaceObject", "variables.a",
    "variables.b", "x", "y",
]  # fmt: skip


class ExpressionMaker:
    """Makes CEL expressions: macros in macros, functions of Kubernetes, arithmetic, and texts that grow."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def expression(self) -> str:
        """An expression; a fifth of them are spoilt."""
        text = self._expression(4)
        if self._random.random() < 0.2:
            at = self._random.randrange(len(text) + 1)
            text = text[:at] + self._random.choice([*"()[]{}.,'\"\\?:", " ", "\0", "é", "''' "]) + text[at + self._random.randrange(3) :]
        return text

    def _expression(self, depth: int) -> str:
        what = self._random.randrange(7 if depth else 2)
        if what < 2:
            return self._random.choice(_CONSTANTS if self._random.random() < 0.4 else _READS)
        below = self._expression(depth - 1)
        if what == 2:
            return f"({below} {self._random.choice(_OPERATIONS)} {self._expression(depth - 1)})"
        if what == 3:
            name = self._random.choice(["x", "y"])
            return f"{below}.{self._random.choice(_MACROS)}({name}, {self._expression(depth - 1)})"
        if what == 4:
            arguments = ", ".join(self._expression(depth - 1) for _ in range(self._random.randrange(3)))
            return f"{below}.{self._random.choice(_MEMBERS)}({arguments})"
        if what == 5:
            return f"({below} ? {self._expression(depth - 1)} : {self._expression(depth - 1)})"
        return self._random.choice(
            [f"has({below}.a)", f"string({below})", f"{below}[{self._expression(0)}]", f"cel.bind(x, {below}, x + x)"]
        )
