"""Fourier transforms against SciPy's."""

import numpy as np
import pytest
import scipy.fft
import scipy.signal

import argosy as paddle

RNG = np.random.RandomState(0)
REAL = RNG.randn(3, 4, 6)
WAVES = REAL + 1j * RNG.randn(3, 4, 6)
FULL, HALF, WHOLE = ("fft", "ifft"), ("rfft", "ihfft"), ("irfft", "hfft")


def inputs(name):
    return [REAL] if name.startswith(HALF) else [REAL, WAVES]


@pytest.mark.parametrize("name", FULL + HALF + WHOLE)
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_one_axis(name, norm):
    for x in inputs(name):
        for options in ({}, {"n": 5}, {"n": 9}, {"n": 1}, {"axis": 1}, {"n": 8, "axis": 0}):
            got = getattr(paddle.fft, name)(paddle.to_tensor(x), norm=norm, **options)
            want = getattr(scipy.fft, name)(x, norm=norm, **options)
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-10, atol=1e-11)
            assert list(got.shape) == list(want.shape)


@pytest.mark.parametrize("name", FULL + HALF + WHOLE)
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_several_axes(name, norm):
    for x in inputs(name):
        for options in ({}, {"s": (5, 4)}, {"axes": (0, 1)}, {"s": (3, 7), "axes": (1, 0)}):
            got = getattr(paddle.fft, name + "n")(paddle.to_tensor(x), norm=norm, **options)
            want = getattr(scipy.fft, name + "n")(x, norm=norm, **options)
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-10, atol=1e-11)
            if options:
                got = getattr(paddle.fft, name + "2")(
                    paddle.to_tensor(x), norm=norm, **{"axes": (-2, -1), **options}
                )
                np.testing.assert_allclose(got.numpy(), want, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, 5, 7, 8, 12, 30, 31, 37, 64, 97, 143, 211, 1000, 1009, 4096]
)
def test_lengths(n):
    x = RNG.randn(2, n) + 1j * RNG.randn(2, n)
    want = scipy.fft.fft(x)
    got = paddle.fft.fft(paddle.to_tensor(x)).numpy()
    assert abs(got - want).max() <= 1e-13 * n**0.5 * abs(want).max() + 1e-14
    single = paddle.fft.fft(paddle.to_tensor(x.astype("complex64"))).numpy()
    assert single.dtype == np.complex64
    assert abs(single - want).max() <= 2e-6 * abs(want).max()
    back = paddle.fft.ifft(paddle.to_tensor(want)).numpy()
    np.testing.assert_allclose(back, x, atol=1e-12)


def test_results_do_not_depend_on_the_number_of_threads():
    x = paddle.to_tensor(RNG.randn(64, 1013))
    assert (paddle.fft.fft(x).numpy() == np.stack([paddle.fft.fft(r).numpy() for r in x])).all()


@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "hfft", "ihfft", "rfftn", "irfftn"])
def test_gradients_are_those_of_finite_differences(name):
    x = REAL[0]
    function = getattr(paddle.fft, name)
    weights = None

    def loss(values):
        y = function(values)
        parts = paddle.concat([paddle.real(y), paddle.imag(y)]) if paddle.is_complex(y) else y
        nonlocal weights
        if weights is None:
            weights = paddle.to_tensor(np.random.RandomState(3).randn(*parts.shape))
        return (parts * weights).sum()

    t = paddle.to_tensor(x, stop_gradient=False)
    loss(t).backward()
    for at in ((0, 0), (1, 3), (3, 5)):
        step = np.zeros_like(x)
        step[at] = 1e-6
        slope = (loss(paddle.to_tensor(x + step)) - loss(paddle.to_tensor(x - step))) / 2e-6
        np.testing.assert_allclose(t.grad.numpy()[at], float(slope), rtol=1e-6, atol=1e-6)


def test_dtypes_and_helpers():
    assert paddle.fft.fft(paddle.ones([4])).dtype == paddle.complex64
    assert paddle.fft.fft(paddle.to_tensor([1, 2, 3])).dtype == paddle.complex64
    assert paddle.fft.irfft(paddle.ones([4], dtype="float64")).dtype == paddle.float64
    for n in (1, 4, 5):
        np.testing.assert_allclose(paddle.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5))
        np.testing.assert_allclose(paddle.fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5))
    for axes in (None, 1, (0, 2)):
        x = paddle.to_tensor(REAL)
        shifted = paddle.fft.fftshift(x, axes)
        np.testing.assert_array_equal(shifted.numpy(), np.fft.fftshift(REAL, axes))
        np.testing.assert_array_equal(paddle.fft.ifftshift(shifted, axes).numpy(), REAL)
    out = paddle.zeros([1])
    assert paddle.fft.rfft(paddle.ones([4]), out=out) is out and out.shape == [3]


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda x: paddle.fft.fft(x, norm="both"), ValueError, r"\[fft\] norm: expected one of"),
        (lambda x: paddle.fft.fft(x, n=0), ValueError, r"\[fft\] a size must be 1 or more"),
        (lambda x: paddle.fft.fft(x, axis=3), ValueError, "out of range"),
        (lambda x: paddle.fft.fftn(x, axes=(0, 0)), ValueError, "names one twice"),
        (lambda x: paddle.fft.fftn(x, s=(2, 2), axes=(0,)), ValueError, "as many entries"),
        (lambda x: paddle.fft.rfft(paddle.fft.fft(x)), RuntimeError, "must be real"),
        (lambda x: paddle.fft.irfft(x[..., :0]), ValueError, "would have -2 points"),
        (lambda x: paddle.fft.fft2(x[0, 0]), ValueError, "transforms two axes"),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call(paddle.to_tensor(REAL))


WINDOW = np.hanning(12) + 0.1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hop_length": 5},
        {"win_length": 12, "window": paddle.to_tensor(WINDOW)},
        {"center": False},
        {"pad_mode": "constant"},
        {"normalized": True},
        {"onesided": False},
    ],
    ids=lambda o: ",".join(o),
)
def test_stft_and_back(options):
    x = RNG.randn(2, 64)
    got = paddle.signal.stft(paddle.to_tensor(x), 16, **options)
    hop = options.get("hop_length", 4)
    window = np.ones(16)
    if "window" in options:
        window = np.pad(WINDOW, 2)
    padded = x
    if options.get("center", True):
        mode = options.get("pad_mode", "reflect")
        padded = np.pad(x, ((0, 0), (8, 8)), mode=mode)
    starts = range(0, padded.shape[1] - 15, hop)
    frames = np.stack([padded[:, s : s + 16] * window for s in starts], -1)
    function = np.fft.rfft if options.get("onesided", True) else np.fft.fft
    want = function(frames, axis=1, norm="ortho" if "normalized" in options else None)
    np.testing.assert_allclose(got.numpy(), want, atol=1e-10)
    back = {k: v for k, v in options.items() if k != "pad_mode"}
    signal = paddle.signal.istft(got, 16, **back).numpy()
    np.testing.assert_allclose(signal, x[:, : signal.shape[1]], atol=1e-10)
    cut = paddle.signal.istft(got, 16, length=40, **back)
    np.testing.assert_allclose(cut.numpy(), x[:, :40], atol=1e-10)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: paddle.signal.stft(x[:4], 16), r"\[stft\] n_fft must be in 1 .. 4"),
        (lambda x: paddle.signal.stft(x, 0, 1), r"\[stft\] n_fft must be in"),
        (
            lambda x: paddle.signal.stft(x, 16, hop_length=0),
            r"\[stft\] hop_length must be positive",
        ),
        (lambda x: paddle.signal.stft(x, 16, win_length=17), r"\[stft\] win_length must be in"),
        (
            lambda x: paddle.signal.stft(x, 16, window=paddle.ones([16, 1])),
            r"\[stft\] window must have",
        ),
        (
            lambda x: paddle.signal.istft(paddle.signal.stft(x, 16), 16, hop_length=17),
            r"\[istft\] hop_length",
        ),
        (
            lambda x: paddle.signal.istft(paddle.signal.stft(x, 16), 16, hop_length=0),
            r"\[istft\] hop_length",
        ),
    ],
)
def test_lengths_out_of_range_are_assertions(call, text):
    with pytest.raises(AssertionError, match=text):
        call(paddle.randn([40]))


def test_signals_of_integers():
    x = paddle.arange(20)
    got = paddle.signal.stft(x, 8)
    np.testing.assert_allclose(got.numpy(), paddle.signal.stft(x.astype("float32"), 8).numpy())


def test_windows_that_do_not_move():
    with pytest.raises(ValueError, match=r"\[overlap_add\] hop_length must be positive"):
        paddle.signal.overlap_add(paddle.ones([4, 3]), 0)


def test_stft_errors():
    x = paddle.ones([64])
    with pytest.raises(ValueError, match=r"\[stft\] window must have win_length"):
        paddle.signal.stft(x, 16, window=paddle.ones([8]))
    with pytest.raises(ValueError, match="n_fft must be in"):
        paddle.signal.stft(x, 200)
    with pytest.raises(AssertionError, match=r"\[istft\] x must have 9 bins"):
        paddle.signal.istft(paddle.fft.fft(paddle.ones([8, 4])), 16)
    with pytest.raises(ValueError, match="without weight"):
        paddle.signal.istft(
            paddle.signal.stft(x, 16, window=paddle.zeros([16])), 16, window=paddle.zeros([16])
        )


@pytest.mark.parametrize("name", [kind + n for kind in FULL + HALF + WHOLE for n in ("", "2", "n")])
@pytest.mark.parametrize("norm", ["backward", "ortho"])
def test_sizes_that_a_program_learns_when_it_runs(name, norm):
    x = REAL[0]
    several = name.endswith(("2", "n"))
    for options in (
        {},
        {"s": [5, 3]} if several else {"n": 5},
        {"s": [2, 2]} if several else {"n": 2},
    ):
        want = getattr(paddle.fft, name)(paddle.to_tensor(x), norm=norm, **options).numpy()
        for sizes in ([-1, -1], [-1, 6], [4, -1]):
            got = run_static(sizes, x, lambda t: getattr(paddle.fft, name)(t, norm=norm, **options))
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-11)


def run_static(sizes, x, function):
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            result = function(paddle.static.data("x", sizes, str(x.dtype)))
        return paddle.static.Executor().run(main, feed={"x": x}, fetch_list=[result])[0]
    finally:
        paddle.disable_static()


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts_of_sizes_not_known_yet(name):
    x = RNG.randn(3, 4)
    got = run_static([-1, -1], x, getattr(paddle.fft, name))
    np.testing.assert_array_equal(got, getattr(np.fft, name)(x))


def test_nothing_to_transform():
    empty = paddle.zeros([3, 0])
    assert paddle.fft.ifft(empty).shape == [3, 0] and paddle.fft.fftn(empty).shape == [3, 0]
    assert paddle.fft.rfft(empty).tolist() == [[0]] * 3
    assert paddle.fft.irfft(paddle.ones([3, 1])).shape == [3, 0]
    for call in (lambda: paddle.fft.fftn(empty, s=3), lambda: paddle.fft.fft(empty, axis=[0])):
        with pytest.raises(ValueError, match="expected .* Do this"):
            call()
