"""Which rules run, and which paths a list of globs matches."""

from collections.abc import Callable, Iterable, Sequence

from afflint.config.settings import ALL, Config
from afflint.findings.phrases import did_you_mean, nearest, quoted


def is_selected(name: str, category: str, on_by_default: bool, config: Config) -> bool:
    """Whether a rule runs.

    The name of a rule takes precedence over its category, and its category over ``all``; at equal rank ``ignore`` takes precedence.
    """
    ranked = (ALL, category, name)

    def rank(names: Iterable[str]) -> int:
        return max((ranked.index(word) + 1 for word in names if word in ranked), default=0)

    wanted = rank((*(config.select or ()), *config.extend_select))
    unwanted = rank(config.ignore)
    if wanted == unwanted == 0:
        return on_by_default and config.select is None
    return wanted > unwanted


def selected(rules: Iterable[tuple[str, str, bool]], config: Config) -> frozenset[str]:
    """Return the names of the rules that run, of rules given as (name, category, on by default)."""
    return frozenset(name for name, category, on in rules if is_selected(name, category, on, config))


def covers(names: frozenset[str], name: str, category: str) -> bool:
    """Whether ``names`` (of rules, categories, or ``all``) include this rule."""
    return name in names or category in names or ALL in names


def ignores(config: Config) -> Callable[[str], frozenset[str]]:
    """Return the function from a path relative to ``config.root`` to the names that ``per-file-ignores`` has for it (see ``covers``)."""
    entries = [(matcher((glob,)), names) for glob, names in config.per_file_ignores.items()]

    def names_for(path: str) -> frozenset[str]:
        return frozenset(name for matches, names in entries if matches(path) for name in names)

    return names_for


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tests a path against ``patterns``, as in a ``.gitignore``: ``!`` negates, and the last match counts.

    Paths are relative to the root with forward slashes; a directory's ends with one. A leading ``#`` does not begin a comment: lists in
    a configuration have comments of their own.
    """
    if not patterns:
        return lambda _: False
    from afflint.source.globs import Patterns, pattern

    return Patterns(map(pattern, patterns)).covers


def unknown_name(name: str, rule_names: Iterable[str], categories: Iterable[str]) -> str | None:
    """Return what is wrong with ``name`` as the name of a rule, a category or ``all``; None if it is one."""
    known = (*rule_names, *categories, ALL)
    return None if name in known else f"unknown rule or category {quoted(name)}{did_you_mean(nearest(name, known))}"
