"""Loss layers."""

from __future__ import annotations

from argosy import _core, tensor

from .. import functional as F
from ..functional._args import check_reduction
from ._forwarding import ForwardingLayer, keeps
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


class _Loss(ForwardingLayer):
    _repr_shows = ()

    def forward(self, input, label):
        return self._forwards_to(input, label, *self._kept())


class BCEWithLogitsLoss(_Loss, function=F.binary_cross_entropy_with_logits):
    """Cross entropy of ``sigmoid(logit)`` and labels in [0, 1].

    ``weight`` scales each element, ``pos_weight`` the part of the positives.
    """

    @keeps
    def __init__(self, weight=None, reduction="mean", pos_weight=None, name=None):
        check_reduction(reduction, "BCEWithLogitsLoss")

    def forward(self, logit, label):
        return self._forwards_to(logit, label, *self._kept())


class BCELoss(_Loss, function=F.binary_cross_entropy):
    """Cross entropy of probabilities and labels in [0, 1]; ``weight`` scales each element."""

    @keeps
    def __init__(self, weight=None, reduction="mean", name=None):
        check_reduction(reduction, "bce_loss")


class CrossEntropyLoss(_Loss, function=F.cross_entropy):
    """Cross entropy between class scores and labels; arguments as for ``F.cross_entropy``."""

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
    ): ...


class MSELoss(_Loss, function=F.mse_loss):
    """Squared difference of input and label."""

    @keeps
    def __init__(self, reduction="mean"):
        check_reduction(reduction, "MSELoss")


class L1Loss(_Loss, function=F.l1_loss):
    """Absolute difference of input and label."""

    @keeps
    def __init__(self, reduction="mean", name=None):
        check_reduction(reduction, "L1Loss")


class SmoothL1Loss(_Loss, function=F.smooth_l1_loss):
    """Huber loss: quadratic for differences up to ``delta``, linear beyond.

    ``is_huber`` False divides it by ``delta``.
    """

    @keeps
    def __init__(self, reduction="mean", delta=1.0, is_huber=True, name=None): ...


class NLLLoss(_Loss, function=F.nll_loss):
    """Minus the log probability of the label; input [N, C, ...], label [N, ...]."""

    _kept_prefix = "_"

    @keeps
    def __init__(self, weight=None, ignore_index=-100, reduction="mean", name=None):
        check_reduction(reduction, "nll_loss")


class KLDivLoss(_Loss, function=F.kl_div):
    """``label * (log(label) - input)``, input being log probabilities; also 'batchmean'."""

    @keeps
    def __init__(self, reduction="mean", log_target=False): ...


class MarginRankingLoss(_Loss, function=F.margin_ranking_loss):
    """``max(0, -label * (input - other) + margin)``."""

    @keeps
    def __init__(self, margin=0.0, reduction="mean", name=None):
        check_reduction(reduction, "MarginRankingLoss")

    def forward(self, input, other, label):
        return self._forwards_to(input, other, label, *self._kept())


class CosineEmbeddingLoss(_Loss, function=F.cosine_embedding_loss):
    """``1 - cos`` where the label is 1, ``max(0, cos - margin)`` where it is -1."""

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
    """``input`` where the label is 1, ``max(0, margin - input)`` where it is -1."""

    @keeps
    def __init__(self, margin=1.0, reduction="mean", name=None): ...


class TripletMarginLoss(_Loss, function=F.triplet_margin_loss):
    """``max(d(input, positive) - d(input, negative) + margin, 0)``, d the p-norm distance."""

    @keeps
    def __init__(self, margin=1.0, p=2.0, epsilon=1e-6, swap=False, reduction="mean", name=None):
        check_reduction(reduction, "TripletMarginLoss")

    def forward(self, input, positive, negative):
        return self._forwards_to(input, positive, negative, *self._kept())


class TripletMarginWithDistanceLoss(_Loss, function=F.triplet_margin_with_distance_loss):
    """Triplet margin loss with a distance of one's own; None is the Euclidean one."""

    @keeps
    def __init__(self, distance_function=None, margin=1.0, swap=False, reduction="mean", name=None):
        check_reduction(reduction, "TripletMarginWithDistanceLoss")

    def forward(self, input, positive, negative):
        return self._forwards_to(input, positive, negative, *self._kept())


class MultiLabelSoftMarginLoss(_Loss, function=F.multi_label_soft_margin_loss):
    """Mean over classes of the binary cross entropy of ``sigmoid(input)``."""

    @keeps
    def __init__(self, weight=None, reduction="mean", name=None):
        check_reduction(reduction, "MultiLabelSoftMarginLoss")


class MultiLabelMarginLoss(_Loss, function=F.multi_label_margin_loss):
    """Hinge loss between each target class of a row and each other class."""

    @keeps
    def __init__(self, reduction="mean", name=None):
        check_reduction(reduction, "MultiLabelMarginLoss")


class MultiMarginLoss(_Loss, function=F.multi_margin_loss):
    """Mean over classes of ``max(0, margin - input[label] + input[c]) ^ p``."""

    @keeps
    def __init__(self, p=1, margin=1.0, weight=None, reduction="mean", name=None):
        check_reduction(reduction, "MultiMarginLoss")


class SoftMarginLoss(_Loss, function=F.soft_margin_loss):
    """``log(1 + exp(-label * input))``, label being 1 or -1."""

    @keeps
    def __init__(self, reduction="mean", name=None):
        check_reduction(reduction, "SoftMarginLoss")


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss):
    """Minus the log likelihood of counts; ``full`` adds the Stirling term."""

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
    """Minus the log likelihood of ``label`` under a normal distribution."""

    @keeps
    def __init__(self, full=False, epsilon=1e-6, reduction="mean", name=None):
        check_reduction(reduction, "GaussianNLLLoss")

    def forward(self, input, label, variance):
        return self._forwards_to(input, label, variance, *self._kept())


class RNNTLoss(_Loss, function=F.rnnt_loss):
    """Loss of a recurrent transducer; see ``F.rnnt_loss``."""

    @keeps
    def __init__(self, blank=0, fastemit_lambda=0.001, reduction="mean", name=None): ...

    def forward(self, input, label, input_lengths, label_lengths):
        return self._forwards_to(input, label, input_lengths, label_lengths, *self._kept())


class CTCLoss(_Loss):
    """Connectionist temporal classification loss; arguments as for ``F.ctc_loss``."""

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
    """Hierarchical sigmoid loss over a binary tree of classes; see ``F.hsigmoid_loss``.

    Args:
        feature_size: length of the input rows.
        num_classes: number of classes; with ``is_custom`` the number of inner nodes plus one.
        is_custom: the tree comes with each call as ``path_table`` and ``path_code``.
        is_sparse: row-sparse gradients of weight and bias.

    Parameters: ``weight`` [num_classes - 1, feature_size], ``bias`` [num_classes - 1, 1].
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
    """Softmax over many classes whose rare ones sit in clusters, arXiv:1609.04309.

    Args:
        in_features: length of the input rows.
        n_classes: number of classes, numbered from the most to the least frequent.
        cutoffs: first class of each cluster, ascending, each in [1, n_classes - 1].
        div_value: cluster i projects to ``in_features // div_value ** (i + 1)`` features.
        head_bias: give the head a bias.
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
        """Log probabilities of all classes, [N, n_classes]."""
        flat = [weight for pair in self.tail_weights for weight in pair]
        return _core.ops.adaptive_log_prob(
            input, self.head_weight, self.head_bias, flat, self.cutoffs
        )

    def predict(self, input):
        """The most probable class of each row, [N]."""
        return tensor.argmax(self.log_prob(input), axis=1)
