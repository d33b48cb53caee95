"""GGUF files: what the package gguf writes is read."""

import numpy as np
import pytest

import argosy
from argosy.framework import gguf

package = pytest.importorskip("gguf")


def drawn(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


@pytest.fixture
def file(tmp_path):
    """(path, {name: array that the file stands for})."""
    path = tmp_path / "model.gguf"
    writer = package.GGUFWriter(str(path), "llama")
    writer.add_block_count(3)
    writer.add_rope_freq_base(1e5)
    writer.add_token_list(["a", "Ġb"])
    wanted = {"plain": drawn(3, 5), "half": drawn(4, 2).astype("float16"), "one": drawn(7)}
    wanted["numbers"] = np.arange(6, dtype="int32").reshape(2, 3)
    for name, array in wanted.items():
        writer.add_tensor(name, array)
    for kind in ("Q8_0", "Q4_0", "Q4_1"):
        kind = package.GGMLQuantizationType[kind]
        blocks = package.quants.quantize(drawn(6, 64), kind)
        writer.add_tensor(kind.name, blocks, raw_dtype=kind)
        wanted[kind.name] = numbers_of(kind.name, blocks)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path, wanted


def numbers_of(kind, blocks):
    """Blocks of 32 numbers: a scale of 16 bits, in Q4_1 also the least number, and the codes."""
    rows = []
    for row in np.asarray(blocks).view("uint8").reshape(6, 2, -1):
        numbers = []
        for block in row:
            scale = block[:2].view("float16").astype("float32")
            if kind == "Q8_0":
                numbers.append(scale * block[2:].view("int8"))
                continue
            least = block[2:4].view("float16").astype("float32") if kind == "Q4_1" else -8 * scale
            codes = block[4 if kind == "Q4_1" else 2 :]
            codes = np.concatenate([codes & 15, codes >> 4])
            numbers.append(scale * codes.astype("float32") + least)
        rows.append(np.concatenate(numbers))
    return np.stack(rows)


def test_tensors(file):
    path, wanted = file
    read = argosy.load(path)
    assert list(read) == list(wanted)
    for name, array in wanted.items():
        assert read[name].numpy().dtype == array.dtype, name
        np.testing.assert_allclose(read[name].numpy(), array, 1e-6, err_msg=name)


def test_arrays_of_their_own(file):
    path, wanted = file
    read = argosy.load(path, return_numpy=True)
    read["plain"][:] = 0
    np.testing.assert_array_equal(argosy.load(path)["plain"].numpy(), wanted["plain"])


def test_what_is_close_to_what_was_written(file):
    path, _ = file
    for name, most in (("Q8_0", 0.03), ("Q4_1", 0.3)):
        assert np.abs(argosy.load(path)[name].numpy() - drawn(6, 64)).max() < most


def test_metadata(file):
    said = gguf.metadata(file[0])
    assert said["general.architecture"] == "llama" and said["llama.block_count"] == 3
    assert said["llama.rope.freq_base"] == 1e5
    assert said["tokenizer.ggml.tokens"] == ["a", "Ġb"]


def test_any_ending(file, tmp_path):
    other = tmp_path / "model.bin"
    other.write_bytes(file[0].read_bytes())
    np.testing.assert_array_equal(argosy.load(other, format="gguf")["one"].numpy(), file[1]["one"])


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        argosy.load(tmp_path / "none.gguf")
    with pytest.raises(NotImplementedError, match="GGUF files are only read"):
        argosy.save({"x": argosy.ones([2])}, tmp_path / "x.gguf")
    with pytest.raises(ValueError, match="unknown format: expected 'pickle' or 'safetensors'"):
        argosy.save({"x": argosy.ones([2])}, tmp_path / "x", format="gguf")


def test_damaged_files(file, tmp_path):
    """Bytes changed, files cut: the numbers of a file, or an error that says which."""
    whole = file[0].read_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / "damaged.gguf"
    for attempt in range(150):
        data = bytearray(whole)
        for place in rng.integers(0, min(len(data), 900), rng.integers(1, 4)):
            data[place] = rng.integers(256)
        path.write_bytes(data[: rng.integers(len(data))] if attempt % 3 == 0 else data)
        try:
            argosy.load(path)
            gguf.metadata(path)
        except (ValueError, NotImplementedError) as error:
            assert str(error).startswith("[")
    path.write_bytes(b"GGUF")
    with pytest.raises(ValueError, match="is damaged or no GGUF file"):
        argosy.load(path)


def test_without_the_package(file, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ImportError, match="pip install gguf"):
        argosy.load(file[0])
