"""Rounding as if to integers."""

import numpy as np
from tests.ops.harness import FLOAT, A, Case, table_tests

import argosy
from argosy import _core


def rounded_as_codes(x, scale, bit_length=8, round_type=1, quant_axis=-1):
    steps = 2 ** (bit_length - 1) - 1
    shape = [1] * x.ndim
    if quant_axis >= 0:
        shape[quant_axis] = -1
    scale = np.asarray(scale, "float64").reshape(shape if x.ndim else [])
    safe = np.where(scale <= 1e-30, scale + 1e-6, scale)
    if round_type == 0:
        codes = np.clip(np.round(x * (steps / safe)), -steps - 1, steps)
    else:
        codes = np.clip(x, -scale, scale) * (steps / safe)
        codes = np.sign(codes) * np.floor(np.abs(codes) + 0.5)
    return codes * scale / steps


def case(x, scale, note="", **attrs):
    # Numbers close to the middle of two codes would be rounded differently in other precisions.
    return Case("fake_quantize_dequantize", [x, scale], attrs, ref=rounded_as_codes, grad=False,
                dtypes=FLOAT, note=note, tol=4)  # fmt: skip


CODES = np.array([-3.0, -2.2, -1.3, -0.9, -0.1, 0.0, 0.2, 0.8, 1.2, 2.1, 2.9, 3.0])
TABLE = np.array([[-1.0, 0.3, 0.7], [2.1, -0.25, 0.0], [0.0, 0.0, 0.0]])

# fmt: off
CASES = [
    case(CODES, np.array([3.0]), bit_length=3),
    case(CODES, np.array([3.0]), bit_length=3, round_type=0),
    case(CODES, np.array([1.0]), "clipped", bit_length=3),
    case(CODES * 3, np.array([3.0]), "clipped codes", bit_length=3, round_type=0),
    case(np.zeros((2, 2)), np.array([0.0]), "zeros"),
    case(np.array(0.3), np.array(1.0), "0-d", bit_length=3),
    case(TABLE, np.array([1.0, 2.1, 0.0]), bit_length=4, quant_axis=0),
    case(TABLE, np.array([2.1, 0.3, 0.7]), bit_length=4, quant_axis=1),
    case(TABLE.reshape(3, 1, 3), np.array([1.0]), "one channel", bit_length=4, quant_axis=1),
    case(np.zeros((0, 3)), np.ones(3), "empty", quant_axis=1),
    Case("fake_quantize_dequantize", [A(2, 3), np.array([1.0])], ref=None, grad=False, dtypes=FLOAT, errors=[
        ([A(2, 3), np.array([1.0])], {"bit_length": 0}, ValueError, "bit_length: expected 1 to 16, got 0"),
        ([A(2, 3), np.array([1.0])], {"bit_length": 17}, ValueError, "expected 1 to 16, got 17"),
        ([A(2, 3), np.array([1.0])], {"round_type": 2}, ValueError, "round_type: expected 0"),
        ([A(2, 3), np.array([1.0])], {"quant_axis": 2}, ValueError, "quant_axis: expected -1"),
        ([A(2, 3), np.array([1.0, 2.0])], {}, ValueError, "scale has the wrong size: expected 1"),
        ([A(2, 3), np.array([1.0])], {"quant_axis": 1}, ValueError, "expected 3 elements"),
    ]),
]
# fmt: on
test_values, test_gradients, test_errors = table_tests(CASES)


def test_halves_go_away_from_zero_or_to_even():
    x = argosy.to_tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5])
    call = _core.ops.fake_quantize_dequantize
    assert call(x, argosy.to_tensor([3.0]), 3, 1, -1).tolist() == [1, 2, 3, -1, -2, -3]
    assert call(x, argosy.to_tensor([3.0]), 3, 0, -1).tolist() == [0, 2, 2, 0, -2, -2]


def test_just_below_a_half_goes_down():
    x = argosy.to_tensor([float(np.nextafter(np.float32(0.5), np.float32(0)))])
    assert _core.ops.fake_quantize_dequantize(x, argosy.to_tensor([127.0]), 8, 1, -1).tolist() == [
        0
    ]


def test_many_channels_over_many_chunks():
    rng = np.random.default_rng(0)
    for shape, axis in (((70_001,), -1), ((300, 171), 1), ((3, 5, 4_001), 1), ((40_000, 2), 0)):
        x = rng.standard_normal(shape).astype("float32")
        scale = (
            np.abs(x).max(tuple(i for i in range(x.ndim) if i != axis))
            if axis >= 0
            else np.abs(x).max()
        )
        scale = np.asarray(scale).reshape(-1)
        out = _core.ops.fake_quantize_dequantize(
            argosy.to_tensor(x), argosy.to_tensor(scale), 8, 1, axis
        )
        wanted = rounded_as_codes(x.astype("float64"), scale, quant_axis=axis)
        # A number in the middle of two codes may go either way.
        step = scale.max() / 127
        assert np.abs(out.numpy() - wanted).max() <= step * 1.001
        assert (np.abs(out.numpy() - wanted) > 1e-4 * step).mean() < 1e-3


def test_gradients_pass_as_they_are():
    x = argosy.to_tensor([-5.0, 0.3, 7.0], stop_gradient=False)
    scale = argosy.to_tensor([1.0], stop_gradient=False)
    out = _core.ops.fake_quantize_dequantize(x, scale, 8, 1, -1)
    (out * argosy.to_tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]
    assert scale.grad is None
