"""Node cases of the package onnx, kept by `tools/onnx_cases.py --write`."""

import io
import pathlib
import zipfile

import numpy as np
import pytest

import argosy

ARCHIVE = zipfile.ZipFile(pathlib.Path(__file__).with_name("node_cases.zip"))
NAMES = sorted({name.split("/")[0] for name in ARCHIVE.namelist()})


def arrays(name, kind):
    found = []
    while f"{name}/{kind}.{len(found)}.npy" in ARCHIVE.NameToInfo:
        found.append(np.load(io.BytesIO(ARCHIVE.read(f"{name}/{kind}.{len(found)}.npy"))))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_node(name):
    rtol, atol = map(float, ARCHIVE.read(f"{name}/tolerance").split())
    net = argosy.onnx.load(ARCHIVE.read(f"{name}/model.onnx"))
    got = net(*arrays(name, "in"))
    got = got if isinstance(got, tuple) else (got,)
    expected = arrays(name, "out")
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        a = a.numpy()
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def test_there_are_cases_of_most_operators():
    assert len(NAMES) > 300
