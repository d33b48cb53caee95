"""Every parameter of losses and distances."""

from differential_families import spread, unique

MODES = True

_BOTH = "True | False"
_RED = "'mean' | 'sum' | 'none'"


def _losses():
    a, b = "T(3, 4)", "T(3, 4, seed=1)"
    positive, unit = "T(3, 4, low=0.1, high=0.9)", "T(3, 4, seed=1, low=0.1, high=0.9)"
    for name, values in {
        "mse_loss": {}, "l1_loss": {}, "smooth_l1_loss": {"delta": "1.0 | 0.3 | 2", "is_huber": _BOTH}, "soft_margin_loss": {},
    }.items():  # fmt: skip
        yield from spread(
            f"F.{name}",
            f"{a}, {b}",
            f"input={a}, label={b}",
            "T(3, dtype='float64'), T(3, dtype='float64', seed=1)",
            "T(), T(seed=1)",
            reduction=_RED,
            **values,
            pairs=8,
        )
    yield from spread("F.square_error_cost", f"{a}, {b}", f"input={a}, label={b}")
    yield from spread(
        "F.kl_div",
        f"paddle.log({positive}), {unit}",
        f"input={a}, label={unit}",
        reduction="'mean' | 'sum' | 'none' | 'batchmean'",
        log_target=_BOTH,
        pairs=10,
    )
    yield from spread(
        "F.log_loss",
        "T(3, 1, low=0.1, high=0.9), T(3, 1, seed=1, low=0.1, high=0.9)",
        "input=T(3, 1, low=0.1, high=0.9), label=I(3, 1, high=2).astype('float32')",
        epsilon="1e-4 | 0.1",
        pairs=2,
    )
    yield from spread(
        "F.binary_cross_entropy",
        f"{positive}, {unit}",
        f"input={positive}, label={unit}",
        weight="None | T(3, 4, seed=2, low=0.1) | T(4, seed=2, low=0.1)",
        reduction=_RED,
        pairs=8,
    )
    yield from spread(
        "F.binary_cross_entropy_with_logits",
        f"{a}, {unit}",
        f"logit={a}, label={unit}",
        weight="None | T(3, 4, seed=2, low=0.1) | T(4, seed=2, low=0.1)",
        reduction=_RED,
        pos_weight="None | T(4, seed=3, low=0.5, high=2) | T(1, seed=3, low=0.5)",
        pairs=12,
    )
    yield from spread(
        "F.cross_entropy", "T(5, 4), I(5, high=4)", "input=T(5, 4), label=I(5, 1, high=4)", "T(2, 5, 4), I(2, 5, high=4)", "T(5, 4, dtype='float64'), I(5, high=4, dtype='int32')",
        "T(5, 4), paddle.to_tensor([0, -100, 2, 3, 1])", weight="None | T(4, seed=2, low=0.1)", ignore_index="-100 | 1 | -1", reduction=_RED, label_smoothing="0.0 | 0.1", axis="-1", pairs=22,
    )  # fmt: skip
    yield from spread(
        "F.cross_entropy",
        "F.softmax(T(5, 4)), I(5, high=4)",
        use_softmax="False",
        weight="T(4, seed=2, low=0.1)",
        reduction=_RED,
        ignore_index="1",
        pairs=6,
        always="use_softmax",
    )
    yield from spread(
        "F.cross_entropy",
        "T(5, 4), F.softmax(T(5, 4, seed=1))",
        "T(2, 4, 3), F.softmax(T(2, 4, 3, seed=1), 1), axis=1",
        soft_label="True",
        weight="T(4, seed=2, low=0.1)",
        reduction=_RED,
        label_smoothing="0.1",
        pairs=8,
        always="soft_label",
    )
    yield from spread(
        "F.cross_entropy",
        "T(2, 4, 3, 3), I(2, 3, 3, high=4), axis=1",
        "T(2, 4, 3), I(2, 3, high=4), axis=1",
        weight="T(4, seed=2, low=0.1)",
        reduction=_RED,
        ignore_index="1",
        pairs=6,
    )
    yield from spread(
        "F.softmax_with_cross_entropy",
        "T(5, 4), I(5, 1, high=4)",
        "logits=T(2, 5, 4), label=I(2, 5, 1, high=4)",
        ignore_index="-100 | 1",
        numeric_stable_mode=_BOTH,
        return_softmax=_BOTH,
        axis="-1",
        pairs=6,
    )
    yield from spread(
        "F.softmax_with_cross_entropy",
        "T(5, 4), F.softmax(T(5, 4, seed=1))",
        soft_label="True",
        return_softmax=_BOTH,
        always="soft_label",
        pairs=2,
    )
    yield from spread(
        "F.nll_loss",
        "F.log_softmax(T(5, 4)), I(5, high=4)",
        "input=T(2, 4, 3, 3), label=I(2, 3, 3, high=4)",
        "T(5, 4), paddle.to_tensor([0, -100, 2, 3, 1])",
        weight="None | T(4, seed=2, low=0.1)",
        ignore_index="-100 | 1",
        reduction=_RED,
        pairs=12,
    )
    yield from spread(
        "F.margin_ranking_loss",
        f"{a}, {b}, paddle.sign(T(3, 4, seed=2))",
        "input=T(3), other=T(3, seed=1), label=paddle.sign(T(3, seed=2))",
        margin="0.0 | 0.5",
        reduction=_RED,
        pairs=6,
    )
    yield from spread(
        "F.hinge_embedding_loss",
        f"{a}, paddle.sign(T(3, 4, seed=2))",
        margin="1.0 | 0.3",
        reduction=_RED,
        pairs=5,
    )
    yield from spread(
        "F.cosine_embedding_loss",
        "T(3, 4), T(3, 4, seed=1), paddle.sign(T(3, seed=2))",
        "T(4), T(4, seed=1), paddle.to_tensor(1.0)",
        margin="0 | 0.3",
        reduction=_RED,
        pairs=5,
    )
    yield from spread(
        "F.triplet_margin_loss",
        "T(3, 4), T(3, 4, seed=1), T(3, 4, seed=2)",
        "input=T(3, 4), positive=T(3, 4, seed=1), negative=T(3, 4, seed=2)",
        margin="1.0 | 0.3",
        p="2 | 1 | 3.0",
        epsilon="1e-6 | 0.1",
        swap=_BOTH,
        reduction=_RED,
        pairs=12,
    )
    yield from spread(
        "F.triplet_margin_with_distance_loss",
        "T(3, 4), T(3, 4, seed=1), T(3, 4, seed=2)",
        distance_function="None",
        margin="1.0 | 0.3",
        swap=_BOTH,
        reduction=_RED,
        pairs=6,
    )
    yield from spread(
        "F.multi_label_soft_margin_loss",
        f"{a}, I(3, 4, high=2).astype('float32')",
        weight="None | T(4, seed=2, low=0.1)",
        reduction=_RED,
        pairs=5,
    )
    yield from spread(
        "F.multi_margin_loss",
        "T(3, 4), I(3, high=4)",
        p="1 | 2",
        margin="1.0 | 0.3",
        weight="None | T(4, seed=2, low=0.1)",
        reduction=_RED,
        pairs=8,
    )
    yield from spread(
        "F.poisson_nll_loss",
        f"{a}, {unit}",
        log_input=_BOTH,
        full=_BOTH,
        epsilon="1e-8 | 0.1",
        reduction=_RED,
        pairs=8,
    )
    yield from spread(
        "F.gaussian_nll_loss",
        f"{a}, {b}, {unit}",
        full=_BOTH,
        epsilon="1e-6 | 0.5",
        reduction=_RED,
        pairs=6,
    )
    yield from spread(
        "F.sigmoid_focal_loss",
        f"{a}, I(3, 4, high=2).astype('float32')",
        normalizer="None | paddle.to_tensor([3.0])",
        alpha="0.25 | 0.5",
        gamma="2.0 | 1",
        reduction=_RED,
        pairs=8,
    )
    yield from spread(
        "F.dice_loss",
        "F.softmax(T(3, 4)), I(3, 1, high=4)",
        "input=F.softmax(T(2, 5, 4)), label=I(2, 5, 1, high=4)",
        epsilon="1e-5 | 0.1",
    )
    yield from spread(
        "F.npair_loss", "T(3, 4), T(3, 4, seed=1), I(3, high=2)", l2_reg="0.002 | 0.5"
    )
    yield from spread(
        "F.label_smooth",
        "F.one_hot(I(3, high=4), 4)",
        "label=T(2, 3, 4, low=0)",
        prior_dist="None | T(1, 4, seed=2, low=0.1)",
        epsilon="0.1 | 0.3",
        pairs=3,
    )
    yield from spread(
        "F.ctc_loss",
        "T(5, 2, 4), I(2, 2, low=1, high=4, dtype='int32'), paddle.to_tensor([5, 4]), paddle.to_tensor([2, 1])",
        blank="0",
        reduction=_RED,
        norm_by_times=_BOTH,
        zero_infinity="False",
        pairs=3,
    )
    yield from spread(
        "F.rnnt_loss",
        "T(2, 4, 3, 5), I(2, 2, low=1, high=5, dtype='int32'), paddle.to_tensor([4, 3], 'int32'), paddle.to_tensor([2, 1], 'int32')",
        blank="0",
        fastemit_lambda="0.001 | 0.0",
        reduction=_RED,
        pairs=3,
    )
    yield from spread(
        "F.margin_cross_entropy",
        "T(4, 5), I(4, high=5)",
        margin1="1.0",
        margin2="0.5 | 0.1",
        margin3="0.0 | 0.2",
        scale="64.0 | 8.0",
        return_softmax=_BOTH,
        reduction="'mean' | 'sum' | None",
        pairs=5,
    )
    yield from spread(
        "F.hsigmoid_loss",
        "T(3, 4), I(3, 1, high=5), 5, T(4, 4, seed=1)",
        bias="None | T(4, 1, seed=2)",
        is_sparse="False",
        pairs=1,
    )
    yield from spread(
        "F.cosine_similarity",
        "T(3, 4), T(3, 4, seed=1)",
        "x1=T(2, 3, 4), x2=T(2, 3, 4, seed=1)",
        axis="1 | 0 | -1",
        eps="1e-8 | 0.5",
        pairs=5,
    )
    yield from spread(
        "F.pairwise_distance",
        "T(3, 4), T(3, 4, seed=1)",
        "x=T(4), y=T(4, seed=1)",
        p="2.0 | 1 | float('inf') | 0",
        epsilon="1e-6 | 0.1",
        keepdim=_BOTH,
        pairs=8,
    )
    yield from spread(
        "paddle.pdist",
        "T(4, 3)",
        "x=T(2, 3)",
        p="2.0 | 1.0 | float('inf') | 0.0",
    )
    yield from spread(
        "paddle.cdist",
        "T(4, 3), T(2, 3, seed=1)",
        "x=T(2, 4, 3), y=T(2, 2, 3, seed=1)",
        p="2.0 | 1.0 | float('inf') | 0.0 | 3.0",
        compute_mode="'use_mm_for_euclid_dist_if_necessary' | 'use_mm_for_euclid_dist' | 'donot_use_mm_for_euclid_dist'",
        pairs=8,
    )


CASES = unique(_losses())
