"""``afflint report``: where all workloads stand with the policies, met or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from afflint.cli import check as checking
from afflint.cli import options
from afflint.cli.command import Argument, Command, option
from afflint.cli.output import ProgressLine, write_or_show
from afflint.findings.errors import UserError

if TYPE_CHECKING:
    from afflint.report.compliance import Compliance

_FORMATS = ("text", "json", "html")


def report(paths: tuple[str, ...], **given: Any) -> int:
    """Where all workloads stand with the policies: each policy, who meets it and who does not, and since when.

    PATHS are manifests: files, folders, globs. Default: the current folder. Since when is what the baseline of the configuration says. By
    namespace, and by the label that names owners. The exit code is 0 whatever it says: `afflint check` is what fails.
    """
    from afflint.pipeline.compliance import compliance
    from afflint.pipeline.session import Session

    options.one_of("--format", given["form"], _FORMATS)
    config = options.configuration({**given, "formats": (), "outputs": ()})
    if not config.policies:
        raise UserError('no policies: `policies` in the configuration has them, or `extends: ["afflint:strict"]` and the like')
    session = Session(config)
    sources = session.sources(paths or (".",))
    checking.note_unused_render(config)
    with ProgressLine(len(sources)) as progress:
        run = checking.run_options(config, {"no_ignore": False, "write_baseline": False, **given}, progress)
        found = compliance(session, *session.with_renders(sources, run, network=given["render_network"]), given["owner"])
    write_or_show(given["output"], _chunks(found, given))
    return 0


def _chunks(found: Compliance, given: dict[str, Any]) -> Iterator[str]:
    form = given["form"]
    if form == "json":
        from afflint.report.policies import json_report

        return json_report.render(found)
    if form == "html":
        from afflint.cli.page_metadata import page_metadata
        from afflint.report.policies import page

        return page.render(found._replace(made=page_metadata()))
    from afflint.report.policies import text

    return text.render(found, verbose=given["verbose"])


_OF_CHECK = {each.name: each for each in checking.COMMAND.options}
_SECTIONS = {
    "What is read": [_OF_CHECK[name] for name in ("nodes", "render", "render_network")],
    "What is asked": [*(_OF_CHECK[name] for name in ("select", "ignore", "kubernetes_version")), *options.configured],
    "What is reported": (
        option("--owner", metavar="KEY", about="The label that names owners. Default: of owner, team and the like the most frequent."),
        options.form(_FORMATS),
        option("--output", metavar="FILE", completes=options.file, about="Where the report goes. Default: standard output."),
        *(_OF_CHECK[name] for name in ("baseline", "verbose")),
    ),
    "How it runs": [_OF_CHECK[name] for name in ("jobs", "no_cache", "cache_dir")],
}
COMMAND = Command(report, _SECTIONS, Argument("paths", "[PATHS]...", options.file), "Where all workloads stand with the policies.")
