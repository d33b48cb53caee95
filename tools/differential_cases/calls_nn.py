"""Every parameter of nn.functional: convolution, pooling, norms, activations, attention, images."""

from differential_families import spread, unique

MODES = True

_BOTH = "True | False"
_IMAGES = {1: "T(2, 4, 9)", 2: "T(2, 4, 7, 8)", 3: "T(1, 4, 5, 6, 5)"}
_LAST = {1: "T(2, 9, 4)", 2: "T(2, 7, 8, 4)", 3: "T(1, 5, 6, 5, 4)"}
_LAYOUT = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _each(n, *values):
    """Values for one, and for each, of n axes."""
    found = []
    for value in values:
        found += [str(value), str([value] * n)] + (
            [str(tuple(range(value, value + n)))] if n > 1 else []
        )
    return found


def _convolution():
    for n in (1, 2, 3):
        kernel = ", ".join(["3"] * n)
        plain, last = _LAYOUT[n]
        pads = [*_each(n, 0, 1), "'SAME'", "'VALID'"]
        if n > 1:
            pads.append(str([1, 0] * n))
            pads.append(str([[0, 0], [0, 0]] + [[1, 2]] * n))
        yield from spread(
            f"F.conv{n}d", f"{_IMAGES[n]}, T(6, 4, {kernel}, seed=1)", f"x={_IMAGES[n]}, weight=T(6, 4, {kernel}, seed=1)",
            bias="None | T(6, seed=2)", stride=_each(n, 1, 2), padding=pads, dilation=_each(n, 1, 2), pairs=16,
        )  # fmt: skip
        yield from spread(
            f"F.conv{n}d", f"{_IMAGES[n]}, T(6, 2, {kernel}, seed=1), groups=2", f"{_IMAGES[n]}, T(4, 1, {kernel}, seed=1), groups=4",
            stride="1 | 2", padding="0 | 1 | 'SAME'", dilation="1 | 2", pairs=8,
        )  # fmt: skip
        yield from spread(
            f"F.conv{n}d", f"{_LAST[n]}, T(6, 4, {kernel}, seed=1), data_format='{last}'",
            bias="T(6, seed=2)", stride="2", padding="1 | 'SAME'", groups="1", pairs=5,
        )  # fmt: skip
        yield f"F.conv{n}d({_IMAGES[n]}, T(6, 4, {kernel}, seed=1), data_format='{plain}')"
        yield f"F.conv{n}d({_IMAGES[n][:-1]}, dtype='float64'), T(6, 4, {kernel}, seed=1, dtype='float64'), padding=1)"
        yield from spread(
            f"F.conv{n}d_transpose", f"{_IMAGES[n]}, T(4, 6, {kernel}, seed=1)", f"x={_IMAGES[n]}, weight=T(4, 6, {kernel}, seed=1)",
            bias="None | T(6, seed=2)", stride=_each(n, 1, 2), padding=[*_each(n, 0, 1), "'SAME'", "'VALID'"], dilation="1 | 2", pairs=12,
        )  # fmt: skip
        yield from spread(
            f"F.conv{n}d_transpose", f"{_IMAGES[n]}, T(4, 3, {kernel}, seed=1), stride=2",
            output_padding="0 | 1", groups="1 | 2 | 4", padding="0 | 1", dilation="1 | 2", pairs=10,
        )  # fmt: skip
        yield f"F.conv{n}d_transpose({_LAST[n]}, T(4, 6, {kernel}, seed=1), data_format='{last}', stride=2)"
        size = {1: "[20]", 2: "[16, 18]", 3: "[12, 14, 12]"}[n]
        yield f"F.conv{n}d_transpose({_IMAGES[n]}, T(4, 6, {kernel}, seed=1), stride=2, output_size={size})"


def _pooling():
    for n in (1, 2, 3):
        x = _IMAGES[n]
        last = _LAYOUT[n][1]
        common = dict(
            stride=["None", *_each(n, 1, 2)],
            padding=[*_each(n, 0, 1), "'SAME'", "'VALID'"],
            ceil_mode=_BOTH,
            always="kernel_size",
            kernel_size=_each(n, 2, 3),
        )
        yield from spread(
            f"F.max_pool{n}d",
            x,
            f"x={x}",
            f"{x[:-1]}, dtype='float64')",
            return_mask="False",
            pairs=18,
            **common,
        )
        yield from spread(
            f"F.avg_pool{n}d",
            x,
            f"x={x}",
            f"{x[:-1]}, dtype='float64')",
            exclusive=_BOTH,
            pairs=18,
            **common,
        )
        for stride in ("None", "2", "1"):
            for padding in ("0", "1"):
                yield f"F.max_pool{n}d({x}, 2, {stride}, {padding}, return_mask=True)"
        if n > 1:
            yield from spread(
                f"F.avg_pool{n}d",
                f"{_LAST[n]}, 2, data_format='{last}'",
                stride="1",
                padding="1",
                ceil_mode="True",
                divisor_override="3",
                pairs=3,
            )
            yield from spread(
                f"F.max_pool{n}d",
                f"{_LAST[n]}, 2, data_format='{last}'",
                stride="1",
                padding="1",
                ceil_mode="True",
                pairs=3,
            )
            yield from spread(
                f"F.avg_pool{n}d",
                f"{x}, 3",
                divisor_override="2 | 5 | None",
                stride="2",
                padding="1",
                pairs=3,
            )
        for kind in ("avg", "max"):
            yield from spread(
                f"F.adaptive_{kind}_pool{n}d",
                x,
                f"x={x[:-1]}, dtype='float64')",
                always="output_size",
                output_size=[
                    "1",
                    "3",
                    *([str([2, 3, 2][:n]), str([None, *[2] * (n - 1)])] if n > 1 else ["[4]"]),
                ],
                pairs=4,
            )
            if kind == "max":
                yield f"F.adaptive_max_pool{n}d({x}, 2, return_mask=True)"
                yield f"F.adaptive_max_pool{n}d({x}, output_size=3, return_mask=True)"
        if n > 1:
            yield f"F.adaptive_avg_pool{n}d({_LAST[n]}, 2, data_format='{last}')"
        even = {1: "T(2, 4, 8)", 2: "T(2, 4, 6, 8)", 3: "T(1, 2, 4, 6, 4)"}[n]
        for more in (
            "",
            ", stride=2",
            f", 2, 0, output_size={even[1:-1].split(', ')[2:]}".replace("'", ""),
        ):
            yield f"p, m = F.max_pool{n}d({even}, 2, return_mask=True);; F.max_unpool{n}d(p, m, 2{more})"
        if n < 3:
            yield from spread(
                f"F.lp_pool{n}d",
                f"{x[:-1]}, low=0.1)",
                always="norm_type kernel_size",
                norm_type="2 | 1 | 3.0 | float('inf')",
                kernel_size="2 | 3",
                stride="None | 1 | 2",
                padding="0",
                ceil_mode=_BOTH,
                pairs=10,
            )
        else:
            continue
    for n in (2, 3):
        x = _IMAGES[n]
        yield from spread(
            f"F.fractional_max_pool{n}d",
            f"{x}, 3",
            always="random_u",
            random_u="0.3 | 0.7",
            kernel_size="None | 2",
            return_mask="False",
            pairs=4,
        )


def _activations():
    x = (
        "T(2, 4, low=-3, high=3)",
        "x=T(2, 4, 3, low=-3, high=3)",
        "T(2, 4, low=-3, high=3, dtype='float64')",
        "T(low=-3, high=3)",
    )
    for name in (
        "relu relu6 silu swish mish softsign tanhshrink hardswish log_sigmoid sigmoid tanh".split()
    ):
        yield from spread(
            f"F.{name}", *x, name=["'n'"] if name not in ("sigmoid", "tanh") else ["None"], pairs=0
        )
    for name, values in {
        "elu": {"alpha": "1.0 | 0.2 | 2"}, "celu": {"alpha": "1.0 | 0.2"}, "selu": {"scale": "1.05 | 2.0", "alpha": "1.67 | 1.0"},
        "gelu": {"approximate": _BOTH}, "leaky_relu": {"negative_slope": "0.01 | 0.3 | -0.1"},
        "hardshrink": {"threshold": "0.5 | 1 | 0"}, "softshrink": {"threshold": "0.5 | 1 | 0"},
        "hardtanh": {"min": "-1.0 | -2 | 0", "max": "1.0 | 2"}, "hardsigmoid": {"slope": "0.1666667 | 0.2", "offset": "0.5 | 0.1"},
        "softplus": {"beta": "1 | 2.0 | 0.5", "threshold": "20 | 1 | 0.5"},
        "thresholded_relu": {"threshold": "1.0 | 0.2", "value": "0.0 | 3.0"},
    }.items():  # fmt: skip
        yield from spread(f"F.{name}", *x, **values, pairs=7)
    for name in ("softmax", "log_softmax"):
        yield from spread(
            f"F.{name}",
            "T(2, 3)",
            "x=T(2, 3, 4, dtype='float64')",
            "T(3)",
            axis="-1 | 0 | -2",
            dtype="None | 'float64' | 'float32'",
            pairs=5,
        )
        yield f"F.{name}(T(2, 3, 4), 1)"
    yield from spread("F.glu", "T(2, 4)", "x=T(4, 6, 2)", axis="-1 | 0 | 1", pairs=4)
    yield from spread(
        "F.maxout",
        "T(2, 4, 3, 3)",
        "x=T(2, 6, 2, 2)",
        always="groups",
        groups="2",
        axis="1",
        pairs=2,
    )
    yield "F.maxout(T(2, 3, 3, 4), 2, axis=-1)"
    yield "F.maxout(T(2, 3, 3, 6), 3, axis=3)"
    yield from spread(
        "F.prelu",
        "T(2, 4, 3, 3), T(4, seed=1)",
        "x=T(2, 4), weight=T(1, seed=1)",
        "T(2, 4, 3), T(4, seed=1)",
        data_format="'NCHW' | 'NCL'",
        pairs=0,
    )
    yield "F.prelu(T(2, 3, 3, 4), T(4, seed=1), data_format='NHWC')"
    yield from spread(
        "F.rrelu",
        "T(2, 4)",
        training="False",
        lower="0.1 | 0.2",
        upper="0.3 | 0.5",
        pairs=0,
        always="training",
    )
    for name in ("relu", "elu", "softmax", "tanh", "leaky_relu", "hardtanh", "thresholded_relu"):
        yield f"x = T(2, 3) * 1;; y = F.{name}_(x);; [x, y]"
    for name in ("dropout", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        shape = {"dropout2d": "2, 3, 4, 4", "dropout3d": "2, 3, 2, 2, 2"}.get(name, "2, 3, 4")
        for text in ("p=0.5, training=False", "0.0", "p=0", "0.3, training=False", "p=1.0"):
            yield f"F.{name}(T({shape}), {text})"
        yield f"F.{name}(T({shape}), 0.4).shape"
    for mode in ("upscale_in_train", "downscale_in_infer"):
        for training in (True, False):
            yield f"F.dropout(T(2, 3), 0.0, training={training}, mode='{mode}')"
            yield f"F.dropout(T(2, 3), 1.0, training={training}, mode='{mode}')"
            yield f"F.dropout(T(2, 3), 0.0, axis=0, training={training}, mode='{mode}')"
        yield f"F.dropout(T(2, 3), 0.4, training=False, mode='{mode}')"
        yield f"F.dropout(x=T(2, 3), p=0.4, axis=[0, 1], training=False, mode='{mode}')"


def _norms():
    x = "T(2, 4, 3, 3)"
    yield from spread(
        "F.layer_norm",
        "T(2, 3, 4)",
        "x=T(2, 3, 4, dtype='float64')",
        always="normalized_shape",
        normalized_shape="4 | [4] | [3, 4] | (4,) | [2, 3, 4]",
        epsilon="1e-5 | 0.1",
        pairs=8,
    )
    yield from spread(
        "F.layer_norm",
        "T(2, 3, 4), [3, 4]",
        weight="T(3, 4, seed=1)",
        bias="T(3, 4, seed=2)",
        epsilon="0.1",
        pairs=4,
    )
    yield from spread(
        "F.layer_norm",
        "T(2, 3, 4), 4",
        weight="None | T(4, seed=1)",
        bias="None | T(4, seed=2)",
        epsilon="0.1",
        pairs=4,
    )
    for rank in ("2, 4", "2, 4, 5", "2, 4, 3, 3", "2, 4, 2, 3, 2"):
        yield from spread(
            "F.batch_norm", f"T({rank}), paddle.zeros([4]), paddle.ones([4])", f"x=T({rank}), running_mean=paddle.full([4], 0.2), running_var=paddle.full([4], 1.5)",
            weight="None | T(4, seed=3)", bias="None | T(4, seed=4)", training=_BOTH, momentum="0.9 | 0.5", epsilon="1e-5 | 0.1", use_global_stats="None | True | False", pairs=12,
        )  # fmt: skip
    yield from spread(
        "F.batch_norm",
        "T(2, 3, 3, 4), paddle.zeros([4]), paddle.ones([4]), data_format='NHWC'",
        training=_BOTH,
        weight="T(4, seed=3)",
        bias="T(4, seed=4)",
        pairs=3,
    )
    for momentum in (0.9, 0.3):
        yield f"m, v = paddle.zeros([4]), paddle.ones([4]);; y = F.batch_norm({x}, m, v, training=True, momentum={momentum});; [y, m, v]"
    for rank in ("2, 4, 5", "2, 4, 3, 3", "2, 4, 2, 3, 2"):
        yield from spread(
            "F.instance_norm",
            f"T({rank})",
            f"x=T({rank}, dtype='float64')",
            eps="1e-5 | 0.1",
            use_input_stats="True",
            momentum="0.9 | 0.5",
            pairs=2,
        )
        yield from spread(
            "F.instance_norm", f"T({rank})", weight="T(4, seed=3)", bias="T(4, seed=4)", pairs=2
        )
        yield from spread(
            "F.group_norm",
            f"T({rank})",
            always="num_groups",
            num_groups="2 | 1 | 4",
            epsilon="1e-5 | 0.1",
            weight="None | T(4, seed=3)",
            bias="None | T(4, seed=4)",
            pairs=6,
        )
        yield from spread(
            "F.local_response_norm",
            f"T({rank})",
            always="size",
            size="2 | 3 | 5",
            alpha="1e-4 | 0.5",
            beta="0.75 | 1.0",
            k="1.0 | 2.0",
            pairs=6,
        )
    yield "F.group_norm(T(2, 3, 3, 4), 2, data_format='NHWC')"
    yield "F.local_response_norm(T(2, 3, 3, 4), 3, data_format='NHWC')"
    yield from spread(
        "F.normalize",
        "T(2, 3)",
        "x=T(2, 3, 4, dtype='float64')",
        "T(3, 4)",
        p="2 | 1 | 3 | 0.5 | float('inf')",
        axis="1 | 0 | -1",
        epsilon="1e-12 | 10.0",
        pairs=8,
    )


def _common():
    yield from spread(
        "F.linear",
        "T(2, 3), T(3, 4, seed=1)",
        "x=T(2, 5, 3), weight=T(3, 4, seed=1)",
        "T(3), T(3, 4, seed=1)",
        bias="None | T(4, seed=2)",
        pairs=4,
    )
    yield from spread(
        "F.bilinear", "T(2, 3), T(2, 4, seed=1), T(5, 3, 4, seed=2)", bias="None | T(1, 5, seed=3)"
    )
    yield from spread(
        "F.embedding",
        "I(2, 3, high=5), T(5, 4)",
        "x=I(3, high=5, dtype='int32'), weight=T(5, 4)",
        padding_idx="None | 1 | -1",
        sparse="False",
        max_norm="None | 0.5",
        norm_type="2.0 | 1.0",
        scale_grad_by_freq="False",
        pairs=6,
    )
    for n, x in _IMAGES.items():
        yield from spread(
            "F.pad",
            x,
            always="pad",
            pad=[str([1, 2] * n), str([1, 0] * n), "1"],
            mode="'constant' | 'reflect' | 'replicate' | 'circular'",
            value="0.0 | 2.5",
            data_format=f"'{_LAYOUT[n][0]}'",
            pairs=10,
        )
        yield f"F.pad({_LAST[n]}, {[1, 2] * n}, mode='replicate', data_format='{_LAYOUT[n][1]}')"
    yield from spread(
        "F.pad",
        "T(2, 3)",
        "x=I(2, 3)",
        always="pad",
        pad="[1, 2, 0, 1] | [0, 1] | paddle.to_tensor([1, 1, 0, 0]) | (1, 0, 0, 2)",
        value="0 | 3",
        pad_from_left_axis=_BOTH,
        pairs=8,
    )
    yield from spread(
        "F.zeropad2d",
        "T(2, 3, 4, 4)",
        always="padding",
        padding="1 | [1, 0, 2, 1] | (0, 1, 0, 1) | paddle.to_tensor([1, 1, 0, 0])",
        data_format="'NCHW' | 'NHWC'",
        pairs=2,
    )
    for name in ("interpolate", "upsample"):
        for mode, x, sizes, factors in (
            (
                "nearest",
                "T(1, 2, 4, 5)",
                "[8, 10] | (3, 4) | paddle.to_tensor([6, 7]) | [paddle.to_tensor(6), 7]",
                "2 | [2, 1.5] | 0.5",
            ),
            ("bilinear", "T(1, 2, 4, 5)", "[8, 10] | (3, 4) | [4, 5]", "2 | [2, 1.5] | 1.3"),
            ("bicubic", "T(1, 2, 4, 5)", "[8, 10] | (3, 4)", "2 | [2, 1.5]"),
            ("area", "T(1, 2, 4, 6)", "[2, 3] | (3, 4)", "0.5 | 2"),
            ("linear", "T(1, 2, 6)", "[9] | 4", "2 | 1.5"),
            ("trilinear", "T(1, 2, 3, 4, 3)", "[5, 6, 4] | [2, 2, 2]", "2 | [2, 1, 1.5]"),
            ("nearest", "T(1, 2, 3, 4, 3)", "[5, 6, 4]", "2"),
        ):
            align = (
                {"align_corners": _BOTH}
                if mode not in ("nearest", "area")
                else {"align_corners": "False"}
            )
            half = {"align_mode": "0 | 1"} if "linear" in mode and mode != "bicubic" else {}
            yield from spread(
                f"F.{name}",
                f"{x}, mode='{mode}'",
                always="size",
                size=sizes,
                **align,
                **half,
                pairs=4,
            )
            yield from spread(
                f"F.{name}",
                f"x={x}, mode='{mode}'",
                always="scale_factor",
                scale_factor=factors,
                **align,
                **half,
                pairs=4,
            )
    yield "F.interpolate(T(1, 4, 5, 2), [6, 7], mode='bilinear', data_format='NHWC')"
    yield "F.interpolate(T(1, 4, 5, 2), scale_factor=2, mode='nearest', data_format='NHWC')"
    yield from spread(
        "F.pixel_shuffle",
        "T(2, 8, 3, 2)",
        always="upscale_factor",
        upscale_factor="2",
        data_format="'NCHW'",
        pairs=0,
    )
    yield "F.pixel_shuffle(T(2, 3, 2, 8), 2, 'NHWC')"
    yield "F.pixel_unshuffle(T(2, 2, 4, 6), 2)"
    yield "F.pixel_unshuffle(T(2, 4, 6, 2), 2, data_format='NHWC')"
    yield "F.channel_shuffle(T(2, 6, 2, 3), 3)"
    yield "F.channel_shuffle(T(2, 2, 3, 6), 2, data_format='NHWC')"
    yield from spread(
        "F.unfold",
        "T(2, 3, 5, 6)",
        always="kernel_sizes",
        kernel_sizes="2 | [2, 3] | 3",
        strides="1 | 2 | [1, 2]",
        paddings="0 | 1 | [1, 0] | [0, 1, 1, 0]",
        dilations="1 | 2",
        pairs=14,
    )
    yield from spread(
        "F.fold",
        "T(2, 12, 12), [4, 5], 2",
        "x=T(2, 8, 6), output_sizes=[4, 3], kernel_sizes=[2, 2], paddings=0",
        strides="1",
        dilations="1",
        pairs=0,
    )
    yield "F.fold(T(2, 12, 30), [4, 5], 2, paddings=1)"
    yield "F.fold(T(2, 12, 4), (4, 4), (2, 2), strides=2)"
    yield from spread(
        "F.grid_sample",
        "T(2, 3, 4, 5), T(2, 3, 6, 2, seed=1, low=-1.3, high=1.3)",
        "x=T(1, 2, 3, 4, 5), grid=T(1, 2, 3, 4, 3, seed=1)",
        mode="'bilinear' | 'nearest'",
        padding_mode="'zeros' | 'border' | 'reflection'",
        align_corners=_BOTH,
        pairs=14,
    )
    yield from spread(
        "F.affine_grid",
        "T(2, 2, 3)",
        "theta=T(1, 2, 3)",
        always="out_shape",
        out_shape="[2, 3, 4, 5] | paddle.to_tensor([2, 3, 4, 5], 'int32') | (2, 1, 3, 3)",
        align_corners=_BOTH,
        pairs=0,
    )
    yield "F.affine_grid(T(2, 3, 4), [2, 1, 2, 3, 4], align_corners=False)"
    yield from spread(
        "F.temporal_shift",
        "T(4, 8, 3, 3), 2",
        shift_ratio="0.25 | 0.1",
        data_format="'NCHW'",
        pairs=1,
    )
    yield from spread(
        "F.scaled_dot_product_attention",
        "T(2, 4, 2, 8), T(2, 4, 2, 8, seed=1), T(2, 4, 2, 8, seed=2)",
        "query=T(2, 4, 2, 8), key=T(2, 6, 2, 8, seed=1), value=T(2, 6, 2, 8, seed=2)",
        attn_mask="None",
        is_causal=_BOTH,
        dropout_p="0.0",
        training=_BOTH,
        pairs=4,
    )
    yield "F.scaled_dot_product_attention(T(2, 4, 2, 8), T(2, 4, 2, 8, seed=1), T(2, 4, 2, 8, seed=2), T(2, 2, 4, 4, seed=3))"
    yield "F.scaled_dot_product_attention(T(2, 4, 2, 8), T(2, 4, 2, 8, seed=1), T(2, 4, 2, 8, seed=2), attn_mask=T(2, 1, 4, 4, seed=3))"
    yield "F.scaled_dot_product_attention(T(2, 4, 2, 8), T(2, 4, 2, 8, seed=1), T(2, 4, 2, 8, seed=2), attn_mask=B(2, 1, 4, 4))"
    yield from spread("F.gather_tree", "I(3, 2, 2, high=5), I(3, 2, 2, high=2)")


CASES = unique(_convolution(), _pooling(), _activations(), _norms(), _common())
