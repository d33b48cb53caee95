"""A file as memory."""

from __future__ import annotations

import os

from argosy import _core
from argosy._dtypes import BITS_IN_NUMPY
from argosy._support import dtype_name

__all__ = ["MmapStorage"]


class MmapStorage:
    """The first nbytes of a file, mapped: nothing is read before it is used, and changes of the
    tensors are not written back.

    Args:
        filename (str): The file.
        nbytes (int): How many bytes of it.

    Raises:
        ValueError: the file is shorter.

    Examples:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
        >>> np.arange(4, dtype="float32").tofile(path)
        >>> argosy.MmapStorage(path, 16).get_slice("float32", 1, 3).tolist()
        [1.0, 2.0]
    """

    def __init__(self, filename, nbytes):
        import numpy as np

        size = os.path.getsize(filename)
        if not 0 < nbytes <= size:
            raise ValueError(
                f"[MmapStorage] nbytes: expected 1 to {size}, the size of {filename}, got {nbytes}."
                " Do this: pass os.path.getsize(filename), or less."
            )
        self._bytes = np.memmap(filename, np.uint8, "c", shape=(int(nbytes),))

    def get_slice(self, dtype="uint8", start=0, stop=-1, step=1):
        """Elements of the file, seen as a vector.

        Args:
            dtype (dtype | str): Of the elements.
            start, stop (int): Which ones; stop -1: to the end.
            step (int): Every so many.

        Returns:
            Tensor: On the mapped memory.

        Raises:
            IndexError: there are not so many.
        """
        import numpy as np

        dtype = _core.dtype(dtype)
        name = dtype_name(dtype)
        kind = np.dtype(BITS_IN_NUMPY.get(dtype, name))
        count = self._bytes.size // kind.itemsize
        stop = count if stop == -1 else int(stop)
        if not 0 <= start <= stop <= count or step < 1:
            raise IndexError(
                f"[MmapStorage] expected 0 <= start <= stop <= {count} and step > 0, got start"
                f" {start}, stop {stop} and step {step}. Do this: count in elements of {name}."
            )
        part = self._bytes[: count * kind.itemsize].view(kind)[start:stop:step]
        tensor = _core.to_tensor(np.asarray(part), None, False)
        return tensor if tensor.dtype == dtype else tensor.view(dtype)
