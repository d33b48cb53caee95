"""Time all_reduce and data parallel steps of several processes beside torch's gloo, in alternation.

    python benchmarks/distributed.py [--ranks 2] [--rounds 7] [--seconds 0.5] [--only NAME ..] [--tcp]
    python benchmarks/distributed.py --hosts 4 [--ranks-per-host 1] [--rate 1gbit]
                                     [--overlap [--samples N] | --links | --model]

--tcp: between ranks of this host by TCP, as torch's gloo is. --hosts (root): all_reduce of 64 MB between
network namespaces whose links have that rate both ways, beside the time that the bytes alone take.
--overlap: instead a data parallel step of the MLP, eager and captured, and how much of its exchange is
hidden: 1 - (step - step that exchanges nothing) / exchange alone, both in alternation. Without --samples a
rank has so many that backward takes half as long again as its gradients take to travel. Beside it what
the exchange alone costs the processors of this machine, which also are the links: that is hidden only
where a core is idle. --links: the model of these links, as ARGOSY_COMM_LINKS takes it. --model: all_reduce
of 1, 16 and 64 MB beside what that model says.

Where a hypervisor took processors away ("stolen", of all of them) a round says so: it measures that.

torch runs in the interpreter that ARGOSY_BENCH_TORCH names; without it only our times are printed.
Each rank has one thread. Results are checked against NumPy before they are timed. A round times one
framework after the other, so only ratios mean anything: the median of the rounds' ratios is shown.
"scaling" of a step is the time of one process alone over that of each of several with as many samples;
"apart" is the same for as many processes at once that exchange nothing: what this machine lets be had.
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
    "Transformer step": 0.5,
    "MLP step, captured": 0.4,
    "Transformer step, captured": 0.5,
}
STEPS = [name for name in GOALS if "step" in name]
CAPTURED = ", captured"  # by jit.compile_step; torch's step is the same as without
SCALING_GOAL = 0.85
# --overlap: what follows the name of a step with many samples, of one that exchanges nothing, of one that
# computes a loss alone; and the exchange alone.
LARGE, KEPT, FORWARD = ", large", ", kept back", ", forward"
GRADIENTS = "all_reduce of the MLP's gradients"
HIDDEN_GOAL = 0.8
# Backward has to be so many times as long as the exchange; samples that are tried first, and their unit.
LONGER, TRIED, UNIT = 1.5, 1024, 256
MODELLED = [1 << 20, 16 << 20, 64 << 20]
STEPS_TO_CHECK, RATE = 3, 0.001
# MLP 784-1024x3-10; Transformer of 4 encoder layers on [batch, length, width].
BATCH, HIDDEN, CLASSES = 64, 1024, 10
LAYERS, LENGTH, WIDTH, HEADS, SENTENCES = 4, 64, 256, 4, 8


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

    def train(self, name):
        """A function of a batch that makes a step and gives the loss."""
        self.framework.seed(0)
        network = self.network(name)
        entropy = self.framework.nn.CrossEntropyLoss()
        if FORWARD in name:
            return lambda x, y: float(entropy(network(x), y))
        if not (CAPTURED in name and KEPT in name):
            network = self.framework.DataParallel(network)
        optimizer = self.framework.optimizer.SGD(RATE, parameters=network.parameters())
        if CAPTURED in name:
            captured = self.framework.jit.compile_step(network, entropy, optimizer)
            return lambda x, y: float(captured(x, y))

        def step(x, y):
            loss = entropy(network(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return float(loss)

        return kept_back(network, step) if KEPT in name else step

    def network(self, name):
        nn = self.framework.nn
        if name.startswith("MLP"):
            sizes = [784, HIDDEN, HIDDEN, HIDDEN]
            layers = []
            for given, wanted in zip(sizes, sizes[1:]):
                layers += [nn.Linear(given, wanted), nn.ReLU()]
            return nn.Sequential(*layers, nn.Linear(HIDDEN, CLASSES))
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, **self.layer_options
        )
        flat = nn.Flatten(0, 1)
        encoder = nn.TransformerEncoder(layer, LAYERS, **self.encoder_options)
        return nn.Sequential(encoder, flat, nn.Linear(WIDTH, CLASSES))

    layer_options = {}
    encoder_options = {}


class Torch(Argosy):
    def __init__(self, rank, size):
        import torch

        torch.set_num_threads(1)
        self.framework = torch
        self.distributed = torch.distributed
        torch.distributed.init_process_group("gloo", rank=rank, world_size=size)

    def tensor(self, array):
        return self.framework.from_numpy(array.copy())

    def train(self, name):
        self.framework.manual_seed(0)
        network = self.network(name)
        entropy = self.framework.nn.CrossEntropyLoss()
        if FORWARD in name:
            return lambda x, y: float(entropy(network(x), y).detach())
        if self.distributed.get_world_size() > 1:
            network = self.framework.nn.parallel.DistributedDataParallel(network)
        optimizer = self.framework.optim.SGD(network.parameters(), lr=RATE)

        def step(x, y):
            optimizer.zero_grad(set_to_none=True)
            loss = entropy(network(x), y)
            loss.backward()
            optimizer.step()
            return float(loss.detach())

        return kept_back(network, step) if KEPT in name else step

    layer_options = {"batch_first": True}
    encoder_options = {"enable_nested_tensor": False}


def kept_back(network, step):
    """The step without exchange."""

    def alone(*batch):
        with network.no_sync():
            return step(*batch)

    return alone


def parameters_of_mlp():
    sizes = (784, HIDDEN, HIDDEN, HIDDEN, CLASSES)
    return sum((given + 1) * wanted for given, wanted in zip(sizes, sizes[1:]))


def of_size(bytes):
    return f"all_reduce of {bytes >> 20} MB"


def workload(framework, name, rank, size, samples):
    """A function that runs once, after its results were checked. samples: of a large batch."""
    counts = {GRADIENTS: parameters_of_mlp(), **{n: size // 4 for n, size in SIZES.items()}}
    counts.update((of_size(bytes), bytes // 4) for bytes in MODELLED)
    if name in counts:
        count = counts[name]
        parts = [np.random.RandomState(r).rand(count).astype("float32") for r in range(size)]
        tensor = framework.tensor(parts[rank])
        framework.all_reduce(tensor)
        np.testing.assert_allclose(tensor.numpy(), sum(parts[1:], parts[0]), rtol=1e-5)
        tensor = framework.tensor(np.zeros(count, "float32"))
        return lambda: framework.all_reduce(tensor)
    draw = np.random.RandomState(rank)
    if name.startswith("MLP"):
        labels = samples if LARGE in name else BATCH
        shape = (labels, 784)
    else:
        shape, labels = (SENTENCES, LENGTH, WIDTH), SENTENCES * LENGTH
    x = framework.tensor(draw.rand(*shape).astype("float32"))
    y = framework.tensor(draw.randint(0, CLASSES, labels))
    step = framework.train(name)
    losses = [step(x, y) for _ in range(STEPS_TO_CHECK)]
    assert (FORWARD in name or losses[-1] < losses[0]) and losses[0] < 5, losses
    return lambda: step(x, y)


def links(framework, rank, size):
    """The model of the links between the first and the last rank; None in others."""
    from argosy.distributed.measure_links import measure

    both = framework.distributed.new_group(sorted({0, size - 1}))
    found = measure(both) if rank in (0, size - 1) else None
    framework.barrier()
    return found


def be_rank(name):
    """Obeys one line after the other: {"load": workload, "samples": of a large batch},
    {"use": what was loaded}, {"repeats": how often}, {"links": true}."""
    rank, size = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
    started = time.perf_counter()
    framework = {"argosy": Argosy, "torch": Torch}[name](rank, size)
    framework.barrier()
    print(json.dumps({"connected": time.perf_counter() - started}), flush=True)
    once, loaded = None, {}
    for line in sys.stdin:
        command = json.loads(line)
        if "load" in command:
            samples = command.get("samples", BATCH)
            once = workload(framework, command["load"], rank, size, samples)
            if command.get("keep"):
                loaded[command["load"]] = once
            print("{}", flush=True)
        elif "use" in command:
            once = loaded[command["use"]]
            print("{}", flush=True)
        elif "links" in command:
            print(json.dumps({"links": links(framework, rank, size)}), flush=True)
        else:
            framework.barrier()
            begin, used = time.perf_counter(), time.process_time()
            for _ in range(command["repeats"]):
                once()
            seconds = (time.perf_counter() - begin) / command["repeats"]
            processor = (time.process_time() - used) / command["repeats"]
            print(json.dumps({"seconds": seconds, "processor": processor}), flush=True)


# ---- the driver -----------------------------------------------------------------------------------


class Ranks:
    """The processes of one framework."""

    def __init__(self, name, python, size, tcp=False, hosts=None, apart=False):
        """apart: each is alone."""
        self.name = name
        each = size // hosts.count if hosts else size
        master = hosts.address(0) if hosts else "127.0.0.1"
        environ = dict(
            os.environ,
            PADDLE_TRAINERS_NUM=str(1 if apart else size),
            PADDLE_MASTER=f"{master}:{10000 + secrets.randbelow(10000)}",
            PADDLE_NNODES=str(hosts.count if hosts else 1),
            ARGOSY_COMM_ENGINE="tcp" if tcp else "",
            MASTER_ADDR=master,
            MASTER_PORT=str(20000 + secrets.randbelow(10000)),
            OMP_NUM_THREADS="1",
            PYTHONWARNINGS="ignore",
        )
        command = [python, str(pathlib.Path(__file__).resolve()), "--rank-of", name]
        if hosts:
            environ["GLOO_SOCKET_IFNAME"] = "eth0"
        self.processes = [
            subprocess.Popen(
                hosts.command(rank // each, command) if hosts else command,
                env=dict(environ, PADDLE_TRAINER_ID="0" if apart else str(rank)),
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

    def processor(self, repeats):
        """Of a rank, in the mean."""
        return statistics.mean(answer["processor"] for answer in self.ask(repeats=repeats))

    def close(self):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            process.wait()


def time_all(frameworks, names, rounds, seconds):
    """frameworks: by what they are called in the table."""
    for name in names:
        taking_part = {
            called: one
            for called, one in frameworks.items()
            if name in STEPS or not called.endswith(("alone", "apart"))
        }
        repeats = {}
        for called, one in taking_part.items():
            one.ask(load=name)
            once = max(one.seconds(3), 1e-6)
            repeats[called] = max(3, int(seconds / once))
        times = {called: [] for called in taking_part}
        for _ in range(rounds):
            for called, one in taking_part.items():
                times[called].append(one.seconds(repeats[called]))
        report(name, times)


def median_ratio(times, one, other):
    return statistics.median(a / b for a, b in zip(times[one], times[other]))


def report(name, times):
    text = "  ".join(
        f"{called} {statistics.median(t) * 1e6:10.1f} us" for called, t in times.items()
    )
    if "torch" in times:
        ratio = median_ratio(times, "argosy", "torch")
        text += f"  ratio {ratio:.3f}  (goal {GOALS[name]})"
    for called in ("argosy", "torch"):
        if f"{called} alone" in times:
            scaling = median_ratio(times, f"{called} alone", called)
            text += f"  scaling of {called} {scaling:.2f}"
            text += f"  (goal {SCALING_GOAL})" if called == "argosy" else ""
    if "argosy apart" in times:
        text += f"  apart {median_ratio(times, 'argosy alone', 'argosy apart'):.2f}"
    print(f"{name:26} {text}", flush=True)


def bound_of_links(size, count, each, rate):
    """Seconds that an all_reduce of `size` bytes takes where only the links between hosts take any:
    each host has to send, and to receive, what the others lack of its sum."""
    units = {"gbit": 1e9, "mbit": 1e6}
    bits = float(rate[:-4]) * units[rate[-4:]]
    return 2 * size * (count - 1) / count * 8 / bits


def processors():
    """Seconds that all processors of this machine have been busy, and stolen from it."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, stolen = map(int, file.readline().split()[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, stolen / tick


def alternate(one, names, rounds, repeats):
    """Median seconds of workloads that are kept, in alternation; what was stolen meanwhile."""
    before = processors()[1]
    times = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            one.ask(use=name)
            times[name].append(one.seconds(repeats))
    return [statistics.median(times[name]) for name in names], processors()[1] - before


def time_links(options):
    """What goes between hosts."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from tests.hosts import Hosts, missing

    if missing():
        print(f"left out: {missing()}")
        return
    count, each = options.hosts, options.ranks_per_host
    with Hosts(count, options.rate) as hosts:
        frameworks = {"argosy": Ranks("argosy", sys.executable, count * each, hosts=hosts)}
        torch = os.environ.get("ARGOSY_BENCH_TORCH")
        if torch and not (options.links or options.model):
            frameworks["torch"] = Ranks("torch", torch, count * each, hosts=hosts)
        try:
            if options.links:
                print(f"ARGOSY_COMM_LINKS={frameworks['argosy'].ask(links=True)[0]['links']}")
            elif options.model:
                report_model(frameworks["argosy"], count, each, options.rounds)
            elif options.overlap:
                for called, one in frameworks.items():
                    report_hidden(called, one, options)
                report_hidden("argosy", frameworks["argosy"], options, CAPTURED)
            else:
                report_links(frameworks, options)
        finally:
            for one in frameworks.values():
                one.close()


def report_links(frameworks, options):
    count, each = options.hosts, options.ranks_per_host
    name = "all_reduce 64 MB"
    bound = bound_of_links(SIZES[name], count, each, options.rate)
    shares = {called: [] for called in frameworks}
    for one in frameworks.values():
        one.ask(load=name)
    for _ in range(options.rounds):
        for called, one in frameworks.items():
            before = processors()[1]
            answers = one.ask(repeats=1)
            stolen = processors()[1] - before
            seconds = max(answer["seconds"] for answer in answers)
            used = statistics.mean(answer["processor"] for answer in answers)
            shares[called].append((bound / seconds, stolen))
            print(f"{count} hosts x {each}, {options.rate}: {called} {seconds:.3f} s,"
                  f" {100 * bound / seconds:.0f} % of the links' bandwidth, a rank's processor is busy for"
                  f" {used:.3f} s, stolen {stolen:.2f} s", flush=True)  # fmt: skip
    for called, found in shares.items():
        whole = [share for share, stolen in found if not stolen]
        print(f"{called}: median {100 * statistics.median(share for share, _ in found):.0f} %; of the"
              f" {len(whole)} rounds of {len(found)} with nothing stolen"
              f" {100 * statistics.median(whole or [float('nan')]):.0f} %")  # fmt: skip


def modelled(links, count, each, size):
    """Seconds of an all_reduce by shares of `size` bytes: two steps, in which a process sends each other
    host a message; a link carries what each host has to send the others, of each half."""
    latency, message, gbit = (float(part.rstrip("usgbit")) for part in links.split(","))
    steps = 2 * (latency + 2 * (count - 1) * message) * 1e-6
    return steps + 2 * size * (count - 1) / count * 8e-9 / gbit


def report_model(one, count, each, rounds):
    links = one.ask(links=True)[0]["links"]
    for size in MODELLED:
        one.ask(load=of_size(size))
        repeats = max(
            1, (32 << 20) // size
        )  # so that what a link lets through in a burst is no matter
        before = processors()[1]
        seconds = statistics.median(one.seconds(repeats) for _ in range(rounds))
        expected = modelled(links, count, each, size)
        print(f"{count} hosts x {each}, {links}: all_reduce of {size >> 20} MB {seconds * 1e3:.1f} ms,"
              f" by the model {expected * 1e3:.1f} ms, ratio {seconds / expected:.2f},"
              f" stolen {processors()[1] - before:.2f} s", flush=True)  # fmt: skip


def samples_for(one, rounds, way):
    """So many that backward is LONGER times as long as the exchange of its gradients."""
    forward, kept = f"MLP step{LARGE}{FORWARD}", f"MLP step{LARGE}{KEPT}{way}"
    one.ask(load=GRADIENTS)
    exchange = statistics.median(one.seconds(3) for _ in range(rounds))
    for name in (forward, kept):
        one.ask(load=name, samples=TRIED, keep=True)
    (short, long), _ = alternate(one, [forward, kept], rounds, 3)
    return UNIT * -int(-TRIED * LONGER * exchange / (long - short) // UNIT)


def report_hidden(called, one, options, way=""):
    """How much of the exchange of a step's gradients goes on behind its computations."""
    samples = options.samples or samples_for(one, options.rounds, way)
    names = [f"MLP step{LARGE}{kept}{way}" for kept in ("", KEPT)]
    names += [f"MLP step{LARGE}{FORWARD}", GRADIENTS]
    for name in names:
        one.ask(load=name, samples=samples, keep=True)
    (step, kept, forward, exchange), stolen = alternate(one, names, options.rounds, 3)
    one.ask(use=GRADIENTS)
    before = processors()[0]
    own = one.processor(9)
    busy = (processors()[0] - before) / 9 / len(one.processes)
    print(
        f"{called}{way}, {samples} samples: step {step * 1e3:.1f} ms, without exchange {kept * 1e3:.1f} ms, of"
        f" which backward and update {(kept - forward) * 1e3:.1f} ms, exchange alone {exchange * 1e3:.1f} ms:"
        f" {100 * (1 - (step - kept) / exchange):.0f} % hidden (goal {100 * HIDDEN_GOAL:.0f}); the exchange"
        f" alone costs a rank {own * 1e3:.1f} ms of a processor, and this machine with its links"
        f" {busy * 1e3:.1f} ms for each rank; stolen {stolen:.2f} s",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--only", nargs="+", choices=[*SIZES, *STEPS], help="rows of the table")
    parser.add_argument("--tcp", action="store_true", help="by TCP rather than shared memory")
    parser.add_argument("--hosts", type=int, help="network namespaces instead of this host")
    parser.add_argument("--ranks-per-host", type=int, default=1)
    parser.add_argument("--rate", default="1gbit", help="of each link: 1gbit, 500mbit")
    parser.add_argument("--overlap", action="store_true", help="with --hosts: a step's exchange")
    parser.add_argument("--samples", type=int, help="with --overlap: of a rank")
    parser.add_argument("--links", action="store_true", help="with --hosts: a model of the links")
    parser.add_argument("--model", action="store_true", help="with --hosts: beside that model")
    parser.add_argument("--rank-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank_of:
        be_rank(options.rank_of)
        return
    if options.hosts:
        time_links(options)
        return
    if options.tcp:
        GOALS.update(dict.fromkeys(SIZES, 1.0))
    frameworks = {"argosy": Ranks("argosy", sys.executable, options.ranks, tcp=options.tcp)}
    torch = os.environ.get("ARGOSY_BENCH_TORCH")
    if torch:
        frameworks["torch"] = Ranks("torch", torch, options.ranks)
    else:
        print("torch: left out; set ARGOSY_BENCH_TORCH to a python that has it")
    for called, one in frameworks.items():
        print(f"{called}: import, rendezvous and a barrier in {one.connected:.2f} s")
    frameworks["argosy alone"] = Ranks("argosy", sys.executable, 1)
    frameworks["argosy apart"] = Ranks("argosy", sys.executable, options.ranks, apart=True)
    if torch:
        frameworks["torch alone"] = Ranks("torch", torch, 1)
    try:
        time_all(frameworks, options.only or [*SIZES, *STEPS], options.rounds, options.seconds)
    finally:
        for one in frameworks.values():
            one.close()


if __name__ == "__main__":
    main()
