"""The functions that Kyverno adds to CEL, and those among them that manifests do not answer.

After extensions/cel/libs of github.com/kyverno/sdk: resource, image and user. ``resource.Get`` and ``resource.List`` look into the
manifests of a run, ``image.GetMetadata`` into what a test says of images.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Protocol

from afflint.admission.cel_functions import Function

VARIABLES = ("exceptions",)
"""What expressions of Kyverno can name in addition."""
_CLUSTER, _NETWORK = "needs a cluster", "needs a network"
OFFLINE: Mapping[str, str] = {
    "http": f"`http` {_NETWORK}",
    "globalContext": f"`globalContext` {_CLUSTER}",
    "images": "afflint does not evaluate `images`",
    "resource": f"`resource.Post` {_CLUSTER}",
    "time": "`time` depends on when the object is created",
    "random": "`random` has another result each time",
    "x509": "afflint does not evaluate `x509`",
    "json": "afflint does not evaluate `json`",
    "yaml": "afflint does not evaluate `yaml`",
    "gzip": "afflint does not evaluate `gzip`",
    **{name: f"afflint does not evaluate `{name}`" for name in ("sha1", "sha256", "md5", "listObjToMap", "toCron", "truncate")},
    **{name: f"`{name}` {_NETWORK}" for name in ("verifyImageSignatures", "verifyAttestationSignatures", "getImageData", "extractPayload")},
}
"""Why functions of Kyverno, by their first names, are not evaluated."""

_IMAGE = "kyverno.Image"


class NotKnownError(ValueError):
    """The manifests do not contain the answer to a function; the message says what is missing."""


class Lookup(Protocol):
    """The objects of a cluster, as far as they are known."""

    def get(self, api_version: str, resource: str, namespace: str, name: str) -> dict[str, Any]:
        """Return an object. Raises NotKnownError, and ValueError if the object certainly does not exist."""
        ...

    def list(self, api_version: str, resource: str, namespace: str, labels: Mapping[str, str]) -> dict[str, Any]:
        """Return a list of objects under ``items``, of all namespaces if ``namespace`` is empty. Raises NotKnownError."""
        ...


class LookupState:
    """What the functions use during one evaluation, and why one of them did not know the answer."""

    def __init__(self) -> None:
        self.lookup: Lookup | None = None
        self.unknown = ""

    def begin(self, lookup: Lookup | None) -> None:
        """Begin an evaluation."""
        self.lookup, self.unknown = lookup, ""

    def asked(self) -> Lookup:
        """Return the objects. Raises NotKnownError."""
        if self.lookup is None:
            raise self.failed(NotKnownError("no objects of the cluster are known"))
        return self.lookup

    def failed(self, error: NotKnownError) -> NotKnownError:
        """Record an error of the lookup."""
        self.unknown = str(error)
        return error


STATE = LookupState()


def _get(api_version: str, resource: str, namespace: str, name: str) -> Any:
    try:
        return STATE.asked().get(api_version, resource, namespace, name)
    except NotKnownError as error:
        raise STATE.failed(error) from None


def _list(api_version: str, resource: str, namespace: str, labels: Mapping[str, str] | None = None) -> Any:
    try:
        return STATE.asked().list(api_version, resource, namespace, labels or {})
    except NotKnownError as error:
        raise STATE.failed(error) from None


def _metadata(_name: str) -> Any:
    raise STATE.failed(NotKnownError("`image.GetMetadata` needs a network"))


# Images, after github.com/distribution/reference.

_DEFAULT_REGISTRY = "docker.io"


def _image(text: str) -> dict[str, str]:
    rest, _, digest = text.partition("@")
    first, slash, below = rest.partition("/")
    registry = first if slash and ("." in first or ":" in first or first == "localhost") else ""
    path = below if registry else rest
    folder, slash, last = path.rpartition("/")
    name, _, tag = last.partition(":")
    if not name or (not registry and "//" in path):
        raise ValueError(f"bad image: {text}")
    repository = f"{folder}{slash}{name}"
    if not registry:
        registry, repository = _DEFAULT_REGISTRY, repository if slash else f"library/{repository}"
    return {_IMAGE: text, "registry": registry, "repository": repository, "tag": tag or ("" if digest else "latest"), "digest": digest}


def _is_image(text: str) -> bool:
    try:
        _image(text)
    except ValueError:
        return False
    return True


def _service_account(name: str) -> dict[str, str]:
    prefix, kind, *rest = name.split(":") if ":" in name else (name, "")
    namespace, account = rest if (prefix, kind, len(rest)) == ("system", "serviceaccount", 2) else ("", "")
    return {"Namespace": namespace, "Name": account}


FUNCTIONS: tuple[Function, ...] = (
    Function("resource.Get", ("string",) * 4, "dyn", _get, member=False),
    Function("resource.List", ("string",) * 3, "dyn", _list, member=False),
    Function("resource.List", (*("string",) * 3, "map<string, string>"), "dyn", _list, member=False),
    Function("image.GetMetadata", ("string",), "dyn", _metadata, member=False),
    Function("image", ("string",), _IMAGE, _image, member=False),
    Function("isImage", ("string",), "bool", _is_image, member=False),
    *(Function(name, (_IMAGE,), "string", itemgetter(name)) for name in ("registry", "repository", "tag", "digest")),
    Function("identifier", (_IMAGE,), "string", lambda value: value["digest"] or value["tag"]),
    Function("containsDigest", (_IMAGE,), "bool", lambda value: bool(value["digest"])),
    Function("parseServiceAccount", ("string",), "dyn", _service_account, member=False),
)
