"""A table of a network's layers."""

import math
import numbers

from argosy import _core
from argosy import tensor as _tensor
from argosy._dtypes import INTEGER
from argosy.autograd import no_grad

__all__ = []


def summary(net, input_size=None, dtypes=None, input=None):
    """Prints layers, shapes and numbers of parameters of a network, from one forward pass.

    Args:
        net (Layer): The network.
        input_size (tuple | InputSpec | list): Shape of the input, batch included (None or -1 count
            as 1); a list of shapes for several inputs.
        dtypes (str | list, optional): dtype of the inputs, float32 by default.
        input (Tensor | list | dict, optional): The input itself, instead of ``input_size``: the one
            argument of the network, also where it is a list or a dict.

    Returns:
        dict: ``total_params`` and ``trainable_params``.

    Raises:
        ValueError: neither ``input_size`` nor ``input`` is given.

    Examples:
        >>> counts = argosy.summary(argosy.nn.Linear(3, 2), (1, 3))
        ---...
        >>> counts
        {'total_params': 8, 'trainable_params': 8}
    """
    if input_size is None and input is None:
        raise ValueError(
            "[summary] neither input_size nor input is given. Do this: pass the shape of the input, "
            "such as input_size=(1, 3, 224, 224)."
        )
    if input is None:
        args, sizes = _make_inputs(input_size, dtypes)
    else:
        args, sizes = (input,), _sizes([input])
    rows = _observe(net, args)
    return _report(rows, sizes)


def _make_inputs(input_size, dtypes):
    shapes = _shapes(input_size)
    if dtypes is None or isinstance(dtypes, str) or not isinstance(dtypes, (list, tuple)):
        dtypes = [dtypes] * len(shapes)
    tensors = []
    for (shape, own), dtype in zip(shapes, dtypes):
        dtype = _core.dtype(dtype or own or "float32")
        if dtype in (_core.bool, *INTEGER):
            tensors.append(_tensor.zeros(shape, dtype))
        else:
            tensors.append(_tensor.rand(shape).astype(dtype))
    return tuple(tensors), sum(math.prod(shape) for shape, _ in shapes)


def _shapes(size):
    """A list of (shape, dtype or None)."""
    if hasattr(size, "shape") and hasattr(size, "dtype"):
        return [(_clean(size.shape), size.dtype)]
    if isinstance(size, numbers.Integral):
        return [([_positive(size)], None)]
    if not isinstance(size, (list, tuple)):
        raise TypeError(
            "[summary] input_size has the wrong type: expected a shape, an InputSpec or a list of "
            f"them, got {type(size).__name__}."
            " Do this: pass e.g. (1, 3, 224, 224)."
        )
    if all(n is None or isinstance(n, numbers.Number) for n in size):
        return [(_clean(size), None)]
    return [pair for part in size for pair in _shapes(part)]


def _clean(shape):
    return [1 if n is None or n == -1 else _positive(n) for n in shape]


def _positive(n):
    if not isinstance(n, numbers.Integral):
        raise TypeError(
            f"[summary] sizes of input_size must be ints, got {n!r}."
            " Do this: pass e.g. (1, 3, 224, 224)."
        )
    if n <= 0:
        raise ValueError(
            f"[summary] sizes of input_size must be greater than zero, got {n}."
            " Do this: correct it; None and -1 stand for 1."
        )
    return int(n)


def _sizes(values):
    total = 0
    for value in values:
        if hasattr(value, "shape"):
            total += math.prod(value.shape)
        elif isinstance(value, (list, tuple)):
            total += _sizes(value)
        elif isinstance(value, dict):
            total += _sizes(value.values())
    return total


def _shape(value):
    if hasattr(value, "shape"):
        return list(value.shape)
    if isinstance(value, (list, tuple)):
        return [_shape(v) for v in value]
    if isinstance(value, dict):
        return [_shape(v) for v in value.values()]
    return None


def _row_name(layer, otherwise):
    """The class and the number in the layer's full name, from 1: of conv2d_4 Conv2D-5."""
    number = layer.full_name().rsplit("_", 1)[-1]
    return f"{type(layer).__name__}-{1 + (int(number) if number.isdecimal() else otherwise)}"


def _observe(net, args):
    """Runs the network; returns a row (name, inputs, output, layer) for each layer that ran."""
    from argosy import nn

    rows, hooks = {}, []

    def add(layer):
        def hook(layer, inputs, output):
            name = _row_name(layer, len(rows))
            rows[name] = (
                name,
                [_shape(i) for i in inputs],
                _shape(output),
                layer,
                _sizes([output]),
            )

        hooks.append(layer.register_forward_post_hook(hook))

    containers = (nn.Sequential, nn.LayerList)
    sublayers = net.sublayers(include_self=False)
    whole = isinstance(net, containers) and net._parameters
    for layer in [net] if whole or not sublayers else sublayers:
        # Recurrent layers are containers of cells that never run: the parameters are their own.
        if layer._parameters or not isinstance(layer, containers):
            add(layer)
    modes = [(layer, layer.training) for layer in net.sublayers(include_self=True)]
    try:
        net.eval()
        with no_grad():
            net(*args)
    finally:
        for hook in hooks:
            hook.remove()
        for layer, mode in modes:
            layer.training = mode
    table = list(rows.values())
    if sublayers and net._parameters and not whole:
        # What the outermost layer owns itself has no other row.
        table.append((f"{type(net).__name__} (itself)", [], [], net, 0))
    return table


def _report(rows, input_elements):
    total = trainable = outputs = 0
    cells = [("Layer (type)", "Input Shape", "Output Shape", "Param #")]
    seen = set()
    for name, inputs, output, layer, elements in rows:
        count = 0
        for tensor in layer._parameters.values():
            if tensor is None:
                continue
            size = math.prod(tensor.shape)
            count += size
            if id(tensor) in seen:
                continue
            seen.add(id(tensor))
            total += size
            if not tensor.stop_gradient:
                trainable += size
        outputs += elements
        cells.append((name, str(inputs), str(output), f"{count:,}"))
    least = (15, 20, 20, 15)
    widths = [max(least[i], *(len(row[i]) for row in cells[1:])) for i in range(4)]
    line = "-" * (sum(widths) + 5)
    lines = [line]
    for i, row in enumerate(cells):
        lines.append(" ".join(f"{c:^{w}}" for c, w in zip(row, widths)))
        if i == 0:
            lines.append("=" * len(line))
    mega = 4.0 / 1024**2  # every value is counted as float32
    sizes = (input_elements * mega, 2 * outputs * mega, total * mega)
    lines += [
        "=" * len(line),
        f"Total params: {total:,}",
        f"Trainable params: {trainable:,}",
        f"Non-trainable params: {total - trainable:,}",
        line,
        f"Input size (MB): {sizes[0]:.2f}",
        f"Forward/backward pass size (MB): {sizes[1]:.2f}",
        f"Params size (MB): {sizes[2]:.2f}",
        f"Estimated Total Size (MB): {sum(sizes):.2f}",
        line,
        "",
    ]
    print("\n".join(lines))
    return {"total_params": total, "trainable_params": trainable}
