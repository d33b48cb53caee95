"""Derivatives of functions."""

from __future__ import annotations

from .functional import (
    Hessian,
    Jacobian,
    disable_prim,
    enable_prim,
    forward_grad,
    grad,
    jvp,
    prim2orig,
    prim_enabled,
    vjp,
)

__all__ = [
    "Hessian",
    "Jacobian",
    "disable_prim",
    "enable_prim",
    "forward_grad",
    "grad",
    "jvp",
    "prim2orig",
    "prim_enabled",
    "vjp",
]
