"""`argosy launch`, `fleetrun` and `python -m argosy.distributed.launch`: starts a job's processes."""

__all__ = ["launch"]


def launch(argv=None, prog="argosy launch"):
    """Parses arguments (sys.argv by default) and runs the job. Returns the exit code."""
    import sys

    from .arguments import make_plan, parser

    options = parser(prog).parse_args(argv)
    try:
        plan = make_plan(options)
    except ValueError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # while launchers of several hosts wait for each other
        print(f"{prog}: SIGINT: nothing was started.", file=sys.stderr)
        return 130
    if options.on == "ray":
        from .on_ray import run
    else:
        from .local import run
    try:
        return run(plan)
    except OSError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 1


def fleetrun():
    """Entry point of the command fleetrun."""
    return launch(prog="fleetrun")
