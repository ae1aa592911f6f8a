"""The reference R: libyaml composes every document of the files below a folder, in one process, and nothing else is done.

Run as its own process, ``python bench/reference.py FOLDER``, and timed whole, as afflint is. Collecting garbage is off, as in afflint.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

from _ruamel_yaml import CParser


class Composer(CParser):  # type: ignore[misc]
    """libyaml's composer with a resolver that does nothing."""

    @staticmethod
    def resolve(_kind: Any, _value: Any, _implicit: Any) -> None:
        """Leave every scalar without a tag."""

    @staticmethod
    def descend_resolver(_node: Any, _index: Any) -> None:
        """Nothing to do."""

    @staticmethod
    def ascend_resolver() -> None:
        """Nothing to do."""


def main(folder: str) -> None:
    gc.disable()
    documents = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb", buffering=0) as file:
                composer = Composer(file.read())
            while composer.check_node():
                composer.get_node()
                documents += 1
    print(f"{documents} documents")


if __name__ == "__main__":
    main(sys.argv[1])
