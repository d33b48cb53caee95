"""Initial values of parameters."""

from __future__ import annotations

from . import initializer, lazy_init  # noqa: F401
from .assign import Assign, NumpyArrayInitializer  # noqa: F401
from .bilinear import Bilinear
from .constant import Constant, ConstantInitializer  # noqa: F401
from .dirac import Dirac
from .initializer import Initializer, calculate_gain, set_global_initializer  # noqa: F401
from .kaiming import KaimingNormal, KaimingUniform, MSRAInitializer  # noqa: F401
from .normal import (  # noqa: F401
    Normal,
    NormalInitializer,
    TruncatedNormal,
    TruncatedNormalInitializer,
)
from .orthogonal import Orthogonal
from .uniform import Uniform, UniformInitializer  # noqa: F401
from .xavier import XavierInitializer, XavierNormal, XavierUniform  # noqa: F401

__all__ = [
    "Assign",
    "Bilinear",
    "Constant",
    "Dirac",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Orthogonal",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
    "set_global_initializer",
]
