import pytest

import argosy
from argosy import static


@pytest.fixture(autouse=True)
def static_mode():
    """Each test has Programs, names and a scope of its own."""
    argosy.enable_static()
    with argosy.utils.unique_name.guard(), static.scope_guard(static.Scope()):
        with static.program_guard(static.Program(), static.Program()):
            yield
    argosy.disable_static()


@pytest.fixture
def start():
    """Runs the startup program; returns an Executor."""

    def run():
        exe = static.Executor()
        assert exe.run(static.default_startup_program()) == []
        return exe

    return run
