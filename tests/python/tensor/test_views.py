"""Whose elements a result has: writes that show and writes that do not, as in Paddle; what is copied
when, and that nobody else is disturbed."""

import importlib.util
import pathlib
import random
import threading

import numpy as np
import pytest

import argosy
from argosy import static

HERE = pathlib.Path(__file__).resolve()
spec = importlib.util.spec_from_file_location(
    "view_table", HERE.parents[3] / "tools" / "view_table.py"
)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
# What Paddle 3.3.1 says.
TABLE = dict(line.split("  # ") for line in HERE.with_name("views.txt").read_text().splitlines())
# What has elements of its own here, where Paddle gives a look at the operand, or the operand itself.
MEANT = dict.fromkeys(
    [
        "x.view_as(paddle.zeros([4, 6]))",
        "x.unfold(0, 1, 1)",
        "x.astype('float32')",
        "paddle.real(c)",
        "paddle.imag(c)",
        "paddle.as_real(c)",
        "paddle.as_complex(m[:, :2])",
        "paddle.rot90(m, 0)",
        "paddle.nn.functional.dropout2d(x[None], 0.5, training=False)",
    ],
    "own own",
)
# A permutation alone stays a view here.
MEANT["paddle.einsum('ijk->kij', x)"] = "shows shows"


def test_the_table_has_every_call():
    assert list(TABLE) == tool.CALLS and set(MEANT) <= set(TABLE)


# On a GPU these are copies in the memory of the CPU.
TO_CPU = ["x.to('cpu')", "x.cpu()"]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, marks=pytest.mark.cpu_only("is about a tensor of the CPU"))
        if call in TO_CPU
        else call
        for call in tool.CALLS
    ],
)
def test_writes_show_as_in_paddle(call):
    expected = MEANT.get(call, TABLE[call])
    if expected.startswith("refused"):
        pytest.skip("Paddle refuses the call")
    assert " ".join(tool.probe(argosy, np, call)) == expected


# name -> (what has elements of its own, the same in numpy)
APART = {
    "split": (lambda x: argosy.split(x, 2, 1), lambda x: np.split(x, 2, 1)),
    "sizes": (lambda x: argosy.split(x, [1, 3], 1), lambda x: np.split(x, [1], 1)),
    "unstack": (lambda x: argosy.unstack(x, 1), lambda x: [x[:, i] for i in range(4)]),
    "expand": (lambda x: [x.expand([2, 3, 4])], lambda x: [np.broadcast_to(x, (2, 3, 4))]),
}
# Ways to write: on a tensor, on an array.
WRITES = {
    "add_": (lambda t: t.add_(argosy.ones([1], t.dtype)), lambda a: a + 1),
    "set": (lambda t: t.__setitem__(Ellipsis, 7.0), lambda a: a * 0 + 7),
    "part": (lambda t: t.__setitem__(0, 7.0), lambda a: np.concatenate([a[:1] * 0 + 7, a[1:]])),
    "zero_": (lambda t: t.zero_(), lambda a: a * 0),
    "set_value": (lambda t: t.set_value(np.full(t.shape, 3.0)), lambda a: a * 0 + 3),
    "view": (lambda t: t.flatten().add_(argosy.ones([1], t.dtype)), None),
    "reshape_": (lambda t: t.reshape_([-1]).add_(argosy.ones([1], t.dtype)), None),
}


def source():
    return argosy.to_tensor(np.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", APART)
def test_all_of_them_are_independent(name, write):
    make, model = APART[name]
    write, change = WRITES[write]
    plain = np.arange(12.0).reshape(3, 4)
    expected = [plain, *(np.array(part) for part in model(plain))]
    for i in range(len(expected)):
        x = source()
        tensors = [x, *make(x)]
        write(tensors[i])
        for k, t in enumerate(tensors):
            if k != i:
                np.testing.assert_array_equal(t.numpy(), expected[k], f"wrote {i}, looked at {k}")
            elif change:
                np.testing.assert_array_equal(t.numpy(), change(expected[k]))
        # Once more, to what has elements of its own by now.
        if change:
            write(tensors[i])
            np.testing.assert_array_equal(tensors[i].numpy(), change(change(expected[i])))


@pytest.mark.cpu_only("is about copies on write, which only the CPU has")
def test_nothing_is_copied_before_a_write():
    x = argosy.zeros([1 << 20])
    before = argosy.device.memory_allocated()
    parts = argosy.split(x, 4)
    wide = x.expand([8, 1 << 20])
    rows = wide.unstack(0)
    assert argosy.device.memory_allocated() - before < 1 << 14
    parts[1].zero_()
    grown = argosy.device.memory_allocated() - before
    assert 1 << 20 <= grown < (1 << 20) + (1 << 14)  # one part, no more
    del parts, wide, rows
    assert argosy.device.memory_allocated() - before < 1 << 14


def test_the_last_one_is_not_copied():
    x = argosy.arange(8, dtype="float32")
    first, second = argosy.split(x, 2)
    del x, second
    before = argosy.device.memory_allocated()
    first.add_(argosy.ones([1]))
    assert argosy.device.memory_allocated() == before
    assert first.tolist() == [1, 2, 3, 4]


def test_views_of_a_part_follow_it():
    x = source()
    part = argosy.split(x, 2, 1)[0]
    row, turned = part[1], part.t()
    row.zero_()
    assert part.tolist() == [[0, 1], [0, 0], [8, 9]] and turned.tolist() == [[0, 0, 8], [1, 0, 9]]
    part.add_(argosy.ones([1], "float64"))
    assert row.tolist() == [1, 1] and turned.tolist() == [[1, 1, 9], [2, 1, 10]]
    np.testing.assert_array_equal(x.numpy(), np.arange(12.0).reshape(3, 4))


def test_views_of_what_was_taken_apart_follow_it():
    x = source()
    row, turned = x[1], x.t()
    parts = argosy.split(x, 2, 1)
    for round_ in range(1, 4):
        x.add_(argosy.ones([1], "float64"))
        assert row.tolist() == (np.arange(4, 8) + round_).tolist()
        np.testing.assert_array_equal(turned.numpy(), np.arange(12.0).reshape(3, 4).T + round_)
        parts.extend(argosy.split(x, 2, 1))
    for round_ in range(4):
        left = parts[2 * round_].numpy()
        np.testing.assert_array_equal(left, np.arange(12.0).reshape(3, 4)[:, :2] + round_)


def test_a_part_of_a_part():
    x = source()
    part = argosy.split(x, 2, 1)[1]
    inner = argosy.unstack(part, 0)
    part.zero_()
    inner[2].add_(argosy.ones([1], "float64"))
    assert inner[0].tolist() == [2, 3] and inner[2].tolist() == [11, 12] and part.sum().item() == 0
    np.testing.assert_array_equal(x.numpy(), np.arange(12.0).reshape(3, 4))


def test_versions_are_each_ones_own():
    x = source()
    x.add_(argosy.ones([1], "float64"))
    a, b = argosy.split(x, 2, 1)
    assert a.inplace_version == 0
    a.zero_()
    x.zero_()
    assert (a.inplace_version, b.inplace_version, x.inplace_version) == (1, 0, 2)


@pytest.mark.parametrize("name", APART)
def test_gradients_read_what_was_there(name):
    """What a gradient needs is not lost where another tensor of the same elements was written."""
    make, model = APART[name]
    leaf = source()
    leaf.stop_gradient = False
    x = leaf * 1
    parts = make(x)
    total = sum((p * p).sum() for p in parts)
    x.add_(argosy.ones([1], "float64"))
    total.backward()
    times = np.ones((3, 4)) if name != "expand" else np.full((3, 4), 2.0)
    np.testing.assert_array_equal(leaf.grad.numpy(), 2 * times * np.arange(12.0).reshape(3, 4))


def test_a_part_that_is_written_after_it_was_saved_is_refused():
    x = source()
    x.stop_gradient = False
    a, _ = argosy.split(x * 1, 2, 1)
    for before in (0, 1):
        if before:
            with argosy.no_grad():
                a.add_(argosy.ones([1], "float64"))
        y = (a * a).sum()
        with argosy.no_grad():
            a.add_(argosy.ones([1], "float64"))
        with pytest.raises(RuntimeError, match="overwritten in place"):
            y.backward()


def test_memory_of_others_is_copied_at_once():
    array = np.arange(4.0)
    x = argosy.utils.dlpack.from_dlpack(array.__dlpack__())
    a, b = argosy.split(x, 2)
    array[:] = -1
    assert a.tolist() == [0, 1] and b.tolist() == [2, 3] and x.tolist() == [-1] * 4


@pytest.mark.cpu_only("writes by an address of the host")
def test_what_has_given_its_address_away_is_not_shared():
    x = argosy.arange(4, dtype="float64")
    part = argosy.split(x, 2)[0]
    array = np.from_dlpack(part) if hasattr(part, "__dlpack__") else None
    if array is None:
        pytest.skip("no __dlpack__")
    pointer = part.data_ptr()
    a = part.unstack(0)[0]
    np.ctypeslib.as_array((np.ctypeslib.ctypes.c_double * 2).from_address(pointer))[:] = 9
    assert part.tolist() == [9, 9] and x.tolist() == [0, 1, 2, 3] and a.item() == 0
    assert array.tolist() == [9, 9]


def test_a_leaf_gradient_is_not_a_part():
    a, b = argosy.ones([2]), argosy.ones([2])
    a.stop_gradient = b.stop_gradient = False
    (argosy.concat([a, b]) * argosy.arange(4, dtype="float32")).sum().backward()
    with argosy.no_grad():
        a.grad.zero_()
    assert b.grad.tolist() == [2, 3]
    argosy.concat([a, b]).sum().backward()
    assert a.grad.tolist() == [1, 1] and b.grad.tolist() == [3, 4]


def test_who_reads_on_another_thread_is_not_disturbed():
    x = argosy.zeros([1 << 16])
    wrong, stop = [], threading.Event()

    def read(part):
        while not stop.is_set():
            if part.sum().item() != 0:
                wrong.append(1)

    parts = argosy.split(x, 4)
    threads = [threading.Thread(target=read, args=[p]) for p in parts[:2]]
    for t in threads:
        t.start()
    for _ in range(200):
        x.add_(argosy.ones([1]))
        parts[2].add_(argosy.ones([1]))
        parts[3] = argosy.split(x, 4)[3]
    stop.set()
    for t in threads:
        t.join()
    assert not wrong and parts[2].sum().item() == 200 * (1 << 14)


# --- Programs ---


def written(x):
    a, b = argosy.split(x, 2, 1)
    wide = x.expand([2, 3, 4])
    a.add_(argosy.ones([1], "float64"))
    x.multiply_(argosy.full([1], 3.0, "float64"))
    wide[0] = 0.0
    return x, a, b, wide


def test_captured_as_eager():
    expected = [t.numpy() for t in written(source() * 1)]
    captured = argosy.jit.to_static(lambda x: written(x * 1))
    for got, want in zip(captured(source()), expected, strict=True):
        np.testing.assert_array_equal(got.numpy(), want)
    argosy.enable_static()
    try:
        main = static.Program()
        with static.program_guard(main):
            x = static.data("x", [-1, 4], "float64")
            results = written(x * 1)
        got = static.Executor().run(
            main, feed={"x": np.arange(12.0).reshape(3, 4)}, fetch_list=list(results)
        )
    finally:
        argosy.disable_static()
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_program_that_updates_a_parameter_leaves_its_parts():
    layer = argosy.nn.Linear(4, 4)
    parts = argosy.split(layer.weight.detach(), 2)
    before = [p.numpy().copy() for p in parts]
    optimizer = argosy.optimizer.SGD(0.5, parameters=layer.parameters())

    step = argosy.jit.compile_step(layer, lambda y, t: (y - t).square().mean(), optimizer)
    x = argosy.ones([3, 4])
    for _ in range(3):
        step(x, x)
        step(x, x)
        for part, want in zip(parts, before, strict=True):
            np.testing.assert_array_equal(part.numpy(), want)
        parts = argosy.split(layer.weight.detach(), 2)
        before = [p.numpy().copy() for p in parts]
        assert not np.array_equal(np.concatenate(before), 0)


def test_an_optimizer_leaves_the_parts_of_a_parameter():
    weight = argosy.create_parameter([4, 4], "float32")
    with argosy.no_grad():
        parts = argosy.split(weight, 2)
    before = [p.numpy().copy() for p in parts]
    optimizer = argosy.optimizer.Adam(0.5, parameters=[weight])
    weight.square().sum().backward()
    optimizer.step()
    for part, want in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part.numpy(), want)
    assert not np.array_equal(weight.numpy(), np.concatenate(before))


def test_running_statistics_leave_their_parts():
    norm = argosy.nn.BatchNorm1D(4)
    halves = argosy.split(norm._mean, 2)
    norm(argosy.rand([8, 4]) + 3)
    assert all(h.tolist() == [0, 0] for h in halves) and norm._mean.min().item() > 0


# --- random programs, beside NumPy that copies where Paddle does ---


def taken(draw, t, a):
    """Something made from t, with the same made from the array a; None where that cannot be."""
    repeats = 0 in t.strides
    kind = draw.choice(["split", "chunk", "unstack", "expand", "transpose", "row"])
    if kind == "split" and t.ndim and t.shape[0] > 1:
        return argosy.split(t, [1, -1])[1], a[1:].copy()
    if kind == "chunk" and t.ndim and t.shape[-1] and t.shape[-1] % 2 == 0:
        return argosy.chunk(t, 2, -1)[1], a[..., t.shape[-1] // 2 :].copy()
    if kind == "unstack" and t.ndim > 1:
        i = draw.randrange(t.shape[0])
        return argosy.unstack(t)[i], a[i].copy()
    if kind == "expand" and t.ndim < 4:
        return t.expand([2, *t.shape]), np.stack([a, a])
    if kind == "transpose" and t.ndim > 1 and not repeats:
        return t.transpose(list(range(t.ndim))[::-1]), a.T
    if kind == "row" and t.ndim and not repeats:
        i = draw.randrange(t.shape[0])
        return t[i], a[i : i + 1].reshape(a.shape[1:]) if a.ndim > 1 else a[i : i + 1].reshape([])
    return None


@pytest.mark.parametrize("seed", range(100))
def test_random_programs(seed):
    draw = random.Random(seed)
    start = np.arange(24.0).reshape(2, 3, 4)
    held = [(argosy.to_tensor(start), start.copy())]
    for _ in range(25):
        t, a = draw.choice(held)
        what = draw.randrange(5)
        if what < 2:
            held.extend(filter(None, [taken(draw, t, a)]))
        elif what == 2:
            t.add_(argosy.to_tensor(1.0, "float64"))
            a += 1
        elif what == 3 and t.ndim:
            t[0] = a[0] = float(draw.randrange(100))
        elif what == 4 and len(held) > 3:
            del held[draw.randrange(1, len(held))]
        for tensor, array in held:
            np.testing.assert_array_equal(tensor.numpy(), array)
