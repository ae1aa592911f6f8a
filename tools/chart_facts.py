"""Measure where Helm charts put the placement constraints of their values. Needs helm, git and clones of the charts' repositories.

    python tools/chart_facts.py --choose CLONES    # write the commits of versions into chart_sources.json, next to this script
    python tools/chart_facts.py CLONES [CHART...]  # render these versions, and write chart_facts.jsonl.gz, the input of charts.py

CLONES is a folder with a clone of each repository as OWNER+NAME/repo. `chart_sources.json` has one object for each chart: `chart`,
`repository` and `path`; `values`, without which it cannot be rendered; `modes`, further values that enable other parts of it; `publishers`
and `unique`, see charts.py; `members`, a folder of charts with the same values, because all have the library of their publisher;
`commits`, chosen from the history: the newest version of each of the last `majors` major versions, and three versions 0.

Each placement value gets a value of its own, which is looked for in the output. Values that the templates name are tried, and the same
fields at the root and in each map of the values. A field reaches nothing if no output has its value, no template can read it, and
no other version of the same major version names it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from afflint.rendering.chart_probes import PROBE_VALUES
from afflint.rendering.source_documents import documents_of

HERE = Path(__file__).parent
SOURCES, FACTS = HERE / "chart_sources.json", HERE / "chart_facts.jsonl.gz"
# Charts with templates for others, by the ends of the addresses of their repositories: repository and path.
LIBRARIES = {
    "bitnami": ("bitnami/charts", "bitnami/common"),
    "bitnamicharts": ("bitnami/charts", "bitnami/common"),
    "library-charts.k8s-at-home.com": ("k8s-at-home/library-charts", "charts/stable/common"),
}
MAJORS, OF_MAJOR_ZERO = 3, 3
RELEASE, OTHER_RELEASE, NAMESPACE = "zzrelease", "yyother", "zznamespace"
ALWAYS = ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "priorityClassName")
MOST_COMPONENTS = 6
OVERRIDES = ("nameOverride", "fullnameOverride")
MARK = "zzmark"
_MARKS = re.compile(rf"{MARK}(\d{{4}})")
_READ = re.compile(rf"\.Values((?:\.\w+)*\.(?:{'|'.join(PROBE_VALUES)}))(?![\w.])")
_CHAIN = re.compile(r"\.Values\b((?:\.\w+)*)")
_WHOLE = re.compile(r"\b(?:with|toYaml|toJson|tpl|include|template|range|dict|merge|mergeOverwrite|index|get|pluck|set|values|deepCopy)\b")
# Helpers of Bitnami that read known keys of the maps that they get.
_READS_PART = re.compile(r"include \"common\.(?:storage\.class|images\.\w+)\"")
_DEFINE = re.compile(r"\{\{-?\s*define\b")
_MOST_DEPTH = 5
_TEMPLATES = {
    "Pod": (),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "ReplicationController"), ("spec", "template")),
}


# The history of a chart.


def git(clones: Path, repository: str, *words: str) -> bytes:
    """Return what git prints for a clone. Raises CalledProcessError."""
    folder = clones / repository.replace("/", "+") / "repo"
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True).stdout


def versions_of(clones: Path, repository: str, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield the versions of a chart with their last commits and the text of their Chart.yaml, the newest first.

    If a release sets the version, so that Chart.yaml has a placeholder such as `0.0.1-set.by.chartpress`, the versions are the tags.
    """
    tags = tagged(clones, repository) if _is_placeholder(git(clones, repository, "show", f"HEAD:{path}/Chart.yaml").decode()) else {}
    seen = set()
    for commit in tags or git(clones, repository, "log", "--format=%H", "--", f"{path}/Chart.yaml").decode().split():
        try:
            text = git(clones, repository, "show", f"{commit}:{path}/Chart.yaml").decode()
        except subprocess.CalledProcessError:
            continue
        found = re.search(r"(?m)^version:\s*[\"']?v?(\d+\.\d+\.\d+)[\"']?\s*(?:#.*)?$", text)
        version = tags.get(commit) or (found and found[1])
        if version and version not in seen and "<<<<<<<" not in text:
            seen.add(version)
            yield version, commit, text


def tagged(clones: Path, repository: str) -> dict[str, str]:
    """Return the versions of releases by their commits, from the tags of a clone, the newest first."""
    lines = git(clones, repository, "for-each-ref", "--format=%(*objectname)%(objectname) %(refname:short)", "refs/tags").decode()
    found = re.findall(r"(?m)^([0-9a-f]{40})\S* v?(\d+\.\d+\.\d+)$", lines)
    return dict(sorted(found, key=lambda each: tuple(map(int, each[1].split("."))), reverse=True))


def _is_placeholder(text: str) -> bool:
    return re.search(r"(?m)^version:\s*[\"']?v?(?:0\.0\.1[\"']?\s*$|\d+\.\d+\.\d+-(?:devel|set\.by))", text) is not None


def choose(clones: Path, source: dict[str, Any]) -> dict[str, str]:
    """Return the commits of the versions of a chart that are measured: the newest of each of its last major versions."""
    by_major: dict[int, list[tuple[tuple[int, ...], str, str]]] = {}
    for version, commit, _ in versions_of(clones, source["repository"], source["path"]):
        number = tuple(map(int, version.split(".")))
        by_major.setdefault(number[0], []).append((number, version, commit))
    chosen = {}
    for major in sorted(by_major)[-source.get("majors", MAJORS) :]:
        every = sorted(by_major[major])
        steps = OF_MAJOR_ZERO if major == 0 else 1
        numbers = dict.fromkeys(len(every) - 1 - round(each * (len(every) - 1) / 2) for each in range(steps))
        chosen.update({every[each][1]: every[each][2] for each in numbers})
    return chosen


def unpack(clones: Path, repository: str, commit: str, path: str, target: Path) -> None:
    """Write a folder of a commit. Raises CalledProcessError."""
    target.mkdir(parents=True)
    archive = git(clones, repository, "archive", f"{commit}:{path}")
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(target, [each for each in files if each.isfile() or each.isdir()], filter="data")


def library_commit(clones: Path, repository: str, path: str, version: str) -> str | None:
    """Return the commit of the newest version of a library that starts with a version such as `2.x.x`, or None."""
    wanted = [each for each in version.lstrip("^~v").split(".") if each.isdigit()]
    exact = version[:1].isdigit() and len(wanted) == 3
    wanted = wanted if exact else wanted[:1]
    every = versions_of(clones, repository, path)
    return next((commit for number, commit, _ in every if number.split(".")[: len(wanted)] == wanted), None)


def dependencies(clones: Path, repository: str, path: str) -> list[dict[str, Any]]:
    """Return the charts that a chart uses: `name`, `repository`, and the major versions of them by the major versions of the chart."""
    found: dict[tuple[str, str], dict[str, set[int]]] = {}
    for version, commit, text in versions_of(clones, repository, path):
        for each in listed_dependencies(clones, repository, path, commit, text):
            number = re.match(r"[\^~v]?(\d+)\.", str(each.get("version")))
            if number and each.get("alias", each["name"]) == each["name"]:
                majors = found.setdefault((each["name"], str(each.get("repository"))), {})
                majors.setdefault(version.partition(".")[0], set()).add(int(number[1]))
    return [
        {"name": name, "repository": address, "majors": {major: sorted(every) for major, every in majors.items()}}
        for (name, address), majors in found.items()
        if name != "common"
    ]


def listed_dependencies(clones: Path, repository: str, path: str, commit: str, text: str) -> list[dict[str, Any]]:
    """Return the dependencies that Chart.yaml, whose ``text`` is known, or the requirements.yaml of older charts lists in a commit."""
    if "dependencies:" not in text:
        try:
            text = git(clones, repository, "show", f"{commit}:{path}/requirements.yaml").decode()
        except subprocess.CalledProcessError:
            return []
    return (load(text) or {}).get("dependencies") or []


def members(clones: Path, repository: str, folder: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the charts in a folder that use the library of their publisher, with their other dependencies."""
    library = next(address for address, (_, path) in LIBRARIES.items() if address.split(".", 1)[-1].startswith(repository.split("/")[0]))
    for name in git(clones, repository, "ls-tree", "--name-only", f"HEAD:{folder}").decode().split():
        text = git(clones, repository, "show", f"HEAD:{folder}/{name}/Chart.yaml").decode()
        every = load(text).get("dependencies") or ()
        if any(each["name"] == "common" and library in str(each.get("repository")) for each in every):
            yield name, dependencies(clones, repository, f"{folder}/{name}") if len(every) > 1 else []


# A chart with its values.


def load(text: bytes | str) -> Any:
    """Return the data of a YAML file."""
    reader = YAML(typ="safe", pure=True)
    reader.allow_duplicate_keys = True
    return reader.load(text)


@dataclass
class Chart:
    """A chart in a temporary folder, its values, and the text of its templates and of its libraries."""

    folder: Path
    source: dict[str, Any]
    version: str
    app_version: str
    values: dict[str, Any]
    text: str
    reads: set[tuple[tuple[str, ...], bool]] = field(default_factory=set)
    """The paths of values in the templates, each with whether a function may get the whole value."""
    relative: dict[str, list[tuple[bool, set[tuple[str, ...]]]]] = field(default_factory=dict)
    """The files that name a placement field elsewhere than in such a path: whether they define templates, and the paths in them."""
    dependencies: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def render(self, values: dict[str, Any], release: str = RELEASE) -> list[Any] | None:
        """Return the objects that helm renders; None if it fails."""
        helm = os.environ.get("HELM", "helm")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(values, file)
            file.flush()
            command = [helm, "template", release, str(self.folder), "-n", NAMESPACE, "--kube-version", "1.33.0", "-f", file.name]
            done = subprocess.run(command, capture_output=True, check=False, timeout=120)
        return None if done.returncode else [each.data for each in documents_of(done.stdout).values() if type(each.data) is dict]

    def names(self) -> set[str]:
        """Return the keys below which values of dependencies are."""
        return {each.get("alias") or each["name"] for each in self.dependencies}


def open_chart(clones: Path, source: dict[str, Any], commit: str, folder: Path) -> Chart:
    """Unpack a chart with its libraries, and without its other dependencies. Raises CalledProcessError."""
    unpack(clones, source["repository"], commit, source["path"], folder)
    data = load((folder / "Chart.yaml").read_bytes())
    requirements = folder / "requirements.yaml"
    if requirements.exists():
        data["dependencies"] = (load(requirements.read_bytes()) or {}).get("dependencies", [])
        requirements.unlink()
    (folder / "values.schema.json").unlink(missing_ok=True)
    every = [each for each in data.pop("dependencies", None) or [] if type(each) is dict]
    chart = Chart(folder, source, str(data["version"]), str(data.get("appVersion", "")), {}, "")
    kept = []
    for each in every:
        address = str(each.get("repository", "")).rstrip("/").rpartition("/")[2]
        library = LIBRARIES.get(address) if each["name"] == "common" else None
        if library is not None:
            found = library_commit(clones, *library, str(each["version"]))
            if found is not None:
                unpack(clones, library[0], found, library[1], folder / "charts" / "common")
                kept.append(each)
                continue
        chart.dependencies.append(each)
    for each in ("Chart.lock", "requirements.lock"):
        (folder / each).unlink(missing_ok=True)
    for each in chart.dependencies:
        inside = folder / "charts" / each["name"]
        if inside.is_dir():  # Its values are measured with those of the chart.
            kept.append(each)
        else:
            chart.left_out.append(each.get("alias") or each["name"])
    data["dependencies"] = kept
    (folder / "Chart.yaml").write_text(json.dumps(data, default=str), encoding="utf-8")
    values = folder / "values.yaml"
    chart.values = (load(values.read_bytes()) if values.exists() else None) or {}
    files = [each for each in sorted(folder.rglob("templates/**/*")) if each.is_file()]
    texts = [each.read_text(encoding="utf-8", errors="replace") for each in files]
    chart.text = "\n".join(texts)
    for file, text in zip(files, texts, strict=True):
        note_reads(chart, text, of_library="common" in file.relative_to(folder).parts)
    return chart


def note_reads(chart: Chart, text: str, of_library: bool) -> None:
    """Note the values that a template reads. The libraries get all values, but read only those that they name."""
    in_chains: Counter[str] = Counter()
    chains = set()
    for line in text.split("\n"):
        for match in _CHAIN.finditer(line):
            chain = tuple(match[1].split(".")[1:])
            in_chains.update(set(chain))
            whole = _WHOLE.search(line) is not None and not _READS_PART.search(line) and bool(chain or not of_library)
            chart.reads.add((chain, whole))
            if whole:
                chains.add(chain)
    for name in PROBE_VALUES:
        found = chart.relative.setdefault(name, [])
        if len(re.findall(rf"[.\"`]{name}\b", text)) > in_chains[name]:
            found.append((_DEFINE.search(text) is not None, chains))


# The values that are tried.


def declared(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the placement values in a map of values."""
    if type(data) is dict and len(path) <= _MOST_DEPTH:
        for key, value in data.items():
            if key in PROBE_VALUES:
                yield (*path, key)
            elif type(key) is str:
                yield from declared(value, (*path, key))


def maps(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the maps in a map of values, to a depth of two."""
    yield path
    for key, value in data.items() if len(path) < 2 else ():
        if type(value) is dict and type(key) is str and key not in PROBE_VALUES and re.fullmatch(r"[\w-]+", key):
            yield from maps(value, (*path, key))


def candidates(chart: Chart) -> list[tuple[str, ...]]:
    """Return the paths of the values that are tried."""
    named = (tuple(each[1][1:].split(".")) for each in _READ.finditer(chart.text))
    known = [each for each in (*declared(chart.values), *named) if PROBE_VALUES.keys().isdisjoint(each[:-1])]
    out = {*chart.left_out, "global"}
    further = ((*path, name) for path in maps(chart.values) if not path or path[0] not in out for name in ALWAYS)
    known += [each for each in further if not can_read(chart, each)]
    return [each for each in dict.fromkeys(known) if each[0] not in chart.left_out]


def can_read(chart: Chart, path: tuple[str, ...]) -> bool:
    """Return whether the text of the templates allows them to read a value, by its path or as part of a map above it."""
    above = {path[:length] for length in range(len(path))}
    if any(chain[: len(path)] == path or (chain in above and whole) for chain, whole in chart.reads):
        return True
    return any(is_define or above & chains for is_define, chains in chart.relative[path[-1]])


def merged(values: dict[str, Any], further: dict[str, Any]) -> dict[str, Any]:
    """Return values with further values, which take precedence."""
    both = dict(values)
    for key, value in further.items():
        both[key] = merged(both[key], value) if type(both.get(key)) is dict and type(value) is dict else value
    return both


def with_value(values: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """Return values with one more."""
    for step in reversed(path):
        value = {step: value}
    return merged(values, value)


@dataclass
class Arrival:
    """Where a value is in the output: the object, and the path in it."""

    kind: str
    name: str
    path: str


def arrivals(objects: Iterable[Any]) -> Iterator[tuple[int, Arrival]]:
    """Yield the marks in the output."""
    for each in objects:
        metadata = each.get("metadata") if type(each.get("metadata")) is dict else {}
        waiting: list[tuple[str, Any]] = [("", each)]
        while waiting:
            path, value = waiting.pop()
            if type(value) is dict:
                for key, inner in value.items():
                    waiting += [(path, str(key)), (f"{path}.{key}", inner)]
            elif type(value) is list:
                waiting += [(path, inner) for inner in value]
            elif type(value) is str and MARK in value:
                for number in _MARKS.findall(value):
                    yield int(number), Arrival(str(each.get("kind")), str(metadata.get("name")), path.strip("."))


def probe(chart: Chart, base: dict[str, Any], paths: dict[int, tuple[str, ...]], text: bool = False) -> tuple[dict[int, Any], set[int]]:
    """Return the arrivals of marked values by their numbers, and the numbers of those that helm cannot render."""
    values = base
    for number, path in paths.items():
        value = PROBE_VALUES[path[-1]](f"{MARK}{number:04}")
        values = with_value(values, path, json.dumps(value) if text else value)
    objects = chart.render(values)
    if objects is None:
        if len(paths) == 1:
            return {}, set(paths)
        every = list(paths.items())
        one, other = (probe(chart, base, dict(half), text) for half in (every[: len(every) // 2], every[len(every) // 2 :]))
        return {**one[0], **other[0]}, one[1] | other[1]
    found: dict[int, list[Arrival]] = {}
    for number, arrival in arrivals(objects):
        if arrival not in found.setdefault(number, []):
            found[number].append(arrival)
    return found, set()


# Facts.


def enabled(values: Any) -> dict[str, Any]:
    """Return values that enable all components of a chart."""
    found: dict[str, Any] = {}
    for key, value in values.items() if type(values) is dict else ():
        if key == "enabled" and value is False:
            found[key] = True
        elif type(value) is dict and type(key) is str and (below := enabled(value)):
            found[key] = below
    return found


def modes(chart: Chart) -> Iterator[dict[str, Any]]:
    """Yield the values of the renderings of a chart: its defaults, its other modes, and with its components."""
    needed = chart.source.get("values", {})
    out = set(chart.left_out)
    components = {key: value for key, value in enabled(chart.values).items() if key not in out}
    known = [merged(needed, each) for each in ({}, *chart.source.get("modes", ()), components)]
    for values in known:
        if chart.render(values) is not None:
            yield values
        elif values is known[-1]:
            each_alone = (merged(needed, {key: value}) for key, value in list(components.items())[:MOST_COMPONENTS])
            yield from (values for values in each_alone if chart.render(values) is not None)


def measure(chart: Chart, commit: str) -> dict[str, Any]:
    """Return the facts of a chart, in the form of charts.py."""
    paths = dict(enumerate(candidates(chart)))
    known = {*declared(chart.values), *(tuple(each[1][1:].split(".")) for each in _READ.finditer(chart.text))}
    found: dict[int, list[Arrival]] = {}
    broken: set[int] = set()
    text: set[int] = set()
    every = list(modes(chart))
    if not every:
        raise ValueError("cannot be rendered")
    for values in every:
        waiting = {number: path for number, path in paths.items() if number not in found and number not in broken}
        seen, failed = probe(chart, values, waiting)
        if failed:
            broken |= failed
            as_text, _ = probe(chart, values, {number: paths[number] for number in failed}, text=True)
            text |= as_text.keys()
            seen.update(as_text)
        found.update(seen)
    rows = []
    for number, path in paths.items():
        if path in known:
            rows.append(value_facts(path, found.get(number, []), number in text))
    ignored = [path for number, path in paths.items() if number not in found and number not in broken and path not in known]
    return {
        "chart": chart.source["chart"],
        "repository": chart.source["repository"],
        "path": chart.source["path"],
        "commit": commit,
        "version": chart.version,
        **{key: chart.source[key] for key in ("publishers", "unique") if key in chart.source},
        "values": rows,
        "pods": list(pods(chart, every)),
        "ignored": {
            ".".join(above): " ".join(path[-1] for path in ignored if path[:-1] == above)
            for above in dict.fromkeys(each[:-1] for each in ignored)
        },
    }


def value_facts(path: tuple[str, ...], found: list[Arrival], text: bool) -> dict[str, Any]:
    """Return the facts of one value."""
    name = path[-1]
    in_pods = [
        each
        for each in found
        if each.path.startswith(".".join((*_TEMPLATES[each.kind], "spec", name)) if each.kind in _TEMPLATES else f"\0{name}")
    ]
    unique = dict.fromkeys((each.kind, each.name) for each in in_pods)
    workloads = [{"kind": kind, "name": own.replace(RELEASE, "{release}")} for kind, own in unique]
    others = len(in_pods) != len(found)
    return {
        "path": ".".join(path),
        "kind": name,
        "shape": "text" if text else "as in Kubernetes",
        "workload": [] if others else workloads,
        "result": "arrives" if workloads and not others else "elsewhere" if found else "nowhere",
    }


def pods(chart: Chart, every: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the labels of the pods of each workload, with the values that change them."""
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for values in every:
        first = labels(chart.render(values))
        other = labels(chart.render(values, OTHER_RELEASE))
        texts = dict.fromkeys([*((each,) for each in OVERRIDES), *label_values(chart, values, texts_read(chart))])
        changed = {".".join(path): labels(chart.render(with_value(values, path, "zzchanged"))) for path in texts}
        for (kind, name), own in first.items():
            if any(RELEASE in key for key in own):
                continue  # No selector in values can know such a label.
            twin = other.get((kind, name.replace(RELEASE, OTHER_RELEASE)))
            facts = seen.setdefault((kind, name), {"workload": {"kind": kind, "name": name.replace(RELEASE, "{release}")}, "labels": {}})
            for key, value in own.items():
                same = twin is not None and twin.get(key) == value.replace(RELEASE, OTHER_RELEASE)
                known = same and not any(each and each in value for each in (chart.version, chart.app_version, NAMESPACE))
                if facts["labels"].get(key, value) != value:
                    known = False
                facts["labels"][key] = value if known else "{unknown}"
            position = list(first).index((kind, name))
            for override, renamed in changed.items():
                # Objects have other names, but the same order.
                own_again = list(renamed.values())[position] if len(renamed) == len(first) else {}
                for key, value in own.items():
                    if own_again.get(key) != value:
                        by = facts.setdefault("changed_by", {}).setdefault(key, [])
                        if override not in by:
                            by.append(override)
    for facts in seen.values():
        facts["labels"] = {key: value.replace(RELEASE, "{release}") for key, value in facts["labels"].items()}
        yield facts


def texts_read(chart: Chart) -> list[tuple[str, ...]]:
    """Return the paths of all values that templates read and that may be texts: those that are texts by default, or absent."""
    found = []
    for path in sorted({path for path, _ in chart.reads if path}):
        here: Any = chart.values
        for step in path:
            here = here.get(step) if type(here) is dict else None
        if here is None or type(here) is str:
            found.append(path)
    return found


def label_values(chart: Chart, values: dict[str, Any], paths: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return which of some values the labels of pods contain: a canary in each shows it. Values that break the chart are left out."""
    canaries = {f"zzcanary{number}zz": path for number, path in enumerate(paths)}
    tried = values
    for canary, path in canaries.items():
        tried = with_value(tried, path, canary)
    objects = chart.render(tried) if paths else []
    if objects is None:
        half = len(paths) // 2
        return [*label_values(chart, values, paths[:half]), *label_values(chart, values, paths[half:])] if half else []
    written = [value for own in labels(objects).values() for value in own.values()]
    return [path for canary, path in canaries.items() if any(canary in value for value in written)]


def labels(objects: list[Any] | None) -> dict[tuple[str, str], dict[str, str]]:
    """Return the labels of the pods of each workload in the output, by kind and name."""
    found = {}
    for each in objects or ():
        template = each
        for step in _TEMPLATES.get(each.get("kind"), ("missing",)):
            template = template.get(step) if type(template) is dict else None
        hooked = "helm.sh/hook" in str(each.get("metadata"))
        if type(template) is dict and not (each["kind"] == "Pod" and hooked):
            own = (template.get("metadata") or {}).get("labels") or {}
            found[(each["kind"], str(each["metadata"].get("name")))] = {str(key): str(value) for key, value in own.items()}
    return found


def read_in_history(clones: Path, source: dict[str, Any]) -> dict[str, set[str]]:
    """Return the paths of values that the templates of all versions of a chart name, by major version."""
    found: dict[str, set[str]] = {}
    for version, commit, _ in versions_of(clones, source["repository"], source["path"]):
        major = version.partition(".")[0]
        if any(each.partition(".")[0] == major for each in source["commits"]):
            try:
                text = git(clones, source["repository"], "grep", "-hE", r"\.Values\.", commit, "--", f"{source['path']}/templates")
            except subprocess.CalledProcessError:
                continue  # No template has values.
            chains = (match[1].strip(".") for match in _CHAIN.finditer(text.decode("utf-8", "replace")))
            found.setdefault(major, set()).update(each for each in chains if not PROBE_VALUES.keys().isdisjoint(each.split(".")))
    return found


def leave_out(ignored: dict[str, str], read: set[str]) -> dict[str, str]:
    """Return values that reach nothing without those that another version reads."""
    tops = {each[: match.end()] for each in read for match in re.finditer(rf"(?:^|\.)(?:{'|'.join(PROBE_VALUES)})(?=\.|$)", each)}
    kept = {path: [name for name in names.split(" ") if f"{path}.{name}".strip(".") not in tops] for path, names in ignored.items()}
    return {path: " ".join(names) for path, names in kept.items() if names}


def measured(clones: Path, source: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the facts of each version of a chart. The first have its dependencies, and the charts with the same values."""
    facts = []
    for version, commit in source["commits"].items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                chart = open_chart(clones, source, commit, Path(folder) / "chart")
                facts.append({**measure(chart, commit), "version": version})
            except (subprocess.SubprocessError, ValueError) as error:
                print(f"{source['chart']} {version}: {error}", file=sys.stderr)
    read = read_in_history(clones, source)
    for each in facts:
        each["ignored"] = leave_out(each["ignored"], read.get(each["version"].partition(".")[0], set()))
    if facts and "members" in source:
        facts[0]["members"] = dict(members(clones, source["repository"], source["members"]))
    elif facts:
        facts[0]["dependencies"] = dependencies(clones, source["repository"], source["path"])
    return facts


def main() -> int:
    words = sys.argv[1:]
    if not words:
        print(__doc__, file=sys.stderr)
        return 2
    sources = json.loads(SOURCES.read_text(encoding="utf-8"))
    if words[0] == "--choose":
        for each in sources:
            each["commits"] = each.get("commits") or choose(Path(words[1]), each)
        SOURCES.write_text(json.dumps(sources, indent=1) + "\n", encoding="utf-8")
        return 0
    clones, only = Path(words[0]), set(words[1:])
    kept = [json.loads(line) for line in gzip.decompress(FACTS.read_bytes()).splitlines()] if FACTS.exists() and only else []
    facts = [each for each in kept if each["chart"] not in only]
    for source in sources:
        if not only or source["chart"] in only:
            facts += measured(clones, source)
    lines = [json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in facts]
    FACTS.write_bytes(gzip.compress("".join(f"{line}\n" for line in sorted(lines)).encode(), mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
