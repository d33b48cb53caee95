"""Writes the first inputs of the fuzzers: python tests/fuzz/seeds.py FOLDER

Programs that use each feature of the formats once, small, so that mutations hit something.
"""

import json
import pathlib
import struct
import sys

import numpy as np

import argosy
from argosy import _core
from argosy._recorder import Recorder
from argosy.static.nn.control_flow import cond, while_loop


def plain(r):
    x = r.input([2, -1], "float32", stop_gradient=False)
    y = argosy.concat([x, argosy.to_tensor(np.ones((2, 3), np.float32))], axis=1)
    yield y
    yield from r.gradients([y.softmax(axis=0).sum()], [x])


def elements(r):
    x, n = r.input([4, -1], "float64"), r.input([], "int64")
    yield argosy.reshape(x, [n, -1])
    yield argosy.full([2, n], 0.5, "float32")
    yield from argosy.split(x, [1, -1, 2], axis=0)
    yield argosy.einsum("ij,kj->ik", x, x)


def constants(r):
    x = r.input([2], "float32")
    for dtype in "bool int8 uint64 float8_e5m2 bfloat16 float64 complex64".split():
        value = argosy.to_tensor(np.arange(2)).astype(dtype)
        yield argosy.reshape(value, [2, 1])
    yield x


def control(r):
    x, n = r.input([3], "float64", stop_gradient=False), r.input([], "int64")

    def body(i, v):
        return i + 1, cond(v.sum() > 0, lambda: v * v, lambda: v.sin())

    y = while_loop(lambda i, v: i < n, body, [argosy.full([], 0, "int64"), x])[1]
    yield y
    yield from r.gradients([y.sum()], [x])


def state(r):
    w = _core.program_state("w", [3, 2], "float32", True, True)
    x = r.input([-1, 3], "float32")
    loss = argosy.matmul(x, w).mean()
    (g,) = r.gradients([loss], [w])
    w.subtract_(g * 0.1)
    yield loss


def norm(r):
    x = r.input([4, 3, 5, 5], "float32", stop_gradient=False)
    y = argosy.nn.functional.conv2d(x, argosy.ones([2, 3, 3, 3]), padding="same")
    mean, var = argosy.zeros([2]), argosy.ones([2])
    yield argosy.nn.functional.batch_norm(y, mean, var, training=True)
    yield argosy.nn.functional.dropout(y, 0.3)


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """A field of a protobuf message: bytes, or an unsigned integer."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def service_inputs():
    """Rows of messages to the handlers of a parameter server, as service_fuzz.cc reads them."""

    def call(method, keys=0, values=0, worker=0, **header):
        numbers = {"table": 11, "change": 13, "create": 14, "step": 15, "round": 16, "mode": 17}
        numbers |= {"wait_ms": 18, "name": 19, "phase": 21}
        data = b"".join(field(numbers[name], v) for name, v in header.items())
        data = field(1, field(7, worker) + field(8, 2) + field(10, 1) + data)
        data += field(2, struct.pack(f"<{keys}Q", *range(keys))) if keys else b""
        data += field(3, struct.pack(f"<{values}f", *[1] * values)) if values else b""
        return bytes([method, 3]) + struct.pack("<H", len(data)) + data

    hello, pull, pull_dense, push, push_dense, shrink, end_day = range(7)
    load, save, end_step, gather, stats, stop = range(7, 13)
    yield "pulls", call(pull, 5, create=1) + call(pull, 5, table=1) + call(pull_dense, table=2)
    yield (
        "pushes",
        (call(push, 3, 6) + call(push, 2, 12, table=1, create=1) + call(push_dense, 0, 5, table=2)),
    )
    yield "assigns", call(push, 3, 6, change=1) + call(push_dense, 0, 5, table=2, change=1)
    steps = [call(push, 2, 4, worker=w, change=2, step=0) for w in range(2)]
    steps += [call(push_dense, 0, 5, worker=w, table=2, change=2, step=0) for w in range(2)]
    yield "steps", b"".join(steps + [call(end_step, worker=w, step=0) for w in range(2)])
    yield (
        "rounds",
        b"".join(
            call(gather, 0, 3, worker=w, round=r, name=b"b") for r in (1, 2) for w in range(2)
        ),
    )
    yield "days", call(push, 3, 6) + call(end_day) + call(shrink) + call(shrink, table=1)
    yield "files", call(save, name=b"x", phase=1) + call(save, phase=2) + call(load, name=b"x")
    yield "others", call(stats) + call(hello) + call(stop)
    # What the log has of a push and of an end of a step: see Core::Record.
    for method, change, keys, values in ((push, 0, 2, 4), (push, 2, 2, 4), (end_step, 0, 0, 0)):
        record = struct.pack("<BBHIQQQQfIQQQ", method, change, 0, 0, 1, 1, 1, 0, -1, 0,
                             keys * 8, values * 4, 0)  # fmt: skip
        record += bytes(keys * 8 + values * 4)
        data = bytes([200, 0]) + struct.pack("<H", len(record)) + record
        yield f"record_{method}_{change}", data
    yield "answer", bytes([202, 0, 14, 0]) + field(1, field(1, 7)) + field(3, bytes(8))


def paddle_inputs():
    """Models of both formats: the length of the Program, the Program, its parameters."""
    models = pathlib.Path(__file__).parents[1] / "python/static/paddle_models"
    for weights in sorted(models.glob("*.pdiparams")):
        program = weights.with_suffix(".pdmodel" if weights.stem.endswith("2") else ".json")
        data = program.read_bytes()
        yield weights.stem, struct.pack("<I", len(data)) + data + weights.read_bytes()


def without_path(data):
    """Source lines name this file; where it lies is nobody's business. Lengths stay."""
    path = __file__.encode()
    return data.replace(path, b"seeds.py".rjust(len(path), b"_"))


def main(folder):
    folder = pathlib.Path(folder)
    for kind in ("program_bytes", "program_text", "weights", "infer", "service", "paddle"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for build in (plain, elements, constants, control, state, norm):
        with Recorder() as r:
            for i, value in enumerate(build(r)):
                if value is not None:
                    _core.program_add_output(r._program, f"y{i}", value)
        data = _core.program_to_bytes(r._program)
        # The harness adds the header to what begins with F.
        (folder / "program_bytes" / build.__name__).write_bytes(without_path(b"F" + data[24:]))
        (folder / "program_text" / build.__name__).write_bytes(without_path(str(r).encode()))
    (folder / "program_bytes" / "header").write_bytes(_core.program_to_bytes(_core.program_new()))

    one = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    headers = {
        "two": ({"a": one, "b": {"dtype": "BOOL", "shape": [], "data_offsets": [8, 9]}}, 9),
        "metadata": ({"__metadata__": {"argosy.complex128": '["z"]', "k": "v"}, "a": one}, 8),
        "empty": ({"a": {"dtype": "F8_E4M3", "shape": [0, 3], "data_offsets": [0, 0]}}, 0),
    }
    for name, (header, size) in headers.items():
        text = json.dumps(header).encode()
        data = b"F" + text + b"\0" + bytes(size)
        (folder / "weights" / name).write_bytes(data)
    whole = struct.pack("<Q", len(text)) + text
    (folder / "weights" / "whole").write_bytes(whole)
    rng = np.random.default_rng(0)
    for i in range(8):
        (folder / "infer" / f"random{i}").write_bytes(rng.bytes(60))
    for name, data in service_inputs():
        (folder / "service" / name).write_bytes(data)
    for name, data in paddle_inputs():
        (folder / "paddle" / name).write_bytes(data)


main(sys.argv[1])
