"""Arguments that several methods of Fleet check."""


def check_executor(what, executor):
    from argosy import static

    if executor is not None and not isinstance(executor, static.Executor):
        raise TypeError(
            f"[fleet.{what}] executor: expected a static.Executor or None, got "
            f"{type(executor).__name__}. Do this: leave it out."
        )


def checked_mode(mode, what):
    try:
        number = int(mode)
    except (TypeError, ValueError):
        number = -1
    if number not in (0, 1, 2, 3, 4, 5):
        raise ValueError(f"[fleet.{what}] mode: expected a number from 0 to 5, got {mode!r}.")
    return number
