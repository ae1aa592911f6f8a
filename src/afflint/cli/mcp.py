"""``afflint mcp``: the MCP server, for coding agents."""

from __future__ import annotations

import os

from afflint.cli import options
from afflint.cli.command import Argument, Command, flag
from afflint.distribution import extra_needed
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple


class McpOptions(NamedTuple):
    """The options of ``afflint mcp``."""

    folder: str | None
    allow_write: bool


def mcp(args: McpOptions) -> int:
    """Start an MCP server: tools for coding agents, over standard input and output.

    The server reads the repository that FOLDER is in (without one, FOLDER itself), and nothing outside it. Default: the current folder.
    """
    from afflint.config.trust import repository_root

    folder = args.folder or os.curdir
    if not os.path.isdir(folder):
        raise UserError(f"no such folder: {folder!r}")
    try:
        from afflint.mcp.server import create_server
    except ImportError:
        raise UserError(extra_needed("afflint mcp", "mcp")) from None
    create_server(repository_root(folder), allow_write=args.allow_write).run()
    return 0


_OPTIONS = (flag("--allow-write", help_text="Add a tool that writes fixes to files. Without it, no tool changes anything."),)
COMMAND = Command(
    mcp,
    McpOptions,
    {"": _OPTIONS},
    Argument("folder", "[FOLDER]", options.folder, multiple=False),
    short_help="Start the MCP server, for coding agents.",
)
