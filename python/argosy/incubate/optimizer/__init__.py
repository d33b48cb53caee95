"""Optimizers around optimizers, and minimization of functions."""

from argosy.optimizer import LBFGS
from argosy.optimizer.lars_momentum import LarsMomentumOptimizer

from . import functional
from .elsewhere import DistributedFusedLamb, PipelineOptimizer
from .gradient_merge import GradientMergeOptimizer
from .lookahead import LookAhead
from .model_average import ModelAverage
from .recompute import RecomputeOptimizer

__all__ = [
    "DistributedFusedLamb",
    "PipelineOptimizer",
    "GradientMergeOptimizer",
    "LBFGS",
    "LarsMomentumOptimizer",
    "LookAhead",
    "ModelAverage",
    "RecomputeOptimizer",
    "functional",
]
