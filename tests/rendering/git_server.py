"""Git repositories on 127.0.0.1, over HTTP, as `git http-backend` serves them."""

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rendering.rendered_trees import write

_AUTHOR = ("-c", "user.name=Someone", "-c", "user.email=someone@example.invalid", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    """Run Git in a folder, and return what it prints."""
    return subprocess.run(["git", *_AUTHOR, *words], cwd=folder, check=True, timeout=300, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, files: Mapping[str, str]) -> str:
    """Commit files to the branch `main` of a repository, and return the commit."""
    if not folder.exists():
        folder.mkdir()
        git(folder, "init", "--quiet", "--initial-branch=main")
        git(folder, "config", "uploadpack.allowReachableSHA1InWant", "true")
    write(files, folder)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=Change")
    return git(folder, "rev-parse", "HEAD")


class GitServer:
    """Serves the repositories below a folder."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests: list[str] = []
        self.headers: list[str] = []


@contextmanager
def serving_git(top: Path) -> Iterator[GitServer]:
    """Run a server until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requests.append(self.path)
            server.headers.append(str(self.headers.get("Authorization", "")))
            path, _, query = self.path.partition("?")
            length = int(self.headers.get("Content-Length") or 0)
            variables = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(top),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(length),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            answer = subprocess.run(["git", "http-backend"], input=self.rfile.read(length), env=variables, capture_output=True, timeout=300)
            head, _, body = answer.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server = GitServer(f"http://127.0.0.1:{listening.server_address[1]}")
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
