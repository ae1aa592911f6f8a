"""A web server over a folder, for tests in a browser."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def handle_one_request(self) -> None:
        super().handle_one_request()
        self.server.asked.append(getattr(self, "path", ""))  # type: ignore[attr-defined]


class Site:
    """A web server over a folder. ``asked`` are the paths of the requests so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.asked: list[str] = []
        self._server.asked = self.asked  # type: ignore[attr-defined]
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving; closing twice does no harm."""
        self._server.shutdown()
        self._server.server_close()
