"""Parameter under the name that ``nn`` gives it."""

from __future__ import annotations

from argosy.base.parameter import EagerParamBase

Parameter = EagerParamBase
