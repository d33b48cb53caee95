"""Runs workloads in one framework: `python worker.py FRAMEWORK`, commands on standard input.

A command is a line of JSON; the answer too, on the real standard output (what frameworks print
goes to standard error).
"""

import importlib.util
import json
import os
import sys
import time

import numpy as np
from frameworks import start

HERE = os.path.dirname(os.path.abspath(__file__))


def load(framework, module, name):
    if name.startswith("ops:"):
        import op_rows_nn  # noqa: F401  (adds its rows)
        import op_rows_uses  # noqa: F401
        from op_rows import build

        return build(framework, module, name[len("ops:") :])
    path = os.path.join(HERE, "workloads", f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"workload_{name}", path)
    workload = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(workload)
    return getattr(workload, "torch" if framework == "torch" else "paddle")(module)


def clock(work, seconds):
    """Seconds for one step, over about `seconds`: the median of at least three blocks."""
    work.step()
    begin = time.perf_counter()
    work.step()
    once = max(time.perf_counter() - begin, 1e-7)
    inner = max(1, int(seconds / 5 / once))
    blocks = []
    end = time.perf_counter() + seconds
    while len(blocks) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(inner):
            work.step()
        blocks.append((time.perf_counter() - begin) / inner / work.count)
    return float(np.median(blocks))


def turn(work, seconds, clock):
    """Seconds for one step, over about `seconds` of processor or of wall time."""
    now = time.process_time if clock == "cpu" else time.perf_counter
    step, count = work.step, 1
    while True:
        begin = now()
        for _ in range(count):
            step()
        spent = now() - begin
        if spent >= seconds / 2:
            return spent / count / work.count
        count = max(2 * count, min(int(count * seconds / max(spent, 1e-7)), 100 * count))


def main():
    framework = sys.argv[1]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module = start(framework)
    work = None
    version = getattr(module.version, "argosy_version", module.__version__)
    print(json.dumps({"version": version}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if command["do"] == "load":
                work = load(framework, module, command["name"])
                np.savez(command["file"], *work.results())
                answer = {}
            elif command["do"] == "turn":
                answer = {"seconds": turn(work, command["seconds"], command["clock"])}
            else:
                answer = {"seconds": clock(work, command["seconds"])}
        except Exception as error:
            work = None
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
