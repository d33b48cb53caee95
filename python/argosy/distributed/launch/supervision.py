"""What launchers of all kinds say and decide when a process fails."""

import signal

from .output import show

__all__ = ["describe", "exit_code", "refusal", "say"]


def say(text):
    """A line of the launcher's own."""
    show(f"argosy launch: {text}\n", "stderr")


def describe(code):
    """How a process ended, by its return code (negative: a signal's number)."""
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"was killed by {name}"
    return f"ended with exit code {code}"


def exit_code(code):
    """The launcher's exit code for it."""
    return 128 - code if code < 0 else code


def refusal(plan, task, code, restarts):
    """Why a failed process is not restarted, or None when it is."""
    if task.kind == "server" and not plan.durable:
        if code > 0 and not plan.restart_any:
            return "it ended by an error"  # with its tables kept it would not be restarted either
        return (
            "what this server held is lost. Do this: --durability log (or snapshot), and it is "
            "restarted with what it had"
        )
    if plan.together and not plan.restart_any:
        return (
            "a process cannot join the others of its group again; --max_restart N starts all of them"
            " again"
        )
    if code > 0 and not plan.restart_any:
        return "it ended by an error; --max_restart N restarts after errors too"
    if restarts >= plan.max_restart:
        return f"it was restarted {restarts} times"
    return None
