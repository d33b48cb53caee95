"""Mixtures of experts in one process, and recomputed sequences."""

import numpy as np
import pytest

import argosy as paddle
from argosy.incubate.distributed.fleet import recompute_hybrid, recompute_sequential
from argosy.incubate.distributed.models.moe import (
    BaseGate,
    ClipGradForMOEByGlobalNorm,
    GShardGate,
    MoELayer,
    NaiveGate,
    SwitchGate,
)
from argosy.incubate.distributed.models.moe.gate._capacity import within_capacity

WIDTH, EXPERTS = 6, 4


def experts():
    return paddle.nn.LayerList([paddle.nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS)])


def by_hand(layer, x, weights, chosen):
    """Token by token, choice by choice."""
    out = np.zeros(x.shape, "float64")
    tokens = x.reshape(-1, WIDTH)
    for i, token in enumerate(tokens):
        for weight, number in zip(weights[i], chosen[i]):
            if number >= 0:
                expert = layer.experts[int(number)]
                made = token @ expert.weight.numpy() + expert.bias.numpy()
                out.reshape(-1, WIDTH)[i] += weight * made
    return out


class Fixed(NaiveGate):
    """A gate whose choices a test makes."""

    def __init__(self, weights, chosen):
        super().__init__(WIDTH, EXPERTS, 1, topk=weights.shape[1])
        self.made = paddle.to_tensor(weights), paddle.to_tensor(chosen)

    def forward(self, inp, return_all_scores=False):
        return self.made


@pytest.mark.parametrize("recompute", [0, 1])
def test_each_token_sees_its_experts(recompute):
    rng = np.random.default_rng(0)
    weights = rng.random((10, 2)).astype("float32")
    chosen = rng.integers(-1, EXPERTS - 1, (10, 2))  # the last expert sees none
    layer = MoELayer(WIDTH, experts(), Fixed(weights, chosen), recompute_interval=recompute)
    x = rng.standard_normal((2, 5, WIDTH)).astype("float32")
    given = paddle.to_tensor(x, stop_gradient=False)
    out = layer(given)
    np.testing.assert_allclose(
        out.numpy(), by_hand(layer, x, weights, chosen), rtol=1e-4, atol=1e-5
    )
    out.sum().backward()
    seen = [(weights * (chosen == e)).sum() for e in range(EXPERTS)]
    for number, expert in enumerate(layer.experts):
        if (chosen == number).any():
            np.testing.assert_allclose(expert.bias.grad.numpy(), [seen[number]] * WIDTH, rtol=1e-4)
        else:
            assert expert.bias.grad is None
    wanted = sum(
        (weights * (chosen == e)).sum(1)[:, None] * layer.experts[e].weight.numpy().sum(1)
        for e in range(EXPERTS)
    )
    np.testing.assert_allclose(given.grad.numpy().reshape(10, WIDTH), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "gate",
    [
        None,
        {"type": "gshard"},
        {"type": "naive", "top_k": 3},
        {"type": "switch", "top_k": 1},
        {"type": None},
    ],
)
def test_layers_train(gate):
    paddle.seed(1)
    layer = MoELayer(WIDTH, experts(), gate)
    x, wanted = paddle.randn([4, 8, WIDTH]), paddle.randn([4, 8, WIDTH])
    optimizer = paddle.optimizer.Adam(0.02, parameters=layer.parameters())
    losses = []
    for _ in range(60):
        loss = (layer(x) - wanted).square().mean()
        total = loss
        if layer.gate.loss is not None:
            total = loss + 0.01 * layer.gate.get_loss()
        total.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert np.mean(losses[-10:]) < 0.9 * np.mean(losses[:3])
    assert layer.gate.loss is None


def test_capacity_drops_the_last_tokens():
    chosen = paddle.to_tensor([[0, 1], [0, 2], [0, 1], [1, 0]])
    assert within_capacity(chosen, 3, 2).tolist() == [[0, 1], [0, 2], [-1, 1], [-1, -1]]
    assert within_capacity(chosen, 3, 9).tolist() == chosen.tolist()


def test_naive_gate():
    gate = NaiveGate(WIDTH, EXPERTS, 1, topk=2)
    x = paddle.randn([5, WIDTH])
    best, chosen, scores = gate(x, return_all_scores=True)
    order = np.argsort(-scores.numpy(), 1)[:, :2]
    assert (np.sort(order, 1) == np.sort(chosen.numpy(), 1)).all()
    np.testing.assert_allclose(best.numpy(), np.take_along_axis(scores.numpy(), chosen.numpy(), 1))
    assert gate.gate.weight.name.startswith("gate_linear_")


def test_balance_of_gshard():
    gate = GShardGate(WIDTH, EXPERTS, 1, random_routing=False)
    x = paddle.randn([7, WIDTH])
    _, chosen = gate(x)
    scores = gate.gate(x).numpy()
    e = np.exp(scores - scores.max(1, keepdims=True))
    share = np.bincount(np.argsort(-scores, 1)[:, :2].reshape(-1), minlength=EXPERTS) / 7
    wanted = (share * (e / e.sum(1, keepdims=True)).mean(0)).mean() * EXPERTS**2
    np.testing.assert_allclose(float(gate.get_loss(clear=False)), wanted, rtol=1e-5)
    assert gate.get_loss() is not None and gate.get_loss() is None
    assert list(chosen.shape) == [7, 2]


def test_second_experts_of_small_scores_are_left_out():
    gate = GShardGate(WIDTH, EXPERTS, 1)
    gate.gate.weight.set_value(paddle.zeros([WIDTH, EXPERTS]))
    gate.gate.bias.set_value(paddle.to_tensor([9.0, 0.0, -1.0, -1.0]))
    _, chosen = gate(paddle.randn([50, WIDTH]))
    assert (chosen.numpy()[:, 1] == -1).all() and (chosen.numpy()[:, 0] == 0).all()


def test_balance_of_switch():
    gate = SwitchGate(WIDTH, EXPERTS, 1).eval()
    x = paddle.randn([9, WIDTH])
    best, chosen = gate(x)
    scores = gate.gate(x).numpy()
    e = np.exp(scores - scores.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    assert (chosen.numpy()[:, 0] == p.argmax(1)).all()
    np.testing.assert_allclose(best.numpy()[:, 0], p.max(1), rtol=1e-5)
    share = np.bincount(p.argmax(1), minlength=EXPERTS) / 9
    wanted = (share * p.sum(0) / 9).sum() * EXPERTS
    np.testing.assert_allclose(float(gate.get_loss()), wanted, rtol=1e-5)


def test_clipping_is_that_of_all_gradients():
    layer = paddle.nn.Linear(3, 3)
    twin = paddle.nn.Linear(3, 3)
    twin.set_state_dict(layer.state_dict())
    for each, clip in (
        (layer, ClipGradForMOEByGlobalNorm(0.1)),
        (twin, paddle.nn.ClipGradByGlobalNorm(0.1)),
    ):
        optimizer = paddle.optimizer.SGD(1.0, parameters=each.parameters(), grad_clip=clip)
        each(paddle.ones([1, 3])).sum().backward()
        optimizer.step()
    assert (layer.weight.numpy() == twin.weight.numpy()).all()


class Group:
    nranks, rank = 2, 0


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: MoELayer(WIDTH, experts(), {"type": "other"}), AssertionError, "gate type: expected"),
        (lambda: MoELayer(WIDTH, experts(), 3), TypeError, "gate: expected a dict"),
        (lambda: MoELayer(WIDTH, experts(), BaseGate(EXPERTS, 1)), TypeError, "got BaseGate"),
        (lambda: MoELayer(WIDTH, experts(), moe_group=Group()), NotImplementedError, "2 members"),
        (lambda: MoELayer(WIDTH, experts(), mp_group=Group()), NotImplementedError, "2 members"),
        (lambda: MoELayer(WIDTH, experts())(paddle.ones([2, WIDTH])), AssertionError, "expected [batch"),
        (lambda: NaiveGate(WIDTH, EXPERTS, 2), NotImplementedError, "world_size: expected 1"),
        (lambda: GShardGate(WIDTH, EXPERTS, 1, topk=1), AssertionError, "topk: expected 2"),
        (lambda: SwitchGate(WIDTH, EXPERTS, 1, topk=2), AssertionError, "topk: expected 1"),
        (lambda: ClipGradForMOEByGlobalNorm(1.0, moe_group=Group()), NotImplementedError, "2 members"),
        (lambda: recompute_sequential({"segments": 3}, [paddle.abs], paddle.ones([1])), ValueError, "segments"),
        (lambda: recompute_hybrid({}, paddle.abs, paddle.ones([1])), AssertionError, "mp_group"),
        (lambda: recompute_hybrid({"mp_group": Group()}, paddle.abs, paddle.ones([1])),
         NotImplementedError, "2 members"),
    ],
)  # fmt: skip
def test_bad_arguments(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize("segments", [1, 2, 3, 5])
@pytest.mark.parametrize("as_list", [False, True])
def test_recomputed_sequences_have_the_same_gradients(segments, as_list):
    layers = [paddle.nn.Linear(4, 4) for _ in range(5)]
    model = paddle.nn.Sequential(*layers)
    x = paddle.randn([3, 4])
    grads = []
    for recomputed in (False, True):
        functions = layers if as_list else model
        out = recompute_sequential({"segments": segments}, functions, x) if recomputed else model(x)
        out.square().sum().backward()
        grads.append([p.grad.numpy() for p in model.parameters()])
        model.clear_gradients()
    for one, other in zip(*grads):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_recompute_hybrid_in_one_process():
    class Alone:
        nranks, rank = 1, 0

    layer = paddle.nn.Linear(4, 4)
    out = recompute_hybrid({"mp_group": Alone()}, layer, paddle.ones([2, 4]))
    out.sum().backward()
    assert layer.weight.grad is not None
    with pytest.raises(NotImplementedError, match="offload"):
        recompute_hybrid({"mp_group": Alone(), "offload": True}, layer, paddle.ones([2, 4]))
