"""Who is who in a job: servers, workers, their endpoints."""

import os

from argosy._job import number_of
from argosy._support import no_effect

from .. import schedulers

__all__ = ["PaddleCloudRoleMaker", "Role", "RoleMakerBase", "UserDefinedRoleMaker"]


class Role:
    """What a process does."""

    WORKER = 1
    SERVER = 2
    HETER_WORKER = 3
    ALL = 4
    COORDINATOR = 5


class RoleMakerBase:
    """A process's place in a job. What it is made from is read at the first question.

    Args:
        is_collective (bool): Whether the job has no servers.

    Example:
        >>> argosy.distributed.fleet.base.role_maker.RoleMakerBase(is_collective=True)._is_collective
        True
    """

    def __init__(self, is_collective=False):
        self._is_collective = is_collective
        self._role = None
        self._current_id = -1
        self._trainers_num = 0
        self._worker_endpoints = []
        self._server_endpoints = []
        self._alone = False
        self._generated = False

    def _read(self):
        raise NotImplementedError

    def _generate_role(self):
        if not self._generated:
            self._read()
            self._generated = True

    def _is_worker(self):
        self._generate_role()
        return self._role == Role.WORKER

    def _is_server(self):
        self._generate_role()
        return self._role == Role.SERVER

    def _is_first_worker(self):
        self._generate_role()
        return self._role == Role.WORKER and self._current_id == 0

    def _is_coordinator(self):
        return False

    def _is_heter_worker(self):
        return False

    def _is_non_distributed(self):
        self._generate_role()
        return self._alone

    def _role_id(self):
        self._generate_role()
        return self._current_id

    _worker_index = _server_index = _role_id

    def _worker_num(self):
        self._generate_role()
        return self._trainers_num

    def _server_num(self):
        return len(self._get_pserver_endpoints())

    def _get_node_num(self):
        """How many hosts the workers and servers run on."""
        self._generate_role()
        endpoints = self._worker_endpoints + self._server_endpoints
        return len({e.rpartition(":")[0] for e in endpoints}) or 1

    _node_num = _get_node_num

    def _get_local_rank(self):
        """Number of this worker on its host."""
        self._generate_role()
        text = os.environ.get("PADDLE_RANK_IN_NODE", "")
        if text:
            return int(text)
        if self._current_id < len(self._worker_endpoints):
            hosts = [e.rpartition(":")[0] for e in self._worker_endpoints]
            return hosts[: self._current_id].count(hosts[self._current_id])
        return self._current_id

    def _get_local_device_ids(self):
        return [0]

    def _get_world_device_ids(self):
        return [[0]] * max(1, self._worker_num())

    def _get_trainer_endpoints(self):
        self._generate_role()
        return list(self._worker_endpoints)

    def _get_pserver_endpoints(self):
        self._generate_role()
        return list(self._server_endpoints)

    def _get_trainer_endpoint(self):
        self._generate_role()
        if self._role != Role.WORKER:
            raise AssertionError("get_trainer_endpoint should be called by trainer")
        if self._current_id < len(self._worker_endpoints):
            return self._worker_endpoints[self._current_id]
        return ""

    def to_string(self):
        """The place for people.

        Returns:
            str: One line: role, number, endpoints.

        Example:
            >>> fleet = argosy.distributed.fleet
            >>> role = fleet.UserDefinedRoleMaker(
            ...     current_id=0, role=fleet.Role.WORKER, worker_num=1, server_endpoints=["127.0.0.1:6000"]
            ... )
            >>> role.to_string().split(", ")[1]
            'current_id: 0'
        """
        self._generate_role()
        return (
            f"role: {self._role}, current_id: {self._current_id}, "
            f"worker_endpoints: {self._worker_endpoints}, "
            f"server_endpoints: {self._server_endpoints}"
        )

    __str__ = to_string


def _needed(environ, name, why):
    text = environ.get(name, "")
    if not text:
        raise ValueError(
            f"Can not find {name}, please check your environment. ([fleet] {why}. Do this: start "
            "the program with `argosy launch`, or set it.)"
        )
    return text


def _needed_integer(environ, name, why, low=0):
    text = _needed(environ, name, why)
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or value < low:
        raise ValueError(
            f"[fleet] the environment variable {name} must be an integer >= {low}, got {text!r}."
        )
    return value


def _endpoints(environ, name):
    out = [e.strip() for e in environ.get(name, "").split(",") if e.strip()]
    return out


class PaddleCloudRoleMaker(RoleMakerBase):
    """Reads the place from the environment, as Paddle's launcher and clusters set it.

    Parameter server: PADDLE_PSERVERS_IP_PORT_LIST (without it the process is
    alone), PADDLE_TRAINERS_NUM, TRAINING_ROLE (TRAINER or PSERVER); a trainer's PADDLE_TRAINER_ID
    and PADDLE_TRAINER_ENDPOINTS; a server's POD_IP and PADDLE_PORT. What mpirun, srun and
    Kubernetes set is understood too (see fleet.schedulers). Collective: PADDLE_TRAINER_ID,
    PADDLE_TRAINERS_NUM, PADDLE_TRAINER_ENDPOINTS.

    Args:
        is_collective (bool): Whether the job has no servers.
        kwargs: Kept for subclasses.

    Raises:
        ValueError: A variable is missing or wrong, at the first question; the text names it.

    Example:
        >>> role = argosy.distributed.fleet.PaddleCloudRoleMaker(is_collective=True)
        >>> role.to_string().split(",")[1]
        ' current_id: 0'
    """

    def __init__(self, is_collective=False, **kwargs):
        super().__init__(is_collective)
        self._kwargs = kwargs

    def _read(self):
        if self._is_collective:
            self._read_collective()
        else:
            self._read_server()

    def _read_collective(self):
        environ = os.environ
        self._role = Role.WORKER
        self._current_id = int(environ.get("PADDLE_TRAINER_ID", "0") or 0)
        self._worker_endpoints = _endpoints(environ, "PADDLE_TRAINER_ENDPOINTS") or [
            "127.0.0.1:6170"
        ]
        self._trainers_num = len(self._worker_endpoints)
        declared = number_of("PADDLE_TRAINERS_NUM", self._trainers_num)
        if declared != self._trainers_num:
            raise ValueError(
                f"[fleet] PADDLE_TRAINERS_NUM={declared} processes are one job, but"
                f" PADDLE_TRAINER_ENDPOINTS has {self._trainers_num} addresses. Do this: list the"
                " address of each, or unset both to train alone."
            )
        self._alone = self._trainers_num == 1

    def _read_server(self):
        environ = schedulers.complete()
        servers = _endpoints(environ, "PADDLE_PSERVERS_IP_PORT_LIST")
        if not servers:
            declared = number_of("PADDLE_TRAINERS_NUM", 1)
            if declared > 1:
                raise ValueError(
                    f"[fleet] this process is one of PADDLE_TRAINERS_NUM={declared}, but there are no"
                    " servers to connect them. Do this: set PADDLE_PSERVERS_IP_PORT_LIST (argosy launch"
                    " --servers N --workers N does), or unset PADDLE_TRAINERS_NUM to train alone."
                )
            self._role, self._current_id, self._trainers_num = Role.WORKER, 0, 1
            self._alone = True
            return
        why = "PADDLE_PSERVERS_IP_PORT_LIST is set, so this is one process of a job"
        self._trainers_num = _needed_integer(environ, "PADDLE_TRAINERS_NUM", why, 1)
        role = _needed(environ, "TRAINING_ROLE", why)
        if role not in ("TRAINER", "PSERVER"):
            raise ValueError(
                "TRAINING_ROLE must be PSERVER or TRAINER, but get "
                f"{role}, please check your environment. ([fleet] heterogeneous trainers and "
                "coordinators are not supported.)"
            )
        self._worker_endpoints = _endpoints(environ, "PADDLE_TRAINER_ENDPOINTS")
        if role == "TRAINER":
            self._role = Role.WORKER
            self._current_id = _needed_integer(environ, "PADDLE_TRAINER_ID", why)
            if self._current_id >= self._trainers_num:
                raise ValueError(
                    f"[fleet] PADDLE_TRAINER_ID={self._current_id} is not below "
                    f"PADDLE_TRAINERS_NUM={self._trainers_num}."
                )
        else:
            self._role = Role.SERVER
            port = _needed(environ, "PADDLE_PORT", why)
            endpoint = f"{_needed(environ, 'POD_IP', why)}:{port}"
            if endpoint not in servers:
                raise ValueError(
                    f"[fleet] this server's endpoint {endpoint} (POD_IP:PADDLE_PORT) is not in "
                    f"list PADDLE_PSERVERS_IP_PORT_LIST={','.join(servers)}."
                )
            self._current_id = servers.index(endpoint)
        self._server_endpoints = servers


class UserDefinedRoleMaker(RoleMakerBase):
    """The place as the program says it.

    Args:
        is_collective (bool): Whether the job has no servers.
        init_gloo (bool): Has no effect; True gives a warning.
        kwargs: role (Role.WORKER or Role.SERVER), current_id (number among its kind), server_endpoints (list of
            ip:port), and worker_num or worker_endpoints. Collective: current_id and worker_endpoints.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> role = fleet.UserDefinedRoleMaker(
        ...     current_id=1, role=fleet.Role.WORKER, worker_num=2, server_endpoints=["127.0.0.1:6000"]
        ... )
        >>> role._worker_index(), role._worker_num()
        (1, 2)
    """

    def __init__(self, is_collective=False, init_gloo=False, **kwargs):
        super().__init__(is_collective)
        no_effect(
            "UserDefinedRoleMaker", "workers meet through the servers", init_gloo=(init_gloo, False)
        )
        self._kwargs = kwargs

    def _read(self):
        known = self._kwargs
        self._worker_endpoints = list(known.get("worker_endpoints") or [])
        self._server_endpoints = list(known.get("server_endpoints") or [])
        self._current_id = known.get("current_id", 0 if self._is_collective else None)
        if self._is_collective:
            self._role = Role.WORKER
            self._trainers_num = len(self._worker_endpoints) or 1
            self._alone = self._trainers_num == 1
            return
        self._trainers_num = known.get("worker_num", 0) or len(self._worker_endpoints)
        self._role = known.get("role")
        if self._trainers_num < 1:
            raise AssertionError(
                "[UserDefinedRoleMaker] the number of workers is missing. Do this: give worker_num "
                "or worker_endpoints."
            )
        if self._role not in (Role.WORKER, Role.SERVER):
            raise ValueError(
                f"[UserDefinedRoleMaker] role: expected Role.WORKER or Role.SERVER, got "
                f"{self._role!r}."
            )
        count = self._trainers_num if self._role == Role.WORKER else len(self._server_endpoints)
        if not isinstance(self._current_id, int) or not 0 <= self._current_id < count:
            raise IndexError(
                f"[UserDefinedRoleMaker] current_id: expected a number in [0, {count}) "
                f"({'workers' if self._role == Role.WORKER else 'servers'}), got "
                f"{self._current_id!r}."
            )
