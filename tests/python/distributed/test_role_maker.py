"""Role makers: what the environment and arguments say. Expected values are Paddle 2.6.2's answers to
the same environments, except where a comment says otherwise."""

import pytest

import argosy
from argosy.distributed import fleet
from argosy.distributed.fleet import schedulers

_JOB = {
    "PADDLE_PSERVERS_IP_PORT_LIST": "127.0.0.1:36001,127.0.0.1:36002",
    "PADDLE_TRAINERS_NUM": "2",
    "PADDLE_TRAINER_ENDPOINTS": "127.0.0.1:36011,127.0.0.1:36012",
}


@pytest.fixture
def environ(monkeypatch):
    """Sets the variables of a process; all others of launchers and schedulers are not there."""
    import os

    def put(**variables):
        for name in list(os.environ):
            if name.startswith(
                ("PADDLE_", "TRAINING_", "POD_", "ARGOSY_", "OMPI_", "SLURM_", "PMI_", "JOB_")
            ):
                monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    put()
    return put


def _answers(role):
    return {
        "worker": role._is_worker(),
        "server": role._is_server(),
        "first": role._is_first_worker(),
        "id": role._role_id(),
        "workers": role._worker_num(),
        "servers": role._server_num(),
        "alone": role._is_non_distributed(),
    }


def _expect(worker, server, first, number, workers, servers, alone):
    return dict(
        worker=worker,
        server=server,
        first=first,
        id=number,
        workers=workers,
        servers=servers,
        alone=alone,
    )


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({}, _expect(True, False, True, 0, 1, 0, True)),
        (
            {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "0", "PADDLE_TRAINERS_NUM": "1"},
            _expect(True, False, True, 0, 1, 0, True),
        ),
        (
            {**_JOB, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "0"},
            _expect(True, False, True, 0, 2, 2, False),
        ),
        (
            {**_JOB, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "1"},
            _expect(True, False, False, 1, 2, 2, False),
        ),
        (
            {**_JOB, "TRAINING_ROLE": "PSERVER", "POD_IP": "127.0.0.1", "PADDLE_PORT": "36002"},
            _expect(False, True, False, 1, 2, 2, False),
        ),
    ],
)
def test_paddle_cloud(environ, variables, expected):
    environ(**variables)
    assert _answers(fleet.PaddleCloudRoleMaker()) == expected


@pytest.mark.parametrize(
    "number, text", [("2", "there are no servers to connect them"), ("x", "must be an integer")]
)
def test_several_workers_without_servers_do_not_train_alone(environ, number, text):
    environ(TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="0", PADDLE_TRAINERS_NUM=number)
    with pytest.raises(ValueError, match=text):
        fleet.init()


@pytest.mark.parametrize(
    "variables, text",
    [
        ({"TRAINING_ROLE": "TRAINER"}, "Can not find PADDLE_TRAINER_ID"),
        ({"PADDLE_TRAINER_ID": "1"}, "Can not find TRAINING_ROLE"),
        ({"TRAINING_ROLE": "PSERVER", "POD_IP": "127.0.0.1"}, "Can not find PADDLE_PORT"),
        ({"TRAINING_ROLE": "PSERVER", "PADDLE_PORT": "36002"}, "Can not find POD_IP"),
        (
            {"TRAINING_ROLE": "PSERVER", "POD_IP": "127.0.0.1", "PADDLE_PORT": "36009"},
            "127.0.0.1:36009 .* is not in list",
        ),
        ({"TRAINING_ROLE": "FOO"}, "TRAINING_ROLE must be PSERVER or TRAINER.* but get FOO"),
        (
            {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "2"},
            "is not below PADDLE_TRAINERS_NUM",
        ),
        ({"PADDLE_TRAINERS_NUM": "x"}, "PADDLE_TRAINERS_NUM must be an integer"),
        ({"PADDLE_TRAINERS_NUM": ""}, "Can not find PADDLE_TRAINERS_NUM"),
    ],
)
def test_an_incomplete_environment_is_named(environ, variables, text):
    environ(**{**_JOB, **variables})
    with pytest.raises(ValueError, match=text):
        fleet.init()


def test_endpoints(environ):
    environ(**_JOB, TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="1")
    fleet.init()
    assert fleet.server_endpoints() == ["127.0.0.1:36001", "127.0.0.1:36002"]
    assert fleet.server_endpoints(to_string=True) == "127.0.0.1:36001,127.0.0.1:36002"
    assert fleet.worker_endpoints(True) == "127.0.0.1:36011,127.0.0.1:36012"
    assert (fleet.node_num(), fleet.local_rank(), fleet.rank(), fleet.nranks()) == (1, 1, 1, 2)
    role = fleet.fleet._role_maker
    assert role._get_trainer_endpoint() == "127.0.0.1:36012"
    assert role.to_string() == (
        "role: 1, current_id: 1, worker_endpoints: ['127.0.0.1:36011', '127.0.0.1:36012'], "
        "server_endpoints: ['127.0.0.1:36001', '127.0.0.1:36002']"
    )


def test_several_hosts(environ):
    hosts = {
        "PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.1:36001,10.0.0.2:36001",
        "PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:36011,10.0.0.2:36011",
    }
    environ(**{**_JOB, **hosts}, TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="1")
    fleet.init()
    assert (fleet.node_num(), fleet.local_rank()) == (2, 0)


def test_user_defined(environ):
    servers = ["127.0.0.1:1", "127.0.0.1:2"]
    make = fleet.UserDefinedRoleMaker
    role = make(current_id=1, role=fleet.Role.SERVER, worker_num=2, server_endpoints=servers)
    assert _answers(role) == _expect(False, True, False, 1, 2, 2, False)
    with pytest.raises(AssertionError, match="should be called by trainer"):
        role._get_trainer_endpoint()
    role = make(
        current_id=0,
        role=fleet.Role.WORKER,
        worker_endpoints=["127.0.0.1:11", "127.0.0.1:12"],
        server_endpoints=servers,
    )
    assert _answers(role) == _expect(True, False, True, 0, 2, 2, False)
    role = make(is_collective=True, current_id=1, worker_endpoints=["127.0.0.1:11", "127.0.0.1:12"])
    assert (role._worker_num(), role._server_num(), role._role_id()) == (2, 0, 1)
    with pytest.raises(AssertionError, match="worker_num or worker_endpoints"):
        make()._generate_role()
    with pytest.raises(IndexError, match=r"in \[0, 2\) \(servers\), got 9"):
        make(
            current_id=9, role=fleet.Role.SERVER, worker_num=2, server_endpoints=servers
        )._generate_role()


def test_collective(environ):
    environ()
    fleet.init(is_collective=True)
    assert (fleet.worker_num(), fleet.worker_index(), fleet.is_worker()) == (1, 0, True)
    environ(PADDLE_TRAINER_ID="1", PADDLE_TRAINER_ENDPOINTS="127.0.0.1:1,127.0.0.1:2")
    with pytest.raises(ValueError, match="expected PADDLE_TRAINERS_NUM to say how many"):
        fleet.init(is_collective=True)  # it would train alone


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ({"role_maker": 3}, ValueError, "subclass of `RoleMakerBase`"),
        ({"is_collective": 3}, ValueError, "instance of `bool`"),
        ({"strategy": 3}, TypeError, "expected DistributedStrategy, got int"),
        ({"log_level": "FOO"}, ValueError, "FOO"),
    ],
)
def test_init_refuses(environ, arguments, error, text):
    with pytest.raises(error, match=text):
        fleet.init(**arguments)


def test_dynamic_training_of_one_process(environ):
    """A collective program with one process: fleet adds nothing."""
    environ()
    fleet.init(is_collective=True)
    layer = argosy.nn.Linear(3, 1)
    model = fleet.distributed_model(layer)
    optimizer = fleet.distributed_optimizer(
        argosy.optimizer.SGD(0.5, parameters=layer.parameters())
    )
    assert isinstance(optimizer, argosy.optimizer.Optimizer)
    before = layer.bias.numpy()
    model(argosy.ones([2, 3])).mean().backward()
    optimizer.step()
    optimizer.clear_grad()
    assert layer.bias.numpy() == before - 0.5
    loss = model(argosy.ones([2, 3])).mean()
    loss.backward()
    fleet.minimize(loss)
    assert layer.bias.numpy() == before - 1.0


def test_nothing_before_init():
    job = fleet.Fleet()
    for call in (job.worker_num, job.is_server, job.barrier_worker, job.init_worker):
        with pytest.raises(RuntimeError, match=r"Do this: fleet.init\(\)"):
            call()


def test_calls_in_the_wrong_place(environ):
    environ(**_JOB, TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="0")
    job = fleet.Fleet().init()
    with pytest.raises(RuntimeError, match="minimize"):
        job.init_worker()
    with pytest.raises(RuntimeError, match="after fleet.init_worker"):
        job.util.barrier()
    with pytest.raises(RuntimeError, match="there is no optimizer"):
        job.minimize(None)


# Schedulers

_MPI = {
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    "OMPI_MCA_ess_base_jobid": "2017329153",
}


def test_mpirun(environ):
    environ(**_MPI, ARGOSY_SERVERS="1")
    job = fleet.Fleet().init()
    assert (job.is_worker(), job.worker_index(), job.worker_num()) == (True, 1, 3)
    endpoint = job.server_endpoints()
    environ(**{**_MPI, "OMPI_COMM_WORLD_RANK": "0"}, ARGOSY_SERVERS="1")
    job = fleet.Fleet().init()
    # All processes find the same address by themselves.
    assert job.is_server() and job.server_endpoints() == endpoint
    assert endpoint[0].startswith("127.0.0.1:") and job.node_num() == 1


def test_mpirun_over_hosts_needs_addresses(environ):
    over = {**_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    environ(**over, ARGOSY_SERVERS="2")
    with pytest.raises(ValueError, match="does not say on which hosts .* PADDLE_PSERVERS_IP"):
        fleet.init()
    environ(**over, PADDLE_PSERVERS_IP_PORT_LIST="a:6000,b:6000")
    job = fleet.Fleet().init()
    assert (job.worker_index(), job.worker_num(), job.server_num()) == (0, 2, 2)


def test_a_scheduler_and_no_number_of_servers(environ):
    environ(**_MPI)
    with pytest.raises(ValueError, match="2 of 4 that mpirun started.* ARGOSY_SERVERS=N"):
        fleet.init()
    environ(**_MPI, ARGOSY_SERVERS="4")
    with pytest.raises(ValueError, match="4 servers of 4 processes"):
        fleet.init()


def test_a_launcher_goes_before_a_scheduler(environ):
    environ(**_MPI, **_JOB, TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="1")
    assert fleet.Fleet().init().worker_index() == 1


def test_mpirun_of_one_process(environ):
    environ(OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1")
    assert fleet.Fleet().init().server_num() == 0


def test_srun(environ):
    slurm = {
        "SLURM_STEP_NUM_TASKS": "5",
        "SLURM_STEP_NODELIST": "node[08-09],big",
        "SLURM_STEP_TASKS_PER_NODE": "2(x2),1",
        "SLURM_JOB_ID": "77",
        "ARGOSY_SERVERS": "3",
        "ARGOSY_PORT": "7000",
    }
    roles = []
    for rank in range(5):
        environ(**slurm, SLURM_PROCID=str(rank))
        job = fleet.Fleet().init()
        assert job.server_endpoints() == ["node08:7000", "node08:7001", "node09:7000"]
        roles.append((job.is_server(), job.rank()))
    assert roles == [(True, 0), (True, 1), (True, 2), (False, 0), (False, 1)]
    # A batch script has SLURM_PROCID too: it is not one of several.
    environ(SLURM_PROCID="0", SLURM_NTASKS="4")
    assert fleet.Fleet().init().server_num() == 0


def test_kubernetes(environ):
    pods = {"JOB_COMPLETION_INDEX": "2", "HOSTNAME": "ctr-2", "ARGOSY_SERVERS": "2"}
    environ(**pods)
    with pytest.raises(ValueError, match="ARGOSY_PROCESSES"):
        fleet.init()
    environ(**pods, ARGOSY_PROCESSES="4", ARGOSY_SUBDOMAIN="train")
    job = fleet.Fleet().init()
    assert job.server_endpoints() == ["ctr-0.train:36000", "ctr-1.train:36000"]
    assert (job.is_worker(), job.worker_index(), job.worker_num()) == (True, 0, 2)


@pytest.mark.parametrize(
    "text, hosts",
    [
        ("a", ["a"]),
        ("a,b1", ["a", "b1"]),
        ("a[1-3]", ["a1", "a2", "a3"]),
        ("a[08-10,12]-x,b", ["a08-x", "a09-x", "a10-x", "a12-x", "b"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_lists_of_hosts(text, hosts):
    assert schedulers.expand_hosts(text) == hosts
    with pytest.raises(ValueError, match="open bracket"):
        schedulers.expand_hosts(text + "[1")


@pytest.mark.parametrize("text", ["x", "1.5"])
def test_a_scheduler_variable_that_is_no_number(environ, text):
    environ(**{**_MPI, "OMPI_COMM_WORLD_RANK": text})
    with pytest.raises(ValueError, match=f"OMPI_COMM_WORLD_RANK must be an integer, got '{text}'"):
        fleet.init()
