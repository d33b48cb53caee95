"""Errors that the front end raises say which function, what was expected and what to do."""

import ast
import pathlib

import pytest

import argosy

ROOT = pathlib.Path(argosy.__file__).parent
# Every literal text in these has the whole form.
PACKAGES = [
    "audio",
    "amp",
    "autograd",
    "device",
    "distribution",
    "fft.py",
    "geometric",
    "hapi",
    "hub.py",
    "incubate",
    "io",
    "jit/saved.py",
    "nn",
    "optimizer",
    "signal.py",
    "sparse",
    "static/backward.py",
    "static/metric.py",
    "static/mode.py",
    "static/names.py",
    "static/nn/call.py",
    "static/nn/control_flow.py",
    "static/nn/sequence.py",
    "static/scope.py",
    "static/variable.py",
    "tensor/aliases.py",
    "tensor/array.py",
    "tensor/compat.py",
    "tensor/creation.py",
    "tensor/einsum.py",
    "tensor/linalg.py",
    "tensor/manipulation.py",
    "tensor/program_value.py",
    "tensor/registry.py",
    "tensor/search.py",
    "text",
    "utils",
    "vision",
]
# Their texts are Python's own for the same mistake.
PYTHONS = {"AttributeError", "KeyError", "StopIteration"}


def raised(path):
    """(line, text) of each error raised with a literal text; ? stands for values."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args):
            continue
        kind = getattr(node.exc.func, "id", getattr(node.exc.func, "attr", ""))
        text = node.exc.args[0]
        if isinstance(text, ast.JoinedStr):
            parts = [v.value if isinstance(v, ast.Constant) else "?" for v in text.values]
            yield node.lineno, kind, "".join(parts)
        elif isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield node.lineno, kind, text.value


@pytest.mark.parametrize("package", PACKAGES)
def test_texts_have_the_form(package):
    path = ROOT / package
    files = [path] if path.suffix else sorted(path.rglob("*.py"))
    assert files
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {text}"
        for file in files
        for line, kind, text in raised(file)
        if kind not in PYTHONS and not (text.startswith("[") and "Do this: " in text)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (
            lambda: argosy.nn.Conv2D(3, 4, 3, groups=2),
            ValueError,
            "[Conv2D] in_channels must be divisible by groups: got 3 and 2. Do this: change one of"
            " them.",
        ),
        (
            lambda: argosy.nn.functional.interpolate(argosy.ones([1, 1, 4, 4])),
            ValueError,
            "[interpolate] needs size or scale_factor, got neither. Do this: pass one of them.",
        ),
        (
            lambda: argosy.nn.MultiHeadAttention(5, 2),
            AssertionError,
            "[MultiHeadAttention] embed_dim must be divisible by num_heads: got 5 and 2. Do this:"
            " change one of them.",
        ),
        (
            lambda: argosy.nn.BatchNorm2D(3)(argosy.ones([2, 3])),
            ValueError,
            "[BatchNorm2D] x: expected 4 dimensions, got 2. Do this: reshape it, or use BatchNorm1D"
            " or 3D.",
        ),
        (
            lambda: argosy.nn.functional.dropout(argosy.ones([2]), 1.5),
            ValueError,
            "[dropout] p: expected a probability in [0, 1], got 1.5. Do this: correct it.",
        ),
        (
            lambda: argosy.optimizer.SGD(0.1, parameters=argosy.nn.Linear(1, 1)),
            TypeError,
            "[SGD] parameters: expected a list of tensors, got Linear. Do this: pass"
            " model.parameters().",
        ),
        (
            lambda: argosy.nn.Embedding(0, 3),
            ValueError,
            "[Embedding] num_embeddings: expected 1 or more, got 0. Do this: correct it.",
        ),
        (
            lambda: argosy.nn.Conv2D(3, 4, 3, padding_mode="edge"),
            ValueError,
            "[Conv2D] padding_mode: expected one of reflect, replicate, circular, zeros, got 'edge'."
            " Do this: use one of them.",
        ),
        (
            lambda: argosy.nn.functional.pad(argosy.ones([1, 1, 2]), [1, 1], mode="edge"),
            AssertionError,
            "[pad] mode: expected one of constant, reflect, replicate, circular, got 'edge'. Do"
            " this: use one of them.",
        ),
    ],
)
def test_important_texts(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
