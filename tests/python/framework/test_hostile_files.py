"""load of files made to harm: whatever the bytes, the time and memory it takes are bounded by them."""

import collections
import io
import pathlib
import pickle
import struct
import subprocess
import sys
import textwrap
import time
import tracemalloc

import numpy as np
import pytest

import argosy
from argosy.framework import pickle_reader
from argosy.framework.io import load, save

CORPUS = pathlib.Path(__file__).parents[3] / "tests" / "fuzz" / "corpus" / "pickle"

START = b"\x80\x04"
DTYPE = b"cnumpy\ndtype\n"
ARRAY = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85C\x01btR"


def number(value):
    return b"\x8a\x09" + value.to_bytes(9, "little", signed=True)


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def dtype(code, order="<"):
    state = b"(K\x03" + text(order) + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t"
    return DTYPE + text(code) + b"\x89\x88\x87R" + state + b"b"


def array(shape, kind, data, fortran=b"\x89"):
    """The opcodes of an array, from those of its shape, dtype and elements."""
    return ARRAY + b"(K\x01" + shape + kind + fortran + data + b"tb"


def doubled(times, last=b"\x86"):
    """A tuple of twice a tuple of twice a tuple ...: 2**times leaves in some 5 bytes each."""
    return b")" + b"".join(b"\x94h" + bytes((i,)) + last for i in range(times))


SMALL = {
    "a deep tuple as a key": START + b"}" + b")" + b"\x85" * 1000 + b"Ns.",
    "a deep tuple in a set": START + b"\x8f(" + b")" + b"\x85" * 1000 + b"\x90.",
    "a deep tuple in a frozenset": START + b"(" + b")" + b"\x85" * 1000 + b"\x91.",
    "a deep tuple in a set that is called": START
    + (b"cbuiltins\nset\n](" + b")" + b"\x85" * 900 + b"e\x85R."),
    "a deep tuple": START + b")" + b"\x85" * 1000 + b".",
    "a deep list": START + b"]" * 500 + b"a" * 499 + b".",
    "a deep dict": START + b"}" + b"N}" * 300 + b"s" * 300 + b".",
    "doubled tuples as a key": START + b"}" + doubled(100) + b"Ns.",
    "doubled tuples in an array": START
    + array(b"K\x01\x85", dtype("O", "|"), b"](" + doubled(60) + b"e")
    + b".",
    "doubled tuples where a name stands": START + DTYPE + doubled(60) + b"\x85R.",
    "doubled tuples as a byte order": START
    + (DTYPE + text("f4") + b"\x85R(K\x03" + doubled(60) + b"tb."),
    "doubled tuples as an encoding": START
    + (b"c_codecs\nencode\n" + text("a") + doubled(60) + b"\x86R."),
    "doubled tuples as the number of a dtype": START
    + b"cpaddle\ndtype\n)\x81"
    + doubled(60)
    + b"b.",
    "doubled tuples as a factory": START
    + (b"ccollections\ndefaultdict\n" + doubled(60) + b"\x85R."),
    "range as elements": START
    + array(
        b"K\x01\x85",
        dtype("O", "|"),
        b"cbuiltins\nrange\nK\x00" + number(1 << 40) + b"K\x01\x87R",
    )
    + b".",
    "text as elements of objects": START + array(b"K\x01\x85", dtype("O", "|"), text("a")) + b".",
    "a large size": START + array(number(1 << 60) + b"\x85", dtype("f4"), b"C\x00") + b".",
    "a negative size": START
    + array(b"J\xff\xff\xff\xff\x85", dtype("f4"), b"C\x08" + bytes(8))
    + b".",
    "sizes of no elements": START
    + (array(b"K\x00" + number(1 << 40) + number(1 << 40) + b"\x87", dtype("f4"), b"C\x00") + b"."),
    "a shape that is no tuple": START + array(doubled(3), dtype("f4"), b"C\x00") + b".",
    "large elements": START + array(b"K\x00\x85", dtype("U500000000"), b"C\x00") + b".",
    "elements of bool that are none": START
    + array(b"K\x01\x85", dtype("?", "|"), b"C\x01\x02")
    + b".",
    "elements of text that are none": START
    + (array(b"K\x01\x85", dtype("U1"), b"C\x04\xff\xff\xff\xff") + b"."),
    "a length of 2**63": START + b"\x8d" + struct.pack("<Q", 1 << 63) + b"abc.",
    "a length of bytes": START + b"\x8e" + struct.pack("<Q", 1 << 40) + b"abc.",
    "a length of a bytearray": START + b"\x96" + struct.pack("<Q", 1 << 40) + b"abc.",
    "a length of an integer": START + b"\x8b" + struct.pack("<i", 1 << 30) + b"abc.",
    "a negative length of an integer": START + b"\x8b" + struct.pack("<i", -5) + b"abc.",
    "a frame that ends nowhere": START + b"\x95" + struct.pack("<Q", 1 << 60) + b"N",
    "a far memo entry": START + b"Nr" + struct.pack("<I", 0xFFFFFFFF) + b".",
    "state twice": START + DTYPE + text("f4") + b"\x85R\x940" + b"h\x00h\x00NbNb.",
    "a key of many digits": START + b"}\x8b" + struct.pack("<i", 400) + b"\x7f" * 400 + b"Ns.",
    "a long name": START + b"c" + b"a" * 400 + b"\n" + b"b" * 400 + b"\n.",
    "joined parts that are none": START
    + (b"}" + text("UnpackBigParamInfor@@") + b"}" + text("w") + doubled(50) + b"ss."),
    "a table of names in itself": START
    + (
        b"}\x94" + text("StructuredToParameterName@@") + b"h\x00s" + text("a") + doubled(60) + b"s."
    ),
    "names that are tuples": START
    + (b"}" + text("StructuredToParameterName@@") + b"}" + text("w") + doubled(60) + b"ss."),
}


def measured(data, **configs):
    """(seconds of the processor, peak of memory in bytes, error or None) of a load."""
    tracemalloc.start()
    start = time.process_time()
    error = None
    try:
        load(io.BytesIO(data), **configs)
    except (ValueError, pickle.UnpicklingError) as caught:
        error = caught
        assert str(error).startswith("[load] ") and "Do this: " in str(error), error
        assert len(str(error)) < 2000
    seconds = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak, error


@pytest.mark.parametrize("name", SMALL)
def test_a_small_file_takes_little(name):
    data = SMALL[name]
    assert len(data) <= 2100
    load(io.BytesIO(pickle.dumps(np.ones(2), 4)))  # what is imported at first use is not counted
    seconds, peak, error = measured(data)
    assert seconds < 5 and peak < 32 << 20
    harmless = ("a table of names in itself", "doubled tuples in an array", "names that are tuples")
    assert (error is None) == (name in harmless), error


def copies(one, times):
    """`one` puts 1 MB into the memo as entry 0; `times` is repeated beside it."""
    return START + one + b"\x940](" + times + b"e."


LARGE = {
    "lists that are copied": copies(
        b"](" + b"N" * 1_000_000 + b"e", b"cbuiltins\nlist\nh\x00\x85R" * 2000
    ),
    "sets of one list": copies(
        b"](" + b"K\x01" * 500_000 + b"e", b"cbuiltins\nset\nh\x00\x85R" * 2000
    ),
    "arrays over the same bytes": copies(
        b"B" + struct.pack("<I", 1_000_000) + bytes(1_000_000),
        array(number(1_000_000) + b"\x85", dtype("u1", "|"), b"h\x00") * 2000,
    ),
    "arrays of other byte order over the same bytes": copies(
        b"B" + struct.pack("<I", 1_000_000) + bytes(1_000_000),
        array(number(250_000) + b"\x85", dtype("i4", ">"), b"h\x00") * 2000,
    ),
    "text that is encoded": copies(
        text("a" * 1_000_000), (b"c_codecs\nencode\nh\x00" + text("latin1") + b"\x86R") * 2000
    ),
    "texts that equal each other as keys": START
    + (text("a" * 1_000_000) + b"\x940" + text("a" * 1_000_000) + b"\x940")
    + (b"}h\x00Ns" + b"h\x01Ns" * 100_000 + b"."),
    "one array under many names": START
    + array(number(1_000_000) + b"\x85", dtype("u1", "|"), b"B" + struct.pack("<I", 1_000_000) + bytes(1_000_000))
    + (b"\x940}(")
    + b"".join(text(str(i)) + b"h\x00" for i in range(2000))
    + (text("StructuredToParameterName@@") + b"}(")
    + b"".join(text(str(i)) + text(f"n{i}") for i in range(2000))
    + b"uu.",
    "a value that gets its state often": START
    + (DTYPE + text("f4") + b"\x85R" + b"\x94" * 200_000)
    + (b"h\x00" * 200_000 + b"Nb0" * 200_000 + b"."),
    "integers that hash alike": START
    + (b"}" + b"".join(b"\x8a\x0d" + (i * ((1 << 61) - 1)).to_bytes(13, "little") + b"Ns" for i in range(60_000)))
    + b".",
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_a_file_takes_in_proportion_to_its_size(name):
    seconds, peak, error = measured(LARGE[name])
    assert seconds < 10 and peak < 256 << 20
    assert error is not None


def test_parts_are_joined_once():
    parts = {f"p{i}": np.zeros(1, "S1") for i in range(50)} | {"long": np.array([b"a" * 1000])}
    for table in (
        {"w": {"slices": [*parts], "OriginShape": (51,)}},  # NumPy would widen every element
        {"w": {"slices": ["p1", "p1"], "OriginShape": (2,)}},
        {"w": {"slices": ["p1", "p2"], "OriginShape": (2,)}, "v": {"slices": ["w", "p3"], "OriginShape": (3,)}},
        {"w": {"slices": ["p1"], "OriginShape": (7,)}},
        {"w": {"slices": range(10**12), "OriginShape": (7,)}},
    ):  # fmt: skip
        data = pickle.dumps(parts | {"UnpackBigParamInfor@@": table}, 4)
        with pytest.raises(pickle_reader.DamagedFileError, match="arra"):
            load(io.BytesIO(data))


def test_tied_weights_become_one_tensor_however_many():
    weight = argosy.ones([1000, 1000])
    file = io.BytesIO()
    save({f"w{i}": weight for i in range(100)}, file)
    file.seek(0)
    found = load(file)
    assert len(found) == 100 and all(value is found["w0"] for value in found.values())


def test_a_chain_of_defaultdicts_does_not_end_the_process():
    """Freeing them recurses in C; entries are put in from the outside so that none nests at first."""
    make = b"ccollections\ndefaultdict\n)R\x94"
    count = 60_000
    dicts = START + b"](" + b"".join(make for _ in range(count)) + b"e0"
    chain = b"".join(
        b"j" + struct.pack("<I", i) + b"Nj" + struct.pack("<I", i + 1) + b"s0"
        for i in range(count - 1)
    )
    program = textwrap.dedent(
        """
        import io, sys
        import argosy
        try:
            argosy.load(io.BytesIO(sys.stdin.buffer.read()))
        except ValueError as error:
            print(error)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=dicts + chain + b"j" + struct.pack("<I", 0) + b".",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert b"defaultdict" in done.stdout or b"nested" in done.stdout


def test_what_load_refuses_save_refuses():
    deep = []
    for _ in range(150):
        deep = [deep]
    half = [None]
    for _ in range(70):
        half = [half]
    joint = half
    for _ in range(70):
        joint = [joint]
    for value in (deep, [half, joint]):
        with pytest.raises(ValueError, match=r"\[save\].*nested deeper than 100 levels"):
            save(value, io.BytesIO())
    for value in ({(1, 2): 3}, {1 << 64: 1}, {frozenset()}, [{np.float32(1): 2}]):
        file = io.BytesIO()
        save(value, file)
        for allow in (None, []):
            file.seek(0)
            if allow is None:
                with pytest.raises(
                    pickle_reader.UnsafeFileError, match=r"64 bits.*load\(path, allow=\[\]\)"
                ):
                    load(file)
            else:
                assert load(file, allow=allow) == value


def test_the_deepest_that_save_takes_comes_back():
    for wrap in (
        lambda value: [value],
        lambda value: (value,),
        lambda value: {"k": value},
        lambda value: collections.defaultdict(list, k=value),
        lambda value: collections.OrderedDict(k=value),
    ):
        value = None
        for _ in range(100):
            value = wrap(value)
        file = io.BytesIO()
        save(value, file)
        file.seek(0)
        found = load(file)
        for _ in range(100):
            assert len(found) == 1
            found = found["k"] if isinstance(found, dict) else found[0]
        assert found is None
        with pytest.raises(ValueError, match="nested deeper"):
            save(wrap(wrap(value)), io.BytesIO())


def test_arrays_of_lists_come_back():
    array = np.empty(2, object)
    array[0], array[1] = [1, 2], [3, 4]
    file = io.BytesIO()
    save([array], file)
    file.seek(0)
    assert load(file, return_numpy=True)[0].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_inputs_of_the_fuzzer(path):
    data = path.read_bytes()
    for configs in ({}, {"return_numpy": True, "keep_name_table": True}):
        seconds, peak, _ = measured(data, **configs)
        assert seconds < 5 and peak < 64 << 20
