"""Processes and launchers that meet by a file or by an etcd."""

import contextlib
import http.server
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest
from tests.python.distributed.ranks import run as ranks
from tests.python.distributed.test_hosts import end, launch

from argosy.distributed import CommunicationError, _rendezvous
from argosy.distributed.launch import ports


class _Etcd(http.server.BaseHTTPRequestHandler):
    """What the JSON gateway of an etcd answers, as its documentation of version 3.5 has it."""

    kept = None  # by key
    lock = threading.Lock()

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            answer = getattr(self, "_" + self.path.removeprefix("/v3/kv/"))(request)
        text = json.dumps({"header": {"revision": "7"}, **answer}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _range(self, request):
        value = self.kept.get(request["key"])
        return {} if value is None else {"kvs": [{"key": request["key"], "value": value}]}

    def _put(self, request):
        self.kept[request["key"]] = request["value"]
        return {}

    def _txn(self, request):
        (condition,) = request["compare"]
        assert condition["result"] == "EQUAL"
        value = self.kept.get(condition["key"])
        if condition["target"] == "CREATE":
            assert condition["create_revision"] == "0"
            holds = value is None
        else:
            assert condition["target"] == "VALUE"
            holds = value == condition["value"]
        if holds:
            self._put(request["success"][0]["request_put"])
        return {"succeeded": True} if holds else {}

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def imitated():
    """An etcd as above."""
    handler = type("Etcd", (_Etcd,), {"kept": {}})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"etcd://127.0.0.1:{server.server_port}/job"
        server.shutdown()


@contextlib.contextmanager
def real(folder):
    """An etcd of this machine's."""
    if not shutil.which("etcd"):
        pytest.skip("no etcd here (Debian: etcd-server)")
    client, peer = ports.pick(2)
    url = f"http://127.0.0.1:{client}"
    server = subprocess.Popen(
        [
            "etcd", "--data-dir", str(folder / "etcd"), "--listen-client-urls", url,
            "--advertise-client-urls", url, "--listen-peer-urls", f"http://127.0.0.1:{peer}",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + 100
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", client), 1).close()
                break
            assert time.monotonic() < until, "etcd does not listen"
            time.sleep(0.1)
        yield f"etcd://127.0.0.1:{client}/job"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(params=["file", "imitated", "real"])
def meeting_place(request, tmp_path):
    if request.param == "file":
        yield f"file://{tmp_path / 'place'}"
    else:
        with imitated() if request.param == "imitated" else real(tmp_path) as place:
            yield place


@contextlib.contextmanager
def listening():
    """The address of somebody who listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def nobody():
    with listening() as address:
        return address


def test_places(meeting_place):
    place = _rendezvous.place(meeting_place)
    with pytest.raises(CommunicationError, match="nothing of this job is there"):
        place.find("job", 0)
    with listening() as one, listening() as two:
        place.write("job", one)
        assert place.find("job", 60) == one
        assert place.write_once("job", two) == one  # which answers
        place.write("job", two)
        assert place.find("job", 60) == two
        with pytest.raises(CommunicationError, match="nothing of this job is there"):
            place.find("another", 0)
        assert place.write_once("another", one) == one
        assert place.find("another", 60) == one
    place.write("job", nobody())
    with pytest.raises(CommunicationError, match="nobody answers at 127.0.0.1"):
        place.find("job", 0)
    with listening() as three:
        threading.Timer(0.5, lambda: place.write("job", three)).start()
        assert place.find("job", 100) == three  # not what an earlier job has left there


@pytest.mark.parametrize("left", [False, True])
def test_who_writes_first_is_known_to_all(meeting_place, left):
    """Several at once, where there is nothing and where an earlier job has left something."""
    place = _rendezvous.place(meeting_place)
    if left:
        place.write("job", nobody())
    found = []
    with contextlib.ExitStack() as stack:
        addresses = [stack.enter_context(listening()) for _ in range(8)]

        def come(address):
            found.append(_rendezvous.place(meeting_place).write_once("job", address))

        threads = [threading.Thread(target=come, args=(address,)) for address in addresses]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 8 and len(set(found)) == 1 and found[0] in addresses


@pytest.mark.parametrize(
    "text",
    [
        "file://",
        "file://here",
        "file:///tmp/",
        "etcd://host/key",
        "etcd://host:1",
        "etcd://host:1/",
    ],
)
def test_texts_that_name_none(text):
    with pytest.raises(ValueError, match=re.escape("expected file:///PATH, a file that all hosts")):
        _rendezvous.place(text)


def test_places_that_cannot_be_had(tmp_path):
    place = _rendezvous.place(f"file://{tmp_path}/none/place")
    with pytest.raises(CommunicationError, match="cannot write file://.*No such file or directory"):
        place.write("job", "h:1")
    place = _rendezvous.place(f"etcd://{nobody()}/key")
    with pytest.raises(CommunicationError, match="etcd does not answer at 127.0.0.1"):
        place.find("job", 0)


def test_processes_meet(meeting_place):
    environ = {"PADDLE_MASTER": meeting_place, "ARGOSY_COMM_ENGINE": "tcp"}
    for rank in ranks.run("collectives", 3, environ=environ):
        assert "all is well" in rank.text


def test_the_first_process_does_not_come(tmp_path):
    environ = {
        "PADDLE_MASTER": f"file://{tmp_path}/place",
        "ARGOSY_COMM_ENGINE": "tcp",
        "ARGOSY_COMM_TIMEOUT": "1",
    }
    started = ranks.start("fails", 2, "size", environ=environ)
    started[0].process.kill()
    for rank in ranks.finish(started)[1:]:
        assert "the job's store was not found at file://" in rank.text, rank.text


@pytest.mark.parametrize("numbered", [True, False])
def test_launchers_meet(tmp_path, meeting_place, numbered):
    program = str(ranks.HERE / "trains.py")
    jobs = [
        launch(
            n, 2, tmp_path, *(["--rank", str(n)] if numbered else []), program,
            master=meeting_place, each=1, environ={"ARGOSY_COMM_ENGINE": "tcp"},
        )
        for n in range(2)
    ]  # fmt: skip
    texts, codes = end(jobs)
    assert codes == [0, 0], texts
    logs = [p.read_text() for p in sorted(tmp_path.glob("host*/log/workerlog.*"))]
    assert len({re.search(r"^weights (.*)$", log, re.M)[1] for log in logs}) == 1
    assert len(logs) == 2


def test_a_launcher_with_a_place_that_is_none(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("print('trained alone')\n")
    command = [sys.executable, "-m", "argosy.distributed.launch", "--nnodes", "2"]
    command += ["--master", "etcd://nowhere", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 2 and "expected file:///PATH, a file" in done.stderr, done.stderr
    assert "trained alone" not in done.stdout
