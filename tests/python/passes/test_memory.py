"""recompute and remat: the same bits, with less kept for the gradient; recompute in eager mode."""

import numpy as np
import pytest
from tests.python.passes.helpers import Recorded, body, ops

import argosy
from argosy import _core, nn
from argosy.distributed.fleet.utils import recompute
from argosy.nn import functional as F

X = np.linspace(-1, 1, 6 * 8, dtype="float32").reshape(6, 8)


def net(width=8, depth=3):
    argosy.seed(11)
    return [
        nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
        for _ in range(depth)
    ]


def training(blocks, call, x=X, dropout=0.0):
    """A recorded step: loss and gradients are fetched."""
    with Recorded() as r:
        h = r.input(x)
        parameters = [p for b in blocks for p in b.parameters() if not p.stop_gradient]
        for b in blocks:
            h = call(b, h)
            if dropout:
                h = F.dropout(h, dropout)
        loss = (h * h).mean()
        r.fetch(loss, *r.gradients([loss], parameters))
    return r


# --- recompute ---


def test_recompute_text():
    with Recorded() as r:
        x = r.input(X[:1])
        x.stop_gradient = False
        y = recompute(lambda t: (t.erf() * t).exp(), x)
        r.fetch(*r.gradients([(y * y).sum()], [x]))
    before = ops(r)
    after = r.check("recompute")
    assert before.count("erf") == 1 and ops(after).count("erf") == 2
    # exp's result leaves the segment, so it is kept.
    assert ops(after).count("exp") == before.count("exp")
    again = [line for line in body(after).splitlines() if "= erf(" in line]
    assert again[1].endswith("backward") and not again[0].endswith("backward")


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_recompute_keeps_less(dropout):
    blocks = net()

    def block(b, h):
        return recompute(lambda t: F.dropout(b(t), 0.3) if dropout else b(t), h)

    r = training(blocks, block, np.tile(X, (50, 1)), dropout)
    plain = r.rewrite("default")
    after = r.check("train", seed=4)
    assert ops(after).count("dropout_bits") == ops(plain).count("dropout_bits")
    assert _core.passes_peak(after.program) < 0.75 * _core.passes_peak(plain.program)


def test_recompute_of_ranges():
    r = training(net(depth=1), lambda b, h: b(h))
    after = r.check("recompute", **{"recompute.segments": "0-1"})
    assert len(ops(after)) > len(ops(r))
    with pytest.raises(ValueError, match="must be ranges of operations such as 3-8,10-14"):
        r.rewrite("recompute", **{"recompute.segments": "5"})


def test_recompute_of_normalizations():
    """What leaves a segment is kept with its statistics; what is easily made is made when needed."""
    argosy.seed(3)
    first, second = nn.Linear(8, 64), nn.Linear(64, 8)
    norms = [nn.LayerNorm(8), nn.LayerNorm(8)]

    def block(x):
        x = norms[0](x + F.tanh(x))
        return norms[1](x + second(F.relu(first(x))))

    layers = nn.LayerList([first, second, *norms])
    r = training([layers], lambda _, h: recompute(block, recompute(block, h)))
    after = r.check("recompute")
    assert ops(r).count("layer_norm") == 4 and ops(r).count("linear") == 4
    # The first block's first norm: on the way to the product, and again for the product's gradient.
    # The gradient of the last block comes right after it: only its first norm is made again.
    assert ops(after).count("layer_norm") == 7 and ops(after).count("linear") == 6


def test_recompute_updates_running_statistics_once():
    argosy.seed(2)
    norm = nn.BatchNorm1D(8)
    with Recorded() as r:
        h = recompute(lambda t: F.relu(norm(t)) * 2, r.input(X))
        loss = (h * h).mean()
        r.fetch(loss, *r.gradients([loss], [norm.weight, norm.bias]))
    r.check("train")


def eager_gradients(blocks, call, seed):
    for b in blocks:
        for p in b.parameters():
            p.clear_grad()
    argosy.seed(seed)
    x = argosy.to_tensor(X)
    x.stop_gradient = False
    h = x
    for b in blocks:
        h = call(b, h)
    loss = (h * h).mean()
    loss.backward()
    after = argosy.uniform([2]).numpy()
    return [
        loss.numpy(),
        x.grad.numpy(),
        after,
        *[p.grad.numpy() for b in blocks for p in b.parameters()],
    ]


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_eager_recompute(reentrant, dropout):
    blocks = net()

    def plain(b, h):
        return F.dropout(b(h), dropout) if dropout else b(h)

    def again(b, h):
        return recompute(plain, b, h, use_reentrant=reentrant) if dropout else recompute(b, h)

    for a, b in zip(eager_gradients(blocks, again, 7), eager_gradients(blocks, plain, 7)):
        np.testing.assert_array_equal(a, b)


def test_eager_recompute_of_nests_and_closures():
    w = argosy.to_tensor(X[0])
    w.stop_gradient = False
    x = argosy.to_tensor(X)
    x.stop_gradient = False
    calls = []

    def function(pair, scale=1.0):
        calls.append(len(calls))
        return {"y": pair["x"] * w * scale, "n": (pair["x"] + 1, 3)}

    out = recompute(function, {"x": x}, scale=2.0)
    assert out["n"][1] == 3 and calls == [0]
    (out["y"].sum() + out["n"][0].sum()).backward()
    assert calls == [0, 1]
    np.testing.assert_allclose(w.grad.numpy(), 2 * X.sum(0), rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), np.broadcast_to(2 * X[0] + 1, X.shape), rtol=1e-6)


def test_eager_recompute_where_only_parameters_need_gradients():
    layer = nn.Linear(8, 2)
    x = argosy.to_tensor(X)
    recompute(layer, x).sum().backward()
    np.testing.assert_allclose(
        layer.weight.grad.numpy(), np.repeat(X.sum(0)[:, None], 2, 1), rtol=1e-5, atol=1e-6
    )
    with argosy.no_grad():
        assert recompute(layer, x).stop_gradient


# --- rematerialisation ---


def test_remat_text():
    with Recorded() as r:
        x = r.input(np.tile(X, (60, 1)))
        w = argosy.to_tensor(np.eye(8, dtype="float32"))
        w.stop_gradient = False
        h = x.matmul(w)
        for _ in range(3):
            h = F.gelu(h).matmul(w)
        r.fetch(*r.gradients([(h * h).sum()], [w]))
    plain = r.rewrite("train")
    after = r.check(["algebraic", "cse", "dead_code", "remat", "dead_code"])
    again = [line for line in body(after).splitlines() if "= gelu(" in line and "backward" in line]
    assert again
    assert _core.passes_peak(after.program) < _core.passes_peak(plain.program)


def test_remat_of_a_convolutional_step():
    argosy.seed(5)
    layers = [
        nn.Sequential(nn.Conv2D(4, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU()) for _ in range(3)
    ]
    image = np.random.default_rng(0).standard_normal((4, 4, 16, 16)).astype("float32")
    r = training(layers, lambda b, h: b(h), image)
    plain = r.rewrite("train")
    after = r.check([*_core.passes_pipelines()["train"], "remat", "dead_code"])
    assert ops(after).count("batch_norm") > ops(plain).count("batch_norm")
    assert _core.passes_peak(after.program) < 0.9 * _core.passes_peak(plain.program)


def test_remat_never_repeats_random_numbers():
    r = training(net(), lambda b, h: b(h), np.tile(X, (50, 1)), dropout=0.5)
    plain = r.rewrite("train")
    after = r.check([*_core.passes_pipelines()["train"], "remat"], seed=9)
    assert ops(after).count("dropout_bits") == ops(plain).count("dropout_bits")
    assert _core.passes_peak(after.program) < _core.passes_peak(plain.program)


# --- what is read for its shape only ---


def test_joined_parts_are_not_kept_for_their_sizes():
    """The gradient of concat reads how long its parts were."""
    with Recorded() as r:
        x = r.input(np.tile(X, (100, 1)))
        x.stop_gradient = False
        parts = [(x * float(k)).exp().sin() for k in range(8)]
        y = argosy.concat(parts, axis=1).tanh()
        r.fetch(*r.gradients([(y.matmul(y.t())).sum()], [x]))
    after = r.check("train")
    assert "split_like" in ops(after)
    # Each part: exp's result for its gradient. Beside them y, its product and what is between.
    part, joined = 4 * X.size * 100, 4 * X.size * 800
    product = 4 * (6 * 100) ** 2
    assert _core.passes_peak(after.program) <= 8 * part + 3 * joined + product
