"""Losses: reductions, weights, ignored labels, mistakes."""

_PAIR = "mse_loss l1_loss smooth_l1_loss square_error_cost".split()

CASES = [
    *[f"F.{name}(T(3, 2), T(3, 2, seed=1))" for name in _PAIR],
    *[
        f"F.{name}(T(3, 2), T(3, 2, seed=1), reduction='{how}')"
        for name in _PAIR[:3]
        for how in ("sum", "none")
    ],
    *[f"gradients(lambda x: F.{name}(x, T(3, 2, seed=1)), T(3, 2))" for name in _PAIR],
    "F.mse_loss(T(3), T(3), reduction='foo')",
    "F.mse_loss(T(3), T(4))",
    "F.smooth_l1_loss(T(3), T(3, seed=1), delta=0.5)",
    "F.cross_entropy(T(4, 3), I(4, high=3))",
    "F.cross_entropy(T(4, 3), I(4, 1, high=3))",
    "F.cross_entropy(T(4, 3), I(4, high=3), reduction='none')",
    "F.cross_entropy(T(4, 3), I(4, 1, high=3), reduction='none')",
    "F.cross_entropy(T(4, 3), I(4, high=3), reduction='sum')",
    "F.cross_entropy(T(4, 3), I(4, high=3), weight=T(3, low=0.1, seed=1))",
    "F.cross_entropy(T(4, 3), paddle.to_tensor([0, 1, -100, 2]))",
    "F.cross_entropy(T(4, 3), paddle.to_tensor([0, 1, 1, 2]), ignore_index=1)",
    "F.cross_entropy(T(4, 3), F.softmax(T(4, 3, seed=1)), soft_label=True)",
    "F.cross_entropy(T(4, 3), F.softmax(T(4, 3, seed=1)), soft_label=True, weight=T(3, low=0.1))",
    "F.cross_entropy(T(4, 3), I(4, high=3), label_smoothing=0.1)",
    "F.cross_entropy(F.softmax(T(4, 3)), I(4, high=3), use_softmax=False)",
    "F.cross_entropy(T(2, 3, 4), I(2, 4, high=3), axis=1)",
    "F.cross_entropy(T(2, 4, 3), I(2, 4, high=3))",
    "F.cross_entropy(T(4, 3), paddle.to_tensor([0, 1, 5, 2]))",
    "F.cross_entropy(T(4, 3), T(4))",
    "F.cross_entropy(T(4, 3), I(5, high=3))",
    "F.cross_entropy(T(4, 3), I(4, high=3, dtype='int32'))",
    "gradients(lambda x: F.cross_entropy(x, I(4, high=3)), T(4, 3))",
    "gradients(lambda x: F.cross_entropy(x, paddle.to_tensor([0, -100, 1, 2])), T(4, 3))",
    "gradients(lambda x: F.cross_entropy(x, F.softmax(T(4, 3, seed=1)), soft_label=True), T(4, 3))",
    "gradients(lambda x: F.cross_entropy(x, I(4, high=3), weight=T(3, low=0.1, seed=1)), T(4, 3))",
    "F.softmax_with_cross_entropy(T(4, 3), I(4, 1, high=3))",
    "F.softmax_with_cross_entropy(T(4, 3), I(4, 1, high=3), return_softmax=True)",
    "F.nll_loss(F.log_softmax(T(4, 3)), I(4, high=3))",
    "F.nll_loss(F.log_softmax(T(4, 3)), I(4, high=3), weight=T(3, low=0.1), reduction='sum')",
    "F.nll_loss(F.log_softmax(T(2, 3, 2, 2), axis=1), I(2, 2, 2, high=3))",
    "F.binary_cross_entropy(T(4, low=0.1, high=0.9), T(4, low=0, high=1, seed=1))",
    "F.binary_cross_entropy(T(4, low=0.1, high=0.9), T(4, low=0, seed=1), weight=T(4, low=0))",
    "F.binary_cross_entropy_with_logits(T(4), T(4, low=0, seed=1))",
    "F.binary_cross_entropy_with_logits(T(4), T(4, low=0, seed=1), pos_weight=T(4, low=0, seed=2))",
    "gradients(lambda x: F.binary_cross_entropy_with_logits(x, T(4, low=0, seed=1)), T(4))",
    "F.kl_div(F.log_softmax(T(4, 3)), F.softmax(T(4, 3, seed=1)))",
    "F.kl_div(F.log_softmax(T(4, 3)), F.softmax(T(4, 3, seed=1)), reduction='batchmean')",
    "F.margin_ranking_loss(T(4), T(4, seed=1), paddle.sign(T(4, seed=2)), margin=0.1)",
    "F.hinge_embedding_loss(T(4), paddle.sign(T(4, seed=1)))",
    "F.cosine_embedding_loss(T(4, 3), T(4, 3, seed=1), paddle.to_tensor([1, -1, 1, -1]))",
    "F.triplet_margin_loss(T(4, 3), T(4, 3, seed=1), T(4, 3, seed=2))",
    "F.soft_margin_loss(T(4), paddle.sign(T(4, seed=1)))",
    "F.multi_label_soft_margin_loss(T(4, 3), paddle.cast(B(4, 3), 'float32'))",
    "F.poisson_nll_loss(T(4), T(4, low=0, seed=1))",
    "F.gaussian_nll_loss(T(4), T(4, seed=1), T(4, low=0.1, seed=2))",
    "F.sigmoid_focal_loss(T(4), paddle.cast(B(4), 'float32'))",
    "F.log_loss(T(4, 1, low=0.1, high=0.9), paddle.cast(B(4, 1), 'float32'))",
    "F.dice_loss(F.softmax(T(4, 3)), I(4, 1, high=3))",
    "F.npair_loss(T(4, 3), T(4, 3, seed=1), paddle.to_tensor([0.0, 1.0, 0.0, 1.0]))",
    "F.multi_margin_loss(T(4, 3), I(4, high=3))",
    "F.ctc_loss(F.log_softmax(T(5, 2, 4)), I(2, 2, low=1, high=4, dtype='int32'), "
    "paddle.to_tensor([5, 5]), paddle.to_tensor([2, 2]))",
    *[
        f"nn.{layer}(T(4, 3), {label})"
        for layer, label in (
            ("CrossEntropyLoss()", "I(4, high=3)"),
            ("MSELoss()", "T(4, 3, seed=1)"),
            ("L1Loss(reduction='sum')", "T(4, 3, seed=1)"),
            ("SmoothL1Loss()", "T(4, 3, seed=1)"),
            ("BCEWithLogitsLoss()", "T(4, 3, low=0, seed=1)"),
            ("NLLLoss()", "I(4, high=3)"),
            ("KLDivLoss()", "F.softmax(T(4, 3, seed=1))"),
        )
    ],
]
