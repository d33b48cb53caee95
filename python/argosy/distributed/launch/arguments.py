"""Arguments of `argosy launch`, and the plan of processes they make."""

import argparse
import os
import pathlib
import re
import secrets
import socket

from argosy._job import is_on

from . import ports
from .checks import check_options
from .folders import job_folder
from .nodes import DEFAULT_PORT, Nodes
from .supervision import say

__all__ = ["Plan", "Task", "add_arguments", "make_plan", "parser", "unprotected"]

_MAX_RESTART = 3
_SNAPSHOT_SECONDS = 300


class Task:
    """One process to be: name (worker.0), kind (server, worker), number, its environment."""

    def __init__(self, kind, number, environ, log):
        self.kind = kind
        self.number = number
        self.environ = environ
        self.log = log

    @property
    def name(self):
        """server.0, worker.1."""
        return f"{self.kind}.{self.number}"


class Plan:
    """What is started: tasks of this host, the command, and how failures are met.

    job: its name. mark: drawn for each launch, in the environment of all that belongs to it. folder:
    the name of folders of this launch alone. nodes: the launchers of all hosts, None for one. restart_any: restart after any failure; else only after
    death by a signal. whole: the job has no processes that other launchers started.
    """

    def __init__(self, options, tasks, job, mark, whole, nodes=None):
        self.tasks = tasks
        self.job = job
        self.mark = mark
        self.folder = job_folder(job, mark)
        self.whole = whole
        self.nodes = nodes
        # Processes of one group: none can be restarted alone, and each ends when another has failed.
        self.together = (len(tasks) > 1 or nodes is not None) and all(
            task.kind == "worker"
            and "PADDLE_PSERVERS_IP_PORT_LIST" not in task.environ
            and "TRAINING_ROLE" not in task.environ
            for task in tasks
        )
        self.command = _command(options)
        self.log_dir = os.path.abspath(options.log_dir)
        self.cpus = options.cpus
        self.ray_address = options.ray_address
        self.max_restart = _MAX_RESTART if options.max_restart is None else options.max_restart
        self.restart_any = options.max_restart is not None
        self.durable = options.durability != "none"
        # Where servers keep their state; ours: in a folder of this launch.
        self.state_dir = tasks[0].environ.get("ARGOSY_PS_DIRECTORY", "")
        self.state_is_ours = not options.durability_dir
        self.grace = options.grace
        self.stream = options.stream


def parser(prog="argosy launch"):
    """The argument parser."""
    out = argparse.ArgumentParser(
        prog=prog,
        description="Start a program as servers and workers of one job, watch them, restart what "
        "dies. Without servers: as processes of this host that exchange tensors, one by default.",
    )
    add_arguments(out)
    return out


def add_arguments(out):
    """Adds the arguments of launch to a parser."""
    group = out.add_argument_group("processes")
    group.add_argument(
        "--servers",
        "--server_num",
        metavar="N|IP:PORT,..",
        help="how many servers on this host, or the addresses of all servers of the job",
    )
    group.add_argument(
        "--workers",
        "--worker_num",
        "--trainers",
        "--trainer_num",
        metavar="N|IP:PORT,..",
        help="how many workers on this host, or the addresses of all workers of the job",
    )
    group.add_argument("--run_mode", choices=("ps", "collective"), help="default: by --servers")
    group.add_argument("--host", help="this host among the addresses (default: its own addresses)")
    group.add_argument("--start_port", type=int, help="first port (default: free ones)")
    group.add_argument("--nproc_per_node", type=int, help="processes without servers (default: 1)")
    group.add_argument("--nnodes", default="1", help="hosts of a job without servers (default 1)")
    group.add_argument(
        "--master",
        metavar="HOST:PORT",
        help="where the launchers of all hosts meet: one of the hosts",
    )
    group.add_argument("--rank", help="this host's number among them (default: as they come)")
    group.add_argument("--ips", metavar="HOST,..", help="the hosts; they meet on the first one")
    for name in ("--log_level", "--log_overwrite", "--with_gloo"):  # of Paddle's own launcher
        group.add_argument(name, help=argparse.SUPPRESS)
    for name in ("devices", "gpus", "xpus"):
        group.add_argument(
            f"--{name}",
            metavar="NUMBER,..",
            help="of the devices of a job without servers: a process for each, on the CPUs",
        )
    group.add_argument("--job_id", help="name of the job (default: drawn)")
    group.add_argument("--on", choices=("local", "ray"), default="local", help="what runs the job")
    group.add_argument("--ray_address", help="of the Ray cluster (default: as ray.init finds it)")
    group.add_argument(
        "--cpus", type=float, default=1, help="with --on ray: cores of each process (default 1)"
    )

    group = out.add_argument_group("failures")
    group.add_argument(
        "--max_restart",
        type=int,
        help=f"restart a failed process so often, whatever its failure (default: {_MAX_RESTART} "
        "times when a signal killed it, never when it ended by an error)",
    )
    group.add_argument(
        "--durability",
        choices=("none", "snapshot", "log"),
        default="none",
        help="what servers keep on disk; a server is only restarted with snapshot or log",
    )
    group.add_argument("--durability_dir", help="where (default: in LOG_DIR/state, anew)")
    group.add_argument(
        "--snapshot_seconds",
        type=float,
        help=f"between snapshots (default {_SNAPSHOT_SECONDS})",
    )
    group.add_argument(
        "--grace", type=float, default=10, help="seconds between SIGTERM and SIGKILL (default 10)"
    )

    group.add_argument(
        "--save_root",
        action="append",
        metavar="DIR",
        help="servers save to and load from folders in DIR; repeatable (default: the working folder)",
    )

    group = out.add_argument_group("output")
    group.add_argument("--log_dir", default="log", help="serverlog.N and workerlog.N (default log)")
    group.add_argument(
        "--stream",
        choices=("first", "all", "none"),
        default="first",
        help="whose output is shown: worker 0's (default), everyone's, nobody's",
    )

    group = out.add_argument_group("security")
    group.add_argument("--tls_ca", help="PEM file of the authority that signed the servers")
    group.add_argument("--tls_cert", help="PEM file of the servers' certificate")
    group.add_argument("--tls_key", help="PEM file of its key")
    group.add_argument(
        "--insecure", action="store_true", help="let servers listen beyond this host without TLS"
    )
    group = out.add_argument_group("program")
    group.add_argument("-m", "--module", action="store_true", help="PROGRAM is a module's name")
    out.add_argument("program", metavar="PROGRAM", help="a Python file, or any executable")
    out.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT")


def _command(options):
    import sys

    if options.module:
        return [sys.executable, "-u", "-m", options.program, *options.arguments]
    if options.program.endswith(".py") or not os.access(options.program, os.X_OK):
        return [sys.executable, "-u", options.program, *options.arguments]
    return [os.path.abspath(options.program), *options.arguments]


def _endpoints(text, what):
    """A list of ip:port, or a number."""
    if text is None:
        return None
    text = text.strip()
    if text.isdigit():
        return int(text)
    out = [part.strip() for part in text.split(",") if part.strip()]
    for part in out:
        host, colon, port = part.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(
                f"{what}: expected a number or addresses ip:port,ip:port, got {part!r}."
            )
    if len(set(out)) != len(out):
        raise ValueError(f"{what}: an address is there twice: {text}.")
    return out


def _is_here(address, here):
    host = address.rpartition(":")[0]
    return host in here


def _addresses_of_this_host(name):
    if name:
        return {name}
    here = {"127.0.0.1", "localhost", "::1", socket.gethostname(), os.environ.get("POD_IP", "")}
    here.discard("")
    try:
        here.update(info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None))
    except OSError:
        pass
    # The address by which the host reaches others; nothing is sent.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))
            here.add(probe.getsockname()[0])
        except OSError:
            pass
    return here


def make_plan(options):
    """The Plan of parsed arguments. Raises ValueError that says what is wrong with them."""
    if options.max_restart is not None and options.max_restart < 0:
        raise ValueError(f"--max_restart: expected a number >= 0, got {options.max_restart}.")
    if not options.module and not os.path.exists(options.program):
        raise ValueError(f"there is no program {options.program!r}.")
    check_options(options, vars(parser().parse_args(["PROGRAM"])))
    servers = _endpoints(options.servers, "--servers")
    workers = _endpoints(options.workers, "--workers")
    job = options.job_id or f"argosy-{os.getpid()}-{secrets.token_hex(4)}"
    mark = secrets.token_hex(16)
    if os.environ.get("ARGOSY_JOB_MARK"):  # a launch by a process of a job belongs to that, too
        mark = f"{os.environ['ARGOSY_JOB_MARK']},{mark}"
    environ = _common_environ(options, job, mark)
    nodes = None
    if options.run_mode == "collective" or not servers:
        if servers or options.run_mode == "ps":
            raise ValueError(
                "servers and workers need --servers N (run_mode ps); --run_mode collective has none."
            )
        tasks, nodes = _collective(options, workers, environ)
    else:
        if options.on == "ray":
            tasks = _members(servers, workers, environ)
        else:
            tasks = _parameter_server(options, servers, workers, environ)
    whole = True
    if options.on == "local" and nodes is None:
        lists = ("PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINER_ENDPOINTS")
        known = tasks[0].environ
        whole = len(tasks) == sum(len(known[n].split(",")) for n in lists if n in known)
        for task in tasks:
            host, _, port = task.environ["PADDLE_CURRENT_ENDPOINT"].rpartition(":")
            if task.kind == "server":
                ports.check(host, int(port))
    return Plan(options, tasks, job, mark, whole, nodes)


def _common_environ(options, job, mark):
    environ = {"ARGOSY_JOB_ID": job, "PADDLE_JOB_ID": job, "PYTHONUNBUFFERED": "1"}
    environ["ARGOSY_JOB_MARK"] = mark
    environ["ARGOSY_PS_SAVE_ROOTS"] = _save_roots(options)
    # `import paddle` gives argosy, as with `argosy run`.
    site = str(pathlib.Path(__file__).resolve().parents[2] / "cli" / "site")
    path = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != site]
    environ["PYTHONPATH"] = os.pathsep.join([site, *path])
    environ["PADDLE_LOG_DIR"] = os.path.abspath(options.log_dir)
    environ["ARGOSY_PS_DURABILITY"] = options.durability
    if options.durability != "none":
        folder = os.path.join("state", job_folder(job, mark))
        if options.on == "ray":  # a node's folder, not this launcher's
            folder = f"state-{job}"
        environ["ARGOSY_PS_DIRECTORY"] = os.path.abspath(
            options.durability_dir or os.path.join(options.log_dir, folder)
        )
        seconds = options.snapshot_seconds
        seconds = _SNAPSHOT_SECONDS if seconds is None else seconds
        environ["ARGOSY_PS_SNAPSHOT_SECONDS"] = str(seconds)
    for option, name in (("tls_ca", "CA"), ("tls_cert", "CERT"), ("tls_key", "KEY")):
        value = getattr(options, option)
        if value:
            if not os.path.exists(value):
                raise ValueError(f"--{option}: there is no file {value!r}.")
            environ[f"ARGOSY_TLS_{name}"] = os.path.abspath(value)
    if options.insecure:
        environ["ARGOSY_INSECURE"] = "1"
    return environ


def _save_roots(options):
    """For ARGOSY_PS_SAVE_ROOTS."""
    if not options.save_root:
        return os.environ.get("ARGOSY_PS_SAVE_ROOTS", "") or os.getcwd()
    for root in options.save_root:
        if os.pathsep in root:
            raise ValueError(
                f"--save_root: expected a folder without {os.pathsep!r}, got {root!r}."
            )
    return os.pathsep.join(os.path.abspath(root) for root in options.save_root)


def _secrets(alone):
    """The job's two secrets: as given, else drawn if all processes are this launcher's (`alone`)."""
    out = {}
    for name in ("ARGOSY_JOB_TOKEN", "ARGOSY_JOB_ADMIN_TOKEN"):
        out[name] = os.environ.get(name, "") or (secrets.token_hex(16) if alone else "")
    return out


def _count_of_processes(options, workers):
    """How many processes without servers this host is asked for. Raises ValueError where the arguments
    differ."""
    if isinstance(workers, list):
        hosts = len({worker.rpartition(":")[0] for worker in workers})
        if hosts > 1:
            raise ValueError(
                f"--workers: expected addresses of one host without --servers, got those of {hosts}. Do"
                " this: --nnodes N --master HOST:PORT --nproc_per_node N on each host."
            )
    asked = {
        "--nproc_per_node": options.nproc_per_node,
        "--workers": len(workers) if isinstance(workers, list) else workers,
    }
    for name in ("devices", "gpus", "xpus"):
        asked[f"--{name}"] = len(_listed(getattr(options, name))) or None
    asked = {name: count for name, count in asked.items() if count is not None}
    if len(set(asked.values())) > 1:
        raise ValueError(
            "expected one number of processes, got "
            + ", ".join(f"{name} {count}" for name, count in asked.items())
            + "."
        )
    count = next(iter(asked.values()), 1)
    if count < 1:
        raise ValueError(f"{next(iter(asked))}: expected at least one process, got {count}.")
    return count


def _listed(text):
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _hosts(options):
    """How many hosts, where their launchers meet, and which this one is (None: as they come). Raises
    ValueError where the arguments differ."""
    if not re.fullmatch(r"[1-9]\d*", options.nnodes):
        raise ValueError(
            f"--nnodes: expected a number of hosts, got {options.nnodes}. Do this: say how many there are;"
            " a job does not grow or shrink while it runs."
        )
    count, hosts = int(options.nnodes), _listed(options.ips)
    if hosts and count not in (1, len(hosts)):
        raise ValueError(f"--ips has {len(hosts)} hosts, --nnodes says {count}.")
    count = max(count, len(hosts))
    rank = None if options.rank in (None, "", "-1") else options.rank
    if rank is not None and not (rank.isdigit() and int(rank) < count):
        raise ValueError(
            f"--rank: expected the number of this host, below --nnodes {count}, got {rank}."
        )
    master = options.master
    if hosts and count > 1:
        master = master or f"{hosts[0]}:{options.start_port or DEFAULT_PORT}"
        if rank is None:
            here = _addresses_of_this_host(options.host)
            found = [number for number, host in enumerate(hosts) if host in here]
            if len(found) != 1:
                raise ValueError(
                    f"--ips: expected one that is this host ({', '.join(sorted(here))}), found"
                    f" {len(found)}. Do this: --rank with the number of this host, or --host."
                )
            rank = found[0]
    if count > 1 and not master:
        raise ValueError(
            f"--nnodes {count}: expected --master HOST:PORT, where the launchers of all hosts meet. Do"
            " this: give all of them the same address of one of the hosts."
        )
    return count, master, None if rank is None else int(rank)


def _meet(options, count):
    """The launchers of all hosts; None where there is one."""
    hosts, master, rank = _hosts(options)
    if hosts == 1:
        return None
    if options.on == "ray":
        raise ValueError("--on ray places the processes itself, on hosts of its own: no --nnodes.")
    token = os.environ.get("ARGOSY_JOB_TOKEN", "")
    if not token:
        say(
            "ARGOSY_JOB_TOKEN is not set: whoever reaches these hosts' ports can join the job. Do this:"
            " set it to the same secret on all hosts."
        )
    return Nodes(hosts, master, rank, count, token)


def _collective(options, workers, environ):
    count = _count_of_processes(options, workers)
    nodes = _meet(options, count)
    if nodes is not None:
        return _collective_of_node(options, nodes, count, environ), nodes
    if count > 1 and options.on == "ray":
        raise ValueError("--on ray places servers and workers: --servers N --workers N.")
    if isinstance(workers, list):
        here = _addresses_of_this_host(options.host)
        if not all(_is_here(worker, here) for worker in workers):
            raise ValueError(f"--workers: {', '.join(workers)} are not of this host.")
        endpoints = workers
    else:
        first = options.start_port
        free = range(first, first + count) if first else ports.pick(count)
        endpoints = [f"127.0.0.1:{port}" for port in free]
    environ = dict(
        environ,
        PADDLE_TRAINERS_NUM=str(count),
        PADDLE_GLOBAL_SIZE=str(count),
        PADDLE_LOCAL_SIZE=str(count),
        PADDLE_NNODES="1",
        PADDLE_TRAINER_ENDPOINTS=",".join(endpoints),
    )
    if count > 1:
        environ["PADDLE_MASTER"] = options.master or endpoints[0]
        environ["ARGOSY_JOB_TOKEN"] = _secrets(True)["ARGOSY_JOB_TOKEN"]
    return _ranks_of_host(environ, endpoints, 0), None


def _ranks_of_host(environ, endpoints, first):
    """Tasks of this host, whose numbers begin at `first`."""
    tasks = []
    for here, endpoint in enumerate(endpoints):
        rank = first + here
        own = dict(environ, PADDLE_CURRENT_ENDPOINT=endpoint)
        for name, number in (
            ("TRAINER_ID", rank),
            ("GLOBAL_RANK", rank),
            ("LOCAL_RANK", here),
            ("RANK_IN_NODE", here),
        ):
            own[f"PADDLE_{name}"] = str(number)
        tasks.append(Task("worker", rank, own, f"workerlog.{here}"))
    _share_cores(tasks)
    return tasks


def _collective_of_node(options, nodes, count, environ):
    first = options.start_port or DEFAULT_PORT + 1
    endpoints = []  # nobody listens there: they say which host each process is on
    for node in nodes.nodes:
        host = f"[{node['host']}]" if ":" in node["host"] else node["host"]
        endpoints += [f"{host}:{first + i}" for i in range(node["processes"])]
    job = nodes.agree("job", environ["ARGOSY_JOB_ID"])
    if options.job_id not in (None, job):
        raise ValueError(
            f"--job_id: expected that of the first launcher, {job}, got {options.job_id}. Do this: give all"
            " launchers of a job the same, and each job a --master of its own."
        )
    environ = dict(
        environ,
        PADDLE_TRAINERS_NUM=str(nodes.world),
        PADDLE_GLOBAL_SIZE=str(nodes.world),
        PADDLE_LOCAL_SIZE=str(count),
        PADDLE_NNODES=str(nodes.count),
        PADDLE_NODE_RANK=str(nodes.rank),
        PADDLE_TRAINER_ENDPOINTS=",".join(endpoints),
        ARGOSY_STORE_SERVED="1",
        ARGOSY_JOB_ID=job,
        PADDLE_JOB_ID=job,
    )
    return _ranks_of_host(environ, endpoints[nodes.first : nodes.first + count], nodes.first)


def unprotected(hosts, environ):
    """What to say when servers would listen to other hosts without TLS and nobody allowed it; ''."""
    open_to_others = [host for host in hosts if host not in ("localhost", "::1")]
    open_to_others = [host for host in open_to_others if not host.startswith("127.")]
    environ = {**os.environ, **environ}
    if not open_to_others or environ.get("ARGOSY_TLS_CERT") or is_on(environ, "ARGOSY_INSECURE"):
        return ""
    return (
        f"servers on {', '.join(sorted(open_to_others))} are reached from other hosts, unprotected. "
        "Do this: --tls_ca, --tls_cert and --tls_key, or --insecure on a network of your own."
    )


# Threads of NumPy's OpenBLAS look for work for 2^n cycles before they sleep: by default for tens of
# milliseconds, in which another process of the job may need their core.
_BLAS_PATIENCE = "14"


def _share_cores(tasks):
    """Divides this host's cores among its workers, and among its servers, unless the user has."""
    for task in tasks:
        patience = os.environ.get("OPENBLAS_THREAD_TIMEOUT", _BLAS_PATIENCE)
        task.environ["OPENBLAS_THREAD_TIMEOUT"] = patience
    if os.environ.get("ARGOSY_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS"):
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for task in tasks:
        sharing = sum(other.kind == task.kind for other in tasks)
        if sharing > 1:
            task.environ["ARGOSY_NUM_THREADS"] = str(max(1, cores // sharing))


def _members(servers, workers, environ):
    """Tasks whose addresses the cluster will choose."""
    workers = 1 if workers is None else workers
    if not isinstance(servers, int) or not isinstance(workers, int) or workers < 1:
        raise ValueError("--on ray places the processes itself: --servers N --workers N.")
    environ = dict(environ, PADDLE_TRAINERS_NUM=str(workers), **_secrets(True))
    tasks = []
    for kind, role, count in (("server", "PSERVER", servers), ("worker", "TRAINER", workers)):
        for number in range(count):
            own = dict(environ, TRAINING_ROLE=role, PADDLE_ROLE=role)
            own["PADDLE_TRAINER_ID" if kind == "worker" else "PADDLE_PSERVER_ID"] = str(number)
            tasks.append(Task(kind, number, own, f"{kind}log.{number}"))
    return tasks


def _parameter_server(options, servers, workers, environ):
    here = _addresses_of_this_host(options.host)
    workers = 1 if workers is None else workers
    count = (servers if isinstance(servers, int) else 0) + (
        workers if isinstance(workers, int) else 0
    )
    local = options.host or "127.0.0.1"
    if options.start_port:
        free = list(range(options.start_port, options.start_port + count))
    else:
        free = ports.pick(count)
    if isinstance(servers, int):
        servers = [f"{local}:{free.pop(0)}" for _ in range(servers)]
    if isinstance(workers, int):
        if workers < 1:
            raise ValueError("--workers: expected at least one.")
        workers = [f"{local}:{free.pop(0)}" for _ in range(workers)]
    everyone = servers + workers
    alone = all(_is_here(address, here) for address in everyone)
    tokens = _secrets(alone)
    if not tokens["ARGOSY_JOB_TOKEN"] and not options.insecure:
        raise ValueError(
            "the job spans hosts, which need one secret. Do this: set ARGOSY_JOB_TOKEN to the same "
            "string on all of them, or --insecure."
        )
    hosts = {address.rpartition(":")[0] for address in everyone}
    wrong = unprotected({address.rpartition(":")[0] for address in servers}, environ)
    if wrong:
        raise ValueError(wrong)
    environ = dict(
        environ,
        PADDLE_PSERVERS_IP_PORT_LIST=",".join(servers),
        PADDLE_TRAINER_ENDPOINTS=",".join(workers),
        PADDLE_TRAINERS_NUM=str(len(workers)),
        PADDLE_NNODES=str(len(hosts)),
        **tokens,
    )
    tasks = []
    for kind, role, addresses in (("server", "PSERVER", servers), ("worker", "TRAINER", workers)):
        in_node = 0
        for number, address in enumerate(addresses):
            if not _is_here(address, here):
                continue
            host, _, port = address.rpartition(":")
            own = dict(
                environ,
                TRAINING_ROLE=role,
                PADDLE_ROLE=role,
                POD_IP=host,
                PADDLE_PORT=port,
                PADDLE_CURRENT_ENDPOINT=address,
                PADDLE_RANK_IN_NODE=str(in_node),
            )
            own["PADDLE_TRAINER_ID" if kind == "worker" else "PADDLE_PSERVER_ID"] = str(number)
            tasks.append(Task(kind, number, own, f"{kind}log.{number}"))
            in_node += 1
    _share_cores(tasks)
    if not tasks:
        raise ValueError(
            f"none of {', '.join(everyone)} is this host ({', '.join(sorted(here))}). Do this: "
            "--host with this host's name among the addresses."
        )
    return tasks
