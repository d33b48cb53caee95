"""How jobs end: saves after stop_worker, servers that end with the last worker, in every way."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from argosy.distributed.launch import ports

_PROGRAM = pathlib.Path(__file__).parent / "programs" / "after_stop.py"
_ENVIRON = {
    k: v
    for k, v in os.environ.items()
    if not k.startswith(("PADDLE_", "TRAINING_ROLE", "POD_IP", "ARGOSY_", "PYTHONUNBUFFERED"))
}


def _result(text):
    (line,) = [line for line in text.splitlines() if "RESULT" in line]
    return json.loads(line.split("RESULT ", 1)[1])


def _check_saved(folder, text):
    result = _result(text)
    assert result["after"] < result["before"] / 2
    assert {"snapshot.json", "trainer"} <= {p.name for p in (folder / "saved" / "all").iterdir()}
    assert (folder / "saved" / "inference" / "__model__.pdmodel").exists()


@pytest.mark.parametrize("mode", ["sync", "async", "geo"])
@pytest.mark.parametrize("servers, workers", [(1, 1), (2, 2)])
def test_saves_after_stop_worker(tmp_path, mode, servers, workers):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "argosy.cli", "launch", "--grace=280"),
            *("--servers", str(servers), "--workers", str(workers)),
            *(str(_PROGRAM), mode, str(tmp_path / "saved")),
        ],
        cwd=tmp_path,
        env=_ENVIRON,
        capture_output=True,
        text=True,
        timeout=200,  # less than the launcher's patience with servers
    )
    assert (done.returncode, done.stderr) == (0, "")
    _check_saved(tmp_path, done.stdout)
    for i in range(servers):
        assert "SERVED" in (tmp_path / "log" / f"serverlog.{i}").read_text()


@pytest.fixture
def by_hand(tmp_path):
    """Starts the processes of a job as a shell would; kills what is left."""
    started = []

    def start(servers, workers, *arguments, **more):
        free = [f"127.0.0.1:{port}" for port in ports.pick(servers + workers)]
        common = dict(
            _ENVIRON,
            PADDLE_PSERVERS_IP_PORT_LIST=",".join(free[:servers]),
            PADDLE_TRAINER_ENDPOINTS=",".join(free[servers:]),
            PADDLE_TRAINERS_NUM=str(workers),
            **more,
        )
        for i, address in enumerate(free):
            host, _, port = address.partition(":")
            role = {"TRAINING_ROLE": "PSERVER", "POD_IP": host, "PADDLE_PORT": port}
            if i >= servers:
                role = {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i - servers)}
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", "argosy.cli", "run", str(_PROGRAM), *arguments],
                    cwd=tmp_path,
                    env={**common, **role},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        return started[:servers], started[servers:]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _texts(processes, seconds=120):
    texts = [process.communicate(timeout=seconds)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), "\n".join(texts)
    return texts


# "leave" does not call stop_worker.
@pytest.mark.parametrize("mode", ["sync", "async", "leave"])
def test_servers_end_with_the_last_worker(tmp_path, by_hand, mode):
    servers, workers = by_hand(2, 3, mode, str(tmp_path / "saved"))
    texts = _texts(workers)
    assert all("SERVED" in text for text in _texts(servers))
    if mode != "leave":
        _check_saved(tmp_path, texts[0])


def test_many_workers_leave_at_once(tmp_path, by_hand):
    """They all see that nobody stays, and one of them ends the servers, when no other asks any more."""
    for _ in range(3):
        servers, workers = by_hand(1, 4, "leave", "")
        _texts(workers)
        _texts(servers)


def test_a_worker_that_was_killed_does_not_leave(tmp_path, by_hand):
    servers, workers = by_hand(1, 2, "stay", "")
    for worker in workers:
        assert any("TRAINED" in line for line in worker.stdout)
        worker.kill()
    with pytest.raises(subprocess.TimeoutExpired):
        servers[0].wait(3)
    # It ends in order all the same, and its program goes on.
    servers[0].send_signal(signal.SIGTERM)
    (text,) = _texts(servers)
    assert "SERVED" in text


def test_a_server_to_which_nobody_comes(by_hand):
    servers, workers = by_hand(1, 1, "sync", "", ARGOSY_PS_IDLE_SECONDS="2")
    workers[0].kill()
    text = servers[0].communicate(timeout=200)[0]
    assert servers[0].returncode == 1
    assert (
        "TimeoutError: [fleet.run_server] server 0: none of 1 workers has pulled or pushed" in text
    )
    assert "ARGOSY_PS_IDLE_SECONDS" in text
