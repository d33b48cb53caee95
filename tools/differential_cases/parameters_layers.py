"""Parameters of layers that other topics never set, their second spellings, and data formats."""

MODES = True

_IMAGE = "T(2, 3, 6, 8)"
_LAST = "T(2, 6, 8, 3)"
_VOLUME = "T(1, 2, 4, 6, 4)"
_ROW = "T(2, 3, 8)"


def _on(layer, x, weights=False):
    return f"constant({layer})({x})" if weights else f"{layer}({x})"


def _pools():
    for n, x, last in (
        (1, _ROW, "T(2, 8, 3)"),
        (2, _IMAGE, _LAST),
        (3, _VOLUME, "T(1, 4, 6, 4, 2)"),
    ):
        letters = {1: "NCL NLC", 2: "NCHW NHWC", 3: "NCDHW NDHWC"}[n].split()
        for kind in ("Avg", "Max"):
            for format_, value in zip(letters, (x, last)):
                if n > 1:
                    yield _on(f"nn.{kind}Pool{n}D(2, data_format='{format_}')", value)
                    yield _on(f"nn.{kind}Pool{n}D(2, 1, 1, data_format='{format_}')", value)
            yield (
                _on(f"nn.layer.{kind}Pool{n}D(2, stride=1, padding=1, ceil_mode=True)", x)
                if kind == "Max"
                else _on(f"nn.AvgPool{n}D(2, ceil_mode=True)", x)
            )
        for d in ("D", "d"):
            yield _on(f"nn.AdaptiveMaxPool{n}{d}(2)", x)
            yield _on(f"nn.AdaptiveMaxPool{n}{d}(2, return_mask=True)", x)
            yield _on(f"nn.AdaptiveAvgPool{n}{d}(output_size=2)", x)
            if n < 3:
                yield _on(f"nn.LPPool{n}{d}(2.0, 2)", x)
                yield _on(
                    f"nn.LPPool{n}{d}(norm_type=3.0, kernel_size=2, stride=1, ceil_mode=True)", x
                )
                yield _on(f"nn.LPPool{n}{d}(1.0, 3, 2, padding=1)", x)
        if n > 1:
            yield _on(f"nn.AdaptiveAvgPool{n}D(2, data_format='{letters[1]}')", last)
            yield f"paddle.seed(1);; nn.FractionalMaxPool{n}D(2, random_u=0.3)({x})"
            yield f"nn.FractionalMaxPool{n}D(2, kernel_size=2, random_u=0.7, return_mask=True)({x})"
        yield (f"y, i = F.max_pool{n}d({x}, 2, return_mask=True);; nn.MaxUnPool{n}D(2)(y, i)")
        yield (
            f"y, i = F.max_pool{n}d({x}, 2, 2, return_mask=True);; nn.MaxUnPool{n}D(2, stride=2, padding=0,"
            f" data_format='{letters[0]}')(y, i)"
        )
        sizes = {1: "[9]", 2: "[7, 9]", 3: "[5, 7, 5]"}[n]
        yield f"y, i = F.max_pool{n}d({x}, 2, return_mask=True);; nn.MaxUnPool{n}D(2, output_size={sizes})(y, i)"
    yield _on("nn.AvgPool3D(2, divisor_override=3)", _VOLUME)
    yield _on("nn.AvgPool2D(2, divisor_override=3)", _IMAGE)
    yield _on("nn.AvgPool2D([2, 3], [1, 2], [1, 1], exclusive=False)", _IMAGE)


def _pads():
    inputs = {1: _ROW, 2: _IMAGE, 3: _VOLUME}
    last = {1: "T(2, 8, 3)", 2: _LAST, 3: "T(1, 4, 6, 4, 2)"}
    formats = {1: "NLC", 2: "NHWC", 3: "NDHWC"}
    for n, x in inputs.items():
        several = str([1, 2] * n)
        for kind in ("Circular", "Reflection", "Replication", "Constant"):
            for d in ("D", "d"):
                layer = f"nn.{kind}Pad{n}{d}"
                yield _on(f"{layer}(1)", x)
                yield _on(f"{layer}(padding={several})", x)
                if kind == "Constant":
                    yield _on(f"{layer}(1, 2.5)", x)
                    yield _on(f"{layer}(1, value=-1.0)", x)
            yield _on(f"nn.{kind}Pad{n}D(1, data_format='{formats[n]}')", last[n])
        yield _on(f"nn.ZeroPad{n}D(1, data_format='{formats[n]}')", last[n])
        yield _on(f"nn.ZeroPad{n}D({several})", x)


def _convolutions():
    for n, x, last in (
        (1, _ROW, "T(2, 8, 3)"),
        (2, _IMAGE, _LAST),
        (3, _VOLUME, "T(1, 4, 6, 4, 2)"),
    ):
        c = 2 if n == 3 else 3
        formats = {1: "NLC", 2: "NHWC", 3: "NDHWC"}[n]
        for layer in (f"nn.Conv{n}D", f"nn.Conv{n}d"):
            yield _on(f"{layer}({c}, 4, 3)", x, True)
            yield _on(f"{layer}({c}, 4, 3, bias_attr=False)", x, True)
            yield _on(f"{layer}({c}, {2 * c}, 3, groups={c}, padding=1)", x, True)
            yield _on(f"{layer}({c}, 4, 3, stride=2, dilation=1, padding='SAME')", x, True)
            if layer.endswith("d"):
                yield _on(f"{layer}({c}, 4, 3, bias=False)", x, True)
                yield _on(f"{layer}({c}, 4, 3, dtype='float32')", x, True)
        for mode in ("'circular'", "'reflect'", "'replicate'", "'zeros'"):
            yield _on(f"nn.Conv{n}D({c}, 4, 3, padding=1, padding_mode={mode})", x, True)
        yield _on(f"nn.Conv{n}D({c}, 4, 3, data_format='{formats}')", last, True)
        yield _on(f"nn.Conv{n}DTranspose({c}, 4, 3, data_format='{formats}')", last, True)
        yield _on(f"nn.Conv{n}DTranspose({c}, 4, 3, stride=2, output_padding=1)", x, True)
        yield _on(
            f"nn.Conv{n}DTranspose({c}, 4, 3, weight_attr=nn.initializer.Constant(0.1), bias_attr=False)",
            x,
        )
        yield f"paddle.conv{n}d({x}, T(4, {c}, {', '.join(['3'] * n)}))"
        yield (
            f"paddle.conv{n}d({x}, weight=T(4, {c}, {', '.join(['3'] * n)}), bias=T(4), stride=2, padding=1, dilation=1, groups=1)"
        )


def _norms():
    for attr in ("", ", affine=False", ", weight_attr=False", ", bias_attr=False", ", epsilon=0.1"):
        yield _on(f"nn.GroupNorm(num_groups=3, num_channels=3{attr})", _IMAGE)
    yield _on("nn.GroupNorm(3, 3, data_format='NHWC')", _LAST)
    for attr in (
        "",
        ", elementwise_affine=False",
        ", bias=False",
        ", dtype='float32'",
        ", epsilon=0.1",
        ", weight_attr=False",
        ", bias_attr=False",
    ):
        yield _on(f"nn.LayerNorm(8{attr})", _ROW)
    yield _on("nn.LayerNorm(normalized_shape=[3, 8])", _ROW)
    for n, x, last in (
        (1, _ROW, "T(2, 8, 3)"),
        (2, _IMAGE, _LAST),
        (3, "T(1, 3, 4, 6, 4)", "T(1, 4, 6, 4, 3)"),
    ):
        channels = {1: "NCL NLC", 2: "NCHW NHWC", 3: "NCDHW NDHWC"}[n].split()
        for format_, value in zip(channels, (x, last)):
            yield _on(f"nn.BatchNorm{n}D(3, data_format='{format_}')", value)
            yield f"m = nn.BatchNorm{n}D(3, momentum=0.5, epsilon=0.1, data_format='{format_}');; y = m({value});; [y, m._mean, m._variance]"
            yield f"m = nn.BatchNorm{n}D(3, data_format='{format_}', use_global_stats=True);; m({value})"
            yield f"m = nn.BatchNorm{n}D(3, data_format='{format_}');; m.eval();; m({value})"
        yield _on(f"nn.InstanceNorm{n}D(3, data_format='{channels[0]}')", x)
        yield _on(f"nn.InstanceNorm{n}D(3, epsilon=0.1, weight_attr=False, bias_attr=False)", x)
    for attr in (
        "",
        ", act='relu'",
        ", is_test=True",
        ", momentum=0.5",
        ", epsilon=0.1",
        ", data_layout='NCHW'",
        ", use_global_stats=True",
        ", trainable_statistics=True",
        ", in_place=True",
        ", param_attr=nn.initializer.Constant(0.5)",
        ", bias_attr=nn.initializer.Constant(0.5)",
        ", do_model_average_for_mean_and_var=False",
        ", moving_mean_name='mm', moving_variance_name='mv'",
        ", dtype='float32'",
    ):
        yield f"m = nn.BatchNorm(3{attr});; y = m({_IMAGE});; [y, m._mean, m._variance]"
    yield "m = nn.BatchNorm(3, data_layout='NHWC');; m(T(2, 6, 8, 3))"
    for attr in (
        "",
        ", 0.5",
        ", epsilon=0.1",
        ", weight_attr=False",
        ", bias_attr=False",
        ", data_format='NCHW'",
    ):
        yield f"m = nn.SyncBatchNorm(3{attr});; m.eval();; m({_IMAGE})"
    yield _on("nn.LocalResponseNorm(3, data_format='NCHW')", _IMAGE)
    yield _on("nn.LocalResponseNorm(3, alpha=0.1, beta=0.5, k=2.0, data_format='NHWC')", _LAST)
    for attr in ("", ", dim=1", ", power_iters=3", ", eps=1e-6", ", dtype='float32'"):
        yield f"paddle.seed(5);; m = nn.SpectralNorm([3, 4]{attr});; list(m(T(3, 4)).shape)"
    yield "paddle.group_norm(T(2, 4, 3, 3), 2)"
    yield "paddle.group_norm(x=T(2, 4, 3, 3), num_groups=2, epsilon=0.1, weight=T(4), bias=T(4, seed=1))"
    yield "paddle.layer_norm(T(2, 3), 3)"
    yield "paddle.layer_norm(x=T(2, 3), normalized_shape=[3], weight=T(3), bias=T(3, seed=1), epsilon=0.1)"
    yield "F.rms_norm(T(2, 3), [3])"
    yield "F.rms_norm(input=T(2, 3), normalized_shape=[3], weight=T(3), eps=0.1)"
    yield "F.instance_norm(T(2, 3, 4), running_mean=T(3), running_var=T(3, low=1, high=2), use_input_stats=True)"
    yield "F.instance_norm(T(2, 3, 4, 4), weight=T(3), bias=T(3, seed=1), data_format='NCHW', eps=0.1)"


def _recurrent():
    attr = "paddle.ParamAttr(initializer=nn.initializer.Constant(0.1))"
    for cell, layer in (("SimpleRNNCell", "SimpleRNN"), ("GRUCell", "GRU"), ("LSTMCell", "LSTM")):
        names = ("weight_ih_attr", "weight_hh_attr", "bias_ih_attr", "bias_hh_attr")
        for name in names:
            others = ", ".join(f"{n}={attr}" for n in names)
            wrong = others.replace(
                f"{name}={attr}",
                f"{name}=paddle.ParamAttr(initializer=nn.initializer.Constant(-0.2))",
            )
            yield f"nn.{cell}(4, 3, {wrong})(T(2, 4))"
            yield f"nn.{layer}(4, 3, {wrong})(T(2, 5, 4))"
        yield f"constant(nn.{cell}(4, 3, bias_ih_attr=False))(T(2, 4))"
        yield f"m = constant(nn.{layer}(4, 3, 2, dropout=0.5));; m.eval();; m(T(2, 5, 4))"
        yield f"constant(nn.{layer}(4, 3, direction='bidirect', time_major=True))(T(5, 2, 4))"
        yield f"constant(nn.{layer}(4, 3, num_layers=2, direction='bidirectional'))(T(2, 5, 4), None, I(2, low=1, high=5))"
        yield f"constant(nn.RNN(nn.{cell}(4, 3), is_reverse=True, time_major=True))(T(5, 2, 4))"
        yield f"constant(nn.BiRNN(nn.{cell}(4, 3), nn.{cell}(4, 3), time_major=True))(T(5, 2, 4))"
    yield "constant(nn.SimpleRNNCell(4, 3, activation='relu'))(T(2, 4))"
    yield "constant(nn.SimpleRNN(4, 3, activation='relu'))(T(2, 5, 4))"
    yield "constant(nn.LSTMCell(4, 6, proj_size=3))(T(2, 4))"
    yield "constant(nn.LSTM(4, 6, proj_size=3))(T(2, 5, 4))"
    yield "constant(nn.LSTM(4, 6, proj_size=3, num_layers=2, direction='bidirect'))(T(2, 5, 4))"


def _transformers():
    for attr in ("", ", weight_attr=False", ", weight_attr=None", ", bias_attr=False", ", activation='gelu'", ", normalize_before=True",
                 ", attn_dropout=0.0, act_dropout=0.0", ", layer_norm_eps=0.1"):  # fmt: skip
        yield f"constant(nn.TransformerEncoderLayer(4, 2, 8, 0.0{attr}))(T(2, 3, 4))"
        yield f"constant(nn.TransformerDecoderLayer(4, 2, 8, 0.0{attr}))(T(2, 3, 4), T(2, 5, 4))"
    for attr in (
        "",
        ", activation='gelu'",
        ", attn_dropout=0.0, act_dropout=0.0",
        ", normalize_before=True",
        ", bias_attr=False",
    ):
        yield f"constant(nn.Transformer(4, 2, 1, 1, 8, 0.0{attr}))(T(2, 3, 4), T(2, 5, 4))"
    yield "l = nn.TransformerDecoderLayer(4, 2, 8, 0.0);; constant(nn.TransformerDecoder(l, 2, nn.LayerNorm(4)))(T(2, 3, 4), T(2, 5, 4))"
    yield "l = nn.TransformerEncoderLayer(4, 2, 8, 0.0);; constant(nn.TransformerEncoder(l, 2, norm=nn.LayerNorm(4)))(T(2, 3, 4))"
    yield (
        "e = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 1);; d = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0), 1);; "
        "constant(nn.Transformer(4, 2, custom_encoder=e, custom_decoder=d, dropout=0.0))(T(2, 3, 4), T(2, 5, 4))"
    )
    yield "constant(nn.MultiHeadAttention(4, 2, weight_attr=nn.initializer.Constant(0.2)))(T(2, 3, 4))"
    yield "constant(nn.MultiHeadAttention(4, 2, kdim=3, vdim=5, need_weights=True))(T(2, 3, 4), T(2, 6, 3), T(2, 6, 5))"
    for attr in (
        "",
        ", attn_mask=T(3, 3)",
        ", is_causal=True",
        ", scale=0.5",
        ", dropout_p=0.0, training=False",
        ", attn_mask=B(3, 3)",
    ):
        yield f"F.scaled_dot_product_attention(T(2, 3, 2, 4), T(2, 3, 2, 4, seed=1), T(2, 3, 2, 4, seed=2){attr})"
    yield "F.scaled_dot_product_attention(T(2, 3, 4, 4), T(2, 3, 2, 4, seed=1), T(2, 3, 2, 4, seed=2), enable_gqa=True)"


def _losses():
    for reduction in ("'mean'", "'sum'", "'none'"):
        yield f"nn.MultiLabelMarginLoss(reduction={reduction})(T(2, 4), paddle.to_tensor([[0, 2, -1, 1], [3, -1, 0, 1]]))"
        yield f"F.multi_label_margin_loss(T(2, 4), paddle.to_tensor([[0, 2, -1, 1], [3, -1, 0, 1]]), reduction={reduction})"
        for name, more in (
            ("MSELoss", "T(2, 3, seed=1)"),
            ("L1Loss", "T(2, 3, seed=1)"),
            ("BCEWithLogitsLoss", "T(2, 3, low=0)"),
        ):
            yield f"nn.loss.{name}(reduction={reduction})(T(2, 3), {more})"
        yield f"nn.loss.MarginRankingLoss(margin=0.2, reduction={reduction})(T(3), T(3, seed=1), paddle.to_tensor([1.0, -1.0, 1.0]))"
        yield f"nn.loss.CrossEntropyLoss(weight=T(4, low=0), ignore_index=1, reduction={reduction})(T(3, 4), I(3, high=4))"
        yield f"nn.CTCLoss(0, {reduction}, zero_infinity=True)(T(5, 2, 4), I(2, 3, low=1, high=4, dtype='int32'), I(2, low=5, high=6), I(2, low=2, high=4))"
        yield f"nn.RNNTLoss(blank=0, fastemit_lambda=0.0, reduction={reduction})(T(1, 3, 3, 4), I(1, 2, low=1, high=4, dtype='int32'), I(1, low=3, high=4, dtype='int32'), I(1, low=2, high=3, dtype='int32'))"
        yield f"nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1), margin=0.5, reduction={reduction})(T(3, 4), T(3, 4, seed=1), T(3, 4, seed=2))"
        yield f"nn.SmoothL1Loss(reduction={reduction}, delta=0.5, is_huber=False)(T(2, 3), T(2, 3, seed=1) * 3)"
    for attr in ("use_softmax=False", "axis=1, soft_label=True", "label_smoothing=0.1"):
        x = "F.softmax(T(3, 4), 1)" if "use" in attr else "T(3, 4)"
        label = "F.softmax(T(3, 4, seed=1), 1)" if "soft_label" in attr else "I(3, high=4)"
        yield f"nn.CrossEntropyLoss({attr})({x}, {label})"
    yield "constant(nn.HSigmoidLoss(4, 5, weight_attr=None, bias_attr=False))(T(3, 4), I(3, 1, high=5))"
    yield "constant(nn.HSigmoidLoss(4, 5, is_custom=True))(T(3, 4), I(3, 1, high=5), I(3, 2, high=4), I(3, 2, high=2))"
    yield "F.hsigmoid_loss(T(3, 4), I(3, 1, high=5), 5, T(4, 4), path_table=I(3, 2, high=4), path_code=I(3, 2, high=2))"
    yield "constant(nn.AdaptiveLogSoftmaxWithLoss(4, 8, [2, 5], div_value=2.0, head_bias=True))(T(3, 4), I(3, high=8))"
    yield "constant(nn.AdaptiveLogSoftmaxWithLoss(4, 8, [2, 5], weight_attr=None, bias_attr=False))(T(3, 4), I(3, high=8))"


def _others():
    for attr in (
        "",
        ", padding_idx=1",
        ", sparse=True",
        ", max_norm=0.5",
        ", max_norm=0.5, norm_type=1.0",
        ", scale_grad_by_freq=True",
    ):
        yield f"constant(nn.Embedding(6, 3{attr}))(I(2, 4, high=6))"
    for p, more in (
        ("Dropout", ""),
        ("Dropout", ", inplace=True"),
        ("Dropout2D", ", data_format='NHWC'"),
        ("Dropout3D", ", data_format='NCDHW'"),
    ):
        x = {"Dropout": "T(2, 3)", "Dropout2D": _IMAGE, "Dropout3D": _VOLUME}[p]
        yield f"m = nn.{p}(0.5{more});; m.eval();; m({x})"
        yield f"nn.{p}(0.0{more})({x})"
    for layer, x in (
        ("nn.PixelUnshuffle(2, 'NHWC')", _LAST), ("nn.PixelUnshuffle(2, data_format='NCHW')", _IMAGE),
        ("nn.ChannelShuffle(3, 'NCHW')", _IMAGE), ("nn.ChannelShuffle(3, data_format='NHWC')", _LAST),
        ("nn.Upsample(scale_factor=2, data_format='NHWC')", _LAST), ("nn.Upsample([12, 16], mode='bilinear', data_format='NCHW')", _IMAGE),
        ("nn.UpsamplingBilinear2D([12, 16], data_format='NCHW')", _IMAGE), ("nn.UpsamplingBilinear2D(scale_factor=2, data_format='NHWC')", _LAST),
        ("nn.UpsamplingNearest2D(scale_factor=2, data_format='NHWC')", _LAST), ("nn.UpsamplingNearest2D([3, 4])", _IMAGE),
        ("nn.Upsample(scale_factor=1.5, mode='linear', data_format='NCW')", _ROW), ("nn.Silu(inplace=True)", "T(2, 3)"), ("nn.SiLU(inplace=False)", "T(2, 3)"),
        ("nn.Fold([4, 4], 2, dilations=2)", "T(2, 12, 4)"), ("nn.Fold([4, 4], 2, strides=2, paddings=1)", "T(2, 12, 9)"),
        ("constant(nn.PReLU(3, weight_attr=None))", _IMAGE), ("constant(nn.PReLU(1, 0.3, data_format='NHWC'))", _LAST),
    ):  # fmt: skip
        yield _on(layer, x)
    yield "constant(nn.Bilinear(3, 4, 5, weight_attr=None, bias_attr=False))(T(2, 3), T(2, 4))"
    yield "sorted(nn.ParameterDict({'a': paddle.create_parameter([2], 'float32')}).keys())"
    yield "sorted(nn.ParameterDict(parameters=[('b', paddle.create_parameter([2], 'float32'))]).keys())"
    yield "[type(x).__name__ for x in nn.ModuleList([nn.ReLU(), nn.Linear(2, 2)])]"
    yield "sorted(nn.ModuleDict({'a': nn.ReLU(), 'b': nn.Linear(2, 2)}).keys())"
    yield "m = nn.Module(name_scope='scope', dtype='float64');; m.create_parameter([2]).dtype"
    for name in ("Dirac()", "Dirac(groups=2)", "Orthogonal(gain=0.5)", "XavierUniform(fan_in=3)", "XavierUniform(fan_out=3)", "XavierUniform(gain=0.5)",
                 "KaimingNormal(fan_in=4)", "KaimingNormal(negative_slope=0.2)", "KaimingNormal(mode='fan_out')", "KaimingUniform(mode='fan_out')",
                 "KaimingUniform(fan_in=4, negative_slope=0.1, nonlinearity='leaky_relu')"):  # fmt: skip
        shape = "[4, 2, 3, 3]" if "Dirac" in name else "[4, 3]"
        values = "w" if "Dirac" in name else "[w.shape, bool(w.abs().max() < 4)]"
        yield f"w = paddle.create_parameter({shape}, 'float32', attr=paddle.ParamAttr(initializer=nn.initializer.{name}));; {values}"
    yield "F.dropout(T(2, 3), 0.0, inplace=True)"
    yield "F.dropout1d(T(2, 3, 4), p=0.0)"
    yield "F.dropout1d(input=T(2, 3, 4), p=0.5, training=False, inplace=False)"
    yield "F.dropout3d(T(1, 2, 3, 3, 3), 0.0, data_format='NDHWC')"
    yield "list(F.gumbel_softmax(T(2, 3), temperature=0.5, hard=True).sum(-1).shape)"
    yield "F.gumbel_softmax(T(2, 3), hard=True).sum(-1)"
    yield "F.interpolate(T(2, 3, 6, 8), scale_factor=0.5, mode='bilinear', recompute_scale_factor=True)"
    yield "F.interpolate(T(2, 3, 6, 8), size=[3, 4], mode='bilinear', antialias=True)"
    yield "F.interpolate(T(2, 3, 6, 8), size=[3, 4], mode='bicubic', align_corners=True)"
    yield "F.silu(T(2, 3), inplace=True)"
    yield "F.logsigmoid(T(2, 3))"
    yield "F.swiglu(T(2, 4))"
    yield "F.swiglu(T(2, 4), T(2, 4, seed=1))"
    yield "F.lp_pool1d(T(2, 8, 3), 2.0, 2, data_format='NLC')"
    yield "F.lp_pool2d(T(2, 6, 8, 3), 2.0, 2, data_format='NHWC')"
    yield "F.upsample(T(2, 6, 8, 3), scale_factor=2, data_format='NHWC')"
    yield "paddle.adaptive_avg_pool1d(T(2, 3, 8), 4)"
    yield "paddle.seed(3);; y, c = F.class_center_sample(I(6, high=4), 8, 6);; [y.shape, c.shape]"
    yield "constant(nn.RNN(nn.GRUCell(4, 3), time_major=True))(T(5, 2, 4))"


CASES = list(dict.fromkeys([
    *_pools(), *_pads(), *_convolutions(), *_norms(), *_recurrent(), *_transformers(), *_losses(), *_others(),
]))  # fmt: skip
