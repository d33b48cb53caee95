"""Settings for choosing kernels, layouts and numbers of loader processes by trial."""

import json
import warnings

from argosy._support import no_effect

_KINDS = ("kernel", "layout", "dataloader")


def set_config(config=None):
    """Checks settings for tuning. They change nothing here, which a warning says: an op has one kernel for a
    shape, layouts are chosen when Programs are planned, and loaders keep the num_workers they were given.

    Args:
        config (dict | str, optional): For "kernel", "layout" and "dataloader" a dict with "enable" (bool), of
            kernels also "tuning_range" ([first, last iteration]); or the path of a JSON file with that. Default:
            all are enabled.

    Raises:
        AssertionError: tuning_range has not two numbers.
        TypeError: The settings of a kind are no dict.

    Example:
        >>> argosy.incubate.autotune.set_config({"kernel": {"enable": False}})
    """
    if isinstance(config, str):
        config = _read(config)
    wanted = (
        config if isinstance(config, dict) else dict.fromkeys(_KINDS if config is None else (), {})
    )
    for kind in _KINDS:
        if kind in wanted and _enabled(kind, wanted[kind]):
            no_effect("autotune.set_config", "nothing is tuned by trial", **{kind: (True, False)})


def _read(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        warnings.warn(
            f"[autotune.set_config] cannot read {path}: {error}. Use default configuration for"
            " auto-tuning.",
            stacklevel=3,
        )
        return None


def _enabled(kind, settings):
    """Whether a kind is to be tuned, by settings that are checked."""
    if not isinstance(settings, dict):
        raise TypeError(
            f"[autotune.set_config] {kind}: expected a dict, got {settings!r}. Do this: pass"
            " {'enable': True} or leave it out."
        )
    reach = settings.get("tuning_range", [1, 10])
    if kind == "kernel" and not isinstance(reach, list):
        _complain(kind, "tuning_range", "list")
    elif kind == "kernel" and len(reach) != 2:
        raise AssertionError(
            f"[autotune.set_config] tuning_range: expected [first, last], got {reach}. Do this: pass"
            " two numbers."
        )
    enable = settings.get("enable", True)
    if not isinstance(enable, bool):
        _complain(kind, "enable", "bool")
        return True
    return enable


def _complain(kind, name, wanted):
    warnings.warn(
        f"[autotune.set_config] The auto-tuning configuration of the {kind} is incorrect. The `{name}`"
        f" should be {wanted}. Use default parameter instead.",
        stacklevel=4,
    )
