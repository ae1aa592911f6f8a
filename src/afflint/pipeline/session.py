"""A session: a configuration, where sources come from, and runs over them, for whoever asks: command line, editor, tests.

Nothing that was read from disk is kept from one run to the next, so that each sees the files as they are then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint import config as configuration
from afflint.config import Config
from afflint.findings.errors import UserError
from afflint.source.sources import STDIN, SUFFIXES, Source, discover, each_once, named, relative, standard_input

if TYPE_CHECKING:
    from afflint.findings.finding import Finding
    from afflint.pipeline.gathered import Gathered
    from afflint.pipeline.map_step import MapSettings
    from afflint.pipeline.options import Options
    from afflint.pipeline.place_inputs import PlaceInputs
    from afflint.pipeline.run import Outcome

# A cluster with this plugin refuses what this rule, otherwise off, finds.
_HARD_TOPOLOGY_PLUGIN, _HARD_TOPOLOGY_RULE = "LimitPodHardAntiAffinityTopology", "hard-anti-affinity-topology"


class Session:
    """Runs under one configuration. ``buffers`` are the texts of files as an editor holds them, by path: they stand for what is on disk.

    All methods may raise UserError for what the configuration or a caller names and that cannot be used.
    """

    def __init__(self, config: Config, buffers: Mapping[str, bytes] | None = None) -> None:
        self.config = config
        self.stdin: Source | None = None
        self._piped: Source | None = None
        """Standard input, once it has been read as a source."""
        self._rendered: frozenset[str] = frozenset()
        self._buffers = buffers if buffers is not None else {}

    # What is read.

    def sources(
        self, paths: Sequence[str], more: Iterable[Source] = (), *, stdin_name: str | None = None, force_exclude: bool = False
    ) -> list[Source]:
        """The files that paths stand for, each once, and ``more``. ``stdin_name``: the file that standard input (``-``) stands in for.

        With ``force_exclude`` the configuration's ``exclude`` holds for files that are named, too, and for what standard input stands for.
        """
        excluded = self._excluded()
        included = configuration.matcher(self.config.include) if self.config.include else None
        found = discover(paths, excluded or _nothing, (lambda path: included(self._relative(path))) if included else None)
        chosen: list[Source] = []
        for source in found:
            # Read also if it does not count then: whoever writes it can end in peace.
            each = source
            if source.path == STDIN:
                each = self.stdin = standard_input(stdin_name)
            if each.path == STDIN or not (force_exclude and excluded and excluded(os.path.abspath(each.path))):
                chosen.append(each)
        besides = [*more]
        if not (besides or self._buffers or STDIN in paths):
            return chosen  # Discovery gives each once already.
        return self._buffered([*chosen, *besides])

    def excludes(self, path: str) -> bool:
        """Whether the configuration excludes a file at this absolute path, there or not."""
        excluded = self._excluded()
        return excluded is not None and excluded(path)

    def covers(self, path: str) -> bool:
        """Whether a file at this absolute path, there or not, is one that the configuration wants checked where its folder is."""
        if self.config.include:
            wanted = configuration.matcher(self.config.include)(self._relative(path))
        else:
            wanted = path.lower().endswith(SUFFIXES)
        return wanted and not self.excludes(path)

    def context(self) -> list[Source]:
        """The files that the configuration names as context: rules across manifests may look at them."""
        if not self.config.context:
            return []
        wanted = configuration.matcher(self.config.context)
        found = discover((self.config.root,), included=lambda path: wanted(self._relative(path)))
        return self._buffered(Source(relative(each.path), each.path) for each in found)

    def node_files(self) -> list[Source]:
        """The files of nodes that the command line or the configuration names; only the command line may name a pipe."""
        if self.config.nodes == (configuration.NO_NODES,):
            return []
        asked = self.config.origins["nodes"] == configuration.COMMAND_LINE
        if self.config.nodes and self.config.repository is not None:
            from afflint.config.trust import check_readable

            check_readable(self.config, "nodes", self.config.nodes)
        missing = next((path for path in self.config.nodes if not (asked or os.path.lexists(path))), None)
        if missing is not None:
            raise UserError(f"{self.config.origins['nodes']}: `nodes`: the file `{missing}` does not exist")
        return self._buffered(self._named(path) if asked else Source(os.path.normpath(path), path) for path in self.config.nodes)

    def _named(self, path: str) -> Source:
        """The file of a name on the command line, or standard input. Raises UserError where that is named twice."""
        if path != STDIN:
            return named(path)
        if self.stdin is not None or self._piped is not None:
            raise UserError("standard input (`-`) can be named only once")
        self._piped = standard_input()
        return self._piped

    def rendered(self, kustomizations: Sequence[str], charts: Sequence[str], values: Sequence[str] = ()) -> list[Source]:
        """What kustomize and helm make of folders and charts. Raises RenderError."""
        from afflint.rendering.programs import helm, kustomize

        made = [kustomize(folder) for folder in kustomizations] + [helm(chart, values) for chart in charts]
        self._rendered = frozenset(source.path for source in made)
        return made

    def with_renders(self, sources: Sequence[Source], options: Options, *, network: bool) -> tuple[Sequence[Source], Options]:
        """Sources and options with what kustomizations and charts among them render to, where the configuration names tools for that."""
        if not self.config.render:
            return sources, options
        from afflint.config.trust import renderers

        tools = renderers(self.config)
        if not tools:
            return sources, options
        from afflint.pipeline.rendered import RenderedRun
        from afflint.rendering.builds import RenderOptions

        wanted = RenderOptions(tools, network, options.jobs, self.config.kubernetes_version)
        renders = RenderedRun(sources, wanted, self._excluded() or _nothing)
        return renders.sources, options._replace(renders=renders)

    def _buffered(self, sources: Iterable[Source]) -> list[Source]:
        """The sources, each once; an editor's buffer takes the place of the file that it stands for."""
        found = each_once(sources)
        for identity, buffer in each_once(Source(path, path, data) for path, data in self._buffers.items()).items():
            if identity in found:
                found[identity] = found[identity]._replace(data=buffer.data)
        return list(found.values())

    def _excluded(self) -> Callable[[str], bool] | None:
        """Whether the configuration excludes an absolute path; what lies outside its root it says nothing about.

        What afflint itself writes and reads is no manifest: its configuration, a baseline, the reports of this run.
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
        custom = tuple(custom_kind(each.api_version, each.kind, each.template) for each in config.workloads)
        auto_nodes = config.nodes != (configuration.NO_NODES,)
        settings = MapSettings(
            bind_rules(selected, config.severity), target, custom, auto_nodes=auto_nodes, host_key=config.physical_host_key
        )
        return self._with_policies(settings) if config.policies else settings

    def _with_policies(self, settings: MapSettings) -> MapSettings:
        """The settings with the policies of the configuration, of which those that are selected run."""
        from afflint.checks.registry import bound_policies

        config = self.config
        chosen = [each for each in config.policies if configuration.is_selected(each.name, "policy", True, config)]
        names = tuple([each.name for each in config.policies])
        bound = bound_policies(chosen, config.severity)
        return settings._replace(rules=(*settings.rules, *bound), policies=names, root=config.root)

    def check(self, sources: Sequence[Source], options: Options | None = None) -> Outcome:
        """Lint ``sources`` with the context and the nodes that the configuration names."""
        from afflint.pipeline.run import run

        outcome = run(sources, self.settings(), self.options(options), self.context(), self.node_files())
        return outcome._replace(findings=[self._as_rendered(each, outcome) for each in outcome.findings]) if self._rendered else outcome

    def _as_rendered(self, finding: Finding, outcome: Outcome) -> Finding:
        """The finding, without a fix for what another program made: nobody keeps that text."""
        return finding._replace(fix=None) if outcome.sources[finding.source].path in self._rendered else finding

    def gathered(self, sources: Sequence[Source], options: Options | None = None) -> Gathered:
        """The same run with what it knows, for whoever asks more of it than for a report."""
        from afflint.pipeline.files import Files
        from afflint.pipeline.run import gathered

        return gathered(Files(sources, self.context(), self.node_files()), self.settings(), self.options(options))

    def options(self, options: Options | None = None) -> Options:
        """How to run, with what the configuration ignores in files."""
        from afflint.pipeline.options import Options

        options = options or Options()
        mandatory = frozenset(policy.name for policy in self.config.policies if policy.mandatory)
        if mandatory:
            options = options._replace(mandatory=mandatory)
        if self.config.per_file_ignores:
            ignores = configuration.ignores(self.config)
            options = options._replace(ignored_in=lambda path: ignores(self._relative(path)))
        return options

    def simulation_input(
        self,
        sources: Sequence[Source],
        pods: Sequence[str] = (),
        *,
        resources: bool = False,
        only_running: bool = False,
        replan: bool = False,
        counts: Mapping[str, int] | None = None,
    ) -> PlaceInputs:
        """What a plan is made from: the workloads and nodes in ``sources``, the nodes of the configuration, the running ``pods``.

        ``counts`` are the nodes of pools by their names.
        """
        from afflint.pipeline.place_inputs import read_place_inputs

        running = self._buffered(self._named(path) for path in pods)
        given = sources, self.node_files(), running, self.settings()
        return read_place_inputs(
            *given, self.context(), self.options(), resources=resources, only_running=only_running, replan=replan, counts=counts or {}
        )


def _nothing(_path: str) -> bool:
    return False
