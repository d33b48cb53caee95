"""Arguments that were accepted and ignored: they work, raise by name, or say that they have no effect."""

import hashlib
import inspect
import warnings

import numpy as np
import pytest

import argosy as paddle
from argosy import _support
from argosy.nn import functional as F
from argosy.nn.functional import flash_attention as attention


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    monkeypatch.setattr(_support, "_told", set())


# ---- the mark ------------------------------------------------------------------------------------


def test_no_effect_warns_once_for_each_argument_that_differs():
    def call(a=1, b=None):
        _support.no_effect("call", "it is one", a=(a, 1), b=(b, None))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()
        call(a=1, b=None)
    with pytest.warns(UserWarning, match=r"^\[call\] a has no effect: it is one\.$") as found:
        call(a=2)
    assert found[0].filename == _support.__file__ or found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(a=3)
    with pytest.warns(UserWarning, match="b has no effect"):
        call(a=3, b=paddle.ones([2]))


def test_a_marked_function_keeps_its_signature():
    names = list(inspect.signature(paddle.unique).parameters)
    assert names[-2:] == ["sorted", "name"]
    with pytest.warns(UserWarning, match=r"\[unique\] sorted has no effect"):
        assert paddle.unique(paddle.to_tensor([3, 1, 1]), sorted=False).tolist() == [1, 3]


def test_unsupported_names_argument_value_and_remedy():
    with pytest.raises(NotImplementedError) as found:
        _support.unsupported("f", "leave it out", a=(1, 1), b=("x", None))
    assert str(found.value) == (
        "[f] b is not supported: expected None, got 'x'. Do this: leave it out."
    )
    with pytest.raises(NotImplementedError, match="got a Tensor"):
        _support.unsupported("f", "leave it out", b=(paddle.ones([1]), None))
    with pytest.raises(
        ValueError, match=r"\[f\] unknown arguments: expected a, got b, c\. Do this"
    ):
        _support.only_known("f", {"a": 1, "c": 2, "b": 3}, ("a",))


# ---- tensors -------------------------------------------------------------------------------------


def test_meshgrid_indexing():
    x, y = np.arange(3.0), np.arange(2.0)
    for indexing in ("ij", "xy"):
        found = paddle.meshgrid(paddle.to_tensor(x), paddle.to_tensor(y), indexing=indexing)
        for ours, reference in zip(found, np.meshgrid(x, y, indexing=indexing)):
            np.testing.assert_array_equal(ours.numpy(), reference)
    z = np.arange(4.0)
    found = paddle.meshgrid(*map(paddle.to_tensor, (x, y, z)), indexing="xy")
    for ours, reference in zip(found, np.meshgrid(x, y, z)):
        np.testing.assert_array_equal(ours.numpy(), reference)
    with pytest.raises(ValueError, match="indexing: expected one of ij, xy, got 'yx'"):
        paddle.meshgrid(paddle.to_tensor(x), indexing="yx")
    with pytest.raises(ValueError, match="unknown arguments: expected indexing, name, got order"):
        paddle.meshgrid(paddle.to_tensor(x), order="xy")


def test_out_of_nonzero():
    x = np.array([[0, 1], [2, 0]])
    out = paddle.zeros([1], "int64")
    assert paddle.nonzero(paddle.to_tensor(x), out=out) is out
    np.testing.assert_array_equal(out.numpy(), np.argwhere(x))
    rows, columns = paddle.nonzero(paddle.to_tensor(x), as_tuple=True, out=out)
    assert rows.tolist() == [0, 1] and columns.tolist() == [1, 0]
    np.testing.assert_array_equal(out.numpy(), np.argwhere(x))
    paddle.nonzero(paddle.to_tensor(3), out=out)
    assert out.shape == [1, 0]


def test_out_of_take_along_axis_and_index_add():
    x = np.arange(12.0).reshape(3, 4)
    at = np.array([[0, 3], [1, 1], [2, 0]])
    out = paddle.zeros([1], "float64")
    assert paddle.take_along_axis(paddle.to_tensor(x), paddle.to_tensor(at), 1, out=out) is out
    np.testing.assert_array_equal(out.numpy(), np.take_along_axis(x, at, 1))
    reference = x.copy()
    np.add.at(reference, [0, 0], np.full((2, 4), 2.0))
    index, value = paddle.to_tensor([0, 0]), paddle.ones([2, 4], "float64")
    assert paddle.index_add(paddle.to_tensor(x), index, 0, value, alpha=2, out=out) is out
    np.testing.assert_array_equal(out.numpy(), reference)


def test_dtype_of_log_normal():
    paddle.seed(3)
    drawn = paddle.log_normal(0.5, 0.25, [4000], dtype="float64")
    assert drawn.dtype == paddle.float64
    logs = np.log(drawn.numpy())
    assert abs(logs.mean() - 0.5) < 0.02 and abs(logs.std() - 0.25) < 0.02
    assert paddle.log_normal(paddle.zeros([2]), 1.0, dtype="float64").dtype == paddle.float64
    assert paddle.log_normal(0.0, 1.0, [2]).dtype == paddle.float32


def test_repeat_interleave_checks_output_size():
    x, repeats = paddle.to_tensor([1, 2]), paddle.to_tensor([1, 2])
    assert paddle.repeat_interleave(x, repeats, output_size=3).tolist() == [1, 2, 2]
    with pytest.raises(
        ValueError, match="output_size must be the sum of repeats: expected 3, got 9"
    ):
        paddle.repeat_interleave(x, repeats, output_size=9)


def test_generators():
    x = paddle.zeros([5])
    paddle.seed(1)
    first = x.random_(0, 100, generator=paddle.Generator()).tolist()
    paddle.seed(1)
    assert x.random_(0, 100).tolist() == first
    with pytest.raises(TypeError, match=r"\[random_\] generator: expected a Generator"):
        x.random_(0, 5, generator=1)
    data = list(range(6))
    drawn = [
        [
            s.indices
            for s in paddle.io.random_split(data, [2, 4], generator=np.random.default_rng(s))
        ]
        for s in (7, 7, 8)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    order = np.random.default_rng(7).permutation(6).tolist()
    assert drawn[0] == [order[:2], order[2:]]
    with pytest.raises(TypeError, match=r"\[random_split\] generator"):
        paddle.io.random_split(data, [2, 4], generator=3)


def test_memory_is_not_pinned_in_silence():
    for make in (
        lambda: paddle.ones([2], pin_memory=True),
        lambda: paddle.rand([2], pin_memory=True),
        lambda: paddle.as_tensor([1.0], pin_memory=True),
        lambda: paddle.hann_window(4, pin_memory=True),
        lambda: paddle.zeros_like(paddle.ones([2]), pin_memory=True),
    ):
        with pytest.raises(RuntimeError, match=r"for Place\(cpu\): this process has no device"):
            make()


def test_devices_of_generators_are_checked():
    assert len(paddle.get_rng_state("cpu")) == 1
    with pytest.raises(ValueError, match=r"\[get_rng_state\]"):
        paddle.get_rng_state("gpu:0")


def test_dump_of_backward_is_refused():
    with pytest.raises(
        NotImplementedError, match=r"\[backward\] dump_backward_graph_path is not supported"
    ):
        paddle.ones([1]).backward(dump_backward_graph_path="graph")


# ---- layers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("static", [False, True])
def test_diagonal_of_uniform_initializer(static):
    make = paddle.nn.initializer.uniform.UniformInitializer
    attr = make(-0.1, 0.1, 5, diag_num=3, diag_step=4, diag_val=2.0)
    if static:
        paddle.enable_static()
        try:
            main, startup = paddle.static.Program(), paddle.static.Program()
            with paddle.static.program_guard(main, startup):
                made = paddle.create_parameter([3, 4], "float32", attr=attr)
                exe = paddle.static.Executor()
                exe.run(startup)
                (found,) = exe.run(main, fetch_list=[made])
        finally:
            paddle.disable_static()
    else:
        found = paddle.create_parameter([3, 4], "float32", attr=attr).numpy()
    flat = found.reshape(-1)
    np.testing.assert_array_equal(flat[[0, 5, 10]], 2.0)
    assert (np.abs(np.delete(flat, [0, 5, 10])) <= 0.1).all()
    with pytest.raises(ValueError, match="expected places within the 12 elements"):
        paddle.create_parameter([3, 4], "float32", attr=make(diag_num=4, diag_step=4))


def test_instance_norm_says_that_it_has_no_running_statistics():
    x = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
    reference = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    mean = paddle.ones([3])
    with pytest.warns(UserWarning, match=r"\[instance_norm\] .* has no effect") as found:
        y = F.instance_norm(paddle.to_tensor(x), mean, mean, use_input_stats=False)
    told = [str(w.message).split()[1] for w in found]
    assert told == ["use_input_stats", "running_mean", "running_var"]
    np.testing.assert_allclose(y.numpy(), reference, atol=1e-5)
    assert mean.tolist() == [1, 1, 1]


def test_fused_attention_attends_to_its_query_only():
    layer = paddle.incubate.nn.FusedMultiHeadAttention(4, 2, kdim=4, vdim=4)
    layer.eval()
    assert "kdim=4, vdim=4" in repr(layer)
    x = paddle.rand([1, 3, 4])
    np.testing.assert_array_equal(layer(x, x, x).numpy(), layer(x).numpy())
    for name in ("key", "value"):
        with pytest.raises(NotImplementedError, match=f"{name}: expected None or the query itself"):
            layer(x, **{name: paddle.rand([1, 3, 4])})
    for name in ("kdim", "vdim"):
        with pytest.raises(
            NotImplementedError, match=f"{name}: expected None or embed_dim 4, got 6"
        ):
            paddle.incubate.nn.FusedMultiHeadAttention(4, 2, **{name: 6})
    with pytest.raises(NotImplementedError, match="nranks is not supported: expected 1, got 2"):
        paddle.incubate.nn.FusedMultiHeadAttention(4, 2, nranks=2)


def test_fused_feedforward_has_no_cache():
    layer = paddle.incubate.nn.FusedFeedForward(4, 8)
    with pytest.raises(NotImplementedError, match=r"\[FusedFeedForward\] cache is not supported"):
        layer(paddle.rand([1, 3, 4]), cache=paddle.rand([1]))


def test_fixed_seed_offset_of_attention():
    paddle.seed(4)
    q = paddle.ones([1, 16, 2, 8])
    state = paddle.get_rng_state()[0]

    def drop(*fixed):
        given = paddle.to_tensor(list(fixed)) if fixed else None
        return attention.flash_attention(q, q, q, 0.5, fixed_seed_offset=given)[0].numpy()

    first = drop(7, 1)
    np.testing.assert_array_equal(drop(7, 1), first)
    assert paddle.get_rng_state()[0] == state
    assert (drop(7, 2) != first).any() and (drop(8, 1) != first).any()
    drop()
    assert paddle.get_rng_state()[0] != state
    with pytest.raises(NotImplementedError, match="rng_name is not supported"):
        attention.flash_attention(q, q, q, 0.5, rng_name="local")


def test_attention_checks_lengths_and_heads():
    q, starts = paddle.rand([5, 2, 8]), paddle.to_tensor([0, 2, 5])
    with pytest.raises(ValueError, match="max_seqlen_k: expected at least 3, .* got 2"):
        attention.flash_attn_unpadded(q, q, q, starts, starts, 3, 2, 1.0)
    with pytest.raises(ValueError, match="without enable_gqa .* expected 1, got 2"):
        F.scaled_dot_product_attention(
            paddle.rand([1, 4, 2, 8]), *[paddle.rand([1, 4, 1, 8])] * 2, enable_gqa=False
        )


def test_load_state_dict_does_not_assign():
    layer = paddle.nn.Linear(2, 2)
    with pytest.raises(NotImplementedError, match=r"\[load_state_dict\] assign is not supported"):
        layer.load_state_dict(layer.state_dict(), assign=True)


# ---- metrics, transforms, files ------------------------------------------------------------------


def test_auc_of_precision_and_recall():
    rng = np.random.default_rng(5)
    score = rng.integers(0, 11, 40) / 10
    label = (rng.random(40) < score).astype("int64")
    metric = paddle.metric.Auc(curve="PR", num_thresholds=10)
    metric.update(np.stack([1 - score, score], 1), label)
    bins = (score * 10).astype("int64")
    area, found, wrong, before, height = 0.0, 0, 0, 0.0, 1.0
    for k in range(10, -1, -1):  # from the highest threshold down, by trapezoids
        found += (label[bins == k] == 1).sum()
        wrong += (label[bins == k] == 0).sum()
        if found + wrong:
            recall, precision = found / label.sum(), found / (found + wrong)
            area += (recall - before) * (precision + height) / 2
            before, height = recall, precision
    assert metric.accumulate() == pytest.approx(area, abs=1e-12)
    roc = paddle.metric.Auc(num_thresholds=10)
    roc.update(np.stack([1 - score, score], 1), label)
    assert roc.accumulate() != metric.accumulate()
    with pytest.raises(ValueError, match="curve: expected one of ROC, PR, got 'P'"):
        paddle.metric.Auc(curve="P")


def test_fill_of_pil_transforms():
    image = pytest.importorskip("PIL.Image")
    T = paddle.vision.transforms.functional
    white = image.fromarray(np.full((4, 4, 3), 200, "uint8"))
    moved = np.array(T.affine(white, 0, (2, 0), 1.0, (0, 0), fill=(1, 2, 3)))
    np.testing.assert_array_equal(moved[:, :2], np.broadcast_to([1, 2, 3], (4, 2, 3)))
    np.testing.assert_array_equal(moved[:, 2:], 200)
    assert (np.array(T.affine(white, 0, (2, 0), 1.0, (0, 0)))[:, :2] == 0).all()
    corners = [[0, 0], [3, 0], [3, 3], [0, 3]], [[2, 0], [3, 0], [3, 3], [2, 3]]
    assert (np.array(T.perspective(white, *corners, fill=7))[:, 0] == 7).all()
    gray = white.convert("L")
    assert (np.array(T.affine(gray, 0, (2, 0), 1.0, (0, 0), fill=9))[:, :2] == 9).all()


def test_hash_of_state_from_hub(tmp_path):
    paddle.save({"w": paddle.ones([2])}, str(tmp_path / "a.pdparams"))
    content = (tmp_path / "a.pdparams").read_bytes()
    digits = hashlib.sha256(content).hexdigest()[:8]
    (tmp_path / f"net-{digits}.pdparams").write_bytes(content)
    (tmp_path / "net-0123abcd.pdparams").write_bytes(content)

    def load(name, **options):
        return paddle.hub.load_state_dict_from_url(
            f"http://nowhere/{name}", str(tmp_path), **options
        )

    assert load(f"net-{digits}.pdparams", check_hash=True)["w"].tolist() == [1, 1]
    assert load("a.pdparams", check_hash=hashlib.md5(content).hexdigest())["w"].shape == [2]
    for name, given in (("net-0123abcd.pdparams", True), ("a.pdparams", "0" * 32)):
        with pytest.raises(RuntimeError, match="has another .* hash"):
            load(name, check_hash=given)
    with pytest.raises(ValueError, match="expected a file name with the first eight"):
        load("a.pdparams", check_hash=True)
    assert isinstance(load("a.pdparams", map_location="numpy")["w"], np.ndarray)
    with pytest.raises(
        ValueError, match="map_location: expected None, 'cpu' or 'numpy', got 'gpu'"
    ):
        load("a.pdparams", map_location="gpu")


def test_unknown_configs_of_saving(tmp_path):
    layer = paddle.nn.Linear(2, 2)
    spec, path = [paddle.static.InputSpec([1, 2])], str(tmp_path / "net")
    with pytest.raises(ValueError, match=r"\[jit.save\] unknown arguments: .* got foo"):
        paddle.jit.save(layer, path, spec, foo=1)
    with pytest.raises(NotImplementedError, match=r"\[jit.save\] with_hook is not supported"):
        paddle.jit.save(layer, path, spec, with_hook=True)
    with pytest.warns(UserWarning, match="combine_params has no effect"):
        paddle.jit.save(layer, path, spec, combine_params=True)
    with pytest.raises(ValueError, match=r"\[jit.load\] unknown arguments"):
        paddle.jit.load(path, foo=1)
    with pytest.raises(NotImplementedError, match="model_filename is not supported"):
        paddle.jit.load(path, model_filename="other")
    for call in (
        lambda: paddle.static.save(None, path, foo=1),
        lambda: paddle.static.save_inference_model(path, [], [], paddle.static.Executor(), foo=1),
        lambda: paddle.static.load_inference_model(path, paddle.static.Executor(), foo=1),
        lambda: paddle.static.normalize_program(None, [], [], foo=1),
        lambda: paddle.static.serialize_program([], [], foo=1),
    ):
        with pytest.raises(ValueError, match="unknown arguments: .* got foo"):
            call()
    with pytest.raises(ValueError, match="encoding: expected 'PCM_16', got 'ULAW'"):
        paddle.audio.save(path, paddle.zeros([1, 8]), 8, encoding="ULAW")


def test_lookahead_and_averages():
    w = paddle.create_parameter([1], "float32")
    opt = paddle.incubate.LookAhead(paddle.optimizer.SGD(0.1, parameters=[w]))
    with pytest.raises(NotImplementedError, match=r"\[LookAhead.minimize\] no_grad_set"):
        opt.minimize((w * 2).sum(), no_grad_set={"w"})


def test_copies_by_dlpack():
    x = paddle.ones([2])
    shared, copied = np.from_dlpack(x), paddle.utils.dlpack.from_dlpack(x.__dlpack__(copy=True))
    x[0] = 5.0
    assert shared.tolist() == [5, 1] and copied.tolist() == [1, 1]
    with pytest.raises(BufferError, match="expected the CPU"):
        x.__dlpack__(dl_device=(2, 0))


def test_key_of_sparse_layers_has_no_effect():
    with pytest.warns(UserWarning, match=r"\[SubmConv\] key has no effect"):
        paddle.sparse.nn.SubmConv2D(1, 1, 3, key="a")


@pytest.mark.parametrize("mode", ["nearest", "area", "bilinear"])
def test_interpolate_takes_nothing_that_has_no_effect(mode):
    x = paddle.ones([1, 2, 8, 8])
    if mode != "bilinear":
        with pytest.raises(ValueError, match=f"antialias: expected mode 'bilinear' .*got '{mode}'"):
            F.interpolate(x, [4, 4], mode=mode, antialias=True)
    with pytest.raises(ValueError, match="recompute_scale_factor: expected scale_factor, got size"):
        F.interpolate(x, [4, 4], mode=mode, recompute_scale_factor=True)
    with pytest.raises(ValueError, match="recompute_scale_factor: expected scale_factor"):
        paddle.nn.Upsample([4, 4], mode=mode, recompute_scale_factor=True)(x)


@pytest.mark.parametrize("state", [None, [], b"", {"a": 1}])
def test_states_of_random_numbers_are_lists_of_one(state):
    for call in (paddle.set_rng_state, paddle.set_cuda_rng_state):
        with pytest.raises(
            ValueError, match=r"\[set_rng_state\] state_list: expected a list of one"
        ):
            call(state)
