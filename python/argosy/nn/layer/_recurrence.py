"""Running recurrent cells along the time axis."""

from __future__ import annotations

from argosy import tensor
from argosy._support import sizes_of
from argosy.utils.layers_utils import flatten, map_structure
from argosy.utils.recorded_loop import recorded_steps

from .. import functional as F


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
