"""Losses. Most are generated from the op definitions; those with odd arguments are here."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._core import Tensor
from argosy._framework import in_dynamic_mode
from argosy._support import ArgumentError, alone_in, check_choice

from ._args import alias, check_reduction

ops = _core.ops


def _given(label):
    """The label as data: as in Paddle, no gradient goes back to it."""
    if isinstance(label, Tensor) and not label.stop_gradient:
        return label.detach()
    return label


@alias(target="label")
def cross_entropy(
    input,
    label,
    weight=None,
    ignore_index=-100,
    reduction="mean",
    soft_label=False,
    axis=-1,
    use_softmax=True,
    label_smoothing=0.0,
    name=None,
):
    """Cross entropy between class scores and labels.

    Args:
        input: scores [..., C, ...] with the classes on ``axis``; probabilities if
            ``use_softmax`` is False.
        label: class numbers, of input's shape without ``axis`` or with size 1 there; or, with
            ``soft_label``, probabilities of input's shape. No gradient goes back to it.
        weight: [C] factor of each class.
        ignore_index (int): positions with this label count neither in the loss nor in the mean. With
            ``label_smoothing`` and ignore_index >= 0 (or ``soft_label`` and 0) the mean is, as in
            Paddle, over the elements of the smoothed (soft) label that differ from it.
        reduction (str): 'mean' (weighted, over the positions that count), 'sum' or 'none'.
        soft_label (bool): see ``label``.
        axis (int): axis of the classes.
        use_softmax (bool): see ``input``.
        label_smoothing (float): in [0, 1]: this part of the label is spread evenly over all classes.

    Returns:
        0-d tensor, or for 'none' one loss per position (with size 1 on ``axis`` if the label has
        it).

    Raises:
        ValueError: shapes or options do not fit each other.
        IndexError: a label is out of range.

    Examples:
        >>> scores, label = argosy.to_tensor([[2.0, 0.0], [0.0, 1.0]]), argosy.to_tensor([0, 1])
        >>> argosy.nn.functional.cross_entropy(scores, label).item()
        0.2201
        >>> argosy.nn.functional.cross_entropy(scores, label, reduction="none").tolist()
        [0.1269, 0.3133]
    """
    check_reduction(reduction, "softmax_cross_entropy")
    if soft_label and ignore_index > 0:
        raise ValueError(
            "[cross_entropy] soft labels have no ignored class: expected ignore_index=-100 "
            f"with soft_label=True, got {ignore_index}. Do this: leave ignore_index out."
        )
    if soft_label and len(label.shape) != len(input.shape):
        raise ValueError(
            f"[cross_entropy] soft labels have a probability for each class: input is {list(input.shape)}, label is"
            f" {list(label.shape)}. Do this: give both one shape, or leave soft_label out."
        )
    return ops.cross_entropy(
        input, _given(label), weight, ignore_index, reduction, bool(soft_label), axis, bool(use_softmax),
        float(label_smoothing),
    )  # fmt: skip


def softmax_with_cross_entropy(
    logits,
    label,
    soft_label=False,
    ignore_index=-100,
    numeric_stable_mode=True,
    return_softmax=False,
    axis=-1,
):
    """Cross entropy of ``softmax(logits)`` along ``axis``, one loss per position.

    Args:
        logits: [..., C, ...].
        label: of logits' shape with size 1 on ``axis``; with ``soft_label`` of logits' shape.
        soft_label (bool): labels are probabilities of all classes.
        ignore_index (int): the loss is 0 where the label is this.
        numeric_stable_mode (bool): has no effect: it is always stable.
        return_softmax (bool): also return the softmax.
        axis (int): axis of the classes.

    Returns:
        The loss with size 1 on ``axis``, or (loss, softmax).

    Examples:
        >>> scores, label = argosy.to_tensor([[2.0, 0.0]]), argosy.to_tensor([[0]])
        >>> argosy.nn.functional.softmax_with_cross_entropy(scores, label).tolist()
        [[0.1269]]
    """
    loss, softmax = ops.softmax_with_cross_entropy(
        logits, _given(label), bool(soft_label), ignore_index, bool(numeric_stable_mode), axis
    )
    return (loss, softmax) if return_softmax else loss


def kl_div(input, label, reduction="mean", log_target=False, name=None):
    """``label * (log(label) - input)``, 0 where label is not positive.

    Args:
        input: logarithms of probabilities.
        label: probabilities of input's shape, or with ``log_target`` their logarithms; no gradient
            goes back to it.
        reduction (str): 'mean', 'sum', 'none', or 'batchmean', the sum over the size of the first axis.
        log_target (bool): see ``label``.

    Returns:
        0-d tensor, or for 'none' one of input's shape.

    Examples:
        >>> p, q = argosy.to_tensor([0.5, 0.5]), argosy.to_tensor([0.9, 0.1])
        >>> argosy.nn.functional.kl_div(p.log(), q, reduction="sum").item()
        0.3681
    """
    return ops.kl_div(input, _given(label), reduction, log_target)


def binary_cross_entropy(input, label, weight=None, reduction="mean", name=None):
    """``-label * log(input) - (1 - label) * log(1 - input)``, times weight.

    Args:
        input: probabilities.
        label: of input's shape, in [0, 1]; no gradient goes back to it.
        weight: factor of each element.
        reduction (str): 'mean', 'sum' or 'none'.

    Returns:
        0-d tensor, or for 'none' one of input's shape.

    Examples:
        >>> p = argosy.to_tensor([0.5, 0.9])
        >>> argosy.nn.functional.binary_cross_entropy(p, argosy.ones([2]), reduction="none").tolist()
        [0.6931, 0.1054]
    """
    return ops.binary_cross_entropy(input, _given(label), weight, reduction)


def binary_cross_entropy_with_logits(
    logit, label, weight=None, reduction="mean", pos_weight=None, name=None
):
    """``-label * log(sigmoid(logit)) - (1 - label) * log(1 - sigmoid(logit))``, times weight.

    Args:
        logit: any numbers.
        label: of logit's shape, in [0, 1]; no gradient goes back to it.
        weight: factor of each element.
        reduction (str): 'mean', 'sum' or 'none'.
        pos_weight: factor on the first part.

    Returns:
        0-d tensor, or for 'none' one of logit's shape.

    Examples:
        >>> x, label = argosy.to_tensor([0.0, 2.0]), argosy.ones([2])
        >>> argosy.nn.functional.binary_cross_entropy_with_logits(x, label).item()
        0.41
    """
    return ops.binary_cross_entropy_with_logits(logit, _given(label), weight, pos_weight, reduction)


def log_loss(input, label, epsilon=1e-4, name=None):
    """``-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon)``.

    Args:
        input: probabilities.
        label: of input's shape, in [0, 1]; no gradient goes back to it.
        epsilon (float): see above.

    Returns:
        Tensor of input's shape.

    Examples:
        >>> argosy.nn.functional.log_loss(argosy.to_tensor([[0.5]]), argosy.ones([1, 1])).tolist()
        [[0.6929]]
    """
    return ops.log_loss(input, _given(label), epsilon)


def ctc_loss(
    log_probs,
    labels,
    input_lengths,
    label_lengths,
    blank=0,
    reduction="mean",
    norm_by_times=False,
    zero_infinity=False,
):
    """Connectionist temporal classification: minus the log probability of all alignments of a label.

    Args:
        log_probs: [time, batch, classes] scores (softmax is taken inside).
        labels: [batch, longest label] int32, padded with anything.
        input_lengths, label_lengths: [batch] integers.
        blank (int): number of the blank class.
        reduction (str): 'mean' divides each loss by its label length and averages; 'sum'; 'none'.
        norm_by_times (bool): divide the gradient by the number of time steps.
        zero_infinity (bool): losses that are infinite count as zero, without gradient.

    Returns:
        0-d tensor, or for 'none' [batch].

    Raises:
        ValueError: ``reduction`` is unknown, or shapes do not fit.

    Paper: Graves et al., ICML 2006.

    Examples:
        >>> labels = argosy.to_tensor([[1]], dtype="int32")
        >>> times, lengths = argosy.to_tensor([2]), argosy.to_tensor([1])
        >>> argosy.nn.functional.ctc_loss(argosy.zeros([2, 1, 3]), labels, times, lengths).item()
        1.0986
    """
    check_choice("ctc_loss", "reduction", reduction, ("mean", "sum", "none"), ArgumentError)
    return ops.ctc_loss(
        log_probs, labels, input_lengths, label_lengths, blank, reduction, bool(norm_by_times),
        bool(zero_infinity),
    )  # fmt: skip


def edit_distance(
    input,
    label,
    normalized=True,
    ignored_tokens=None,
    input_length=None,
    label_length=None,
):
    """Levenshtein distance: the fewest insertions, deletions and substitutions that make a label of an
    input.

    Args:
        input (Tensor): [batch, longest input] integers.
        label (Tensor): [batch, longest label] integers.
        normalized (bool): divide each distance by the length of its label.
        ignored_tokens (list[int], optional): what is left out of both first.
        input_length, label_length (Tensor, optional): [batch] integers; default: whole rows.

    Returns:
        tuple[Tensor, Tensor]: How many rows there are, int64 [1], and their distances, float32 [batch, 1]:
        the order in which Paddle's function gives them, not that of its documentation.

    Raises:
        ValueError: shapes do not fit, a length is longer than its row, or a label whose length divides is
            empty.

    Examples:
        >>> guess, truth = argosy.to_tensor([[1, 2, 3]]), argosy.to_tensor([[1, 3, 4, 1]])
        >>> rows, distance = argosy.nn.functional.loss.edit_distance(guess, truth, normalized=False)
        >>> distance.tolist(), rows.tolist()
        ([[3.0]], [1])
    """
    distance, rows = ops.edit_distance(
        input, label, input_length, label_length, bool(normalized), list(ignored_tokens or [])
    )
    return rows, distance


def rnnt_loss(
    input,
    label,
    input_lengths,
    label_lengths,
    blank=0,
    fastemit_lambda=0.001,
    reduction="mean",
    name=None,
):
    """Loss of a recurrent transducer: minus the log probability of all alignments of a label.

    Args:
        input: [batch, time, longest label + 1, classes] log probabilities.
        label: [batch, longest label] int32.
        input_lengths, label_lengths: [batch] int32.
        blank (int): number of the blank class.
        fastemit_lambda (float): weight of the FastEmit regularization.
        reduction (str): 'mean', 'sum' or 'none'.

    Returns:
        0-d tensor, or for 'none' [batch].

    Raises:
        AssertionError: ``reduction`` is unknown.

    Paper: Graves, arXiv:1211.3711; FastEmit: Yu et al., arXiv:2010.11148.

    Examples:
        >>> scores = argosy.nn.functional.log_softmax(argosy.zeros([1, 2, 2, 3]), axis=-1)
        >>> label, two, one = (argosy.to_tensor(v, dtype="int32") for v in ([[1]], [2], [1]))
        >>> argosy.nn.functional.rnnt_loss(scores, label, two, one, fastemit_lambda=0.0).item()
        2.6027
    """
    check_choice("rnnt_loss", "reduction", reduction, ("mean", "sum", "none"), AssertionError)
    return ops.rnnt_loss(
        input, label, input_lengths, label_lengths, blank, float(fastemit_lambda), reduction
    )


def hsigmoid_loss(
    input,
    label,
    num_classes,
    weight,
    bias=None,
    path_table=None,
    path_code=None,
    is_sparse=False,
    name=None,
):
    """Hierarchical sigmoid loss over a binary tree of classes.

    Args:
        input: [N, features].
        label: [N] or [N, 1] int64.
        num_classes (int): number of leaves, at least 2.
        weight: [num_classes - 1, features].
        bias: [num_classes - 1, 1] or None.
        path_table, path_code: [N, longest path] nodes and turns of a tree of one's own, padded
            with -1; None for the default complete tree.
        is_sparse (bool): row-sparse gradients of weight and bias.

    Returns:
        Tensor [N, 1].

    Raises:
        ValueError: ``num_classes`` is below 2.

    Paper: Morin and Bengio, AISTATS 2005.

    Examples:
        >>> x, weight = argosy.zeros([2, 3]), argosy.ones([1, 3])
        >>> argosy.nn.functional.hsigmoid_loss(x, argosy.to_tensor([0, 1]), 2, weight).tolist()
        [[0.6931], [0.6931]]
    """
    if num_classes < 2:
        raise ValueError(
            f"[hsigmoid_loss] num_classes: expected 2 or more, got {num_classes}. Do this: "
            "correct it."
        )
    return ops.hsigmoid_loss(
        input, label, weight, bias, path_table, path_code, num_classes, bool(is_sparse)
    )


def margin_cross_entropy(
    logits,
    label,
    margin1=1.0,
    margin2=0.5,
    margin3=0.0,
    scale=64.0,
    group=None,
    return_softmax=False,
    reduction="mean",
):
    """Cross entropy with angular margins: cos(t) of the true class becomes cos(m1 t + m2) - m3.

    Args:
        logits: [N, C] cosines.
        label: [N] or [N, 1] class numbers.
        margin1, margin2, margin3 (float): m1, m2 and m3.
        scale (float): factor on the logits after the margin.
        group: of this process alone, or False or None.
        return_softmax (bool): also return the softmax.
        reduction (str, optional): 'mean', 'sum', or 'none' or None.

    Returns:
        The loss (0-d, or [N, 1] for 'none'), with ``return_softmax`` also the softmax.

    Raises:
        AssertionError: ``reduction`` is unknown.

    Paper: Deng et al., "ArcFace", arXiv:1801.07698.

    Examples:
        >>> cosines, label = argosy.to_tensor([[0.9, 0.1]]), argosy.to_tensor([0])
        >>> argosy.nn.functional.margin_cross_entropy(cosines, label, scale=1.0).item()
        0.4814
    """
    alone_in("margin_cross_entropy", group)
    check_choice(
        "margin_cross_entropy",
        "reduction",
        reduction,
        ("mean", "sum", "none", None),
        AssertionError,
    )
    loss, softmax = ops.margin_cross_entropy(
        logits, label, float(margin1), float(margin2), float(margin3), float(scale),
        reduction or "none",
    )  # fmt: skip
    return (loss, softmax) if return_softmax else loss


def triplet_margin_with_distance_loss(
    input,
    positive,
    negative,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
    name=None,
):
    """``max(d(input, positive) - d(input, negative) + margin, 0)`` for a distance of one's own.

    Args:
        input, positive, negative: tensors of the same shape.
        distance_function: takes two tensors; None is the Euclidean distance.
        margin (float): number >= 0.
        swap (bool): take the nearer of input and positive to the negative.
        reduction (str): 'mean', 'sum' or 'none'.

    Returns:
        0-d tensor, or for 'none' one of the distances' shape.

    Raises:
        ValueError: ``margin`` or a distance is negative, or ``reduction`` is unknown.

    Examples:
        >>> a, b = argosy.zeros([1, 2]), argosy.to_tensor([[3.0, 4.0]])
        >>> argosy.nn.functional.triplet_margin_with_distance_loss(a, b, a).item()
        6.0
    """
    check_reduction(reduction, "triplet_margin_with_distance_loss")
    if margin < 0:
        raise ValueError(
            "[triplet_margin_with_distance_loss] margin: expected a number >= 0, got "
            f"{margin}. Do this: correct it."
        )
    if distance_function is None:
        from .distance import pairwise_distance as distance_function
    positive_distance = distance_function(input, positive)
    negative_distance = distance_function(input, negative)
    if swap:
        swapped = distance_function(positive, negative)
        negative_distance = tensor.minimum(negative_distance, swapped)
    smallest = tensor.minimum(tensor.min(positive_distance), tensor.min(negative_distance))
    if in_dynamic_mode() and smallest.item() < 0:
        raise ValueError(
            "[triplet_margin_with_distance_loss] distance_function returned a negative "
            f"distance: {smallest.item()}. Do this: correct the function."
        )
    return ops.margin_ranking_loss(
        negative_distance, positive_distance, tensor.ones_like(positive_distance),
        float(margin), reduction,
    )  # fmt: skip


def adaptive_log_softmax_with_loss(
    input, label, head_weight, tail_weights, cutoffs, head_bias=None, name=None
):
    """Log probabilities of labels under a softmax whose rare classes sit in clusters.

    Args:
        input: [N, features] or [features].
        label: [N] or 0-d class numbers.
        head_weight: [features, cutoffs[0] + clusters].
        tail_weights: for each cluster a pair of weights that are applied one after the other.
        cutoffs (list[int]): first class of each cluster, then the number of classes; ascending.
        head_bias: [cutoffs[0] + clusters] or None.

    Returns:
        (log probability of each label, mean negative log probability).

    Paper: Grave et al., arXiv:1609.04309.

    Examples:
        >>> head, tail = argosy.zeros([4, 3]), [[argosy.zeros([4, 2]), argosy.zeros([2, 3])]]
        >>> x, label = argosy.ones([2, 4]), argosy.to_tensor([0, 4])
        >>> out, loss = argosy.nn.functional.adaptive_log_softmax_with_loss(x, label, head, tail, [2, 5])
        >>> out.tolist(), loss.item()
        ([-1.0986, -2.1972], 1.6479)
    """
    flat = [weight for pair in tail_weights for weight in pair]
    return ops.adaptive_log_softmax_with_loss(
        input, label, head_weight, head_bias, flat, [int(cutoff) for cutoff in cutoffs]
    )
