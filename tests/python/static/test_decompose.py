"""decomposition.decompose: operations become what they are composed of."""

import numpy as np
import pytest

import argosy
from argosy import static
from argosy.base import core
from argosy.decomposition import decompose
from argosy.nn import functional as F

X = np.random.default_rng(3).uniform(-2, 2, (2, 3)).astype("float32")


@pytest.fixture
def program():
    argosy.enable_static()
    core._set_prim_forward_enabled(True)
    main = static.Program()
    with static.program_guard(main):
        yield main
    core._set_prim_forward_enabled(False)
    argosy.disable_static()


def names(main):
    return [op.name() for op in main.global_block().ops]


def run(main, fetches, **feed):
    return static.Executor().run(main, feed=feed or {"x": X}, fetch_list=fetches)


def chain():
    x = static.data("x", [-1, 3], "float32")
    x.stop_gradient = False
    y = F.gelu(x)
    z = F.softmax(y)
    return x, y, z, argosy.mean(z)


def all_of(main, fetches, **kwargs):
    """Results before and after."""
    before = run(main, fetches)
    after = run(main, decompose(main, fetches, **kwargs))
    for a, b in zip(before, after, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-7)


def test_composed_operations_vanish(program):
    _, y, z, w = chain()
    count = len(names(program))
    all_of(program, [y, z, w])
    assert not {"pd_op.gelu", "pd_op.softmax"} & set(names(program))
    assert {"pd_op.exp", "pd_op.erf"} <= set(names(program)) and len(names(program)) > count


def test_results_are_the_variables_that_they_were(program):
    _, y, z, w = chain()
    name, maker = z.name, z.get_defining_op().name()
    found = decompose(program, (y, z, w))
    assert isinstance(found, list) and [v.name for v in found] == [y.name, z.name, w.name]
    assert found[1].name == name and z.get_defining_op().name() != maker
    more = z + 1
    np.testing.assert_allclose(run(program, [more])[0], run(program, [z])[0] + 1, rtol=1e-6)


def test_nothing_is_done_while_the_switch_is_off(program):
    _, _, z, _ = chain()
    before = names(program)
    core._set_prim_forward_enabled(False)
    assert decompose(program, [z])[0] is z
    assert names(program) == before
    core._set_prim_forward_enabled(True)
    assert decompose(program, []) == []
    assert names(program) != before


def test_a_whitelist_names_what_alone_is_opened(program):
    _, y, z, w = chain()
    all_of(program, [y, z, w], whitelist=frozenset({"pd_op.softmax"}))
    assert "pd_op.gelu" in names(program) and "pd_op.softmax" not in names(program)


def test_a_blacklist_names_what_stays(program):
    _, y, z, w = chain()
    all_of(program, [y, z, w], blacklist={"pd_op.softmax"})
    assert "pd_op.softmax" in names(program) and "pd_op.gelu" not in names(program)


def test_a_blacklist_comes_first(program):
    _, y, z, w = chain()
    both = frozenset({"pd_op.softmax", "pd_op.gelu"})
    all_of(program, [y, z, w], blacklist=frozenset({"pd_op.softmax"}), whitelist=both)
    assert "pd_op.softmax" in names(program) and "pd_op.gelu" not in names(program)


@pytest.mark.parametrize("name", ["softmax", "pd_op.nothing"])
def test_a_whitelist_of_other_names_opens_nothing(program, name):
    _, _, z, _ = chain()
    before = names(program)
    decompose(program, [z], whitelist={name})
    assert names(program) == before


def test_a_range_counts_the_operations_that_a_block_shows(program):
    _, y, z, w = chain()
    ops = program.global_block().ops
    at = next(i for i, op in enumerate(ops) if op.name() == "pd_op.softmax")
    all_of(program, [y, z, w], start_index=at, end_index=at + 1)
    assert "pd_op.gelu" in names(program) and "pd_op.softmax" not in names(program)


def test_a_range_counts_inputs_where_they_are_shown():
    core._set_prim_forward_enabled(True)
    try:
        with argosy.pir_utils.IrGuard():
            main = static.Program()
            with static.program_guard(main):
                _, y, z, w = chain()
            assert names(main)[:3] == ["pd_op.data", "pd_op.gelu", "pd_op.softmax"]
            decompose(main, [z], end_index=1)
            assert "pd_op.gelu" in names(main)
            decompose(main, [z], start_index=1, end_index=2)
            assert "pd_op.gelu" not in names(main) and "pd_op.softmax" in names(main)
    finally:
        core._set_prim_forward_enabled(False)


def test_gradients_are_the_same_taken_before_and_after(program):
    x, _, z, _ = chain()
    loss = (z * z).sum()
    (early,) = static.gradients([loss], [x])
    first = run(program, [early])[0]
    before = names(program)
    decompose(program, [loss, early])
    assert [n for n in names(program) if n.endswith("_grad")] == [
        n for n in before if n.endswith("_grad")
    ]
    (late,) = static.gradients([loss], [x])
    for g in run(program, [early, late]):
        np.testing.assert_allclose(g, first, rtol=1e-5, atol=1e-6)
    assert np.abs(first).max() > 0.01


def test_a_layer_is_trained_after_it_was_decomposed(program):
    x = static.data("x", [4, 3], "float32")
    layer = argosy.nn.LayerNorm(3)
    loss = (F.gelu(layer(x)) ** 2).mean()
    (loss,) = decompose(program, [loss])
    assert not {"pd_op.layer_norm", "pd_op.gelu"} & set(names(program))
    argosy.optimizer.SGD(0.5).minimize(loss)
    exe = static.Executor()
    exe.run(static.default_startup_program())
    x = np.random.default_rng(1).normal(size=(4, 3)).astype("float32")
    losses = [exe.run(program, feed={"x": x}, fetch_list=[loss])[0].item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.9 * losses[0]


def test_branches_and_loops_are_opened(program):
    x = static.data("x", [2, 3], "float32")
    y = static.nn.cond(x.sum() > 0, lambda: F.softmax(x), lambda: F.gelu(x))
    i = argosy.full([1], 0, "int64")
    _, z = static.nn.while_loop(lambda i, v: i < 2, lambda i, v: [i + 1, F.gelu(v)], [i, y])
    inner = [op.name() for b in program.blocks[1:] for op in b.ops]
    assert {"pd_op.softmax", "pd_op.gelu"} <= set(inner)
    feeds = [{"x": X + 3}, {"x": X - 3}]
    before = [run(program, [y, z], **f) for f in feeds]
    decompose(program, [z])
    inner = [op.name() for b in program.blocks[1:] for op in b.ops]
    assert not {"pd_op.softmax", "pd_op.gelu"} & set(inner)
    for f, wanted in zip(feeds, before, strict=True):
        for a, b in zip(run(program, [y, z], **f), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-7)
    argosy._core.program_verify(program._handle)


def test_while_a_branch_is_built_what_surrounds_it_is_opened(program):
    x = static.data("x", [2, 3], "float32")
    y = F.gelu(x)

    def branch():
        decompose(program, [y])
        return F.silu(x) * y

    before = run(program, [y])[0]
    z = static.nn.cond(x.sum() > -100, branch, lambda: x)
    assert "pd_op.gelu" not in names(program)
    assert "pd_op.silu" in [op.name() for b in program.blocks[1:] for op in b.ops]
    after, product = run(program, [y, z])
    np.testing.assert_allclose(after, before, rtol=2e-6, atol=2e-7)
    np.testing.assert_allclose(product, X / (1 + np.exp(-X)) * before, rtol=1e-5, atol=1e-6)


def test_what_writes_stays(program):
    x = static.data("x", [4, 3], "float32")
    y = F.relu(argosy.nn.BatchNorm1D(3)(x))
    decompose(program, [y])
    assert any("batch_norm" in n for n in names(program))


@pytest.mark.parametrize(
    ("kwargs", "error", "text"),
    [
        ({"program": 3}, TypeError, r"\[decompose\] program: expected Program, got int"),
        ({"src_vars": 3}, TypeError, r"src_vars: expected list or tuple, got int"),
        ({"src_vars": [3]}, TypeError, r"src_vars\[0\]: expected Variable, got int"),
        ({"blacklist": ["pd_op.exp"]}, TypeError, "blacklist: expected set or frozenset, got list"),
        ({"whitelist": "pd_op.exp"}, TypeError, "whitelist: expected set or frozenset, got str"),
        ({"whitelist": {3}}, TypeError, "a name in whitelist: expected str, got int"),
        ({"start_index": 1.0}, TypeError, "start_index: expected int, got float"),
        ({"end_index": None}, TypeError, "end_index: expected int, got NoneType"),
        ({"start_index": 2, "end_index": 99}, ValueError, "no operations from 2 to 99 among"),
        ({"start_index": 2, "end_index": 1}, ValueError, "no operations from 2 to 1 among"),
        ({"start_index": -1}, ValueError, "no operations from -1 to -1 among"),
        ({"end_index": -2}, ValueError, "no operations from 0 to -2 among"),
    ],
)
def test_wrong_arguments_are_named(program, kwargs, error, text):
    _, _, z, _ = chain()
    before = names(program)
    with pytest.raises(error, match=text):
        decompose(**{"program": program, "src_vars": [z], **kwargs})
    assert names(program) == before


def test_variables_of_other_programs_are_refused(program):
    chain()
    other = static.Program()
    with static.program_guard(other):
        _, _, z, _ = chain()
    with pytest.raises(ValueError, match=r"src_vars\[0\]: '.*' is a variable of another Program"):
        decompose(program, [z])


def test_addresses():
    from argosy.decomposition import decomp, primitives

    assert decomp.decompose is decompose and primitives.tanh is argosy.tanh


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("gelu", F.gelu),
        ("gelu", lambda x: F.gelu(x, approximate=True)),
        ("silu", F.silu),
        ("softmax", F.softmax),
        ("softmax", lambda x: F.softmax(x, axis=0, dtype="float64")),
        ("softmax", lambda x: F.softmax(x[0, 0])),
        ("log_softmax", lambda x: F.log_softmax(x, axis=0)),
        ("log_softmax", lambda x: F.log_softmax(x[0, 0])),
        ("layer_norm", lambda x: F.layer_norm(x, 3)),
        ("layer_norm", lambda x: F.layer_norm(x, [2, 3])),
        ("layer_norm", lambda x: F.layer_norm(x, 3, x[0] * 2, x[1] + 1, epsilon=0.1)),
    ],
)
def test_parts_compute_what_the_operation_does(program, name, f, dtype):
    x = static.data("x", [2, 3], "float32")
    x.stop_gradient = False
    y = f(x.astype(dtype))
    weighed = (y * argosy.arange(1, 1 + y.size).reshape(y.shape).astype(y.dtype)).sum()
    (early,) = static.gradients([weighed], [x])
    wanted = [y.astype("float64"), early.astype("float64")]
    before = run(program, wanted, x=X * 3)
    decompose(program, [], whitelist={f"pd_op.{name}"})
    assert f"pd_op.{name}" not in names(program)
    (late,) = static.gradients([weighed], [x])
    after = run(program, [*wanted, late.astype("float64")], x=X * 3)
    rate = {"float64": 1e-6, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}[dtype]
    for a, b in zip(after, [*before, before[1]], strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rate, atol=rate * (1 + np.abs(b).max()))


@pytest.mark.parametrize(
    "f", [F.gelu, F.silu, F.softmax, F.log_softmax, lambda x: F.layer_norm(x, 3)]
)
def test_parts_agree_on_infinities_and_large_numbers(program, f):
    n, big = float("inf"), 1e30
    special = [[n, 1, 0], [-n, -n, -n], [np.nan, 0, 1], [-n, 1, 2], [88, -200, big]]
    x = static.data("x", [5, 3], "float32")
    y = f(x)
    feed = {"x": np.float32(special)}
    before, shown = run(program, [y], **feed)[0], names(program)
    decompose(program, [y])
    assert names(program) != shown
    np.testing.assert_allclose(run(program, [y], **feed)[0], before, rtol=1e-5, atol=1e-6)
