"""Models: names and shapes of their states against Paddle's, results, refusals."""

import json
import pathlib

import pytest

import argosy
from argosy.vision import models

# Made by Paddle 3.3.1: for each call the number of entries, elements and a digest of the state.
STATES = json.loads((pathlib.Path(__file__).parent / "model_states.json").read_text())


def digest(layer):
    """Sum over the entries of the state, in order, of names and shapes: a change moves it."""
    total = 0
    for name, value in layer.state_dict().items():
        for text in (name, *map(str, value.shape)):
            for character in text:
                total = (total * 131 + ord(character)) % (1 << 61)
    return total


@pytest.mark.parametrize("call", STATES)
def test_state_is_paddles(call):
    layer = eval(f"models.{call}")
    state = layer.state_dict()
    entries, elements, wanted = STATES[call]
    assert len(state) == entries
    assert sum(value.size for value in state.values()) == elements
    assert digest(layer) == wanted


@pytest.mark.parametrize(
    "call, size, shape",
    [
        ("LeNet()", (2, 1, 28, 28), [2, 10]),
        ("LeNet(num_classes=0)", (2, 1, 28, 28), [2, 16, 5, 5]),
        ("resnet18(num_classes=7)", (1, 3, 32, 32), [1, 7]),
        ("resnet18(num_classes=0, with_pool=False)", (1, 3, 64, 64), [1, 512, 2, 2]),
        ("resnext50_32x4d(num_classes=3)", (1, 3, 32, 32), [1, 3]),
        ("vgg11(num_classes=0)", (1, 3, 32, 32), [1, 512, 7, 7]),
        ("mobilenet_v1(scale=0.25, num_classes=4)", (1, 3, 32, 32), [1, 4]),
        ("mobilenet_v2(scale=0.25, num_classes=4)", (1, 3, 32, 32), [1, 4]),
        ("mobilenet_v3_small(scale=0.5, num_classes=4)", (1, 3, 32, 32), [1, 4]),
        ("squeezenet1_1(num_classes=4)", (1, 3, 64, 64), [1, 4]),
        ("shufflenet_v2_x0_25(num_classes=4)", (1, 3, 32, 32), [1, 4]),
        ("densenet121(num_classes=4)", (1, 3, 32, 32), [1, 4]),
    ],
)
def test_result_shape(call, size, shape):
    layer = eval(f"models.{call}")
    layer.eval()
    with argosy.no_grad():
        result = layer(argosy.rand(size))
    assert result.shape == shape
    assert bool(argosy.isfinite(result).all())


def test_googlenet_gives_three_results():
    layer = models.googlenet(num_classes=5)
    layer.eval()
    with argosy.no_grad():
        assert [y.shape for y in layer(argosy.rand([1, 3, 224, 224]))] == [[1, 5]] * 3


def test_inception_features():
    layer = models.inception_v3(num_classes=0)
    layer.eval()
    with argosy.no_grad():
        assert layer(argosy.rand([1, 3, 80, 80])).shape == [1, 2048, 1, 1]


def test_a_training_step_moves_every_weight():
    argosy.seed(0)
    layer = models.mobilenet_v3_small(scale=0.35, num_classes=3)
    optimizer = argosy.optimizer.SGD(0.1, parameters=layer.parameters())
    before = {name: value.numpy().copy() for name, value in layer.named_parameters()}
    loss = argosy.nn.functional.cross_entropy(
        layer(argosy.rand([4, 3, 32, 32])), argosy.to_tensor([0, 1, 2, 0])
    )
    loss.backward()
    optimizer.step()
    still = [n for n, p in layer.named_parameters() if (p.numpy() == before[n]).all()]
    # Biases before a hard gate that is shut get no gradient; weights do.
    assert not [name for name in still if name.endswith("weight") and "se" not in name]


@pytest.mark.parametrize("name", ["resnet50", "vgg16", "mobilenet_v2", "googlenet", "alexnet"])
def test_pretrained_says_what_to_do(name):
    with pytest.raises(NotImplementedError, match=rf"{name}\] pretrained=True.*set_state_dict"):
        getattr(models, name)(pretrained=True)


@pytest.mark.parametrize(
    "call, kind, text",
    [
        ("ResNet(models.resnet.BasicBlock, 19)", KeyError, "unknown depth"),
        ("DenseNet(122)", ValueError, "unknown depth"),
        ("SqueezeNet('2.0')", ValueError, "unknown version"),
        ("ShuffleNetV2(0.7)", NotImplementedError, "unknown scale"),
        ("ShuffleNetV2(act='gelu')", RuntimeError, "unknown act"),
    ],
)
def test_mistakes_are_told(call, kind, text):
    with pytest.raises(kind, match=text):
        eval(f"models.{call}")
