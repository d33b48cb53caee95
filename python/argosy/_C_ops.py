"""Where Paddle has the C entries of its ops, which some programs import though they are internal.

Argosy's ops have no such second name: their public functions are as short a way. So the module can be
imported, and asking for a function says which public name to call.
"""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"[_C_ops] {name!r} is an internal entry of Paddle that Argosy does not have."
        f" Do this: call the public function instead (such as paddle.{name} or"
        f" paddle.nn.functional.{name})."
    )
