"""What an operation of a Program is for, under the names that Paddle's operations carry it by."""

import enum

__all__ = ["OpRole"]


class OpRole(enum.IntEnum):
    """Parts of a training Program; Loss is added to Forward or Backward."""

    Forward = 0
    Backward = 1
    Optimize = 2
    RPC = 4
    Dist = 8
    LRSched = 16
    Loss = 256


def _name(function, text):
    def name():
        return text

    name.__name__ = name.__qualname__ = function
    name.__doc__ = f"Name of the attribute: {text!r}."
    return name


kOpRoleAttrName = _name("kOpRoleAttrName", "op_role")  # noqa: N816
kOpRoleVarAttrName = _name("kOpRoleVarAttrName", "op_role_var")  # noqa: N816
kOpNameScopeAttrName = _name("kOpNameScopeAttrName", "op_namescope")  # noqa: N816
kOpCreationCallstackAttrName = _name("kOpCreationCallstackAttrName", "op_callstack")  # noqa: N816
kOpDeviceAttrName = _name("kOpDeviceAttrName", "op_device")  # noqa: N816
kOpWithQuantAttrName = _name("kOpWithQuantAttrName", "with_quant_attr")  # noqa: N816
