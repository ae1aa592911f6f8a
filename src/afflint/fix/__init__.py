"""Fixes: applies the edits of findings to files, in rounds until nothing is left to fix."""
