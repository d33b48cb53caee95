"""A barrier for processes that say themselves who they are."""

from __future__ import annotations

from argosy import _core

from . import _groups

__all__ = ["gloo_barrier", "gloo_init_parallel_env", "gloo_release"]

_connection = None


def gloo_init_parallel_env(rank_id, rank_num, server_endpoint):
    """Connects processes of one host for gloo_barrier, beside init_parallel_env.

    Args:
        rank_id (int): The number of this process.
        rank_num (int): How many there are.
        server_endpoint (str): Where they meet: a text that is the same for all of them and no others.

    Raises:
        ValueError: There is no such number among so many.
        RuntimeError: They are connected already.

    Example:
        >>> import argosy.distributed as dist
        >>> dist.gloo_init_parallel_env(0, 1, "127.0.0.1:8080")
        >>> dist.gloo_barrier()
        >>> dist.gloo_release()
    """
    global _connection
    if rank_num < 1 or rank_id not in range(rank_num):
        raise ValueError(
            f"[gloo_init_parallel_env] rank_id: expected a number below rank_num, got {rank_id} of {rank_num}."
        )
    if _connection is not None:
        raise RuntimeError(
            "[gloo_init_parallel_env] the processes are connected already. Do this: gloo_release()."
        )
    _connection = _groups.connect_at(f"gloo {server_endpoint}", rank_id, rank_num)


def gloo_barrier():
    """Waits until all processes that gloo_init_parallel_env connected have come here.

    Raises:
        RuntimeError: They are not connected.

    Example:
        >>> import argosy.distributed as dist
        >>> dist.gloo_init_parallel_env(0, 1, "127.0.0.1:8080")
        >>> dist.gloo_barrier()
        >>> dist.gloo_release()
    """
    if _connection is None:
        raise RuntimeError(
            "[gloo_barrier] the processes are not connected. Do this: gloo_init_parallel_env(..)."
        )
    _core.comm_call(_connection, "barrier", [], [], 0, -1, False)


def gloo_release():
    """Ends the connection of gloo_init_parallel_env, if there is one.

    Example:
        >>> argosy.distributed.gloo_release()
    """
    global _connection
    if _connection is not None:
        _core.comm_close(_connection)
        _connection = None
