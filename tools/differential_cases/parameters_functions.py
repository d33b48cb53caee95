"""Parameters of functions of tensors that other topics never set: vision, geometry, fused layers, linear
algebra, sound."""

MODES = True

_SQUARE = "T(3, 3) + 3 * paddle.eye(3)"
_BOXES = "paddle.to_tensor([[0.0, 0.0, 3.0, 3.0], [1.0, 1.0, 5.0, 4.0], [0.5, 0.0, 3.2, 3.1]])"
_COUNTS = "paddle.to_tensor([2, 1], dtype='int32')"


def _vision():
    for more in (
        "",
        ", spatial_scale=0.5",
        ", sampling_ratio=2",
        ", aligned=False",
        ", spatial_scale=0.5, sampling_ratio=1, aligned=True",
    ):
        yield f"paddle.vision.ops.roi_align(T(2, 3, 6, 6), {_BOXES}, {_COUNTS}, 2{more})"
        yield f"paddle.vision.ops.roi_align(T(2, 3, 6, 6), {_BOXES}, {_COUNTS}, (2, 3){more})"
    for more in ("", ", 0.5", ", spatial_scale=2.0"):
        yield f"paddle.vision.ops.roi_pool(T(2, 3, 6, 6), {_BOXES}, {_COUNTS}, 2{more})"
        yield f"paddle.vision.ops.roi_pool(x=T(2, 3, 6, 6), boxes={_BOXES}, boxes_num={_COUNTS}, output_size=(2, 1){more.replace(', 0.5', ', spatial_scale=0.5')})"
        yield f"paddle.vision.ops.psroi_pool(T(2, 8, 6, 6), {_BOXES}, {_COUNTS}, 2{more})"
    for layer, channels in (("RoIAlign", 3), ("RoIPool", 3), ("PSRoIPool", 8)):
        for arguments in ("2", "2, 0.5", "output_size=2, spatial_scale=2.0"):
            yield f"paddle.vision.ops.{layer}({arguments})(T(2, {channels}, 6, 6), {_BOXES}, {_COUNTS})"
    for more in (
        "",
        ", bias=T(4)",
        ", stride=2",
        ", padding=1",
        ", dilation=2",
        ", mask=T(2, 9, {h}, {w}, low=0)",
        ", stride=2, padding=1, bias=T(4), mask=T(2, 9, {h}, {w}, low=0)",
    ):
        stride, padding, dilation = (
            2 if "stride" in more else 1,
            1 if "padding" in more else 0,
            2 if "dilation" in more else 1,
        )
        h = (7 + 2 * padding - 2 * dilation - 1) // stride + 1
        more = more.format(h=h, w=h)
        yield f"paddle.vision.ops.deform_conv2d(T(2, 2, 7, 7), T(2, 18, {h}, {h}), T(4, 2, 3, 3){more})"
    yield "paddle.vision.ops.deform_conv2d(T(2, 4, 7, 7), T(2, 18, 5, 5), T(4, 2, 3, 3), groups=2)"
    yield "paddle.vision.ops.deform_conv2d(T(2, 4, 7, 7), T(2, 36, 5, 5), T(4, 4, 3, 3), deformable_groups=2)"
    for more in (
        "",
        ", stride=2",
        ", padding=1",
        ", bias_attr=False",
        ", groups=2",
        ", deformable_groups=2",
    ):
        h = 3 if "stride" in more else 7 if "padding" in more else 5
        offsets = 36 if "deformable" in more else 18
        yield f"constant(paddle.vision.ops.DeformConv2D(4, 4, 3{more}))(T(2, 4, 7, 7), T(2, {offsets}, {h}, {h}))"
        yield f"constant(paddle.vision.ops.DeformConv2D(4, 4, 3{more}))(T(2, 4, 7, 7), T(2, {offsets}, {h}, {h}), T(2, {offsets // 2}, {h}, {h}, low=0))"
    yield f"paddle.vision.ops.nms({_BOXES}, 0.3)"
    yield f"paddle.vision.ops.nms({_BOXES}, iou_threshold=0.5, scores=T(3, low=0))"
    yield f"paddle.vision.ops.nms({_BOXES}, 0.3, T(3, low=0), paddle.to_tensor([0, 1, 0]), [0, 1])"
    yield f"paddle.vision.ops.nms({_BOXES}, 0.9, T(3, low=0), category_idxs=paddle.to_tensor([0, 1, 0]), categories=[0, 1], top_k=2)"
    for code in ("'encode_center_size'", "'decode_center_size'"):
        target = "T(3, 4, low=0)" if "encode" in code else "T(2, 3, 4)"
        axis = "" if "encode" in code else ", axis=0"
        for normalized in ("", ", box_normalized=False"):
            yield f"paddle.vision.ops.box_coder(T(3, 4, low=0), [0.1, 0.1, 0.2, 0.2], {target}, {code}{normalized}{axis})"
            yield f"paddle.vision.ops.box_coder(prior_box=T(3, 4, low=0), prior_box_var=T(3, 4, low=0.1), target_box={target}, code_type={code}{normalized}{axis})"
    yield "paddle.vision.ops.box_coder(T(3, 4, low=0), [0.1, 0.1, 0.2, 0.2], T(3, 2, 4), 'decode_center_size', axis=1)"
    for more in (
        "",
        ", max_sizes=[6.0]",
        ", aspect_ratios=[1.0, 2.0]",
        ", aspect_ratios=[2.0], flip=True",
        ", clip=True",
        ", steps=[2.0, 3.0]",
        ", offset=0.3",
        ", variance=[0.1, 0.2, 0.3, 0.4]",
        ", max_sizes=[6.0], aspect_ratios=[2.0], min_max_aspect_ratios_order=True",
    ):
        yield f"paddle.vision.ops.prior_box(T(1, 2, 3, 3), T(1, 3, 9, 9), [4.0]{more})"
    for more in ("", ", clip_bbox=False", ", scale_x_y=1.2"):
        yield f"paddle.vision.ops.yolo_box(T(2, 14, 3, 3), paddle.to_tensor([[96, 96], [64, 96]], dtype='int32'), [10, 13, 16, 30], 2, 0.01, 32{more})"
    yield "paddle.vision.ops.yolo_box(T(2, 16, 3, 3), paddle.to_tensor([[96, 96], [64, 96]], dtype='int32'), [10, 13, 16, 30], 2, 0.01, 32, iou_aware=True, iou_aware_factor=0.4)"
    for more in ("", ", use_label_smooth=False", ", scale_x_y=1.2", ", gt_score=T(2, 3, low=0)"):
        yield (
            "paddle.vision.ops.yolo_loss(T(2, 14, 3, 3), T(2, 3, 4, low=0.1, high=0.8), I(2, 3, high=2, dtype='int32'), [10, 13, 16, 30, 33, 23],"
            f" [0, 1], 2, 0.7, 32{more})"
        )
    for more in ("", ", use_gaussian=True", ", use_gaussian=True, gaussian_sigma=1.0", ", background_label=-1", ", normalized=False", ", return_index=True",
                 ", return_rois_num=False"):  # fmt: skip
        yield f"paddle.vision.ops.matrix_nms(T(1, 5, 4, low=0), T(1, 2, 5, low=0), 0.1, 0.05, 4, 3{more})"
    for more in (", pixel_offset=True", ""):
        more += ", rois_num=paddle.to_tensor([2, 1], dtype='int32')"
        yield f"paddle.vision.ops.distribute_fpn_proposals(paddle.to_tensor([[0.0, 0.0, 10.0, 10.0], [2.0, 2.0, 200.0, 150.0], [5.0, 5.0, 60.0, 70.0]]), 2, 4, 3, 64{more})"
    for more in ("", ", pixel_offset=True", ", min_size=2.0, eta=0.9"):
        more += ", return_rois_num=True"
        yield (
            "paddle.vision.ops.generate_proposals(T(1, 2, 3, 3, low=0), T(1, 8, 3, 3), paddle.to_tensor([[24.0, 24.0]]), T(3, 3, 2, 4, low=0, high=20),"
            f" T(3, 3, 2, 4, low=0.5, high=1), 10, 5, 0.7{more})"
        )


def _geometry():
    for reduce in ("'sum'", "'mean'", "'max'", "'min'"):
        for size in ("", ", out_size=5"):
            yield f"paddle.geometric.send_u_recv(T(4, 3), I(6, high=4), I(6, high=4, seed=1), {reduce}{size})"
            yield f"paddle.geometric.send_ue_recv(T(4, 3), T(6, 3), I(6, high=4), I(6, high=4, seed=1), 'add', {reduce}{size})"
        yield f"paddle.incubate.graph_send_recv(T(4, 3), I(6, high=4), I(6, high=4, seed=1), pool_type={reduce})"
        yield f"paddle.incubate.graph_send_recv(T(4, 3), I(6, high=4), I(6, high=4, seed=1), {reduce}, out_size=4)"
    for name in ("max", "min", "mean", "sum"):
        yield f"paddle.geometric.segment_{name}(T(4, 2), paddle.to_tensor([0, 0, 1, 2]))"
        yield f"paddle.incubate.segment_{name}(data=T(4, 2), segment_ids=paddle.to_tensor([0, 0, 1, 3]))"
    graph = "paddle.to_tensor([0, 5, 1, 2]), paddle.to_tensor([8, 9, 0, 4, 7, 6, 7, 1]), paddle.to_tensor([2, 3, 1, 2], dtype='int32')"
    yield f"paddle.geometric.reindex_graph({graph})"
    yield f"paddle.incubate.graph_reindex({graph})"
    yield (
        "paddle.geometric.reindex_heter_graph(paddle.to_tensor([0, 1, 2]), [paddle.to_tensor([8, 9, 0, 4, 7, 6, 7]), paddle.to_tensor([0, 2, 3, 5, 1])],"
        " [paddle.to_tensor([2, 3, 2], dtype='int32'), paddle.to_tensor([1, 3, 1], dtype='int32')])"
    )
    csc = "paddle.to_tensor([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7]), paddle.to_tensor([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13])"
    yield f"y, n = paddle.geometric.sample_neighbors({csc}, paddle.to_tensor([0, 8, 1, 2]), 1);; n"
    yield f"y, n = paddle.geometric.weighted_sample_neighbors({csc}, T(13, low=0.1), paddle.to_tensor([0, 8, 1, 2]), 1);; n"
    yield f"y, n = paddle.incubate.graph_sample_neighbors({csc}, paddle.to_tensor([0, 8, 1, 2]), sample_size=1);; n"


def _fused():
    N = "paddle.incubate.nn.functional"
    for name in ("fused_linear", "fused_matmul_bias"):
        yield f"{N}.{name}(T(2, 3), T(3, 4))"
    yield f"{N}.fused_linear(T(2, 3), T(4, 3), transpose_weight=True)"
    yield f"{N}.fused_matmul_bias(T(3, 2), T(3, 4), transpose_x=True)"
    yield f"{N}.fused_matmul_bias(T(2, 3), T(4, 3), transpose_y=True)"
    for more in ("", ", training=False", ", mode='downscale_in_infer', training=False"):
        yield f"{N}.fused_dropout_add(T(2, 3), T(2, 3, seed=1), p=0.0{more})"
        yield f"{N}.fused_dropout_add(T(2, 3), T(2, 3, seed=1), p=0.5{more or ', training=False'})"
    yield f"{N}.swiglu(T(2, 4), y=T(2, 4, seed=1))"
    for layer in ("FusedDropoutAdd(0.0)", "FusedDropoutAdd(p=0.0, mode='downscale_in_infer')"):
        yield f"m = paddle.incubate.nn.{layer};; m.eval();; m(T(2, 4), T(2, 4, seed=1))"
    yield "constant(paddle.incubate.nn.FusedLinear(4, 3, bias_attr=False))(T(2, 4))"


def _linear_algebra():
    yield "paddle.linalg.cross(T(2, 3), T(2, 3, seed=1))"
    yield "paddle.linalg.cross(T(3, 2), T(3, 2, seed=1), axis=0)"
    yield f"paddle.linalg.lu({_SQUARE}, pivot=True)"
    yield f"paddle.linalg.lu({_SQUARE}, True, True)"
    for more in ("", ", trans='T'", ", 'N'"):
        yield f"a, p = paddle.linalg.lu({_SQUARE});; paddle.linalg.lu_solve(T(3, 2), a, p{more})"
    for more in ("", ", unpack_ludata=False", ", unpack_pivots=False"):
        yield f"a, p = paddle.linalg.lu({_SQUARE});; [t for t in paddle.linalg.lu_unpack(a, p{more}) if t is not None]"
    for more in (
        "",
        ", atol=0.1",
        ", rtol=0.1",
        ", atol=paddle.to_tensor(0.1), rtol=paddle.to_tensor(0.2)",
        ", tol=0.5",
        ", hermitian=True",
    ):
        x = (
            "paddle.matmul(T(3, 3), T(3, 3), transpose_y=True)"
            if "hermitian" in more
            else "T(3, 4)"
        )
        yield f"paddle.linalg.matrix_rank({x}{more})"
    yield "paddle.linalg.matrix_transpose(T(2, 3, 4))"
    yield "paddle.linalg.matrix_transpose(x=T(3, 4))"
    yield "paddle.linalg.vecdot(T(2, 3), T(2, 3, seed=1))"
    yield "paddle.linalg.vecdot(x=T(2, 3), y=T(2, 3, seed=1), axis=0)"
    yield "paddle.vecdot(T(2, 3), T(2, 3, seed=1), axis=0)"
    yield "paddle.linalg.pinv(paddle.matmul(T(3, 3), T(3, 3), transpose_y=True), hermitian=True)"
    yield "paddle.linalg.pinv(T(3, 4), rcond=0.1)"
    yield "paddle.linalg.vector_norm(T(2, 3), dtype='float64')"
    yield "u, s, v = paddle.linalg.svd_lowrank(T(6, 4), q=4, niter=3);; s"
    yield "u, s, v = paddle.linalg.svd_lowrank(T(6, 4), q=4, M=T(6, 4, seed=1));; s"
    yield "u, s, v = paddle.linalg.pca_lowrank(T(6, 4), q=4, center=False, niter=3);; s"
    yield "u, s, v = paddle.linalg.pca_lowrank(T(6, 4), 4);; s"
    spd = "(lambda a: paddle.matmul(a, a, transpose_y=True) + 3 * paddle.eye(3))(T(3, 3))"
    for upper in ("False", "True"):
        yield f"paddle.cholesky({spd}, upper={upper})"
        yield f"{spd}.cholesky({upper})"
        yield f"T(3, 2).cholesky_solve({spd}.cholesky(upper={upper}), upper={upper})"
        yield f"paddle.linalg.cholesky_inverse({spd}.cholesky(upper={upper}), upper={upper})"
        yield f"{spd}.cholesky(upper={upper}).cholesky_inverse(upper={upper})"
        yield f"{spd}.eigvalsh(UPLO='{'U' if upper == 'True' else 'L'}')"
    for p in ("None", "'fro'", "'nuc'", "1", "-1", "2", "-2", "float('inf')"):
        yield f"({_SQUARE}).cond(p={p})"
    for more in (
        "",
        ", rowvar=False",
        ", ddof=False",
        ", fweights=I(4, low=1)",
        ", aweights=T(4, low=0.1)",
    ):
        yield (
            f"T(3, 4).cov({more[2:]})"
            if "weights" not in more
            else f"paddle.linalg.cov(T(3, 4){more})"
        )
    yield "T(3, 4).corrcoef(rowvar=False)"
    yield "[t for t in T(4, 3).lstsq(T(4, 2), rcond=1e-6, driver='gels')][0]"
    yield f"({_SQUARE}).lu(pivot=True, get_infos=True)"
    yield f"({_SQUARE}).matrix_power(n=3)"
    yield f"({_SQUARE}).qr(mode='r')"
    yield f"({_SQUARE}).solve(T(3, 2), left=True)"
    yield f"paddle.linalg.solve({_SQUARE}, T(2, 3), left=False)"
    yield "T(4, 3).householder_product(T(3))"
    for more in ("", ", left=False", ", transpose=True"):
        other = "T(2, 3)" if "left" in more else "T(3, 2)"
        yield f"T(3, 3).ormqr(T(3), {other}{more})"
    yield "T(2).outer(T(3))"


def _second_names():
    for text in (
        "msort(T(3, 2))", "msort(input=T(3, 2))", "narrow(T(3, 4), 1, 1, 2)", "narrow(input=T(3, 4), dim=0, start=-2, length=1)", "negative(T(2))", "ravel(T(2, 3))",
        "ravel(input=T(2, 3))", "argwhere(T(2, 3) > 0)", "argwhere(input=I(2, 3, high=2))", "swapdims(T(2, 3), [1, 0])", "view_as_complex(T(2, 2))",
        "view_as_complex(input=T(2, 2))", "view_as_real(T(2, dtype='complex64'))", "view_as_real(input=T(2, dtype='complex64'))",
        "take_along_dim(T(3, 2), I(1, 2, high=3), 0)", "take_along_dim(arr=T(3, 2), indices=I(1, 2, high=3), axis=0, broadcast=True)",
        "scatter_add(T(3, 2), 0, I(2, 2, high=3), T(2, 2, seed=1))", "scatter_add(input=T(3, 2), dim=0, index=I(2, 2, high=3), src=T(2, 2, seed=1))",
        "scatter_reduce(T(3, 2), 0, I(2, 2, high=3), T(2, 2, seed=1), 'sum')", "scatter_reduce(T(3, 2), 0, I(2, 2, high=3), T(2, 2, seed=1), reduce='amax', include_self=False)",
        "scatter_reduce(T(3, 2), 0, I(2, 2, high=3), T(2, 2, seed=1), reduce='mean')", "scatter_reduce(T(3, 2), 0, I(2, 2, high=3), T(2, 2, seed=1), 'prod')",
        "index_add(T(3, 2), I(2, high=3), 0, T(2, 2, seed=1), alpha=2)", "as_tensor([1.0, 2.0])", "as_tensor(data=[1, 2], dtype='float64')", "asarray([1.0, 2.0])",
        "asarray(obj=[1, 2], dtype='float32', copy=True)", "from_numpy(np.ones([2, 3]))", "from_numpy(ndarray=np.arange(3))", "range(1, 5)", "range(0.0, 1.0, 0.25)",
        "range(start=1, end=7, step=2, dtype='int64')", "rand_like(input=T(2, 3), dtype='float64').shape", "randn_like(T(2, 3), dtype='float64').dtype",
        "unique(I(6, high=4), sorted=True)", "unique(I(6, high=4), sorted=False)", "sub(T(2), T(2, seed=1), alpha=2)", "div(T(2), T(2, seed=1), rounding_mode='trunc')",
        "div(x=T(2), y=T(2, seed=1), rounding_mode='floor')", "clamp(T(3), -0.1, 0.1)", "clamp(x=T(3), min=0.0)", "clamp(T(3), max=paddle.to_tensor(0.2))",
        "floor_mod(T(2), T(2, seed=1, low=0.5))", "softmax(T(2, 3))", "softmax(T(2, 3), 0, dtype='float64')", "searchsorted(T(4).sort(), T(3), side='left')",
        "isin(I(4), I(2), invert=True)", "standard_gamma(T(2, low=1)).shape", "randint_like(T(2, 3), 1, 5).shape", "log_normal(0.0, 1.0, [2]).shape",
        "text.viterbi_decode(T(2, 3, 4), T(4, 4), I(2, low=1, high=4), False)", "text.ViterbiDecoder(T(4, 4), include_bos_eos_tag=False)(T(2, 3, 4), I(2, low=1, high=4))",
        "signal.stft(T(1, 64), 16, 8)", "signal.stft(T(1, 64), 16, hop_length=4, win_length=8, window=T(8, low=0.1), center=False)", "signal.stft(T(1, 64), 16, normalized=True, onesided=False, pad_mode='constant')",
        "signal.istft(paddle.signal.stft(T(1, 64), 16, 8), 16, hop_length=8, length=64)", "signal.istft(paddle.signal.stft(T(1, 64), 16, 4, 12), 16, 4, win_length=12, normalized=False)",
        "signal.istft(paddle.signal.stft(T(1, 64), 16, 8, window=T(16, low=0.5)), 16, 8, window=T(16, low=0.5), center=True)",
        "signal.istft(paddle.signal.stft(T(1, 64), 16, 8, onesided=False), 16, 8, onesided=False, return_complex=True)",
        "metric.accuracy(T(4, 3), I(4, 1, high=3), k=2)",
    ):  # fmt: skip
        yield f"paddle.{text}"
    for text in (
        "T(3, 2).msort()", "T(3, 4).narrow(1, 1, 2)", "T(2, 3).ravel()", "T(3, 2).scatter_add(0, I(2, 2, high=3), T(2, 2, seed=1))", "T(5).split_with_sizes([2, 3])", "T(5, 2).split_with_sizes(split_sizes=[1, 1], dim=1)",
        "T(3, 2).take_along_dim(I(1, 2, high=3), 0)", "T(2, 3).swapdims([1, 0])", "T(2).true_divide(T(2, seed=1))", "T(2, 3).stride()", "T(2, 3).stride(0)", "T(2).new_full([2], 3.0)",
        "T(2).new_full(size=[2], fill_value=3, dtype='int64')", "T(2).new_zeros([2, 3])", "T(2).new_zeros(size=[2], dtype='int32')", "T(2).new_ones([2], dtype='bool')", "T(2).new_empty([2, 3]).shape",
        "T(2).new_empty(size=(2,), dtype='float64').dtype", "T(2, 3).sub(T(2, 3, seed=1), alpha=0.5)", "T(2).eq(T(2))", "T(2).ne(y=T(2, seed=1))", "T(2).gt(T(2, seed=1))", "T(2).le(T(2, seed=1))",
        "T(2).div(T(2, seed=1), rounding_mode='floor')", "T(3).clamp(min=-0.1, max=0.1)", "I(6, high=4).unique(sorted=True)", "T(2, 3).norm(dtype='float64')", "T(2, 3).softmax(dtype='float64')", "T(2, 3).softmax(0)",
    ):  # fmt: skip
        yield text


def _sound():
    for more in ("", ", hop_length=8", ", win_length=12", ", window='hamming'", ", power=1.0", ", center=False", ", pad_mode='constant'", ", f_min=10.0", ", f_max=60.0", ", htk=True",
                 ", norm=2.0", ", dtype='float64'"):  # fmt: skip
        x = "T(1, 64, dtype='float64')" if "float64" in more else "T(1, 64)"
        plain = all(word not in more for word in ("f_m", "htk", "norm"))
        if plain:
            yield f"paddle.audio.features.Spectrogram(n_fft=16{more})({x})"
        yield f"paddle.audio.features.MelSpectrogram(sr=128, n_fft=16, n_mels=4{more if 'f_m' in more else more + ', f_min=5.0'})({x})"
        yield f"paddle.audio.features.LogMelSpectrogram(sr=128, n_fft=16, n_mels=4{more if 'f_m' in more else more + ', f_min=5.0'})({x})"
        if "norm" not in more:
            yield f"paddle.audio.features.MFCC(sr=128, n_mfcc=3, n_fft=16, n_mels=4{more if 'f_m' in more else more + ', f_min=5.0'})({x})"
    for more in ("ref_value=0.5", "amin=1e-5", "top_db=20.0"):
        yield f"paddle.audio.features.LogMelSpectrogram(sr=128, n_fft=16, n_mels=4, f_min=5.0, {more})(T(1, 64))"
        yield f"paddle.audio.features.MFCC(sr=128, n_mfcc=3, n_fft=16, n_mels=4, f_min=5.0, {more})(T(1, 64))"
    yield "paddle.audio.functional.fft_frequencies(128, 16, dtype='float64')"
    yield "paddle.audio.functional.mel_frequencies(4, 0.0, 60.0, True, dtype='float64')"


def _distributions():
    D = "paddle.distribution"
    yield f"{D}.MultivariateNormal(T(2), precision_matrix=2 * paddle.eye(2)).log_prob(T(2, seed=1))"
    yield f"{D}.MultivariateNormal(T(2), scale_tril=2 * paddle.eye(2)).entropy()"
    yield f"{D}.MultivariateNormal(T(2), covariance_matrix=2 * paddle.eye(2)).variance"
    yield f"{D}.ContinuousBernoulli(T(2, low=0.2, high=0.8), lims=(0.48, 0.52)).mean"
    yield f"{D}.IndependentTransform({D}.ExpTransform(), 1).forward_log_det_jacobian(T(2, 3))"
    yield f"{D}.IndependentTransform(base={D}.ExpTransform(), reinterpreted_batch_rank=1).forward(T(2, 3))"
    yield f"{D}.ReshapeTransform((2, 3), (3, 2)).forward(T(4, 2, 3))"
    yield f"{D}.ReshapeTransform(in_event_shape=(6,), out_event_shape=(2, 3)).inverse(T(4, 2, 3))"
    yield f"{D}.StackTransform([{D}.ExpTransform(), {D}.PowerTransform(paddle.to_tensor(2.0))], axis=1).forward(T(3, 2, low=0.5))"
    yield f"{D}.StackTransform(transforms=[{D}.ExpTransform(), {D}.SigmoidTransform()], axis=0).inverse(T(2, 3, low=0.2, high=0.8))"
    yield f"paddle.seed(2);; {D}.LKJCholesky(3, 1.5, sample_method='cvine').sample().shape"
    yield f"{D}.Distribution(batch_shape=[2], event_shape=[3]).batch_shape"


CASES = list(dict.fromkeys([
    *_vision(), *_geometry(), *_fused(), *_linear_algebra(), *_second_names(), *_sound(), *_distributions(),
]))  # fmt: skip
