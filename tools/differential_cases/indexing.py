"""Reading and writing by index, and the gradients of both."""

_READS = [
    "0", "-1", "1, 2", "1, 2, 3", "...", "None", ":", "1:", ":-1", "::2", "::-1", "2:0:-1", "5:",
    "..., 0", "0, ...", ":, 1", ":, None, 1:3", "None, ..., None", "..., ::-2", "1:1",
    "paddle.to_tensor(1)", "paddle.to_tensor([0, 2])", "[0, 2]", "[[0, 1], [2, 0]]",
    "paddle.to_tensor([[0, 1], [2, 0]])", "np.array([0, 2])", "[0, 2], [1, 3]", "[0, 2], 1",
    "1, [0, 2]", ":, [0, 2]", ":, [0, 2], 1", "[0, 1], :, [2, 3]", "..., [0, 2]",
    "[0, 2], None, [1, 1]", "paddle.to_tensor([True, False, True])", "[True, False, True]",
    ":, paddle.to_tensor([True, False, True, True])", "x > 0", "x[:, :, 0] > 0", "True", "False",
    "[]", "paddle.to_tensor([-1])", "slice(0, 2)", "paddle.to_tensor(0):paddle.to_tensor(2)",
    "(0, 1)", "9", "-9", "0, 0, 0, 0", "'a'", "1.5", "[9]", "::0", "[True, False]", "None, 0",
]  # fmt: skip
_WRITES = [
    ("0", "9.0"), ("1, 2", "7"), (":, 1", "0.5"), ("...", "1.0"), ("::2", "T(2, 4, 5, seed=1)"),
    ("1:, :, ::-1", "T(5, seed=1)"), ("[0, 2]", "3.0"), ("[0, 2], [1, 3]", "T(2, 5, seed=1)"),
    ("x > 0", "0.0"), ("paddle.to_tensor([True, False, True])", "2.0"), (":, [0, 2]", "1.5"),
    ("0", "T(4, 5, seed=1)"), ("0", "T(3)"), ("0", "np.ones((4, 5), 'float32')"), ("0, 0", "[1, 2]"),
    ("9", "1.0"), ("..., 0", "I(4)"), ("[0, 0]", "T(2, 4, 5, seed=1)"), ("None, 0", "1.0"),
    ("x > 0", "x[x > 0] * 2"), ("-1, ..., 1:3", "paddle.to_tensor(4.0)"), ("[]", "1.0"),
]  # fmt: skip

CASES = [
    *[f"x = T(3, 4, 5);; x[{index}]" for index in _READS],
    *[f"x = T(3, 4, 5);; x[{index}] = {value};; x" for index, value in _WRITES],
    *[
        f"gradients(lambda x: x[{index}], T(3, 4, 5))"
        for index in _READS
        if index not in ("5:", "1:1", "False", "[]", "9", "-9", "0, 0, 0, 0", "'a'", "1.5", "[9]")
        and index not in ("::0", "[True, False]")
    ],
    "def f(x):\n    y = x * 1\n    y[0] = x[1] * 2\n    return y\n;; gradients(f, T(3, 2))",
    "def f(x):\n    y = x * 1\n    y[:, 0] = 0\n    return y * y\n;; gradients(f, T(3, 2))",
    "x = T(4);; y = x[1:3];; y[0] = 9.0;; x",
    "x = T(4);; y = x.reshape([2, 2]);; y[0, 0] = 9.0;; x",
    "x = I(4);; x[1] = 2.7;; x",
    "x = I(3, 3);; x[x > 4] = -1;; x",
    "x = T(2, 2);; x[0] += 1;; x",
    "x = paddle.to_tensor(5.0);; x[()]",
    "x = paddle.to_tensor(5.0);; x[0]",
    "x = paddle.to_tensor(5.0);; x[...] = 2;; x",
    "x = T(3);; x[0].shape",
    "x = T(3);; x[0:1].shape",
    "x = T(2, 3);; x[1][2]",
    "x = T(0, 3);; x[:, 0]",
]
