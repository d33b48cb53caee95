"""Each row of the tables once more on a device: values against the reference, and gradients against those
of the CPU. What the device refuses by name is skipped. The device is the streamed test device, or with
`--device gpu` the first GPU, which sums in another order."""

import functools

import numpy as np
import pytest
from tests.ops import harness
from tests.ops.harness import Operands, array, call_case, check_outputs, flat, tensor
from tests.ops.test_coverage import table_modules

import argosy
from argosy import _core

pytestmark = pytest.mark.adds_device(unless="gpu")

ROWS = [
    (module.__name__.rpartition("_")[2], case)
    for module in table_modules()
    if module.__name__ != __name__
    for case in getattr(module, "CASES", [])
]


class Streamed:
    """Runs the CPU's kernels: only a rule of a gradient that spares a wait computes otherwise."""

    place, tolerance = "streamed:0", (1e-5, 1e-6)

    def start(self):
        _core.start_streamed(2, 300)

    def end(self):
        _core.forget_failures()


class Gpu:
    place, tolerance = "gpu:0", (1e-4, 1e-5)

    def start(self):
        pass

    def end(self):
        pass


@pytest.fixture(autouse=True)
def device(default_device, request):
    found = Gpu() if request.config.getoption("--device") == "gpu" else Streamed()
    found.start()
    argosy.device.set_device("cpu")
    yield found
    argosy.device.set_device("cpu")
    found.end()


def named(rows):
    return [pytest.param(case, id=f"{family}-{case}") for family, case in rows]


def refused(error, device):
    """Whether the device said that it cannot: by name, and with what to do."""
    text = str(error)
    return f"does not run on {device.place}" in text and "Do this:" in text


def on_device(device, function):
    argosy.device.set_device(device.place)
    argosy.seed(1)
    try:
        result = function()
        argosy.device.synchronize()
    except NotImplementedError as error:
        if not refused(error, device):
            raise
        pytest.skip(str(error))
    finally:
        argosy.device.set_device("cpu")
    return result


def dtypes_of(case):
    """One of each kind: kernels differ by little else."""
    kinds = {}
    for dtype in case.all_dtypes():
        kinds.setdefault(np.dtype(dtype).kind if dtype != "bfloat16" else "bf", dtype)
    return kinds.values()


@pytest.mark.parametrize("case", named((f, c) for f, c in ROWS if c.ref is not None))
def test_values(case, device):
    rng = case.rng()
    for dtype in dtypes_of(case):

        def run():
            operands = Operands(case, dtype, rng)
            outputs = flat(call_case(case, operands, *operands.tensors))
            return operands, outputs

        operands, outputs = on_device(device, run)
        for t in outputs:
            assert not isinstance(t, argosy.Tensor) or str(t.place) == f"Place({device.place})"
        check_outputs(case, operands, outputs, f"{case} {dtype} on a device")


def gradients_of(case, dtype):
    rng = case.rng()
    operands = Operands(case, dtype, rng)
    wanted = [i for i, free in enumerate(operands.free) if free]
    for i in wanted:
        operands.tensors[i].stop_gradient = False
    outputs = harness.differentiable(flat(call_case(case, operands, *operands.tensors)))
    if not outputs or not wanted:
        return []
    seeds = [tensor(rng.uniform(0.5, 1.5, o.shape), harness.dtype_of(o)) for o in outputs]
    found = argosy.grad(outputs, [operands.tensors[i] for i in wanted], seeds, allow_unused=True)
    return [None if g is None else array(g) for g in found]


@pytest.mark.parametrize("case", named((f, c) for f, c in ROWS if c.has_grad()))
def test_gradients(case, device):
    dtype = next((t for t in ("float32", "float64") if t in case.all_dtypes()), None)
    if dtype is None:
        pytest.skip("has no gradient of real numbers")
    argosy.seed(1)
    want = gradients_of(case, dtype)
    got = on_device(device, functools.partial(gradients_of, case, dtype))
    assert len(got) == len(want)
    # (The rule of pow looks at its exponent where that costs no wait.)
    for i, (a, b) in enumerate(zip(got, want)):
        assert (a is None) == (b is None)
        if a is not None:
            harness.compare(a, b, *device.tolerance, f"{case}, gradient {i}")
