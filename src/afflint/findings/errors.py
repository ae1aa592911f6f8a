"""The base class of all errors in the input of the user, so that the commands can handle them alike."""


class UserError(Exception):
    """A path, an option, a configuration or another file of the user that cannot be used; the message is for the user."""
