"""Schemas of the values of charts. Helm loads what they refer to, from the network and from any path of the machine.

After ``ValidateAgainstSingleSchema`` of helm.sh/helm/pkg/chart/common/util.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

NAME = "values.schema.json"
_LARGEST = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef", "$schema"))
_BUILT_IN = re.compile(r"#.*|https?://json-schema\.org/(?:draft-0[3467]/(?:hyper-)?schema|draft/20(?:19-09|20-12)/schema)#?", re.DOTALL)
"""References inside a schema, and to the versions of the language that Helm has itself."""


def usable_schema(schema: bytes) -> bytes | None:
    """Return a schema as Helm may read it; None if it cannot be parsed, or may refer to another file."""
    if len(schema) > _LARGEST:
        return None
    try:
        data = json.loads(schema.removeprefix(_BYTE_ORDER_MARK).decode("utf-8"), parse_constant=_refuse)
        return None if _refers_elsewhere(data) else json.dumps(data).encode()
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _refers_elsewhere(data: Any) -> bool:
    waiting = [data]
    while waiting:
        each = waiting.pop()
        if type(each) is dict:
            references = [text for key, text in each.items() if key in _REFERENCES]
            if any(type(text) is str and _BUILT_IN.fullmatch(text) is None for text in references):
                return True
            waiting += each.values()
        elif type(each) is list:
            waiting += each
    return False
