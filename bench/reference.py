"""The reference R: libyaml composes every document below a folder, in one process, and nothing else.

It runs as its own process, ``python bench/reference.py BINDING FOLDER``, and is timed as a whole, like afflint. BINDING is a module with
libyaml's parser: two packages wrap the library at different cost. Garbage collection is off, as in afflint.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any


def composer_class(binding: str) -> type[Any]:
    """Return libyaml's composer with a resolver that does nothing."""
    parser: type[Any] = import_module(binding).CParser

    class Composer(parser):  # type: ignore[misc]
        @staticmethod
        def resolve(_kind: Any, _value: Any, _implicit: Any) -> None:
            """Return no tag, so that every node is left without one."""

        @staticmethod
        def descend_resolver(_node: Any, _index: Any) -> None:
            """Do nothing."""

        @staticmethod
        def ascend_resolver() -> None:
            """Do nothing."""

    return Composer


def main(binding: str, folder: str) -> None:
    gc.disable()
    composer_of = composer_class(binding)
    documents = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb", buffering=0) as file:
                composer = composer_of(file.read())
            while composer.check_node():
                composer.get_node()
                documents += 1
    print(f"{documents} documents")


if __name__ == "__main__":
    main(*sys.argv[1:])
