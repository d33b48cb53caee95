"""How long to wait for data."""

from argosy import _core

FOR_EVER = 1e9  # seconds, and above


def checked_seconds(what, value):
    """The seconds of a limit as a float. `what` is for messages: "[place] name"."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ValueError(
            f"{what}: expected seconds > 0, got {value!r}. Do this: give a number, or math.inf to"
            " wait for ever."
        )
    return float(value)


def data_timeout():
    """The limit of what is given none: ARGOSY_DATA_TIMEOUT."""
    return checked_seconds(
        "[environment] ARGOSY_DATA_TIMEOUT", _core.get_flag("ARGOSY_DATA_TIMEOUT")
    )


def seconds_or_none(limit):
    """A limit for what takes None for no limit, and no very large numbers."""
    return None if limit >= FOR_EVER else limit
