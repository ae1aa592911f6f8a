"""Fixes: edits of findings become new bytes of files, in rounds until nothing is left to fix."""
