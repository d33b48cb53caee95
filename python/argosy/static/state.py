"""Parameters and other state of static Programs."""

from argosy.base.static_parameter import (
    copy_parameter,
    initialize,
    make_normalized_weight,
    make_parameter,
    make_variable,
    named,
    remember,
)

__all__ = [
    "copy_parameter", "initialize", "make_normalized_weight", "make_parameter", "make_variable",
    "named", "remember",
]  # fmt: skip
