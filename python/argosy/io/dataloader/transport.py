"""Messages between a loader and its worker processes.

A message is a pickle whose large buffers (arrays, tensors) travel outside of it, in a segment of
anonymous shared memory. The sender writes them there; the receiver maps the segment once and the
arrays point into it, so nothing is copied on its side. A segment goes back to the sender when the last
array in it is gone, and is written again: fresh memory costs far more than the copy.

Since segments have no name (a file descriptor is sent along with the first message in one), no process
that dies, however it dies, can leave one behind; and the size of /dev/shm does not limit them.
"""

import array
import collections
import io
import mmap
import os
import pickle
import socket
import struct
import time
import weakref

from argosy import _core
from argosy._support import dtype_name, is_operand

__all__ = []

# Length of the pickle, number of buffers outside of it, number of the segment that has them (0: they
# follow in the socket), and that segment's size if it is new (its descriptor comes along).
_HEADER = struct.Struct("<QQQQ")
_PLACE = struct.Struct("<QQ")  # offset and size of one buffer in the segment
_ALIGN = 64
# Below this many bytes in all, a segment costs more than a copy through the socket.
_SHARE_FROM = 32 * 1024
_GRAIN = 64 * 1024  # sizes of segments are multiples of this


# Seconds between looks at whether the other side, which stopped in the middle of a message, lives.
_LOOK_SECONDS = 1.0


class Closed(Exception):
    """The other side is gone."""


def pair():
    """Two connected sockets, neither of which waits for ever: see `stalled` of send and receive."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    seconds = struct.pack("ll", int(_LOOK_SECONDS), 0)
    for end in ends:
        # By the system: settimeout costs a call more for each that sends or receives.
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, seconds)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds)
    return ends


def _restore_tensor(values, dtype, stop_gradient):
    tensor = as_tensor(values, copy=False)
    if dtype is not None:
        tensor = _core.ops.view_dtype(tensor, dtype)
    tensor.stop_gradient = stop_gradient
    return tensor


def as_tensor(values, copy):
    """The tensor of a NumPy array; without `copy` it shares the array's memory."""
    return _core.to_tensor(values, None, copy)


class _Pickler(pickle.Pickler):
    def __init__(self, file, buffers):
        super().__init__(file, protocol=5, buffer_callback=buffers.append)

    def reducer_override(self, obj):
        if is_operand(obj):
            values = obj.detach().numpy()
            name = dtype_name(obj.dtype)
            # NumPy has no bfloat16 or float8: their bits travel.
            plain = name == str(values.dtype) and name != "uint16"  # whose arrays mean bfloat16
            return _restore_tensor, (values, None if plain else name, obj.stop_gradient)
        return NotImplemented


def dump(obj):
    """Pickles `obj`; returns the pickle and the list of buffers outside of it."""
    buffers = []
    file = io.BytesIO()
    _Pickler(file, buffers).dump(obj)
    return file.getvalue(), [b.raw() for b in buffers]


class Segments:
    """The sender's segments.

    Args:
        keep (int): How many unused ones to keep; the oldest beyond that are given up.
    """

    def __init__(self, keep):
        self._keep = keep
        self._busy = {}  # number -> mapping
        self._free = {}
        self._count = 0
        self._given_up = []

    def take(self, size):
        """An unused segment of at least `size` bytes: (number, mapping, descriptor if it is new)."""
        fitting = [(len(m), number) for number, m in self._free.items() if len(m) >= size]
        if fitting:
            number = min(fitting)[1]
            memory = self._busy[number] = self._free.pop(number)
            return number, memory, None
        size = -(-size // _GRAIN) * _GRAIN
        fd = os.memfd_create("argosy-batch", os.MFD_CLOEXEC)
        os.ftruncate(fd, size)
        self._count += 1
        memory = self._busy[self._count] = mmap.mmap(fd, size)
        return self._count, memory, fd

    def give_back(self, numbers):
        """The receiver is done with these."""
        for number in numbers:
            self._free[number] = self._busy.pop(number)
        while len(self._free) > self._keep:
            oldest = next(iter(self._free))
            self._free.pop(oldest).close()
            self._given_up.append(oldest)

    def given_up(self):
        """Numbers of segments given up since the last call, for the receiver's ``forget``."""
        numbers, self._given_up = self._given_up, []
        return numbers


class Leases:
    """The receiver's side of a sender's segments: which are mapped, and which are done with."""

    def __init__(self):
        self._maps = {}
        self._watched = {}
        self._done = collections.deque()  # filled on any thread that drops the last array

    def add(self, number, fd, size):
        """Maps a new segment."""
        self._maps[number] = mmap.mmap(fd, size)

    def lease(self, number):
        """A view of a segment; once nothing refers to it any more, the segment is done with."""
        import numpy

        whole = numpy.frombuffer(self._maps[number], "uint8")
        done = self._done
        self._watched[number] = weakref.ref(whole, lambda _: done.append(number))
        return memoryview(whole)

    def done(self):
        """Numbers of segments done with since the last call."""
        numbers = []
        while self._done:
            numbers.append(self._done.popleft())
        for number in numbers:
            del self._watched[number]
        return numbers

    def forget(self, numbers):
        """The sender gave these up."""
        for number in numbers:
            del self._maps[number]


def send(sock, obj, segments=None, stalled=None):
    """Sends `obj`; large buffers through `segments`, if there are any.

    stalled: called with the seconds for which the other side has taken nothing, again and again; raises
    to give up. None: waits as long as the other side has its socket open.
    """
    text, buffers = dump(obj)
    sizes = [b.nbytes for b in buffers]
    if segments is None or sum(sizes) < _SHARE_FROM or not hasattr(os, "memfd_create"):
        head = _HEADER.pack(len(text), len(buffers), 0, 0)
        places = b"".join(_PLACE.pack(0, size) for size in sizes)
        _send_all(sock, [head + places + text, *buffers], stalled)
        return
    places, end = [], 0
    for size in sizes:
        places.append(_PLACE.pack(end, size))
        end += -(-size // _ALIGN) * _ALIGN
    number, memory, fd = segments.take(end)
    try:
        at = 0
        for buffer, size in zip(buffers, sizes):
            memory[at : at + size] = buffer.cast("B") if buffer.format != "B" else buffer
            at += -(-size // _ALIGN) * _ALIGN
        new_size = 0 if fd is None else len(memory)
        head = _HEADER.pack(len(text), len(buffers), number, new_size)
        sent = 0
        if fd is not None:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
            sent = _patiently(sock.sendmsg, stalled, [head], rights)
        _send_all(sock, [head[sent:] + b"".join(places) + text], stalled)
    finally:
        if fd is not None:
            os.close(fd)


def _patiently(call, stalled, *arguments):
    """call(*arguments), which waits, until it is through."""
    begin = time.monotonic()
    while True:
        try:
            return call(*arguments)
        except BlockingIOError:
            if stalled is not None:
                stalled(time.monotonic() - begin)


def _send_all(sock, parts, stalled):
    for part in parts:
        sent, size = 0, len(part)
        while sent < size:
            rest = memoryview(part)[sent:] if sent else part
            try:
                sent += sock.send(rest)
            except BlockingIOError:
                sent += _patiently(sock.send, stalled, rest)


def _receive_exactly(sock, size, stalled):
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        rest = view[at:]
        try:
            count = sock.recv_into(rest)
        except BlockingIOError:
            count = _patiently(sock.recv_into, stalled, rest)
        if count == 0:
            raise Closed
        at += count
    return data


def receive(sock, leases=None, stalled=None):
    """Waits for the next message and returns its object. Raises Closed at the end.

    stalled: as for send, of bytes that do not come.
    """
    room = socket.CMSG_SPACE(struct.calcsize("i"))
    try:
        head, rights, _, _ = _patiently(sock.recvmsg, stalled, _HEADER.size, room)
    except TimeoutError:
        raise  # of stalled
    except OSError as error:
        raise Closed from error
    if not head:
        raise Closed
    fd = -1
    for level, kind, data in rights:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fd = array.array("i", bytes(data[:4]))[0]
    try:
        if len(head) < _HEADER.size:
            head += _receive_exactly(sock, _HEADER.size - len(head), stalled)
        text_size, count, number, new_size = _HEADER.unpack(head)
        places = [_PLACE.unpack(_receive_exactly(sock, _PLACE.size, stalled)) for _ in range(count)]
        text = _receive_exactly(sock, text_size, stalled)
        if number:
            if new_size:
                leases.add(number, fd, new_size)
            memory = leases.lease(number)
            buffers = [memory[at : at + size] for at, size in places]
            del memory
        else:
            buffers = [_receive_exactly(sock, size, stalled) for _, size in places]
    finally:
        if fd >= 0:
            os.close(fd)
    return pickle.loads(text, buffers=buffers)
