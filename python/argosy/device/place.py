"""Where a tensor's data lives."""


class Place:
    """A device. Equal places are the same device."""

    _kind = "cpu"
    _index = 0

    def __eq__(self, other):
        return isinstance(other, Place) and (self._kind, self._index) == (other._kind, other._index)

    def __hash__(self):
        return hash((self._kind, self._index))

    def __repr__(self):
        return "Place(cpu)" if self._kind == "cpu" else f"Place({self._kind}:{self._index})"

    def is_cpu_place(self):
        """Whether this is the CPU."""
        return self._kind == "cpu"

    def is_gpu_place(self):
        """Whether this is a CUDA device."""
        return self._kind == "gpu"

    def is_cuda_pinned_place(self):
        """Whether this is pinned host memory."""
        return False

    def is_xpu_place(self):
        """Whether this is an XPU."""
        return False

    def is_custom_place(self):
        """Whether this is a plug-in device."""
        return False

    def gpu_device_id(self):
        """Number of the CUDA device."""
        return self._index

    def get_device_id(self):
        """Number of the device."""
        return self._index


class CPUPlace(Place):
    """The CPU and its memory."""


class CUDAPinnedPlace(Place):
    """Host memory that a GPU can read; the CPU's where there is no GPU."""


class CUDAPlace(Place):
    """CUDA device `device_id`."""

    _kind = "gpu"

    def __init__(self, device_id=0):
        self._index = int(device_id)


class NullPlace(Place):
    """A device that infers shapes and counts bytes but computes nothing."""

    _kind = "null"

    def __init__(self, index=0):
        self._index = int(index)


def make_place(kind, index):
    """A Place from the core's kind and index."""
    if kind == "cpu":
        return CPUPlace()
    return CUDAPlace(index) if kind == "gpu" else NullPlace(index)
