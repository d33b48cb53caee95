"""Refusals of options that have no meaning here."""

from __future__ import annotations

# Remedies for what divides a layer between processes.
ONE_PROCESS = "leave it out; layers are not divided between processes"
NOT_QUANTIZED = "the result is not quantized"


def no_quantization(name, **options):
    """Raises NotImplementedError if one of the options is given."""
    given = [key for key, (value, default) in options.items() if value != default]
    if given:
        raise NotImplementedError(
            f"[{name}] quantized results are not supported: got {', '.join(given)}. Do this: leave"
            " them out, and quantize the result yourself."
        )
