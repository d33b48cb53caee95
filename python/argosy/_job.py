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


def is_on(environ, name):
    """Whether a switch of `environ` is on; the words are those of flags. Raises ValueError for others."""
    text = environ.get(name, "")
    if text.lower() in ("1", "true", "on", "yes"):
        return True
    if text.lower() in ("", "0", "false", "off", "no"):
        return False
    raise ValueError(
        f"[environment] {name}: expected 1 or 0, got {text!r}. Do this: set it to one of them, or unset it."
    )


# Where the number of a process, and that of all, stand: what the launcher sets, then what mpirun,
# srun and Ray Train do. Slurm sets more in batch scripts, which are no step of several tasks.
_RANKS = (
    ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("RANK", "WORLD_SIZE"),  # Ray Train, torchrun
)


def _of_job(which, default):
    # Programs that are started as one set a number alone.
    if any(os.environ.get(name) for name in _RANKS[0]):
        return number_of(_RANKS[0][which], default)
    for names in _RANKS[1:]:
        if names[0] == "RANK" and not os.environ.get("MASTER_ADDR"):
            continue  # words that others use, too
        if all(os.environ.get(name) for name in names):
            return number_of(names[which], default)
    return default


def hosts_of_job():
    """On how many hosts the processes are, as far as the environment says: more than one, or 1."""
    nodes = max(number_of("PADDLE_NNODES", 1), number_of("SLURM_STEP_NUM_NODES", 1))
    of_mpi = number_of("OMPI_COMM_WORLD_SIZE", 1)
    if of_mpi > number_of("OMPI_COMM_WORLD_LOCAL_SIZE", of_mpi):
        nodes = max(nodes, 2)
    if os.environ.get("MASTER_ADDR"):
        of_all = number_of("WORLD_SIZE", 1)
        if of_all > number_of("LOCAL_WORLD_SIZE", of_all):
            nodes = max(nodes, 2)
    return nodes


def get_rank(group=None):
    """The number of this process, which the launcher sets as PADDLE_TRAINER_ID (mpirun and srun have
    names of their own).

    Args:
        group (Group, optional): Among whose members it is counted.

    Returns:
        int: 0 without a launcher; -1 if the process is no member of the group.

    Example:
        >>> argosy.distributed.get_rank()
        0
    """
    rank = _of_job(0, 0)
    return rank if group is None else group.get_group_rank(rank)


def get_world_size(group=None):
    """How many processes there are, which the launcher sets as PADDLE_TRAINERS_NUM (mpirun and srun have
    names of their own).

    Args:
        group (Group, optional): Whose members are counted.

    Returns:
        int: 1 without a launcher.

    Example:
        >>> argosy.distributed.get_world_size()
        1
    """
    return _of_job(1, 1) if group is None else group.world_size
