"""Variables of the environment as objects that have a type."""

from __future__ import annotations

import os

__all__ = []

_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


def strtobool(val):
    """The truth value that a text says.

    Args:
        val (str): One of y, yes, t, true, on, 1, n, no, f, false, off and 0, in any case.

    Returns:
        bool: It.

    Raises:
        ValueError: The text says something else.

    Example:
        >>> argosy.utils.environments.strtobool("Off")
        False
    """
    low = val.lower()
    if low not in _TRUE + _FALSE:
        raise ValueError(
            f"[strtobool] expected one of {', '.join(_TRUE + _FALSE)}, got {val!r}. Do this: set it to 1 or 0."
        )
    return low in _TRUE


class EnvironmentVariable:
    """A variable of the environment with a default. Kinds of it say what its texts mean.

    Args:
        name (str): Of the variable.
        default (object): Its value where the environment lacks it.

    Raises:
        AssertionError: The default is not of the kind's type.
    """

    kind, what = object, "a value"

    def __init__(self, name, default):
        self.name, self.default = name, default
        self._need(default, "default")

    def _need(self, value, role):
        # A bool passes for an int, as in Python.
        if not isinstance(value, self.kind):
            raise AssertionError(
                f"[{type(self).__name__}] {role} of {self.name}: expected {self.what}, got {value!r}. "
                "Do this: pass one."
            )

    def get(self):
        """The value.

        Returns:
            object: What the environment says, or the default where it lacks the variable.

        Raises:
            ValueError: The text in the environment has no meaning.
        """
        text = os.environ.get(self.name)
        return self.default if text is None else self._value(text)

    def set(self, value):
        """Writes the value to the environment of this process.

        Args:
            value (object): It.

        Raises:
            AssertionError: It is not of the kind's type.
        """
        self._need(value, "value")
        os.environ[self.name] = self.convert_to_string(value)

    def delete(self):
        """Removes the variable from the environment of this process.

        Raises:
            KeyError: It is not there.
        """
        del os.environ[self.name]

    def parse_from_string(self):
        """What the text in the environment means.

        Returns:
            object: The value.

        Raises:
            KeyError: The variable is not there.
        """
        return self._value(os.environ[self.name])

    def convert_to_string(self, value):
        """The text of a value.

        Args:
            value (object): Of the kind's type.

        Returns:
            str: It.

        Raises:
            NotImplementedError: The variable has no kind.
        """
        raise NotImplementedError(
            f"[{type(self).__name__}] no type is said for {self.name}. Do this: use"
            " StringEnvironmentVariable or another kind."
        )

    def _value(self, text):
        return self.convert_to_string(text)

    def __repr__(self):
        return f"Env({self.name}={self.get()!r})"


class StringEnvironmentVariable(EnvironmentVariable):
    """A variable whose value is its text.

    Args:
        name, default: as of EnvironmentVariable.

    Example:
        >>> from argosy.utils.environments import StringEnvironmentVariable
        >>> StringEnvironmentVariable("ARGOSY_EXAMPLE", "plain").get()
        'plain'
    """

    kind, what = str, "a string"

    def convert_to_string(self, value):
        """As it is."""
        return value

    def _value(self, text):
        return text


class BooleanEnvironmentVariable(EnvironmentVariable):
    """A switch: its texts are those of strtobool.

    Args:
        name, default: as of EnvironmentVariable.

    Example:
        >>> from argosy.utils.environments import BooleanEnvironmentVariable
        >>> BooleanEnvironmentVariable("ARGOSY_EXAMPLE", False).get()
        False
    """

    kind, what = bool, "a bool"

    def convert_to_string(self, value):
        """``true`` or ``false``."""
        return str(value).lower()

    def _value(self, text):
        return strtobool(text)

    def __bool__(self):
        raise ValueError(
            f"[BooleanEnvironmentVariable] {self.name} is the variable, not its value. Do this: call get()."
        )


class IntegerEnvironmentVariable(EnvironmentVariable):
    """A whole number. A text that is none counts as the default.

    Args:
        name, default: as of EnvironmentVariable.

    Example:
        >>> from argosy.utils.environments import IntegerEnvironmentVariable
        >>> IntegerEnvironmentVariable("ARGOSY_EXAMPLE", 3).get()
        3
    """

    kind, what = int, "an int"

    def _need(self, value, role):
        super()._need(None if isinstance(value, bool) else value, role)

    def convert_to_string(self, value):
        """Its digits."""
        return str(value)

    def _value(self, text):
        try:
            return int(text)
        except ValueError:
            return self.default


class StringListEnvironmentVariable(EnvironmentVariable):
    """Texts with commas between them.

    Args:
        name, default: as of EnvironmentVariable.

    Example:
        >>> from argosy.utils.environments import StringListEnvironmentVariable
        >>> StringListEnvironmentVariable("ARGOSY_EXAMPLE", ["a", "b"]).get()
        ['a', 'b']
    """

    kind, what = list, "a list of strings"

    def _need(self, value, role):
        right = isinstance(value, list) and all(isinstance(v, str) for v in value)
        super()._need(value if right else None, role)

    def convert_to_string(self, value):
        """The texts with commas between them."""
        return ",".join(value)

    def _value(self, text):
        return text.split(",")


class EnvironmentVariableGuard:
    """Gives a variable a value within the context; behind it the variable is as before, or not there if
    it was not.

    Args:
        variable (EnvironmentVariable): It.
        value (object): Its value within.

    Example:
        >>> from argosy.utils.environments import EnvironmentVariableGuard, IntegerEnvironmentVariable
        >>> threads = IntegerEnvironmentVariable("ARGOSY_EXAMPLE", 3)
        >>> with EnvironmentVariableGuard(threads, 5):
        ...     print(threads)
        Env(ARGOSY_EXAMPLE=5)
        >>> threads.get()
        3
    """

    def __init__(self, variable, value):
        self.variable, self.value = variable, value
        self.original_value = variable.get()
        self._before = os.environ.get(variable.name)

    def __enter__(self):
        self.variable.set(self.value)
        return self

    def __exit__(self, *exc):
        if self._before is None:
            os.environ.pop(self.variable.name, None)
        else:
            os.environ[self.variable.name] = self._before
