"""Who may do what: tokens, the file of tokens, certificates, limits."""

import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.python.ps.jobs import (
    DENSE,
    SPARSE,
    TABLES,
    connect,
    own_endpoint,
    pull,
    push,
    serve,
    stats,
)
from tests.python.ps.raw import Raw, request

from argosy import _ps
from argosy.distributed.fleet.runtime import ServiceSettings
from argosy.distributed.launch import ports

ROOT = __file__.rsplit("/tests/", 1)[0]
ADMIN = {
    "save": lambda c, folder: c.save(folder, 0),
    "load": lambda c, folder: c.load(folder, 0),
    "shrink": lambda c, folder: c.shrink(0),
    "end_day": lambda c, folder: c.end_day(),
    "stop_servers": lambda c, folder: c.stop_servers(),
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user without files of tokens; where they will be."""
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "run" / "argosy"


def start(options, environ=None, before=""):
    """A server in a process of its own: (process, port)."""
    code = f"""
import json, sys
{before}
from argosy import _ps
from argosy.distributed.fleet.runtime import ServiceSettings
server = _ps.Server(json.dumps({options!r}))
print(server.port, flush=True)
server.wait()
"""
    given = os.environ.get("PYTHONPATH")  # of a build with sanitizers
    path = f"{given}{os.pathsep}{ROOT}" if given else ROOT
    env = dict(os.environ, PYTHONPATH=path, **(environ or {}))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env)
    return process, int(process.stdout.readline())


@pytest.fixture
def processes():
    """Ends what is put into it."""
    found = []
    yield found
    for p in found:
        p.kill()
        p.wait()


class TestRoles:
    @pytest.mark.parametrize("call", ADMIN)
    def test_worker_may_not_administer(self, call, tmp_path):
        server = serve(token="worker", admin_token="admin", save_roots=[str(tmp_path)])
        worker = connect([server], token="worker")
        push(worker, range(10))
        folder = str(tmp_path / "m")
        boss = connect([server], token="worker", admin_token="admin")
        boss.save(folder, 0)
        with pytest.raises(OSError, match="administrator's token, .* ARGOSY_JOB_ADMIN_TOKEN"):
            ADMIN[call](worker, folder)
        assert (pull(worker, range(10)) == 1).all()
        assert not server.wait(0.05)
        ADMIN[call](boss, folder)

    def test_administrator_alone(self):
        server = serve(token="worker", admin_token="admin")
        boss = connect([server], admin_token="admin")
        push(boss, [1])
        boss.end_day()

    def test_one_token_for_both(self):
        server = serve(token="one")
        client = connect([server], token="one")
        client.end_day()
        client.stop_servers()
        assert server.wait(60)

    def test_admin_token_alone_is_refused(self):
        with pytest.raises(ValueError, match="admin_token: expected a token for workers too"):
            serve(admin_token="admin")

    def test_wrong_tokens(self):
        server = serve(token="worker", admin_token="admin")
        for token in ("admi", "worker1", "workeradmin"):
            with pytest.raises(OSError, match="another one"):
                connect([server], token=token)

    @pytest.mark.parametrize("method", ["Stop", "Save", "Stats", "Post", "PullDense"])
    def test_nobody_may_do_anything(self, method):
        server = serve()
        raw = Raw(server.port, window=1 << 20)
        for token in (None, "x"):
            stream = raw.call(method, b"\x0a\x02\x58\x01", token)
            raw.read_until(lambda: stream in raw.ended)
        assert not server.wait(0.05)
        assert json.loads(server.stats())["pulls"] == 0
        raw.close()

    def test_stop_needs_a_known_client(self):
        server = serve(token="t")
        raw = Raw(server.port, window=1 << 20)
        stream = raw.call("Stop", b"\x0a\x02\x58\x01", "t")
        raw.read_until(lambda: stream in raw.ended)
        assert not server.wait(0.05)
        raw.close()


class TestBeyondThisHost:
    def test_token_always(self):
        for options in ({}, {"token": "x"}, {"insecure": True}):
            with pytest.raises(ValueError, match="reached from other machines: expected a token"):
                serve(endpoint="0.0.0.0:0", **options)
        server = serve(endpoint="0.0.0.0:0", insecure=True, token="x")
        connect([server], token="x")

    def test_no_token_in_plain_text(self):
        server = serve(endpoint="0.0.0.0:0", insecure=True, token="x")
        # (An address that is not loopback, and yet reaches this host.)
        options = {"endpoints": [f"0.0.0.0:{server.port}"], "tables": TABLES, "token": "x"}
        with pytest.raises(ValueError, match="others could read the token.*insecure=True"):
            _ps.Client(**options)
        push(_ps.Client(insecure=True, **options), [1])


class TestFileOfTokens:
    def test_found_by_the_same_user(self, home):
        server = serve()
        (file,) = home.iterdir()
        assert str(server.port) in file.name
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        client = connect([server])
        push(client, [1])
        client.end_day()
        server.stop()
        assert list(home.iterdir()) == []

    def test_not_by_another_user(self, home, monkeypatch, tmp_path):
        server = serve()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "other"))
        with pytest.raises(OSError, match="no token .*left none for this user in .*other"):
            connect([server])

    def test_other_folders(self, home, monkeypatch, tmp_path):
        monkeypatch.delenv("XDG_RUNTIME_DIR")
        (tmp_path / "home").mkdir()
        server = serve()
        (folder,) = (tmp_path / "home/.cache/argosy").iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
        connect([server])  # it need not have the server's environment

    def test_others_could_write_it(self, home):
        server = serve()
        (file,) = home.iterdir()
        file.chmod(0o644)
        with pytest.raises(OSError, match="others could have written.*others than its user"):
            connect([server])
        file.chmod(0o600)
        home.chmod(0o755)
        with pytest.raises(OSError, match="others could have written"):
            connect([server])
        home.chmod(0o700)
        connect([server])
        text = file.read_bytes()
        file.rename(home / "elsewhere")
        file.symlink_to(home / "elsewhere")
        with pytest.raises(OSError, match="others could have written"):
            connect([server])
        assert (home / "elsewhere").read_bytes() == text

    @pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
    def test_of_another_user(self, home):
        server = serve()
        (file,) = home.iterdir()
        os.chown(file, 12345, -1)
        with pytest.raises(OSError, match="belongs to user 12345"):
            connect([server])

    def test_server_passes_over_unsafe_folders(self, home, tmp_path):
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        home.symlink_to(tmp_path / "elsewhere")
        (tmp_path / "home").mkdir()
        server = serve()
        assert list((tmp_path / "elsewhere").iterdir()) == []
        home.unlink()
        connect([server])

    def test_killed_server_comes_back(self, home, processes):
        process, port = start({"endpoint": own_endpoint(), "tables": TABLES})
        processes.append(process)
        client = connect([port])
        (file,) = home.iterdir()
        before = file.read_bytes()
        process.send_signal(signal.SIGKILL)
        process.wait()
        server = serve(endpoint=f"127.0.0.1:{port}")
        assert file.read_bytes() == before
        push(client, [1])
        server.stop()
        assert list(home.iterdir()) == []

    def test_ended_server_comes_back_with_others(self, home):
        endpoint = own_endpoint()
        server = serve(endpoint=endpoint)
        client = connect([server])
        server.stop()
        server = serve(endpoint=endpoint)
        push(client, [1])

    def test_file_of_a_dead_server_is_none(self, home, processes):
        process, port = start({"endpoint": own_endpoint(), "tables": TABLES})
        process.kill()
        process.wait()
        assert list(home.iterdir())
        serving = serve(endpoint=f"127.0.0.1:{port}", token="t")
        with pytest.raises(OSError, match="sent no token"):
            connect([port])
        assert serving.port == port

    def test_two_servers_of_one_port(self, home):
        one = serve()
        two = serve(endpoint=f"127.0.0.2:{one.port}")
        one.stop()
        assert list(home.iterdir())
        client = _ps.Client(endpoints=[f"127.0.0.2:{two.port}"], tables=TABLES)
        push(client, [1])
        two.stop()
        assert list(home.iterdir()) == []

    def test_damaged_file(self, home, processes):
        process, port = start({"endpoint": own_endpoint(), "tables": TABLES})
        process.kill()
        process.wait()
        (file,) = home.iterdir()
        file.write_text("argosy parameter server 1\nhal")
        server = serve(endpoint=f"127.0.0.1:{port}")
        push(connect([server]), [1])

    def test_many_servers_at_once(self, home, processes):
        """Several start and end on one port, in several processes; whoever has it can be reached."""
        code = f"""
import sys, time
sys.path.append({ROOT!r})
from tests.python.ps.jobs import serve, connect, push
port, served, end = int(sys.argv[1]), 0, time.monotonic() + 200
while served < 10 and time.monotonic() < end:
    try:
        server = serve(endpoint=f"127.0.0.1:{{port}}")
    except OSError as e:
        assert "the port is taken" in str(e), e
        time.sleep(0.001)
        continue
    push(connect([port], connect_deadline=100), [1])
    server.stop()
    served += 1
sys.exit(served < 10)
"""
        (port,) = ports.pick(1)
        for _ in range(3):
            processes.append(subprocess.Popen([sys.executable, "-c", code, str(port)]))
        assert [p.wait(250) for p in processes] == [0, 0, 0]
        assert list(home.iterdir()) == []


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Files of two authorities, and a certificate of each: ca, cert, key, other_ca, .."""
    folder = tmp_path_factory.mktemp("tls")
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = {}
    for who in ("", "other_"):
        commands = f"""
{make} -keyout {who}cakey.pem -out {who}ca.pem -subj /CN={who}authority &&
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {who}key.pem -out req.pem \
 -subj /CN=localhost &&
printf subjectAltName=IP:127.0.0.1,DNS:localhost > ext &&
openssl x509 -req -in req.pem -CA {who}ca.pem -CAkey {who}cakey.pem -CAcreateserial -days 2 -extfile ext \
 -out {who}cert.pem"""
        commands += f"""&&
openssl x509 -req -in req.pem -CA {who}ca.pem -CAkey {who}cakey.pem -CAcreateserial -days 0 -extfile ext \
 -out {who}expired.pem"""
        done = subprocess.run(commands, shell=True, cwd=folder, capture_output=True)
        if done.returncode:
            pytest.skip("no openssl")
        for name in ("ca", "cert", "key", "expired"):
            names[who + name] = str(folder / f"{who}{name}.pem")
    time.sleep(1.1)  # until those of no days have expired
    return names


class TestCertificatesOfClients:
    def test_only_with_one(self, certificates):
        c = certificates
        server = serve(
            token="t", certificate=c["cert"], certificate_key=c["key"],
            client_certificate_authority=c["ca"],
        )  # fmt: skip
        base = {"token": "t", "certificate_authority": c["ca"]}
        own = {"certificate": c["cert"], "certificate_key": c["key"]}
        push(connect([server], **base, **own), [1])
        with pytest.raises(TimeoutError):
            connect([server], **base, connect_deadline=1)
        other = {"certificate": c["other_cert"], "certificate_key": c["other_key"]}
        with pytest.raises(TimeoutError):
            connect([server], **base, **other, connect_deadline=1)
        with pytest.raises(OSError, match="another one"):  # a certificate is no token
            connect([server], **{**base, "token": "x"}, **own)

    def test_what_nobody_would_accept_is_found_at_once(self, certificates, tmp_path):
        """By who has the file: gRPC takes any, and connections fail without a reason then."""
        c = certificates
        nonsense = tmp_path / "nonsense.pem"
        nonsense.write_text("nonsense")
        whole = {"certificate": c["cert"], "certificate_key": c["key"]}
        wrong = [
            ({"certificate": c["expired"]}, rf"'{c['expired']}' is valid from .* GMT, not now"),
            ({"certificate_key": c["other_key"]}, "is not the key of the certificate"),
            ({"certificate": str(nonsense)}, "certificate: expected a certificate .*nonsense.pem'"),
            ({"certificate_key": c["cert"]}, "certificate_key: expected a private key"),
        ]
        server = serve(token="t", **whole)
        client = {"token": "t", "certificate_authority": c["ca"]}
        for options, text in wrong:
            with pytest.raises(ValueError, match=text):
                serve(token="t", **{**whole, **options})
            with pytest.raises(ValueError, match=text):
                connect([server], **client, **{**whole, **options})
        authority = {"client_certificate_authority": str(nonsense)}
        with pytest.raises(ValueError, match="client_certificate_authority: expected a cert"):
            serve(token="t", **whole, **authority)
        with pytest.raises(ValueError, match="certificate_authority: expected a certificate"):
            connect([server], token="t", certificate_authority=str(nonsense))
        with pytest.raises(OSError, match="certificate_authority: cannot read"):
            connect([server], token="t", certificate_authority=str(tmp_path / "none.pem"))

    def test_swapped_under_a_server(self, certificates, tmp_path):
        """A server goes on with what it read; the next one has the new files, and old clients say so."""
        c = certificates
        (tmp_path / "cert.pem").write_bytes(open(c["cert"], "rb").read())
        (tmp_path / "key.pem").write_bytes(open(c["key"], "rb").read())
        own = {
            "certificate": str(tmp_path / "cert.pem"),
            "certificate_key": str(tmp_path / "key.pem"),
        }
        server = serve(token="t", **own)
        (tmp_path / "cert.pem").write_bytes(open(c["other_cert"], "rb").read())
        push(connect([server], token="t", certificate_authority=c["ca"]), [1])
        with pytest.raises(ValueError, match="is not the key of"):  # half swapped
            serve(token="t", **own)
        (tmp_path / "key.pem").write_bytes(open(c["other_key"], "rb").read())
        successor = serve(token="t", **own)
        with pytest.raises(TimeoutError, match="a certificate of this authority"):
            connect([successor], token="t", certificate_authority=c["ca"], connect_deadline=1)
        push(connect([successor], token="t", certificate_authority=c["other_ca"]), [1])

    def test_halves(self, certificates):
        c = certificates
        with pytest.raises(ValueError, match="client_certificate_authority: expected a cert"):
            serve(token="t", client_certificate_authority=c["ca"])
        server = serve(token="t")
        with pytest.raises(ValueError, match="both certificate and certificate_key"):
            connect([server], token="t", certificate_authority=c["ca"], certificate=c["cert"])
        with pytest.raises(ValueError, match="Do this: set certificate_authority"):
            connect([server], token="t", certificate=c["cert"], certificate_key=c["key"])


def resident(pid):
    """Bytes of memory that a process has."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class TestLimits:
    def test_keys(self):
        server = serve(max_keys=1000)
        client = connect([server])
        push(client, range(1000))
        with pytest.raises(ValueError, match=r"1001 keys: the limit is 1000 \(max_keys\)"):
            push(client, range(1001))
        with pytest.raises(ValueError, match="max_keys"):
            pull(client, range(1001))

    def test_connections(self):
        server = serve(max_connections=8)
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as s:
                try:
                    assert s.recv(1) == b""
                except ConnectionResetError:
                    pass
        with pytest.raises(TimeoutError):
            connect([server], connect_deadline=1)
        for s in held:
            s.close()
        push(connect([server]), [1])

    def test_strangers_give_their_places_back(self):
        """Connections that are none of HTTP/2 end by themselves, so that whoever waits gets in."""
        server = serve(max_connections=3)
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        held[1].sendall(b"PRI * HT")
        push(connect([server], connect_deadline=100), [1])
        for s in held:
            s.settimeout(100)
            try:
                while s.recv(4096):
                    pass
            except ConnectionResetError:
                pass
            s.close()

    @pytest.mark.parametrize("limit", ["max_calls", "max_arriving_calls"])
    def test_calls_at_once(self, limit):
        """Calls above the limit are told to come later; those whose message does not come end."""
        # Of two threads both might take the last one.
        server = serve(token="t", threads=1, message_deadline=6, **{limit: 3})
        raw = Raw(server.port)
        streams = [raw.call("PullDense", None, "t") for _ in range(5)]
        raw.read_until(lambda: len(raw.ended) >= 2)
        assert [s in raw.ended for s in streams] == [False] * 3 + [True] * 2
        client = connect([server], token="t")
        push(client, [1])
        assert client.traffic()[2] > 0  # attempts after the first
        raw.read_until(lambda: all(s in raw.ended for s in streams))
        raw.close()

    def test_calls_at_once_end_in_time(self):
        server = serve(token="t", threads=1, max_calls=1)
        raw = Raw(server.port)
        held, refused = (raw.call("PullDense", None, "t") for _ in range(2))
        raw.read_until(lambda: refused in raw.ended)
        assert held not in raw.ended
        with pytest.raises(TimeoutError, match="too many calls"):
            connect([server], token="t", connect_deadline=3)
        raw.close()

    def test_waiting_calls_end_with_their_connection(self):
        """Calls that wait for other workers hold places no longer than somebody waits for them."""
        server = serve(workers=2, token="t", threads=1, max_calls=4)
        epoch = stats(connect([server], workers=2, token="t"))[0]["epoch"]
        who = {"client_high": 5, "client_low": 6, "workers": 2, "servers": 1, "epoch": epoch}
        raw = Raw(server.port, window=1 << 20)
        hello = raw.call("Hello", request(**who), "t")
        raw.read_until(lambda: hello in raw.ended)
        gather = request(**who, round=1, wait_ms=600_000)
        waiting = [raw.call("Gather", gather, "t") for _ in range(5)]
        raw.read_until(lambda: waiting[4] in raw.ended)  # there was no place for it
        with pytest.raises(TimeoutError, match="too many calls"):
            connect([server], workers=2, token="t", connect_deadline=3)
        raw.read(0.1)
        assert raw.ended.keys().isdisjoint(waiting[:4])
        raw.close()
        push(connect([server], workers=2, token="t", connect_deadline=60), [1])

    def test_calls_of_one_connection(self):
        server = serve(token="t", max_arriving_calls=5000)
        raw = Raw(server.port)
        for _ in range(1024):
            raw.call("PullDense", None, "t")
        raw.read(1)
        assert not raw.ended
        with pytest.raises(ConnectionError, match="closed the connection"):
            raw.call("PullDense", None, "t")
            raw.read(100)
        push(connect([server], token="t"), [1])
        raw.close()

    def test_clients_known_at_once(self):
        """Who is silent for long makes room for others."""
        server = serve(max_clients=2, client_expiry=12)
        short = {"call_deadline": 10, "table_deadline": 10}
        known = [connect([server], **short) for _ in range(2)]
        with pytest.raises(TimeoutError, match=r"knows 2 clients \(max_clients\)"):
            connect([server], connect_deadline=2, **short)
        push(known[0], [1])
        push(connect([server], connect_deadline=100, **short), [1])

    def test_no_descriptors_left(self, processes):
        """Strangers take all that the process may open; once they have gone it serves again."""
        few = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))"
        process, port = start(
            {"endpoint": "127.0.0.1:0", "tables": TABLES, "threads": 2}, before=few
        )
        processes.append(process)
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(150)]
        time.sleep(0.5)
        for s in held:
            s.close()
        push(connect([port], connect_deadline=100), [1])

    def test_answers_that_nobody_reads(self, processes):
        """Calls of some bytes that ask for 16 MiB each, from a client that never reads."""
        options = {
            "endpoint": "127.0.0.1:0",
            "token": "t",
            "tables": [SPARSE, DENSE | {"size": 4 << 20}],
            "max_answer_bytes": 50 << 20,
            "answer_deadline": 10,
        }
        process, port = start(options)
        processes.append(process)
        client = connect([port], token="t", tables=[])
        out = np.zeros(4 << 20, np.float32)
        client.pull_dense(1, out)
        before = resident(process.pid)
        raw = Raw(port)
        streams = [raw.call("PullDense", b"\x0a\x02\x58\x01", "t") for _ in range(40)]
        raw.read_until(lambda: len(raw.ended) >= 37)
        refused = list(raw.ended)
        assert len(refused) == 37
        assert resident(process.pid) - before < 70 << 20
        # Others get theirs once the calls of the one that does not read are given up.
        retries = client.traffic()[2]
        client.pull_dense(1, out)
        assert client.traffic()[2] > retries
        given_up = set(streams).difference(refused)
        raw.read_until(lambda: given_up <= raw.resets)
        raw.close()

    def test_one_answer_above_the_limit(self):
        server = serve(max_answer_bytes=1)
        client = connect([server])
        push(client, range(100))
        assert (pull(client, range(100)) == 1).all()


def test_settings_of_a_job():
    """What a launcher says reaches servers and workers."""
    files = {"CLIENT_CA": "a", "CLIENT_CERT": "b", "CLIENT_KEY": "c"}
    settings = ServiceSettings(
        {f"ARGOSY_TLS_{k}": v for k, v in files.items()}
        | {"ARGOSY_JOB_TOKEN": "w", "ARGOSY_JOB_ADMIN_TOKEN": "x", "ARGOSY_INSECURE": "1"}
        | {"ARGOSY_PS_SAVE_ROOTS": os.pathsep.join(["/one", "", "/two"])}
    )
    assert (settings.token, settings.admin_token, settings.insecure) == ("w", "x", True)
    assert settings.save_roots == ["/one", "/two"]
    assert settings.client_certificate_authority == "a"
    assert (settings.client_certificate, settings.client_certificate_key) == ("b", "c")
    assert ServiceSettings({}).save_roots == []


@pytest.mark.parametrize("name", ["ARGOSY_INSECURE", "ARGOSY_PS_PREFETCH"])
def test_switches_of_a_job(name):
    of = {"ARGOSY_INSECURE": "insecure", "ARGOSY_PS_PREFETCH": "prefetch"}[name]
    for text in ("1", "true", "YES", "on"):
        assert getattr(ServiceSettings({name: text}), of) is True
    for text in ("", "0", "False", "no", "off"):
        assert getattr(ServiceSettings({name: text}), of) is False
    with pytest.raises(ValueError, match=rf"\[environment\] {name}: expected 1 or 0, got 'of'"):
        ServiceSettings({name: "of"})
