"""Fetching files into a cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
import zipfile

__all__ = []

WEIGHTS_HOME = os.path.expanduser("~/.cache/paddle/hapi/weights")


def _matches(path, md5sum):
    if md5sum is None:
        return True
    digest = hashlib.md5()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest() == md5sum


def _download(url, folder, md5sum):
    import urllib.request

    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, url.rsplit("/", 1)[-1])
    handle, part = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as file, urllib.request.urlopen(url, timeout=60) as answer:
            shutil.copyfileobj(answer, file)
        if not _matches(part, md5sum):
            raise RuntimeError(
                f"[download] {url} is damaged: expected MD5 {md5sum}. Do this: try again, or put "
                f"the file at {path} by hand."
            )
        os.replace(part, path)
    except OSError as error:
        raise RuntimeError(
            f"[download] {url} cannot be read ({error}). Do this: check the connection, or put "
            f"the file at {path} by hand."
        ) from error
    finally:
        if os.path.exists(part):
            os.unlink(part)
    return path


def _unpack(path):
    folder = os.path.dirname(path)
    if tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            names = archive.getnames()
            options = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            archive.extractall(folder, **options)
    else:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            archive.extractall(folder)
    tops = {name.split("/", 1)[0] for name in names}
    return os.path.join(folder, tops.pop()) if len(tops) == 1 else folder


def get_path_from_url(url, root_dir, md5sum=None, check_exist=True, decompress=True, method="get"):
    """Local path of ``url``, fetched into ``root_dir`` unless it is there with the right MD5.

    An archive is unpacked (``decompress``) and its folder returned.

    Raises:
        RuntimeError: the file cannot be fetched or is damaged.
    """
    if not url.startswith(("http://", "https://")):
        raise AssertionError(
            f"[get_path_from_url] url: expected http:// or https://, got {url!r}. Do this: "
            "pass a path on disk to functions that take one."
        )
    path = os.path.join(root_dir, url.rsplit("/", 1)[-1])
    if not (check_exist and os.path.exists(path) and _matches(path, md5sum)):
        path = _download(url, root_dir, md5sum)
    if decompress and (tarfile.is_tarfile(path) or zipfile.is_zipfile(path)):
        return _unpack(path)
    return path


def get_weights_path_from_url(url, md5sum=None):
    """Local path of a file with weights, fetched into the user's cache if it is not there."""
    return get_path_from_url(url, WEIGHTS_HOME, md5sum, decompress=False)
