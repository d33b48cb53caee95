"""Hosts on one machine: network namespaces that a bridge joins. Needs root and iproute2."""

import functools
import os
import shutil
import subprocess

__all__ = ["Hosts", "missing"]


@functools.cache
def missing():
    """Why there can be none here; empty if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip") or not shutil.which("tc"):
        return "network namespaces need iproute2"
    try:
        with Hosts(1) as hosts:
            subprocess.run(hosts.command(0, ["true"]), check=True, capture_output=True, timeout=100)
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr.decode().strip()}"
    return ""


class Hosts:
    """A context with `count` of them: address(number), command(number, argv), cut(number).

    rate: of each link in both directions, as tc writes it ("1gbit"); None: as fast as it goes.
    """

    def __init__(self, count, rate=None):
        self.count = count
        self.rate = rate
        self._tag = f"ag{os.getpid() % 100000}"
        self._net = f"10.{64 + os.getpid() % 64}.{os.getpid() // 64 % 256}"

    def name(self, number):
        """Of the namespace."""
        return f"{self._tag}n{number}"

    def address(self, number):
        """Its IPv4 address."""
        return f"{self._net}.{number + 1}"

    def command(self, number, argv):
        """argv, as it is run on that host."""
        return ["ip", "netns", "exec", self.name(number), *argv]

    def cut(self, number, over=False):
        """Takes the host's link down; over: up again."""
        self._run("ip", "link", "set", f"{self._tag}v{number}", "up" if over else "down")

    def _run(self, *argv, check=True):
        subprocess.run(argv, check=check, capture_output=True, timeout=100)

    def _limit(self, link, inside=()):
        shape = ["tbf", "rate", self.rate, "burst", "256kb", "latency", "20ms"]
        self._run(*inside, "tc", "qdisc", "add", "dev", link, "root", *shape)

    def __enter__(self):
        try:
            bridge = f"{self._tag}br"
            self._run("ip", "link", "add", bridge, "type", "bridge")
            self._run("ip", "link", "set", bridge, "up")
            for number in range(self.count):
                name, outer = self.name(number), f"{self._tag}v{number}"
                inside = ("ip", "netns", "exec", name)
                self._run("ip", "netns", "add", name)
                self._run(
                    *("ip", "link", "add", outer, "type", "veth"),
                    *("peer", "name", "eth0", "netns", name),
                )
                self._run("ip", "link", "set", outer, "master", bridge, "up")
                self._run(*inside, "ip", "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
                self._run(*inside, "ip", "link", "set", "eth0", "up")
                self._run(*inside, "ip", "link", "set", "lo", "up")
                if self.rate:
                    self._limit(outer)
                    self._limit("eth0", inside)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for number in range(self.count):
            self._run("ip", "netns", "del", self.name(number), check=False)
            self._run("ip", "link", "del", f"{self._tag}v{number}", check=False)
        self._run("ip", "link", "del", f"{self._tag}br", check=False)
