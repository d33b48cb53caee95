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
    """Number of this process: PADDLE_TRAINER_ID, else 0; in `group` if one is given, -1 if it is no
    member."""
    rank = number_of("PADDLE_TRAINER_ID", 0)
    return rank if group is None else group.get_group_rank(rank)


def get_world_size(group=None):
    """Number of processes: PADDLE_TRAINERS_NUM, else 1; of the members of `group` if one is given."""
    return number_of("PADDLE_TRAINERS_NUM", 1) if group is None else group.world_size
