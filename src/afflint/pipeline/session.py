"""A session: a configuration, its sources, and runs over them, for the command line, the language server and tests.

A session keeps nothing that it has read from disk, so each run sees the current files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint import config as configuration
from afflint.config import Config
from afflint.findings.errors import UserError
from afflint.findings.steps import begin
from afflint.source.sources import STDIN, SUFFIXES, Source, discover, each_once, is_template, named, relative, standard_input

if TYPE_CHECKING:
    from afflint.findings.finding import Finding
    from afflint.pipeline.map_step import MapSettings
    from afflint.pipeline.options import Options
    from afflint.pipeline.reduced_run import ReducedRun
    from afflint.pipeline.run import Outcome

# This rule is off by default. It reports what a cluster with this plugin rejects.
_HARD_TOPOLOGY_PLUGIN, _HARD_TOPOLOGY_RULE = "LimitPodHardAntiAffinityTopology", "hard-anti-affinity-topology"


class Session:
    """Runs under one configuration. ``buffers`` are the texts of files in an editor, by path; they replace the files on disk.

    All methods may raise UserError for files or values of the configuration or the caller that cannot be used.
    """

    def __init__(self, config: Config, buffers: Mapping[str, bytes] | None = None) -> None:
        self.config = config
        self.stdin: Source | None = None
        self._piped: Source | None = None
        """Standard input, once it has been read as a source."""
        self._rendered: frozenset[str] = frozenset()
        self.missing_dependencies: list[tuple[str, str]] = []
        """The charts that were rendered without a dependency, each with the name of the dependency."""
        self._buffers = buffers if buffers is not None else {}

    # Sources.

    def sources(
        self, paths: Sequence[str], more: Iterable[Source] = (), *, stdin_name: str | None = None, force_exclude: bool = False
    ) -> list[Source]:
        """Return the files that paths name, each once, and ``more``. ``stdin_name``: the file that standard input (``-``) replaces.

        With ``force_exclude``, ``exclude`` of the configuration also applies to files that are named, and to the file ``stdin_name``.
        """
        excluded = self._excluded()
        included = configuration.matcher(self.config.include) if self.config.include else None
        found = discover(paths, excluded or _nothing, (lambda path: included(self._relative(path))) if included else None)
        chosen: list[Source] = []
        for source in found:
            # Read standard input even if it is excluded, so that the writing process can end.
            each = source
            if source.path == STDIN:
                each = self.stdin = standard_input(stdin_name)
            if each.path == STDIN or not (force_exclude and excluded and excluded(os.path.abspath(each.path))):
                chosen.append(each)
        besides = [*more]
        if not (besides or self._buffers or STDIN in paths):
            return chosen  # Discovery gives each once already.
        return self._buffered([*chosen, *besides])

    def under(self, config: Config) -> Session:
        """Return a session under another configuration that shares what this one has read from standard input."""
        other = Session(config, self._buffers)
        other.stdin, other._piped = self.stdin, self._piped
        return other

    def excludes(self, path: str) -> bool:
        """Return whether the configuration excludes the file at an absolute path, which need not exist."""
        excluded = self._excluded()
        return excluded is not None and excluded(path)

    def covers(self, path: str) -> bool:
        """Return whether a check of its folder includes the file at an absolute path, which need not exist."""
        if self.config.include:
            wanted = configuration.matcher(self.config.include)(self._relative(path))
        else:
            wanted = path.lower().endswith(SUFFIXES)
        return wanted and not self.excludes(path)

    def context(self) -> list[Source]:
        """Return the files that the configuration names as context for rules across manifests."""
        if not self.config.context:
            return []
        wanted = configuration.matcher(self.config.context)
        found = discover((self.config.root,), included=lambda path: wanted(self._relative(path)))
        return self._buffered(Source(relative(each.path), each.path) for each in found)

    def node_files(self) -> list[Source]:
        """Return the node files that the command line or the configuration names; only the command line may name a pipe."""
        if self.config.nodes == (configuration.NO_NODES,):
            return []
        asked = self.config.origins["nodes"] == configuration.COMMAND_LINE
        if self.config.nodes and self.config.repository is not None:
            from afflint.config.trust import check_readable

            check_readable(self.config, "nodes", self.config.nodes)
        missing = next((path for path in self.config.nodes if not (asked or os.path.lexists(path))), None)
        if missing is not None:
            raise UserError(f"{self.config.origins['nodes']}: `nodes`: the file `{missing}` does not exist")
        sources: list[Source] = []
        for path in self.config.nodes:
            if os.path.isdir(path):
                sources += self._node_files_in(path)
            else:
                sources.append(self._named(path) if asked else Source(os.path.normpath(path), path))
        return self._buffered(sources)

    def _node_files_in(self, folder: str) -> list[Source]:
        """Return the files of a folder that declare nodes or pools. Raises UserError if none does, or if one of them is invalid."""
        from afflint.inventory.node_files import bytes_of, has_nodes
        from afflint.pipeline.definitions import may_have_nodes

        found = []
        for source in self._buffered(discover((folder,))):
            if is_template(source.name):
                continue
            data = bytes_of(source)
            if may_have_nodes(data) and has_nodes(source.name, data):
                found.append(source)
        if not found:
            raise UserError(f"{folder}: no nodes or node pools in the files of this folder")
        return found

    def named_sources(self, paths: Iterable[str]) -> list[Source]:
        """Return the files that the values of an option name, each once. Raises UserError if standard input is checked as well."""
        return self._buffered(self._named(path) for path in paths)

    def _named(self, path: str) -> Source:
        """Return the source for an option. Options share standard input, but raise UserError if it is checked as well."""
        if path != STDIN:
            return named(path)
        if self.stdin is not None:
            raise UserError("standard input (`-`) can be named only once")
        self._piped = self._piped or standard_input()
        return self._piped

    def dumps(self, pods: Sequence[str]) -> list[Source]:
        """Return the node files that the command line names, without folders, and the files of ``pods``."""
        asked = self.config.origins["nodes"] == configuration.COMMAND_LINE and self.config.nodes != (configuration.NO_NODES,)
        return self.named_sources([*(path for path in self.config.nodes if asked and not os.path.isdir(path)), *pods])

    def rendered(self, kustomizations: Sequence[str], charts: Sequence[str], values: Sequence[str] = ()) -> list[Source]:
        """Return the output of kustomize and Helm for folders and charts. Raises RenderError."""
        made = []
        if kustomizations:
            from afflint.rendering.programs import kustomize

            made = [kustomize(folder) for folder in kustomizations]
        if charts:
            from afflint.rendering.helm import render_named_chart

            for chart in charts:
                source, missing = render_named_chart(chart, values)
                made.append(source)
                self.missing_dependencies += [(chart, name) for name in missing]
        self._rendered = frozenset(source.path for source in made)
        return made

    def with_renders(
        self,
        sources: Sequence[Source],
        options: Options,
        *,
        network: bool,
        offline: bool = False,
        changed: frozenset[str] | None = None,
        only_touched: bool = False,
    ) -> tuple[Sequence[Source], Options]:
        """Return sources and options with the output of kustomizations and charts, if the configuration names tools to render them.

        ``offline``: charts that are not in the repository are taken from the cache. ``changed`` and ``only_touched`` are as for
        ``RenderOptions``. Raises UserError.
        """
        if network and offline:
            raise UserError("`--offline` and `--render-network` exclude each other")
        if not self.config.render:
            return sources, options
        from afflint.config.trust import renderers

        tools = renderers(self.config)
        if not tools:
            return sources, options
        begin("rendering kustomizations and charts")
        from afflint.rendered.rendered_run import RenderedRun
        from afflint.rendering.builds import RenderOptions

        wanted = RenderOptions(tools, network, offline, options.cache, options.jobs, self.config.kubernetes_version, changed, only_touched)
        renders = RenderedRun(sources, wanted, self._excluded() or _nothing)
        return renders.sources, options._replace(renders=renders)

    def _buffered(self, sources: Iterable[Source]) -> list[Source]:
        """Return the sources, each once; a buffer of the editor replaces its file."""
        found = each_once(sources)
        for identity, buffer in each_once(Source(path, path, data) for path, data in self._buffers.items()).items():
            if identity in found:
                found[identity] = found[identity]._replace(data=buffer.data)
        return list(found.values())

    def _excluded(self) -> Callable[[str], bool] | None:
        """Return a function that returns whether an absolute path is excluded; paths outside the root are not.

        The configuration, the baseline and the reports of this run are not manifests, and are excluded too.
        """
        outputs = frozenset(os.path.abspath(path) for path in (*self.config.output, self.config.baseline or "") if path not in ("", "-"))
        if not self.config.exclude:
            return outputs.__contains__ if outputs else None
        matches = configuration.matcher(self.config.exclude)

        def excluded(path: str) -> bool:
            name = self._relative(path)
            return path in outputs or (not os.path.isabs(name) and name.partition("/")[0] not in (".", "..") and matches(name))

        return excluded

    def _relative(self, path: str) -> str:
        """A path as globs of the configuration see it: relative to its root, with slashes, one at the end of a folder's."""
        return relative(path.rstrip("/") or path, self.config.root).replace(os.sep, "/") + ("/" if path.endswith("/") else "")

    # What comes of it.

    def settings(self) -> MapSettings:
        """The rules that the configuration selects, bound to its severities and its target."""
        from afflint.checks.match import Target
        from afflint.checks.registry import bind_rules, rules
        from afflint.kube.kinds import custom_kind
        from afflint.pipeline.map_step import MapSettings

        config = self.config
        selected = configuration.selected(((rule.name, rule.category, rule.default) for rule in rules().values()), config)
        version = tuple(int(part) for part in config.kubernetes_version.split("."))
        plugins = frozenset(config.admission_plugins)
        if _HARD_TOPOLOGY_PLUGIN in plugins and not {_HARD_TOPOLOGY_RULE, "affinity", "all"} & {*config.ignore}:
            selected |= {_HARD_TOPOLOGY_RULE}
        target = Target((version[0], version[1]), frozenset(config.feature_gates), plugins, config.complete, config.complete_nodes)
        if config.storage:
            topologies = tuple([(name, each.topology) for name, each in config.storage.items() if each.topology])
            default = next((name for name, each in config.storage.items() if each.default), "")
            target = target._replace(volume_topologies=topologies, default_storage_class=default)
        if config.kubevirt_version is not None:
            target = target._replace(kubevirt_version=(1, int(config.kubevirt_version.removeprefix("1."))))
        custom = tuple(custom_kind(each.api_version, each.kind, each.template) for each in config.workloads)
        auto_nodes = config.nodes != (configuration.NO_NODES,)
        settings = MapSettings(
            bind_rules(selected, config.severity), target, custom, auto_nodes=auto_nodes, host_key=config.physical_host_key
        )
        return self._with_policies(settings) if config.policies else settings

    def _with_policies(self, settings: MapSettings) -> MapSettings:
        """Return the settings with the policies of the configuration; only selected policies run."""
        from afflint.checks.registry import bound_policies

        config = self.config
        chosen = [each for each in config.policies if configuration.is_selected(each.name, "policy", True, config)]
        names = tuple([each.name for each in config.policies])
        bound = bound_policies(chosen, config.severity)
        return settings._replace(rules=(*settings.rules, *bound), policies=names, root=config.root)

    def check(self, sources: Sequence[Source], options: Options | None = None) -> Outcome:
        """Check ``sources`` with the context and the nodes that the configuration names."""
        from afflint.pipeline.run import run

        outcome = run(sources, self.settings(), self.options(options), self.context(), self.node_files())
        return outcome._replace(findings=[self._as_rendered(each, outcome) for each in outcome.findings]) if self._rendered else outcome

    def _as_rendered(self, finding: Finding, outcome: Outcome) -> Finding:
        """Return the finding without a fix if it is in output of another program, which is not a file."""
        return finding._replace(fix=None) if outcome.sources[finding.source].path in self._rendered else finding

    def reduce(self, sources: Sequence[Source], options: Options | None = None) -> ReducedRun:
        """Run the map and reduce steps over ``sources`` and return their results, for callers that need more than findings."""
        from afflint.pipeline.files import Files
        from afflint.pipeline.run import reduce_run

        return reduce_run(Files(sources, self.context(), self.node_files()), self.settings(), self.options(options))

    def options(self, options: Options | None = None) -> Options:
        """Return the options of a run, with the mandatory policies and the ignored rules of the configuration."""
        from afflint.pipeline.options import Options

        options = options or Options()
        mandatory = frozenset(policy.name for policy in self.config.policies if policy.mandatory)
        if mandatory:
            options = options._replace(mandatory=mandatory)
        if self.config.per_file_ignores:
            ignores = configuration.ignores(self.config)
            options = options._replace(ignored_in=lambda path: ignores(self._relative(path)))
        return options


def _nothing(_path: str) -> bool:
    return False
