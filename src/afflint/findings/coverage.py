"""Which sources of workloads a run has seen: objects, charts and folders that create workloads when they are rendered."""

from __future__ import annotations

from afflint.findings.namedtuples import NamedTuple


class WorkloadSource(NamedTuple):
    """A source of workloads: its kind, such as HelmRelease or ``chart``, its name, and its file.

    ``reason``: why it was not seen. ``missing``: what it needs that is not in the repository, such as ``chart redis``.
    """

    kind: str
    name: str
    file: str
    reason: str = ""
    missing: str = ""

    @property
    def message(self) -> str:
        """``HelmRelease web was not checked: the chart redis is not in the repository``."""
        return f"{self.kind} {self.name} was not checked: {self.reason}"


class Coverage(NamedTuple):
    """The sources of workloads that a run has seen, and those that it has not."""

    seen: tuple[WorkloadSource, ...] = ()
    not_seen: tuple[WorkloadSource, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.seen or self.not_seen)

    @property
    def tools(self) -> tuple[str, ...]:
        """The programs that render what was not seen."""
        kinds = {each.kind for each in self.not_seen}
        return tuple([tool for tool, rendered in _RENDERED_BY.items() if not kinds.isdisjoint(rendered)])

    def plain(self) -> dict[str, list[dict[str, str]]]:
        """Return the coverage as it is in JSON."""
        return {
            "seen": [{"kind": each.kind, "name": each.name, "file": each.file} for each in self.seen],
            "not_seen": [{"kind": each.kind, "name": each.name, "file": each.file, "reason": each.reason} for each in self.not_seen],
        }


_RENDERED_BY = {"kustomize": ("kustomization", "Kustomization"), "helm": ("chart", "HelmRelease", "HelmChart")}
REMOTE_RESOURCE = "remote resource"
NEEDS_NETWORK = "it requires the network"
"""Why a remote resource was left out that `--render-network` may fetch."""
NOT_RENDERED = "it was not rendered; `--render` renders it"


def not_in_repository(what: str) -> str:
    """Return the reason for a chart or folder in another place."""
    return f"the {what} is not in the repository"
