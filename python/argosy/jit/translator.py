"""Capture under the names of Paddle's translators, which take single functions."""

from __future__ import annotations

import functools
import inspect
import types

from argosy import _core

from . import api
from .transform import transform
from .transform.runtime.calls import call

__all__ = ["ProgramTranslator", "convert_call", "psdb", "symbolic_translate"]


def convert_call(func):
    """What captured code calls in the place of a function, so that its control flow is captured too.

    Args:
        func (callable): Any.

    Returns:
        callable: It behaves as ``func`` on Python values and concrete tensors.

    Example:
        >>> from argosy.jit.translator import convert_call
        >>> def halved(x):
        ...     if x > 1:
        ...         return x / 2
        ...     return x
        >>> convert_call(halved)(4), convert_call(len)([1, 2])
        (2.0, 2)
    """
    return call(func)


def symbolic_translate(fn, **kwargs):
    """A function that runs captured where it can, and as Python where it cannot: ``to_static`` of it. For a
    plain function it is the same one each time, so what was captured is not captured again.

    Args:
        fn (callable): Any.
        kwargs: as of ``to_static``, but full_graph.

    Returns:
        callable: With the same arguments.

    Raises:
        TypeError: fn cannot be called, or an argument is unknown.

    Example:
        >>> from argosy.jit.translator import symbolic_translate
        >>> def signed(x):
        ...     return x * 2 if x.sum() > 0 else -x
        >>> symbolic_translate(signed)(argosy.to_tensor([-3.0])).tolist()
        [3.0]
    """
    if isinstance(fn, types.FunctionType) and not kwargs:
        return _falling_back(fn)
    return api.to_static(fn, full_graph=False, **kwargs)


class psdb:
    """Helpers of programs that test capture.

    Example:
        >>> from argosy.jit.translator import psdb
        >>> psdb.in_sot(), psdb.assert_true(1 < 2), psdb.breakgraph()
        (False, None, None)
        >>> psdb.print("seen")
        seen
    """

    @staticmethod
    def assert_true(input):
        """Raises AssertionError unless something holds.

        Args:
            input (bool): It.

        Raises:
            AssertionError: It does not.
        """
        if not input:
            raise AssertionError(
                "[psdb.assert_true] expected True, got False. Do this: look at what the program computed."
            )

    @staticmethod
    def print(*args, **kwargs):
        """Prints, once for each capture.

        Args:
            args, kwargs: as of print.
        """
        print(*args, **kwargs)

    @staticmethod
    def in_sot():
        """Whether the call is being captured.

        Returns:
            bool: That.
        """
        return _core.program_recording() is not None

    @staticmethod
    def breakgraph():
        """Within a function that is captured: it runs as Python instead (``full_graph=False``).

        Raises:
            NotImplementedError: It is to be one Program.
        """
        if psdb.in_sot():
            raise NotImplementedError(
                "[psdb.breakgraph] the function asks not to be captured as one Program. Do this: pass"
                " full_graph=False, or leave breakgraph() out."
            )

    fallback = breakgraph


class ProgramTranslator:
    """Capture of single functions. There is one object.

    Example:
        >>> from argosy.jit.translator import ProgramTranslator
        >>> translator = ProgramTranslator.get_instance()
        >>> def doubled(x):
        ...     return x * 2
        >>> translator.get_output(doubled, argosy.ones([2])).tolist()
        [2.0, 2.0]
        >>> translator is ProgramTranslator(), translator.enable_to_static
        (True, True)
        >>> translator.enable(True)
        >>> translator.get_func(doubled)(3), callable(translator.get_code)
        (6, True)
        >>> main, startup, inputs, outputs = translator.get_program(doubled, argosy.ones([2]))
        >>> len(main.global_block().ops), len(inputs), len(outputs)
        (1, 1, 1)
    """

    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    @classmethod
    def get_instance(cls):
        """The object.

        Returns:
            ProgramTranslator: It.
        """
        return cls()

    @property
    def enable_to_static(self):
        """Whether functions are captured."""
        return api._enabled

    def enable(self, enable_to_static):
        """As ``jit.enable_to_static``.

        Args:
            enable_to_static (bool): Whether functions are captured.

        Raises:
            TypeError: It is no bool.
        """
        api.enable_to_static(enable_to_static)

    def _static(self, who, function):
        if not callable(function):
            raise AssertionError(
                f"[ProgramTranslator.{who}] dygraph_func: expected a function, got"
                f" {type(function).__name__}. Do this: pass it."
            )
        if isinstance(function, api.StaticFunction):
            return function
        return _static_functions(function)

    def get_output(self, dygraph_func, *args, **kwargs):
        """The result of a function, which runs captured.

        Args:
            dygraph_func (callable): It.
            args, kwargs: Its arguments.

        Returns:
            Its result.

        Raises:
            AssertionError: It cannot be called.
        """
        return self._static("get_output", dygraph_func)(*args, **kwargs)

    def get_func(self, dygraph_func):
        """A function whose control flow becomes that of a Program where it depends on values of one.

        Args:
            dygraph_func (callable): It.

        Returns:
            callable: With the same arguments.

        Raises:
            AssertionError: It cannot be called.
        """
        self._static("get_func", dygraph_func)
        return transform(getattr(dygraph_func, "dygraph_function", dygraph_func))

    def get_program(self, dygraph_func, *args, **kwargs):
        """The Program that is captured of a call.

        Args:
            dygraph_func (callable): The function.
            args, kwargs: Its arguments: Tensors, InputSpecs and others.

        Returns:
            tuple: The Program, one that is empty (state has its first value), inputs and outputs.

        Raises:
            AssertionError: It cannot be called.
        """
        from argosy.static import Program

        captured, _ = self._static("get_program", dygraph_func).get_concrete_program(
            *args, **kwargs
        )
        return captured.main_program, Program(), captured.inputs, captured.outputs

    def get_code(self, dygraph_func):
        """The source of a function.

        Args:
            dygraph_func (callable): It.

        Returns:
            str: As it was written.

        Raises:
            AssertionError: It cannot be called.
        """
        self._static("get_code", dygraph_func)
        return inspect.getsource(getattr(dygraph_func, "dygraph_function", dygraph_func))


@functools.lru_cache(maxsize=256)
def _static_functions(function):
    return api.StaticFunction(function, full_graph=True)


@functools.lru_cache(maxsize=256)
def _falling_back(function):
    return api.StaticFunction(function, full_graph=False)
