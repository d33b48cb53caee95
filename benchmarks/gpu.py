"""Argosy beside PyTorch on one GPU, in one process.

    python benchmarks/gpu.py [NAME ..] [--seconds N] [--compile]

Names pick figures by a part of their name. Each figure first compares its results with PyTorch's, then
times both in turns; a ratio is our time over theirs, or for rates our share of what the column says.
--compile adds torch.compile to the ResNet and GPT steps. A figure that fails prints why, and the others go on.

* Times are wall times of calls between two synchronizations, medians of rounds, after warm-up.
* "host" times are of the calls alone, without waiting for the GPU.
* Bandwidths count each operand and result once; the goal is a share of what copying 1 GiB gets.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
import traceback

import gpu_models
import gpu_predictors
import numpy as np
import torch

import argosy as p

F = p.nn.functional
TF = torch.nn.functional
FIGURES = []  # (name, function)
MISSED = []
BFLOAT16 = "bfloat16"


def figure(function):
    FIGURES.append((function.__name__, function))
    return function


def row(name, ours, theirs, ratio, goal, good, note=""):
    if not good:
        MISSED.append(name)
    verdict = "ok" if good else "MISSED"
    print(
        f"{name:36} {ours:>13} {theirs:>13} {ratio:7.2f} {goal:>8} {verdict:6} {note}", flush=True
    )


def sync():
    p.device.synchronize("gpu:0")
    torch.cuda.synchronize()


def seconds_of(run, calls):
    """Of one call, among so many between two synchronizations."""
    sync()
    begin = time.perf_counter()
    for _ in range(calls):
        run()
    sync()
    return (time.perf_counter() - begin) / calls


def host_seconds_of(run, calls):
    sync()
    begin = time.perf_counter()
    for _ in range(calls):
        run()
    found = (time.perf_counter() - begin) / calls
    sync()
    return found


def medians(runs, of=seconds_of, rounds=7, seconds=0.08, most=2000):
    """The median time of each function, timed in turns."""
    calls = []
    for run in runs:
        run(), run()
        once = of(run, 3)
        calls.append(max(1, min(most, int(seconds / max(once, 1e-7)))))
    times = [[of(run, n) for run, n in zip(runs, calls)] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times)]


def compare_times(name, ours, theirs, goal, note="", of=seconds_of, **options):
    a, b = medians([ours, theirs], of, **options)
    unit, scale = ("us", 1e6) if b < 1e-3 else ("ms", 1e3)
    row(name, f"{a * scale:.2f} {unit}", f"{b * scale:.2f} {unit}", a / b, f"<= {goal}",
        a / b <= goal, note)  # fmt: skip
    return a, b


def pair(shape, dtype="float32", seed=0, scale=1.0):
    """The same numbers as a tensor of ours and one of theirs."""
    torch.manual_seed(seed)
    theirs = torch.randn(shape, device="cuda") * scale
    ours = p.to_tensor(theirs.cpu().numpy())
    return (ours, theirs) if dtype == "float32" else (ours.astype(dtype), theirs.to(getattr(torch, dtype)))  # fmt: skip


def numbers(t):
    if isinstance(t, torch.Tensor):
        return t.detach().float().cpu().numpy()
    return t.astype("float32").cpu().numpy()


def check(ours, theirs, bound):
    """Fails where results are apart by more than a share of the largest."""
    for a, b in zip(ours, theirs):
        a, b = numbers(a), numbers(b)
        assert a.shape == b.shape, f"shapes {a.shape} and {b.shape}"
        apart = float(np.abs(a - b).max() / (np.abs(b).max() + 1e-30))
        assert apart < bound, f"results are apart by {apart:.3g} of the largest"


# --- calls ---


@figure
def eager_calls():
    a, ta = pair([16])
    b, tb = pair([16], seed=1)
    check([a + b], [ta + tb], 1e-6)
    compare_times(
        "a + b, 16 numbers, host", lambda: a + b, lambda: ta + tb, 0.5, of=host_seconds_of
    )
    c, tc = pair([16], seed=2)
    c.stop_gradient, tc.requires_grad = False, True
    compare_times(
        "a + b with a gradient, host", lambda: c + b, lambda: tc + tb, 0.5, of=host_seconds_of
    )
    compare_times("relu, host", lambda: F.relu(a), lambda: TF.relu(ta), 0.5, of=host_seconds_of)
    x, tx = pair([8, 8])
    compare_times("8 x 8 product, host", lambda: x @ x, lambda: tx @ tx, 0.7, of=host_seconds_of)


# --- products ---


def product(name, m, n, k, dtype, bound):
    a, ta = pair([m, k], dtype)
    b, tb = pair([k, n], dtype, 1)
    check([a @ b], [ta @ tb], bound)
    ours, theirs = medians([lambda: a @ b, lambda: ta @ tb])
    work = 2e-12 * m * n * k
    row(name, f"{work / ours:.0f} TFLOPS", f"{work / theirs:.0f} TFLOPS", theirs / ours, ">= 0.97",
        theirs / ours >= 0.97, "(share of theirs)")  # fmt: skip


@figure
def products():
    product("product bfloat16 8192^3", 8192, 8192, 8192, BFLOAT16, 1e-2)
    product("product bfloat16 8192 x 768 x 3072", 8192, 3072, 768, BFLOAT16, 1e-2)
    product("product float32 4096^3", 4096, 4096, 4096, "float32", 1e-3)


@figure
def linear_with_gradients():
    x, tx = pair([8192, 768], BFLOAT16)
    w, tw = pair([768, 3072], BFLOAT16, 1, 0.03)
    b, tb = pair([3072], BFLOAT16, 2)
    for t, tt in ((x, tx), (w, tw), (b, tb)):
        t.stop_gradient, tt.requires_grad = False, True
    g, tg = pair([8192, 3072], BFLOAT16, 3)

    def ours():
        return p.grad(F.linear(x, w, b), [x, w, b], g)

    def theirs():
        return torch.autograd.grad(TF.linear(tx, tw.t(), tb), [tx, tw, tb], tg)

    check(ours(), theirs(), 3e-2)
    compare_times("linear, forward and backward", ours, theirs, 1.02)


# --- bandwidth ---

COPY = []  # bytes a second


def copy_rate():
    """What copying 1 GiB within the GPU gets, reads and writes counted."""
    if not COPY:
        x = torch.empty(1 << 28, device="cuda")
        y = torch.empty_like(x)
        (seconds,) = medians([lambda: y.copy_(x)])
        COPY.append(2 * 4 * (1 << 28) / seconds)
        print(f"copies {COPY[0] / 1e9:.0f} GB/s", flush=True)
    return COPY[0]


def bandwidth(name, ours, theirs, count, bound, goal=0.9):
    """Functions that move `count` bytes."""
    a, b = ours(), theirs()
    check(a if isinstance(a, (list, tuple)) else [a], b if isinstance(b, tuple) else [b], bound)
    del a, b
    mine, other = (count / s for s in medians([ours, theirs]))
    share = mine / copy_rate()
    row(name, f"{mine / 1e9:.0f} GB/s", f"{other / 1e9:.0f} GB/s", share, f">= {goal}", share >= goal,
        "(share of copying)")  # fmt: skip


@figure
def memory_bound():
    copy_rate()
    rows, width = 32768, 4096
    n = rows * width
    x, tx = pair([rows, width], BFLOAT16)
    y, ty = pair([rows, width], BFLOAT16, 1)
    w, tw = pair([width], BFLOAT16, 2)
    b, tb = pair([width], BFLOAT16, 3)
    bandwidth("add bfloat16", lambda: x + y, lambda: tx + ty, 6 * n, 1e-2)
    bandwidth("gelu bfloat16", lambda: F.gelu(x), lambda: TF.gelu(tx), 4 * n, 1e-2)
    bandwidth("softmax bfloat16", lambda: F.softmax(x), lambda: TF.softmax(tx, -1), 4 * n, 2e-2)
    bandwidth("layer norm bfloat16", lambda: F.layer_norm(x, width, w, b),
              lambda: TF.layer_norm(tx, (width,), tw, tb), 4 * n, 2e-2)  # fmt: skip
    bandwidth("sum of rows bfloat16", lambda: x.sum(1), lambda: tx.sum(1), 2 * n, 2e-2)
    bandwidth("cast to float32", lambda: x.astype("float32"), lambda: tx.float(), 6 * n, 1e-6)
    bandwidth("transposed copy", lambda: x.t().contiguous(), lambda: tx.t().contiguous(), 4 * n, 1e-6,
              0.8)  # fmt: skip


@figure
def captured_chains():
    rows, width = 32768, 4096
    n = rows * width
    x, tx = pair([rows, width], BFLOAT16)
    y, ty = pair([rows, width], BFLOAT16, 1)
    b, tb = pair([width], BFLOAT16, 2)
    chain = p.jit.to_static(lambda x, y: F.silu(x * 1.5 + y) * x)
    bandwidth("captured silu(1.5 x + y) x", lambda: chain(x, y),
              lambda: TF.silu(tx * 1.5 + ty) * tx, 6 * n, 3e-2)  # fmt: skip
    biased = p.jit.to_static(lambda x, b, y: F.gelu(x + b) + y)
    bandwidth("captured gelu(x + bias) + y", lambda: biased(x, b, y),
              lambda: TF.gelu(tx + tb) + ty, 6 * n, 3e-2)  # fmt: skip
    mixed = p.jit.to_static(
        lambda x, y: (x.astype("float32") * 0.5 + y.astype("float32")).astype(BFLOAT16)
    )
    bandwidth("captured sum in float32 of bfloat16", lambda: mixed(x, y),
              lambda: (tx.float() * 0.5 + ty.float()).bfloat16(), 6 * n, 3e-2)  # fmt: skip
    g, tg = pair([rows, width], BFLOAT16, 3)
    for t, tt in ((x, tx), (y, ty)):
        t.stop_gradient, tt.requires_grad = False, True
    # x, y -> z; x, y, dz -> dx, dy; what else is kept between both is ours to pay.
    bandwidth("the first with its gradients", lambda: p.grad(chain(x, y), [x, y], g),
              lambda: torch.autograd.grad(TF.silu(tx * 1.5 + ty) * tx, [tx, ty], tg), 16 * n, 5e-2,
              0.6)  # fmt: skip


@figure
def gradients_of_norms():
    rows, width = 16384, 4096
    n = rows * width
    x, tx = pair([rows, width], BFLOAT16)
    g, tg = pair([rows, width], BFLOAT16, 1)
    w, tw = pair([width], BFLOAT16, 2)
    b, tb = pair([width], BFLOAT16, 3)
    for t, tt in ((x, tx), (w, tw), (b, tb)):
        t.stop_gradient, tt.requires_grad = False, True
    y, ty = F.softmax(x), TF.softmax(tx, -1)
    bandwidth("softmax, backward", lambda: p.grad(y, [x], g, retain_graph=True)[0],
              lambda: torch.autograd.grad(ty, [tx], tg, retain_graph=True)[0], 6 * n, 2e-2)  # fmt: skip
    z, tz = F.layer_norm(x, width, w, b), TF.layer_norm(tx, (width,), tw, tb)
    bandwidth("layer norm, backward", lambda: p.grad(z, [x, w, b], g, retain_graph=True)[0],
              lambda: torch.autograd.grad(tz, [tx, tw, tb], tg, retain_graph=True)[0],
              6 * n, 3e-2, 0.8)  # fmt: skip


# --- transforms and factorizations ---


@figure
def fft():
    for name, shape, bound in (("fft2, 8 x 1024 x 1024", (8, 1024, 1024), 1e-4),
                               ("fft2, 64 x 320 x 320", (64, 320, 320), 1e-4)):  # fmt: skip
        a, ta = pair(shape)
        b, tb = pair(shape, seed=1)
        x, tx = p.complex(a, b), torch.complex(ta, tb)
        ours, theirs = p.fft.fft2(x), torch.fft.fft2(tx)
        check([ours.real(), ours.imag()], [theirs.real, theirs.imag], bound)
        compare_times(name, lambda: p.fft.fft2(x), lambda: torch.fft.fft2(tx), 1.1, rounds=5)


@figure
def factorizations():
    """Of stacks of small matrices, and of one large one."""
    for shape in ((512, 32, 32), (8, 256, 256), (2048, 2048)):
        n = shape[-1]
        a, ta = pair(shape, scale=n**-0.5)
        eye = torch.eye(n, device="cuda")
        ts = ta @ ta.mT + eye
        s = p.to_tensor(ts.cpu().numpy())
        size = " x ".join(map(str, shape))
        options = dict(rounds=3, seconds=0.02)
        check([p.linalg.cholesky(s)], [torch.linalg.cholesky(ts)], 1e-3)
        compare_times(f"cholesky, {size}", lambda: p.linalg.cholesky(s),
                      lambda: torch.linalg.cholesky(ts), 1.2, **options)  # fmt: skip
        check([p.linalg.solve(s, a)], [torch.linalg.solve(ts, ta)], 1e-3)
        compare_times(f"solve, {size}", lambda: p.linalg.solve(s, a),
                      lambda: torch.linalg.solve(ts, ta), 1.2, **options)  # fmt: skip
        if n > 1000:
            continue
        check([p.linalg.eigh(s)[0]], [torch.linalg.eigh(ts)[0]], 1e-3)
        compare_times(f"eigh, {size}", lambda: p.linalg.eigh(s), lambda: torch.linalg.eigh(ts), 1.2,
                      **options)  # fmt: skip
        check([p.linalg.qr(a)[1].abs()], [torch.linalg.qr(ta)[1].abs()], 1e-2)
        compare_times(f"qr, {size}", lambda: p.linalg.qr(a), lambda: torch.linalg.qr(ta), 1.2,
                      **options)  # fmt: skip
        check([p.linalg.svd(a)[1]], [torch.linalg.svd(ta, full_matrices=False)[1]], 1e-3)
        compare_times(f"svd, {size}", lambda: p.linalg.svd(a),
                      lambda: torch.linalg.svd(ta, full_matrices=False), 1.2, **options)  # fmt: skip


# --- attention ---


def attention_of(width):
    shape = [8, 2048, 16, width]
    ours, theirs = zip(*(pair(shape, BFLOAT16, seed) for seed in range(4)))
    for t, tt in zip(ours[:3], theirs[:3]):
        t.stop_gradient, tt.requires_grad = False, True

    def forward():
        return F.scaled_dot_product_attention(*ours[:3], is_causal=True)

    def their_forward():
        q, k, v = (t.transpose(1, 2) for t in theirs[:3])
        return TF.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

    def both():
        return p.grad(forward(), ours[:3], ours[3])

    def their_both():
        return torch.autograd.grad(their_forward(), theirs[:3], theirs[3])

    check([forward(), *both()], [their_forward(), *their_both()], 3e-2)
    note = f"{4 * 8 * 16 * 2048 * 2048 * width / 2 * 1e-12:.3f} TFLOP forward"
    compare_times(f"attention {width}, forward", forward, their_forward, 1.1, note)
    compare_times(f"attention {width}, and backward", both, their_both, 1.1)


@figure
def attention_64():
    attention_of(64)


@figure
def attention_128():
    attention_of(128)


def fastest_backend(run):
    """The one of PyTorch's that takes the least for the call; those that do not take it are left out."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    found = {}
    for backend in (
        SDPBackend.CUDNN_ATTENTION,
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.FLASH_ATTENTION,
    ):
        try:
            with sdpa_kernel(backend):
                run()
                found[backend] = seconds_of(run, 2)
        except RuntimeError:
            pass
    best = min(found, key=found.get, default=SDPBackend.MATH)

    def call():
        with sdpa_kernel(best):
            return run()

    return call, best.name.lower().removesuffix("_attention")


def attention_with(name, shape, dtype, bound, goal, masked=False, dropout=0.0):
    """Forward and backward. With dropout each draws its own numbers, so sums of results are compared."""
    ours, theirs = zip(*(pair(shape, dtype, seed) for seed in range(4)))
    for t, tt in zip(ours[:3], theirs[:3]):
        t.stop_gradient, tt.requires_grad = False, True
    mask = their_mask = None
    if masked:  # batches of unequal lengths
        lengths = torch.linspace(shape[1] // 2, shape[1], shape[0]).long()
        mask = (torch.arange(shape[1]) < lengths[:, None])[:, None, None]
        mask, their_mask = p.to_tensor(mask.numpy()), mask.cuda()

    def both():
        out = F.scaled_dot_product_attention(*ours[:3], mask, dropout_p=dropout)
        return [out, *p.grad(out, ours[:3], ours[3])]

    def their_both():
        q, k, v = (t.transpose(1, 2) for t in theirs[:3])
        out = TF.scaled_dot_product_attention(q, k, v, their_mask, dropout_p=dropout).transpose(
            1, 2
        )
        return [out, *torch.autograd.grad(out, theirs[:3], theirs[3])]

    if dropout:
        got, want = (numbers(f()[0]).astype("float64") for f in (both, their_both))
        for power in (1, 2):
            a, b = np.abs(got**power).mean(), np.abs(want**power).mean()
            assert abs(a - b) < 0.02 * b, f"means of powers {a} and {b}"
    else:
        check(both(), their_both(), bound)
    their_both, backend = fastest_backend(their_both)
    compare_times(
        f"{name}, and backward",
        both,
        their_both,
        goal,
        f"theirs: {backend}",
        rounds=3,
        seconds=0.05,
    )


@figure
def padded_attention_64():
    attention_with("attention 64, padding", [4, 2048, 16, 64], BFLOAT16, 3e-2, 1.2, masked=True)


@figure
def padded_attention_128():
    attention_with("attention 128, padding", [4, 2048, 16, 128], BFLOAT16, 3e-2, 1.2, masked=True)


@figure
def dropped_attention_64():
    attention_with("attention 64, dropout", [4, 2048, 16, 64], BFLOAT16, 3e-2, 1.5, dropout=0.1)


@figure
def float32_attention_64():
    attention_with("attention 64, float32", [2, 2048, 16, 64], "float32", 1e-4, 1.0)


@figure
def padded_float32_attention_64():
    attention_with("attention 64, float32, padding", [2, 2048, 16, 64], "float32", 1e-4, 1.0, True)


# --- training steps ---


def peak_of(ours, theirs):
    """MiB at most in a step of each."""
    sync()
    p.device.cuda.reset_max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    ours()
    theirs()
    sync()
    return p.device.cuda.max_memory_allocated() / 2**20, torch.cuda.max_memory_allocated() / 2**20


def train(name, step, make_captured, theirs, goals, batch):
    """Steps of three trainers that start from the same weights: eager, captured, PyTorch's. Gives
    the captured one."""
    first, want = float(step()), float(theirs())
    mine, other = peak_of(step, theirs)  # while nobody else holds weights and states
    captured = make_captured()
    again = float(captured())
    for loss in (first, again):
        assert abs(loss - want) < 0.03 * abs(want), f"losses {first}, {again}, theirs {want}"
    note = f"loss {first:.4f}, theirs {want:.4f}"
    options = {"rounds": 5, "seconds": 0.3, "most": 20}
    _, their = compare_times(f"{name}, eager", step, theirs, goals[0], note, **options)
    compare_times(f"{name}, captured", captured, theirs, goals[1], f"{batch / their:.0f} a second: theirs",
                  **options)  # fmt: skip
    row(
        f"{name}, peak",
        f"{mine:.0f} MiB",
        f"{other:.0f} MiB",
        mine / other,
        "<= 1.1",
        mine <= 1.1 * other,
    )
    return captured


def resnet_of(batch):
    x, tx = pair([batch, 3, 224, 224])
    label = np.arange(batch) * 7 % 1000
    y, ty = p.to_tensor(label), torch.from_numpy(label).cuda()
    return gpu_models.resnet_steps(x, y, tx.to(memory_format=torch.channels_last), ty)


def gpt_of(batch, length):
    ids = np.random.default_rng(0).integers(0, gpu_models.WORDS, [batch, length + 1])
    x, y = p.to_tensor(ids[:, :-1].copy()), p.to_tensor(ids[:, 1:].copy())
    tx, ty = (torch.from_numpy(ids[:, s].copy()).cuda() for s in (slice(0, -1), slice(1, None)))
    return gpu_models.gpt_steps(x, y, tx, ty)


@figure
def resnet50():
    batch = 64
    step, captured, theirs, compiled = resnet_of(batch)
    mine = train("ResNet-50, 64 pictures", step, captured, theirs, (1.0, 0.9), batch)
    if OPTIONS.compile:
        compare_times("ResNet, captured beside torch.compile", mine, compiled(), 1.0,
                      rounds=5, seconds=0.3, most=20)  # fmt: skip


@figure
def gpt():
    batch, length = 8, 1024
    step, captured, theirs, compiled = gpt_of(batch, length)
    mine = train("GPT 12 x 768, 8 x 1024", step, captured, theirs, (1.0, 0.8), batch * length)
    if OPTIONS.compile:
        compare_times("GPT, captured beside torch.compile", mine, compiled(), 1.0,
                      rounds=5, seconds=0.3, most=20)  # fmt: skip


PEAK = 989e12  # bfloat16 products of an H100 or H200 (SXM) without sparsity, FLOPs a second


@figure
def gpt_large():
    batch, form = 4, gpu_models.LARGE
    ids = np.random.default_rng(0).integers(0, gpu_models.WORDS, [batch, form["length"] + 1])
    x, y = p.to_tensor(ids[:, :-1].copy()), p.to_tensor(ids[:, 1:].copy())
    tx, ty = (torch.from_numpy(ids[:, s].copy()).cuda() for s in (slice(0, -1), slice(1, None)))
    model, step, captured = gpu_models.large_gpt_steps(x, y, form)
    want = gpu_models.their_large_loss(model, form, tx, ty)
    torch.cuda.empty_cache()
    p.device.cuda.reset_max_memory_allocated()
    first = float(step())
    assert abs(first - want) < 0.03 * abs(want), f"losses {first}, theirs {want}"
    work = gpu_models.large_gpt_work(form, batch * form["length"])
    for name, run in (("eager", step), ("captured", captured)):
        (seconds,) = medians([run], rounds=3, seconds=0.6, most=4)
        share = work / seconds / PEAK
        row(f"GPT 24 x 2048, 4 x 2048, {name}", f"{seconds * 1e3:.1f} ms",
            f"{work / seconds * 1e-12:.0f} TFLOPS", share, ">= 0.42", share >= 0.42,
            "(rate; share of 989)")  # fmt: skip
    last, peak = float(step()), p.device.cuda.max_memory_allocated() / 2**30
    assert last < first, f"the loss does not fall: {first}, {last}"
    print(
        f"  loss {first:.3f} to {last:.3f}, theirs first {want:.3f}; at most {peak:.1f} GiB",
        flush=True,
    )


@figure
def predictor_images():
    gpu_predictors.images(1, compare_times)
    gpu_predictors.images(16, compare_times)


@figure
def predictor_sentences():
    gpu_predictors.sentences(compare_times)


# --- where steps spend their time ---


def op_times(step, times=3):
    """[(op, calls of a step, ms of a step)]: its own time, without what ran inside."""
    step(), step()
    with p.profiler.Profiler(on_trace_ready=lambda prof: None) as prof:
        for _ in range(times):
            step()
    events = [e for e in prof.profiler_result.events if e.kind in ("op", "gradient")]
    total = {}
    open_ones = []  # from the outermost
    for e in sorted(events, key=lambda e: (e.thread, e.begin, -e.end)):
        while open_ones and not (open_ones[-1].thread == e.thread and e.end <= open_ones[-1].end):
            open_ones.pop()
        if open_ones:
            total[open_ones[-1].name][1] -= e.end - e.begin
        sums = total.setdefault(e.name, [0, 0])
        sums[0] += 1
        sums[1] += e.end - e.begin
        open_ones.append(e)
    rows = [(name, n / times, ns * 1e-6 / times) for name, (n, ns) in total.items()]
    return sorted(rows, key=lambda r: -r[2])


STEPS = {
    "ResNet-50, 64 pictures": lambda: resnet_of(64)[0],
    "GPT 12 x 768, 8 x 1024": lambda: gpt_of(8, 1024)[0],
}


def print_profiles():
    """Of a process with CUDA_LAUNCH_BLOCKING=1, where an op's time is that of its kernels and of
    launching them."""
    for name, make in STEPS.items():
        rows = op_times(make())
        whole = sum(ms for *_, ms in rows)
        print(f"{name}: {whole:.2f} ms in {sum(n for _, n, _ in rows):.0f} ops, one at a time")
        for op, calls, ms in rows[:15]:
            print(f"  {op:34} {calls:6.0f} calls {ms:9.3f} ms {ms / whole:7.1%}", flush=True)


@figure
def profile():
    command = [sys.executable, __file__, "--print-profiles"]
    subprocess.run(command, env={**os.environ, "CUDA_LAUNCH_BLOCKING": "1"}, check=True)


# --- the run ---


class Late(BaseException):
    """Ends a figure that has had its time; no Exception, so that nobody swallows it."""


def on_alarm(*_):
    raise Late


def main():
    p.set_device("gpu:0")
    torch.backends.cuda.matmul.allow_tf32 = False
    print(p.device.get_device_name(), "torch", torch.__version__)
    print(f"{'':36} {'ours':>13} {'theirs':>13} {'ratio':>7} {'goal':>8}", flush=True)
    signal.signal(signal.SIGALRM, on_alarm)
    for name, run in FIGURES:
        if OPTIONS.names and not any(part in name for part in OPTIONS.names):
            continue
        begin = time.perf_counter()
        signal.alarm(OPTIONS.seconds)
        try:
            run()
        except Late:
            print(f"{name}: stopped after {OPTIONS.seconds} s", flush=True)
        except Exception as error:
            signal.alarm(0)
            at = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(str(error).split())[:300]
            print(f"{name}: {type(error).__name__} at {at.name}:{at.lineno}: {text}", flush=True)
            MISSED.append(name)
        finally:
            signal.alarm(0)
        print(f"  {name} took {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
        p.device.cuda.empty_cache()
        torch.cuda.empty_cache()
    print("missed:", ", ".join(MISSED) or "nothing")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=int, default=45, help="most of one figure")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--print-profiles", action="store_true", help=argparse.SUPPRESS)
    OPTIONS = parser.parse_args()
    if OPTIONS.print_profiles:
        p.set_device("gpu:0")
        print_profiles()
    else:
        main()
