"""Groups of processes on several hosts: network namespaces where there can be any, and what needs none."""

import os
import pathlib
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from tests.hosts import Hosts, missing
from tests.processes import until
from tests.python.distributed.ranks import run as ranks

from argosy.base.core import TCPStore
from argosy.distributed.launch import ports

needs_hosts = pytest.mark.skipif(bool(missing()), reason=missing())


def start(hosts, each, program, *arguments, environ=None):
    """Starts ranks/PROGRAM.py, `each` on every host; a list of Rank."""
    size = hosts.count * each
    common = dict(
        os.environ,
        PADDLE_TRAINERS_NUM=str(size),
        PADDLE_NNODES=str(hosts.count),
        PADDLE_MASTER=f"{hosts.address(0)}:23456",
        ARGOSY_JOB_TOKEN=secrets.token_hex(8),
        ARGOSY_COMM_TIMEOUT="100",
        ARGOSY_NUM_THREADS="1",
    )
    common.update(environ or {})
    argv = [sys.executable, str(ranks.HERE / f"{program}.py"), *arguments]
    return [
        ranks.Rank(
            subprocess.Popen(
                hosts.command(rank // each, argv),
                env=dict(common, PADDLE_TRAINER_ID=str(rank)),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        for rank in range(size)
    ]


def well(started, limit=500):
    for number, rank in enumerate(ranks.finish(started, limit)):
        assert rank.code == 0 and "all is well" in rank.text, f"{number}: {rank.code}\n{rank.text}"


@needs_hosts
@pytest.mark.parametrize("count, each", [(4, 1), (2, 2), (3, 2)])
def test_collectives_between_hosts(count, each):
    with Hosts(count) as hosts:
        well(start(hosts, each, "collectives", environ={"ENGINE": "tcp"}))


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize(
    "environ",
    [
        {"ARGOSY_COMM_CHECK": "1"},
        *[{"ARGOSY_COMM_ALGORITHM": way} for way in ("ring", "doubling", "halving", "tree")],
    ],
    ids=["checksums", "ring", "doubling", "halving", "tree"],
)
def test_collectives_in_other_ways(count, environ):
    environ = {"ARGOSY_COMM_ENGINE": "tcp", **environ}
    for rank in ranks.run("collectives", count, environ=environ):
        assert "all is well" in rank.text


@pytest.mark.parametrize("engine", ["tcp", ""])
def test_a_group_and_a_strategy_name_the_way_of_sums(engine):
    for rank in ranks.run("algorithms", 4, limit=500, environ={"ARGOSY_COMM_ENGINE": engine}):
        assert "all is well" in rank.text


def test_a_model_of_the_links_is_measured(tmp_path):
    file = tmp_path / "links"
    environ = {"ARGOSY_COMM_ENGINE": "tcp"}
    ranks.run("measures", 2, str(file), environ=environ, limit=500)
    found = re.fullmatch(r"(\S+)us,(\S+)us,(\S+)gbit\n", file.read_text())
    latency, message, gbit = (float(value) for value in found.groups())
    assert 0 < latency < 1e5 and 0 < message < 1e5 and 0.01 < gbit < 1e4, found[0]
    for rank in ranks.run("collectives", 2, environ={**environ, "ARGOSY_COMM_LINKS": str(file)}):
        assert "all is well" in rank.text
    for rank in ranks.finish(ranks.start("measures", 2, str(file))):
        assert "expected two processes that a network joins, got 2 that share memory" in rank.text


def test_a_model_of_the_links_that_is_not_there(tmp_path):
    environ = {"ARGOSY_COMM_ENGINE": "tcp", "ARGOSY_COMM_LINKS": str(tmp_path / "nothing")}
    for rank in ranks.finish(ranks.start("collectives", 2, environ=environ)):
        assert "ARGOSY_COMM_LINKS: expected a file with a line as 30us,5us,10gbit" in rank.text


@pytest.mark.parametrize("count", [4, 5])
def test_a_host_split_in_two(count):
    """Ranks that say they are on two hosts share memory within each."""

    def each(rank):
        host = "ab"[rank * 2 // count]
        return {"ARGOSY_COMM_HOST": host, "PADDLE_NNODES": "2", "ENGINE": "tcp"}

    for rank in ranks.run("collectives", count, each=each):
        assert "all is well" in rank.text


def test_pickles_need_a_secret(tmp_path):
    """Tensors go between hosts without one; objects do not."""
    program = tmp_path / "objects.py"
    program.write_text(
        "import argosy as paddle, argosy.distributed as dist\n"
        "dist.init_parallel_env()\n"
        "x = paddle.ones([3])\n"
        "dist.all_reduce(x)\n"
        "try:\n"
        "    dist.all_gather_object([], 'object')\n"
        "except PermissionError as error:\n"
        "    print(float(x[0]), error)\n"
    )
    environ = {"ARGOSY_COMM_ENGINE": "tcp", "ARGOSY_JOB_TOKEN": ""}
    for rank in ranks.run(str(program.with_suffix("")), 2, each=lambda _: environ):
        assert "2.0 [distributed.all_gather_object] objects are pickled" in rank.text, rank.text


def stores_of(token):
    """Processes that keep the store of the job with this secret."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            is_store = (folder / "comm").read_text().strip() == "argosy-store"
            if is_store and token.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            pass  # it has ended meanwhile
    return found


@needs_hosts
@pytest.mark.parametrize("cut", [0, 1])
def test_a_host_that_is_cut_off(tmp_path, cut):
    """Those who can still talk say who is lost, also where it is the store's host; the store ends."""
    token = secrets.token_hex(8)
    with Hosts(3) as hosts:
        environ = {"FOLDER": str(tmp_path), "ARGOSY_JOB_TOKEN": token}
        started = start(hosts, 1, "fails", "wait-collective", environ=environ)
        waiting = (started[0], started[2])
        try:
            for number in range(3):
                ranks.wait_for(tmp_path / str(number))
            assert len(stores_of(token)) == 1
            hosts.cut(cut)
            before = time.monotonic()
            for rank in waiting:
                rank.collect(80)
            assert time.monotonic() - before < 60  # less than ARGOSY_COMM_TIMEOUT
        finally:
            for rank in started:
                rank.process.kill()
        for rank in waiting:
            assert rank.code == 3 and "RankLostError" in rank.text, rank.text
            assert cut == 0 or "rank 1 has been silent for 5 s" in rank.text, rank.text
        until(lambda: not stores_of(token), told="the store is still there")


@needs_hosts
@pytest.mark.parametrize("way", ["hosts", "hybrid"])
def test_seeded_faults_of_hosts(way):
    """Two of each fault of storm.py, also hosts that are cut off."""
    command = [sys.executable, str(ranks.HERE / "storm.py"), "0", "16", way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0 and "16 runs, 0 wrong" in done.stdout, done.stdout + done.stderr


def test_strangers_disturb_nobody():
    """Who connects and says nothing, or anything, is turned away while ranks meet."""
    started = ranks.start("collectives", 3, environ={"ARGOSY_COMM_ENGINE": "tcp"})
    environ = open(f"/proc/{started[0].process.pid}/environ", "rb").read()
    port = int(re.search(rb"PADDLE_MASTER=127.0.0.1:(\d+)", environ)[1])
    over = threading.Event()

    def disturb(word):
        while not over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", port), 1) as stranger:
                    stranger.sendall(word)
                    stranger.settimeout(0.2)
                    stranger.recv(100)
            except OSError:
                time.sleep(0.01)

    words = (b"", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 5000, b"argserg01" * 5)
    threads = [threading.Thread(target=disturb, args=(word,)) for word in words]
    for thread in threads:
        thread.start()
    try:
        well(started)
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_job_follows_another_at_its_place():
    """At once, under the same name: the store of the one before is not taken for its own."""
    environ = {"ARGOSY_COMM_ENGINE": "tcp", "ARGOSY_JOB_ID": "the same"}
    environ["PADDLE_MASTER"] = f"127.0.0.1:{ports.pick(1)[0]}"
    for _ in range(4):
        for rank in ranks.run("trains", 2, environ=environ):
            assert "weights" in rank.text
    for _ in range(2):  # which ended by an error
        for rank in ranks.finish(ranks.start("fails", 2, "size", environ=environ)):
            assert "RanksDisagreeError" in rank.text, rank.text


def test_who_comes_while_others_of_the_job_before_are_there():
    """The store of that job does not take it, though it is still there: it calls again."""
    environ = {"ARGOSY_COMM_ENGINE": "tcp", "ARGOSY_COMM_TIMEOUT": "60"}
    environ["PADDLE_MASTER"] = f"127.0.0.1:{ports.pick(1)[0]}"
    well(ranks.start("meets_again", 2, environ=environ), 100)


def test_ranks_of_one_host_that_met_by_a_store_meet_again_at_once():
    """They were said to be on two hosts, and are on one: the store has no use any more, and ends."""
    well(ranks.start("meets_again", 2, environ={"PADDLE_NNODES": "2"}), 100)


@pytest.mark.parametrize("way", ["wait-collective", "wait-message"])
def test_a_rank_that_is_stopped_has_been_silent(tmp_path, way):
    """It has not ended, and whoever waits for it says what is known."""
    environ = {"ARGOSY_COMM_ENGINE": "tcp", "FOLDER": str(tmp_path)}
    started = ranks.start("fails", 2, way, environ=environ)
    try:
        for number in range(2):
            ranks.wait_for(tmp_path / str(number))
        ranks.stop(started[1])
        started[0].collect(50)
    finally:
        started[1].process.kill()
    text = started[0].text
    assert "RankLostError" in text and "rank 1 has been silent for 5 s." in text, text
    assert "Do this: see whether that process is stopped, and the network" in text, text
    assert "has ended" not in text


@pytest.mark.parametrize("engine", ["tcp", ""])
@pytest.mark.parametrize("number", ["2", "-1"])
def test_a_number_that_no_process_can_have(engine, number):
    environ = {
        "ARGOSY_COMM_ENGINE": engine,
        "PADDLE_TRAINER_ID": number,
        "PADDLE_TRAINERS_NUM": "2",
    }
    environ["PADDLE_TRAINER_ENDPOINTS"] = ""
    (rank,) = ranks.finish(ranks.start("fails", 1, "size", each=lambda _: environ))
    assert re.search(rf"expected ranks below .* got rank {number} of 2", rank.text), rank.text


def test_a_port_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        environ = {
            "ARGOSY_COMM_ENGINE": "tcp",
            "PADDLE_MASTER": f"127.0.0.1:{taken.getsockname()[1]}",
            "ARGOSY_COMM_TIMEOUT": "3",
        }
        started = ranks.finish(ranks.start("fails", 2, "size", environ=environ))
    assert "rank 0 cannot keep the job's store" in started[0].text
    assert "CommunicationError" in started[1].text


@pytest.mark.parametrize("master", ["nowhere", "127.0.0.1", "127.0.0.1:99999", "[::1]:"])
def test_an_address_that_is_none(master):
    environ = {"ARGOSY_COMM_ENGINE": "tcp", "PADDLE_MASTER": master, "PADDLE_TRAINERS_NUM": "2"}
    environ["PADDLE_TRAINER_ENDPOINTS"] = ""
    (rank,) = ranks.finish(ranks.start("fails", 1, "size", each=lambda _: environ))
    assert "expected an address HOST:PORT, got" in rank.text, rank.text


def test_an_interface_that_is_none():
    environ = {"ARGOSY_COMM_ENGINE": "tcp", "ARGOSY_SOCKET_IFNAME": "nope0"}
    for rank in ranks.finish(ranks.start("fails", 2, "size", environ=environ)):
        assert "expected a network interface of this host" in rank.text, rank.text


def test_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    environ = {"ARGOSY_COMM_ENGINE": "tcp", "PADDLE_MASTER": f"[::1]:{ports.pick(1)[0]}"}
    for rank in ranks.run("collectives", 2, environ=environ):
        assert "all is well" in rank.text


@pytest.mark.parametrize(
    "names",
    [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
        ("RANK", "WORLD_SIZE"),
    ],
)
def test_ranks_that_others_number(names):
    """mpirun, srun and Ray Train say who a process is."""

    def each(rank):
        return {
            names[0]: str(rank), names[1]: "2", "PADDLE_TRAINER_ID": "", "PADDLE_TRAINERS_NUM": "",
            "PADDLE_TRAINER_ENDPOINTS": "", "MASTER_ADDR": "127.0.0.1",
        }  # fmt: skip

    for rank in ranks.run("collectives", 2, each=each):
        assert "all is well" in rank.text


# ---- the store ------------------------------------------------------------------------------------


def test_the_store():
    master = TCPStore("127.0.0.1", 0, True, 1, timeout=60)
    other = TCPStore("127.0.0.1", master.port, False, 1, timeout=60)
    master.set("text", "value")
    other.set("bytes", b"\x00\xff")
    assert (other.get("text"), master.get("bytes")) == (b"value", b"\x00\xff")
    assert [master.add("n", 2), other.add("n", -5)] == [2, -3] and other.get("n") == b"-3"
    assert other.check("text") and not other.check("nothing")
    assert master.delete_key("text") and not other.check("text")
    late = threading.Timer(0.2, lambda: other.set("late", "x"))
    late.start()
    master.wait("late")
    late.join()
    large = os.urandom(3 << 20)
    other.set("large", large)
    assert master.get("large") == large


def test_a_key_that_nobody_sets():
    store = TCPStore("127.0.0.1", 0, True, 1, timeout=0.3)
    before = time.monotonic()
    with pytest.raises(TimeoutError, match="nobody has set the key 'never' within 0.3 s"):
        store.get("never")
    assert 0.2 < time.monotonic() - before < 60


def test_a_store_of_another_job(monkeypatch):
    store = TCPStore("127.0.0.1", 0, True, 1, timeout=60)
    monkeypatch.setenv("ARGOSY_JOB_TOKEN", "another")
    with pytest.raises(RuntimeError, match="ARGOSY_JOB_TOKEN differs"):
        TCPStore("127.0.0.1", store.port, False, 1, timeout=60)


# ---- launchers ------------------------------------------------------------------------------------


def launch(number, count, tmp_path, *arguments, master, environ=None, each=2):
    """The command of one host, as it is run here; each host has a folder of its own."""
    folder = tmp_path / f"host{number}"
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "argosy.distributed.launch", "--nnodes", str(count)]
    command += ["--master", master, "--nproc_per_node", str(each), *arguments]
    environ = dict(
        os.environ,
        ARGOSY_JOB_TOKEN="secret",
        ARGOSY_COMM_HOST=f"host{number}",
        ARGOSY_NUM_THREADS="1",
        **(environ or {}),
    )
    return subprocess.Popen(
        command, cwd=folder, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def end(jobs, limit=200):
    """What each wrote to stderr, and their exit codes."""
    until = time.monotonic() + limit
    texts = []
    try:
        for job in jobs:
            texts.append(job.communicate(timeout=max(1, until - time.monotonic()))[1])
    finally:
        for job in jobs:
            job.kill()
    return texts, [job.returncode for job in jobs]


@pytest.mark.parametrize("numbered", [True, False])
def test_one_command_on_each_host(tmp_path, numbered):
    program = str(ranks.HERE / "trains.py")
    master = f"127.0.0.1:{ports.pick(1)[0]}"
    jobs = [
        launch(n, 2, tmp_path, *(["--rank", str(n)] if numbered else []), program, master=master)
        for n in range(2)
    ]
    texts, codes = end(jobs)
    assert codes == [0, 0], texts
    logs = [p.read_text() for p in sorted(tmp_path.glob("host*/log/workerlog.*"))]
    assert len(logs) == 4
    weights = {re.search(r"^weights (.*)$", log, re.M)[1] for log in logs}
    assert len(weights) == 1


def test_a_rank_that_dies_ends_the_job_on_all_hosts(tmp_path):
    master = f"127.0.0.1:{ports.pick(1)[0]}"
    program = str(ranks.HERE / "fails.py")
    jobs = [
        launch(n, 2, tmp_path, "--rank", str(n), program, "dies", master=master) for n in (0, 1)
    ]
    texts, codes = end(jobs)
    assert codes == [128 + signal.SIGKILL] * 2, texts
    assert all("worker.1 was killed by SIGKILL" in text for text in texts), texts
    assert "RankLostError" in (tmp_path / "host1" / "log" / "workerlog.0").read_text()


def test_a_launcher_that_is_killed_ends_the_job(tmp_path):
    master = f"127.0.0.1:{ports.pick(1)[0]}"
    program = tmp_path / "waits.py"
    program.write_text(
        "import argosy.distributed as dist, pathlib, time\n"
        "dist.init_parallel_env()\n"
        "dist.barrier()\n"
        f"pathlib.Path({str(tmp_path)!r}, f'ready{{dist.get_rank()}}').touch()\n"
        "time.sleep(1000)\n"
    )
    jobs = [launch(n, 2, tmp_path, "--rank", str(n), str(program), master=master) for n in (0, 1)]
    try:
        for rank in range(4):
            ranks.wait_for(tmp_path / f"ready{rank}")
        jobs[1].kill()
        texts, codes = end(jobs[:1], 100)
    finally:
        for job in jobs:
            job.kill()
    assert codes == [1] and "launcher 1 on 127.0.0.1 has ended or is silent" in texts[0], texts


def test_the_whole_group_is_started_again(tmp_path):
    """A rank dies after it has saved: all start again, from what was saved."""
    program = tmp_path / "again.py"
    program.write_text(
        "import os, sys, pathlib\n"
        "import argosy as paddle, argosy.distributed as dist\n"
        "dist.init_parallel_env()\n"
        "x = paddle.full([4], 1.0)\n"
        "dist.all_reduce(x)\n"
        f"saved = pathlib.Path({str(tmp_path)!r}, 'saved')\n"
        "before = saved.read_text() if saved.exists() else 'none'\n"
        "dist.barrier()\n"
        "if before == 'none':\n"
        "    if dist.get_rank() == 3:\n"
        "        saved.write_text('step')\n"
        "        os.kill(os.getpid(), 9)\n"
        "    dist.barrier()\n"
        "print('ended', dist.get_rank(), float(x[0]), before, os.environ['ARGOSY_RESTART'])\n"
    )
    master = f"127.0.0.1:{ports.pick(1)[0]}"
    jobs = [
        launch(n, 2, tmp_path, "--rank", str(n), "--max_restart", "2", str(program), master=master)
        for n in (0, 1)
    ]
    texts, codes = end(jobs)
    assert codes == [0, 0], texts
    logs = [p.read_text() for p in sorted(tmp_path.glob("host*/log/workerlog.*"))]
    for rank, log in enumerate(logs):
        assert f"ended {rank} 4.0 step 1" in log, log


def test_the_group_of_one_host_is_started_again(tmp_path):
    program = tmp_path / "again.py"
    program.write_text(
        "import os, sys\n"
        "import argosy.distributed as dist\n"
        "dist.init_parallel_env()\n"
        "if os.environ['ARGOSY_RESTART'] != '2' and dist.get_rank() == 1:\n"
        "    os._exit(7)\n"
        "dist.barrier()\n"
    )
    command = [sys.executable, "-m", "argosy.distributed.launch", "--nproc_per_node", "2"]
    for limit, code in (("2", 0), ("1", 7)):
        done = subprocess.run(
            [*command, "--max_restart", limit, str(program)],
            cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
    assert "it was restarted 1 times" in done.stderr


@pytest.mark.parametrize(
    "given, text",
    [
        (["--nnodes", "2"], "--nnodes 2: expected --master HOST:PORT"),
        (["--nnodes", "1:4"], "--nnodes: expected a number of hosts, got 1:4"),
        (["--nnodes", "2", "--master", "nowhere"], "--master: expected HOST:PORT, file:///PATH or"),
        (["--nnodes", "2", "--rank", "2"], "--rank: expected the number of this host, below"),
        (["--ips", "10.9.8.7,10.9.8.6"], "--ips: expected one that is this host"),
        (["--ips", "10.9.8.7,10.9.8.6", "--nnodes", "3"], "--ips has 2 hosts, --nnodes says 3"),
    ],
)
def test_launchers_that_cannot_meet(tmp_path, given, text):
    program = tmp_path / "program.py"
    program.write_text("print('trained alone')\n")
    command = [sys.executable, "-m", "argosy.distributed.launch", *given, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 2 and text in done.stderr, done.stderr
    assert "trained alone" not in done.stdout
