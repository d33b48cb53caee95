"""A module whose variables captured functions read (test_python_state.py)."""

factor = 2.0


def helper(x):
    return x * factor
