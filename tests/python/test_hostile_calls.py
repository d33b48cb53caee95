"""Calls that random ones found to end the process, hang, or read and write outside of tensors. Each is
refused by name, eagerly and in a Program; tests/fuzz/calls.py looks for more."""

import subprocess
import sys

import numpy as np
import pytest

import argosy
from argosy import _core, static

ops = _core.ops


def f(*shape, dtype="float32"):
    return np.ones(shape, "float32" if dtype == "bfloat16" else dtype)


def i(*shape, value=0, dtype="int64"):
    return np.full(shape, value, dtype)


# A function of tensors, their arrays, and a word of the message.
CALLS = {
    "as_strided_add": (lambda dy, x: ops.as_strided_add(dy, x), [f(3, 2), f(3, 2)], "dy"),
    "avg_pool_like": (lambda x, y: ops.avg_pool_like(x, y), [f(6, 1, 4, 4), f()], "like"),
    "batch_norm_grad": (
        lambda x, m, v, dy: ops.batch_norm_grad(x, None, m, v, dy),
        [f(8), f(4, 6), f(4, 6), f(4)],
        "x has the wrong number",
    ),
    "group_norm_grad": (
        lambda x, m, v, dy: ops.group_norm_grad(x, None, m, v, dy, 2),
        [f(2, 4, 3), f(2, 2), f(2, 2), f(2, 4)],
        "dy does not fit",
    ),
    "channel_window_sum": (lambda x: ops.channel_window_sum(x, 4, 1, 1), [f(2, 3)], "out of range"),
    "cluster_labels": (lambda x: ops.cluster_labels(x), [i(4)], "cutoff"),
    "continuous_value_model_grad": (
        lambda dy, cvm, x: ops.continuous_value_model_grad(dy, cvm, x),
        [f(3, 6), f(3, 2), f(3, 5)],
        "dy does not fit",
    ),
    "conv_data": (
        lambda dy, w, x: ops.conv_data(dy, w, x, [1, 1], [0, 0, 0, 0], "EXPLICIT", [1, 1]),
        [f(1, 2, 9, 9), f(2, 3, 3, 3), f(1, 3, 4, 4)],
        "dy does not fit",
    ),
    "conv_weight": (
        lambda x, dy, w: ops.conv_weight(x, dy, w, [1, 1], [0, 0, 0, 0], "EXPLICIT", [1, 1]),
        [f(1, 3, 4, 4), f(1, 2, 3, 2), f(2, 3, 3, 3)],
        "dy does not fit",
    ),
    "deform_columns_grad": (
        lambda dy, x, o: ops.deform_columns_grad(dy, x, o, None, [1, 1], [1, 1], [0, 0], [1, 1]),
        [f(1, 2, 3), f(1, 2, 4, 4), f(1, 2, 4, 4)],
        "dy does not fit",
    ),
    "embedding_rows_grad": (
        lambda x, dy, w: ops.embedding_rows_grad(x, dy, w), [i(3), f(4, 2), f(5, 2)], "wrong size",
    ),
    "grid_sample_grad": (
        lambda x, g, dy: ops.grid_sample_grad(x, g, dy), [f(1, 4), f(1, 4, 1, 1), f(1, 4, 1)], "grid",
    ),
    "hard_cross_entropy_grad": (
        lambda x, p, y, dl: ops.hard_cross_entropy_grad(x, p, y, None, dl),
        [f(2, 3), f(2, 3), i(2, 1), f(2, 3)],
        "dloss has the wrong size",
    ),
    "interpolate_grad": (
        lambda dy, x: ops.interpolate_grad(dy, x, None, [2.0], "nearest"),
        [f(1, 2, 4), f(1, 2, 4)],
        "dy does not fit",
    ),
    "lp_pool_grad": (
        lambda x, y, dy: ops.lp_pool_grad(x, y, dy, 2.0, [2], [2], [0, 0]),
        [f(1, 1, 4), f(1, 1, 2), f(1, 1, 3)],
        "dy does not fit",
    ),
    "max_indices": (
        lambda x, y: ops.max_indices(x, y, [2], [2], [0, 0]), [f(1, 1, 4), f(1, 1, 3)], "y does not fit",
    ),
    "max_pool_grad": (
        lambda dy, at, x: ops.max_pool_grad(dy, at, x, [2], [2], [0, 0]),
        [f(1, 1, 2), i(1, 1, 2, value=9, dtype="int32"), f(1, 1, 4)],
        "indices must be from 0 to 3",
    ),
    "multi_label_margin_rows": (
        lambda x, y: ops.multi_label_margin_rows(x, y), [f(3, 2), i(3, 4)], "label does not fit",
    ),
    "multi_label_margin_rows_grad": (
        lambda x, y, dl: ops.multi_label_margin_rows_grad(x, y, dl),
        [f(3, 2), i(3, 2, value=7), f(3)],
        "label values should be < 2",
    ),
    "quantile_positions": (
        lambda x: ops.quantile_positions(x, [2.0], "nearest"), [f(6)], "q must be from 0 to 1",
    ),
    "repeat_interleave_grad": (
        lambda dy, n, x: ops.repeat_interleave_grad(dy, n, x, 0), [f(4), i(3, value=3), f(3)], "add up",
    ),
    "roi_align": (
        lambda x, b, n: ops.roi_align(x, b, n), [f(1, 1, 4, 4), f(2, 4), i(2, value=5)], "no image 5",
    ),
    "roi_align_grad": (
        lambda dy, x, b, n: ops.roi_align_grad(dy, x, b, n, 2, 2),
        [f(2, 1, 1, 1), f(1, 1, 4, 4), f(2, 4), i(2)],
        "dy does not fit",
    ),
    "psroi_pool_grad": (
        lambda dy, x, b, n: ops.psroi_pool_grad(dy, x, b, n, 2, 2),
        [f(2, 4, 2, 2), f(1, 4, 4, 4), f(2, 4), i(2)],
        "dy does not fit",
    ),
    "roi_pool_grad": (
        lambda dy, x, at, n: ops.roi_pool_grad(dy, x, at, n, 2, 2),
        [f(1, 1, 2, 2), f(1, 1, 4, 4), i(1, 1, 2, 2, value=99), i(1)],
        "argmax must be below 16",
    ),
    "unfold_grad": (
        lambda dy, x: ops.unfold_grad(dy, x, [2, 2], [1, 1], [0, 0, 0, 0], [1, 1]),
        [f(1, 4, 5), f(1, 1, 4, 4)],
        "dy does not fit",
    ),
    "embedding_renorm_": (lambda w, x: ops.embedding_renorm_(w, x, 2.0), [f(6), i(3)], "weight has"),
    "layer_norm_grad": (
        lambda x, w, m, r, dy: ops.layer_norm_grad(x, w, m, r, dy, 1),
        [f(2, 3), f(3), f(1), f(2), f(2, 3)],
        "mean has the wrong size",
    ),
    "layer_norm_grad, dtype": (
        lambda x, w, m, r, dy: ops.layer_norm_grad(x, w, m, r, dy, 1),
        [f(2, 3), f(3), f(2, dtype="float16"), f(2, dtype="float16"), f(2, 3)],
        "mean has the wrong dtype",
    ),
    "batch_norm_grad, statistics": (
        lambda x, m, v, dy: ops.batch_norm_grad(x, None, m, v, dy),
        [f(2, 3, 4), f(2), f(3), f(2, 3, 4)],
        "has the wrong size",
    ),
    "last_along": (lambda x, i: ops.last_along(x, i, -1), [f(), i(1, 5)], "0 dimensions has none"),
    "add_rows": (lambda x, y: ops.add_rows([x, y]), [f(1, 2), f(3, 2)], "one shape"),
    "reshape": (lambda x: argosy.reshape(x, [2**62, -1, 1, 2**62]), [f(4, 0)], "2\\^63"),
    "reshape, no -1": (lambda x: argosy.reshape(x, [2**62, 2**62, 4]), [f(4)], "2\\^63"),
    "unflatten": (lambda x: argosy.unflatten(x, -1, [2**62, -1, 1, 2**62]), [f(4, 0)], "2\\^63"),
    "pad_grad": (lambda dy, x: ops.pad_grad(dy, x, [1]), [f(1, 3), f(2, 6)], "two paddings"),
    "pad_grad, dy": (lambda dy, x: ops.pad_grad(dy, x, [1, 1]), [f(3), f(2)], "dy does not fit"),
    "repeat_interleave": (lambda x, n: ops.repeat_interleave(x, n, 0), [i(), i(value=2)], "x has the wrong"),
    "chunk": (lambda x: argosy.chunk(x, 2), [i()], "0 dimensions has none"),
    "poisson": (lambda x: argosy.poisson(x), [f(2) * 3e9], "at most"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("known", [True, False, None])
def test_refused(name, known):
    function, arrays, text = CALLS[name]
    if known is None:
        with pytest.raises(ValueError, match=text):
            function(*map(argosy.to_tensor, arrays))
        return
    argosy.enable_static()
    try:
        main = static.Program()
        with static.program_guard(main, static.Program()), pytest.raises(ValueError, match=text):
            slots = [
                static.data(f"x{k}", list(a.shape) if known else [-1] * a.ndim, str(a.dtype))
                for k, a in enumerate(arrays)
            ]
            found = function(*slots)
            static.Executor().run(main, {f"x{k}": a for k, a in enumerate(arrays)}, [found])
    finally:
        argosy.disable_static()


def test_more_bytes_than_addresses():
    argosy.enable_static()
    try:
        main = static.Program()
        with static.program_guard(main, static.Program()):
            found = argosy.full([2**31, 2**31], 1.0)
            with pytest.raises(MemoryError, match="more bytes than a machine has addresses"):
                static.Executor().run(main, {}, [found])
    finally:
        argosy.disable_static()


def test_masters_have_as_many_elements():
    one, two = argosy.ones([2], "float16"), argosy.ones([3], "float32")
    with pytest.raises(ValueError, match="master 0 has the wrong shape"):
        ops.rprop_([one], [one], [one.astype("float32")], [one.astype("float32")], [two])


def test_steps_of_asgd_are_counted():
    x = argosy.ones([2])
    with pytest.raises(ValueError, match="must be a number of steps"):
        ops.asgd_([x], [x], [x + 0], [x + 0], [argosy.to_tensor([-1])], [])


def test_the_causal_mask_needs_queries_and_keys():
    for shape in ([], [3]):
        with pytest.raises(ValueError, match=r"\[fill_future\] x: expected queries and keys"):
            ops.fill_future(argosy.ones(shape))


@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid"])
def test_a_number_has_no_axis_to_integrate_along(name):
    with pytest.raises(ValueError, match=rf"\[{name}\] y has no axis to integrate along"):
        getattr(argosy, name)(argosy.to_tensor(1.0))


def test_what_no_machine_holds_is_refused_before_it_is_written_in_place():
    with pytest.raises(MemoryError, match="out of memory"):
        x = argosy.ones([2**31, 2**31], "bool")
        x += 2.5
    x = argosy.to_tensor(True).expand([2**31, 2**31])
    with pytest.raises(MemoryError, match=r"more than 2\^63 bytes"):
        x += 2.5
    with pytest.raises(MemoryError):
        x.logical_not_()


def test_regions_in_images_without_pixels_and_at_no_number():
    boxes, image = [[0.0, 0.0, 3.0, 3.0]], argosy.to_tensor([0])
    for shape in ([1, 2, 0, 6], [1, 2, 6, 0]):
        x = argosy.ones(shape)
        x.stop_gradient = False
        y = ops.roi_align(x, argosy.to_tensor(boxes), image, 2, 2)
        y.sum().backward()
        assert y.shape == [1, 2, 2, 2] and not y.any() and x.grad.shape == shape
        assert not ops.roi_align_max(x.detach(), argosy.to_tensor(boxes), image, 2, 2).any()
    nowhere = argosy.full([1, 4], float("nan"))
    assert not ops.roi_align(argosy.ones([1, 2, 4, 4]), nowhere, image, 2, 2, 1.0, 2).any()


def test_a_graph_is_freed_where_no_memory_is_left():
    """Freeing a node asked for memory, and the process ended where there was none."""
    program = """
import resource, argosy
x = argosy.ones([4])
x.stop_gradient = False
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (128 << 20),) * 2)
try:
    while True:
        x = x + 1
except MemoryError:
    pass
del x
print("alive")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "alive\n", done.stderr[-2000:]


def test_strides_that_lead_out_of_all_memory():
    for shape, stride in (
        ([3, 1, 9, 3], [1, -3, 1, 2**62]),
        ([2**62, 4], [4, 1]),
        ([4], [-(2**62)]),
    ):
        with pytest.raises(
            ValueError, match=r"\[as_strided\] the view of shape .* reaches out of memory"
        ):
            argosy.as_strided(argosy.ones([4, 3]), shape, stride, 3)
