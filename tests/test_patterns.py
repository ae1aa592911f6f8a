"""Regular expressions of a repository are matched if that takes few steps, and named if not."""

import pytest

from afflint.findings.patterns import PatternError, matches_all


@pytest.mark.parametrize(
    ("pattern", "text", "is_whole"),
    [
        ("web", "my web", False),
        ("web.*", "web-1", True),
        (r"(web|api)-\d+", "api-22", True),
        ("(?i)WEB", "web", True),
        (r"[)*+]?x\)", "x)", True),
        ("(?P<name>a)b?", "ab", True),
        ("^a{2,3}$", "aaa", True),
        (".*must have.*label.*", "it must have the label team", True),
        ("b", "a" * 100_000, False),
    ],
)
def test_simple_patterns_are_matched(pattern: str, text: str, is_whole: bool) -> None:
    assert matches_all(pattern, text) == is_whole


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$", "(a|a)*$", "(a|aa)+$", "(a*)*b", r"(a)\1*b", "(?=a*)*b", "(?x)(a+) +b", "(?x)(a+ # )\n)+b", "(?P<x>a+)(?P=x)b",
        "a*" * 10 + "b", "a?" * 40 + "a" * 40, "(a|b)" * 30, "(?:a{1,9}){1,9}b", "(?>a+)+b", "(?(1)a|b)", "a" * 1_001, "[[]a+](b+)+",
    ],
)  # fmt: skip
def test_patterns_that_may_take_long_are_not_matched(pattern: str) -> None:
    with pytest.raises(PatternError, match="may take long"):
        matches_all(pattern, "a" * 200)


@pytest.mark.parametrize(
    "pattern", ["(", "[", "a**", "*", "a{3,2}", r"\q", "(?i", "(?P<1>a)", "(?P<a>b)(?P<a>c)", "a{99999999999999999999}"]
)
def test_invalid_patterns_are_named(pattern: str) -> None:
    with pytest.raises(PatternError, match="invalid"):
        matches_all(pattern, "a")
