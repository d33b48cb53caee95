"""Accumulators in a loaded state, which have names of the parameters and numbers at the end."""

import re


def find_key(state, full_name, base):
    """The key of an accumulator: its name, else the same with another trailing number (a second
    optimizer over the same parameters counts on)."""
    if full_name in state:
        return full_name
    pattern = re.compile(re.escape(base) + r"_\d+")
    for key in state:
        if pattern.fullmatch(key):
            return key
    return None


def accumulators_in(state, parameters, kinds):
    """The part of state that are accumulators of certain parameters.

    Args:
        state (dict): Values by name.
        parameters (list[Tensor]): The parameters.
        kinds (list[str]): Names of accumulators, without the parameter's.
    """
    names = "|".join(re.escape(p.name) for p in parameters)
    ours = re.compile(rf"(?:{names})_(?:{'|'.join(map(re.escape, kinds))})_\d+")
    return {key: value for key, value in state.items() if ours.fullmatch(key)}
