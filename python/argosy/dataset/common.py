"""Helpers for files of data sets."""

import os

from argosy.utils.download import get_path_from_url, md5file

__all__ = ["DATA_HOME", "download", "md5file"]

DATA_HOME = os.path.expanduser("~/.cache/paddle/dataset")


def download(url, module_name, md5sum, save_name=None):
    """Local path of ``url``, fetched into the folder ``module_name`` of DATA_HOME if it is not there.

    Args:
        url (str): Where the file is.
        module_name (str): Folder in DATA_HOME.
        md5sum (str): The file's MD5.
        save_name (str, optional): Name of the local file; None takes that of the URL.

    Returns:
        str: The path.

    Raises:
        RuntimeError: the file cannot be fetched or is damaged.
    """
    folder = os.path.join(DATA_HOME, module_name)
    saved = None if save_name is None else os.path.join(folder, save_name)
    if saved and os.path.exists(saved) and md5file(saved) == md5sum:
        return saved
    path = get_path_from_url(url, folder, md5sum, decompress=False)
    if saved and saved != path:
        os.replace(path, saved)
        return saved
    return path
