"""examples/sentences: a small BERT in a safetensors file against NumPy."""

import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import argosy as paddle

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples/sentences"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "##s", "sleep", "sto", "##ck", ",", "e"]
WIDTH, LAYERS, HEADS, INNER, PLACES = 24, 2, 12, 32, 16


def weights():
    rng = np.random.default_rng(0)

    def some(*shape):
        return rng.standard_normal(shape).astype("float32") * 0.5

    made = {
        "embeddings.word_embeddings.weight": some(len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": some(PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": some(2, WIDTH),
        "pooler.dense.weight": some(WIDTH, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        for name in ("attention.self.query", "attention.self.key", "attention.self.value",
                     "attention.output.dense"):  # fmt: skip
            made[f"{at}{name}.weight"], made[f"{at}{name}.bias"] = some(WIDTH, WIDTH), some(WIDTH)
        made[f"{at}intermediate.dense.weight"] = some(INNER, WIDTH)
        made[f"{at}intermediate.dense.bias"] = some(INNER)
        made[f"{at}output.dense.weight"] = some(WIDTH, INNER)
        made[f"{at}output.dense.bias"] = some(WIDTH)
        norms += [f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"]
    for name in norms:
        made[f"{name}.weight"], made[f"{name}.bias"] = 1 + some(WIDTH), some(WIDTH)
    return made


def reference(w, ids):
    """The vector of one sentence."""

    def dense(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        q, k, v = (
            dense(x, f"{at}attention.self.{name}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for name in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(1, 2) / math.sqrt(WIDTH // HEADS)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), WIDTH)
        x = norm(x + dense(y, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm")
        inner = dense(x, f"{at}intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + dense(inner, f"{at}output.dense"), f"{at}output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


@pytest.fixture
def folder(tmp_path):
    paddle.save(
        {k: paddle.to_tensor(v) for k, v in weights().items()}, tmp_path / "model.safetensors"
    )
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    return tmp_path


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import similar

    yield similar
    for name in ("bert", "similar"):
        sys.modules.pop(name, None)


def test_pieces_of_words(example):
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    assert example.ids_of("Cats sleep, é stocks!", vocabulary) == [2, 4, 5, 6, 9, 10, 7, 8, 5, 1, 3]


def test_vectors_of_sentences_of_several_lengths(example, folder):
    w = {name: array.astype("float64") for name, array in weights().items()}
    sentences = [[2, 4, 5, 6, 3], [2, 7, 8, 3], [2, 4, 5, 6, 9, 10, 7, 8, 5, 3]]
    ids, mask = np.zeros((3, 10), "int64"), np.zeros((3, 10), "float32")
    for i, row in enumerate(sentences):
        ids[i, : len(row)], mask[i, : len(row)] = row, 1
    net = example.load(folder / "model.safetensors")
    vectors = net(paddle.to_tensor(ids), paddle.to_tensor(mask)).numpy()
    for row, vector in zip(sentences, vectors):
        np.testing.assert_allclose(vector, reference(w, row), 1e-4, 1e-5)


@pytest.mark.parametrize("kind", ["own", "onnx"])
def test_a_predictor_of_it(example, folder, tmp_path, kind):
    """Saved with open sizes, and as ONNX."""
    net = example.load(folder / "model.safetensors")
    spec = [
        paddle.static.InputSpec([None, None], "int64", "ids"),
        paddle.static.InputSpec([None, None], "float32", "mask"),
    ]
    file = str(tmp_path / "net")
    if kind == "own":
        paddle.jit.save(net, file, input_spec=spec)
    else:
        file = paddle.onnx.export(net, file, input_spec=spec, opset_version=17)
    predictor = paddle.inference.create_predictor(paddle.inference.Config(file))
    for ids in ([[2, 4, 5, 3], [2, 7, 3, 0]], [[2, 4, 5, 6, 9, 10, 3]]):
        ids = np.array(ids, "int64")
        mask = (ids != 0).astype("float32")
        wanted = net(paddle.to_tensor(ids), paddle.to_tensor(mask)).numpy()
        for handle, array in zip(map(predictor.get_input_handle, ("ids", "mask")), (ids, mask)):
            handle.copy_from_cpu(array)
        predictor.run()
        name = predictor.get_output_names()[0]
        got = predictor.get_output_handle(name).copy_to_cpu()
        np.testing.assert_allclose(got, wanted, 1e-4, 1e-5)


def test_the_program(folder):
    command = [sys.executable, FOLDER / "similar.py", folder, "cats sleep", "cat", "cats sleep"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    rows = np.array([[float(n) for n in line.split()] for line in ran.stdout.splitlines()])
    assert rows.shape == (3, 3) and rows[0, 2] == 1 and rows[0, 1] < 1
