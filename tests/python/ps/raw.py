"""A client of the service by a plain socket, which does what no library would."""

import contextlib
import socket
import struct
import time

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7


@contextlib.contextmanager
def _closed():
    """However the kernel says that the other end has closed a connection, it is one error here."""
    try:
        yield
    except (ConnectionResetError, BrokenPipeError):
        raise ConnectionError("the server closed the connection") from None


FIXED = {"client_high": 1, "client_low": 2}
VARINT = {"epoch": 3, "worker": 7, "workers": 8, "servers": 10, "round": 16, "wait_ms": 18}


def _varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def request(**header):
    """A message of type Request with such a header."""
    text = b""
    for name, value in header.items():
        if name in FIXED:
            text += _varint(FIXED[name] << 3 | 1) + struct.pack("<Q", value)
        else:
            text += _varint(VARINT[name] << 3) + _varint(value)
    return b"\x0a" + _varint(len(text)) + text


class Raw:
    """One HTTP/2 connection that gives the server no room to send: it takes headers, no data."""

    def __init__(self, port, window=0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.stream = -1
        self.ended = {}  # stream -> type of the frame that ended it, the first one
        self.resets = set()  # streams with a RESET, perhaps after what ended them
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self._send(SETTINGS, 0, 0, struct.pack(">HI", 4, window))

    def _send(self, kind, flags, stream, payload):
        head = struct.pack(">IBI", len(payload) << 8 | kind, flags, stream)
        with _closed():
            self.socket.sendall(head + payload)

    def call(self, method, message, token=None):
        """Sends a request, or (None) what comes before its message; the number of its stream."""
        self.stream += 2
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": f"/argosy.ps.v1.ParameterServer/{method}",
            ":authority": "raw",
            "content-type": "application/grpc",
            "te": "trailers",
        }
        if token:
            headers["authorization"] = f"Bearer {token}"
        block = b"".join(
            b"\0" + bytes([len(k)]) + k.encode() + bytes([len(v)]) + v.encode()
            for k, v in headers.items()
        )
        self._send(HEADERS, 4, self.stream, block)
        if message is not None:
            self._send(DATA, 1, self.stream, b"\0" + struct.pack(">I", len(message)) + message)
        return self.stream

    def read(self, seconds):
        """Takes frames for a while; notes which streams ended."""
        end = time.monotonic() + seconds
        while self._take(end):
            pass

    def read_until(self, what, seconds=100):
        """Takes frames until what() holds."""
        end = time.monotonic() + seconds
        while not what():
            assert self._take(end), f"it did not come to be; ended: {self.ended}"

    def _take(self, end):
        """Takes one frame; False if none begins in time."""
        left = end - time.monotonic()
        if left <= 0:
            return False
        self.socket.settimeout(left)
        try:
            head = self._exactly(9)
        except TimeoutError:
            return False
        length, kind, flags, stream = (
            int.from_bytes(head[:3], "big"), head[3], head[4], int.from_bytes(head[5:], "big"),
        )  # fmt: skip
        self.socket.settimeout(60)
        payload = self._exactly(length)
        if kind in (SETTINGS, PING) and not flags & 1:
            self._send(kind, 1, 0, payload if kind == PING else b"")
        if kind == RESET:
            self.resets.add(stream)
        if kind == RESET or (kind in (HEADERS, DATA) and flags & 1):
            # (After a whole answer a server may reset what it no longer wants to hear.)
            self.ended.setdefault(stream, kind)
        return True

    def _exactly(self, count):
        """So many bytes. A time limit counts until the first of them: a slow sender may take its time."""
        data = b""
        while len(data) < count:
            with _closed():
                part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError("the server closed the connection")
            data += part
            self.socket.settimeout(60)
        return data

    def close(self):
        self.socket.close()
