"""YAML bytes in, plain data with positions out; edits of the data back to text."""
