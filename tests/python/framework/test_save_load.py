"""save and load: Paddle's files both ways, safetensors, damaged and malicious files, killed writers."""

import collections
import io
import os
import pathlib
import pickle
import random
import signal
import stat
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import argosy
from argosy.framework import pickle_reader
from argosy.framework.io import load, save

FILES = pathlib.Path(__file__).parent / "files"  # written by Paddle 3.3.1


def plain(value):
    """`value` with tensors and arrays as (kind, dtype, nested lists), to compare with ==."""
    if isinstance(value, argosy.Tensor):
        dtype = str(value.dtype).rpartition(".")[2]
        return ("tensor", dtype, value.astype("float64").numpy().tolist())
    if isinstance(value, np.ndarray):
        return ("array", str(value.dtype), value.tolist())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    return value


def through(value, protocol=4, **configs):
    file = io.BytesIO()
    save(value, file, protocol=protocol)
    file.seek(0)
    return load(file, **configs)


# Paddle's files.


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_reads_a_state_dict_of_paddle(protocol):
    state = load(FILES / f"state_dict_protocol{protocol}.pdparams")
    assert list(state) == ["0.weight", "0.bias", "1.weight", "1.bias", "1._mean", "1._variance"]
    np.testing.assert_array_equal(
        state["0.weight"].numpy(), np.arange(6, dtype="float32").reshape(2, 3) / 4
    )
    assert state["0.weight"].name == "linear_0.w_0"
    assert state["0.weight"].stop_gradient
    assert plain(state["1._variance"]) == ("tensor", "float32", [0.0, 0.25, 0.5])


def test_reads_an_optimizer_state_of_paddle():
    state = load(FILES / "adam.pdopt")
    assert state["LR_Scheduler"] == {"last_epoch": 1, "last_lr": 0.125}
    power = state["linear_0.w_0_beta2_pow_acc_0"]
    assert power.shape == [1] and power.name == "linear_0.w_0_beta2_pow_acc_0"
    np.testing.assert_allclose(power.numpy(), [0.999**2], rtol=1e-6)


def test_reads_a_nested_object_of_paddle():
    found = load(FILES / "nested.pdparams")
    assert isinstance(found["model"], collections.OrderedDict)
    assert plain(found["model"]["bias"]) == ("tensor", "float32", [0.0, 0.25, 0.5])
    assert (found["epoch"], found["best"], found["tags"]) == (3, 0.5, ["a", ("b", None)])
    # Beside stored tensors a bare array was an array.
    assert plain(found["array"]) == ("array", "int64", [0, 1, 2])
    assert plain(found["t"]) == ("tensor", "float64", 2.5) and found["t"].shape == []


def test_reads_every_type_of_paddle():
    assert plain(load(FILES / "types.pdparams")) == {
        "w": ("tensor", "bfloat16", [1.0, -2.5, 3.25]),
        "h": ("tensor", "float16", [0.5]),
        "b": ("tensor", "bool", [1.0, 0.0]),
        "i": ("tensor", "int8", [[1.0, 2.0]]),
    }
    bits = load(FILES / "types.pdparams", return_numpy=True)["w"]
    assert bits.dtype == np.uint16 and bits.flags.writeable


def test_reads_a_tensor_of_paddle():
    assert plain(load(FILES / "tensor.pdtensor")) == ("tensor", "int32", [[1, 2], [3, 4]])


def test_name_table_is_kept_on_request():
    path = FILES / "state_dict_protocol4.pdparams"
    assert "StructuredToParameterName@@" not in load(path)
    table = load(path, keep_name_table=True)["StructuredToParameterName@@"]
    assert table["0.weight"] == "linear_0.w_0"


def test_writes_what_paddle_wrote():
    """Our pickle of the loaded state equals Paddle's as the standard unpickler sees both."""
    path = FILES / "state_dict_protocol4.pdparams"
    for protocol in (2, 3, 4):
        file = io.BytesIO()
        save(load(path), file, protocol=protocol)
        ours, theirs = pickle.loads(file.getvalue()), pickle.loads(path.read_bytes())
        assert list(ours) == list(theirs)
        assert plain(ours) == plain(theirs)


# Round trips.

VALUES = [
    None,
    True,
    [0, 255, 256, 65535, 65536, -1, -(2**31), 2**31, 10**40, -(10**700)],
    [1.5, float("inf"), -0.0, 1 + 2j],
    ["a", "a", "", "é" * 300],
    (1, (2, [3, {"k": ()}]), 4, 5),
    {1: "int key", "s": 2, None: 3, False: 4, 0.5: 5, b"b": 6, -(2**63): 7, 2**64 - 1: 8},
    {1, 2, 3},
    frozenset([1]),
    b"bytes" * 100,
    bytearray(b"x"),
    [range(1, 9, 2), slice(None, 3)],
    collections.OrderedDict(a=1, b=2),
    list(range(1000)),
    {i: str(i) for i in range(500)},
]


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_plain_values_come_back(value, protocol):
    found = through(value, protocol)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_arrays_come_back(protocol):
    arrays = [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12)[::3],
        np.zeros((0, 4), np.float32),
        np.array(3, np.int16),
        np.array(["ab", "c"]),
        np.array([1, "x", None], dtype=object),
        np.arange(3, dtype=">i4"),
        np.array([True, False]),
        np.arange(3, dtype=np.complex64),
    ]
    found = through(arrays, protocol, return_numpy=True)
    for array, result in zip(arrays, found):
        assert result.dtype == array.dtype.newbyteorder("=") and result.shape == array.shape
        assert result.tolist() == array.tolist() and result.flags.writeable
    scalar = through(np.float32(1.5), protocol)
    assert type(scalar) is np.float32 and scalar == 1.5
    factory = collections.defaultdict(list, a=[1])
    assert through(factory, protocol) == factory and through(factory)["new"] == []


@pytest.mark.parametrize(
    "dtype",
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 "
    "float8_e4m3fn float8_e5m2".split(),
)
def test_tensors_of_every_type_come_back(dtype, tmp_path):
    tensor = argosy.to_tensor([[1.0, 0.0], [3.0, 4.0]]).astype(dtype)
    for target in (tmp_path / "t.pdparams", tmp_path / "t.safetensors"):
        if dtype.startswith("float8") and target.suffix == ".pdparams":
            with pytest.raises(TypeError, match=f"cannot hold {dtype}.*safetensors"):
                save({"t": tensor}, target)
            continue
        save({"t": tensor}, target)
        found = load(target)["t"]
        assert found.dtype == tensor.dtype and found.shape == [2, 2]
        assert plain(found) == plain(tensor)


def test_shared_and_cyclic_containers_stay_so():
    shared = [1]
    cycle = [shared, shared]
    cycle.append(cycle)
    found = through(cycle)
    assert found[0] is found[1] and found[2] is found


def test_tied_weights_are_stored_once():
    weight = argosy.ones([1000])
    one, two = io.BytesIO(), io.BytesIO()
    save({"a": weight}, one)
    save({"a": weight, "b": weight}, two)
    assert len(two.getvalue()) < 1.1 * len(one.getvalue())
    two.seek(0)
    assert plain(load(two)["b"]) == plain(weight)


def test_arrays_split_by_paddle_are_joined():
    parts = {
        "UnpackBigParamInfor@@": {"w": {"OriginShape": (2, 3), "slices": ["w@@.0", "w@@.1"]}},
        "w@@.0": np.arange(4.0),
        "w@@.1": np.arange(4.0, 6.0),
        "StructuredToParameterName@@": {"w": "linear_0.w_0"},
    }
    found = load(io.BytesIO(pickle.dumps(parts, 2)))
    assert list(found) == ["w"] and found["w"].name == "linear_0.w_0"
    np.testing.assert_array_equal(found["w"].numpy(), np.arange(6.0).reshape(2, 3))


def test_two_objects_in_one_stream():
    file = io.BytesIO()
    save({"a": 1}, file)
    save([2], file)
    file.seek(0)
    assert load(file) == {"a": 1} and load(file) == [2]


def test_layer_and_optimizer_resume(tmp_path):
    def build():
        argosy.seed(1)
        layer = argosy.nn.Linear(3, 2)
        return layer, argosy.optimizer.Adam(parameters=layer.parameters(), learning_rate=0.1)

    def step(layer, optimizer):
        layer(argosy.ones([4, 3])).square().sum().backward()
        optimizer.step()
        optimizer.clear_grad()

    # Names are counted per process; the guards make each half its own process in this respect.
    with argosy.utils.unique_name.guard():
        layer, optimizer = build()
        step(layer, optimizer)
        save(layer.state_dict(), tmp_path / "m.pdparams")
        save(optimizer.state_dict(), tmp_path / "m.pdopt")
        step(layer, optimizer)
    with argosy.utils.unique_name.guard():
        other, resumed = build()
        other.set_state_dict(load(tmp_path / "m.pdparams"))
        resumed.set_state_dict(load(tmp_path / "m.pdopt"))
        step(other, resumed)
    assert plain(other.state_dict()) == plain(layer.state_dict())


# safetensors.


def test_safetensors_holds_only_tensors_by_name(tmp_path):
    path = tmp_path / "m.safetensors"
    save({"w": argosy.ones([2, 3]), "n": np.arange(3)}, path)
    assert plain(load(path)["n"]) == ("tensor", "int64", [0, 1, 2])
    assert isinstance(load(path, return_numpy=True)["w"], np.ndarray)
    with pytest.raises(TypeError, match=r"\[save\].*'epoch' of type int.*\.pdparams"):
        save({"epoch": 3}, path)
    assert list(load(path)) == ["n", "w"]  # the refused save left it
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ValueError, match=r"\[load\].*damaged.*m\.safetensors"):
        load(path)


def test_format_argument_wins_over_the_ending(tmp_path):
    path = tmp_path / "m.bin"
    save({"w": argosy.ones([2])}, path, format="safetensors")
    assert plain(load(path, format="safetensors")["w"]) == ("tensor", "float32", [1.0, 1.0])
    with pytest.raises(ValueError, match="unknown format: expected 'pickle' or 'safetensors'"):
        save({}, path, format="hdf5")


# Refusals of save.


def test_save_refuses_what_pickle_refuses(tmp_path):
    class Config:  # of a function: found by no name
        pass

    path = tmp_path / "m.pdparams"
    save({"a": 1}, path)
    with pytest.raises(TypeError, match=r"\[save\] cannot store the object\['x'\]\[1\].*Config"):
        save({"x": [1, Config()]}, path)
    assert load(path) == {"a": 1} and os.listdir(tmp_path) == ["m.pdparams"]
    with pytest.raises(ValueError, match=r"\[save\] a Layer cannot be saved.*state_dict\(\)"):
        save(argosy.nn.Linear(2, 2), path)


@pytest.mark.parametrize(
    "arguments, text",
    [
        (({}, "out/"), "file name is empty"),
        (({}, ""), "file name is empty"),
        (({}, 3), "expected a path or BytesIO, got int"),
        (({}, "x", 1), "expected 2, 3 or 4, got 1"),
        (({}, "x", 5), "expected 2, 3 or 4, got 5"),
        (({}, "x", "4"), "must be an int"),
    ],
)
def test_bad_arguments_of_save(arguments, text):
    with pytest.raises(ValueError, match=text):
        save(*arguments)


def test_bad_arguments_of_load(tmp_path):
    with pytest.raises(ValueError, match=r"\[load\] no such file: .*nope"):
        load(tmp_path / "nope")
    with pytest.raises(ValueError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(ValueError, match="unknown option mode"):
        load(tmp_path, mode="r")


# Damaged files.


def test_every_truncation_is_told(tmp_path):
    whole = (FILES / "nested.pdparams").read_bytes()
    path = tmp_path / "cut.pdparams"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"\[load\].*damaged.*cut\.pdparams"):
            load(path)


def test_every_altered_byte_of_our_files_is_told(tmp_path):
    path = tmp_path / "m.pdparams"
    save({"w": argosy.arange(12.0), "epoch": 3}, path)
    whole = bytearray(path.read_bytes())
    body = len(whole) - 20
    for position in range(body):
        whole[position] ^= 1
        path.write_bytes(whole)
        with pytest.raises((ValueError, pickle.UnpicklingError), match=r"\[load\]"):
            load(path)
        whole[position] ^= 1


def test_random_damage_never_escapes_as_another_error():
    rng = random.Random(0)
    for name in ("nested.pdparams", "state_dict_protocol2.pdparams", "adam.pdopt"):
        whole = (FILES / name).read_bytes()
        for _ in range(400):
            data = bytearray(whole)
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                load(io.BytesIO(bytes(data)))
            except (ValueError, pickle.UnpicklingError) as error:
                assert str(error).startswith("[load]"), error


def test_huge_sizes_take_no_memory():
    huge = b"\x80\x04\x8e" + (1 << 60).to_bytes(8, "little") + b"abc"
    with pytest.raises(pickle_reader.DamagedFileError, match="bytes are missing"):
        load(io.BytesIO(huge))


# Malicious files.


class Evil:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 3, 4])
def test_code_in_a_file_is_not_run(protocol, tmp_path):
    witness = tmp_path / "witness"
    data = pickle.dumps({"w": [Evil(os.system, f"touch {witness}")]}, protocol)
    with pytest.raises((ValueError, pickle.UnpicklingError), match=r"\[load\]") as caught:
        load(io.BytesIO(data))
    if protocol >= 2:
        assert isinstance(caught.value, pickle_reader.UnsafeFileError)
        assert f"{os.system.__module__}.system" in str(caught.value)
    assert not witness.exists()


@pytest.mark.parametrize(
    "function, name",
    [(eval, "builtins.eval"), (getattr, "builtins.getattr"), (np.load, "numpy.load")],
)
def test_the_refused_name_is_told(function, name):
    data = pickle.dumps(Evil(function, "1"), 4)
    with pytest.raises(pickle_reader.UnsafeFileError, match=name.replace(".", r"\.")):
        load(io.BytesIO(data))


def test_dotted_and_odd_names_are_refused():
    for name in (b"os.system", b"set.__class__", b"__import__"):
        data = b"\x80\x04\x8c\x08builtins\x8c" + bytes((len(name),)) + name + b"\x93."
        with pytest.raises(pickle_reader.UnsafeFileError, match="builtins"):
            load(io.BytesIO(data))


def test_allowed_constructors_take_only_plain_arguments():
    data = pickle.dumps(Evil(complex, "1+2j"), 4)
    with pytest.raises(pickle_reader.DamagedFileError, match="wrong arguments for complex"):
        load(io.BytesIO(data))


# Killed writers and odd targets.


def test_a_killed_writer_leaves_the_previous_file_whole(tmp_path):
    path = tmp_path / "m.pdparams"
    save({"w": argosy.zeros([100])}, path)
    program = textwrap.dedent(
        """
        import os, signal, sys
        import argosy
        from argosy.framework import io as files, pickle_writer
        def killed(self, data):
            self._write(b"half of it")
            os.kill(os.getpid(), signal.SIGKILL)
        pickle_writer.PickleWriter._bytes = killed
        files.save({"w": argosy.ones([100000])}, sys.argv[1])
        """
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert plain(load(path)["w"]) == plain(argosy.zeros([100]))
    assert len(os.listdir(tmp_path)) == 2  # the killed writer's temporary file
    save({"w": argosy.ones([100])}, path)
    assert os.listdir(tmp_path) == ["m.pdparams"]


def test_a_full_disk_leaves_the_previous_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "m.pdparams"
    save({"a": 1}, path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save({"a": 2}, path)
    monkeypatch.undo()
    assert load(path) == {"a": 1} and os.listdir(tmp_path) == ["m.pdparams"]


def test_links_and_permissions_stay(tmp_path):
    real, link = tmp_path / "real.pdparams", tmp_path / "link.pdparams"
    save(1, real)
    real.chmod(0o640)
    link.symlink_to(real)
    save(2, link)
    assert link.is_symlink() and load(real) == 2
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    save(3, tmp_path / "new" / "folder" / "m.pdparams")
    assert load(str(tmp_path / "new" / "folder" / "m.pdparams")) == 3


def test_a_device_is_written_in_place():
    save({"a": 1}, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_file_that_was_cut_or_altered_anywhere_is_damaged(tmp_path):
    """Also in what follows the pickle, though the values are whole then."""
    path = tmp_path / "model.pdparams"
    argosy.save({"w": argosy.arange(40)}, path)
    content = path.read_bytes()
    for n in range(0, len(content)):
        if n == len(content) - 20:
            continue  # a file of Paddle
        path.write_bytes(content[:n])
        with pytest.raises(pickle_reader.DamagedFileError):
            argosy.load(path)
    for n in range(len(content)):
        altered = bytearray(content)
        altered[n] ^= 0x10
        path.write_bytes(altered)
        with pytest.raises((pickle_reader.DamagedFileError, pickle_reader.UnsafeFileError)):
            argosy.load(path)
    path.write_bytes(content[:-20])
    assert argosy.load(path)["w"].tolist() == list(range(40))


@pytest.mark.parametrize(
    "value",
    [
        np.array(["2020-01-01"], "datetime64[D]"), np.zeros(2, [("x", "i4")]), np.zeros(1, "V2"),
        np.timedelta64(3, "D"), np.dtype("M8[s]"),
    ],
)  # fmt: skip
def test_arrays_that_no_load_reads_are_not_written(tmp_path, value):
    path = tmp_path / "x"
    argosy.save({"a": 1}, path)
    with pytest.raises(TypeError, match=r"\[save\] cannot store the object\['a'\].* load reads no"):
        argosy.save({"a": value, "b": 2}, path)
    assert argosy.load(path) == {"a": 1}
    with pytest.raises(ValueError, match="keeps the name '__metadata__' for itself"):
        argosy.save({"__metadata__": argosy.ones([1])}, tmp_path / "x.safetensors")
