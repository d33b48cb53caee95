"""Accumulators in a loaded state, which have names of the parameters and numbers at the end."""

import re

from argosy import _core
from argosy import tensor as _tensor
from argosy._support import dtype_name
from argosy.autograd import no_grad


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


def take_values(optimizer, state):
    """(accumulator, its value) of all that there are, taken out of `state`."""
    values = []
    for name, by_param in optimizer._accumulators.items():
        for param_name, tensor in by_param.items():
            full_name = optimizer._state_names[name][param_name]
            key = find_key(state, full_name, full_name.rsplit("_", 1)[0])
            if key is None:
                raise AssertionError(
                    f"[set_state_dict] '{full_name}' is missing: the state has "
                    f"{list(state)[:6]}. Do this: load a state of the same model and "
                    "optimizer class."
                )
            values.append((tensor, optimizer._fitting(tensor, state.pop(key), full_name, name)))
    return values


def load_masters(optimizer, masters):
    """Copies of parameters in float32 become those of a loaded state."""
    for name, value in masters.items():
        with no_grad():
            if name in optimizer._master_weights:
                optimizer._master_weights[name].copy_(value)
                continue
            tensor = _tensor.to_tensor(value).astype(_core.float32)
            tensor = tensor.clone() if tensor is value else tensor
        tensor.stop_gradient = True
        tensor.name = getattr(value, "name", None) or name + "_fp32_master_0"
        optimizer._master_weights[name] = tensor
    optimizer._groups.forget_batches()
