"""Computer vision: data sets, models, image transforms and operators.

The submodules are imported at first use.
"""

import importlib

from .image import get_image_backend, image_load, set_image_backend

__all__ = ["get_image_backend", "image_load", "set_image_backend"]

_SUBMODULES = ("datasets", "models", "ops", "transforms")


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    # Models and data sets are also reached without their module, as paddle.vision.resnet18.
    for module in ("models", "datasets", "transforms"):
        if name in (found := importlib.import_module(f".{module}", __name__)).__all__:
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return [*__all__, *_SUBMODULES]
