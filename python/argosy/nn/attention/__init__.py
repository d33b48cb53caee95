"""Choice among attention kernels, for programs that name one; all compute the same."""

from __future__ import annotations

from contextlib import contextmanager
from enum import IntEnum

from argosy._support import no_effect

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """Kinds of attention kernels."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A context that accepts one or several :class:`SDPBackend`; the fastest kernel that fits is used
    anyway.

    Args:
        backends (SDPBackend | list): kinds of kernels.
        set_priority (bool): has no effect.

    Returns:
        A context manager.

    Raises:
        AssertionError: ``backends`` is no SDPBackend and no list.

    Examples:
        >>> from argosy.nn.attention import SDPBackend, sdpa_kernel
        >>> x = argosy.ones([1, 2, 1, 4])
        >>> with sdpa_kernel(SDPBackend.MATH):
        ...     argosy.nn.functional.scaled_dot_product_attention(x, x, x).shape
        paddle.Size([1, 2, 1, 4])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "[sdpa_kernel] backends: expected an SDPBackend or a list of them, got "
            f"{type(backends).__name__}. Do this: pass one of them."
        )
    no_effect(
        "sdpa_kernel", "the fastest kernel that fits is used", set_priority=(set_priority, False)
    )
    yield
