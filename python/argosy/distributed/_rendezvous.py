"""Meeting places that are no address: a file that all hosts see, or a key of an etcd.

    file:///shared/folder/job        etcd://HOST:PORT/job

Who keeps the job's store writes there where it is; all others look until somebody answers at what they
read, so what an earlier job has left there does no harm. The place holds no secret: who connects proves
that it has the job's token, whatever the address.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import socket
import time

from argosy import _core

__all__ = []

_LOOK = 0.1  # seconds between looks
_ANSWER = 5.0  # most seconds for an answer of etcd, and for a connection to what was found


def is_place(text):
    """Whether a text, such as PADDLE_MASTER, names such a place."""
    return text.startswith(("file://", "etcd://"))


def place(text):
    """The place that a text names.

    Raises:
        ValueError: It names none.
    """
    kind, _, rest = text.partition("://")
    if kind == "file" and rest.startswith("/") and not rest.endswith("/"):
        return _FilePlace(rest)
    host, slash, key = rest.partition("/")
    if kind == "etcd" and host.rpartition(":")[2].isdigit() and slash and key:
        return _EtcdPlace(host, key)
    raise ValueError(
        f"[init_parallel_env] expected file:///PATH, a file that all hosts see, or etcd://HOST:PORT/KEY, got"
        f" {text!r}. Do this: set PADDLE_MASTER to one of them, or to HOST:PORT of process 0."
    )


class _Place:
    """Where an address is written, in the name of a job."""

    def write(self, job, address):
        """Says where the job's store is, whatever was there before."""
        self._put(_text(job, address))

    def write_once(self, job, address):
        """The same unless somebody of this job has done so, and answers; the address that is there
        afterwards."""
        before = self._get()
        found = _address(before, job)
        if found is not None and _answers(found):
            return found
        return _address(self._put_where(_text(job, address), before), job)

    def find(self, job, seconds):
        """The address at which somebody listens.

        Raises:
            CommunicationError: There is none within the limit.
        """
        end = time.monotonic() + seconds
        while True:
            address = _address(self._get(), job)
            if address is not None and _answers(address):
                return address
            if time.monotonic() > end:
                what = (
                    "nothing of this job is there"
                    if address is None
                    else f"nobody answers at {address}"
                )
                raise _core.CommunicationError(
                    f"[init_parallel_env] the job's store was not found at {self.name} within {seconds:g} s:"
                    f" {what}. Do this: start process 0, give all of them the same place and ARGOSY_JOB_ID,"
                    " and let the hosts reach each other at any port."
                )
            time.sleep(_LOOK)

    def own_host(self):
        """An address of this host by which others may reach it."""
        interface = os.environ.get("ARGOSY_SOCKET_IFNAME", "")
        if interface:
            from argosy import _net

            return _net.host_of_interface(interface)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(self._other_side())  # sends nothing: the kernel chooses the interface
                return probe.getsockname()[0]
            except OSError:
                return socket.gethostbyname(socket.gethostname())


def _text(job, address):
    return json.dumps({"job": job, "store": address}).encode()


def _address(text, job):
    """What a place says; None if that is nothing, or of another job."""
    try:
        said = json.loads(text)
        return said["store"] if said["job"] == job else None
    except (TypeError, ValueError, KeyError):
        return None


def _answers(address):
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWER) as found:
            # Where nobody listens the kernel may connect a caller with itself.
            return found.getsockname() != found.getpeername()
    except (OSError, ValueError):
        return False


class _FilePlace(_Place):
    def __init__(self, path):
        self.name = f"file://{path}"
        self._path = path

    def _get(self):
        try:
            with open(self._path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _core.CommunicationError(
                f"[init_parallel_env] cannot read {self.name}: {error.strerror}. Do this: choose a file in a"
                " folder that all processes may read and write."
            ) from None

    def _unwritable(self, error):
        return _core.CommunicationError(
            f"[init_parallel_env] cannot write {self.name}: {error.strerror}. Do this: choose a file in a"
            " folder that is there and may be written."
        )

    def _put(self, text):
        path = f"{self._path}.{socket.gethostname()}.{os.getpid()}"
        try:
            with open(path, "wb") as file:
                file.write(text)
            os.replace(path, self._path)
        except OSError as error:
            raise self._unwritable(error) from None

    def _put_where(self, text, before):
        """Puts it where `before` still is; what is there afterwards."""
        try:
            lock = open(f"{self._path}.lock", "a")
        except OSError as error:
            raise self._unwritable(error) from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
            if self._get() == before:
                self._put(text)
            return self._get()

    def _other_side(self):
        return ("192.0.2.1", 9)  # of nobody: what leads out of this host leads to the others


class _EtcdPlace(_Place):
    def __init__(self, endpoint, key):
        self.name = f"etcd://{endpoint}/{key}"
        self._endpoint = endpoint
        self._key = base64.b64encode(f"/argosy/{key}".encode()).decode()
        from urllib import request  # takes longer to import than all of this room

        # No proxy: it is a host of the cluster.
        self._opener = request.build_opener(request.ProxyHandler({}))
        self._request = request.Request

    def _ask(self, what, **request):
        call = self._request(
            f"http://{self._endpoint}/v3/kv/{what}",
            json.dumps(request).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with self._opener.open(call, timeout=_ANSWER) as answer:
                return json.load(answer)
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise _core.CommunicationError(
                f"[init_parallel_env] etcd does not answer at {self._endpoint}: {reason}. Do this: name an"
                " etcd of version 3.4 or later that serves plain HTTP."
            ) from None

    def _get(self):
        return _value(self._ask("range", key=self._key))

    def _put(self, text):
        self._ask("put", key=self._key, value=base64.b64encode(text).decode())

    def _put_where(self, text, before):
        if before is None:
            unchanged = {"target": "CREATE", "create_revision": "0"}
        else:
            unchanged = {"target": "VALUE", "value": base64.b64encode(before).decode()}
        self._ask(
            "txn",
            compare=[{"key": self._key, "result": "EQUAL", **unchanged}],
            success=[{"request_put": {"key": self._key, "value": base64.b64encode(text).decode()}}],
        )
        return self._get()

    def _other_side(self):
        host, _, port = self._endpoint.rpartition(":")
        return (host, int(port))


def _value(answer):
    kvs = answer.get("kvs")
    return base64.b64decode(kvs[0]["value"]) if kvs else None
