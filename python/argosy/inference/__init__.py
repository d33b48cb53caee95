"""Running trained models: a Config says which model and how, create_predictor loads it."""

from .config import Config
from .kinds import (
    DataType,
    PlaceType,
    PrecisionType,
    _get_phi_kernel_name,
    get_num_bytes_of_data_type,
    get_trt_compile_version,
    get_trt_runtime_version,
    get_version,
)
from .mixed_precision import convert_to_mixed_precision
from .paddle_format import convert_to_paddle
from .predictor import Predictor, PredictorPool, Tensor, create_predictor
from .xpu_config import XpuConfig

__all__ = [
    "Config",
    "DataType",
    "PlaceType",
    "PrecisionType",
    "Predictor",
    "PredictorPool",
    "Tensor",
    "XpuConfig",
    "_get_phi_kernel_name",
    "convert_to_mixed_precision",
    "convert_to_paddle",
    "create_predictor",
    "get_num_bytes_of_data_type",
    "get_trt_compile_version",
    "get_trt_runtime_version",
    "get_version",
]
