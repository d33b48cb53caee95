"""Switches of capture under the names of Paddle's programs that test it.

`sot_mode_guard` says what `to_static` does when full_graph is left out. The others are kept for programs that
set them and read them back: every function is captured by one way here, whatever its size."""

from __future__ import annotations

import contextlib

from argosy._support import no_effect
from argosy.utils.environments import (
    BooleanEnvironmentVariable,
    EnvironmentVariableGuard,
    IntegerEnvironmentVariable,
    StringEnvironmentVariable,
)

from . import capture as _capture

__all__ = []

ENV_ENABLE_SOT = BooleanEnvironmentVariable("ENABLE_FALL_BACK", True)
ENV_SOT_EVENT_LEVEL = IntegerEnvironmentVariable("SOT_EVENT_LEVEL", 0)
ENV_ENABLE_CINN_IN_DY2ST = BooleanEnvironmentVariable("ENABLE_CINN_IN_DY2ST", True)

ENV_MIN_GRAPH_SIZE = IntegerEnvironmentVariable("MIN_GRAPH_SIZE", 10)
ENV_STRICT_MODE = BooleanEnvironmentVariable("STRICT_MODE", False)
ENV_SOT_LOG_LEVEL = IntegerEnvironmentVariable("SOT_LOG_LEVEL", 0)
ENV_SOT_WITH_CONTROL_FLOW = BooleanEnvironmentVariable("SOT_WITH_CONTROL_FLOW", True)
ENV_SOT_EXPORT = StringEnvironmentVariable("SOT_EXPORT", "")
ENV_SOT_ALLOW_DYNAMIC_SHAPE = BooleanEnvironmentVariable("SOT_ALLOW_DYNAMIC_SHAPE", True)
ENV_SOT_ENABLE_FASTER_GUARD = BooleanEnvironmentVariable("SOT_ENABLE_FASTER_GUARD", False)
ENV_SOT_ENABLE_GUARD_TREE = BooleanEnvironmentVariable("SOT_ENABLE_GUARD_TREE", False)
ENV_SOT_ENABLE_0_SIZE_FALLBACK = BooleanEnvironmentVariable("SOT_ENABLE_0_SIZE_FALLBACK", True)
ENV_SOT_SPECIALIZED_DIM_NUMBERS = StringEnvironmentVariable("SOT_SPECIALIZED_DIM_NUMBERS", "0")
ENV_ENABLE_SOT_STEP_PROFILER = BooleanEnvironmentVariable("ENABLE_SOT_STEP_PROFILER", False)


@contextlib.contextmanager
def sot_mode_guard(value):
    """Within the context `to_static` without full_graph falls back to Python where it cannot capture, or
    does not.

    Args:
        value (bool): Whether it falls back.

    Raises:
        AssertionError: It is no bool.

    Example:
        >>> from argosy.jit.switches import sot_mode_guard
        >>> with sot_mode_guard(False):
        ...     layer = argosy.jit.to_static(argosy.nn.Linear(2, 1))  # raises what cannot be captured
        >>> layer(argosy.ones([1, 2])).shape
        paddle.Size([1, 1])
    """
    with EnvironmentVariableGuard(ENV_ENABLE_SOT, value):
        yield


def _guard(name, variable):
    """A context in which a switch is set that nothing here reads."""

    @contextlib.contextmanager
    def guard(value):
        no_effect(name, "functions of all sizes are captured by one way",
                  value=(value, variable.default))  # fmt: skip
        with EnvironmentVariableGuard(variable, value):
            yield

    guard.__name__ = guard.__qualname__ = name
    guard.__doc__ = (
        f"Within the context {variable.name} is another one, for programs that read it back."
    )
    return guard


strict_mode_guard = _guard("strict_mode_guard", ENV_STRICT_MODE)
min_graph_size_guard = _guard("min_graph_size_guard", ENV_MIN_GRAPH_SIZE)
allow_dynamic_shape_guard = _guard("allow_dynamic_shape_guard", ENV_SOT_ALLOW_DYNAMIC_SHAPE)
with_control_flow_guard = _guard("with_control_flow_guard", ENV_SOT_WITH_CONTROL_FLOW)
faster_guard_guard = _guard("faster_guard_guard", ENV_SOT_ENABLE_FASTER_GUARD)
guard_tree_guard = _guard("guard_tree_guard", ENV_SOT_ENABLE_GUARD_TREE)
enable_0_size_fallback_guard = _guard(
    "enable_0_size_fallback_guard", ENV_SOT_ENABLE_0_SIZE_FALLBACK
)
specialized_dim_numbers_guard = _guard(
    "specialized_dim_numbers_guard", ENV_SOT_SPECIALIZED_DIM_NUMBERS
)
sot_step_profiler_guard = _guard("sot_step_profiler_guard", ENV_ENABLE_SOT_STEP_PROFILER)
export_guard = _guard("export_guard", ENV_SOT_EXPORT)


class OpcodeExecutorCache:
    """What programs ask how often functions were captured. There is one object. Captured Programs belong to
    their functions here, so `clear` begins a new count and drops none.

    Example:
        >>> from argosy.jit.switches import OpcodeExecutorCache
        >>> count = OpcodeExecutorCache()
        >>> count.clear()
        >>> doubled = argosy.jit.to_static(lambda x: 2 * x)
        >>> for size in 1, 2, 2:
        ...     _ = doubled(argosy.ones([size]))
        >>> count.translate_count, count is OpcodeExecutorCache()
        (2, True)
    """

    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance._begin = 0
        return cls._instance

    @property
    def translate_count(self):
        """Captures since the last clear()."""
        return _capture.count() - self._begin

    def clear(self):
        """Begins a new count."""
        self._begin = _capture.count()
