"""What values of a copied Program stand for those of the original."""

from __future__ import annotations

from argosy import _core

__all__ = []


class IrMapping:
    """Which values of a copy stand for those of a Program: Program.clone(mapping) fills it.

    Example:
        >>> argosy.enable_static()
        >>> y = argosy.exp(argosy.static.data("x", [2], "float32"))
        >>> mapping = argosy.pir.IrMapping()
        >>> copy = argosy.static.default_main_program().clone(mapping)
        >>> mapping.look_up(y).get_defining_op().type, mapping.has(y), mapping.size()
        ('exp', True, 2)
        >>> z = argosy.sin(y)
        >>> mapping.add(z, y)
        >>> mapping.look_up(z).name == y.name
        True
    """

    def __init__(self):
        self._copies = {}  # (value, its copy) by the key of the value

    def _fill(self, program, copy):
        described = program._description()
        made = [v for o in described["operations"] for v in o["results"]]
        for value in [*described["arguments"], *made]:
            if value is not None:
                self.add(value, _core.program_counterpart(copy._handle, value))

    def add(self, value, other):
        """Lets a value stand for another one.

        Args:
            value, other (Variable): The value and what stands for it.
        """
        self._copies[_core.program_value_key(value)] = value, other

    def has(self, value):
        """Whether something stands for a value.

        Args:
            value (Variable): It.

        Returns:
            bool: That.
        """
        return _core.program_value_key(value) in self._copies

    def look_up(self, value):
        """What stands for a value.

        Args:
            value (Variable): It.

        Returns:
            Variable: The other one.

        Raises:
            ValueError: Nothing does.
        """
        if not self.has(value):
            raise ValueError(
                "[IrMapping.look_up] nothing stands for this value: expected one of the Program that"
                " was cloned. Do this: call program.clone(mapping) first."
            )
        return self._copies[_core.program_value_key(value)][1]

    def size(self):
        """How many values something stands for.

        Returns:
            int: That.
        """
        return len(self._copies)
