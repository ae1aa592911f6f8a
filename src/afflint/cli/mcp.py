"""``afflint mcp``: the MCP server, for coding agents."""

from __future__ import annotations

import os

from afflint.cli.command import FOLDER, Command, CommandOptions, argument, flag
from afflint.distribution import extra_needed
from afflint.findings.errors import UserError


class McpOptions(CommandOptions):
    """The options of ``afflint mcp``."""

    folder: str | None = argument("[FOLDER]", FOLDER, multiple=False)
    allow_write: bool = flag("--allow-write", help_text="Add a tool that writes fixes to files. Without it, no tool changes anything.")


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


COMMAND = Command(mcp, McpOptions, "Start the MCP server, for coding agents.")
