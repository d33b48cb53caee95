"""`argosy doctor`: the machine, the libraries, and whether each works."""

import importlib
import os
import platform
import sys
import time

__all__ = ["doctor"]

_FLAGS = (
    "avx2 fma f16c avx512f avx512bw avx512dq avx512vl avx512_vnni avx512_bf16 avx512_fp16 "
    "amx_tile amx_bf16 amx_int8"
).split()


class Report:
    """Prints lines as they are known, and remembers whether a check failed."""

    def __init__(self, stream):
        self.stream = stream
        self.failed = []

    def section(self, title):
        print(f"\n{title}", file=self.stream)

    def fact(self, name, value):
        print(f"  {name:<22} {value}", file=self.stream, flush=True)

    def check(self, name, function):
        """Run a check: it returns a remark, and raises if something does not work."""
        start = time.perf_counter()
        try:
            remark = function() or ""
        except Exception as error:  # a doctor reports every kind of failure
            self.failed.append(name)
            first = str(error).strip().split("\n")[0]
            self.fact(name, f"FAILED: {type(error).__name__}: {first}")
            return
        milliseconds = (time.perf_counter() - start) * 1e3
        self.fact(name, f"ok{f', {remark}' if remark else ''} ({milliseconds:.0f} ms)")


def doctor(stream=None):
    """Print the report. Returns 0, or 1 if a check failed."""
    report = Report(stream or sys.stdout)
    _machine(report)
    report.section("Argosy")
    try:
        import argosy

        version = importlib.import_module("argosy.version")
        report.fact("version", f"{version.argosy_version}, Paddle API {version.full_version}")
        report.fact("installed in", os.path.dirname(argosy.__file__))
        report.fact("kernels use", " ".join(_kernel_sets()) or "the baseline only")
        report.fact("threads", importlib.import_module("argosy._core").num_threads())
    except Exception as error:
        report.fact("import argosy", f"FAILED: {type(error).__name__}: {error}")
        print("\nNothing else can be tried. Do this: reinstall argosy.", file=report.stream)
        return 1
    _libraries(report)
    report.section("Checks")
    for name, function in _CHECKS:
        report.check(name, function)
    if report.failed:
        print(f"\n{len(report.failed)} failed: {', '.join(report.failed)}", file=report.stream)
        print(
            "Do this: reinstall argosy and its requirements (pip install --force-reinstall); if "
            "it stays, send this whole report with your question.",
            file=report.stream,
        )
        return 1
    print("\nEverything works.", file=report.stream)
    return 0


# Facts.


def _read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _cpu_fields():
    fields = {}
    for line in _read("/proc/cpuinfo").split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    return fields


def _machine(report):
    report.section("Machine")
    fields = _cpu_fields()
    report.fact("system", f"{platform.system()} {platform.release()} {platform.machine()}")
    report.fact("Python", f"{platform.python_version()} ({sys.executable})")
    report.fact("processor", fields.get("model name", platform.processor() or "unknown"))
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    report.fact("cores", f"{os.cpu_count()}, usable by this process {usable}{_quota()}")
    memory = {}
    for line in _read("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        memory[name] = value.split()
    if "MemTotal" in memory:
        total, free = (int(memory[key][0]) / 2**20 for key in ("MemTotal", "MemAvailable"))
        report.fact("memory", f"{total:.1f} GiB, available {free:.1f} GiB")
    flags = set(fields.get("flags", "").split())
    report.fact("instruction sets", " ".join(flag for flag in _FLAGS if flag in flags) or "unknown")


def _quota():
    """The limit that a container sets on processor time, as text."""
    limit = _read("/sys/fs/cgroup/cpu.max").split()
    if len(limit) == 2 and limit[0] != "max":
        return f", quota {int(limit[0]) / int(limit[1]):.1f} cores"
    return ""


def _kernel_sets():
    core = importlib.import_module("argosy._core")
    return core.cpu_features().split()


def _libraries(report):
    report.section("Libraries")
    core = importlib.import_module("argosy._core")
    for name, version in core.library_versions().items():
        report.fact(name, version)
    for module, use in (
        ("numpy", None),
        ("PIL", "images as PIL, the demo"),
        ("safetensors", ".safetensors files"),
        ("scipy", "the Flowers data set"),
    ):
        try:
            report.fact(module, importlib.import_module(module).__version__)
        except ImportError as error:
            if use is None:
                report.failed.append(module)
                report.fact(module, f"FAILED: {error}")
            else:
                report.fact(module, f"not installed; only {use} need it")


# Checks. Each is small, and compares with a result known without the library it tries.


def _expect(found, wanted, tolerance=1e-4):
    import numpy as np

    worst = float(np.abs(np.asarray(found, np.float64) - wanted).max())
    if not worst <= tolerance:
        raise ArithmeticError(f"a result is off by {worst:.3g}")


def _check_arithmetic():
    import argosy

    _expect((argosy.to_tensor([1.0, 2.0]) * 3 - 1).numpy(), [2.0, 5.0], 0)


def _check_threads():
    import argosy

    total = float(argosy.ones([1 << 20]).sum())
    if total != 1 << 20:
        raise ArithmeticError(f"a sum of {1 << 20} ones gave {total}")
    return f"{importlib.import_module('argosy._core').num_threads()} threads"


def _check_matmul():
    import numpy as np

    import argosy

    a = np.arange(64 * 48, dtype=np.float32).reshape(64, 48) % 7
    b = np.arange(48 * 32, dtype=np.float32).reshape(48, 32) % 5
    _expect(argosy.matmul(argosy.to_tensor(a), argosy.to_tensor(b)).numpy(), a @ b)


def _check_convolution():
    import numpy as np

    import argosy

    x = (np.arange(2 * 3 * 8 * 8) % 5).astype(np.float32).reshape(2, 3, 8, 8)
    w = (np.arange(4 * 3 * 3 * 3) % 3).astype(np.float32).reshape(4, 3, 3, 3)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    wanted = np.einsum("nchwij,ocij->nohw", windows, w)
    found = argosy.nn.functional.conv2d(argosy.to_tensor(x), argosy.to_tensor(w))
    _expect(found.numpy(), wanted)


def _check_blas():
    import numpy as np

    import argosy

    a = np.arange(40.0 * 30).reshape(40, 30) % 7
    b = np.arange(30.0 * 20).reshape(30, 20) % 5
    _expect(argosy.matmul(argosy.to_tensor(a), argosy.to_tensor(b)).numpy(), a @ b, 1e-9)


def _check_gradients():
    import argosy

    x = argosy.to_tensor([1.0, 2.0], stop_gradient=False)
    (x**3).sum().backward()
    _expect(x.grad.numpy(), [3.0, 12.0])


def _check_random():
    import argosy

    state = argosy.get_rng_state()
    try:
        argosy.seed(0)
        first = argosy.rand([4]).numpy()
        argosy.seed(0)
        _expect(argosy.rand([4]).numpy(), first, 0)
    finally:
        argosy.set_rng_state(state)


def _check_numpy():
    import numpy as np

    import argosy

    _expect(
        argosy.to_tensor(np.arange(6.0).reshape(2, 3)).t().numpy(), np.arange(6.0).reshape(2, 3).T
    )


def _check_files():
    import io

    import argosy

    file = io.BytesIO()
    argosy.save({"w": argosy.ones([3])}, file)
    file.seek(0)
    _expect(argosy.load(file)["w"].numpy(), 1.0, 0)


class _Squares:
    def __len__(self):
        return 8

    def __getitem__(self, index):
        import numpy as np

        return np.float32(index * index)


def _check_workers():
    import argosy

    loader = argosy.io.DataLoader(_Squares(), batch_size=4, num_workers=1)
    _expect(
        [value for batch in loader for value in batch.numpy().reshape(-1)],
        [i * i for i in range(8)],
    )


_CHECKS = (
    ("arithmetic", _check_arithmetic),
    ("thread pool", _check_threads),
    ("oneDNN product", _check_matmul),
    ("oneDNN convolution", _check_convolution),
    ("OpenBLAS product", _check_blas),
    ("gradients", _check_gradients),
    ("random values", _check_random),
    ("NumPy arrays", _check_numpy),
    ("save and load", _check_files),
    ("worker processes", _check_workers),
)
