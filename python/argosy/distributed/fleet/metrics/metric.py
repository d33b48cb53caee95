"""Global values of metrics whose parts are summed over workers.

Every function takes arrays, Variables of a static program or their names (looked up in scope, the
global one by default); util is what reduces, fleet.util by default. All workers must call.
"""

__all__ = ["acc", "auc", "mae", "max", "min", "mse", "rmse", "sum"]


def _array(value, scope, what):
    import numpy as np

    if isinstance(value, str) or hasattr(value, "name") and hasattr(value, "block"):
        from argosy import static

        name = value if isinstance(value, str) else value.name
        found = (static.global_scope() if scope is None else scope).find_var(name)
        if found is None:
            raise ValueError(
                f"[fleet.metrics.{what}] the scope has no variable {name!r}. Do this: run the "
                "program before, and make the variable persistable."
            )
        value = found.get_tensor()
    return np.array(value)


def _util(util):
    if util is not None:
        return util
    from argosy.distributed import fleet

    return fleet.util


def _reduce(value, mode, scope, util, what):
    import numpy as np

    array = _array(value, scope, what)
    out = _util(util).all_reduce(array.reshape(-1), mode)
    out = np.asarray(out).reshape(array.shape)
    return out if out.ndim else out[()]


def sum(input, scope=None, util=None):
    """The sum over workers, element by element.

    Args:
        input (numpy.ndarray | Variable | str): This worker's numbers, or the variable, or its name, that has them.
        scope (Scope, optional): Where the variable is; the global one if None.
        util (UtilBase, optional): What exchanges them; default: fleet's.

    Returns:
        numpy.ndarray: That of all workers.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> _ = fleet.init()
        >>> fleet.metrics.sum(np.array([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return _reduce(input, "sum", scope, util, "sum")


def max(input, scope=None, util=None):
    """The maximum over workers, element by element.

    Args:
        input (numpy.ndarray | Variable | str): This worker's numbers, or the variable, or its name, that has them.
        scope (Scope, optional): Where the variable is; the global one if None.
        util (UtilBase, optional): What exchanges them; default: fleet's.

    Returns:
        numpy.ndarray: That of all workers.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> _ = fleet.init()
        >>> fleet.metrics.max(np.array([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return _reduce(input, "max", scope, util, "max")


def min(input, scope=None, util=None):
    """The minimum over workers, element by element.

    Args:
        input (numpy.ndarray | Variable | str): This worker's numbers, or the variable, or its name, that has them.
        scope (Scope, optional): Where the variable is; the global one if None.
        util (UtilBase, optional): What exchanges them; default: fleet's.

    Returns:
        numpy.ndarray: That of all workers.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> _ = fleet.init()
        >>> fleet.metrics.min(np.array([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return _reduce(input, "min", scope, util, "min")


def auc(stat_pos, stat_neg, scope=None, util=None):
    """The area under the ROC curve of all workers' samples.

    Args:
        stat_pos (numpy.ndarray | Variable | str): Counts of positive samples by bucket of predicted probability,
            as static.auc keeps them (its StatPos).
        stat_neg (numpy.ndarray | Variable | str): Those of negative samples.
        scope (Scope, optional): Where the variables are; the global one if None.
        util (UtilBase, optional): What exchanges them; default: fleet's.

    Returns:
        float: 0.5 without both classes.

    Raises:
        ValueError: The two have different lengths.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> _ = fleet.init()
        >>> float(fleet.metrics.auc(np.array([0.0, 1.0, 3.0]), np.array([2.0, 1.0, 0.0])))
        0.9583
    """
    import numpy as np

    positive = np.asarray(_reduce(stat_pos, "sum", scope, util, "auc"), dtype=np.float64).ravel()
    negative = np.asarray(_reduce(stat_neg, "sum", scope, util, "auc"), dtype=np.float64).ravel()
    if positive.shape != negative.shape:
        raise ValueError(
            f"[fleet.metrics.auc] stat_pos and stat_neg: expected equal lengths, got "
            f"{positive.size} and {negative.size}."
        )
    # Trapezes of the curve, from the highest bucket down.
    positive, negative = positive[::-1], negative[::-1]
    hits, misses = positive.sum(), negative.sum()
    if hits == 0 or misses == 0:
        return 0.5
    reached = np.cumsum(positive)
    area = (negative * (reached + (reached - positive)) / 2).sum()
    return float(area / (hits * misses))


def _mean(part, total, scope, util, what):
    part = _reduce(part, "sum", scope, util, what)
    total = _reduce(total, "sum", scope, util, what)
    part, total = float(part.reshape(-1).sum()), float(total.reshape(-1).sum())
    if total == 0:
        raise ZeroDivisionError(f"[fleet.metrics.{what}] no worker has seen a sample.")
    return part / total


def mae(abserr, total_ins_num, scope=None, util=None):
    """The mean absolute error over all workers.

    Args:
        abserr (numpy.ndarray | Variable | str): This worker's sum of absolute errors.
        total_ins_num (numpy.ndarray | Variable | str | number): Its number of samples.
        scope (Scope, optional): Where the variables are; the global one if None.
        util (UtilBase, optional): What exchanges them; default: fleet's.

    Returns:
        float: It.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> _ = fleet.init()
        >>> float(fleet.metrics.mae(np.array([6.0]), np.array([4.0])))
        1.5
    """
    return _mean(abserr, total_ins_num, scope, util, "mae")


def mse(sqrerr, total_ins_num, scope=None, util=None):
    """The mean squared error over all workers.

    Args:
        sqrerr (numpy.ndarray | Variable | str): This worker's sum of squared errors.
        total_ins_num (numpy.ndarray | Variable | str | number): Its number of samples.
        scope (Scope, optional): Where the variables are; the global one if None.
        util (UtilBase, optional): What exchanges them; default: fleet's.

    Returns:
        float: It.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> _ = fleet.init()
        >>> float(fleet.metrics.mse(np.array([6.0]), np.array([4.0])))
        1.5
    """
    return _mean(sqrerr, total_ins_num, scope, util, "mse")


def rmse(sqrerr, total_ins_num, scope=None, util=None):
    """The root of the mean squared error over all workers.

    Args:
        sqrerr (numpy.ndarray | Variable | str): This worker's sum of squared errors.
        total_ins_num (numpy.ndarray | Variable | str | number): Its number of samples.
        scope (Scope, optional): Where the variables are; the global one if None.
        util (UtilBase, optional): What exchanges them; default: fleet's.

    Returns:
        float: It.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> _ = fleet.init()
        >>> float(fleet.metrics.rmse(np.array([16.0]), np.array([4.0])))
        2.0
    """
    return _mean(sqrerr, total_ins_num, scope, util, "rmse") ** 0.5


def acc(correct, total, scope=None, util=None):
    """The share of right samples over all workers.

    Args:
        correct (numpy.ndarray | Variable | str): This worker's number of right samples.
        total (numpy.ndarray | Variable | str | number): Its number of samples.
        scope (Scope, optional): Where the variables are; the global one if None.
        util (UtilBase, optional): What exchanges them; default: fleet's.

    Returns:
        float: It.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> _ = fleet.init()
        >>> float(fleet.metrics.acc(np.array([3.0]), np.array([4.0])))
        0.75
    """
    return _mean(correct, total, scope, util, "acc")
