"""Pooled look-ups of many slots in tables of servers: few operations, the same results."""

import json

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, _ps, passes, static

SLOTS, BATCH, DIM = 12, 5, 4


@pytest.fixture(autouse=True)
def fresh():
    paddle.enable_static()
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), static.scope_guard(static.Scope()):
        with paddle.utils.unique_name.guard():
            yield main
    _ps.mode_install(None)
    paddle.disable_static()


def model(tables, pool="sum", padding=None):
    """Look-ups in `tables` tables by turns, pooled, joined, and a loss that is trained."""
    start = paddle.nn.initializer.Uniform(-0.5, 0.5)
    parts = []
    for i in range(SLOTS):
        ids = static.data(f"C{i}", [-1, 1], "int64", lod_level=1)
        name = paddle.ParamAttr(f"table{i % tables}", initializer=start)
        rows = static.nn.embedding(
            ids, [10**6, DIM], is_sparse=True, padding_idx=padding, param_attr=name
        )
        parts.append(static.nn.sequence_lod.sequence_pool(rows, pool))
    joined = paddle.concat(parts, axis=1)
    loss = paddle.mean(joined * joined + joined)
    paddle.optimizer.SGD(0.5).minimize(loss)
    return loss


def divided(main, loss, names):
    """The trainer's part, optimized or not, and its tables."""
    scope = static.global_scope()._handle
    _core.scope_set(scope, "learning_rate_0", _eager(np.float32(0.5)))
    done = passes.rewrite(main, [loss], names, verify=True, scope=scope)
    tables = json.loads(dict(_core.program_metadata(done.program))["parameter_server.tables"])
    for t in tables:
        if t["kind"] == "sparse":
            t["accessor"]["embedding"]["initial_range"] = 0.5
    return done, json.dumps(tables)


def operations(done):
    return [o["type"] for o in _core.program_describe(done.program)["operations"]]


def feeds(step, program):
    draw = np.random.default_rng(step)
    values = {}
    for i in range(SLOTS):
        lengths = draw.integers(0, 4, BATCH)
        values[f"C{i}"] = draw.integers(0, 30, (int(lengths.sum()), 1))
        values[f"C{i}@LENGTHS"] = lengths
    names = [v.name for v in _core.program_inputs(program)]
    return [_eager(values[n]) for n in names]


def _eager(array):
    paddle.disable_static()
    tensor = paddle.to_tensor(array)
    paddle.enable_static()
    return tensor


@pytest.mark.parametrize("pool", ["sum", "average", "max"])
@pytest.mark.parametrize("tables, padding", [(1, None), (1, 3), (2, 3)])
def test_pooled_slots_are_few_operations_with_the_same_bits(fresh, pool, tables, padding):
    loss = model(tables, pool, padding)
    plain, config = divided(fresh, loss, ["parameter_server"])
    assert operations(plain).count("sequence_pool") == SLOTS
    fused, _ = divided(fresh, loss, ["parameter_server", "cse", "fuse_slots", "dead_code"])
    found = operations(fused)
    assert found.count("ps_pull_rows") == 1 and found.count("ps_push_rows") == tables
    assert not {"sequence_pool", "sequence_pool_grad", "embedding", "embedding_rows_grad"} & set(
        found
    )
    if pool != "max":
        assert found.count("embedding_pool") == 1
        assert found.count("embedding_pool_grad") == tables
    results = []
    for part in (plain, fused):
        mode = _ps.mode_local(config)
        _ps.mode_install(mode)
        losses = [part.run(feeds(step, part.program))[0].numpy() for step in range(4)]
        results.append(np.array(losses))
    assert results[0][0] != results[0][-1]
    np.testing.assert_array_equal(results[0], results[1])
