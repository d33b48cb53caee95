"""Models that a folder offers: the functions of its hubconf.py."""

from __future__ import annotations

import builtins
import importlib.util
import os
import re
import sys

from argosy._support import no_effect

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
    return module


def _check_dependencies(repo_dir, module):
    """What the models need to run; their names and texts are there without."""
    names = getattr(module, "dependencies", None) or []
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(
            f"[hub.load] {repo_dir}/hubconf.py needs packages that are not installed: {', '.join(missing)}. Do"
            " this: install them."
        )


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
    r"""Names of what a folder offers.

    Args:
        repo_dir (str): The folder with hubconf.py.
        source (str): 'local'; the others of Paddle's, 'github' and 'gitee', raise, as nothing is
            downloaded.
        force_reload (bool): fetch it again: nothing is fetched.

    Returns:
        list[str]: Names of functions in hubconf.py.

    Example:
        >>> import pathlib, tempfile
        >>> text = 'def double(x):\n    "Twice x."\n    return 2 * x\n'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text(text)
        ...     names = argosy.hub.list(folder, source="local")
        ...     said = argosy.hub.help(folder, "double", source="local")
        ...     made = argosy.hub.load(folder, "double", source="local", x=4)
        >>> names, said, made
        (['double'], 'Twice x.', 8)
    """
    _check_reload("list", force_reload)
    return _names(_hubconf("list", repo_dir, source))


def help(repo_dir, model, source="github", force_reload=False):
    r"""The docstring of a model's function.

    Args:
        repo_dir (str): The folder with hubconf.py.
        model (str): The function's name.
        source (str): Only 'local', as nothing is downloaded.
        force_reload (bool): As for :func:`list`.

    Returns:
        str: The docstring.

    Raises:
        RuntimeError: There is no such function.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text('def f():\n    "Nothing."\n')
        ...     argosy.hub.help(folder, "f", source="local")
        'Nothing.'
    """
    _check_reload("help", force_reload)
    return _entry("help", _hubconf("help", repo_dir, source), model).__doc__


def load(repo_dir, model, source="github", force_reload=False, **kwargs):
    r"""What a model's function gives.

    Args:
        repo_dir (str): The folder with hubconf.py.
        model (str): The function's name.
        source (str): Only 'local', as nothing is downloaded.
        force_reload (bool): As for :func:`list`.
        kwargs: The function's arguments.

    Returns:
        What it returns.

    Raises:
        RuntimeError: There is no such function.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text("def add(a, b):\n    return a + b\n")
        ...     argosy.hub.load(folder, "add", source="local", a=1, b=2)
        3
    """
    _check_reload("load", force_reload)
    module = _hubconf("load", repo_dir, source)
    _check_dependencies(repo_dir, module)
    return _entry("load", module, model)(**kwargs)


def load_state_dict_from_url(
    url, model_dir=None, check_hash=False, file_name=None, map_location=None
):
    """The state dict in a folder under the file name of a URL. Nothing is downloaded.

    Args:
        url (str): Its last part is the name of the file.
        model_dir (str, optional): The folder; default: one in the user's cache.
        check_hash (bool | str): True: the file must have the SHA-256 whose first digits stand in its
            name, model-0123abcd.pdparams. A str: this MD5.
        file_name (str, optional): The name of the file, instead.
        map_location (str, optional): 'cpu', or 'numpy' for arrays.

    Returns:
        dict: Tensors, or arrays, by name.

    Raises:
        RuntimeError: it is not there, or has another hash.
        ValueError: another map_location, or check_hash=True and no hash in the name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.save({"x": argosy.ones([2])}, folder + "/model.pdparams")
        ...     state = argosy.hub.load_state_dict_from_url("https://a.b/model.pdparams", folder)
        >>> state["x"].tolist()
        [1.0, 1.0]
    """
    from argosy.framework.io import load as load_file

    home = os.path.join(os.path.expanduser("~"), ".cache", "paddle", "hub", "checkpoints")
    path = os.path.join(model_dir or home, file_name or os.path.basename(url))
    if not os.path.isfile(path):
        raise RuntimeError(
            f"[hub.load_state_dict_from_url] there is no {path}, and nothing is downloaded. Do this:"
            f" fetch {url} to that place."
        )
    if check_hash:
        _check_hash(path, check_hash)
    if map_location not in (None, "cpu", "numpy", "np"):
        raise ValueError(
            "[hub.load_state_dict_from_url] map_location: expected None, 'cpu' or 'numpy', got"
            f" {map_location!r}. Do this: leave it out, and move the tensors with .to(..)."
        )
    return load_file(path, return_numpy=map_location in ("numpy", "np"))


def _check_hash(path, expected):
    """Raises RuntimeError unless the file has the MD5 `expected`, or True: the hash in its name."""
    import hashlib

    kind = "md5"
    if expected is True:
        found = re.search(r"-([0-9a-f]{8,})\.", os.path.basename(path))
        if found is None:
            raise ValueError(
                f"[hub.load_state_dict_from_url] check_hash: expected a file name with the first eight"
                f" or more digits of its SHA-256, name-<digits>.ext, got {os.path.basename(path)!r}."
                " Do this: pass its MD5 as check_hash, or leave check_hash out."
            )
        kind, expected = "sha256", found[1]
    with open(path, "rb") as file:
        digest = hashlib.new(kind)
        while block := file.read(1 << 20):
            digest.update(block)
    if not digest.hexdigest().startswith(expected):
        raise RuntimeError(
            f"[hub.load_state_dict_from_url] {path} has another {kind} hash: expected {expected}, got"
            f" {digest.hexdigest()}. Do this: fetch it again."
        )


def _check_reload(what, force_reload):
    no_effect(f"hub.{what}", "nothing is downloaded", force_reload=(force_reload, False))
