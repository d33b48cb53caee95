"""Recurrent layers and cells against step-by-step NumPy."""

import numpy as np
import pytest
from tests.ops.harness import A, Case, array, dtype_of, table_tests, tensor

import argosy
from argosy import _core
from argosy._recorder import Recorder

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, x, h, c, w_ih, w_hh, b_ih=0.0, b_hh=0.0):
    a, u = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
    if mode == "LSTM":
        i, f, g, o = np.split(a + u, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    if mode == "GRU":
        (a_r, a_z, a_n), (u_r, u_z, u_n) = np.split(a, 3, -1), np.split(u, 3, -1)
        n = np.tanh(a_n + sigmoid(a_r + u_r) * u_n)
        return (h - n) * sigmoid(a_z + u_z) + n, None
    return (np.tanh(a + u) if mode == "RNN_TANH" else np.maximum(a + u, 0)), None


def direction(mode, x, h, c, weights, lengths, reverse):
    """x [batch, steps, input]; one sequence after the other."""
    batch, steps = x.shape[:2]
    h, c = h.copy(), None if c is None else c.copy()
    y = np.zeros((batch, steps, h.shape[1]))
    for b in range(batch):
        order = range(steps if lengths is None else int(lengths[b]))
        for t in reversed(order) if reverse else order:
            new = step(mode, x[b, t], h[b], None if c is None else c[b], *weights)
            h[b] = y[b, t] = new[0]
            if c is not None:
                c[b] = new[1]
    return y, h, c


def rnn(
    x, states, weights, lengths=None, mode="LSTM", hidden_size=0, num_layers=1,
    bidirectional=False, dropout=0.0, time_major=False, training=False,
):  # fmt: skip
    x = x.swapaxes(0, 1) if time_major else x
    last = []
    directions = 2 if bidirectional else 1
    for layer in range(num_layers):
        outs = []
        for k in range(layer * directions, (layer + 1) * directions):
            h, c = states[0][k], states[1][k] if len(states) > 1 else None
            reverse = k % directions == 1
            y, *ends = direction(mode, x, h, c, weights[4 * k : 4 * k + 4], lengths, reverse)
            outs.append(y)
            last.append(ends)
        x = np.concatenate(outs, -1)
    finals = [np.stack([ends[i] for ends in last]) for i in range(len(states))]
    return [x.swapaxes(0, 1) if time_major else x, *finals]


def operands(mode, layers, directions, shape, hidden=3):
    """x, states and weights of a net over x [.., features]."""
    g = GATES[mode] * hidden
    batch = shape[0]
    states = [A(layers * directions, batch, hidden) for _ in range(2 if mode == "LSTM" else 1)]
    weights = []
    for layer in range(layers):
        features = shape[-1] if layer == 0 else hidden * directions
        for _ in range(directions):
            weights += [A(g, features), A(g, hidden), A(g), A(g)]
    return [A(*shape), states, weights]


def layers(mode, count, bidirectional, lengths=None, **more):
    directions = 2 if bidirectional else 1
    inputs = [*operands(mode, count, directions, (2, 4, 3)), lengths]
    attrs = {"mode": mode, "hidden_size": 3, "num_layers": count, "bidirectional": bidirectional}
    return Case(
        "rnn", inputs, {**attrs, "training": False, **more}, ref=rnn, tol=20,
        known={0: [1]},
        dtypes=("float16", "float32", "float64"), covers=["rnn_direction", "rnn_direction_grad"],
        strided=mode == "LSTM",
    )  # fmt: skip


def cell(mode):
    def reference(x, h, *rest, activation=None):
        states, weights = rest[: mode == "LSTM"], rest[mode == "LSTM" :]
        new = step(mode, x, h, states[0] if states else None, *weights[:4])
        return [new[0], new[1]] if mode == "LSTM" else new[0]

    return reference


def projected(x, h, c, w_ih, w_hh, b_ih, b_hh, w_ho):
    h, c = step("LSTM", x, h, c, w_ih, w_hh, b_ih, b_hh)
    return [h @ w_ho, c]


def inside_a_branch(x, h, w_ih, w_hh, b_ih, b_hh):
    """The parts that a gradient's gradient is made of are appended to a block of an `if`."""

    def layer():
        attrs = ("GRU", 3, 1, False, 0.0, False, False)
        return _core.ops.rnn(x, [h], [w_ih, w_hh, b_ih, b_hh], None, *attrs)[0]

    return argosy.static.nn.cond(x.sum() < 1e9, layer, lambda: layer() * 2)


LENGTHS = np.array([2, 4])
CELL = {
    m: [A(2, 4), *[A(2, 3)] * (2 if m == "LSTM" else 1), A(3 * g, 4), A(3 * g, 3)]
    for m, g in GATES.items()
}
BIASES = {m: [A(3 * g), A(3 * g)] for m, g in GATES.items()}
STRANGE = [A(2, 4, 3), [A(1, 2, 3)], [A(3, 3), A(3, 3), A(3), A(3)]]
TYPES = ("float32", "float64")

# fmt: off
CASES = [
    *(layers(mode, 2, True, LENGTHS) for mode in GATES),
    *(layers(mode, 1, False) for mode in GATES),
    layers("GRU", 2, False, np.array([4, 0])),
    Case("rnn", [A(4, 2, 3), *operands("LSTM", 1, 2, (2, 4, 3))[1:], LENGTHS.astype("int32")],
         {"mode": "LSTM", "hidden_size": 3, "bidirectional": True, "time_major": True}, ref=rnn, dtypes=TYPES,
         tol=20, note="time major", known={0: [0]},
         errors=[(STRANGE, {"mode": "ELMAN"}, ValueError, "mode must be"),
                 (STRANGE, {"mode": "LSTM"}, ValueError, "has 2 states"),
                 (STRANGE, {"mode": "RNN_TANH", "num_layers": 2}, ValueError, "4 weights for each"),
                 ([A(2, 4), *STRANGE[1:]], {"mode": "RNN_TANH"}, ValueError, "[batch, time, features]"),
                 ([A(2, 4, 5), *STRANGE[1:]], {"mode": "RNN_TANH"}, ValueError, "weight_ih: expected shape"),
                 ([A(3, 4, 3), *STRANGE[1:]], {"mode": "RNN_TANH"}, ValueError, "initial state: expected shape")]),
    Case(inside_a_branch, [A(2, 3, 2), A(1, 2, 3), A(9, 2), A(9, 3), A(9), A(9)], grad=True, dtypes=TYPES,
         known={0: [1]}),
    Case("simple_rnn_cell", CELL["RNN_TANH"] + BIASES["RNN_TANH"], ref=cell("RNN_TANH"), dtypes=TYPES, tol=8),
    Case("simple_rnn_cell", CELL["RNN_RELU"] + BIASES["RNN_RELU"], {"activation": "relu"}, ref=cell("RNN_RELU"),
         dtypes=TYPES, tol=8,
         errors=[(CELL["RNN_RELU"], {"activation": "gelu"}, ValueError, "activation must be")]),
    Case("gru_cell", CELL["GRU"] + BIASES["GRU"], ref=cell("GRU"), dtypes=TYPES, tol=8),
    Case("gru_cell", CELL["GRU"], ref=cell("GRU"), dtypes=TYPES, tol=8, note="no biases"),
    Case("lstm_cell", CELL["LSTM"] + BIASES["LSTM"], ref=cell("LSTM"), dtypes=TYPES, tol=8,
         errors=[([A(2, 4), A(2, 3), A(2, 3), A(10, 4), A(10, 3)], {}, ValueError, "weight_hh must be")]),
    Case("lstm_cell", [A(2, 4), A(2, 5), A(2, 3), A(12, 4), A(12, 5), A(12), A(12), A(3, 5)], ref=projected,
         dtypes=TYPES, tol=8, note="projection"),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)


def one_layer(training, dropout):
    rng = np.random.default_rng(0)
    spec = operands("RNN_TANH", 2, 1, (3, 5, 4), hidden=16)
    x, states, weights = (
        [tensor(s.make(rng, "float32")) for s in (part if isinstance(part, list) else [part])]
        for part in spec
    )
    return _core.ops.rnn(
        x[0], states, weights, None, "RNN_TANH", 16, 2, False, dropout, False, training
    )


def test_dropout_between_layers():
    plain = array(one_layer(True, 0.0)[0])
    assert np.array_equal(array(one_layer(False, 0.9)[0]), plain)
    argosy.seed(1)
    first = array(one_layer(True, 0.5)[0])
    assert not np.array_equal(first, plain)
    argosy.seed(1)
    assert np.array_equal(array(one_layer(True, 0.5)[0]), first)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_results_keep_the_dtype(dtype):
    rng = np.random.default_rng(0)
    x, states, weights = operands("LSTM", 1, 1, (2, 3, 4))
    make = lambda spec: tensor(spec.make(rng, "float32"), dtype)  # noqa: E731
    results = _core.ops.rnn(
        make(x), [make(s) for s in states], [make(w) for w in weights], None, "LSTM", 3
    )
    assert [dtype_of(t) for t in results] == [dtype] * 3


def penalty(net, x):
    """What gradient penalties are: a function of the gradient of x."""
    y, _ = net(x)
    (dx,) = argosy.grad([(y * y).sum()], [x], create_graph=True)
    return ((dx * dx).sum([1, 2]).sqrt() - 1).pow(2).mean()


def test_gradient_penalty_through_a_net():
    argosy.seed(0)
    net = argosy.nn.LSTM(3, 4, num_layers=2, direction="bidirect")
    net.to(dtype="float64")
    x = tensor(np.random.default_rng(0).normal(size=(2, 5, 3)))
    x.stop_gradient = False
    penalty(net, x).backward()
    rng = np.random.default_rng(1)
    for p in net.parameters():
        values, found = p.numpy(), p.grad.numpy()
        direction = rng.normal(size=values.shape)
        ends = []
        for step in (1e-6, -1e-6):
            p.set_value(values + step * direction)
            ends.append(float(penalty(net, x)))
        p.set_value(values)
        assert (found * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)


def test_third_derivative():
    def scalar(x, order):
        """The sum of the derivative of this order, by differences for the last."""
        states = [tensor(np.zeros((1, 1, 1)))] * 2
        weights = [tensor(np.full(s, 0.7)) for s in ((4, 1), (4, 1), (4,), (4,))]
        y = _core.ops.rnn(x, states, weights, None, "LSTM", 1)[0].sum()
        for _ in range(order):
            (y,) = argosy.grad([y.sum()], [x], create_graph=True)
        return y.sum()

    at = np.array([0.3, -0.5, 0.8]).reshape(1, 3, 1)
    x = tensor(at)
    x.stop_gradient = False
    ends = []
    for step in (1e-5, -1e-5):
        moved = tensor(at + step)
        moved.stop_gradient = False
        ends.append(float(scalar(moved, 2)))
    assert float(scalar(x, 3)) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


def test_unknown_numbers_of_steps_are_refused():
    with Recorder() as r:
        x = r.input([2, -1, 3], "float64")
        x.stop_gradient = False
        weights = [tensor(np.ones(s)) for s in ((4, 3), (4, 1), (4,), (4,))]
        states = [tensor(np.zeros((1, 2, 1)))] * 2
        y = _core.ops.rnn(x, states, weights, None, "LSTM", 1)[0]
        first = r.gradients([y], [x])
        with pytest.raises(NotImplementedError, match="Do this: give the time axis a size"):
            r.gradients(first, [x])
