"""Functions of single bfloat16 elements: the float32 result, rounded once, wherever they lie."""

import os

import numpy as np
import pytest

import argosy as paddle
import argosy.nn.functional as F

ON_GPU = os.environ.get("ARGOSY_TEST_DEVICE") == "gpu"
# Every bfloat16 there is, in an order in which neighbours differ.
EVERY = np.random.default_rng(0).permutation(1 << 16).astype("uint16")


def tensor_of(bits):
    return paddle.to_tensor(bits.view("int16")).view(paddle.bfloat16)


def bits_of(t):
    return t.contiguous().view(paddle.int16).numpy().view("uint16")


def rounded(full):
    """float32 as bits of bfloat16: to nearest, ties to even."""
    u = np.ascontiguousarray(full, "float32").view("uint32").astype("uint64")
    return ((u + 0x7FFF + (u >> 16 & 1)) >> 16).astype("uint16")


def check(low, full):
    full = full.numpy()
    if full.dtype != "float32":
        assert (low.numpy() == full).all()
        return
    got, nan = bits_of(low), np.isnan(full)
    assert ((got[nan] & 0x7FFF) > 0x7F80).all(), "NaN must stay NaN"
    np.testing.assert_array_equal(got[~nan], rounded(full)[~nan])


def ordered(bits):
    """Bits of bfloat16 as ints in the order of the numbers, neighbours 1 apart."""
    magnitude = (bits & 0x7FFF).astype("int32")
    return np.where(bits & 0x8000, -magnitude, magnitude)


def check_nearly(low, full):
    """As check, but for neighbours at fewer than one place in 5000."""
    full = full.numpy()
    got, nan = bits_of(low), np.isnan(full)
    assert ((got[nan] & 0x7FFF) > 0x7F80).all(), "NaN must stay NaN"
    apart = np.abs(ordered(got[~nan]) - ordered(rounded(full)[~nan]))
    assert apart.max() <= 1 and (apart > 0).sum() < len(apart) / 5000


# On GPUs the normal distribution function of 16-bit numbers has errors up to 3e-6, which decide the
# rounding of the few results that lie so close to the middle of two bfloat16 numbers.
NEARLY = ("gelu",) if ON_GPU else ()


UNARY = {
    "relu": F.relu,
    "relu6": F.relu6,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.3),
    "elu": F.elu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate=True),
    "silu": F.silu,
    "hardtanh": F.hardtanh,
    "negative": paddle.neg,
    "abs": paddle.abs,
    "sign": paddle.sign,
    "square": paddle.square,
    "sqrt": paddle.sqrt,
    "exp": paddle.exp,
    "floor": paddle.floor,
    "scale": lambda x: paddle.scale(x, 1.7, 0.1),
    "clip": lambda x: paddle.clip(x, -0.3, 0.3),
    "reciprocal": paddle.reciprocal,
    "isnan": paddle.isnan,
    "isfinite": paddle.isfinite,
}
BINARY = {
    "add": paddle.add,
    "subtract": paddle.subtract,
    "multiply": paddle.multiply,
    "divide": paddle.divide,
    "maximum": paddle.maximum,
    "minimum": paddle.minimum,
    "fmax": paddle.fmax,
    "less_than": paddle.less_than,
    "equal": paddle.equal,
    "where": lambda x, y: paddle.where(paddle.arange(x.numel()).reshape(x.shape) % 3 == 0, x, y),
    "lerp": lambda x, y: paddle.lerp(x, y, x),
}


@pytest.mark.parametrize("name", UNARY)
def test_every_element(name):
    x = tensor_of(EVERY)
    compare = check_nearly if name in NEARLY else check
    compare(UNARY[name](x), UNARY[name](x.astype("float32")))


@pytest.mark.parametrize("name", BINARY)
def test_every_element_with_another(name):
    x, y = tensor_of(EVERY), tensor_of(np.roll(EVERY, 7919))
    check(BINARY[name](x, y), BINARY[name](x.astype("float32"), y.astype("float32")))


@pytest.mark.parametrize("n", [1, 2, 3, 15, 31, 32, 33, 63, 65, 1023, 1025, 4097])
def test_any_length_from_any_place(n):
    """Two elements make a word: odd lengths, and words that begin between two words."""
    for begin in (0, 1):
        x, y = tensor_of(EVERY)[begin : begin + n], tensor_of(EVERY[::-1].copy())[begin : begin + n]
        for name in ("multiply", "maximum", "less_than"):
            check(BINARY[name](x, y), BINARY[name](x.astype("float32"), y.astype("float32")))
        check(F.relu(x), F.relu(x.astype("float32")))


@pytest.mark.parametrize(
    "shapes",
    [
        [(40, 33), (33,)],
        [(40, 33), (40, 1)],
        [(40, 33), ()],
        [(2, 3, 50), (3, 1)],
        [(5, 1), (1, 7)],
    ],
)
def test_broadcasting(shapes):
    x, y = (tensor_of(EVERY[: int(np.prod(s))].reshape(s)) for s in shapes)
    for name in ("add", "multiply", "divide"):
        check(BINARY[name](x, y), BINARY[name](x.astype("float32"), y.astype("float32")))


def test_strides():
    x = tensor_of(EVERY).reshape([256, 256])
    for a in (x.t(), x[:, ::2], x[::3, 1:200], x[:, 3]):
        full = a.astype("float32")
        check(a * a, full * full)
        check(F.relu(a), F.relu(full))
        check(
            a.t() + a.t() if a.ndim == 2 else a + a,
            full.t() + full.t() if a.ndim == 2 else full + full,
        )


def test_in_place():
    x = tensor_of(EVERY[:1001].copy())
    full = x.astype("float32")
    x.add_(x)
    check(x, full + full)
    x.tanh_()
    check(
        x, paddle.tanh(paddle.to_tensor((full + full).numpy()).astype("bfloat16").astype("float32"))
    )


def test_casts():
    x = tensor_of(EVERY)
    full = x.astype("float32").numpy()
    assert (full.view("uint32") == EVERY.astype("uint32") << 16).all()
    again = bits_of(x.astype("float32").astype("bfloat16"))
    if ON_GPU:  # its hardware makes every nan the same one
        assert (again[~np.isnan(full)] == EVERY[~np.isnan(full)]).all()
        assert (again[np.isnan(full)] & 0x7FFF > 0x7F80).all()
    else:
        assert (again | 0x40 == EVERY | 0x40).all()
    some = np.random.default_rng(1).integers(0, 1 << 32, 100_003, dtype="uint64").astype("uint32")
    some = paddle.to_tensor(some.view("float32"))
    check(some.astype("bfloat16"), some)
    check(some[1::3].astype("bfloat16"), some[1::3])


def test_dropout_scales_and_drops():
    paddle.seed(1)
    x = tensor_of(EVERY[EVERY < 0x7F00])
    y = F.dropout(x, 0.3)
    kept = (y != 0).numpy()
    want = rounded(x.astype("float32").numpy() * np.float32(1 / 0.7))
    np.testing.assert_array_equal(bits_of(y)[kept], want[kept])
    assert 0.65 < kept.mean() < 0.75


@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "leaky_relu", "hardtanh"])
def test_gradients(name):
    """Of a function of x and dy, one rounding too."""
    x = tensor_of(EVERY[(EVERY & 0x7FFF) < 0x4200])
    dy = tensor_of(np.roll(EVERY[(EVERY & 0x7FFF) < 0x4200], 11))
    found = []
    for dtype in ("bfloat16", "float32"):
        a = x.astype(dtype).detach()
        a.stop_gradient = False
        found.append(paddle.grad(UNARY[name](a), [a], dy.astype(dtype))[0])
    compare = check_nearly if name in NEARLY else check
    compare(*found)


def test_both_instruction_sets_give_the_same_bits():
    """What runs here is compared with the baseline in a process of its own."""
    import os
    import subprocess
    import sys

    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import zlib, numpy as np\n"
        "from tests.python.amp.test_bf16_elementwise import *\n"
        "x = tensor_of(EVERY)\n"
        "y = [f(x) for f in UNARY.values()] + [f(x, tensor_of(np.roll(EVERY, 3))) for f in BINARY.values()]\n"
        "print([zlib.crc32(t.astype('float32').nan_to_num(1, 2, 3).numpy().tobytes()) for t in y])\n"
    )
    root = os.path.dirname(__file__).rsplit(os.sep + "tests", 1)[0]
    sums = {
        subprocess.run(
            [sys.executable, "-c", code, root],
            env={**os.environ, "ARGOSY_ISA": isa},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for isa in ({"avx2"} | ({"avx512"} if _has_avx512() else set()))
    }
    assert len(sums) == 1 and "[" in sums.pop()


def _has_avx512():
    with open("/proc/cpuinfo") as file:
        return "avx512bw" in file.read()
