"""Programs built by calls in static mode and run by an Executor.

argosy.enable_static()
x = static.data("x", [None, 4])
loss = static.nn.fc(x, 1).mean()
argosy.optimizer.SGD(0.1).minimize(loss)
exe = static.Executor()
exe.run(static.default_startup_program())
(value,) = exe.run(feed={"x": array}, fetch_list=[loss])
"""

from argosy.base.framework import Variable, create_parameter
from argosy.base.param_attr import WeightNormParamAttr

from . import nn
from .backward import append_backward, gradients
from .executor import Executor
from .input import InputSpec, data
from .mode import (
    default_main_program,
    default_startup_program,
    device_guard,
    name_scope,
    program_guard,
)
from .program import (
    Block,
    Operator,
    Program,
    switch_main_program,
    switch_startup_program,
)
from .scope import DenseTensor, Scope, global_scope, scope_guard

__all__ = [
    "Executor",
    "InputSpec",
    "Program",
    "Scope",
    "Variable",
    "WeightNormParamAttr",
    "append_backward",
    "create_parameter",
    "data",
    "default_main_program",
    "default_startup_program",
    "device_guard",
    "global_scope",
    "gradients",
    "name_scope",
    "nn",
    "program_guard",
    "scope_guard",
]
