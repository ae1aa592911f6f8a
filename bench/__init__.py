"""Benchmarks of afflint: speed, growth with the number of files, comparison with other linters (``python -m bench --help``)."""
