"""``NamedTuple`` like that of ``typing``, whose classes are created in an eighth of the time.

``typing`` compiles a constructor for each class and evaluates each annotation. With it, a run over one file takes 26 % more
instructions, and one over 300 files 15 % more. Here a constructor is compiled once for each number of fields, only its names are
replaced, and annotations are not evaluated. One general constructor for all classes would need no ``eval``, but calls of it take so
much longer that runs over 2,400 files take 3 to 5 % more instructions.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 14):  # From there on, annotations are evaluated lazily.
    from typing import NamedTuple  # noqa: TID251
else:
    from types import FunctionType

    try:
        from _collections import _tuplegetter as _getter  # What namedtuple itself uses, if it exists.
    except ImportError:
        from operator import itemgetter

        def _getter(index, doc):
            return property(itemgetter(index), doc=doc)

    _CONSTRUCTORS = {}

    def _constructor(count):
        """Return ``__new__`` for this number of fields with any names. Raises SyntaxError for more than Python accepts."""
        if count not in _CONSTRUCTORS:
            names = "".join(f", _{number}" for number in range(count))
            _CONSTRUCTORS[count] = eval(f"lambda _cls{names}: _new(_cls, ({names[2:]}{',' if count else ''}))", {"_new": tuple.__new__})
        return _CONSTRUCTORS[count]

    def _compiled_new(name, fields, defaults):
        """Return ``__new__`` with a parameter for each field."""
        model = _constructor(len(fields))
        code = model.__code__.replace(co_name="__new__", co_varnames=("_cls", *fields))
        result = FunctionType(code, model.__globals__, "__new__", tuple(defaults.values()) or None)
        result.__qualname__ = f"{name}.__new__"
        return result

    _MOST_COMPILED = 27
    """Classes with more fields are created once in a run; compiling a constructor would take longer than the slower calls."""

    def _general_new(cls, *values, **named):
        """Return a tuple of these values, one for each field or its default."""
        for field in cls._fields[len(values) :]:
            if field in named:
                values += (named.pop(field),)
            elif field in cls._field_defaults:
                values += (cls._field_defaults[field],)
            else:
                raise TypeError(f"{cls.__name__}.__new__() missing 1 required positional argument: {field!r}")
        if named:
            raise TypeError(f"{cls.__name__}.__new__() got an unexpected keyword argument {next(iter(named))!r}")
        if len(values) != len(cls._fields):
            raise TypeError(f"{cls.__name__}.__new__() takes {len(cls._fields)} positional arguments, but {len(values)} were given")
        return tuple.__new__(cls, values)

    @classmethod
    def _make(cls, values):
        """Return a tuple of these values, one for each field."""
        result = tuple.__new__(cls, values)
        if len(result) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(result)}")
        return result

    def _replace(self, /, **changed):
        result = self._make(map(changed.pop, self._fields, self))
        if changed:
            raise ValueError(f"Got unexpected field names: {list(changed)!r}")
        return result

    def _asdict(self):
        return dict(zip(self._fields, self, strict=True))

    def _repr(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in zip(self._fields, self, strict=True))})"

    def _values(self):
        return tuple(self)

    _METHODS = {"_make": _make, "_replace": _replace, "_asdict": _asdict, "__repr__": _repr, "__getnewargs__": _values}

    class _Maker(type):
        """Converts a class with annotations to a subclass of tuple."""

        def __new__(cls, name, bases, namespace):
            if not bases:
                return type.__new__(cls, name, bases, namespace)
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = {field: namespace[field] for field in fields if field in namespace}
            attributes = {
                "__slots__": (),
                "_fields": fields,
                "_field_defaults": defaults,
                "__match_args__": fields,
                "__new__": _compiled_new(name, fields, defaults) if len(fields) <= _MOST_COMPILED else _general_new,
                **_METHODS,
            }
            getters = {field: _getter(number, None) for number, field in enumerate(fields)}
            return type(name, (tuple,), {**attributes, **namespace, **getters})

    class NamedTuple(metaclass=_Maker):
        """A subclass of tuple with a name for each item; see ``typing.NamedTuple``."""


__all__ = ["NamedTuple"]
