"""RecomputeOptimizer: the updates of the optimizer in it, with less kept between forward and backward."""

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, passes, static
from argosy.incubate.optimizer import RecomputeOptimizer


@pytest.fixture(autouse=True)
def in_static_mode():
    paddle.enable_static()
    yield
    paddle.disable_static()


def trained(recomputing, make):
    """(losses of some steps, parameters, most bytes at a time) of a deep net."""
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 3
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        h, kept = static.data("x", [64, 6], "float32"), []
        for _ in range(4):
            h = static.nn.fc(h, 6)
            for _ in range(6):
                h = paddle.tanh(h.exp() * 0.1).erf()
                kept.append(h)
        loss = (static.nn.fc(h, 1) ** 2).mean()
        optimizer = make()
        if recomputing:
            optimizer = RecomputeOptimizer(optimizer)
            optimizer._set_checkpoints([*kept[3:-4:4], kept[-1].name])
        _, pairs = optimizer.minimize(loss, startup)
    x = np.random.RandomState(0).randn(64, 6).astype("float32")
    with static.scope_guard(static.Scope()):
        exe = static.Executor()
        exe.run(startup)
        losses = [exe.run(main, feed={"x": x}, fetch_list=[loss])[0] for _ in range(5)]
        values = [np.array(static.global_scope().find_var(p.name).get_tensor()) for p, _ in pairs]
    rewritten = passes.rewrite(main, [gradient for _, gradient in pairs], "train").program
    return losses, values, _core.passes_peak(rewritten)


@pytest.mark.parametrize("rule", ["SGD", "Adam"])
def test_updates_are_the_same_with_less_memory(rule):
    def make():
        return getattr(paddle.optimizer, rule)(0.01)

    losses, values, peak = trained(False, make)
    again_losses, again_values, again_peak = trained(True, make)
    assert losses[-1] < losses[0] and len(values) == 10
    np.testing.assert_array_equal(again_losses, losses)
    for again, value in zip(again_values, values, strict=True):
        np.testing.assert_array_equal(again, value)
    assert again_peak < 0.7 * peak


def test_wrong_calls():
    loss = static.nn.fc(static.data("x", [2, 3], "float32"), 1).mean()
    optimizer = RecomputeOptimizer(paddle.optimizer.SGD(0.5))
    assert optimizer.get_lr() == 0.5  # the inner one's
    with pytest.raises(
        AssertionError, match="no checkpoints. Do this: call _set_checkpoints first"
    ):
        optimizer.minimize(loss)
    for wrong in (loss, [1], None):
        with pytest.raises(
            AssertionError, match="checkpoints: expected a list of Variables or names"
        ):
            optimizer._set_checkpoints(wrong)
    with pytest.raises(NotImplementedError, match="offload is not supported"):
        optimizer._enable_offload()
    with pytest.raises(NotImplementedError, match="load is not supported"):
        optimizer.load({})
    paddle.disable_static()
    with pytest.raises(RuntimeError, match="needs static mode"):
        RecomputeOptimizer(optimizer)
