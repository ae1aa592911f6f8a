"""What of an object an expression reads: the field at which a finding is reported, and placeholders that leave its result open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.admission import cel
from afflint.admission.cel import EvaluationError, EvaluationInput, Program
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.policies.admission_manifests import Expression
from afflint.yaml.document import value_at_path
from afflint.yaml.placeholders import is_placeholder


def depends_on(placeholder: str) -> str:
    """Return the reason why an expression that reads a placeholder has no result."""
    return f"it depends on the value of the placeholder {quoted(placeholder)}"


def denial_message(expression: Expression, message: Program | None, given: EvaluationInput) -> str:
    """Return the message for an expression that evaluated to false, chosen as in the API server."""
    if message is not None:
        try:
            text = message.evaluate(given)
        except EvaluationError:
            text = None
        if isinstance(text, str) and text.strip() and "\n" not in text.strip():
            return text.strip()
    return expression.message or f"failed expression: {expression.text.strip()}"


def accessed_path(program: Program, variables: Mapping[str, Program | None], data: Any) -> Path:
    """Return the path in an object that an expression reads: the deepest one, of several the last.

    If it reads none itself, those of its variables count. The namespace of the object counts for fields of its namespace.
    """
    path = _deepest([program], variables, data) or _deepest(_needed_variables(program, variables), variables, data)
    return path or (_existing(("metadata", "namespace"), data) if "namespaceObject" in program.text else ())


def _needed_variables(program: Program, variables: Mapping[str, Program | None]) -> list[Program]:
    """Return the variables that an expression refers to, directly or through others."""
    found: dict[Program, None] = {}
    waiting = [program]
    while waiting:
        named = [variables.get(name) for name in waiting.pop().needs or ()]
        new = [each for each in named if each is not None and each not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)


def _deepest(programs: Iterable[Program], variables: Mapping[str, Program | None], data: Any) -> Path:
    found: Path = ()
    for each in programs:
        for chain in cel.chains_in(each.text):
            path = _existing(_in_object(chain, variables), data)
            found = path if len(path) >= len(found) else found
    return found


def _in_object(chain: cel.Chain, variables: Mapping[str, Program | None]) -> Path:
    """Return the path of a chain in the object, following variables that hold one of its fields; empty if it leads elsewhere."""
    for _ in range(len(variables) + 1):
        if chain.root == "object":
            return chain.path
        program = variables.get(str(chain.path[0]))
        whole = None if program is None else cel.chain_of(program.text)
        if whole is None:
            break
        chain = cel.Chain(whole.root, (*whole.path, *chain.path[1:]))
    return ()


def undecided_placeholder(program: Program, variables: Mapping[str, Program | None], given: EvaluationInput, path: Path) -> str | None:
    """Return a placeholder that may make an expression true, which evaluates to false; None if none can.

    Only placeholders below ``path``, which the expression reads, can. They cannot if the expression is also false with a value in their
    place on which no function of strings works, and with each string that the expression or its parameters name.
    """
    data = given.values.get("object")
    texts = [each for each in _strings(value_at_path(data, *path)) if is_placeholder(each)]
    if not texts:
        return None
    needed = _needed_variables(program, variables)
    constants = {text for each in (program, *needed) for text in cel.texts_in(each.text)} | set(_strings(given.values.get("params")))
    if len(constants) > _MOST_CONSTANTS:
        return texts[0]
    try:
        decided = all(program.evaluate(given.with_object(_replaced(data, each))) is False for each in (True, *sorted(constants)))
    except EvaluationError:
        decided = False
    return None if decided else texts[0]


_MOST_CONSTANTS = 50
_OF_CONTAINERS = frozenset(("args", "command", "env"))
"""In these fields ``$(NAME)`` is a variable of the container, not a placeholder."""


def _strings(data: Any) -> Iterator[str]:
    waiting = [data]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += [below for key, below in each.items() if key not in _OF_CONTAINERS]
        elif isinstance(each, list):
            waiting += each


def _replaced(data: Any, value: Any) -> Any:
    """Return the data with a value in place of each placeholder."""
    if isinstance(data, dict):
        return {key: below if key in _OF_CONTAINERS else _replaced(below, value) for key, below in data.items()}
    if isinstance(data, list):
        return [_replaced(each, value) for each in data]
    return value if isinstance(data, str) and is_placeholder(data) else data


def _existing(chain: Path, data: Any) -> Path:
    """Return the longest part of a chain of keys that exists."""
    return next((chain[:length] for length in range(len(chain), 0, -1) if value_at_path(data, *chain[:length]) is not None), ())
