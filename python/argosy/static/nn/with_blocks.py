"""Control flow of Programs whose bodies are written under ``with``: what they write in place is the result."""

import contextlib

from argosy import _core, tensor
from argosy._core import Tensor
from argosy._support import is_symbolic, no_effect
from argosy.utils.recorded_loop import block, end_block


def _condition(label, cond):
    """cond, a bool value of a Program with one element."""
    if not is_symbolic(cond) or cond.dtype != _core.bool or cond.size not in (1, -1):
        raise TypeError(
            f"[{label}] cond: expected a bool Variable of one element of a static Program, got"
            f" {cond if not isinstance(cond, Tensor) else f'{cond.dtype} {list(cond.shape)}'}."
            " Do this: pass what a comparison returned under static.program_guard(..)."
        )
    return cond


def _program(label):
    program = _core.program_recording()
    if program is None:
        raise RuntimeError(
            f"[{label}] no Program is being built. Do this: write the block under"
            " static.program_guard(..)."
        )
    return program


@contextlib.contextmanager
def _body(program, yields):
    """Records a block of what is done in the context. Gives a list, into which the block's draft is
    put at the end; it yields what `yields` returns then."""
    _core.program_block_begin(program)
    draft = []
    try:
        yield draft
    except BaseException:
        _core.program_block_abandon(program)
        raise
    draft.append(end_block(program, yields()))


class While:
    """A loop whose body is written under ``with``, and which goes on as long as a variable is true. What
    the body writes in place (``assign(.., output=v)``, ``increment(v)``) is carried from round to round.

    Args:
        cond (Tensor): Variable of a Program, bool, one element. The body writes it.
        is_test (bool): Has no effect on results.
        name (str, optional): Has no effect on results.

    Raises:
        TypeError: cond is no variable of a Program, or no bool of one element.

    Example:
        >>> argosy.enable_static()
        >>> i, end = argosy.full([1], 0, "int64"), argosy.full([1], 5, "int64")
        >>> going = argosy.less_than(i, end)
        >>> with argosy.static.nn.control_flow.While(going).block():
        ...     i = argosy.increment(i)
        ...     _ = argosy.assign(argosy.less_than(i, end), going)
        >>> argosy.static.Executor().run(fetch_list=[i])[0].tolist()
        [5]
    """

    def __init__(self, cond, is_test=False, name=None):
        no_effect(
            "While",
            "what gradients need is kept where they are asked for",
            is_test=(is_test, False),
        )
        self._cond = _condition("While", cond)

    @contextlib.contextmanager
    def block(self):
        """The context whose operations are the body.

        Returns:
            A context manager.
        """
        program = _program("While")
        first = _core.ops.assign(self._cond)
        test = block(program, lambda: _core.program_block_argument(program, first))
        test_draft = end_block(program, [test])
        with _body(program, lambda: [self._cond]) as body:
            _core.program_block_argument(program, first)
            yield
        _core.program_while(program, [first], test_draft, body[0])


class Switch:
    """The first of several bodies whose condition holds, used under ``with``.

    Args:
        name (str, optional): Has no effect on results.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [1])
        >>> rate = argosy.static.create_global_var([1], 0.0, "float32", persistable=True)
        >>> with argosy.static.nn.control_flow.Switch() as switch:
        ...     with switch.case(x < 1.0):
        ...         _ = argosy.assign(argosy.full([1], 0.1), rate)
        ...     with switch.default():
        ...         _ = argosy.assign(argosy.full([1], 0.5), rate)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> [round(float(exe.run(feed={"x": np.float32([v])}, fetch_list=[rate])[0][0]), 2) for v in (0, 3)]
        [0.1, 0.5]
    """

    def __init__(self, name=None):
        self._inside = False
        self._rest = None  # whether no case so far held; None before the first

    def __enter__(self):
        self._inside = True
        return self

    def __exit__(self, kind, value, trace):
        self._inside = False
        return False

    @contextlib.contextmanager
    def case(self, condition):
        """The context of a body that runs if condition holds and no case before it did.

        Args:
            condition (Tensor): Variable of a Program, bool, one element.

        Returns:
            A context manager.

        Raises:
            ValueError: Outside of ``with switch``.
            TypeError: condition is no variable of a Program, or no bool of one element.
        """
        self._check_inside("case")
        condition = _condition("Switch.case", condition).reshape([])
        rest = self._rest
        chosen = condition if rest is None else tensor.logical_and(rest, condition)
        no = tensor.logical_not(condition)
        self._rest = no if rest is None else tensor.logical_and(rest, no)
        with self._when(chosen):
            yield

    @contextlib.contextmanager
    def default(self):
        """The context of a body that runs if no case did.

        Returns:
            A context manager.

        Raises:
            ValueError: Outside of ``with switch``, or there is no case before it.
        """
        self._check_inside("default")
        if self._rest is None:
            raise ValueError(
                "[Switch.default] there is no case before it: expected one or more."
                " Do this: write with switch.case(condition) first."
            )
        with self._when(self._rest):
            yield

    def _check_inside(self, what):
        if not self._inside:
            raise ValueError(
                f"[Switch.{what}] must be inside of the switch. Do this: write it under"
                " `with Switch() as switch:`."
            )

    @staticmethod
    @contextlib.contextmanager
    def _when(condition):
        program = _program("Switch")
        with _body(program, lambda: []) as then:
            yield
        block(program, lambda: None)
        _core.program_if(program, condition, then[0], end_block(program, []))
