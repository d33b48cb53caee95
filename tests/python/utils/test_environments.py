"""Variables of the environment that have a type."""

import os

import pytest

from argosy.utils.environments import (
    BooleanEnvironmentVariable,
    EnvironmentVariable,
    EnvironmentVariableGuard,
    IntegerEnvironmentVariable,
    StringEnvironmentVariable,
    StringListEnvironmentVariable,
    strtobool,
)

NAME = "ARGOSY_TEST_OF_ENVIRONMENTS"


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    monkeypatch.delenv(NAME, raising=False)


@pytest.mark.parametrize(
    "kind, default, value, text",
    [
        (BooleanEnvironmentVariable, False, True, "true"),
        (IntegerEnvironmentVariable, 3, -7, "-7"),
        (StringEnvironmentVariable, "a", "b", "b"),
        (StringListEnvironmentVariable, ["a"], ["x", "y"], "x,y"),
    ],
)
def test_values_are_written_and_read(kind, default, value, text):
    variable = kind(NAME, default)
    assert variable.get() == default and repr(variable) == f"Env({NAME}={default!r})"
    variable.set(value)
    assert os.environ[NAME] == text and variable.get() == variable.parse_from_string() == value
    variable.delete()
    assert variable.get() == default
    with pytest.raises(KeyError):
        variable.delete()


def test_texts():
    assert [strtobool(text) for text in ("y", "ON", "1", "no", "F", "0")] == [True] * 3 + [
        False
    ] * 3
    with pytest.raises(ValueError, match="expected one of y, yes, .* got 'maybe'. Do this: set it"):
        strtobool("maybe")
    os.environ[NAME] = "many"
    assert IntegerEnvironmentVariable(NAME, 3).get() == 3
    with pytest.raises(ValueError, match="got 'many'"):
        BooleanEnvironmentVariable(NAME, True).get()


def test_wrong_types():
    with pytest.raises(AssertionError, match=f"default of {NAME}: expected an int, got None"):
        IntegerEnvironmentVariable(NAME, True)
    for kind, default, value in (
        (BooleanEnvironmentVariable, False, 1),
        (IntegerEnvironmentVariable, 3, "1"),
        (StringEnvironmentVariable, "", 1),
        (StringListEnvironmentVariable, [], [1]),
    ):
        with pytest.raises(AssertionError, match="expected a"):
            kind(NAME, default).set(value)
    with pytest.raises(ValueError, match="is the variable, not its value. Do this: call get"):
        bool(BooleanEnvironmentVariable(NAME, True))
    with pytest.raises(NotImplementedError, match="Do this: use StringEnvironmentVariable"):
        EnvironmentVariable(NAME, 1).set(2)


def test_guards_put_back_what_was():
    variable = IntegerEnvironmentVariable(NAME, 3)
    with pytest.raises(KeyError), EnvironmentVariableGuard(variable, 5):
        assert variable.get() == 5
        raise KeyError
    assert NAME not in os.environ
    variable.set(4)
    with EnvironmentVariableGuard(variable, 5):
        assert os.environ[NAME] == "5"
    assert os.environ[NAME] == "4"
