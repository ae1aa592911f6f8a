"""Policies over a whole run: who meets them (`afflint report`), how that changed, and the tests of `afflint test`."""
