"""Reads YAML to plain data with positions, and converts edits of the data to edits of the text."""
