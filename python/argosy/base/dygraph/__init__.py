"""Names that programs look for in ``paddle.base.dygraph``."""

from argosy.autograd import no_grad  # noqa: F401
from argosy.nn import Layer  # noqa: F401

from .base import enabled, grad, guard, switch_to_static_graph, to_variable  # noqa: F401

__all__ = ["guard", "switch_to_static_graph", "to_variable"]
