"""Programs built by calls in static mode and run by an Executor.

argosy.enable_static()
x = static.data("x", [None, 4])
loss = static.nn.fc(x, 1).mean()
argosy.optimizer.SGD(0.1).minimize(loss)
exe = static.Executor()
exe.run(static.default_startup_program())
(value,) = exe.run(feed={"x": array}, fetch_list=[loss])
"""

from argosy.base.param_attr import WeightNormParamAttr
from argosy.base.parameter import Variable
from argosy.nn.layer._helper import create_parameter

from . import amp, io, nn, variable
from .average import ExponentialMovingAverage
from .backward import append_backward, gradients
from .compiled import (
    BuildStrategy,
    CompiledProgram,
    ExecutionStrategy,
    IpuCompiledProgram,
    IpuStrategy,
    cpu_places,
    cuda_places,
    ipu_shard_guard,
    set_ipu_shard,
    xpu_places,
)
from .executor import Executor
from .input import InputSpec, data
from .io import (
    deserialize_persistables,
    deserialize_program,
    load,
    load_from_file,
    load_inference_model,
    load_program_state,
    load_vars,
    normalize_program,
    save,
    save_inference_model,
    save_to_file,
    save_vars,
    serialize_persistables,
    serialize_program,
    set_program_state,
)
from .metric import accuracy, auc, create_global_var, ctr_metric_bundle
from .mode import (
    default_main_program,
    default_startup_program,
    device_guard,
    name_scope,
    program_guard,
)
from .nn import Print, py_func
from .program import (
    Block,
    Operator,
    Program,
    switch_main_program,
    switch_startup_program,
)
from .python_op import MetaTensor, register_op  # noqa: F401
from .scope import DenseTensor, Scope, global_scope, scope_guard
from .variable import setitem

__all__ = [
    "Block",
    "BuildStrategy",
    "CompiledProgram",
    "DenseTensor",
    "ExecutionStrategy",
    "Executor",
    "ExponentialMovingAverage",
    "InputSpec",
    "IpuCompiledProgram",
    "IpuStrategy",
    "Operator",
    "Print",
    "Program",
    "Scope",
    "Variable",
    "WeightNormParamAttr",
    "accuracy",
    "amp",
    "append_backward",
    "auc",
    "cpu_places",
    "create_global_var",
    "create_parameter",
    "ctr_metric_bundle",
    "cuda_places",
    "data",
    "default_main_program",
    "default_startup_program",
    "deserialize_persistables",
    "deserialize_program",
    "device_guard",
    "global_scope",
    "gradients",
    "io",
    "ipu_shard_guard",
    "load",
    "load_from_file",
    "load_inference_model",
    "load_program_state",
    "load_vars",
    "name_scope",
    "nn",
    "normalize_program",
    "program_guard",
    "py_func",
    "save",
    "save_inference_model",
    "save_to_file",
    "save_vars",
    "scope_guard",
    "serialize_persistables",
    "serialize_program",
    "set_ipu_shard",
    "set_program_state",
    "setitem",
    "switch_main_program",
    "switch_startup_program",
    "xpu_places",
]
