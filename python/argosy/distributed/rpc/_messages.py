"""Connections between the workers of a job, and what is said on them.

A connection is made by who calls; both sides prove that they know the job's token (HMAC, by
multiprocessing.connection) before anything is unpickled. A call is (function, args, kwargs); while it
runs the worker beats, so that silence means that it has stopped or is cut off.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

from argosy._core import CommunicationError, CommunicationTimeout, RankLostError

__all__ = []

BEAT, RESULT, ERROR = "beat", "result", "error"
SECONDS_BETWEEN_BEATS = 1.0
# A worker that has not beaten for so long has stopped.
SILENCE = 20.0


def token_of_job():
    """The bytes that all workers of the job know, and nobody else."""
    token = os.environ.get("ARGOSY_JOB_TOKEN", "")
    if not token:
        raise RuntimeError(
            "[rpc.init_rpc] workers run each other's functions, so they need a secret: expected"
            " ARGOSY_JOB_TOKEN in the environment, which the launcher and distributed.spawn set, got none."
            " Do this: start the job by them, or set the same random text for all workers."
        )
    return token.encode()


def connect(address, token, who, seconds):
    """A connection to a worker's address; RankLostError if it takes none within `seconds`."""
    end = time.monotonic() + seconds
    while True:
        try:
            return _proved(socket.create_connection(address, timeout=seconds), token, seconds)
        except AuthenticationError:
            raise CommunicationError(
                f"[rpc] {who} at {address[0]}:{address[1]} is of another job: it does not know this one's"
                " ARGOSY_JOB_TOKEN. Do this: give each job addresses of its own."
            ) from None
        except (OSError, EOFError) as error:
            if time.monotonic() > end:
                raise RankLostError(
                    f"[rpc] {who} at {address[0]}:{address[1]} takes no connection: {error}. Do this: see"
                    " what that process wrote last."
                ) from None
            time.sleep(0.05)


def _proved(opened, token, seconds):
    """A connection whose both sides have shown that they know the token."""
    opened.settimeout(None)
    # Each read has a limit, also within the challenges.
    opened.setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", max(1, int(seconds)), 0)
    )
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection = Connection(opened.detach())
    try:
        answer_challenge(connection, token)
        deliver_challenge(connection, token)
    except BaseException:
        connection.close()
        raise
    return connection


def ask(connection, message, who, timeout):
    """Sends a call and waits for its end; what it returned. Raises what it raised.

    Args:
        timeout (float): Seconds at most; 0 or less: as long as the worker beats.

    Raises:
        CommunicationTimeout: The time is over, or the worker is silent.
        RankLostError: It has ended.
    """
    end = time.monotonic() + timeout if timeout > 0 else None
    try:
        connection.send_bytes(pickle.dumps(message))
        while True:
            left = SILENCE if end is None else min(SILENCE, end - time.monotonic())
            if left <= 0 or not connection.poll(left):
                _raise_late(who, end, timeout)
            kind, value = pickle.loads(connection.recv_bytes())
            if kind == RESULT:
                return value
            if kind == ERROR:
                raise value
    except (EOFError, ConnectionError):
        raise RankLostError(
            f"[rpc] {who} ended before it answered. Do this: see what that process wrote last."
        ) from None


def _raise_late(who, end, timeout):
    if end is not None and time.monotonic() >= end:
        raise CommunicationTimeout(
            f"[rpc] {who} has not answered within {timeout:g} s. Do this: give the call a longer timeout, or"
            " see what that process does."
        )
    raise CommunicationTimeout(
        f"[rpc] {who} has been silent for {SILENCE:g} s: it has stopped, or is cut off. Do this: see what"
        " that process does."
    )
