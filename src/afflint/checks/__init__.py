"""The checks behind the rules: one module per group. A check yields where and what; the engine adds rule, severity and file."""
