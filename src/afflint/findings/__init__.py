"""Findings, edits and the values and phrases that every other package uses."""
