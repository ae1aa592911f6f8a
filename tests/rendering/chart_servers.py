"""A chart repository and an OCI registry on 127.0.0.1, with charts that a test packs."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.cncf.helm.config.v1+json"
_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


def packed(name: str, version: str, files: Mapping[str, str], dependencies: str = "") -> bytes:
    """A chart as `helm package` packs it."""
    data = io.BytesIO()
    about = f"apiVersion: v2\nname: {name}\nversion: {version}\n{dependencies}"
    with gzip.GzipFile(fileobj=data, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w|") as archive:
        for path, text in {"Chart.yaml": about, **files}.items():
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


class Server:
    """Serves charts by name and version: below `/charts` as a chart repository, and as the registry `oci://HOST/charts/NAME`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.charts: dict[tuple[str, str], bytes] = {}
        self.files: dict[str, bytes] = {}
        """Other files by their paths."""
        self.requests: list[str] = []
        self.headers: list[str] = []

    @property
    def repository(self) -> str:
        """The address of the chart repository."""
        return f"http://{self.address}/charts"

    @property
    def registry(self) -> str:
        """The address of the registry for the chart of a HelmRepository or Application."""
        return f"oci://{self.address}/charts"

    def add(self, name: str, version: str, files: Mapping[str, str], dependencies: str = "") -> str:
        """Publish a chart, and return the digest of its manifest in the registry."""
        self.charts[name, version] = packed(name, version, files, dependencies)
        return _digest(self._manifest(name, version))

    def answer(self, path: str) -> tuple[str, bytes] | None:
        """The media type and content of a path."""
        self.requests.append(path)
        if path in self.files:
            return "text/yaml", self.files[path]
        parts = path.strip("/").split("/")
        if path == "/charts/index.yaml":
            return "text/yaml", json.dumps({"apiVersion": "v1", "entries": self._entries()}).encode()
        if parts[0] == "charts":
            return next((("application/gzip", data) for key, data in self.charts.items() if parts[-1] == f"{'-'.join(key)}.tgz"), None)
        if path.rstrip("/") == "/v2":
            return "application/json", b"{}"
        return self._of_registry(parts[2], parts[-2], parts[-1]) if len(parts) == 5 else None

    def _entries(self) -> dict[str, list[dict[str, object]]]:
        entries: dict[str, list[dict[str, object]]] = {}
        for name, version in self.charts:
            file = f"{name}-{version}.tgz"
            entries.setdefault(name, []).append({"apiVersion": "v2", "name": name, "version": version, "urls": [file]})
        return entries

    def _of_registry(self, name: str, what: str, reference: str) -> tuple[str, bytes] | None:
        versions = [version for chart, version in self.charts if chart == name]
        if what == "tags":
            return "application/json", json.dumps({"name": f"charts/{name}", "tags": versions}).encode()
        for version in versions:
            manifest, data = self._manifest(name, version), self.charts[name, version]
            if what == "manifests" and reference in (version, _digest(manifest)):
                return _MANIFEST, manifest
            for content in (data, _config(name, version)) if what == "blobs" else ():
                if reference == _digest(content):
                    return "application/octet-stream", content
        return None

    def _manifest(self, name: str, version: str) -> bytes:
        config, layer = _described(_CONFIG, _config(name, version)), _described(_LAYER, self.charts[name, version])
        return json.dumps({"schemaVersion": 2, "mediaType": _MANIFEST, "config": config, "layers": [layer]}).encode()


def _config(name: str, version: str) -> bytes:
    return json.dumps({"name": name, "version": version, "apiVersion": "v2"}).encode()


def _described(kind: str, content: bytes) -> dict[str, object]:
    return {"mediaType": kind, "digest": _digest(content), "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            server.headers.append(str(self.headers.get("Authorization", "")))
            answer = server.answer(self.path.partition("?")[0])
            kind, content = answer or ("text/plain", b"")
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Docker-Content-Digest", _digest(content))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server = Server(f"127.0.0.1:{listening.server_address[1]}")
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
