"""Parameter under the name that ``nn`` gives it."""

from __future__ import annotations

from argosy.base.framework import EagerParamBase

Parameter = EagerParamBase
