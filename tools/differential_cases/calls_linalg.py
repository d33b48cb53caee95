"""Every parameter of functions of matrices, of Fourier transforms, windows and frames."""

from differential_families import spread, unique

MODES = True

_BOTH = "True | False"
_SPD = "paddle.matmul(T(3, 3), T(3, 3), transpose_y=True) + 2 * paddle.eye(3)"
_WIDE = "T(3, 3, dtype='float64') + 3 * paddle.eye(3, dtype='float64')"


def _products():
    yield from spread(
        "paddle.matmul",
        "T(3, 3), T(3, 3, seed=1)",
        "x=T(2, 3, 3), y=T(3, 3, seed=1)",
        "T(3), T(3, seed=1)",
        "T(3), T(3, 3, seed=1)",
        "T(3, 3), T(3, seed=1)",
        "T(2, 1, 3, 3), T(4, 3, 3, seed=1)",
        "T(3, 3, dtype='float64'), T(3, 3, seed=1, dtype='float64')",
        "I(3, 3), I(3, 3, seed=1)",
        transpose_x=_BOTH,
        transpose_y=_BOTH,
        pairs=14,
    )
    yield from spread(
        "paddle.matmul",
        "T(2, 4), T(4, 3, seed=1)",
        "T(5, 2, 4), T(5, 4, 3, seed=1)",
        "T(0, 4), T(4, 3)",
        "T(2, 0), T(0, 3)",
    )
    for name, bases in {
        "mm": ("T(2, 3), T(3, 4, seed=1)", "input=T(2, 3), mat2=T(3, 4, seed=1)"), "bmm": ("T(2, 3, 4), T(2, 4, 2, seed=1)", "x=T(2, 3, 4), y=T(2, 4, 2, seed=1)"),
        "mv": ("T(2, 3), T(3, seed=1)", "x=T(2, 3), vec=T(3, seed=1)"), "dot": ("T(3), T(3, seed=1)", "x=T(2, 3), y=T(2, 3, seed=1)", "I(3), I(3)"),
        "inner": ("T(2, 3), T(4, 3, seed=1)", "x=T(3), y=T(2, 3, seed=1)", "T(), T(2, seed=1)"), "outer": ("T(2), T(3, seed=1)", "x=T(2, 2), y=T(3, seed=1)"),
        "vecdot": ("T(2, 3), T(2, 3, seed=1)",),
    }.items():  # fmt: skip
        yield from spread(f"paddle.{name}", *bases)
    yield from spread(
        "paddle.addmm",
        "T(2, 4), T(2, 3, seed=1), T(3, 4, seed=2)",
        "input=T(4), x=T(2, 3, seed=1), y=T(3, 4, seed=2)",
        beta="1.0 | 0.5 | 0.0",
        alpha="1.0 | 2.0",
        pairs=6,
    )
    yield from spread(
        "paddle.baddbmm",
        "T(2, 2, 4), T(2, 2, 3, seed=1), T(2, 3, 4, seed=2)",
        beta="1.0 | 0.5",
        alpha="1.0 | 2.0",
        pairs=4,
    )
    yield from spread(
        "paddle.cross",
        "T(2, 3), T(2, 3, seed=1)",
        "x=T(3, 3), y=T(3, 3, seed=1)",
        axis="9 | 1 | -1",
        pairs=2,
    )
    yield from spread(
        "paddle.linalg.multi_dot",
        "[T(2, 3), T(3, 4, seed=1), T(4, 2, seed=2)]",
        "x=[T(3), T(3, 2, seed=1)]",
    )
    for text in (
        "'ij,jk->ik', T(2, 3), T(3, 4, seed=1)", "'ij->ji', T(2, 3)", "'ii->i', T(3, 3)", "'ii', T(3, 3)", "'bij,bjk->bik', T(2, 3, 4), T(2, 4, 2, seed=1)",
        "'i,j->ij', T(2), T(3, seed=1)", "'...ij,...jk->...ik', T(2, 3, 4), T(2, 4, 2, seed=1)", "'ij,kj', T(2, 3), T(4, 3, seed=1)", "'ijk->', T(2, 3, 4)",
        "'ijk->k', T(2, 3, 4)", "'bhid,bhjd->bhij', T(2, 2, 3, 4), T(2, 2, 5, 4, seed=1)", "'i,i', T(3), T(3, seed=1)", "'ij,j,i->', T(2, 3), T(3, seed=1), T(2, seed=2)",
        "'...i->...', T(2, 3, 4)", "'ab,ac->abc', T(2, 3), T(2, 4, seed=1)", "'nchw,kc->nkhw', T(2, 3, 2, 2), T(4, 3, seed=1)",
    ):  # fmt: skip
        yield f"paddle.einsum({text})"


def _factors():
    for name, bases, values in (
        ("det", ("T(3, 3)", "x=T(2, 3, 3)"), {}), ("slogdet", ("T(3, 3)", "x=T(2, 2, 2)"), {}), ("inv", (_SPD, "x=T(2, 3, 3) + 3 * paddle.eye(3)"), {}),
        ("cholesky", (_SPD,), {"upper": _BOTH}), ("matrix_power", (_WIDE, "x=T(2, 2, 2)"), {"n": "2 | 0 | 1 | 3 | -1"}),
        ("pinv", ("T(4, 3)", "x=T(2, 3, 3)"), {"rcond": "1e-15 | 0.3"}), ("matrix_rank", ("T(4, 3)", f"x={_SPD}"), {"tol": "None | 0.1 | 1.0", "hermitian": "False"}),
        ("eigvalsh", (_SPD,), {"UPLO": "'L' | 'U'"}), ("cond", (_SPD, "x=T(2, 3, 3) + 3 * paddle.eye(3)"), {"p": "None | 2 | -2 | 'fro' | 1 | float('inf') | 'nuc' | -1"}),
        ("svdvals", ("T(4, 3)",), {}), ("matrix_exp", ("T(3, 3)", "x=T(2, 2, 2, dtype='float64')"), {}),
    ):  # fmt: skip
        yield from spread(
            f"paddle.linalg.{name}",
            *bases,
            always="n" if name == "matrix_power" else "",
            **values,
            pairs=3,
        )
    yield from spread(
        "paddle.linalg.norm",
        "T(3, 4)",
        "x=T(2, 3, 4)",
        "T(5, dtype='float64')",
        p="None | 'fro' | 1 | 2 | float('inf') | -float('inf') | 0 | 3.5",
        axis="None | 0 | 1 | -1",
        keepdim=_BOTH,
        pairs=16,
    )
    for p in ("None", "'fro'", "1", "2", "float('inf')", "-float('inf')", "'nuc'", "-1", "-2"):
        for axis in ("[0, 1]", "(-2, -1)"):
            yield f"paddle.linalg.norm(T(3, 4), p={p}, axis={axis})"
            yield f"paddle.linalg.norm(T(2, 3, 4), {p}, {axis}, True)"
    yield from spread(
        "paddle.linalg.vector_norm",
        "T(3, 4)",
        "x=T(2, 3, 4)",
        p="2.0 | 1 | 0 | float('inf') | 3",
        axis="None | 0 | [0, 1] | -1",
        keepdim=_BOTH,
        pairs=10,
    )
    yield from spread(
        "paddle.linalg.matrix_norm",
        "T(3, 4)",
        "x=T(2, 3, 4)",
        p="'fro' | 'nuc' | 1 | 2 | -1 | -2 | float('inf')",
        axis="[-2, -1] | [0, 1]",
        keepdim=_BOTH,
        pairs=8,
    )
    yield from spread(
        "paddle.norm", "T(3, 4)", p="2 | 1 | 'fro'", axis="None | 1", keepdim=_BOTH, pairs=6
    )
    yield from spread(
        "paddle.linalg.solve", f"{_SPD}, T(3, 2, seed=1)", f"x={_SPD}, y=T(3, seed=1)", left="True"
    )
    yield f"paddle.linalg.solve({_SPD}, T(2, 3, seed=1), left=False)"
    yield from spread(
        "paddle.linalg.triangular_solve",
        "T(3, 3) + 2 * paddle.eye(3), T(3, 2, seed=1)",
        "x=T(2, 3, 3) + 2 * paddle.eye(3), y=T(2, 3, 2, seed=1)",
        upper=_BOTH,
        transpose=_BOTH,
        unitriangular=_BOTH,
        pairs=8,
    )
    yield from spread(
        "paddle.linalg.cholesky_solve",
        "T(3, 2), paddle.linalg.cholesky(paddle.matmul(T(3, 3), T(3, 3), transpose_y=True) + 2 * paddle.eye(3))",
        upper="False",
    )
    yield from spread(
        "paddle.linalg.cholesky_inverse", f"paddle.linalg.cholesky({_SPD})", upper="False"
    )
    yield from spread(
        "paddle.linalg.lstsq",
        "T(4, 3), T(4, 2, seed=1)",
        rcond="None | 1e-3",
        driver="None | 'gels' | 'gelsd'",
        pairs=2,
    )
    for mode in ("reduced", "complete", "r"):
        yield f"r = paddle.linalg.qr(T(4, 3), mode='{mode}');; paddle.abs(r if '{mode}' == 'r' else r[1])"
    for full in (True, False):
        yield f"u, s, v = paddle.linalg.svd(T(4, 3), full_matrices={full});; [s, u.shape, v.shape]"
        yield f"u, s, v = paddle.linalg.svd(x=T(2, 3, 3), full_matrices={full});; paddle.abs(v)"
    for uplo in "LU":
        yield f"w, v = paddle.linalg.eigh({_SPD}, UPLO='{uplo}');; [w, paddle.abs(v)]"
    yield f"lu, p = paddle.linalg.lu({_WIDE});; [lu, p]"
    yield f"lu, p, i = paddle.linalg.lu({_WIDE}, get_infos=True);; [lu, p, i]"
    yield "lu, p = paddle.linalg.lu(T(4, 3));; paddle.linalg.lu_unpack(lu, p)"
    yield "lu, p = paddle.linalg.lu(T(3, 4));; paddle.linalg.lu_unpack(lu, p, unpack_pivots=True)[1:]"
    yield "paddle.sort(paddle.real(paddle.linalg.eigvals(T(3, 3) + paddle.diag(paddle.to_tensor([1.0, 2.0, 3.0])))))"
    yield "paddle.linalg.householder_product(T(4, 3), T(3, seed=1))"
    yield "paddle.linalg.ormqr(T(3, 3), T(3, seed=1), T(3, 2, seed=2))"
    yield "paddle.linalg.ormqr(T(3, 3), T(3, seed=1), T(2, 3, seed=2), left=False, transpose=True)"
    yield from spread(
        "paddle.histogramdd",
        "T(6, 2)",
        bins="[3, 4] | 4",
        ranges="[-1.0, 1.0, -1.0, 1.0]",
        density=_BOTH,
        weights="T(6, seed=1, low=0)",
        pairs=4,
    )


def _fourier():
    norm = "'backward' | 'ortho' | 'forward'"
    for name in "fft ifft rfft ihfft".split():
        yield from spread(
            f"paddle.fft.{name}",
            "T(3, 8)",
            "x=T(2, 4, 6, dtype='float64')",
            n="None | 5 | 10",
            axis="-1 | 0",
            norm=norm,
            pairs=8,
        )
    for name in "irfft hfft".split():
        yield from spread(
            f"paddle.fft.{name}",
            "paddle.complex(T(3, 5), T(3, 5, seed=1))",
            n="None | 6 | 9",
            axis="-1 | 0",
            norm=norm,
            pairs=8,
        )
    for name in "fft2 ifft2 rfft2 fftn ifftn rfftn".split():
        yield from spread(
            f"paddle.fft.{name}",
            "T(4, 6)",
            "x=T(2, 4, 6)",
            s="None | [3, 5] | (4, 8)",
            axes="(-2, -1) | [0, 1]",
            norm=norm,
            pairs=8,
        )
    for name in "irfft2 hfft2 irfftn hfftn".split():
        yield from spread(
            f"paddle.fft.{name}",
            "paddle.complex(T(4, 5), T(4, 5, seed=1))",
            s="None | [4, 8]",
            axes="(-2, -1) | [0, 1]",
            norm=norm,
            pairs=6,
        )
    for name in "ihfft2 ihfftn".split():
        yield from spread(
            f"paddle.fft.{name}", "T(4, 6)", s="None | [4, 8]", axes="(-2, -1)", norm=norm, pairs=3
        )
    for name in "fftfreq rfftfreq".split():
        yield from spread(
            f"paddle.fft.{name}", "8", "n=5", d="1.0 | 0.5", dtype="None | 'float64'", pairs=3
        )
    for name in "fftshift ifftshift".split():
        yield from spread(
            f"paddle.fft.{name}", "T(5)", "x=T(4, 5)", axes="None | 0 | [0] | -1", pairs=3
        )
    yield from spread(
        "paddle.signal.frame",
        "T(2, 12)",
        "x=T(12)",
        always="frame_length hop_length",
        frame_length="4",
        hop_length="2 | 3",
        axis="-1",
        pairs=2,
    )
    yield from spread(
        "paddle.signal.overlap_add",
        "T(4, 5)",
        "x=T(2, 4, 5)",
        always="hop_length",
        hop_length="2 | 4",
        axis="-1 | 0",
        pairs=2,
    )
    yield from spread(
        "paddle.signal.stft",
        "T(2, 32)",
        "x=T(40)",
        always="n_fft",
        n_fft="8",
        hop_length="None | 4 | 3",
        win_length="None | 6",
        window="None | T(8, seed=1, low=0.1)",
        center=_BOTH,
        pad_mode="'reflect' | 'constant'",
        normalized=_BOTH,
        onesided=_BOTH,
        pairs=10,
    )
    yield from spread(
        "paddle.signal.istft",
        "paddle.signal.stft(T(2, 32), 8)",
        always="n_fft",
        n_fft="8",
        center="True",
        normalized="False",
        onesided="True",
        length="None | 30",
        pairs=2,
    )


CASES = unique(_products(), _factors(), _fourier())
