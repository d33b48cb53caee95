"""Names that programs which write their own functions import from one place."""

from argosy.base import core
from argosy.base.data_feeder import (
    check_dtype,
    check_type,
    check_variable_and_dtype,
    convert_dtype,
)
from argosy.base.framework import (
    Variable,
    convert_np_dtype_to_dtype_,
    dygraph_only,
    in_dygraph_mode,
)
from argosy.base.layer_helper import LayerHelper
from argosy.base.param_attr import ParamAttr
from argosy.static import default_main_program, device_guard

__all__ = [
    "LayerHelper",
    "ParamAttr",
    "Variable",
    "check_dtype",
    "check_type",
    "check_variable_and_dtype",
    "convert_dtype",
    "convert_np_dtype_to_dtype_",
    "core",
    "default_main_program",
    "device_guard",
    "dygraph_only",
    "in_dygraph_mode",
]
