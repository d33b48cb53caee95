"""Mistakes in calls of static.nn, run by tools/differential_errors.py: each argument of each function as
something that it cannot be."""

# A call that is right, as (function, {argument: text}).
_RIGHT = [
    ("fc", {"x": "T(2, 3)", "size": "4", "num_flatten_dims": "1", "activation": "'relu'"}),
    ("conv2d", {"input": "T(1, 2, 5, 5)", "num_filters": "3", "filter_size": "3", "stride": "1", "padding": "0", "groups": "1", "data_format": "'NCHW'"}),
    ("conv3d", {"input": "T(1, 2, 5, 5, 5)", "num_filters": "3", "filter_size": "3", "stride": "1", "data_format": "'NCDHW'"}),
    ("conv2d_transpose", {"input": "T(1, 2, 5, 5)", "num_filters": "3", "filter_size": "3", "padding": "0", "data_format": "'NCHW'"}),
    ("conv3d_transpose", {"input": "T(1, 2, 3, 3, 3)", "num_filters": "3", "filter_size": "3"}),
    ("batch_norm", {"input": "T(2, 3, 4, 4)", "act": "'relu'", "momentum": "0.9", "epsilon": "1e-5", "data_layout": "'NCHW'"}),
    ("instance_norm", {"input": "T(2, 3, 4, 4)", "epsilon": "1e-5"}),
    ("layer_norm", {"input": "T(2, 3)", "begin_norm_axis": "1", "epsilon": "1e-5"}),
    ("group_norm", {"input": "T(2, 4, 3, 3)", "groups": "2", "data_layout": "'NCHW'"}),
    ("spectral_norm", {"weight": "T(3, 4)", "dim": "0", "power_iters": "1"}),
    ("prelu", {"x": "T(2, 3, 4, 4)", "mode": "'channel'", "data_format": "'NCHW'"}),
    ("embedding", {"input": "I(2, 3)", "size": "[10, 4]", "padding_idx": "0", "dtype": "'float32'"}),
    ("bilinear_tensor_product", {"x": "T(2, 3)", "y": "T(2, 4)", "size": "5"}),
    ("row_conv", {"input": "T(2, 3, 4)", "future_context_size": "2"}),
    ("nce", {"input": "T(2, 3)", "label": "I(2, 1, high=5)", "num_total_classes": "5", "num_neg_samples": "2", "sampler": "'uniform'"}),
    ("deform_conv2d", {"x": "T(1, 2, 5, 5)", "offset": "T(1, 18, 3, 3)", "mask": "T(1, 9, 3, 3)", "num_filters": "3", "filter_size": "3"}),
    ("cond", {"pred": "T(1) > 0", "true_fn": "lambda: T(2)", "false_fn": "lambda: T(2)"}),
    ("case", {"pred_fn_pairs": "[(T(1) > 0, lambda: T(2))]", "default": "lambda: T(2)"}),
    ("switch_case", {"branch_index": "I(1, high=1)", "branch_fns": "{0: lambda: T(2), 1: lambda: T(2)}", "default": "lambda: T(2)"}),
    ("while_loop", {"cond": "lambda i: i < 3", "body": "lambda i: [i + 1]", "loop_vars": "[I(1, high=1)]"}),
    ("sequence_pool", {"input": "T(2, 3)", "pool_type": "'sum'"}),
    ("sequence_softmax", {"input": "T(2, 1)"}),
    ("sequence_first_step", {"input": "T(2, 3)"}),
    ("sequence_last_step", {"input": "T(2, 3)"}),
    ("sequence_conv", {"input": "T(2, 3)", "num_filters": "2"}),
    ("sequence_expand", {"x": "T(2, 3)", "y": "T(2, 3)"}),
]  # fmt: skip
_WRONG = (
    "None",
    "3",
    "'a'",
    "2.5",
    "[1, 2]",
    "[None]",
    "np.ones([2, 3], 'float32')",
    "{}",
    "T(2)",
    "I(2)",
    "(lambda: 3)",
    "-1",
    "T()",
    "T(2, 2, 2, 2, 2, 2)",
)
# Right, or of no consequence, or an array that is as good as a tensor here.
_NO_MISTAKE = {
    ("activation", "None"), ("act", "None"), ("padding_idx", "None"), ("padding_idx", "-1"), ("groups", "None"), ("default", "None"), ("backward_fn", "None"),
    ("num_neg_samples", "None"), ("true_fn", "None"), ("false_fn", "None"), ("padding_idx", "3"), ("size", "3"), ("num_filters", "3"), ("filter_size", "3"),
    ("future_context_size", "3"), ("num_total_classes", "3"), ("num_neg_samples", "3"), ("num_flatten_dims", "-1"), ("begin_norm_axis", "-1"),
    ("dim", "-1"), ("epsilon", "3"), ("power_iters", "3"), ("stride", "3"), ("groups", "3"), ("momentum", "3"), ("momentum", "2.5"), ("momentum", "-1"), ("epsilon", "2.5"),
}  # fmt: skip


def _calls():
    for function, right in _RIGHT:
        for name in right:
            for wrong in _WRONG:
                if (name, wrong) not in _NO_MISTAKE:
                    given = {**right, name: wrong}
                    words = ", ".join(f"{k}={v}" for k, v in given.items())
                    yield f"paddle.static.nn.{function}({words})"


CASES = list(dict.fromkeys(_calls()))
