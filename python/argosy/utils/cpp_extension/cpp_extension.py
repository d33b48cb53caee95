"""Building extensions: at once, and by setup scripts."""

from __future__ import annotations

import os
import pathlib
import re

from argosy._support import no_effect, only_known

from . import compiler, library

__all__ = ["CUDAExtension", "CppExtension", "load", "setup"]


def load(
    name,
    sources,
    extra_cxx_cflags=None,
    extra_cuda_cflags=None,
    extra_ldflags=None,
    extra_include_paths=None,
    extra_library_paths=None,
    build_directory=None,
    verbose=False,
):
    """Compile C++ and CUDA sources, load them, and give a module with a function for each op.

    What was built before from the same files, with the same flags and headers, is loaded as it is.

    Args:
        name (str): Of the module, and of the folder beneath the build directory.
        sources (list[str]): Files that include "paddle/extension.h" and describe ops by PD_BUILD_OP,
            or use Argosy's own op interface (docs/adding_an_op.md).
        extra_cxx_cflags (list[str], optional): Flags for the compiler.
        extra_cuda_cflags (list[str], optional): Flags for nvcc, which compiles sources that end in .cu.
            Without -arch or -gencode it compiles for PADDLE_CUDA_ARCH_LIST of the environment, else for the
            GPU that is there.
        extra_ldflags (list[str], optional): Flags for the linker.
        extra_include_paths (list[str], optional): Folders of further headers.
        extra_library_paths (list[str], optional): Folders of further libraries.
        build_directory (str, optional): Default: ``get_build_directory()``.
        verbose (bool): Prints commands and what they say.

    Returns:
        types.ModuleType: with a function for each op: ``f(inputs.., attributes..)``.

    Raises:
        FileNotFoundError: a source does not exist.
        RuntimeError: there is no compiler, or it failed; the text has what it said.
        ValueError: an op of it has the name of another.
    """
    if isinstance(sources, (str, os.PathLike)) or not sources:
        raise TypeError(
            f"[load] sources: expected a list of files, got {sources!r}. Do this: load(name, ['a.cc'])."
        )
    _check_name("load", name)
    cuda = bool(compiler.cuda_sources(sources))
    if not cuda:
        no_effect(
            "load", "no source is CUDA's", extra_cuda_cflags=(extra_cuda_cflags or None, None)
        )
    folder = pathlib.Path(build_directory or compiler.get_build_directory(verbose)) / name
    built = compiler.build(
        name,
        sources,
        folder,
        verbose,
        cxx_flags=list(extra_cxx_cflags or []),
        link_flags=list(extra_ldflags or []),
        include_dirs=[os.path.abspath(p) for p in extra_include_paths or []],
        library_dirs=[os.path.abspath(p) for p in extra_library_paths or []],
        cuda=cuda,
        cuda_flags=list(extra_cuda_cflags or []),
    )
    module = library.load_op_library(built)
    module.__name__ = name
    return module


def _check_name(what, name):
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(
            f"[{what}] name: expected an identifier, got {name!r}. Do this: use letters, digits and _."
        )


def CppExtension(sources, *args, **kwargs):
    """An extension of C++ sources, for ``setup(ext_modules=CppExtension(sources=[..]))``.

    Args:
        sources (list[str]): C++ files.
        args, kwargs: As of setuptools.Extension; ``extra_compile_args`` is a list, or a dict with the
            list for 'cxx'.

    Returns:
        setuptools.Extension: For setup.

    Raises:
        ValueError: a source is CUDA's.

    Example:
        >>> argosy.utils.cpp_extension.CppExtension(["relu.cc"]).name
        'relu'
    """
    from setuptools import Extension

    name = kwargs.pop("name", None) or pathlib.Path(str(sources[0])).stem
    flags = kwargs.pop("extra_compile_args", None) or []
    flags = flags.get("cxx", []) if isinstance(flags, dict) else flags
    compiler.refuse_cuda("CppExtension", sources)
    return Extension(
        name, [str(s) for s in sources], *args, extra_compile_args=list(flags), **kwargs
    )


def CUDAExtension(sources, *args, **kwargs):
    """An extension of C++ and CUDA sources, all compiled with PADDLE_WITH_CUDA, for
    ``setup(ext_modules=CUDAExtension(sources=[..]))``. Building it needs nvcc, and no GPU.

    Args:
        sources (list[str]): C++ files, and CUDA files that end in .cu.
        args, kwargs: As of setuptools.Extension; ``extra_compile_args`` is a list, or a dict with the
            lists for 'cxx' and 'nvcc'.

    Returns:
        setuptools.Extension: For setup.

    Example:
        >>> argosy.utils.cpp_extension.CUDAExtension(["relu.cu"]).name
        'relu'
    """
    from setuptools import Extension

    name = kwargs.pop("name", None) or pathlib.Path(str(sources[0])).stem
    flags = kwargs.pop("extra_compile_args", None) or []
    flags = flags if isinstance(flags, dict) else {"cxx": flags}
    made = Extension(
        name,
        [str(s) for s in sources],
        *args,
        extra_compile_args=list(flags.get("cxx", [])),
        **kwargs,
    )
    made.cuda_flags = list(flags.get("nvcc", []))
    return made


_STUB = '''"""Ops of the library beside this file. Written by argosy.utils.cpp_extension.setup."""

import pathlib as _pathlib

from argosy.utils.cpp_extension import load_op_library as _load

_module = _load(_pathlib.Path(__file__).with_name({file!r}))
__all__ = _module.__all__
globals().update({{name: getattr(_module, name) for name in __all__}})
'''


def _make_build_extension():
    from setuptools.command.build_ext import build_ext

    class BuildExtension(build_ext):
        """The command build_ext of setup scripts: makes NAME_pd_.so, and NAME.py with the functions
        of its ops. In ``cmdclass`` as it is, or with_options(..)."""

        @classmethod
        def with_options(cls, **options):
            """The class itself: without a suffix for Python and without ninja it builds anyway."""
            only_known(
                "BuildExtension.with_options", options, ("no_python_abi_suffix", "use_ninja")
            )
            return cls

        def get_ext_filename(self, fullname):
            return os.path.join(*fullname.split(".")) + "_pd_.so"

        def build_extension(self, ext):
            output = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve()
            output.parent.mkdir(parents=True, exist_ok=True)
            macros = [f"-D{k}" if v is None else f"-D{k}={v}" for k, v in ext.define_macros]
            compiler.compile_library(
                ext.name.rpartition(".")[2],
                [os.path.abspath(s) for s in ext.sources],
                output,
                pathlib.Path(self.build_temp).resolve() / ext.name,
                bool(self.verbose and self.verbose > 1),
                cxx_flags=[*macros, *[f"-U{m}" for m in ext.undef_macros], *ext.extra_compile_args],
                link_flags=[
                    *ext.extra_objects,
                    *ext.extra_link_args,
                    *[f"-l{name}" for name in ext.libraries],
                    *[f"-Wl,-rpath,{p}" for p in ext.runtime_library_dirs],
                ],
                include_dirs=[os.path.abspath(p) for p in ext.include_dirs],
                library_dirs=[os.path.abspath(p) for p in ext.library_dirs],
                cuda=hasattr(ext, "cuda_flags"),
                cuda_flags=getattr(ext, "cuda_flags", []),
            )
            name = ext.name.rpartition(".")[2]
            (output.parent / f"{name}.py").write_text(_STUB.format(file=output.name))

    BuildExtension.__qualname__ = "BuildExtension"  # where pickle looks for it
    return BuildExtension


def __getattr__(name):
    # setuptools takes longer to import than everything else here, and load() does without.
    if name == "BuildExtension":
        globals()[name] = _make_build_extension()
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def setup(**attr):
    """setuptools.setup for a package of ops, which is imported by its name afterwards.

    Args:
        attr: As of setuptools.setup. ``name`` is required, and what users import; ``ext_modules`` is
            one CppExtension or CUDAExtension, or a list with one.

    Raises:
        ValueError: there is no name, or not one extension.
    """
    import setuptools

    name = attr.get("name")
    if name is None:
        raise ValueError(
            "[setup] name is missing: users import the ops by it. Do this: setup(name='my_ops', ..)."
        )
    extensions = attr.get("ext_modules")
    extensions = extensions if isinstance(extensions, (list, tuple)) else [extensions]
    if len(extensions) != 1 or extensions[0] is None:
        raise ValueError(
            f"[setup] ext_modules: expected one extension, got {len(extensions)}. Do this: put all "
            "sources into one CppExtension."
        )
    module = name.replace("-", "_")
    _check_name("setup", module)
    extensions[0].name = module
    attr["ext_modules"] = list(extensions)
    commands = dict(attr.get("cmdclass") or {})
    commands.setdefault("build_ext", __getattr__("BuildExtension"))
    attr["cmdclass"] = commands
    attr.setdefault("version", "0.0.0")
    # What is beside the script is no package to install, unless the script says so.
    attr.setdefault("packages", [])
    attr.setdefault("py_modules", [])
    attr["zip_safe"] = False
    setuptools.setup(**attr)
