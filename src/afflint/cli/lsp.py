"""``afflint lsp``: the language server, for editors."""

from __future__ import annotations

import os
import sys
from functools import partial

from afflint.cli import options
from afflint.cli.command import NUMBER, Command, flag, option
from afflint.cli.options import ConfigOverrides
from afflint.findings.errors import UserError


class LspOptions(ConfigOverrides):
    """The options of ``afflint lsp``."""

    nodes = options.NODES
    render = options.RENDER
    config_file = options.CONFIG_FILE
    no_config = options.NO_CONFIG
    stdio: bool = flag("--stdio", help_text="Use standard input and output. This is the only transport, so the option may be left out.")
    client: int | None = option(
        "--clientProcessId", metavar="PID", kind=NUMBER, help_text="End the server when the process with this ID, the editor, ends."
    )


def lsp(args: LspOptions) -> int:
    """Start the language server: findings while you type, fixes, hover, completion.

    Editors start it and communicate over standard input and output; docs/editors.md says how to set them up. In the folders of the
    workspace it reports what `afflint check` reports there, with their configuration.
    """
    from afflint.lsp.folder_config import CommandLineConfig
    from afflint.lsp.server import Server

    # Wrong options are reported before the editor waits for an answer. A configuration that is found may be half written just now:
    # the server reports its mistakes and starts.
    no_config = args.no_config or args.config_file is None
    config = options.configuration(ConfigOverrides(config_file=args.config_file, no_config=no_config, nodes=args.nodes, render=args.render))
    if sys.stdin is None or sys.stdout is None:
        raise UserError("standard input and output are closed; an editor starts `afflint lsp` with both")
    # Only messages of the protocol may reach the client, even if a library prints.
    outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr
    nodes = tuple(map(os.path.abspath, args.nodes))
    incoming = partial(os.read, sys.stdin.fileno())
    server = Server(incoming, outgoing, CommandLineConfig(args.config_file, args.no_config, nodes, config.render if args.render else ()))
    if args.client is not None:
        server.end_with(args.client)
    return server.serve()


COMMAND = Command(lsp, LspOptions, "Start the language server, for editors.")
