"""The launchers of a job on several hosts: how they meet, and how they end together.

The one on the master's host keeps a store; all others are its clients. Each says how many processes
it starts; so all know their numbers. The first failure is posted, and every launcher ends what it has
started. A launcher that dies, or whose host does, is silent: that is a failure like another.
"""

import contextlib
import json
import os
import secrets
import socket
import threading
import time

from argosy.distributed import _rendezvous

from .supervision import say

__all__ = ["DEFAULT_PORT", "Nodes", "Verdict"]

_SECONDS_TO_MEET = 600
_SECONDS_OF_SILENCE = (10, 60)  # until a launcher says for whom it waits, and says so again
DEFAULT_PORT = 6170  # where hosts given by --ips meet


class Verdict:
    """Why the processes of all hosts end: what failed first, the job's exit code, and whether all are
    started again."""

    def __init__(self, text, code, again):
        self.text = text
        self.code = code
        self.again = again


@contextlib.contextmanager
def _told(waits_for):
    """Says on stderr what is waited for, waits_for(), while the body takes long."""
    over = threading.Event()

    def tell():
        first, again = _SECONDS_OF_SILENCE
        seconds = first
        while not over.wait(first if seconds == first else again):
            with contextlib.suppress(RuntimeError):  # who waits sees it, too
                say(f"waiting for {waits_for()}, {seconds} of {_SECONDS_TO_MEET} s.")
            seconds += again

    threading.Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        over.set()


class Nodes:
    """This launcher among those of its job.

    count: how many. master: HOST:PORT of their store, or a place that says it (_rendezvous). rank: this one's number; None: drawn in the order
    in which they come. processes: how many this one starts. Raises ValueError where they do not find
    each other.
    """

    def __init__(self, count, master, rank, processes, token):
        from argosy import _net

        self._net = _net
        self.count = count
        self.generation = 0
        self._token = token
        self._server = self._ranks_store = None
        try:
            if _rendezvous.is_place(master):
                master = self._meet_at(_rendezvous.place(master), rank)
            elif rank in (None, 0):
                self._keep_store(*_address(master), rank)
            self._host = _address(master)[0]
            with _told(lambda: f"the first launcher, which is to answer at {master}"):
                self._store = _net.store_client(master, token, _SECONDS_TO_MEET)
            self.rank = rank if rank is not None else self._draw_rank()
            self._meet(processes)
        except RuntimeError as error:
            raise ValueError(str(error)) from None

    def _meet_at(self, place, rank):
        """The store's address, as a file or an etcd says it. The first launcher that comes keeps the store,
        or the one with rank 0."""
        job = os.environ.get("ARGOSY_JOB_ID", "")
        if rank not in (None, 0):
            with _told(lambda: f"the first launcher, which is to write to {place.name}"):
                return place.find(job, _SECONDS_TO_MEET)
        server = self._net.store_serve("", 0, self._token)
        own = f"{place.own_host()}:{self._net.store_port(server)}"
        if rank == 0:
            place.write(job, own)
        else:
            found = place.write_once(job, own)
            if found != own:
                return found
        self._server = server
        return own

    def _keep_store(self, host, port, rank):
        """If the master's host is this one, and nobody here has been faster."""
        if rank is None and not _is_here(host):
            return
        try:
            self._server = self._net.store_serve("", port, self._token)
        except OSError as error:
            if rank == 0:
                raise ValueError(f"--master: {error}") from None

    def _draw_rank(self):
        # Who keeps the store is the first, so that the processes' own store is on the master's host.
        if self._server is not None:
            return 0
        return self._net.store_add(self._store, "nodes/come", 1)

    def _meet(self, processes):
        # Drawn: two launchers of one host are not taken for one.
        mine = secrets.token_bytes(8)
        key = f"numbers/{self.rank}"
        if self.rank >= self.count or self._net.store_set_once(self._store, key, mine) != mine:
            raise ValueError(
                f"--rank: expected {self.count} launchers with numbers below that, got another one with"
                f" {self.rank}. Do this: give each host its own --rank, or none of them one, and each job a"
                " --master of its own."
            )
        # From here on the others hear of its end; so it has not come before.
        self._watch = self._net.store_watch(self._store, self.rank)
        said = json.dumps({"host": self._own_host(), "processes": processes}).encode()
        self._net.store_set(self._store, f"nodes/{self.rank}", said)
        end = time.monotonic() + _SECONDS_TO_MEET
        with _told(self._missing):
            self.nodes = [self._await_node(number, end) for number in range(self.count)]
        self.first = sum(node["processes"] for node in self.nodes[: self.rank])
        self.world = sum(node["processes"] for node in self.nodes)

    def _await_node(self, number, end):
        """What launcher `number` said when it came."""
        while True:
            value = self._net.store_get(self._store, f"nodes/{number}", 0.5)
            if value is not None:
                return json.loads(value)
            lost, gone = self._net.store_watched(self._watch)
            if lost:
                raise ValueError(f"--master: the first launcher is lost: {lost}.")
            for other in gone:
                raise ValueError(
                    f"--nnodes {self.count}: launcher {other} on {self._host_of(other)} has ended or is"
                    f" silent, and {self._missing()} had not come. Do this: run the command again on each"
                    " host."
                )
            if time.monotonic() > end:
                raise ValueError(
                    f"--nnodes {self.count}: {self._missing()} did not come within"
                    f" {_SECONDS_TO_MEET} s. Do this: run the command on each host."
                )

    def _host_of(self, number):
        said = self._net.store_get(self._store, f"nodes/{number}", 0.1)
        return json.loads(said)["host"] if said else "a host that it did not say"

    def _missing(self):
        """Those that have not come, in words."""
        there = [self._net.store_has(self._store, f"nodes/{n}") for n in range(self.count)]
        missing = [str(number) for number, is_there in enumerate(there) if not is_there]
        several = "s" if len(missing) > 1 else ""
        return f"launcher{several} {', '.join(missing) or 'none'} of {self.count}"

    def _own_host(self):
        interface = os.environ.get("ARGOSY_SOCKET_IFNAME", "")
        if interface:
            return self._net.host_of_interface(interface)
        return self._net.store_own_host(self._store)

    def _key(self, name):
        return f"{self.generation}/{name}"

    def agree(self, name, value):
        """What the first launcher says of `name`, for this start of the job."""
        if self.rank == 0:
            self._net.store_set(self._store, self._key(name), value)
        found = self._net.store_get(self._store, self._key(name), _SECONDS_TO_MEET)
        if found is None:
            raise ValueError(f"--master: the first launcher has not said {name}.")
        return found.decode()

    def store_of_ranks(self):
        """The address of a store for the processes, new for each start of them."""
        address = ""
        if self.rank == 0:
            self._ranks_store = self._net.store_serve("", 0, self._token)
            host = f"[{self._host}]" if ":" in self._host else self._host
            address = f"{host}:{self._net.store_port(self._ranks_store)}"
        return self.agree("store", address)

    def report(self, verdict, patience=0):
        """Posts why the job ends, unless that has been said, or another launcher says it within
        `patience` seconds; what was said first."""
        mine = json.dumps([verdict.text, verdict.code, verdict.again]).encode()
        end = time.monotonic() + patience
        try:
            while time.monotonic() < end and not self._net.store_has(self._store, self._key("end")):
                time.sleep(0.05)
            return _verdict_of(self._net.store_set_once(self._store, self._key("end"), mine))
        except RuntimeError:
            return Verdict(verdict.text, verdict.code, False)  # nobody to start again with

    def verdict(self):
        """What another launcher has reported, or that one is lost; None while all is well."""
        lost, gone = self._net.store_watched(self._watch)
        if lost:
            return Verdict(
                f"the launcher on {self._host}, which keeps the store, is lost: {lost}", 1, 0
            )
        try:
            if self._net.store_has(self._store, self._key("end")):
                return _verdict_of(self._net.store_get(self._store, self._key("end"), 1))
        except RuntimeError as error:
            return Verdict(str(error), 1, False)
        for number in gone:
            host = self.nodes[number]["host"]
            return self.report(
                Verdict(f"launcher {number} on {host} has ended or is silent", 1, False)
            )
        return None

    def finish(self):
        """All processes of this host have ended well."""
        self._net.store_set(self._store, self._key(f"done/{self.rank}"), b"")

    def all_finished(self):
        """Whether those of all hosts have."""
        return all(
            self._net.store_has(self._store, self._key(f"done/{number}"))
            for number in range(self.count)
        )

    def close(self):
        """Tells the others that this launcher ends in good order; the store is there until they have."""
        try:
            self._net.store_set(self._store, f"left/{self.rank}", b"")
            end = time.monotonic() + 10
            while self._server is not None and time.monotonic() < end:
                gone = set(self._net.store_watched(self._watch)[1])
                if all(
                    number in gone or self._net.store_has(self._store, f"left/{number}")
                    for number in range(self.count)
                ):
                    break
                time.sleep(0.02)
        except RuntimeError:
            pass  # the store is lost: nobody to tell
        self._net.store_bye(self._store)


def _address(master):
    host, _, port = master.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(
            f"--master: expected HOST:PORT, file:///PATH or etcd://HOST:PORT/KEY, got {master!r}."
        )
    return host, int(port)


def _verdict_of(bytes_):
    return Verdict(*json.loads(bytes_))


def _is_here(host):
    """Whether a socket can listen at the host's address."""
    try:
        infos = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in infos:
        with socket.socket(family, kind, protocol) as probe:
            try:
                probe.bind(address)
                return True
            except OSError:
                pass
    return False
