"""Writes in place into parts and wholes of tensors that have a history, and what gradients follow."""

_KEYS = (
    "0", "-1", "0:2", "::2", "1:, 0", "..., 1", ":, 1:3", "None, 0", "[0, 2]", "[2, 0], [1, 1]", "1, [0, 3]",
    "x > 0.3", "paddle.to_tensor([1, 2])", "paddle.to_tensor(1)", "x[:, 0] > 0", "::-1", "[True, False, True]",
)  # fmt: skip
_UPDATES = (
    "+= 2.0",
    "-= 0.5",
    "*= 3.0",
    "/= 2.0",
    "**= 2",
    "= 1.5",
    "= 0",
    "+= w",
    "*= w",
    "= w * 2",
)
_BEGIN = "x = T(3, 4, seed=1);; u = T(3, 4, grad=True);; w = paddle.to_tensor(0.7, stop_gradient=False);; z = u * 1.0"
_END = "z.sum().backward();; [z, u.grad, w.grad]"
_SQUARE = "(z * z).sum().backward();; [z, u.grad, w.grad]"


def _in_parts():
    for key in _KEYS:
        for update in _UPDATES:
            yield f"{_BEGIN};; z[{key}] {update};; {_END}"
        yield f"{_BEGIN};; z[{key}] *= 2.0;; {_SQUARE}"
        yield f"{_BEGIN};; y = z[{key}];; z[{key}] = y * y;; {_END}"
        yield f"{_BEGIN};; z[{key}] = z[{key}].exp();; {_SQUARE}"
        yield f"{_BEGIN};; y = z[{key}] * w;; z = z * 2;; (y.sum() + z.sum()).backward();; [y, u.grad, w.grad]"
        yield f"z = T(3, 4);; x = T(3, 4, seed=1);; z[{key}] = paddle.to_tensor(2, dtype='int32');; z"
        yield f"z = I(3, 4);; x = T(3, 4, seed=1);; z[{key}] = 1.7;; z"
        yield f"z = T(3, 4);; x = T(3, 4, seed=1);; z[{key}] = np.float64(0.1);; z"


_WHOLE = {
    "abs_": "", "acos_": "", "add_": "w", "asin_": "", "atan_": "", "ceil_": "", "clip_": "-0.5, 0.5", "cos_": "", "cosh_": "",
    "cumsum_": "1", "cumprod_": "1", "divide_": "w", "exp_": "", "fill_": "2.0", "zero_": "",
    "fill_diagonal_": "3.0", "flatten_": "", "floor_": "", "frac_": "", "hypot_": "w", "lerp_": "T(3, 4, seed=3), 0.3",
    "log1p_": "", "masked_fill_": "B(3, 4), 0.5", "multiply_": "w", "nan_to_num_": "", "neg_": "", "pow_": "2", "reciprocal_": "",
    "remainder_": "w", "reshape_": "[4, 3]", "round_": "", "scale_": "2.0, 1.0", "scatter_": "I(2, high=3), T(2, 4, seed=4)",
    "sigmoid_": "", "sin_": "", "sinh_": "", "sqrt_": "", "rsqrt_": "", "square_": "", "squeeze_": "", "subtract_": "w", "t_": "",
    "tan_": "", "tanh_": "", "transpose_": "[1, 0]", "tril_": "", "triu_": "", "trunc_": "", "unsqueeze_": "0", 
    "index_add_": "I(2, high=3), 0, T(2, 4, seed=4)", "index_fill_": "I(2, high=3), 0, 0.5", "index_put_": "(I(2, high=3), I(2, high=4)), T(2, seed=4)",
    "put_along_axis_": "I(3, 1, high=4), 0.5, 1", "renorm_": "2.0, 0, 1.0", "logit_": "1e-3", "i0_": "", "digamma_": "",
    "lgamma_": "", "polygamma_": "1", "copysign_": "T(3, 4, seed=3)", "ldexp_": "I(3, 4)", "atanh_": "", "asinh_": "", "addmm_": "T(3, 2, seed=5), T(2, 4, seed=6)",
    "masked_scatter_": "B(3, 4), T(12, seed=5)", "floor_divide_": "w", "mod_": "w", "bernoulli_": "0.0", "gcd_": "I(3, 4)",
    "cast_": "'float64'", "log_": "", "log2_": "", "log10_": "", "sinc_": "", "gammaln_": "", "erfinv_": "", 
}  # fmt: skip


def _whole():
    for name, arguments in _WHOLE.items():
        begin = "u = T(3, 4, low=0.2, high=0.9, grad=True);; w = paddle.to_tensor(0.7, stop_gradient=False);; z = u * 1.0"
        call = f"z.{name}({arguments})"
        yield f"{begin};; r = {call};; z.sum().backward();; [r is z, z, u.grad, w.grad]"
        yield f"{begin};; y = z * w;; {call};; y.sum().backward();; [y, u.grad, w.grad]"
        yield f"{begin};; v = z[1:];; v{call[1:]};; z.sum().backward();; [z, v, u.grad]"
        yield f"u = T(3, 4, low=0.2, high=0.9, grad=True);; w = paddle.to_tensor(0.7);; u{call[1:]}"
        yield f"u = T(3, 4, low=0.2, high=0.9);; w = paddle.to_tensor(0.7);; u{call[1:]};; u"
    for name in (
        "relu_",
        "elu_",
        "leaky_relu_",
        "softmax_",
        "hardtanh_",
        "thresholded_relu_",
        "tanh_",
    ):
        yield f"u = T(3, 4, grad=True);; z = u * 1.0;; r = F.{name}(z);; z.sum().backward();; [r is z, z, u.grad]"
        yield f"u = T(3, 4, grad=True);; z = u * 1.0;; r = F.{name}(z[1:]);; (r * r).sum().backward();; [z, u.grad]"


_VIEWS = (
    "z[1:]",
    "z.reshape([4, 3])",
    "z.t()",
    "z.flatten()",
    "z.unsqueeze(0)",
    "z.detach()",
    "z.view([2, 6])",
    "z.slice([0], [1], [3])",
    "z.chunk(2, 1)[0]",
    "z.diagonal()",
    "z.expand([2, 3, 4])",
    "z.squeeze()",
    "z.clone()",
)


def _views():
    for view in _VIEWS:
        yield f"z = T(3, 4);; v = {view};; v.fill_(1.0);; [z, v]"
        yield f"z = T(3, 4);; v = {view};; z.fill_(1.0);; [z, v]"
        yield f"u = T(3, 4, grad=True);; z = u * 2;; v = {view};; v.stop_gradient, v.is_leaf"
        yield f"u = T(3, 4, grad=True);; z = u * 2;; v = {view};; (v * 3).sum().backward();; u.grad"


def _assigns():
    for what in (
        "set_value(T(3, seed=1))",
        "copy_(T(3, seed=1), True)",
        "set_value(np.ones(3, 'float32'))",
    ):
        yield f"x = T(3, grad=True);; x.{what};; [x, x.stop_gradient]"
    for line in (
        "x.data = T(3, seed=1)", "x.stop_gradient = True", "x.name = 'n'", "x.persistable = True", "x.grad = T(3, seed=2)",
    ):  # fmt: skip
        yield f"x = T(3, grad=True);; {line};; [x.detach(), x.stop_gradient, x.persistable, x.grad is None]"


CASES = list(dict.fromkeys([*_in_parts(), *_whole(), *_views(), *_assigns()]))
