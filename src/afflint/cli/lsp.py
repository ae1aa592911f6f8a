"""``afflint lsp``: the language server, for editors."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any

from afflint.cli import options
from afflint.cli.command import NUMBER, Command, flag, option
from afflint.findings.errors import UserError


def lsp(**given: Any) -> int:
    """The language server: findings while you type, fixes, hover, completion.

    Editors start it and talk to it over standard input and output; docs/editors.md says how to set them up. It finds in the folders of the
    workspace what `afflint check` finds there, under their configuration.
    """
    from afflint.lsp.folder_config import CommandLineConfig
    from afflint.lsp.server import Server

    # What is wrong with the options is said before the editor waits for an answer. A configuration that is found may be half written just
    # now: what is wrong with it the server shows, and goes on.
    options.configuration({**given, "no_config": given["no_config"] or given["config_file"] is None})
    if sys.stdin is None or sys.stdout is None:
        raise UserError("standard input and output are closed; an editor starts `afflint lsp` with both")
    # Nothing but messages may reach the client, whoever prints.
    outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr
    nodes = tuple(map(os.path.abspath, given["nodes"]))
    incoming = partial(os.read, sys.stdin.fileno())
    server = Server(incoming, outgoing, CommandLineConfig(given["config_file"], given["no_config"], nodes))
    if given["client"] is not None:
        server.end_with(given["client"])
    return server.serve()


_OPTIONS = (
    options.nodes,
    *options.configured,
    flag("--stdio", about="Talk over standard input and output. There is no other way, so it may be left out."),
    option(
        "--clientProcessId",
        called="client",
        metavar="PID",
        takes=NUMBER,
        about="The editor, whose end is the server's: as editors give it.",
    ),
)
COMMAND = Command(lsp, {"": _OPTIONS}, short_help="The language server, for editors.")
