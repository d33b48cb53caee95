"""Metrics that are computed by the Program and kept in its state."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._core import Tensor
from argosy._support import check_choice, need_type, no_effect
from argosy.autograd import no_grad
from argosy.base import unique_name
from argosy.nn import functional as F

from . import mode, state


def accuracy(input, label, k=1, correct=None, total=None):
    """Share of samples whose label is among the k largest scores.

    Args:
        input (Variable): [N, classes].
        label (Variable): int, [N, 1].
        k (int): How many of the largest scores count.
        correct, total (Variable, optional): int32 or int64 of one element; get the numbers of right
            samples and of all.

    Returns:
        Variable: float32, 0-d.

    Raises:
        TypeError: input or label is no Variable.

    Example:
        >>> argosy.enable_static()
        >>> score = argosy.static.data("score", [2, 2], "float32")
        >>> label = argosy.static.data("label", [2, 1], "int64")
        >>> share = argosy.static.accuracy(score, label)
        >>> feed = {"score": np.float32([[1, 2], [2, 1]]), "label": np.int64([[1], [1]])}
        >>> float(argosy.static.Executor().run(feed=feed, fetch_list=[share])[0])
        0.5
    """
    for name, value in (("input", input), ("label", label)):
        need_type("accuracy", name, value, Tensor, "pass a Variable or a Tensor")
    with no_grad():
        _, best = tensor.topk(input, k, axis=-1)
        label = tensor.reshape(label, [-1, 1]).astype(best.dtype)
        right = tensor.any(best == label, axis=-1)
        for target, value in ((correct, right), (total, tensor.ones_like(right))):
            if target is not None:
                value = tensor.sum(value.astype("int64")).astype(target.dtype)
                target._copy_from(tensor.reshape(value, target.shape))
        return tensor.mean(right.astype("float32"))


def _state(shape, value, dtype):
    # Programs clear counts between epochs by these names in the global scope.
    name = unique_name.generate("_generated_var")
    if mode.static_mode():
        return state.make_variable(name, shape, dtype, value)
    return tensor.full(shape, value, dtype)


def auc(input, label, curve="ROC", num_thresholds=4095, topk=1, slide_steps=1,
        ins_tag_weight=None):  # fmt: skip
    """Area under the ROC or the precision-recall curve of a classifier with two classes, over all
    runs and over the last `slide_steps` runs.

    Args:
        input (Variable): [N, 2], probabilities; the second column is that of class 1. [N, 1] too.
        label (Variable): int, [N, 1], 0 or 1.
        curve (str): 'ROC' or 'PR'.
        num_thresholds (int): Probabilities are counted in so many intervals and one more.
        topk (int): Has no effect on results.
        slide_steps (int): Runs that the second area is of; 0 for all.
        ins_tag_weight (Variable, optional): [N, 1], 0 for samples that do not count.

    Returns:
        tuple: area, area of the last runs (both float64, 0-d), and the counts [of the last runs,
        class 1 and 0; of all runs, class 1 and 0].

    Raises:
        ValueError: another curve.

    Example:
        >>> argosy.enable_static()
        >>> score = argosy.static.data("score", [2, 2], "float32")
        >>> label = argosy.static.data("label", [2, 1], "int64")
        >>> area, *_ = argosy.static.auc(score, label)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> feed = {"score": np.float32([[0.1, 0.9], [0.8, 0.2]]), "label": np.int64([[1], [0]])}
        >>> float(exe.run(feed=feed, fetch_list=[area])[0])
        1.0
    """
    for name, value in (("input", input), ("label", label)):
        need_type("auc", name, value, Tensor, "pass a Variable or a Tensor")
    check_choice("auc", "curve", curve, ("ROC", "PR"))
    no_effect("auc", "there are two classes", topk=(topk, 1))
    bins = num_thresholds + 1
    window = max(slide_steps, 1)
    recent = [_state([window, bins], 0, "int64") for _ in range(2)]
    ever = [_state([1, bins], 0, "int64") for _ in range(2)]
    with no_grad():
        found = _core.ops.auc_count(input, label, ins_tag_weight, num_thresholds)
        for i, new in enumerate(found):
            new = tensor.reshape(new, [1, bins])
            ever[i]._copy_from(ever[i] + new)
            last = new if window == 1 else tensor.concat([recent[i][1:], new])
            recent[i]._copy_from(ever[i] * 1 if slide_steps == 0 else last)
        areas = [_core.ops.auc_area(*counts, curve) for counts in (ever, recent)]
        return *areas, [*recent, *ever]


def ctr_metric_bundle(input, label, ins_tag_weight=None):
    """Sums over all runs from which click-through metrics follow.

    Args:
        input (Variable): [N, 1], probabilities.
        label (Variable): [N, 1], 0 or 1.
        ins_tag_weight (Variable, optional): [N, 1], 0 for samples that do not count.

    Returns:
        tuple: float32 [1] each: squared error, absolute error, sum of probabilities, sum of their
        sigmoids, number of ones, number of samples.

    Example:
        >>> argosy.enable_static()
        >>> score = argosy.static.data("score", [2, 1], "float32")
        >>> label = argosy.static.data("label", [2, 1], "float32")
        >>> sums = argosy.static.ctr_metric_bundle(score, label)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> feed = {"score": np.float32([[0.5], [0.5]]), "label": np.float32([[1], [0]])}
        >>> [float(value[0]) for value in exe.run(feed=feed, fetch_list=list(sums))]
        [0.5, 1.0, 1.0, 1.2449, 1.0, 2.0]
    """
    totals = [_state([1], 0.0, "float32") for _ in range(6)]
    with no_grad():
        x = tensor.reshape(input, [-1]).astype("float32")
        y = tensor.reshape(label, [-1]).astype("float32")
        weight = tensor.ones_like(x)
        if ins_tag_weight is not None:
            weight = tensor.reshape(ins_tag_weight, [-1]).astype("float32")
        error = x - y
        sums = (
            error * error, tensor.abs(error), x, F.sigmoid(x), y,
            tensor.ones_like(x),
        )  # fmt: skip
        for total, value in zip(totals, sums):
            total._copy_from(total + tensor.reshape(tensor.sum(value * weight), [1]))
    return tuple(totals)


def create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None):
    """A variable that is not trained and starts from `value` in the startup program.

    Args:
        shape (list): Sizes.
        value (float): Of all elements.
        dtype (str): Of the elements.
        persistable (bool): Whether it is saved with the Program.
        force_cpu (bool): Has no effect on results.
        name (str, optional): One is made up if None.

    Returns:
        Variable: Of that shape and dtype.

    Raises:
        TypeError: shape is no list or tuple.

    Example:
        >>> argosy.enable_static()
        >>> step = argosy.static.create_global_var([1], 3.0, "float32", persistable=True)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> exe.run(fetch_list=[step])[0].tolist()
        [3.0]
    """
    no_effect("create_global_var", "state is where the executor is", force_cpu=(force_cpu, False))
    if not isinstance(shape, (list, tuple)):
        raise TypeError(
            f"[create_global_var] shape: expected a list or tuple, got {type(shape).__name__}."
            " Do this: pass e.g. [1]."
        )
    if name is None:
        name = unique_name.generate("global_var")
    if not mode.static_mode():
        made = tensor.full(list(shape), value, dtype)
        made.name, made.persistable = name, bool(persistable)
        return made
    return state.make_variable(name, list(shape), _core.dtype(dtype), value, persistable)
