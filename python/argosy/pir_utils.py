"""Guards of Paddle's test programs that choose an intermediate representation. There is one here, so
they choose static mode or leave the mode as it is; `base.framework.in_pir_mode` says what they chose."""

from __future__ import annotations

import functools

from argosy._framework import disable_static, enable_static, in_dynamic_mode
from argosy._programs.representation import REPRESENTATION as _representation

__all__ = ["DygraphOldIrGuard", "DygraphPirGuard", "IrGuard", "OldIrGuard"]


class DygraphPirGuard:
    """Leaves the mode as it is; static Programs within count as made of values."""

    _pir, _inputs = True, None

    def __enter__(self):
        self._before = dict(_representation)
        _representation["pir"] = self._pir
        if self._inputs is not None:
            _representation["inputs"] = self._inputs

    def __exit__(self, *exc):
        _representation.update(self._before)


class DygraphOldIrGuard(DygraphPirGuard):
    """Leaves the mode as it is; static Programs within count as made of named variables."""

    _pir = False


class IrGuard(DygraphPirGuard):
    """Within the context static mode is on; blocks show inputs ('pd_op.data') and state ('builtin.parameter')
    as operations, before those that compute."""

    _inputs = True

    def __enter__(self):
        super().__enter__()
        self._was_dynamic = in_dynamic_mode()
        if self._was_dynamic:
            enable_static()

    def __exit__(self, *exc):
        if self._was_dynamic:
            disable_static()
        super().__exit__(*exc)


class OldIrGuard(IrGuard):
    """Within the context static mode is on; Programs count as made of named variables."""

    _pir, _inputs = False, False


def _under(*guards):
    """A decorator: each call runs once under each of the guards."""

    def decorate(func):
        @functools.wraps(func)
        def run(*args, **kwargs):
            for guard in guards:
                with guard():
                    func(*args, **kwargs)

        return run

    return decorate


test_with_pir_api = _under(OldIrGuard, IrGuard)
test_with_dygraph_pir = _under(DygraphPirGuard)
test_with_pir_api.__test__ = test_with_dygraph_pir.__test__ = False  # no tests themselves
