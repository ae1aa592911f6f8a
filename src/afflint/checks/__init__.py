"""The checks behind the rules, one module per group. A check yields positions and messages; the engine adds rule, severity and file."""
