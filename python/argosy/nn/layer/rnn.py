"""Recurrent layers."""

from __future__ import annotations

import math

from argosy import _core, tensor
from argosy._framework import in_static_mode
from argosy._support import check_choice, sizes_of
from argosy.utils.layers_utils import flatten, map_structure
from argosy.utils.recorded_loop import recorded_steps

from .. import functional as F
from ..initializer import Constant, Uniform
from ..initializer.initializer import _global_initializer
from ..initializer.lazy_init import lazy_init_helper
from .container import LayerList
from .layers import Layer

ops = _core.ops

__all__ = [
    "BiRNN",
    "GRU",
    "GRUCell",
    "LSTM",
    "LSTMCell",
    "RNN",
    "RNNCellBase",
    "SimpleRNN",
    "SimpleRNNCell",
]


def split_states(states, bidirectional=False, state_components=1):
    """Stacked states [layers * directions, batch, hidden] as a list with one entry per layer.

    An entry is a state, a tuple of ``state_components`` states, or for bidirectional layers a pair
    of these.
    """
    parts = [states] if state_components == 1 else list(states)
    parts = [tensor.unstack(part) for part in parts]
    cells = parts[0] if state_components == 1 else list(zip(*parts))
    return list(zip(cells[::2], cells[1::2])) if bidirectional else list(cells)


def concat_states(states, bidirectional=False, state_components=1):
    """The inverse of :func:`split_states`; states of both directions lie as those of one do."""
    if bidirectional not in (True, False):
        raise TypeError(
            f"[concat_states] bidirectional: expected a bool, got {type(bidirectional).__name__}. Do"
            " this: pass True or False."
        )
    leaves = flatten(states)
    if state_components == 1:
        return tensor.stack(leaves)
    return tuple(tensor.stack(leaves[i::state_components]) for i in range(state_components))


def _keep_where(mask, new, old):
    """``new`` in rows where ``mask`` [batch] is 1, else ``old``."""
    shape = [-1] + [1] * (len(new.shape) - 1)
    return tensor.where(tensor.reshape(mask, shape), new, old)


def rnn(
    cell,
    inputs,
    initial_states=None,
    sequence_length=None,
    time_major=False,
    is_reverse=False,
    **kwargs,
):
    """Run ``cell`` along the time axis.

    Args:
        cell: called as ``cell(step_inputs, states, **kwargs)``; returns (outputs, new states).
        inputs: (nested) tensors [batch, time, ...], or [time, batch, ...] if ``time_major``.
        initial_states: states to begin with; None asks ``cell.get_initial_states``.
        sequence_length: [batch]; states do not change past the end of a sequence.
        is_reverse: run from the last step to the first.

    Returns:
        (outputs stacked along time, final states).
    """
    time_axis = 0 if time_major else 1
    first = flatten(inputs)[0]
    if initial_states is None:
        initial_states = cell.get_initial_states(
            batch_ref=inputs, batch_dim_idx=1 if time_major else 0
        )
    steps = first.shape[time_axis]
    if steps < 0:
        return _unknown_steps(
            cell, inputs, initial_states, sequence_length, time_axis, is_reverse, kwargs
        )
    columns = map_structure(lambda x: tensor.unbind(x, axis=time_axis), inputs)
    mask = None
    if sequence_length is not None:
        mask = F.sequence_mask(sequence_length, maxlen=steps, dtype="bool")
    states, collected = initial_states, None
    for step in range(steps - 1, -1, -1) if is_reverse else range(steps):
        step_inputs = _step(inputs, columns, step)
        outputs, new_states = cell(step_inputs, states, **kwargs)
        if mask is not None:
            row = mask[:, step]
            new_states = map_structure(lambda n, o: _keep_where(row, n, o), new_states, states)
        states = new_states
        leaves = flatten(outputs)
        if collected is None:
            collected, structure = [[] for _ in leaves], outputs
        for sequence, leaf in zip(collected, leaves):
            sequence.append(leaf)
    if is_reverse:
        for sequence in collected:
            sequence.reverse()
    stacked = iter([tensor.stack(sequence, axis=time_axis) for sequence in collected])
    return map_structure(lambda _: next(stacked), structure), states


def _unknown_steps(cell, inputs, states, lengths, time_axis, is_reverse, kwargs):
    """rnn over as many steps as a run of the Program finds."""
    steps = sizes_of(flatten(inputs)[0])[time_axis]
    lengths = None if lengths is None else tensor.cast(lengths, "int64")

    def step(i, states):
        at = steps - 1 - i if is_reverse else i
        place = tensor.reshape(at, [1])
        step_inputs = map_structure(
            lambda x: tensor.squeeze(tensor.gather(x, place, axis=time_axis), time_axis), inputs
        )
        outputs, new_states = cell(step_inputs, states, **kwargs)
        if lengths is not None:
            row = tensor.less_than(place, lengths)
            new_states = map_structure(lambda n, o: _keep_where(row, n, o), new_states, states)
        return outputs, new_states

    outputs, states = recorded_steps(step, states, lambda i, _: i < steps, time_axis)
    if is_reverse:
        outputs = map_structure(lambda x: tensor.flip(x, [time_axis]), outputs)
    return outputs, states


def _step(inputs, columns, step):
    """Time step ``step`` of every tensor in ``inputs``; ``columns`` holds them unbound."""
    if isinstance(inputs, dict):
        return {key: _step(inputs[key], columns[key], step) for key in inputs}
    if isinstance(inputs, (list, tuple)):
        items = [_step(i, c, step) for i, c in zip(inputs, columns)]
        return type(inputs)(*items) if hasattr(inputs, "_fields") else type(inputs)(items)
    return columns[step]


def birnn(
    cell_fw,
    cell_bw,
    inputs,
    initial_states=None,
    sequence_length=None,
    time_major=False,
    **kwargs,
):
    """Run one cell forwards and one backwards; outputs are concatenated on the last axis.

    Arguments as for :func:`rnn`, ``initial_states`` being a pair.
    """
    if initial_states is None:
        index = 1 if time_major else 0
        initial_states = (
            cell_fw.get_initial_states(batch_ref=inputs, batch_dim_idx=index),
            cell_bw.get_initial_states(batch_ref=inputs, batch_dim_idx=index),
        )
    forward, forward_states = rnn(
        cell_fw, inputs, initial_states[0], sequence_length, time_major, **kwargs
    )
    backward, backward_states = rnn(
        cell_bw, inputs, initial_states[1], sequence_length, time_major, is_reverse=True, **kwargs
    )
    outputs = map_structure(lambda x, y: tensor.concat([x, y], -1), forward, backward)
    return outputs, (forward_states, backward_states)


class RNNCellBase(Layer):
    """Base of recurrent cells; a subclass defines ``forward`` and ``state_shape``."""

    def get_initial_states(
        self, batch_ref, shape=None, dtype=None, init_value=0.0, batch_dim_idx=0
    ):
        """States filled with ``init_value``.

        Args:
            batch_ref: (nested) tensor whose axis ``batch_dim_idx`` gives the batch size.
            shape: (nested) shape of a state without the batch axis; None: ``self.state_shape``.
            dtype: (nested) dtype of a state; None: ``self.state_dtype`` or the default dtype.
        """
        batch = sizes_of(flatten(batch_ref)[0])[batch_dim_idx]
        shape = self.state_shape if shape is None else shape
        if dtype is None:
            try:
                dtype = self.state_dtype
            except NotImplementedError:
                dtype = _core.get_default_dtype()
        kinds = iter(flatten(dtype) if isinstance(dtype, (list, tuple)) else ())

        def make(sizes):
            if isinstance(sizes, int):
                sizes = (sizes,)
            if all(isinstance(size, int) for size in sizes):
                sizes = [size for size in sizes if size != -1]
                return tensor.full([batch, *sizes], init_value, next(kinds, dtype))
            return type(sizes)(make(item) for item in sizes)

        return make(shape)

    @property
    def state_shape(self):
        """Shape, or nested shapes, of the states without the batch axis."""
        raise NotImplementedError(
            f"[{type(self).__name__}] does not say what its states are. Do this: define the property"
            " state_shape in the cell."
        )

    @property
    def state_dtype(self):
        """dtype, or nested dtypes, of the states."""
        raise NotImplementedError(
            f"[{type(self).__name__}] does not say what its states are. Do this: define the property"
            " state_dtype in the cell."
        )

    def _make_weights(self, gates, input_size, state_size, attrs):
        bound = 1.0 / math.sqrt(self.hidden_size)
        rows = gates * self.hidden_size
        shapes = [[rows, input_size], [rows, state_size], [rows], [rows]]
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        for name, shape, attr in zip(names, shapes, attrs):
            is_bias = name.startswith("bias")
            if attr is not False:
                value = self.create_parameter(
                    shape, attr, is_bias=is_bias, default_initializer=Uniform(-bound, bound)
                )
            else:
                value = self.create_parameter(
                    shape, None, is_bias=is_bias,
                    default_initializer=Constant(0.0 if is_bias else 1.0),
                )  # fmt: skip
                value.stop_gradient = True
            setattr(self, name, value)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}"


def _check_hidden(hidden_size, cell):
    if hidden_size <= 0:
        raise ValueError(f"[{cell}] hidden_size: expected 1 or more, got {hidden_size}. Do this: correct "
"it.")  # fmt: skip


class SimpleRNNCell(RNNCellBase):
    """``h = act(weight_ih x + bias_ih + weight_hh h + bias_hh)``.

    Args:
        input_size, hidden_size: features of input and state.
        activation: 'tanh' or 'relu'.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr: attributes of the parameters
            [hidden, input], [hidden, hidden], [hidden], [hidden]; uniform in
            +-1 / sqrt(hidden_size). False fixes them (weights 1, biases 0).

    Shape: inputs [batch, input_size], states [batch, hidden_size]; returns (outputs, states).
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        activation="tanh",
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__()
        _check_hidden(hidden_size, "SimpleRNNCell")
        check_choice("SimpleRNNCell", "activation", activation, ("tanh", "relu"))
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.activation = activation
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self._make_weights(1, input_size, hidden_size, attrs)

    def forward(self, inputs, states=None):
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        h = ops.simple_rnn_cell(
            inputs, states, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh,
            self.activation,
        )  # fmt: skip
        return h, h

    @property
    def state_shape(self):
        return (self.hidden_size,)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.activation == "tanh" else f"{text}, activation={self.activation}"


class LSTMCell(RNNCellBase):
    """Long short-term memory cell, Hochreiter and Schmidhuber 1997.

    Gates i, f, o = sigmoid, g = tanh of ``weight_ih x + bias_ih + weight_hh h + bias_hh``, stacked
    in the order i, f, g, o; ``c = f c + i g``, ``h = o tanh(c)``.

    Args:
        input_size, hidden_size: features of input and state.
        proj_size: positive: h is projected to this many features by ``weight_ho``,
            arXiv:1402.1128.
        weight_ih_attr, ...: as for :class:`SimpleRNNCell`, with 4 * hidden_size rows.

    Shape: inputs [batch, input_size], states a pair of [batch, hidden_size]; returns
    (h, (h, c)).
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        proj_size=0,
        name=None,
    ):
        super().__init__()
        _check_hidden(hidden_size, "LSTMCell")
        if proj_size < 0:
            raise ValueError(
                f"[LSTMCell] proj_size: expected 0 or more, got {proj_size}. Do this: correct it."
            )
        if proj_size >= hidden_size and proj_size:
            raise ValueError(
                f"[LSTMCell] proj_size must be below hidden_size: got {proj_size} and "
                f"{hidden_size}. Do this: lower it."
            )
        self.proj_size = proj_size
        self.hidden_size = hidden_size
        self.input_size = input_size
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self._make_weights(4, input_size, proj_size or hidden_size, attrs)
        if proj_size:
            bound = 1.0 / math.sqrt(hidden_size)
            self.weight_ho = self.create_parameter(
                (hidden_size, proj_size), weight_hh_attr,
                default_initializer=Uniform(-bound, bound),
            )  # fmt: skip

    def forward(self, inputs, states=None):
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        h, c = states
        h, c = ops.lstm_cell(
            inputs, h, c, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh,
            self.weight_ho if self.proj_size else None,
        )  # fmt: skip
        return h, (h, c)

    @property
    def state_shape(self):
        return ((self.proj_size or self.hidden_size,), (self.hidden_size,))


class GRUCell(RNNCellBase):
    """Gated recurrent unit, Cho et al., arXiv:1406.1078.

    ``r, z = sigmoid(...)``, ``n = tanh(x part + r * (h part))``, ``h = (h - n) z + n``; the weights
    hold r, z, n one after the other.

    Args:
        input_size, hidden_size: features of input and state.
        weight_ih_attr, ...: as for :class:`SimpleRNNCell`, with 3 * hidden_size rows.

    Shape: inputs [batch, input_size], states [batch, hidden_size]; returns (h, h).
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__()
        _check_hidden(hidden_size, "GRUCell")
        self.hidden_size = hidden_size
        self.input_size = input_size
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self._make_weights(3, input_size, hidden_size, attrs)

    def forward(self, inputs, states=None):
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        h = ops.gru_cell(inputs, states, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return h, h

    @property
    def state_shape(self):
        return (self.hidden_size,)


class RNN(Layer):
    """Runs a cell along the time axis.

    Args:
        cell: an RNNCellBase, or any layer called as cell(inputs, states).
        is_reverse: run from the last step to the first.
        time_major: inputs and outputs are [time, batch, ...].

    Call with (inputs, initial_states=None, sequence_length=None); returns
    (outputs, final states).
    """

    def __init__(self, cell, is_reverse=False, time_major=False):
        super().__init__()
        self.cell = cell
        self.is_reverse = is_reverse
        self.time_major = time_major

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs):
        return rnn(
            self.cell,
            inputs,
            initial_states=initial_states,
            sequence_length=sequence_length,
            time_major=self.time_major,
            is_reverse=self.is_reverse,
            **kwargs,
        )


class BiRNN(Layer):
    """Runs one cell forwards and one backwards and concatenates their outputs.

    Args:
        cell_fw, cell_bw: the cells, with the same input size.
        time_major: inputs and outputs are [time, batch, ...].
    """

    def __init__(self, cell_fw, cell_bw, time_major=False):
        super().__init__()
        self.cell_fw = cell_fw
        self.cell_bw = cell_bw
        if cell_fw.input_size != cell_bw.input_size:
            raise ValueError(
                f"[BiRNN] the two cells must have one input size, got {cell_fw.input_size} and "
                f"{cell_bw.input_size}. Do this: make them with the same."
            )
        self.time_major = time_major

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs):
        if isinstance(initial_states, (list, tuple)) and len(initial_states) != 2:
            raise AssertionError(
                f"[BiRNN] initial_states: expected a pair, got {len(initial_states)} values. Do "
                "this: pass (forward, backward)."
            )
        return birnn(
            self.cell_fw, self.cell_bw, inputs, initial_states, sequence_length, self.time_major,
            **kwargs,
        )  # fmt: skip


class RNNBase(LayerList):
    """Base of SimpleRNN, LSTM and GRU: stacked layers computed by one op."""

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        proj_size=0,
    ):
        super().__init__()
        check_choice(
            type(self).__name__, "direction", direction, ("forward", "bidirect", "bidirectional")
        )
        bidirectional = direction != "forward"
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.num_directions = 2 if bidirectional else 1
        self.time_major = time_major
        self.num_layers = num_layers
        self.state_components = 2 if mode == "LSTM" else 1
        self.proj_size = proj_size
        self.could_use_cudnn = not proj_size
        options = {
            "weight_ih_attr": weight_ih_attr,
            "weight_hh_attr": weight_hh_attr,
            "bias_ih_attr": bias_ih_attr,
            "bias_hh_attr": bias_hh_attr,
        }
        if mode == "LSTM":
            make = LSTMCell
            options["proj_size"] = proj_size
        elif mode == "GRU":
            make = GRUCell
        else:
            make = SimpleRNNCell
            options["activation"] = self.activation
        size = input_size
        for _ in range(num_layers):
            if bidirectional:
                forward = make(size, hidden_size, **options)
                backward = make(size, hidden_size, **options)
                self.append(BiRNN(forward, backward, time_major))
            else:
                self.append(RNN(make(size, hidden_size, **options), False, time_major))
            size = (proj_size or hidden_size) * self.num_directions
        self._all_weights = []
        parts = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
        if proj_size:
            parts.append("weight_ho")
        for number, layer in enumerate(self):
            cells = [layer.cell_fw, layer.cell_bw] if bidirectional else [layer.cell]
            for cell, suffix in zip(cells, ("", "_reverse")):
                for part in parts:
                    name = f"{part}_l{number}{suffix}"
                    setattr(self, name, getattr(cell, part))
                    self._all_weights.append(name)
        self.flatten_parameters()

    def flatten_parameters(self):
        """Leaves the weights where they are: they need not lie in one block of memory.

        While a global initializer is set it draws for one more vector of all weights, as Paddle
        does, so that layers made later start from the same numbers.
        """
        fill = _global_initializer(is_bias=False)
        if fill is None or not self.could_use_cudnn or in_static_mode():
            return
        weights = [self._parameters[name] for name in self._all_weights]
        if not lazy_init_helper()._state:
            fill(tensor.empty([sum(p.size for p in weights)], weights[0].dtype))

    @property
    def _flat_weight(self):
        return [self._parameters[name] for name in self._all_weights]

    def forward(self, inputs, initial_states=None, sequence_length=None):
        batch_index = 1 if self.time_major else 0
        if initial_states is None:
            batch = sizes_of(inputs)[batch_index]
            count = self.num_layers * self.num_directions
            sizes = [self.proj_size or self.hidden_size, self.hidden_size]
            initial_states = tuple(
                tensor.zeros([count, batch, size], inputs.dtype)
                for size in sizes[: self.state_components]
            )
        elif not isinstance(initial_states, (tuple, list)):
            initial_states = (initial_states,)
        if self.proj_size:
            return self._layer_by_layer(inputs, initial_states, sequence_length)
        result = ops.rnn(
            inputs, list(initial_states), self._flat_weight, sequence_length, self.mode,
            self.hidden_size, self.num_layers, self.num_directions == 2, float(self.dropout),
            self.time_major, self.training,
        )  # fmt: skip
        states = tuple(result[1:])
        return result[0], (states if self.state_components > 1 else states[0])

    def _layer_by_layer(self, inputs, initial_states, sequence_length):
        bidirectional = self.num_directions == 2
        states = split_states(initial_states, bidirectional, self.state_components)
        final = []
        for number, layer in enumerate(self):
            if number:
                inputs = F.dropout(inputs, self.dropout, training=self.training)
            inputs, state = layer(inputs, states[number], sequence_length)
            final.append(state)
        return inputs, concat_states(final, bidirectional, self.state_components)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.time_major is not False:
            text += f", time_major={self.time_major}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        return text


class SimpleRNN(RNNBase):
    """Stacked simple recurrent layers; see :class:`SimpleRNNCell`.

    Args:
        input_size, hidden_size: features of input and state.
        num_layers: number of layers, each reading the outputs of the one below.
        direction: 'forward' or 'bidirect' ('bidirectional').
        time_major: inputs and outputs are [time, batch, features].
        dropout: probability of dropping outputs of all layers but the last, while training.
        activation: 'tanh' or 'relu'.

    Call with (inputs [batch, time, input_size], initial_states=None, sequence_length=None).
    Returns (outputs [batch, time, directions * hidden_size], final states
    [layers * directions, batch, hidden_size]).
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        activation="tanh",
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        check_choice("SimpleRNN", "activation", activation, ("tanh", "relu"))
        self.activation = activation
        super().__init__(
            f"RNN_{activation.upper()}", input_size, hidden_size, num_layers, direction,
            time_major, dropout, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr,
        )  # fmt: skip


class LSTM(RNNBase):
    """Stacked long short-term memory layers; see :class:`LSTMCell`.

    Args:
        input_size, hidden_size: features of input and state.
        num_layers: number of layers, each reading the outputs of the one below.
        direction: 'forward' or 'bidirect' ('bidirectional').
        time_major: inputs and outputs are [time, batch, features].
        dropout: probability of dropping outputs of all layers but the last, while training.
        proj_size: positive: h is projected to this many features.

    Call with (inputs [batch, time, input_size], initial_states=None, sequence_length=None).
    Returns (outputs, (h, c)), h and c being [layers * directions, batch, hidden_size].
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        proj_size=0,
        name=None,
    ):
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, direction, time_major, dropout,
            weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr, proj_size,
        )  # fmt: skip


class GRU(RNNBase):
    """Stacked gated recurrent units; see :class:`GRUCell`, and :class:`SimpleRNN` for arguments."""

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, direction, time_major, dropout,
            weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr,
        )  # fmt: skip
