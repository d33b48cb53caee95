"""Random calls: python -m tests.fuzz.calls --calls N [--seed S] [--jobs J] [--mode MODE] [--out FILE]
                    python -m tests.fuzz.calls --call TEXT [--mode MODE]     # one of them again

Calls of tools/differential_cases are changed at random (mutations.py), others are made from the
registry's descriptions of ops. They run eagerly and in static Programs whose inputs have known or
unknown sizes, with a backward pass every other time. Python exceptions are fine. Found is a call that

* ends the process;
* is not done after BUSY times SECONDS although no number in it is large;
* raises what says that Argosy itself is wrong (SystemError, a text of the C++ library);
* needs more than SPARE bytes although no number in it is large.

Each is made shorter as long as it fails in the same way, and printed. The exit code is 1 if any was
found. Call number i depends on S and i alone. Under the address sanitizer, whose memory cannot be
limited in this way, set ASAN_OPTIONS=max_allocation_size_mb=1024.
"""

import argparse
import json
import mmap
import os
import pathlib
import re
import resource
import signal
import struct
import sys
import time

from tests.fuzz import mutations

SECONDS = 10
BUSY = 6  # a busy machine may take so many times as long
SPARE = 1 << 30
BATCH = 2000  # calls of one process
LARGE = 10_000
MODES = ("eager", "static", "unknown")
MARKS = ("(start)", "(end)")  # what a process is at when it is in no call
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
DEFECTS = re.compile(
    r"another form|std::|bad_alloc|vector::|basic_string|map::at|stoi|internal error|defect"
)


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


class Runner:
    """Runs calls, in a process that was forked for it."""

    def __init__(self):
        import numpy as np

        import argosy as paddle

        self._np, self._paddle = np, paddle
        self._tool = mutations.differential()
        self._names = self._tool.namespace(paddle)
        self._names.update(mutations.makers(paddle, np), ops=paddle._core.ops)

    def run(self, text, mode, backward):
        """None, or what is wrong with the exception that the call raised."""
        import warnings

        paddle = self._paddle
        paddle.seed(7)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._run(text, mode, backward)
        except MemoryError as error:
            return None if mutations.is_large(text, LARGE) else f"MemoryError: {error}"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            if type(error).__name__ in ("SystemError", "InternalError") or DEFECTS.search(said):
                return said[:500]
        finally:
            paddle.disable_static()
            paddle.set_default_dtype("float32")
        return None

    def _run(self, text, mode, backward):
        if mode == "eager":
            *statements, expression = text.split(";;")
            scope = dict(self._names)
            for statement in statements:
                exec(statement.strip(), scope)
            value = eval(expression.strip(), scope)
            if backward:
                self._backward(value)
            return
        paddle, static = self._paddle, self._paddle.static
        makers, function = self._tool.as_function(text)
        scope = dict(self._names)
        operands = [eval(maker, scope) for maker in makers]
        exec(function, scope)
        paddle.enable_static()
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            slots, feed = [], {}
            for i, operand in enumerate(operands):
                shape = list(operand.shape) if mode == "static" else [-1] * operand.ndim
                slots.append(static.data(f"x{i}", shape, operand.dtype))
                slots[-1].stop_gradient = operand.stop_gradient
                feed[f"x{i}"] = operand
            value = scope["call"](*slots)
            found = [x for x in self._tool.tensors_in(value, paddle) if x._symbolic]
            if backward and found:
                wanted = [slot for slot in slots if not slot.stop_gradient]
                floats = [x for x in found if not x.stop_gradient]
                if wanted and floats:
                    given = static.gradients([floats[0].sum()], wanted)
                    found += [x for x in given if x is not None]
            executor = static.Executor()
            executor.run(startup)
            executor.run(main, feed=feed, fetch_list=found)

    def _backward(self, value):
        floats = [
            x for x in self._tool.tensors_in(value, self._paddle)
            if not x.stop_gradient and "float" in str(x.dtype)
        ]  # fmt: skip
        if floats:
            floats[0].sum().backward()


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
    )
    lines = [line.strip() for line in said.splitlines() if any(word in line for word in telling)]
    return " | ".join(lines[:6])[:900]


def call(options, index):
    """(text, mode, whether backward) of call number `index`."""
    draw, text = mutations.call(options.seed, index, options.ops)
    mode = options.mode or draw.choice(("eager", "eager", "static", "unknown"))
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
    if mode != "eager" and outcome(runner, text, "eager", backward, errors) == wanted:
        mode = "eager"
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
    parser.add_argument("--mode", choices=MODES, help="only this mode")
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
