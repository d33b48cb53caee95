"""Minimization of functions by quasi-Newton methods."""

from .bfgs import minimize_bfgs
from .lbfgs import minimize_lbfgs

__all__ = ["minimize_bfgs", "minimize_lbfgs"]
