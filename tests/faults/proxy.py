"""A TCP proxy of one client to one server that loses, holds, cuts and delays what it carries."""

import socket
import threading
import time

__all__ = ["MODES", "Link"]

# hold: nothing gets through, in either direction, until it is healed.
# hold_last: the same, of the connection alone that carried bytes last.
# mute: requests reach the server, answers are lost.
# deaf: requests are lost, answers come.
# cut: connections are reset, new ones too. half: the client's sending side is closed.
# mute_one: answers are lost of the connection alone that next carries a request.
# void: connections that lost an answer stay and lose everything; others are whole.
# slow: each piece takes 30 ms.
MODES = ("hold", "hold_last", "mute", "deaf", "cut", "half", "mute_one", "void", "slow")
_PIECE = 1 << 16


class _Connection:
    def __init__(self, link, client):
        self.link, self.client = link, client
        self.server = socket.create_connection(("127.0.0.1", link.target), timeout=5)
        self.server.settimeout(None)
        self.held, self.broken, self.used = False, False, 0.0
        ways = ((client, self.server, ("deaf",)), (self.server, client, ("mute", "mute_one")))
        for arguments in ways:
            threading.Thread(target=self.pump, args=arguments, daemon=True).start()

    def pump(self, source, to, lossy):
        try:
            while piece := source.recv(_PIECE):
                self.used = time.monotonic()
                self.link.wait_open(self)
                mode = self.link.mode
                if mode == "mute_one" and source is self.client and self.link.chosen is None:
                    self.link.chosen = self
                if mode in lossy and (mode != "mute_one" or self.link.chosen is self):
                    self.broken = True
                if self.broken and mode == "void":
                    continue
                if self.broken:
                    # Of a stream that lost bytes the rest means nothing.
                    if mode not in ("mute", "deaf", "mute_one"):
                        break
                    if mode in lossy:
                        continue
                if mode == "slow":
                    time.sleep(0.03)
                to.sendall(piece)
        except OSError:
            pass
        self.close()

    def close(self):
        for s in (self.client, self.server):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def half(self):
        """The server sees the end of what the client sends, and may still answer."""
        try:
            self.server.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Link:
    """Listens on a port of its own and passes on to `target`."""

    def __init__(self, target):
        self.target, self.mode, self.chosen = target, "", None
        self.changed = threading.Condition()
        self.connections = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.closed = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.wait_open(None)
            if self.closed or self.mode == "cut":
                client.close()
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                connection = _Connection(self, client)
            except OSError:
                client.close()  # the server is away
                continue
            connection.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(connection)

    def wait_open(self, connection):
        with self.changed:
            self.changed.wait_for(
                lambda: (
                    self.closed
                    or not (self.mode == "hold" or (connection is not None and connection.held))
                )
            )

    def set(self, mode):
        """One of MODES, or "" to heal. Connections that lost bytes are cut by that."""
        with self.changed:
            self.mode = "" if mode in ("half", "hold_last") else mode
            if mode != "void":
                self.chosen = None
            connections = list(self.connections)
            for c in connections:
                c.held = False
            if mode == "hold_last" and connections:
                max(connections, key=lambda c: c.used).held = True
            self.changed.notify_all()
        for c in connections:
            if mode == "half":
                c.half()
            elif mode == "cut" or (c.broken and mode != "void"):
                c.close()

    def close(self):
        self.closed = True
        self.set("cut")
        self.listener.close()
