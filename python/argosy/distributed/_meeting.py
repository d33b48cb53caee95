"""Where the processes of a job meet, as the environment of each says it."""

from __future__ import annotations

import hashlib
import os

from argosy import _core
from argosy._job import get_rank, get_world_size, hosts_of_job, number_of

from . import _rendezvous
from .launch import ports

__all__ = []


def _endpoints(size):
    endpoints = [e for e in os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",") if e]
    if endpoints and len(endpoints) != size:
        raise ValueError(
            f"[init_parallel_env] PADDLE_TRAINERS_NUM={size} processes are one job, but"
            f" PADDLE_TRAINER_ENDPOINTS has {len(endpoints)} addresses. Do this: list the address of"
            " each."
        )
    return endpoints


def _first_of_nodes(text):
    """The first name of a list as Slurm writes it: node[03-05,9],other is node03."""
    head, bracket, rest = text.partition("[")
    if not bracket or "," in head:
        return text.partition(",")[0]
    return head + rest.partition("]")[0].partition(",")[0].partition("-")[0]


def _place(endpoints):
    """The address, or any text, that only the processes of this job have; empty if nothing says it."""
    environ = os.environ
    if environ.get("PADDLE_MASTER"):
        return environ["PADDLE_MASTER"]
    if endpoints:
        return endpoints[0]
    if environ.get("MASTER_ADDR") and environ.get("MASTER_PORT"):
        return f"{environ['MASTER_ADDR']}:{environ['MASTER_PORT']}"
    nodes = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_NODELIST")
    if nodes and environ.get("SLURM_STEP_NUM_TASKS"):
        # A port of the job's own; steps of one job follow each other.
        step = number_of("SLURM_STEP_ID", 0)
        port = 20000 + (number_of("SLURM_JOB_ID", 0) * 7 + step) % 20000
        return f"{_first_of_nodes(nodes)}:{port}"
    return environ.get("PMIX_NAMESPACE") or environ.get("OMPI_MCA_ess_base_jobid") or ""


def _several_hosts(endpoints):
    return len({e.rpartition(":")[0] for e in endpoints}) > 1 or hosts_of_job() > 1


def connect_on_host(place, rank, size, seconds):
    """The handle of `size` processes of this host that meet at a place, a text that is theirs alone."""
    job = f"{os.geteuid()} {place} {os.environ.get('ARGOSY_JOB_ID', '')}"
    digest = hashlib.sha256(job.encode()).hexdigest()[:16]
    return _core.comm_connect(
        rank, size, f"argosy-comm {place[:60]} {digest}", os.environ.get("ARGOSY_JOB_TOKEN", ""),
        os.environ.get("ARGOSY_COMM_HOST", ""), seconds,
    )  # fmt: skip


def _address_at(text, rank, job, seconds):
    """The address of the store whose place a text names: process 0 chooses it."""
    place = _rendezvous.place(text)
    if rank:
        return place.find(job, seconds)
    address = f"{place.own_host()}:{ports.pick(1)[0]}"
    place.write(job, address)
    return address


def connect(seconds):
    """The handle of the group of all processes of the job. Those of one host share memory; others meet
    at a store, which the launcher or process 0 keeps."""
    rank, size = get_rank(), get_world_size()
    endpoints = _endpoints(size)
    place = _place(endpoints)
    if not place:
        raise ValueError(
            f"[init_parallel_env] this process is one of {size}, but nothing says where they meet. Do"
            " this: start them by `argosy launch`, or set PADDLE_MASTER to HOST:PORT of process 0 or"
            " PADDLE_TRAINER_ENDPOINTS."
        )
    token = os.environ.get("ARGOSY_JOB_TOKEN", "")
    host = os.environ.get("ARGOSY_COMM_HOST", "")
    job = os.environ.get("ARGOSY_JOB_ID", "")
    engine = _core.get_flag("ARGOSY_COMM_ENGINE")
    if engine not in ("", "tcp"):
        raise ValueError(
            f"[environment] ARGOSY_COMM_ENGINE: expected 'tcp' or nothing, got {engine!r}. Do this: set one of"
            " them on all processes."
        )
    always_tcp = engine == "tcp"
    if always_tcp or _several_hosts(endpoints):
        from argosy import _net

        if _rendezvous.is_place(place):
            place = _address_at(place, rank, job, seconds)
        return _net.connect(
            rank, size, place, os.environ.get("ARGOSY_STORE_SERVED", "") == "1", token, host,
            os.environ.get("ARGOSY_SOCKET_IFNAME", ""), job, _core.get_flag("ARGOSY_COMM_ALGORITHM"),
            always_tcp, seconds,
        )  # fmt: skip
    return connect_on_host(place, rank, size, seconds)
