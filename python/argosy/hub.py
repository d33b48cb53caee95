"""Models that a folder offers: the functions of its hubconf.py."""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys

__all__ = ["help", "list", "load", "load_state_dict_from_url"]

_REMOTE = ("github", "gitee")


def _hubconf(what, repo_dir, source):
    """The module hubconf of a folder, executed anew."""
    if source in _REMOTE:
        raise RuntimeError(
            f"[hub.{what}] source {source!r} would download code, which Argosy does not. Do this:"
            " fetch the repository yourself and pass its folder with source='local'."
        )
    if source != "local":
        raise ValueError(
            f"[hub.{what}] unknown source: expected 'github', 'gitee' or 'local', got {source!r}."
            " Do this: use 'local' for a folder."
        )
    path = os.path.join(repo_dir, "hubconf.py")
    if not os.path.isfile(path):
        raise RuntimeError(
            f"[hub.{what}] there is no {path}. Do this: pass the folder that holds hubconf.py."
        )
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    folder = os.path.abspath(repo_dir)
    sys.path.insert(0, folder)  # hubconf may import its neighbours
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    names = getattr(module, "dependencies", None) or []
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(
            f"[hub.{what}] {path} needs packages that are not installed: {', '.join(missing)}. Do"
            " this: install them."
        )
    return module


def _entry(what, module, name):
    if not isinstance(name, str):
        raise ValueError(
            f"[hub.{what}] model: expected the name of a function, got {type(name).__name__}. Do"
            " this: pass a str."
        )
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(
            f"[hub.{what}] hubconf.py has no function {name!r}: it has {_names(module)}. Do this:"
            " use one of them."
        )
    return found


def _names(module):
    return [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]


def list(repo_dir, source="github", force_reload=False) -> builtins.list:
    """Names of what a folder offers.

    Args:
        repo_dir (str): The folder with hubconf.py.
        source (str): 'local'; the others of Paddle's, 'github' and 'gitee', raise, as nothing is
            downloaded.
    """
    return _names(_hubconf("list", repo_dir, source))


def help(repo_dir, model, source="github", force_reload=False):
    """The docstring of a model's function. Arguments as for :func:`list`."""
    return _entry("help", _hubconf("help", repo_dir, source), model).__doc__


def load(repo_dir, model, source="github", force_reload=False, **kwargs):
    """What a model's function gives for these keyword arguments. Others as for :func:`list`."""
    return _entry("load", _hubconf("load", repo_dir, source), model)(**kwargs)


def load_state_dict_from_url(
    url, model_dir=None, check_hash=False, file_name=None, map_location=None
):
    """The state dict in model_dir under the file name of `url` (or file_name).

    Raises:
        RuntimeError: it is not there; nothing is downloaded.
    """
    from argosy.framework.io import load as load_file

    home = os.path.join(os.path.expanduser("~"), ".cache", "paddle", "hub", "checkpoints")
    path = os.path.join(model_dir or home, file_name or os.path.basename(url))
    if not os.path.isfile(path):
        raise RuntimeError(
            f"[hub.load_state_dict_from_url] there is no {path}, and nothing is downloaded. Do this:"
            f" fetch {url} to that place."
        )
    return load_file(path)
