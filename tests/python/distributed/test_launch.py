"""argosy launch with toy programs: what they see, how failures end, that nothing stays behind."""

import fcntl
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import types

import pytest
from tests.processes import until

from argosy.distributed.launch import folders, guardian, output

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

_ENVIRON = {
    k: v
    for k, v in os.environ.items()
    if not k.startswith(("PADDLE_", "TRAINING_ROLE", "POD_IP", "ARGOSY_", "PYTHONUNBUFFERED"))
}


class Launch:
    """One launcher, and the processes of its job."""

    count = 0

    def __init__(self, folder, program, *arguments, options=()):
        Launch.count += 1
        self.job = f"test-{os.getpid()}-{Launch.count}"
        self.logs = folder / "logs"
        script = folder / "program.py"
        script.write_text(program)
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "argosy.distributed.launch"),
                *("--job_id", self.job, "--log_dir", str(self.logs), *options),
                *(str(script), *arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_ENVIRON,
            cwd=folder,
        )

    def wait(self):
        """(exit code, standard output, standard error)."""
        out, err = self.process.communicate(timeout=250)
        return self.process.returncode, out, err

    def log(self, name):
        return (self.logs / name).read_text()

    def members(self):
        return guardian.members(self.job, "ARGOSY_JOB_ID")


@pytest.fixture
def launch(tmp_path):
    jobs = []

    def start(program, *arguments, options=()):
        jobs.append(Launch(tmp_path, program, *arguments, options=options))
        return jobs[-1]

    yield start
    for job in jobs:
        job.process.kill()
        job.process.communicate()
        for pid in job.members():
            os.kill(pid, signal.SIGKILL)


# The patience with servers that have not ended when all workers have: more than a busy machine needs.
_GRACE = ("--grace", "100")
_PS = ("--servers", "2", "--workers", "2", *_GRACE)

_PRINT_ENVIRON = """
import os, sys, time
for name in sorted(os.environ):
    if name.startswith(("PADDLE_", "TRAINING_ROLE", "POD_IP", "ARGOSY_", "OPENBLAS_")):
        print(name + "=" + os.environ[name])
print("arguments", sys.argv[1:])
"""


def _environ(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def test_environment_is_that_of_paddle(launch):
    job = launch(_PRINT_ENVIRON, "a", "--servers", options=_PS)
    code, out, err = job.wait()
    assert (code, err) == (0, "")
    seen = {n: _environ(job.log(n)) for n in ("serverlog.0", "serverlog.1", "workerlog.1")}
    server, worker = seen["serverlog.1"], seen["workerlog.1"]
    endpoints = server["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
    assert len(set(endpoints)) == 2
    assert server["TRAINING_ROLE"] == "PSERVER"
    assert f"{server['POD_IP']}:{server['PADDLE_PORT']}" == endpoints[1]
    assert worker["TRAINING_ROLE"] == "TRAINER"
    assert worker["PADDLE_TRAINER_ID"] == "1"
    assert worker["PADDLE_TRAINERS_NUM"] == "2"
    assert worker["PADDLE_PSERVERS_IP_PORT_LIST"] == ",".join(endpoints)
    trainers = worker["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert f"{worker['POD_IP']}:{worker['PADDLE_PORT']}" == trainers[1]
    assert len(set(endpoints + trainers)) == 4
    # One secret for the job, which is on no command line.
    tokens = {environ["ARGOSY_JOB_TOKEN"] for environ in seen.values()}
    assert len(tokens) == 1 and len(tokens.pop()) == 32
    administrator = {environ["ARGOSY_JOB_ADMIN_TOKEN"] for environ in seen.values()}
    assert len(administrator) == 1 and len(administrator.pop()) == 32
    assert server["ARGOSY_JOB_ADMIN_TOKEN"] != server["ARGOSY_JOB_TOKEN"]
    assert server["ARGOSY_PS_SAVE_ROOTS"] == str(job.logs.parent)
    assert "arguments ['a', '--servers']" in job.log("workerlog.0")
    # Worker 0's output is shown, with its name.
    assert "[worker.0] PADDLE_TRAINER_ID=0\n" in out and "PADDLE_TRAINER_ID=1" not in out


@pytest.mark.parametrize(("given", "seen"), [(None, "14"), ("20", "20")])
def test_idle_threads_of_blas_sleep(launch, monkeypatch, given, seen):
    monkeypatch.delitem(_ENVIRON, "OPENBLAS_THREAD_TIMEOUT", raising=False)
    if given is not None:
        monkeypatch.setitem(_ENVIRON, "OPENBLAS_THREAD_TIMEOUT", given)
    job = launch(_PRINT_ENVIRON, options=_PS)
    assert job.wait()[0] == 0
    for log in ("serverlog.0", "workerlog.0"):
        assert _environ(job.log(log))["OPENBLAS_THREAD_TIMEOUT"] == seen


def test_without_servers_one_process(launch):
    job = launch(_PRINT_ENVIRON, "x")
    code, out, err = job.wait()
    assert (code, err) == (0, "")
    environ = _environ(out)
    assert environ["PADDLE_TRAINER_ID"] == "0" and environ["PADDLE_TRAINERS_NUM"] == "1"
    assert environ["PADDLE_CURRENT_ENDPOINT"] == environ["PADDLE_TRAINER_ENDPOINTS"]
    assert "PADDLE_PSERVERS_IP_PORT_LIST" not in environ and "TRAINING_ROLE" not in environ


def test_paddle_means_argosy(launch):
    job = launch("import paddle\nprint(paddle.__name__, paddle.distributed.fleet.__name__)")
    assert job.wait()[:2] == (0, "argosy argosy.distributed.fleet\n")


_ONE_FAILS = """
import os, sys, time
if os.environ["TRAINING_ROLE"] == "TRAINER" and os.environ["PADDLE_TRAINER_ID"] == "1":
    for i in range(100):
        print("line", i)
    raise SystemExit(7)
time.sleep(1000)
"""


def test_a_failing_worker_ends_the_job(launch):
    job = launch(_ONE_FAILS, options=_PS)
    code, out, err = job.wait()
    assert code == 7
    assert "worker.1 ended with exit code 7" in err
    assert "line 99" in err and "line 81\n" in err and "line 79" not in err  # the last 20
    assert job.members() == []


def test_deaf_processes_are_killed(launch):
    program = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + _ONE_FAILS
    job = launch(program, options=("--servers=1", "--workers=3", "--grace=0.3"))
    assert job.wait()[0] == 7
    assert job.members() == []


_FAILS_ONCE = """
import os, signal, sys
name = os.environ["TRAINING_ROLE"] + os.environ.get("PADDLE_TRAINER_ID", "")
print(name, "start", os.environ["PADDLE_RESTART_COUNT"])
if name == "TRAINER1" and os.environ["PADDLE_RESTART_COUNT"] == "0":
    if sys.argv[1] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(3)
"""


def test_a_killed_worker_is_restarted(launch):
    job = launch(_FAILS_ONCE, "kill", options=_PS)
    code, out, err = job.wait()
    assert code == 0
    assert "worker.1 was killed by SIGKILL" in err and "worker.1: restart 1 of 3" in err
    log = job.log("workerlog.1")
    assert "TRAINER1 start 0" in log and "TRAINER1 start 1" in log


def test_an_error_is_restarted_when_asked(launch):
    job = launch(_FAILS_ONCE, "exit", options=(*_PS, "--max_restart=2"))
    assert job.wait()[0] == 0
    job = launch(_FAILS_ONCE, "exit", options=_PS)
    code, out, err = job.wait()
    assert code == 3 and "--max_restart" in err


def test_restarts_have_an_end(launch):
    program = "import os\nprint('try')\nos.abort() if 'PADDLE_TRAINER_ID' in os.environ else 0"
    job = launch(program, options=("--servers=1", "--workers=1", "--max_restart=2"))
    code, out, err = job.wait()
    assert code == 128 + signal.SIGABRT
    assert job.log("workerlog.0").count("try\n") == 3
    assert "it was restarted 2 times" in err


_SERVER_DIES = """
import os, signal, time
if os.environ["TRAINING_ROLE"] == "PSERVER":
    folder = os.environ.get("ARGOSY_PS_DIRECTORY", "")
    print("state in", folder, os.listdir(folder) if folder else "")
    if os.environ["PADDLE_RESTART_COUNT"] == "0":
        if folder:
            open(folder + "/mark", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    open("back", "w").close()
else:
    while not os.path.exists("back"):
        time.sleep(0.05)
"""


def test_a_server_is_restarted_with_its_state_only(launch, tmp_path):
    job = launch(_SERVER_DIES, options=("--servers=1", "--workers=1", "--grace=1"))
    code, out, err = job.wait()
    assert code == 128 + signal.SIGKILL and "what this server held is lost" in err
    job = launch(_SERVER_DIES, options=("--servers=1", "--workers=1", "--durability=log"))
    assert job.wait()[0] == 0
    (state,) = (job.logs / "state").glob(f"{job.job}-*[!k]")
    assert f"state in {state} []" in job.log("serverlog.0")
    assert f"state in {state} ['mark']" in job.log("serverlog.0")


def test_a_server_that_ends_by_an_error_is_not_told_to_keep_its_tables(launch):
    program = "import os\nassert os.environ['TRAINING_ROLE'] != 'PSERVER', 'wrong'"
    code, out, err = launch(program, options=("--servers=1", "--workers=1", "--grace=1")).wait()
    assert code == 1 and "server.0 is not restarted: it ended by an error." in err
    assert "AssertionError: wrong" in err and "--durability" not in err


def test_a_server_without_a_snapshot_ends_the_job(launch):
    """Nobody would give its dense parameters their first values again."""
    program = pathlib.Path(__file__).parents[1] / "ps" / "programs" / "click.py"
    settings = '{"steps": 1000000, "say": true}'
    options = ("--servers=1", "--workers=1", "--durability=snapshot", "--grace=1")
    job = launch(program.read_text(), "sync", settings, options=options)
    until(lambda: (job.logs / "workerlog.0").exists() and "step" in job.log("workerlog.0"))
    for pid in job.members():
        if b"TRAINING_ROLE=PSERVER" in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
            os.kill(pid, signal.SIGKILL)
    code, out, err = job.wait()
    assert code == 1
    assert "server 0 died before its first snapshot" in err
    assert "Do this: start the job again" in err


# The server leaves a mark in its state; all go on until the file `end` is there.
_WAITS = """
import os, time
role, folder = os.environ["TRAINING_ROLE"], os.environ.get("ARGOSY_PS_DIRECTORY", "")
print("begin", role, os.environ["ARGOSY_JOB_ID"], folder, flush=True)
if role == "PSERVER" and folder:
    open(folder + "/mark-" + os.environ["ARGOSY_JOB_ID"], "w").close()
open(f"up-{os.getpid()}", "w").close()
while not os.path.exists("end"):
    time.sleep(0.02)
print("end", os.listdir(folder) if folder else "", flush=True)
"""
_SMALL = ("--servers=1", "--workers=1", *_GRACE)


def _began(job, folder, count):
    until(lambda: len(list(folder.glob("up-*"))) == count)


def test_two_jobs_with_one_folder_of_logs(launch, tmp_path):
    options = (*_SMALL, "--durability=log")
    first = launch(_WAITS, options=options)
    _began(first, tmp_path, 2)
    second = launch(_WAITS, options=options)
    _began(second, tmp_path, 4)
    (tmp_path / "end").touch()
    (own,) = first.logs.glob(f"{second.job}-*")
    for job, logs in ((first, first.logs), (second, own)):
        code, out, err = job.wait()
        assert code == 0, err
        for name, role in (("serverlog.0", "PSERVER"), ("workerlog.0", "TRAINER")):
            begin, end = (logs / name).read_text().splitlines()
            assert begin.startswith(f"begin {role} {job.job} ")
            assert end == f"end ['mark-{job.job}']"
    assert f"see {own}" in err


def test_states_of_ended_jobs_are_removed(launch, tmp_path):
    options = (*_SMALL, "--durability=log")
    running = launch(_WAITS, options=options)
    _began(running, tmp_path, 2)
    ended = [launch("", options=options) for _ in range(2)]
    assert [job.wait()[0] for job in ended] == [0, 0]
    last = launch("", options=options)
    assert last.wait()[0] == 0
    left = {path.name for path in (running.logs / "state").glob("test-*")}
    assert len(left) == 4  # two states and their locks
    for job in (running, last):
        assert len([name for name in left if name.startswith(f"{job.job}-")]) == 2


@pytest.mark.parametrize("job", ["x" * 300, "模" * 300, "a/../b\n"])
def test_any_name_of_a_job_is_one_of_a_folder(tmp_path, job):
    name = folders.job_folder(job, "outer,mark5678")
    (tmp_path / name).mkdir()
    (tmp_path / f"{name}.lock").touch()
    assert name.endswith("-mark5678") and os.listdir(tmp_path)


def test_folders_of_others_beside_states_stay(launch, tmp_path):
    """`state/` in the folder of logs may be somebody's: what the launcher has not signed is not its own."""
    state = tmp_path / "logs" / "state"
    host = socket.gethostname()
    locks = {
        "model": "", "data": "12345", "cache": "{}", "notes": f'{{"pid": 1, "host": "{host}"}}',
        "far": '{"pid": 1, "host": "elsewhere", "job": "x"}',
    }  # fmt: skip
    for name, text in locks.items():
        (state / name).mkdir(parents=True)
        (state / name / "weights").write_text("mine")
        (state / f"{name}.lock").write_text(text)
    job = launch("pass", options=("--servers", "1", "--durability", "log"))
    assert job.wait()[0] == 0
    for name, text in locks.items():
        assert (state / name / "weights").read_text() == "mine"
        assert (state / f"{name}.lock").read_text() == text


@pytest.mark.parametrize("ends", [True, False])
def test_the_guardian_of_a_killed_launcher_is_waited_for(tmp_path, monkeypatch, ends):
    """It has the lock until the processes of the job are gone."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    holder = {"pid": ended.pid, "host": socket.gethostname(), "job": "a job"}
    (tmp_path / ".server.0.lock").write_text(json.dumps(holder))
    guard = os.open(tmp_path / ".server.0.lock", os.O_RDWR)
    fcntl.flock(guard, fcntl.LOCK_EX)
    task = types.SimpleNamespace(kind="server", name="server.0", log="serverlog.0")
    plan = types.SimpleNamespace(
        log_dir=str(tmp_path / "logs"), folder="x", tasks=[task], state_dir=str(tmp_path),
        state_is_ours=False, job="the next one",
    )  # fmt: skip
    if ends:
        release = threading.Timer(1, os.close, [guard])
        release.start()
        began = time.monotonic()
        folders.Folders(plan).close()
        assert time.monotonic() - began > 0.5
        release.join()
    else:
        monkeypatch.setattr(folders, "_ENDING_SECONDS", 0.3)
        with pytest.raises(folders.Taken, match="server.0 is used by the job 'a job', launcher"):
            folders.Folders(plan)
        os.close(guard)


def test_a_durability_dir_belongs_to_one_job(launch, tmp_path):
    options = (*_SMALL, "--durability=log", f"--durability_dir={tmp_path / 'kept'}")
    first = launch(_WAITS, options=options)
    _began(first, tmp_path, 2)
    code, out, err = launch(_WAITS, options=options).wait()
    assert code == 1
    assert f"is used by the job '{first.job}', launcher {first.process.pid} on host" in err
    assert socket.gethostname() in err
    # Whoever is killed has the folder no longer, once its processes are gone: the next one waits for that.
    first.process.kill()
    (tmp_path / "end").touch()
    third = launch(_WAITS.replace('"end")', '"end of the third")'), options=options)
    _began(third, tmp_path, 4)
    (tmp_path / "end of the third").touch()
    code, out, err = third.wait()
    assert code == 0, err
    assert f"mark-{first.job}" in (third.logs / "serverlog.0").read_text()


def test_jobs_of_one_name_leave_each_other_alone(launch, tmp_path):
    """What ends with a job is found by a mark of this launch, not by the job's name."""
    first = launch(_WAITS, options=_SMALL)
    _began(first, tmp_path, 2)
    again = ("--job_id", first.job)
    assert launch("", options=(*_SMALL, *again)).wait()[0] == 0
    killed = launch(_WAITS, options=(*_SMALL, *again))
    _began(first, tmp_path, 4)
    killed.process.kill()
    killed.wait()
    until(lambda: len(first.members()) == 2)
    (tmp_path / "end").touch()
    code, out, err = first.wait()
    assert (code, err) == (0, "")


def test_a_launch_within_a_job_ends_with_it(launch, tmp_path):
    program = (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'argosy.distributed.launch', '--log_dir=inner',"
        " '--servers=1', '--workers=1', 'inner.py'])"
    )
    (tmp_path / "inner.py").write_text(_CHILDREN)
    job = launch(program)
    until(lambda: len(list(tmp_path.glob("up*"))) == 2)
    mark = _mark(guardian.members(job.job, "ARGOSY_JOB_ID")[0])
    assert len(guardian.members(mark)) >= 8  # servers and workers with two children, two launchers
    job.process.kill()
    job.wait()
    until(lambda: not guardian.members(mark))


def _mark(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        environ = dict(x.split(b"=", 1) for x in file.read().split(b"\0") if b"=" in x)
    return environ[b"ARGOSY_JOB_MARK"].decode()


def test_a_process_that_cannot_be_killed(capsys):
    """It is named; nobody waits for it without end."""
    from argosy.distributed.launch import local

    with subprocess.Popen(["sleep", "1000"]) as process:
        local._wait(process, "worker.3", time.monotonic())
        process.kill()
    assert f"worker.3 (process {process.pid}) has not ended" in capsys.readouterr().err


class _Looked:
    """A process, by what it is found to be one look after the other."""

    def __init__(self, *codes):
        self._codes = iter(codes)

    def poll(self):
        return next(self._codes, None)


def test_the_cause_comes_before_what_failed_by_it():
    """Also where it died after it had been looked at, and the other before."""
    from argosy.distributed.launch import local

    cause, other, brought = _Looked(None, -9), _Looked(0), _Looked(3)
    job = types.SimpleNamespace(processes=[cause, other, brought])
    assert local._Job._failures(job) == [(cause, -9), (brought, 3)]


# A process that leaves its session and its group, and one that does not.
_CHILDREN = """
import os, subprocess, sys, time
sleep = "import time; time.sleep(1000)"
subprocess.Popen([sys.executable, "-c", sleep], start_new_session=True)
subprocess.Popen([sys.executable, "-c", sleep])
open("up" + os.environ["TRAINING_ROLE"] + os.environ["PADDLE_PORT"], "w").close()
time.sleep(1000 if len(sys.argv) == 1 else 0)
"""


def _up(job, count):
    until(lambda: len(list(pathlib.Path(job.logs).parent.glob("up*"))) == count)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ending_the_launcher_ends_everything(launch, number):
    job = launch(_CHILDREN, options=_PS)
    _up(job, 4)
    assert len(job.members()) >= 12
    job.process.send_signal(number)
    code, out, err = job.wait()
    assert code == 128 + number
    assert job.members() == []


def test_killing_the_launcher_ends_everything(launch):
    job = launch(_CHILDREN, options=_PS)
    _up(job, 4)
    job.process.send_signal(signal.SIGKILL)
    job.wait()
    until(lambda: not job.members())


def test_what_workers_leave_behind_is_killed(launch):
    job = launch(_CHILDREN, "end", options=_PS)
    assert job.wait()[0] == 0
    assert job.members() == []


def test_servers_that_nobody_stopped(launch):
    program = "import os, time\ntime.sleep(1000 * (os.environ['TRAINING_ROLE'] == 'PSERVER'))"
    job = launch(program, options=(*_PS, "--grace=0.2"))
    code, out, err = job.wait()
    assert code == 0 and "stop_worker" in err


def test_a_taken_port(launch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        job = launch("", options=("--servers", address, "--workers", "1"))
        code, out, err = job.wait()
    assert code == 2 and f"port {address.split(':')[1]} of 127.0.0.1 is taken" in err


def test_logs_that_cannot_be_written(launch, tmp_path):
    (tmp_path / "logs").write_text("a file")
    code, out, err = launch("").wait()
    assert code == 1 and err.startswith("python -m argosy.distributed.launch: ") and "logs" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "options, text",
    [
        (("--servers", "a,b"), "expected a number or addresses ip:port,ip:port, got 'a'"),
        (("--servers", "1", "--workers", "0"), "--workers: expected at least one"),
        (("--servers", "h:1,h:1"), "an address is there twice"),
        (("--servers", "10.254.1.1:7000"), "set ARGOSY_JOB_TOKEN"),
        (("--servers", "10.254.1.1:7000", "--workers", "10.254.1.1:7001"), "ARGOSY_JOB_TOKEN"),
        (("--nproc_per_node", "0"), "--nproc_per_node: expected at least one process, got 0"),
        (("--run_mode", "ps"), "need --servers N"),
        (("--max_restart", "-1"), "--max_restart: expected a number >= 0"),
        (("--servers", "1", "--tls_ca", "no.pem"), "--tls_ca: there is no file"),
        (
            ("--servers", "1", "--save_root", "a:b"),
            "--save_root: expected a folder without ':', got",
        ),
        (("--grace", "-1"), "--grace: expected seconds, 0 or more, got -1"),
        (("--grace", "nan"), "--grace: expected seconds, 0 or more, got nan"),
        (("--servers", "1", "--snapshot_seconds", "-1"), "--snapshot_seconds: expected seconds"),
        (("--start_port", "65536"), "--start_port: expected 1 to 65535, got 65536"),
        (("--start_port", "0"), "--start_port: expected 1 to 65535, got 0"),
        (
            ("--devices", "gpu"),
            "--devices: expected numbers of devices, each once, as in 0,1, got 'gpu'",
        ),
        (("--gpus", "0,0"), "--gpus: expected numbers of devices, each once, as in 0,1, got '0,0'"),
        (("--on", "ray", "--cpus", "-1"), "--cpus: expected a number of cores"),
    ],
)
def test_wrong_arguments(tmp_path, monkeypatch, options, text):
    _refused(tmp_path, monkeypatch, options, text)


@pytest.mark.parametrize(
    "options, name",
    [
        (("--durability=log",), "durability: expected --servers beside it"),
        (("--durability_dir=d",), "durability_dir: expected --servers beside it"),
        (("--snapshot_seconds=5",), "snapshot_seconds: expected --servers beside it"),
        (("--save_root=d",), "save_root: expected --servers beside it"),
        (("--nnodes=2", "--master=h:1", "--tls_cert=c"), "tls_cert: expected --servers beside it"),
        (("--insecure",), "insecure: expected --servers beside it"),
        (("--servers=0", "--insecure"), "insecure: expected --servers beside it"),
        (
            ("--servers=1", "--snapshot_seconds=5"),
            "snapshot_seconds: expected --durability beside it",
        ),
        (("--servers=1", "--durability_dir=d"), "durability_dir: expected --durability beside it"),
        (
            ("--servers=1", "--nproc_per_node=2"),
            "nproc_per_node: expected it without --servers, got 2",
        ),
        (("--servers=1", "--devices=0,1"), "devices: expected it without --servers, got 0,1"),
        (
            ("--servers=1", "--nnodes=2"),
            "nnodes: expected it without --servers, got 2. Do this: leave it",
        ),
        (("--servers=1", "--master=h:1"), "master: expected it without --servers"),
        (("--servers=1", "--rank=0"), "rank: expected it without --servers"),
        (("--servers=1", "--ips=h,i"), "ips: expected it without --servers"),
        (("--cpus=2",), "cpus: expected --on ray beside it, got 2.0"),
        (("--ray_address=h",), "ray_address: expected --on ray beside it, got h"),
    ],
)
def test_what_would_be_ignored_is_refused(tmp_path, monkeypatch, options, name):
    _refused(tmp_path, monkeypatch, options, f"^--{name}")


def _refused(tmp_path, monkeypatch, options, text):
    from argosy.distributed.launch import arguments

    monkeypatch.delenv("ARGOSY_JOB_TOKEN", raising=False)
    program = tmp_path / "p.py"
    program.write_text("")
    parsed = arguments.parser().parse_args([*options, str(program)])
    with pytest.raises(ValueError, match=text.replace("(", r"\(")):
        arguments.make_plan(parsed)


def test_hosts_of_a_list(tmp_path, monkeypatch):
    """Of a job over hosts each launcher starts its own part."""
    from argosy.distributed.launch import arguments

    monkeypatch.setenv("ARGOSY_JOB_TOKEN", "secret")
    monkeypatch.delenv("ARGOSY_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    program = tmp_path / "p.py"
    program.write_text("")
    addresses = "10.1.0.1:6000,10.1.0.2:6000"
    workers = "10.1.0.1:6001,10.1.0.2:6001,10.1.0.2:6002"
    parsed = arguments.parser().parse_args(
        ["--servers", addresses, "--trainers", workers, "--host", "10.1.0.2", str(program)]
    )
    with pytest.raises(ValueError, match="10.1.0.1, 10.1.0.2 are reached from other hosts"):
        arguments.make_plan(parsed)
    parsed.insecure = True
    monkeypatch.setattr(arguments.ports, "check", lambda host, port: None)
    plan = arguments.make_plan(parsed)
    assert [task.name for task in plan.tasks] == ["server.1", "worker.1", "worker.2"]
    environ = plan.tasks[2].environ
    assert environ["PADDLE_TRAINERS_NUM"] == "3" and environ["PADDLE_NNODES"] == "2"
    assert environ["PADDLE_RANK_IN_NODE"] == "1" and environ["ARGOSY_JOB_TOKEN"] == "secret"
    # Nobody else knows what one launcher draws.
    assert environ["ARGOSY_JOB_ADMIN_TOKEN"] == ""
    assert not plan.whole
    # Two workers share this host's cores, its one server has them all.
    assert environ["ARGOSY_NUM_THREADS"] == str(max(1, len(os.sched_getaffinity(0)) // 2))
    assert "ARGOSY_NUM_THREADS" not in plan.tasks[0].environ


def test_secrets_and_roots_that_are_given(tmp_path, monkeypatch):
    from argosy.distributed.fleet.runtime import ServiceSettings
    from argosy.distributed.launch import arguments

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARGOSY_JOB_TOKEN", "one")
    monkeypatch.setenv("ARGOSY_JOB_ADMIN_TOKEN", "two")
    (tmp_path / "p.py").write_text("")
    given = ["--servers=1", "--save_root", "models", "--save_root", "/data", "p.py"]
    plan = arguments.make_plan(arguments.parser().parse_args(given))
    assert plan.whole
    for task in plan.tasks:
        settings = ServiceSettings(task.environ)
        assert (settings.token, settings.admin_token) == ("one", "two")
        assert settings.save_roots == [str(tmp_path / "models"), "/data"]
    monkeypatch.setenv("ARGOSY_PS_SAVE_ROOTS", "/given")
    plan = arguments.make_plan(arguments.parser().parse_args(["--servers=1", "p.py"]))
    assert ServiceSettings(plan.tasks[0].environ).save_roots == ["/given"]
    assert ServiceSettings({}).save_roots == []


def test_launch_by_its_old_name(tmp_path):
    """`python -m paddle.distributed.launch` where paddle means argosy."""
    (tmp_path / "p.py").write_text("import os\nprint(os.environ['TRAINING_ROLE'])")
    command = [
        "run",
        "-m",
        "paddle.distributed.launch",
        "--server_num=1",
        "--trainer_num=1",
        "p.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "argosy.cli", *command],
        cwd=tmp_path,
        env=_ENVIRON,
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[worker.0] TRAINER\n", "")
    assert (tmp_path / "log" / "serverlog.0").read_text() == "PSERVER\n"


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")
def test_mpirun(tmp_path):
    """Processes that mpirun starts find their roles by themselves, and the same addresses."""
    program = tmp_path / "p.py"
    program.write_text(
        "from argosy.distributed import fleet\n"
        "fleet.init()\n"
        "role = 'server' if fleet.is_server() else 'worker'\n"
        "out = (role, fleet.rank(), fleet.worker_num(), fleet.server_endpoints(True))\n"
        # In one piece: mpirun mixes what its processes write.
        "print('%s %s %s %s\\n' % out, end='')\n"
    )
    done = subprocess.run(
        [
            *("mpirun", "-np", "3", "--oversubscribe", "--allow-run-as-root"),
            *("--mca", "plm_rsh_agent", "", "-x", "ARGOSY_SERVERS=1", sys.executable, str(program)),
        ],
        env=_ENVIRON,
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    found = sorted(re.findall(r"(server|worker) (\d) (\d) (127.0.0.1:\d+)", done.stdout))
    roles = [("server", "0", "2"), ("worker", "0", "2"), ("worker", "1", "2")]
    assert [one[:3] for one in found] == roles, done.stdout + done.stderr
    assert len({one[3] for one in found}) == 1


_RESTARTED = """
import os, signal
print("begins", flush=True)
if os.environ["PADDLE_RESTART_COUNT"] == "0":
    os.kill(os.getpid(), signal.SIGKILL)
open("went on", "w").close()
"""


@pytest.mark.parametrize("streams", ["closed", "full", "unread"])
def test_a_job_goes_on_whatever_becomes_of_the_launchers_output(tmp_path, streams):
    """Restarts, too, of which the launcher says something."""
    (tmp_path / "program.py").write_text(_RESTARTED)
    command = f"{sys.executable} -m argosy.distributed.launch --log_dir logs --max_restart 1 --workers 1 program.py"
    ways = {"closed": ">&- 2>&-", "full": ">/dev/full 2>&1", "unread": "2>&1 | true"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} {ways[streams]}"],
        env=_ENVIRON, cwd=tmp_path, check=False, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0 and (tmp_path / "went on").exists()
    assert (tmp_path / "logs" / "workerlog.0").read_text().count("begins") == 2


def test_a_guardian_that_somebody_stopped_ends_with_its_launcher(launch, tmp_path):
    job = launch('import time; open("up-1", "w").close(); time.sleep(200)')
    _began(job, tmp_path, 1)
    (guard,) = [pid for pid in _children(job.process.pid) if b"guardian.py\0watch" in _command(pid)]
    os.kill(guard, signal.SIGSTOP)
    job.process.terminate()
    code, _, err = job.wait()
    assert code == 143 and "guardian" not in err
    assert not guardian.alive(guard)


def _children(pid):
    found = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def _command(pid):
    return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()


def test_what_the_encoding_of_the_launchers_output_lacks_is_escaped(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    output.show("größer\n", "stdout")
    output.show("more\n", "stdout")
    assert raw.getvalue() == b"gr\\xf6\\xdfer\nmore\n"
