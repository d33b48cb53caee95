"""Random calls: python -m tests.fuzz.calls --calls N [--seed S] [--jobs J] [--mode MODE] [--out FILE]
                    python -m tests.fuzz.calls --call TEXT [--mode MODE]     # one of them again

Calls of tools/differential_cases are changed at random (mutations.py), others are made from the
registry's descriptions of ops, or are indexing and chains of views and writes (chains.py). They run
eagerly, in static Programs whose inputs have known or unknown sizes, captured, and in three threads at
once, some of them in a context such as autocast (runner.py), with a backward pass every other time. Python
exceptions are fine. Found is a call that

* ends the process;
* is not done after BUSY times SECONDS although no number in it is large;
* raises what says that Argosy itself is wrong (SystemError, a text of the C++ library);
* gives something else captured than eagerly;
* needs more than SPARE bytes although no number in it is large.

Each is made shorter as long as it fails in the same way, and printed. The exit code is 1 if any was
found. Call number i depends on S and i alone. Under the address sanitizer, whose memory cannot be
limited in this way, set ASAN_OPTIONS=max_allocation_size_mb=1024. With ARGOSY_ALLOCATOR=guard what
reads or writes past a tensor ends the process, at full speed; `GLIBC_TUNABLES=glibc.malloc.check=3
LD_PRELOAD=libc_malloc_debug.so.0` does so for what writes past other memory.
"""

import argparse
import faulthandler
import json
import mmap
import os
import pathlib
import resource
import signal
import struct
import sys
import time

from tests.fuzz import mutations
from tests.fuzz.runner import DEFECTS, LARGE, Runner, a_mode, check_mode  # noqa: F401

SECONDS = 10
BUSY = 6  # a busy machine may take so many times as long
SPARE = 1 << 30
BATCH = 2000  # calls of one process
MARKS = ("(start)", "(end)")  # what a process is at when it is in no call
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


class Shared:
    """What the parent knows of a worker: the call that runs, since when, and how many ended."""

    SIZE = 1 << 16

    def __init__(self):
        self._map = mmap.mmap(-1, self.SIZE)

    def begin(self, index, text):
        data = text.encode()[: self.SIZE - 32]
        self._map[24 : 24 + len(data)] = data
        self._map[:24] = struct.pack("<QdQ", index, time.monotonic(), len(data))

    def read(self):
        index, since, size = struct.unpack("<QdQ", self._map[:24])
        return index, since, self._map[24 : 24 + size].decode(errors="replace")


def limit_memory():
    if not SANITIZED:
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        size = pages * resource.getpagesize() + SPARE
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(work, errors):
    """Forks; the child's stderr goes to the file `errors`."""
    child = os.fork()
    if child:
        return child
    code = 3
    try:
        os.setpgid(0, 0)
        output = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        faulthandler.enable()
        limit_memory()
        code = work()
    except BaseException as error:
        print(f"the worker ended: {type(error).__name__}: {error}", flush=True)
    finally:
        os._exit(code)


class Worker:
    """A slot of the parent: processes that run the calls first, first + step, .. one after another."""

    def __init__(self, runner, options, number, out):
        self._runner, self._options, self._out = runner, options, out
        self._next, self._step = number, options.jobs
        self._shared = Shared()
        self._errors = out.with_suffix(f".{number}.stderr")
        self.found = []
        self.child = None
        self._spawn()

    def _spawn(self):
        first, step, limit = self._next, self._step, self._options.calls
        if first >= limit:
            self.child = None
            return
        last = min(limit, first + step * BATCH)
        self._shared.begin(first, "(start)")

        def work():
            for index in range(first, last, step):
                text, mode, backward = call(self._options, index)
                self._shared.begin(index, json.dumps([text, mode, backward]))
                wrong = self._runner.run(text, mode, backward)
                if wrong:
                    with self._out.open("a") as file:
                        print(json.dumps([index, text, mode, backward, wrong]), file=file)
            self._shared.begin(last, "(end)")
            return 0

        self.child = start(work, self._errors)

    def poll(self):
        """Looks after the process; False when there is nothing left to do."""
        if self.child is None:
            return False
        done, status = os.waitpid(self.child, os.WNOHANG)
        index, since, text = self._shared.read()
        if not done:
            seconds = time.monotonic() - since
            if seconds < SECONDS * (3 if SANITIZED else 1):
                return True
            # What is not large only waits for its turn on a busy machine.
            large = text not in MARKS and mutations.is_large(json.loads(text)[0], LARGE)
            if not large and seconds < SECONDS * BUSY:
                return True
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
            if not large:
                self._add(index, text, f"not done after {SECONDS * BUSY} s")
        elif status:
            said = self._errors.read_text(errors="replace").strip()
            self._add(index, text, f"{ending(status)}; {summary(said)}")
        elif text == "(end)":
            self._next = index
            self._spawn()
            return self.child is not None
        else:
            self._add(index, text, "the process ended by itself")
        self._next = index + self._step
        self._spawn()
        return self.child is not None

    def _add(self, index, text, wrong):
        if text in MARKS:
            raise SystemExit(f"a worker cannot run: {wrong}")
        with self._out.open("a") as file:
            print(json.dumps([index, *json.loads(text), wrong]), file=file)


def ending(status):
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit code {os.WEXITSTATUS(status)}"


def summary(said):
    """The lines of stderr that tell what happened."""
    telling = (
        "ERROR:",
        "runtime error",
        "terminate",
        "what():",
        "#1 ",
        "#2 ",
        "#3 ",
        "worker ended",
        "Fatal",
        "File ",
    )
    lines = [line.strip() for line in said.splitlines() if any(word in line for word in telling)]
    return " | ".join(lines[:6])[:900]


def call(options, index):
    """(text, mode, whether backward) of call number `index`."""
    draw, text = mutations.call(options.seed, index, options.ops)
    mode = options.mode or a_mode(draw)
    return text, mode, draw.random() < 0.5


def outcome(runner, text, mode, backward, errors):
    """How the call ends, in a process of its own: "fine", a signal, or the kind of the exception."""
    shared = Shared()

    def work():
        wrong = runner.run(text, mode, backward)
        shared.begin(1, wrong or "")
        return 0

    child = start(work, errors)
    end = time.monotonic() + SECONDS * (3 if SANITIZED else 1)
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return ending(status) if status else shared.read()[2].partition(":")[0] or "fine"
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "not done"


def shrunk(runner, found, errors, tries=80):
    """The call with as little as possible in it that still ends in the same way."""
    _, text, mode, backward, _ = found
    wanted = outcome(runner, text, mode, backward, errors)
    if wanted in ("fine", "not done"):
        return text, mode, backward, wanted
    if backward and outcome(runner, text, mode, False, errors) == wanted:
        backward = False
    for plainer in (mode.partition("+")[0], "eager"):
        if mode != plainer and outcome(runner, text, plainer, backward, errors) == wanted:
            mode = plainer
    again = True
    while again and tries > 0:
        again = False
        for shorter in mutations.simpler(text):
            tries -= 1
            if tries <= 0:
                break
            if outcome(runner, shorter, mode, backward, errors) == wanted:
                text, again = shorter, True
                break
    return text, mode, backward, wanted


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--mode", type=check_mode, help="only this one, such as static or eager+o2")
    parser.add_argument("--ops", type=float, default=0.25, help="share of calls of ops")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/fuzz/calls.jsonl"))
    parser.add_argument("--call", help="run this call")
    parser.add_argument("--no-backward", action="store_true", help="with --call")
    parser.add_argument("--no-shrink", action="store_true", help="print what is found as it is")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    runner = Runner()
    errors = options.out.with_suffix(".stderr")
    if options.call:
        mode = options.mode or "eager"
        print(outcome(runner, options.call, mode, not options.no_backward, errors))
        print(errors.read_text(errors="replace")[-4000:], end="")
        return 0
    mutations.prepare()
    options.out.write_text("")
    begin = time.monotonic()
    options.calls += options.first
    workers = [Worker(runner, options, options.first + i, options.out) for i in range(options.jobs)]
    while any([worker.poll() for worker in workers]):
        time.sleep(0.02)
    found = [json.loads(line) for line in options.out.read_text().splitlines()]
    seconds = time.monotonic() - begin
    for item in found:
        text, mode, backward, how = item[1:4] + [""]
        if not options.no_shrink:
            text, mode, backward, how = shrunk(runner, item, errors)
        print(f"call {item[0]} ({mode}{', backward' if backward else ''}) {how}: {text}")
        print(f"    {item[4]}", flush=True)
    print(f"{options.calls - options.first} calls in {seconds:.0f} s, {len(found)} found")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
