"""LookAhead and GradientMergeOptimizer on Programs, and optimizers that are refused by name."""

import numpy as np
import pytest

import argosy as paddle
from argosy import static
from argosy.incubate import DistributedFusedLamb, LookAhead
from argosy.incubate.optimizer import GradientMergeOptimizer, PipelineOptimizer


def trained(wrap, batches, sparse=False):
    """The weights after each batch of a small model, trained in a Program."""
    paddle.enable_static()
    try:
        main, startup, scope = static.Program(), static.Program(), static.Scope()
        with static.program_guard(main, startup), static.scope_guard(scope):
            attr = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(0.5))
            if sparse:
                ids = static.data("x", [2], "int64")
                y = static.nn.embedding(ids, [4, 2], is_sparse=True, param_attr=attr)
            else:
                x = static.data("x", [None, 3])
                y = static.nn.fc(x, 2, weight_attr=attr, bias_attr=False)
            operations, pairs = wrap(y.square().mean(), startup)
            assert operations and [p.name for p, _ in pairs] == ["w"]
            exe = static.Executor()
            exe.run(startup)
            seen = []
            for batch in batches:
                exe.run(main, feed={"x": batch})
                seen.append(np.array(scope.find_var("w").get_tensor()))
            return seen
    finally:
        paddle.disable_static()


BATCHES = [np.random.RandomState(i).randn(4, 3).astype("float32") for i in range(6)]


def rule(name):
    return {
        "sgd": lambda: paddle.optimizer.SGD(0.1),
        "momentum": lambda: paddle.optimizer.Momentum(0.1, 0.9),
        "adam": lambda: paddle.optimizer.Adam(0.1),
    }[name]()


@pytest.mark.parametrize("avg", [True, False])
@pytest.mark.parametrize("name", ["sgd", "momentum", "adam"])
def test_merged_gradients_are_those_of_a_larger_batch(name, avg):
    merged = trained(
        lambda loss, s: GradientMergeOptimizer(rule(name), 2, avg).minimize(loss, s), BATCHES
    )
    # One batch of both; the sum of two means is twice their mean.
    factor = 1.0 if avg else 2.0
    both = [np.concatenate(BATCHES[i : i + 2]) for i in (0, 2, 4)]
    whole = trained(lambda loss, s: rule(name).minimize(loss * factor, s), both)
    np.testing.assert_array_equal(merged[0], 0.5)
    for i, weights in enumerate(whole):
        np.testing.assert_allclose(merged[2 * i + 1], weights, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(merged[2], merged[1])


def test_one_step_is_the_optimizer_itself():
    merged = trained(
        lambda loss, s: GradientMergeOptimizer(rule("adam")).minimize(loss, s), BATCHES
    )
    plain = trained(lambda loss, s: rule("adam").minimize(loss, s), BATCHES)
    np.testing.assert_array_equal(merged[-1], plain[-1])


def test_rows_of_a_table():
    batches = [np.int64([0, 1]), np.int64([1, 2])]
    merged = trained(
        lambda loss, s: GradientMergeOptimizer(rule("sgd"), 2, False).minimize(loss, s),
        batches,
        sparse=True,
    )
    # The gradient of a row is its values times 2 / 4, for each time that it was looked up.
    np.testing.assert_allclose(merged[1][:, 0], 0.5 - 0.1 * 0.25 * np.float32([1, 2, 1, 0]))


def test_lookahead_in_a_program_is_lookahead():
    in_program = trained(
        lambda loss, s: LookAhead(rule("momentum"), alpha=0.3, k=2).minimize(loss, s), BATCHES
    )
    w = paddle.create_parameter([3, 2], "float32")
    w.set_value(np.full([3, 2], 0.5, "float32"))
    look = LookAhead(paddle.optimizer.Momentum(0.1, 0.9, parameters=[w]), alpha=0.3, k=2)
    for batch, weights in zip(BATCHES, in_program, strict=True):
        (paddle.to_tensor(batch) @ w).square().mean().backward()
        look.step()
        look.clear_grad()
        np.testing.assert_allclose(w.numpy(), weights, rtol=1e-4, atol=1e-6)


def test_what_is_refused():
    sgd = paddle.optimizer.SGD(0.1, parameters=[paddle.create_parameter([1], "float32")])
    with pytest.raises(RuntimeError, match="needs static mode.*call backward\\(\\) k times"):
        GradientMergeOptimizer(sgd)
    with pytest.raises(RuntimeError, match="needs static mode.*PipelineLayer"):
        PipelineOptimizer(sgd)
    with pytest.raises(AssertionError, match="needs static mode.*use optimizer.Lamb"):
        DistributedFusedLamb(0.1)
    paddle.enable_static()
    try:
        for steps in (0, 1.5, True):
            with pytest.raises(AssertionError, match="k_steps: expected an int of 1 or more"):
                GradientMergeOptimizer(paddle.optimizer.SGD(0.1), k_steps=steps)
        with pytest.raises(AssertionError, match="inner_optimizer is None"):
            GradientMergeOptimizer(None)
        with pytest.raises(ValueError, match="optimizer: expected an Optimizer, got int"):
            PipelineOptimizer(3)
        with pytest.raises(NotImplementedError, match="accumulate_steps=4"):
            PipelineOptimizer(paddle.optimizer.SGD(0.1), num_microbatches=4)
        with pytest.raises(
            NotImplementedError, match="use optimizer.Lamb with learning_rate=0.1.*alignment"
        ):
            DistributedFusedLamb(0.1, alignment=64)
    finally:
        paddle.disable_static()
