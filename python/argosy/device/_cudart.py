"""CUDA's runtime as Python sees it: the library that the GPUs' library has loaded."""

import ctypes
import enum
import functools

_LIBRARY = "libcudart.so.13"


class cudaError(enum.IntEnum):  # noqa: N801
    """Results of functions, those that programs look for."""

    success = 0
    invalidValue = 1
    memoryAllocation = 2
    notReady = 600


def _result(code):
    try:
        return cudaError(code)
    except ValueError:
        return code


class Runtime:
    """Functions under CUDA's names. They give results as it does; see cudaError."""

    cudaError = cudaError

    def __init__(self, library):
        self._library = library
        library.cudaGetErrorString.restype = ctypes.c_char_p

    def cudaGetErrorString(self, code):  # noqa: N802
        """The text of a result."""
        return self._library.cudaGetErrorString(ctypes.c_int(int(code))).decode()

    def cudaProfilerStart(self):  # noqa: N802
        """Lets a profiler outside of the process begin."""
        return _result(self._library.cudaProfilerStart())

    def cudaProfilerStop(self):  # noqa: N802
        """Lets it end."""
        return _result(self._library.cudaProfilerStop())

    def cudaHostRegister(self, address, size, flags):  # noqa: N802
        """Pins memory of the host."""
        return _result(
            self._library.cudaHostRegister(
                ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_uint(flags)
            )
        )

    def cudaHostUnregister(self, address):  # noqa: N802
        """Undoes it."""
        return _result(self._library.cudaHostUnregister(ctypes.c_void_p(address)))

    def cudaStreamCreate(self, address):  # noqa: N802
        """Makes a stream, and writes it to `address`."""
        return _result(self._library.cudaStreamCreate(ctypes.c_void_p(address)))

    def cudaStreamDestroy(self, stream):  # noqa: N802
        """Ends one."""
        return _result(self._library.cudaStreamDestroy(ctypes.c_void_p(stream)))

    def cudaMemGetInfo(self, device):  # noqa: N802
        """(free bytes, all bytes) of a GPU, by its number."""
        from argosy.device import cuda

        return cuda.mem_get_info(device)


@functools.lru_cache(maxsize=None)
def runtime():
    """The process's, which has to have GPUs."""
    return Runtime(ctypes.CDLL(_LIBRARY))
