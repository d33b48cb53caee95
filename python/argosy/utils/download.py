"""Fetching files into a cache."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tarfile
import tempfile
import zipfile

from argosy._support import unsupported
from argosy.utils.archive import unpack

__all__ = ["get_weights_path_from_url"]

logger = logging.getLogger(__name__)

WEIGHTS_HOME = os.path.expanduser("~/.cache/paddle/hapi/weights")


def is_url(path):
    """Whether ``path`` is an address on the web, not a path on disk."""
    return path.startswith(("http://", "https://"))


def _get_unique_endpoints(trainer_endpoints):
    """One endpoint ("host:port") of each host, the first in the order of their texts."""
    first = {}
    for endpoint in sorted(trainer_endpoints):
        first.setdefault(endpoint.split(":")[0], endpoint)
    return set(first.values())


def md5file(fname):
    """The MD5 of a file.

    Args:
        fname (str): Its path.

    Returns:
        str: Hexadecimal digits.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     argosy.dataset.common.md5file(file.name)
        'd41d8cd98f00b204e9800998ecf8427e'
    """
    digest = hashlib.md5()
    with open(fname, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _md5check(fullname, md5sum=None):
    """Whether the file has this MD5 (any file has if none is given)."""
    return md5sum is None or md5file(fullname) == md5sum


def _download(url, folder, md5sum):
    import urllib.request

    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, url.rsplit("/", 1)[-1])
    handle, part = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as file, urllib.request.urlopen(url, timeout=60) as answer:
            shutil.copyfileobj(answer, file)
        if not _md5check(part, md5sum):
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


def _decompress(path):
    """Unpacks an archive beside itself; the folder that holds all of it, or the one it made."""
    folder = os.path.dirname(path) or "."
    tops = unpack(path, folder, "download")
    return os.path.join(folder, tops[0]) if len(tops) == 1 else folder


def get_path_from_url(url, root_dir, md5sum=None, check_exist=True, decompress=True, method="get"):
    """Local path of ``url``, fetched into ``root_dir`` unless it is there with the right MD5.

    An archive is unpacked (``decompress``) and its folder returned.

    Raises:
        RuntimeError: the file cannot be fetched or is damaged.
        ArchiveError: the archive is damaged, or not safe to unpack (see `argosy.utils.archive`).
    """
    unsupported("get_path_from_url", "leave it out", method=(method, "get"))
    if not is_url(url):
        raise AssertionError(
            f"[get_path_from_url] url: expected http:// or https://, got {url!r}. Do this: "
            "pass a path on disk to functions that take one."
        )
    path = os.path.join(root_dir, url.rsplit("/", 1)[-1])
    if not (check_exist and os.path.exists(path) and _md5check(path, md5sum)):
        path = _download(url, root_dir, md5sum)
    if decompress and (tarfile.is_tarfile(path) or zipfile.is_zipfile(path)):
        return _decompress(path)
    return path


def get_weights_path_from_url(url, md5sum=None):
    """The local path of a file with weights, fetched into the user's cache if it is not there.

    Args:
        url (str): Where it is.
        md5sum (str, optional): The MD5 that it must have.

    Returns:
        str: The file; of an archive, which is unpacked, the folder.
    """
    return get_path_from_url(url, WEIGHTS_HOME, md5sum)
