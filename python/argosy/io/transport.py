"""Messages between a loader and its worker processes.

A message is a pickle whose large buffers (arrays, tensors) travel outside of it, in one anonymous
shared memory file whose descriptor is sent along. The receiver maps it and the arrays point into the
mapping: nothing is copied on its side, and the memory goes back to the system with the last array.
Since the file has no name, no process that dies, however it dies, can leave one behind; and the size
of /dev/shm does not limit it.
"""

import array
import io
import mmap
import os
import pickle
import socket
import struct

from argosy import _core

__all__ = []

# length of the pickle, number of buffers outside of it, bytes of the shared file (0: no file)
_HEADER = struct.Struct("<QQQ")
_PLACE = struct.Struct("<QQ")  # offset and size of one buffer in the file
_ALIGN = 64
# Below this many bytes in all, a file costs more than a copy through the socket.
_SHARE_FROM = 32 * 1024


class Closed(Exception):
    """The other side is gone."""


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
        if isinstance(obj, _core.Tensor):
            values = obj.detach().numpy()
            name = str(obj.dtype).rsplit(".", 1)[-1]
            # NumPy has no bfloat16 or float8: their bits travel.
            plain = name == str(values.dtype)
            return _restore_tensor, (values, None if plain else name, obj.stop_gradient)
        return NotImplemented


def dump(obj):
    """Pickles `obj`; returns the pickle and the list of buffers outside of it."""
    buffers = []
    file = io.BytesIO()
    _Pickler(file, buffers).dump(obj)
    return file.getvalue(), [b.raw() for b in buffers]


def send(sock, obj, share=True):
    """Sends `obj`, through shared memory if it is large and `share` allows it."""
    text, buffers = dump(obj)
    sizes = [b.nbytes for b in buffers]
    if not share or sum(sizes) < _SHARE_FROM or not hasattr(os, "memfd_create"):
        head = _HEADER.pack(len(text), len(buffers), 0)
        places = b"".join(_PLACE.pack(0, size) for size in sizes)
        _send_all(sock, [head + places + text, *buffers])
        return
    places, end = [], 0
    for size in sizes:
        places.append(_PLACE.pack(end, size))
        end += -(-size // _ALIGN) * _ALIGN
    fd = os.memfd_create("argosy-batch", os.MFD_CLOEXEC)
    try:
        os.ftruncate(fd, end)
        with mmap.mmap(fd, end) as memory:
            at = 0
            for buffer, size in zip(buffers, sizes):
                memory[at : at + size] = buffer.cast("B") if buffer.format != "B" else buffer
                at += -(-size // _ALIGN) * _ALIGN
        head = _HEADER.pack(len(text), len(buffers), end)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        sent = sock.sendmsg([head], rights)
        _send_all(sock, [head[sent:] + b"".join(places) + text])
    finally:
        os.close(fd)


def _send_all(sock, parts):
    for part in parts:
        if len(part):
            sock.sendall(part)


def _receive_exactly(sock, size):
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        count = sock.recv_into(view[at:])
        if count == 0:
            raise Closed
        at += count
    return data


def receive(sock):
    """Waits for the next message and returns its object. Raises Closed at the end."""
    room = socket.CMSG_SPACE(struct.calcsize("i"))
    try:
        head, rights, _, _ = sock.recvmsg(_HEADER.size, room)
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
            head += _receive_exactly(sock, _HEADER.size - len(head))
        text_size, count, shared = _HEADER.unpack(head)
        places = [_PLACE.unpack(_receive_exactly(sock, _PLACE.size)) for _ in range(count)]
        text = _receive_exactly(sock, text_size)
        if shared:
            flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
            memory = memoryview(mmap.mmap(fd, shared, flags))
            buffers = [memory[at : at + size] for at, size in places]
        else:
            buffers = [_receive_exactly(sock, size) for _, size in places]
    finally:
        if fd >= 0:
            os.close(fd)
    return pickle.loads(text, buffers=buffers)
