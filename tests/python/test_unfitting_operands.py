"""Operands that do not fit each other are refused before a kernel reads past one: by gradients that are called
by themselves, and in Programs whose sizes were unknown when they were checked first."""

import numpy as np
import pytest

import argosy as paddle
from argosy import _core
from argosy.nn import functional as F

ops = _core.ops


def f(*shape):
    return paddle.ones(shape)


GRADIENTS = {
    "cumprod_grad": lambda: ops.cumprod_grad(f(4, 5), f(0, 5), f(4, 5)),
    "logcumsumexp_grad": lambda: ops.logcumsumexp_grad(f(4, 5), f(4, 5), f(5)),
    "softmax_grad": lambda: ops.softmax_grad(f(6, 5), f(6, 0), -1),
    "log_softmax_grad": lambda: ops.log_softmax_grad(f(6, 5), f(5), -1),
    "lp_pool_grad": lambda: ops.lp_pool_grad(f(4, 6, 4), f(4, 6, 4), f(4, 6, 0), 2, [], [], []),
    "tile_grad": lambda: ops.tile_grad(f(1, 6), f(1, 6, 4), [2]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_called_by_themselves(name):
    with pytest.raises(ValueError, match=rf"\[{name}\] \w+ does not fit the other operands"):
        GRADIENTS[name]()


def test_places_of_maxima_have_the_shape_of_their_values():
    places = paddle.zeros([1, 2, 0], "int32")
    with pytest.raises(
        ValueError, match=r"\[max_unpool1d\] indices does not fit the other operands"
    ):
        ops.max_unpool1d(f(1, 2, 1), places, [2])


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("index", [None, slice(None), (slice(None), slice(1, 3))])
def test_values_that_do_not_broadcast_to_a_slice(known, index):
    refused = pytest.raises(ValueError, match=r"\[assign\] a value of shape .* does not broadcast")
    with refused:
        f(2, 5).__setitem__(index, f(3, 1))
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            x = paddle.static.data("x", [2, 5], "float32") * 1
            value = paddle.static.data("value", [3 if known else -1, 1], "float32")
            if known:
                with refused:
                    x[index] = value
                return
            x[index] = value
            feed = {"x": np.ones([2, 5], "float32"), "value": np.ones([3, 1], "float32")}
            with refused:
                paddle.static.Executor().run(feed=feed, fetch_list=[x])
            feed["value"] = np.zeros([2, 1], "float32")
            (written,) = paddle.static.Executor().run(feed=feed, fetch_list=[x])
            assert written[:, 1].tolist() == [0, 0]
    finally:
        paddle.disable_static()


def loops_of_one_dtype():
    """Ops of several operands that broadcast and are not cast to a common dtype first."""
    return [
        op["name"]
        for op in _core.registry()
        if op["elementwise"] and len(op["inputs"]) == 2 and not op["promotes"] and not op["infers"]
    ]


@pytest.mark.parametrize("name", loops_of_one_dtype())
@pytest.mark.parametrize("recorded", [False, True])
def test_loops_take_one_dtype(name, recorded):
    call = getattr(ops, name)
    wide, narrow = paddle.ones([5, 6], "float64"), paddle.ones([5, 6], "float16")
    refused = pytest.raises(
        TypeError,
        match=rf"\[{name}\] dy does not fit .*: expected dtype float64, got float16\[5, 6\]",
    )
    if not recorded:
        with refused:
            call(wide, narrow)
        assert call(wide, wide).dtype == paddle.float64
        return
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()), refused:
            call(*(paddle.static.data(t.dtype.name, [5, 6], t.dtype) for t in (wide, narrow)))
    finally:
        paddle.disable_static()


def test_loops_broadcast_operands_of_other_shapes():
    assert ops.silu_grad(f(5, 6), f(6)).numpy().tolist() == ops.silu_grad(f(5, 6), f(5, 6)).tolist()
    with pytest.raises(ValueError, match=r"\[silu_grad\]"):
        ops.silu_grad(f(5, 6), f(5))


def test_prelu_of_a_weight_of_another_dtype():
    with pytest.raises(
        TypeError, match=r"\[prelu\] weight must have the dtype of x: expected float64"
    ):
        F.prelu(paddle.ones([2, 3], "float64"), paddle.ones([3], "float16"))


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.conv1d(f(2, 3, 7), f(2, 3, 0), padding=2**63 - 1, stride=2),
        lambda: F.conv2d(f(2, 3, 7, 7), f(2, 3, 3, 3), padding=2**62),
        lambda: F.conv1d(f(2, 3, 7), f(2, 3, 3), dilation=2**62),
        lambda: F.conv1d(f(2, 3, 7), f(2, 3, 3), stride=2**62),
        lambda: F.conv1d_transpose(f(2, 3, 7), f(3, 2, 3), stride=2**60),
        lambda: F.max_pool2d(f(1, 2, 6, 6), 3, padding=2**62),
    ],
)
def test_windows_that_cannot_be_counted(call):
    with pytest.raises(MemoryError, match=r"\[\w+\] sizes, .* more elements than can be counted"):
        call()


def test_no_elements_of_sizes_whose_product_cannot_be_counted():
    x = F.adaptive_avg_pool2d(f(0, 2, 5, 7), [3037000500, 3037000500])
    assert x.shape == [0, 2, 3037000500, 3037000500]
    assert x.is_contiguous()
    view = memoryview(x)
    assert view.shape == tuple(x.shape)
    assert view.nbytes == 0


def d(*shape):
    return paddle.ones(shape, "float64")


def h(*shape):
    return paddle.ones(shape, "float16")


def s(*shape):
    return paddle.ones(shape, "float32")


MIXED = {
    "softmax_grad": lambda: ops.softmax_grad(d(6, 5), h(6, 5), -1),
    "log_softmax_grad": lambda: ops.log_softmax_grad(d(6, 5), h(6, 5), -1),
    "cumprod_grad": lambda: ops.cumprod_grad(d(4, 5), h(4, 5), d(4, 5)),
    "logcumsumexp_grad": lambda: ops.logcumsumexp_grad(d(4, 5), d(4, 5), h(4, 5)),
    "lp_pool_grad": lambda: ops.lp_pool_grad(d(4, 6, 4), d(4, 6, 4), h(4, 6, 4), 2, [], [], []),
    "conv_data": lambda: ops.conv_data(
        d(1, 2, 4), h(2, 3, 1), d(1, 3, 4), [1], [0, 0], "EXPLICIT", [1]
    ),
    "conv_weight": lambda: ops.conv_weight(
        d(1, 3, 4), h(1, 2, 4), d(2, 3, 1), [1], [0, 0], "EXPLICIT", [1]
    ),
    "correlation_grad": lambda: ops.correlation_grad(d(1, 2, 4, 4), d(1, 2, 4, 4), s(1, 1, 4, 4)),
    "deform_columns_grad": lambda: ops.deform_columns_grad(
        d(1, 2, 9), d(1, 2, 3, 3), s(1, 2, 3, 3), None, [1, 1], [1, 1], [0, 0], [1, 1]
    ),
    "hard_cross_entropy_grad": lambda: ops.hard_cross_entropy_grad(
        d(2, 3), d(2, 3), paddle.to_tensor([[0], [1]]), None, s(2, 1)
    ),
    "multi_label_margin_rows_grad": lambda: ops.multi_label_margin_rows_grad(
        d(2, 3), paddle.to_tensor([[0, -1, -1], [1, -1, -1]]), h(2)
    ),
    "rnn_direction_grad": lambda: ops.rnn_direction_grad(
        *(d(1, 2, 4), d(1, 3), None, d(3, 4), d(3, 3), None, None, None),
        *(s(12), d(1, 2, 3), d(1, 3), None, "RNN_TANH"),
    ),
    "grid_sample_grad": lambda: ops.grid_sample_grad(d(1, 2, 4, 4), d(1, 3, 3, 2), h(1, 2, 3, 3)),
}


@pytest.mark.parametrize("name", MIXED)
def test_gradients_of_operands_of_several_dtypes(name):
    with pytest.raises(TypeError, match=rf"\[{name}\] \w+ has the wrong dtype: expected float64"):
        MIXED[name]()


def test_attention_of_several_dtypes():
    with pytest.raises(ValueError, match=r"query, key and value must have one dtype: got float64"):
        F.scaled_dot_product_attention(d(1, 4, 2, 8), h(1, 4, 2, 8), d(1, 4, 2, 8))


ATTENTION = {"out": (5, [1, 4, 2, 8]), "log_sum": (6, [1, 2, 4]), "dy": (7, [1, 4, 2, 8])}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_gradients_called_by_themselves(name):
    at, shape = ATTENTION[name]
    q = f(1, 4, 2, 8)
    operands = [q, q, q, None, None, q, f(1, 2, 4), q]
    assert ops.tiled_attention_grad(*operands)[0].shape == [1, 4, 2, 8]
    operands[at] = f(*shape[:-1], 0)
    with pytest.raises(ValueError, match=rf"\[tiled_attention_grad\] {name} does not fit"):
        ops.tiled_attention_grad(*operands)
    operands[at] = h(*shape)
    with pytest.raises(TypeError, match=rf"\[tiled_attention_grad\] {name} has the wrong dtype"):
        ops.tiled_attention_grad(*operands)


def test_rnnt_loss_of_labels_of_another_batch():
    two = paddle.to_tensor([1, 1], "int32")
    with pytest.raises(ValueError, match=r"\[rnnt_loss\] input and label must have one batch size"):
        F.rnnt_loss(f(2, 4, 3, 5), paddle.zeros([0, 2], "int32"), two, two)


@pytest.mark.parametrize("loss", [F.binary_cross_entropy, F.binary_cross_entropy_with_logits])
def test_sizes_that_are_known_when_a_program_runs(loss):
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            x = paddle.static.data("x", [-1, -1], "float32")
            label = paddle.static.data("label", [-1, -1], "float32")
            y = loss(x, label, reduction="sum")
            x.stop_gradient = False
            (gradient,) = paddle.static.gradients([y], [x])
            exe = paddle.static.Executor()
            half = np.full((4, 3), 0.5, "float32")
            exe.run(feed={"x": half, "label": half}, fetch_list=[y, gradient])
            with pytest.raises(ValueError, match="shape"):
                exe.run(feed={"x": half, "label": half[:1]}, fetch_list=[y, gradient])
    finally:
        paddle.disable_static()


def test_paddings_that_cannot_be_counted():
    with pytest.raises(MemoryError, match=r"\[pad\] axis 2 .* more elements than can be counted"):
        F.pad(f(1, 1, 3, 3), [0, 0, 2**62, 2**62])


POINT, ROW = paddle.to_tensor(3.0), paddle.to_tensor([0])

# Calls that name an axis of a tensor without dimensions: what lay behind its sizes was read.
AXES_OF_A_POINT = {
    "gather": lambda x: paddle.gather(x, ROW),
    "index_select": lambda x: paddle.index_select(x, ROW),
    "index_add": lambda x: paddle.index_add(x, ROW, 0, paddle.ones([1])),
    "slice": lambda x: paddle.slice(x, [0], [0], [1]),
    "strided_slice": lambda x: paddle.strided_slice(x, [0], [0], [1], [1]),
    "slice_scatter": lambda x: paddle.slice_scatter(x, x, [0], [0], [1], [1]),
    "select_scatter": lambda x: paddle.select_scatter(x, x, 0, 0),
    "split": lambda x: paddle.split(x, 1, 0),
    "unbind": lambda x: paddle.unbind(x, 0),
    "unique": lambda x: paddle.unique(x, axis=0),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x, axis=0),
    "trapezoid of positions": lambda x: paddle.trapezoid(paddle.ones([3]), x),
    "cumulative_trapezoid of positions": lambda x: paddle.cumulative_trapezoid(paddle.ones([3]), x),
    "product_of_others": ops.product_of_others,
    "channel_window_sum": lambda x: ops.channel_window_sum(x, -1),
    "split_like": lambda x: ops.split_like(f(1, 3), [f(1, 3), x, f(1, 3)], 0),
}


@pytest.mark.parametrize("name", AXES_OF_A_POINT)
@pytest.mark.parametrize("static", [False, True])
def test_a_tensor_without_dimensions_has_no_axis(name, static):
    refused = pytest.raises(
        (ValueError, IndexError), match="a tensor of 0|0-d|dimension|equal sizes"
    )
    if not static:
        with refused:
            AXES_OF_A_POINT[name](POINT)
        return
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()), refused:
            AXES_OF_A_POINT[name](paddle.static.data("x", [], "float32"))
    finally:
        paddle.disable_static()


def test_operations_that_take_a_point_as_one_element():
    for call in (paddle.sort, paddle.argsort, paddle.squeeze, F.softmax, F.gumbel_softmax):
        for axis in (0, -1):
            assert call(POINT, axis=axis).shape == []


def test_axes_from_the_end():
    x = paddle.arange(6, dtype="float32").reshape([2, 3])
    expected = [[1.0, 3.0, 3.0], [7.0, 12.0, 9.0]]
    assert ops.channel_window_sum(x, -1, 1, 1).tolist() == expected


def test_pieces_that_do_not_make_up_the_whole():
    with pytest.raises(ValueError, match=r"\[split_like\] the pieces must make up x: .*\[5, 3\]"):
        ops.split_like(f(4, 3), [f(2, 3), f(3, 3)], 0)
    assert [p.shape for p in ops.split_like(f(5, 3), [f(2, 3), f(3, 3)], 0)] == [[2, 3], [3, 3]]


def test_positions_of_other_dimensions():
    y = paddle.ones([2, 3])
    with pytest.raises(ValueError, match=r"\[trapezoid\] x must have one dimension or those of y"):
        paddle.trapezoid(y, paddle.ones([2, 2, 3]))
    with pytest.raises(ValueError, match=r"\[cumulative_trapezoid\] x must have one dimension"):
        paddle.cumulative_trapezoid(y, POINT)
    x = paddle.to_tensor([[0.0, 1.0, 3.0], [0.0, 2.0, 4.0]])
    assert paddle.trapezoid(paddle.ones([1, 3]), x).tolist() == [3.0, 4.0]


def test_an_empty_weight_is_filled_with_nothing():
    for shape in ([1, 2, 3, 0], [3, 2, 5, 0], [0, 2, 3], [2, 0, 3]):
        assert ops.dirac_fill(shape, 1, "float32").shape == shape


def test_what_was_begun_is_a_number():
    x = f(2, 3)
    for call in (ops.all_reduce_wait, lambda xs, n: ops.collective_end(xs, xs, n)):
        for number in (paddle.zeros([0], "int64"), paddle.zeros([1], "uint8")):
            with pytest.raises(ValueError, match=r"_(wait|end)\] what was begun must be one int64"):
                call([x], number)
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            given = paddle.static.data("x", [2, 3], "float32")
            number = paddle.static.data("n", [-1], "int64")
            (done,) = ops.all_reduce_wait([given], number)
            with pytest.raises(ValueError, match="what was begun must be one int64"):
                feed = {"x": np.ones([2, 3], "float32"), "n": np.zeros([0], "int64")}
                paddle.static.Executor().run(feed=feed, fetch_list=[done])
    finally:
        paddle.disable_static()


def test_derivatives_of_samples_of_another_grid():
    x, grid = f(2, 1, 4, 4), f(2, 3, 3, 2)
    with pytest.raises(ValueError, match=r"\[grid_slope\] grid does not fit"):
        ops.grid_slope(x, f(1, 3, 3, 2))
    with pytest.raises(ValueError, match=r"\[grid_slope_spread\] dy does not fit"):
        ops.grid_slope_spread(x, grid, f(2, 1, 3, 4))


def test_pivots_of_another_matrix():
    for pivots, lu in (([2, 3], [2, 3, 2]), ([3], [2, 3, 3]), ([], [2, 2])):
        with pytest.raises(ValueError, match=r"\[lu_permutation\] pivots does not fit"):
            ops.lu_permutation(paddle.ones(pivots, "int32"), f(*lu))
    assert ops.lu_permutation(paddle.ones([2, 2], "int32"), f(2, 3, 2)).shape == [2, 3, 3]
