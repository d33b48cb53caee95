"""Dtypes of results: of pairs of dtypes, of tensors and numbers, of functions that choose one."""

_TYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()
_FLOATS = "float16 bfloat16 float32 float64".split()
_ARITHMETIC = "+ - * /".split()
_NUMBERS = ["2", "2.5", "True", "(1 + 2j)"]


def _of(dtype, size=2):
    return f"paddle.ones([{size}], '{dtype}')"


CASES = [
    *[f"{_of(a)} {op} {_of(b)}" for a in _TYPES for b in _TYPES for op in "+*"],
    *[f"{_of(a)} {op} {_of(b)}" for a in _TYPES[4:] for b in _TYPES[4:] for op in "-/"],
    *[f"{_of(a)} < {_of(b)}" for a in _TYPES[:-1] for b in _TYPES[:-1]],
    *[f"{_of(a)} {op} {n}" for a in _TYPES for n in _NUMBERS for op in _ARITHMETIC],
    *[f"{n} {op} {_of(a)}" for a in _TYPES for n in _NUMBERS for op in _ARITHMETIC],
    *[f"{_of(a)} ** {n}" for a in _TYPES for n in ("2", "2.0", "-1", "0.5")],
    *[f"{_of(a)} {op} 2" for a in _TYPES[:-1] for op in ("//", "%")],
    *[f"{_of(a)} {op} 2.0" for a in _TYPES[:-1] for op in ("//", "%")],
    *[f"paddle.to_tensor(1, '{a}') + {_of(b)}" for a in _TYPES[:-1] for b in _TYPES[3:-1]],
    *[
        f"paddle.{f}({_of(a)}, {_of(b)})"
        for f in "maximum pow atan2 fmin logaddexp where remainder".split()
        if f != "where"
        for a in _FLOATS + ["int32", "int64"]
        for b in _FLOATS + ["int64"]
    ],
    *[
        f"paddle.where(paddle.to_tensor([True, False]), {_of(a)}, {_of(b)})"
        for a in _FLOATS
        for b in _FLOATS
    ],
    *[
        f"paddle.{f}({_of(a)})"
        for f in "sum mean prod max cumsum any all std median argmax exp sqrt floor round abs sign neg square sin".split()
        for a in _TYPES
    ],
    *[
        f"paddle.{f}({_of(a)}, axis=0, dtype='float64')"
        for f in ("sum", "prod", "cumsum")
        for a in _TYPES[:-1]
    ],
    *[f"paddle.full([2], {v})" for v in ("1", "1.5", "True", "1 + 2j")],
    *[f"paddle.full_like({_of(a)}, {v})" for a in _TYPES[4:] for v in ("1", "1.5", "True")],
    *[
        f"paddle.to_tensor({v}).dtype"
        for v in (
            "1",
            "1.5",
            "True",
            "1j",
            "[1, 2.5]",
            "[True, 2]",
            "np.float16(1)",
            "np.int8(1)",
            "[np.float64(1)]",
            "np.array([1.5])",
            "np.array(1)",
            "(1, 2)",
            "[[1], [2]]",
            "range(3)",
            "np.array(['a'])",
            "[1, None]",
        )
    ],
    *[
        f"paddle.arange({v}).dtype"
        for v in (
            "3",
            "3.0",
            "0, 3, 1",
            "0, 3, 0.5",
            "paddle.to_tensor(3)",
            "paddle.to_tensor(3.0)",
        )
    ],
    *[
        f"paddle.{f}({_of(a)}, {_of(a)})"
        for f in ("matmul", "dot", "outer", "kron")
        for a in _TYPES[4:]
    ],
    *[
        f"F.{f}({_of(a)})"
        for f in "relu gelu sigmoid softmax softplus silu leaky_relu log_softmax".split()
        for a in _FLOATS + ["int32"]
    ],
    *[f"{_of(a)}.astype('{b}')" for a in _TYPES for b in _TYPES],
    *[f"{_of(a)} & {_of(b)}" for a in _TYPES[:6] for b in _TYPES[:6]],
    *[f"~{_of(a)}" for a in _TYPES[:6]],
    *[f"{_of(a)} {op} 1" for a in _TYPES[1:6] for op in ("<<", ">>", "|", "^")],
    *[
        f"paddle.promote_types('{a}', '{b}') if hasattr(paddle, 'promote_types') else 0"
        for a in _TYPES[:3]
        for b in _TYPES[:3]
    ],
    *[
        f"paddle.result_type({_of(a)}, {_of(b)}) if hasattr(paddle, 'result_type') else 0"
        for a in _TYPES[:3]
        for b in _TYPES[:3]
    ],
    *[f"x = {_of(a)};; x += {n};; x" for a in _TYPES for n in ("2", "2.5")],
    *[f"x = {_of(a)};; x += {_of(b)};; x" for a in _FLOATS for b in _FLOATS],
]
