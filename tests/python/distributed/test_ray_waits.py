"""--on ray where Ray does not answer, by a module that stands in for Ray."""

import subprocess
import sys
import threading
import time
import types

import pytest

from argosy.distributed.launch import on_ray


class Task:
    def __init__(self, kind, number):
        self.kind, self.number, self.name = kind, number, f"{kind}.{number}"
        self.environ, self.log, self.host = {}, f"{kind}log.{number}", "127.0.0.1"


class Future:
    """What ray.wait finds ready, and what ray.get then gives; `lost`: nothing."""

    def __init__(self, value, ready=True, lost=False):
        self.value, self.ready, self.lost = value, ready, lost


class Ray(types.ModuleType):
    """The parts of Ray that are used. Calls that hang wait for `released`."""

    def __init__(self, place, ran):
        super().__init__("ray")
        self.killed, self.closed, self.hangs = [], [], set()
        self.released = threading.Event()
        ray = self

        class RayError(Exception):
            pass

        class GetTimeoutError(RayError, TimeoutError):
            pass

        class Actor:
            def __init__(self, name):
                self.name = name
                self.place = types.SimpleNamespace(remote=lambda: place(name))
                self.run = types.SimpleNamespace(remote=lambda *arguments: ran(name))

        def options(name, **others):
            return types.SimpleNamespace(remote=lambda: Actor(name.partition(".")[2]))

        group = types.SimpleNamespace(wait=lambda timeout_seconds: True)
        self.exceptions = types.SimpleNamespace(RayError=RayError)
        self.GetTimeoutError = GetTimeoutError
        self.remote = lambda cls: types.SimpleNamespace(options=options)
        self.util = types.ModuleType("ray.util")
        self.util.placement_group = lambda bundles, strategy: group
        self.util.remove_placement_group = lambda group: ray.hang("remove")
        strategies = types.ModuleType("ray.util.scheduling_strategies")
        strategies.PlacementGroupSchedulingStrategy = lambda *a, **k: None
        self.modules = {
            "ray": self, "ray.util": self.util, "ray.util.scheduling_strategies": strategies,
        }  # fmt: skip

    def hang(self, what):
        if what in self.hangs:
            self.released.wait(100)
        self.closed.append(what)

    def init(self, **options):
        pass

    def wait(self, futures, num_returns=1, timeout=None):
        if sum(f.ready for f in futures) < num_returns:
            self.released.wait(timeout)
        return [f for f in futures if f.ready], [f for f in futures if not f.ready]

    def get(self, futures, timeout=None):
        if isinstance(futures, list):
            return [self.get(f, timeout) for f in futures]
        if futures.lost or not futures.ready:
            self.released.wait(timeout)
            raise self.GetTimeoutError("Get timed out")
        return futures.value

    def kill(self, actor):
        self.killed.append(actor.name)

    def shutdown(self):
        self.hang("shutdown")


@pytest.fixture
def launch(monkeypatch, tmp_path):
    for name in ("_PLACEMENT_SECONDS", "_ANSWER_SECONDS"):
        monkeypatch.setattr(on_ray, name, 0.5)
    rays = []

    def run(place, ran, hangs=()):
        ray = Ray(place, ran)
        ray.hangs = set(hangs)
        rays.append(ray)
        for name, module in ray.modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        plan = types.SimpleNamespace(
            tasks=[Task("server", 0), Task("worker", 0), Task("worker", 1)],
            job="job", mark="mark", cpus=1, ray_address=None, max_restart=0, durable=False, restart_any=False,
            together=False,
            stream="none", command=["true"], log_dir=str(tmp_path), grace=1,
        )  # fmt: skip
        begin = time.monotonic()
        code = on_ray.run(plan)
        assert time.monotonic() - begin < 90
        return ray, code

    yield run
    for ray in rays:
        ray.released.set()


def up(name):
    return Future(("127.0.0.1", 7000))


def fine(name):
    return Future((0, []))


def test_a_job_of_the_stand_in(launch, capfd):
    ray, code = launch(up, fine)
    assert (code, capfd.readouterr().err) == (0, "")
    assert ray.killed == ["server.0", "worker.0", "worker.1"]
    assert ray.closed == ["remove", "shutdown"]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("", "unprotected. Do this: --tls_ca"),
        ("maybe", "ARGOSY_INSECURE: expected 1 or 0, got 'maybe'"),
    ],
)
def test_servers_that_others_reach(launch, capfd, monkeypatch, word, text):
    """Without protection, or with a word about it that is none, nothing is started."""
    monkeypatch.setenv("ARGOSY_INSECURE", word)
    ray, code = launch(lambda name: Future((f"10.0.0.{name[-1]}", 7000)), fine)
    assert code == 2 and text in capfd.readouterr().err
    assert ray.closed == ["remove", "shutdown"]


def test_an_actor_that_does_not_start(launch, capfd):
    ray, code = launch(
        lambda name: Future(None, ready=False) if name == "worker.1" else up(name), fine
    )
    assert code == 1 and len(ray.killed) == 3
    assert "no actor was up for worker.1 in 0.5 s. Do this: " in capfd.readouterr().err


def test_a_result_that_does_not_come(launch, capfd):
    ray, code = launch(
        up, lambda name: Future(None, lost=True) if name == "worker.0" else fine(name)
    )
    assert code == 1
    assert "worker.0: its actor is lost: Get timed out" in capfd.readouterr().err


def test_an_end_that_ray_does_not_answer(launch, capfd):
    ray, code = launch(up, fine, hangs=("remove", "shutdown"))
    assert code == 0
    said = capfd.readouterr().err
    assert "Ray did not answer for 0.5 s to give the places back" in said
    assert "Ray did not answer for 0.5 s to disconnect" in said


def test_a_guardian_that_hangs_is_killed(monkeypatch, capfd):
    monkeypatch.setattr(on_ray, "_WATCH_SECONDS", 0.5)
    watch = subprocess.Popen(["sleep", "1000"], stdin=subprocess.PIPE)
    on_ray._end_watch(watch)
    assert watch.wait(100) == -9
    assert f"the guardian (process {watch.pid}) has not ended in 0.5 s" in capfd.readouterr().err
