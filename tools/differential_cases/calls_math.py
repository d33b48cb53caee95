"""Every parameter of functions of numbers: element by element, reductions, scans, comparisons."""

from differential_families import spread, unique

MODES = True

_AXES = "None | 0 | 1 | -1 | [0, 1] | (0, -1) | []"
_ONE = "None | 0 | 1 | -1"
_DTYPES = "'float32' | 'float64' | 'int64' | paddle.float64 | np.float32 | 'float16'"
_KEEP = "True | False"
_X = ("T(2, 3, low=0.5, high=3)", "T(2, 3, 4)", "x=T(3, 2)", "T()")
_PAIR = (
    "T(2, 3, low=0.5, high=2), T(2, 3, seed=1, low=0.5, high=2)",
    "T(2, 1, 3, low=0.5, high=2), T(4, 3, seed=1, low=0.5, high=2)",
    "x=T(2, 3, low=0.5, high=2), y=T(3, seed=1, low=0.5, high=2)",
    "T(2, 3, low=0.5, high=2), T(seed=1, low=0.5, high=2)",
    "T(2, 3, low=0.5, high=2, dtype='float64'), T(2, 3, seed=1, low=0.5, high=2, dtype='float64')",
)
_WHOLE = (
    "I(2, 3), I(2, 3, seed=1, low=1)",
    "I(2, 3, dtype='int32'), I(3, seed=1, low=1, dtype='int32')",
    "x=I(2, 1), y=I(3, seed=1, low=1)",
)
_OUT = "T(2, 3, seed=5)"


def _elementwise():
    single = (
        "abs ceil floor sqrt rsqrt exp expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asinh"
        " atan square erf lgamma digamma reciprocal neg sign trunc frac round sigmoid i0 i0e i1 i1e"
        " sinc gammaln rad2deg deg2rad nan_to_num isnan isinf isfinite signbit positive logit"
        " conj real imag angle stanh isneginf isposinf isreal numel rank is_empty"
    ).split()
    for name in single:
        high = "0.9" if name in ("logit", "atanh") else "3"
        low = "-3" if name in ("abs", "sign", "floor", "ceil", "neg", "round", "trunc") else "0.2"
        word = "input" if name in ("trunc", "rank") else "x"
        limits = f"low={low}, high={high}"
        yield from (
            spread(
                f"paddle.{name}",
                f"T(2, 3, {limits})",
                f"{word}=T(2, 3, 2, {limits}, dtype='float64')",
                f"T({limits})",
                f"T(3, 2, {limits}, dtype='float16')",
                name=["'n'"],
                pairs=0,
            )
            if name not in ("real", "imag", "is_empty", "rank", "isreal", "positive", "signbit")
            else [
                f"paddle.{name}(T(2, 3, {limits}))",
                f"paddle.{name}({word}=T({limits}))",
            ]
        )
    for name in "acos asin atanh erfinv".split():
        yield from spread(
            f"paddle.{name}", "T(2, 3, low=-0.9, high=0.9)", "x=T(low=-0.9, high=0.9)",
            "T(3, low=-0.9, high=0.9, dtype='float64')",
        )  # fmt: skip
    yield from spread("paddle.acosh", "T(2, 3, low=1.1, high=3)", "x=T(low=1.1, high=3)")
    yield from spread("paddle.round", *_X, decimals="0 | 1 | 2 | -1")
    yield from spread("paddle.logit", "T(2, 3, low=-0.5, high=1.5)", eps="1e-6 | 0.1 | None")
    yield from spread(
        "paddle.nan_to_num", "paddle.log(T(2, 3))", "T(2, 3) / 0", nan="0.0 | 1.5", posinf="None | 7.0",
        neginf="-7.0 | None",
    )  # fmt: skip
    yield from spread("paddle.stanh", *_X, scale_a="0.67 | 1 | 2.0", scale_b="1.7159 | 1 | 0.5")
    yield from spread(
        "paddle.clip", "T(2, 3)", "x=T(2, 3, 4)", "I(2, 3)", "T(2, 3, dtype='float64')",
        min="-0.5 | None | 0 | paddle.to_tensor(-0.2) | T(1, seed=3, low=-0.5, high=0)",
        max="0.5 | None | 1 | paddle.to_tensor(0.2) | T(1, seed=3, low=0, high=1)", pairs=12,
    )  # fmt: skip
    yield from spread(
        "paddle.scale", "T(2, 3)", "x=I(2, 3)", "T(2, 3, dtype='float64')", "T()",
        scale="2.0 | 2 | -0.5 | paddle.to_tensor(3.0) | T(1, seed=2)", bias="1.0 | -2 | 0",
        bias_after_scale=_KEEP, act="None | 'relu' | 'tanh'", pairs=14,
    )  # fmt: skip
    yield from spread(
        "paddle.increment", "T(1)", "I(1)", "x=T(1, dtype='float64')", value="1.0 | 2.5 | -1"
    )
    yield from spread(
        "paddle.polygamma",
        "T(2, 3, low=0.5, high=3)",
        "x=T(3, low=0.5, high=3, dtype='float64')",
        n="1 | 2 | 3",
        always="n",
    )
    yield from spread("paddle.multigammaln", "T(2, 3, low=3, high=6)", p="1 | 2 | 3", always="p")
    yield from spread(
        "paddle.gammainc", "T(2, 3, low=0.5, high=3), T(2, 3, seed=1, low=0.5, high=3)"
    )
    yield from spread(
        "paddle.gammaincc", "x=T(2, 3, low=0.5, high=3), y=T(2, 3, seed=1, low=0.5, high=3)"
    )
    yield from spread(
        "paddle.cast",
        "T(2, 3, low=-3, high=3)",
        "I(2, 3)",
        "B(2, 3)",
        "x=T()",
        dtype="'float64' | 'int32' | 'bool' | paddle.int64 | np.float32 | 'float16' | 'bfloat16' | 'uint8' | 'complex64'",
        pairs=14,
        always="dtype",
    )
    yield from spread(
        "paddle.assign",
        "T(2, 3)",
        "I(2, 3)",
        "x=B(3)",
        "[1.0, 2.0]",
        "np.ones([2, 3])",
        "3",
        "True",
        "[[1, 2], [3, 4]]",
        "2.5",
        "(1, 2)",
    )
    yield from spread("paddle.frexp", "T(2, 3, low=-3, high=3)", "x=T()", "T(2, dtype='float64')")


def _pairs():
    names = (
        "add subtract multiply divide pow maximum minimum fmax fmin atan2 hypot logaddexp copysign"
        " nextafter heaviside floor_divide mod remainder floor_mod equal not_equal less_than"
        " less_equal greater_than greater_equal"
    ).split()
    for name in names:
        yield from spread(
            f"paddle.{name}",
            *_PAIR,
            *(
                _WHOLE
                if name not in ("hypot", "copysign", "nextafter", "logaddexp", "atan2", "heaviside")
                else ()
            ),
            pairs=0,
        )
    for name in "add subtract".split():
        yield from spread(f"paddle.{name}", *_PAIR, alpha="2 | 0.5 | -1 | 1", pairs=5)
    yield from spread(
        "paddle.divide", *_PAIR, *_WHOLE, rounding_mode="None | 'floor' | 'trunc'", pairs=8
    )
    for name in "gcd lcm bitwise_and bitwise_or bitwise_xor".split():
        yield from spread(f"paddle.{name}", *_WHOLE, pairs=0)
    for name in "bitwise_left_shift bitwise_right_shift".split():
        yield from spread(
            f"paddle.{name}",
            "I(2, 3), I(2, 3, high=4, seed=1)",
            "x=I(2, 3, dtype='int32', low=-9), y=I(3, high=4, dtype='int32')",
            is_arithmetic=_KEEP,
        )
    for name in "logical_and logical_or logical_xor".split():
        yield from spread(
            f"paddle.{name}",
            "B(2, 3), B(2, 3, seed=1)",
            "x=T(2, 3), y=I(3, high=2)",
            "B(2, 1), B(3, seed=1)",
            "B(), B(2, seed=1)",
        )
    for name in "logical_not bitwise_not".split():
        yield from spread(f"paddle.{name}", "B(2, 3)", "x=B()", "I(2, 3)")
    yield from spread(
        "paddle.ldexp", "T(2, 3), I(2, 3, high=4)", "x=T(2, 3), y=I(3, dtype='int32', high=3)"
    )
    yield from spread(
        "paddle.pow",
        "T(2, 3, low=0.5)",
        "I(2, 3)",
        "T(2, 3, dtype='float64')",
        y="2 | 0.5 | -1 | 3.0 | T(3, seed=1) | 0",
        always="y",
    )
    yield from spread(
        "paddle.lerp",
        "T(2, 3), T(2, 3, seed=1)",
        "x=T(2, 3), y=T(3, seed=1)",
        "T(2, 1), T(2, 3, seed=1)",
        weight="0.5 | T(2, 3, seed=2) | T(1, seed=2) | 0.0 | 1.5",
        pairs=8,
        always="weight",
    )
    yield from spread(
        "paddle.allclose",
        "T(2, 3), T(2, 3)",
        "x=T(2, 3), y=T(2, 3, seed=1)",
        rtol="1e-5 | 10.0",
        atol="1e-8 | 3.0",
        equal_nan=_KEEP,
        pairs=8,
    )
    yield from spread(
        "paddle.isclose",
        "T(2, 3), T(2, 3)",
        "x=T(2, 3), y=T(2, 3, seed=1)",
        "T(2, 3) / 0, T(2, 3) / 0",
        rtol="1e-5 | 0.5",
        atol="1e-8 | 0.3",
        equal_nan=_KEEP,
        pairs=10,
    )
    yield from spread(
        "paddle.equal_all",
        "T(2, 3), T(2, 3)",
        "x=T(2, 3), y=T(2, 3, seed=1)",
        "I(2), I(2)",
        "T(2), T(3)",
    )
    yield from spread(
        "paddle.add_n",
        "[T(2, 3), T(2, 3, seed=1)]",
        "inputs=[T(2, 3)]",
        "T(2, 3)",
        "[T(2), T(2, seed=1), T(2, seed=2)]",
    )
    yield from spread(
        "paddle.multiplex",
        "[T(3, 2), T(3, 2, seed=1)], I(3, 1, high=2, dtype='int32')",
        "inputs=[T(3, 2), T(3, 2, seed=1)], index=I(3, 1, high=2, dtype='int32')",
    )
    yield from spread(
        "paddle.dist",
        "T(2, 3), T(2, 3, seed=1)",
        "x=T(2, 3), y=T(3, seed=1)",
        p="2 | 1 | 0 | float('inf') | -float('inf') | 3.5",
        pairs=6,
    )
    yield from spread(
        "paddle.isin",
        "I(2, 3), I(4, seed=1)",
        "x=T(3), test_x=T(3)",
        "I(2, 3), paddle.to_tensor(3)",
        assume_unique="False",
        invert=_KEEP,
        pairs=6,
    )
    yield from spread(
        "paddle.complex",
        "T(2, 3), T(2, 3, seed=1)",
        "real=T(2, 3), imag=T(3, seed=1)",
        "T(2, dtype='float64'), T(2, seed=1, dtype='float64')",
    )
    yield from spread(
        "paddle.polar", "T(2, 3, low=0.1), T(2, 3, seed=1)", "abs=T(3, low=0.1), angle=T(3, seed=1)"
    )


def _reductions():
    for name in "sum mean prod".split():
        extra = {"dtype": _DTYPES} if name != "mean" else {"dtype": "'float32' | 'float64'"}
        yield from spread(
            f"paddle.{name}", *_X, "I(2, 3)", axis=_AXES, keepdim=_KEEP, **extra, pairs=20
        )
        yield from spread(
            f"paddle.{name}", "input=T(2, 3)", dim="0 | 1 | -1", keepdim="True", pairs=2
        )
    for name in "max min amax amin".split():
        yield from spread(
            f"paddle.{name}",
            *_X[:3],
            "I(2, 3)",
            "T(2, 3, dtype='float64')",
            axis=_AXES,
            keepdim=_KEEP,
            pairs=14,
        )
    for name in "all any".split():
        yield from spread(
            f"paddle.{name}",
            "B(2, 3)",
            "x=B(2, 3, 4)",
            "T(2, 3)",
            "I(2, 3, high=2)",
            axis=_AXES,
            keepdim=_KEEP,
            pairs=10,
        )
    for name in "logsumexp nansum nanmean count_nonzero".split():
        yield from spread(f"paddle.{name}", *_X, axis=_AXES, keepdim=_KEEP, pairs=10)
    yield from spread("paddle.nansum", *_X, dtype="'float64' | 'float32'")
    for name in "std var".split():
        yield from spread(
            f"paddle.{name}",
            *_X[:3],
            "T(3, 4, dtype='float64')",
            axis=_AXES,
            unbiased=_KEEP,
            keepdim=_KEEP,
            pairs=14,
        )
    yield from spread("paddle.var", *_X[:2], correction="0 | 1 | 2 | 0.5", axis="0 | 1", pairs=6)
    for name in "median nanmedian".split():
        yield from spread(
            f"paddle.{name}",
            *_X[:3],
            "T(3, 4, dtype='float64')",
            axis=_ONE,
            keepdim=_KEEP,
            mode="'avg' | 'min'",
            pairs=14,
        )
    for name in "quantile nanquantile".split():
        yield from spread(
            f"paddle.{name}",
            "T(3, 4), 0.5",
            "x=T(3, 4), q=[0.25, 0.75]",
            "T(2, 3, 4, dtype='float64'), q=0.3",
            "T(3, 4), paddle.to_tensor([0.1, 0.9])",
            axis="0 | 1 | -1 | [0, 1]",
            keepdim=_KEEP,
            interpolation="'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest'",
            pairs=14,
        )
    for name in "argmax argmin".split():
        yield from spread(
            f"paddle.{name}",
            *_X[:3],
            "I(2, 3)",
            axis=_ONE,
            keepdim=_KEEP,
            dtype="'int64' | 'int32' | paddle.int32",
            pairs=12,
        )
    for name in "cummax cummin".split():
        yield from spread(
            f"paddle.{name}", *_X[:3], "I(2, 3)", axis=_ONE, dtype="'int64' | 'int32'", pairs=8
        )
    yield from spread("paddle.cumsum", *_X, "I(2, 3)", axis=_ONE, dtype=_DTYPES, pairs=10)
    yield from spread(
        "paddle.cumprod",
        *_X[:3],
        "I(2, 3)",
        dim="0 | 1 | -1",
        dtype="'float32' | 'float64'",
        pairs=8,
    )
    yield from spread("paddle.logcumsumexp", *_X, axis=_ONE, dtype="'float32' | 'float64'", pairs=8)
    yield from spread(
        "paddle.kthvalue",
        "T(3, 4), 2",
        "x=T(2, 3, 4), k=1",
        "I(3, 4), 3",
        axis="0 | 1 | -1 | None",
        keepdim=_KEEP,
        pairs=8,
    )
    yield from spread(
        "paddle.mode", "I(3, 4, high=3)", "x=T(2, 3)", axis="0 | 1 | -1", keepdim=_KEEP, pairs=8
    )
    yield from spread(
        "paddle.trapezoid",
        "T(3, 4)",
        "y=T(2, 3, 4)",
        x="T(4, seed=1)",
        dx="0.5 | 2.0",
        axis="-1 | 0",
        pairs=3,
    )
    yield from spread(
        "paddle.cumulative_trapezoid",
        "T(3, 4)",
        "y=T(2, 3, 4)",
        x="T(4, seed=1)",
        dx="0.5 | 2.0",
        axis="-1 | 0",
        pairs=3,
    )
    yield from spread(
        "paddle.diff",
        "T(3, 4)",
        "x=T(2, 3, 4)",
        "I(4)",
        "B(3, 4)",
        n="1 | 2",
        axis="0 | 1 | -1",
        prepend="None | T(3, 4, seed=1)",
        append="T(3, 4, seed=2)",
        pairs=5,
    )
    yield from spread(
        "paddle.trace",
        "T(3, 4)",
        "x=T(2, 3, 4)",
        "I(3, 3)",
        offset="0 | 1 | -1 | 2",
        axis1="0 | -2",
        axis2="1 | -1",
        pairs=8,
    )
    yield from spread(
        "paddle.histogram",
        "T(20)",
        "input=I(20)",
        "T(3, 4, dtype='float64')",
        bins="4 | 10",
        min="0 | -1.0",
        max="1 | 0.5",
        weight="T(20, seed=1, low=0)",
        density=_KEEP,
        pairs=6,
    )
    yield from spread(
        "paddle.bincount",
        "I(6, high=5)",
        "x=I(6, high=5, dtype='int32')",
        weights="T(6, seed=1)",
        minlength="0 | 8 | 3",
        pairs=6,
    )
    yield from spread(
        "paddle.histogram_bin_edges",
        "T(20)",
        "input=I(20)",
        bins="4 | 10",
        min="0 | -1",
        max="1 | 2",
        pairs=6,
    )
    yield from spread(
        "paddle.reduce_as",
        "T(2, 3, 4), T(3, 4, seed=1)",
        "x=T(2, 3), target=T(2, 1, seed=1)",
        "T(2, 3), T(3, seed=1)",
    )
    yield from spread(
        "paddle.renorm",
        "T(3, 4, 2)",
        "x=T(3, 4)",
        p="1.0 | 2.0",
        axis="0 | 1 | -1",
        max_norm="1.0 | 0.5",
        pairs=10,
        always="p axis max_norm",
    )
    yield from spread("paddle.linalg.corrcoef", "T(3, 5)", "x=T(5)", rowvar=_KEEP)
    yield from spread(
        "paddle.linalg.cov",
        "T(3, 5)",
        "x=T(5)",
        "T(3, 5, dtype='float64')",
        rowvar=_KEEP,
        ddof=_KEEP,
        fweights="I(5, low=1, high=4)",
        aweights="T(5, seed=1, low=0.1)",
        pairs=6,
    )


def _out():
    """`out=`, and the value that comes back."""
    names = (
        "add subtract multiply divide maximum minimum pow floor_divide remainder atan2 fmax"
        " logaddexp"
    ).split()
    for name in names[:9]:
        yield f"o = paddle.zeros([2, 3]);; r = paddle.{name}(T(2, 3, low=0.5), T(2, 3, seed=1, low=0.5), out=o);; [o, r]"
    for (
        name
    ) in "abs exp log sqrt sin cos tanh ceil floor rsqrt sigmoid log2 log10 log1p sign".split():
        yield f"o = paddle.zeros([2, 3]);; r = paddle.{name}(T(2, 3, low=0.5, high=2), out=o);; [o, r]"
    for name in "sum mean prod logsumexp cumsum".split():
        yield f"o = paddle.zeros([2, 3]);; r = paddle.{name}(T(2, 3, low=0.5, high=2), 0, out=o);; [o, r]"


CASES = unique(_elementwise(), _pairs(), _reductions(), _out())
