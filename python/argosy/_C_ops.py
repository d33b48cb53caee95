"""Where Paddle has the C entries of its ops, which some programs call though they are internal: inputs, then
attributes, by place in the order of Paddle's kernels. Public functions are the shorter way.
"""

from argosy import tensor
from argosy._support import no_effect


def norm(x, axis, epsilon, is_test):
    """x divided by its norm along axis, and these norms: ``x / sqrt(sum(x * x) + epsilon)``."""
    if is_test:
        no_effect("_C_ops.norm", "both results are made either way", is_test=(is_test, False))
    norms = tensor.sqrt(tensor.sum(x * x, axis, keepdim=True) + epsilon)
    return x / norms, norms


def _run_custom_op(op_name, *args):
    """The results of an op that a loaded library brought, as a list: what PaddlePaddle's generated
    wrappers call."""
    from argosy.utils.cpp_extension.library import functions

    if op_name not in functions:
        raise ValueError(
            f"[_run_custom_op] no library with an op called '{op_name}' is loaded. Do this: load it"
            " with utils.cpp_extension.load or load_op_library."
        )
    made = functions[op_name](*args)
    return list(made) if len(functions[op_name].outputs) > 1 else [made]


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    from argosy.static.kernel_calls import kernel

    found = kernel(name)
    if found is not None:
        return found
    raise AttributeError(
        f"[_C_ops] {name!r} is an internal entry of Paddle that Argosy does not have."
        f" Do this: call the public function instead (such as paddle.{name} or"
        f" paddle.nn.functional.{name})."
    )
