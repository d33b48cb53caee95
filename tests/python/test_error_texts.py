"""Errors that the front end raises say which function, what was expected and what to do."""

import ast
import pathlib
import re

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
        if kind not in PYTHONS and not re.match(r"(?s)(\(\w+\) )?\[.*Do this: ", text)
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
            "(InvalidArgument) [Conv2D] padding_mode: expected one of reflect, replicate, circular, zeros, got 'edge'."
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


def error(call, *arguments):
    with pytest.raises(Exception) as found:
        call(*arguments)
    return found.value


def test_messages_of_the_core_begin_with_their_category():
    ones = argosy.ones([2, 3])
    for kind, category, call in (
        (ValueError, "InvalidArgument", lambda: ones.reshape([4])),
        (ValueError, "InvalidArgument", lambda: argosy.squeeze(ones, 7)),
        (IndexError, "InvalidArgument", lambda: argosy.squeeze(ones, 7)),
        (IndexError, "OutOfRange", lambda: ones[5]),
        (IndexError, "OutOfRange", lambda: argosy.cumsum(ones, axis=7)),
        (TypeError, "InvalidArgument", lambda: argosy.exp("a")),
        (AttributeError, "InvalidArgument", lambda: argosy.exp([1])),
        (TypeError, "InvalidType", lambda: argosy.sum(ones, axis="a")),
        (RuntimeError, "PreconditionNotMet", lambda: overwritten("backward twice")),
        (RuntimeError, "PermissionDenied", lambda: overwritten("in place")),
        (ValueError, "NotFound", lambda: argosy.set_flags({"FLAGS_not_there": 1})),
        (IndexError, "OutOfRange", lambda: argosy.scatter(ones, index([5]), ones[:1])),
        (IndexError, "InvalidArgument", lambda: argosy.gather_nd(ones, index([[5]]))),
        (ValueError, "InvalidArgument", lambda: argosy.cumprod(ones, dim=7)),
        (IndexError, "InvalidArgument", lambda: ones.item(6)),
        (ValueError, "InvalidArgument", lambda: ones[..., ...]),
        (ValueError, "InvalidArgument", lambda: ones["a":]),
        (IndexError, "InvalidArgument", lambda: ones[1.5]),
        (ValueError, "InvalidArgument", lambda: argosy.linalg.qr(ones, mode="x")),
        (AttributeError, "InvalidArgument", lambda: argosy.diag([1, 2])),
        (ValueError, "InvalidArgument", lambda: argosy.meshgrid([])),
        (ValueError, "InvalidArgument", lambda: argosy.index_sample(ones, index([[0], [1], [2]]))),
    ):
        text = str(error(call))
        assert isinstance(error(call), kind), (kind, text)
        assert text.startswith(f"({category}) "), text


def index(places):
    return argosy.to_tensor(places, dtype="int64")


def overwritten(how):
    x = argosy.ones([2])
    x.stop_gradient = False
    y = x * 1
    z = (y * y).sum()
    if how == "in place":
        y.add_(argosy.ones([2]))
    z.backward()
    z.backward()


def test_a_wrong_operand_of_a_program_is_a_wrong_type():
    argosy.enable_static()
    try:
        with argosy.static.program_guard(argosy.static.Program()):
            x = argosy.static.data("x", [2, 3])
            for call in (lambda: argosy.add(x, "a"), lambda: argosy.sum(x, axis="a")):
                assert str(error(call)).startswith("(InvalidType) [")
            for call in (lambda: argosy.diag([1]), lambda: argosy.nonzero("a"), lambda: x["a":]):
                assert isinstance(error(call), TypeError)
                assert str(error(call)).startswith("(InvalidType) ")
            for call in (lambda: x.reshape([4]), lambda: argosy.split(x, 2, axis=1)):
                assert isinstance(error(call), AssertionError)
                assert isinstance(error(call), ValueError)
                assert str(error(call)).startswith("(InvalidArgument) [")
    finally:
        argosy.disable_static()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: argosy.Model(3), "[Model] network: expected a Layer, got int."),
        (lambda: argosy.nn.RNN(3), "[RNN] cell: expected Layer, got int."),
        (lambda: argosy.nn.Linear(1, 1).set_state_dict(3), "[set_state_dict] state_dict: expected"),
        (lambda: argosy.rank("a"), "[rank] input: expected Tensor, got str."),
        (
            lambda: argosy.nn.initializer.calculate_gain("leaky_relu", "a"),
            "[calculate_gain] param: expected Real, got str.",
        ),
        (
            lambda: argosy.io.ComposeDataset([3]),
            "[ComposeDataset] datasets[0]: expected Dataset, got int.",
        ),
        (lambda: argosy.autograd.jacobian(3, 4), "[jacobian] ys: expected"),
        (
            lambda: argosy.metric.Accuracy().update("a"),
            "[Accuracy.update] correct has the wrong type",
        ),
        (lambda: argosy.nn.ParameterList([1]), "[Parameter] expected a Parameter, got int."),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(call, text):
    found = error(call)
    for kind in (AssertionError, TypeError, ValueError, AttributeError):
        assert isinstance(found, kind)
    assert str(found).startswith(text) and "Do this: " in str(found)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: argosy.no_grad()(3), TypeError, r"\[no_grad\] expected a function, got int"),
        (lambda: argosy.fft.fftfreq(0), ValueError, r"\[fftfreq\] n and d must not be 0"),
        (lambda: argosy.fft.rfftfreq(4, 0.0), ValueError, r"\[rfftfreq\] n and d must not be 0"),
        (
            lambda: argosy.nn.functional.max_unpool2d(
                argosy.ones([1, 1, 2, 2]), argosy.ones([1, 1, 3, 3], "int32"), 2
            ),
            ValueError,
            r"\[max_unpool2d\] x and indices must have one shape",
        ),
        (
            lambda: argosy.nn.functional.maxout(argosy.ones([2, 4, 4, 4]), 2, axis=2),
            ValueError,
            r"\[maxout\] axis: expected 1, -1 or 3, got 2",
        ),
        (
            lambda: argosy.signal.overlap_add(argosy.ones([4]), 2),
            ValueError,
            r"\[overlap_add\] x must be \[.., length, count\], got \[4\]",
        ),
        (
            lambda: argosy.histogramdd(argosy.ones([3])),
            AssertionError,
            r"\[histogramdd\] x must be \[.., D\] with 2 dimensions or more",
        ),
        (
            lambda: argosy.incubate.softmax_mask_fuse(argosy.ones([2, 3]), argosy.ones([2, 3])),
            ValueError,
            r"\[softmax_mask_fuse\] x must be \[B, heads, S, T\]",
        ),
        (
            lambda: argosy.vision.ops.yolo_box(
                argosy.ones([1, 3, 4]), argosy.ones([1, 2], "int32"), [10, 13], 2, 0.1, 32
            ),
            ValueError,
            r"\[yolo_box\] x must be \[N, channels, H, W\]",
        ),
        (
            lambda: argosy.quantile(argosy.ones([3]), argosy.ones([1, 1])),
            ValueError,
            r"\[quantile\] q: expected a tensor of 0 or 1 dimensions",
        ),
    ],
)
def test_what_paddle_refuses_is_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_an_axis_that_is_not_there_is_no_crash():
    x, index = argosy.ones([2, 3]), argosy.to_tensor([0, 1])
    for axis in (3, 7, -9):
        with pytest.raises(IndexError, match="axis"):
            argosy.index_fill(x, index, axis, 1.0)


def test_where_mixes_dtypes_as_paddle_does():
    mask = argosy.to_tensor([True, False])
    for a, b, common in (
        ("float32", "float64", "float64"),
        ("float16", "float32", "float32"),
        ("complex64", "int32", "complex64"),
    ):
        assert argosy.where(mask, argosy.ones([2], a), argosy.ones([2], b)).dtype == common
    for a, b in (("int32", "int64"), ("float32", "int64"), ("bool", "int32")):
        for shapes in (([2], [2]), ([2], [])):
            with pytest.raises(TypeError, match=r"\[where\] operands of these dtypes.*Do this"):
                argosy.where(mask, argosy.ones(shapes[0], a), argosy.ones(shapes[1], b))
    assert argosy.where(mask, argosy.ones([2], "int64"), 0.5).dtype == "float32"


def test_names_of_parameters_are_given_once():
    def layer():
        return argosy.nn.Linear(2, 2, weight_attr=argosy.ParamAttr(name="a_name_given_once"))

    first = layer()
    with pytest.raises(ValueError, match="'a_name_given_once' was given to another.*Do this"):
        layer()
    with argosy.utils.unique_name.guard():
        assert layer().weight.name == first.weight.name
