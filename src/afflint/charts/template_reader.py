"""What the templates of a chart write, read without their values: text with gaps, and which values are read on the way.

Each template is run once with symbols in the place of values (``charts.symbols``). Each branch is followed under its condition, and each
loop once. What cannot be followed depends on all values that it gets. After text/template of Go, Sprig, and pkg/engine of helm.sh/helm.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import islice, product
from math import prod

from afflint.charts.symbols import (
    FALSE,
    NOTHING,
    TRUE,
    UNKNOWN,
    Alternatives,
    Atom,
    Condition,
    Derived,
    Hole,
    Indented,
    KeyOf,
    ListSymbol,
    Literal,
    MapSymbol,
    Output,
    OutputPiece,
    PlainPiece,
    Ref,
    Symbol,
    Truth,
    any_of,
    both_of,
    copied,
    inside,
    literal_text,
    negated,
    one_of,
    paths_in,
    paths_of,
    symbol,
    truth_of,
)
from afflint.findings.paths import Path
from afflint.kube.kinds import EACH
from afflint.yaml.go_functions import LONGEST_VALUE, TEXT_FUNCTIONS, as_text
from afflint.yaml.go_syntax import Block, Expression, GoSyntaxError, Piece, Statement, Text, defines_in, parsed

_MOST_STEPS = 60_000  # Of 680 charts of 50 repositories none that can be followed takes more than 30,000.
_DEEPEST = 24
_MOST_ITEMS = 64
_NEVER, _FEW_VARIABLES = 1 << 62, 50
_MOST_NESTED = 12
GLOBAL = "global"
"""The key of the values that a chart shares with its dependencies."""


@dataclass(frozen=True, slots=True)
class ChartPart:
    """A chart or one of its dependencies. ``prefix`` is the path of its values; ``files`` are its templates by their names.

    ``base`` is how the names of its files begin: "" or the folder of a dependency. ``condition``: when Helm uses it. ``unpacked`` returns
    the text of another file of the chart; None if it has none with this name.
    """

    name: str
    prefix: Path
    files: Mapping[str, str]
    base: str = ""
    is_library: bool = False
    unpacked: Callable[[str], str | None] = lambda _: None
    condition: Condition = TRUE


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """What one template writes."""

    file: str
    pieces: tuple[OutputPiece, ...]


@dataclass(slots=True)
class ValueReads:
    """The values that templates read. ``whole``: with all that is in them. ``asked``: only whether, or to what, they are set.

    ``looped``: those over which they loop. ``opened``: file and line of what may read any value, in a way that is not known.
    ``fills_texts``: texts of the values are templates themselves. ``replaced``: values that a template replaces (`set .Values.web`).
    """

    whole: dict[Path, tuple[str, int]] = field(default_factory=dict)
    asked: dict[Path, tuple[str, int]] = field(default_factory=dict)
    looped: dict[Path, None] = field(default_factory=dict)
    opened: tuple[str, int] | None = None
    fills_texts: bool = False
    replaced: set[Path] = field(default_factory=set)


class _StoppedError(Exception):
    """Reading ends: a chart takes too many steps, or no more of it is needed."""


Scope = dict[str, list[Symbol]]
"""Each variable in scope, as a list with its value, so that an inner block can change it."""


@lru_cache(maxsize=512)
def _parsed_once(text: str) -> list[Piece]:
    """Parse a template. A chart may be a dependency of many others, or of one under many names."""
    return parsed(text)


class TemplateReader:
    """Reads the templates of a chart and of its dependencies."""

    def __init__(self, parts: Sequence[ChartPart], *, is_complete: bool = True, stops: bool = False) -> None:
        """``is_complete``: all dependencies are among the parts. ``stops``: at the first place that may read any value."""
        self.reads = ValueReads()
        self._is_complete, self._stops = is_complete, stops
        self._parts = parts
        self._named: dict[str, tuple[str, list[Piece]]] = {}
        self._files: dict[str, tuple[ChartPart, list[Piece]]] = {}
        self._kept: dict[object, tuple[OutputPiece, ...]] = {}
        self._roots: dict[str, Symbol] = {}
        self._used: set[str] = set()
        self._steps, self._depth = _MOST_STEPS, 0
        self._oldest_changed, self._below_root = _NEVER, set[int]()
        self._pure, self._is_pure = dict[str, bool](), False
        self._file, self._line, self._part = "", 1, parts[0]
        files = [(part, name, text) for part in parts for name, text in part.files.items()]
        for part, name, text in sorted(files, key=lambda each: (each[1].count("/"), each[1]), reverse=True):  # As Helm does.
            self._add(part, name, text)

    def _add(self, part: ChartPart, name: str, text: str) -> None:
        try:
            pieces = _parsed_once(text)
        except GoSyntaxError as error:
            self.reads.opened = name, text[: text.find(error.action)].count("\n") + 1
            return
        self._files[name] = part, pieces
        for each, body in defines_in(pieces):
            # An empty template does not replace another one.
            if each not in self._named or any(not isinstance(piece, Text) or piece.text.strip() for piece in body):
                self._named[each] = name, body

    def written(self) -> list[WrittenFile]:
        """Return what each template writes, in the order of their names, without those that Helm does not render alone."""
        found = []
        try:
            for name, (part, pieces) in self._files.items() if not (self._stops and self.reads.opened) else ():
                if not part.is_library and not name.rpartition("/")[2].startswith("_"):
                    found.append(WrittenFile(name, self._of_file(name, part, pieces)))
        except (_StoppedError, RecursionError):
            self.reads.opened = self.reads.opened or (self._file, self._line)
        else:
            self._read_unused()
        return sorted(found, key=lambda each: each.file)

    def _read_unused(self) -> None:
        """Read the named templates that no template includes, if texts of the values may include them."""
        root = self._roots.get(self._parts[0].base)
        unused = [name for name in self._named if name not in self._used] if self.reads.fills_texts and root is not None else []
        try:
            for name in unused:
                self._included(name, root or NOTHING)
        except (_StoppedError, RecursionError):
            self.reads.opened = self.reads.opened or (self._file, self._line)

    def _of_file(self, name: str, part: ChartPart, pieces: Sequence[Piece]) -> tuple[OutputPiece, ...]:
        before = self._file, self._line, self._part
        self._file, self._part = name, part
        if part.base not in self._roots:
            self._roots[part.base] = symbol(self._root(part))
        root = self._roots[part.base]
        output = self._run(pieces, root, {"$": [root]})
        self._file, self._line, self._part = before
        return output if part.condition == TRUE else (Alternatives(((part.condition, output),)),)

    def _root(self, part: ChartPart) -> MapSymbol:
        """Return what `.` is at the top of a template."""
        unknown = {each: symbol(Derived()) for each in _CHART_FIELDS}
        chart: Symbol = symbol(MapSymbol({**unknown, "Name": symbol(Literal(str(part.prefix[-1]) if part.prefix else part.name))}))
        below = frozenset(each.prefix for each in self._parts if each.prefix[:-1] == part.prefix and each.prefix)
        others: dict[str, Symbol] = {"Capabilities": symbol(Derived()), "Subcharts": symbol(Derived(below))}
        release = {each: symbol(Derived()) for each in ("Namespace", "Service", "Revision", "IsInstall", "IsUpgrade")}
        others["Release"] = symbol(MapSymbol({**release, "Name": symbol(Ref(RELEASE_NAME))}))
        template = symbol(MapSymbol({"BasePath": symbol(Literal(_BASE_PATH)), "Name": symbol(Derived())}))
        files = symbol(MapSymbol({_FILES: symbol(Literal(True))}, [Derived()]))
        return MapSymbol(
            {**others, "Values": symbol(Ref(part.prefix)), "Chart": chart, "Template": template, "Files": files}, name=f"{part.base}."
        )

    # Reads.

    def _read(self, value: Symbol, *, asked: bool = False) -> None:
        """Note that a value is read, with all that is in it unless it is only asked for."""
        known = self.reads.asked if asked else self.reads.whole
        for _, atom in value:
            for path in paths_of(atom) if not isinstance(atom, Output) else ():  # The gaps of a text have been noted.
                known.setdefault(path, (self._file, self._line))

    def _open(self) -> None:
        self.reads.opened = self.reads.opened or (self._file, self._line)
        if self._stops:
            raise _StoppedError

    def _ask(self, condition: Condition) -> None:
        for path in paths_in(condition):
            self.reads.asked.setdefault(path, (self._file, self._line))

    # Statements.

    def _run(self, body: Sequence[Piece], dot: Symbol, scope: Scope) -> tuple[OutputPiece, ...]:
        """Return what a body writes."""
        scope = dict(scope)
        found: list[OutputPiece] = []
        for each in body:
            self._steps -= 1
            if self._steps < 0:
                raise _StoppedError
            if isinstance(each, Text):
                found.append(PlainPiece(each.text, self._file, each.line))
            elif isinstance(each, Block):
                self._line = each.branches[0][0].line
                found += self._block(each, dot, scope)
            else:
                self._line = each.line
                found += self._statement(each, dot, scope)
        return tuple(found)

    def _statement(self, each: Statement, dot: Symbol, scope: Scope) -> tuple[OutputPiece, ...]:
        if each.expression is None:
            return ()
        value = self._value(each.expression, dot, scope)
        if not each.names:
            return self._printed(value)
        for _, atom in value:
            if isinstance(atom, MapSymbol):
                atom.is_fresh = False
        if each.is_declared or each.names[0] not in scope:
            scope[each.names[0]] = [value]
        else:
            scope[each.names[0]][0] = value
        return ()

    def _printed(self, value: Symbol, form: str = "text") -> tuple[OutputPiece, ...]:
        """Return the text of a value."""
        self._read(value)
        branches = [(condition, self._text_of(atom, form)) for condition, atom in value]
        if len(branches) == 1:
            return branches[0][1]
        return (Alternatives(tuple(branches)),)

    def _text_of(self, atom: Atom, form: str) -> tuple[OutputPiece, ...]:
        if isinstance(atom, Output) and form != "words":
            # A long text stays one piece, so that what includes it several times does not grow.
            return atom.pieces if len(atom.pieces) <= _FEW else (Alternatives(((TRUE, atom.pieces),)),)
        if isinstance(atom, Output):
            atom = Derived(frozenset(paths_of(atom)))
        if isinstance(atom, Literal):
            return (PlainPiece(_text_of(atom.value, form), self._file, self._line),)
        return (Hole(copied(atom), form, self._file, self._line),)

    def _block(self, block: Block, dot: Symbol, scope: Scope) -> tuple[OutputPiece, ...]:
        if block.branches[0][0].word == "define":
            return ()
        before = {name: cell[0] for name, cell in scope.items()}
        self._steps -= len(before) // _FEW_VARIABLES
        above: Condition = TRUE
        branches: list[tuple[Condition, tuple[OutputPiece, ...]]] = []
        changed: list[tuple[Condition, dict[str, Symbol]]] = []
        for action, body in block.branches:
            condition, pieces = self._branch(action, body, dot, scope)
            branches.append((both_of(above, condition), pieces))
            changed.append((both_of(above, condition), {name: scope[name][0] for name in before}))
            for name, value in before.items():
                scope[name][0] = value
            above = both_of(above, negated(condition))
        for name, value in before.items():
            if any(each[name] is not value for _, each in changed):
                scope[name][0] = one_of(*((condition, each[name]) for condition, each in changed), (above, value))
        return (Alternatives(tuple(branches)),)

    def _branch(self, action: Statement, body: Sequence[Piece], dot: Symbol, scope: Scope) -> tuple[Condition, tuple[OutputPiece, ...]]:
        """Return the condition of a branch, and what it writes."""
        self._line = action.line
        if action.expression is None or action.word == "block":
            given = [each for part in (action.expression or ())[2:] for each in part]  # The name of a block, and its value.
            value = self._value(given[1], dot, scope) if len(given) > 1 else dot
            name = given[0][1] if given and given[0][0] == "value" else None
            return TRUE, self._included(name, value) if name in self._named else self._run(body, value, scope)
        value = self._value(action.expression, dot, scope)
        condition = truth_of(value)
        # What a chart rejects is read.
        self._read(value, asked=not any(isinstance(each, Statement) and _FAILS.search(each.text) for each in body))
        self._ask(condition)
        if action.word in ("if", "else") and value == _ABSENT:
            return FALSE, ()
        if action.word == "range":
            self.reads.looped.update((atom.path, None) for _, atom in value if isinstance(atom, Ref))
            return condition, self._range(action, body, value, scope)
        inner = dict(scope)
        for name in action.names[:1]:
            if action.is_declared or name not in scope:
                inner[name] = [value]
            else:
                scope[name][0] = value
        is_with = action.word in ("with", "else with")
        return condition, self._run(body, _if_set(value) if is_with else dot, inner)

    def _range(self, action: Statement, body: Sequence[Piece], value: Symbol, scope: Scope) -> tuple[OutputPiece, ...]:
        """Return what a loop writes, with one turn for each known item, and one for all items that are not known."""
        found: list[OutputPiece] = []
        at_first = {name: cell[0] for name, cell in scope.items()}
        turns = self._turns(value)
        for number, (key, each) in enumerate(turns):
            given = [*zip(action.names, [key, each] if len(action.names) > 1 else [each], strict=False)]
            before = {name: cell[0] for name, cell in scope.items()}
            with self._changes() as has_changed:
                found += self._turn(action, body, each, given, scope)
            changed = [name for name, known in before.items() if scope[name][0] is not known]
            # What the last turn has changed, another one may see.
            if (changed or has_changed()) and number == len(turns) - 1:
                for name in changed:
                    scope[name][0] = one_of((UNKNOWN, before[name]), (UNKNOWN, scope[name][0]))
                found += self._turn(action, body, each, given, scope)
        ends = any(isinstance(each, Statement) and each.word in ("break", "continue") for each in _flat(body))
        for name in [name for name, known in at_first.items() if ends and scope[name][0] is not known]:
            scope[name][0] = one_of((UNKNOWN, at_first[name]), (UNKNOWN, scope[name][0]))
        return (Alternatives(((UNKNOWN, tuple(found)),)),) if ends else tuple(found)

    def _turn(
        self, action: Statement, body: Sequence[Piece], dot: Symbol, given: Sequence[tuple[str, Symbol]], scope: Scope
    ) -> tuple[OutputPiece, ...]:
        inner = dict(scope)
        for name, value in given:
            if action.is_declared or name not in scope:
                inner[name] = [value]
            else:
                scope[name][0] = value
        return self._run(body, dot, inner)

    def _turns(self, value: Symbol) -> list[tuple[Symbol, Symbol]]:
        """Return the keys and values of the turns of a loop. With too many, what the others read is not known."""
        found = [*islice(_turns(value), _MOST_ITEMS + 1)]
        if len(found) > _MOST_ITEMS:
            self._open()
        return found[:_MOST_ITEMS]

    # Expressions.

    def _value(self, expression: Expression, dot: Symbol, scope: Scope) -> Symbol:
        kind, first, *others = expression
        if kind == "value":
            return symbol(Literal(first))
        if kind == "path":
            return self._at_path(first, others[0], dot, scope)
        if kind == "method":
            return self._method(first, others[0], dot, scope)
        if first in _DIGESTS:
            return self._digest(others[0] or (), dot, scope)
        if first in ("and", "or") and others[0]:
            return self._chained(first, [self._value(each, dot, scope) for each in others[0]])
        return self._called(first, [self._value(each, dot, scope) for each in others[0] or ()])

    def _digest(self, arguments: Sequence[Expression], dot: Symbol, scope: Scope) -> Symbol:
        """Return a checksum. Nothing of a value is in it; what its text changes counts."""
        before, kept, stops = self.reads, self._kept, self._stops
        self.reads, self._kept, self._stops = ValueReads(replaced=before.replaced), {}, False
        with self._changes() as has_changed:
            try:
                for each in arguments:
                    self._value(each, dot, scope)
            finally:
                self.reads, self._kept, self._stops = before, {}, stops
        if not has_changed():
            self._kept = kept
        return symbol(Derived())

    def _at_path(self, root: object, names: Sequence[str], dot: Symbol, scope: Scope) -> Symbol:
        if type(root) is tuple:
            found = self._value(root, dot, scope)
        else:
            found = dot if root == "." else scope.get(str(root), [symbol(Derived())])[0]
        if len(names) == 1 and root in (".", "$") and self._never_has(found, names[0]):
            return _ABSENT
        for name in names:
            found = self._field(found, name)
        return found

    def _never_has(self, value: Symbol, key: str) -> bool:
        """Return whether a value is the dictionary that was made for this named template alone, and does not have a key, now or later."""
        if not self._is_pure or len(value) != 1:
            return False
        atom = value[0][1]
        return isinstance(atom, MapSymbol) and atom.is_fresh and not (atom.is_changed or atom.rest) and key not in atom.entries

    def _field(self, value: Symbol, name: str) -> Symbol:
        """Return the field of a value with a name."""
        return one_of(*((condition, self._field_of(atom, name)) for condition, atom in value))

    def _field_of(self, atom: Atom, name: str) -> Symbol:
        if isinstance(atom, Ref):
            if name == "AsMap" and atom.path == self._part.prefix:
                return symbol(atom)
            if name in _WHOLE and atom.path == self._part.prefix:
                return symbol(Derived(frozenset([atom.path])))
            # All charts of a release share the global values.
            is_global = name == GLOBAL and atom.path == self._part.prefix
            path = (GLOBAL,) if is_global else (*atom.path, name)
            return symbol(Derived(frozenset([path])) if path in self.reads.replaced else Ref(path))
        if isinstance(atom, MapSymbol):
            self._steps -= len(atom.rest)
            if self._steps < 0:
                raise _StoppedError
            inner = [self._field_of(each, name) for each in atom.rest]
            if name not in atom.entries:
                return one_of(*((UNKNOWN, each) for each in inner)) if len(inner) != 1 else inner[0]
            if not inner:
                return atom.entries[name]
            return one_of((UNKNOWN, atom.entries[name]), *((UNKNOWN, each) for each in inner))
        if isinstance(atom, (Derived, Output)):
            return symbol(Derived(frozenset(paths_of(atom))))
        return NOTHING

    def _method(self, path: Expression, arguments: Sequence[Expression], dot: Symbol, scope: Scope) -> Symbol:
        """Return what a method gives, such as `.Files.Get` or `.Capabilities.APIVersions.Has`."""
        _, root, names = path
        owner = self._at_path(root, names[:-1], dot, scope)
        given = [self._value(each, dot, scope) for each in arguments]
        is_files = any(isinstance(atom, MapSymbol) and _FILES in atom.entries for _, atom in owner)
        if any(isinstance(atom, Ref) for _, atom in owner):  # A method of the values, such as `.Values.PathValue`.
            return self._computed([owner, *given])
        if is_files and names[-1] == "Get" and given and (text := self._part.unpacked(str(_literal(given[0]) or ""))) is not None:
            return symbol(Literal(text))
        for each in given:
            self._read(each)
        return symbol(Derived(frozenset([_ANY_FILE]))) if is_files else symbol(Derived())

    def _chained(self, word: str, values: Sequence[Symbol]) -> Symbol:
        """Return the value that decides an `and` or an `or`, or else the last one."""
        found: list[tuple[Condition, Symbol]] = []
        above: Condition = TRUE
        for number, each in enumerate(values):
            truth = truth_of(each)
            self._ask(truth)
            goes_on = truth if word == "and" else negated(truth)
            ends = TRUE if number == len(values) - 1 else negated(goes_on)
            found.append((both_of(above, ends), each))
            above = both_of(above, goes_on)
        return one_of(*found)

    def _called(self, name: str, arguments: list[Symbol]) -> Symbol:
        texts = [as_text(_literal(each)) for each in arguments] if name in TEXT_FUNCTIONS and name not in _QUOTING else []
        if texts and None not in texts and sum(map(len, map(str, texts))) < LONGEST_VALUE:
            with suppress(ValueError, TypeError):
                return symbol(Literal(TEXT_FUNCTIONS[name](*texts)))
        function = _FUNCTIONS.get(name)
        if function is not None:
            try:
                return function(self, arguments)
            except (IndexError, TypeError, ValueError):
                pass
        if name in ("lookup", "now", "uuidv4"):
            return symbol(Derived())
        if name == "fail":
            return NOTHING
        return self._computed(arguments)

    def _computed(self, arguments: list[Symbol]) -> Symbol:
        """Return the result of a function that is not known here: it depends on everything that it gets."""
        for each in arguments:
            self._consume(each)
        return symbol(Derived(frozenset(path for each in arguments for _, atom in each for path in paths_of(atom))))

    def _consume(self, value: Symbol) -> None:
        """Note that a value is read as a whole; with the root, anything may be read."""
        self._read(value)
        if any(path in ((), part.prefix) for _, atom in value for path in paths_of(atom) for part in self._parts if not part.is_library):
            self._open()

    # Functions.

    def include(self, arguments: list[Symbol]) -> Symbol:
        """Return what a named template, or another file of the chart, writes for a value."""
        found: list[tuple[Condition, Symbol]] = []
        given = arguments[1] if len(arguments) > 1 else NOTHING
        for condition, atom in arguments[0]:
            name = self._name_in(atom)
            if name in self._named or name in self._files:
                found.append((condition, symbol(Output(self._included(str(name), given)))))
            elif name is None or (name and not self._is_complete):  # Otherwise Helm stops here.
                self._consume(given)
                found.append((condition, symbol(Derived(frozenset(path for _, each in given for path in paths_of(each))))))
        return one_of(*found)

    def _name_in(self, atom: Atom) -> str | None:
        """Return the name of a template; for a file of the chart it follows the path of its templates."""
        text = _literal(((TRUE, atom),))
        return re.sub(rf"^{_BASE_PATH}/*", f"{self._part.base}templates/", text).strip() if type(text) is str else None

    def _included(self, name: str, given: Symbol) -> tuple[OutputPiece, ...]:
        key = name, _key_of(given)
        if key in self._kept:
            return self._kept[key]
        if self._depth >= _DEEPEST:
            self._consume(given)
            return ()
        self._depth += 1
        before, was_pure = (self._file, self._line), self._is_pure
        with self._changes() as has_changed:
            if name in self._named:
                self._used.add(name)
                self._file, body = self._named[name]
                if name not in self._pure:
                    self._pure[name] = not any(isinstance(each, Statement) and _CHANGES.search(each.text) for each in _flat(body))
                self._is_pure = self._pure[name]
                output = self._run(body, given, {"$": [given]})
            else:
                part, pieces = self._files[name]
                output = self._of_file(name, part, pieces)
        self._file, self._line = before
        self._is_pure = was_pure
        self._depth -= 1
        if not has_changed():  # What changes a map must be run again.
            self._kept[key] = output
        return output

    def fill(self, arguments: list[Symbol]) -> Symbol:
        """Return the text of a template in a text (`tpl`)."""
        found: list[tuple[Condition, Symbol]] = []
        for condition, atom in arguments[0]:
            text = atom.value if isinstance(atom, Literal) else literal_text(atom.pieces) if isinstance(atom, Output) else None
            if type(text) is str and "{{" in text:
                found.append((condition, symbol(Output(self._of_text(text, arguments[1])))))
                continue
            self.reads.fills_texts = True
            self._read_given(arguments[1])
            around: tuple[OutputPiece, ...] = ()
            if _ANY_FILE in paths_of(atom) or _has_actions(atom):
                known = _around_gaps(atom)
                if known is None:
                    self._open()
                else:
                    around = self._of_text(known, arguments[1])
            found.append((condition, symbol(Output((*around, *self._printed(symbol(atom)))))))
        return one_of(*found)

    def _read_given(self, given: Symbol) -> None:
        """Note that a text of the values may read what a dictionary has; all values are asked for by their names in the text."""
        atoms = [atom for _, atom in given if isinstance(atom, MapSymbol) and not atom.name]
        roots = {part.prefix for part in self._parts}
        self._read(symbol(Derived(frozenset(path for atom in atoms for path in paths_of(atom) if path not in roots))))

    def _of_text(self, text: str, given: Symbol) -> tuple[OutputPiece, ...]:
        try:
            return self._run(parsed(text), given, {"$": [given]})
        except GoSyntaxError:
            self._consume(given)
            return ()

    def to_yaml(self, arguments: list[Symbol]) -> Symbol:
        """Return the YAML of a value."""
        return symbol(Output(self._printed(arguments[0], "yaml")))

    def to_json(self, arguments: list[Symbol]) -> Symbol:
        """Return the JSON of a value."""
        return symbol(Output(self._printed(arguments[0], "json")))

    def quoted(self, arguments: list[Symbol]) -> Symbol:
        """Return a value in quotes."""
        return symbol(Output(self._printed(arguments[-1], "quoted")))

    def words(self, arguments: list[Symbol]) -> Symbol:
        """Return a text that is made of its last argument: another case, a part of it."""
        for each in arguments:
            self._read(each)
        atoms = [atom for each in arguments for _, atom in each]
        paths = frozenset([*(path for atom in atoms for path in paths_of(atom)), *([_ANY_FILE] if any(map(_has_actions, atoms)) else [])])
        return symbol(Output((Hole(Derived(paths), "words", self._file, self._line),)))

    def cut(self, arguments: list[Symbol]) -> Symbol:
        """Return the beginning of a text; all of it, if only names that are too long are cut (`trunc`)."""
        length = _literal(arguments[0])
        return arguments[-1] if type(length) is int and length >= _SHORTEST_CUT else self.words(arguments)

    def trimmed(self, arguments: list[Symbol]) -> Symbol:
        """Return a text without some characters at its ends; all of it, if only those are cut that names do not end with."""
        is_plain = any(isinstance(atom, Output) for _, atom in arguments[-1])
        return arguments[-1] if is_plain or _literal(arguments[0]) in ("-", ".", "_", "\n", " ") else self.words(arguments)

    def number(self, arguments: list[Symbol]) -> Symbol:
        """Return a number that a value is made into."""
        return self.same(arguments) if type(_literal(arguments[-1])) is int else self.words(arguments)

    def deep_copy(self, arguments: list[Symbol]) -> Symbol:
        """Return a copy of a map."""
        return tuple([(condition, copied(atom, root=True)) for condition, atom in arguments[0]])

    def same(self, arguments: list[Symbol]) -> Symbol:
        """Return the last argument."""
        return arguments[-1]

    def parsed_yaml(self, arguments: list[Symbol]) -> Symbol:
        """Return the value that the YAML in a text contains."""
        holes: list[Symbol] = []
        for _, atom in arguments[0]:
            pieces = (
                [each for each in atom.pieces if not (isinstance(each, PlainPiece) and not each.text.strip())]
                if isinstance(atom, Output)
                else []
            )
            only = pieces[0] if len(pieces) == 1 else None
            is_whole = isinstance(only, Hole) and only.form in ("yaml", "json")
            paths = frozenset([*paths_of(atom), *([_ANY_FILE] if _has_actions(atom) else [])])
            holes.append(symbol(copied(only.value)) if is_whole and isinstance(only, Hole) else symbol(Derived(paths)))
        return one_of(*zip([condition for condition, _ in arguments[0]], holes, strict=True))

    def indented(self, arguments: list[Symbol], *, on_new_line: bool = False) -> Symbol:
        """Return a text with further spaces at the beginning of its lines."""
        width = _literal(arguments[0])
        pieces = self._printed(arguments[-1])
        if type(width) is int and 0 <= width <= _WIDEST:
            pieces = (Indented(width, pieces, on_new_line),)
        return symbol(Output(pieces))

    def default(self, arguments: list[Symbol]) -> Symbol:
        """Return the second argument, or the first one if that is empty."""
        return self._chained("or", [arguments[1], arguments[0]])

    def coalesced(self, arguments: list[Symbol]) -> Symbol:
        """Return the first argument that is not empty."""
        return self._chained("or", [*arguments, NOTHING])

    def ternary(self, arguments: list[Symbol]) -> Symbol:
        """Return the first argument if the third is true, else the second."""
        truth = truth_of(arguments[2])
        self._read(arguments[2], asked=True)
        return one_of((truth, arguments[0]), (negated(truth), arguments[1]))

    def negation(self, arguments: list[Symbol]) -> Symbol:
        """Return whether a value is empty."""
        self._read(arguments[0], asked=True)
        return symbol(Truth(negated(truth_of(arguments[0]))))

    def equal(self, arguments: list[Symbol], *, negates: bool = False) -> Symbol:
        """Return whether a value is equal to one of the others."""
        for each in arguments:
            self._read(each, asked=True)
        first, *others = arguments if not isinstance(arguments[0][0][1], Literal) else arguments[::-1]
        known = [_literal(each) for each in others]
        is_plain = len(first) == 1 and isinstance(first[0][1], Ref) and all(each is not None for each in known)
        path = next(paths_of(first[0][1]), ())
        condition = any_of(("eq", path, each) for each in known) if is_plain else UNKNOWN
        return symbol(Truth(negated(condition) if negates else condition))

    def compared(self, arguments: list[Symbol]) -> Symbol:
        """Return a boolean that depends on how values are compared."""
        for each in arguments:
            self._read(each, asked=True)
        return symbol(Truth(UNKNOWN))

    def has_key(self, arguments: list[Symbol]) -> Symbol:
        """Return whether a map has a key."""
        key = _literal(arguments[1])
        (_, atom), *others = arguments[0]
        if type(key) is not str or others:
            for each in self._field(arguments[0], key) if type(key) is str else arguments[0]:
                self._read((each,), asked=True)
            return symbol(Truth(UNKNOWN))
        if isinstance(atom, Ref):
            self.reads.asked.setdefault((*atom.path, key), (self._file, self._line))
            return symbol(Truth(("key", (*atom.path, key))))
        is_known = isinstance(atom, MapSymbol) and not (atom.rest or atom.is_changed)
        return symbol(Truth(UNKNOWN if not (isinstance(atom, MapSymbol) and is_known) else TRUE if key in atom.entries else FALSE))

    def of_key(self, arguments: list[Symbol]) -> Symbol:
        """Return what a map or list has at some keys (`index`, `get`)."""
        found = arguments[0]
        for each in arguments[1:]:
            key = _literal(each)
            if type(key) is str:
                found = self._field(found, key)
            elif type(key) is int:
                found = one_of(*((condition, _item(atom, key)) for condition, atom in found))
            else:
                self._read(each)
                found = one_of(*((condition, item) for condition, atom in found for _, item in self._turns(((TRUE, atom),))))
        return found or symbol(Derived())

    def dug(self, arguments: list[Symbol]) -> Symbol:
        """Return what a map has at a path of keys, or a default (`dig`)."""
        *keys, default, holder = arguments
        found = self.of_key([holder, *keys])
        return self._chained("or", [found, default])

    def picked(self, arguments: list[Symbol]) -> Symbol:
        """Return a map with some of the keys of another (`pick`)."""
        names = [_literal(each) for each in arguments[1:]]
        if any(type(each) is not str for each in names):
            raise ValueError
        return symbol(MapSymbol({str(each): self._field(arguments[0], str(each)) for each in names}, is_changed=True))

    def first(self, arguments: list[Symbol]) -> Symbol:
        """Return an item of a list."""
        return one_of(*((UNKNOWN, item) for condition, atom in arguments[-1] for _, item in self._turns(((condition, atom),))))

    def listed(self, arguments: list[Symbol]) -> Symbol:
        """Return a list of some items."""
        return symbol(ListSymbol(tuple(arguments)))

    def joined_lists(self, arguments: list[Symbol]) -> Symbol:
        """Return a list with the items of several (`concat`)."""
        return self.reordered([_joined(arguments)])

    def reordered(self, arguments: list[Symbol]) -> Symbol:
        """Return a list with the items of another one at places that are not known."""
        return tuple([(each, Derived(frozenset(paths_of(atom))) if isinstance(atom, ListSymbol) else atom) for each, atom in arguments[-1]])

    def appended(self, arguments: list[Symbol]) -> Symbol:
        """Return a list with a further item (`append`, `prepend`)."""
        return self.reordered([_joined([arguments[0], symbol(ListSymbol((arguments[1],)))])])

    def mapped(self, arguments: list[Symbol]) -> Symbol:
        """Return a map with some keys (`dict`)."""
        names = [_literal(each) for each in arguments[::2]]
        if any(type(each) is not str for each in names) or len(arguments) % 2:
            raise ValueError
        return symbol(MapSymbol({str(name): value for name, value in zip(names, arguments[1::2], strict=True)}, is_fresh=True))

    def changed(self, arguments: list[Symbol]) -> Symbol:
        """Return a map in which a key has been set (`set`). What the key had before stays possible."""
        target, key, value = arguments[0], _literal(arguments[1]), arguments[2]
        self._change(target)
        for _, atom in target:
            if isinstance(atom, MapSymbol) and type(key) is str:
                if atom.name:  # All templates see the map that is set, too.
                    maps = [each for _, inner in value for each in inside(inner) if isinstance(each, MapSymbol)]
                    self._below_root.update(each.born for each in maps)
                atom.entries[key] = one_of((UNKNOWN, atom.entries.get(key, NOTHING)), (UNKNOWN, value))
                atom.is_changed = True
            else:
                self._consume(value)
                if isinstance(atom, Ref) and type(key) is str and all(atom.path != part.prefix for part in self._parts):
                    self.reads.replaced.add((*atom.path, key))
                    self._kept.clear()
                elif not isinstance(atom, MapSymbol):
                    self._consume(symbol(atom))
                elif len(atom.rest) <= _MOST_ITEMS:
                    atom.rest.append(Derived(frozenset(path for _, each in value for path in paths_of(each))))
        return target

    def _change(self, target: Symbol) -> None:
        """Note that a map is changed: what named templates have written for it may be another text now."""
        self._oldest_changed = min(self._oldest_changed, *(atom.born if isinstance(atom, MapSymbol) else 0 for _, atom in target), _NEVER)
        if any(isinstance(atom, MapSymbol) and (atom.name or atom.born in self._below_root) for _, atom in target):
            self._kept.clear()

    @contextmanager
    def _changes(self) -> Iterator[Callable[[], bool]]:
        """Give a function that returns, at the end, whether a map was changed that has been there before."""
        before, self._oldest_changed = self._oldest_changed, _NEVER
        youngest = MapSymbol().born
        found = [False]
        try:
            yield lambda: found[0]
        finally:
            found[0] = self._oldest_changed < youngest
            self._oldest_changed = min(before, self._oldest_changed)

    def unset(self, arguments: list[Symbol]) -> Symbol:
        """Return a map without a key (`unset`)."""
        return self.changed([*arguments[:2], NOTHING])

    def merged(self, arguments: list[Symbol]) -> Symbol:
        """Return a map with the keys of several; the first one is changed in place (`merge`, `mergeOverwrite`)."""
        further = [atom for each in arguments[1:] for _, atom in each]
        self._change(arguments[0])
        for _, atom in arguments[0]:
            if isinstance(atom, Ref) or len(further) > _MOST_ITEMS:  # What the values have later on came from the others.
                for each in arguments[1:]:
                    self._consume(each)
            if isinstance(atom, Ref):
                self.reads.replaced.add(atom.path)
            if isinstance(atom, MapSymbol):
                atom.is_changed = True
                atom.rest += [each for each in further if each is not atom and each not in atom.rest][:_MOST_ITEMS]
        if len(arguments[0]) == 1 and isinstance(arguments[0][0][1], MapSymbol):
            return arguments[0]
        return symbol(MapSymbol({}, [atom for each in arguments for _, atom in each]))

    def text_of_several(self, arguments: list[Symbol]) -> Symbol:
        """Return a text of several values (`print`)."""
        return symbol(Output(tuple(piece for each in arguments for piece in self._printed(each, "words"))))

    def formatted(self, arguments: list[Symbol]) -> Symbol:
        """Return a text of several values, in a form that is known only for `%s` (`printf`)."""
        form, *values = arguments
        texts = str(_literal(form) if type(_literal(form)) is str else "%").replace("%d", "%s").replace("%v", "%s").split("%s")
        if len(texts) != len(values) + 1 or "%" in "".join(texts):
            return self.words(arguments)
        spaced = [
            each for text, value in zip(texts, [*values, symbol(Literal(""))], strict=True) for each in (symbol(Literal(text)), value)
        ]
        return self.text_of_several(spaced)

    def spaced(self, arguments: list[Symbol]) -> Symbol:
        """Return the texts of several values with a space between them (`cat`)."""
        return self.text_of_several([each for value in arguments for each in (value, symbol(Literal(" ")))][:-1])

    def printed_together(self, arguments: list[Symbol]) -> Symbol:
        """Return the texts of several values, one after another (`print`)."""
        are_literal = all(isinstance(atom, Literal) for each in arguments for _, atom in each)
        if are_literal and prod(map(len, arguments)) in range(2, _MOST_CHOICES):
            chosen = [[*zip(*each, strict=True)] for each in product(*arguments)]
            return one_of(*((reduce(both_of, conditions), self.printed_together([*map(symbol, atoms)])) for conditions, atoms in chosen))
        texts = [text for each in arguments if type(text := _literal(each)) is str]
        is_short = len(texts) == len(arguments) and sum(map(len, texts)) < LONGEST_VALUE
        return symbol(Literal("".join(texts))) if is_short else self.text_of_several(arguments)


_SHORTEST_CUT, _WIDEST, _MOST_CHOICES = 40, 200, 9
_FEW = 4
_DIGESTS = frozenset(("adler32sum", "sha1sum", "sha256sum", "sha512sum"))
_QUOTING = ("quote", "squote")
_CHART_FIELDS = (
    *("Version", "AppVersion", "Annotations", "Description", "KubeVersion", "Type", "Keywords", "Home", "Sources", "IsRoot", "Icon"),
    *("Maintainers", "APIVersion", "Dependencies", "Tags", "Condition", "Deprecated"),
)
RELEASE_NAME: Path = ("\0release",)
"""The path of the name of the release, as if it were a value."""
_WHOLE = frozenset(("YAML", "Table", "PathValue", "Encode"))
"""Methods of the values that give all of them."""
_ABSENT: Symbol = symbol(Literal(None, is_absent=True))
_FAILS = re.compile(r"\bfail\b")
_CHANGES = re.compile(r"\b(?:un)?set\b|\b(?:mustM|m)erge(?:Overwrite)? +(?:\.|\$(?!\w))")
"""What may change the map that a named template gets."""
_BASE_PATH, _FILES = "\0templates", "\0files"
_ANY_FILE: Path = ("\0file",)
_Function = Callable[[TemplateReader, list[Symbol]], Symbol]
_FUNCTIONS: Mapping[str, _Function] = {
    "include": TemplateReader.include,
    "template": TemplateReader.include,
    "block": TemplateReader.include,
    "tpl": TemplateReader.fill,
    **dict.fromkeys(("toYaml", "mustToYaml", "toYamlPretty", "toToml"), TemplateReader.to_yaml),
    **dict.fromkeys(("toJson", "mustToJson", "toPrettyJson", "toRawJson", "mustToPrettyJson", "mustToRawJson"), TemplateReader.to_json),
    **dict.fromkeys(("fromYaml", "fromJson", "fromYamlArray", "fromJsonArray", "mustFromJson"), TemplateReader.parsed_yaml),
    **dict.fromkeys(("quote", "squote"), TemplateReader.quoted),
    **dict.fromkeys(("deepCopy", "mustDeepCopy"), TemplateReader.deep_copy),
    **dict.fromkeys(
        (
            "lower",
            "upper",
            "title",
            "camelcase",
            "kebabcase",
            "snakecase",
            "replace",
            "b64enc",
            "nospace",
            "repeat",
            "toString",
            "toStrings",
        ),
        TemplateReader.words,
    ),
    **dict.fromkeys(
        (
            *("uniq", "compact", "sortAlpha", "reverse", "mustUniq", "mustCompact", "mustReverse", "rest", "initial"),
            *("mustRest", "mustInitial"),
        ),
        TemplateReader.reordered,
    ),
    **dict.fromkeys(("without", "mustWithout", "slice", "mustSlice"), lambda reader, arguments: reader.reordered(arguments[:1])),
    **dict.fromkeys(("trim", "required"), TemplateReader.same),
    **dict.fromkeys(("trimSuffix", "trimPrefix", "trimAll"), TemplateReader.trimmed),
    **dict.fromkeys(("int", "int64", "float64"), TemplateReader.number),
    "trunc": TemplateReader.cut,
    "indent": TemplateReader.indented,
    "nindent": lambda reader, arguments: reader.indented(arguments, on_new_line=True),
    "default": TemplateReader.default,
    "coalesce": TemplateReader.coalesced,
    "ternary": TemplateReader.ternary,
    "not": TemplateReader.negation,
    "empty": TemplateReader.negation,
    "eq": TemplateReader.equal,
    "ne": lambda reader, arguments: reader.equal(arguments, negates=True),
    **dict.fromkeys(
        (
            *("lt", "le", "gt", "ge", "contains", "hasPrefix", "hasSuffix", "has", "kindIs", "kindOf", "typeIs", "typeOf", "typeIsLike"),
            *("semverCompare", "regexMatch", "mustRegexMatch", "mustHas", "len", "deepEqual", "isset"),
        ),
        TemplateReader.compared,
    ),
    "hasKey": TemplateReader.has_key,
    "index": TemplateReader.of_key,
    "get": TemplateReader.of_key,
    "dig": TemplateReader.dug,
    "pick": TemplateReader.picked,
    "first": TemplateReader.first,
    "last": TemplateReader.first,
    **dict.fromkeys(("list", "tuple"), TemplateReader.listed),
    "concat": TemplateReader.joined_lists,
    **dict.fromkeys(("append", "prepend", "mustAppend", "mustPrepend", "push"), TemplateReader.appended),
    "dict": TemplateReader.mapped,
    "set": TemplateReader.changed,
    "unset": TemplateReader.unset,
    **dict.fromkeys(("merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"), TemplateReader.merged),
    "print": TemplateReader.printed_together,
    "printf": TemplateReader.formatted,
    "cat": TemplateReader.spaced,
    **dict.fromkeys(("println", "join"), TemplateReader.words),
}


def _joined(lists: Sequence[Symbol]) -> Symbol:
    """Return the items of several lists as one; all alternatives, if one of these is not known."""
    atoms = [atom for each in lists for _, atom in each]
    if all(isinstance(each, ListSymbol) for each in atoms) and len(atoms) == len(lists):
        return symbol(ListSymbol(tuple(item for each in atoms if isinstance(each, ListSymbol) for item in each.items)))
    return one_of(*((UNKNOWN, each) for each in lists))


def _around_gaps(atom: Atom) -> str | None:
    """Return a text with actions without its gaps; None if a gap is in an action, or may itself be of a file with actions."""
    if not isinstance(atom, Output):
        return None
    found = ""
    for each in atom.pieces:
        gap = Output((each,))
        if isinstance(each, PlainPiece):
            found += each.text
        elif found.count("{{") != found.count("}}") or _has_actions(gap) or _ANY_FILE in paths_of(gap):
            return None
    return found


def _has_actions(atom: Atom) -> bool:
    """Return whether a text of the templates, also in a map or list, has actions itself."""
    texts = (each.text if isinstance(each, PlainPiece) else each.value for each in inside(atom) if isinstance(each, (PlainPiece, Literal)))
    return any("{{" in each for each in texts if type(each) is str)


def _flat(body: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the pieces of a body and of the blocks in it."""
    for each in body:
        yield each
        if isinstance(each, Block):
            yield from (inner for _, branch in each.branches for inner in _flat(branch))


def _if_set(value: Symbol) -> Symbol:
    """Return what `.` is inside of a `with`: the alternatives that are not empty."""
    return tuple([(condition, atom) for condition, atom in value if not (isinstance(atom, Literal) and not atom.value)]) or value


def _turns(value: Symbol) -> Iterator[tuple[Symbol, Symbol]]:
    """Yield the keys and values of the turns of a loop over a value."""
    for _, atom in value:
        if isinstance(atom, Ref):
            yield symbol(KeyOf(atom.path)), symbol(Ref((*atom.path, EACH)))
        elif isinstance(atom, MapSymbol):
            yield from ((symbol(Literal(key)), each) for key, each in atom.entries.items())
            yield from _turns(symbol(*atom.rest))
        elif isinstance(atom, ListSymbol):
            yield from ((symbol(Literal(number)), each) for number, each in enumerate(atom.items))
        elif isinstance(atom, (Derived, Output)):
            inner = symbol(Derived(frozenset(paths_of(atom))))
            yield inner, inner
        elif isinstance(atom, Literal) and atom.value:
            yield symbol(Derived()), symbol(Derived())


def _item(atom: Atom, number: int) -> Symbol:
    """Return the item of a list with a number."""
    if isinstance(atom, ListSymbol):
        return atom.items[number] if 0 <= number < len(atom.items) else NOTHING
    return one_of(*((UNKNOWN, each) for _, each in _turns(symbol(atom))))


def _literal(value: Symbol) -> object:
    """Return the value of a literal, and the text of one that a template writes; None for any other symbol."""
    if len(value) != 1:
        return None
    atom = value[0][1]
    return literal_text(atom.pieces) if isinstance(atom, Output) else atom.value if isinstance(atom, Literal) else None


def _text_of(value: object, form: str) -> str:
    """Return the text that is written for a literal."""
    if value is None:
        return "null" if form == "yaml" else ""
    return str(value).lower() if type(value) is bool else str(value)


def _key_of(value: Symbol, depth: int = 0) -> object:
    """Return a key that is equal for equal symbols."""
    return tuple([(condition, _key_of_atom(atom, depth)) for condition, atom in value])


def _key_of_atom(atom: Atom, depth: int) -> object:
    if isinstance(atom, MapSymbol):
        if atom.name:
            return "map", atom.name
        if depth > _MOST_NESTED:
            raise RecursionError
        items = tuple([(key, _key_of(each, depth + 1)) for key, each in atom.entries.items()])
        return "map", items, tuple([_key_of_atom(each, depth + 1) for each in atom.rest])
    if isinstance(atom, ListSymbol):
        if depth > _MOST_NESTED:
            raise RecursionError
        return "list", tuple([_key_of(each, depth + 1) for each in atom.items])
    return atom
