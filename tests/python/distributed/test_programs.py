"""Programs of the classic shape (programs/), unchanged, under the launcher and alone."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys

import pytest
from tests.processes import until

import argosy
from argosy.distributed.launch import guardian, ports

_PROGRAMS = pathlib.Path(__file__).parent / "programs"
_ENVIRON = {
    k: v
    for k, v in os.environ.items()
    if not k.startswith(("PADDLE_", "TRAINING_ROLE", "POD_IP", "ARGOSY_", "PYTHONUNBUFFERED"))
}


def _results(text):
    """What workers printed, by their numbers."""
    found = [
        json.loads(line.split("RESULT ", 1)[1]) for line in text.splitlines() if "RESULT" in line
    ]
    return sorted(found, key=lambda one: one["worker"])


def _logs(folder):
    return "".join(
        f"\n## {p.name}\n{p.read_text()}" for p in sorted((folder / "log").glob("*log*"))
    )


def _launch(folder, program, *arguments, servers=2, workers=2, options=()):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "argosy.cli", "launch", "--stream", "all", *options),
            *("--servers", str(servers), "--workers", str(workers)),
            *(str(_PROGRAMS / program), *arguments),
        ],
        cwd=folder,
        env=_ENVIRON,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr + _logs(folder)
    out = _results(done.stdout)
    assert len(out) == workers
    return out


def _alone(folder, program, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "argosy.cli", "run", str(_PROGRAMS / program), *arguments],
        cwd=folder,
        env=_ENVIRON,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return _results(done.stdout)


def test_wide_deep_alone(tmp_path):
    (one,) = _alone(tmp_path, "wide_deep.py", "--save", "saved")
    assert one["last"] < one["first"] - 0.1 and one["auc"] > 0.8 and one["steps"] == 200
    assert {"embedding", "fc_0.w_0"} <= {p.name for p in (tmp_path / "saved").iterdir()}
    inference = tmp_path / "saved" / "inference"
    assert (inference / "__model__.pdmodel").exists()
    alone = (inference / "dnn_plugin" / "__model__").read_bytes()
    program = argosy.static.Program.parse_from_string(alone)
    assert "dense" in program.global_block().vars and "label" not in program.global_block().vars


@pytest.mark.parametrize("mode", ["sync", "geo", "async"])
def test_wide_deep(tmp_path, mode):
    out = _launch(tmp_path, "wide_deep.py", "--mode", mode)
    for one in out:
        assert one["auc"] > 0.85 and one["steps"] == 400 and one["last"] < 0.55
    assert out[0]["auc"] == out[1]["auc"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """(folder of a model that two servers saved, what its worker printed)."""
    folder = tmp_path_factory.mktemp("trained")
    (result,) = _launch(folder, "wide_deep.py", "--mode=sync", "--save=saved", workers=1)
    return str(folder / "saved"), result


def test_a_saved_model_goes_on(tmp_path, saved):
    """Saved by two servers, loaded by one, the loss is where it was."""
    folder, before = saved
    # So few steps are too few to learn it again.
    few = ("--mode=sync", "--steps=10", "--load", folder)
    (after,) = _launch(tmp_path, "wide_deep.py", *few, servers=1, workers=1)
    assert before["last"] + 0.08 < before["first"]
    assert after["first"] < before["last"] + 0.08


def _role(pid):
    """TRAINER1, PSERVER0: what a process of a job is; None if it has no role, or ended."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environ = dict(x.split(b"=", 1) for x in file.read().split(b"\0") if b"=" in x)
    except OSError:
        return None
    number = environ.get(b"PADDLE_TRAINER_ID") or environ.get(b"PADDLE_PSERVER_ID")
    return (environ[b"TRAINING_ROLE"] + number).decode() if number else None


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
@pytest.mark.parametrize("victim", ["PSERVER1", "TRAINER1"])
def test_kill(tmp_path, victim):
    """A server or a worker killed while it works comes back, and synchronous training goes on; after
    a server's death to the very same numbers."""
    job = f"kill-{os.getpid()}-{victim}"
    long = ("--mode", "sync", "--steps", "400")  # so that it has not ended when the kill comes
    command = [
        *(sys.executable, "-m", "argosy.cli", "launch", "--stream", "all", "--job_id", job),
        *("--durability", "log", "--servers", "2", "--workers", "2"),
        *(str(_PROGRAMS / "wide_deep.py"), *long),
    ]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=_ENVIRON,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        log = tmp_path / "log" / "workerlog.1"
        # Looked for before, so that no time goes by between the line and the kill.
        (pid,) = until(
            lambda: [p for p in guardian.members(job, "ARGOSY_JOB_ID") if _role(p) == victim]
        )
        until(lambda: log.exists() and "step 50," in log.read_text())
        os.kill(pid, signal.SIGKILL)
        out, err = process.communicate(timeout=200)
    finally:
        process.kill()
    assert process.returncode == 0, err + _logs(tmp_path)
    assert "was killed by SIGKILL" in err and "restart 1 of 3" in err
    results = _results(out)
    assert len(results) == 2 and results[0]["auc"] == results[1]["auc"] > 0.85
    if victim == "PSERVER1":
        undisturbed = _launch(tmp_path, "wide_deep.py", *long)
        assert results == undisturbed


def test_workers_together(tmp_path):
    out = _launch(tmp_path, "together.py", workers=3)
    for one in out:
        assert one["sum"] == [0, 6, 12] and one["max"] == [2.0, 0.0] and one["min"] == 5
        assert one["gathered"] == [{"worker": i, "text": "ä" * i} for i in range(3)]
        assert one["sizes"] == [1000, 2000, 3000] and one["metrics"] == 0.5


def _click_files(folder):
    draw = random.Random(1)
    for part in range(4):
        with open(folder / f"part-{part}", "w") as file:
            for _ in range(1000):
                user = draw.randrange(50)
                items = [1000 + draw.randrange(80) for _ in range(draw.randrange(1, 6))]
                score = (user % 5 - 2) + sum(item % 3 - 1 for item in items)
                click = int(draw.random() < 1 / (1 + 2.718281828 ** (-1.5 * score)))
                file.write(f"{click}\t{user}\t{','.join(map(str, items))}\n")


def test_data_set(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    _click_files(data)
    (alone,) = _alone(tmp_path, "ctr_dataset.py", str(data))
    assert alone["samples"] == 4000 and alone["auc"] > 0.8
    out = _launch(tmp_path, "ctr_dataset.py", str(data))
    assert [one["samples"] for one in out] == [4000, 4000]
    assert [len(one["files"]) for one in out] == [2, 2]
    assert out[0]["auc"] == out[1]["auc"] > alone["auc"] - 0.05
    assert any((data / "saved").iterdir())


def test_roles_of_the_program_itself(tmp_path):
    """Started by hand, with UserDefinedRoleMaker: geo, two workers."""
    addresses = ",".join(f"127.0.0.1:{port}" for port in ports.pick(2))
    command = [sys.executable, "-m", "argosy.cli", "run", str(_PROGRAMS / "skip_gram.py")]
    options = dict(
        cwd=tmp_path, env=_ENVIRON, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    roles = [("worker", "0"), ("worker", "1"), ("server", "0"), ("server", "1")]
    started = [subprocess.Popen([*command, *role, "2", addresses], **options) for role in roles]
    try:
        texts = [process.communicate(timeout=200)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0, 0, 0, 0], "\n".join(texts)
    for one in _results("".join(texts)):
        assert one["last"] < 0.4
        assert one["same"] > one["apart"] + 0.3


def test_prediction_with_tables_on_servers(tmp_path, saved):
    folder, _ = saved
    (one,) = _launch(tmp_path, "infer.py", folder, servers=1, workers=1)
    assert one["auc"] > 0.83
    for other in _launch(tmp_path, "infer.py", folder, servers=2, workers=2):
        assert other["total"] == pytest.approx(one["total"], rel=1e-5)


def test_prediction_alone(tmp_path):
    _alone(tmp_path, "wide_deep.py", "--save", "saved")
    (one,) = _alone(tmp_path, "infer.py", str(tmp_path / "saved"))
    assert one["auc"] > 0.78


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")
def test_mpirun(tmp_path):
    """One server and two workers that mpirun started."""
    done = subprocess.run(
        [
            *("mpirun", "-np", "3", "--oversubscribe", "--allow-run-as-root"),
            *("--mca", "plm_rsh_agent", "", "-x", "ARGOSY_SERVERS=1"),
            *(sys.executable, "-m", "argosy.cli", "run", str(_PROGRAMS / "wide_deep.py")),
            *("--mode=sync", "--steps=100"),
        ],
        cwd=tmp_path,
        env=_ENVIRON,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    out = _results(done.stdout)
    assert [one["steps"] for one in out] == [200, 200] and out[0]["auc"] == out[1]["auc"] > 0.8
