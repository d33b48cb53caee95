"""Recurrent cells and layers against NumPy loops."""

import warnings

import nn_reference as ref
import numpy as np
import pytest
from tests.python.numeric import slopes

import argosy as paddle
from argosy import nn


def arrays(cell):
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return [getattr(cell, name).numpy() for name in names]


def normal(rng, *shape):
    return rng.standard_normal(shape).astype("float32")


def close(tensor, expected):
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-4, atol=1e-5)


def run_lstm(x, cell, lengths, reverse=False):
    """Outputs and last states of x [B, T, D] with zero first states."""
    weights = arrays(cell)
    h = c = np.zeros((len(x), cell.hidden_size), "float32")
    steps = x.shape[1]
    out = np.zeros((len(x), steps, cell.hidden_size), "float32")
    for step in range(steps - 1, -1, -1) if reverse else range(steps):
        new_h, new_c = ref.lstm_step(x[:, step], h, c, *weights)
        alive = (step < lengths)[:, None]
        h, c = np.where(alive, new_h, h), np.where(alive, new_c, c)
        out[:, step] = np.where(alive, new_h, 0)
    return out, h, c


def test_cells(rng):
    x, h, c = normal(rng, 2, 3), normal(rng, 2, 4), normal(rng, 2, 4)
    tensors = [paddle.to_tensor(a) for a in (x, h, c)]
    lstm, gru = nn.LSTMCell(3, 4), nn.GRUCell(3, 4)
    out, (new_h, new_c) = lstm(tensors[0], tuple(tensors[1:]))
    expected = ref.lstm_step(x, h, c, *arrays(lstm))
    close(out, expected[0])
    close(new_h, expected[0])
    close(new_c, expected[1])
    close(gru(tensors[0], tensors[1])[0], ref.gru_step(x, h, *arrays(gru)))
    for name, act in (("tanh", np.tanh), ("relu", lambda a: np.maximum(a, 0))):
        cell = nn.SimpleRNNCell(3, 4, activation=name)
        w_ih, w_hh, b_ih, b_hh = arrays(cell)
        close(cell(tensors[0], tensors[1])[0], act(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh))
        zero = cell(tensors[0])[0]
        close(zero, act(x @ w_ih.T + b_ih + b_hh))


@pytest.mark.parametrize("time_major", [False, True])
def test_lstm_of_two_layers_and_directions(rng, time_major):
    layer = nn.LSTM(3, 4, 2, direction="bidirect", time_major=time_major)
    x, lengths = normal(rng, 3, 5, 3), np.array([5, 2, 3])
    fed = x.transpose(1, 0, 2) if time_major else x
    out, (h, c) = layer(paddle.to_tensor(fed), sequence_length=paddle.to_tensor(lengths))
    below, last_h, last_c = x, [], []
    for pair in layer:
        ahead = run_lstm(below, pair.cell_fw, lengths)
        back = run_lstm(below, pair.cell_bw, lengths, reverse=True)
        below = np.concatenate([ahead[0], back[0]], -1)
        last_h += [ahead[1], back[1]]
        last_c += [ahead[2], back[2]]
    close(out, below.transpose(1, 0, 2) if time_major else below)
    close(h, np.stack(last_h))
    close(c, np.stack(last_c))


def test_gru_and_simple_rnn_agree_with_their_cells(rng):
    x = paddle.to_tensor(normal(rng, 2, 5, 3))
    for layer in (nn.GRU(3, 4), nn.SimpleRNN(3, 4, activation="relu")):
        out, state = layer(x)
        looped, final = nn.RNN(layer[0].cell)(x)
        close(out, looped.numpy())
        close(state, final.numpy()[None])


def test_initial_states_and_gradients(rng):
    layer = nn.LSTM(3, 4)
    layer.to(dtype="float64")
    first = [
        paddle.to_tensor(normal(rng, 1, 2, 4), "float64", stop_gradient=False) for _ in range(2)
    ]
    x = paddle.to_tensor(normal(rng, 2, 5, 3), "float64")
    layer(x, tuple(first))[0].sum().backward()

    def with_weight(weight, value):
        before = weight.numpy()
        weight.set_value(value)
        total = layer(x, tuple(first))[0].sum()
        weight.set_value(before)
        return total

    def near(tensor, function):
        np.testing.assert_allclose(tensor.grad.numpy(), slopes(function, tensor), atol=1e-7)

    near(first[0], lambda h: layer(x, (h, first[1]))[0].sum())
    near(first[1], lambda c: layer(x, (first[0], c))[0].sum())
    for weight in (layer.weight_ih_l0, layer.bias_hh_l0):
        near(weight, lambda value: with_weight(weight, value))
    assert layer.weight_ih_l0 is layer[0].cell.weight_ih


def test_rnn_stops_states_at_the_end(rng):
    cell, x = nn.GRUCell(3, 4), normal(rng, 2, 5, 3)
    lengths = paddle.to_tensor([3, 5])
    whole, _ = nn.RNN(cell)(paddle.to_tensor(x))
    _, state = nn.RNN(cell)(paddle.to_tensor(x), sequence_length=lengths)
    close(state, np.stack([whole.numpy()[0, 2], whole.numpy()[1, 4]]))
    back, state = nn.RNN(cell, is_reverse=True)(paddle.to_tensor(x), sequence_length=lengths)
    short, _ = nn.RNN(cell)(paddle.to_tensor(x[:1, 2::-1]))
    close(state[0], short.numpy()[0, -1])
    close(back[0, 0], short.numpy()[0, -1])


def test_birnn_and_projection(rng):
    x = paddle.to_tensor(normal(rng, 2, 5, 3))
    out, states = nn.BiRNN(nn.GRUCell(3, 4), nn.GRUCell(3, 4))(x)
    assert list(out.shape) == [2, 5, 8] and len(states) == 2
    layer = nn.LSTM(3, 4, 2, proj_size=2, direction="bidirect")
    out, (h, c) = layer(x)
    assert list(out.shape) == [2, 5, 4]
    assert list(h.shape) == [4, 2, 2] and list(c.shape) == [4, 2, 4]
    with pytest.raises(ValueError, match="input size"):
        nn.BiRNN(nn.GRUCell(3, 4), nn.GRUCell(2, 4))


def test_names_of_a_projection_are_those_of_paddle():
    layer = nn.LSTM(3, 4, proj_size=2)
    parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    names = [f"{p}_l0" for p in parts] + [f"0.cell.{p}" for p in (*parts, "weight_ho")]
    assert list(layer.state_dict()) == names
    parameters = [name for name, _ in layer.named_parameters()]
    assert parameters == [*names[:4], "0.cell.weight_ho"]


def test_loads_projections_as_paddle_names_them(rng):
    """With several cells Paddle 3.3.1 gives the outer names to wrong tensors; those of cells are right."""
    x, options = paddle.to_tensor(normal(rng, 2, 5, 3)), {"proj_size": 2, "direction": "bidirect"}
    source, target = nn.LSTM(3, 4, 2, **options), nn.LSTM(3, 4, 2, **options)
    names = [name for name in source.state_dict() if not name[0].isdigit()]
    saved = dict(zip(names, source.parameters()))
    cells = {k: v for k, v in source.state_dict().items() if k[0].isdigit()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of outer names with another shape
        missing, _ = target.set_state_dict(saved | cells)
    assert [name for name in missing if name[0].isdigit()] == []
    np.testing.assert_array_equal(target(x)[0].numpy(), source(x)[0].numpy())


def test_dropout_between_layers_only_in_training(rng):
    layer = nn.GRU(3, 4, 2, dropout=0.5)
    x = paddle.to_tensor(normal(rng, 2, 5, 3))
    assert np.abs(layer(x)[0].numpy() - layer(x)[0].numpy()).max() > 0
    layer.eval()
    np.testing.assert_array_equal(layer(x)[0].numpy(), layer(x)[0].numpy())


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LSTMCell(3, 0),
        lambda: nn.LSTMCell(3, 4, proj_size=4),
        lambda: nn.SimpleRNNCell(3, 4, "nonsense"),
        lambda: nn.LSTM(3, 4, direction="nonsense"),
        lambda: nn.SimpleRNN(3, 4, activation="nonsense"),
    ],
)
def test_errors(make):
    with pytest.raises(ValueError):
        make()


def test_beam_search_finds_the_best_sequence():
    class Table(nn.Layer):
        """Scores depend only on the last token."""

        def __init__(self, scores):
            super().__init__()
            self.scores = paddle.to_tensor(scores)

        def forward(self, tokens, states):
            return paddle.gather(self.scores, tokens), states

    scores = np.full((4, 4), -5.0, "float32")
    scores[0, 2], scores[0, 3], scores[2, 3], scores[3, 1], scores[2, 1] = 3, 2.9, 1, 6, 0.5
    decoder = nn.BeamSearchDecoder(Table(scores), 0, 1, 2)
    states = paddle.zeros([1, 1])
    ids, final, lengths = nn.dynamic_decode(decoder, states, max_step_num=6, return_length=True)
    assert ids.numpy()[0, :2, 0].tolist() == [3, 1] and int(lengths.numpy()[0, 0]) == 2
    assert ids.numpy()[0, :, 1].tolist()[:3] in ([2, 3, 1], [2, 1, 1])


def test_global_initializers_draw_for_the_weights_in_one_piece():
    # Paddle makes one more vector of all weights, from which nothing is kept but the state of the
    # generator; layers made after it are to start from the same numbers.
    initializer = nn.initializer
    initializer.set_global_initializer(initializer.Uniform(-1, 1), initializer.Constant())
    try:
        paddle.seed(5)
        layer = nn.GRU(3, 4, 2, direction="bidirect")
        after = paddle.rand([3]).numpy()
        drawn = sum(p.size for n, p in layer.named_parameters() if "weight" in n.split(".")[-1])
        paddle.seed(5)
        paddle.rand([drawn + sum(p.size for p in layer.parameters())])
        np.testing.assert_array_equal(after, paddle.rand([3]).numpy())
    finally:
        initializer.set_global_initializer(None)
