"""Free ports of this host."""

import collections
import errno
import random
import socket

__all__ = ["check", "pick"]

# Marks of the ports that this process picked last: until a server listens there, no other process that
# picks gets the same. The kernel drops them with the process.
_marks = collections.deque(maxlen=64)


def _ephemeral_start():
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 32768


def _is_free(port, host=""):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a port whose last connections are closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def _mark(port):
    """Whether nobody else in this network namespace has marked the port; it is this process's then."""
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        mark.bind(f"\0argosy-port-{port}")
    except OSError as error:
        mark.close()
        return error.errno != errno.EADDRINUSE  # names without files are Linux's
    _marks.append(mark)
    return True


def pick(count):
    """That many free ports, below those that outgoing connections take. No other process that picks
    gets the same ones, as long as this one lives and has not picked many more.
    """
    high = _ephemeral_start()
    low = 10000 if high > 12000 else 1024
    draw = random.SystemRandom()
    out = []
    for _ in range(20 * count + 200):
        if len(out) == count:
            return out
        port = draw.randrange(low, high)
        if port not in out and _is_free(port) and _mark(port):
            out.append(port)
    raise OSError(f"argosy launch: no {count} free ports between {low} and {high}.")


def check(host, port):
    """Raises ValueError if the port is taken on this host."""
    try:
        socket.getaddrinfo(host, port)
    except OSError:
        raise ValueError(f"the host {host!r} is not known here.") from None
    if not _is_free(port, host if host.replace(".", "").isdigit() else ""):
        raise ValueError(
            f"port {port} of {host} is taken. Do this: end what uses it (see `ss -ltnp`), or choose "
            "another port."
        )
