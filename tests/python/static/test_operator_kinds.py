"""Kinds of operations under Paddle's names, operands and attributes: expected numbers are NumPy's, or what the
function of the package gives that takes the same arguments under other names."""

import numpy as np
import pytest

import argosy as paddle
from argosy import linalg
from argosy.base import core
from argosy.nn import functional as F  # noqa: N812
from argosy.pir_utils import OldIrGuard
from argosy.vision import ops as vision

rng = np.random.default_rng(5)
X, Y = rng.uniform(0.1, 1, (3, 4)), rng.uniform(0.1, 1, (3, 4))
SQUARE = np.eye(3) + rng.uniform(0, 0.1, (3, 3))
IMAGE, FILTER = rng.uniform(0.1, 1, (2, 4, 6, 6)), rng.uniform(0.1, 1, (4, 3, 3, 3))
VOLUME = rng.uniform(0.1, 1, (1, 2, 4, 4, 4))
SCALE, BIAS = rng.uniform(0.1, 1, 4), rng.uniform(0.1, 1, 4)
RATE, HALF, NEAR = np.array([0.1]), np.array([0.9]), np.array([0.999])
LABEL = np.array([[0], [2], [3]])
BOX, COUNT = np.array([[0.0, 0.0, 4.0, 4.0]]), np.array([1, 0], "int32")
CELLS = {"pooled_height": 2, "pooled_width": 2, "spatial_scale": 1.0}


def given(function, *arrays, **named):
    """What a function of the package gives for arrays."""
    out = function(
        *[paddle.to_tensor(a) if isinstance(a, np.ndarray) else a for a in arrays], **named
    )
    return [v.numpy() for v in out] if isinstance(out, (list, tuple)) else out.numpy()


def scanned(function, x):
    values = function.accumulate(x, 1)
    return {"out": values, "indices": np.array([[row[: i + 1].tolist().index(v) for i, v in enumerate(found)]
                                               for row, found in zip(x, values)])}  # fmt: skip


def positions():
    half, places = 2, np.arange(3.0)[:, None]
    angles = places / 10000.0 ** (np.arange(half) / (half - 1))
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)


def adamw():
    first, second = 0.9 * X + 0.1 * Y, 0.999 * Y + 0.001 * Y * Y
    root = np.sqrt(1 - NEAR)
    step = 0.1 * root / (1 - HALF) * first / (np.sqrt(second) + 1e-8 * root)
    return {"ParamOut": X * (1 - 0.1 * 0.1) - step, "Moment1Out": first, "Moment2Out": second,
            "Beta1PowOut": HALF * 0.9, "Beta2PowOut": NEAR * 0.999}  # fmt: skip


def lamb():
    first, second = 0.9 * X + 0.1 * Y, 0.999 * Y + 0.001 * Y * Y
    step = first / (1 - HALF) / (np.sqrt(second / (1 - NEAR)) + 1e-8) + 0.01 * X
    return {"ParamOut": X - 0.1 * np.linalg.norm(X) / np.linalg.norm(step) * step}


def lars():
    own = 0.1 * 0.001 * np.linalg.norm(X) / (np.linalg.norm(Y) + 0.0005 * np.linalg.norm(X))
    velocity = X * 0.9 + own * (Y + 0.0005 * X)
    return {"VelocityOut": velocity, "ParamOut": X - velocity}


def shrunk(moved):
    return np.sign(moved) * np.maximum(np.abs(moved) - 0.1 * 0.1, 0) / (1 + 0.1 * 0.2)


SQUARES = 0.95 * X + 0.05 * Y * Y
UPDATE = -np.sqrt((Y + 1e-6) / (SQUARES + 1e-6)) * Y
MOMENT, NORM = 0.9 * X + 0.1 * Y, np.maximum(np.abs(Y), 0.999 * Y + 1e-8)
STATE = {"Param": X, "Grad": Y, "Moment1": X, "Moment2": Y, "LearningRate": RATE, "Beta1Pow": HALF,
         "Beta2Pow": NEAR}  # fmt: skip
PLAIN = {"Param": X, "Grad": Y, "Moment": X, "LearningRate": RATE}
WINDOW = {"strides": [2, 2], "paddings": [1, 1], "dilations": [1, 1], "groups": 1, "output_padding": [],
          "output_size": [], "padding_algorithm": "EXPLICIT", "data_format": "NCHW"}  # fmt: skip

CASES = [
    ("relu6", {"X": 10 * X}, {"threshold": 6.0}, {"Out": np.minimum(10 * X, 6)}),
    ("swish", {"X": X}, {"beta": 2.0}, {"Out": X / (1 + np.exp(-2 * X))}),
    ("atan2", {"X1": X, "X2": Y}, {}, {"Out": np.arctan2(X, Y)}),
    ("logsumexp", {"X": X}, {"axis": [1], "reduce_all": True}, {"Out": np.log(np.exp(X).sum())}),
    ("logcumsumexp", {"X": X}, {"axis": 1, "flatten": False, "reverse": True},
     {"Out": np.log(np.exp(X)[:, ::-1].cumsum(1)[:, ::-1])}),
    ("frobenius_norm", {"X": X}, {"dim": [0, 1], "keep_dim": True}, {"Out": np.linalg.norm(X).reshape(1, 1)}),
    ("reduce_amax", {"X": X}, {"dim": [1]}, {"Out": X.max(1)}),
    ("reduce_amin", {"X": X}, {"reduce_all": True, "dim": [0]}, {"Out": X.min()}),
    ("cummax", {"x": X}, {"axis": 1, "dtype": 3}, scanned(np.maximum, X)),
    ("cummin", {"x": X}, {"axis": 1, "dtype": 3}, scanned(np.minimum, X)),
    ("top_k", {"X": X}, {"k": 1}, {"Out": X.max(1, keepdims=True), "Indices": X.argmax(1)[:, None]}),
    ("mode", {"X": np.array([[1.0, 2.0, 2.0]])}, {"axis": -1}, {"Out": [2.0], "Indices": [2]}),
    ("unique", {"X": np.array([5, 3, 5, 1])}, {"dtype": 3, "return_index": True, "return_inverse": True,
     "is_sorted": True}, {"Out": [1, 3, 5], "Indices": [3, 1, 0], "Index": [2, 1, 2, 0]}),
    ("unique", {"X": np.array([5, 3, 5, 1])}, {"dtype": 3}, {"Out": [5, 3, 1], "Index": [0, 1, 0, 2]}),
    ("unique_consecutive", {"X": np.array([1, 1, 2])}, {"return_counts": True, "dtype": 3},
     {"Out": [1, 2], "Counts": [2, 1]}),
    ("isfinite_v2", {"X": np.array([1.0, np.inf])}, {}, {"Out": [True, False]}),
    ("isnan_v2", {"X": np.array([1.0, np.nan])}, {}, {"Out": [False, True]}),
    ("where_index", {"Condition": np.array([True, False, True])}, {}, {"Out": [[0], [2]]}),
    ("gather", {"X": X, "Index": np.array([2, 0])}, {"overwrite": False}, {"Out": X[[2, 0]]}),
    ("put_along_axis", {"Input": X, "Index": np.array([[1, 0, 2, 0]]), "Value": Y[:1]},
     {"Axis": 0, "Reduce": "add", "Include_self": True},
     {"Result": X + (np.arange(3)[:, None] == [1, 0, 2, 0]) * Y[:1]}),
    ("index_add", {"X": X, "Index": np.array([1, 1]), "AddValue": Y[:2]}, {"axis": 0},
     {"Out": X + np.stack([0 * Y[0], Y[0] + Y[1], 0 * Y[0]])}),
    ("reshape2", {"X": X, "Shape": np.array([2, 6], "int32")}, {"shape": [0, -1]}, {"Out": X.reshape(2, 6)}),
    ("flatten2", {"X": VOLUME}, {"axis": 2}, {"Out": VOLUME.reshape(2, -1)}),
    ("flatten", {"X": X}, {"axis": 0}, {"Out": X.reshape(1, -1)}),
    ("expand_as_v2", {"X": X[:1], "Y": X}, {"target_shape": [3, 4]}, {"Out": X[[0, 0, 0]]}),
    ("expand", {"X": X}, {"expand_times": [2, 1]}, {"Out": np.tile(X, (2, 1))}),
    ("crop_tensor", {"X": X}, {"offsets": [1, 0], "shape": [2, 3]}, {"Out": X[1:, :3]}),
    ("pad", {"X": X}, {"paddings": [0, 1, 2, 0], "pad_value": 0.5},
     {"Out": np.pad(X, ((0, 1), (2, 0)), constant_values=0.5)}),
    ("size", {"Input": X}, {}, {"Out": 12}),
    ("shape", {"Input": X}, {}, {"Out": np.array([3, 4], "int32")}),
    ("assign_value", {}, {"shape": [2], "dtype": 5, "fp32_values": [1.0, 2.0]}, {"Out": [1.0, 2.0]}),
    ("fill_any_like", {"X": X}, {"value": 2.0, "dtype": -1}, {"Out": np.full((3, 4), 2.0)}),
    ("fill_diagonal", {"X": SQUARE}, {"value": 2.0, "offset": 0, "wrap": False},
     {"Out": np.where(np.eye(3) > 0, 2, SQUARE)}),
    ("sequence_mask", {"X": np.array([1, 3])}, {"maxlen": 4, "out_dtype": 3},
     {"Y": [[1, 0, 0, 0], [1, 1, 1, 0]]}),
    ("multiplex", {"X": [X, Y], "Ids": np.array([[0], [1], [0]], "int32")}, {},
     {"Out": np.stack([X[0], Y[1], X[2]])}),
    ("complex", {"X": X, "Y": Y}, {}, {"Out": X + 1j * Y}),
    ("slogdeterminant", {"Input": SQUARE}, {}, {"Out": np.stack(np.linalg.slogdet(SQUARE))}),
    ("matrix_rank", {"X": np.ones((3, 3))}, {"tol": 1e-3, "use_default_tol": False}, {"Out": 1}),
    ("eigvalsh", {"X": np.diag([2.0, 1.0])}, {"UPLO": "L", "is_test": True}, {"Eigenvalues": [1.0, 2.0]}),
    ("lu", {"X": SQUARE}, {"pivots": True},
     dict(zip(("Out", "Pivots", "Infos"), given(linalg.lu, SQUARE, get_infos=True)))),
    ("lstsq", {"X": X.T, "Y": Y.T}, {"rcond": 1e-9, "driver": "gels"},
     {"Solution": np.linalg.lstsq(X.T, Y.T, 1e-9)[0]}),
    ("partial_sum", {"X": [X, Y]}, {"start_index": 1, "length": 2}, {"Out": (X + Y)[:, 1:3]}),
    ("partial_concat", {"X": [X, Y]}, {"start_index": -1}, {"Out": np.stack([X[:, 3], Y[:, 3]], 1)}),
    ("fft_c2c", {"X": X + 0j}, {"axes": [1], "normalization": "by_n", "forward": True},
     {"Out": np.fft.fft(X, norm="forward")}),
    ("fft_r2c", {"X": X}, {"axes": [1], "normalization": "none", "forward": True, "onesided": True},
     {"Out": np.fft.rfft(X)}),
    ("fft_c2r", {"X": X + 0j}, {"axes": [1], "normalization": "backward", "forward": False,
     "last_dim_size": 5}, {"Out": np.fft.irfft(X, 5)}),
    ("frame", {"X": X[0]}, {"frame_length": 2, "hop_length": 2, "axis": -1}, {"Out": X[0].reshape(2, 2).T}),
    ("truncated_gaussian_random", {}, {"shape": [2], "mean": 3.0, "std": 1e-9, "a": 2.0, "b": 4.0, "dtype": 6}, {"Out": [3.0, 3.0]}),
    ("conv2d_transpose", {"Input": IMAGE, "Filter": FILTER}, WINDOW,
     {"Output": given(F.conv2d_transpose, IMAGE, FILTER, stride=2, padding=1)}),
    ("depthwise_conv2d_transpose", {"Input": IMAGE, "Filter": FILTER[:, :1]}, {**WINDOW, "groups": 4},
     {"Output": given(F.conv2d_transpose, IMAGE, FILTER[:, :1], stride=2, padding=1, groups=4)}),
    ("conv3d_transpose", {"Input": VOLUME, "Filter": FILTER[:2, :, :2, :2, None]}, {"strides": [1, 1, 1]},
     {"Output": given(F.conv3d_transpose, VOLUME, FILTER[:2, :, :2, :2, None])}),
    ("pool3d", {"X": VOLUME}, {"pooling_type": "avg", "ksize": [2, 2, 2], "strides": [2, 2, 2]},
     {"Out": given(F.avg_pool3d, VOLUME, 2)}),
    ("pool3d", {"X": VOLUME}, {"pooling_type": "max", "ksize": [2, 2, 2], "global_pooling": True},
     {"Out": VOLUME.max((2, 3, 4), keepdims=True)}),
    ("max_pool2d_with_index", {"X": IMAGE}, {"ksize": [2, 2], "strides": [2, 2]},
     dict(zip(("Out", "Mask"), given(F.max_pool2d, IMAGE, 2, return_mask=True)))),
    ("max_pool3d_with_index", {"X": VOLUME}, {"ksize": [2, 2, 2], "adaptive": True},
     dict(zip(("Out", "Mask"), given(F.adaptive_max_pool3d, VOLUME, 2, return_mask=True)))),
    ("unpool", {"X": X[:1, :1].reshape(1, 1, 1, 1), "Indices": np.array([[[[3]]]], "int32")},
     {"ksize": [2, 2], "strides": [2, 2], "unpooling_type": "max", "output_size": [2, 2]},
     {"Out": np.array([0, 0, 0, X[0, 0]]).reshape(1, 1, 2, 2)}),
    ("instance_norm", {"X": IMAGE, "Scale": SCALE, "Bias": BIAS}, {"epsilon": 1e-3},
     {"Y": (IMAGE - IMAGE.mean((2, 3), keepdims=True)) / np.sqrt(IMAGE.var((2, 3), keepdims=True) + 1e-3)
      * SCALE.reshape(4, 1, 1) + BIAS.reshape(4, 1, 1)}),
    ("group_norm", {"X": IMAGE, "Scale": SCALE, "Bias": BIAS}, {"groups": 2, "epsilon": 1e-5},
     {"Mean": IMAGE.reshape(2, 2, -1).mean(-1), "Variance": IMAGE.reshape(2, 2, -1).var(-1)}),
    ("affine_channel", {"X": IMAGE, "Scale": SCALE, "Bias": BIAS}, {"data_layout": "NCHW"},
     {"Out": IMAGE * SCALE.reshape(4, 1, 1) + BIAS.reshape(4, 1, 1)}),
    ("dropout", {"X": X}, {"dropout_prob": 0.0, "fix_seed": True, "seed": 3,
     "dropout_implementation": "upscale_in_train"}, {"Out": X, "Mask": np.ones((3, 4), "uint8")}),
    ("affine_grid", {"Theta": IMAGE[:, 0, :2, :3]}, {"output_shape": [2, 1, 3, 4], "align_corners": False},
     {"Output": given(F.affine_grid, IMAGE[:, 0, :2, :3], [2, 1, 3, 4], False)}),
    ("grid_sampler", {"X": IMAGE, "Grid": IMAGE[:, 0, :, :2, None].repeat(2, -1)},
     {"align_corners": True, "mode": "nearest", "padding_mode": "border"},
     {"Output": given(F.grid_sample, IMAGE, IMAGE[:, 0, :, :2, None].repeat(2, -1), "nearest", "border")}),
    ("bilinear_interp_v2", {"X": IMAGE}, {"out_h": 4, "out_w": 5, "align_mode": 1, "scale": []},
     {"Out": given(F.interpolate, IMAGE, [4, 5], mode="bilinear", align_mode=1)}),
    ("bicubic_interp_v2", {"X": IMAGE}, {"scale": [0.5, 2.0], "align_corners": True},
     {"Out": given(F.interpolate, IMAGE, scale_factor=[0.5, 2.0], mode="bicubic", align_corners=True)}),
    ("trilinear_interp_v2", {"X": VOLUME}, {"out_d": 2, "out_h": 3, "out_w": 5, "data_layout": "NCHW"},
     {"Out": given(F.interpolate, VOLUME, [2, 3, 5], mode="trilinear", align_mode=1, data_format="NCDHW")}),
    ("linear_interp_v2", {"X": X[None]}, {"out_w": 7},
     {"Out": given(F.interpolate, X[None], [7], mode="linear", align_mode=1, data_format="NCW")}),
    ("nearest_interp", {"X": IMAGE}, {"out_h": 3, "out_w": 2, "align_corners": True},
     {"Out": IMAGE[:, :, [0, 3, 5]][..., [0, 5]]}),
    ("unfold", {"X": IMAGE}, {"kernel_sizes": [3, 3], "paddings": [1, 1, 1, 1], "strides": [2, 2]},
     {"Y": given(F.unfold, IMAGE, [3, 3], 2, 1)}),
    ("shuffle_channel", {"X": IMAGE}, {"group": 2}, {"Out": IMAGE[:, [0, 2, 1, 3]]}),
    ("bilinear_tensor_product", {"X": X[:, :2], "Y": Y, "Weight": FILTER[0, :, 0, :2, None].repeat(4, 2)}, {},
     {"Out": np.einsum("bi,kij,bj->bk", X[:, :2], FILTER[0, :, 0, :2, None].repeat(4, 2), Y)}),
    ("add_position_encoding", {"X": X[None]}, {"alpha": 2.0, "beta": 0.5},
     {"Out": 2 * X[None] + 0.5 * positions()}),
    ("cross_entropy2", {"X": X, "Label": LABEL}, {"ignore_index": 2},
     {"Y": np.where(LABEL == 2, 0, -np.log(np.take_along_axis(X, LABEL, 1)))}),
    ("nll_loss", {"X": X, "Label": LABEL[:, 0], "Weight": SCALE}, {"reduction": "sum", "ignore_index": 2},
     {"Out": -SCALE[0] * X[0, 0] - SCALE[3] * X[2, 3], "Total_weight": SCALE[0] + SCALE[3]}),
    ("warpctc", {"Logits": IMAGE[:, :, 0].transpose(1, 0, 2), "Label": np.array([[1, 2], [2, 3]], "int32"),
     "LogitsLength": np.array([4, 3]), "LabelLength": np.array([2, 1])}, {"blank": 0, "norm_by_times": False},
     {"Loss": given(F.ctc_loss, IMAGE[:, :, 0].transpose(1, 0, 2), np.array([[1, 2], [2, 3]], "int32"),
      np.array([4, 3]), np.array([2, 1]), reduction="none").reshape(2, 1)}),
    ("edit_distance", {"Hyps": np.array([[1, 2, 3]]), "Refs": np.array([[1, 3, 3]])}, {"normalized": False},
     {"Out": np.float32([[1]]), "SequenceNum": [1]}),
    ("accuracy", {"Out": X, "Indices": np.array([[0, 1], [1, 2], [0, 2]]), "Label": LABEL}, {},
     {"Accuracy": np.float32(2 / 3), "Correct": 2, "Total": 3}),
    ("box_coder", {"PriorBox": BOX, "TargetBox": BOX + 1}, {"variance": [0.1, 0.1, 0.2, 0.2]},
     {"OutputBox": given(vision.box_coder, BOX, [0.1, 0.1, 0.2, 0.2], BOX + 1)}),
    ("prior_box", {"Input": IMAGE, "Image": IMAGE}, {"min_sizes": [2.0], "aspect_ratios": [2.0], "clip": True},
     {"Boxes": given(vision.prior_box, IMAGE, IMAGE, [2.0], aspect_ratios=[2.0], clip=True)[0]}),
    ("yolo_box", {"X": rng.uniform(0, 1, (1, 7, 2, 2)), "ImgSize": np.array([[64, 64]], "int32")},
     {"anchors": [10, 13], "class_num": 2, "conf_thresh": 2.0, "downsample_ratio": 32},
     {"Scores": np.zeros((1, 4, 2))}),
    ("roi_align", {"X": IMAGE, "ROIs": BOX, "RoisNum": COUNT}, {**CELLS, "aligned": True},
     {"Out": given(vision.roi_align, IMAGE, BOX, COUNT, 2)}),
    ("roi_pool", {"X": IMAGE, "ROIs": BOX, "RoisNum": COUNT}, CELLS,
     {"Out": given(vision.roi_pool, IMAGE, BOX, COUNT, 2)}),
    ("psroi_pool", {"X": IMAGE, "ROIs": BOX, "RoisNum": COUNT}, {**CELLS, "output_channels": 1},
     {"Out": given(vision.psroi_pool, IMAGE, BOX, COUNT, 2)}),
    ("cvm", {"X": X, "CVM": Y[:, :2]}, {"use_cvm": False}, {"Y": X[:, 2:]}),
    ("fc", {"Input": X - 0.5, "W": Y.T}, {"activation_type": "relu"}, {"Out": np.maximum((X - 0.5) @ Y.T, 0)}),
    ("adamw", STATE, {"coeff": 0.1, "with_decay": True, "lr_ratio": 1.0}, adamw()),
    ("lamb", STATE, {"epsilon": 1e-8, "weight_decay": 0.01}, lamb()),
    ("adamax", {**PLAIN, "InfNorm": Y, "Beta1Pow": HALF}, {},
     {"MomentOut": MOMENT, "InfNormOut": NORM, "ParamOut": X - 0.1 / (1 - HALF) * MOMENT / NORM}),
    ("adagrad", PLAIN, {"epsilon": 1e-6},
     {"MomentOut": X + Y * Y, "ParamOut": X - 0.1 * Y / (np.sqrt(X + Y * Y) + 1e-6)}),
    ("decayed_adagrad", PLAIN, {}, {"MomentOut": SQUARES, "ParamOut": X - 0.1 * Y / (np.sqrt(SQUARES) + 1e-6)}),
    ("adadelta", {"Param": X, "Grad": Y, "AvgSquaredGrad": X, "AvgSquaredUpdate": Y, "LearningRate": RATE}, {},
     {"ParamOut": X + 0.1 * UPDATE, "AvgSquaredGradOut": SQUARES,
      "AvgSquaredUpdateOut": 0.95 * Y + 0.05 * UPDATE**2}),
    ("lars_momentum", {"Param": X, "Grad": Y, "Velocity": X, "LearningRate": RATE}, {"mu": 0.9}, lars()),
    ("proximal_gd", {"Param": X, "Grad": Y, "LearningRate": RATE}, {"l1": 0.1, "l2": 0.2},
     {"ParamOut": shrunk(X - 0.1 * Y)}),
    ("proximal_adagrad", PLAIN, {"l1": 0.1, "l2": 0.2},
     {"MomentOut": X + Y * Y, "ParamOut": shrunk(X - 0.1 * Y / np.sqrt(X + Y * Y))}),
    ("check_finite_and_unscale", {"X": np.array([1.0, np.inf]), "Scale": np.array([2.0])}, {},
     {"FoundInfinite": [True]}),
    ("update_loss_scaling", {"X": X, "FoundInfinite": np.array([True]), "PrevLossScaling": np.array([8.0]),
     "InGoodSteps": np.array([5], "int32"), "InBadSteps": np.array([1], "int32")},
     {"incr_every_n_steps": 9, "decr_every_n_nan_or_inf": 2, "incr_ratio": 2.0, "decr_ratio": 0.5},
     {"Out": 0 * X, "LossScaling": [4.0], "OutGoodSteps": [0], "OutBadSteps": [0]}),
    ("fake_dequantize_max_abs", {"X": X, "Scale": np.array([2.0])}, {"max_range": 127.0}, {"Out": X * 2 / 127}),
    ("dequantize_linear", {"X": X, "Scale": SCALE[:3], "ZeroPoint": np.zeros(3)}, {"quant_axis": 0},
     {"Y": X * SCALE[:3, None] / 127}),
]  # fmt: skip


@pytest.mark.parametrize("kind, inputs, attrs, outputs", CASES, ids=[case[0] for case in CASES])
def test_a_kind_computes_what_paddle_says_it_does(kind, inputs, attrs, outputs):
    feed = {}
    with OldIrGuard():
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            block = program.global_block()
            operands = {}
            for key, value in inputs.items():
                several = value if isinstance(value, list) else [value]
                for i, array in enumerate(several):
                    feed[f"{key}{i}"] = array
                    var = block.create_var(name=f"{key}{i}", shape=array.shape, dtype=array.dtype)
                    operands.setdefault(key, []).append(var)
            made = {key: block.create_var(name=key + "_out") for key in outputs}
            block.append_op(type=kind, inputs=operands, outputs=made, attrs=attrs)
        fetched = paddle.static.Executor().run(program, feed=feed, fetch_list=list(made.values()))
    for value, wanted in zip(fetched, outputs.values()):
        assert value.shape == np.shape(wanted)
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-7)


def momentum_by_layers(velocities, decays):
    """LARS of two parameters, recorded as one operation."""
    with OldIrGuard():
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            block = program.global_block()

            def two(name, count=2):
                shape = [1] if name == "LearningRate" else [2, 3]
                return [
                    block.create_var(name=f"{name}{i}", shape=shape, dtype="float32")
                    for i in range(count)
                ]

            operands = {name: two(name) for name in ("Param", "Grad", "LearningRate")}
            operands["Velocity"] = two("Velocity", velocities)
            made = {
                name: [block.create_var(name=f"{name}{i}") for i in range(2)]
                for name in ("ParamOut", "VelocityOut")
            }
            attrs = {"mu": 0.9, **({} if decays is None else {"lars_weight_decay": decays})}
            block.append_op(type="lars_momentum", inputs=operands, outputs=made, attrs=attrs)
        feed = {
            f"{name}{i}": X[:2, :3].astype("float32")
            for name in ("Param", "Grad", "Velocity")
            for i in range(2)
        }
        feed.update({f"LearningRate{i}": np.float32([0.1]) for i in range(2)})
        return paddle.static.Executor().run(program, feed=feed, fetch_list=made["ParamOut"])


def test_each_parameter_of_an_operation_is_updated():
    first, second = momentum_by_layers(2, [0.5, 0.5])
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, X[:2, :3])
    for velocities, decays, text in (
        (2, [0.5], "lars_weight_decay: expected as many as there are parameters, 2, got 1"),
        (2, None, "lars_weight_decay: expected as many"),
        (1, [0.5, 0.5], "Velocity: expected as many as there are parameters, 2, got 1"),
    ):
        with pytest.raises(ValueError, match=text):
            momentum_by_layers(velocities, decays)


def test_a_result_that_is_an_operand_is_another_variable():
    with OldIrGuard():
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            block = program.global_block()
            x, out = (
                block.create_var(name="x", shape=[2], dtype="float32"),
                block.create_var(name="out"),
            )
            attrs = {"dropout_prob": 0.0, "dropout_implementation": "upscale_in_train"}
            block.append_op(type="dropout", inputs={"X": x}, outputs={"Out": out}, attrs=attrs)
            assert (x.name, out.name) == ("x", "out")
        found = paddle.static.Executor().run(
            program, feed={"x": np.float32([1, 2])}, fetch_list=["x", "out"]
        )
    assert [v.tolist() for v in found] == [[1.0, 2.0]] * 2


def run(kind, inputs, attrs, outputs):
    """The first output of an operator that runs by itself."""
    scope = paddle.static.Scope()
    for name, value in inputs.items():
        scope.var(name).get_tensor().set(value, paddle.CPUPlace())
    sides = ({name: [name] for name in side} for side in (inputs, outputs))
    core.Operator(kind, *sides, attrs).run(scope, paddle.CPUPlace())
    return np.array(scope.find_var(outputs[0]).get_tensor())


def test_what_a_kind_does_not_know():
    with pytest.raises(
        NotImplementedError, match="'relu6' has no threshold here. Do this: leave it"
    ):
        run("relu6", {"X": X}, {"threshold": 5.0}, ["Out"])
    with pytest.raises(NotImplementedError, match="'dropout' has no fix_seed, seed here"):
        run("dropout", {"X": X}, {"dropout_prob": 0.5, "fix_seed": True, "seed": 3}, ["Out"])
    with pytest.raises(
        NotImplementedError, match="with align_corners has sizes that are attributes"
    ):
        run("nearest_interp_v2", {"X": IMAGE}, {"scale": [2.0], "align_corners": True}, ["Out"])
    with pytest.raises(ValueError, match="makes 1 channels of this image: got output_channels=2"):
        inputs = {"X": IMAGE, "ROIs": BOX, "RoisNum": COUNT}
        run("psroi_pool", inputs, {**CELLS, "output_channels": 2}, ["Out"])


def test_axes_may_be_tensors_where_they_have_numbers():
    axis = np.array([1], "int32")
    joined = run("concat", {"X": X, "AxisTensor": axis}, {"axis": 7}, ["Out"])
    np.testing.assert_array_equal(joined, X)
    assert run("unsqueeze2", {"X": X, "AxesTensor": axis}, {"axes": []}, ["Out"]).shape == (3, 1, 4)
    chosen = run("gather", {"X": X, "Index": np.array([3, 0]), "Axis": axis}, {}, ["Out"])
    np.testing.assert_array_equal(chosen, X[:, [3, 0]])


def test_adaptive_pools_of_channels_that_come_last():
    last = VOLUME.transpose(0, 2, 3, 4, 1)
    attrs = {"pooling_type": "max", "ksize": [2, 2, 2], "global_pooling": True, "data_format": "NDHWC"}  # fmt: skip
    np.testing.assert_array_equal(
        run("pool3d", {"X": last}, attrs, ["Out"]), last.max((1, 2, 3), keepdims=True)
    )
    attrs = {"pooling_type": "avg", "ksize": [2, 3], "adaptive": True, "data_format": "NHWC"}
    found = run("pool2d", {"X": IMAGE.transpose(0, 2, 3, 1)}, attrs, ["Out"])
    wanted = IMAGE.reshape(2, 4, 2, 3, 3, 2).mean((3, 5)).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("stop", [False, True])
def test_an_update_of_the_loss_scale_is_stopped_by_a_tensor_or_an_attribute(stop):
    inputs = {"X": X, "FoundInfinite": np.array([True]), "PrevLossScaling": np.array([8.0]),
              "InGoodSteps": np.array([5], "int32"), "InBadSteps": np.array([1], "int32")}  # fmt: skip
    attrs = {"incr_every_n_steps": 9, "decr_every_n_nan_or_inf": 2, "incr_ratio": 2.0, "decr_ratio": 0.5}  # fmt: skip
    for more, told in (({"StopUpdate": np.array([stop])}, {}), ({}, {"stop_update": stop})):
        scale = run("update_loss_scaling", {**inputs, **more}, {**attrs, **told}, ["LossScaling"])
        assert scale.tolist() == [8.0 if stop else 4.0]


def test_sizes_of_another_variable_and_axes_of_what_is_not_sorted():
    np.testing.assert_array_equal(in_program("crop", {"X": X, "Y": Y[:2, :3]}, {}), X[:2, :3])
    with pytest.raises(NotImplementedError, match="'unique' has no axis here"):
        run("unique", {"X": np.array([[5, 3], [1, 1]])}, {"axis": [1], "dtype": 3}, ["Out"])


def in_program(kind, inputs, attrs):
    """Out of an operation of a Program, whose operands have no values when it is appended."""
    with OldIrGuard():
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            block = program.global_block()
            operands = {
                name: block.create_var(name=name, shape=value.shape, dtype=value.dtype)
                for name, value in inputs.items()
            }
            out = block.create_var(name="out")
            block.append_op(type=kind, inputs=operands, outputs={"Out": out}, attrs=attrs)
        return paddle.static.Executor().run(program, feed=inputs, fetch_list=[out])[0]
