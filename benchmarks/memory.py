"""Peak memory of captured training steps beside torch's eager ones, and times of plans.

    python benchmarks/memory.py [NAME]... [--passes=+remat]

Runs every network as it is and with the passes named (`+remat`), and torch's, each in a process of
its own; torch's python is named by ARGOSY_BENCH_TORCH. Networks under fleet.utils.recompute are
compared with the same network without it. What is counted is memory above the persistent state
(parameters, buffers, optimizer state, the batch), of the second step:

* Argosy: device.max_memory_allocated over the step less device.memory_allocated before it; scratch
  memory of kernels is in it. "arena" is the plan's one block of memory, "bound" the most bytes of
  planned values that live at once: no placement can do with less. "step" is processor time of the
  calling thread, the least of three, so that ratios among rows mean something on a busy machine: set
  ARGOSY_NUM_THREADS=1 for them.
* torch: under torch.profiler with profile_memory; the running sum of the sizes that its CPU
  allocator took (+) and gave back (-), in order of time, and the largest value of that sum. The sum
  starts at 0 with the state already there and gradients None, so it needs no correction.
"""

import argparse
import json
import os
import subprocess
import sys
import time

RUNS = {
    "resnet50": "ResNet-50 at 8 x 224 x 224, Momentum",
    "transformer": "6 encoder layers (256, 4 heads, 1024, dropout 0.1) at 16 x 128, AdamW",
    "transformer_no_dropout": "the same without dropout: torch then uses fused attention",
    "transformer_recompute": "with dropout, every layer under fleet.utils.recompute",
    "transformer_no_dropout_recompute": "without dropout, every layer under recompute",
    "lstm": "LSTM 128-256 at 32 x 100, SGD",
}

# Largest ratio to torch's peak as the network is and with rematerialisation; of networks under
# recompute, to the peak and to the time of the same without.
GOALS = {"": 0.9, "+remat": 0.7}
RECOMPUTE_GOALS = (0.25, 1.35)


def squared_error(a, b):
    return ((a - b) ** 2).mean()


def argosy_run(name):
    """(model, what computes its output, loss, optimizer, batch)"""
    import argosy as p

    nn = p.nn
    if name == "resnet50":
        model = p.vision.models.resnet50()
        optimizer = p.optimizer.Momentum(0.01, momentum=0.9, parameters=model.parameters())
        batch = [p.randn([8, 3, 224, 224]), p.randint(0, 1000, [8])]
        return model, model, nn.functional.cross_entropy, optimizer, batch
    if name.startswith("transformer"):
        dropout = 0.0 if "no_dropout" in name else 0.1
        layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=dropout, activation="relu")
        model = nn.TransformerEncoder(layer, 6)
        optimizer = p.optimizer.AdamW(0.001, parameters=model.parameters())
        batch = [p.randn([16, 128, 256]), p.randn([16, 128, 256])]

        def recomputed(x):
            for part in model.layers:
                x = p.distributed.fleet.utils.recompute(part, x)
            return x

        run = recomputed if name.endswith("recompute") else model
        return model, run, squared_error, optimizer, batch

    class Outputs(nn.Layer):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(128, 256)

        def forward(self, x):
            return self.lstm(x)[0]

    model = Outputs()
    optimizer = p.optimizer.SGD(0.01, parameters=model.parameters())
    batch = [p.randn([32, 100, 128]), p.randn([32, 100, 256])]
    return model, model, squared_error, optimizer, batch


def measure_argosy(name):
    import argosy as p
    from argosy import _core
    from argosy.jit import capture

    p.seed(0)
    model, run, loss, optimizer, batch = argosy_run(name)
    step = p.jit.compile_step(run, loss, optimizer)
    value = float(step(*batch))
    assert value == value, "the loss is NaN"
    p.device.reset_max_memory_allocated()
    before = p.device.memory_allocated()
    step(*batch)
    peak = p.device.max_memory_allocated() - before
    # The plan again, by an executor that has none yet.
    ((program, fetches, _),) = step.program_cache.values()
    feeds = [*batch, step._current_rate()]
    begin = time.thread_time()
    report, _ = _core.executor_plan(_core.executor_new(1), program, feeds, fetches, None)
    seconds = time.thread_time() - begin
    executor = capture._executor
    times = []
    for _ in range(3):
        begin = time.thread_time()
        _core.executor_run(executor, program, feeds, fetches, None)
        times.append(time.thread_time() - begin)
    return {
        "peak": peak,
        "arena": report["arena"],
        "bound": report["lower_bound"],
        "compile": seconds,
        "step": min(times),
    }


def torch_resnet50(t):
    """As torchvision's: ReLU and the sum of branches in place."""
    nn = t.nn

    def conv(inputs, outputs, size, stride=1):
        layer = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
        return [layer, nn.BatchNorm2d(outputs)]

    class Block(nn.Module):
        def __init__(self, inputs, width, stride):
            super().__init__()
            first = [*conv(inputs, width, 1), nn.ReLU(inplace=True)]
            second = [*conv(width, width, 3, stride), nn.ReLU(inplace=True)]
            self.body = nn.Sequential(*first, *second, *conv(width, 4 * width, 1))
            same = stride == 1 and inputs == 4 * width
            self.short = None if same else nn.Sequential(*conv(inputs, 4 * width, 1, stride))
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            y = self.body(x)
            y += x if self.short is None else self.short(x)
            return self.relu(y)

    layers = [*conv(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Block(inputs, width, 1 if i else stride))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def torch_run(name, t):
    """(parameters' optimizer, loss)"""
    nn = t.nn
    if name == "resnet50":
        model = torch_resnet50(t)
        optimizer = t.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        x, y = t.ones(8, 3, 224, 224), t.zeros(8, dtype=t.int64)
        return optimizer, lambda: nn.functional.cross_entropy(model(x), y)
    if name.startswith("transformer"):
        dropout = 0.0 if name.endswith("no_dropout") else 0.1
        layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=dropout, batch_first=True)
        model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        optimizer = t.optim.AdamW(model.parameters(), lr=0.001)
        x, y = t.ones(16, 128, 256), t.zeros(16, 128, 256)
        return optimizer, lambda: squared_error(model(x), y)
    model = nn.LSTM(128, 256, batch_first=True)
    optimizer = t.optim.SGD(model.parameters(), lr=0.01)
    x, y = t.ones(32, 100, 128), t.zeros(32, 100, 256)
    return optimizer, lambda: squared_error(model(x)[0], y)


def measure_torch(name):
    import torch as t

    optimizer, loss = torch_run(name, t)

    def step():
        loss().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()
    activities = [t.profiler.ProfilerActivity.CPU]
    with t.profiler.profile(activities=activities, profile_memory=True) as profiler:
        step()
    events = profiler.profiler.kineto_results.events()
    now = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    return {"peak": peak}


def ask(python, framework, name, passes=""):
    environment = {**os.environ, "ARGOSY_PASSES": passes, "PYTHONWARNINGS": "ignore"}
    command = [python, __file__, "--framework", framework, name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{framework}, {name}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RUNS)}")
    parser.add_argument(
        "--passes", default="+remat", help="ARGOSY_PASSES for a second run of each (+remat)"
    )
    parser.add_argument("--framework", choices=["argosy", "torch"], help="measure here, one NAME")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(RUNS))
    if unknown:
        parser.error(f"no run {unknown[0]}; there are {', '.join(RUNS)}")
    if options.framework:
        measure = measure_argosy if options.framework == "argosy" else measure_torch
        print(json.dumps(measure(options.names[0])))
        return
    torch = os.environ.get("ARGOSY_BENCH_TORCH")
    if not torch:
        print("torch: left out; set ARGOSY_BENCH_TORCH to a python that has it")
    print("peaks above persistent state in MB (1e6 bytes)")
    plain = {}
    for name in options.names or RUNS:
        print(f"{name}: {RUNS[name]}")
        base = name.removesuffix("_recompute")
        if base != name:
            compare_recompute(name, plain.get(base) or ask(sys.executable, "argosy", base))
            continue
        theirs = ask(torch, "torch", name)["peak"] if torch else None
        if theirs:
            print(f"  {'torch':<16} {theirs / 1e6:8.1f}", flush=True)
        for passes in dict.fromkeys(["", options.passes]):
            found = ask(sys.executable, "argosy", name, passes)
            plain.setdefault(name, found)
            ratio, goal = found["peak"] / theirs if theirs else None, GOALS.get(passes)
            print(f"  argosy {passes:<9} {describe(found)}  {verdict(ratio, goal)}", flush=True)


def describe(found):
    return (
        f"{found['peak'] / 1e6:8.1f}  arena {found['arena'] / 1e6:.1f} = "
        f"{found['arena'] / found['bound']:.4f} bound  plan {found['compile'] * 1e3:.1f} ms  "
        f"step {found['step']:.3f} s"
    )


def verdict(ratio, goal):
    if ratio is None:
        return "ratio -"
    if goal is None:
        return f"ratio {ratio:.3f}"
    return f"ratio {ratio:.3f} (<= {goal}: {'met' if ratio <= goal else 'missed'})"


def compare_recompute(name, plain):
    found = ask(sys.executable, "argosy", name)
    memory, seconds = (found[key] / plain[key] for key in ("peak", "step"))
    print(f"  argosy           {describe(found)}")
    print(f"    memory beside that without: {verdict(memory, RECOMPUTE_GOALS[0])}")
    print(f"    time: {verdict(seconds, RECOMPUTE_GOALS[1])}", flush=True)


if __name__ == "__main__":
    main()
