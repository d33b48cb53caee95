"""Tokens that go to experts, against loops in NumPy."""

import numpy as np
import pytest

import argosy
from argosy.incubate.nn import functional as F

DRAW = np.random.RandomState(3)


def dispatched(x, logits, bias, k, capacity, pad):
    """What moe_gate_dispatch gives: choices one after the other."""
    s, e = logits.shape
    judged = logits if bias is None else logits + bias
    chosen = np.argsort(-judged, 1, kind="stable")[:, :k]
    weights = np.take_along_axis(logits, chosen, 1)
    order = [(j, i) for j in range(k) for i in range(s)]
    order = order if pad else sorted(order, key=lambda at: (at[1], at[0]))
    y = np.zeros((e * capacity if pad else s * k, x.shape[1]), x.dtype)
    index, had = np.zeros((k, s), int), np.zeros(e, int)
    offset = np.cumsum(np.bincount(chosen.reshape(-1), minlength=e))
    for j, i in order:
        expert = chosen[i, j]
        row = had[expert]
        had[expert] += 1
        if row >= capacity:
            weights[i, j] = 0
            continue
        begin = expert * capacity if pad else (offset[expert - 1] if expert else 0)
        index[j, i] = begin + row
        y[begin + row] = x[i]
    return y, weights, index, offset, chosen


@pytest.mark.parametrize("pad", [True, False])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("k,capacity", [(1, 2), (2, 3), (3, 20), (4, 1)])
def test_tokens_are_dispatched(pad, bias, k, capacity):
    x = DRAW.rand(7, 3).astype("float32")
    logits = DRAW.rand(7, 5).astype("float32")
    shift = DRAW.rand(5).astype("float32") * 2 if bias else None
    want = dispatched(x, logits, shift, k, capacity, pad)
    given = argosy.to_tensor(x, stop_gradient=False), argosy.to_tensor(logits, stop_gradient=False)
    got = F.moe_gate_dispatch(
        *given, shift if shift is None else argosy.to_tensor(shift), k, capacity, pad
    )
    for one, wanted in zip(got, want):
        np.testing.assert_array_equal(one.numpy(), wanted)
    assert [one.dtype.name.lower() for one in got] == [
        "float32",
        "float32",
        "int32",
        "int64",
        "int32",
    ]

    (got[0].sum() + 2 * got[1].sum()).backward()
    copies = (want[1] != 0).sum(1)
    np.testing.assert_array_equal(given[0].grad.numpy(), np.repeat(copies[:, None], 3, 1))
    wanted = np.zeros_like(logits)
    np.put_along_axis(wanted, want[4], 2 * (want[1] != 0).astype("float32"), 1)
    np.testing.assert_array_equal(given[1].grad.numpy(), wanted)


def test_rows_for_an_exchange():
    x, logits = (
        argosy.to_tensor(DRAW.rand(6, 2)),
        argosy.to_tensor(DRAW.rand(6, 4).astype("float32")),
    )
    flat, *rest = F.moe_gate_dispatch(x, logits, None, 2, 3, True)
    y, *others = F.moe_gate_dispatch_permute(x, logits, None, 2, 3, 2)
    want = flat.numpy().reshape(2, 2, 3, 2).transpose(1, 0, 2, 3)
    np.testing.assert_array_equal(y.numpy(), want)
    for one, other in zip(rest, others):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    with pytest.raises(ValueError, match=r"world_size: expected a divisor of 4.*got 3.*Do this"):
        F.moe_gate_dispatch_permute(x, logits, None, 2, 3, 3)


def test_dispatched_rows_are_quantized():
    x = argosy.to_tensor(DRAW.rand(5, 200).astype("float32"))
    logits = argosy.to_tensor(DRAW.rand(5, 2).astype("float32"))
    plain = F.moe_gate_dispatch(x, logits, None, 1, 4, True)[0].numpy()
    y, scale, *_ = F.moe_gate_dispatch_and_quant(x, logits, None, 1, 4, True, False)
    assert y.shape == [8, 200] and scale.shape == [8, 2] and y.dtype == argosy.float8_e4m3fn
    whole = y.astype("float32").numpy() * np.repeat(scale.numpy(), 128, 1)[:, :200]
    np.testing.assert_allclose(whole, plain, rtol=0.07, atol=2e-3)


def partly(x, weights, chosen, capacity, experts, pad, begin, end, reverse):
    s, k = chosen.shape
    takers = {
        e: [(j, i) for j in range(k) for i in range(s) if chosen[i, j] == e]
        for e in range(begin, end)
    }
    kept = {e: (all_[-capacity:] if reverse else all_[:capacity]) for e, all_ in takers.items()}
    y, rev, index, out = [], [], np.zeros((k, s), int), np.zeros_like(weights)
    for e in range(begin, end):
        for j, i in sorted(kept[e], key=lambda at: at[1]):
            index[j, i] = len(y)
            out[i, j] = weights[i, j]
            y.append(x[i])
            rev.append(i)
        missing = capacity - len(kept[e]) if pad else 0
        y += [np.zeros_like(x[0])] * missing
        rev += [s] * missing
    local = np.zeros(experts, int)
    for e in range(begin, end):
        local[e] = len(takers[e] if pad else kept[e])
    total = np.bincount(chosen.reshape(-1), minlength=experts)
    return np.array(y).reshape(-1, x.shape[1]), out, index, np.array(rev, int), total, local


@pytest.mark.parametrize("pad,reverse", [(True, False), (False, False), (False, True)])
@pytest.mark.parametrize("begin,end", [(0, 2), (1, 4), (0, 5), (2, 2)])
@pytest.mark.parametrize("capacity", [1, 2, 9])
def test_experts_of_one_process(pad, reverse, begin, end, capacity):
    x, weights = DRAW.rand(8, 2).astype("float32"), 1 + DRAW.rand(8, 2).astype("float32")
    chosen = np.argsort(DRAW.rand(8, 5), 1)[:, :2].astype("int32")
    want = partly(x, weights, chosen, capacity, 5, pad, begin, end, reverse)
    got = F.moe_gate_dispatch_partial_nosoftmaxtopk(
        *(argosy.to_tensor(value) for value in (x, weights, chosen)),
        2,
        capacity,
        5,
        pad,
        begin,
        end,
        reverse,
    )
    for one, wanted in zip(got, want):
        np.testing.assert_array_equal(one.numpy(), wanted)


def test_wrong_choices_are_refused():
    x, logits = argosy.ones([3, 2]), argosy.ones([4, 2])
    with pytest.raises(
        ValueError, match=r"\[moe_gate_dispatch\] x: expected \[tokens, d\].*Do this"
    ):
        F.moe_gate_dispatch(x, logits, None, 1, 2, True)
    with pytest.raises(
        ValueError, match=r"k: expected 1 to 2, the number of experts, got 3.*Do this"
    ):
        F.moe_gate_dispatch(x, logits[:3], None, 3, 2, True)
    with pytest.raises(NotImplementedError, match="reverse_token_drop is not supported"):
        F.moe_gate_dispatch_partial_nosoftmaxtopk(
            x, logits[:3, :1], argosy.zeros([3, 1], "int32"), 1, 2, 2, True, 0, 1, True
        )


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("masks", ["none", "rows", "same", "others"])
@pytest.mark.parametrize("group", [False, True])
def test_loss_that_keeps_experts_busy(wide, masks, group):
    s, e = 6, 4
    prob = DRAW.rand(s, e).astype("float32")
    given = argosy.to_tensor(prob, stop_gradient=False)
    got_by = (DRAW.rand(s, e) > 0.5) if wide else DRAW.randint(0, 9, e)
    counts = got_by.sum(0) if wide else got_by
    rows = None if masks == "none" else np.array([1, 1, 0, 1, 1, 0])
    sent = {"same": rows, "others": np.array([1, 0, 1, 1, 1, 1, 1, 1])}.get(masks)
    tokens = s if masks == "none" else (rows if sent is None else sent).sum()
    ratio = sent.sum() / rows.sum() if masks == "others" else 1
    want = (prob.sum(0) / tokens * counts / tokens).sum() * e / (2 if group else 1)
    loss, number, share = F.cal_aux_loss(
        given, argosy.to_tensor(got_by), *(m if m is None else argosy.to_tensor(m) for m in (rows, sent)),
        e, group, 2, 1e-6,
    )  # fmt: skip
    np.testing.assert_allclose(float(loss), want * ratio, rtol=1e-5)
    np.testing.assert_allclose(float(number), tokens)
    np.testing.assert_allclose(share.numpy(), counts / tokens, rtol=1e-6)
    loss.backward()
    slope = np.tile(counts / tokens / tokens * e / (2 if group else 1), (s, 1))
    np.testing.assert_allclose(given.grad.numpy(), slope, rtol=1e-5)


@pytest.mark.parametrize("each,group", [(2, False), (3, True), (0, True), (0, False)])
def test_numbers_of_two_modalities(each, group):
    chosen = DRAW.randint(0, 6, (4, 3))
    for offset in (0, 1):
        got = F.expand_modality_expert_id(argosy.to_tensor(chosen), each, 6, offset, group)
        number = chosen + (np.arange(3) * 6 if group else 0)
        want = number if not each else number // each * 2 * each + number % each + offset * each
        assert got.tolist() == want.tolist()


def test_where_rows_of_experts_come_from():
    counts = [2, 0, 1, 3, 0, 1]
    ranks, experts = F.build_src_rank_and_local_expert_id(argosy.to_tensor(counts), counts, 3)
    assert ranks.tolist() == [0, 0, 0, 1, 1, 1, 1] and experts.tolist() == [0, 0, 2, 0, 0, 0, 2]
    assert ranks.dtype == experts.dtype == argosy.int32
    with pytest.raises(ValueError, match="expected as many numbers as the tensor has, 6, got 5"):
        F.build_src_rank_and_local_expert_id(argosy.to_tensor(counts), counts[:5], 3)


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_gradient_of_cross_entropy_in_bfloat16(kind):
    logits = argosy.to_tensor(DRAW.rand(5, 7).astype("float32"), stop_gradient=False)
    labels = np.array([[0], [6], [-100], [3], [3]], kind)
    losses = argosy.nn.functional.softmax_with_cross_entropy(logits, argosy.to_tensor(labels))
    scale = argosy.to_tensor(DRAW.rand(5, 1).astype("float32"))
    (losses * scale).sum().backward()
    got = F.cross_entropy_with_softmax_bwd_w_downcast(
        argosy.to_tensor(labels), argosy.nn.functional.softmax(logits).detach(), scale
    )
    assert got.dtype == argosy.bfloat16
    assert (
        got.astype("float32").tolist() == logits.grad.astype("bfloat16").astype("float32").tolist()
    )
