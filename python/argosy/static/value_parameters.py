"""Parameters by the calls that Programs of values have."""

from __future__ import annotations

from argosy._support import only_known, unsupported
from argosy.nn.layer._helper import create_parameter as _create

__all__ = []


def create_parameter(dtype, shape, name=None, **kwargs):
    """A parameter of the default main Program.

    Args:
        dtype (dtype | str): Of its elements.
        shape (list[int]): Its shape.
        name (str, optional): Its name.
        kwargs: initializer; trainable, only True; regularizer, only None; need_clip, only True.

    Returns:
        Parameter: It.

    Raises:
        ValueError: There is no initializer.
        NotImplementedError: Another keyword has another value.
    """
    only_known(
        "pir.core.create_parameter", kwargs, "initializer trainable regularizer need_clip".split()
    )
    unsupported(
        "pir.core.create_parameter", "use static.create_parameter with a ParamAttr",
        trainable=(kwargs.get("trainable", True), True), need_clip=(kwargs.get("need_clip", True), True),
        regularizer=(kwargs.get("regularizer"), None),
    )  # fmt: skip
    initializer = kwargs.get("initializer")
    if initializer is None:
        raise ValueError(
            "[pir.core.create_parameter] initializer is missing. Do this: pass one, such as"
            " nn.initializer.Constant(0.0)."
        )
    return _create(shape, dtype, name, default_initializer=initializer)
