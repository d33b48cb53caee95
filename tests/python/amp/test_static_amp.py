"""static.amp: Programs in bfloat16."""

import numpy as np
import pytest

import argosy as paddle
from argosy import static
from argosy.static import amp


@pytest.fixture(autouse=True)
def static_mode():
    paddle.enable_static()
    yield
    paddle.disable_static()


def trained(wrap, steps=30):
    main, startup = static.Program(), static.Program()
    paddle.seed(5)
    with static.program_guard(main, startup):
        x = static.data("x", [None, 8])
        y = static.data("y", [None, 1], "int64")
        h = static.nn.fc(x, 16, activation="relu")
        loss = paddle.nn.functional.cross_entropy(static.nn.fc(h, 4), y).mean()
        wrap(paddle.optimizer.SGD(0.5)).minimize(loss)
    exe, scope = static.Executor(), static.Scope()
    rng = np.random.RandomState(0)
    feed = {"x": rng.randn(32, 8).astype("float32"), "y": rng.randint(0, 4, (32, 1))}
    with static.scope_guard(scope):
        exe.run(startup)
        losses = [exe.run(main, feed=feed, fetch_list=[loss])[0] for _ in range(steps)]
    return np.array([number(v) for v in losses]), main


def number(fetched):
    """A fetched number; bfloat16 comes as its bits."""
    if fetched.dtype == np.uint16:
        fetched = (fetched.astype("uint32") << 16).view("float32")
    return float(fetched)


def products(program):
    return [line for line in str(program).splitlines() if "var matmul" in line]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda opt: amp.decorate(opt, dtype="bfloat16"),
        lambda opt: amp.decorate(opt, level="O2", dtype="bfloat16"),
        amp.bf16.decorate_bf16,
        lambda opt: amp.bf16.decorate_bf16(opt, use_pure_bf16=True),
    ],
)
def test_training(wrap):
    full, plain = trained(lambda opt: opt)
    low, main = trained(wrap)
    assert products(main) and all("bfloat16" in line for line in products(main)), str(main)
    assert not any("bfloat16" in line for line in products(plain))
    assert np.abs(low - full).max() > 0
    np.testing.assert_allclose(low, full, rtol=0.05, atol=0.02)


def test_lists():
    lists = amp.bf16.AutoMixedPrecisionListsBF16(custom_fp32_list={"matmul_v2", "linear_v2"})
    full, _ = trained(lambda opt: opt)
    low, main = trained(lambda opt: amp.bf16.decorate_bf16(opt, amp_lists=lists))
    assert not any("bfloat16" in line for line in products(main))
    np.testing.assert_array_equal(low, full)
    with pytest.raises(ValueError, match=r"overlap: \['mul'\]"):
        amp.CustomOpLists({"mul"}, {"mul"})
    with pytest.raises(NotImplementedError, match="custom_black_varnames"):
        amp.CustomOpLists(custom_black_varnames={"x"})


@pytest.mark.cpu_only("is about float16 on the CPU, which has no effect there")
def test_float16_has_no_effect():
    full, _ = trained(lambda opt: opt)
    same, main = trained(lambda opt: amp.decorate(opt))
    np.testing.assert_array_equal(same, full)


def test_what_is_refused():
    opt = paddle.optimizer.SGD(0.1)
    with pytest.raises(NotImplementedError, match="use_dynamic_loss_scaling"):
        amp.decorate(opt, dtype="bfloat16", use_dynamic_loss_scaling=True)
    with pytest.raises(NotImplementedError, match="use_bf16_guard"):
        amp.bf16.decorate_bf16(opt, use_bf16_guard=True)
    with pytest.raises(ValueError, match="level"):
        amp.decorate(opt, level="O7")


def test_branches_keep_their_dtypes():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [4, 4])
        h = x @ x
        z = static.nn.cond(h.sum() > 0, lambda: h * 2.0, lambda: h @ x)
        z.name = "z"
    amp.bf16.rewrite_program_bf16(main)
    a = np.eye(4, dtype="float32")
    (got,) = static.Executor().run(main, feed={"x": a}, fetch_list=[z])
    np.testing.assert_allclose(np.asarray(got, "float32"), 2 * a)


def test_bits():
    bits = amp.bf16.convert_float_to_uint16([[1.0, 1.00390625], [2.0, -0.5]])
    assert bits.dtype == np.uint16 and bits.tolist() == [[0x3F80, 0x3F80], [0x4000, 0xBF00]]
