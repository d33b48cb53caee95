"""The side of a worker that runs functions for others."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import threading
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

from ._messages import BEAT, ERROR, RESULT, SECONDS_BETWEEN_BEATS

__all__ = []


class Server:
    """Takes calls at an address until it is closed, and runs them from begin() on: each connection has a
    thread, and so has each call that is under way.

    Threads: `_connections`, `_under_way` (calls without their answer) and `_closed` are guarded by
    `_changed`. A socket is closed only by the thread that serves it, under that lock: close() shuts it
    down, which ends that thread's wait.
    """

    def __init__(self, host, port, token):
        self._listener = socket.create_server((host, port), backlog=64)
        self._token = token
        self._ready = threading.Event()
        self.address = self._listener.getsockname()[:2]
        self._changed = threading.Condition()
        self._connections = set()
        self._under_way = 0
        self._closed = False
        threading.Thread(target=self._accept, name="rpc", daemon=True).start()

    def begin(self):
        """Runs calls, also those that came before."""
        self._ready.set()

    def close(self, patience=0.0):
        """Takes no more calls; those under way are answered if they end within `patience` seconds, and
        lose their connections then."""
        with self._changed:
            self._closed = True
            _shut(self._listener)
            self._changed.wait_for(lambda: not self._under_way, patience)
            for taken in self._connections:
                _shut(taken)

    def _accept(self):
        with self._listener:
            while True:
                try:
                    taken, _ = self._listener.accept()
                except OSError:
                    if self._closed:
                        return
                    time.sleep(0.05)  # no descriptor is left, say
                    continue
                with self._changed:
                    if self._closed:
                        taken.close()
                        return
                    self._connections.add(taken)
                threading.Thread(target=self._serve, args=(taken,), daemon=True).start()

    def _serve(self, taken):
        try:
            with Connection(os.dup(taken.fileno())) as connection:
                self._answer(connection)
        except (AuthenticationError, EOFError, OSError):
            pass  # of another job; the caller has gone; this worker shuts down
        finally:
            with self._changed:
                self._connections.discard(taken)
                taken.close()

    def _answer(self, connection):
        # Here, not in accept: a stranger who keeps silent holds up nobody else.
        deliver_challenge(connection, self._token)
        answer_challenge(connection, self._token)
        while True:
            message = connection.recv_bytes()
            with self._changed:
                if self._closed:
                    return
                self._under_way += 1
            try:
                self._call(connection, message)
            finally:
                with self._changed:
                    self._under_way -= 1
                    self._changed.notify_all()

    def _call(self, connection, message):
        """Runs a call, beats meanwhile, and sends its answer."""
        call = threading.Thread(target=self._run, args=(message, answer := []), daemon=True)
        call.start()
        while call.is_alive():
            call.join(SECONDS_BETWEEN_BEATS)
            if call.is_alive():
                connection.send_bytes(pickle.dumps((BEAT, None)))
        connection.send_bytes(answer[0])

    def _run(self, message, answer):
        """Runs a call; `answer` gets the pickled answer."""
        self._ready.wait()
        try:
            function, args, kwargs = pickle.loads(message)
            answer.append(pickle.dumps((RESULT, function(*args, **kwargs))))
        except BaseException as error:  # whatever it is, it belongs to the caller
            answer.append(_pickled(error))


def _shut(taken):
    """Wakes who waits for the socket, with its end."""
    with contextlib.suppress(OSError):  # the other side has gone
        taken.shutdown(socket.SHUT_RDWR)


def _pickled(error):
    try:
        text = pickle.dumps((ERROR, error))
        pickle.loads(text)  # some come out of it only
        return text
    except Exception:
        return pickle.dumps((ERROR, RuntimeError(f"{type(error).__name__}: {error}")))
