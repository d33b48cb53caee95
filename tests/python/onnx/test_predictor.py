"""ONNX files as models of predictors."""

import numpy as np
import pytest

import argosy as paddle
from argosy import inference

from .files import model, node, tensor, value


@pytest.fixture
def path(tmp_path):
    nodes = [node("Gemm", ["x", "w", "b"], ["z"], transB=1), node("Relu", ["z"], ["y"])]
    rng = np.random.default_rng(0)
    constants = [
        tensor(rng.standard_normal((8, 4)).astype("float32"), "w"),
        tensor(rng.standard_normal(8).astype("float32"), "b"),
    ]
    file = tmp_path / "net.onnx"
    inputs, outputs = [value("x", "float32", ["n", 4])], [value("y", "float32", ["n", 8])]
    file.write_bytes(model(nodes, inputs, outputs, constants))
    return file


def test_a_predictor_runs_it(path):
    predictor = inference.create_predictor(inference.Config(str(path)))
    assert predictor.get_input_names() == ["x"] and predictor.get_output_names() == ["y"]
    for n in (1, 3):
        x = np.random.default_rng(n).standard_normal((n, 4)).astype("float32")
        handle = predictor.get_input_handle("x")
        handle.reshape([n, 4])
        handle.copy_from_cpu(x)
        predictor.run()
        y = predictor.get_output_handle("y").copy_to_cpu()
        np.testing.assert_allclose(y, paddle.onnx.load(path)(x).numpy(), rtol=1e-5, atol=1e-6)


def test_a_model_that_leaves_something_open(tmp_path):
    file = tmp_path / "net.onnx"
    inputs = [value("x", "float32", None)]
    file.write_bytes(model([node("Relu", ["x"], ["y"])], inputs, [value("y", "float32", None)]))
    with pytest.raises(NotImplementedError, match="depends on the shape of 'x'"):
        inference.create_predictor(inference.Config(str(file)))
