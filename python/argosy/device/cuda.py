"""Names of CUDA's devices. This build has no CUDA: counts are 0, the rest says so."""


def device_count():
    """Number of GPUs that can be used."""
    return 0


def _need_cuda(what):
    raise ValueError(
        f"[device.cuda.{what}] this build of Argosy has no CUDA support. Do this: build with"
        " ARGOSY_CUDA=ON, or guard the call with argosy.is_compiled_with_cuda()."
    )


def synchronize(device=None):
    """Waits until the work queued on a GPU is done."""
    _need_cuda("synchronize")


def empty_cache():
    """Gives cached GPU memory back to the system; there is none to give."""


def memory_allocated(device=None):
    """Bytes that tensors take on a GPU."""
    _need_cuda("memory_allocated")


def max_memory_allocated(device=None):
    """Most bytes that tensors took on a GPU."""
    _need_cuda("max_memory_allocated")


def memory_reserved(device=None):
    """Bytes held on a GPU."""
    _need_cuda("memory_reserved")


def max_memory_reserved(device=None):
    """Most bytes held on a GPU."""
    _need_cuda("max_memory_reserved")


def get_device_properties(device=None):
    """Name, capability and memory of a GPU."""
    _need_cuda("get_device_properties")


def get_device_name(device=None):
    """Name of a GPU."""
    _need_cuda("get_device_name")


def get_device_capability(device=None):
    """Compute capability of a GPU."""
    _need_cuda("get_device_capability")
