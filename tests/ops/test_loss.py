"""Loss ops against NumPy; sequence losses against sums over all alignments."""

import itertools

import numpy as np
import pytest
from scipy import special
from tests.ops.harness import A, Case, array, table_tests, tensor

import argosy
from argosy import _core

WIDE = ("float32", "float64")
HALF = {"float16": (6e-3, 4e-3), "bfloat16": (4e-2, 4e-2), "float32": (2e-5, 2e-6), "float64": (1e-11, 1e-12)}  # fmt: skip
XY = [A(4, 3), A(4, 3)]
PROBABILITY = A(4, 3, low=0.05, high=0.95)
LABELS = np.array([0, 2, 1, 4])
SIGNS = np.array([[1, -1, 1], [-1, -1, 1], [1, 1, 1], [-1, 1, -1]])


def reduced(losses, reduction="mean"):
    return {"mean": np.mean, "sum": np.sum, "none": lambda x: x}[reduction](losses)


def soft(x, axis=-1):
    return special.softmax(x, axis)


def hard_loss(x, label, weight=None, axis=-1, ignore_index=-100, use_softmax=True):
    """(loss, weight of each position), label without the class axis."""
    p = np.moveaxis(soft(x, axis) if use_softmax else x, axis, -1)
    kept = label != ignore_index
    safe = np.where(kept, label, 0).astype(int)
    w = kept * (1.0 if weight is None else weight[safe])
    return -np.log(np.take_along_axis(p, safe[..., None], -1)[..., 0]) * w, w


def cross_entropy(x, label, weight=None, ignore_index=-100, reduction="mean", soft_label=False,
                  axis=-1, use_softmax=True, label_smoothing=0.0):  # fmt: skip
    classes = x.shape[axis]
    if soft_label or label_smoothing:
        if not soft_label:
            label = np.moveaxis(np.eye(classes)[label.astype(int)], -1, axis)
        label = label * (1 - label_smoothing) + label_smoothing / classes
        loss = -(label * np.log(soft(x, axis) if use_softmax else x)).sum(axis, keepdims=True)
        w = np.ones_like(loss)
        if weight is not None:
            w = np.moveaxis(np.moveaxis(label, axis, -1) @ weight[:, None], -1, axis)
        loss, average = loss * w, weight is not None
    else:
        keep = label.ndim == x.ndim
        flat = label.squeeze(axis) if keep else label
        loss, w = hard_loss(x, flat, weight, axis, ignore_index, use_softmax)
        loss = np.expand_dims(loss, axis) if keep else loss
        average = weight is not None or ignore_index >= 0
    if reduction == "mean" and average:
        return loss.sum() / w.sum()
    return reduced(loss, reduction)


def nll_loss(x, label, weight=None, ignore_index=-100, reduction="mean"):
    p = np.moveaxis(np.exp(x), 1, -1)
    loss, w = hard_loss(p, label, weight, -1, ignore_index, use_softmax=False)
    return loss.sum() / w.sum() if reduction == "mean" else reduced(loss, reduction)


def bce(p, y, weight=None, reduction="mean"):
    loss = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    return reduced(loss if weight is None else loss * weight, reduction)


def bce_logits(x, y, weight=None, pos_weight=None, reduction="mean"):
    factor = 1 if pos_weight is None else pos_weight
    loss = factor * y * np.logaddexp(0, -x) + (1 - y) * np.logaddexp(0, x)
    return reduced(loss if weight is None else loss * weight, reduction)


def focal(x, y, normalizer=None, alpha=0.25, gamma=2.0, reduction="sum"):
    p = special.expit(x)
    p_t, a_t = p * y + (1 - p) * (1 - y), alpha * y + (1 - alpha) * (1 - y)
    loss = a_t * (1 - p_t) ** gamma * bce_logits(x, y, reduction="none")
    return reduced(loss if normalizer is None else loss / normalizer, reduction)


def huber(x, y, reduction="mean", delta=1.0, is_huber=True):
    d = np.abs(x - y)
    loss = np.where(d < delta, d * d / 2, delta * (d - delta / 2))
    return reduced(loss if is_huber else loss / delta, reduction)


def kl(x, y, reduction="mean", log_target=False):
    loss = np.exp(y) * (y - x) if log_target else np.where(y > 0, special.xlogy(y, y) - y * x, 0)
    return loss.sum() / len(x) if reduction == "batchmean" else reduced(loss, reduction)


def poisson(x, y, log_input=True, full=False, epsilon=1e-8, reduction="mean"):
    loss = np.exp(x) - y * x if log_input else x - y * np.log(x + epsilon)
    if full:
        safe = np.where(y > 1, y, 1)
        stirling = safe * np.log(safe) - safe + np.log(2 * np.pi * safe) / 2
        loss = loss + np.where(y > 1, stirling, 0)
    return reduced(loss, reduction)


def gaussian(x, y, v, full=False, epsilon=1e-6, reduction="mean"):
    v = np.maximum(v if v.ndim == x.ndim else v[..., None], epsilon)
    return reduced((np.log(v) + (x - y) ** 2 / v) / 2 + full * np.log(2 * np.pi) / 2, reduction)


def cosine(x, y, label, margin=0.0, reduction="mean"):
    cos = (x * y).sum(-1) / np.sqrt(((x**2).sum(-1) + 1e-11) * ((y**2).sum(-1) + 1e-11))
    return reduced(np.where(label == 1, 1 - cos, np.maximum(cos - margin, 0)), reduction)


def triplet(x, p, n, margin=1.0, swap=False, reduction="mean", **_):
    def distance(a, b):
        return np.linalg.norm(a - b + 1e-6, axis=-1)

    far = np.minimum(distance(x, n), distance(p, n)) if swap else distance(x, n)
    return reduced(np.maximum(distance(x, p) - far + margin, 0), reduction)


def npair(anchor, positive, labels, l2_reg=0.002):
    same = (labels[:, None] == labels[None]).astype(float)
    target = same / same.sum(1, keepdims=True)
    loss = -(target * np.log(soft(anchor @ positive.T))).sum(1, keepdims=True)
    lengths = (anchor**2).sum(1).mean() + (positive**2).sum(1).mean()
    return lengths * l2_reg / 4 + (target * loss).sum(0).mean()


def dice(x, label, epsilon=1e-5):
    y = np.eye(x.shape[-1])[label[..., 0]]
    axes = tuple(range(1, x.ndim))
    return (1 - 2 * (x * y).sum(axes) / (x.sum(axes) + y.sum(axes) + epsilon)).mean()


def multi_margin(x, label, weight=None, p=1, margin=1.0, reduction="mean"):
    n, c = x.shape
    own = x[np.arange(n), label][:, None]
    loss = np.maximum(margin - own + x, 0) ** p
    loss[np.arange(n), label] = 0
    loss = loss.mean(1) * (1 if weight is None else weight[label])
    return reduced(loss, reduction)


def multi_label_margin(x, label, reduction="mean"):
    losses = []
    for row, names in zip(x, label):
        names = list(itertools.takewhile(lambda v: v != -1, names))
        others = [k for k in range(len(row)) if k not in names]
        losses.append(sum(max(0, 1 - row[t] + row[k]) for t in names for k in others) / len(row))
    return reduced(np.array(losses), reduction)


def margin_cross_entropy(x, label, margin1=1.0, margin2=0.5, margin3=0.0, scale=64.0,
                         reduction="mean"):  # fmt: skip
    x = x.copy()
    rows = np.arange(len(x))
    x[rows, label] = np.cos(margin1 * np.arccos(x[rows, label]) + margin2) - margin3
    loss, _ = hard_loss(scale * x, label)
    return reduced(loss[:, None], reduction), soft(scale * x)


def hsigmoid(x, label, weight, bias=None, table=None, code=None, num_classes=2):
    depth = int(num_classes - 1).bit_length() if table is None else table.shape[1]
    out = np.zeros((len(x), 1))
    for i, c in enumerate(label.reshape(-1)):
        for b in range(depth):
            node = ((c + num_classes) >> (b + 1)) - 1 if table is None else table[i, b]
            turn = (c + num_classes) >> b & 1 if table is None else code[i, b]
            if node < 0:
                out[i] += np.log(2)
                continue
            score = weight[node] @ x[i] + (0 if bias is None else bias.reshape(-1)[node])
            out[i] += np.logaddexp(0, score) - turn * score
    return out


CUTOFFS = {"cutoffs": [3, 5, 8]}
TAILS = [A(4, 2), A(2, 2), A(4, 1), A(1, 3)]


def adaptive_probabilities(x, head, bias, tails, cutoffs):
    scores = np.log(soft(x @ head + (0 if bias is None else bias)))
    parts = [scores[:, : cutoffs[0]]]
    for i in range(len(cutoffs) - 1):
        inner = np.log(soft(x @ tails[2 * i] @ tails[2 * i + 1]))
        parts.append(inner + scores[:, cutoffs[0] + i : cutoffs[0] + i + 1])
    return np.concatenate(parts, 1)


def adaptive_loss(x, label, head, bias, tails, cutoffs):
    p = adaptive_probabilities(np.atleast_2d(x), head, bias, tails, cutoffs)
    out = p[np.arange(len(p)), np.atleast_1d(label)]
    return out.reshape(np.shape(label)), -out.mean()


GUESS = np.array([[1, 2, 3, 0, 2], [4, 4, 1, 2, 1], [0, 1, 1, 3, 3]])
TRUTH = np.array([[1, 3, 0, 2], [4, 1, 4, 1], [3, 3, 3, 1]])


def edit_distance(a, b, a_length=None, b_length=None, normalized=True, ignored_tokens=()):
    """The recursion over first tokens, by row."""

    def distance(x, y):
        if not x or not y:
            return len(x) + len(y)
        rest = distance(x[1:], y[1:])
        return rest if x[0] == y[0] else 1 + min(rest, distance(x[1:], y), distance(x, y[1:]))

    def rows(tokens, length):
        lengths = [tokens.shape[1]] * len(tokens) if length is None else length
        return [
            [t for t in row[: int(n)] if t not in ignored_tokens]
            for row, n in zip(tokens.tolist(), lengths)
        ]

    pairs = list(zip(rows(a, a_length), rows(b, b_length)))
    found = [[distance(x, y) / (len(y) if normalized else 1)] for x, y in pairs]
    return np.reshape(found, (-1, 1)), np.array([len(pairs)])


# fmt: off
CASES = [
    Case("edit_distance", [GUESS, TRUTH], {"normalized": False}, ref=edit_distance, grad=False, dtypes=("int64",), out=("float32", "int64"),
         errors=[([GUESS, TRUTH[:2]], {}, ValueError, "edit_distance"), ([GUESS[0], TRUTH], {}, ValueError, "edit_distance"),
                 ([GUESS, TRUTH, np.array([3, 9, 1]), None], {}, ValueError, "expected 0 to 5, got 9"),
                 ([GUESS, TRUTH, None, np.array([3, 0, 1])], {}, ValueError, "label 1 is empty")]),
    Case("edit_distance", [GUESS, TRUTH, np.array([5, 0, 3]), np.array([4, 2, 1])], ref=edit_distance, grad=False, dtypes=("int64",), out=("float32", "int64"), note="lengths"),
    Case("edit_distance", [GUESS, TRUTH], {"ignored_tokens": [0, 2]}, ref=edit_distance, grad=False, dtypes=("int64",), out=("float32", "int64"), note="ignored"),
    Case("edit_distance", [GUESS[:0], TRUTH[:0]], ref=edit_distance, grad=False, dtypes=("int64",), out=("float32", "int64"), note="no rows"),
    Case("edit_distance", [GUESS, TRUTH[:, :0]], {"normalized": False}, ref=edit_distance, grad=False, dtypes=("int64",), out=("float32", "int64"), note="empty labels"),
    Case("square_error_cost", XY, ref=lambda x, y: (x - y) ** 2, tol=4.0),
    Case("mse_loss", XY, ref=lambda x, y, **a: reduced((x - y) ** 2, **a), tol=HALF,
         errors=[(XY, {"reduction": "max"}, ValueError, "'reduction' in mse_loss")]),
    Case("mse_loss", [A(4, 3), A(3)], {"reduction": "none"}, ref=lambda x, y, **a: reduced((x - y) ** 2, **a), tol=4.0),
    Case("l1_loss", XY, {"reduction": "sum"}, ref=lambda x, y, **a: reduced(np.abs(x - y), **a), tol=HALF),
    Case("smooth_l1_loss", XY, {"delta": 0.7}, ref=huber, tol=HALF, covers=["huber_error"],
         errors=[([A(4, 3), A(4, 2)], {}, ValueError, "must have the same shape")]),
    Case("smooth_l1_loss", XY, {"delta": 0.7, "is_huber": False, "reduction": "none"}, ref=huber, tol=HALF),
    Case("kl_div", [A(4, 3), PROBABILITY], {"reduction": "batchmean"}, ref=kl, tol=HALF),
    Case("kl_div", [A(4, 3), np.array([[0.0, 0.2, 0.8]] * 4)], {"reduction": "none"}, ref=kl, tol=HALF, grad=False),
    Case("kl_div", XY, {"log_target": True}, ref=kl, tol=HALF),
    Case("log_loss", [PROBABILITY, PROBABILITY], {"epsilon": 1e-3}, ref=lambda p, y, epsilon: -y * np.log(p + epsilon) - (1 - y) * np.log(1 - p + epsilon), tol=HALF),
    Case("poisson_nll_loss", XY, ref=poisson, tol=HALF, errors=[(XY, {"epsilon": 0.0}, ValueError, "should be positive")]),
    Case("poisson_nll_loss", [A(4, 3, low=0.5), A(4, 3, low=0.5, high=5, grad=False)], {"log_input": False, "full": True, "reduction": "none"}, ref=poisson, dtypes=WIDE, tol=3.0),
    Case("gaussian_nll_loss", [*XY, A(4, 3, low=0.5)], ref=gaussian, tol=HALF, covers=["floored_variance"],
         errors=[([*XY, A(4, 2, low=0.5)], {}, ValueError, "incorrect shape"),
                 ([*XY, A(4, 3, low=-2, high=-1)], {}, ValueError, "negative entry")]),
    Case("gaussian_nll_loss", [*XY, A(4, low=0.5)], {"full": True, "reduction": "none"}, ref=gaussian, tol=HALF),
    Case("binary_cross_entropy", [PROBABILITY, PROBABILITY, A(4, 3)], ref=bce, tol=HALF, covers=["probability_loss"],
         errors=[([A(4, 3, low=2, high=3), PROBABILITY], {}, ValueError, "must be in [0, 1]")]),
    Case("binary_cross_entropy_with_logits", [A(4, 3), PROBABILITY, A(4, 3), A(3, low=0.5)], {"reduction": "none"}, ref=bce_logits, tol=HALF),
    Case("binary_cross_entropy_with_logits", [A(4, 3, low=-30, high=30), PROBABILITY], ref=bce_logits, tol=HALF, covers=["logits_loss"], note="large"),
    Case("sigmoid_focal_loss", [A(4, 3), np.array([[1.0, 0, 0]] * 4), np.array([2.0])], ref=focal, dtypes=WIDE, tol=3.0,
         errors=[(XY + [A(4, 3)], {}, ValueError, "one dimension of normalizer")]),
    Case("soft_margin_loss", [A(4, 3), SIGNS], ref=lambda x, y, **a: reduced(np.log1p(np.exp(-y * x)), **a), dtypes=WIDE, tol=3.0),
    Case("multi_label_soft_margin_loss", [A(4, 3), PROBABILITY, A(3)], {"reduction": "none"}, tol=HALF,
         ref=lambda x, y, w, **a: reduced((bce_logits(x, y, reduction="none") * w).mean(-1), **a)),
    Case("hinge_embedding_loss", [A(4, 3), SIGNS], {"margin": 0.5}, dtypes=WIDE, tol=3.0,
         ref=lambda x, y, margin: np.where(y == 1, x, np.maximum(margin - x, 0)).mean()),
    Case("margin_ranking_loss", [*XY, SIGNS.astype(float)], {"margin": 0.5}, dtypes=WIDE, tol=3.0,
         ref=lambda x, y, s, margin: np.maximum(-s * (x - y) + margin, 0).mean()),
    Case("cosine_embedding_loss", [*XY, np.array([1, -1, -1, 1])], {"margin": 0.1, "reduction": "none"}, ref=cosine, dtypes=WIDE, tol=3.0,
         errors=[([*XY, A(4, 1)], {}, ValueError, "1D target tensor expected")]),
    Case("triplet_margin_loss", [*XY, A(4, 3)], {"swap": True}, ref=triplet, dtypes=WIDE, tol=3.0,
         errors=[([*XY, A(4, 2)], {}, ValueError, "same shape")]),
    Case("npair_loss", [*XY, np.array([0, 1, 0, 2])], ref=npair, dtypes=WIDE, tol=3.0),
    Case("dice_loss", [A(4, 2, 5, low=0.1, high=1), np.array([[[0], [4]], [[1], [2]], [[3], [3]], [[2], [0]]])], ref=dice, dtypes=WIDE, tol=3.0),
    Case("multi_margin_loss", [A(4, 5), LABELS, A(5)], {"p": 2, "margin": 0.8}, ref=multi_margin, dtypes=WIDE, tol=3.0, covers=["select_class", "spread_class", "class_weights"],
         errors=[([A(4, 5), LABELS, A(4)], {}, ValueError, "weight's shape[0]")]),
    Case("multi_margin_loss", [A(4, 5), LABELS, None], {"reduction": "none"}, ref=multi_margin, dtypes=WIDE, tol=3.0),
    Case("multi_label_margin_loss", [A(3, 4), np.array([[3, 0, -1, 1], [-1, 2, 2, 2], [0, 1, 2, -1]])], {"reduction": "none"}, ref=multi_label_margin, dtypes=WIDE, tol=3.0,
         covers=["multi_label_margin_rows", "multi_label_margin_rows_grad"],
         errors=[([A(1, 3), np.array([[3, -1, 0]])], {}, ValueError, "should be < 3")]),
    Case("nll_loss", [A(4, 5), LABELS, A(5, low=0.5)], ref=nll_loss, dtypes=WIDE, tol=3.0,
         errors=[([A(4), LABELS], {}, ValueError, "Expected 2 or more dimensions")]),
    Case("nll_loss", [A(4, 5), LABELS.reshape(4, 1), None], {"reduction": "none"}, dtypes=WIDE, tol=3.0,
         ref=lambda x, label, w, reduction: nll_loss(x, label[:, 0], w, reduction=reduction), note="kept axis"),
    Case("nll_loss", [A(2, 5, 2), LABELS.reshape(2, 1, 2), A(5, low=0.5)], dtypes=WIDE, tol=3.0,
         ref=lambda x, label, w: nll_loss(x, label[:, 0], w), note="kept axis"),
    Case("nll_loss", [A(4, 5), LABELS * 0 - 100, None], ref=lambda x, label, _: 0.0, dtypes=WIDE, note="all ignored"),
    Case("nll_loss", [A(2, 5, 2), LABELS.reshape(2, 2), None], {"ignore_index": 2, "reduction": "none"}, ref=nll_loss, dtypes=WIDE, tol=3.0),
    Case("cross_entropy", [A(4, 5), LABELS, None], ref=cross_entropy, tol=HALF, covers=["hard_cross_entropy", "hard_cross_entropy_grad"],
         errors=[([A(4, 5), np.array([0, 1, 5, 2]), None], {}, IndexError, "label 5 is out of range"),
                 ([A(4, 5), LABELS.reshape(2, 2, 1), None], {}, ValueError, "Expected input_dims - 1"),
                 ([A(4, 5), LABELS, A(4)], {}, ValueError, "weight's class_dimension"),
                 ([A(4, 5), LABELS, None], {"label_smoothing": 1.5}, ValueError, "label_smoothing")]),
    Case("cross_entropy", [A(4, 5), LABELS[:, None], A(5, low=0.5)], {"reduction": "none"}, ref=cross_entropy, tol=HALF),
    Case("cross_entropy", [A(2, 5, 2), LABELS.reshape(2, 2), A(5, low=0.5)], {"axis": 1, "ignore_index": 4}, ref=cross_entropy, tol=HALF),
    Case("cross_entropy", [A(4, 5), LABELS, None], {"ignore_index": 4}, ref=cross_entropy, tol=HALF),
    Case("cross_entropy", [A(4, 5, low=0.1, high=1), LABELS, A(5, low=0.5)], {"use_softmax": False}, ref=cross_entropy, tol=HALF),
    Case("cross_entropy", [A(4, 3), PROBABILITY, A(3, low=0.5)], {"soft_label": True}, ref=cross_entropy, tol=HALF),
    Case("cross_entropy", [A(4, 5), LABELS, None], {"label_smoothing": 0.2, "reduction": "sum"}, ref=cross_entropy, tol=HALF),
    Case("cross_entropy", [A(4, 5), LABELS, A(5, low=0.5)], {"label_smoothing": 0.2, "reduction": "none"}, ref=cross_entropy, tol=HALF),
    Case("softmax_with_cross_entropy", [A(4, 5), LABELS[:, None]], ref=lambda x, y: (hard_loss(x, y[:, 0])[0][:, None], soft(x)), tol=HALF),
    Case("softmax_with_cross_entropy", [A(4, 3), PROBABILITY], {"soft_label": True}, ref=lambda x, y, **_: (cross_entropy(x, y, soft_label=True, reduction="none"), soft(x)), tol=HALF),
    Case("margin_cross_entropy", [A(4, 5, low=-0.7, high=0.7), LABELS], {"scale": 8.0}, ref=margin_cross_entropy, dtypes=WIDE, tol=10.0),
    Case("hsigmoid_loss", [A(4, 3), LABELS, A(5, 3), A(5, 1)], {"num_classes": 6}, ref=hsigmoid, dtypes=WIDE, tol=3.0, covers=["hsigmoid_path"],
         errors=[([A(4, 3), LABELS, A(5, 3)], {"num_classes": 1}, ValueError, "num_classes >= 2")]),
    Case("hsigmoid_loss", [A(2, 3), np.array([0, 1]), A(4, 3), None, np.array([[0, 2, 3], [0, 1, -1]]), np.array([[1, 0, 1], [0, 1, -1]])],
         {"num_classes": 4}, ref=hsigmoid, dtypes=WIDE, tol=3.0),
    Case("adaptive_log_softmax_with_loss", [A(4, 4), np.array([0, 4, 7, 2]), A(4, 5), A(5), TAILS], CUTOFFS, ref=adaptive_loss, dtypes=WIDE, tol=3.0, covers=["cluster_labels"],
         errors=[([A(4, 4), np.array([0, 4, 8, 2]), A(4, 5), A(5), TAILS], CUTOFFS, ValueError, "n_classes - 1")]),
    Case("adaptive_log_prob", [A(4, 4), A(4, 5), A(5), TAILS], CUTOFFS, ref=adaptive_probabilities, dtypes=WIDE, tol=3.0, note="bias"),
    Case("adaptive_log_prob", [A(4, 4), A(4, 5), None, TAILS], CUTOFFS, ref=adaptive_probabilities, dtypes=WIDE, tol=3.0),
]
# fmt: on

COVERS = {
    "ctc_loss": "test_ctc_loss",
    "ctc_rows": "test_ctc_loss",
    "alignment_grad": "test_second_derivatives_of_alignments",
    "rnnt_loss": "test_rnnt_loss",
    "rnnt_rows": "test_rnnt_loss",
}

test_values, test_gradients, test_errors = table_tests(CASES)


# --- alignments ---


def ctc_by_hand(x, label):
    """-log of the sum over all paths of classes that collapse to label."""
    p, total = soft(x), 0.0
    for path in itertools.product(range(x.shape[1]), repeat=len(x)):
        collapsed = [k for k, _ in itertools.groupby(path) if k != 0]
        if collapsed == list(label):
            total += np.prod(p[np.arange(len(x)), path])
    return -np.log(total)


def rnnt_by_hand(x, label):
    """-log of the sum over all orders of blanks (a step in time) and labels."""
    p, total = np.exp(x), 0.0
    steps, labels = x.shape[0], len(label)
    for emits in itertools.combinations(range(steps - 1 + labels), labels):
        t = u = 0
        value = 1.0
        for i in range(steps - 1 + labels):
            value *= p[t, u, label[u]] if i in emits else p[t, u, 0]
            t, u = (t, u + 1) if i in emits else (t + 1, u)
        total += value * p[t, u, 0]
    return -np.log(total)


def check_gradient(call, x, want_loss):
    t = tensor(x)
    t.stop_gradient = False
    loss = call(t)
    np.testing.assert_allclose(array(loss), want_loss, rtol=1e-9)
    weights = np.linspace(0.5, 1.5, loss.size).reshape(loss.shape)
    (grad,) = argosy.grad([loss], [t], [tensor(weights)])
    for index in np.ndindex(*x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[index] += sign * 1e-6
            ends.append((array(call(tensor(moved))) * weights).sum())
        assert grad.numpy()[index] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)


def test_ctc_loss():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 2, 3))
    labels, steps, lengths = np.array([[1, 1], [2, 9]], "int32"), [4, 3], [2, 1]
    want = np.array([ctc_by_hand(x[:4, 0], [1, 1]), ctc_by_hand(x[:3, 1], [2])])

    def call(t, reduction="none"):
        return _core.ops.ctc_loss(
            t, tensor(labels), tensor(np.array(steps)), tensor(np.array(lengths)), 0, reduction
        )

    check_gradient(call, x, want)
    assert array(call(tensor(x), "mean")) == pytest.approx((want / lengths).mean())
    assert array(call(tensor(x), "sum")) == pytest.approx(want.sum())


def test_ctc_of_an_impossible_sequence():
    x = np.zeros((2, 1, 3))
    labels, steps = tensor(np.array([[1, 1]], "int32")), tensor(np.array([2]))
    lengths = tensor(np.array([2]))
    call = _core.ops.ctc_loss
    assert np.isinf(array(call(tensor(x), labels, steps, lengths, 0, "sum", False, False)))
    t = tensor(x)
    t.stop_gradient = False
    loss = call(t, labels, steps, lengths, 0, "sum", False, True)
    (grad,) = argosy.grad([loss], [t])
    assert array(loss) == 0 and (grad.numpy() == 0).all()


def test_rnnt_loss():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 3, 4))
    labels = np.array([[1, 3], [2, 0]], "int32")
    steps, lengths = tensor(np.array([3, 2], "int32")), tensor(np.array([2, 1], "int32"))
    want = np.array([rnnt_by_hand(x[0], [1, 3]), rnnt_by_hand(x[1, :2, :2], [2])])

    def call(t):
        return _core.ops.rnnt_loss(t, tensor(labels), steps, lengths, 0, 0.0, "none")

    check_gradient(call, x, want)


def test_second_derivatives_of_alignments():
    """There is none by the scores, and one by what the gradient is multiplied with."""
    x = tensor(np.random.default_rng(0).normal(size=(4, 2, 3)))
    dy = tensor(np.ones(2))
    x.stop_gradient = dy.stop_gradient = False
    labels, ones = tensor(np.array([[1], [2]], "int32")), tensor(np.array([1, 1]))
    steps = tensor(np.array([4, 3]))
    loss = _core.ops.ctc_loss(x, labels, steps, ones, 0, "none")
    (first,) = argosy.grad([loss], [x], [dy], create_graph=True)
    with pytest.raises(NotImplementedError, match="no second derivative by its scores"):
        argosy.grad([first], [x, dy], retain_graph=True)
    (second,) = argosy.grad([first * 2], [dy], no_grad_vars=[x])
    np.testing.assert_allclose(second.numpy(), 2 * first.numpy().sum((0, 2)), atol=1e-12)


def test_fastemit_scales_the_emissions():
    t = tensor(np.random.default_rng(1).normal(size=(1, 3, 3, 4)))
    lengths = [tensor(np.array([n], "int32")) for n in (3, 2)]
    grads = []
    for part in (0.0, 0.5):
        t.stop_gradient = False
        loss = _core.ops.rnnt_loss(t, tensor(np.array([[1, 3]])), *lengths, 0, part, "sum")
        grads.append(argosy.grad([loss], [t])[0].numpy())
    np.testing.assert_allclose(grads[1][..., 1:], 1.5 * grads[0][..., 1:])
    np.testing.assert_allclose(grads[1][..., 0], grads[0][..., 0])


def test_labels_of_other_dtypes():
    x = np.random.default_rng(0).normal(size=(4, 5))
    want = cross_entropy(x, LABELS)
    for dtype in ("int32", "uint8", "float32"):
        got = _core.ops.cross_entropy(tensor(x), tensor(LABELS.astype(dtype)), None)
        assert array(got) == pytest.approx(want)


@pytest.mark.parametrize("weighted", [False, True])
def test_mean_over_elements_of_soft_labels(weighted):
    """With an ignored class the mean of soft labels counts their elements, as in Paddle."""
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(4, 3)), np.array([1.0, 2.0, 3.0])
    probability = rng.dirichlet(np.ones(3), 4)
    probability[0] = [0, 1, 0]
    log_softmax = x - np.log(np.exp(x).sum(1, keepdims=True))
    numbers = np.array([1, 0, 2, 1])
    smooth = 0.9 * np.eye(3)[numbers] + 0.1 / 3
    given = argosy.to_tensor(weight) if weighted else None
    for soft, label, options in (
        (probability, probability, {"soft_label": True}),
        (smooth, numbers, {"label_smoothing": 0.1}),
    ):
        rows = soft @ weight if weighted else np.ones(4)
        losses = -(soft * log_softmax).sum(1) * rows
        got = argosy.nn.functional.cross_entropy(
            argosy.to_tensor(x), argosy.to_tensor(label), given, ignore_index=0, **options
        )
        want = losses.sum() / ((soft != 0) * rows[:, None]).sum()
        np.testing.assert_allclose(got.item(), want, rtol=1e-6)
        got = argosy.nn.functional.cross_entropy(
            argosy.to_tensor(x), argosy.to_tensor(label), given, **options
        )
        np.testing.assert_allclose(got.item(), losses.sum() / rows.sum(), rtol=1e-6)
