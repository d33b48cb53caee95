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
            ``soft_label``, probabilities of input's shape.
        weight: [C] factor of each class.
        ignore_index: positions with this label count neither in the loss nor in the mean. With
            ``label_smoothing`` and ignore_index >= 0 (or ``soft_label`` and 0) the mean is, as in
            Paddle, over the elements of the smoothed (soft) label that differ from it.
        reduction: 'mean' (weighted, over the positions that count), 'sum' or 'none'.
        label_smoothing: in [0, 1]: this part of the label is spread evenly over all classes.

    Returns:
        0-d tensor, or for 'none' one loss per position (with size 1 on ``axis`` if the label has
        it).

    Raises:
        ValueError: shapes or options do not fit each other.
        IndexError: a label is out of range.
    """
    check_reduction(reduction, "softmax_cross_entropy")
    if soft_label and ignore_index > 0:
        raise ValueError(
            "[cross_entropy] soft labels have no ignored class: expected ignore_index=-100 "
            f"with soft_label=True, got {ignore_index}. Do this: leave ignore_index out."
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
        return_softmax: also return the softmax.

    Returns:
        The loss with size 1 on ``axis``, or (loss, softmax).
    """
    loss, softmax = ops.softmax_with_cross_entropy(
        logits, _given(label), bool(soft_label), ignore_index, bool(numeric_stable_mode), axis
    )
    return (loss, softmax) if return_softmax else loss


def kl_div(input, label, reduction="mean", log_target=False, name=None):
    """label * (log(label) - input), 0 where label is not positive.

    Args:
        input: logarithms of probabilities.
        label: probabilities of input's shape, or with ``log_target`` their logarithms; no gradient
            goes back to it.
        reduction: 'mean', 'sum', 'none', or 'batchmean', the sum over the size of the first axis.
    """
    return ops.kl_div(input, _given(label), reduction, log_target)


def binary_cross_entropy(input, label, weight=None, reduction="mean", name=None):
    """-label * log(input) - (1 - label) * log(1 - input), times weight.

    Args:
        input: probabilities.
        label: of input's shape, in [0, 1]; no gradient goes back to it.
        weight: factor of each element.
        reduction: 'mean', 'sum' or 'none'.
    """
    return ops.binary_cross_entropy(input, _given(label), weight, reduction)


def binary_cross_entropy_with_logits(
    logit, label, weight=None, reduction="mean", pos_weight=None, name=None
):
    """-label * log(sigmoid(logit)) - (1 - label) * log(1 - sigmoid(logit)), times weight.

    Args:
        logit: any numbers.
        label: of logit's shape, in [0, 1]; no gradient goes back to it.
        weight: factor of each element.
        reduction: 'mean', 'sum' or 'none'.
        pos_weight: factor on the first part.
    """
    return ops.binary_cross_entropy_with_logits(logit, _given(label), weight, pos_weight, reduction)


def log_loss(input, label, epsilon=1e-4, name=None):
    """-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon).

    Args:
        input: probabilities.
        label: of input's shape, in [0, 1]; no gradient goes back to it.
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
    """Connectionist temporal classification loss.

    Graves et al., ICML 2006.

    Args:
        log_probs: [time, batch, classes] scores (softmax is taken inside).
        labels: [batch, longest label] int32, padded with anything.
        input_lengths, label_lengths: [batch] integers.
        blank: number of the blank class.
        reduction: 'mean' divides each loss by its label length and averages; 'sum'; 'none'.
        norm_by_times: divide the gradient by the number of time steps.
        zero_infinity: losses that are infinite count as zero, without gradient.
    """
    check_choice("ctc_loss", "reduction", reduction, ("mean", "sum", "none"), ArgumentError)
    return ops.ctc_loss(
        log_probs, labels, input_lengths, label_lengths, blank, reduction, bool(norm_by_times),
        bool(zero_infinity),
    )  # fmt: skip


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
    """Loss of a recurrent transducer.

    Graves, arXiv:1211.3711; FastEmit regularization of Yu et al., arXiv:2010.11148.

    Args:
        input: [batch, time, longest label + 1, classes] log probabilities.
        label: [batch, longest label] int32.
        input_lengths, label_lengths: [batch] int32.
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

    Morin and Bengio, AISTATS 2005.

    Args:
        input: [N, features].
        label: [N] or [N, 1] int64.
        num_classes: number of leaves, at least 2.
        weight: [num_classes - 1, features]; bias [num_classes - 1, 1] or None.
        path_table, path_code: [N, longest path] nodes and turns of a tree of one's own, padded
            with -1; None for the default complete tree.

    Returns:
        Tensor [N, 1].
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

    Deng et al., "ArcFace", arXiv:1801.07698.

    Args:
        logits: [N, C] cosines.
        label: [N] or [N, 1] class numbers.
        scale: factor on the logits after the margin.
        group: of this process alone, or False or None.
        reduction: 'mean', 'sum' or None.

    Returns:
        The loss (0-d, or [N, 1] for None), with ``return_softmax`` also the softmax.
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
        margin: positive number.
        swap: take the nearer of input and positive to the negative.

    Raises:
        ValueError: ``margin`` is not positive, or a distance is negative.
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

    Grave et al., arXiv:1609.04309.

    Args:
        input: [N, features] or [features].
        label: [N] or 0-d class numbers.
        head_weight: [features, cutoffs[0] + clusters].
        tail_weights: for each cluster a pair of weights that are applied one after the other.
        cutoffs: first class of each cluster, then the number of classes; ascending.
        head_bias: [cutoffs[0] + clusters] or None.

    Returns:
        (log probability of each label, mean negative log probability).
    """
    flat = [weight for pair in tail_weights for weight in pair]
    return ops.adaptive_log_softmax_with_loss(
        input, label, head_weight, head_bias, flat, [int(cutoff) for cutoff in cutoffs]
    )
