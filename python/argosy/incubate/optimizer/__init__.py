"""Optimizers around optimizers, and minimization of functions."""

from argosy.optimizer import LBFGS

from . import functional
from .lookahead import LookAhead
from .model_average import ModelAverage

__all__ = ["LBFGS", "LookAhead", "ModelAverage", "functional"]
