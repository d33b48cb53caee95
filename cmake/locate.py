"""Print, for CMake, the folders of oneDNN's config and OpenBLAS, or with PACKAGE FILE that of a file."""

import importlib.metadata
import os
import sys


def folder_of(package, name):
    for file in importlib.metadata.files(package) or ():
        if file.name == name:
            return os.path.realpath(os.path.dirname(file.locate()))
    raise SystemExit(f"{package} has no file {name}; install it with: pip install {package}")


if len(sys.argv) == 3:
    print(folder_of(*sys.argv[1:]))
    raise SystemExit
print(
    folder_of("onednn-devel-cpu-gomp", "dnnl-config.cmake"),
    os.path.dirname(folder_of("scipy-openblas32", "libscipy_openblas.so")),
    sep=";",
)
