"""What a change does: two states of a Git repository, the findings that are new or fixed, and the placement that is different."""
