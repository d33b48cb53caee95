"""ONNX models in and out."""

from .model import Model, Port, load
from .writer import export

__all__ = ["Model", "Port", "export", "load"]
