"""argosy launch --on ray, on a local cluster of two nodes. Skipped where Ray is not installed."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from tests.processes import until

from argosy.distributed.launch import guardian

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed"
)

_PROGRAM = """
import os, sys, time
role, number = os.environ["TRAINING_ROLE"], os.environ.get("PADDLE_TRAINER_ID", "")
print("start", role + number, os.environ["PADDLE_RESTART_COUNT"], sys.argv[1:], flush=True)
print("servers", os.environ["PADDLE_PSERVERS_IP_PORT_LIST"], flush=True)
if role == "PSERVER":
    time.sleep(2)
what = sys.argv[1]
if number == "1":
    if what == "error":
        raise ValueError("boom")
    if what == "killed" and os.environ["PADDLE_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), 9)
    if what == "actor" and not os.path.exists("once"):
        open("once", "w").close()
        os.kill(os.getppid(), 9)
        time.sleep(1000)
if what == "server" and role == "PSERVER" and os.environ["PADDLE_PSERVER_ID"] == "1":
    os.kill(os.getppid(), 9)
if what == "hang":
    open("up" + role + number + os.environ["PADDLE_PORT"], "w").close()
    time.sleep(1000)
"""


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    out = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    out.add_node(num_cpus=2)
    yield out
    out.shutdown()


@pytest.fixture
def launch(cluster, tmp_path):
    (tmp_path / "program.py").write_text(_PROGRAM)

    def start(*arguments, options=(), wait=True):
        import argosy

        root = os.path.dirname(os.path.dirname(os.path.abspath(argosy.__file__)))
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "argosy.distributed.launch", "--on", "ray"),
                *("--ray_address", cluster.address, "--servers", "2", "--workers", "2"),
                *options,
                *("program.py", *arguments),
            ],
            cwd=tmp_path,
            env=dict(os.environ, PYTHONPATH=root, RAY_DEDUP_LOGS="0"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if not wait:
            return process
        out, err = process.communicate(timeout=200)
        return process.returncode, out, err

    return start


def test_a_job(launch, tmp_path):
    code, out, err = launch("fine")
    assert code == 0, err
    assert "[worker.0] start TRAINER0 0 ['fine']" in out and "TRAINER1" not in out
    logs = [(tmp_path / "log" / name).read_text() for name in ("serverlog.1", "workerlog.1")]
    servers = {line for log in logs for line in log.splitlines() if line.startswith("servers")}
    assert len(servers) == 1 and servers.pop().count(":") == 2


def test_an_error(launch):
    code, out, err = launch("error")
    assert code == 1
    assert "worker.1 ended with exit code 1" in err and "ValueError: boom" in err


@pytest.mark.parametrize("how", ["killed", "actor"])
def test_a_worker_that_died_is_restarted(launch, tmp_path, how):
    code, out, err = launch(how)
    assert code == 0, err
    log = (tmp_path / "log" / "workerlog.1").read_text()
    assert "start TRAINER1 0" in log and "start TRAINER1 1" in log


def test_a_server_without_durability_is_not(launch):
    code, out, err = launch("server")
    assert code != 0 and "server.1: its actor is lost" in err and "--durability" in err


def test_addresses_are_refused(launch):
    code, out, err = launch("fine", options=("--servers", "h:1"))
    assert code == 2 and "--on ray places the processes itself" in err


def test_training(launch, tmp_path):
    programs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
    shutil.copy(os.path.join(programs, "wide_deep.py"), tmp_path / "program.py")
    code, out, err = launch("--mode=sync", "--steps=100")
    assert code == 0, err
    result = json.loads(out[out.index("RESULT ") + 7 :].splitlines()[0])
    assert result["steps"] == 200 and result["auc"] > 0.8


def test_ending_the_launcher_ends_everything(launch, tmp_path):
    job = f"ray-test-{os.getpid()}"
    process = launch("hang", options=("--job_id", job), wait=False)
    names = [f"{job}.{kind}.{i}" for kind in ("server", "worker") for i in range(2)]
    until(lambda: len(list(tmp_path.glob("up*"))) == 4)
    assert all(guardian.members(name, "ARGOSY_JOB_ID") for name in names)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=150)
    assert process.returncode == 130
    until(lambda: not any(guardian.members(name, "ARGOSY_JOB_ID") for name in names))
