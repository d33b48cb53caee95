"""Where data set files are looked for. Nothing is downloaded."""

import os

from argosy._support import check_choice

_HOMES = ("~/.cache/argosy/dataset", "~/.cache/paddle/dataset")


def folders(name):
    """Folders that may hold the data set `name`, the first existing one wins for each file."""
    found = []
    if os.environ.get("ARGOSY_DATA_HOME"):
        found.append(os.path.join(os.environ["ARGOSY_DATA_HOME"], name))
    found += [os.path.join(os.path.expanduser(home), name) for home in _HOMES]
    found.append(f"/usr/share/datasets/{name}")  # Debian's dataset-* packages
    return found


def locate(data_set, argument, given, name, file_name, download, package=None):
    """Path of a file: the one given, or `file_name` in a folder for the data set `name`.

    Raises FileNotFoundError that says where to put the file (AssertionError if the caller said
    download=False and named no file, as Paddle does).
    """
    if given is not None:
        if not os.path.exists(given):
            raise FileNotFoundError(
                f"[{data_set}] no such file: {argument}={given!r}. Do this: check the path, or "
                f"leave {argument} out to look in {folders(name)[0]}."
            )
        return given
    places = [os.path.join(folder, file_name) for folder in folders(name)]
    for place in places:
        if os.path.exists(place):
            return place
    kind = FileNotFoundError if download else AssertionError
    install = f"apt-get install {package}, or " if package else ""
    raise kind(
        f"[{data_set}] {file_name} is not here: looked for {', '.join(places)}. Argosy downloads "
        f"nothing at run time. Do this: {install}put the file into one of these places, or pass "
        f"{argument}=."
    )


def check_mode(data_set, mode, modes):
    assert mode.lower() in modes, f"[{data_set}] unknown mode: expected one of {modes}, got {mode}."
    return mode.lower()


def check_backend(data_set, backend):
    """The image backend asked for, or the global one: "pil" or "cv2"."""
    from ..image import get_image_backend

    backend = backend or get_image_backend()
    check_choice(data_set, "backend", backend, ("pil", "cv2"))
    return backend


def pil_image():
    """Pillow's Image module, or an ImportError that says what to install."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "[vision.datasets] images as PIL need Pillow, which is not installed. "
            "Do this: pip install pillow, or pass backend='cv2' for arrays where files allow it."
        ) from error
    return Image
