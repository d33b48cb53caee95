"""compile_step: whole training steps against the same steps taken eagerly."""

import numpy as np
import pytest

import argosy as paddle
from argosy import nn


def batches(count=6, rows=8):
    rng = np.random.RandomState(0)
    return [
        (
            paddle.to_tensor(rng.standard_normal((rows, 5)).astype("float32")),
            paddle.to_tensor(rng.randint(0, 3, rows)),
        )
        for _ in range(count)
    ]


def network():
    paddle.seed(1)
    return nn.Sequential(
        nn.Linear(5, 7, bias_attr=False), nn.BatchNorm1D(7), nn.ReLU(), nn.Linear(7, 3)
    )


def adam(model):
    schedule = paddle.optimizer.lr.ExponentialDecay(0.05, 0.8)
    optimizer = paddle.optimizer.AdamW(
        schedule,
        parameters=model.parameters(),
        weight_decay=0.1,
        grad_clip=nn.ClipGradByGlobalNorm(0.5),
    )
    return schedule, optimizer


def test_losses_weights_buffers_and_optimizer_state_are_those_of_eager_steps():
    criterion = nn.CrossEntropyLoss()
    one, two = network(), network()
    schedule, optimizer = adam(one)
    eager = []
    for x, y in batches():
        loss = criterion(one(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
        eager.append(float(loss))
    kept = optimizer.state_dict()

    schedule, optimizer = adam(two)
    step = paddle.jit.compile_step(two, criterion, optimizer)
    compiled = []
    for x, y in batches():
        compiled.append(float(step(x, y)))
        schedule.step()
    assert len(step.program_cache) == 1
    np.testing.assert_allclose(compiled, eager, rtol=1e-5)
    for (name, a), b in zip(one.state_dict().items(), two.state_dict().values()):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-4, atol=1e-6, err_msg=name)
    state = optimizer.state_dict()
    assert [k for k in kept if "moment" in k] and len(kept) == len(state)
    for a, b in zip(kept.values(), state.values()):
        if isinstance(a, paddle.Tensor):
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-4, atol=1e-7)


def test_other_sizes_and_modes_are_captured_anew_and_gradients_are_left_alone():
    model = network()
    _, optimizer = adam(model)
    step = paddle.jit.compile_step(model, nn.CrossEntropyLoss(), optimizer)
    (x, y) = batches(1)[0]
    assert np.isfinite(float(step(x, y)))
    step(x[:5], y[:5])
    assert len(step.program_cache) == 2
    model.eval()
    before = model[1]._mean.numpy()
    step(x, y)
    assert len(step.program_cache) == 3 and np.array_equal(before, model[1]._mean.numpy())
    assert all(p.grad is None for p in model.parameters())


def test_what_cannot_be_a_step_is_said():
    model = network()
    _, optimizer = adam(model)
    with pytest.raises(TypeError, match=r"\[compile_step\] optimizer: expected an Optimizer"):
        paddle.jit.compile_step(model, nn.CrossEntropyLoss())
    (x, y) = batches(1)[0]
    step = paddle.jit.compile_step(model, nn.CrossEntropyLoss(reduction="none"), optimizer)
    with pytest.raises(
        TypeError, match=r"the loss must be one number, got a Tensor of shape \[8\]"
    ):
        step(x, y)
    for p in model.parameters():
        p.stop_gradient = True
    step = paddle.jit.compile_step(model, nn.CrossEntropyLoss(), optimizer)
    with pytest.raises(ValueError, match="depends on no parameter"):
        step(x, y)
