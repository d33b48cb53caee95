"""Measures the links between hosts, and writes their model into a file that ARGOSY_COMM_LINKS names.

    argosy launch --nnodes 2 --master HOST:PORT -m argosy.distributed.measure_links /shared/links
    ARGOSY_COMM_LINKS=/shared/links argosy launch ..

Where nothing is said a model of usual links is taken (docs/distributed.md). A job does not measure by itself:
what it finds in one moment would change how sums round from one run to the next.
"""

from __future__ import annotations

import statistics
import sys
import time

from argosy import _core, tensor

from ._groups import Group, new_group
from .communication.collectives import all_reduce, barrier
from .parallel import get_rank, get_world_size, init_parallel_env

__all__ = []

_LARGE = 16 << 20  # elements
_REPEATS, _ROUNDS = 200, 7


def _seconds(clock, group, values, repeats):
    """Of an all_reduce, by a clock of this process."""
    barrier(group)
    begin = clock()
    for _ in range(repeats):
        all_reduce(values, group=group)
    return (clock() - begin) / repeats


def measure(group: Group) -> str:
    """The model of the link between the two processes of a group, as ARGOSY_COMM_LINKS takes it. Both call
    it.

    Raises:
        ValueError: The group has another number of processes, or they share memory.
    """
    if group.nranks != 2 or _core.comm_info(group.process_group)[3] != "tcp":
        raise ValueError(
            f"[measure_links] expected two processes that a network joins, got {group.nranks}"
            f" {'that share memory' if group.nranks > 1 else 'alone'}. Do this: start one process on each of"
            " two hosts, by argosy launch --nnodes 2."
        )

    def measured(clock, values, repeats):
        return statistics.median(_seconds(clock, group, values, repeats) for _ in range(_ROUNDS))

    small, large = tensor.zeros([1]), tensor.zeros([_LARGE])
    measured(time.perf_counter, small, _REPEATS)
    step = measured(time.perf_counter, small, _REPEATS)
    message = measured(time.process_time, small, _REPEATS) / 2  # one is sent, one received
    gbit = 8e-9 * 4 * _LARGE / measured(time.perf_counter, large, 1)
    latency = max(step - 2 * message, 1e-7)
    return f"{latency * 1e6:.1f}us,{max(message, 1e-7) * 1e6:.1f}us,{gbit:.3f}gbit"


def main(argv):
    if len(argv) != 1:
        print("expected the name of the file to write", file=sys.stderr)
        return 2
    init_parallel_env()
    # The first and the last process are on two hosts if any are.
    group = new_group(sorted({0, get_world_size() - 1}))
    if not group.is_member():
        return 0
    found = measure(group)
    if get_rank() == 0:
        with open(argv[0], "w") as file:
            file.write(found + "\n")
        print(found)
    barrier(group)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
