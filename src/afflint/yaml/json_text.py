"""Data as JSON that every reader of YAML accepts."""

from __future__ import annotations

import json
import re
from typing import Any

# The YAML readers of Go reject the surrogates with which JSON escapes emoji, and take characters that it does not escape for line breaks.
_ESCAPED = re.compile("[\x7f-\uffff]")


def json_text(data: Any) -> str:
    """Return data as JSON in which only characters beyond U+FFFF are not ASCII. Raises ValueError and RecursionError as ``json.dumps``."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(data, ensure_ascii=False))
