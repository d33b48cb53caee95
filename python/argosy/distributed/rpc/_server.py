"""The side of a worker that runs functions for others."""

from __future__ import annotations

import pickle
import threading
from multiprocessing import AuthenticationError
from multiprocessing.connection import Listener, answer_challenge, deliver_challenge

from ._messages import BEAT, ERROR, RESULT, SECONDS_BETWEEN_BEATS

__all__ = []


class Server:
    """Takes calls at an address until it is closed, and runs them from begin() on: each connection has a
    thread, and so has each call that is under way.

    Threads: `_connections` is guarded by `_lock`.
    """

    def __init__(self, host, port, token):
        self._listener = Listener((host, port), backlog=64)
        self._token = token
        self._ready = threading.Event()
        self.address = self._listener.address
        self._lock = threading.Lock()
        self._connections = set()
        self._closed = False
        threading.Thread(target=self._accept, name="rpc", daemon=True).start()

    def begin(self):
        """Runs calls, also those that came before."""
        self._ready.set()

    def close(self):
        """Takes no more calls; those under way lose their connections."""
        with self._lock:
            self._closed = True
            connections = list(self._connections)
        self._listener.close()
        for connection in connections:
            connection.close()

    def _accept(self):
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                if self._closed:
                    return
                continue
            with self._lock:
                self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            # Here, not in accept: a stranger who keeps silent holds up nobody else.
            deliver_challenge(connection, self._token)
            answer_challenge(connection, self._token)
            while True:
                message = connection.recv_bytes()
                call = threading.Thread(target=self._run, args=(message, answer := []), daemon=True)
                call.start()
                while call.is_alive():
                    call.join(SECONDS_BETWEEN_BEATS)
                    if call.is_alive():
                        connection.send_bytes(pickle.dumps((BEAT, None)))
                connection.send_bytes(answer[0])
        except (AuthenticationError, EOFError, OSError):
            pass  # of another job; the caller has gone; this worker shuts down
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def _run(self, message, answer):
        """Runs a call; `answer` gets the pickled answer."""
        self._ready.wait()
        try:
            function, args, kwargs = pickle.loads(message)
            answer.append(pickle.dumps((RESULT, function(*args, **kwargs))))
        except BaseException as error:  # whatever it is, it belongs to the caller
            answer.append(_pickled(error))


def _pickled(error):
    try:
        text = pickle.dumps((ERROR, error))
        pickle.loads(text)  # some come out of it only
        return text
    except Exception:
        return pickle.dumps((ERROR, RuntimeError(f"{type(error).__name__}: {error}")))
