"""Compiles CEL expressions as the API server does for admission policies, and evaluates them over plain data.

This is the only module that imports the library: cel-expr-python, Google's runtime, installed with the extra ``cel``. The functions that
Kubernetes adds to CEL are in ``admission.cel_functions``. Everything is limited: the length and depth of an expression, the iterations of
its macros (10,000, by the library), the size of an object and of the values that an expression creates (estimated before the evaluation,
because the library does not count them), and the arguments and results of functions. Regular expressions are RE2, which is linear.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from afflint.admission import cel_kyverno
from afflint.admission.cel_ast import CONSTANT, Checked, SyntaxNode
from afflint.admission.cel_checks import growth, may_be_optional, misused_optional, reads_of
from afflint.admission.cel_functions import FUNCTIONS, INTERNAL_FUNCTIONS, SEARCHES, without_groups
from afflint.admission.cel_kyverno import Lookup
from afflint.admission.cel_messages import UNDECLARED, ExpressionMistake, in_words, mistakes_in, place_of, reason_of, value_unknown
from afflint.admission.cel_types import RESOLVED, UNTYPED, configuration, declared_fields, field_path
from afflint.admission.cel_types import mistakes as further_mistakes
from afflint.admission.cel_values import KEPT, LARGEST, Sizes, cleaned, plain
from afflint.admission.cel_values import EvaluationError as EvaluationError
from afflint.distribution import extra_needed
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted, visible

VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
"""What expressions can name: see Variables in the API's ValidatingAdmissionPolicySpec."""

LONGEST_EXPRESSION = 10_000
"""Characters of an expression."""
_MOST_ROUNDS = 10_000
"""The limit of iterations of all macros, nested ones included: the library aborts an expression with more."""
_MOST_MADE = 1 << 29
"""The limit of characters and items that the iterations of an expression read and create, estimated before the evaluation."""
_MOST_COMPARED = 1 << 27
"""The limit of values that the iterations compare."""
_MOST_GIVEN = 1 << 28
"""The limit for an expression with functions in Python: the library keeps their arguments until the evaluation ends."""
_ITEM = 16
"""A list item that is passed to such a function takes about as much memory as this number of characters."""
_MOST_TRANSFERRED = 1 << 23
"""The limit of characters and items that functions in Python take and return in one evaluation."""
_SLOW = 16
"""How many times longer finding all matches of a pattern takes than other functions."""

_EXTENSIONS = ("optional", "sets", "lists", "two-var-comprehensions")
_OFFLINE = {"authorizer": "`authorizer` needs a cluster"}


class ExpressionError(Exception):
    """The API server would reject the expression."""

    def __init__(self, mistakes: Sequence[ExpressionMistake]) -> None:
        super().__init__("; ".join(map(str, mistakes)))
        self.mistakes = tuple(mistakes)


class OfflineError(Exception):
    """The expression can only be evaluated in a cluster or by another program, for the reason in the message."""


def ensure_available() -> None:
    """Raise UserError with installation instructions if the library is missing."""
    _library()


@cache
def _library() -> Any:
    try:
        from cel_expr_python import cel
    except ImportError:
        if sys.version_info < (3, 11):
            raise UserError(
                f"evaluating CEL needs Python 3.11 or later and the extra `cel`; this is Python {sys.version_info[0]}.{sys.version_info[1]}"
            ) from None
        raise UserError(extra_needed("evaluating CEL", "cel")) from None
    if sys.version_info < (3, 12):
        # The library returns None from callbacks without a reference, which would use up its count. A large count prevents that.
        _held.append([None] * (1 << 20))
    return cel


_held: list[list[None]] = []


class Program:
    """A compiled expression. ``needs``: the names of the variables of the policy that it may refer to; None for perhaps all."""

    def __init__(self, text: str, checked: Checked, *, unwraps_any: bool = False) -> None:
        """``unwraps_any``: as in ExpressionScope."""
        self.text = text
        self.type = checked.type_of(checked.root)
        """The type of its result, as CEL writes it: ``bool``, ``list(string)``."""
        self.needs = _named_variables(text)
        self._needs_namespace = "namespaceObject" in _NAMESPACE_NAME.sub("", text)
        self.reads = reads_of(checked)
        self.alias = text.strip() if text.strip() in VARIABLES else ""
        """The one of VARIABLES that is the whole expression, so that its value need not be converted; "" for any other expression."""
        self._compiled = _environment().deserialize(_rewritten(checked, unwraps_any=unwraps_any))
        self._growth = growth(checked)

    def evaluate(self, inputs: EvaluationInput) -> Any:
        """Return the result as plain data. Raises EvaluationError."""
        inputs.prepare(self)
        if self._needs_namespace and inputs.only_names_namespace:
            raise EvaluationError(inputs.unknown_namespace())
        activation = inputs.activation(self)
        if self._is_too_much(inputs.sizes):
            raise EvaluationError("it may create values from the object that exceed the memory limit")
        _transferred.left = _MOST_TRANSFERRED
        cel_kyverno.STATE.begin(inputs.lookup)
        left = inputs.sizes.left
        try:
            return plain(self._compiled.eval(activation), inputs.sizes)
        except EvaluationError as error:
            failure = error
        except RuntimeError as error:
            failure = EvaluationError(*reason_of(str(error)))
        except MemoryError:
            failure = EvaluationError("the values that it creates exceed the memory limit")
        except (TypeError, ValueError, OverflowError) as error:  # For times that Python does not have.
            failure = EvaluationError(f"afflint does not support one of its values: {visible(str(error))}")
        inputs.sizes.left = left
        if cel_kyverno.STATE.unknown:
            raise EvaluationError(cel_kyverno.STATE.unknown) from None
        if str(failure) == value_unknown("namespaceObject"):
            raise EvaluationError(inputs.unknown_namespace()) from None
        where = place_of(failure.word, self.text, _QUIET) if failure.word else ""
        raise EvaluationError(f"{failure}{where}", failure.word, failure.certain, failure.is_missing_key) from None

    def _is_too_much(self, sizes: Sizes) -> bool:
        """Return whether the expression may read or create more characters and items than the limits allow."""
        longest = max(sizes.text, sizes.items, len(self.text))
        items = known = max(sizes.items, self.text.count(","))
        if "split" in self.text or "findAll" in self.text:  # A text may be taken apart into as many items.
            items = longest
            known = longest if _TAKES_LISTS.search(self.text) else known
        rounds = self._growth.factor * min(items**self._growth.loops, _MOST_ROUNDS)
        if rounds * longest > _MOST_MADE or (items**2 > _MOST_MADE and _COMPARES_ALL.search(self.text)):
            return True
        # Each iteration may compare one of the values with itself; a pattern that is not a literal may be as long as any string.
        if self._growth.loops and rounds * sizes.values > _MOST_COMPARED:
            return True
        if longest**2 > _MOST_MADE and any(each not in "\"'rRbB" for each in _PATTERN.findall(self.text)):
            return True
        return rounds * max(longest, _ITEM * known) > _MOST_GIVEN and _calls_python(self.text)


_NAMESPACE_NAME = re.compile(
    r"""namespaceObject\s*\.\s*metadata\s*\.\s*(?:name\b|labels\s*\[\s*(["'])kubernetes\.io/metadata\.name\1\s*\])"""
    r"""|["']kubernetes\.io/metadata\.name["']\s+in\s+namespaceObject\s*\.\s*metadata\s*\.\s*labels\b"""
)
"""What of a namespace is known if its manifest is not: its name, and the label with its name."""
_COMPARES_ALL = re.compile(r"\b(?:sets\s*\.|distinct\b)")
_PATTERN = re.compile(r"\b(?:matches|find|findAll)\s*\(\s*(.)", re.DOTALL)


_TAKES_LISTS = re.compile(r"\b(?:join|indexOf|lastIndexOf|isSorted|sum|min|max|format)\s*\(")


def _calls_python(text: str) -> bool:
    names = {each.name for each in (*FUNCTIONS, *cel_kyverno.FUNCTIONS)} | {"find", "findAll", "transformMap", "transformMapEntry"}
    return any(name.rpartition(".")[2] in names or name in names for name in re.findall(r"([A-Za-z][\w.]*)\s*\(", text))


class EvaluationInput:
    """The values of VARIABLES for one object, and the variables of its policy.

    A name without a value is unknown offline. Variables are evaluated once, when an expression first refers to them. An expression that
    refers to a failed variable fails as well, unless its result does not depend on it.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        variables: Mapping[str, Program | None] | None = None,
        *,
        only_names_namespace: bool = False,
        lookup: Lookup | None = None,
    ) -> None:
        """``only_names_namespace``: ``namespaceObject`` has only the name of the namespace and the label with it."""
        self.only_names_namespace, self.lookup = only_names_namespace, lookup
        self.sizes = Sizes()
        """The sizes of all values that have been evaluated so far."""
        self.sizes.left = LARGEST  # The limit for the values of all variables.
        self.values = values
        self.variables = variables or {}
        self._passed: dict[tuple[str, ...], Any] = {}
        """The values by path that expressions have read, in the form in which the library gets them."""
        self._known: dict[str, Any] = {}
        self._failed: dict[str, EvaluationError] = {}

    def unknown_namespace(self) -> str:
        """Return the reason why little or nothing is known about the namespace of the object."""
        known = self.values.get("namespaceObject")
        if known is None:
            return "it depends on the namespace, which the object does not set"
        return f"it depends on the namespace {quoted(known['metadata']['name'])}, whose manifest is not among the files"

    def with_object(self, data: Any) -> EvaluationInput:
        """Return the same inputs for another object."""
        values = {**self.values, "object": data}
        return EvaluationInput(values, self.variables, only_names_namespace=self.only_names_namespace, lookup=self.lookup)

    def activation(self, program: Program) -> Any:
        """Return what an expression reads in the form of the library. Raises EvaluationError if that is too large."""
        known: dict[str, Any] = {"variables": {}}
        for path in program.reads:
            if path[0] == "variables":
                self._add_variable(known["variables"], path)
            elif path[0] in self.values:
                self._add(known, path, path)
        return _environment().Activation(known)

    def _add_variable(self, known: dict[str, Any], path: tuple[str, ...]) -> None:
        """Add a variable that an expression reads; all of them if it does not name one."""
        for name in path[1:2] or self.variables:
            if name in self._known:
                known[name] = self._known[name]
            elif root := self._alias(name):
                self._add(known, (root, *path[2:]), (name, *path[2:]))

    def _alias(self, name: str) -> str:
        """Return the value for which a variable is another name; "" for any other variable."""
        program = self.variables.get(name)
        return program.alias if program is not None and program.alias in self.values else ""

    def _add(self, known: dict[str, Any], path: tuple[str, ...], names: tuple[str, ...]) -> None:
        """Add a value, and the maps that contain it. ``names`` is its path in ``known``: an alias may have another name."""
        value: Any = self.values
        for depth, (key, name) in enumerate(zip(path, names, strict=True), start=1):
            if key not in value or (value[key] is None and depth > 1 and not (depth == 2 and key == KEPT)):
                return
            value = value[key]
            if depth == len(path) or type(value) is not dict:
                known[name] = self._part(path[:depth], value)
                return
            known = known.setdefault(name, {})

    def _part(self, path: tuple[str, ...], value: Any) -> Any:
        """Return a value in the form of the library; each is converted once."""
        if path not in self._passed:
            self._passed[path] = cleaned(value, self.sizes, len(path) - 1)
        return self._passed[path]

    def prepare(self, program: Program) -> None:
        """Evaluate the variables that an expression may refer to, after the variables that they refer to themselves."""
        waiting = self._unknown(program)
        begun: set[str] = set()
        while waiting:
            name = waiting[-1]
            variable = self.variables[name]
            if name not in begun and not self._is_decided(name):
                begun.add(name)
                # A variable that refers to itself, directly or not, finds itself failed.
                self._failed[name] = EvaluationError(f"`variables.{name}` is not available offline")
                waiting += () if variable is None else self._unknown(variable)
                continue
            waiting.pop()
            if name in begun and variable is not None:
                begun.remove(name)
                self._evaluate(name, variable)

    def _unknown(self, program: Program) -> list[str]:
        """Return the variables that an expression may refer to and that have not been evaluated, in reverse order."""
        names = self.variables if program.needs is None else program.needs
        if not names:
            return []
        return [each for each in reversed([*names]) if each in self.variables and not (self._is_decided(each) or self._alias(each))]

    def _is_decided(self, name: str) -> bool:
        return name in self._known or name in self._failed

    def failure(self, program: Program) -> EvaluationError | None:
        """Return why a variable that an expression refers to has no value; None if all have one."""
        return next((self._failed[name] for name in program.needs or () if name in self._failed), None)

    def _evaluate(self, name: str, program: Program) -> None:
        try:
            value = program.evaluate(self)
        except EvaluationError as error:
            cause = self.failure(program)
            if cause is not None:
                self._failed[name] = EvaluationError(str(cause), cause.word, error.certain and cause.certain, cause.is_missing_key)
            else:
                self._failed[name] = EvaluationError(f"`variables.{name}`: {error}", error.word, error.certain, error.is_missing_key)
        else:
            del self._failed[name]
            self._known[name] = value


class ExpressionScope(NamedTuple):
    """The names that an expression can use: some of VARIABLES, and the ``variables`` of its policy with their types, if known."""

    names: tuple[str, ...] = VARIABLES
    variables: tuple[tuple[str, str], ...] = ()
    kyverno: bool = False
    """Whether the expression can use the functions of Kyverno."""
    unwraps_any: bool = False
    """Whether ``orValue`` returns a value that is not optional, instead of failing: see OrValueCompatEnvOptions in Kyverno."""


EVERYTHING = ExpressionScope()


@lru_cache(maxsize=4096)
def compiled(text: str, scope: ExpressionScope = EVERYTHING) -> Program:
    """Compile an expression. Raises ExpressionError, OfflineError, and UserError if the library is missing."""
    if len(text) > LONGEST_EXPRESSION:
        raise OfflineError(f"it has {len(text)} characters; the limit is {LONGEST_EXPRESSION}")
    try:
        names = _named_variables(text)
        # Creating a checker takes longer than most compilations, so it has only the variables that the expression names.
        known = scope if names is None else scope._replace(variables=tuple([each for each in scope.variables if each[0] in names]))
        checked = Checked(_checker(known).compile(_has_untyped(_library_text(text))).serialize())
    except RuntimeError as error:
        raise _refusal(mistakes_in(str(error)), text, scope) from None
    further = list(further_mistakes(checked, text, lambda node: _fails(checked, node)))
    if further:
        raise ExpressionError(further)
    taker = misused_optional(checked)
    if taker is not None:
        raise OfflineError(f"`{taker}` receives an optional value; use `orValue` to unwrap it")
    return Program(text, checked, unwraps_any=scope.unwraps_any)


def _has_untyped(text: str) -> str:
    """Replace typed objects in each ``has(…)`` by untyped ones; positions in the text do not change."""
    return _HAS.sub(lambda match: match[0] if not match[1] else match[1] + UNTYPED[match[2]], text) if "has" in text else text


def _refusal(mistakes: Sequence[ExpressionMistake], text: str, scope: ExpressionScope) -> ExpressionError | OfflineError:
    for each in mistakes:
        name = UNDECLARED.match(each.message)
        offline = {**cel_kyverno.OFFLINE, **_OFFLINE} if scope.kyverno else _OFFLINE
        if name is not None and name[1].partition(".")[0] in offline:
            return OfflineError(offline[name[1].partition(".")[0]])
        if "recursion depth" in each.message:
            return OfflineError("it is nested too deeply for afflint; move parts of it to variables")
    if not mistakes:
        return ExpressionError([ExpressionMistake("it cannot be parsed", 0, 0)])
    return ExpressionError(in_words(mistakes, text, scope.names, tuple(_known_functions())))


def _fails(checked: Checked, node: SyntaxNode) -> bool:
    """Return whether the evaluation of an expression without variables fails; for a string literal, whether it is an invalid pattern."""
    _transferred.left = _MOST_TRANSFERRED
    sizes = Sizes()
    sizes.left = LARGEST
    environment = _environment()
    try:
        if node.kind == CONSTANT:
            _find_all("", node.text or "")
        else:
            plain(environment.deserialize(checked.part(node)).eval(environment.Activation({})), sizes)
    except (EvaluationError, RuntimeError, TypeError, ValueError, OverflowError):
        return True
    return False


# Functions that are evaluated as others: by their names in the tree, and by those that the library resolved.
_OWN_NAMES = {"string": "kubernetes.string", "cel.@mapInsert": "kubernetes.mapInsert", "lists.range": "kubernetes.range"}
_MADE_OF_TEXT = {"google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp"}
_AGGREGATES = frozenset(("min", "max", "sum"))
_OPTIONAL = frozenset(("validate", "format.named"))


def _rewritten(checked: Checked, *, unwraps_any: bool) -> bytes:
    """Rewrite a checked expression so that the library can evaluate it.

    Functions in Python cannot return times or optional values: the expression converts strings and empty lists to them.
    """

    def wrapper(node: SyntaxNode) -> str:
        if node.name in _AGGREGATES:
            return _MADE_OF_TEXT.get(checked.type_of(node), "")
        return "optional.ofNonZeroValue" if node.name in _OPTIONAL and checked.type_of(node).startswith("optional_type") else ""

    def only_part(node: SyntaxNode) -> bool:
        return unwraps_any and node.name == "orValue" and not may_be_optional(node.parts[0], checked)

    return checked.rewritten(_OWN_NAMES, wrapper, RESOLVED, field_path, only_part)


def _known_functions() -> Iterator[str]:
    yield from dict.fromkeys(each.name for each in FUNCTIONS)
    yield from ("size", "contains", "startsWith", "endsWith", "matches", "find", "findAll", "int", "uint", "double", "bool", "type")
    yield from ("duration", "timestamp", "dyn", "orValue")


# Literals and comments, which may contain anything.
_QUIET = (
    r"""[rR][bB]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')"""
    r"""|\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*"""
)
_LITERAL = re.compile(_QUIET.rpartition("|")[0], re.DOTALL)
_VARIABLE = re.compile(_QUIET + r"|(?<![\w.])variables(?:\s*\.\s*(\w+))?(?!\w)", re.DOTALL)
_HAS = re.compile(_QUIET + r"|((?<![\w.])has\s*\(\s*)(request|namespaceObject|variables)(?!\w)", re.DOTALL)
_FIELDS = (
    r"""((?:\s*\.\s*\??\s*[A-Za-z_]\w*\b(?!\s*\()"""
    r"""|\[\s*\??\s*(?:"[^"\\\n]*"|'[^'\\\n]*'|[0-9]+)\s*\])+)"""
)
_CHAIN = re.compile(_QUIET + r"|(?<![\w.])(object|variables)" + _FIELDS, re.DOTALL)
_ONLY_A_CHAIN = re.compile(r"\s*(object|variables)" + _FIELDS + r"?\s*")
_STEP = re.compile(r"""\.\s*\??\s*(\w+)|\[\s*\??\s*(?:"([^"]*)"|'([^']*)'|([0-9]+))\s*\]""")


class Chain(NamedTuple):
    """A chain of fields below ``object`` or ``variables`` in an expression."""

    root: str
    path: Path


def chains_in(text: str) -> Iterator[Chain]:
    """Yield the field chains of an expression in their order."""
    for match in _CHAIN.finditer(text):
        if match[1]:
            yield _chain(match)


def chain_of(text: str) -> Chain | None:
    """Return the field chain that an expression consists of; None for any other expression."""
    match = _ONLY_A_CHAIN.fullmatch(text)
    return None if match is None else _chain(match)


def texts_in(text: str) -> Iterator[str]:
    """Yield the string literals of an expression, without their quotes and with their escapes."""
    for match in _LITERAL.finditer(text):
        yield match[0].lstrip("rRbB").strip(match[0][-1])


def _chain(match: re.Match[str]) -> Chain:
    steps = [int(step[4]) if step[4] else step[1] or step[2] or step[3] or "" for step in _STEP.finditer(match[2] or "")]
    return Chain(match[1], tuple(steps))


def _named_variables(text: str) -> tuple[str, ...] | None:
    if "variables" not in text:
        return ()
    names = [match[1] for match in _VARIABLE.finditer(text) if match[0].startswith("variables")]
    return None if None in names else tuple(dict.fromkeys(names))


class _TransferLimit:
    """Counts the arguments and results of functions in Python: the library keeps all until the evaluation ends, and copies lists."""

    def __init__(self) -> None:
        self.left = 0

    def take(self, values: Iterable[Any]) -> None:
        """Count values. Raises ValueError if the limit is exceeded."""
        for value in values:
            self.left -= len(value) if type(value) in (str, list, dict) else 1
        if self.left < 0:
            raise ValueError("the arguments of its functions have more than 8 million characters and items in all")


_transferred = _TransferLimit()


def _with_transfer_limit(function: Callable[..., Any]) -> Callable[..., Any]:
    def limited(*arguments: Any) -> Any:
        _transferred.take(arguments)
        result = function(*arguments)
        _transferred.take((result,))
        return result

    return limited


@cache
def _environment() -> Any:
    """CEL with the functions of Kubernetes, for evaluation: here the functions accept any value."""
    cel = _library()
    searches = [each._replace(implementation=_find if each.gives == "string" else _find_all) for each in SEARCHES]
    overloads: dict[str, dict[tuple[Any, ...], Any]] = {}
    for each in (*FUNCTIONS, *INTERNAL_FUNCTIONS, *cel_kyverno.FUNCTIONS, *searches):
        bases = [name.partition("<")[0] for name in each.takes]
        names = tuple(base.upper() if base in _EVALUATED_TYPES else "DYN" for base in bases)
        takes = (each.member, *names)
        known = overloads.setdefault(each.name, {})
        if each.name in _OWN_NAMES or any(_overlap(takes, others) for others in known):
            continue
        types = [getattr(cel.Type, name) for name in names]
        known[takes] = cel.Overload(
            f"kubernetes_{each.name}_{len(known)}", cel.Type.DYN, types, each.member, _with_transfer_limit(each.implementation)
        )
    extension = cel.CelExtension("kubernetes", [cel.FunctionDecl(name, [*known.values()]) for name, known in overloads.items() if known])
    return cel.NewEnv(
        config=_extended(_EXTENSIONS), variables=dict.fromkeys((*VARIABLES, *cel_kyverno.VARIABLES), cel.Type.DYN), extensions=[extension]
    )


_EVALUATED_TYPES = frozenset(("bool", "int", "uint", "double", "string", "list", "map"))


def _overlap(one: tuple[Any, ...], two: tuple[Any, ...]) -> bool:
    """Return whether two overloads of a function accept the same values: then the first one handles those of the second, too."""
    return len(one) == len(two) and all(first == second or "DYN" in (first, second) for first, second in zip(one, two, strict=True))


@cache
def _checker(scope: ExpressionScope) -> Any:
    """CEL with the types that the API server uses to check an expression."""
    cel = _library()
    types = dict.fromkeys(scope.names, cel.Type.DYN)
    types |= {name: cel.Type(kind) for name, kind in declared_fields().items() if name.partition(".")[0] in scope.names}
    types |= {UNTYPED[name]: cel.Type.DYN for name in scope.names if name in UNTYPED}
    types |= {f"variables.{name}": cel.Type(_as_variable(kind)) for name, kind in scope.variables}
    return cel.NewEnv(config=_checked_configuration(scope.kyverno), variables=types)


def _as_variable(kind: str) -> str:
    """Return the declared type of a policy variable; the API server keeps the types of lists, maps, times and scalars."""
    known = re.sub(r"google\.protobuf\.(?:Duration|Timestamp)", "", kind)
    return "dyn" if re.search(r"\.|optional|type", known) else kind.replace("(", "<").replace(")", ">")


@cache
def _checked_configuration(kyverno: bool) -> Any:
    return _library().NewEnvConfigFromYaml(configuration(_EXTENSIONS, cel_kyverno.FUNCTIONS if kyverno else ()))


def _extended(names: Sequence[str]) -> Any:
    return _library().NewEnvConfigFromYaml("extensions:\n" + "".join(f"- name: {name}\n" for name in names))


@cache
def _finder() -> tuple[Any, Any]:
    """Return an environment and a program that finds all matches of a pattern: CEL uses RE2, which Python does not have."""
    cel = _library()
    environment = cel.NewEnv(config=_extended(("optional", "regex")), variables={"text": cel.Type.STRING, "pattern": cel.Type.STRING})
    return environment, environment.compile("regex.extractAll(text, pattern)")


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    environment, program = _finder()
    try:
        _transferred.take((text,) * (_SLOW - 1))
        sizes = Sizes()
        sizes.left = 2 * LARGEST
        matches = plain(program.eval(environment.Activation({"text": text, "pattern": without_groups(pattern)})), sizes)
    except (RuntimeError, EvaluationError) as error:
        raise ValueError(reason_of(str(error)).message) from None
    found = matches if isinstance(matches, list) else []
    return found if most < 0 else found[:most]


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern)), "")


def _library_text(text: str) -> str:
    """Return the text in a form that the library accepts: it needs valid Unicode, and ends at a NUL character."""
    if "\0" in text:
        raise ExpressionError([ExpressionMistake("it contains a NUL character", 0, 0)])
    return text.encode("utf-8", "replace").decode()
