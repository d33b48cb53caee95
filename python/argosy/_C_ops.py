"""Where Paddle has the C entries of its ops, which some programs import though they are internal.

Argosy's ops have no such second name: their public functions are as short a way. So the module can be
imported, and asking for a function says which public name to call.
"""

from argosy import tensor
from argosy._support import no_effect


def norm(x, axis, epsilon, is_test):
    """x divided by its norm along axis, and these norms: ``x / sqrt(sum(x * x) + epsilon)``."""
    if is_test:
        no_effect("_C_ops.norm", "both results are made either way", is_test=(is_test, False))
    norms = tensor.sqrt(tensor.sum(x * x, axis, keepdim=True) + epsilon)
    return x / norms, norms


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"[_C_ops] {name!r} is an internal entry of Paddle that Argosy does not have."
        f" Do this: call the public function instead (such as paddle.{name} or"
        f" paddle.nn.functional.{name})."
    )
