"""Decoding sequences step by step, with beam search."""

from __future__ import annotations

from collections import namedtuple

from argosy import _core, tensor
from argosy._beside import beside
from argosy._support import is_symbolic, no_effect, sizes_of
from argosy.utils.layers_utils import flatten, map_structure
from argosy.utils.recorded_loop import recorded_steps

from . import functional as F

__all__ = []

_IMPOSSIBLE = -1e9


class Decoder:
    """What :func:`dynamic_decode` drives."""

    def initialize(self, inits):
        """What decoding begins with.

        Args:
            inits: as the decoder says.

        Returns:
            (first inputs, first states, which sequences are finished already).
        """
        raise NotImplementedError

    def step(self, time, inputs, states, **kwargs):
        """One step.

        Args:
            time: number of the step, int64 [1].
            inputs, states: what the step before gave.
            kwargs: those of :func:`dynamic_decode`.

        Returns:
            (outputs, next states, next inputs, which sequences are finished).
        """
        raise NotImplementedError

    def finalize(self, outputs, final_states, sequence_lengths):
        """What decoding ends with.

        Args:
            outputs: those of all steps, stacked along axis 0.
            final_states: states after the last step.
            sequence_lengths: int64 tensor.

        Returns:
            (final outputs, final states).
        """
        raise NotImplementedError

    @property
    def tracks_own_finished(self):
        """Whether ``step`` reports finished sequences itself, in any order."""
        return False


class BeamSearchDecoder(Decoder):
    """Keeps the ``beam_size`` most probable beginnings of each sequence.

    Args:
        cell: recurrent cell, called as cell(inputs, states, **kwargs).
        start_token, end_token (int): numbers of the tokens that begin and end a sequence.
        beam_size (int): number of beginnings kept.
        embedding_fn: turns token numbers into the cell's inputs; None: the cell takes numbers.
        output_fn: turns the cell's outputs into scores of all tokens; None: they are scores.

    Examples:
        >>> cell, embed = argosy.nn.GRUCell(4, 4), argosy.nn.Embedding(6, 4)
        >>> score = argosy.nn.Linear(4, 6)
        >>> decoder = argosy.nn.BeamSearchDecoder(cell, 0, 1, 3, embed, score)
        >>> inputs, states, finished = decoder.initialize(cell.get_initial_states(argosy.ones([2, 4])))
        >>> finished.shape
        paddle.Size([2, 3])
        >>> out, states, inputs, finished = decoder.step(0, inputs, states)
        >>> out.predicted_ids.shape
        paddle.Size([2, 3])
        >>> ids = argosy.zeros([5, 2, 3], "int64")
        >>> parents = argosy.zeros([5, 2, 3], "int64")
        >>> decoder.finalize(decoder.OutputWrapper(None, ids, parents), states, None)[0].shape
        paddle.Size([5, 2, 3])
        >>> decoder.tile_beam_merge_with_batch(argosy.ones([2, 4]), 3).shape
        paddle.Size([6, 4])
    """

    OutputWrapper = namedtuple("OutputWrapper", ("scores", "predicted_ids", "parent_ids"))
    StateWrapper = namedtuple("StateWrapper", ("cell_states", "log_probs", "finished", "lengths"))

    def __init__(self, cell, start_token, end_token, beam_size, embedding_fn=None, output_fn=None):
        self.cell = cell
        self.embedding_fn = embedding_fn
        self.output_fn = output_fn
        self.start_token = start_token
        self.end_token = end_token
        self.beam_size = beam_size

    @staticmethod
    def tile_beam_merge_with_batch(x, beam_size):
        """Repeat every row, so that each beam has its own.

        Args:
            x: [batch, ...].
            beam_size (int): how often.

        Returns:
            Tensor [batch * beam_size, ...].
        """
        x = tensor.unsqueeze(x, [1])
        x = tensor.expand(x, [sizes_of(x)[0], beam_size, *sizes_of(x)[2:]])
        return tensor.reshape(x, [-1, *sizes_of(x)[2:]])

    def _split_batch_beams(self, x):
        return tensor.reshape(x, [-1, self.beam_size, *sizes_of(x)[1:]])

    def _merge_batch_beams(self, x):
        return tensor.reshape(x, [-1, *sizes_of(x)[2:]])

    def _expand_to_beam_size(self, x):
        x = tensor.unsqueeze(x, [1])
        return tensor.expand(x, [sizes_of(x)[0], self.beam_size, *sizes_of(x)[2:]])

    @beside
    def _mask_probs(self, log_probs, finished):
        """Let finished beams continue with the end token only, at no cost."""
        vocabulary = log_probs.shape[-1]
        token = tensor.full([1], self.end_token, "int64")
        only_end = (1.0 - F.one_hot(token, vocabulary)) * _IMPOSSIBLE
        only_end = tensor.cast(tensor.reshape(only_end, [1, 1, vocabulary]), log_probs.dtype)
        return tensor.where(tensor.unsqueeze(finished, [2]), only_end, log_probs)

    @beside
    def _gather(self, x, indices):
        """Rows ``indices`` [batch, beam] of ``x`` [batch, beam, ...], for each batch entry."""
        batch = tensor.arange(sizes_of(indices)[0], dtype=indices.dtype)
        batch = tensor.expand(tensor.unsqueeze(batch, [1]), sizes_of(indices))
        return tensor.gather_nd(x, tensor.stack([batch, indices], axis=2))

    @beside
    def initialize(self, initial_cell_states):
        """First inputs, states and finished flags; only one beam of each sequence is alive."""
        states = map_structure(self._expand_to_beam_size, initial_cell_states)
        batch = sizes_of(flatten(states)[0])[0]
        tokens = tensor.full([batch, self.beam_size], self.start_token, "int64")
        first = [0.0] + [_IMPOSSIBLE] * (self.beam_size - 1)
        log_probs = tensor.to_tensor([first], dtype=_core.get_default_dtype())
        log_probs = tensor.expand(log_probs, [batch, self.beam_size])
        finished = tensor.zeros([batch, self.beam_size], "bool")
        lengths = tensor.zeros([batch, self.beam_size], "int64")
        inputs = self.embedding_fn(tokens) if self.embedding_fn is not None else tokens
        return inputs, self.StateWrapper(states, log_probs, finished, lengths), finished

    @beside
    def _beam_search_step(self, time, logits, next_cell_states, beam_state):
        vocabulary = logits.shape[-1]
        step = tensor.log(F.softmax(logits))
        step = self._mask_probs(step, beam_state.finished)
        total = step + tensor.unsqueeze(beam_state.log_probs, [2])
        scores = tensor.reshape(total, [-1, self.beam_size * vocabulary])
        top_scores, top = tensor.topk(scores, k=self.beam_size)
        beams = tensor.floor_divide(top, tensor.full([1], vocabulary, top.dtype))
        tokens = tensor.remainder(top, tensor.full([1], vocabulary, top.dtype))
        states = map_structure(lambda x: self._gather(x, beams), next_cell_states)
        finished = self._gather(beam_state.finished, beams)
        lengths = self._gather(beam_state.lengths, beams)
        lengths = lengths + tensor.cast(tensor.logical_not(finished), lengths.dtype)
        ended = tensor.equal(tokens, tensor.full([1], self.end_token, tokens.dtype))
        finished = tensor.logical_or(finished, ended)
        output = self.OutputWrapper(top_scores, tokens, beams)
        return output, self.StateWrapper(states, top_scores, finished, lengths)

    def step(self, time, inputs, states, **kwargs):
        """One token for every beam."""
        inputs = map_structure(self._merge_batch_beams, inputs)
        cell_states = map_structure(self._merge_batch_beams, states.cell_states)
        outputs, next_states = self.cell(inputs, cell_states, **kwargs)
        outputs = map_structure(self._split_batch_beams, outputs)
        next_states = map_structure(self._split_batch_beams, next_states)
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        output, state = self._beam_search_step(time, outputs, next_states, states)
        tokens = output.predicted_ids
        inputs = self.embedding_fn(tokens) if self.embedding_fn is not None else tokens
        return output, state, inputs, state.finished

    def finalize(self, outputs, final_states, sequence_lengths):
        """Whole sequences, traced back through the parents: [time, batch, beam]."""
        return F.gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states

    @property
    def tracks_own_finished(self):
        return True


def _keep_finished(new, old, finished):
    """``old`` in the rows that are finished, else ``new``."""
    flags = tensor.unsqueeze(finished, list(range(finished.ndim, new.ndim)))
    return tensor.where(flags, old, new)


@beside
def _eager_steps(step, carried, going, axis):
    """recorded_steps, at once."""
    collected, structure, i = None, None, tensor.zeros([], "int64")
    while bool(going(i, carried)):
        structure, carried = step(i, carried)
        leaves = flatten(structure)
        collected = [[] for _ in leaves] if collected is None else collected
        for sequence, leaf in zip(collected, leaves):
            sequence.append(leaf)
        i = i + 1
    stacked = iter([tensor.stack(sequence, axis=axis) for sequence in collected or ()])
    return map_structure(lambda _: next(stacked), structure), carried


def dynamic_decode(
    decoder,
    inits=None,
    max_step_num=None,
    output_time_major=False,
    impute_finished=False,
    is_test=False,
    return_length=False,
    **kwargs,
):
    """Call ``decoder.step`` until all sequences are finished.

    Args:
        decoder: a decoder, for instance a BeamSearchDecoder.
        inits: argument of ``decoder.initialize``.
        max_step_num (int, optional): largest number of a step, counted from 0; None: no limit.
        output_time_major (bool): outputs are [time, batch, ...] instead of [batch, time, ...].
        impute_finished (bool): keep the states of finished sequences as they were.
        is_test (bool): has no effect.
        return_length (bool): also return the lengths of the sequences.
        kwargs: passed on to ``decoder.step``.

    Returns:
        (outputs, final states[, lengths]); of a BeamSearchDecoder the outputs are token numbers [batch,
        time, beam].

    Examples:
        >>> cell, embed = argosy.nn.GRUCell(4, 4), argosy.nn.Embedding(6, 4)
        >>> decoder = argosy.nn.BeamSearchDecoder(cell, 0, 1, 3, embed, argosy.nn.Linear(4, 6))
        >>> start = cell.get_initial_states(argosy.ones([2, 4]))
        >>> out = argosy.nn.dynamic_decode(decoder, start, max_step_num=4, return_length=True)
        >>> ids, states, lengths = out
        >>> ids.shape[0], ids.shape[2], lengths.shape
        (2, 3, paddle.Size([2, 3]))
    """
    no_effect("dynamic_decode", "nothing is kept for gradients that are not wanted", is_test=(is_test, False))  # fmt: skip
    inputs, states, finished = decoder.initialize(inits)
    lengths = tensor.zeros_like(tensor.cast(finished, "int64"))
    start = (inputs, states, finished, lengths)

    def advance(step, carried):
        inputs, states, finished, lengths = carried
        outputs, next_states, next_inputs, next_finished = decoder.step(
            tensor.reshape(step, [1]), inputs, states, **kwargs
        )
        if not decoder.tracks_own_finished:
            next_finished = tensor.logical_or(next_finished, finished)
            alive = tensor.cast(tensor.logical_not(finished), lengths.dtype)
            next_lengths = lengths + alive
            if impute_finished:
                next_states = map_structure(
                    lambda new, old: _keep_finished(new, old, finished), next_states, states
                )
        else:
            next_lengths = getattr(next_states, "lengths", lengths)
        return outputs, (next_inputs, next_states, next_finished, next_lengths)

    def unfinished(step, carried):
        going = tensor.logical_not(tensor.all(carried[2]))
        if max_step_num is None:
            return going
        return tensor.logical_and(going, step <= max_step_num)

    run = recorded_steps if is_symbolic(finished) else _eager_steps
    final_outputs, (_, states, _, lengths) = run(advance, start, unfinished, 0)
    final_states = states
    try:
        final_outputs, final_states = decoder.finalize(final_outputs, final_states, lengths)
    except NotImplementedError:
        pass
    if not output_time_major:
        final_outputs = map_structure(
            lambda x: tensor.transpose(x, [1, 0, *range(2, len(x.shape))]), final_outputs
        )
    if return_length:
        return final_outputs, final_states, lengths
    return final_outputs, final_states
