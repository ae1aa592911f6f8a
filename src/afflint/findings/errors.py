"""What the user gave that cannot be used: one base for all such errors, so that whoever runs afflint knows them by one name."""


class UserError(Exception):
    """A path, an option, a configuration or another file of the user's that cannot be used; the message is for the user."""
