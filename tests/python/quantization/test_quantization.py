"""paddle.quantization: models that get used to few bits, are calibrated, and deployed."""

import numpy as np
import pytest

import argosy as paddle
from argosy import nn
from argosy.nn.quant import Stub
from argosy.nn.quant.format import ConvertibleQuantedLayer, LinearQuanterDequanter
from argosy.nn.quant.qat import QuantedConv2D, QuantedLinear
from argosy.nn.quant.stub import QuanterStub
from argosy.quantization import PTQ, QAT, BaseObserver, BaseQuanter, QuantConfig, quanter
from argosy.quantization.observers import AbsmaxObserver, GroupWiseWeightObserver
from argosy.quantization.quanters import FakeQuanterWithAbsMaxObserver
from argosy.quantization.quanters.abs_max import FakeQuanterWithAbsMaxObserverLayer
from argosy.quantization.wrapper import ObserveWrapper

FAKE = FakeQuanterWithAbsMaxObserver(moving_rate=0.9)


@quanter("Rounding")
class RoundingLayer(BaseQuanter):
    """A quanter of a user's own, with arguments by place and by name."""

    def __init__(self, layer, scale, bits=8):
        super().__init__()
        self.of, self.scale, self.bits = type(layer).__name__, scale, bits

    def forward(self, input):
        steps = 2 ** (self.bits - 1) - 1
        return paddle.round(input / self.scale * steps) / steps * self.scale

    def scales(self):
        return paddle.to_tensor([self.scale])

    def zero_points(self):
        return None

    def quant_axis(self):
        return -1

    def bit_length(self):
        return self.bits


Rounding = globals()["Rounding"]  # what the decorator has put there


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2D(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2))
        self.head = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
        self.mark = Stub()

    def forward(self, x):
        x = self.body(x)
        return self.head(paddle.flatten(self.mark(x * 2), 1))


def types(model):
    return {name: type(layer) for name, layer in model.named_sublayers()}


def test_layers_are_replaced_and_the_model_stays():
    model = Net()
    made = QAT(QuantConfig(activation=FAKE, weight=FAKE)).quantize(model)
    found = types(made)
    assert found["body.0"] is QuantedConv2D and found["head.0"] is QuantedLinear
    assert found["head.2"] is QuantedLinear and found["mark"] is QuanterStub
    assert found["body.1"] is ObserveWrapper and found["body.2"] is ObserveWrapper
    assert found["head.0.weight_quanter"] is FakeQuanterWithAbsMaxObserverLayer
    assert type(model.body[0]) is nn.Conv2D
    assert made.body[0].weight is not model.body[0].weight
    in_place = QAT(QuantConfig(activation=FAKE, weight=FAKE)).quantize(model, inplace=True)
    assert in_place is model and type(model.body[0]) is QuantedConv2D


def test_a_model_prints_as_in_paddle():
    model = QAT(QuantConfig(activation=FAKE, weight=FAKE)).quantize(
        nn.Sequential(nn.Conv2D(1, 2, 3), nn.ReLU())
    )
    assert str(model) == (
        "Sequential(\n"
        "  (0): QuantedConv2D(\n"
        "    (weight_quanter): FakeQuanterWithAbsMaxObserverLayer()\n"
        "    (activation_quanter): FakeQuanterWithAbsMaxObserverLayer()\n"
        "  )\n"
        "  (1): ObserveWrapper(\n"
        "    (_observer): FakeQuanterWithAbsMaxObserverLayer()\n"
        "    (_observed): ReLU()\n"
        "  )\n"
        ")"
    )


def test_what_is_said_of_layers_holds_over_names_types_and_the_model():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Conv2D(1, 1, 1), nn.Linear(2, 2))
    config = QuantConfig(activation=None, weight=Rounding(1.0))
    config.add_type_config(nn.Linear, weight=Rounding(2.0))
    config.add_name_config(model[1].full_name(), weight=Rounding(3.0))
    config.add_layer_config(model[3], weight=Rounding(4.0))
    made = QAT(config).quantize(model)
    assert [made[i].weight_quanter.scale for i in range(4)] == [2.0, 3.0, 1.0, 4.0]
    assert [made[i].activation_quanter for i in range(4)] == [None] * 4
    assert made[2].weight_quanter.of == "Conv2D"


def test_what_is_said_of_a_layer_holds_for_its_sublayers():
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Linear(2, 2))
    config = QuantConfig(None, None)
    config.add_layer_config([model[0]], activation=FAKE, weight=FAKE)
    made = QAT(config).quantize(model)
    assert type(made[0][0]) is QuantedLinear and type(made[0][1]) is ObserveWrapper
    assert type(made[1]) is nn.Linear


def test_nothing_said_changes_nothing():
    made = QAT(QuantConfig(None, None)).quantize(Net())
    assert type(made.body[0]) is nn.Conv2D and type(made.mark) is Stub


def test_leaves_and_layers_of_ones_own():
    class Block(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            return self.inner(x)

    class QuantedBlock(nn.Layer):
        def __init__(self, layer, q_config):
            super().__init__()
            self.layer, self.quanter = layer, q_config.activation._instance(layer)

        def forward(self, x):
            return self.layer(self.quanter(x))

    config = QuantConfig(activation=FAKE, weight=FAKE)
    config.add_qat_layer_mapping(Block, QuantedBlock)
    made = QAT(config).quantize(nn.Sequential(Block()))
    assert type(made[0]) is QuantedBlock and type(made[0].layer.inner) is nn.Linear
    assert made(paddle.ones([1, 2])).shape == [1, 2]

    config = QuantConfig(activation=FAKE, weight=None)
    config.add_customized_leaf(Block)
    config.add_type_config(nn.Linear)
    assert config.customized_leaves == [Block]
    made = QAT(config).quantize(nn.Sequential(Block()))
    assert type(made[0]) is ObserveWrapper


def test_stubs_prefer_their_own_observer():
    model = nn.Sequential(Stub(Rounding(5.0)), Stub())
    made = QAT(QuantConfig(activation=FAKE, weight=FAKE)).quantize(model)
    assert made[0]._observer.scale == 5.0
    assert type(made[1]._observer) is FakeQuanterWithAbsMaxObserverLayer


def test_texts():
    assert str(FAKE) == (
        "FakeQuanterWithAbsMaxObserver(name=None,moving_rate=0.9,bit_length=8,dtype=float32)"
    )
    assert repr(Rounding(2.0, bits=4)) == "Rounding(2.0,bits=4)"
    config = QuantConfig(activation=FAKE, weight=FAKE)
    assert str(config) == f"Global config:\nactivation: {FAKE}\nweight: {FAKE}\n"
    assert config.details() == str(config)
    config._specify(nn.Sequential(nn.Sequential(nn.Linear(1, 1))))
    assert config.details() == (
        "Sequential(\n"
        "  (0): Sequential(\n"
        f"    (0): Linear(), activation: {FAKE}\n"
        f"  weight: {FAKE}\n"
        f"  ), activation: {FAKE}\n"
        f"weight: {FAKE}\n"
        ")"
    )


def test_factories_stand_in_the_module_of_their_class():
    assert Rounding.__name__ == "Rounding" and Rounding.__module__ == __name__
    assert Rounding(1.0)._instance(nn.ReLU()).of == "ReLU"
    assert Rounding(1.0, bits=4).args == (1.0,) and Rounding(1.0, bits=4).kwargs == {"bits": 4}


def test_bases_want_their_methods():
    for base in (BaseQuanter, BaseObserver, ConvertibleQuantedLayer):
        with pytest.raises(TypeError, match="abstract"):
            base()


def net_of_numbers():
    paddle.seed(3)
    return Net()


def test_training_moves_scales_and_lowers_the_loss():
    model = QAT(QuantConfig(activation=FAKE, weight=FAKE)).quantize(net_of_numbers())
    x, label = paddle.randn([16, 1, 4, 4]), paddle.randint(0, 3, [16])
    optimizer = paddle.optimizer.Adam(0.01, parameters=model.parameters())
    losses = []
    for _ in range(60):
        loss = nn.functional.cross_entropy(model(x), label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]
    scale = model.head[0].weight_quanter.scales()
    largest = np.abs(model.head[0].weight.numpy()).max()
    assert 0.5 * largest < float(scale) < 1.5 * largest
    assert scale.stop_gradient


def test_a_captured_step_trains_as_the_eager_one():
    x, label = paddle.randn([8, 1, 4, 4]), paddle.randint(0, 3, [8])
    losses = {}
    for captured in (False, True):
        model = QAT(QuantConfig(activation=FAKE, weight=FAKE)).quantize(net_of_numbers())
        run = paddle.jit.to_static(model) if captured else model
        optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
        losses[captured] = []
        for _ in range(5):
            loss = nn.functional.cross_entropy(run(x), label)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses[captured].append(float(loss))
    np.testing.assert_allclose(losses[True], losses[False], rtol=1e-4)


def test_states_are_saved_and_loaded():
    config = QuantConfig(activation=FAKE, weight=FAKE)
    one, other = (QAT(config).quantize(net_of_numbers()) for _ in range(2))
    one(paddle.randn([4, 1, 4, 4]))
    other.set_state_dict(one.state_dict())
    one.eval()
    other.eval()
    x = paddle.randn([4, 1, 4, 4])
    assert (one(x).numpy() == other(x).numpy()).all()


def calibrated():
    observer = AbsmaxObserver()
    ptq = PTQ(QuantConfig(activation=observer, weight=observer))
    model = net_of_numbers().eval()
    observing = ptq.quantize(model)
    batches = [paddle.randn([4, 1, 4, 4]) for _ in range(3)]
    for x in batches:
        assert (observing(x).numpy() == model(x).numpy()).all()
    return ptq, model, observing, batches


def test_observers_keep_the_largest_size():
    _, model, observing, batches = calibrated()
    largest = max(float(paddle.abs(x).max()) for x in batches)
    assert float(observing.body[0].activation_quanter.scales()) == largest
    weight = np.abs(model.head[0].weight.numpy()).max()
    assert float(observing.head[0].weight_quanter.scales()) == weight


@pytest.mark.parametrize("remain", [False, True])
def test_a_converted_model_is_close_to_the_first(remain):
    ptq, model, observing, batches = calibrated()
    converted = ptq.convert(observing, remain_weight=remain)
    assert type(observing.head[0].weight_quanter) is not LinearQuanterDequanter
    assert type(converted.head[0].activation_quanter) is LinearQuanterDequanter
    assert type(converted.body[1]._observer) is LinearQuanterDequanter
    weight = converted.head[0].weight.numpy()
    if remain:
        assert (weight == model.head[0].weight.numpy()).all()
    else:
        assert (weight == np.round(weight)).all() and np.abs(weight).max() == 127
    for x in batches:
        wanted = model(x).numpy()
        assert np.abs(converted(x).numpy() - wanted).max() < 0.05 * np.abs(wanted).max()


def test_a_converted_model_computes_what_quanters_did():
    model = QAT(QuantConfig(activation=FAKE, weight=FAKE)).quantize(net_of_numbers())
    x = paddle.randn([16, 1, 4, 4])
    for _ in range(3):
        model(x)
    model.eval()
    converted = QAT(QuantConfig(None, None)).convert(model)
    wanted = model(x).numpy()
    assert np.abs(converted(x).numpy() - wanted).max() < 0.03 * np.abs(wanted).max()


def test_a_converted_model_is_saved_and_loaded(tmp_path):
    ptq, _, observing, batches = calibrated()
    converted = ptq.convert(observing)
    path = str(tmp_path / "model")
    paddle.jit.save(converted, path, [paddle.static.InputSpec([None, 1, 4, 4], "float32")])
    loaded = paddle.jit.load(path)
    for x in batches:
        np.testing.assert_allclose(loaded(x).numpy(), converted(x).numpy(), rtol=1e-5, atol=1e-6)


def test_groups_of_rows():
    observer = GroupWiseWeightObserver(group_size=64)
    ptq = PTQ(QuantConfig(activation=None, weight=observer))
    model = nn.Sequential(nn.Linear(128, 5)).eval()
    observing = ptq.quantize(model)
    x = paddle.randn([2, 128])
    observing(x)
    scales = observing[0].weight_quanter.scales().numpy()
    weight = model[0].weight.numpy()
    np.testing.assert_array_equal(scales, np.abs(weight.reshape(2, 64, 5)).max(1))
    wanted = model(x).numpy()
    out = ptq.convert(observing)(x).numpy()
    assert np.abs(out - wanted).max() < 0.03 * np.abs(wanted).max()


def test_layers_that_saw_nothing_stay():
    ptq = PTQ(QuantConfig(activation=None, weight=AbsmaxObserver()))
    observing = ptq.quantize(nn.Sequential(nn.Linear(2, 2)).eval())
    assert not ptq.convert(observing)[0].converted


def test_bad_arguments():
    with pytest.raises(AssertionError, match=r"call model.train\(\) first"):
        QAT(QuantConfig(None, None)).quantize(Net().eval())
    with pytest.raises(AssertionError, match=r"call model.eval\(\) first"):
        PTQ(QuantConfig(None, None)).quantize(Net())
    config = QuantConfig(None, None)
    for call, value in (
        (config.add_type_config, Net()),
        (config.add_name_config, nn.Linear),
        (config.add_layer_config, "linear_0"),
    ):
        with pytest.raises(TypeError, match="Do this: correct it"):
            call(value, weight=FAKE)
    with pytest.raises(AssertionError, match="target: expected a subclass of Layer"):
        config.add_qat_layer_mapping(nn.Linear, "QuantedLinear")
    observer = GroupWiseWeightObserver(group_size=32)._instance(None)
    with pytest.raises(AssertionError, match="group_size: expected 64 or 128"):
        observer(paddle.ones([64, 2]))
    observer = GroupWiseWeightObserver(group_size=64)._instance(None)
    with pytest.raises(AssertionError, match="a matrix of a multiple of 64 rows"):
        observer(paddle.ones([65, 2]))


def test_a_model_is_converted_once():
    ptq, _, observing, _ = calibrated()
    converted = ptq.convert(observing)
    again = ptq.convert(converted)
    assert (again.head[0].weight.numpy() == converted.head[0].weight.numpy()).all()
    with pytest.raises(AssertionError, match="converted already"):
        converted.head[0]._convert()
