"""Recognise a report of afflint: a configuration found in a tree may overwrite nothing else."""

from __future__ import annotations

import re

_BEGINS = (
    rb"(error|warning|info)\[[a-z0-9-]+\]: ",  # text
    rb"No (findings|manifest|file) ?|Found \d+ |\d+ files? could not be read",  # text, its summary
    rb"[^\n]*:\d+:\d+: (error|warning|info) [^\n]* \[[a-z0-9-]+\]\n",  # concise
    rb'\{\s*"version": 1,\s*"findings": \[',  # json, and a baseline
    rb'\{\s*"\$schema": "[^"]*sarif[^"]*",\s*"version": "[^"]*",\s*"runs": \[\s*\{\s*"tool": \{\s*"driver": \{\s*"name": "afflint"',
    rb"::(error|warning|notice) file=[^\n]*,title=[a-z0-9-]+::",  # github
    rb'\[\s*(\]|\{\s*"description": "[^\n]*",\s*"check_name": )',  # gitlab
    rb'<\?xml [^\n]*\?>\s*<testsuites>\s*<testsuite [^\n]*package="afflint"',  # junit
    rb'\{\s*"source": \{\s*"name": "afflint"\s*\},\s*"diagnostics": \[',  # rdjson
    rb"### afflint: ",  # markdown
    rb"<!doctype html>(?s:.{,2000})<title>afflint: ",
    rb"\Z",  # a report without findings is empty in some formats
)
_BEGIN = re.compile(rb"|".join(_BEGINS))


def is_report(begin: bytes) -> bool:
    """Return whether a file with this beginning is a report of ``afflint check`` in any format, or empty."""
    return _BEGIN.match(begin) is not None
