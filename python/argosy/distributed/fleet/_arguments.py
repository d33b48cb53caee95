"""Arguments that several methods of Fleet check."""

import os


def check_executor(what, executor):
    from argosy import static

    if executor is not None and not isinstance(executor, static.Executor):
        raise TypeError(
            f"[fleet.{what}] executor: expected a static.Executor or None, got "
            f"{type(executor).__name__}. Do this: leave it out."
        )


def local_folder(what, path):
    """The name of a folder of this host; a name of a cluster's file system would become one."""
    path = os.fspath(path)
    scheme, colon, _ = path.partition("/")[0].partition(":")
    if colon and scheme.isalnum():
        raise ValueError(
            f"[fleet.{what}] {path!r}: expected a folder of this host, got a name of the file system "
            f"{scheme!r}. Do this: name a folder, and copy it with fleet.utils.HDFSClient (upload, "
            "download); or mount that file system."
        )
    return path


def checked_mode(mode, what):
    try:
        number = int(mode)
    except (TypeError, ValueError):
        number = -1
    if number not in (0, 1, 2, 3, 4, 5):
        raise ValueError(f"[fleet.{what}] mode: expected a number from 0 to 5, got {mode!r}.")
    return number
