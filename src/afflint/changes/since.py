"""The findings of the work tree that a commit does not have, for ``afflint check --since``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from afflint.changes.states import finding_changes, opened
from afflint.findings.errors import UserError

if TYPE_CHECKING:
    from afflint.changes.configurations import Load
    from afflint.changes.git import Range, Repository
    from afflint.findings.finding import Finding, Severity
    from afflint.pipeline.options import Options
    from afflint.pipeline.run import Outcome
    from afflint.pipeline.session import Session


def outcome_since(
    session: Session,
    ref: str,
    paths: Sequence[str],
    options: Options,
    config_file: str | None,
    *,
    load: Load | None = None,
    network: bool = False,
    offline: bool = False,
    force_exclude: bool = False,
) -> tuple[Outcome, Sequence[str]]:
    """Return the outcome of the work tree with only the findings that the commit does not have, and notes on what is not compared.

    The commit is the one where the work tree has branched off from ``ref``. The other findings count as suppressed, as those of a
    baseline do. ``load`` loads the configuration of the commit. Raises UserError.
    """
    if ".." in ref and not ref.endswith("..."):
        raise UserError(f"--since takes one ref, not {ref!r}; `afflint diff` compares two commits")

    def asked(repository: Repository) -> Range:
        return repository.range_of(ref)

    with opened(session, asked, paths, (config_file,), load=load, force_exclude=force_exclude) as states:
        mapper = states.mapper(options, placing=False)
        shared = options._replace(mapper=mapper, reader=mapper.reader)
        states = states.rendered(shared, network=network, offline=offline)
        outcome, changes = finding_changes(states, shared, mapper, judge_fixed=False)
    summary = outcome.summary._replace(
        errors=_number(changes.new, "error"),
        warnings=_number(changes.new, "warning"),
        info=_number(changes.new, "info"),
        suppressed=outcome.summary.suppressed + len(outcome.findings) - len(changes.new),
    )
    return outcome._replace(findings=changes.new, summary=summary), states.notes


def _number(findings: Sequence[Finding], severity: Severity) -> int:
    return sum(each.severity == severity for each in findings)
