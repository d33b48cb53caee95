"""Bytes from every worker to every other, by connections of their own."""

from __future__ import annotations

import secrets
import socket
import struct
import threading

_SECONDS = 600  # without a byte
_TOKEN = 32
_HEAD = struct.Struct("<qq")  # number of the worker, length of what follows


def exchange(fleet, parts):
    """What all workers have for this one, by their number.

    Args:
        fleet (Fleet): Connected; all its workers must call this.
        parts (list[bytes]): For each worker.

    Raises:
        TimeoutError, ConnectionError: another worker stopped or died.
    """
    me, count = fleet.worker_index(), fleet.worker_num()
    host = _host(fleet, me)
    token = secrets.token_hex(_TOKEN // 2)
    found = [None] * count
    found[me] = parts[me]
    with socket.create_server((host, 0), backlog=count) as listener:
        listener.settimeout(_SECONDS)
        addresses = fleet.util.all_gather([host, listener.getsockname()[1], token], "worker")
        errors = []

        def receive():
            try:
                for _ in range(count - 1):
                    number, data = _accept(listener, token.encode(), count)
                    found[number] = data
            except Exception as error:
                errors.append(error)

        receiver = threading.Thread(target=receive, daemon=True)
        receiver.start()
        # Each begins with another one, so that nobody is called by all at once.
        for step in range(1, count):
            to = (me + step) % count
            _send(addresses[to], me, parts[to])
        receiver.join()
    if errors:
        raise errors[0]
    fleet.util.barrier("worker")
    return found


def _host(fleet, me):
    endpoints = fleet.worker_endpoints()
    if isinstance(endpoints, str):
        endpoints = endpoints.split(",") if endpoints else []
    return endpoints[me].rpartition(":")[0] if me < len(endpoints) else "127.0.0.1"


def _send(address, me, data):
    host, port, token = address
    with socket.create_connection((host, port), timeout=_SECONDS) as connection:
        connection.sendall(token.encode() + _HEAD.pack(me, len(data)))
        connection.sendall(data)
        _receive(connection, 1)  # it has everything


def _accept(listener, token, count):
    """(number of the worker, what it sent); passes over who does not know the token."""
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(_SECONDS)
            try:
                if not secrets.compare_digest(bytes(_receive(connection, len(token))), token):
                    continue
            except ConnectionError:
                continue
            number, length = _HEAD.unpack(_receive(connection, _HEAD.size))
            if not 0 <= number < count or length < 0:
                raise ConnectionError(f"[global_shuffle] a worker calls itself number {number}.")
            data = bytes(_receive(connection, length))
            connection.sendall(b"+")
            return number, data


def _receive(connection, count):
    data = bytearray(count)
    view, got = memoryview(data), 0
    while got < count:
        n = connection.recv_into(view[got:])
        if n == 0:
            raise ConnectionError("[global_shuffle] a worker closed its connection while sending.")
        got += n
    return data
