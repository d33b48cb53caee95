"""Names that Paddle gives ops."""

from argosy import _core

# Ours -> Paddle's, where they differ.
PADDLE_NAMES = {
    "add": "elementwise_add",
    "subtract": "elementwise_sub",
    "multiply": "elementwise_mul",
    "divide": "elementwise_div",
    "pow": "pow",
    "maximum": "elementwise_max",
    "minimum": "elementwise_min",
    "floor_divide": "elementwise_floordiv",
    "remainder": "elementwise_mod",
    "matmul": "matmul_v2",
    "sum": "reduce_sum",
    "max": "reduce_max",
    "min": "reduce_min",
    "prod": "reduce_prod",
    "reshape": "reshape2",
    "transpose": "transpose2",
    "squeeze": "squeeze2",
    "unsqueeze": "unsqueeze2",
    "flatten": "flatten_contiguous_range",
    "expand": "expand_v2",
    "topk": "top_k_v2",
    "argmax": "arg_max",
    "argmin": "arg_min",
    "embedding": "lookup_table_v2",
    "full": "fill_constant",
    "gaussian": "gaussian_random",
    "uniform": "uniform_random",
    "cross_entropy": "softmax_with_cross_entropy",
    "dropout_apply": "dropout",
    "dropout_apply_bits": "dropout",
    "if": "conditional_block",
    "array_read": "read_from_array",
    "array_write": "write_to_array",
    "py_call": "py_func",
}

# Paddle's -> ours, where one stands for several or for another's part.
_MEANT = {
    "softmax_with_cross_entropy": ("cross_entropy", "hard_cross_entropy",
                                   "softmax_with_cross_entropy"),
    "cross_entropy2": ("cross_entropy", "hard_cross_entropy"),
    "sigmoid_cross_entropy_with_logits": ("binary_cross_entropy_with_logits", "logits_loss"),
    "huber_loss": ("smooth_l1_loss",),
    "bce_loss": ("binary_cross_entropy",),
    "mul": ("matmul", "mm"),
    "matmul": ("matmul", "mm"),
    "matmul_v2": ("matmul", "mm"),
    "linear_v2": ("linear",),
    "fused_gemm_epilogue": ("linear",),
    "flash_attn": ("scaled_dot_product_attention", "tiled_attention"),
    "depthwise_conv2d": ("conv2d",),
    "pool2d": ("max_pool2d", "avg_pool2d"),
    "pool3d": ("max_pool3d", "avg_pool3d"),
    "max_pool2d_with_index": ("max_pool2d",),
    "reduce_mean": ("mean",),
    "pnorm": ("p_norm",),
    "frobenius_norm": ("p_norm",),
    "dist": ("p_norm",),
    "tanh_shrink": ("tanhshrink",),
    "lookup_table": ("embedding",),
    "dropout": ("dropout", "dropout_apply", "dropout_apply_bits"),
    "sync_batch_norm": ("batch_norm", "sync_batch_norm"),
    **{f"{kind}_interp_v2": ("interpolate",)
       for kind in ("linear", "nearest", "bilinear", "bicubic", "trilinear")},
}  # fmt: skip


def ops_called(name):
    """Our ops that Paddle's programs mean by `name`, which may be our own name: none if unknown."""
    if name in _MEANT:
        return _MEANT[name]
    own = [ours for ours, theirs in PADDLE_NAMES.items() if theirs == name] or [name]
    return tuple(op for op in own if hasattr(_core.ops, op))


def names_of(op):
    """Names that Paddle's programs use for an op of ours, and its own."""
    meant = {name for name, ops in _MEANT.items() if op in ops}
    return {op, PADDLE_NAMES.get(op, op)} | meant
