"""Which functions give a look at their operand and which give elements of their own.

    python tools/view_table.py [--peer PYTHON] > tests/python/tensor/views.txt

Each line of the table is a call on x, then `shows` or `own` for a write to the result as seen in x
and for a write to x as seen in the result. Of a list the last element counts. PYTHON has
paddlepaddle: what it says is the table that tests/python/tensor/test_views.py holds Argosy against.
"""

import argparse
import pathlib
import subprocess
import sys

# x is float32 [2, 3, 4], 0 to 23; c is complex64 [2, 3], m is float32 [2, 3].
CALLS = """
x.reshape([6, 4])
x.reshape([2, 3, 4])
x.transpose([1, 0, 2]).reshape([6, 4])
x.view([6, 4])
x.view('int32')
x.view_as(paddle.zeros([4, 6]))
x.flatten()
x.flatten(1, 1)
paddle.flatten(x, 1, 2)
x[:1].squeeze(0)
x.squeeze()
x.unsqueeze(0)
x.transpose([1, 0, 2])
x.transpose([0, 1, 2])
x.T
x.mT
m.t()
x.moveaxis(0, 1)
x.swapaxes(0, 1)
paddle.unflatten(x, 2, [2, 2])
paddle.atleast_1d(x)
paddle.atleast_3d(x)
paddle.atleast_3d(m)
x[0]
x[0:1]
x[:, 1]
x[..., 0]
x[::2]
x[:, ::2]
x[::-1]
x[None]
x[...]
x[:]
x[0, 1, 2]
x[[0, 1]]
x[x > 3]
x[paddle.to_tensor([0])]
paddle.slice(x, [0], [0], [1])
paddle.strided_slice(x, [0], [0], [2], [1])
paddle.crop(x, [1, 2, 2])
paddle.narrow(x, 0, 0, 1)
paddle.select_scatter(x, m[:, :1].expand([2, 4]), 1, 0)
x.index_select(paddle.to_tensor([0, 1]))
paddle.gather(x, paddle.to_tensor([0, 1]))
paddle.as_strided(x, [2, 2], [4, 1])
x.unfold(0, 1, 1)
paddle.diagonal(x)
paddle.diag_embed(m)
x.expand([2, 3, 4])
x.expand([5, 2, 3, 4])
x[:1].expand([2, 3, 4])
x.expand_as(paddle.zeros([5, 2, 3, 4]))
x.expand_as(x)
x.broadcast_to([5, 2, 3, 4])
x.broadcast_to([2, 3, 4])
paddle.broadcast_tensors([x, paddle.zeros([5, 1, 1, 1])])[0]
paddle.broadcast_tensors([x, x + 1])[0]
paddle.tile(x, [1, 1, 1])
paddle.tile(x, [2, 1, 1])
x.repeat_interleave(1, 0)
paddle.meshgrid(x[0, 0], x[0, 1])[0]
paddle.split(x, 2)
paddle.split(x, [1, 3], 2)
paddle.split(x, 1)
x.chunk(2)
x.chunk(2, 2)
paddle.tensor_split(x, 2, 1)
paddle.tensor_split(x, [1], 1)
paddle.hsplit(x, [1])
paddle.hsplit(x, 3)
paddle.vsplit(x, 2)
paddle.dsplit(x, 2)
x.unbind(1)
paddle.unstack(x, 0)
x.detach()
x.clone()
paddle.assign(x)
x.cast('float32')
x.astype('float32')
paddle.cast(x, 'float32')
x.to('float32')
x.to('cpu')
x.cpu()
x.contiguous()
x.transpose([1, 0, 2]).contiguous()
x.data
x.value()
paddle.to_tensor(x)
paddle.real(x)
paddle.real(c)
paddle.imag(c)
paddle.as_real(c)
paddle.as_complex(m[:, :2])
paddle.positive(x)
paddle.rot90(m, 0)
paddle.rot90(m, 2)
paddle.flip(x, [0])
paddle.flip(x, [])
paddle.roll(x, 0)
paddle.concat([x])
paddle.stack([x])
paddle.scale(x, 1.0)
paddle.increment(x, 0.0)
paddle.clip(x)
paddle.nn.functional.pad(x, [0, 0], data_format='NCL')
paddle.nn.functional.dropout(x, 0.0)
paddle.nn.functional.dropout(x, 0.5, training=False)
paddle.nn.functional.alpha_dropout(x, 0.5, training=False)
paddle.nn.functional.dropout2d(x[None], 0.5, training=False)
paddle.nn.Dropout(0.0)(x)
paddle.nn.Identity()(x)
paddle.nn.Flatten()(x)
paddle.nn.Unflatten(2, [2, 2])(x)
paddle.nn.functional.rrelu(x, training=False)
paddle.nn.functional.pixel_shuffle(x[None, :2, :2, :2], 1)
paddle.where(x > -1, x, x)
paddle.add_n([x])
paddle.add_n(x)
paddle.triu(x, -9)
paddle.sort(x)
paddle.unique(x)
paddle.take_along_axis(x, paddle.zeros([1, 3, 4], 'int64'), 0)
paddle.masked_fill(x, x < 0, 0.0)
paddle.nan_to_num(x)
paddle.einsum('ijk->ijk', x)
paddle.einsum('ijk->kij', x)
paddle.utils.dlpack.from_dlpack(paddle.utils.dlpack.to_dlpack(x))
x.numpy()
np.asarray(x)
x.reshape_([6, 4])
x.squeeze_()
x.unsqueeze_(0)
x.flatten_()
x.detach_()
""".split("\n")[1:-1]


def probe(paddle, np, call):
    """The two words for one call."""

    def write(t):
        if isinstance(t, np.ndarray):
            t += 1
        elif t.dtype in (paddle.complex64, paddle.int32):
            t[...] = paddle.ones(t.shape).cast(t.dtype)
        else:
            t.add_(paddle.ones([1]))

    def run(direction):
        c = paddle.complex(paddle.ones([2, 3]), paddle.ones([2, 3]) * 2)
        names = {
            "paddle": paddle,
            "np": np,
            "x": paddle.arange(24, dtype="float32").reshape([2, 3, 4]).clone(),
            "m": paddle.arange(6, dtype="float32").reshape([2, 3]).clone(),
            "c": c,
        }
        result = eval(call, names)
        if isinstance(result, (list, tuple)):
            result = result[-1]
        operand = names["m" if "(m" in call or call[0] == "m" else "c" if "(c)" in call else "x"]
        source, seen = (result, operand) if direction == "back" else (operand, result)
        before = np.array(seen)
        write(source)
        after = np.array(seen)
        return "own" if before.tobytes() == after.tobytes() else "shows"

    return run("back"), run("forth")


def table(paddle):
    import numpy as np

    for call in CALLS:
        try:
            back, forth = probe(paddle, np, call)
        except Exception as e:
            back = forth = "refused"
            print(f"{call}: {e}", file=sys.stderr)
        yield f"{call}  # {back} {forth}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="an interpreter that has paddlepaddle")
    options = parser.parse_args()
    if options.peer:
        subprocess.run([options.peer, str(pathlib.Path(__file__).resolve())], check=True)
        return
    try:
        import paddle
    except ImportError:
        import argosy as paddle
    print("\n".join(table(paddle)))


if __name__ == "__main__":
    main()
