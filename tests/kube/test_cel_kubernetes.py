"""Functions of CEL give what cel-go and Kubernetes give: recorded from the API server's own environment (1.37)."""

import pytest

from afflint.admission.cel import EvaluationInput, compiled
from extras import needs_cel

pytestmark = needs_cel


@pytest.mark.parametrize(
    "text, result",
    [
        ("'%f %e'.format([1234.5, 1234.5])", "1,234.500000 1.234500×10⁰³"),
        ("'%s'.format([['a', 'b']])", '["a", "b"]'),
        ("'%s'.format([{'b': 1, 'a': [1.5]}])", '{"a":[1.500000], "b":1}'),
        ("'%s %s'.format([duration('90s'), timestamp('2024-01-02T03:04:05.100Z')])", "90s 2024-01-02T03:04:05.1Z"),
        ("'%s %s'.format([b'abc', type(1)])", "abc int"),
        ("string(timestamp('2024-01-02T03:04:05.100Z'))", "2024-01-02T03:04:05.1Z"),
        ("string(123456789.0)", "1.23456789e+08"),
        ("[duration('1h'), duration('2h')].max() == duration('2h')", True),
        ("[duration('1h'), duration('30m')].sum() == duration('90m')", True),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}", True),
        ("['a'].transformMapEntry(i, v, {v: i}) == {'a': 0}", True),
        ("lists.range(3).reverse() == [2, 1, 0] && [1, 1].distinct() == [1] && [[1], [2]].flatten() == [1, 2]", True),
        ("[3, 1].sort() == [1, 3] && [1, 2, 3].slice(1, 2) == [2] && [1].first().value() == 1 && [1, 2].includes(2)", True),
        ("format.dns1123Label().validate('A_').orValue([]).exists(m, m.contains('RFC 1123'))", True),
        ("format.qualifiedName().validate('a/b/c').value().size()", 1),
        ("format.named('unknown').hasValue()", False),
        ("quantity('1000m').isInteger() || quantity('9999999999999999999').isInteger() || quantity('1.5Ki').isInteger()", False),
        ("quantity('0.5k').asInteger()", 500),
        ("quantity('1') == quantity('1000m')", True),
        ("url('http://h/?q=1#f').getQuery() == {'q': ['1']} && url('http://h/?a;b').getQuery().size() == 0", True),
        ("url('//h/p').getHost() == 'h' && !isURL('http://h%zz/')", True),
        ("'abc'.indexOf('c', 5)", -1),
    ],
)
def test_results(text: str, result: object) -> None:
    assert compiled(text).evaluate(EvaluationInput({"object": {}})) == result
