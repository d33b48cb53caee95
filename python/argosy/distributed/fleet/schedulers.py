"""Processes that mpirun, srun or Kubernetes started: their place in the job, as Paddle's variables.

A process started by `argosy launch` has TRAINING_ROLE and the lists of endpoints in its
environment. Schedulers give a rank and a size; what they do not know is how many of the processes
are servers: ARGOSY_SERVERS says it (the first ranks are the servers), or the list
PADDLE_PSERVERS_IP_PORT_LIST.
"""

import os
import re

__all__ = ["Place", "complete", "expand_hosts", "find_place"]

_BASE_PORT = 36000


class Place:
    """A process among those that a scheduler started.

    Args:
        scheduler (str): Whose name it is.
        rank (int): Its number.
        size (int): How many there are.
        hosts (list[str], optional): Of each rank; None when the scheduler does not tell.
        job (int): The number of the job.

    Example:
        >>> from argosy.distributed.fleet import schedulers
        >>> schedulers.Place("mpirun", 0, 2).size
        2
    """

    def __init__(self, scheduler, rank, size, hosts=None, job=0):
        self.scheduler, self.rank, self.size, self.hosts, self.job = (
            scheduler,
            rank,
            size,
            hosts,
            job,
        )


def _integer(environ, name):
    text = environ[name]
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"[fleet] the environment variable {name} must be an integer, got {text!r}."
        ) from None


def find_place(environ=None):
    """The Place that a scheduler's variables give, or None.

    Open MPI: OMPI_COMM_WORLD_RANK, _SIZE. MPICH and Intel MPI: PMI_RANK, PMI_SIZE. Slurm's srun:
    SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST, SLURM_STEP_TASKS_PER_NODE (ranks by
    blocks, srun's default). Kubernetes Indexed Jobs: JOB_COMPLETION_INDEX, with the number of
    completions in ARGOSY_PROCESSES and the pods' names job-0, job-1, .. under a headless service.

    Args:
        environ (dict, optional): The variables; default: those of this process.

    Returns:
        Place | None: None if no scheduler has set any.

    Example:
        >>> from argosy.distributed.fleet import schedulers
        >>> place = schedulers.find_place({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"})
        >>> place.rank, place.size
        (1, 4)
    """
    environ = os.environ if environ is None else environ
    if "OMPI_COMM_WORLD_RANK" in environ and "OMPI_COMM_WORLD_SIZE" in environ:
        rank, size = (_integer(environ, f"OMPI_COMM_WORLD_{n}") for n in ("RANK", "SIZE"))
        local = environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", "") == str(size)
        job = re.sub(r"\D", "", environ.get("OMPI_MCA_ess_base_jobid", "")) or "0"
        return Place("mpirun", rank, size, ["127.0.0.1"] * size if local else None, int(job))
    if "SLURM_PROCID" in environ and "SLURM_STEP_NUM_TASKS" in environ:
        rank, size = _integer(environ, "SLURM_PROCID"), _integer(environ, "SLURM_STEP_NUM_TASKS")
        hosts = _slurm_hosts(environ, size)
        job = re.sub(r"\D", "", environ.get("SLURM_JOB_ID", "")) or "0"
        return Place("srun", rank, size, hosts, int(job))
    if "PMI_RANK" in environ and "PMI_SIZE" in environ:
        return Place("mpirun", _integer(environ, "PMI_RANK"), _integer(environ, "PMI_SIZE"))
    if "JOB_COMPLETION_INDEX" in environ:
        return _kubernetes_place(environ)
    return None


def _slurm_hosts(environ, size):
    nodes = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST")
    if not nodes:
        return None
    nodes = expand_hosts(nodes)
    counts = []
    # 2(x3),1: three nodes with 2 tasks each, then one with 1.
    for part in environ.get("SLURM_STEP_TASKS_PER_NODE", "").split(","):
        found = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if found:
            counts += [int(found[1])] * int(found[2] or 1)
    if len(nodes) == 1:
        counts = [size]
    if len(counts) != len(nodes) or sum(counts) != size:
        return None
    return [node for node, count in zip(nodes, counts) for _ in range(count)]


def expand_hosts(text):
    """Slurm's list of hosts spelled out.

    Args:
        text (str): Such as a[01-03,7],b.

    Returns:
        list[str]: One for each host.

    Raises:
        ValueError: A bracket is open.

    Example:
        >>> from argosy.distributed.fleet import schedulers
        >>> schedulers.expand_hosts("a[01-03,7],b")
        ['a01', 'a02', 'a03', 'a7', 'b']
    """
    out, depth, part = [], 0, ""
    for c in text + ",":
        if c == "," and depth == 0:
            if part:
                out += _expand_one(part)
            part = ""
            continue
        depth += (c == "[") - (c == "]")
        part += c
    if depth:
        raise ValueError(f"[fleet] the list of hosts {text!r} has an open bracket.")
    return out


def _expand_one(text):
    found = re.search(r"\[([^\]]*)\]", text)
    if not found:
        return [text]
    head, tail = text[: found.start()], text[found.end() :]
    out = []
    for piece in found[1].split(","):
        low, _, high = piece.partition("-")
        for i in range(int(low), int(high or low) + 1):
            out += _expand_one(f"{head}{i:0{len(low)}d}{tail}")
    return out


def _kubernetes_place(environ):
    rank = _integer(environ, "JOB_COMPLETION_INDEX")
    if "ARGOSY_PROCESSES" not in environ:
        raise ValueError(
            "[fleet] JOB_COMPLETION_INDEX is set (a Kubernetes Indexed Job) but not how many pods "
            "there are. Do this: give ARGOSY_PROCESSES (the Job's completions) in the pod's env."
        )
    size = _integer(environ, "ARGOSY_PROCESSES")
    hosts = None
    name = environ.get("HOSTNAME", "")
    suffix = f"-{rank}"
    if name.endswith(suffix):
        job = name[: -len(suffix)]
        domain = environ.get("ARGOSY_SUBDOMAIN", job)
        hosts = [f"{job}-{i}.{domain}" if domain else f"{job}-{i}" for i in range(size)]
    return Place("kubernetes", rank, size, hosts)


def complete(environ=None):
    """A dict with Paddle's variables filled in from a scheduler's; `environ` as it is when a
    launcher has set TRAINING_ROLE or there is no scheduler, or it started a single process.

    ARGOSY_PORT: port of the first server on a host, the others follow (default: by the job's
    number, else 36000).

    Args:
        environ (dict, optional): The variables; default: those of this process.

    Returns:
        dict: A new one, or environ.

    Raises:
        ValueError: The numbers of processes and servers do not fit.

    Example:
        >>> from argosy.distributed.fleet import schedulers
        >>> schedulers.complete({"TRAINING_ROLE": "TRAINER"})
        {'TRAINING_ROLE': 'TRAINER'}
    """
    environ = dict(os.environ if environ is None else environ)
    if environ.get("TRAINING_ROLE"):
        return environ
    place = find_place(environ)
    servers = [e for e in environ.get("PADDLE_PSERVERS_IP_PORT_LIST", "").split(",") if e]
    if place is None or (place.size < 2 and not servers and "ARGOSY_SERVERS" not in environ):
        return environ
    if not 0 <= place.rank < place.size:
        raise ValueError(f"[fleet] {place.scheduler} gives rank {place.rank} of {place.size}.")
    if not servers and "ARGOSY_SERVERS" not in environ:
        raise ValueError(
            f"[fleet] this process is {place.rank} of {place.size} that {place.scheduler} started, "
            "and nothing says how many of them are servers. Do this: set ARGOSY_SERVERS=N (the "
            "first N ranks serve, the others train) or PADDLE_PSERVERS_IP_PORT_LIST."
        )
    count = len(servers) if servers else _integer(environ, "ARGOSY_SERVERS")
    if not 1 <= count < place.size:
        raise ValueError(
            f"[fleet] {count} servers of {place.size} processes: expected at least one server and "
            "one worker. Do this: start more processes or set ARGOSY_SERVERS."
        )
    if not servers:
        servers = _server_endpoints(place, count, environ)
    workers = place.size - count
    environ["PADDLE_PSERVERS_IP_PORT_LIST"] = ",".join(servers)
    environ["PADDLE_TRAINERS_NUM"] = str(workers)
    if place.rank < count:
        host, _, port = servers[place.rank].rpartition(":")
        environ.update(TRAINING_ROLE="PSERVER", POD_IP=host, PADDLE_PORT=port)
        environ["PADDLE_PSERVER_ID"] = str(place.rank)
    else:
        environ["TRAINING_ROLE"] = "TRAINER"
        environ["PADDLE_TRAINER_ID"] = str(place.rank - count)
        if place.hosts is not None:
            environ.setdefault(
                "PADDLE_TRAINER_ENDPOINTS", ",".join(f"{h}:0" for h in place.hosts[count:])
            )
    return environ


def _server_endpoints(place, count, environ):
    if place.hosts is None:
        raise ValueError(
            f"[fleet] {place.scheduler} does not say on which hosts its {place.size} processes "
            "run. Do this: give the servers' addresses in PADDLE_PSERVERS_IP_PORT_LIST="
            "host:port,host:port (the first ranks must run there)."
        )
    if "ARGOSY_PORT" in environ:
        base = _integer(environ, "ARGOSY_PORT")
    else:
        base = _BASE_PORT if not place.job else 20000 + place.job * 37 % 12000
    used = {}
    out = []
    for host in place.hosts[:count]:
        used[host] = used.get(host, -1) + 1
        out.append(f"{host}:{base + used[host]}")
    return out
