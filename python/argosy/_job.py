"""What the launcher's environment says of this process."""

import os


def number_of(name, default):
    """The integer in an environment variable, `default` if it is empty or not there."""
    text = os.environ.get(name, "")
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"[distributed] the environment variable {name} must be an integer, got {text!r}."
        ) from None


def get_rank(group=None):
    """The number of this process, which the launcher sets as PADDLE_TRAINER_ID.

    Args:
        group (Group, optional): Among whose members it is counted.

    Returns:
        int: 0 without a launcher; -1 if the process is no member of the group.

    Example:
        >>> argosy.distributed.get_rank()
        0
    """
    rank = number_of("PADDLE_TRAINER_ID", 0)
    return rank if group is None else group.get_group_rank(rank)


def get_world_size(group=None):
    """How many processes there are, which the launcher sets as PADDLE_TRAINERS_NUM.

    Args:
        group (Group, optional): Whose members are counted.

    Returns:
        int: 1 without a launcher.

    Example:
        >>> argosy.distributed.get_world_size()
        1
    """
    return number_of("PADDLE_TRAINERS_NUM", 1) if group is None else group.world_size
