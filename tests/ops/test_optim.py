"""Every update rule against NumPy, over several steps, at the level of the ops: all parameters in one
call, float64 exactly, float32 and 16 bits within rounding."""

import numpy as np
import pytest
from tests.ops import optim_references as ref

from argosy import _core
from argosy._core import ops

to_tensor = _core.to_tensor

SHAPES = [(3, 4), (5,), (), (2, 0, 3), (700, 60)]
STEPS = 6


def tensors(arrays, dtype):
    return [to_tensor(np.asarray(a, "float64")).astype(dtype) for a in arrays]


def like(arrays, fill, dtype):
    return tensors([np.full(np.shape(a), fill) for a in arrays], dtype)


def ones(arrays, fill, dtype):
    return tensors([np.full([1], fill) for _ in arrays], dtype)


# name, op, states as (kind, fill), hyperparameters of the op, reference
RULES = [
    ("sgd", "sgd_", [], (), ref.sgd()),
    ("momentum", "momentum_", [("like", 0)], (0.9, False, 1.0), ref.momentum()),
    ("nesterov", "momentum_", [("like", 0)], (0.5, True, 1.0), ref.momentum(mu=0.5, nesterov=True)),
    (
        "adam",
        "adam_",
        [("like", 0), ("like", 0), None, ("one", 0.9), ("one", 0.999)],
        (0.9, 0.999, 1e-8, (), False),
        ref.adam(),
    ),
    (
        "amsgrad",
        "adam_",
        [("like", 0), ("like", 0), ("like", 0), ("one", 0.5), ("one", 0.6)],
        (0.5, 0.6, 1e-8, (), False),
        ref.adam(b1=0.5, b2=0.6, amsgrad=True),
    ),
    (
        "adamw",
        "adam_",
        [("like", 0), ("like", 0), None, ("one", 0.9), ("one", 0.999)],
        (0.9, 0.999, 1e-8, (0.3,) * len(SHAPES), False),
        ref.adam(decay=0.3),
    ),
    (
        "adamax",
        "adamax_",
        [("like", 0), ("like", 0), ("one", 0.9)],
        (0.9, 0.999, 1e-8),
        ref.adamax(),
    ),
    ("adagrad", "adagrad_", [("like", 0.2)], (1e-6,), ref.adagrad(start=0.2)),
    ("adadelta", "adadelta_", [("like", 0)] * 2, (0.95, 1e-6), ref.adadelta()),
    ("rmsprop", "rmsprop_", [("like", 0)] * 3, (0.95, 1e-6, 0.0, False), ref.rmsprop()),
    (
        "rmsprop centered",
        "rmsprop_",
        [("like", 0)] * 3,
        (0.9, 1e-2, 0.5, True),
        ref.rmsprop(rho=0.9, eps=1e-2, mu=0.5, centered=True),
    ),
    (
        "lamb",
        "lamb_",
        [("like", 0)] * 2 + [("one", 0.9), ("one", 0.999)],
        (0.9, 0.999, 1e-6, (0.01,) * len(SHAPES), False),
        ref.lamb(),
    ),
    (
        "lamb without decay",
        "lamb_",
        [("like", 0)] * 2 + [("one", 0.9), ("one", 0.999)],
        (0.9, 0.999, 1e-6, (), False),
        ref.lamb(decay=0.0),
    ),
    (
        "lamb always",
        "lamb_",
        [("like", 0)] * 2 + [("one", 0.9), ("one", 0.999)],
        (0.9, 0.999, 1e-6, (), True),
        ref.lamb(decay=0.0, always=True),
    ),
    (
        "nadam",
        "nadam_",
        [("one", 1.0)] * 3 + [("like", 0)] * 2,
        (0.9, 0.999, 1e-8, 0.004),
        ref.nadam(),
    ),
    (
        "radam",
        "radam_",
        [("one", 1.0)] * 3 + [("like", 0)] * 2,
        (0.9, 0.8, 1e-8),
        ref.radam(b2=0.8),
    ),
    (
        "radam flat",
        "radam_",
        [("one", 1.0)] * 3 + [("like", 0)] * 2,
        (0.9, 0.999, 1e-8),
        ref.radam(),
    ),
    ("asgd 1", "asgd_", [("like", 0), ("batches", 1), ("count", 0)], (1,), ref.asgd()),
    ("asgd 4", "asgd_", [("like", 0), ("batches", 4), ("count", 0)], (4,), ref.asgd(n=4)),
    ("rprop", "rprop_", [("like", 0), ("like", 0.1)], (1e-5, 50.0, 0.5, 1.2), ref.rprop()),
    (
        "rprop range",
        "rprop_",
        [("like", 0), ("like", 0.1)],
        (0.05, 0.11, 0.4, 1.5),
        ref.rprop(low=0.05, high=0.11, shrink=0.4, grow=1.5),
    ),
]


COVERS = {case[1]: "test_update" for case in RULES} | {
    "clip_by_global_norm": "test_clip_by_global_norm",
    "clip_by_norm": "test_clip_by_norm",
    "unscale_grads_": "test_unscale_grads",
}


def make_states(specs, arrays, dtype, scalar_dtype):
    states = []
    for spec in specs:
        if spec is None:
            states.append([])
        elif spec[0] == "like":
            states.append(like(arrays, spec[1], dtype))
        elif spec[0] == "one":
            states.append(ones(arrays, spec[1], scalar_dtype))
        elif spec[0] == "batches":
            states.append(tensors([np.zeros((spec[1], *np.shape(a))) for a in arrays], dtype))
        else:
            states.append([to_tensor(np.zeros([1], "int64")) for _ in arrays])
    return states


def numpy64(t):
    return t.astype("float64").numpy()


def problem(seed=0):
    rng = np.random.default_rng(seed)
    params = [rng.standard_normal(s) for s in SHAPES]
    grads = [[rng.standard_normal(s) for s in SHAPES] for _ in range(STEPS)]
    for step in grads:
        step[0][0, 0] = 0.0  # a gradient of exactly zero
    return params, grads


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name,op,specs,hyper,rule", RULES, ids=[c[0] for c in RULES])
def test_update(name, op, specs, hyper, rule, dtype):
    arrays, grads = problem()
    wide = dtype if dtype in ("float64", "float32") else "float32"
    params = tensors(arrays, dtype)
    states = make_states(specs, arrays, wide, wide)
    expected = [numpy64(p) for p in params]
    memory = [{} for _ in params]
    for t, step in enumerate(grads, 1):
        given = tensors(step, dtype)
        getattr(ops, op)(params, given, *states, [], 0.1, [], [], [], *hyper)
        expected = [rule(e, numpy64(g), s, t) for e, g, s in zip(expected, given, memory)]
    tolerance = {"float64": 1e-12, "float32": 2e-5, "float16": 1e-2, "bfloat16": 8e-2}[dtype]
    if name.startswith("rprop") and dtype != "float64":
        tolerance = max(tolerance, 1e-4)
    for p, e, shape in zip(params, expected, SHAPES):
        assert str(p.dtype).endswith(dtype) and list(p.shape) == list(shape)
        np.testing.assert_allclose(numpy64(p), e, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name,op,specs,hyper,rule", RULES, ids=[c[0] for c in RULES])
def test_masters_keep_what_16_bits_lose(name, op, specs, hyper, rule):
    arrays, grads = problem(1)
    params = tensors(arrays, "bfloat16")
    masters = [p.astype("float32") for p in params]
    states = make_states(specs, arrays, "float32", "float32")
    expected = [numpy64(m) for m in masters]
    memory = [{} for _ in params]
    for t, step in enumerate(grads, 1):
        given = tensors(step, "bfloat16")
        getattr(ops, op)(params, given, *states, masters, 0.1, [], [], [], *hyper)
        expected = [rule(e, numpy64(g), s, t) for e, g, s in zip(expected, given, memory)]
    for p, m, e in zip(params, masters, expected):
        np.testing.assert_allclose(numpy64(m), e, rtol=1e-4, atol=1e-4)
        assert numpy64(p).tolist() == numpy64(m.astype("bfloat16")).tolist()


def test_scales_and_regularization_by_parameter():
    arrays, grads = problem(2)
    n = len(arrays)
    scales, l1, l2 = np.linspace(0.5, 2, n), np.linspace(0, 0.4, n), np.linspace(0.3, 0, n)
    for dtype, tolerance in (("float64", 1e-13), ("float32", 1e-5)):
        params = tensors(arrays, dtype)
        velocity = like(arrays, 0, dtype)
        expected, memory = [a.copy() for a in arrays], [{} for _ in arrays]
        for t, step in enumerate(grads, 1):
            ops.momentum_(
                params, tensors(step, dtype), velocity, [], 0.1, scales.tolist(), l1.tolist(),
                l2.tolist(), 0.9, False, 0.5,
            )  # fmt: skip
            for i in range(n):
                e = expected[i]
                g = 0.5 * step[i] + l2[i] * e + l1[i] * np.sign(e)
                expected[i] = ref.momentum(lr=0.1 * scales[i])(e, g, memory[i], t)
        for p, e in zip(params, expected):
            np.testing.assert_allclose(numpy64(p), e, rtol=tolerance, atol=tolerance)


def test_strided_parameters_are_written_in_place():
    base = to_tensor(np.arange(12, dtype="float32").reshape(3, 4))
    view = base.transpose([1, 0])
    assert not view.is_contiguous()
    ops.sgd_([view], [to_tensor(np.ones((4, 3), "float32"))], [], 1.0, [], [], [])
    np.testing.assert_array_equal(base.numpy(), np.arange(12).reshape(3, 4) - 1)


def test_bytes_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(200_000), rng.standard_normal(70_001)]
    results = []
    before = _core.num_threads()
    try:
        for threads in (1, 2, 5):
            _core.set_num_threads(threads)
            params = tensors(arrays, "float32")
            states = make_states(RULES[11][2], arrays, "float32", "float32")
            for _ in range(2):
                hyper = (0.9, 0.999, 1e-6, (0.01, 0.02), False)
                grads = tensors([np.sin(a) for a in arrays], "float32")
                ops.lamb_(params, grads, *states, [], 0.1, [], [], [], *hyper)
            results.append([p.numpy().tobytes() for p in params])
    finally:
        _core.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_versions_count_updates():
    p = to_tensor(np.ones(3, "float32"))
    before = p.inplace_version
    ops.sgd_([p], [to_tensor(np.ones(3, "float32"))], [], 0.1, [], [], [])
    assert p.inplace_version > before


def test_wrong_operands_are_named():
    p = to_tensor(np.ones([2, 3], "float32"))
    g = to_tensor(np.ones([3], "float32"))
    with pytest.raises(
        ValueError, match=r"\[sgd_\] gradient 0 has the wrong shape.*\[2, 3\].*\[3\]"
    ):
        ops.sgd_([p], [g], [], 0.1, [], [], [])
    with pytest.raises(ValueError, match=r"\[sgd_\] grads has the wrong length: expected 1.*got 2"):
        ops.sgd_([p], [p, p], [], 0.1, [], [], [])
    with pytest.raises(ValueError, match=r"\[sgd_\] l2 has the wrong length"):
        ops.sgd_([p], [p], [], 0.1, [], [], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"\[momentum_\] velocitys 0 has the wrong shape"):
        ops.momentum_([p], [p], [g], [], 0.1, [], [], [], 0.9, False, 1.0)
    with pytest.raises(ValueError, match=r"\[asgd_\] ys 0 has the wrong shape: expected 2 times"):
        count = to_tensor(np.zeros([1], "int64"))
        ops.asgd_([p], [p], [p], [p], [count], [], 0.1, [], [], [], 2)


def global_norm(arrays):
    return np.sqrt(sum((a.astype("float64") ** 2).sum() for a in arrays))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("limit", [0.5, 1e6])
def test_clip_by_global_norm(dtype, limit):
    grads = tensors(problem(3)[0], dtype)
    arrays = [numpy64(g) for g in grads]
    out = ops.clip_by_global_norm(grads, limit)
    norm = global_norm(arrays)
    tolerance = {"float64": 1e-12, "float32": 1e-6, "float16": 1e-3, "bfloat16": 1e-2}[dtype]
    for o, g, a in zip(out, grads, arrays):
        assert o.dtype == g.dtype and list(o.shape) == list(g.shape)
        np.testing.assert_allclose(
            numpy64(o), a * limit / max(norm, limit), rtol=tolerance, atol=1e-7
        )
        np.testing.assert_array_equal(numpy64(g), a)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_clip_by_norm(dtype):
    for array in problem(4)[0]:
        x = tensors([array], dtype)[0]
        a = numpy64(x)
        for limit in (0.5, 1e6):
            out = numpy64(ops.clip_by_norm(x, limit))
            expected = a * min(1.0, limit / max(np.sqrt((a**2).sum()), 1e-300))
            np.testing.assert_allclose(out, expected, rtol=1e-2 if dtype == "bfloat16" else 1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_unscale_grads(dtype):
    grads = tensors(problem(5)[0], dtype)
    strided = tensors([np.arange(6.0).reshape(2, 3)], dtype)[0].t()
    arrays = [numpy64(g) for g in [*grads, strided]]
    assert not ops.unscale_grads_([*grads, strided], 8.0).item()
    for g, a in zip([*grads, strided], arrays):
        # Exact, but where float16 comes to its smallest numbers.
        np.testing.assert_allclose(numpy64(g), a / 8, rtol=0, atol=3e-8)
        assert g.inplace_version == 1
    for bad in (np.inf, np.nan):
        assert ops.unscale_grads_([grads[0], *tensors([[1.0, bad]], dtype)], 2.0).item()


def test_unscaled_float16_may_overflow():
    x = tensors([[6e4, 1.0]], "float16")
    assert ops.unscale_grads_(x, 0.5).item()
    with pytest.raises(ValueError, match="scale must not be 0"):
        ops.unscale_grads_(x, 0.0)


def test_clipping_shows_what_is_not_a_number():
    bad = to_tensor(np.array([1.0, np.nan], "float32"))
    good = to_tensor(np.ones(2, "float32"))
    assert all(np.isnan(o.numpy()).all() for o in ops.clip_by_global_norm([bad, good], 1.0))
