"""Nets that tools/paddle_models.py saves with Paddle, or writes with Argosy: they are of either."""


def layers(module):
    """{name: (net, [input shapes])}: a shape is of float32, or (shape, dtype, upper bound). A third entry
    are the shapes that it is saved for, where those are others. Nets whose names begin with "asked" are
    for predictors alone."""
    global paddle, nn, F  # what rewrites the nets' source does not see names of this function
    paddle, nn, F = module, module.nn, module.nn.functional

    class Control(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            y = self.linear(x)
            if y.sum() > 0:
                y = y * 2
            else:
                y = y - 1
            i = paddle.zeros([1], "int64")
            while i < 3:
                y = y + F.sigmoid(y)
                i = i + 1
            return y, F.softmax(y)

    class Recurrent(nn.Layer):
        def __init__(self, kind, way="forward"):
            super().__init__()
            self.table = nn.Embedding(20, 8)
            self.net = kind(8, 6, num_layers=2, direction=way)
            self.head = nn.Linear(6 if way == "forward" else 12, 3)

        def forward(self, ids):
            y, state = self.net(self.table(ids))
            return self.head(y), state

    class Transformer(nn.Layer):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(50, 16)
            layer = nn.TransformerEncoderLayer(16, 4, 32, activation="gelu")
            self.net = nn.TransformerEncoder(layer, 2)

        def forward(self, ids):
            x = self.table(ids)
            mask = (ids == 0).astype("float32").unsqueeze([1, 2]) * -1e4
            return self.net(x, mask)

    class Click(nn.Layer):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(100, 9)
            self.deep = nn.Sequential(nn.Linear(5 * 9 + 3, 16), nn.ReLU(), nn.Linear(16, 1))

        def forward(self, ids, dense):
            e = self.table(ids)
            first = e[:, :, :1].sum(axis=[1, 2]).unsqueeze(-1)
            rest = e[:, :, 1:]
            cross = 0.5 * (rest.sum(1) ** 2 - (rest**2).sum(1)).sum(-1, keepdim=True)
            deep = self.deep(paddle.concat([e.reshape([e.shape[0], -1]), dense], axis=1))
            return F.sigmoid(first + cross + deep)

    class WithParameter(nn.Layer):  # Paddle 2.6 cannot load a net that has none
        def __init__(self):
            super().__init__()
            self.shift = self.create_parameter([1])

    class Shapes(WithParameter):
        def forward(self, x):
            x = x + self.shift
            n, c, h, w = x.shape
            a = x.reshape([n, c * h, w]).transpose([0, 2, 1])
            b = paddle.split(a, 3, axis=2)
            d = paddle.stack([b[0], b[2]], axis=1).flatten(1, 2)
            e = paddle.expand(d[:, :1], [n, 2, d.shape[2]])
            g = paddle.tile(e, [1, 2, 1])
            k = paddle.concat([g, d[:, -4:, :]], axis=1)
            values, places = paddle.topk(k, 2, axis=-1)
            m = paddle.where(k > 0, k, paddle.zeros_like(k))
            k[:, 0, :] = 1.5
            return (
                m,
                values,
                places,
                paddle.argmax(k, -1),
                paddle.cumsum(k, 1),
                k.unsqueeze(0).squeeze(0).max(),
                F.pad(x, [1, 2, 0, 1]),
            )

    class Pixels(nn.Layer):
        def __init__(self):
            super().__init__()
            self.up = nn.Conv2DTranspose(4, 3, 3, stride=2, padding=1, output_padding=1, groups=1)
            self.norm = nn.GroupNorm(2, 4)
            self.instance = nn.InstanceNorm2D(4)
            self.prelu = nn.PReLU(4)

        def forward(self, x):
            y = self.up(self.prelu(self.norm(x) + self.instance(x)))
            a = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
            b = F.interpolate(y, size=[9, 5], mode="nearest")
            c = F.pixel_shuffle(x, 2)
            d = F.max_pool2d(x, 3, 2, 1, ceil_mode=True) + F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)
            return a, b, c, d, F.adaptive_max_pool2d(x, 2), F.unfold(x, 3, paddings=1)

    class Pointwise(WithParameter):
        def forward(self, x):
            x = x + self.shift
            names = (
                "relu relu6 silu swish mish gelu elu celu selu leaky_relu hardswish hardsigmoid hardtanh"
                " softplus softsign log_sigmoid tanhshrink hardshrink softshrink thresholded_relu"
            )
            outs = [getattr(F, name)(x) for name in names.split()]
            for name in "exp abs floor ceil round sin cos tanh square sign erf".split():
                outs.append(getattr(paddle, name)(x))
            y = paddle.abs(x) + 0.5
            outs += [
                paddle.log(y),
                paddle.sqrt(y),
                paddle.rsqrt(y),
                y**2.5,
                paddle.clip(x, -0.5, 0.5),
            ]
            outs += [
                x // y,
                x % y,
                paddle.maximum(x, y),
                x.mean(1),
                x.max(0),
                x.prod(1),
                x.logsumexp(1),
            ]
            return paddle.stack([o.flatten()[:3] for o in outs])

    class Boxes(WithParameter):
        def forward(self, x, size):
            x = x + self.shift
            boxes, scores = paddle.vision.ops.yolo_box(
                x,
                size,
                anchors=[10, 13, 16, 30],
                class_num=2,
                conf_thresh=0.01,
                downsample_ratio=32,
            )
            return boxes, scores

    class Ssd(WithParameter):
        def forward(self, x, image, prior, target):
            x = x + self.shift
            boxes, variances = paddle.vision.ops.prior_box(
                x, image, min_sizes=[4.0, 9.0], max_sizes=[7.0, 16.0], aspect_ratios=[1.0, 2.0],
                flip=True, clip=True,
            )  # fmt: skip
            prior = paddle.concat([prior, prior + 1.0], -1)
            target = paddle.concat([target, target + 1.5], -1)
            codes = paddle.vision.ops.box_coder(
                prior, [0.1, 0.1, 0.2, 0.2], target, "encode_center_size", box_normalized=False
            )
            back = paddle.vision.ops.box_coder(
                prior, prior * 0.1, codes, "decode_center_size", axis=0
            )
            return boxes, variances, codes, back

    class Labels(WithParameter):
        def forward(self, x, transitions, lengths):
            x = x + self.shift
            return [
                out
                for tagged in (True, False)
                for out in paddle.text.viterbi_decode(x, transitions, lengths, tagged)
            ]

    class Equations(WithParameter):
        def forward(self, x, y):
            x = x + self.shift
            return (
                paddle.einsum("bij,bjk->bik", x, y),
                paddle.einsum("bij,bjk->ki", x, y),
                paddle.einsum("bii->bi", x),
                paddle.einsum("bij->j", x),
                paddle.einsum("...ij,...jk->...k", x, y),
            )

    class Matrices(WithParameter):
        def forward(self, x):
            x = x + self.shift
            large = x + 6 * paddle.eye(4)
            return (
                paddle.linalg.inv(large),
                paddle.linalg.det(x),
                paddle.linalg.cholesky(paddle.matmul(x, x, transpose_y=True) + paddle.eye(4)),
                paddle.linalg.solve(large, x),
                paddle.trace(x, 1, 1, 2),
                paddle.diagonal(x, -1, 1, 2),
                paddle.cross(x[:, :3], x[:, 1:], axis=1),
                paddle.kron(x[0], x[1, :2]),
                paddle.dist(x, x * 2 + 1),
                paddle.dist(x, x * 2, 3),
                paddle.dist(x, x * 2, float("inf")),
                paddle.atan2(x, x * x),
                paddle.logit(F.sigmoid(x), 0.3),
                paddle.i0(x),
                F.channel_shuffle(x.unsqueeze(-1), 2),
            )

    class Signals(WithParameter):
        def forward(self, x):
            x = x + self.shift
            spectrum = paddle.fft.rfft(x, axis=1)
            windows = paddle.signal.stft(x[0].transpose([1, 0]), 4, hop_length=2)
            return (
                paddle.as_real(spectrum),
                paddle.fft.irfft(spectrum, axis=1),
                paddle.as_real(paddle.fft.fft2(x, norm="ortho")),
                paddle.abs(paddle.fft.ifft(spectrum)),
                paddle.fft.hfft(spectrum, axis=-1),
                paddle.as_real(windows),
                paddle.angle(spectrum) * 0 + 1,
                paddle.real(spectrum) + paddle.imag(paddle.conj(spectrum)),
                paddle.signal.istft(windows, 4, hop_length=2),
            )

    class Orders(WithParameter):
        def forward(self, x, counts):
            x = x + self.shift
            rounded = paddle.round(x * 2)
            return (
                paddle.median(x, 1),
                paddle.nanmedian(x, 2),
                paddle.mode(rounded, -1),
                paddle.cummax(x, 1),
                paddle.cummin(x, -1),
                paddle.logcumsumexp(x, 1),
                paddle.std(x, 1),
                paddle.var(x, [0, 2], unbiased=False),
                paddle.repeat_interleave(x, 2, 1),
                paddle.repeat_interleave(x, counts, 0),
                paddle.bincount(counts, minlength=3),
                paddle.histogram(x, bins=5, min=-1, max=1),
                paddle.unique_consecutive(rounded.flatten()),
                paddle.index_add(x, counts[:2], 0, x[:2]),
                paddle.diag(x[0, 0], 1, 0.5),
                paddle.renorm(x, 2.0, 0, 0.7),
                paddle.crop(x, [1, 2, 2], [0, 1, 0]),
                paddle.tril_indices(3, 4, -1),
                paddle.allclose(x, x * 1.0001, rtol=1e-3),
                paddle.isclose(x, rounded, atol=0.2),
                paddle.equal_all(x, x),
                paddle.gammaln(paddle.abs(x) + 1),
                paddle.i0e(x) + paddle.i1(x) + paddle.i1e(x) + paddle.polygamma(x + 4, 1),
                paddle.copysign(x, rounded),
                paddle.nextafter(x, rounded),
                F.rrelu(x, training=False),
                F.gumbel_softmax(x).sum(-1) * 0,
            )

    class Decompositions(WithParameter):
        def forward(self, x, y):
            x, y = (x + self.shift).reshape([2, 3, 3]), y.reshape([2, 3, 2])
            good = paddle.matmul(x, x, transpose_y=True) + 3 * paddle.eye(3)
            lower = paddle.linalg.cholesky(good)
            factors, pivots = paddle.linalg.lu(x)
            return (
                paddle.linalg.cholesky_solve(y, lower),
                paddle.linalg.triangular_solve(lower, y, upper=False),
                paddle.linalg.eigvalsh(good),
                paddle.abs(paddle.linalg.eigh(good)[1]),
                paddle.linalg.svd(x)[1],
                paddle.abs(paddle.linalg.qr(x)[1]),
                factors,
                pivots,
                paddle.linalg.lu_unpack(factors, pivots),
                paddle.linalg.matrix_power(x, 3),
                paddle.linalg.matrix_power(good, -2),
                paddle.linalg.matrix_rank(good),
                paddle.linalg.multi_dot([x[0], y[0], y[1].transpose([1, 0])]),
                paddle.linalg.slogdet(good),
                paddle.linalg.lstsq(good, y)[0],
                paddle.linalg.pinv(x),
                paddle.linalg.cov(x[0]),
                paddle.linalg.eigvals(good).real().sort(-1),
            )

    class Graphs(WithParameter):
        def forward(self, x, source, target):
            x = x + self.shift
            segments = paddle.to_tensor([0, 0, 1, 2, 2])
            return (
                *[
                    getattr(paddle.geometric, f"segment_{way}")(x, segments)
                    for way in ("sum", "mean", "min", "max")
                ],
                *[
                    paddle.geometric.send_u_recv(x, source, target, way)
                    for way in ("sum", "mean", "min", "max")
                ],
                paddle.geometric.send_ue_recv(x, x[:4], source, target, "mul", "sum"),
                paddle.geometric.send_uv(x, x * 2, source, target, "add"),
            )

    class Regions(WithParameter):
        def forward(self, x, boxes, counts):
            x = x + self.shift
            corners = paddle.concat([boxes * 4, boxes * 4 + paddle.abs(boxes) * 8 + 1], -1)
            counts = paddle.concat([counts[:1], 4 - counts[:1]])
            ops = paddle.vision.ops
            levels, restore, numbers = ops.distribute_fpn_proposals(
                corners, 2, 4, 3, 6, rois_num=counts
            )
            return (
                ops.roi_pool(x, corners, counts, 2, 0.5),
                ops.psroi_pool(x, corners, counts, 2, 0.5),
                ops.roi_align(x, corners, counts, 2, 0.5),
                ops.nms(corners, 0.3),
                *levels,
                restore,
                *numbers,
                F.interpolate(x, [3, 4], mode="area"),
                F.lp_pool2d(x, 2.0, 2),
                F.affine_grid(x[:, :2, :3, 0], [2, 4, 3, 3], False),
            )

    class Loops(nn.Layer):
        """Arrays and variables that rounds are the first to write."""

        def __init__(self):
            super().__init__()
            self.cell = nn.SimpleRNNCell(4, 4)

        def forward(self, x):
            h = paddle.zeros([paddle.shape(x)[0], 4])
            i, outs = paddle.zeros([1], "int64"), []
            while i < 3:
                y, h = self.cell(x[:, 0] * i.astype("float32"), h)
                last = y.argmax(-1)
                outs.append(y)
                i = i + 1
            return paddle.stack(outs, 1), last, h

    class Elements(WithParameter):
        def forward(self, x):
            i, outs = paddle.zeros([1], "int64"), []
            while i < 3:
                outs.append(x * self.shift + i.astype("float32"))
                i = i + 1
            return outs[0] + outs[-1], outs[1]

    class Lists(WithParameter):
        """Parts of lists that loops fill, and elements taken out of them."""

        def fill(self, x, n):
            i, outs = paddle.zeros([], "int64"), []
            while i < n:
                outs.append(x * self.shift + i.astype("float32"))
                i = i + 1
            return outs

        def forward(self, x, n):
            a, b = self.fill(x, n + 3), self.fill(x * 2, n + 4)
            total = paddle.zeros_like(x)
            for y in a[1:]:
                total = total * 0.5 + y
            first, last = b.pop(0), b.pop()
            if x.mean() > 100:
                b.pop()
            return paddle.concat(a[1:3], 0), total, first - last, paddle.stack(b, 0), a[n - 1]

    class Drawn(WithParameter):
        """What is drawn where there is nothing to choose."""

        def forward(self, x, labels):
            sure = (x * self.shift > 0).astype("float32")
            counts = paddle.full([3, 4], 6, "int64")
            return paddle.binomial(counts, sure), *F.class_center_sample(labels, 7, 2)

    class Returns(WithParameter):
        """Variables that some ways through it leave without a value, a list that has some before."""

        def large(self, x):
            for _ in range(5):
                x = x + 0.3
                if x.mean() > 0.5:
                    return x * 10
            return x

        def choice(self, x):
            if x.mean() > 0:
                if x.max() > 0.5:
                    return x + 1
                return x + 2
            elif x.min() < -0.9:
                return x + 3
            else:
                return x + 4

        def list(self, x):
            parts = [x, x + 1]
            for i in range(paddle.shape(x)[0]):
                parts.append(x * i.astype("float32"))
            return parts[0] + parts[-1], paddle.concat(parts, 0)

        def forward(self, x):
            x = x + self.shift
            large, small = self.large(x), self.large(x - 10)
            return large, small, self.choice(x), self.choice(-x), *self.list(x)

    class Ranks(WithParameter):
        def forward(self, x):
            y = x
            if x.mean() > 0:
                y = x.sum(0)
            return y * 2, self.shift * 2

    class Normalizations(nn.Layer):
        def __init__(self):
            super().__init__()
            self.own = nn.BatchNorm2D(3, use_global_stats=False)
            self.scale, self.bias = self.create_parameter([4]), self.create_parameter([4])

        def forward(self, x, y):
            f = paddle.incubate.nn.functional
            rest = {"bias": self.bias, "residual": y}
            return (
                self.own(x),
                *f.fused_rms_norm(y, self.scale, None, 1e-6, 1, **rest)[:2],
                *f.fused_layer_norm(y, self.scale, self.bias, 1e-6, 0.5, 1, **rest)[:2],
            )

    class Proposals(WithParameter):
        def forward(self, x, size):
            x = x + self.shift
            anchors = paddle.concat([x[0].transpose([1, 2, 0]) * 0] * 2, -1)
            anchors = (anchors + paddle.to_tensor([0.0, 0, 9, 9, 0, 0, 5, 12])).reshape(
                [4, 5, 2, 4]
            )
            return paddle.vision.ops.generate_proposals(
                F.sigmoid(x[:, :2]), paddle.concat([x, -x], 1), paddle.abs(size) * 9 + 4, anchors,
                paddle.ones_like(anchors), 20, 6, 0.5, 1.0, return_rois_num=True,
            )  # fmt: skip

    class Sizes(nn.Layer):
        """Asked about other sizes than it is saved for."""

        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2D(3, 4, 3)

        def forward(self, x):
            y = F.relu(self.conv(x))
            return y.mean([2, 3]), F.interpolate(y, scale_factor=2.0), y.flatten(2).argmax(-1)

    class Decided(WithParameter):
        """What is fed decides its Program."""

        def forward(self, x, size, pads):
            x = x + self.shift
            y = F.adaptive_avg_pool2d(x, [size, 2])
            return y, F.interpolate(x, scale_factor=size.astype("float32")), F.pad(x, pads)

    class Losses(WithParameter):
        def forward(self, x, labels):
            x = x + self.shift
            logs, weight = F.log_softmax(x), paddle.arange(1, 6, dtype="float32")
            return (
                F.nll_loss(logs, labels),
                F.nll_loss(logs, labels, weight, reduction="none"),
                F.kl_div(logs, F.softmax(x * 2), "sum"),
                F.smooth_l1_loss(x, x * 3, "none", 0.7),
                F.label_smooth(F.one_hot(labels, 5), epsilon=0.2),
            )

    def quantized(calibrate):
        """A small net in integers: calibrated and converted, or as training rounded it."""
        from paddle.quantization import PTQ, QAT, QuantConfig, observers, quanters

        net = nn.Sequential(
            nn.Conv2D(2, 4, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2),
            nn.Flatten(),
            nn.Linear(16, 3),
        )
        (net.eval if calibrate else net.train)()
        if calibrate:
            observer = observers.AbsmaxObserver()
            way = PTQ(QuantConfig(activation=observer, weight=observer))
            net = way.quantize(net)
        else:
            quanter = quanters.FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
            net = QAT(QuantConfig(activation=quanter, weight=quanter)).quantize(net)
        for _ in range(3):
            net(paddle.randn([4, 2, 4, 4]))
        return way.convert(net) if calibrate else net

    def ids(*shape, below=20):
        return shape, "int64", below

    nets = {
        "mlp": (
            nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 2)),
            [(3, 4)],
        ),
        "control": (Control(), [(3, 4)]),
        "transformer": (Transformer(), [ids(2, 7, below=50)]),
        "lstm": (Recurrent(nn.LSTM), [ids(2, 5)]),
        "gru_two_ways": (Recurrent(nn.GRU, "bidirect"), [ids(2, 5)]),
        "rnn": (Recurrent(nn.SimpleRNN), [ids(2, 5)]),
        "click": (Click(), [ids(4, 5, below=100), (4, 3)]),
        "shapes": (Shapes(), [(2, 6, 2, 5)]),
        "pixels": (Pixels(), [(2, 4, 5, 6)]),
        "pointwise": (Pointwise(), [(3, 4)]),
        "equations": (Equations(), [(2, 3, 3), (2, 3, 5)]),
        "ssd": (Ssd(), [(2, 4, 3, 5), (2, 3, 30, 40), (6, 2), (5, 2)]),
        "labels": (Labels(), [(3, 6, 5), (5, 5), ids(3, below=7)]),
        "matrices": (Matrices(), [(2, 4, 4)]),
        "losses": (Losses(), [(3, 5), ids(3, below=5)]),
        "boxes": (Boxes(), [(2, 14, 3, 3), ((2, 2), "int32", 100)]),
    }
    if paddle.__name__ == "paddle" and paddle.__version__.startswith("3"):  # read, not written
        nets |= {
            "signals": (Signals(), [(2, 8, 4)]),
            "orders": (Orders(), [(3, 4, 5), ids(3, below=3)]),
            "decompositions": (Decompositions(), [(2, 3, 3), (2, 3, 2)]),
            "drawn": (Drawn(), [(3, 4), ids(9, below=7)], [(3, 4), (9,)]),
            "graphs": (Graphs(), [(5, 3), ids(4, below=5), ids(4, below=5)]),
            "regions": (Regions(), [(2, 8, 6, 6), (4, 2), ((2,), "int32", 3)]),
        }
        nets |= {
            "normalizations": (Normalizations(), [(2, 3, 4, 5), (3, 4)]),
            "asked_decided": (
                Decided(),
                [(2, 3, 4, 5), ((1,), "int32", 4), ((4,), "int32", 3)],
                [(None, 3, 4, 5), (1,), (4,)],
            ),
        }
    if paddle.__name__ == "paddle":
        nets |= {
            "loops": (Loops(), [(2, 3, 4)]),
            "elements": (Elements(), [(3, 4)]),
            "lists": (Lists(), [(3, 4), ((), "int64", 6)], [(3, 4), ()]),
            "proposals": (Proposals(), [(2, 4, 4, 5), (2, 2)]),
            "asked_sizes": (Sizes(), [(3, 3, 7, 9)], [(2, 3, 8, 8)]),
        }
    if paddle.__version__.startswith("2"):  # 3.3 cannot run such nets once it has saved them
        nets["returns"] = Returns(), [(3, 4)]  # 3.3 refuses to capture these two
        nets["asked_ranks"] = Ranks(), [(3, 4)], [(None, 4)]
        nets["integers"] = quantized(True), [(3, 2, 4, 4)]
        nets["rounded"] = quantized(False), [(3, 2, 4, 4)]
    models = paddle.vision.models
    for name in (
        "resnet18 resnet50 vgg11 mobilenet_v1 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large"
        " densenet121 googlenet inception_v3 squeezenet1_0 squeezenet1_1 shufflenet_v2_x0_25 alexnet"
        " resnext50_32x4d wide_resnet50_2 LeNet"
    ).split():
        size = {"inception_v3": 299, "LeNet": 28}.get(name, 224)
        build = getattr(models, name)
        net = build() if name == "LeNet" else build(pretrained=False, num_classes=10)
        nets[name] = net, [(1, 1 if name == "LeNet" else 3, size, size)]
    return nets


def programs(paddle):
    """{name: function}: it builds a net by the static API and gives its inputs and outputs."""
    static, F = paddle.static, paddle.nn.functional

    def branches():
        given = static.data("x", [-1, 4])
        x = static.nn.fc(given, 4)
        large = static.nn.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1)
        i = paddle.full([1], 0, "int64")
        _, y = static.nn.while_loop(
            lambda i, y: i < 4, lambda i, y: [i + 1, paddle.concat([y, large], 0)], [i, large]
        )
        z = static.nn.case([(y.mean() > 100, lambda: y), (y.mean() > 1, lambda: y + 1)], lambda: -y)
        return [given], [y, z]

    def arrays_of_tensors():
        given = static.data("x", [3, 4])
        x = static.nn.fc(given, 4)
        array = paddle.tensor.create_array("float32")
        for k in range(3):
            at = paddle.full([1], k, "int64")
            paddle.tensor.array_write(x * float(k + 1), at, array)
        return [given], [paddle.tensor.array_read(array, paddle.full([1], 2, "int64")),
                     paddle.tensor.array_length(array)]  # fmt: skip

    def sequences():
        ids = static.data("ids", [-1, 1], "int64", lod_level=1)
        x = static.nn.embedding(ids, [20, 6])
        x = static.nn.sequence_lod.sequence_conv(static.nn.fc(x, 6), 6, 3)
        weight = F.softmax(static.nn.fc(x, 1), 0)
        pools = [
            static.nn.sequence_lod.sequence_pool(x * weight, p) for p in ("sum", "max", "last")
        ]
        padded, lengths = static.nn.sequence_lod.sequence_pad(x, paddle.zeros([1]))
        soft = static.nn.sequence_lod.sequence_softmax(static.nn.fc(x, 1))
        spread = static.nn.sequence_lod.sequence_expand(pools[0], x)
        return [ids], [*pools, padded, lengths, soft, spread]

    found = {"branches": branches, "arrays": arrays_of_tensors}
    if paddle.__version__.startswith("2"):
        found["sequences"] = sequences
    return found
