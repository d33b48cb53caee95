"""Time all_reduce and data parallel steps of several processes beside torch's gloo, in alternation.

    python benchmarks/distributed.py [--ranks 2] [--rounds 7] [--seconds 0.5]

torch runs in the interpreter that ARGOSY_BENCH_TORCH names; without it only our times are printed.
Each rank has one thread. Results are checked against NumPy before they are timed. A round times one
framework after the other, so only ratios mean anything: the median of the rounds' ratios is shown.
"""

import argparse
import json
import os
import pathlib
import secrets
import statistics
import subprocess
import sys
import time

import numpy as np

SIZES = {"all_reduce 4 KB": 1 << 12, "all_reduce 1 MB": 1 << 20, "all_reduce 64 MB": 64 << 20}
GOALS = {
    "all_reduce 4 KB": 0.15,
    "all_reduce 1 MB": 0.3,
    "all_reduce 64 MB": 0.35,
    "MLP step": 0.4,
}
BATCH, STEPS_TO_CHECK = 64, 3


# ---- a rank ---------------------------------------------------------------------------------------


class Argosy:
    def __init__(self, rank, size):
        import argosy
        from argosy import distributed

        self.framework = argosy
        self.distributed = distributed
        distributed.init_parallel_env()
        assert (distributed.get_rank(), distributed.get_world_size()) == (rank, size)

    def tensor(self, array):
        return self.framework.to_tensor(array)

    def all_reduce(self, tensor):
        self.distributed.all_reduce(tensor)

    def barrier(self):
        self.distributed.barrier()

    def network(self):
        nn = self.framework.nn
        self.framework.seed(0)
        layers = []
        for given, wanted in ((784, 1024), (1024, 1024), (1024, 1024)):
            layers += [nn.Linear(given, wanted), nn.ReLU()]
        network = self.framework.DataParallel(nn.Sequential(*layers, nn.Linear(1024, 10)))
        optimizer = self.framework.optimizer.SGD(0.01, parameters=network.parameters())
        entropy = nn.CrossEntropyLoss()

        def step(x, y):
            loss = entropy(network(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return float(loss)

        return step


class Torch(Argosy):
    def __init__(self, rank, size):
        import torch

        torch.set_num_threads(1)
        self.framework = torch
        self.distributed = torch.distributed
        torch.distributed.init_process_group("gloo", rank=rank, world_size=size)

    def tensor(self, array):
        return self.framework.from_numpy(array.copy())

    def network(self):
        nn = self.framework.nn
        self.framework.manual_seed(0)
        layers = []
        for given, wanted in ((784, 1024), (1024, 1024), (1024, 1024)):
            layers += [nn.Linear(given, wanted), nn.ReLU()]
        network = nn.Sequential(*layers, nn.Linear(1024, 10))
        network = nn.parallel.DistributedDataParallel(network)
        optimizer = self.framework.optim.SGD(network.parameters(), lr=0.01)
        entropy = nn.CrossEntropyLoss()

        def step(x, y):
            optimizer.zero_grad(set_to_none=True)
            loss = entropy(network(x), y)
            loss.backward()
            optimizer.step()
            return float(loss.detach())

        return step


def workload(framework, name, rank, size):
    """A function that runs once, after its results were checked."""
    if name in SIZES:
        count = SIZES[name] // 4
        parts = [np.random.RandomState(r).rand(count).astype("float32") for r in range(size)]
        tensor = framework.tensor(parts[rank])
        framework.all_reduce(tensor)
        np.testing.assert_allclose(tensor.numpy(), sum(parts[1:], parts[0]), rtol=1e-5)
        tensor = framework.tensor(np.zeros(count, "float32"))
        return lambda: framework.all_reduce(tensor)
    draw = np.random.RandomState(rank)
    x = framework.tensor(draw.rand(BATCH, 784).astype("float32"))
    y = framework.tensor(draw.randint(0, 10, BATCH))
    step = framework.network()
    losses = [step(x, y) for _ in range(STEPS_TO_CHECK)]
    assert losses[-1] < losses[0] < 3, losses
    return lambda: step(x, y)


def be_rank(name):
    """Obeys one line after the other: {"load": workload}, {"seconds": least}."""
    rank, size = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
    started = time.perf_counter()
    framework = {"argosy": Argosy, "torch": Torch}[name](rank, size)
    framework.barrier()
    print(json.dumps({"connected": time.perf_counter() - started}), flush=True)
    once = None
    for line in sys.stdin:
        command = json.loads(line)
        if "load" in command:
            once = workload(framework, command["load"], rank, size)
            print("{}", flush=True)
            continue
        framework.barrier()
        begin = time.perf_counter()
        for _ in range(command["repeats"]):
            once()
        seconds = (time.perf_counter() - begin) / command["repeats"]
        print(json.dumps({"seconds": seconds}), flush=True)


# ---- the driver -----------------------------------------------------------------------------------


class Ranks:
    """The processes of one framework."""

    def __init__(self, name, python, size):
        self.name = name
        environ = dict(
            os.environ,
            PADDLE_TRAINERS_NUM=str(size),
            PADDLE_MASTER=f"benchmark {secrets.token_hex(4)}",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(20000 + os.getpid() % 10000),
            OMP_NUM_THREADS="1",
            PYTHONWARNINGS="ignore",
        )
        command = [python, str(pathlib.Path(__file__).resolve()), "--rank-of", name]
        self.processes = [
            subprocess.Popen(
                command,
                env=dict(environ, PADDLE_TRAINER_ID=str(rank)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(size)
        ]
        self.connected = max(answer["connected"] for answer in self._answers())

    def _answers(self):
        lines = [process.stdout.readline() for process in self.processes]
        if not all(lines):
            raise RuntimeError(f"a rank of {self.name} has ended: see above")
        return [json.loads(line) for line in lines]

    def ask(self, **command):
        for process in self.processes:
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
        return self._answers()

    def seconds(self, repeats):
        return max(answer["seconds"] for answer in self.ask(repeats=repeats))

    def close(self):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            process.wait()


def time_all(frameworks, rounds, seconds):
    for name in [*SIZES, "MLP step"]:
        repeats = {}
        for one in frameworks:
            one.ask(load=name)
            once = max(one.seconds(3), 1e-6)
            repeats[one.name] = max(3, int(seconds / once))
        times = {one.name: [] for one in frameworks}
        for _ in range(rounds):
            for one in frameworks:
                times[one.name].append(one.seconds(repeats[one.name]))
        medians = {known: statistics.median(found) for known, found in times.items()}
        text = "  ".join(f"{known} {value * 1e6:10.1f} us" for known, value in medians.items())
        if len(frameworks) > 1:
            ratio = statistics.median(a / b for a, b in zip(times["argosy"], times["torch"]))
            text += f"  ratio {ratio:.3f}  (goal {GOALS[name]})"
        print(f"{name:18} {text}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--rank-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank_of:
        be_rank(options.rank_of)
        return
    frameworks = [Ranks("argosy", sys.executable, options.ranks)]
    torch = os.environ.get("ARGOSY_BENCH_TORCH")
    if torch:
        frameworks.append(Ranks("torch", torch, options.ranks))
    else:
        print("torch: left out; set ARGOSY_BENCH_TORCH to a python that has it")
    for one in frameworks:
        print(f"{one.name}: import, rendezvous and a barrier in {one.connected:.2f} s")
    try:
        time_all(frameworks, options.rounds, options.seconds)
    finally:
        for one in frameworks:
            one.close()


if __name__ == "__main__":
    main()
