"""How much fleet says."""

from __future__ import annotations

import logging

from argosy._support import WrongTypeError

__all__ = []

logger = logging.getLogger("argosy.fleet")


def set_log_level(level):
    """Sets from which level on fleet's messages are logged.

    Args:
        level (str | int): a name such as 'INFO', of any case, or a number of the module logging.

    Raises:
        AssertionError: it is neither.
        ValueError: there is no such name.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> fleet.set_log_level("warning")
        >>> fleet.get_log_level_code(), fleet.get_log_level_name()
        (30, 'WARNING')
    """
    if not isinstance(level, (str, int)):
        raise WrongTypeError(
            f"[fleet.set_log_level] level: expected a str or an int, got {type(level).__name__}. Do this: pass"
            " a name such as 'INFO'."
        )
    logger.setLevel(level.upper() if isinstance(level, str) else level)


def get_log_level_code():
    """From which level on fleet's messages are logged.

    Returns:
        int: a number of the module logging.

    Example:
        >>> argosy.distributed.fleet.set_log_level(10)
        >>> argosy.distributed.fleet.get_log_level_code()
        10
    """
    return logger.getEffectiveLevel()


def get_log_level_name():
    """The name of get_log_level_code.

    Returns:
        str: such as 'INFO'.

    Example:
        >>> argosy.distributed.fleet.set_log_level(20)
        >>> argosy.distributed.fleet.get_log_level_name()
        'INFO'
    """
    return logging.getLevelName(get_log_level_code())
