"""Every parameter of functions that move, join, cut, pick and make values."""

from differential_families import spread, unique

MODES = True

_BOTH = "True | False"
_DTYPE = "'float32' | 'float64' | 'int64' | 'int32' | paddle.float64 | np.float32 | 'bool' | None"
_ONE = "0 | 1 | -1"


def _shapes():
    yield from spread(
        "paddle.reshape",
        "T(2, 6)",
        "x=T(3, 2, 2)",
        "I(12)",
        "T(2, 3, 2, dtype='float64')",
        always="shape",
        shape="[3, 4] | (4, 3) | [-1] | [2, -1] | [0, -1] | [0, 0] | [-1, 2, 3] | paddle.to_tensor([4, 3]) | [paddle.to_tensor(4), 3] | [-1, paddle.to_tensor([2])] | np.array([3, 4]) | [2, 3, 2, 1] | [12, 1, -1]",
        pairs=20,
    )
    yield from spread(
        "paddle.flatten",
        "T(2, 3, 4)",
        "x=T(2, 3)",
        "I(2, 3, 2, 2)",
        "T()",
        start_axis="0 | 1 | -2",
        stop_axis="-1 | 1 | 0",
        pairs=12,
    )
    yield from spread(
        "paddle.squeeze",
        "T(1, 3, 1)",
        "x=T(2, 1)",
        "I(1, 1)",
        axis="None | 0 | -1 | [0, 2] | (0,) | [] | 1 | [0, 1]",
        pairs=10,
    )
    yield from spread(
        "paddle.unsqueeze",
        "T(2, 3)",
        "x=I(3)",
        "T()",
        axis="0 | -1 | [0, 1] | (0, 2) | 1 | paddle.to_tensor(0) | paddle.to_tensor([0, 1]) | [paddle.to_tensor(0), 1] | [0, 0]",
        always="axis",
        pairs=12,
    )
    yield from spread(
        "paddle.transpose",
        "T(2, 3, 4)",
        "x=I(2, 3, 2)",
        always="perm",
        perm="[0, 2, 1] | (2, 1, 0) | [-1, 0, 1] | [0, 1, 2] | [1, 2, 0]",
        pairs=8,
    )
    yield from spread("paddle.t", "T(2, 3)", "input=I(3)", "T()")
    yield from spread(
        "paddle.moveaxis",
        "T(2, 3, 4), 0, 1",
        "x=T(2, 3, 4), source=[0, 1], destination=[1, 0]",
        "T(2, 3, 4), -1, 0",
        "T(2, 3, 4), [0, 2], (2, 0)",
    )
    yield from spread("paddle.swapaxes", "T(2, 3, 4), 0, 1", "T(2, 3, 4), -1, 0", "I(2, 3), 0, 1")
    yield from spread(
        "paddle.rot90",
        "T(2, 3)",
        "x=T(2, 3, 4)",
        k="1 | 2 | -1 | 0 | 5",
        axes="[0, 1] | [1, 0] | (0, 1)",
        pairs=10,
    )
    yield from spread(
        "paddle.flip",
        "T(2, 3, 4)",
        "x=I(2, 3)",
        always="axis",
        axis="0 | [0, 1] | -1 | (0,) | []",
        pairs=8,
    )
    yield from spread(
        "paddle.roll",
        "T(2, 3)",
        "x=I(3, 4)",
        always="shifts",
        shifts="1 | -1 | [1, 2] | 5 | (1, -1) | paddle.to_tensor([1, 1])",
        axis="None | 0 | [0, 1] | -1",
        pairs=0,
    )
    for axis in ("None", "0", "1", "-1"):
        yield f"paddle.roll(T(2, 3), 1, {axis})"
        yield f"paddle.roll(T(2, 3, 2), shifts=-2, axis={axis})"
    yield "paddle.roll(T(2, 3), [1, 2], [0, 1])"
    yield "paddle.roll(T(2, 3), (1, -1), (1, 0))"
    yield from spread(
        "paddle.expand",
        "T(1, 3)",
        "x=I(3)",
        "T()",
        "T(2, 1, 3)",
        always="shape",
        shape="[2, 3] | (4, 2, 3) | [2, -1] | [-1, 3] | paddle.to_tensor([2, 3]) | [paddle.to_tensor(2), 3] | [2, 2, 3]",
        pairs=12,
    )
    yield from spread(
        "paddle.broadcast_to",
        "T(1, 3)",
        "x=I(3)",
        "T()",
        always="shape",
        shape="[2, 3] | (4, 2, 3) | [2, -1] | paddle.to_tensor([2, 3]) | [paddle.to_tensor(2), 3]",
        pairs=6,
    )
    yield from spread("paddle.expand_as", "T(1, 3), T(2, 3)", "x=T(3), y=I(2, 3)", "T(), T(2)")
    yield from spread(
        "paddle.tile",
        "T(2, 3)",
        "x=I(3)",
        "T()",
        always="repeat_times",
        repeat_times="2 | [2] | (1, 2) | [2, 1, 2] | paddle.to_tensor([2, 2]) | [paddle.to_tensor(2), 1] | [] | paddle.to_tensor(2)",
        pairs=10,
    )
    yield from spread(
        "paddle.broadcast_tensors",
        "[T(1, 3), T(2, 1)]",
        "input=[T(3), T(2, 3), T(1)]",
        "(T(2, 1), I(1, 3))",
    )
    yield from spread(
        "paddle.repeat_interleave",
        "T(2, 3)",
        "x=I(3)",
        always="repeats",
        repeats="2 | paddle.to_tensor([1, 2, 3]) | 1",
        axis="1 | -1",
        pairs=6,
    )
    yield from spread(
        "paddle.repeat_interleave", "T(2, 3), 2", axis="None | 0 | 1", output_size="None"
    )
    yield from spread(
        "paddle.unflatten",
        "T(2, 6)",
        always="axis shape",
        axis="1 | -1",
        shape="[2, 3] | (3, -1) | [-1, 2] | paddle.to_tensor([2, 3])",
        pairs=6,
    )
    yield from spread(
        "paddle.view",
        "T(2, 6)",
        "x=T(3, 4)",
        always="shape_or_dtype",
        shape_or_dtype="[3, 4] | [-1] | 'int32' | 'float32' | [2, -1, 2] | paddle.int32",
        pairs=8,
    )
    yield from spread(
        "paddle.as_strided",
        "T(12)",
        "x=T(3, 4)",
        always="shape stride",
        shape="[2, 3] | [3, 2]",
        stride="[3, 1] | [1, 2] | (2, 1)",
        offset="0 | 1 | 2",
        pairs=8,
    )
    for n in "123":
        yield from spread(
            f"paddle.atleast_{n}d",
            "T(2, 3)",
            "T()",
            "T(3)",
            "T(3), T()",
            "[T(2), T()]",
            "T(2, 3, 4)",
        )
    yield from spread("paddle.squeeze_", "T(1, 3) * 1")
    yield from spread("paddle.cast_", "T(2, 3) * 1, 'float64'")
    yield from spread("paddle.shape", "T(2, 3)", "input=T()", "I(0, 2)")
    yield from spread("paddle.matrix_transpose", "T(2, 3)", "x=T(2, 3, 4)")
    yield from spread(
        "paddle.permute",
        "T(2, 3, 4), [2, 0, 1]",
        "T(2, 3, 4), 2, 0, 1",
        "input=T(2, 3), dims=[1, 0]",
    )


def _joins():
    two = "[T(2, 3), T(2, 3, seed=1)]"
    for name in ("concat", "stack"):
        word = "x"
        yield from spread(
            f"paddle.{name}",
            two,
            f"{word}=({two[1:-1]})",
            "[I(2, 3), I(2, 3, seed=1)]",
            "[T(2, 3)]",
            "[T(2, 2, 2), T(2, 2, 2, seed=1), T(2, 2, 2, seed=2)]",
            axis="0 | 1 | -1 | -2 | paddle.to_tensor(1)" if name == "concat" else "0 | 1 | -1 | 2",
            pairs=12,
        )
    yield "paddle.concat([T(2, 3), T(4, 3, seed=1)])"
    yield "paddle.concat([T(2, 3), T(0, 3)])"
    yield "paddle.concat([T(2, 3), I(2, 3)])"
    yield "paddle.concat([T(2, 3), T(2, 3, dtype='float64')], axis=1)"
    yield "paddle.stack([T(), T(seed=1)])"
    yield "paddle.stack([T(2), I(2)])"
    for name in "hstack vstack dstack column_stack row_stack".split():
        yield from spread(
            f"paddle.{name}",
            two,
            "[T(3), T(3, seed=1)]",
            "x=[T(), T(seed=1)]",
            "[I(2, 2, 2), I(2, 2, 2)]",
            "(T(2, 3), T(2, 3))",
        )
    yield from spread(
        "paddle.split",
        "T(4, 6)",
        "x=T(6, 4, 2)",
        "I(4, 6)",
        always="num_or_sections",
        num_or_sections="2 | [1, 3] | (2, 2) | [1, -1] | [paddle.to_tensor(2), 2] | 4",
        axis="0 | -2 | paddle.to_tensor(0)",
        pairs=12,
    )
    yield "paddle.split(T(4, 6), [1, 2, 3], axis=1)"
    yield "paddle.split(T(4, 6), [1, 2, -1], axis=-1)"
    yield "paddle.split(T(4, 6), 3, paddle.to_tensor(1))"
    yield from spread(
        "paddle.chunk", "T(4, 6)", "x=I(4, 6)", always="chunks", chunks="2 | 1", axis=_ONE, pairs=6
    )
    yield from spread(
        "paddle.tensor_split",
        "T(5, 7)",
        "x=I(5, 7)",
        always="num_or_indices",
        num_or_indices="2 | 3 | [1, 3] | (2,) | [1, 9]",
        axis=_ONE,
        pairs=10,
    )
    for name, base in (("hsplit", "T(4, 6)"), ("vsplit", "T(4, 6)"), ("dsplit", "T(2, 3, 4)")):
        yield from spread(
            f"paddle.{name}", base, always="num_or_indices", num_or_indices="2 | [1] | [1, 2]"
        )
    yield from spread("paddle.unbind", "T(2, 3)", "input=T(2, 3, 4)", "I(3)", axis=_ONE, pairs=4)
    yield from spread("paddle.unstack", "T(2, 3)", "x=I(2, 3, 4)", axis=_ONE, pairs=4)
    yield "paddle.unstack(T(2, 3), 1, 3)"
    yield "paddle.unstack(T(2, 3), axis=0, num=2)"
    yield from spread("paddle.block_diag", "[T(2, 2), T(1, 3)]", "[T(2), T()]", "inputs=[I(2, 2)]")
    yield from spread(
        "paddle.meshgrid",
        "T(2), T(3)",
        "[T(2), T(3)]",
        "I(2), I(3), I(4)",
        "T(2)",
        "T(), T(2)",
        indexing="'ij' | 'xy'",
        pairs=5,
    )
    yield from spread("paddle.cartesian_prod", "[T(2), T(3)]", "[I(2)]", "x=[T(2), T(2), T(2)]")
    yield from spread(
        "paddle.combinations", "T(4)", "x=I(3)", r="1 | 2 | 3 | 0", with_replacement=_BOTH, pairs=8
    )
    yield from spread("paddle.broadcast_shape", "[2, 3], [3]", "x_shape=[2, 1, 3], y_shape=(4, 1)")
    yield from spread(
        "paddle.kron",
        "T(2, 3), T(2, 2, seed=1)",
        "x=T(3), y=T(2, seed=1)",
        "T(2, 2, 2), T(2, 2, seed=1)",
        "I(2, 2), I(2)",
    )


def _picks():
    yield from spread(
        "paddle.gather",
        "T(4, 3), I(2, high=3)",
        "x=T(4, 3), index=I(2, high=3, dtype='int32')",
        "T(4, 3), paddle.to_tensor([1, 1, 0])",
        "I(4, 3), I(2, high=3)",
        "T(4, 3), paddle.to_tensor(1)",
        axis="0 | 1 | -1 | None | paddle.to_tensor(1)",
        pairs=10,
    )
    yield from spread(
        "paddle.gather_nd",
        "T(4, 3, 2), I(2, 1, high=4)",
        "x=T(4, 3, 2), index=I(5, 2, high=3)",
        "T(4, 3, 2), I(2, 2, 3, high=2)",
        "I(4, 3), I(2, high=3)",
        "T(4, 3), paddle.to_tensor([[1, 2], [-1, 0]])",
    )
    yield from spread(
        "paddle.index_select",
        "T(4, 3), I(2, high=3)",
        "x=T(4, 3), index=I(5, high=3, dtype='int32')",
        "I(4, 3), I(2, high=3)",
        axis=_ONE,
        pairs=8,
    )
    yield from spread(
        "paddle.index_sample",
        "T(4, 3), I(4, 2, high=3)",
        "x=I(4, 3), index=I(4, 5, high=3, dtype='int32')",
    )
    yield from spread(
        "paddle.take",
        "T(4, 3), I(5, high=12)",
        "x=T(4, 3), index=I(2, 2, high=12)",
        "I(4, 3), paddle.to_tensor([-1, 0])",
        "T(4, 3), paddle.to_tensor(3)",
        mode="'raise' | 'wrap' | 'clip'",
        pairs=6,
    )
    yield "paddle.take(T(4, 3), paddle.to_tensor([-20, 30]), mode='wrap')"
    yield "paddle.take(T(4, 3), paddle.to_tensor([-20, 30]), mode='clip')"
    yield from spread(
        "paddle.take_along_axis",
        "T(4, 3), I(4, 2, high=3), 1",
        "arr=T(4, 3), indices=I(1, 3, high=4), axis=0",
        "T(4, 3), I(4, 1, high=3), axis=-1",
        "I(4, 3), I(2, 3, high=4, dtype='int32'), 0",
        broadcast=_BOTH,
        pairs=3,
    )
    yield from spread(
        "paddle.put_along_axis",
        "T(4, 3), I(4, 2, high=3)",
        "arr=T(4, 3), indices=I(4, 3, high=3)",
        always="values axis",
        values="T(4, 2, seed=1) | 2.0 | paddle.to_tensor(3.0)",
        axis="1 | -1",
        reduce="'assign' | 'add' | 'mul' | 'multiply' | 'mean' | 'amin' | 'amax'",
        include_self=_BOTH,
        broadcast="True",
        pairs=0,
    )
    for reduce in "add mul mean amin amax".split():
        for own in (True, False):
            yield f"paddle.put_along_axis(T(3, 2), paddle.to_tensor([[0, 1], [1, 1]]), T(2, 2, seed=1), 0, '{reduce}', include_self={own}, broadcast=False)"
            yield f"paddle.put_along_axis(I(3, 2, low=1), paddle.to_tensor([[0, 1], [1, 1]]), I(2, 2, seed=1), 0, reduce='{reduce}', include_self={own}, broadcast=False)"
    yield from spread(
        "paddle.scatter",
        "T(4, 3), paddle.to_tensor([1, 3]), T(2, 3, seed=1)",
        "x=T(4), index=paddle.to_tensor([1, 1]), updates=T(2, seed=1)",
        "I(4, 3), paddle.to_tensor([2]), I(1, 3)",
        overwrite=_BOTH,
        pairs=4,
    )
    yield from spread(
        "paddle.scatter_nd",
        "I(3, 1, high=4), T(3, 2, seed=1), [4, 2]",
        "index=I(3, 2, high=2), updates=T(3), shape=(2, 2)",
        "I(3, 1, high=4), T(3, seed=1), shape=[4]",
    )
    yield from spread(
        "paddle.scatter_nd_add",
        "T(4, 2), I(3, 1, high=4), T(3, 2, seed=1)",
        "x=T(2, 2), index=I(3, 2, high=2), updates=T(3)",
        "I(4), I(3, 1, high=4), I(3)",
    )
    yield from spread(
        "paddle.index_add",
        "T(4, 3), paddle.to_tensor([0, 2]), 0, T(2, 3, seed=1)",
        "x=T(4, 3), index=I(2, high=3, dtype='int32'), axis=1, value=T(4, 2, seed=1)",
        "I(4, 3), I(2, high=3), -1, I(4, 2)",
    )
    yield from spread(
        "paddle.index_put",
        "T(4, 3), (paddle.to_tensor([0, 2]),), T(3, seed=1)",
        "x=T(4, 3), indices=(I(2, high=3), I(2, high=3)), value=T(1, seed=1)",
        "T(4, 3), (B(4, 3),), paddle.to_tensor(2.0)",
        "T(4, 3), (paddle.to_tensor([1, 1]),), T(2, 3, seed=1)",
        accumulate=_BOTH,
        pairs=6,
    )
    yield from spread(
        "paddle.index_fill",
        "T(4, 3), paddle.to_tensor([0, 2]), 0, 5.0",
        "x=T(4, 3), index=paddle.to_tensor([0]), axis=1, value=-1",
        "I(4, 3), paddle.to_tensor([1]), -1, 3",
        "T(4, 3), paddle.to_tensor([0]), 0, paddle.to_tensor(2.0)",
    )
    yield from spread(
        "paddle.masked_select",
        "T(2, 3), B(2, 3)",
        "x=I(2, 3), mask=B(2, 3)",
        "T(2, 3), B(3)",
        "T(3), T(3) > 0",
    )
    yield from spread(
        "paddle.masked_fill",
        "T(2, 3), B(2, 3)",
        "x=T(2, 3), mask=B(3)",
        "I(2, 3), B(2, 1)",
        always="value",
        value="2 | 1.5 | paddle.to_tensor(3)",
        pairs=4,
    )
    yield from spread(
        "paddle.masked_scatter",
        "T(2, 3), B(2, 3), T(6, seed=1)",
        "x=T(2, 3), mask=B(3), value=T(2, 3, seed=1)",
    )
    yield from spread(
        "paddle.where",
        "B(2, 3), T(2, 3), T(2, 3, seed=1)",
        "condition=B(3), x=T(2, 3), y=T(1, seed=1)",
        "T(2, 3) > 0, T(2, 3), 0.0",
        "B(2, 3), 1.0, T(2, 3)",
        "B(2, 3)",
        "B(2, 3), I(2, 3), I(2, 3, seed=1)",
        "B(2, 3), 1.0, 2.0",
        "B(2, 3), T(), T(2, 1)",
    )
    yield from spread(
        "paddle.nonzero",
        "T(2, 3)",
        "x=I(2, 3, high=2)",
        "B(4)",
        "B(2, 2, 2)",
        as_tuple=_BOTH,
        pairs=6,
    )
    yield from spread(
        "paddle.topk",
        "T(3, 4)",
        "x=T(2, 3, 4, dtype='float64')",
        "T(5)",
        "I(3, 4, high=90)",
        always="k",
        k="2 | 1 | paddle.to_tensor(2)",
        axis="-1 | 0 | None",
        largest=_BOTH,
        sorted=_BOTH,
        pairs=12,
    )
    yield from spread(
        "paddle.sort",
        "T(3, 4)",
        "x=I(3, 4)",
        "T(2, 3, 4)",
        axis=_ONE,
        descending=_BOTH,
        stable=_BOTH,
        pairs=10,
    )
    yield from spread(
        "paddle.argsort",
        "T(3, 4)",
        "x=I(12, high=90)",
        "T(2, 3, 4)",
        axis="-1 | 0",
        descending=_BOTH,
        stable=_BOTH,
        pairs=8,
    )
    yield from spread(
        "paddle.unique",
        "I(6, high=4)",
        "x=T(3, 4)",
        "I(3, 2, high=2)",
        return_index=_BOTH,
        return_inverse=_BOTH,
        return_counts=_BOTH,
        axis="None | 0",
        dtype="'int64' | 'int32'",
        pairs=16,
    )
    yield from spread(
        "paddle.unique_consecutive",
        "I(6, high=2)",
        "x=I(3, 4, high=2)",
        return_inverse=_BOTH,
        return_counts=_BOTH,
        axis="None | 0 | -1",
        dtype="'int64' | 'int32'",
        pairs=12,
    )
    yield from spread(
        "paddle.searchsorted",
        "paddle.sort(T(5)), T(3, seed=1)",
        "sorted_sequence=paddle.sort(T(2, 5)), values=T(2, 3, seed=1)",
        "paddle.sort(I(5)), I(2, 3, seed=1)",
        out_int32=_BOTH,
        right=_BOTH,
        pairs=6,
    )
    yield from spread(
        "paddle.bucketize",
        "T(3), paddle.sort(T(5, seed=1))",
        "x=T(2, 3), sorted_sequence=paddle.sort(T(5, seed=1))",
        out_int32=_BOTH,
        right=_BOTH,
        pairs=6,
    )
    yield from spread(
        "paddle.slice",
        "T(4, 5)",
        always="axes starts ends",
        axes="[0, 1] | (0, 1)",
        starts="[1, 0] | [-3, 1] | [paddle.to_tensor(1), 0] | paddle.to_tensor([1, 2])",
        ends="[3, 2] | [-1, 100] | [paddle.to_tensor(4), 5] | paddle.to_tensor([3, 4])",
        pairs=12,
    )
    yield from spread(
        "paddle.strided_slice",
        "T(6, 5)",
        always="axes starts ends strides",
        axes="[0, 1]",
        starts="[0, 1] | [-6, 0] | [paddle.to_tensor(1), 0]",
        ends="[6, 4] | [5, 100]",
        strides="[2, 1] | [1, 2] | [3, 3]",
        pairs=10,
    )
    yield "paddle.strided_slice(T(6), [0], [4], [0], [-2])"
    yield from spread(
        "paddle.crop",
        "T(4, 5)",
        "x=I(4, 5)",
        shape="[2, 2] | [-1, 3] | paddle.to_tensor([2, 3]) | [paddle.to_tensor(2), 2]",
        offsets="[1, 1] | paddle.to_tensor([0, 1]) | None | [paddle.to_tensor(1), 0]",
        pairs=10,
    )
    yield from spread(
        "paddle.select_scatter",
        "T(3, 4), T(4, seed=1), 0, 1",
        "x=T(3, 4), values=T(3, seed=1), axis=1, index=-1",
    )
    yield from spread(
        "paddle.slice_scatter",
        "T(6, 4), T(2, 4, seed=1)",
        always="axes starts ends strides",
        axes="[0]",
        starts="[1] | [0]",
        ends="[5] | [4]",
        strides="[2]",
        pairs=3,
    )
    yield from spread(
        "paddle.diagonal_scatter",
        "T(3, 4), T(3, seed=1)",
        offset="0 | 1",
        axis1="0",
        axis2="1 | -1",
        pairs=3,
    )
    for name in ("tril", "triu"):
        yield from spread(
            f"paddle.{name}",
            "T(3, 4)",
            "x=I(2, 3, 3)",
            "B(3, 3)",
            diagonal="0 | 1 | -1 | 9",
            pairs=6,
        )
    for name in ("tril_indices", "triu_indices"):
        yield from spread(
            f"paddle.{name}",
            "3, 4" if name == "tril_indices" else "row=3, col=4",
            "3, 3",
            offset="0 | 1 | -1",
            dtype="'int64' | 'int32'",
            pairs=4,
        )
    yield from spread(
        "paddle.diag",
        "T(3)",
        "x=T(3, 4)",
        "I(3)",
        offset="0 | 1 | -1",
        padding_value="0 | 2.5 | 7",
        pairs=8,
    )
    yield from spread("paddle.diagflat", "T(3)", "x=T(2, 2)", "I(2)", offset="0 | 1 | -2", pairs=5)
    yield from spread(
        "paddle.diag_embed",
        "T(2, 3)",
        "input=T(3)",
        offset="0 | 1 | -1",
        dim1="-2 | 0",
        dim2="-1 | 1",
        pairs=6,
    )
    yield from spread(
        "paddle.diagonal",
        "T(3, 4)",
        "x=T(2, 3, 4)",
        offset="0 | 1 | -1",
        axis1="0 | -2",
        axis2="1 | -1",
        pairs=8,
    )
    yield from spread(
        "paddle.shard_index",
        "I(4, 1, high=20), 20, 2, 0",
        "input=I(4, 1, high=20), index_num=20, nshards=4, shard_id=1",
        ignore_value="-1 | -5",
        pairs=3,
    )
    yield from spread("paddle.as_complex", "T(2, 3, 2)", "x=T(2, dtype='float64')")
    yield from spread("paddle.as_real", "paddle.complex(T(2), T(2, seed=1))")
    yield from spread(
        "paddle.unfold", "T(6), 0, 3, 1", "x=T(6, 4), axis=0, size=2, step=2", "T(6, 4), -1, 2, 2"
    )
    yield from spread(
        "paddle.tensordot",
        "T(2, 3, 4), T(3, 4, 5, seed=1)",
        "x=T(3, 2), y=T(2, 3, seed=1)",
        axes="2 | 1 | 0 | [[1, 2], [0, 1]] | ([1], [0]) | [1, 0]",
        pairs=0,
    )
    yield from spread(
        "paddle.vander", "T(3)", "x=I(3)", n="None | 2 | 4", increasing=_BOTH, pairs=5
    )
    yield from spread("paddle.crop", "T(4, 5, 6)", shape="[2, 3, 4]", offsets="[0, 1, 2]")


def _makes():
    shapes = "[2, 3] | (2,) | [] | [0, 2] | paddle.to_tensor([2, 3]) | [paddle.to_tensor(2), 3] | 3 | np.array([2, 2])"
    for name in ("zeros", "ones"):
        yield from spread(
            f"paddle.{name}",
            "",
            always="shape",
            shape=shapes,
            dtype=_DTYPE,
            requires_grad=_BOTH,
            pin_memory="False",
            device="'cpu' | None",
            pairs=14,
        )
    yield from spread(
        "paddle.full",
        "",
        always="shape fill_value",
        shape=shapes,
        fill_value="1 | 2.5 | True | paddle.to_tensor(3.0) | -1 | float('inf') | np.float32(2)",
        dtype=_DTYPE,
        requires_grad=_BOTH,
        pairs=16,
    )
    for name in ("zeros_like", "ones_like"):
        yield from spread(
            f"paddle.{name}", "T(2, 3)", "x=I(2)", "B()", dtype=_DTYPE, requires_grad=_BOTH, pairs=8
        )
    yield from spread(
        "paddle.full_like",
        "T(2, 3)",
        "x=I(2)",
        "B()",
        always="fill_value",
        fill_value="1 | 2.5 | True | paddle.to_tensor(3.0) | -1",
        dtype=_DTYPE,
        pairs=14,
    )
    yield from spread(
        "paddle.arange",
        "5",
        "1, 5",
        "start=0, end=6",
        "0.0, 1.0",
        "10, 0",
        "paddle.to_tensor(5)",
        "-3.5, 3",
        step="1 | 2 | 0.5 | paddle.to_tensor(2) | -1",
        dtype="'float32' | 'int32' | 'float64' | None",
        pairs=16,
    )
    yield from spread(
        "paddle.linspace",
        "0, 1",
        "start=-1.0, stop=5",
        "paddle.to_tensor(0.0), paddle.to_tensor(2.0)",
        always="num",
        num="5 | 1 | paddle.to_tensor(3)",
        dtype="'float32' | 'float64' | 'int32' | 'int64' | None",
        pairs=10,
    )
    yield from spread(
        "paddle.logspace",
        "0, 2",
        "start=-1.0, stop=1",
        always="num",
        num="3 | 5",
        base="10.0 | 2.0 | 3",
        dtype="'float32' | 'float64' | None",
        pairs=10,
    )
    yield from spread(
        "paddle.eye", "3", "num_rows=2", "3, 4", num_columns="None", dtype=_DTYPE, pairs=4
    )
    yield from spread(
        "paddle.eye", "num_rows=3", num_columns="2 | 4 | None", dtype="'int64' | 'float64'", pairs=4
    )
    yield from spread(
        "paddle.to_tensor",
        "1",
        "2.5",
        "True",
        "[1, 2]",
        "[[1.0, 2], [3, 4]]",
        "np.ones([2, 3])",
        "np.float32(1)",
        "(1, 2.5)",
        "np.arange(3)",
        "1 + 2j",
        "[True, False]",
        "np.array(['1']).astype('int8')",
        "[]",
        "np.ones([0, 2], 'float32')",
        "data=[1]",
        dtype=_DTYPE,
        stop_gradient=_BOTH,
        place="paddle.CPUPlace() | None | 'cpu'",
        pairs=30,
    )
    yield from spread(
        "F.one_hot",
        "I(4, high=3), 3",
        "x=I(2, 2, high=3), num_classes=5",
        "I(3, high=3, dtype='int32'), 4",
        "I(3, 1, high=2), 2",
    )
    yield from spread(
        "F.sequence_mask",
        "I(4, low=1, high=5)",
        "x=I(2, 2, low=1, high=4, dtype='int32')",
        maxlen="None | 6 | 3 | paddle.to_tensor(4)",
        dtype="'int64' | 'float32' | 'bool' | paddle.int32",
        pairs=8,
    )
    yield from spread("F.diag_embed", "T(2, 3)", offset="0 | 1", dim1="-2 | 0", dim2="-1 | 1")
    yield from spread("paddle.clone", "T(2, 3)", "x=I(2)")
    for d in ("float32", "float64", "int64", "bool"):
        yield f"paddle.empty([2, 3], '{d}').shape"
        yield f"paddle.empty_like(T(2, 3), dtype='{d}').dtype"
        if d[0] == "f":
            for name in ("rand", "randn", "standard_normal"):
                yield f"paddle.{name}([2, 3], dtype='{d}').dtype"
                yield f"paddle.{name}(shape=paddle.to_tensor([2, 3]), dtype='{d}').shape"
            yield f"paddle.uniform((2, 3), '{d}', min=2, max=3.0, seed=3).dtype"
            yield f"paddle.uniform(shape=[paddle.to_tensor(2), 3], dtype=paddle.{d}).shape"
        if d == "int64":
            for text in (
                "low=0, high=5, shape=[3]",
                "5, shape=(2, 3)",
                "-3, 3, [2], 'int32'",
                "2, 9, paddle.to_tensor([2, 2])",
            ):
                yield f"paddle.randint({text}).shape"
                yield f"paddle.randint({text}).dtype"
                yield f"r = paddle.randint({text});; [r.min() >= -3, r.max() < 9]"
            yield "paddle.sort(paddle.randperm(6))"
            yield "paddle.sort(paddle.randperm(n=6, dtype='int32'))"
            yield "paddle.randint_like(T(2, 3), 5).dtype"
            yield "paddle.randint_like(T(2, 3), low=1, high=5, dtype='int64').dtype"
    yield "paddle.normal(0.0, 1.0, [2, 3]).shape"
    yield "paddle.normal(mean=T(2, 3), std=2.0).shape"
    yield "paddle.normal(mean=T(2, 3), std=T(2, 3, low=0.1)).dtype"
    yield "paddle.normal(shape=[2]).dtype"
    yield "paddle.bernoulli(paddle.ones([2, 3]))"
    yield "paddle.bernoulli(x=T(2, 3, low=0), p=1.0)"
    yield "paddle.multinomial(T(2, 4, low=0.1), 2).shape"
    yield "paddle.multinomial(x=T(4, low=0.1), num_samples=6, replacement=True).shape"
    yield "paddle.sort(paddle.multinomial(T(2, 4, low=0.1), num_samples=4), -1)"
    yield "paddle.poisson(paddle.zeros([2, 3]))"
    yield "paddle.binomial(paddle.full([2], 5), paddle.ones([2]))"


CASES = unique(_shapes(), _joins(), _picks(), _makes())
