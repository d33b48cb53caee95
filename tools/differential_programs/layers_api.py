"""What layers and optimizers offer beside forward: names, traversal, state, containers, casting, parameters."""

import copy

import numpy as np
import paddle
from paddle import nn

paddle.utils.unique_name.switch()
with paddle.utils.unique_name.guard():

    class Block(nn.Layer):
        def __init__(self, size, name_scope=None):
            super().__init__(name_scope)
            self.fc = nn.Linear(size, size)
            self.gain = self.create_parameter(
                [size],
                attr=paddle.ParamAttr(learning_rate=0.5, trainable=True),
                default_initializer=nn.initializer.Constant(2.0),
            )
            self.register_buffer("steps", paddle.zeros([1]))
            self.register_buffer("scratch", paddle.ones([2]), persistable=False)
            self.shared = None

        def forward(self, x):
            return self.fc(x) * self.gain

        def extra_repr(self):
            return "block"

    net = nn.Sequential(
        ("first", Block(2, "special")),
        ("rest", nn.Sequential(Block(2), nn.ReLU(), nn.LayerList([Block(2)]))),
    )
    net.first.shared = net.rest[0].fc
    show(
        "full",
        [
            net.full_name(),
            net.first.full_name(),
            net.rest[0].full_name(),
            net.rest[0].fc.full_name(),
        ],
    )
    show("names", [name for name, _ in net.named_parameters()])
    show("prefix", [name for name, _ in net.named_parameters(prefix="p", include_sublayers=True)])
    show("own", [name for name, _ in net.first.named_parameters(include_sublayers=False)])
    show("parameters", [p.name for p in net.parameters()])
    show("sublayers", [name for name, _ in net.named_sublayers()])
    show("self", [name for name, _ in net.named_sublayers(prefix="n", include_self=True)])
    show("children", [name for name, _ in net.named_children()])
    show("buffers", [name for name, _ in net.named_buffers()])
    show("state", list(net.state_dict()))
    show("prefixed", list(net.first.state_dict(structured_name_prefix="x.")))
    show(
        "flat",
        [list(net.state_dict(include_sublayers=False)), list(net.first.state_dict(use_hook=False))],
    )
    show("repr", repr(net))
    show(
        "counts",
        [len(net), len(net.rest), len(net.rest[2]), len(net.sublayers()), len(net.parameters())],
    )
    net.eval()
    show("modes", [layer.training for layer in net.sublayers(include_self=True)])
    net.train()
    visited = []
    net.apply(lambda layer: visited.append(type(layer).__name__))
    show("visited", visited)
    show(
        "attributes",
        sorted(
            name for name in dir(net.first) if name in ("fc", "gain", "steps", "scratch", "forward")
        ),
    )
    net.add_sublayer("extra", nn.Tanh())
    net.first.add_parameter("other", paddle.create_parameter([1], "float32"))
    show(
        "added",
        [name for name, _ in net.named_sublayers()][-1:]
        + [name for name, _ in net.first.named_parameters()],
    )
    del net.first.other
    show("deleted", [name for name, _ in net.first.named_parameters()])
    net.first.gain = paddle.create_parameter(
        [2], "float32", default_initializer=nn.initializer.Constant(3.0)
    )
    show("replaced", net.first.gain)
    for wrong in (
        lambda: setattr(net.first, "gain", 3),
        lambda: net.first.register_buffer("fc", paddle.ones([1])),
        lambda: net.first.missing,
        lambda: net.first.add_parameter("a.b", net.first.gain),
        lambda: nn.Layer().forward(1),
        lambda: net.set_state_dict({"rest.0.gain": np.ones([3], "float32")}),
    ):
        try:
            wrong()
            show("wrong", "nothing")
        except Exception as error:
            show("wrong", type(error).__name__)
    other = copy.deepcopy(net)
    with paddle.no_grad():
        other.first.fc.weight.set_value(paddle.zeros([2, 2]))
    show("copied", bool((net.first.fc.weight != 0).any()))
    show("tied", [net.first.shared is net.rest[0].fc, other.first.shared is other.rest[0].fc])
    layers = nn.LayerList([nn.Linear(1, 2), nn.ReLU()])
    layers.append(nn.Tanh())
    layers.insert(1, nn.Sigmoid())
    layers.extend([nn.GELU()])
    layers[0] = nn.Identity()
    del layers[2]
    show(
        "list",
        [type(layer).__name__ for layer in layers]
        + [type(layer).__name__ for layer in layers[1:3]]
        + [type(layers[-1]).__name__],
    )
    table = nn.LayerDict({"a": nn.ReLU(), "b": nn.Tanh()})
    table.update([("c", nn.GELU())])
    popped = table.pop("a")
    table["d"] = popped
    show(
        "dict",
        [list(table.keys()), "b" in table, len(table), [type(v).__name__ for v in table.values()]],
    )
    parameters = nn.ParameterList([paddle.create_parameter([i + 1], "float32") for i in range(3)])
    parameters.append(paddle.create_parameter([9], "float32"))
    show(
        "parameters",
        [list(p.shape) for p in parameters] + [len(parameters), list(parameters[1].shape)],
    )
    named = (
        nn.ParameterDict({"w": paddle.create_parameter([2], "float32")})
        if hasattr(nn, "ParameterDict")
        else None
    )
    show("named", None if named is None else [len(named), [n for n, _ in named.named_parameters()]])
    layer = nn.Linear(
        2,
        2,
        weight_attr=paddle.ParamAttr(
            name="mine", regularizer=paddle.regularizer.L2Decay(0.5), need_clip=False
        ),
        bias_attr=False,
    )
    show(
        "attr",
        [
            layer.weight.name,
            layer.bias is None,
            layer.weight.need_clip,
            layer.weight.trainable,
            layer.weight.optimize_attr,
            layer.weight.persistable,
            layer.weight.is_leaf,
        ],
    )
    fixed(layer)
    sgd = paddle.optimizer.Adam(
        0.1, parameters=layer.parameters(), weight_decay=0.1, grad_clip=nn.ClipGradByGlobalNorm(0.1)
    )
    for _ in range(2):
        layer(paddle.ones([1, 2])).sum().backward()
        sgd.step()
        sgd.clear_grad()
    show("stepped", layer.weight)
    show("optimizer", {k: v for k, v in sgd.state_dict().items()})
    state = sgd.state_dict()
    again = sgd
    again.set_state_dict(state)
    layer(paddle.ones([1, 2])).sum().backward()
    again.step()
    show("resumed", [layer.weight, again.get_lr()])
    again.set_lr(0.01)
    show("rate", again.get_lr())
    again.set_lr_scheduler(paddle.optimizer.lr.ExponentialDecay(0.2, 0.5))
    again._learning_rate.step()
    show("scheduled", [again.get_lr(), again._learning_rate.state_dict()])
    plateau = paddle.optimizer.lr.ReduceOnPlateau(0.5, patience=1, cooldown=1, threshold=0.1)
    for value in (1.0, 0.99, 0.98, 0.97, 0.96, 0.5, 0.5, 0.5):
        plateau.step(paddle.to_tensor(value))
        show("plateau", plateau.last_lr)
    show("plateau", {k: v for k, v in plateau.state_dict().items()})
    norm = nn.BatchNorm2D(3, momentum=0.8, epsilon=1e-3, weight_attr=False)
    show(
        "norm",
        [name for name, _ in norm.named_parameters()]
        + [name for name, _ in norm.named_buffers()]
        + sorted(norm.state_dict()),
    )
    rnn = (
        nn.LSTM(2, 3, num_layers=2, direction="bidirect", proj_size=0)
        if False
        else nn.LSTM(2, 3, num_layers=2, direction="bidirect")
    )
    show("rnn", sorted(rnn.state_dict()))
    show("attention", sorted(nn.Transformer(8, 2, 1, 1, 16).state_dict())[:12])
    show(
        "texts",
        [
            repr(layer)
            for layer in (
                nn.Conv2D(3, 4, 3, stride=2, padding=1, groups=1),
                nn.Conv2DTranspose(3, 4, 3),
                norm,
                nn.Dropout2D(0.3),
                nn.Embedding(3, 4, padding_idx=0),
                nn.MaxPool2D(2, 2),
                nn.AdaptiveAvgPool2D((1, None)),
                nn.LayerNorm([3]),
                nn.GroupNorm(1, 2),
                nn.Upsample(scale_factor=2),
                nn.Flatten(),
                nn.Softmax(),
                nn.LeakyReLU(),
                rnn,
                nn.GRUCell(2, 3),
                nn.PReLU(),
                nn.Pad2D([1, 1, 1, 1]),
                nn.CosineSimilarity(),
                nn.PixelShuffle(2),
                nn.Unfold(3),
                nn.Bilinear(1, 2, 3),
                nn.SiLU() if hasattr(nn, "SiLU") else nn.Silu(),
                nn.Hardtanh(),
                nn.Maxout(2),
                nn.LocalResponseNorm(3),
                nn.InstanceNorm1D(2),
                nn.ZeroPad2D(1),
                nn.AvgPool1D(2),
                nn.RReLU(),
                nn.ThresholdedReLU(),
            )
        ],
    )
