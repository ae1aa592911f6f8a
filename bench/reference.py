"""The reference R: libyaml composes every document of the files below a folder, in one process, and nothing else is done.

Run as its own process, ``python bench/reference.py BINDING FOLDER``, and timed whole, as afflint is. A binding is the module that
has libyaml's parser: two packages wrap the same library at different cost. Collecting garbage is off, as in afflint.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any


def composer_class(binding: str) -> type[Any]:
    """libyaml's composer with a resolver that does nothing."""
    parser: type[Any] = import_module(binding).CParser

    class Composer(parser):  # type: ignore[misc]
        @staticmethod
        def resolve(_kind: Any, _value: Any, _implicit: Any) -> None:
            """Leave every node without a tag."""

        @staticmethod
        def descend_resolver(_node: Any, _index: Any) -> None:
            """Nothing to do."""

        @staticmethod
        def ascend_resolver() -> None:
            """Nothing to do."""

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
