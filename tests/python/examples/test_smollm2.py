"""examples/smollm2: a small model in a GGUF file against NumPy."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

package = pytest.importorskip("gguf")

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples/smollm2"
WORDS, WIDTH, LAYERS, HEADS, KV_HEADS, INNER, CONTEXT = 96, 128, 2, 4, 2, 64, 24
BASE, EPSILON = 1000.0, 1e-5
HEAD = WIDTH // HEADS


@pytest.fixture(autouse=True)
def folder(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in ("model", "weights"):
        sys.modules.pop(name, None)


def weights():
    """{name: (array, type in the file)}, large enough that words differ clearly."""
    rng = np.random.default_rng(0)

    def matrix(rows, columns):
        return rng.standard_normal((rows, columns)).astype("float32") * 2 / columns**0.5

    made = {"token_embd.weight": (matrix(WORDS, WIDTH) * 4, "Q8_0")}
    made["output_norm.weight"] = (rng.uniform(0.5, 1.5, WIDTH).astype("float32"), "F32")
    for i in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            gain = rng.uniform(0.5, 1.5, WIDTH).astype("float32")
            made[f"blk.{i}.{name}.weight"] = (gain, "F32")
        made[f"blk.{i}.attn_q.weight"] = (matrix(WIDTH, WIDTH), "Q4_1")
        made[f"blk.{i}.attn_k.weight"] = (matrix(KV_HEADS * HEAD, WIDTH), "F32")
        made[f"blk.{i}.attn_v.weight"] = (matrix(KV_HEADS * HEAD, WIDTH), "Q8_0")
        made[f"blk.{i}.attn_output.weight"] = (matrix(WIDTH, WIDTH), "Q4_1")
        made[f"blk.{i}.ffn_gate.weight"] = (matrix(INNER, WIDTH), "Q8_0")
        made[f"blk.{i}.ffn_up.weight"] = (matrix(INNER, WIDTH), "Q4_1")
        made[f"blk.{i}.ffn_down.weight"] = (matrix(WIDTH, INNER), "Q8_0")
    return made


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """(path, {name: what the file stands for, float64})."""
    path = tmp_path_factory.mktemp("smollm2") / "model.gguf"
    writer = package.GGUFWriter(str(path), "llama")
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_feed_forward_length(INNER)
    writer.add_context_length(CONTEXT)
    writer.add_rope_freq_base(BASE)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_token_list([f"Ġ{i}" for i in range(WORDS)])
    numbers = {}
    for name, (array, kind) in weights().items():
        kind = package.GGMLQuantizationType[kind]
        stored = package.quants.quantize(array, kind)
        writer.add_tensor(name, stored, raw_dtype=None if kind.name == "F32" else kind)
        numbers[name] = package.quants.dequantize(stored, kind).astype("float64")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path, numbers


def reference(w, ids):
    """Scores of all words after `ids`, without anything kept."""
    count = len(ids)

    def norm(x, gain):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON) * gain

    def turned(x):  # [count, heads, HEAD]: pairs of neighbours
        angles = np.arange(count)[:, None] * BASE ** -(np.arange(0, HEAD, 2) / HEAD)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        a, b = x[..., 0::2], x[..., 1::2]
        return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)

    x = w["token_embd.weight"][ids]
    later = np.triu(np.full((count, count), -np.inf), 1)
    for i in range(LAYERS):
        part = {k.split(".")[2]: v for k, v in w.items() if k.startswith(f"blk.{i}.")}
        h = norm(x, part["attn_norm"])
        q = turned((h @ part["attn_q"].T).reshape(count, HEADS, HEAD))
        k = turned((h @ part["attn_k"].T).reshape(count, KV_HEADS, HEAD))
        v = (h @ part["attn_v"].T).reshape(count, KV_HEADS, HEAD)
        heads = []
        for j in range(HEADS):
            of = j // (HEADS // KV_HEADS)
            scores = q[:, j] @ k[:, of].T / HEAD**0.5 + later
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(scores / scores.sum(-1, keepdims=True) @ v[:, of])
        x = x + np.concatenate(heads, -1) @ part["attn_output"].T
        h = norm(x, part["ffn_norm"])
        gate = h @ part["ffn_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ part["ffn_up"].T)) @ part["ffn_down"].T
    return norm(x[-1], w["output_norm.weight"]) @ w["token_embd.weight"].T


def test_scores_word_by_word(file):
    from weights import load

    import argosy as paddle

    path, numbers = file
    model = load(path)
    ids = [5, 90, 17, 17, 33, 2, 71]
    with paddle.no_grad():
        for begin, end in ((0, 3), (3, 4), (4, 7)):
            scores = model(paddle.to_tensor(ids[begin:end])).numpy()
            np.testing.assert_allclose(scores, reference(numbers, ids[:end]), 1e-3, 1e-3)


def test_words_that_are_written(file):
    from weights import load

    path, numbers = file
    ids = [3, 14, 15]
    wanted = []
    for _ in range(12):
        wanted.append(int(reference(numbers, ids + wanted).argmax()))
    assert load(path).write(ids, 12) == wanted


@pytest.mark.parametrize("bits", [8, 4])
def test_weights_of_few_bits(file, bits):
    """The scores are those of the numbers that the weights have become."""
    quant = pytest.importorskip("argosy.nn.quant")
    if not hasattr(quant, "weight_quantize"):
        pytest.skip("nn.quant has no weights of few bits")
    from model import quantize
    from weights import load

    import argosy as paddle

    path, _ = file
    plain, algorithm = load(path), f"weight_only_int{bits}"
    ids = paddle.to_tensor([5, 90, 17])
    with paddle.no_grad():
        exact = plain(ids).numpy()
        for layer in plain.sublayers():
            if isinstance(layer, paddle.nn.Linear):
                kept = quant.weight_quantize(layer.weight, algorithm, group_size=64)
                layer.weight.set_value(quant.weight_dequantize(*kept, algorithm, group_size=64))
        plain.forget()
        wanted = plain(ids).numpy()
        scores = quantize(load(path), bits)(ids).numpy()
    np.testing.assert_allclose(scores, wanted, 1e-3, 1e-2)
    assert np.abs(scores - exact).max() > 0.02


def test_a_text_that_is_too_long(file):
    from weights import load

    with pytest.raises(ValueError, match="longer than 5 words"):
        load(file[0], context=5).write([1, 2, 3], 4)


def test_the_program(file):
    command = [sys.executable, FOLDER / "write.py", file[0], "--words", "3", "14", "15"]
    ran = subprocess.run([*command, "--count", "3"], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert " 3 14 15 " in ran.stdout and "words a second" in ran.stdout
