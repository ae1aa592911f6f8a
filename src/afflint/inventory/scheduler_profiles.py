"""The profiles of kube-scheduler in a run: which of the configurations among its manifests are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from afflint.controllers.pod_source import PodSource
from afflint.findings.finding import FileId
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, quoted
from afflint.scheduler.profile import DEFAULT_SCHEDULER, Profile, profile_of, unknown_profile
from afflint.yaml.document import all_texts
from afflint.yaml.placeholders import is_placeholder

if TYPE_CHECKING:
    from afflint.index.scheduler_configurations import SchedulerConfiguration


class Profiles(NamedTuple):
    """The configured profiles of a cluster by name.

    ``ambiguous`` are the names of profiles that several configurations define differently, each with the configurations: none is used.
    """

    by_name: Mapping[str, Profile]
    ambiguous: Mapping[str, tuple[SchedulerConfiguration, ...]]

    def of(self, pod_source: PodSource) -> Profile:
        """Return the profile that places the pods of a workload."""
        metadata = {"labels": pod_source.labels, "annotations": pod_source.annotations}
        profile = profile_of(pod_source.scheduler, pod_source.pod, metadata)
        return self.by_name.get(pod_source.scheduler, profile) if profile.name else profile

    def notes(self, name_of: Callable[[FileId], str]) -> Iterator[str]:
        """Yield a note about each profile that is not used; ``name_of`` returns the name of a file."""
        for name, defining in self.ambiguous.items():
            places = join_words(list(dict.fromkeys(f"{each.title} in {name_of(each.site.file)}" for each in defining)))
            instead = "the simulation uses the default profile" if name == DEFAULT_SCHEDULER else "its pods are not evaluated"
            yield f"the scheduler profile {name} is defined differently by {places}: {instead}"


NO_PROFILES = Profiles({}, {})


def profiles_of(configurations: Iterable[SchedulerConfiguration]) -> Profiles:
    """Return the profiles that some configurations define. A profile that several define in the same way counts once."""
    from afflint.scheduler.configuration import profile_names, raw_profile, read_profiles

    defining = grouped((name, each) for each in configurations for name in profile_names(each.data))
    by_name: dict[str, Profile] = {}
    ambiguous: dict[str, tuple[SchedulerConfiguration, ...]] = {}
    for name, found in defining.items():
        raw = raw_profile(found[0].data, name)
        if any(raw_profile(each.data, name) != raw for each in found[1:]):
            ambiguous[name] = tuple(found)
            continue
        text = next(filter(is_placeholder, all_texts(raw)), None)
        why = f"the configuration of the scheduler {name} contains the placeholder {quoted(text or '')}"
        by_name[name] = read_profiles(found[0].data)[name] if text is None else unknown_profile(name, why)
    return Profiles(by_name, ambiguous)
