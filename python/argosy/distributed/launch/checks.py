"""Which options of `argosy launch` fit together: one that would be ignored is an error."""

import math

__all__ = ["check_options"]

# Of servers, which a job may not have.
_OF_SERVERS = (
    "durability durability_dir snapshot_seconds save_root tls_ca tls_cert tls_key insecure"
)
# Of processes that exchange tensors; with servers the numbers are those of --servers and --workers.
_OF_GROUPS = "nproc_per_node devices gpus xpus master rank ips"


def check_options(options, defaults):
    """Raises ValueError for a number out of range, or an option that has no effect beside the others.
    defaults: what each option is where it is not given, by name."""
    _check_numbers(options)

    def refuse(names, why):
        for name in names.split():
            value = getattr(options, name)
            if value != defaults[name]:
                raise ValueError(
                    f"--{name}: {why}, got {value}. Do this: leave it out{_ADVICE.get(name, '')}."
                )

    if options.servers in (None, "0"):
        refuse(_OF_SERVERS, "expected --servers beside it, since it says what servers do")
    else:
        refuse(_OF_GROUPS, "expected it without --servers")
        refuse("nnodes", "expected it without --servers")
        if options.durability == "none":
            refuse("durability_dir snapshot_seconds", "expected --durability beside it")
    if options.on != "ray":
        refuse("ray_address cpus", "expected --on ray beside it")


_ADVICE = {
    "nproc_per_node": ", and say how many with --workers",
    "nnodes": ", and give --servers and --workers the addresses of all hosts",
    "durability_dir": ", or add --durability log",
    "snapshot_seconds": ", or add --durability snapshot",
}


def _check_numbers(options):
    for name, least, what in (
        ("grace", 0, "seconds, 0 or more"),
        ("snapshot_seconds", 0, "seconds, 0 or more"),
        ("cpus", 0, "a number of cores, 0 or more"),
    ):
        value = getattr(options, name)
        if value is not None and not (math.isfinite(value) and value >= least):
            raise ValueError(f"--{name}: expected {what}, got {value}.")
    if options.start_port is not None and not 0 < options.start_port < 65536:
        raise ValueError(f"--start_port: expected 1 to 65535, got {options.start_port}.")
    for name in ("devices", "gpus", "xpus"):
        numbers = [
            part.strip() for part in (getattr(options, name) or "").split(",") if part.strip()
        ]
        if not all(number.isdecimal() for number in numbers) or len(set(numbers)) != len(numbers):
            raise ValueError(
                f"--{name}: expected numbers of devices, each once, as in 0,1, got {getattr(options, name)!r}."
            )
