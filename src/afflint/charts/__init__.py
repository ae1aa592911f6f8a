"""Helm charts: which of their values are constraints, which releases set them, and the labels of their pods."""
