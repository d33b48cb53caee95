"""Methods that give a tensor another shape, memory or diagonal; names that only tensors have."""

_X = "x = T(2, 3);; "

CASES = [
    _X + "y = x.resize_([3]);; [y is x, x]",
    _X + "x.resize_([2, 4], fill_zero=True)",
    _X + "x.resize_(4)",
    _X + "x.resize_([-1])",
    _X + "x.set_()",
    _X + "y = x.set_(T(2, seed=1));; [y is x, x]",
    _X + "x.set_(T(6, seed=1), [2, 2], [1, 2], 8)",
    _X + "x.set_(T(6, seed=1), [2, 2])",
    "T(4).random_().dtype",
    "T(400).random_(5).max()",
    "I(400).random_(2, 8).min()",
    "I(4, dtype='int32').random_().dtype",
    "I(4).random_(8, 2)",
    _X + "x.repeat(2, 2)",
    _X + "x.repeat([2, 1, 2])",
    _X + "x.repeat(2)",
    *[
        f"T(2, 3).scatter_reduce(0, paddle.to_tensor([[0, 1, 1]]), T(1, 3, seed=1), {r!r}, include_self={s})"
        for r in ("sum", "prod", "amax", "amin")
        for s in (True, False)
    ],
    _X + "x.is_same_shape(T(2, 3)), x.is_same_shape(T(3, 2)), x.is_tensor()",
    "paddle.Tensor.broadcast_shape([2, 3], [1, 3])",
    "T(3, 3).fill_diagonal_tensor(T(3, seed=1))",
    "x = T(3, 3);; y = x.fill_diagonal_tensor_(T(3, seed=1));; [x, y is x]",
    "T(3, 3).fill_diagonal_tensor(T(2, seed=1))",
    "T(2, 3, 4).fill_diagonal_tensor(T(4, 2, seed=1), 0, 0, 1)",
    "T(2, 3, 4).fill_diagonal_tensor(T(2, 3, seed=1), 1, 1, 2)",
    "T(2, 3, 4).fill_diagonal_tensor(T(2, 2, seed=1), -1, 1, 2)",
    "gradients(lambda x: x.fill_diagonal_tensor(T(3, seed=1)), T(3, 3))",
    "T(3).fill_diagonal_tensor(T(3, seed=1))",
    "I(3, 3).fill_diagonal_tensor(I(3, seed=1))",
    "T(2, 32).stft(8, 4)",
    "T(2, 32).stft(8).istft(8)",
]
