"""out= of functions, and what in-place forms, as functions and as methods, take."""

_WHOLE = "I(2, 3, low=1), I(2, 3, low=1, seed=1)"
_PAIR = "T(2, 3, low=0.5, high=2), T(2, 3, low=0.5, high=2, seed=1)"
_BOTH = "B(2, 3), B(2, 3, seed=1)"
_SQUARE = "T(3, 3), T(3, 3, seed=1)"

# Operands and other arguments by function.
_WITH_OUT = {
    **{
        name: ["T(2, 3, low=-0.9, high=0.9)"]
        for name in "acos atanh cosh sinh expm1 frac round clip tril triu argsort nonzero".split()
    },
    "acosh": ["T(2, 3, low=1.1, high=3)"],
    "clip": ["T(2, 3), -0.2, 0.3", "T(2, 3), min=0.1"],
    **{name: ["B(2, 3)", "B(2, 3), axis=1", "B(2, 3), 0, True"] for name in ("all", "any")},
    **{name: ["T(2, 3)", "T(2, 3), 1", "T(2, 3), 0, True"] for name in ("amax", "amin", "var")},
    "quantile": ["T(2, 3), 0.3", "T(2, 5), 0.5, axis=1", "T(3, 2), [0.2, 0.7], 0"],
    **{name: [_WHOLE, _BOTH] for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{
        name: [_WHOLE, "I(2, 3), I(2, 3, high=3)"]
        for name in ("bitwise_left_shift", "bitwise_right_shift")
    },
    **{name: ["I(2, 3)", "B(2, 3)"] for name in ("bitwise_not", "bitwise_invert")},
    "logical_not": ["B(2, 3)", "T(2, 3)"],
    **{
        name: [_BOTH, _PAIR]
        for name in ("logical_and", "logical_or", "logical_xor")
    },
    **{
        name: [_PAIR, _WHOLE, "T(2, 3), T(3)"]
        for name in (
            "equal", "not_equal", "greater_equal", "greater_than", "less_equal", "less_than", "eq", "ne", "ge", "gt", "le",
            "lt", "less", "greater", "floor_mod", "mod", "div", "sub", "mul", "true_divide",
        )
    },
    "bmm": ["T(2, 3, 4), T(2, 4, 2)"],
    "matmul": [_SQUARE, "T(2, 3, 4), T(4, 2)", "T(3, 2), T(3, 2), transpose_y=True"],
    "outer": ["T(2), T(3)"],
    "ger": ["T(2), T(3)"],
    "dot": ["T(3), T(3, seed=1)", "T(2, 3), T(2, 3, seed=1)"],
    "complex": ["T(2, 3), T(2, 3, seed=1)"],
    "polar": ["T(2, 3, low=0), T(2, 3, seed=1)"],
    **{name: ["[T(2, 3), T(1, 3)]", "[T(2, 1), T(2, 3)], 1"] for name in ("concat", "cat", "concatenate")},
    "stack": ["[T(2), T(2, seed=1)]", "[T(2), T(2, seed=1)], 1"],
    "cumprod": ["T(2, 3), 1", "T(2, 3), 0"],
    "diff": ["T(2, 4)", "T(2, 4), 2", "T(3, 4), axis=0"],
    "gather": ["T(3, 2), I(2, high=3)", "T(3, 2), I(2, high=2), 1"],
    "index_select": ["T(3, 2), I(2, high=3)", "T(3, 2), I(2, high=2), 1"],
    "masked_select": ["T(2, 3), B(2, 3)"],
    "take_along_axis": ["T(3, 2), I(1, 2, high=3), 0"],
    "scatter": ["T(3, 2), I(2, high=3), T(2, 2, seed=1)"],
    "where": ["B(2, 3), T(2, 3), T(2, 3, seed=1)"],
    "bucketize": ["T(2, 3), T(4).sort()", "T(2, 3), T(4).sort(), right=True"],
    "searchsorted": [
        "T(4).sort(), T(2, 3)", "T(4).sort(), T(2, 3), right=True", "T(4).sort(), T(3), side='right'", "T(4), T(3), sorter=paddle.argsort(T(4))",
    ],
    "norm": ["T(2, 3)", "T(2, 3), 1, 1", "T(2, 3), dtype='float64'"],
    "softmax": ["T(2, 3)", "T(2, 3), 0", "T(2, 3), dtype='float64'"],
    "linalg.norm": ["T(2, 3)", "T(2, 3), 'fro', [0, 1]", "T(2, 3), dtype='float64'"],
    "linalg.vector_norm": ["T(2, 3)", "T(2, 3), 1, 1", "T(2, 3), dtype='float64'"],
    "linalg.solve": ["T(3, 3) + 2 * paddle.eye(3), T(3, 2)"],
    "nn.functional.normalize": ["T(2, 3)", "T(2, 3), 1, 0"],
    "nn.functional.sigmoid": ["T(2, 3)"],
    "nn.functional.tanh": ["T(2, 3)"],
    "nn.functional.softmax": ["T(2, 3)", "T(2, 3), 0"],
    "arange": ["5", "1, 7, 2", "0.0, 1.0, 0.25"],
    **{name: ["[2, 3]", "[4], 'float64'"] for name in ("zeros", "ones")},
    "full": ["[2, 3], 2.5", "[2], 3, 'int64'"],
    "eye": ["3", "2, 3, 'float64'"],
    "linspace": ["0, 1, 5", "1.0, 2.0, 3, 'float64'"],
    **{
        f"fft.{name}": ["T(2, 4)", "T(2, 4, dtype='complex64')"]
        for name in "fft ifft fft2 ifft2 fftn ifftn rfft rfft2 rfftn ihfft ihfft2 ihfftn".split()
    },
    **{
        f"fft.{name}": ["T(2, 4, dtype='complex64')"]
        for name in "irfft irfft2 irfftn hfft hfft2 hfftn".split()
    },
    "fft.fftfreq": ["5", "4, 0.5"],
    "fft.rfftfreq": ["5", "4, 0.5"],
}  # fmt: skip

# Functions that write into their first operand, with the arguments behind it.
_OTHER = "T(2, 3, low=0.5, high=2, seed=1)"
_WRITES = {
    **{name: [f"{_OTHER}", "T(3, low=0.5, high=2, seed=1)", f"y={_OTHER}"]
       for name in "floor_mod_ mod_ greater_equal_ greater_than_ less_equal_ less_ equal_ not_equal_".split()},
    "div_": [_OTHER, f"{_OTHER}, rounding_mode='floor'", f"{_OTHER}, rounding_mode='trunc'"],
    "divide_": [_OTHER, f"{_OTHER}, rounding_mode='floor'"],
    "sub_": [_OTHER, f"{_OTHER}, alpha=2"],
    "subtract_": [_OTHER, f"{_OTHER}, alpha=0.5"],
    "add_": [_OTHER, f"{_OTHER}, alpha=0.5"],
    "mul_": [_OTHER],
    "gammainc_": [_OTHER],
    "gammaincc_": [_OTHER],
    "ldexp_": ["I(2, 3, high=4)"],
    "multigammaln_": ["1"],
    "polygamma_": ["1", "0"],
    "renorm_": ["2.0, 0, 0.5"],
    "nan_to_num_": ["", "1.0, 2.0, 3.0", "nan=0.5, posinf=1.0, neginf=-1.0"],
    "logit_": ["", "0.1", "eps=0.2"],
    "round_": ["", "1", "decimals=2"],
    "tril_": ["", "1", "diagonal=-1"],
    "triu_": ["", "1", "diagonal=-1"],
    "t_": [""],
    "transpose_": ["[1, 0]", "perm=[0, 1]"],
    "reshape_": ["[3, 2]", "shape=[-1]"],
    "flatten_": ["", "0, 1", "start_axis=1"],
    "squeeze_": ["", "0", "axis=[0]"],
    "unsqueeze_": ["0", "axis=[0, 2]", "-1"],
    "cumsum_": ["", "1", "axis=0", "0, 'float64'"],
    "cumprod_": ["1", "dim=0", "0, dtype='float64'"],
    "scale_": ["2.0", "2.0, 1.0, False", "scale=0.5, bias=1.0, bias_after_scale=True"],
    "masked_fill_": ["B(2, 3), 2.0", "mask=B(2, 3), value=0.5", "B(3), T()"],
    "masked_scatter_": ["B(2, 3), T(6, seed=2)"],
    "index_add_": ["I(2, high=2), 0, T(2, 3, seed=2)", "I(2, high=2), 1, T(2, 2, seed=2), alpha=0.5"],
    "index_fill_": ["I(2, high=2), 0, 1.5", "I(2, high=3), 1, -1"],
    "index_put_": ["(I(2, high=2),), T(2, 3, seed=2)", "(I(2, high=2),), T(2, 3, seed=2), True", "(I(2, high=2), I(2, high=3)), T(2), accumulate=True"],
    "put_along_axis_": [
        "I(1, 3, high=2), 0.5, 0", "I(1, 3, high=2), T(1, 3), 0, 'add'", "I(2, 3, high=2), T(2, 3), 0, reduce='multiply'",
        "I(2, 3, high=2), T(2, 3), 0, reduce='amax', include_self=False", "I(2, 2, high=3), T(2, 2), 1, 'assign', True, False",
    ],
    "scatter_add_": ["0, I(2, 3, high=2), T(2, 3, seed=2)", "1, I(2, 2, high=3), T(2, 2, seed=2)"],
    "fill_diagonal_": ["1.5", "2.0, 1", "2.0, offset=-1, wrap=True"],
    "fill_diagonal_tensor_": ["T(2), 0, 0, 1", "T(2), offset=1", "T(1), -1"],
    "elu_": ["", "0.5"],
    "hardtanh_": ["", "-0.5, 0.5"],
    "leaky_relu_": ["", "0.2"],
    "thresholded_relu_": ["", "0.3", "0.3, 0.1"],
    "softmax_": ["", "0", "axis=0"],
    "clamp_": ["-0.1, 0.2", "min=0.0"],
    "addmm_": ["T(2, 4), T(4, 3)", "T(2, 4), T(4, 3), 0.5, 2.0", "T(2, 4), T(4, 3), alpha=3.0, beta=0.1"],
    "lerp_": [f"{_OTHER}, 0.3", f"{_OTHER}, weight=T(2, 3)"],
}  # fmt: skip
_WRITES_WHOLE = {
    **{name: ["I(2, 3, seed=1)", "y=I(3, seed=1)"] for name in ("bitwise_and_", "bitwise_or_", "bitwise_xor_")},
    **{name: ["I(2, 3, high=3, seed=1)", "I(2, 3, high=3), False", "y=I(3, high=3), is_arithmetic=True"] for name in ("bitwise_left_shift_", "bitwise_right_shift_")},
    **{name: ["I(2, 3, seed=1, low=1)", "y=I(3, seed=1, low=1)"] for name in ("gcd_", "lcm_")},
    **{name: [""] for name in ("bitwise_not_", "bitwise_invert_")},
}  # fmt: skip
_WRITES_FLAGS = {
    **{name: ["B(2, 3, seed=1)", "y=B(3, seed=1)"] for name in ("logical_and_", "logical_or_", "logical_xor_")},
    "logical_not_": [""],
}  # fmt: skip
_NN = ("elu_", "hardtanh_", "leaky_relu_", "thresholded_relu_", "softmax_")
_METHODS_ONLY = (
    "fill_diagonal_", "fill_diagonal_tensor_", "scale_", "round_", "add_", "mul_", "put_along_axis_", "clamp_", "lerp_",
)  # fmt: skip
# Into leaves that need gradients Paddle lets these write.
_LEAVES_TOO = (
    "greater_equal_", "greater_than_", "less_equal_", "less_", "equal_", "not_equal_", "multigammaln_",
)  # fmt: skip


def _place(name):
    return "F" if name in _NN else "paddle"


def _given(x, rest):
    return f"{x}, {rest}" if rest else x


def _out():
    for name, operands in _WITH_OUT.items():
        for given in operands:
            target = "float64" if "float64" in given else "float32"
            # Paddle's functions of bits leave out alone.
            shown = "y" if name.startswith("bitwise_") else "[o, y]"
            yield (
                f"o = paddle.empty_like(paddle.{name}({given}));; y = paddle.{name}({given}, out=o);; {shown}"
            )
        if name not in ("arange", "eye", "linspace"):
            yield f"o = T(2, dtype='{target}');; y = paddle.{name}({operands[0]}, out=o);; y"
        yield f"paddle.{name}({operands[0]}, out=None)"


def _inplace():
    for maker, table in (
        ("T(2, 3, low=0.1, high=0.9)", _WRITES),
        ("I(2, 3, low=1)", _WRITES_WHOLE),
        ("B(2, 3)", _WRITES_FLAGS),
    ):
        for name, calls in table.items():
            for rest in calls:
                if name not in _METHODS_ONLY:
                    yield f"x = {maker};; y = {_place(name)}.{name}({_given('x', rest)});; [x, y, y is x]"
                if name not in _NN:
                    yield f"x = {maker};; y = x.{name}({rest});; [x, y, y is x]"
            if maker[0] == "T" and name not in _NN:
                # Gradients pass where the result is not of a leaf.
                yield f"x = {maker};; x.stop_gradient = False;; y = (x * 2).{name}({calls[0]});; (y * T(*y.shape, seed=9)).sum().backward();; [y, x.grad]"
                if name not in _LEAVES_TOO:
                    yield f"x = {maker};; x.stop_gradient = False;; x.{name}({calls[0]})"


CASES = list(dict.fromkeys([*_out(), *_inplace()]))
