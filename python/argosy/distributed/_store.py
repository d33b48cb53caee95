"""Keys and values that processes share over the network."""

from __future__ import annotations

import os

from argosy._job import get_rank, get_world_size
from argosy._waits import checked_seconds

__all__ = []


def _net():
    from argosy import _net  # a library of its own, which few programs need

    return _net


class TCPStore:
    """Keys and values that the processes of a job share. One of them keeps it, on a thread; all others, and
    itself, are its clients. Only processes with the same ARGOSY_JOB_TOKEN are let in.

    Args:
        hostname (str): Where it is kept.
        port (int): 0 at the master: a free one, which `port` says.
        is_master (bool): Whether this process keeps it.
        world_size (int): How many clients the master waits for; 1: none.
        timeout (int): Most seconds that a call waits.

    Raises:
        CommunicationError: There is no store at the address, or it is another job's.
        OSError: The port is taken.

    Example:
        >>> from argosy.base.core import TCPStore
        >>> store = TCPStore("127.0.0.1", 0, True, 1, timeout=10)
        >>> store.set("a", "1")
        >>> store.get("a")
        b'1'
        >>> store.add("n", 3), store.add("n", -1)
        (3, 2)
    """

    def __init__(self, hostname, port, is_master=False, world_size=1, timeout=900):
        self._seconds = checked_seconds("[TCPStore] timeout", timeout)
        token = os.environ.get("ARGOSY_JOB_TOKEN", "")
        self._server = _net().store_serve("", int(port), token) if is_master else None
        self.host = hostname
        self.port = _net().store_port(self._server) if is_master else int(port)
        host = f"[{hostname}]" if ":" in hostname else hostname
        self._client = _net().store_client(f"{host}:{self.port}", token, self._seconds)
        come = self.add("argosy/come", 1)
        if come == world_size:
            self.set("argosy/all", "")
        if is_master and world_size > 1:
            self.wait("argosy/all")

    def set(self, key, value):
        """Gives a key a value.

        Args:
            key (str): Its name.
            value (str|bytes): What `get` gives, as bytes.
        """
        _net().store_set(self._client, key, value)

    def get(self, key):
        """The value of a key, for which it waits.

        Args:
            key (str): Its name.

        Returns:
            bytes

        Raises:
            CommunicationTimeout: Nobody has set it in time.
        """
        value = _net().store_get(self._client, key, self._seconds)
        if value is None:
            from argosy._core import CommunicationTimeout

            raise CommunicationTimeout(
                f"[TCPStore] nobody has set the key {key!r} within {self._seconds:g} s. Do this: see"
                " whether the process that sets it lives, or give a longer timeout."
            )
        return value

    def wait(self, key):
        """Waits for a key.

        Args:
            key (str): Its name.

        Raises:
            CommunicationTimeout: Nobody has set it in time.
        """
        self.get(key)

    def add(self, key, value):
        """Adds to a number, 0 at first.

        Args:
            key (str): Its name.
            value (int): What is added.

        Returns:
            int: The sum.
        """
        return _net().store_add(self._client, key, value)

    def check(self, key):
        """Whether a key is there."""
        return _net().store_has(self._client, key)

    def delete_key(self, key):
        """Removes a key; whether it was there."""
        return _net().store_remove(self._client, key)


_global = None


def create_or_get_global_tcp_store():
    """The store of this job, at PADDLE_MASTER (alone: at a free port of this host). Process 0 keeps it.

    Returns:
        TCPStore
    """
    global _global
    if _global is None:
        rank, size = get_rank(), get_world_size()
        host, _, port = os.environ.get("PADDLE_MASTER", "").rpartition(":")
        if not host or not port.isdigit():
            if size > 1:
                raise ValueError(
                    f"[create_or_get_global_tcp_store] this process is one of {size}: expected"
                    f" PADDLE_MASTER to be HOST:PORT, got {os.environ.get('PADDLE_MASTER', '')!r}. Do"
                    " this: start the processes by `argosy launch`."
                )
            host, port = "127.0.0.1", "0"
        # The launcher, or a group between hosts, may keep one there already.
        kept = os.environ.get("ARGOSY_STORE_SERVED", "") == "1"
        try:
            _global = TCPStore(host, int(port), rank == 0 and not kept, 1)
        except OSError:
            _global = TCPStore(host, int(port), False, 1)
    return _global
