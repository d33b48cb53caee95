"""Versions: of the Paddle API that Argosy follows, and of Argosy itself.

Programs written for Paddle ask `full_version`, `major`, `minor` and `patch`; they get the level of
the API. Argosy's own version is `argosy_version`.
"""

__all__ = [
    "cuda",
    "cuda_archs",
    "cudnn",
    "hip",
    "nccl",
    "show",
    "tensorrt",
    "xpu",
    "xpu_xccl",
    "xpu_xhpc",
    "xpu_xre",
]

argosy_version = "0.1.0"
full_version = "3.3.1"
major, minor, patch = full_version.split(".")
rc = "0"
is_tagged = False
commit = "unknown"
hip = None
cuda_version = cudnn_version = cinn_version = "False"
with_mkl = with_pip_cuda_libraries = "OFF"


def cuda():
    """CUDA version that the package was built with.

    Returns:
        str: "False" without CUDA.

    Example:
        >>> argosy.version.cuda()
        'False'
    """
    return cuda_version


def cudnn():
    """cuDNN version that the package was built with.

    Returns:
        str: "False" without it.

    Example:
        >>> argosy.version.cudnn()
        'False'
    """
    return cudnn_version


def nccl():
    """NCCL version that the package was built with.

    Returns:
        str: "0" without it.

    Example:
        >>> argosy.version.nccl()
        '0'
    """
    return "0"


def cinn():
    """Version of the CINN compiler, which Argosy does not have.

    Returns:
        str: "False".

    Example:
        >>> argosy.version.cinn()
        'False'
    """
    return cinn_version


def tensorrt():
    """TensorRT version that the package was built with.

    Returns:
        str: "None" without it.

    Example:
        >>> argosy.version.tensorrt()
        'None'
    """
    return "None"


def cuda_archs():
    """Compute capabilities that the package was built for.

    Returns:
        list[int]: Empty without CUDA.

    Example:
        >>> argosy.version.cuda_archs()
        []
    """
    return []


def xpu():
    """Version of the XPU libraries, which Argosy does not have.

    Returns:
        str: "False".

    Example:
        >>> argosy.version.xpu()
        'False'
    """
    return "False"


xpu_xre = xpu_xccl = xpu_xhpc = xpu


def mkl():
    """Whether the package was built with MKL.

    Returns:
        str: "OFF".

    Example:
        >>> argosy.version.mkl()
        'OFF'
    """
    return with_mkl


def show():
    """Print the versions.

    Example:
        >>> argosy.version.show()
        argosy: ...
    """
    print(f"argosy: {argosy_version}")
    for name in ("full_version", "major", "minor", "patch", "rc"):
        print(f"{name}: {globals()[name]}")
    for function in (cuda, cudnn, nccl, cinn, tensorrt, cuda_archs):
        print(f"{function.__name__}: {function()}")
