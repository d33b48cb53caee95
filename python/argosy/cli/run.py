"""`argosy run`: a Python process in which paddle means argosy."""

import os
import sys

__all__ = ["run"]

# Options of Python that ignore PYTHONPATH or sitecustomize, by which the alias reaches children.
_DEAF = "EIS"


def _deaf_option(arguments):
    """The option among Python's own that would switch the alias off, or None."""
    for argument in arguments:
        if not argument.startswith("-") or argument in ("-", "-c", "-m"):
            return None
        if not argument.startswith("--") and any(letter in _DEAF for letter in argument[1:]):
            return argument
        if argument[1:2] in ("c", "m", "W", "X"):
            return None
    return None


def run(arguments):
    """Replace this process by Python with these arguments. Returns 2 if they name no program.

    A new interpreter, not an import, so that tracebacks, __main__, sys.argv and the exit code are
    as Python's own.
    """
    if not arguments:
        print(
            "argosy run: no program. Do this: argosy run PROGRAM.py [ARGUMENT]..., "
            "argosy run -m MODULE, or argosy run -c CODE.",
            file=sys.stderr,
        )
        return 2
    deaf = _deaf_option(arguments)
    if deaf is not None:
        print(
            f"argosy run: Python's option {deaf} keeps `import paddle` from meaning argosy. "
            "Do this: leave it out.",
            file=sys.stderr,
        )
        return 2
    site = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
    inherited = os.environ.get("PYTHONPATH", "")
    entries = [entry for entry in inherited.split(os.pathsep) if entry and entry != site]
    os.environ["PYTHONPATH"] = os.pathsep.join([site, *entries])
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(sys.executable, [sys.executable, *arguments])
    except OSError as error:
        print(f"argosy run: cannot start {sys.executable}: {error}", file=sys.stderr)
        return 126
