"""Recurrent layers."""

from __future__ import annotations

import math

from argosy import _core, tensor
from argosy._beside import beside
from argosy._framework import in_static_mode
from argosy._support import check_choice, need_type, sizes_of
from argosy.utils.layers_utils import flatten

from .. import functional as F
from ..initializer import Constant, Uniform
from ..initializer.initializer import _global_initializer
from ..initializer.lazy_init import lazy_init_helper
from ._recurrence import birnn, concat_states, rnn, split_states
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


@beside
def _zeros_beside(x, shape):
    return tensor.zeros(shape, x.dtype)


class RNNCellBase(Layer):
    """Base of recurrent cells; a subclass defines ``forward(inputs, states)`` and ``state_shape``.

    Args:
        name_scope (str, optional): prefix of names, as for :class:`Layer`.
        dtype: dtype that the layer reports.

    Examples:
        >>> class Sum(argosy.nn.RNNCellBase):
        ...     state_shape = (1,)
        ...
        ...     def forward(self, inputs, states):
        ...         states = states + inputs.sum(-1, keepdim=True)
        ...         return states, states
        >>> cell = Sum()
        >>> cell.get_initial_states(argosy.ones([2, 3])).tolist()
        [[0.0], [0.0]]
        >>> outputs, states = argosy.nn.RNN(cell)(argosy.ones([2, 4, 3]))
        >>> outputs[0].flatten().tolist()
        [3.0, 6.0, 9.0, 12.0]
    """

    @beside
    def get_initial_states(
        self, batch_ref, shape=None, dtype=None, init_value=0.0, batch_dim_idx=0
    ):
        """States filled with one value.

        Args:
            batch_ref: (nested) tensor that gives the batch size.
            shape: (nested) shape of a state without the batch axis; None: ``self.state_shape``.
            dtype: (nested) dtype of a state; None: ``self.state_dtype`` or the default dtype.
            init_value (float): the value.
            batch_dim_idx (int): axis of ``batch_ref`` whose size is that of the batch.

        Returns:
            (Nested) Tensor [batch, *shape].
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


def _check_hidden(hidden_size, cell):
    if hidden_size <= 0:
        raise ValueError(f"[{cell}] hidden_size: expected 1 or more, got {hidden_size}. Do this: correct "
"it.")  # fmt: skip


class SimpleRNNCell(RNNCellBase):
    """``h = act(weight_ih x + bias_ih + weight_hh h + bias_hh)``.

    Args:
        input_size, hidden_size (int): features of input and state.
        activation (str): 'tanh' or 'relu'.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr (ParamAttr | bool, optional):
            attributes of
            the parameters [hidden, input], [hidden, state], [hidden], [hidden]; uniform in
            +-1 / sqrt(hidden_size). False fixes them (weights 1, biases 0).

    Shape: inputs [batch, input_size], states [batch, hidden_size] (zeros if left out); returns
        (outputs, states), both the new state.

    Raises:
        ValueError: ``hidden_size`` is not positive, or the activation unknown.

    Examples:
        >>> cell = argosy.nn.SimpleRNNCell(4, 8)
        >>> out, state = cell(argosy.ones([3, 4]))
        >>> out.shape, state.shape
        (paddle.Size([3, 8]), paddle.Size([3, 8]))
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
    """Long short-term memory cell.

    Gates i, f, o = sigmoid, g = tanh of ``weight_ih x + bias_ih + weight_hh h + bias_hh``, stacked
    in the order i, f, g, o; ``c = f c + i g``, ``h = o tanh(c)``.

    Args:
        input_size, hidden_size (int): features of input and state.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr (ParamAttr | bool, optional):
            attributes of
            the parameters [4 hidden, input], [4 hidden, state], [4 hidden], [4 hidden]; uniform in
            +-1 / sqrt(hidden_size). False fixes them (weights 1, biases 0).
        proj_size (int): positive: h is projected to this many features by ``weight_ho``.

    Shape: inputs [batch, input_size], states (h [batch, proj_size or hidden_size], c [batch,
        hidden_size])
        (zeros if left out); returns (h, (h, c)).

    Raises:
        ValueError: ``hidden_size`` is not positive, or ``proj_size`` not below it.

    Paper: Hochreiter and Schmidhuber, Neural Computation 9 (1997); projections: Sak et al.,
        arXiv:1402.1128.

    Examples:
        >>> cell = argosy.nn.LSTMCell(4, 8)
        >>> out, (h, c) = cell(argosy.ones([3, 4]))
        >>> out is h, c.shape
        (True, paddle.Size([3, 8]))
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

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}"


class GRUCell(RNNCellBase):
    """Gated recurrent unit.

    ``r, z = sigmoid(...)``, ``n = tanh(x part + r * (h part))``, ``h = (h - n) z + n``; the weights
    hold r, z, n one after the other.

    Args:
        input_size, hidden_size (int): features of input and state.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr (ParamAttr | bool, optional):
            attributes of
            the parameters [3 hidden, input], [3 hidden, state], [3 hidden], [3 hidden]; uniform in
            +-1 / sqrt(hidden_size). False fixes them (weights 1, biases 0).

    Shape: inputs [batch, input_size], states [batch, hidden_size] (zeros if left out); returns (h, h).

    Raises:
        ValueError: ``hidden_size`` is not positive.

    Paper: Cho et al., arXiv:1406.1078.

    Examples:
        >>> cell = argosy.nn.GRUCell(4, 8)
        >>> out, state = cell(argosy.ones([3, 4]))
        >>> out.shape
        paddle.Size([3, 8])
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

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}"


class RNN(Layer):
    """Runs a cell along the time axis.

    Args:
        cell: an RNNCellBase, or any layer called as cell(inputs, states).
        is_reverse (bool): run from the last step to the first.
        time_major (bool): inputs and outputs are [time, batch, ...].

    Shape: (inputs [batch, time, ..], initial_states=None, sequence_length=None) to (outputs [batch, time,
        ..], final states). States do not change past the end of a sequence. Other keywords go to the
        cell.

    Examples:
        >>> rnn = argosy.nn.RNN(argosy.nn.GRUCell(4, 8))
        >>> out, state = rnn(argosy.ones([3, 5, 4]))
        >>> out.shape, state.shape
        (paddle.Size([3, 5, 8]), paddle.Size([3, 8]))
    """

    def __init__(self, cell, is_reverse=False, time_major=False):
        super().__init__()
        need_type("RNN", "cell", cell, Layer, "pass a cell such as nn.GRUCell(..)")
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
    """Runs one cell forwards and one backwards and concatenates their outputs on the last axis.

    Args:
        cell_fw, cell_bw: the cells, with the same input size.
        time_major (bool): inputs and outputs are [time, batch, ...].

    Shape: (inputs [batch, time, ..], initial_states=None, sequence_length=None) to (outputs [batch, time,
        ..], (forward states, backward states)). Other keywords go to the cells.

    Raises:
        ValueError: the cells' input sizes differ.
        AssertionError: initial states are no pair (at the call).

    Examples:
        >>> cells = argosy.nn.GRUCell(4, 8), argosy.nn.GRUCell(4, 8)
        >>> out, (forward, backward) = argosy.nn.BiRNN(*cells)(argosy.ones([3, 5, 4]))
        >>> out.shape, backward.shape
        (paddle.Size([3, 5, 16]), paddle.Size([3, 8]))
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
        # Of a projection there is no second name: as in Paddle's files it is `0.cell.weight_ho`.
        parts = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
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

        Examples:
            >>> argosy.nn.GRU(2, 3).flatten_parameters()
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
                _zeros_beside(inputs, [count, batch, size])
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
    """Stacked simple recurrent layers.

    Args:
        input_size (int): features of the inputs.
        hidden_size (int): features of a state.
        num_layers (int): number of layers, each reading the outputs of the one below.
        direction (str): 'forward' or 'bidirect' ('bidirectional').
        time_major (bool): inputs and outputs are [time, batch, features].
        dropout (float): probability of dropping outputs of all layers but the last, while training.
        activation (str): 'tanh' or 'relu'.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr (ParamAttr | bool, optional):
            attributes of
            the parameters of every cell, see :class:`SimpleRNNCell`.

    Shape: (inputs [batch, time, input_size], initial_states=None, sequence_length=None) to
        (outputs [batch, time, directions * hidden_size],
        final states [layers * directions, batch, hidden_size]).
        A sequence_length is [batch], initial states are like the final ones, zeros if they are None.

    Raises:
        ValueError: direction or activation is unknown, or ``hidden_size`` not positive.

    Examples:
        >>> layer = argosy.nn.SimpleRNN(4, 8, num_layers=2, direction="bidirect")
        >>> out, state = layer(argosy.ones([3, 5, 4]))
        >>> out.shape, state.shape
        (paddle.Size([3, 5, 16]), paddle.Size([4, 3, 8]))
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
    """Stacked long short-term memory layers.

    Args:
        input_size (int): features of the inputs.
        hidden_size (int): features of a state.
        num_layers (int): number of layers, each reading the outputs of the one below.
        direction (str): 'forward' or 'bidirect' ('bidirectional').
        time_major (bool): inputs and outputs are [time, batch, features].
        dropout (float): probability of dropping outputs of all layers but the last, while training.
        proj_size (int): positive: h is projected to this many features, which are then those of the
            outputs.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr (ParamAttr | bool, optional):
            attributes of
            the parameters of every cell, see :class:`LSTMCell`.

    Shape: (inputs [batch, time, input_size], initial_states=None, sequence_length=None) to
        (outputs [batch, time, directions * hidden_size],
        (h, c)), both [layers * directions, batch, hidden_size].
        A sequence_length is [batch], initial states are like the final ones, zeros if they are None.

    Raises:
        ValueError: direction is unknown, or ``hidden_size`` not positive.

    Examples:
        >>> layer = argosy.nn.LSTM(4, 8, num_layers=2, direction="bidirect")
        >>> out, (h, c) = layer(argosy.ones([3, 5, 4]))
        >>> out.shape, c.shape
        (paddle.Size([3, 5, 16]), paddle.Size([4, 3, 8]))
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
    """Stacked gated recurrent units.

    Args:
        input_size (int): features of the inputs.
        hidden_size (int): features of a state.
        num_layers (int): number of layers, each reading the outputs of the one below.
        direction (str): 'forward' or 'bidirect' ('bidirectional').
        time_major (bool): inputs and outputs are [time, batch, features].
        dropout (float): probability of dropping outputs of all layers but the last, while training.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr (ParamAttr | bool, optional):
            attributes of
            the parameters of every cell, see :class:`GRUCell`.

    Shape: (inputs [batch, time, input_size], initial_states=None, sequence_length=None) to
        (outputs [batch, time, directions * hidden_size],
        final states [layers * directions, batch, hidden_size]).
        A sequence_length is [batch], initial states are like the final ones, zeros if they are None.

    Raises:
        ValueError: direction is unknown, or ``hidden_size`` not positive.

    Examples:
        >>> layer = argosy.nn.GRU(4, 8, num_layers=2, direction="bidirect")
        >>> out, state = layer(argosy.ones([3, 5, 4]))
        >>> out.shape, state.shape
        (paddle.Size([3, 5, 16]), paddle.Size([4, 3, 8]))
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
        name=None,
    ):
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, direction, time_major, dropout,
            weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr,
        )  # fmt: skip
