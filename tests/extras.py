"""What tests need that comes with an extra of the package: without it they skip, and say so."""

from importlib.util import find_spec

import pytest

needs_cel = pytest.mark.skipif(find_spec("cel_expr_python") is None, reason="the extra `cel` is not installed")
