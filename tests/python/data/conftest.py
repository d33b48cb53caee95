import pytest

import argosy as paddle


@pytest.fixture(autouse=True)
def static_mode():
    """Each test builds its own Programs and has a Scope of its own."""
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with (
        paddle.static.program_guard(main, startup),
        paddle.static.scope_guard(paddle.static.Scope()),
    ):
        yield
    paddle.disable_static()
