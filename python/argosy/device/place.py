"""Where a tensor's data lives, and which of these places there are."""

import functools
import re
import threading

from argosy import _core

_NAMED = ("cpu", "null", "gpu")  # devices that every process knows
_PINNED = "pinned"  # memory of the CPU to the core
_KINDS = (*_NAMED, _PINNED)


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

    def _equals(self, other):
        """Whether both are the same device."""
        return self == other

    def is_cpu_place(self):
        """Whether this is the CPU.

        Returns:
            bool: That.

        Example:
            >>> place = argosy.CPUPlace()
            >>> place.is_cpu_place(), place.is_gpu_place(), place.is_cuda_pinned_place()
            (True, False, False)
        """
        return self._kind == "cpu"

    def is_gpu_place(self):
        """Whether this is a CUDA device.

        Returns:
            bool: That.
        """
        return self._kind == "gpu"

    def is_cuda_pinned_place(self):
        """Whether this is pinned host memory.

        Returns:
            bool: That.

        Example:
            >>> argosy.CUDAPinnedPlace().is_cuda_pinned_place()
            True
        """
        return self._kind == _PINNED

    def is_xpu_place(self):
        """Whether this is an XPU.

        Returns:
            bool: False.

        Example:
            >>> argosy.CPUPlace().is_xpu_place()
            False
        """
        return False

    def is_custom_place(self):
        """Whether this is a device that was added to the process.

        Returns:
            bool: That.

        Example:
            >>> argosy.CPUPlace().is_custom_place()
            False
        """
        return self._kind not in _KINDS

    def custom_device_type(self):
        """The kind of a device that was added to the process.

        Returns:
            str: Its name; empty for others.

        Example:
            >>> argosy.CPUPlace().custom_device_type()
            ''
        """
        return self._kind if self.is_custom_place() else ""

    def custom_device_id(self):
        """The number of an added device among those of its kind.

        Returns:
            int: From 0 on.

        Example:
            >>> argosy.CPUPlace().custom_device_id()
            0
        """
        return self._index

    def gpu_device_id(self):
        """The number of the CUDA device.

        Returns:
            int: From 0 on.

        Example:
            >>> argosy.CUDAPlace(1).gpu_device_id()
            1
        """
        return self._index

    def get_device_id(self):
        """The number of the device among those of its kind.

        Returns:
            int: From 0 on.

        Example:
            >>> argosy.CPUPlace().get_device_id()
            0
        """
        return self._index


class CPUPlace(Place):
    """The CPU and its memory."""


class CUDAPinnedPlace(Place):
    """Pinned memory of the host, which copies to and from a device reach while the program goes on. The
    CPU's memory where the process has no device.

    Example:
        >>> argosy.CUDAPinnedPlace()
        Place(gpu_pinned)
    """

    _kind = "pinned"

    def __repr__(self):
        return "Place(gpu_pinned)"


class CUDAPlace(Place):
    """A CUDA device, which need not be there before something is put on it.

    Args:
        device_id (int): Its number.

    Example:
        >>> argosy.CUDAPlace(1)
        Place(gpu:1)
    """

    _kind = "gpu"

    def __init__(self, device_id=0):
        self._index = int(device_id)


class NullPlace(Place):
    """A device that infers shapes and counts bytes but computes nothing.

    Args:
        index (int): Its number.

    Example:
        >>> argosy.device.place.NullPlace()
        Place(null:0)
    """

    _kind = "null"

    def __init__(self, index=0):
        self._index = int(index)


class XPUPinnedPlace(Place):
    """Host memory that an XPU can read; the CPU's, as there is no XPU."""


def _no_place(name, device):
    raise ValueError(
        f"(InvalidArgument) [{name}] Argosy is not compiled with {device}: there is no such place."
        " Do this: use CPUPlace or CUDAPlace."
    )


class XPUPlace(Place):
    """An XPU, which this build never has: no place is an instance.

    Args:
        dev_id (int): Its number.

    Raises:
        ValueError: Always.

    Example:
        >>> isinstance(argosy.CPUPlace(), argosy.XPUPlace)
        False
        >>> argosy.XPUPlace(0)
        Traceback (most recent call last):
        ValueError
    """

    def __init__(self, dev_id):
        _no_place("XPUPlace", "XPU")


class IPUPlace(Place):
    """An IPU, which this build never has: no place is an instance.

    Raises:
        ValueError: Always.

    Example:
        >>> argosy.IPUPlace()
        Traceback (most recent call last):
        ValueError
    """

    def __init__(self):
        _no_place("IPUPlace", "IPU")


class CustomPlace(Place):
    """A device that was added to the process (docs/devices.md).

    Args:
        device_type (str): Its kind.
        dev_id (int): Its number.

    Raises:
        ValueError: The process has no device of that kind.

    Example:
        >>> argosy.CustomPlace("npu", 0)
        Traceback (most recent call last):
        ValueError
    """

    def __init__(self, device_type, dev_id=0):
        if device_type not in custom_devices():
            _no_place("CustomPlace", f"the device {device_type!r}")
        self._kind, self._index = device_type, int(dev_id)


def make_place(kind, index):
    """A Place from the core's kind and index."""
    if kind == "cpu":
        return CPUPlace()
    if kind == _PINNED:
        return CUDAPinnedPlace()
    if kind == "gpu":
        return CUDAPlace(index)
    return NullPlace(index) if kind == "null" else CustomPlace(kind, index)


class _Current(threading.local):
    """The place of each thread, as set_device told the core."""

    place = CPUPlace()


current = _Current()


def custom_devices():
    """{name: how many} of the devices that were added to the process."""
    return {name: number for name, number in _core.devices() if name not in _KINDS}


def to_place(device):
    """A Place from a Place, a name such as "cpu", "gpu:0", "null", or the number of a GPU. Whether it
    is there is another question, see has_place."""
    place = device if isinstance(device, Place) else _named(device)
    if place.is_gpu_place():
        has_place(place)  # starts GPUs: the core then knows the place
    return place


def _named(device):
    if type(device) is int:
        return CUDAPlace(device)
    kind, _, index = str(device).partition(":")
    kind = {"cuda": "gpu"}.get(kind, kind)
    known = kind in _NAMED or kind in custom_devices()
    if not known or (index and not index.isdigit()):
        added = "".join(f", '{name}:N'" for name in custom_devices())
        raise ValueError(
            f"[set_device] unknown device {device!r}: expected 'cpu', 'gpu', 'gpu:N' or 'null'{added}."
            " Do this: correct the name."
        )
    return make_place(kind, int(index or 0))


def has_place(place):
    """Whether the core has a place. Asked of a GPU, it starts those that there are."""
    if place.is_gpu_place():
        return place._index in range(gpu_count()) and why_no_gpu() is None
    if place.is_custom_place():  # one may be added at any time
        return place._index in range(custom_devices().get(place._kind, 0))
    return _has_built_in(place)


def has_streams(place):
    """Whether work on a place runs beside the host."""
    return any(place._kind == name for name, _ in _core.devices())


@functools.lru_cache(maxsize=None)
def _has_built_in(place):
    """The core refuses figures of a place that it was built without."""
    try:
        _core.memory_stats(place)
    except _core.DeviceError:
        return False
    return True


def gpu_count():
    """Number of GPUs that can be used. It starts none."""
    # A process has one kind of device beside the CPU.
    return 0 if custom_devices() else _core.cuda_count()


def why_no_gpu():
    """Starts the GPUs of this machine at the first call. None where they run; else why not, and what to
    do, as text."""
    if any(name == "gpu" for name, _ in _core.devices()):
        return None
    if not _core.has_cuda():
        return (
            "this build of Argosy has no CUDA support. Do this: use 'cpu', or build with make cuda."
        )
    for name in custom_devices():
        return f"this process works with '{name}'. Do this: use GPUs in a process without it."
    try:
        _core.start_cuda()
    except _core.DeviceError as error:
        text = re.sub(r"^\(\w+\) ", "", str(error))  # without the kind of error
        return text if "Do this" in text else f"{text} Do this: use 'cpu'."
    return None


def checked_place(device, what, error=ValueError):
    """to_place of a device that there is; otherwise raises `error` in the name of `what`."""
    place = to_place(device)
    if has_place(place):
        return place
    reason = why_no_gpu() if place.is_gpu_place() else None
    if reason:
        text = f"[{what}] there is no {place!r}: {reason}"  # which says what to do
        raise error(text)
    raise error(
        f"[{what}] there is no {place!r}. Do this: name one that device.device_count() counts."
    )
