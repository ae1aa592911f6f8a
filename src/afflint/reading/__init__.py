"""Bytes in, plain data with positions out."""
