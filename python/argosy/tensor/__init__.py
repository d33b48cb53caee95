"""Functions and methods of Tensor: those generated from op definitions, and those that need Python."""

import sys as _sys
import types as _types

from argosy._generated import tensor as _generated
from argosy._generated.tensor import *  # noqa: F403
from argosy._support import place as _place
from argosy.tensor import (
    creation,
    decompositions,
    joined,
    linalg,
    manipulation,
    math,
    parting,
    quantiles,
    random,
    sampling,
    search,
)


def _public(module):
    found = {
        name: value
        for name, value in vars(module).items()
        if callable(value)
        and not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and not isinstance(value, type)
    }
    globals().update(found)
    return list(found)


# Hand-written functions win over generated ones of the same name.
__all__ = (
    list(_generated.__all__)
    + _public(manipulation)
    + _public(parting)
    + _public(search)
    + _public(linalg)
    + _public(decompositions)
    + _public(joined)
    + _public(random)
    + _public(math)
    + _public(quantiles)
    + ["to_tensor"]
)
to_tensor = creation.to_tensor
from argosy.tensor import aliases  # noqa: E402  (needs the functions above)
from argosy.tensor.array import (  # noqa: E402, F401  (names of this module only)
    array_length,
    array_read,
    array_write,
    create_array,
    tensor_array_to_tensor,
)
from argosy.tensor.creation import fill_constant  # noqa: E402, F401  (a name of this module only)
from argosy.tensor.sampling import top_p_sampling  # noqa: E402, F401  (a name of this module only)

globals().update({name: getattr(aliases, name) for name in aliases.EXPORTS})
__all__ += aliases.EXPORTS
from argosy.tensor import compat  # noqa: E402  (needs the functions above)

globals().update({name: getattr(compat, name) for name in compat.EXPORTS})
__all__ += compat.EXPORTS
from argosy.tensor import along, spellings, windows  # noqa: E402

for _module in (along, spellings, windows):
    globals().update({name: getattr(_module, name) for name in _module.EXPORTS})
    __all__ += _module.EXPORTS
from argosy.tensor import (  # noqa: E402, F401  (methods only)
    methods,
    program_value,
    reforming,
    storage_forms,
)


class _CallableModule(_types.ModuleType):
    """`argosy.tensor` is a module and a function: tensor(data) makes a tensor of data."""

    def __call__(self, data, dtype=None, device=None, requires_grad=False, pin_memory=False):
        made = creation.to_tensor(data, dtype, device, not requires_grad)
        return _place(made, pin_memory=pin_memory) if pin_memory else made


_sys.modules[__name__].__class__ = _CallableModule
# (Some names are found by more than one of the lists above.)
__all__ = list(dict.fromkeys(__all__))
