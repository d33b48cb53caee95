"""Programs as bytes and weights as safetensors: what is written is read, what is hostile is refused."""

import json
import os
import random
import struct

import numpy as np
import pytest

import argosy
from argosy import _core
from argosy._recorder import Recorder
from argosy.static.nn.call import py_func
from argosy.static.nn.control_flow import cond, while_loop

DTYPES = (
    "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float8_e4m3fn float8_e5m2 float16 "
    "bfloat16 float32 float64 complex64 complex128"
).split()


def text_of(program):
    return _core.program_print(program)


def again(program):
    """The Program after a way through bytes; checks that nothing was lost."""
    data = _core.program_to_bytes(program)
    copy = _core.program_from_bytes(data)
    assert text_of(copy) == text_of(program)
    assert _core.program_to_bytes(copy) == data
    constants = [t for _, t in _core.program_describe(program)["constants"]]
    parsed = _core.program_parse(text_of(program), constants[::-1], False)
    assert text_of(parsed) == text_of(program)
    assert _core.program_metadata(parsed) == _core.program_metadata(program)
    return copy


def run(program, feeds, scope=None):
    """Runs to the outputs that were added."""
    fetches = [v for _, v in _core.program_describe(program)["outputs"]]
    return [t.numpy() for t in _core.program_run(program, feeds, fetches, scope)]


def same_runs(program, feeds):
    copy = again(program)
    for a, b in zip(run(program, feeds), run(copy, feeds)):
        np.testing.assert_array_equal(a, b)
    return copy


def constant(dtype, shape=(3, 2)):
    return argosy.to_tensor(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(dtype)


# --- Programs ---


def test_empty_and_metadata():
    program = _core.program_new()
    assert _core.program_metadata(again(program)) == {}
    _core.program_set_metadata(program, {"inputs": '["x"]', "ü": ""})
    assert _core.program_metadata(again(program)) == {"inputs": '["x"]', "ü": ""}


@pytest.mark.parametrize("op", _core.registry(), ids=lambda op: op["name"])
def test_default_attributes(op):
    """Every kind of attribute of every op, at its default, through a Program of one operation."""
    if op["name"] in ("if", "while", "py_call") or not hasattr(_core.ops, op["name"]):
        pytest.skip("has no entry")
    with Recorder() as r:
        inputs = [
            [] if i["list"] else None if i["optional"] else r.input([2, 3], i["dtypes"][0])
            for i in op["inputs"]
        ]
        try:
            getattr(_core.ops, op["name"])(*inputs)
        except Exception:
            pytest.skip("does not take such operands")
    again(r._program)


def test_values_and_attributes():
    with Recorder() as r:
        x = r.input([-1, 3, 4], "float32", stop_gradient=False)
        i = r.input([], "int64")
        n = r.input([1], "int32")
        y = argosy.reshape(x, [n, -1])  # an element that is a value
        z = argosy.full([2, i], -0.0, "float64") * float("nan")
        w = argosy.transpose(x, [2, 0, 1]).sum(axis=[0, -1], keepdim=True)
        e = argosy.einsum("bij,bkj->bik", x, x)
        parts = argosy.split(x, [1, -1], axis=1)
        g = r.gradients([y.sum() + parts[1].exp().sum()], [x])
    p = r._program
    for k, v in enumerate([y, z, w, e, *parts, *g]):
        _core.program_add_output(p, f"out{k}", v)
    feeds = [
        argosy.randn([2, 3, 4]),
        argosy.to_tensor(5),
        argosy.to_tensor(np.array([6], np.int32)),
    ]
    same_runs(p, feeds)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 2), (3, 2), (70, 70)], ids=str)
def test_constants(dtype, shape):
    value = constant(dtype, shape)
    with Recorder() as r:
        y = argosy.reshape(value, [-1])
    _core.program_add_output(r._program, "y", y)
    copy = again(r._program)
    (_, tensor) = _core.program_describe(copy)["constants"][0]
    assert tensor.dtype == value.dtype and list(tensor.shape) == list(shape)
    bits = f"uint{8 * value.element_size()}" if value.element_size() <= 8 else dtype
    if dtype != "bool" and "complex" not in dtype:
        value, tensor = value.view(bits), tensor.view(bits)
    np.testing.assert_array_equal(tensor.numpy(), value.numpy())


def control_flow():
    """if in while in while with gradients of second order, state and an array of saved values."""
    w = argosy.create_parameter([3], "float64")
    w.set_value(np.array([0.5, 0.7, 1.1]))
    with Recorder() as r:
        x = r.input([3], "float64", stop_gradient=False)
        n = r.input([], "int64")

        def inner(k, v):
            return k + 1, cond(v.sum() > 0, lambda: v * w, lambda: (v - w).sin())

        def outer(k, v):
            start = argosy.full([], 0, "int64")
            return k + 1, while_loop(lambda a, b: a < 2, inner, [start, v])[1]

        start = argosy.full([], 0, "int64")
        y = while_loop(lambda a, b: a < n, outer, [start, x])[1]
        first = r.gradients([y.sum()], [x, w])
        second = r.gradients([sum(g.sum() for g in first)], [x, w])
    r.verify()
    for k, v in enumerate([y, *first, *second]):
        _core.program_add_output(r._program, f"out{k}", v)
    feeds = [argosy.to_tensor(np.array([0.3, -0.7, 1.1])), argosy.to_tensor(3)]
    return r._program, feeds


def test_control_flow(tmp_path):
    program, feeds = control_flow()
    want = run(program, feeds)
    again(program)
    _core.program_save(program, str(tmp_path / "model"), None)
    copy, scope = _core.program_load(str(tmp_path / "model"))
    assert text_of(copy) == text_of(program)
    for a, b in zip(want, run(copy, feeds, scope)):
        np.testing.assert_array_equal(a, b)


def test_model_with_large_constants_and_state(tmp_path):
    table = argosy.randn([300, 40])
    w = argosy.create_parameter([40, 7], "float32")
    count = argosy.to_tensor(0.0)
    with Recorder() as r:
        x = r.input([-1], "int64")
        y = argosy.matmul(table[x], w)
        count.add_(argosy.to_tensor(1.0))
    p = r._program
    _core.program_add_output(p, "y", y)
    feeds = [argosy.to_tensor([4, 2, 299])]
    (want,) = run(p, feeds)
    prefix = tmp_path / "model"
    _core.program_save(p, prefix, None)
    assert os.path.getsize(f"{prefix}.argosy") < 8000
    with open(f"{prefix}.argosy", "rb") as f, pytest.raises(ValueError, match="weights file"):
        _core.program_from_bytes(f.read())
    copy, scope = _core.program_load(prefix)
    assert w.name in _core.scope_names(scope)
    got = _core.scope_get(scope, w.name)
    assert not got.stop_gradient and got.persistable
    np.testing.assert_array_equal(got.numpy(), w.numpy())
    for _ in range(2):
        np.testing.assert_array_equal(run(copy, feeds, scope)[0], want)
    assert float(_core.scope_get(scope, count.name)) == 3  # one run before, two now
    # The other file of another model.
    _core.weights_save(f"{prefix}.safetensors", {w.name: argosy.zeros([40, 8])}, None)
    with pytest.raises(ValueError, match="keep the two files|does not belong|weights"):
        _core.program_load(prefix)


def test_state_without_a_value(tmp_path):
    with Recorder() as r:
        s = _core.program_state("fc_w", [2, 2], "float32", True, True)
        _ = s + 1
    with pytest.raises(RuntimeError, match="'fc_w'.*startup program"):
        _core.program_save(r._program, tmp_path / "m", None)
    scope = _core.scope_new(None)
    _core.scope_set(scope, "fc_w", argosy.ones([2, 2]))
    _core.program_save(r._program, tmp_path / "m", scope)
    _, loaded = _core.program_load(tmp_path / "m")
    assert float(_core.scope_get(loaded, "fc_w").sum()) == 4


def test_state_of_one_name():
    a, b = argosy.ones([2]), argosy.ones([3])
    a.name = b.name = "twin"
    a.stop_gradient = b.stop_gradient = False
    with Recorder() as r:
        _ = a.sum() + b.sum()
    copy = _core.program_from_bytes(_core.program_to_bytes(r._program))
    assert [s["name"] for s in _core.program_describe(copy)["states"]] == ["twin", "twin.1"]


def test_python_functions_are_not_saved():
    with Recorder() as r:
        x = r.input([2], "float32")
        py_func(lambda a: a, x, r.input([2], "float32"))
    with pytest.raises(ValueError, match="test_serialize.py:.*cannot be saved"):
        _core.program_to_bytes(r._program)


def test_sparse_values_of_ids_are_numbered_anew():
    with Recorder() as r:
        x = r.input([2], "float32")
        y = x
        for _ in range(10):
            y = y + 1
    again(r._program)


# --- hostile bytes ---


def small_program():
    with Recorder() as r:
        x = r.input([2, -1], "float32")
        y = argosy.concat([x, argosy.to_tensor(np.ones((2, 3), np.float32))], axis=1)
        z = cond(y.sum() > 0, lambda: y * 2, lambda: y.softmax(axis=0))
    _core.program_add_output(r._program, "z", z)
    return r._program


def refused(data, text=None):
    with pytest.raises(ValueError, match=text):
        _core.program_from_bytes(data)


def test_every_truncation_is_refused():
    data = _core.program_to_bytes(small_program())
    for n in range(len(data)):
        refused(data[:n], "truncated|no saved Program|damaged")
    refused(data + b"\0", "something behind it")


def test_wrong_magic_and_newer_version():
    data = bytearray(_core.program_to_bytes(small_program()))
    refused(b"PK\3\4" + data[4:], "no saved Program")
    refused(data.replace(b"argosy\r\n", b"argosy\n\n", 1), "no saved Program")
    data[8:12] = struct.pack("<I", 7)
    refused(bytes(data), "format version 7.*upgrade Argosy")


def test_unknown_op_and_attribute():
    data = _core.program_to_bytes(small_program())
    assert data.count(b"softmax") == 1
    refused(data.replace(b"softmax", b"softmix"), "'softmix'.*upgrade Argosy.*library")
    # What is no UTF-8 is quoted all the same.
    refused(data.replace(b"softmax", b"soft\xffax"), r"'soft\\xffax'.*upgrade Argosy.*library")
    assert data.count(b"axis\0") >= 1
    refused(data.replace(b"axis\0", b"axes\0"), "'axes'.*upgrade")


def test_flipped_bytes_never_crash():
    program, _ = control_flow()
    rng = random.Random(7)
    for data in (_core.program_to_bytes(small_program()), _core.program_to_bytes(program)):
        refused = 0
        for _ in range(400):
            bad = bytearray(data)
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(24, len(bad))
                bad[at] = rng.choice([0, 1, 0xFF, bad[at] ^ 1 << rng.randrange(8)])
            try:
                again(_core.program_from_bytes(bytes(bad)))
            except (ValueError, MemoryError, OverflowError) as error:
                assert len(str(error)) > 20
                refused += 1
        assert refused > 200


# --- weights ---


def write_safetensors(path, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_weights_of_all_dtypes(tmp_path):
    path = tmp_path / "w.safetensors"
    tensors = {f"{t}{s}": constant(t, s) for t in DTYPES for s in [(), (0, 2), (3, 2), (5,)]}
    tensors["turned"] = argosy.to_tensor(np.arange(6.0).reshape(2, 3)).t()
    _core.weights_save(path, tensors, {"made": "by hand"})
    got, metadata = _core.weights_load(path)
    assert metadata == {"made": "by hand"} and got.keys() == tensors.keys()
    for name, want in tensors.items():
        assert got[name].dtype == want.dtype and list(got[name].shape) == list(want.shape), name
        wide = "complex128" if "complex" in name else "float64"
        np.testing.assert_array_equal(
            got[name].astype(wide).numpy(), want.astype(wide).numpy(), name
        )
    # The layout that the format describes: no gaps, widest first.
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    assert (8 + size) % 8 == 0 and header["bfloat16(3, 2)"]["dtype"] == "BF16"
    assert header["complex128(3, 2)"]["shape"] == [3, 2, 2]
    begin, end = header["turned"]["data_offsets"]
    np.testing.assert_array_equal(
        np.frombuffer(raw[8 + size + begin : 8 + size + end]), [0, 3, 1, 4, 2, 5]
    )
    assert (
        max(e["data_offsets"][1] for n, e in header.items() if n[0] != "_") == len(raw) - 8 - size
    )


def test_weights_made_by_hand(tmp_path):
    path = tmp_path / "w.safetensors"
    a, b = np.arange(6, dtype=np.float32), np.array([1.5, -2], np.float16)
    header = {
        "__metadata__": {"format": "pt"},
        "b": {"dtype": "F16", "shape": [2], "data_offsets": [24, 28]},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "empty": {"dtype": "I64", "shape": [0, 4], "data_offsets": [28, 28]},
    }
    write_safetensors(path, header, a.tobytes() + b.tobytes())
    got, metadata = _core.weights_load(path)
    assert metadata == {"format": "pt"}
    np.testing.assert_array_equal(got["a"].numpy(), a.reshape(2, 3))
    np.testing.assert_array_equal(got["b"].numpy(), b)
    assert list(got["empty"].shape) == [0, 4]


ONE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
BAD_HEADERS = {
    "no json": b"{nothing",
    "a list": b"[1, 2]",
    "no entry": {"a": 1},
    "no dtype": {"a": {"shape": [2], "data_offsets": [0, 8]}},
    "unknown dtype": {"a": {**ONE, "dtype": "F4"}},
    "negative size": {"a": {**ONE, "shape": [-2]}},
    "a fraction": {"a": {**ONE, "shape": [2.5]}},
    "ten dimensions": {"a": {**ONE, "shape": [1] * 9 + [2]}},
    "overflow": {"a": {**ONE, "shape": [2**62, 2**62]}},
    "too long a product": {"a": {**ONE, "shape": [2**61]}},
    "wrong size": {"a": {**ONE, "shape": [3]}},
    "out of order": {"a": {**ONE, "data_offsets": [8, 0]}},
    "out of the file": {"a": {"dtype": "F32", "shape": [200], "data_offsets": [0, 800]}},
    "far out of the file": {"a": {"dtype": "U8", "shape": [2**40], "data_offsets": [0, 2**40]}},
    "overlap": {"a": ONE, "b": ONE},
    "gap": {"a": {"dtype": "U8", "shape": [4], "data_offsets": [4, 8]}},
    "rest": {"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}},
    "metadata of numbers": {"__metadata__": {"a": 1}, "a": ONE},
    "complex128 of no list": {"__metadata__": {"argosy.complex128": '"a"'}, "a": ONE},
    "bool of twos": {"a": {"dtype": "BOOL", "shape": [8], "data_offsets": [0, 8]}},
    "twice": b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, '
    b'"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}',
    "deep": b'{"a":' + b"[" * 100000 + b"]" * 100000 + b"}",
}


@pytest.mark.parametrize("header", BAD_HEADERS.values(), ids=BAD_HEADERS)
def test_bad_weights(tmp_path, header):
    path = tmp_path / "w.safetensors"
    write_safetensors(path, header, b"\2" * 8)
    with pytest.raises((ValueError, MemoryError), match="w.safetensors|elements"):
        _core.weights_load(path)


def test_short_weights(tmp_path):
    path = tmp_path / "w.safetensors"
    write_safetensors(path, {"a": ONE}, b"\0" * 8)
    whole = path.read_bytes()
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        with pytest.raises(ValueError, match="no valid safetensors"):
            _core.weights_load(path)
    path.write_bytes(struct.pack("<Q", 2**63) + b"{}")
    with pytest.raises(ValueError, match="header should have"):
        _core.weights_load(path)


def test_saving_weights_is_atomic(tmp_path):
    path = tmp_path / "w.safetensors"
    _core.weights_save(path, {"a": argosy.ones([2])}, None)
    before = path.read_bytes()
    for bad in ({"a": argosy.ones([2]), "__metadata__": argosy.ones([1])}, {"a": 1.0}):
        with pytest.raises((ValueError, TypeError)):
            _core.weights_save(path, bad, None)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["w.safetensors"]
    with pytest.raises(OSError, match="no/such"):
        _core.weights_save(tmp_path / "no/such/file", {}, None)
    with pytest.raises(FileNotFoundError, match="missing.argosy"):
        _core.program_load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="missing"):
        _core.weights_load(tmp_path / "missing")


def test_weights_of_the_safetensors_package(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "w.safetensors"
    arrays = {
        f"{dtype}{shape}": (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype)
        for dtype in "bool uint8 int8 int16 int32 int64 float16 float32 float64".split()
        for shape in [(), (3,), (2, 0), (5, 3)]
    }
    safetensors.save_file(arrays, path, {"made": "elsewhere"})
    got, metadata = _core.weights_load(path)
    assert metadata == {"made": "elsewhere"} and got.keys() == arrays.keys()
    _core.weights_save(tmp_path / "back.safetensors", got, None)
    back = safetensors.load_file(tmp_path / "back.safetensors")
    assert back.keys() == arrays.keys()
    for name, want in arrays.items():
        for found in (got[name].numpy(), back[name]):
            assert found.dtype == want.dtype and found.shape == want.shape
            np.testing.assert_array_equal(found, want)
