"""Time Argosy beside torch and Paddle, in alternation, on two threads.

    python benchmarks/run.py [NAME]... [--rounds 5] [--seconds 0.5] [--json FILE]

The peers run in their own interpreters, named by ARGOSY_BENCH_TORCH and ARGOSY_BENCH_PADDLE (paths
of pythons); a peer without one is left out. Each workload's results are compared among frameworks
before it is timed. Only ratios within one run mean anything.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PEERS = {"torch": "ARGOSY_BENCH_TORCH", "paddle": "ARGOSY_BENCH_PADDLE"}
TOLERANCE = 2e-3  # relative: networks differ by the order of their sums


class Worker:
    """A process that runs workloads in one framework."""

    def __init__(self, framework, python):
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "GLOG_minloglevel": "3"}
        self.framework = framework
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.version = self._answer()["version"]

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            raise RuntimeError(f"the {self.framework} worker ended with exit code {code}")
        return json.loads(line)

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def results(self, name):
        """Arrays that the workload computes from fixed inputs, or the error as a string."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "results.npz")
            answer = self.ask(do="load", name=name, file=file)
            if "error" in answer:
                return answer["error"]
            with np.load(file) as stored:
                return [stored[key] for key in stored.files]

    def seconds(self, seconds):
        answer = self.ask(do="time", seconds=seconds)
        return answer.get("seconds")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start_workers():
    workers = [Worker("argosy", sys.executable)]
    for framework, variable in PEERS.items():
        python = os.environ.get(variable)
        if not python:
            print(f"{framework}: left out; set {variable} to a python that has it")
            continue
        try:
            workers.append(Worker(framework, python))
        except (OSError, RuntimeError) as error:
            print(f"{framework}: left out; {variable}={python}: {error}")
    return workers


def describe(name):
    """(what the workload is, the ratio to torch aimed at), without importing a framework."""
    path = HERE / "workloads" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"workload_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.about, module.goal


def disagreement(ours, theirs):
    """Why two lists of arrays differ, or None."""
    if len(ours) != len(theirs):
        return f"{len(ours)} results against {len(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a.shape != b.shape:
            return f"result {i}: shape {a.shape} against {b.shape}"
        scale = max(float(np.abs(b[np.isfinite(b)]).max(initial=0.0)), 1e-6)
        same = (a == b) | ((a != a) & (b != b))  # infinities and nan, too
        with np.errstate(invalid="ignore"):
            worst = float(np.where(same, 0, np.abs(a - b)).max(initial=0.0)) / scale
        if not worst <= TOLERANCE:
            return f"result {i}: differs by {worst:.2g} of the largest value"
    return None


def compare(name, workers):
    """The workers that can run a workload, and remarks: who cannot, and whose results differ."""
    remarks, able = [], []
    reference = None
    for worker in workers:
        found = worker.results(name)
        if isinstance(found, str):
            remarks.append(f"{worker.framework}: {found}")
            continue
        able.append(worker)
        if reference is None:
            reference = worker.framework, found
        elif (why := disagreement(reference[1], found)) is not None:
            remarks.append(f"RESULTS DIFFER between {reference[0]} and {worker.framework}: {why}")
    return able, remarks


def take_turns(able, rounds, seconds_of):
    """{framework: seconds_of(worker) of each round, None where a turn failed}."""
    times = {worker.framework: [] for worker in able}
    for i in range(rounds):
        # The order turns, so that no framework always runs after the same one.
        for worker in able[i % len(able) :] + able[: i % len(able)]:
            times[worker.framework].append(seconds_of(worker))
    return times


def measure(name, workers, rounds, seconds):
    """{framework: median seconds}, and remarks; frameworks take turns in each round."""
    able, remarks = compare(name, workers)
    times = take_turns(able, rounds, lambda worker: worker.seconds(seconds))
    times = {name: [t for t in found if t is not None] for name, found in times.items()}
    return {name: statistics.median(found) for name, found in times.items() if found}, remarks


def readable(seconds):
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1 or unit == "us":
            return f"{seconds * scale:.3g} {unit}"


def row(name, medians, goal):
    ours = medians.get("argosy")
    cells = [f"{name:<26}", f"{readable(ours):>9}"]
    for peer in PEERS:
        theirs = medians.get(peer)
        ratio = f"{ours / theirs:.2f}" if ours and theirs else "-"
        cells += [f"{readable(theirs):>9}", f"{ratio:>6}"]
    torch = medians.get("torch")
    verdict = "" if not (ours and torch) else "met" if ours / torch <= goal else "missed"
    return "  ".join([*cells, f"<= {goal:<5}", verdict])


def main():
    names = sorted(path.stem for path in (HERE / "workloads").glob("*.py"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each turn")
    parser.add_argument("--json", help="also write the medians to this file")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(names))
    if unknown:
        parser.error(f"no workload {unknown[0]}; there are {', '.join(names)}")
    workers = start_workers()
    versions = ", ".join(f"{worker.framework} {worker.version}" for worker in workers)
    print(f"{versions}; medians of {options.rounds} turns each")
    head = [f"{'workload':<26}", f"{'argosy':>9}", f"{'torch':>9}", " ratio", f"{'paddle':>9}"]
    print("  ".join([*head, " ratio", "goal (torch)"]))
    found, failed = {}, False
    for name in options.names or names:
        about, goal = describe(name)
        medians, remarks = measure(name, workers, options.rounds, options.seconds)
        print(row(name, medians, goal), flush=True)
        for remark in remarks:
            failed = failed or remark.startswith(("RESULTS", "argosy"))
            print(f"    {remark}")
        found[name] = {"about": about, "goal": goal, "seconds": medians}
    for worker in workers:
        worker.close()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
