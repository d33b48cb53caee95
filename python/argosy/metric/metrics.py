"""Metrics that accumulate over batches, and ``accuracy`` of one batch."""

import abc

from argosy import _core, tensor
from argosy._beside import beside
from argosy._support import WrongTypeError, check_choice, no_effect
from argosy.autograd import no_grad

__all__ = []


def _as_array(op, name, value):
    """A tensor or array as an array."""
    import numpy

    if hasattr(value, "numpy"):
        return value.numpy()
    if not isinstance(value, numpy.ndarray):
        raise WrongTypeError(
            f"[{op}] {name} has the wrong type: expected a tensor or NumPy array, got "
            f"{type(value).__name__}."
            " Do this: convert it with to_tensor."
        )
    return value


class Metric(metaclass=abc.ABCMeta):
    """Base of metrics.

    For each batch ``compute(*outputs, *labels)`` runs on tensors; what it returns goes to
    ``update``, which adds to the running counts. ``accumulate`` gives the figure so far, ``reset``
    begins anew, ``name`` says what to call it.

    Examples:
        >>> class Largest(argosy.metric.Metric):
        ...     def __init__(self):
        ...         self.reset()
        ...
        ...     def reset(self):
        ...         self.value = 0.0
        ...
        ...     def update(self, predictions, labels):
        ...         self.value = max(self.value, float(predictions.max()))
        ...
        ...     def accumulate(self):
        ...         return self.value
        ...
        ...     def name(self):
        ...         return "largest"
        >>> metric = Largest()
        >>> metric.update(*metric.compute(argosy.to_tensor([1.0, 3.0]), None))
        >>> metric.name(), metric.accumulate()
        ('largest', 3.0)
    """

    def _missing(self, what):
        return NotImplementedError(
            f"[{type(self).__name__}] {what} is missing. Do this: implement it in the subclass."
        )

    @abc.abstractmethod
    def reset(self):
        """Forgets all batches.

        Raises:
            NotImplementedError: the subclass has none.
        """
        raise self._missing("reset()")

    @abc.abstractmethod
    def update(self, *args):
        """Adds a batch.

        Args:
            args: what :meth:`compute` returned, as arrays where ``Model`` calls it.

        Returns:
            As the subclass says; ``Model`` shows it.

        Raises:
            NotImplementedError: the subclass has none.
        """
        raise self._missing("update(*args)")

    @abc.abstractmethod
    def accumulate(self):
        """The figure over all batches since :meth:`reset`.

        Returns:
            float, or a list of them.

        Raises:
            NotImplementedError: the subclass has none.
        """
        raise self._missing("accumulate()")

    @abc.abstractmethod
    def name(self):
        """What to call the figure.

        Returns:
            str, or a list if there are several figures.

        Raises:
            NotImplementedError: the subclass has none.
        """
        raise self._missing("name()")

    def compute(self, *args):
        """What to hand to :meth:`update`: here all of it.

        Args:
            args: outputs of the network, then labels.

        Returns:
            tuple.
        """
        return args


class Accuracy(Metric):
    """Share of samples whose label is among the k largest predictions.

    Args:
        topk (tuple[int]): The values of k, one figure for each.
        name (str, optional): Name of the figure, ``acc`` by default; several get ``_top<k>`` added.
        args, kwargs: of further base classes.

    Examples:
        >>> metric = argosy.metric.Accuracy()
        >>> scores = argosy.to_tensor([[0.1, 0.9], [0.8, 0.2]])
        >>> metric.update(metric.compute(scores, argosy.to_tensor([[1], [1]])))
        0.5
        >>> metric.accumulate(), metric.name()
        (0.5, ['acc'])
    """

    def __init__(self, topk=(1,), name=None, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.topk = topk
        self.maxk = max(topk)
        name = name or "acc"
        self._name = [name] if self.maxk == 1 else [f"{name}_top{k}" for k in topk]
        self.reset()

    def compute(self, pred, label, *args):
        """Which of the largest predictions are right.

        Args:
            pred (Tensor): Scores, [N, classes] or [N, d1, .., classes].
            label (Tensor): Class numbers, [N], [N, 1] or [N, d1, .., 1], or one-hot as `pred`.

        Returns:
            Tensor: float32 [N, .., max(topk)], 1 where the prediction of that rank is the label.
        """
        if args:
            no_effect("Accuracy.compute", "one prediction has one label", args=(args, ()))
        with no_grad():
            classes = pred.shape[-1]
            _, best = tensor.topk(pred, min(self.maxk, classes), axis=-1)
            if label.ndim == 1 or (label.ndim == 2 and label.shape[-1] == 1):
                label = label.reshape([-1, 1])
            elif label.shape[-1] != 1:
                label = tensor.argmax(label, axis=-1, keepdim=True)
            return (best == label.astype(best.dtype)).astype("float32")

    def update(self, correct, *args):
        """Adds what ``compute`` returned.

        Returns:
            The accuracy of this batch, a list of them for several k.
        """
        import math

        correct = _as_array("Accuracy.update", "correct", correct)
        samples = math.prod(correct.shape[:-1])
        figures = []
        for i, k in enumerate(self.topk):
            right = correct[..., :k].sum()
            self.total[i] += right
            self.count[i] += samples
            figures.append(float(right) / samples if samples else 0.0)
        return figures[0] if len(self.topk) == 1 else figures

    def reset(self):
        """Forgets all batches."""
        self.total = [0.0] * len(self.topk)
        self.count = [0] * len(self.topk)

    def accumulate(self):
        """Returns the accuracy over all batches, a list for several k; 0 without batches."""
        figures = [
            float(total) / count if count else 0.0 for total, count in zip(self.total, self.count)
        ]
        return figures[0] if len(self.topk) == 1 else figures

    def name(self):
        """Returns the list of names."""
        return self._name


class Precision(Metric):
    """Of the samples predicted positive (probability rounded half up to 1), the share that is.

    Args:
        name (str): Name of the figure.
        args, kwargs: of further base classes.

    Examples:
        >>> metric = argosy.metric.Precision()
        >>> metric.update(np.array([0.9, 0.6, 0.2]), np.array([1, 0, 1]))
        >>> metric.accumulate()
        0.5
    """

    def __init__(self, name="precision", *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tp = 0
        self.fp = 0
        self._name = name

    def update(self, preds, labels):
        """Adds a batch: `preds` probabilities and `labels` 0 or 1, each [N] or [N, 1]."""
        import numpy

        preds = _as_array("Precision.update", "preds", preds)
        labels = _as_array("Precision.update", "labels", labels)
        chosen = numpy.floor(preds.reshape(-1) + 0.5).astype("int32") == 1
        right = int((chosen & (labels.reshape(-1) == 1)).sum())
        self.tp += right
        self.fp += int(chosen.sum()) - right

    def reset(self):
        """Forgets all batches."""
        self.tp = 0
        self.fp = 0

    def accumulate(self):
        """Returns the precision; 0 where nothing was predicted positive."""
        chosen = self.tp + self.fp
        return self.tp / chosen if chosen else 0.0

    def name(self):
        """Returns the name."""
        return self._name


class Recall(Metric):
    """Of the positive samples, the share that is predicted positive (probability rounded half to
    even to 1).

    Args:
        name (str): Name of the figure.
        args, kwargs: of further base classes.

    Examples:
        >>> metric = argosy.metric.Recall()
        >>> metric.update(np.array([0.9, 0.6, 0.2]), np.array([1, 0, 1]))
        >>> metric.accumulate()
        0.5
    """

    def __init__(self, name="recall", *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tp = 0
        self.fn = 0
        self._name = name

    def update(self, preds, labels):
        """Adds a batch: `preds` probabilities and `labels` 0 or 1, each [N] or [N, 1]."""
        import numpy

        preds = _as_array("Recall.update", "preds", preds)
        labels = _as_array("Recall.update", "labels", labels)
        positive = labels.reshape(-1) == 1
        right = int((positive & (numpy.rint(preds.reshape(-1)).astype("int32") == 1)).sum())
        self.tp += right
        self.fn += int(positive.sum()) - right

    def reset(self):
        """Forgets all batches."""
        self.tp = 0
        self.fn = 0

    def accumulate(self):
        """Returns the recall; 0 where no sample was positive."""
        positive = self.tp + self.fn
        return self.tp / positive if positive else 0.0

    def name(self):
        """Returns the name."""
        return self._name


class Auc(Metric):
    """Area under a curve of the decision threshold, from a histogram of the scores.

    Args:
        curve (str): ``"ROC"``, the receiver operating characteristic, or ``"PR"``, precision over
            recall, as ``static.auc`` computes it.
        num_thresholds (int): Number of the histogram's intervals; more are more exact.
        name (str): Name of the figure.
        args, kwargs: of further base classes.

    Raises:
        ValueError: the curve is unknown.

    Examples:
        >>> metric = argosy.metric.Auc()
        >>> ones = np.array([0.9, 0.6, 0.2])
        >>> metric.update(np.stack([1 - ones, ones], 1), np.array([1, 0, 0]))
        >>> metric.accumulate(), metric.trapezoid_area(0, 2, 1, 3)
        (1.0, 4.0)
    """

    def __init__(self, curve="ROC", num_thresholds=4095, name="auc", *args, **kwargs):
        super().__init__(*args, **kwargs)
        check_choice("Auc", "curve", curve, ("ROC", "PR"))
        self._curve = curve
        self._num_thresholds = num_thresholds
        self._name = name
        self.reset()

    def update(self, preds, labels):
        """Adds a batch: `preds` [N, 2], probabilities of classes 0 and 1; `labels` [N] or [N, 1]."""
        import numpy

        preds = _as_array("Auc.update", "preds", preds)
        labels = _as_array("Auc.update", "labels", labels).reshape(-1)
        if preds.ndim != 2 or preds.shape[1] < 2:
            raise IndexError(
                "[Auc.update] preds has the wrong shape: expected [N, 2], probabilities of the two "
                f"classes, got {list(preds.shape)}."
                " Do this: pass the softmax of two classes."
            )
        score = preds[:, 1]
        if not ((score >= 0) & (score <= 1)).all():
            raise ValueError(
                "[Auc.update] preds must be probabilities in [0, 1]. Do this: apply softmax or "
                "sigmoid first."
            )
        bins = (score * self._num_thresholds).astype("int64")
        positive = labels.astype(bool)
        size = self._num_thresholds + 1
        self._stat_pos += numpy.bincount(bins[positive], minlength=size)
        self._stat_neg += numpy.bincount(bins[~positive], minlength=size)

    @staticmethod
    def trapezoid_area(x1, x2, y1, y2):
        """Area between two places under a straight line.

        Args:
            x1, x2 (float): the places.
            y1, y2 (float): height of the line there.

        Returns:
            float.
        """
        return abs(x1 - x2) * (y1 + y2) / 2.0

    def accumulate(self):
        """Returns the area; 0 unless both classes occurred."""
        import numpy

        # From the highest threshold down, each interval adds a trapezoid of width neg[i].
        positive, negative = self._stat_pos[::-1], self._stat_neg[::-1]
        height = positive.cumsum()
        total = height[-1] * negative.sum()
        if total == 0:
            return 0.0
        if self._curve == "PR":
            counts = [numpy.asarray(c, "int64")[None] for c in (self._stat_pos, self._stat_neg)]
            with no_grad():
                made = [tensor.to_tensor(c) for c in counts]
                return float(_core.ops.auc_area(*made, "PR"))
        area = (negative * (2 * height - positive)).sum() / 2.0
        return float(area / total)

    def reset(self):
        """Forgets all batches."""
        import numpy

        self._stat_pos = numpy.zeros(self._num_thresholds + 1)
        self._stat_neg = numpy.zeros(self._num_thresholds + 1)

    def name(self):
        """Returns the name."""
        return self._name


@beside
def accuracy(input, label, k=1, correct=None, total=None, name=None):
    """Share of samples whose label is among the k largest predictions.

    Args:
        input (Tensor): Scores, [N, classes].
        label (Tensor): Class numbers, [N, 1].
        k (int): How many of the largest predictions count.
        correct, total (Tensor, optional): int32 or int64 of one element; get the number of right
            samples and the number of samples.

    Returns:
        Tensor: float32, 0-d.

    Raises:
        ValueError: ``label`` has not two dimensions.

    Examples:
        >>> scores = argosy.to_tensor([[0.1, 0.9], [0.8, 0.2]])
        >>> argosy.metric.accuracy(scores, argosy.to_tensor([[1], [1]])).item()
        0.5
    """
    if label.ndim != 2:
        raise ValueError(
            f"[accuracy] label has the wrong shape: expected [N, 1], got {list(label.shape)}. Do this: "
            "label.unsqueeze(-1)."
        )
    with no_grad():
        _, best = tensor.topk(input, k, axis=-1)
        right = (best == label.astype(best.dtype)).any(axis=-1)
        if correct is not None:
            correct.set_value(
                right.astype(correct.dtype).sum().astype(correct.dtype).reshape(correct.shape)
            )
        if total is not None:
            count = tensor.full(total.shape, right.shape[0], dtype=total.dtype)
            total.set_value(count)
        return right.astype("float32").mean()
