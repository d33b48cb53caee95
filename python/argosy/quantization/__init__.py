"""Models in integers: training that gets used to them, and calibration after training."""

from __future__ import annotations

from . import observers, quanters  # noqa: F401
from .base_observer import BaseObserver
from .base_quanter import BaseQuanter
from .config import QuantConfig
from .factory import quanter
from .ptq import PTQ
from .qat import QAT

__all__ = ["PTQ", "QAT", "BaseObserver", "BaseQuanter", "QuantConfig", "quanter"]
