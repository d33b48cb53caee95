"""How long collectives take in this job."""

from __future__ import annotations

import logging
import time

from argosy._support import check_choice

_logger = logging.getLogger("argosy.fleet")


def _timed(name, call, iteration, perf_size, limit):
    from argosy import distributed

    distributed.barrier()
    begin = time.perf_counter()
    for _ in range(iteration):
        call()
    seconds = (time.perf_counter() - begin) / iteration
    _logger.info("%s of %s bytes: %s s", name, perf_size, seconds)
    if limit > -1 and seconds > limit:
        _logger.warning("%s took %s s, more than %s s", name, seconds, limit)


def _alone(name, group):
    if group is None or group.nranks <= 1:
        _logger.warning("%s is not measured: the group has no other process", name)
        return True
    return False


class Performance:
    """The part of Fleet that measures. All processes of a group call each method."""

    def allreduce_perf(self, iteration, x, group, perf_size, perf_threshold_time, warmup=False):
        """Measures all_reduce, and logs how long one takes.

        Args:
            iteration (int): how many are made.
            x (Tensor): the operand.
            group (Group): its processes; nothing is measured in one of a single process.
            perf_size (int): how many bytes x has, for the log.
            perf_threshold_time (float): seconds above which a warning is logged; -1 for none.
            warmup (bool): whether nothing is logged.
        """
        from argosy import distributed

        if _alone("all_reduce", group):
            return
        if warmup:
            for _ in range(iteration):
                distributed.all_reduce(x, group=group)
            return
        _timed(
            "all_reduce", lambda: distributed.all_reduce(x, group=group), iteration, perf_size,
            perf_threshold_time,
        )  # fmt: skip

    def reduce_perf(self, iteration, x, group, perf_size, perf_threshold_time):
        """Measures reduce to the first process of a group, and logs how long one takes.

        Args:
            iteration, x, group, perf_size, perf_threshold_time: as of allreduce_perf.
        """
        from argosy import distributed

        if not _alone("reduce", group):
            _timed(
                "reduce", lambda: distributed.reduce(x, dst=min(group.ranks), group=group), iteration,
                perf_size, perf_threshold_time,
            )  # fmt: skip

    def broadcast_perf(self, iteration, x, group, perf_size, perf_threshold_time):
        """Measures broadcast from the first process of a group, and logs how long one takes.

        Args:
            iteration, x, group, perf_size, perf_threshold_time: as of allreduce_perf.
        """
        from argosy import distributed

        if not _alone("broadcast", group):
            _timed(
                "broadcast", lambda: distributed.broadcast(x, src=min(group.ranks), group=group),
                iteration, perf_size, perf_threshold_time,
            )  # fmt: skip

    def allgather_perf(self, iteration, x, group, perf_size, perf_threshold_time):
        """Measures all_gather, and logs how long one takes.

        Args:
            iteration, x, group, perf_size, perf_threshold_time: as of allreduce_perf.
        """
        from argosy import distributed

        if not _alone("all_gather", group):
            _timed(
                "all_gather", lambda: distributed.all_gather([], x, group=group), iteration, perf_size,
                perf_threshold_time,
            )  # fmt: skip

    def reduce_scatter_perf(self, iteration, x, group, perf_size, perf_threshold_time):
        """Measures reduce_scatter, and logs how long one takes.

        Args:
            iteration, x, group, perf_size, perf_threshold_time: as of allreduce_perf; each process gets as
                many rows of x.
        """
        from argosy import distributed, tensor

        if _alone("reduce_scatter", group):
            return
        rows, left = divmod(x.shape[0], group.nranks)
        if left:
            _logger.warning(
                "reduce_scatter is not measured: %s processes cannot get as many of %s rows", group.nranks,
                x.shape[0],
            )  # fmt: skip
            return
        out = tensor.empty([rows, *x.shape[1:]], x.dtype)
        _timed(
            "reduce_scatter", lambda: distributed.reduce_scatter(out, x, group=group), iteration,
            perf_size, perf_threshold_time,
        )  # fmt: skip

    def collective_perf(self, comm_type, round=50, size_and_time={}):
        """Measures a collective of all processes with several sizes, and logs how long one takes.

        Args:
            comm_type (str): 'allreduce', 'broadcast', 'reduce', 'allgather' or 'reduce_scatter'.
            round (int): how many are made of each size.
            size_and_time (dict[int, float]): by number of bytes the seconds above which a warning is
                logged, -1 for none; 1 MB to 1 GB in steps of 2 by default.

        Raises:
            ValueError: Another comm_type.
        """
        from argosy import tensor

        kinds = ("allreduce", "broadcast", "reduce", "allgather", "reduce_scatter")
        check_choice("fleet.collective_perf", "comm_type", comm_type, kinds)
        if not self._is_collective:
            _logger.warning("collective_perf measures nothing: the job is not collective")
            return
        group = self.get_hybrid_communicate_group().get_data_parallel_group()
        if _alone(comm_type, group):
            return
        measure = getattr(self, f"{comm_type}_perf")
        for size, limit in (size_and_time or {1 << 20 + i: -1 for i in range(11)}).items():
            x = tensor.zeros([max(size // 4, 1)])
            measure(round, x, group, size, limit)
