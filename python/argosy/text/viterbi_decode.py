"""The most probable sequence of labels (Viterbi 1967)."""

from __future__ import annotations

from argosy import nn, tensor
from argosy._core import OperandError
from argosy._framework import in_dynamic_mode
from argosy._support import sizes_of
from argosy.utils.recorded_loop import recorded_steps


def viterbi_decode(potentials, transition_params, lengths, include_bos_eos_tag=True, name=None):
    """The sequence of labels of the highest score for each of a batch of sequences.

    The score of a sequence is the sum of the potentials of its labels and of the transitions
    between neighbours, as in a linear-chain conditional random field.

    Args:
        potentials (Tensor): Scores of labels, float32 or float64 [batch, steps, labels].
        transition_params (Tensor): [labels, labels], the score of going from one label to another.
        lengths (Tensor): int64 [batch], how many steps of each sequence count.
        include_bos_eos_tag (bool): The last label starts a sequence and the last but one ends it:
            their rows of transition_params count at the first and at the last step.

    Returns:
        tuple: scores [batch] and labels int64 [batch, longest length], 0 after a sequence's end.

    Raises:
        ValueError: shapes do not fit, or ``lengths`` are not int64.
        RuntimeError: ``potentials`` are not floating.

    Paper: Viterbi, IEEE Transactions on Information Theory 13 (1967).

    Examples:
        >>> potentials = argosy.to_tensor([[[1.0, 0.0], [0.0, 2.0], [1.5, 0.0]]])
        >>> stay = argosy.to_tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> scores, labels = argosy.text.viterbi_decode(potentials, stay, argosy.to_tensor([3]), False)
        >>> scores.tolist(), labels.tolist()
        ([4.5], [[0, 0, 0]])
    """
    labels = potentials.shape[-1]
    own = [n for n in (labels, *transition_params.shape) if n >= 0]
    if potentials.ndim != 3 or transition_params.ndim != 2 or len(set(own)) > 1:
        raise ValueError(
            "(InvalidArgument) [viterbi_decode] expected potentials [batch, steps, labels] and transition_params"
            f" [labels, labels], got {list(potentials.shape)} and {list(transition_params.shape)}."
            " Do this: make the numbers of labels equal."
        )
    if not tensor.is_floating_point(potentials):
        raise OperandError(
            f"(InvalidArgument) [viterbi_decode] potentials: expected float32 or float64, got {potentials.dtype}. Do"
            " this: cast them with .astype(..)."
        )
    if lengths.dtype != "int64":
        raise ValueError(
            f"(InvalidArgument) [viterbi_decode] lengths: expected int64, got {lengths.dtype}. Do this: cast them with"
            " .astype('int64')."
        )
    rows = [n for n in (potentials.shape[0], *lengths.shape) if n >= 0]
    if lengths.ndim != 1 or len(set(rows)) > 1:
        raise ValueError(
            "(InvalidArgument) [viterbi_decode] lengths: expected one for each of the sequences, got"
            f" {list(lengths.shape)} for potentials {list(potentials.shape)}. Do this: pass [batch]."
        )
    # A negative length is of no step, too.
    longest = lengths.max().clip(min=0) if lengths.shape[0] else 0
    steps = potentials.shape[1]
    if in_dynamic_mode():
        longest = int(longest)
        steps = min(steps, max(longest, 1))
    kind = potentials.dtype
    left = lengths - 1  # steps after the present one
    score = potentials[:, 0]
    if include_bos_eos_tag:
        stop = transition_params[-2]
        score = score + transition_params[-1]
        score = score + (left == 0).astype(kind).unsqueeze(1) * stop
    if steps < 0:
        return _unknown_steps(
            potentials, transition_params, score, left, longest, include_bos_eos_tag
        )
    best = []  # for each later step and label: the label before it
    for step in range(1, steps):
        paths = score.unsqueeze(2) + transition_params
        best.append(tensor.argmax(paths, axis=1))
        going = (left > 0).unsqueeze(1)
        score = tensor.where(going, tensor.max(paths, axis=1) + potentials[:, step], score)
        if include_bos_eos_tag:
            score = score + (left == 1).astype(kind).unsqueeze(1) * stop
        left = left - 1
    label = tensor.argmax(score, axis=1)
    # Steps behind the end hold 0; the walk back begins at each sequence's last step.
    path = [label * (left >= 0).astype("int64")]
    for before in reversed(best):
        left = left + 1
        previous = tensor.take_along_axis(before, label.unsqueeze(1), 1).squeeze(1)
        label = tensor.where(left > 0, previous, label)
        path.append(label * (left >= 0).astype("int64"))
    found = tensor.slice(tensor.stack(path[::-1], axis=1), [1], [0], [longest])
    return tensor.max(score, axis=1), found


def _unknown_steps(potentials, transition_params, score, left, longest, tagged):
    """viterbi_decode after the first step, over as many steps as a run of the Program finds."""
    steps = sizes_of(potentials)[1]

    def forward(i, carried):
        score, left = carried
        paths = score.unsqueeze(2) + transition_params
        emitted = tensor.gather(potentials, (i + 1).reshape([1]), axis=1).squeeze(1)
        going = (left > 0).unsqueeze(1)
        score = tensor.where(going, tensor.max(paths, axis=1) + emitted, score)
        if tagged:
            ends = (left == 1).astype(score.dtype).unsqueeze(1)
            score = score + ends * transition_params[-2]
        return tensor.argmax(paths, axis=1), (score, left - 1)

    best, (score, left) = recorded_steps(forward, (score, left), lambda i, _: i < steps - 1, axis=0)
    label = tensor.argmax(score, axis=1)
    last = label * (left >= 0).astype("int64")

    def back(i, carried):
        label, left = carried
        before = tensor.gather(best, (steps - 2 - i).reshape([1])).squeeze(0)
        left = left + 1
        previous = tensor.take_along_axis(before, label.unsqueeze(1), 1).squeeze(1)
        label = tensor.where(left > 0, previous, label)
        return label * (left >= 0).astype("int64"), (label, left)

    path, _ = recorded_steps(back, (label, left), lambda i, _: i < steps - 1, axis=1)
    path = tensor.concat([tensor.flip(path, [1]), last.unsqueeze(1)], 1)
    return tensor.max(score, axis=1), tensor.slice(path, [1], [0], [longest])


class ViterbiDecoder(nn.Layer):
    """:func:`viterbi_decode` with given transitions, as a layer.

    Args:
        transitions (Tensor): [labels, labels], the score of going from one label to another.
        include_bos_eos_tag (bool): see there.

    Shape: (potentials [batch, steps, labels], lengths [batch]) to (scores [batch], labels [batch, longest
        length]).

    Examples:
        >>> decoder = argosy.text.ViterbiDecoder(argosy.zeros([2, 2]), include_bos_eos_tag=False)
        >>> potentials = argosy.to_tensor([[[1.0, 0.0], [0.0, 2.0]]])
        >>> decoder(potentials, argosy.to_tensor([2]))[1].tolist()
        [[0, 1]]
    """

    def __init__(self, transitions, include_bos_eos_tag=True, name=None):
        super().__init__()
        self.transitions = transitions
        self.include_bos_eos_tag = include_bos_eos_tag
        self.name = name

    def forward(self, potentials, lengths):
        return viterbi_decode(
            potentials, self.transitions, lengths, self.include_bos_eos_tag, self.name
        )
