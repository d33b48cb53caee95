"""Fourier transforms on a device: any axes, lengths and norms, as NumPy's, and not on the host."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED

import argosy as paddle
from argosy import _core

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]

BOUNDS = {"complex64": 2e-5, "complex128": 1e-12}


def numbers(*shape, dtype="complex64", seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def assert_near(got, want, bound=2e-5):
    got = got.numpy()
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=bound * max(1, np.abs(want).max(initial=0)))


AXES = [
    ((7,), [0]),
    ((1,), [0]),
    ((1 << 17,), [0]),
    ((3, 1009), [1]),
    ((6, 101), [0]),
    ((5, 8, 3), [1]),  # five calls are too many: turned around
    ((3, 8, 5), [1]),  # three calls
    ((4, 6, 10), [0, 1]),
    ((4, 6, 10), [1, 2]),
    ((4, 6, 10), [0, 2]),
    ((4, 6, 10), [0, 1, 2]),
    ((2, 3, 4, 5), [1, 2]),
    ((9, 3, 4, 5), [1, 2]),
    ((2, 3, 4, 5), [0, 1, 2, 3]),
    ((2, 3, 4, 5, 2), [0, 2, 4]),
    ((3, 1, 4), [1]),
    ((3, 1, 4), [0, 1, 2]),
    ((4, 6), []),
    ((0, 6), [1]),
]


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("shape, axes", AXES)
def test_any_axes_both_ways(shape, axes, dtype):
    x = numbers(*shape, dtype=dtype)
    t = paddle.to_tensor(x)
    for forward in (True, False):
        want = np.fft.fftn(x, axes=axes) if forward else np.fft.ifftn(x, axes=axes, norm="forward")
        got = _core.ops.fft_c2c(t, axes, forward, 0.25)
        assert got.dtype == t.dtype
        assert_near(got, want * (0.25 if axes else 1), BOUNDS[dtype])
    np.testing.assert_array_equal(t.numpy(), x)  # operands stay


def test_an_axis_named_twice_is_transformed_twice():
    x = numbers(5, 6)
    want = np.fft.fft(np.fft.fft(x, axis=1), axis=1)
    assert_near(_core.ops.fft_c2c(paddle.to_tensor(x), [1, 1], True, 1.0), want)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_public_functions(norm):
    x, z = numbers(4, 6, 10).real, numbers(4, 6, 10, seed=1)
    t, c = paddle.to_tensor(x), paddle.to_tensor(z)
    fft, np_fft = paddle.fft, np.fft
    for name in ("fft", "ifft"):
        for n, axis in ((None, -1), (8, -2), (3, 0), (17, 1)):
            got = getattr(fft, name)(c, n, axis, norm)
            assert_near(got, getattr(np_fft, name)(z, n, axis, norm))
    for name, operand, given in (("rfft", t, x), ("ihfft", t, x), ("irfft", c, z), ("hfft", c, z)):
        for n, axis in ((None, -1), (9, -2), (4, 0)):
            got = getattr(fft, name)(operand, n, axis, norm)
            assert_near(got, getattr(np_fft, name)(given, n, axis, norm))
    for name, operand, given in (
        ("rfftn", t, x),
        ("irfftn", c, z),
        ("fftn", c, z),
        ("ifftn", c, z),
    ):
        for s, axes in ((None, None), ((5, 8), (0, 2)), (None, (-1, 1))):
            got = getattr(fft, name)(operand, s, axes, norm)
            assert_near(got, getattr(np_fft, name)(given, s, axes, norm=norm))
    for name, operand, given in (("fft2", c, z), ("rfft2", t, x), ("irfft2", c, z)):
        got = getattr(fft, name)(operand, (7, 6), (-2, -1), norm)
        assert_near(got, getattr(np_fft, name)(given, (7, 6), (-2, -1), norm))


def test_windows_of_a_signal_and_back():
    x = numbers(2, 3000).real.astype("float32")
    window = np.hanning(513)[:512].astype("float32")
    w = paddle.to_tensor(window)
    t = paddle.to_tensor(x)
    t.stop_gradient = False
    frames = paddle.signal.stft(t, 512, hop_length=128, window=w)
    padded = np.pad(x, [(0, 0), (256, 256)], mode="reflect")
    want = np.stack(
        [np.fft.rfft(padded[:, i : i + 512] * window) for i in range(0, 3000 + 1, 128)], -1
    )
    assert_near(frames, want, 1e-4)
    back = paddle.signal.istft(frames, 512, hop_length=128, window=w, length=3000)
    assert_near(back, x, 1e-4)
    back.sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), 1, atol=1e-3)


def test_gradients_are_those_of_the_cpu():
    x = numbers(3, 4, 6).real.astype("float32")

    def gradients():
        t = paddle.to_tensor(x)
        t.stop_gradient = False
        y = paddle.fft.rfftn(t, axes=[0, 2])
        (y.abs() ** 2 * paddle.arange(4, dtype="float32")).sum().backward()
        return t.grad.numpy()

    got = gradients()
    with paddle.device_guard("cpu"):
        want = gradients()
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3 * np.abs(want).max())


def test_more_lengths_than_plans_are_kept():
    lengths = range(2, 90)
    for _ in range(2):
        for n in lengths:
            x = numbers(3, n, seed=n)
            assert_near(paddle.fft.fft(paddle.to_tensor(x)), np.fft.fft(x))


def test_captured_and_repeated():
    @paddle.jit.to_static
    def spectrum(x):
        y = paddle.fft.fft2(x * 2)
        return (y.real() ** 2 + y.imag() ** 2 + 1).log()

    for i in range(6):
        x = numbers(4, 12, 20, seed=i).real.astype("float32")
        y = np.fft.fft2(x * 2)
        want = np.log(np.abs(y) ** 2 + 1)
        np.testing.assert_allclose(
            spectrum(paddle.to_tensor(x)).numpy(), want, rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_as_on_the_cpu(dtype):
    x = np.linspace(0, 1, 8, dtype="float32")

    def call():
        return paddle.fft.fft(paddle.to_tensor(x).astype(dtype))

    with paddle.device_guard("cpu"):
        want = call()
    got = call()
    assert got.dtype == want.dtype
    assert_near(got, want.numpy())


@pytest.mark.skipif(STREAMED, reason="runs the CPU's kernels")
def test_runs_on_the_gpu():
    for x in (numbers(4, 6), numbers(4, 6, dtype="complex128")):
        _, text = _core.explain(lambda x=x: paddle.fft.fftn(paddle.to_tensor(x)))
        assert "fft_c2c: ran cuda" in text, text
