"""Every parameter of layers' constructors, with fixed weights, and the forms of their calls."""

from differential_families import spread, unique

MODES = True

_BOTH = "True | False"
_RED = "'mean' | 'sum' | 'none'"


def layer(kind, operands, /, *bases, **more):
    """As `spread`, of layers that are applied to operands."""
    return [f"constant({case})({operands})" for case in spread(f"nn.{kind}", *bases, **more)]


def _weighted():
    yield from layer(
        "Linear",
        "T(2, 3)",
        "3, 4",
        "in_features=3, out_features=2",
        weight_attr="None | nn.initializer.Constant(0.5) | paddle.ParamAttr(learning_rate=0.5)",
        bias_attr="False | None | nn.initializer.Constant(1.0)",
        name="'fc' | None",
    )
    for n, x, last in (
        (1, "2, 4, 9", "2, 9, 4"),
        (2, "2, 4, 6, 7", "2, 6, 7, 4"),
        (3, "1, 4, 5, 4, 5", "1, 5, 4, 5, 4"),
    ):
        plain, other = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[n]
        yield from layer(
            f"Conv{n}D",
            f"T({x})",
            "4, 6, 3",
            "in_channels=4, out_channels=2, kernel_size=2",
            "4, 4, 1",
            stride=["1", "2", str([2] * n)],
            padding=["0", "1", "'SAME'", str([1] * n), "'VALID'"],
            dilation="1 | 2",
            groups="1 | 2",
            padding_mode="'zeros' | 'reflect' | 'replicate' | 'circular'"
            if n < 3
            else "'zeros' | 'replicate'",
            weight_attr="nn.initializer.Constant(0.1)",
            bias_attr="False | None",
            pairs=12,
        )
        for mode in ("reflect", "replicate", "circular"):
            if n < 3 or mode != "reflect":
                yield f"constant(nn.Conv{n}D(4, 6, 3, padding=1, padding_mode='{mode}'))(T({x}))"
                yield f"constant(nn.Conv{n}D(4, 6, 3, padding=2, stride=2, padding_mode='{mode}'))(T({x}))"
        yield f"constant(nn.Conv{n}D(4, 6, 3, data_format='{other}'))(T({last}))"
        yield f"constant(nn.Conv{n}D(4, 6, 3, data_format='{plain}', stride=2))(T({x}))"
        yield from layer(
            f"Conv{n}DTranspose",
            f"T({x})",
            "4, 6, 3",
            "in_channels=4, out_channels=2, kernel_size=2",
            stride=["1", "2"],
            padding=["0", "1", "'SAME'"],
            output_padding="0",
            dilation="1 | 2",
            groups="1 | 2",
            bias_attr="False | None",
            pairs=8,
        )
        yield f"constant(nn.Conv{n}DTranspose(4, 6, 3, stride=2, output_padding=1))(T({x}))"
        for kind in ("Batch", "Instance"):
            yield from layer(
                f"{kind}Norm{n}D",
                f"T({x})",
                "4",
                "num_features=4",
                momentum="0.9 | 0.1",
                epsilon="1e-05 | 0.01",
                weight_attr="None",
                bias_attr="None",
                pairs=3,
            )
        yield f"l = constant(nn.BatchNorm{n}D(4));; l.eval();; l(T({x}))"
        yield f"l = constant(nn.BatchNorm{n}D(4, momentum=0.5));; y = l(T({x}));; [y, l._mean, l._variance]"
        yield f"l = nn.BatchNorm{n}D(4, use_global_stats=True);; l(T({x}))"
        yield f"l = nn.BatchNorm{n}D(4, weight_attr=False, bias_attr=False);; l(T({x}))"
        yield f"nn.InstanceNorm{n}D(4, weight_attr=False, bias_attr=False)(T({x}))"
        yield f"constant(nn.GroupNorm(2, 4))(T({x}))"
        yield f"constant(nn.GroupNorm(num_groups=4, num_channels=4, epsilon=0.01))(T({x}))"
        yield f"nn.LocalResponseNorm(3)(T({x}))"
        yield f"nn.LocalResponseNorm(size=2, alpha=0.1, beta=0.5, k=2.0)(T({x}))"
        common = dict(stride=["None", "1", "2"], padding="0 | 1", ceil_mode=_BOTH)
        yield from layer(
            f"MaxPool{n}D",
            f"T({x})",
            "2",
            "kernel_size=3",
            "2, 2",
            return_mask="False",
            pairs=6,
            **common,
        )
        yield from layer(
            f"AvgPool{n}D",
            f"T({x})",
            "2",
            "kernel_size=3",
            "2, 2",
            exclusive=_BOTH,
            pairs=6,
            **common,
        )
        for kind in ("Avg", "Max"):
            yield from layer(f"Adaptive{kind}Pool{n}D", f"T({x})", "2", "output_size=3", "1")
        sizes = [str([1, 2] * n), "1", str([0, 1] * n)]
        for mode in ("constant", "replicate", "circular", "reflect"):
            for size in sizes:
                yield f"nn.Pad{n}D({size}, mode='{mode}')(T({x}))"
        yield f"nn.Pad{n}D(padding=1, value=2.5)(T({x}))"
        yield f"nn.Pad{n}D(1, data_format='{other}')(T({last}))"
        yield f"nn.ZeroPad{n}D(padding={[1, 2] * n})(T({x}))"
    yield from layer(
        "LayerNorm",
        "T(2, 3, 4)",
        "4",
        "normalized_shape=[3, 4]",
        epsilon="1e-05 | 1e-3",
        weight_attr="None | False",
        bias_attr="None | False",
        pairs=6,
    )
    yield from layer(
        "Embedding",
        "I(2, 3, high=5)",
        "5, 4",
        "num_embeddings=5, embedding_dim=2",
        padding_idx="None | 1 | -1",
        sparse="False",
        weight_attr="None | nn.initializer.Constant(0.5)",
        pairs=4,
    )
    yield from layer(
        "Bilinear",
        "T(2, 3), T(2, 4, seed=1)",
        "3, 4, 2",
        "in1_features=3, in2_features=4, out_features=5",
        bias_attr="None | False",
    )
    yield from layer(
        "PReLU",
        "T(2, 4, 3, 3)",
        "",
        "4",
        num_parameters="1 | 4",
        init="0.25 | 0.5",
        data_format="'NCHW'",
    )
    for kind in ("SimpleRNN", "LSTM", "GRU"):
        yield from layer(
            kind,
            "T(2, 4, 3)",
            "3, 2",
            "input_size=3, hidden_size=4",
            num_layers="1 | 2",
            direction="'forward' | 'bidirect' | 'bidirectional'",
            bias_ih_attr="False",
            bias_hh_attr="False",
            **({"activation": "'tanh' | 'relu'"} if kind == "SimpleRNN" else {}),
            pairs=6,
        )
        yield f"constant(nn.{kind}(3, 2, time_major=True))(T(4, 2, 3))"
        yield f"constant(nn.{kind}(3, 2))(T(2, 4, 3), None, paddle.to_tensor([4, 2]))"
        yield f"constant(nn.{kind}(3, 2, direction='bidirect'))(T(2, 4, 3), sequence_length=paddle.to_tensor([3, 2]))"
        yield (
            f"constant(nn.{kind}Cell(3, 2))(T(2, 3))"
            if kind != "SimpleRNN"
            else "constant(nn.SimpleRNNCell(3, 2))(T(2, 3))"
        )
        yield (
            f"constant(nn.RNN(nn.{kind}Cell(3, 2)))(T(2, 4, 3))"
            if kind != "SimpleRNN"
            else "constant(nn.RNN(nn.SimpleRNNCell(3, 2), is_reverse=True))(T(2, 4, 3))"
        )
        cell = kind + "Cell"
        yield f"constant(nn.BiRNN(nn.{cell}(3, 2), nn.{cell}(3, 2)))(T(2, 4, 3))"
        for word in (
            "weight_ih_attr=nn.initializer.Constant(0.1)",
            "bias_ih_attr=False",
            "bias_hh_attr=False",
        ):
            yield f"constant(nn.{cell}(3, 2, {word}))(T(2, 3))"
    yield from layer(
        "MultiHeadAttention",
        "T(2, 3, 4)",
        "4, 2",
        "embed_dim=4, num_heads=1",
        dropout="0.0",
        need_weights=_BOTH,
        bias_attr="False | None",
        pairs=3,
    )
    yield "constant(nn.MultiHeadAttention(4, 2, kdim=3, vdim=5))(T(2, 3, 4), T(2, 6, 3, seed=1), T(2, 6, 5, seed=2))"
    yield "constant(nn.MultiHeadAttention(4, 2))(T(2, 3, 4), T(2, 6, 4, seed=1), T(2, 6, 4, seed=2), T(2, 2, 3, 6, seed=3))"
    yield "constant(nn.MultiHeadAttention(4, 2))(T(2, 3, 4), attn_mask=B(2, 2, 3, 3))"
    yield from layer(
        "TransformerEncoderLayer",
        "T(2, 3, 4)",
        "4, 2, 8, 0.0",
        activation="'relu' | 'gelu'",
        normalize_before=_BOTH,
        attn_dropout="0.0",
        act_dropout="0.0",
        bias_attr="None | False",
        layer_norm_eps="1e-5 | 1e-3",
        pairs=6,
    )
    yield from layer(
        "TransformerDecoderLayer",
        "T(2, 3, 4), T(2, 5, 4, seed=1)",
        "4, 2, 8, 0.0",
        activation="'relu' | 'gelu'",
        normalize_before=_BOTH,
        bias_attr="None | False",
        pairs=4,
    )
    yield "constant(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2))(T(2, 3, 4))"
    yield "constant(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 1, nn.LayerNorm(4)))(T(2, 3, 4), T(2, 2, 3, 3, seed=1))"
    yield "constant(nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0), 2))(T(2, 3, 4), T(2, 5, 4, seed=1))"
    yield "constant(nn.Transformer(4, 2, 1, 1, 8, 0.0))(T(2, 3, 4), T(2, 5, 4, seed=1))"
    yield "constant(nn.Transformer(4, 2, 1, 1, 8, 0.0, normalize_before=True))(T(2, 3, 4), T(2, 5, 4, seed=1), tgt_mask=T(2, 2, 5, 5, seed=2))"
    yield "nn.Transformer(4, 2, 1, 1, 8).generate_square_subsequent_mask(3)"
    for dim in (0, 1):
        yield f"l = constant(nn.utils.weight_norm(nn.Linear(3, 4), dim={dim}));; l(T(2, 3))"
    yield "l = constant(nn.utils.weight_norm(nn.Conv2D(2, 3, 2), name='weight'));; l(T(1, 2, 4, 4))"


def _plain():
    x = "T(2, 4, low=-3, high=3)"
    for name, values in {
        "ReLU": {}, "ReLU6": {}, "ELU": {"alpha": "1.0 | 0.3"}, "GELU": {"approximate": _BOTH}, "Hardshrink": {"threshold": "0.5 | 1.0"}, "Hardtanh": {"min": "-1.0 | -2.0", "max": "1.0 | 2.0"},
        "Hardsigmoid": {}, "Hardswish": {}, "LeakyReLU": {"negative_slope": "0.01 | 0.3"}, "LogSigmoid": {}, "LogSoftmax": {"axis": "-1 | 0"}, "Mish": {}, "SELU": {"scale": "1.05 | 2.0", "alpha": "1.67 | 1.0"},
        "CELU": {"alpha": "1.0 | 0.3"}, "Sigmoid": {}, "Silu": {}, "Softmax": {"axis": "-1 | 0"}, "Softplus": {"beta": "1 | 2", "threshold": "20 | 1"}, "Softshrink": {"threshold": "0.5 | 1.0"}, "Softsign": {}, "Swish": {},
        "Tanh": {}, "Tanhshrink": {}, "ThresholdedReLU": {"threshold": "1.0 | 0.2", "value": "0.0 | 2.0"}, "GLU": {"axis": "-1 | 0"}, "Flatten": {"start_axis": "1 | 0", "stop_axis": "-1 | 1"}, "Identity": {},
    }.items():  # fmt: skip
        yield from layer(name, x, "", **values)
        yield (
            f"nn.{name}(name='n')({x})"
            if name not in ("Identity", "Flatten", "GLU")
            else f"nn.{name}()(T(4, 2))"
        )
    yield from layer("Maxout", "T(2, 4, 3, 3)", "2", "groups=4", axis="1 | -3")
    yield "nn.Softmax2D()(T(2, 3, 4, 4))"
    yield "l = nn.RReLU(0.1, 0.3);; l.eval();; l(T(2, 4))"
    yield from layer(
        "Upsample", "T(1, 2, 4, 5)", "", size="[8, 10] | 6", scale_factor="2 | [2, 1.5]", pairs=0
    )[1:]
    yield from layer(
        "Upsample",
        "T(1, 2, 4, 5)",
        "size=[8, 9]",
        mode="'nearest' | 'bilinear' | 'bicubic'",
        align_corners="False",
        align_mode="0 | 1",
    )
    yield from layer("UpsamplingNearest2D", "T(1, 2, 4, 5)", "size=[8, 10]", "scale_factor=2")
    yield from layer("UpsamplingBilinear2D", "T(1, 2, 4, 5)", "size=[8, 10]", "scale_factor=2")
    for text, operand in (
        ("PixelShuffle(2)", "T(2, 8, 3, 2)"), ("PixelShuffle(upscale_factor=2, data_format='NHWC')", "T(2, 3, 2, 8)"), ("PixelUnshuffle(2)", "T(2, 2, 4, 6)"), ("ChannelShuffle(2)", "T(2, 4, 3, 3)"),
        ("Unflatten(1, [2, 3])", "T(2, 6)"), ("Unflatten(axis=0, shape=(2, -1))", "T(4, 3)"), ("Unfold(2)", "T(1, 3, 4, 4)"), ("Unfold(kernel_sizes=[2, 2], strides=2, paddings=1, dilations=1)", "T(1, 3, 4, 4)"),
        ("Fold([4, 5], 2)", "T(2, 12, 12)"), ("Fold(output_sizes=[4, 4], kernel_sizes=[2, 2], strides=2)", "T(2, 12, 4)"), ("CosineSimilarity()", "T(2, 3), T(2, 3, seed=1)"), ("CosineSimilarity(axis=0, eps=0.1)", "T(2, 3), T(2, 3, seed=1)"),
        ("PairwiseDistance()", "T(2, 3), T(2, 3, seed=1)"), ("PairwiseDistance(p=1.0, epsilon=0.1, keepdim=True)", "T(2, 3), T(2, 3, seed=1)"), ("LPPool1D(2, 2)", "T(2, 3, 8, low=0.1)"), ("LPPool2D(norm_type=3, kernel_size=2, stride=1)", "T(2, 3, 6, 6, low=0.1)"),
        ("MaxPool2D(2, return_mask=True)", "T(1, 2, 4, 4)"), ("MaxPool1D(2, return_mask=True)", "T(1, 2, 4)"), ("AdaptiveMaxPool2D(2, return_mask=True)", "T(1, 2, 5, 4)"), ("AdaptiveAvgPool2D((None, 2))", "T(1, 2, 5, 4)"),
        ("AvgPool2D(2, divisor_override=3)", "T(1, 2, 4, 4)"), ("MaxPool2D(kernel_size=[2, 3], stride=[1, 2], padding=[1, 0])", "T(1, 2, 5, 6)"),
        ("Dropout(0.0)", "T(2, 3)"), ("Dropout(p=0.3, mode='downscale_in_infer')", "T(2, 3)"), ("AlphaDropout(0.3)", "T(2, 3)"), ("Dropout2D(0.3)", "T(2, 3, 2, 2)"), ("Dropout3D(0.3)", "T(2, 3, 2, 2, 2)"), ("FeatureAlphaDropout(0.3)", "T(2, 3, 2)"),
    ):  # fmt: skip
        yield f"l = nn.{text};; l.eval();; l({operand})"
    for text in (
        "nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))",
        "nn.Sequential(('a', nn.Linear(3, 2)), ('b', nn.Tanh()))",
        "nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3), nn.GELU())",
        "nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Sigmoid())",
    ):
        yield f"constant({text})(T(2, 3))"
        yield f"N = constant({text});; N.eval();; N(T(2, 3))"
        yield f"N = constant({text});; x = T(2, 3);; (N(x) ** 2).mean()"
    for text in (
        "nn.Sequential(nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(16, 2))",
        "nn.Sequential(nn.Conv2D(3, 4, 3), nn.GroupNorm(2, 4), nn.SiLU() if hasattr(nn, 'SiLU') else nn.Silu(), nn.AdaptiveAvgPool2D(1), nn.Flatten())",
    ):
        yield f"constant({text})(T(2, 3, 4, 4))"
        yield f"N = constant({text});; N.eval();; N(T(2, 3, 4, 4))"


def _losses():
    a, b, unit = "T(3, 4)", "T(3, 4, seed=1)", "T(3, 4, seed=1, low=0.1, high=0.9)"
    sign = "paddle.sign(T(3, 4, seed=2))"
    for name, operands, values in (
        ("MSELoss", f"{a}, {b}", {}), ("L1Loss", f"{a}, {b}", {}), ("SmoothL1Loss", f"{a}, {b}", {"delta": "1.0 | 0.3"}), ("KLDivLoss", f"{a}, {unit}", {"log_target": _BOTH}),
        ("BCELoss", f"{unit}, T(3, 4, seed=4, low=0.1, high=0.9)", {"weight": "None | T(4, seed=2, low=0.1)"}), ("BCEWithLogitsLoss", f"{a}, {unit}", {"weight": "None | T(4, seed=2, low=0.1)", "pos_weight": "T(4, seed=3, low=0.5)"}),
        ("CrossEntropyLoss", "T(3, 4), I(3, high=4)", {"weight": "None | T(4, seed=2, low=0.1)", "ignore_index": "-100 | 1", "label_smoothing": "0.0 | 0.1", "axis": "-1"}),
        ("CrossEntropyLoss", "T(3, 4), F.softmax(T(3, 4, seed=1))", {"soft_label": "True", "label_smoothing": "0.1"}),
        ("NLLLoss", "F.log_softmax(T(3, 4)), I(3, high=4)", {"weight": "None | T(4, seed=2, low=0.1)", "ignore_index": "-100 | 1"}), ("MarginRankingLoss", f"{a}, {b}, {sign}", {"margin": "0.0 | 0.4"}),
        ("HingeEmbeddingLoss", f"{a}, {sign}", {"margin": "1.0 | 0.4"}), ("CosineEmbeddingLoss", "T(3, 4), T(3, 4, seed=1), paddle.sign(T(3, seed=2))", {"margin": "0 | 0.4"}),
        ("TripletMarginLoss", "T(3, 4), T(3, 4, seed=1), T(3, 4, seed=2)", {"margin": "1.0 | 0.4", "p": "2.0 | 1.0", "epsilon": "1e-6 | 0.1", "swap": _BOTH}), ("TripletMarginWithDistanceLoss", "T(3, 4), T(3, 4, seed=1), T(3, 4, seed=2)", {"margin": "1.0 | 0.4", "swap": _BOTH}),
        ("SoftMarginLoss", f"{a}, {sign}", {}), ("MultiLabelSoftMarginLoss", f"{a}, I(3, 4, high=2).astype('float32')", {"weight": "T(4, seed=2, low=0.1)"}), ("MultiMarginLoss", "T(3, 4), I(3, high=4)", {"p": "1 | 2", "margin": "1.0 | 0.4", "weight": "T(4, seed=2, low=0.1)"}),
        ("PoissonNLLLoss", f"{a}, {unit}", {"log_input": _BOTH, "full": _BOTH, "epsilon": "1e-8 | 0.1"}), ("GaussianNLLLoss", f"{a}, {b}, {unit}", {"full": _BOTH, "epsilon": "1e-6 | 0.5"}),
    ):  # fmt: skip
        yield from layer(
            name,
            operands,
            *([""] if "soft_label" not in values else ["soft_label=True"]),
            reduction=_RED,
            **{k: v for k, v in values.items() if k != "soft_label"},
            pairs=6,
        )
    yield from layer(
        "CTCLoss",
        "T(5, 2, 4), I(2, 2, low=1, high=4, dtype='int32'), paddle.to_tensor([5, 4]), paddle.to_tensor([2, 1])",
        "",
        blank="0",
        reduction=_RED,
    )
    yield from layer(
        "HSigmoidLoss",
        "T(3, 4), I(3, 1, high=5)",
        "4, 5",
        "feature_size=4, num_classes=5",
        bias_attr="None | False",
    )
    yield "constant(nn.AdaptiveLogSoftmaxWithLoss(4, 8, [2, 5]))(T(3, 4), I(3, high=8))"
    yield "constant(nn.AdaptiveLogSoftmaxWithLoss(in_features=4, n_classes=8, cutoffs=[3], div_value=2.0, head_bias=True))(T(3, 4), I(3, high=8))"


CASES = unique(_weighted(), _plain(), _losses())
