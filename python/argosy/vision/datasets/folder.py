"""Data sets made of a folder of files."""

import os

from ...io import Dataset
from . import _files

__all__ = ["DatasetFolder", "ImageFolder"]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_valid_extension(filename, extensions):
    """Whether the file name ends with one of `extensions`, upper or lower case."""
    return filename.lower().endswith(tuple(extension.lower() for extension in extensions))


def default_loader(path):
    """Load an image as the chosen backend wants it, in colour."""
    from ..image import get_image_backend, image_load

    if get_image_backend() == "pil":
        with open(path, "rb") as file:
            return _files.pil_image().open(file).convert("RGB")
    return image_load(path)


def _files_below(folder, is_valid_file):
    """Paths of the valid files in a folder and its subfolders, in sorted order."""
    for root, _, names in sorted(os.walk(folder, followlinks=True)):
        for name in sorted(names):
            path = os.path.join(root, name)
            if is_valid_file(path):
                yield path


def _validity(extensions, is_valid_file):
    if is_valid_file is not None:
        return is_valid_file
    return lambda path: has_valid_extension(path, extensions)


def _nothing_found(what, root, extensions):
    known = f" that end in {', '.join(extensions)}" if extensions else ""
    return (
        f"[vision.datasets] Found 0 {what} in subfolders of: {root}. Do this: check root, and that"
        f" there are files{known}."
    )


class DatasetFolder(Dataset):
    """Files sorted into one folder per class: root/cat/1.png, root/dog/any/2.png.

    A sample is (what the loader and ``transform`` give, number of the class in sorted order).
    Attributes: ``classes`` (names), ``class_to_idx``, ``samples`` (path, class), ``targets`` (classes).

    Args:
        root (str): folder of the class folders.
        loader (callable, optional): takes a path; None loads an image.
        extensions (list | tuple, optional): endings of files to use; None means images.
        transform (callable, optional): applied to what was loaded.
        is_valid_file (callable, optional): takes a path and chooses files instead of ``extensions``.

    Raises:
        RuntimeError: no class folder, or no file in them.
        FileNotFoundError: no such root.

    Examples:
        >>> import os, tempfile
        >>> root = tempfile.mkdtemp()
        >>> for name in ("cat", "dog"):
        ...     os.mkdir(os.path.join(root, name))
        ...     open(os.path.join(root, name, "1.txt"), "w").close()
        >>> data = argosy.vision.datasets.DatasetFolder(root, os.path.basename, extensions=[".txt"])
        >>> data.classes, data[1]
        (['cat', 'dog'], ('1.txt', 1))
    """

    def __init__(self, root, loader=None, extensions=None, transform=None, is_valid_file=None):
        self.root = root
        self.transform = transform
        self.extensions = IMG_EXTENSIONS if extensions is None else extensions
        self.classes, self.class_to_idx = self._find_classes(root)
        valid = _validity(self.extensions, is_valid_file)
        self.samples = [
            (path, self.class_to_idx[name])
            for name in self.classes
            for path in _files_below(os.path.join(root, name), valid)
        ]
        if not self.samples:
            raise RuntimeError(_nothing_found("directories", root, self.extensions))
        self.loader = default_loader if loader is None else loader
        self.targets = [target for _, target in self.samples]
        self.dtype = "float32"

    def _find_classes(self, root):
        """(sorted names of the class folders, their numbers)."""
        classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        return classes, {name: number for number, name in enumerate(classes)}

    def __getitem__(self, index):
        path, target = self.samples[index]
        sample = self.loader(path)
        if self.transform is not None:
            sample = self.transform(sample)
        return sample, target

    def __len__(self):
        return len(self.samples)


class ImageFolder(Dataset):
    """All files in a folder and its subfolders, without classes.

    A sample is [what the loader and ``transform`` give]; ``samples`` holds the paths.

    Args:
        root (str): the folder.
        loader (callable, optional): takes a path; None loads an image.
        extensions (list | tuple, optional): endings of files to use; None means images.
        transform (callable, optional): applied to what was loaded.
        is_valid_file (callable, optional): takes a path and chooses files instead of ``extensions``.

    Raises:
        RuntimeError: no file.

    Examples:
        >>> import os, tempfile
        >>> root = tempfile.mkdtemp()
        >>> open(os.path.join(root, "1.txt"), "w").close()
        >>> argosy.vision.datasets.ImageFolder(root, os.path.basename, extensions=[".txt"])[0]
        ['1.txt']
    """

    def __init__(self, root, loader=None, extensions=None, transform=None, is_valid_file=None):
        self.root = root
        self.extensions = IMG_EXTENSIONS if extensions is None else extensions
        self.samples = list(_files_below(root, _validity(self.extensions, is_valid_file)))
        if not self.samples:
            raise RuntimeError(_nothing_found("files", root, self.extensions))
        self.loader = default_loader if loader is None else loader
        self.transform = transform

    def __getitem__(self, index):
        sample = self.loader(self.samples[index])
        if self.transform is not None:
            sample = self.transform(sample)
        return [sample]

    def __len__(self):
        return len(self.samples)
