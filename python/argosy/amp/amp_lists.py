"""What auto_cast does to ops, by the names that Paddle gives them: read from their descriptions."""

import functools

from argosy import _core
from argosy._op_names import names_of

__all__ = ["black_list", "white_list"]


@functools.lru_cache(None)
def _names_cast(how, level):
    """Names of the ops that level 0 (O1) or 1 (O2) of automatic casting runs so."""
    return frozenset(
        name for op in _core.registry() if op["amp"][level] == how for name in names_of(op["name"])
    )


def _lists(how):
    levels = {"OD": set(), "O1": _names_cast(how, 0), "O2": _names_cast(how, 1)}
    if how == "lower":
        levels["OD"] = levels["O1"]
    return {dtype: {k: set(v) for k, v in levels.items()} for dtype in ("float16", "bfloat16")}


def white_list():
    """Ops that automatic casting computes in 16 bits.

    Returns:
        dict[str, dict[str, set[str]]]: For each dtype, 'float16' and 'bfloat16', and each level,
            'OD', 'O1' and 'O2', names of ops. Changing it changes nothing.

    Example:
        >>> "matmul_v2" in argosy.amp.white_list()["bfloat16"]["O1"]
        True
    """
    return _lists("lower")


def black_list():
    """Ops that automatic casting computes in float32.

    Returns:
        dict[str, dict[str, set[str]]]: As for :func:`white_list`.

    Example:
        >>> "log_softmax" in argosy.amp.black_list()["bfloat16"]["O1"]
        True
    """
    return _lists("full")


WHITE_LIST = FP16_WHITE_LIST = BF16_WHITE_LIST = white_list()["bfloat16"]["O1"]
FP16_BLACK_LIST = BF16_BLACK_LIST = black_list()["bfloat16"]["O1"]
EXTRA_BLACK_LIST = black_list()["bfloat16"]["O2"]
ONLY_FP16_WHITE_LIST = set()  # both dtypes are cast alike
