"""Layers that are made from a family: what their classes say, and that programs can build on them."""

import inspect
import pathlib
import pickle

import numpy as np
import pytest

import argosy as paddle
from argosy import nn
from argosy.nn.layer._forwarding import ForwardingLayer

SIGNATURES = pathlib.Path(__file__).with_name("layer_signatures.txt")


def described(cls):
    forward = str(inspect.signature(cls.forward)).replace("(self, ", "(").replace("(self)", "()")
    return f"{cls.__name__}{inspect.signature(cls)} -> forward{forward}"


def test_signatures():
    found = [described(getattr(nn, name)) for name in sorted(nn.layer.__all__)]
    assert found == SIGNATURES.read_text().splitlines()


def families():
    """Classes that hand all they keep to their function."""
    for name in sorted(nn.layer.__all__):
        cls = getattr(nn, name)
        if issubclass(cls, ForwardingLayer) and cls._forwards_to is not None:
            yield cls


@pytest.mark.parametrize("cls", families(), ids=lambda cls: cls.__name__)
def test_arguments_have_the_order_of_the_function(cls):
    """They are handed over by position, after the inputs."""
    kept = [name for name in cls._kept_arguments if name != "name"]
    taken = list(inspect.signature(cls._forwards_to).parameters)
    inputs = [p for p in inspect.signature(cls.forward).parameters if p not in ("self", *kept)]
    if issubclass(cls, (nn.Dropout2D, nn.Dropout3D, nn.AlphaDropout, nn.FeatureAlphaDropout)):
        kept.insert(1, "training")
    assert taken[len(inputs) : len(inputs) + len(kept)] == kept


def test_subclasses_hand_on_arguments_in_both_ways():
    class Steep(nn.LeakyReLU):
        def __init__(self, slope):
            super().__init__(slope, name="steep")

    class Summed(nn.MSELoss):
        def __init__(self, scale):
            super().__init__(reduction="sum")
            self.scale = scale

        def forward(self, input, label):
            return self.scale * super().forward(input, label)

    class Padded(nn.ReflectionPad2D):
        def __init__(self):
            super().__init__(1, data_format="NHWC")

    layer = Steep(0.5)
    assert repr(layer) == "Steep(negative_slope=0.5, name=steep)"
    assert float(layer(paddle.to_tensor(-2.0))) == -1.0
    layer._negative_slope = 0.25
    assert float(layer(paddle.to_tensor(-2.0))) == -0.5
    assert isinstance(layer, nn.LeakyReLU) and isinstance(layer, nn.Layer)
    loss = Summed(3.0)(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([0.0, 0.0]))
    assert float(loss) == 15.0
    assert Padded()(paddle.ones([1, 3, 3, 2])).shape == [1, 5, 5, 2]
    assert Padded().full_name().startswith("padded_")


def test_a_subclass_among_others():
    """super().__init__() of a layer runs what stands beside it."""
    seen = []

    class Mixin(nn.Layer):
        def __init__(self):
            super().__init__()
            seen.append("mixin")

    class Both(nn.ReLU, Mixin):
        def __init__(self):
            super().__init__(name="both")

    assert Both()(paddle.to_tensor(-1.0)) == 0.0 and seen == ["mixin"]


@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda: nn.Hardtanh(-0.5, max=0.5), [2, 3]),
        (lambda: nn.MaxPool2D(2, stride=1), [1, 1, 4, 4]),
        (lambda: nn.PReLU(3), [2, 3]),
        (lambda: nn.CircularPad1D(1), [1, 2, 3]),
        (lambda: nn.Upsample(scale_factor=2, mode="BILINEAR"), [1, 1, 2, 2]),
        (lambda: nn.LPPool2D(2, 2), [1, 1, 4, 4]),
        (lambda: nn.BatchNorm1D(3, data_format="NLC"), [2, 4, 3]),
    ],
)
def test_layers_pickle(make, shape, rng):
    x = paddle.to_tensor(rng.standard_normal(shape).astype("float32"))
    layer = make()
    same = pickle.loads(pickle.dumps(layer))
    assert type(same) is type(layer) and repr(same) == repr(layer)
    np.testing.assert_array_equal(layer(x).numpy(), same(x).numpy())


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: nn.Maxout(), "Maxout.__init__() missing 1 required positional argument: 'groups'"),
        (lambda: nn.ELU(beta=1), "ELU.__init__() got an unexpected keyword argument 'beta'"),
        (
            lambda: nn.ELU(1.0, "n", 3),
            "ELU.__init__() takes from 1 to 3 positional arguments but 4 were given",
        ),
        (
            lambda: nn.ELU(1.0, alpha=2.0),
            "ELU.__init__() got multiple values for argument 'alpha'",
        ),
        (
            lambda: nn.MaxPool3D(),
            "MaxPool3D.__init__() missing 1 required positional argument: 'kernel_size'",
        ),
        (
            lambda: nn.ZeroPad2D(),
            "ZeroPad2D.__init__() missing 1 required positional argument: 'padding'",
        ),
        (
            lambda: nn.Conv2D(3, 4),
            "Conv2D.__init__() missing 1 required positional argument: 'kernel_size'",
        ),
        (lambda: nn.ReLU()(), "ReLU.forward() missing 1 required positional argument: 'x'"),
        (
            lambda: nn.L1Loss()(1),
            "L1Loss.forward() missing 1 required positional argument: 'label'",
        ),
    ],
)
def test_wrong_calls_name_the_layer(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == text


def test_inputs_by_their_names():
    x = paddle.to_tensor([-1.0, 2.0])
    assert nn.ReLU()(x=x).tolist() == [0.0, 2.0]
    assert nn.Silu()(input=x).tolist() == nn.Silu()(x=x).tolist()
    assert float(nn.L1Loss()(label=x, input=x)) == 0.0
    image = paddle.ones([1, 1, 2, 2])
    assert nn.MaxPool2D(2)(x=image).shape == nn.AdaptiveMaxPool2D(1)(input=image).shape


def test_what_a_layer_keeps_can_be_assigned():
    pool = nn.MaxPool2D(2)
    pool.ksize, pool.stride = 4, 4
    assert pool.kernel_size == 4 and pool(paddle.ones([1, 1, 4, 4])).shape == [1, 1, 1, 1]
    loss = nn.CrossEntropyLoss()
    loss.weight = paddle.to_tensor([1.0, 3.0])
    assert "weight" in dict(loss.named_buffers())
    loss.reduction = "none"
    assert loss(paddle.zeros([2, 2]), paddle.to_tensor([0, 1])).tolist()[1] == pytest.approx(
        2.0794415
    )


IMAGE = paddle.ones([1, 2, 4, 4])


@pytest.mark.parametrize(
    "layer, x",
    [
        (nn.Conv1D(2, 3, 3), paddle.ones([1, 2, 4])),
        (nn.Conv2D(2, 3, 3), IMAGE),
        (nn.Conv3D(2, 3, 1), paddle.ones([1, 2, 2, 2, 2])),
        (nn.Embedding(4, 2), paddle.to_tensor([1])),
        (nn.Pad2D(1), IMAGE),
        (nn.UpsamplingNearest2D(scale_factor=2), IMAGE),
        (nn.UpsamplingBilinear2D(scale_factor=2), IMAGE),
        (nn.LPPool2D(2, 2), IMAGE),
        (nn.AdaptiveMaxPool2D(1), IMAGE),
        (nn.GLU(1), IMAGE),
    ],
)
def test_the_input_by_its_other_name(layer, x):
    assert layer(input=x).tolist() == layer(x).tolist()


def test_the_names_of_a_subclass_are_its_own():
    class Scaled(nn.Conv2D):
        def forward(self, input):
            return super().forward(input) * 2

    assert Scaled(2, 3, 3)(input=IMAGE).shape == [1, 3, 2, 2]
    with pytest.raises(TypeError, match="'x'"):
        Scaled(2, 3, 3)(x=IMAGE)


def test_the_label_by_its_other_name():
    x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([1.5, 4.0])
    assert nn.SmoothL1Loss()(x, target=y).item() == nn.SmoothL1Loss()(x, y).item()


@pytest.mark.parametrize(
    "make, reduction",
    [
        (lambda: nn.MSELoss(size_average=False), "sum"),
        (lambda: nn.L1Loss(reduce=False), "none"),
        (lambda: nn.CrossEntropyLoss(size_average=True), "mean"),
        (lambda: nn.CrossEntropyLoss(None, False), "sum"),
        (lambda: nn.NLLLoss(None, True), "mean"),
        (lambda: nn.TripletMarginLoss(size_average=False, reduce=True), "sum"),
    ],
)
def test_old_arguments_of_losses(make, reduction):
    with pytest.raises(ValueError, match=f"Do this: pass reduction='{reduction}'"):
        make()
