"""Mixed precision of static Programs."""

from __future__ import annotations

from contextlib import contextmanager


class OptimizerWithMixedPrecision:
    """An optimizer made by :func:`decorate`."""

    def __init__(self, optimizer):
        self._optimizer = optimizer

    def __getattr__(self, name):
        return getattr(self.__dict__["_optimizer"], name)

    def amp_init(self, place=None, scope=None, test_program=None, use_fp16_test=False,
                 rewrite_master_weight=False):  # fmt: skip
        """Casts parameters for 16-bit kernels: none are on the CPU."""


def decorate(optimizer, amp_lists=None, level="O1", dtype="float16", *args, **kwargs):
    """An optimizer that trains in mixed precision where the device gains by it.

    As amp.auto_cast, it has no effect on the CPU: training is in float32, and the loss is not
    scaled.

    Args:
        optimizer (Optimizer): What updates the parameters.
        amp_lists, level, dtype: Which operations would be cast, and to what.
    """
    return OptimizerWithMixedPrecision(optimizer)


@contextmanager
def fp16_guard():
    """Marks what is built inside as what pure 16-bit training may cast.

    Has no effect on the CPU, where nothing is cast.
    """
    yield
