"""Programs and their parts under the names of Paddle's intermediate representation."""

from __future__ import annotations

from argosy import passes as _passes
from argosy.base.parameter import Variable as Value
from argosy.static import Block, Program
from argosy.static.program import Operator as Operation



class PassManager:
    """Passes that are run over a Program in order.

    Args:
        opt_level (int): Kept; all passes that are added run.
    """

    def __init__(self, opt_level=2):
        self.opt_level = opt_level
        self._names = []

    def add_pass(self, name, options=None):
        """Adds a pass of argosy.passes.names().

        Raises:
            ValueError: there is no such pass, or it is given options, which ours do not take.
        """
        if options:
            raise ValueError(
                f"[PassManager.add_pass] '{name}' takes no options, got {options!r}."
                " Do this: leave them out."
            )
        if name not in _passes.names():
            raise ValueError(
                f"[PassManager.add_pass] there is no pass '{name}'. Do this: take one of"
                f" {', '.join(_passes.names())}."
            )
        self._names.append(name)

    def passes(self):
        """The names of the passes that were added."""
        return list(self._names)

    def empty(self):
        """Whether no pass was added."""
        return not self._names

    def clear(self):
        """Takes all passes out."""
        self._names.clear()

    def run(self, program):
        """A copy of the Program after the passes: what argosy.passes.rewrite gives."""
        return _passes.rewrite(program, self._names)


def is_fake_value(value):
    """Whether this is no value: None."""
    return value is None


fake_value = None
__all__ = ["Block", "Operation", "PassManager", "Program", "Value", "fake_value", "is_fake_value"]
