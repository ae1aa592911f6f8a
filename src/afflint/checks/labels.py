"""Labels and selectors that the API server accepts, but that select the wrong pods or none."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from afflint.checks.admission.labels import label_maps
from afflint.checks.constraint_selectors import requirement_places
from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace, inserting, renaming
from afflint.findings.finding import Severity, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import join_words, quoted
from afflint.index.facts import SPREAD, Pods, SelectorRef
from afflint.index.manifest_index import ManifestIndex, may_mean
from afflint.kube.selector_algebra import conflict
from afflint.kube.selectors import Selector, describe, parse_label_selector
from afflint.manifests.manifest import Manifest, Workload
from afflint.yaml.placeholders import is_placeholder

# Labels of tools: they name the creator of an object and are not expected on pods.
_TOOL_PREFIXES = (
    "app.kubernetes.io/", "helm.sh/", "argocd.argoproj.io/", "kustomize.", "olm.", "operators.coreos.com/", "velero.io/",
    "kubevirt.io/", "vm.kubevirt.io/", "instancetype.kubevirt.io/", "template.kubevirt.io/", "os.template.kubevirt.io/",
    "workload.template.kubevirt.io/", "flavor.template.kubevirt.io/", "k8s-app", "chart", "heritage", "release",
)  # fmt: skip
_MOST_RELATED, _LOOKED_AT = 3, 50
# Each suggested fix has to read the manifest again, and a few are enough.
_MOST_COPIED = 10


def misread_label_key(manifest: Manifest) -> Iterator[Match]:
    """Report unquoted keys of labels, node selectors and matchLabels that YAML reads as booleans or numbers and that become other keys.

    After ``convertToJSONableObject`` of sigs.k8s.io/yaml, which kubectl and the API server read YAML with.
    """
    for path, labels in label_maps(manifest):
        for read in labels:
            if read in _BOOLEANS or read[:1].isdecimal() or read[:1] == "-":
                yield from _misread_key(manifest, labels, (*path, read))


_BOOLEANS = ("true", "false")


def _misread_key(manifest: Manifest, labels: dict[str, Any], path: Path) -> Iterator[Match]:
    written, read = manifest.document.plain_key(path), path[-1]
    if written is None or written == read:
        return
    kind = "a boolean" if read in _BOOLEANS else "a number"
    message = f"YAML reads the unquoted label key {quoted(written)} as {kind}, so the label is called {quoted(read)}"
    # A renamed key must not meet one that is there already.
    edits = () if written in labels else renaming(path, written)
    yield Match(path, message, f'Write the key in quotes: `"{written}"`.', key=True, field=path[:-1], edits=edits)


def selector_matches_nothing(manifest: Workload) -> Iterator[Match]:
    """Report pod terms and spread constraints without a labelSelector, which match no pod at all."""
    for term in manifest.constraints.pod_terms:
        if _lacks_selector(term.data):
            yield Match((*term.path, "labelSelector"), f"this {term.name} has no labelSelector, so it matches no pod")
    if manifest.partial:
        return  # A patch may change a spread constraint without repeating its selector.
    for spread in manifest.constraints.spreads:
        if _lacks_selector(spread.data):
            yield Match((*spread.path, "labelSelector"), "this spread constraint has no labelSelector, so it counts no pod")


def _lacks_selector(data: dict[str, Any]) -> bool:
    """Return whether the selector is simply missing: an unknown field may be a misspelt one, and label keys without one are rejected."""
    return data.get("labelSelector") is None and not data.get("matchLabelKeys") and not data.keys() - _KNOWN_BESIDE


_KNOWN_BESIDE = frozenset(
    (
        "labelSelector", "topologyKey", "namespaces", "namespaceSelector", "matchLabelKeys", "mismatchLabelKeys",
        "maxSkew", "whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy",
    )
)  # fmt: skip


def selector_matches_everything(manifest: Workload) -> Iterator[Match]:
    """Report empty selectors: in required anti-affinity they match every pod of the namespace, in a spread constraint none."""
    for term in manifest.constraints.pod_terms:
        if term.anti and term.required and _is_empty(term.data):
            where = "its namespaces" if term.data.get("namespaces") or term.data.get("namespaceSelector") is not None else "the namespace"
            message = f"an empty labelSelector matches every pod of {where}: none of them may share a topology domain with these pods"
            yield Match((*term.path, "labelSelector"), message, key=True)
    if manifest.partial:
        return
    for spread in manifest.constraints.spreads:
        if _is_empty(spread.data):
            message = "an empty labelSelector matches no pods in a spread constraint, so nothing is spread"
            remedy = "Select the pods to count, usually by their own labels."
            yield Match((*spread.path, "labelSelector"), message, remedy, key=True, severity="warning")


def _is_empty(data: dict[str, Any]) -> bool:
    selector = data.get("labelSelector")
    if type(selector) is not dict or data.get("matchLabelKeys") or data.get("mismatchLabelKeys"):
        return False
    return (
        not selector.get("matchLabels")
        and not selector.get("matchExpressions")
        and not selector.keys() - {"matchLabels", "matchExpressions"}
    )


def contradictory_selector(manifest: Workload) -> Iterator[Match]:
    """Report label selectors that no label set can satisfy."""
    for selector in manifest.constraints.selectors:
        parsed = parse_label_selector(selector.data)
        if not isinstance(parsed, Selector) or len(parsed.requirements) < 2:
            continue
        clash = conflict(parsed.requirements)
        if clash:
            words = join_words((quoted(describe(parsed.requirements[index])) for index in clash), "and also")
            what = "namespace" if selector.path[-1] == "namespaceSelector" else "pod"
            path = (*selector.path, *requirement_places(selector.data, parsed)[clash[-1]])
            yield Match(path, f"no {what} can have {words}, so this selector matches nothing")


def label_not_on_template(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report labels in metadata.labels that a selector requires and the pod template lacks.

    Three triggers: the workload's own constraints select the label; a selector elsewhere that matches nothing would match; or, as
    information only, a VM's template has no labels at all.
    """
    asked: dict[tuple[Site, str], _RequestedLabel] = {}
    for group in _alike(manifest_index):
        first = group.selector_refs[0]
        for pods in manifest_index.nearly_selected(first):
            if not pods.labels_known or pods.pod_labels.some(first.selector):
                continue
            own = group.carried_by(pods)
            # A copy of the object for another cluster is not another workload: that the copy is correct does not fix this one.
            selected = [each for each in islice(manifest_index.selected(first), _LOOKED_AT) if not _is_copy(each, pods)]
            if own is not None and any(may_mean(own, each) for each in selected):
                own = None  # The selector matches other pods, which may be the intended ones.
            others = [] if selected else group.others(manifest_index, pods)
            if own is not None or others:
                for key in _missing_labels(first.selector, pods):
                    place = pods.site, key
                    found = asked.setdefault(place, _RequestedLabel(pods, own, others))
                    if not found.is_required and any(ref.is_required for ref in others):
                        asked[place] = found._replace(others=[*others, *found.others])
    templates = Counter(pods.site for pods in manifest_index.pods)
    copied: Counter[Site] = Counter()
    for (site, key), each in asked.items():
        copied[site] += 1
        match = _depended_on(each, key)
        # It is unknown which of several templates should have the label.
        is_clear = templates[site] == 1 and copied[site] <= _MOST_COPIED and not is_placeholder(each.pods.labels[key])
        if is_clear:
            home = (*each.pods.template_path, "metadata", "labels")
            match = match._replace(edits=inserting(home, key, each.pods.labels[key], before="spec"))
        yield CrossManifestMatch(site, each.pods.ref, match)
    reported = {site for site, _ in asked}
    for pods in manifest_index.pods:
        if pods.site not in reported and _unlabelled_vm(pods):
            yield CrossManifestMatch(pods.site, pods.ref, _informed(pods))


class _RequestedLabel(NamedTuple):
    """A label that selectors require on the pods: those of their own constraints, and selectors elsewhere."""

    pods: Pods
    own: SelectorRef | None
    others: list[SelectorRef]

    @property
    def is_required(self) -> bool:
        """Whether a selector elsewhere fails without the label; the pods' own constraints only miss their own pods."""
        return any(ref.is_required for ref in self.others)


class _SelectorGroup:
    """Selectors with the same requirements in the same namespaces: all workloads of an application often have the same one."""

    def __init__(self) -> None:
        self.selector_refs: list[SelectorRef] = []
        self._by_owner: dict[tuple[Site, Path | None], SelectorRef] = {}
        self._by_folder: dict[tuple[str, ...], list[SelectorRef]] = {}

    def add(self, ref: SelectorRef) -> None:
        self.selector_refs.append(ref)
        self._by_owner.setdefault((ref.site, ref.template_path), ref)
        for folder in _nearest_folders(ref.site):
            self._by_folder.setdefault(folder, []).append(ref)

    def carried_by(self, pods: Pods) -> SelectorRef | None:
        """Return the selector of this group that is in the constraints of the pods themselves."""
        return self._by_owner.get(pods.key)

    def others(self, manifest_index: ManifestIndex, pods: Pods) -> list[SelectorRef]:
        """Return the selectors elsewhere that are close enough to mean these pods: the required ones first, then the closest."""
        folders = _nearest_folders(pods.site)
        near = [ref for folder in folders for ref in islice(self._by_folder.get(folder, ()), _LOOKED_AT)]
        candidates = dict.fromkeys([*near, *islice(self.selector_refs, _LOOKED_AT)])
        elsewhere = (each for each in candidates if (each.site, each.template_path) != pods.key and not _is_copy(each, pods))
        return sorted((ref for ref in elsewhere if manifest_index.related(ref, pods)), key=lambda ref: not ref.is_required)


def _is_copy(one: Pods | SelectorRef, other: Pods) -> bool:
    """Return whether both are in manifests of the same object: a repository may have one for each cluster."""
    if one.site == other.site or one.ref.name is None:
        return False
    return (one.ref.kind, one.ref.namespace, one.ref.name) == (other.ref.kind, other.ref.namespace, other.ref.name)


def _nearest_folders(site: Site) -> list[tuple[str, ...]]:
    """Return the folder of a file and its two nearest parents."""
    folder = site.folder
    return list(dict.fromkeys((folder, folder[:-1], folder[:-2])))


def _alike(manifest_index: ManifestIndex) -> Iterator[_SelectorGroup]:
    groups: dict[tuple[object, ...], _SelectorGroup] = {}
    for ref in manifest_index.selector_refs:
        if ref.selector.requirements:
            groups.setdefault((ref.selector, ref.scope), _SelectorGroup()).add(ref)
    return iter(groups.values())


def _missing_labels(selector: Selector, pods: Pods) -> list[str]:
    """Return the labels of the object that the selector requires and the template lacks."""
    asked = dict.fromkeys(requirement.key for requirement in selector.requirements)
    return [key for key in asked if key in pods.labels and key not in pods.template_labels]


def _depended_on(asked: _RequestedLabel, key: str) -> Match:
    pods, own, others = asked.pods, asked.own, asked.others
    label = quoted(f"{key}: {pods.labels[key]}")
    message = f"the label {label} is set only on the {pods.ref.kind} itself, not on its pods; "
    if own:
        message += f"its own {'spread constraint' if own.what == SPREAD else own.what} selects it"
    else:
        message += f"the {others[0].what} of {others[0].title} selects it"
    more = len(others) if own else len(others) - 1
    if more:
        count = str(more) if more < _LOOKED_AT else "many"
        message += ", as does one more selector" if more == 1 else f", as do {count} more selectors"
    related = tuple(
        RelatedPlace(ref.site.file, ref.site.document, ref.path, True, f"the {ref.what} of {ref.title} that selects {label}")
        for ref in [*([own] if own else []), *others][:_MOST_RELATED]
    )
    help_ = f"Move or copy it to {_home(pods)}; only labels there reach the pods."
    severity: Severity | None = "error" if asked.is_required else None
    return Match((*pods.site.base, "metadata", "labels", key), message, help_, key=True, related=related, severity=severity)


def _home(pods: Pods) -> str:
    return field_of((*pods.template_path[len(pods.site.base) :], "metadata", "labels"))


def _unlabelled_vm(pods: Pods) -> bool:
    if not pods.kubevirt or not pods.has_own_template or pods.partial or pods.template_labels:
        return False
    return pods.labels_known and any(not key.startswith(_TOOL_PREFIXES) for key in pods.labels)


def _informed(pods: Pods) -> Match:
    keys = [key for key in pods.labels if not key.startswith(_TOOL_PREFIXES)]
    label, does, it = ("label", "does", "it") if len(keys) == 1 else ("labels", "do", "them")
    message = (
        f"the {label} {join_words(quoted(key) for key in keys[:4])} of this {pods.ref.kind}"
        f" {does} not reach its pod, because the template has no labels; no selector uses {it} yet"
    )
    help_ = f"To select the pod by a label, set the label under {_home(pods)}."
    return Match((*pods.site.base, "metadata", "labels", keys[0]), message, help_, key=True, severity="info")
