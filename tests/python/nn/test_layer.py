"""Layer: attributes, hooks, state, traversal, conversion, copies."""

import copy
import pickle

import numpy as np
import pytest

import argosy as paddle
from argosy import nn


class Small(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.scratch = paddle.ones([2])
        self.number = 5
        self.register_buffer("kept", paddle.zeros([2]))
        self.register_buffer("temporary", paddle.zeros([2]), persistable=False)

    def forward(self, x):
        return self.fc(x)


def test_names_count_from_zero_within_a_guard():
    with paddle.utils.unique_name.guard():
        layer = nn.Linear(2, 3)
        other = nn.BatchNorm2D(3)
        assert layer.full_name() == "linear_0"
        assert layer.weight.name == "linear_0.w_0" and layer.bias.name == "linear_0.b_0"
        assert other._mean.name == "batch_norm2d_0.w_1"
        assert nn.Layer("scope").full_name() == "scope_0"
    with paddle.utils.unique_name.guard("pre_"):
        assert nn.Linear(1, 1).weight.name == "pre_pre_linear_0.w_0"


@pytest.mark.parametrize(
    "kind, name",
    [
        (nn.ReLU6, "re_lu6"),
        (nn.BCELoss, "bce_loss"),
        (nn.MultiLabelMarginLoss, "multi_label_margin_loss"),
        (nn.Softmax2D, "softmax2d"),
    ],
)
def test_class_names_become_snake_case(kind, name):
    with paddle.utils.unique_name.guard():
        assert kind().full_name() == f"{name}_0"


def test_attributes_are_registered():
    layer = Small()
    assert [name for name, _ in layer.named_parameters()] == ["fc.weight", "fc.bias"]
    assert [name for name, _ in layer.named_buffers()] == ["scratch", "kept", "temporary"]
    assert list(layer.state_dict()) == ["kept", "fc.weight", "fc.bias"]
    assert list(layer.to_static_state_dict()) == [
        "scratch", "kept", "temporary", "fc.weight", "fc.bias",
    ]  # fmt: skip
    assert {"fc", "kept", "number", "forward"} <= set(dir(layer))
    assert "fc" not in layer.__dict__ and layer.__dict__["number"] == 5


def test_assignments_of_a_wrong_kind_are_refused():
    layer = Small()
    with pytest.raises(
        TypeError, match="'weight' is one of the parameter.*expected a Parameter or None"
    ):
        layer.fc.weight = paddle.ones([2, 3])
    with pytest.raises(TypeError, match="'fc' is one of the sublayer.*expected a Layer or None"):
        layer.fc = 5
    with pytest.raises(TypeError, match="'kept' is a buffer"):
        layer.kept = 5
    layer.fc.weight = None
    layer.kept = None
    assert layer.fc.weight is None and "kept" not in layer.state_dict()
    with pytest.raises(AttributeError, match="'Small' object has no attribute 'nope'"):
        layer.nope
    del layer.fc
    assert "fc" not in layer._sub_layers


def test_members_need_init_first():
    class Wrong(nn.Layer):
        def __init__(self):
            self.fc = nn.Linear(1, 1)

    with pytest.raises(ValueError, match="Do this: call super"):
        Wrong()


@pytest.mark.parametrize(
    "name, error", [("a.b", KeyError), ("", KeyError), ("fc", KeyError), (3, TypeError)]
)
def test_bad_names(name, error):
    layer = Small()
    with pytest.raises(error):
        layer.add_parameter(name, layer.create_parameter([2]))
    with pytest.raises(error):
        layer.register_buffer(name, paddle.ones([1]))


def test_add_members_checks_kinds():
    layer = Small()
    with pytest.raises(TypeError, match="expected a Parameter or None"):
        layer.add_parameter("p", 3)
    with pytest.raises(TypeError, match="expected a Tensor or None"):
        layer.register_buffer("b", 3)
    with pytest.raises(AssertionError):
        layer.add_sublayer("s", 3)
    assert layer.add_sublayer("s", nn.ReLU()) is layer.s


def test_create_parameter():
    layer = nn.Layer()
    assert layer.create_parameter([2, 2], attr=False) is None
    param = layer.create_parameter(
        [2, 2],
        attr=paddle.ParamAttr(
            name="given", learning_rate=0.5, trainable=False, need_clip=False,
            initializer=nn.initializer.Constant(3.0),
        ),
    )  # fmt: skip
    assert param.name == "given" and param.stop_gradient and not param.trainable
    assert param.optimize_attr == {"learning_rate": 0.5} and param.need_clip is False
    np.testing.assert_array_equal(param.numpy(), np.full((2, 2), 3, "float32"))
    assert layer.create_parameter([3], is_bias=True).numpy().tolist() == [0, 0, 0]
    assert layer.create_parameter([1], dtype="float64").dtype == paddle.float64
    assert layer.create_parameter([1], attr="named").name == "named"
    with pytest.raises(TypeError, match="no default initializer for this dtype"):
        layer.create_parameter([2], dtype="int32")
    with pytest.raises(TypeError, match="expected a ParamAttr"):
        layer.create_parameter([2], attr=5)
    with pytest.raises(ValueError):
        paddle.ParamAttr(name="")


def test_parameter_is_a_tensor_with_attributes():
    param = nn.Parameter(paddle.ones([2]))
    assert isinstance(param, paddle.Tensor) and not param.stop_gradient and param.persistable
    assert param.is_leaf and repr(param).startswith("Parameter containing:\n")
    param.trainable = False
    assert param.stop_gradient
    with pytest.raises(ValueError, match="expected a bool"):
        param.trainable = 3
    assert nn.Parameter(paddle.ones([1]), False).stop_gradient
    again = copy.deepcopy(param)
    assert type(again) is type(param) and again.name != param.name and again.stop_gradient
    loaded = pickle.loads(pickle.dumps(param))
    assert type(loaded) is type(param) and loaded.name == param.name
    np.testing.assert_array_equal(loaded.numpy(), param.numpy())


def test_default_dtype_reaches_parameters():
    paddle.set_default_dtype("float64")
    try:
        assert nn.Linear(2, 2).weight.dtype == paddle.float64
        assert nn.BatchNorm1D(2)._mean.dtype == paddle.float64
    finally:
        paddle.set_default_dtype("float32")
    assert nn.Linear(2, 2).weight.dtype == paddle.float32


def test_pre_and_post_hooks():
    layer, x = nn.Identity(), paddle.ones([2])
    calls = []
    first = layer.register_forward_pre_hook(lambda layer_, inputs: inputs[0] * 2)
    second = layer.register_forward_post_hook(lambda layer_, inputs, out: out + 1)
    assert layer(x).numpy().tolist() == [3, 3]
    first.remove()
    second.remove()
    first.remove()
    assert layer(x).numpy().tolist() == [1, 1]
    layer.register_forward_pre_hook(lambda *a: calls.append("later"))
    layer.register_forward_pre_hook(lambda *a: calls.append("first"), prepend=True)
    layer.register_forward_post_hook(
        lambda layer_, inputs, kwargs, out: calls.append((len(inputs), list(kwargs))),
        with_kwargs=True,
    )
    layer(input=x)
    assert calls == ["first", "later", (0, ["input"])]
    layer.register_forward_pre_hook(lambda layer_, i, k: ((), {}, 1), with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or .args, kwargs."):
        layer(x)


def test_post_hook_that_is_always_called():
    class Fails(nn.Layer):
        def forward(self, x):
            raise KeyError("inside")

    layer, seen = Fails(), []
    layer.register_forward_post_hook(lambda *a: seen.append("plain"))
    layer.register_forward_post_hook(lambda *a: seen.append("always"), always_call=True)
    with pytest.raises(KeyError, match="inside"):
        layer(1)
    assert seen == ["always"]
    with pytest.raises(NotImplementedError, match="no forward"):
        nn.Layer()(1)


def test_state_dict_round_trip_and_mismatches():
    layer = Small()
    values = {k: np.full(v.shape, i + 1, "float32") for i, (k, v) in
              enumerate(layer.state_dict().items())}  # fmt: skip
    assert layer.set_state_dict(values) == ([], [])
    np.testing.assert_array_equal(layer.fc.bias.numpy(), [3, 3, 3])
    with pytest.warns(UserWarning, match="receives a shape"):
        missing, unexpected = layer.set_state_dict(
            {"fc.weight": np.ones((3, 2), "float32"), "extra": np.ones(1)}
        )
    assert missing == ["kept", "fc.weight", "fc.bias"] and unexpected == ["fc.weight", "extra"]
    by_name = {p.name: np.zeros(p.shape, "float32") for p in layer.parameters()}
    with pytest.warns(UserWarning):
        layer.set_state_dict(by_name, use_structured_name=False)
    assert not layer.fc.weight.numpy().any()
    assert layer.state_dict()["fc.weight"] is layer.fc.weight
    assert layer.state_dict(keep_vars=False)["fc.weight"] is not layer.fc.weight
    assert list(layer.state_dict(None, True, "p."))[0] == "p.kept"


def test_load_state_dict_is_strict():
    layer = nn.Linear(2, 2)
    assert repr(layer.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"
    with pytest.raises(RuntimeError, match='Missing key.*"bias"(.|\n)*Unexpected key.*"other"'):
        layer.load_state_dict({"weight": layer.weight, "other": layer.bias})


def test_state_dict_hook():
    layer = nn.Linear(2, 2)
    handle = layer.register_state_dict_hook(lambda state: state.update(extra=1))
    assert list(layer.state_dict()) == ["weight", "bias", "extra"]
    handle.remove()
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_shared_members_are_listed_once():
    class Shared(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)
            self.b = self.a
            self.w = self.create_parameter([2])
            self.w2 = self.w

    layer = Shared()
    assert [n for n, _ in layer.named_parameters()] == ["w", "a.weight", "a.bias"]
    assert len(list(layer.named_parameters(remove_duplicate=False))) == 6
    assert [n for n, _ in layer.named_sublayers()] == ["a"]
    assert list(layer.state_dict()) == ["w", "w2", "a.weight", "a.bias", "b.weight", "b.bias"]
    assert [n for n, _ in layer.named_sublayers(prefix="p", include_self=True)] == ["p", "p.a"]
    assert [n for n, _ in layer.named_children()] == ["a"] and len(layer.sublayers()) == 1


def test_apply_and_modes():
    layer, order = nn.Sequential(nn.Linear(1, 1), nn.ReLU()), []
    assert layer.apply(lambda sub: order.append(type(sub).__name__)) is layer
    assert order == ["Linear", "ReLU", "Sequential"]
    layer.eval()
    assert not layer[0].training
    layer.train()
    assert layer[1].training


def test_targets_by_dotted_name():
    layer = nn.Sequential(("a", nn.Sequential(("b", nn.Linear(1, 1)))))
    assert layer.get_sublayer("a.b") is layer.a.b
    assert layer.get_parameter("a.b.weight") is layer.a.b.weight
    with pytest.raises(AttributeError, match="Sequential has no attribute `c`"):
        layer.get_sublayer("a.c")
    layer.set_sublayer("a.b", nn.ReLU())
    assert isinstance(layer.a.b, nn.ReLU)


def test_conversions_keep_the_objects():
    layer = Small()
    layer.register_buffer("count", paddle.ones([1], "int64"))
    weight = layer.fc.weight
    assert layer.to(dtype="float64") is layer
    assert layer.fc.weight is weight and weight.dtype == paddle.float64
    assert layer.count.dtype == paddle.float64
    layer = Small()
    layer.register_buffer("count", paddle.ones([1], "int64"))
    layer.half()
    assert layer.fc.weight.dtype == paddle.float16 and layer.count.dtype == paddle.int64
    assert "dtype=float16" in repr(layer.fc)
    layer.float()
    assert layer.kept.dtype == paddle.float32
    layer.bfloat16(excluded_layers=[nn.Linear])
    assert layer.fc.weight.dtype == paddle.float32 and layer.kept.dtype == paddle.bfloat16
    assert layer.to("cpu") is layer
    with pytest.raises(ValueError, match="dtype"):
        layer.to(dtype="nonsense")
    with pytest.raises(ValueError, match="device"):
        layer.to(device=3)


def test_gradients_are_cleared_and_frozen():
    layer = nn.Linear(2, 2)
    layer(paddle.ones([1, 2])).sum().backward()
    layer.clear_gradients()
    assert not layer.weight.grad.numpy().any()
    layer.zero_grad()
    assert layer.weight.grad is None
    assert layer.requires_grad_(False).weight.stop_gradient


def test_deep_copy_and_pickle_are_independent():
    layer = Small()
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert list(other.state_dict()) == list(layer.state_dict())
        assert other.fc.weight is not layer.fc.weight
        assert isinstance(other.fc.weight, type(layer.fc.weight))
        before = layer.fc.weight.numpy()
        other.fc.weight.set_value(np.zeros((2, 3), "float32"))
        np.testing.assert_array_equal(layer.fc.weight.numpy(), before)


def test_repr_nests():
    layer = nn.Sequential(nn.Linear(2, 3, bias_attr=False, name="q"), nn.LayerList([nn.ReLU()]))
    assert repr(layer) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, dtype=float32, name=q)\n"
        "  (1): LayerList(\n"
        "    (0): ReLU()\n"
        "  )\n"
        ")"
    )


def test_build_once_runs_at_the_first_call():
    class Late(nn.Layer):
        def _build_once(self, x):
            self.fc = nn.Linear(x.shape[-1], 1)

        def forward(self, x):
            return self.fc(x)

    layer = Late()
    layer(paddle.ones([1, 3]))
    weight = layer.fc.weight
    layer(paddle.ones([1, 3]))
    assert layer.fc.weight is weight


def test_eval_does_not_call_a_train_of_the_subclass():
    class Counting(nn.Layer):
        calls = 0

        def train(self):
            super().train()
            self.calls += 1

    layer = nn.Sequential(Counting(), nn.Dropout())
    layer.eval()
    assert not layer[0].training and not layer[1].training
    layer[0].eval()
    assert layer[0].calls == 0
    layer.train()
    assert layer[0].training and layer[0].calls == 0
    layer[0].train()
    assert layer[0].calls == 1


def test_members_of_a_layer_under_the_names_of_other_frameworks():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1D(3))
    net.register_buffer("kept", paddle.ones([1]), persistent=True)
    net.register_buffer("left", paddle.ones([1]), persistent=False)
    net[0].register_buffer("inner", paddle.ones([1]))
    assert "kept" in net.state_dict() and "left" not in net.state_dict()
    assert net.parameters(recurse=False) == [] and len(net.parameters(recurse=True)) == len(
        net.parameters()
    )
    assert list(net.named_parameters(recurse=False)) == []
    assert [name for name, _ in net.named_buffers(recurse=False)] == ["kept", "left"]
    assert len(net.buffers(recurse=False)) == 2 and len(net.buffers()) == 3
    with pytest.raises(ValueError, match="got both"):
        net.parameters(include_sublayers=True, recurse=True)
    x = paddle.to_tensor([[3.0, 4.0]])
    assert paddle.linalg.norm(A=x, ord=2, dim=1).tolist() == [5.0]
    assert paddle.linalg.vector_norm(x, ord=1).item() == 7.0


_RECORDS = np.zeros(2, [("a", "f4")])


@pytest.mark.parametrize(
    "value", ["text", 3, [[1.0, 2.0], [3.0, 4.0]], np.array([["a"] * 2] * 2), _RECORDS]
)
def test_a_state_with_something_else_than_numbers_changes_nothing(value):
    layer = nn.Linear(2, 2)
    before = layer.weight.numpy().copy()
    for load in (layer.set_state_dict, layer.load_state_dict):
        with pytest.raises(
            TypeError, match=r"\[set_state_dict\] bias: expected a Tensor or an array of"
        ):
            load({"weight": np.zeros([2, 2], "float32"), "bias": value})
    assert (layer.weight.numpy() == before).all()
