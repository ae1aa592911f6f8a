"""What a build of kustomizations reads: in their repository, and of the charts and bases that are fetched for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from afflint.findings.coverage import NEEDS_NETWORK
from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.rendering.chart_downloads import ChartDownloads, chart_reference
from afflint.rendering.programs import RenderError, network_reason, without_credentials
from afflint.rendering.references import BASES, BuildInputs, build_inputs, is_remote
from afflint.rendering.remote_bases import remote_bases
from afflint.rendering.roots import Kustomization, RootKustomizations
from afflint.rendering.source_documents import SourcePlace, SourceTexts
from afflint.source.repositories import is_inside
from afflint.yaml.document import list_at

_MOST_ROUNDS = 5
"""How often a base that was fetched may name others."""
_MOST_BASES = 100


class FetchedBase(NamedTuple):
    """A base that was fetched: its folder, links resolved, the top of its repository, and the kustomization that names it first."""

    folder: str
    top: str
    named_by: Kustomization


class KustomizeInputs:
    """What a build of ``folders`` reads. Raises RenderError if their own repository has reasons not to build them.

    ``folders`` must have their links resolved. ``top_of`` returns the top of the repository of a folder. ``downloads`` has the charts and
    bases in other places, if they are used.
    """

    def __init__(
        self, known: RootKustomizations, folders: Sequence[str], top_of: Callable[[str], str], downloads: ChartDownloads | None
    ) -> None:
        self._known, self._top_of, self._downloads = known, top_of, downloads
        own = build_inputs(known, folders, top_of)
        if own.rejections:
            raise RenderError(own.rejections[0])
        self.top = top_of(folders[0])
        self.bases: dict[str, FetchedBase] = {}
        """The bases that were fetched, by the texts that name them."""
        self._failures: dict[str, RenderError] = {}
        self.reads = own.with_others(self._fetched_bases(own))
        """What the kustomizations of the folders and bases load."""
        self.charts: dict[str, str] = {}
        """The folders of the charts that were fetched, by those in which kustomize looks for them."""
        self._fetch_charts()

    @property
    def left_out(self) -> dict[str, str]:
        """What the build has to do without, as messages show it, with the reason."""
        fetched = {chart.shown for folder, chart in self.reads.charts_elsewhere.items() if folder in self.charts}
        names = dict.fromkeys(each for found in self.reads.remote.values() for each in found)
        missing = [each for each in names if each not in self.bases and each not in fetched]
        reasons = {each: self._failures[each].reason if each in self._failures else NEEDS_NETWORK for each in missing}
        return {without_credentials(each): reason for each, reason in reasons.items()}

    @property
    def failure(self) -> RenderError | None:
        """The reason why the first thing that the build has to do without is not there; None if it has everything."""
        reason = next(iter(self._failures.values()), None)
        left_out = self.left_out
        return reason or (RenderError(network_reason(left_out), needs_network=True) if left_out else None)

    def elsewhere(self, place: SourcePlace, texts: SourceTexts) -> SourcePlace:
        """Return the place of the entry that names a fetched base for a place in the base; other places are returned as they are."""
        for _ in range(_MOST_ROUNDS + 1):
            found = [(text, each) for text, each in self.bases.items() if is_inside(place.file, each.top)]
            if not found:
                break
            text, base = max(found, key=lambda each: (is_inside(place.file, each[1].folder), len(each[1].folder)))
            place = _naming(base.named_by, text, texts)
        return place

    def _fetched_bases(self, own: BuildInputs) -> list[BuildInputs]:
        """Fetch bases, and those that they name, and return what they load."""
        waiting, found = [own], list[BuildInputs]()
        for _ in range(_MOST_ROUNDS):
            added = []
            for here, text in [pair for each in waiting for pair in self._bases_of(each)]:
                if text not in self.bases and text not in self._failures and len(self.bases) < _MOST_BASES:
                    try:
                        added.append(self._fetch(here, text))
                    except RenderError as error:
                        self._failures[text] = error
            found += added
            waiting = added
        for _, text in [pair for each in waiting for pair in self._bases_of(each)]:
            self._failures.setdefault(text, RenderError(f"more than {_MOST_ROUNDS} bases name each other"))
        return found

    def _bases_of(self, inputs: BuildInputs) -> Iterator[tuple[Kustomization, str]]:
        """Yield the bases in other places, with the kustomizations that name them."""
        for folder in inputs.remote if self._downloads is not None else ():
            here = self._known.at(folder)
            if here is not None:
                texts = (text for field in BASES for text in list_at(here.data, field))
                yield from ((here, text) for text in texts if type(text) is str and is_remote(text, folder))

    def _fetch(self, here: Kustomization, text: str) -> BuildInputs:
        """Fetch a base, and return what it reads. Raises RenderError."""
        folder = self._folder_of(text)
        if self._known.at(folder) is None:
            raise RenderError(f"{text} is not the folder of a kustomization")
        inputs = build_inputs(self._known, [folder], self._top_of)
        if inputs.rejections:
            raise RenderError(f"{text} is not rendered: {inputs.rejections[0]}")
        if not inputs.is_predictable:
            raise RenderError(f"{text} is not rendered: one of its kustomizations generates the configuration of another")
        self.bases[text] = FetchedBase(folder, self._top_of(folder), here)
        return inputs

    def _folder_of(self, text: str) -> str:
        """Return the folder of a base. Raises RenderError."""
        first, *others = remote_bases(text)
        assert self._downloads is not None
        try:
            return self._downloads.folder_of(first)
        except RenderError:
            if not others:
                raise
            return self._downloads.folder_of(others[0])

    def _fetch_charts(self) -> None:
        if self._downloads is None:
            return
        for folder, chart in self.reads.charts_elsewhere.items():
            try:
                self.charts[folder] = self._downloads.unpacked(chart_reference(chart.repository, chart.name, chart.version))
            except RenderError as error:  # noqa: PERF203
                self._failures.setdefault(chart.shown, error)


def _naming(here: Kustomization, text: str, texts: SourceTexts) -> SourcePlace:
    """Return the place of the entry of a kustomization that names a base."""
    for document in texts.of(here.file)[:1]:
        for field in BASES:
            for number, each in enumerate(list_at(document.data, field)):
                if each == text:
                    return document.place((field, number), "root", exact=True)
    return SourcePlace(here.file, 0, Span(1, 1, 1, 1), "root")
