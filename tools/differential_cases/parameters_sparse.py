"""Parameters of functions of sparse tensors that other topics never set."""

_S = (
    "S = paddle.sparse;; x = S.sparse_coo_tensor([[0, 1, 2, 2], [1, 2, 0, 2]], [0.1, -0.2, 0.3, 0.4], [3, 3]);; c = x.to_sparse_csr();; "
    "y = S.sparse_coo_tensor([[0, 1, 2], [1, 0, 0]], [4.0, 5.0, 6.0], [3, 3]);; d = T(3, 3);; "
)


def _sparse():
    for text in (
        "S.pow(x, factor=3)",  "S.cast(x, value_dtype='float64')", "S.cast(c, 'int32', 'float64')", "S.sum(x, axis=0, dtype='float64', keepdim=True)",
        "S.nn.functional.leaky_relu(x, negative_slope=0.3)", "S.nn.functional.softmax(x, axis=-1)", "S.nn.functional.relu6(x)", "S.nn.LeakyReLU(negative_slope=0.3)(x)", "S.nn.Softmax(axis=-1)(c)",
        "S.coalesce(x)", "S.is_same_shape(x, d)", "S.reshape(x, shape=[1, 9])", "S.transpose(x, perm=[1, 0])", "S.slice(x, axes=[0], starts=[1], ends=[3])", "S.divide(x, y)", "S.subtract(x, y=y)",
        "S.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2], dtype='float64')", "S.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], stop_gradient=False)",
        "S.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], [2, 2], dtype='float64')", "S.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], [2, 2], stop_gradient=False)",
        
        "isinstance(x, paddle.Tensor), isinstance(c, paddle.Tensor)", "S.isnan(x)", "S.mask_as(d, mask=x)",
    ):  # fmt: skip
        yield _S + text


CASES = list(dict.fromkeys(_sparse()))
