"""ONNX models in and out."""

from .model import Model, Port, load

__all__ = ["Model", "Port", "load"]
