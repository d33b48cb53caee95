"""Accumulators in a loaded state, which have names of the parameters and numbers at the end."""

import re

from argosy._support import dtype_name


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


def fitting(what, tensor, value, key, spread):
    """A value of a state in the form of the accumulator that is to take it.

    Args:
        what (str): Who asks, for errors.
        tensor (Tensor): The accumulator.
        value (Tensor | ndarray): The value called `key`.
        spread (bool): The accumulator is saved in the shape of its parameter.

    Raises:
        AssertionError: It has another shape or dtype.
    """
    shape, want = list(getattr(value, "shape", ())), list(tensor.shape)
    if shape != want:
        if not spread or 0 in shape:
            raise AssertionError(
                f"[{what}] '{key}' has the wrong shape: expected {want}, got {shape}. Do this: load a"
                " state saved for the same model."
            )
        value = value.reshape([-1])[:1]
    have, want = dtype_name(value.dtype), dtype_name(tensor.dtype)
    if have == "uint16":
        have = "bfloat16"  # how NumPy carries bfloat16
    if have != want:
        raise AssertionError(
            f"[{what}] '{key}' has the wrong dtype: expected {want}, got {have}. Do this: cast it, or save"
            " it again from an optimizer of this dtype."
        )
    return value


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
