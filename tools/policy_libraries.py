"""Compare afflint with the tests of two public policy libraries, and write the table in docs/exactness.md.

    python tools/policy_libraries.py KYVERNO GATEKEEPER            # print the table
    python tools/policy_libraries.py KYVERNO GATEKEEPER --write    # and write it
    python tools/policy_libraries.py KYVERNO GATEKEEPER --verbose  # and print each verdict that differs

KYVERNO and GATEKEEPER are checkouts of github.com/kyverno/policies and github.com/open-policy-agent/gatekeeper-library. Each has tests that
say which objects its policies reject. Only policies in CEL are counted.
"""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.foreign_tests import FAIL, PASS, ForeignVerdict, files_with_tests, verdicts_in

PAGE = Path(__file__).parents[1] / "docs" / "exactness.md"
BEGIN, END = "<!-- begin policy libraries -->\n", "<!-- end policy libraries -->\n"
_NOT_IN_CEL = ("is in Rego", "contain no policy", "afflint evaluates only")


class Library(NamedTuple):
    """A part of a library, with the verdicts on its policies in CEL."""

    title: str
    verdicts: tuple[ForeignVerdict, ...]

    def row(self) -> str:
        """Return the row of the table."""
        counted = Counter("same" if each.is_same else each.given for each in self.verdicts)
        files = len({each.file for each in self.verdicts})
        missed = sum(each.given == PASS and not each.is_same for each in self.verdicts)
        false = sum(each.given == FAIL and not each.is_same for each in self.verdicts)
        total = len(self.verdicts)
        share = f"{counted['same'] / total:.1%}".replace("%", " %")
        return f"| {self.title} | {files} | {total:,} | {counted['same']:,} ({share}) | {missed} | {false} | {counted['unknown']} |"


def verdicts_of(folders: Sequence[Path]) -> Iterator[ForeignVerdict]:
    """Yield the verdicts on policies in CEL in some folders."""
    for path in files_with_tests(map(str, folders)):
        for verdict in verdicts_in(path, lambda _: True):
            if not any(each in verdict.reason for each in _NOT_IN_CEL):
                yield verdict


def libraries(kyverno: Path, gatekeeper: Path) -> list[Library]:
    """Return the verdicts on the parts of both libraries."""
    return [
        Library("Kyverno, `ValidatingPolicy`", tuple(verdicts_of(sorted(kyverno.glob("*-vpol"))))),
        Library("Kyverno, ClusterPolicy with `validate.cel`", tuple(verdicts_of(sorted(kyverno.glob("*-cel"))))),
        Library("Gatekeeper, `K8sNativeValidation`", tuple(verdicts_of([gatekeeper / "library"]))),
    ]


def table(kyverno: Path, gatekeeper: Path, parts: Sequence[Library]) -> str:
    """Return the table, with the reasons for what differs and the commits of the libraries."""
    lines = [
        "| library | tests | expected verdicts | same | missed violations | false alarms | not evaluated |",
        "|---|---|---|---|---|---|---|",
        *(each.row() for each in (*parts, Library("all", tuple(one for each in parts for one in each.verdicts)))),
        "",
        f"The libraries are github.com/kyverno/policies at {_commit(kyverno)}, and",
        f"github.com/open-policy-agent/gatekeeper-library at {_commit(gatekeeper)}. What is not evaluated:",
        "",
    ]
    reasons = Counter(each.reason for part in parts for each in part.verdicts if not each.is_same)
    lines += [f"- {count} verdicts: {reason}." for reason, count in reasons.most_common()]
    return "\n".join(lines) + "\n"


def _commit(folder: Path) -> str:
    shown = subprocess.run(["git", "log", "-1", "--format=%h of %cs"], cwd=folder, capture_output=True, text=True, check=True)
    return shown.stdout.strip()


def main() -> None:
    """Run the comparison."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kyverno", type=Path)
    parser.add_argument("gatekeeper", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    parts = libraries(args.kyverno, args.gatekeeper)
    if args.verbose:
        for each in (one for part in parts for one in part.verdicts if not one.is_same):
            print(f"{each.file}:{each.line}: {each.policy}, {each.subject}: {each.expected}, got {each.given}: {each.reason}")
    text = table(args.kyverno, args.gatekeeper, parts)
    print(text)
    if args.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
