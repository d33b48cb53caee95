"""Scopes, where runs find and leave the values of state."""

from argosy._programs.scope import (
    DenseTensor,
    Scope,
    ScopeVariable,
    create_lod_tensor,
    global_scope,
    scope_guard,
)

__all__ = [
    "DenseTensor", "Scope", "ScopeVariable", "create_lod_tensor", "global_scope", "scope_guard",
]  # fmt: skip
