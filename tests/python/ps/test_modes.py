"""Training modes with servers and workers that are processes, against the same program alone."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from argosy.distributed.launch import ports

PROGRAM = str(pathlib.Path(__file__).parent / "programs" / "click.py")
ON_DEVICE = str(pathlib.Path(__file__).parent / "programs" / "on_device.py")
LIMIT = 240


class Job:
    def __init__(
        self, mode, servers=1, workers=2, environ=(), program=PROGRAM, of_workers=(), **settings
    ):
        at = [f"127.0.0.1:{port}" for port in ports.pick(servers + workers)]
        base = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "TRAINING_"))}
        base.update(environ)
        base["ARGOSY_NUM_THREADS"] = "1"
        base["ARGOSY_PS_SAVE_ROOTS"] = tempfile.gettempdir()
        if servers:
            base.update(
                PADDLE_PSERVERS_IP_PORT_LIST=",".join(at[:servers]),
                PADDLE_TRAINER_ENDPOINTS=",".join(at[servers:]),
                PADDLE_TRAINERS_NUM=str(workers),
            )
        self.processes = []
        for i, endpoint in enumerate(at):
            env = dict(base)
            if servers:
                env["TRAINING_ROLE"] = "PSERVER" if i < servers else "TRAINER"
                env["POD_IP"], env["PADDLE_PORT"] = endpoint.split(":")
                env["PADDLE_TRAINER_ID"] = str(i - servers if i >= servers else i)
            if of_workers and i >= servers:
                env.update(of_workers[i - servers])
            self.processes.append(
                subprocess.Popen(
                    [sys.executable, program, mode, json.dumps(settings)],
                    env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                )
            )  # fmt: skip
        self.servers, self.workers = self.processes[:servers], self.processes[servers:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.processes:
            if p.poll() is None:
                p.kill()
            p.wait()
            p.stdout.close()

    def results(self):
        """What workers printed; all processes have ended well."""
        found = []
        for p in self.workers:
            text, _ = p.communicate(timeout=LIMIT)
            assert p.returncode == 0, text
            found.append(json.loads(text.split("RESULT ")[1]))
        for p in self.servers:
            assert p.wait(LIMIT) == 0, p.stdout.read()
        return found


def trained(mode, **settings):
    with Job(mode, **settings) as job:
        return job.results()


def alone(**settings):
    return trained("sync", servers=0, workers=1, **settings)[0]


@pytest.mark.parametrize(
    "optimizer, rate",
    [
        ("sgd", 0.5),
        ("adam", 0.01),
        ("adagrad", 0.2),
        ("momentum", 0.05),
        ("adamw", 0.01),
        ("amsgrad", 0.01),
    ],
)
def test_sync_training_equals_one_process(optimizer, rate):
    one = alone(optimizer=optimizer, rate=rate)
    two = trained("sync", optimizer=optimizer, rate=rate)
    for worker in two:
        np.testing.assert_allclose(worker["predictions"], one["predictions"], rtol=1e-5, atol=1e-5)


def test_learning_rates_of_a_schedule_are_carried():
    one = alone(decay=True)
    (served,) = trained("sync", workers=1, servers=2, decay=True)
    np.testing.assert_allclose(served["predictions"], one["predictions"], rtol=0, atol=1e-5)
    other = alone()
    assert np.abs(np.array(other["predictions"]) - one["predictions"]).max() > 1e-3


@pytest.mark.parametrize("mode", ["async", "half_async", "geo"])
def test_modes_that_do_not_wait_learn_the_same_problem(mode):
    settings = {"optimizer": "adam", "rate": 0.01, "steps": 400}
    one = alone(**settings)
    assert one["auc"] > 0.8
    for worker in trained(mode, **settings):
        assert worker["auc"] > one["auc"] - 0.03


@pytest.mark.parametrize("settings", [{}, {"optimizer": "adam", "rate": 0.01, "decay": True}])
def test_workers_with_a_device(settings):
    """What goes to servers and comes from them travels through the host."""
    here = trained("sync", steps=20, **settings)
    there = trained("sync", steps=20, program=ON_DEVICE, **settings)
    for a, b in zip(here, there):
        np.testing.assert_allclose(b["predictions"], a["predictions"], rtol=1e-5, atol=1e-6)


def write_files(folder, sizes):
    draw = np.random.RandomState(2)
    files = []
    for i, size in enumerate(sizes):
        path = folder / f"part-{i}"
        lines = [f"2 {a} {b} 1 {c}\n" for a, b, c in draw.randint(0, 2, (size, 3))]
        path.write_text("".join(lines))
        files.append(str(path))
    return files


def test_sync_workers_with_unequal_data_end_together(tmp_path):
    files = write_files(tmp_path, [40, 12])
    first, second = trained("sync", files=files)
    np.testing.assert_array_equal(first["predictions"], second["predictions"])


@pytest.mark.parametrize("prefetch", ["0", "1"])
@pytest.mark.parametrize("mode", ["async", "geo"])
def test_workers_train_on_files(mode, prefetch, tmp_path):
    files = write_files(tmp_path, [400, 300])
    environ = {"ARGOSY_PS_PREFETCH": prefetch}
    for worker in trained(mode, environ=environ, files=files, optimizer="adam", rate=0.01):
        assert np.isfinite(worker["predictions"]).all()
        assert np.abs(worker["predictions"]).max() > 1e-3


def test_a_model_is_saved_and_servers_start_from_it(tmp_path):
    (before,) = trained("sync", workers=1, save=str(tmp_path / "model"), steps=20)
    assert before["saved"]
    (after,) = trained(
        "sync", workers=1, servers=2, load=str(tmp_path / "model"), steps=1, rate=0.0
    )
    np.testing.assert_allclose(after["predictions"], before["predictions"], rtol=0, atol=1e-6)


def test_the_next_job_goes_on_with_other_workers_and_another_rate(tmp_path):
    """What servers keep in a log is what the workers of then made of it."""
    environ = {"ARGOSY_PS_DURABILITY": "log", "ARGOSY_PS_DIRECTORY": str(tmp_path)}
    first = trained("sync", environ=environ, optimizer="adagrad", rate=0.2, steps=20)
    for workers in (1, 3):
        again = trained("sync", workers=workers, environ=environ, steps=0, optimizer="adagrad")
        for worker in again:
            np.testing.assert_array_equal(worker["predictions"], first[0]["predictions"])


@pytest.mark.parametrize("servers", [1, 2])
def test_what_all_workers_call_is_done_once(servers, tmp_path):
    program = str(pathlib.Path(PROGRAM).parent / "closing.py")
    with Job("async", servers, program=program, folder=str(tmp_path)) as job:
        first, second = job.results()
    # The increment has all rows, and one decay leaves them. Loaded rows are as they were, and go by a second
    # decay only, as the 40 others do.
    counts = {"trained": 80, "shrunk": 80, "loaded": 120, "saved": 80, "again": 80}
    assert first == second == {**counts, "shows": 10}
    for folder, rows in (("whole", 40), ("delta", 80), ("shrunk", 80)):
        assert saved_rows(tmp_path / folder) == rows, folder


@pytest.mark.parametrize("started", ["launch", "hosts", "hand"])
def test_workers_wait_for_the_load_of_their_own_launch(tmp_path, started):
    """The second launch has the token and the model of the first, which knows that that one loaded; so do
    its tables, where they are kept. On several hosts each has a launcher, and a mark, of its own."""
    program = str(pathlib.Path(PROGRAM).parent / "reloading.py")
    for mark in ("first", "second"):
        environ = {"ARGOSY_JOB_TOKEN": "the-same"}
        of_workers = ()
        if started != "hand":
            environ["ARGOSY_JOB_MARK"] = mark
            environ["PADDLE_NNODES"] = "1"
            environ["ARGOSY_PS_DURABILITY"] = "log"
            environ["ARGOSY_PS_DIRECTORY"] = str(tmp_path / "state")
        if started == "hosts":
            environ["PADDLE_NNODES"] = "2"
            of_workers = {"ARGOSY_JOB_MARK": mark}, {"ARGOSY_JOB_MARK": f"{mark} elsewhere"}
        settings = {"folder": str(tmp_path), "first": mark == "first", "loads": 2}
        with Job("async", 1, 2, environ, program, of_workers, **settings) as job:
            assert job.results() == [[1, 1], [1, 1]], mark


def saved_rows(folder):
    """Rows of table 0 in a save."""
    return sum(
        file["rows"]
        for manifest in folder.glob("save-*/part-*/manifest.json")
        for table in json.loads(manifest.read_text())["content"]["sparse"]
        for file in table["files"]
        if table["table"] == 0
    )


@pytest.mark.parametrize("mode", ["sync", "async", "geo"])
def test_a_dead_server_is_an_error_in_time(mode):
    environ = {"ARGOSY_PS_CALL_SECONDS": "3"}
    with Job(mode, workers=1, environ=environ, steps=10**9, say=True, k_steps=2) as job:
        worker = job.workers[0]
        for line in worker.stdout:
            if line.startswith("step"):
                break
        job.servers[0].send_signal(signal.SIGKILL)
        text, _ = worker.communicate(timeout=LIMIT)
        assert worker.returncode not in (0, None) and worker.returncode > 0, text
        assert "TimeoutError: " in text, text
