"""Helpers that programs import from inside of `paddle.base`."""

import inspect
import logging

import argosy
from argosy.base.dygraph import switch_to_static_graph
from argosy.base.framework import grad_var_name
from argosy.base.log_helper import get_logger
from argosy.base.wrapped_decorator import signature_safe_contextmanager, wrap_decorator


def test_functions_in_static_mode():
    @switch_to_static_graph
    def mode_in(mode="unknown"):
        """What it says."""
        return mode, argosy.in_dynamic_mode()

    assert mode_in.__doc__ == "What it says." and "mode" in inspect.signature(mode_in).parameters
    assert mode_in("static") == ("static", False) and argosy.in_dynamic_mode()
    argosy.enable_static()
    try:
        assert mode_in() == ("unknown", False) and not argosy.in_dynamic_mode()
    finally:
        argosy.disable_static()

    @switch_to_static_graph
    def fails():
        raise KeyError

    try:
        fails()
    except KeyError:
        assert argosy.in_dynamic_mode()


def test_decorators_keep_signatures():
    @wrap_decorator
    def twice(func):
        return lambda *args: 2 * func(*args)

    @twice
    def add(a, b):
        """a + b"""
        return a + b

    assert add(1, 2) == 6 and add.__doc__ == "a + b"
    assert list(inspect.signature(add).parameters) == ["a", "b"]

    @signature_safe_contextmanager
    def held(things, one):
        things.append(one)
        yield one
        things.remove(one)

    things = []
    with held(things, 3) as got:
        assert got == 3 and things == [3]
    assert things == [] and list(inspect.signature(held).parameters) == ["things", "one"]


def test_names_and_loggers():
    assert grad_var_name("w") == "w@GRAD"
    logger = get_logger("a name of this test", logging.WARNING, fmt="%(message)s")
    again = get_logger("a name of this test", logging.INFO)
    assert again is logger and len(logger.handlers) == 1 and not logger.propagate
    assert logger.level == logging.INFO


def test_flags_by_name():
    flags = argosy.base.core.globals()
    assert flags["FLAGS_check_nan_inf"] is False and "FLAGS_check_nan_inf" in flags
    try:
        flags["FLAGS_check_nan_inf"] = True
        assert argosy.get_flags("FLAGS_check_nan_inf") == {"FLAGS_check_nan_inf": True}
    finally:
        flags["FLAGS_check_nan_inf"] = False
    assert "FLAGS_of_nobody" not in flags and flags.get("FLAGS_of_nobody", 3) == 3


def test_names_that_programs_look_up():
    for path in (
        "pir", "__git_commit__", "base.core._set_prim_backward_enabled", "tensor.random._manual_program_seed", "amp.OptimizerState",
        "amp.GradScaler._scale", "amp.GradScaler._unscale", "_C_ops.norm", "_legacy_C_ops.squared_l2_norm", "_legacy_C_ops.adamw",
        "_legacy_C_ops.check_finite_and_unscale", "base.core.op_proto_and_checker_maker", "base.framework.OpProtoHolder",
        "base.framework._dygraph_tracer", "base.framework._dygraph_guard", "base.DataFeedDesc",
        "incubate.optimizer.LarsMomentumOptimizer",
    ):  # fmt: skip
        found = argosy
        for name in path.split("."):
            found = getattr(found, name)
        assert found is not None, path
