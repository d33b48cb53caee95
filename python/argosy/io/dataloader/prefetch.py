"""Batches that travel to a device while the ones before them are worked on."""

import collections

from argosy import _core
from argosy._support import is_operand
from argosy.device import device_guard
from argosy.device.streams import Stream, current_stream, stream_guard

from .dataloader_iter import _DataLoaderIterBase, _to_tensors

__all__ = []


class Prefetcher(_DataLoaderIterBase):
    """The batches of another iterator on a device.

    They are copied out of pinned memory on a stream of their own. The stream that is current where a
    batch is taken waits for its copy; the host does not.

    Args:
        batches (iterator): Of batches, whose arrays may be arrays still.
        place (Place): Of the device.
        ahead (int): Batches that are under way at most, the one taken included.
    """

    def __init__(self, batches, place, ahead):
        self._batches, self._place, self._ahead = batches, place, ahead
        self._stream = Stream(place)
        self._under_way = collections.deque()
        self._failure = None  # of a batch whose turn has not come

    def __next__(self):
        while len(self._under_way) < self._ahead and self._batches is not None:
            self._send_one()
        if not self._under_way:
            failure, self._failure = self._failure, None
            raise failure or StopIteration
        batch, sent, there = self._under_way.popleft()
        stream = current_stream(self._place)
        stream.wait_event(there)
        for tensor in sent:
            if tensor.size:
                tensor.record_stream(stream)
        return batch

    def _send_one(self):
        try:
            batch = next(self._batches)
        except Exception as failure:
            self._batches = None
            self._failure = None if isinstance(failure, StopIteration) else failure
            return
        sent = []
        with device_guard("cpu"):  # arrays become tensors of the host, which are pinned next
            batch = _to_tensors(batch, copy=False)
        with stream_guard(self._stream):
            batch = self._moved(batch, sent)
        self._under_way.append((batch, sent, self._stream.record_event()))

    def _moved(self, batch, sent):
        """The batch with its tensors on the device; appends those that were sent there."""
        if is_operand(batch):
            if batch.place == self._place or batch.place._kind == "null":
                return batch
            moved = _core.copy_to(batch.pin_memory(), self._place, False)
            moved.stop_gradient = batch.stop_gradient
            sent.append(moved)
            return moved
        if isinstance(batch, dict):
            return {key: self._moved(value, sent) for key, value in batch.items()}
        if isinstance(batch, tuple) and hasattr(batch, "_fields"):
            return type(batch)(*(self._moved(value, sent) for value in batch))
        if isinstance(batch, (list, tuple)):
            return [self._moved(value, sent) for value in batch]
        return batch
