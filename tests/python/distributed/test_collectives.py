"""Collectives between processes: all of them at one to four ranks, failures, connecting, spawn."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.processes import until_it_waits
from tests.python.distributed.ranks import run as ranks

import argosy
import argosy.distributed as dist


@pytest.fixture(autouse=True, params=["shm", "tcp"])
def engine(request, monkeypatch):
    """What connects the processes of a test."""
    monkeypatch.setenv("ARGOSY_COMM_ENGINE", request.param.replace("shm", ""))
    return request.param


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_each_collective_at_each_size(count):
    for rank in ranks.run("collectives", count):
        assert "all is well" in rank.text


def failures(started, expected, limit=500):
    """The errors that ranks printed as `KIND: text`: of one kind, and one text."""
    ranks.finish(started, limit)
    errors = []
    for number, rank in enumerate(started):
        found = re.findall(r"^(\w+): (\(.*)$", rank.text, re.M)
        if number in expected:
            assert rank.code == 3 and len(found) == 1, f"rank {number}: {rank.code}\n{rank.text}"
            errors.append(found[0])
    assert len(set(errors)) == 1, errors
    return errors[0]


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize(
    "way, text",
    [
        (
            "size",
            r"all_reduce\(sum\) of 4 float32 on rank 0, all_reduce\(sum\) of 5 float32 on rank 1",
        ),
        (
            "dtype",
            r"all_reduce\(sum\) of 4 float32 on rank 0, all_reduce\(sum\) of 4 int32 on rank 1",
        ),
        ("kind", r"all_reduce\(sum\) of 4 float32 on rank 0, barrier on rank 1"),
        (
            "op",
            r"all_reduce\(sum\) of 4 float32 on rank 0, all_reduce\(max\) of 4 float32 on rank 1",
        ),
    ],
)
def test_ranks_that_disagree(engine, count, way, text):
    started = ranks.start("fails", count, way)
    kind, got = failures(started, range(count))
    assert kind == "RanksDisagreeError"
    if engine == "tcp":  # who hears rank 1 first is named beside it
        for part in text.split(", "):
            assert re.search(part.replace("rank 0", r"rank [023]"), got), got
        return
    assert re.search(rf"the ranks of group 0 disagree about collective 1: .*{text}", got), got


@pytest.mark.parametrize("way", ["collective", "message"])
def test_a_killed_rank(tmp_path, way):
    started = ranks.start("fails", 3, f"wait-{way}", environ={"FOLDER": str(tmp_path)})
    for number in range(3):
        ranks.wait_for(tmp_path / str(number))
    for number in (0, 2):
        until_it_waits(started[number].process.pid)
    before = time.monotonic()
    started[1].process.send_signal(signal.SIGKILL)
    kind, text = failures(started, (0, 2))
    assert time.monotonic() - before < 40  # less than ARGOSY_COMM_TIMEOUT
    assert kind == "RankLostError" and "rank 1 has ended" in text, text
    assert started[1].code == -signal.SIGKILL


@pytest.mark.parametrize("way, code", [("raises", 1), ("exits", 0), ("raises-busy", 1)])
def test_a_rank_that_ends_while_others_wait_for_it(tmp_path, way, code):
    """By an error or in order: it is lost to them as one that was killed."""
    started = ranks.start("fails", 3, way, environ={"FOLDER": str(tmp_path)})
    kind, text = failures(started, (0, 2))
    assert kind == "RankLostError" and "rank 1 has ended, or destroyed" in text, text
    assert "see what that process wrote last" in text and started[1].code == code


@pytest.mark.parametrize("way", ["collective", "message"])
def test_a_stopped_rank(tmp_path, way):
    environ = {"FOLDER": str(tmp_path), "SECONDS": "2"}
    started = ranks.start("fails", 3, f"wait-{way}", environ=environ)
    try:
        for number in range(3):
            ranks.wait_for(tmp_path / str(number))
        ranks.stop(started[1])
        for rank in (started[0], started[2]):
            rank.collect(400)
            waited = re.search(r"^waited (.*) s$", rank.text, re.M)
            assert waited and 1.9 < float(waited[1]) < 30, rank.text
    finally:
        started[1].process.kill()
    kind, text = failures(started, (0, 2))
    assert kind == "CommunicationTimeout", text
    assert "rank 1 has not" in text and "within 2 s" in text, text


def test_an_interrupted_rank(tmp_path):
    started = ranks.start("fails", 2, "wait-collective", environ={"FOLDER": str(tmp_path)})
    for number in range(2):
        ranks.wait_for(tmp_path / str(number))
    until_it_waits(started[0].process.pid)
    started[0].process.send_signal(signal.SIGINT)
    started[0].collect(400)
    (tmp_path / "come").touch()
    ranks.finish(started[1:])
    assert "KeyboardInterrupt" in started[0].text
    assert "rank 0 was interrupted in collective" in started[1].text, started[1].text


@pytest.mark.parametrize("seconds", ["0", "0.5"])
def test_an_interrupted_message(tmp_path, seconds):
    environ = {"FOLDER": str(tmp_path), "SECONDS": seconds}
    started = ranks.start("fails", 2, "interrupt", environ=environ)
    ranks.wait_for(tmp_path / "0")
    until_it_waits(started[0].process.pid)
    started[0].process.send_signal(signal.SIGINT)
    ranks.finish(started)
    assert "interrupted\nRankLostError: " in started[0].text, started[0].text
    assert "rank 0 was interrupted while it exchanged tensors" in started[1].text, started[1].text


def test_the_flight_recorder(tmp_path):
    started = ranks.start("fails", 2, "size", environ={"ARGOSY_COMM_DUMP": str(tmp_path)})
    failures(started, range(2))
    dumps = sorted(tmp_path.iterdir())
    assert [d.name.split(".")[1] for d in dumps] == ["0", "1"]
    for dump in dumps:
        lines = dump.read_text().splitlines()
        assert "disagree" in lines[0] and "group 0 #0 done" in lines[1] and "#1" in lines[-1]
    assert "the last collectives are in" in started[0].text


def test_seeded_faults(engine):
    """kill, SIGSTOP, other calls, a late rank, a forked child, a rank that leaves: three of each, or two where a
    rank that is stopped for long is one more."""
    command = [sys.executable, str(ranks.HERE / "storm.py"), "0", "18"] + ["tcp"] * (
        engine == "tcp"
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0 and "18 runs, 0 wrong" in done.stdout, done.stdout + done.stderr


def test_a_forked_child_cannot_use_the_group():
    for rank in ranks.run("fails", 2, "fork"):
        assert (
            "CommunicationError: (PreconditionNotMet) [all_reduce] group 0 belongs to the"
            in rank.text
        )
        assert "parent is well" in rank.text


def test_a_forked_child_of_a_program_that_runs_alone_connects_anew():
    dist.barrier()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            x = argosy.ones([2])
            dist.all_reduce(x)
            status = 0 if x.tolist() == [1.0, 1.0] else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    dist.barrier()


def test_a_rank_that_never_starts():
    started = ranks.start("fails", 3, "size", environ={"ARGOSY_COMM_TIMEOUT": "10"})
    started[1].process.kill()
    ranks.finish(started)
    assert "expected 3 ranks, but ranks 1 have not come within 10 s" in started[0].text
    assert "CommunicationError" in started[2].text


@pytest.mark.parametrize(
    "each, text",
    [
        (
            lambda r: {"ARGOSY_COMM_HOST": f"host{r}"},
            r"ranks 0 and 1 are on several hosts \(host0, host1\)",
        ),
        (
            lambda r: {"PADDLE_TRAINER_ID": "0" if r == 0 else "5"},
            "expected ranks below|have not come",
        ),
        (lambda r: {"ARGOSY_JOB_TOKEN": f"secret{r}"}, "belongs to another job|have not come"),
    ],
)
def test_who_does_not_belong_together(engine, each, text):
    if engine == "tcp" and "ARGOSY_COMM_HOST" in each(0):
        pytest.skip("over TCP they do belong together")
    environ = {"ARGOSY_COMM_TIMEOUT": "6"}
    started = ranks.finish(ranks.start("fails", 2, "size", environ=environ, each=each))
    for rank in started:
        assert rank.code == 3 and re.search(rf"CommunicationError: .*({text})", rank.text), (
            rank.text
        )


def test_hosts_that_are_one_share_memory(engine):
    """The names say two hosts; the processes find out."""
    environ = {"PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:1,10.0.0.2:1"}
    for rank in ranks.run("collectives", 2, environ=environ):
        assert "all is well" in rank.text


def test_the_command_trains_with_collectives(tmp_path):
    program = ranks.HERE / "trains.py"
    command = [sys.executable, "-m", "argosy.distributed.launch", "--devices", "0,1"]
    command += ["--log_dir", str(tmp_path / "log"), str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    logs = [(tmp_path / "log" / f"workerlog.{r}").read_text() for r in range(2)]
    weights = [re.search(r"^weights (.*)$", log, re.M)[1] for log in logs]
    assert weights[0] == weights[1]
    alone = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=80, check=True
    )
    assert re.search(r"^weights (.*)$", alone.stdout, re.M)[1] == weights[0]


def test_the_command_says_which_rank_failed(tmp_path):
    program = ranks.HERE / "fails.py"
    command = [sys.executable, "-m", "argosy.distributed.launch", "--nproc_per_node", "3"]
    command += ["--log_dir", str(tmp_path / "log"), str(program), "dies"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=200)
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    assert "worker.1 is not restarted: a process cannot join the others" in done.stderr
    for r in (0, 2):
        assert "RankLostError" in (tmp_path / "log" / f"workerlog.{r}").read_text()


def add_up(base, folder):
    import argosy as paddle

    dist.init_parallel_env()
    x = paddle.to_tensor([base + dist.get_rank()])
    dist.all_reduce(x)
    with open(os.path.join(folder, str(dist.get_rank())), "w") as file:
        file.write(str(int(x)))


def fail_in_one(rank):
    dist.init_parallel_env()
    if dist.get_rank() == rank:
        raise SystemExit(7)
    dist.barrier()


def test_spawn_connects_processes(tmp_path):
    context = dist.spawn(add_up, (10, str(tmp_path)), nprocs=3)
    assert len(context.processes) == 3 and context.join()
    assert [(tmp_path / str(r)).read_text() for r in range(3)] == ["33"] * 3
    assert "PADDLE_TRAINERS_NUM" not in os.environ or os.environ["PADDLE_TRAINERS_NUM"] == "1"


def test_spawn_ends_all_when_one_fails():
    with pytest.raises(RuntimeError, match=r"\(rank [01]\) ended with [17]"):
        dist.spawn(fail_in_one, (1,), nprocs=2)


def test_a_forked_child_does_not_wait_for_threads_of_its_parent(tmp_path):
    """The group of a process that is alone has a thread, which a child does not have."""
    script = tmp_path / "forks.py"
    script.write_text(
        "import os, time\n"
        "import argosy\n"
        "argosy.distributed.all_reduce(argosy.ones([2]), sync_op=False).wait()\n"
        "time.sleep(0.2)  # the thread waits for more\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    argosy.distributed.all_reduce(argosy.ones([2]), sync_op=False).wait()\n"
        "    os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    )
    subprocess.run([sys.executable, str(script)], check=True, timeout=200)
