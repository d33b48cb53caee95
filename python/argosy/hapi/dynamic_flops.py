"""Counting the multiplications of a network's forward pass."""

import math

from argosy import tensor
from argosy.autograd import no_grad

__all__ = []


def flops(net, input_size, custom_ops=None, print_detail=False):
    """Counts the floating point operations of one forward pass, layer by layer.

    A multiplication with its addition counts as one. Counted are convolutions, linear layers, 2-D
    batch norm, average pooling and LeakyReLU; other layers count as zero unless ``custom_ops`` has them.
    What is counted how, and the sum, is printed.

    Args:
        net (Layer): The network.
        input_size (list): Shape of the input.
        custom_ops (dict, optional): From a layer class to a function ``f(layer, inputs, output)``
            that adds to ``layer.total_ops``.
        print_detail (bool): Print a table of the layers.

    Returns:
        int: The number of operations.

    Raises:
        TypeError: ``net`` is no Layer.

    Examples:
        >>> argosy.flops(argosy.nn.Linear(3, 2), [4, 3])
        Total Flops: 24     Total Params: 8
        24
    """
    from argosy import nn

    if not isinstance(net, nn.Layer):
        raise TypeError(
            f"[flops] net has the wrong type: expected nn.Layer, got {type(net).__name__}."
            " Do this: pass the network itself."
        )
    custom_ops = custom_ops or {}
    counters = _counters(nn)
    rows, hooks, told = [], [], set()
    layers = [layer for layer in net.sublayers(include_self=True) if not list(layer.children())]

    def observe(layer):
        kind = type(layer)
        count = custom_ops.get(kind) or counters.get(kind)
        if kind not in told:
            told.add(kind)
            if kind in custom_ops:
                print(f"{kind.__name__}: counted by the given function.")
            elif count is None:
                print(f"{kind.__name__}: no rule to count it, taken as zero.")
        layer.total_ops = 0

        def hook(layer, inputs, output):
            if kind in custom_ops:
                count(layer, inputs, output)
            elif count is not None:
                layer.total_ops += int(count(layer, inputs[0], output))
            rows.append((layer, _shape(inputs[0] if inputs else None), _shape(output)))

        hooks.append(layer.register_forward_post_hook(hook))

    modes = [(layer, layer.training) for layer in net.sublayers(include_self=True)]
    try:
        for layer in layers:
            observe(layer)
        net.eval()
        with no_grad():
            net(tensor.rand(list(input_size)))
        last = {id(layer): (inputs, output) for layer, inputs, output in rows}
        table = [  # in the order in which the network holds its layers, not that of the calls
            (layer.full_name(), *last[id(layer)], _size(layer), int(layer.total_ops))
            for layer in layers
            if id(layer) in last
        ]
    finally:
        for hook in hooks:
            hook.remove()
        for layer, mode in modes:
            layer.training = mode
        for layer in layers:
            layer.__dict__.pop("total_ops", None)
    total = sum(row[4] for row in table)
    params = sum(row[3] for row in table)
    if print_detail:
        _print_table(
            ("Layer Name", "Input Shape", "Output Shape", "Params", "Flops"),
            [[str(cell) for cell in row] for row in table],
        )
    print(f"Total Flops: {total}     Total Params: {params}")
    return total


def _shape(value):
    if hasattr(value, "shape"):
        return list(value.shape)
    if isinstance(value, (list, tuple)):
        return [_shape(v) for v in value]
    return []


def _size(layer):
    tensors = list(layer._parameters.values()) + list(layer._buffers.values())
    return sum(math.prod(t.shape) for t in tensors if t is not None)


def _count_conv(layer, x, y):
    weight = layer.weight
    taps = math.prod(weight.shape[1:])
    if "Transpose" in type(layer).__name__:
        # weight is [in, out / groups, ..]: each output element sums over in / groups channels.
        groups = getattr(layer, "_groups", 1)
        taps = weight.shape[0] // groups * math.prod(weight.shape[2:])
    bias = 1 if layer.bias is not None else 0
    return math.prod(y.shape) * (taps + bias)


def _count_linear(layer, x, y):
    return layer.weight.shape[0] * math.prod(y.shape)


def _count_batch_norm(layer, x, y):
    return 2 * math.prod(x.shape)


def _count_input(layer, x, y):
    return math.prod(x.shape)


def _count_output(layer, x, y):
    return math.prod(y.shape)


def _count_adaptive_average(layer, x, y):
    window = math.prod(n // m for n, m in zip(x.shape[2:], y.shape[2:]))
    return (window + 1) * math.prod(y.shape)


def _zero(layer, x, y):
    return 0


def _counters(nn):
    rules = {
        _count_conv: "Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose",
        _count_linear: "Linear",
        _count_batch_norm: "BatchNorm2D BatchNorm",
        _count_input: "LeakyReLU",
        _count_output: "AvgPool1D AvgPool2D AvgPool3D",
        _count_adaptive_average: "AdaptiveAvgPool1D AdaptiveAvgPool2D AdaptiveAvgPool3D",
        _zero: "ReLU ReLU6 Dropout",
    }
    return {
        getattr(nn, name): rule
        for rule, names in rules.items()
        for name in names.split()
        if hasattr(nn, name)
    }


def _print_table(titles, rows):
    widths = [max(map(len, column)) for column in zip(titles, *rows)]
    rule = "+" + "+".join("-" * (w + 2) for w in widths) + "+"

    def line(cells):
        return "|" + "|".join(f" {c:^{w}} " for c, w in zip(cells, widths)) + "|"

    print("\n".join([rule, line(titles), rule, *map(line, rows), rule]))
