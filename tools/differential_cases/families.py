"""Families of functions over dtypes, empty sizes, axes and ranks: what a table by hand leaves out."""

_DTYPES = "float32 int32 int64 bool float64 uint8 int8 int16 float16 bfloat16 complex64".split()
_SIZES = ("0, 3", "3, 0", "0", "", "2, 0, 3", "1")


def _reductions():
    names = (
        "sum mean max min prod all any argmax argmin cumsum cumprod logsumexp std var median"
        " nanmedian nansum nanmean amax amin count_nonzero argsort sort logcumsumexp cummax cummin"
    ).split()
    for name in names:
        axis = "dim" if name == "cumprod" else "axis"
        whole = "" if name != "cumprod" else ", dim=-1"
        for dtype in _DTYPES:
            x = f"x = T(2, 3, low=-2, high=3).astype('{dtype}');; paddle.{name}(x"
            if axis == "axis":
                yield f"{x}{whole})"
            yield f"{x}, {axis}=-1)"
            if not name.startswith(("arg", "sort", "cum", "logcum")):
                yield f"{x}, axis=0, keepdim=True)"
            if name in ("sum", "prod", "mean", "nansum"):
                yield f"{x}, [0, -1])"
        for size in _SIZES:
            for at in ("None", "-1", "0"):
                if at != "None" or name not in ("argsort", "sort", "cumprod"):
                    yield f"paddle.{name}(T({size}), {axis}={at})"


def _pairs():
    names = (
        "add subtract multiply divide floor_divide remainder pow maximum minimum fmax fmin atan2"
        " hypot logaddexp copysign nextafter gcd lcm ldexp heaviside bitwise_and bitwise_or"
        " bitwise_xor bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor"
        " equal less_than greater_equal equal_all"
    ).split()
    for name in names:
        for dtype in _DTYPES:
            yield (
                f"paddle.{name}(T(2, 1, 3, low=-2, high=4).astype('{dtype}'),"
                f" T(2, 3, low=1, high=4, seed=1).astype('{dtype}'))"
            )
        if not name.startswith(("bit", "gcd", "lcm")):
            for a, b in (("0, 3", "1, 3"), ("2, 1", "2, 0"), ("", "0"), ("3", ""), ("", "")):
                b = f"{b}, " if b else ""
                yield f"paddle.{name}(T({a}), T({b}seed=1, low=0.5))"


def _single():
    names = (
        "abs ceil floor round trunc frac sign sgn square sqrt rsqrt exp expm1 log log2 log10 log1p"
        " sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfinv lgamma digamma"
        " reciprocal isnan isinf isfinite logical_not bitwise_not real imag angle conj i0 i0e i1 i1e"
        " sinc signbit isneginf isposinf isreal deg2rad rad2deg logit positive gammaln numel rank"
    ).split()
    for name in names:
        for dtype in _DTYPES:
            limits = "low=-2, high=3"
            if "float" in dtype or "complex" in dtype:
                limits = "low=1.1, high=3" if name == "acosh" else "low=0.1, high=0.9"
            yield f"paddle.{name}(T(2, 3, {limits}).astype('{dtype}'))"
        yield f"paddle.{name}(T(0, 3))"


def _activations():
    names = (
        "relu relu6 elu selu celu gelu silu swish mish softplus softsign softshrink hardshrink"
        " tanhshrink hardtanh hardsigmoid hardswish leaky_relu log_sigmoid softmax log_softmax"
        " thresholded_relu glu"
    ).split()
    for name in names:
        for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "int64", "bool"):
            yield f"F.{name}(T(2, 4, low=-3, high=3).astype('{dtype}'))"
        yield f"F.{name}(T(0, 4))"
        if name != "glu":
            yield f"F.{name}(T())"
            yield f"F.{name}(T(4, 0))"


# Differences that are meant, so many that they are left out here: an extreme of nothing is an error,
# moments and angles of whole numbers are floats, dtypes that Paddle refuses or has no meaning for.
def _is_meant(case):
    def has(*words):
        return any(word in case for word in words)

    whole = has("'int", "'uint", "'bool'", "'complex64'")
    return (
        (has(".argmax(", ".argmin(", ".amax(", ".amin(") and has("T(0", "T(3, 0)", "T(2, 0"))
        or (has(".std(", ".var(", ".deg2rad(", ".rad2deg(", ".nanmean(", ".median(") and whole)
        or (
            has(".gcd(", ".lcm(", ".ldexp(", ".hypot(", ".sinc(", ".round(")
            and has("float", "'c", "'b")
        )
        or (has(".sgn(", ".frac(", ".copysign(", ".divide(", ".remainder(") and whole)
        or (has(".sgn(", ".frac(") and has("bfloat16"))
        or has(".positive(", "cumprod(T()")
    )


CASES = [
    case
    for family in (_reductions, _pairs, _single, _activations)
    for case in family()
    if not _is_meant(case)
]
