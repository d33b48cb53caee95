"""Counts the instructions of small calls: exact where times on a busy machine are not.

    python benchmarks/instructions.py [NAME]... [--json FILE] [--before FILE] [--functions 0]

Needs valgrind (callgrind) and its headers. The process is measured only inside the calls, after
they have been made often enough for every cache to be filled, on one thread, with a fixed hash seed
and without the garbage collector. Each workload is counted five times; a number that says the same
in every round is repeatable, others print how far they scatter. `--json` keeps the numbers, and
`--before` prints how they differ from such a file, so two builds are compared by running the script
in both. Python's own instructions are counted apart from those of libargosy and its bindings.
"""

import argparse
import collections
import ctypes
import gc
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 5
# The requests by which a program under callgrind says what is counted are macros of C.
REQUESTS = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char* name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""
OWN = ("libargosy", "_core.")


# --- what is counted: each returns a call, and how many of them one round makes ---


def add_one():
    import argosy

    a, b = argosy.ones([1]), argosy.ones([1])
    return lambda: a + b, 200


def chain_with_gradient():
    import argosy

    x = argosy.ones([4])
    x.stop_gradient = False

    def call():
        y = x
        for _ in range(8):
            y = argosy.tanh(y * x + x)
        y.sum().backward()
        x.clear_grad()

    return call, 20


def indexing():
    import argosy

    x = argosy.ones([4, 4])
    return lambda: x[1], 200


def transposed_copy():
    import argosy

    x = argosy.ones([4, 4]).T
    return lambda: x.contiguous(), 100


def _step(captured):
    import numpy as np

    import argosy
    from argosy import nn

    argosy.seed(0)
    net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
    update = argosy.optimizer.SGD(0.01, parameters=net.parameters())
    rng = np.random.RandomState(0)
    x = argosy.to_tensor(rng.rand(8, 16).astype("float32"))
    label = argosy.to_tensor(rng.randint(0, 2, [8]))
    loss = nn.functional.cross_entropy
    if captured:
        step = argosy.jit.compile_step(net, loss, update)
        return (lambda: step(x, label)), 20

    def call():
        loss(net(x), label).backward()
        update.step()
        update.clear_grad()

    return call, 10


def eager_step():
    return _step(captured=False)


def captured_step():
    return _step(captured=True)


def predictor():
    import numpy as np

    import argosy
    from argosy import inference, nn

    argosy.seed(0)
    net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
    net.eval()
    with tempfile.TemporaryDirectory() as folder:
        spec = argosy.static.InputSpec([None, 16], "float32", "x")
        argosy.jit.save(net, f"{folder}/net", input_spec=[spec])
        made = inference.create_predictor(inference.Config(f"{folder}/net"))
    array = np.ones([1, 16], "float32")
    x = made.get_input_handle("x")
    y = made.get_output_handle(made.get_output_names()[0])

    def call():
        x.copy_from_cpu(array)
        made.run()
        return y.copy_to_cpu()

    return call, 100


WORKLOADS = {
    f.__name__: f
    for f in (add_one, chain_with_gradient, indexing, transposed_copy, eager_step, captured_step)
    + (predictor,)
}


# --- inside valgrind ---


def make_calls(names, requests):
    """Makes the calls of each workload, each round between two requests."""
    library = ctypes.CDLL(requests)
    for name in names:
        call, count = WORKLOADS[name]()
        for _ in range(50):
            call()
        gc.collect()
        gc.disable()
        for round_number in range(ROUNDS):
            library.begin()
            for _ in range(count):
                call()
            library.end(f"{name} {round_number} {count}".encode())
        gc.enable()


# --- outside ---

_NAMED = re.compile(r"(ob|cob|fn|cfn|fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?$")


def read_dump(text):
    """(what was counted, {(object, function): instructions of its own}) of a dump of callgrind."""
    trigger, names, costs = "", {}, collections.Counter()
    library = function = ""
    skip = False
    for line in text.splitlines():
        if line.startswith("desc: Trigger:"):
            trigger = line.partition("Client Request: ")[2]
        elif named := _NAMED.match(line):
            kind, number, name = named.groups()
            key = (
                "ob" if kind in ("ob", "cob") else "fn" if kind in ("fn", "cfn") else "fl",
                number,
            )
            if name is not None:
                names[key] = name
            if kind == "ob":
                library = names[key]
            elif kind == "fn":
                function = names[key]
        elif line.startswith("calls="):
            skip = True  # the next line is what the callee cost, which is counted there
        elif line and line[0] in "0123456789+-*":
            if not skip:
                costs[library, function] += int(line.split()[1])
            skip = False
    return trigger, costs


def build_requests(folder):
    source, library = folder / "requests.c", folder / "requests.so"
    source.write_text(REQUESTS)
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    made = subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", str(source), "-o", str(library)],
        capture_output=True,
        text=True,
    )
    if made.returncode:
        sys.exit(f"instructions: {made.stderr}\nDo this: apt-get install valgrind")
    return library


def count(names):
    """{name: [costs by (object, function) of one call, for each round]}"""
    if not shutil.which("valgrind"):
        sys.exit("instructions: there is no valgrind. Do this: apt-get install valgrind")
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        requests = build_requests(folder)
        command = [
            "setarch", "-R", "valgrind", "--tool=callgrind", "--instr-atstart=no",
            f"--callgrind-out-file={folder}/out", "--compress-strings=yes", "--compress-pos=no",
            sys.executable, __file__, *names, "--inside", str(requests),
        ]  # fmt: skip
        environment = {
            **os.environ,
            "PYTHONHASHSEED": "0",
            "ARGOSY_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
        if run.returncode:
            sys.exit(f"instructions: valgrind failed:\n{run.stderr[-3000:]}")
        rounds = collections.defaultdict(list)
        for file in sorted(folder.glob("out.*"), key=lambda f: int(f.suffix[1:])):
            trigger, costs = read_dump(file.read_text())
            if not trigger:
                continue
            name, _, number = trigger.split()
            rounds[name].append({k: v / int(number) for k, v in costs.items()})
    return rounds


def is_own(library):
    return any(part in os.path.basename(library) for part in OWN)


def figures(rounds):
    """The median round: instructions of all, of our own libraries, and how far the own scatter."""
    own = [sum(v for (library, _), v in r.items() if is_own(library)) for r in rounds]
    whole = [sum(r.values()) for r in rounds]
    return {
        "all": round(statistics.median(whole), 1),
        "own": round(statistics.median(own), 1),
        "scatter": round(max(own) - min(own), 1),
    }


def print_functions(rounds, most):
    middle = rounds[len(rounds) // 2]
    for (library, function), cost in sorted(middle.items(), key=lambda e: -e[1])[:most]:
        print(f"    {cost:10.1f}  {function[:90]}  [{os.path.basename(library)}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(WORKLOADS))
    parser.add_argument("--json", help="keep the numbers in this file")
    parser.add_argument("--before", help="a file of --json to compare with")
    parser.add_argument("--functions", type=int, default=0, help="print so many functions of each")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.names) - set(WORKLOADS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    names = options.names or list(WORKLOADS)
    if options.inside:
        return make_calls(names, options.inside)
    before = json.loads(pathlib.Path(options.before).read_text()) if options.before else {}
    counted = {}
    print(f"{'instructions of one call':26}{'all':>12}{'own':>12}{'scatter':>9}{'own before':>12}")
    for name, rounds in count(names).items():
        counted[name] = figures(rounds)
        f = counted[name]
        old = before.get(name, {}).get("own")
        change = "" if old is None else f"{old:12,.1f} {f['own'] - old:+,.1f}"
        print(f"{name:26}{f['all']:12,.1f}{f['own']:12,.1f}{f['scatter']:9,.1f}{change}")
        print_functions(rounds, options.functions)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(counted, indent=1) + "\n")


if __name__ == "__main__":
    main()
