"""Metrics against counts made by hand."""

import numpy as np
import pytest

import argosy
from argosy import metric


def problem(n=50, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.permuted(np.tile(np.linspace(0, 1, classes), (n, 1)), axis=1).astype("float32")
    return scores, rng.integers(0, classes, (n, 1))


def top(scores, labels, k):
    best = np.argsort(-scores, axis=-1)[..., :k]
    return (best == labels).any(-1).mean()


def test_accuracy():
    scores, labels = problem()
    m = metric.Accuracy(topk=(1, 3))
    assert m.name() == ["acc_top1", "acc_top3"]
    for part in (slice(0, 30), slice(30, 50)):
        correct = m.compute(argosy.to_tensor(scores[part]), argosy.to_tensor(labels[part]))
        assert correct.shape == [scores[part].shape[0], 3]
        assert str(correct.dtype).endswith("float32")
        found = m.update(correct)
        wanted = [top(scores[part], labels[part], k) for k in (1, 3)]
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_allclose(m.accumulate(), [top(scores, labels, k) for k in (1, 3)], rtol=1e-6)
    m.reset()
    assert m.accumulate() == [0.0, 0.0]


@pytest.mark.parametrize("form", ["column", "flat", "one-hot", "int32"])
def test_forms_of_labels(form):
    scores, labels = problem()
    given = {
        "column": labels,
        "flat": labels[:, 0],
        "one-hot": np.eye(4, dtype="float32")[labels[:, 0]],
        "int32": labels.astype("int32"),
    }[form]
    m = metric.Accuracy()
    assert m.name() == ["acc"]
    found = m.update(m.compute(argosy.to_tensor(scores), argosy.to_tensor(given)).numpy())
    assert found == pytest.approx(top(scores, labels, 1))


def test_accuracy_of_sequences():
    scores, labels = problem(24)
    m = metric.Accuracy()
    correct = m.compute(
        argosy.to_tensor(scores.reshape(4, 6, 4)), argosy.to_tensor(labels.reshape(4, 6, 1))
    )
    assert correct.shape == [4, 6, 1]
    assert m.update(correct) == pytest.approx(top(scores, labels, 1))
    assert metric.Accuracy(topk=(2,), name="x").name() == ["x_top2"]


def test_accuracy_function():
    scores, labels = problem()
    x, y = argosy.to_tensor(scores), argosy.to_tensor(labels)
    for k in (1, 2):
        out = metric.accuracy(x, y, k=k)
        assert out.shape == [] and float(out) == pytest.approx(top(scores, labels, k))
    correct = argosy.to_tensor(np.zeros(1, "int32"))
    total = argosy.to_tensor(np.zeros(1, "int64"))
    metric.accuracy(x, y, correct=correct, total=total)
    assert int(correct) == round(top(scores, labels, 1) * 50) and int(total) == 50
    with pytest.raises(ValueError, match=r"expected \[N, 1\], got \[50\]"):
        metric.accuracy(x, argosy.to_tensor(labels[:, 0]))


def test_precision_and_recall():
    rng = np.random.default_rng(1)
    preds = rng.random((40, 1)).astype("float32")
    labels = (rng.random((40, 1)) < 0.5).astype("int64")
    chosen, positive = preds > 0.5, labels == 1
    p, r = metric.Precision(), metric.Recall(name="r")
    assert (p.accumulate(), r.accumulate()) == (0.0, 0.0)
    for part in (slice(0, 10), slice(10, 40)):
        p.update(argosy.to_tensor(preds[part]), argosy.to_tensor(labels[part]))
        r.update(preds[part], labels[part])
    both = (chosen & positive).sum()
    assert p.accumulate() == pytest.approx(both / chosen.sum())
    assert r.accumulate() == pytest.approx(both / positive.sum())
    assert (p.name(), r.name()) == ("precision", "r")
    p.reset()
    p.update(np.array([0.5, 0.4999, 0.9]), np.array([1, 1, 0]))
    assert (p.tp, p.fp) == (1, 1)
    r.reset()
    r.update(np.array([0.5, 0.5001]), np.array([1, 1]))
    assert (r.tp, r.fn) == (1, 1)
    with pytest.raises(ValueError, match="preds has the wrong type.*got list"):
        p.update([1], labels)


def rank_auc(scores, labels):
    positive, negative = scores[labels == 1], scores[labels == 0]
    wins = (positive[:, None] > negative).sum() + 0.5 * (positive[:, None] == negative).sum()
    return wins / (len(positive) * len(negative))


def test_auc():
    rng = np.random.default_rng(2)
    scores = np.round(rng.random(300), 2)
    labels = (rng.random(300) < scores).astype("int64")
    preds = np.stack([1 - scores, scores], 1)
    m = metric.Auc(num_thresholds=100000)
    assert m.accumulate() == 0.0 and m.name() == "auc"
    m.update(preds[:100], labels[:100, None])
    m.update(argosy.to_tensor(preds[100:]), argosy.to_tensor(labels[100:]))
    assert m.accumulate() == pytest.approx(rank_auc(scores, labels), abs=1e-4)
    coarse = metric.Auc(num_thresholds=10)
    coarse.update(preds, labels)
    bins = (scores * 10).astype(int)
    assert coarse.accumulate() == pytest.approx(rank_auc(bins, labels))
    m.reset()
    m.update(preds, np.ones(300))
    assert m.accumulate() == 0.0  # one class only
    with pytest.raises(IndexError, match=r"expected \[N, 2\].*got \[300, 1\]"):
        m.update(preds[:, :1], labels)
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\]"):
        m.update(preds * 3, labels)
    assert metric.Auc.trapezoid_area(1, 2, 3, 5) == 4.0


def test_metrics_of_ones_own():
    class Mean(metric.Metric):
        def __init__(self):
            super().__init__()
            self.reset()

        def reset(self):
            self.seen = []

        def update(self, x):
            self.seen.append(float(x))

        def accumulate(self):
            return sum(self.seen) / len(self.seen)

        def name(self):
            return "mean"

    m = Mean()
    for x in (1.0, 3.0):
        m.update(*m.compute(x))
    assert m.accumulate() == 2.0
    with pytest.raises(TypeError, match="abstract"):
        metric.Metric()
    with pytest.raises(NotImplementedError, match=r"\[Mean\] update"):
        metric.Metric.update(m)
