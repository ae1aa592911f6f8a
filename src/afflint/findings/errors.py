"""The base class of all errors in the input of the user, so that the commands can handle them alike."""


class UserError(Exception):
    """A path, an option, a configuration or another file of the user that cannot be used; the message is for the user."""


class UnknownNameError(UserError):
    """A value of an option that names nothing in the input. ``value`` is what the user wrote, as far as it is known."""

    def __init__(self, message: str, value: str = "") -> None:
        super().__init__(message)
        self.value = value
