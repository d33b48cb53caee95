"""Loss layers."""

from __future__ import annotations

from argosy import _core, tensor

from .. import functional as F
from ..functional._args import check_reduction
from ._forwarding import keeps
from ._losses import Loss as _Loss
from .layers import Layer

__all__ = [
    "AdaptiveLogSoftmaxWithLoss",
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HSigmoidLoss",
    "HingeEmbeddingLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "RNNTLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class BCEWithLogitsLoss(_Loss, function=F.binary_cross_entropy_with_logits):
    """Cross entropy of ``sigmoid(logit)`` and labels, computed without overflow.

    Args:
        weight (Tensor, optional): factor of each element.
        reduction (str): 'mean', 'sum' or 'none'.
        pos_weight (Tensor, optional): factor on the part of the positives.

    Shape: logit and label alike, label in [0, 1]; 0-d, or with 'none' the same.

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.BCEWithLogitsLoss()
        >>> loss(argosy.to_tensor([0.0, 2.0]), argosy.to_tensor([1.0, 1.0])).item()
        0.41
    """

    @keeps
    def __init__(self, weight=None, reduction="mean", pos_weight=None, name=None):
        check_reduction(reduction, "BCEWithLogitsLoss")

    def forward(self, logit, label):
        return self._forwards_to(logit, label, *self._kept())


class BCELoss(_Loss, function=F.binary_cross_entropy):
    """Cross entropy ``-label log(input) - (1 - label) log(1 - input)`` of probabilities and labels.

    Args:
        weight (Tensor, optional): factor of each element.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: input and label alike, both in [0, 1]; 0-d, or with 'none' the same.

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.BCELoss()
        >>> loss(argosy.to_tensor([0.5, 0.9]), argosy.to_tensor([1.0, 1.0])).item()
        0.3993
    """

    @keeps
    def __init__(self, weight=None, reduction="mean", name=None):
        check_reduction(reduction, "bce_loss")


class CrossEntropyLoss(_Loss, function=F.cross_entropy):
    """Cross entropy between class scores and labels.

    Args:
        weight (Tensor, optional): [C] factor of each class.
        ignore_index (int): positions with this label count neither in the loss nor in the mean.
        reduction (str): 'mean' (weighted, over the positions that count), 'sum' or 'none'.
        soft_label (bool): labels are probabilities of all classes.
        axis (int): axis of the classes.
        use_softmax (bool): False where the input holds probabilities.
        label_smoothing (float): in [0, 1]; this part of the label is spread evenly over all classes.

    Shape: scores [.., C, ..] and labels of that shape without ``axis`` (or 1 there; with ``soft_label``
        the
        whole shape) to 0-d, or with 'none' to one loss per position.

    Raises:
        ValueError: shapes or options do not fit each other (at the call).
        IndexError: a label is out of range (at the call).

    Examples:
        >>> loss = argosy.nn.CrossEntropyLoss()
        >>> loss(argosy.zeros([2, 4]), argosy.to_tensor([0, 3])).item()
        1.3863
    """

    @keeps
    def __init__(
        self,
        weight=None,
        ignore_index=-100,
        reduction="mean",
        soft_label=False,
        axis=-1,
        use_softmax=True,
        label_smoothing=0.0,
        name=None,
    ):
        self._check_ignored(ignore_index)


class MSELoss(_Loss, function=F.mse_loss):
    """Squared difference of input and label.

    Args:
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: input and label alike; 0-d, or with 'none' the same.

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.MSELoss()
        >>> loss(argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([1.0, 4.0])).item()
        2.0
    """

    @keeps
    def __init__(self, reduction="mean"):
        check_reduction(reduction, "MSELoss")


class L1Loss(_Loss, function=F.l1_loss):
    """Absolute difference of input and label.

    Args:
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: input and label alike; 0-d, or with 'none' the same.

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.L1Loss('sum')
        >>> loss(argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([1.0, 4.0])).item()
        2.0
    """

    @keeps
    def __init__(self, reduction="mean", name=None):
        check_reduction(reduction, "L1Loss")


class SmoothL1Loss(_Loss, function=F.smooth_l1_loss):
    """Huber loss: ``d^2 / 2`` for differences d up to ``delta``, ``delta (|d| - delta / 2)`` beyond.

    Args:
        reduction (str): 'mean', 'sum' or 'none'.
        delta (float): where the loss becomes linear.
        is_huber (bool): False divides the loss by ``delta``.

    Shape: input and label alike; 0-d, or with 'none' the same.

    Paper: Girshick, arXiv:1504.08083.

    Examples:
        >>> loss = argosy.nn.SmoothL1Loss('none')
        >>> loss(argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([1.5, 5.0])).tolist()
        [0.125, 2.5]
    """

    @keeps
    def __init__(self, reduction="mean", delta=1.0, is_huber=True, name=None): ...


class NLLLoss(_Loss, function=F.nll_loss):
    """Minus the log probability of the labelled class.

    Args:
        weight (Tensor, optional): [C] factor of each class; 'mean' divides by the sum of factors.
        ignore_index (int): positions with this label do not count.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: log probabilities [N, C, ..] and integer labels [N, ..] to 0-d, or with 'none' to [N, ..].

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.NLLLoss()
        >>> loss(argosy.to_tensor([[-0.1, -2.0]]), argosy.to_tensor([1])).item()
        2.0
    """

    _kept_prefix = "_"

    @keeps
    def __init__(self, weight=None, ignore_index=-100, reduction="mean", name=None):
        self._check_ignored(ignore_index)
        check_reduction(reduction, "nll_loss")


class KLDivLoss(_Loss, function=F.kl_div):
    """``label (log(label) - input)``, 0 where label is not positive.

    Args:
        reduction (str): 'mean', 'batchmean' (the sum over the size of the first axis), 'sum' or 'none'.
        log_target (bool): labels are log probabilities too.

    Shape: log probabilities and probabilities alike; 0-d, or with 'none' the same.

    Examples:
        >>> loss = argosy.nn.KLDivLoss('sum')
        >>> p = argosy.to_tensor([0.5, 0.5])
        >>> loss(p.log(), p).item()
        0.0
    """

    @keeps
    def __init__(self, reduction="mean", log_target=False): ...


class MarginRankingLoss(_Loss, function=F.margin_ranking_loss):
    """``max(0, margin - label (input - other))``: label 1 wants input to be the larger one, -1 other.

    Args:
        margin (float): how much larger.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: three alike; 0-d, or with 'none' the same.

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.MarginRankingLoss(margin=0.5)
        >>> one, two = argosy.to_tensor([1.0]), argosy.to_tensor([2.0])
        >>> loss(one, two, argosy.to_tensor([1.0])).item()
        1.5
    """

    @keeps
    def __init__(self, margin=0.0, reduction="mean", name=None):
        check_reduction(reduction, "MarginRankingLoss")

    def forward(self, input, other, label):
        return self._forwards_to(input, other, label, *self._kept())


class CosineEmbeddingLoss(_Loss, function=F.cosine_embedding_loss):
    """``1 - cos(a, b)`` where the label is 1, ``max(0, cos(a, b) - margin)`` where it is -1.

    Args:
        margin (float): in [-1, 1].
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: two of [N, M] (or [M]) and labels [N] (or 0-d) to 0-d, or with 'none' to [N].

    Raises:
        ValueError: ``margin`` or ``reduction`` is out of range.

    Examples:
        >>> loss = argosy.nn.CosineEmbeddingLoss()
        >>> x = argosy.to_tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> loss(x, x, argosy.to_tensor([1, -1])).item()
        0.5
    """

    @keeps
    def __init__(self, margin=0, reduction="mean", name=None):
        check_reduction(reduction, "CosineEmbeddingLoss")
        if not -1 <= margin <= 1:
            raise ValueError(
                f"[CosineEmbeddingLoss] margin: expected a number in [-1, 1], got {margin}. Do "
                "this: correct it."
            )

    def forward(self, input1, input2, label):
        return self._forwards_to(input1, input2, label, *self._kept())


class HingeEmbeddingLoss(_Loss, function=F.hinge_embedding_loss):
    """``input`` where the label is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        margin (float): distance that is wanted of pairs with label -1.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: input and label alike; 0-d, or with 'none' the same.

    Examples:
        >>> loss = argosy.nn.HingeEmbeddingLoss(reduction='none')
        >>> loss(argosy.to_tensor([0.3, 0.3]), argosy.to_tensor([1.0, -1.0])).tolist()
        [0.3, 0.7]
    """

    @keeps
    def __init__(self, margin=1.0, reduction="mean", name=None): ...


class TripletMarginLoss(_Loss, function=F.triplet_margin_loss):
    """``max(d(input, positive) - d(input, negative) + margin, 0)``, d being the p-norm of differences.

    Args:
        margin (float): how much farther the negative is to be.
        p (float): order of the norm.
        epsilon (float): added to differences.
        swap (bool): take the distance of positive and negative where it is the smaller one.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: three of [N, D]; 0-d, or with 'none' [N].

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.TripletMarginLoss()
        >>> a, b = argosy.to_tensor([[0.0, 0.0]]), argosy.to_tensor([[3.0, 4.0]])
        >>> loss(a, b, a).item()
        6.0
    """

    @keeps
    def __init__(self, margin=1.0, p=2.0, epsilon=1e-6, swap=False, reduction="mean", name=None):
        check_reduction(reduction, "TripletMarginLoss")

    def forward(self, input, positive, negative):
        return self._forwards_to(input, positive, negative, *self._kept())


class TripletMarginWithDistanceLoss(_Loss, function=F.triplet_margin_with_distance_loss):
    """``max(d(input, positive) - d(input, negative) + margin, 0)`` for a distance of one's own.

    Args:
        distance_function: takes two tensors, gives distances >= 0; None is the Euclidean one.
        margin (float): how much farther the negative is to be.
        swap (bool): take the distance of positive and negative where it is the smaller one.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: three alike; 0-d, or with 'none' that of the distances.

    Raises:
        ValueError: ``reduction`` is unknown; at the call: margin or a distance is negative.

    Examples:
        >>> loss = argosy.nn.TripletMarginWithDistanceLoss(lambda a, b: (a - b).abs().sum(-1))
        >>> a, b = argosy.to_tensor([[0.0, 0.0]]), argosy.to_tensor([[3.0, 4.0]])
        >>> loss(a, b, a).item()
        8.0
    """

    @keeps
    def __init__(self, distance_function=None, margin=1.0, swap=False, reduction="mean", name=None):
        check_reduction(reduction, "TripletMarginWithDistanceLoss")

    def forward(self, input, positive, negative):
        return self._forwards_to(input, positive, negative, *self._kept())


class MultiLabelSoftMarginLoss(_Loss, function=F.multi_label_soft_margin_loss):
    """Binary cross entropy of ``sigmoid(input)``, averaged over the classes of a row.

    Args:
        weight (Tensor, optional): [C] factor of each class.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: [N, C] and labels 0 or 1 alike; 0-d, or with 'none' [N].

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.MultiLabelSoftMarginLoss()
        >>> loss(argosy.zeros([1, 2]), argosy.to_tensor([[1.0, 0.0]])).item()
        0.6931
    """

    @keeps
    def __init__(self, weight=None, reduction="mean", name=None):
        check_reduction(reduction, "MultiLabelSoftMarginLoss")


class MultiLabelMarginLoss(_Loss, function=F.multi_label_margin_loss):
    """Hinge loss between each target class of a row and each class that is none, over C.

    Args:
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: [N, C] and int labels [N, C], class numbers that a -1 ends; 0-d, or with 'none' [N].

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.MultiLabelMarginLoss()
        >>> x = argosy.to_tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> loss(x, argosy.to_tensor([[3, 0, -1, 1]])).item()
        0.85
    """

    @keeps
    def __init__(self, reduction="mean", name=None):
        check_reduction(reduction, "MultiLabelMarginLoss")


class MultiMarginLoss(_Loss, function=F.multi_margin_loss):
    """``max(0, margin - input[label] + input[c]) ^ p`` over the other classes c, summed and divided by C.

    Args:
        p (int): power, 1 or 2.
        margin (float): how much larger the labelled score is to be.
        weight (Tensor, optional): [C] factor of each class.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: [N, C] and labels [N]; 0-d, or with 'none' [N].

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.MultiMarginLoss()
        >>> loss(argosy.to_tensor([[0.1, 0.2, 0.9]]), argosy.to_tensor([2])).item()
        0.1667
    """

    @keeps
    def __init__(self, p=1, margin=1.0, weight=None, reduction="mean", name=None):
        check_reduction(reduction, "MultiMarginLoss")


class SoftMarginLoss(_Loss, function=F.soft_margin_loss):
    """``log(1 + exp(-label input))``, label being 1 or -1.

    Args:
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: input and label alike; 0-d, or with 'none' the same.

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.SoftMarginLoss()
        >>> loss(argosy.zeros([2]), argosy.to_tensor([1.0, -1.0])).item()
        0.6931
    """

    @keeps
    def __init__(self, reduction="mean", name=None):
        check_reduction(reduction, "SoftMarginLoss")


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss):
    """Minus the log likelihood of counts under a Poisson distribution.

    Args:
        log_input (bool): the input is the log of the rate: ``exp(input) - label input``; else
            ``input - label log(input + epsilon)``.
        full (bool): add Stirling's approximation of log(label!) where the label exceeds 1.
        epsilon (float): see above; positive.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: input and label alike; 0-d, or with 'none' the same.

    Raises:
        ValueError: ``epsilon`` is not positive, or ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.PoissonNLLLoss()
        >>> loss(argosy.zeros([2]), argosy.to_tensor([1.0, 3.0])).item()
        1.0
    """

    _kept_prefix = "_"

    @keeps
    def __init__(self, log_input=True, full=False, epsilon=1e-8, reduction="mean", name=None):
        check_reduction(reduction, "PoissonNLLLoss")
        if epsilon <= 0:
            raise ValueError(
                f"[PoissonNLLLoss] epsilon: expected a number > 0, got {epsilon}. Do this: "
                "correct it."
            )


class GaussianNLLLoss(_Loss, function=F.gaussian_nll_loss):
    """Minus the log likelihood of labels under normal distributions.

    Args:
        full (bool): add the constant log(2 pi) / 2.
        epsilon (float): variances are at least this.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: means, labels and variances (>= 0) alike, or variances with 1 on (or without) the last axis;
        0-d, or
        with 'none' that of the means.

    Raises:
        ValueError: ``reduction`` is unknown.

    Examples:
        >>> loss = argosy.nn.GaussianNLLLoss()
        >>> loss(argosy.zeros([2]), argosy.ones([2]), argosy.ones([2])).item()
        0.5
    """

    @keeps
    def __init__(self, full=False, epsilon=1e-6, reduction="mean", name=None):
        check_reduction(reduction, "GaussianNLLLoss")

    def forward(self, input, label, variance):
        return self._forwards_to(input, label, variance, *self._kept())


class RNNTLoss(_Loss, function=F.rnnt_loss):
    """Loss of a recurrent transducer: minus the log probability of all alignments of a label.

    Args:
        blank (int): number of the blank class.
        fastemit_lambda (float): weight of the FastEmit regularization.
        reduction (str): 'mean', 'sum' or 'none'.

    Shape: log probabilities [batch, time, longest label + 1, classes], int32 labels [batch, longest
        label] and
        int32 lengths [batch] of both, to 0-d, or with 'none' to [batch].

    Raises:
        AssertionError: ``reduction`` is unknown (at the call).

    Paper: Graves, arXiv:1211.3711; Yu et al., arXiv:2010.11148.

    Examples:
        >>> loss = argosy.nn.RNNTLoss(fastemit_lambda=0.0, reduction='sum')
        >>> scores = argosy.nn.functional.log_softmax(argosy.zeros([1, 2, 2, 3]), axis=-1)
        >>> def ints(value): return argosy.to_tensor([value], dtype='int32')
        >>> loss(scores, ints([1]), ints(2), ints(1)).item()
        2.6027
    """

    @keeps
    def __init__(self, blank=0, fastemit_lambda=0.001, reduction="mean", name=None): ...

    def forward(self, input, label, input_lengths, label_lengths):
        return self._forwards_to(input, label, input_lengths, label_lengths, *self._kept())


class CTCLoss(_Loss):
    """Connectionist temporal classification: minus the log probability of all alignments of a label.

    Args:
        blank (int): number of the blank class.
        reduction (str): 'mean' divides each loss by its label's length and averages; 'sum'; 'none'.
        zero_infinity (bool): losses that are infinite count as zero, without gradient.

    Shape: scores [time, batch, classes] (softmax is taken inside), int32 labels [batch, longest label]
        and lengths [batch] of both, to 0-d, or with 'none' to [batch]. With ``norm_by_times`` a call
        divides the gradient by the number of time steps.

    Raises:
        ValueError: ``reduction`` is unknown (at the call).

    Paper: Graves et al., ICML 2006.

    Examples:
        >>> loss = argosy.nn.CTCLoss(reduction='sum')
        >>> labels = argosy.to_tensor([[1]], dtype="int32")
        >>> times, lengths = argosy.to_tensor([2]), argosy.to_tensor([1])
        >>> loss(argosy.zeros([2, 1, 3]), labels, times, lengths).item()
        1.0986
    """

    @keeps
    def __init__(self, blank=0, reduction="mean", zero_infinity=False): ...

    def forward(self, log_probs, labels, input_lengths, label_lengths, norm_by_times=False):
        return F.ctc_loss(
            log_probs,
            labels,
            input_lengths,
            label_lengths,
            self.blank,
            self.reduction,
            norm_by_times,
            self.zero_infinity,
        )


class HSigmoidLoss(Layer):
    """Hierarchical sigmoid loss over a binary tree of classes.

    Args:
        feature_size (int): length of the input rows.
        num_classes (int): number of classes; with ``is_custom`` the number of inner nodes.
        weight_attr (ParamAttr, optional): attributes of ``weight`` [inner nodes, feature_size].
        bias_attr (ParamAttr | bool, optional): attributes of ``bias`` [inner nodes, 1]; False leaves it
            out.
        is_custom (bool): the tree comes with each call as ``path_table`` and ``path_code``.
        is_sparse (bool): row-sparse gradients of weight and bias.

    Shape: [N, feature_size] and int64 labels [N] or [N, 1] to [N, 1].

    Raises:
        ValueError: ``num_classes`` is below 2 without ``is_custom``.

    Paper: Morin and Bengio, AISTATS 2005.

    Examples:
        >>> loss = argosy.nn.HSigmoidLoss(4, num_classes=5)
        >>> loss(argosy.ones([3, 4]), argosy.to_tensor([0, 2, 4])).shape
        paddle.Size([3, 1])
    """

    def __init__(
        self,
        feature_size,
        num_classes,
        weight_attr=None,
        bias_attr=None,
        is_custom=False,
        is_sparse=False,
        name=None,
    ):
        super().__init__()
        if num_classes < 2 and not is_custom:
            raise ValueError(
                f"[HSigmoidLoss] num_classes: expected 2 or more, got {num_classes}. Do this: "
                "correct it, or pass is_custom=True and a tree."
            )
        self._feature_size = feature_size
        self._num_classes = num_classes
        self._is_custom = is_custom
        self._is_sparse = is_sparse
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self._name = name
        nodes = num_classes if is_custom else num_classes - 1
        self.weight = self.create_parameter([nodes, feature_size], attr=weight_attr, is_bias=False)
        self.bias = self.create_parameter([nodes, 1], attr=bias_attr, is_bias=True)

    def forward(self, input, label, path_table=None, path_code=None):
        return F.hsigmoid_loss(
            input,
            label,
            self._num_classes,
            self.weight,
            self.bias,
            path_table=path_table,
            path_code=path_code,
            is_sparse=self._is_sparse,
        )


class AdaptiveLogSoftmaxWithLoss(Layer):
    """Softmax over many classes whose rare ones sit in clusters.

    Args:
        in_features (int): length of the input rows.
        n_classes (int): number of classes, numbered from the most to the least frequent.
        cutoffs (list[int]): first class of each cluster, ascending, each in [1, n_classes - 1].
        weight_attr (ParamAttr, optional): attributes of all weights.
        bias_attr (ParamAttr, optional): attributes of the head's bias.
        div_value (float): cluster i projects to ``in_features // div_value ** (i + 1)`` features.
        head_bias (bool): give the head a bias.

    Shape: [N, in_features] and class numbers [N] to (log probability of each label [N], their mean
        negated).

    Raises:
        ValueError: ``cutoffs`` are not rising ints in that range.

    Paper: Grave et al., arXiv:1609.04309.

    Examples:
        >>> softmax = argosy.nn.AdaptiveLogSoftmaxWithLoss(16, 10, cutoffs=[3, 6], div_value=2.0)
        >>> x = argosy.rand([4, 16])
        >>> output, loss = softmax(x, argosy.to_tensor([0, 3, 6, 9]))
        >>> output.shape, loss.shape
        (paddle.Size([4]), paddle.Size([]))
        >>> softmax.log_prob(x).shape, softmax.predict(x).shape
        (paddle.Size([4, 10]), paddle.Size([4]))
    """

    def __init__(
        self,
        in_features,
        n_classes,
        cutoffs,
        weight_attr=None,
        bias_attr=None,
        div_value=4.0,
        head_bias=False,
        name=None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        if (
            not cutoffs
            or cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(cutoff) != cutoff for cutoff in cutoffs)
        ):
            raise ValueError(
                "[AdaptiveLogSoftmaxWithLoss] cutoffs: expected rising ints in 1 .. n_classes "
                f"- 1 = {n_classes - 1}, each once, got {cutoffs}. Do this: correct them."
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self.is_head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head_weight = self.create_parameter(
            attr=weight_attr, shape=[in_features, self.head_size]
        )
        if head_bias:
            self.head_bias = self.create_parameter(
                attr=bias_attr, shape=[self.head_size], is_bias=True
            )
        else:
            self.head_bias = None
        self.tail_weights = []
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            project = self.create_parameter(attr=weight_attr, shape=[in_features, hidden])
            output = self.create_parameter(attr=weight_attr, shape=[hidden, size])
            self.tail_weights.append([project, output])

    def forward(self, input, label):
        return F.adaptive_log_softmax_with_loss(
            input, label, self.head_weight, self.tail_weights, self.cutoffs, self.head_bias
        )

    def log_prob(self, input):
        """Log probabilities of all classes.

        Args:
            input: [N, in_features].

        Returns:
            Tensor [N, n_classes].
        """
        flat = [weight for pair in self.tail_weights for weight in pair]
        return _core.ops.adaptive_log_prob(
            input, self.head_weight, self.head_bias, flat, self.cutoffs
        )

    def predict(self, input):
        """The most probable class of each row.

        Args:
            input: [N, in_features].

        Returns:
            int64 Tensor [N].
        """
        return tensor.argmax(self.log_prob(input), axis=1)
