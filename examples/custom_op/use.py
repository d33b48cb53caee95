"""Compile an op while the program runs, and use it: eager, captured and in a saved Program."""

import pathlib
import tempfile

import numpy as np

import argosy
from argosy.utils.cpp_extension import load

ops = load(name="custom_sine_ops", sources=[str(pathlib.Path(__file__).with_name("sine.cc"))])

x = argosy.to_tensor([0.5, 2.0], stop_gradient=False)
ops.custom_sine(x).sum().backward()
np.testing.assert_allclose(x.grad.numpy(), np.cos([0.5, 2.0]), rtol=1e-6)


class Wave(argosy.nn.Layer):
    def forward(self, x):
        return ops.custom_sine(x) * 2


with tempfile.TemporaryDirectory() as folder:
    spec = [argosy.static.InputSpec([None], "float32")]
    argosy.jit.save(Wave(), f"{folder}/wave", input_spec=spec)
    loaded = argosy.jit.load(f"{folder}/wave")
    np.testing.assert_allclose(loaded(x).numpy(), 2 * np.sin([0.5, 2.0]), rtol=1e-6)
print("custom_sine:", ops.custom_sine(x).tolist())
