"""Servers and clients over real sockets."""

import json
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tests.processes import until
from tests.python.ps.jobs import (
    DENSE,
    SPARSE,
    SUM,
    connect,
    own_endpoint,
    pull,
    push,
    serve,
    stats,
)

from argosy import _ps
from argosy.distributed.launch import ports


@pytest.fixture(params=[1, 3])
def job(request):
    servers = [serve(i, request.param) for i in range(request.param)]
    client = connect(servers)
    yield servers, client
    del client
    for s in servers:
        s.stop()


class TestTables:
    def test_rows_go_where_they_belong(self, job):
        servers, client = job
        rng = np.random.default_rng(0)
        keys = rng.integers(0, 2**64, 5000, dtype=np.uint64)
        values = rng.integers(-9, 9, (5000, 4)).astype(np.float32)
        client.push_sparse(0, keys, values)
        order = rng.permutation(5000)
        np.testing.assert_array_equal(pull(client, keys[order]), values[order])
        rows = [one["tables"][0]["rows"] for one in stats(client)]
        assert sum(rows) == 5000
        assert min(rows) > 0

    def test_signed_keys_are_the_same_bits(self, job):
        _, client = job
        push(client, [2**64 - 1], 3)
        out = np.zeros((1, 4), np.float32)
        client.pull_sparse(0, np.array([-1], np.int64), out)
        assert (out == 3).all()

    def test_repeated_keys_all_count(self, job):
        _, client = job
        push(client, [7] * 1000)
        assert (pull(client, [7, 7]) == 1000).all()

    def test_requests_are_cut(self, job):
        servers, _ = job
        client = connect(servers, chunk_bytes=1000)
        keys = np.arange(3000)
        push(client, keys)
        assert (pull(client, keys) == 1).all()
        assert sum(one["pushes"] for one in stats(client)) > 60

    def test_nothing_to_do(self, job):
        _, client = job
        push(client, [])
        assert pull(client, []).shape == (0, 4)

    def test_pull_without_rows(self, job):
        _, client = job
        assert (pull(client, [1, 2, 3], create=False) == 0).all()
        assert sum(one["tables"][0]["rows"] for one in stats(client)) == 0

    def test_assign(self, job):
        _, client = job
        push(client, [1, 2])
        client.assign_sparse(0, np.array([1], np.uint64), np.full((1, 4), 9, np.float32))
        np.testing.assert_array_equal(pull(client, [1, 2])[:, 0], [9, 1])

    def test_dense_is_divided(self, job):
        _, client = job
        client.assign_dense(1, np.arange(10, dtype=np.float32))
        client.push_dense(1, np.ones(10, np.float32))
        out = np.zeros(10, np.float32)
        client.pull_dense(1, out)
        np.testing.assert_array_equal(out, np.arange(10) + 1)

    def test_learning_rate_travels(self):
        table = {"id": 0, "accessor": {"dim": 1, "embedding": {"rule": "sgd", "initial_range": 0}}}
        server = serve(tables=[table])
        client = connect([server], tables=[table])
        client.push_sparse(0, np.array([5], np.uint64), np.ones((1, 1), np.float32), 0.25)
        np.testing.assert_allclose(pull(client, [5], width=1), -0.25)

    def test_shrink_and_end_day(self, job):
        _, client = job
        push(client, range(100))
        client.end_day()
        assert client.shrink(0) == 0
        assert (pull(client, range(100)) == 1).all()

    def test_tables_from_the_servers(self, job):
        servers, _ = job
        client = connect(servers, tables=[])
        assert [t["id"] for t in json.loads(client.tables())] == [0, 1]
        assert client.pull_width(0) == client.push_width(0) == 4

    @pytest.mark.parametrize("mode", [0, 2, 3])
    def test_save_and_load(self, job, tmp_path, mode):
        _, client = job
        push(client, range(1000), 2)
        assert client.save(str(tmp_path / "m"), mode) == 1000
        push(client, range(1000))
        client.load(str(tmp_path / "m"), 0)
        assert (pull(client, range(1000)) == 2).all()

    def test_load_into_another_number_of_servers(self, job, tmp_path):
        _, client = job
        push(client, range(1000), 2)
        client.assign_dense(1, np.arange(10, dtype=np.float32))
        client.save(str(tmp_path / "m"), 0)
        two = [serve(i, 2, load_from=str(tmp_path / "m")) for i in range(2)]
        other = connect(two)
        assert (pull(other, range(1000), create=False) == 2).all()
        out = np.zeros(10, np.float32)
        other.pull_dense(1, out)
        np.testing.assert_array_equal(out, np.arange(10))


class TestErrors:
    def test_unknown_table(self, job):
        _, client = job
        with pytest.raises(ValueError, match="table 9 does not exist: expected one of 0 'emb'"):
            client.pull_sparse(9, np.zeros(1, np.uint64), np.zeros((1, 4), np.float32))
        with pytest.raises(ValueError, match="not sparse"):
            client.pull_sparse(1, np.zeros(1, np.uint64), np.zeros((1, 4), np.float32))

    def test_wrong_arrays(self, job):
        _, client = job
        with pytest.raises(ValueError, match="expected 2 rows of 4 numbers, got 4"):
            client.push_sparse(0, np.zeros(2, np.uint64), np.zeros((1, 4), np.float32))
        with pytest.raises(TypeError, match="format 'f'"):
            client.push_sparse(0, np.zeros(1, np.uint64), np.zeros((1, 4)))
        with pytest.raises(ValueError, match="10 numbers, got 3"):
            client.push_dense(1, np.zeros(3, np.float32))

    def test_not_finite(self, job):
        _, client = job
        with pytest.raises(ValueError, match="learning rate is not finite"):
            client.push_sparse(
                0, np.zeros(1, np.uint64), np.zeros((1, 4), np.float32), float("nan")
            )
        with pytest.raises(ValueError, match="not finite"):
            client.assign_dense(1, np.full(10, np.inf, np.float32))
        push(client, [1], np.nan)  # dropped and counted, not an error
        assert sum(one["tables"][0]["rejected"] for one in stats(client)) == 1

    def test_options(self):
        with pytest.raises(ValueError, match="'entpoint' is none. Expected one of endpoint"):
            _ps.Server(entpoint="127.0.0.1:0")
        with pytest.raises(ValueError, match="host:port"):
            _ps.Server(endpoint="here")
        with pytest.raises(ValueError, match="workers.*whole number"):
            _ps.Client(workers=-1)
        with pytest.raises(ValueError, match="at least one server"):
            _ps.Client()
        for text, problem in [("[1]", "expected a JSON object"), ("{", "parse error")]:
            with pytest.raises(ValueError, match=problem):
                _ps.Server(text)
        nested = "[" * 200_000 + "]" * 200_000  # who walks it by recursion ends there
        for text in ('{"tables": %s}' % nested, '{"tables": "%s"}' % nested):
            with pytest.raises(ValueError, match="nested deeper than 500"):
                _ps.Server(text)

    @pytest.mark.parametrize(
        "change, text",
        [
            ({"accessor": {"dim": 8, "embedding": SUM}}, "'emb'.accessor.dim: .* 4, .* 8"),
            ({"name": "other"}, "name: .*emb.*other"),
            ({"accessor": {"dim": 4}}, "accessor.embedding.rule"),
        ],
    )
    def test_tables_differ(self, change, text):
        server = serve()
        with pytest.raises(ValueError, match=text):
            connect([server], tables=[SPARSE | change, DENSE])

    def test_numbers_differ(self):
        server = serve(workers=2)
        with pytest.raises(ValueError, match="number of workers: the server has 2"):
            connect([server])
        with pytest.raises(ValueError, match="number of servers"):
            connect([server, server], workers=2)

    def test_no_server(self):
        with pytest.raises(TimeoutError, match="server 0.*gave up after.*attempts"):
            connect([9], connect_deadline=0.5)

    def test_port_taken(self):
        server = serve()
        with pytest.raises(OSError, match="the port is taken"):
            serve(endpoint=f"127.0.0.1:{server.port}")

    def test_too_large_a_message(self):
        server = serve(max_message_bytes=1 << 20)
        client = connect([server])
        keys = np.arange(1 << 18)
        with pytest.raises(ValueError, match="larger than max"):
            push(client, keys)
        cut = connect([server], chunk_bytes=1 << 18)
        push(cut, keys)
        assert (pull(cut, keys) == 1).all()


class TestWho:
    def test_token(self):
        server = serve(token="open sesame".replace(" ", "-"))
        assert pull(connect([server], token="open-sesame"), [1]).shape == (1, 4)
        with pytest.raises(OSError, match="another one.*same token"):
            connect([server], token="open-sesamo")
        with pytest.raises(OSError, match="no token"):
            connect([server])

    def test_open_to_the_network(self):
        for options in [{}, {"token": "x"}]:
            with pytest.raises(ValueError, match="expected a token and a TLS certificate"):
                serve(endpoint="0.0.0.0:0", **options)
        serve(endpoint="0.0.0.0:0", insecure=True, token="x")

    def test_tls(self, tmp_path):
        key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
        made = subprocess.run(
            f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
            f"-keyout {key} -out {certificate} -subj /CN=localhost "
            f"-addext subjectAltName=IP:127.0.0.1,DNS:localhost",
            shell=True,
            capture_output=True,
        )
        if made.returncode:
            pytest.skip("no openssl")
        server = serve(
            endpoint="0.0.0.0:0", token="t", certificate=certificate, certificate_key=key
        )
        client = connect([server], token="t", certificate_authority=certificate)
        push(client, range(1000), 2)
        assert (pull(client, range(1000)) == 2).all()
        with pytest.raises(TimeoutError, match="wants TLS"):
            connect([server], token="t", connect_deadline=1)
        with pytest.raises(OSError, match="cannot read"):
            connect([server], certificate_authority=str(tmp_path / "none"))


class TestLife:
    def test_worker_starts_first(self):
        (port,) = ports.pick(1)
        got = []
        worker = threading.Thread(target=lambda: got.append(connect([port])))
        worker.start()
        time.sleep(0.3)
        server = serve(endpoint=f"127.0.0.1:{port}")
        worker.join(100)
        push(got[0], [1])
        assert (pull(got[0], [1]) == 1).all()
        server.stop()

    def test_server_starts_anew(self):
        endpoint = own_endpoint()
        server = serve(endpoint=endpoint)
        client = connect([server])
        push(client, [1])
        server.stop()
        later = []

        def start():
            until(lambda: client.traffic()[2])
            later.append(serve(endpoint=endpoint))

        starter = threading.Thread(target=start)
        starter.start()
        push(client, [1], 5)  # waits for the new server, which has forgotten all
        assert (pull(client, [1]) == 5).all()
        assert client.traffic()[2] > 0
        starter.join()

    def test_server_with_a_log_starts_anew(self, tmp_path):
        options = {
            "durability": "log",
            "directory": str(tmp_path / "d"),
            "endpoint": own_endpoint(),
        }
        server = serve(**options)
        client = connect([server])
        push(client, [1], 2)
        client.push_dense(1, np.ones(10, np.float32))
        server.stop()
        server = serve(**options)
        push(client, [1], 3)
        assert (pull(client, [1]) == 5).all()
        out = np.zeros(10, np.float32)
        client.pull_dense(1, out)
        assert (out == 1).all()

    def test_other_number_of_servers(self):
        endpoint = own_endpoint()
        server = serve(endpoint=endpoint)
        client = connect([server])
        push(client, [1])
        server.stop()
        server = serve(0, 2, endpoint=endpoint)
        with pytest.raises(ValueError, match="sharded anew, start the workers again"):
            push(client, [1])
        server.stop()

    def test_server_gone(self):
        server = serve()
        client = connect([server], call_deadline=0.5)
        server.stop()
        with pytest.raises(TimeoutError, match="push_sparse, server 0.*gave up"):
            push(client, [1])
        client.stop_servers()  # it is stopped

    def test_wait_and_stop(self):
        server = serve()
        assert server.wait(0.05) is False
        connect([server]).stop_servers()
        assert server.wait(60) is True

    def test_idle_client_is_met_again(self):
        server = serve(client_expiry=8)
        with pytest.raises(ValueError, match="client_expiry.*must be longer"):
            connect([server])
        client = connect([server], call_deadline=7, table_deadline=7)
        push(client, [1])
        until(lambda: not stats(client)[0]["clients"])
        push(client, [1])
        assert (pull(client, [1]) == 2).all()

    def test_forked_child(self):
        code = """
import os, sys
sys.path.insert(0, {path!r})
from tests.processes import until
from tests.python.ps.jobs import serve, connect, push, pull
server = serve(); client = connect([server]); push(client, [1])
pid = os.fork()
if pid == 0:
    try:
        push(client, [1]); os._exit(1)
    except RuntimeError as e:
        os._exit(0 if "forked" in str(e) else 2)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
push(client, [1])
assert (pull(client, [1]) == 2).all()
pid = os.fork()
if pid == 0:
    del client, server   # must not hang
    sys.exit(0)
sys.exit(status or os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
        path = __file__.rsplit("/tests/", 1)[0]
        done = subprocess.run([sys.executable, "-c", code.format(path=path)], timeout=200)
        assert done.returncode == 0

    def test_interrupt(self):
        code = """
import os, signal, threading, sys
from argosy import _ps
server = _ps.Server(endpoint="127.0.0.1:0")
timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    timer.start()
    server.wait()
except KeyboardInterrupt:
    sys.exit(0)
sys.exit(1)
"""
        assert subprocess.run([sys.executable, "-c", code], timeout=200).returncode == 0
