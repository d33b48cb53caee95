"""Compiles a library of ops, unless it is there already and nothing that it was made of changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from argosy import _core
from argosy.utils import package_paths as paths


def get_build_directory(verbose=False):
    """The folder that ``load`` puts what it builds into: the environment's PADDLE_EXTENSION_DIR, else
    ~/.cache/argosy_extensions; made if it is not there.

    Args:
        verbose (bool): Says so where the default is taken.

    Returns:
        str: its path.

    Example:
        >>> import os, tempfile
        >>> os.environ["PADDLE_EXTENSION_DIR"] = tempfile.gettempdir()
        >>> argosy.utils.cpp_extension.get_build_directory() == tempfile.gettempdir()
        True
    """
    folder = os.environ.get("PADDLE_EXTENSION_DIR")
    if folder is None:
        folder = os.path.join(os.path.expanduser("~"), ".cache", "argosy_extensions")
        if verbose:
            print(f"$PADDLE_EXTENSION_DIR is not set: extensions are built in {folder}")
    os.makedirs(folder, exist_ok=True)
    return folder


def cuda_sources(sources):
    """Those that only a CUDA compiler understands."""
    return [str(s) for s in sources if pathlib.Path(s).suffix == ".cu"]


def refuse_cuda(what, sources):
    """Raise for sources that only a CUDA compiler understands."""
    if found := cuda_sources(sources):
        raise ValueError(
            f"[{what}] {', '.join(found)}: expected C++ sources, got CUDA's. Do this: use CUDAExtension."
        )


def _toolkit():
    """(nvcc, the folder of the toolkit that it belongs to)."""
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    homes += [str(pathlib.Path(found).parents[1])] if (found := shutil.which("nvcc")) else []
    for home in [*filter(None, homes), "/usr/local/cuda"]:
        nvcc = pathlib.Path(home) / "bin" / "nvcc"
        if nvcc.is_file():
            return nvcc, nvcc.parents[1]
    raise RuntimeError(
        "[cpp_extension] there is no CUDA compiler: nvcc is neither in CUDA_HOME/bin nor in PATH. Do"
        " this: install NVIDIA's CUDA toolkit 13, set CUDA_HOME to its folder, or give C++ sources"
        " alone."
    )


def _architectures(flags):
    """Flags for the GPUs to compile for, unless `flags` has some: those that PADDLE_CUDA_ARCH_LIST says ("8.0;9.0"),
    else that of the process's GPU, else 8.0, 9.0 and, by PTX, later ones."""
    if any(
        flag.startswith(("-arch", "--gpu-arch", "-gencode", "--generate-code")) for flag in flags
    ):
        return []
    listed = os.environ.get("PADDLE_CUDA_ARCH_LIST", "").replace(",", ";").replace(" ", ";")
    numbers = [part.replace(".", "") for part in listed.split(";") if part]
    if not numbers and _core.cuda_count():
        from argosy import device

        numbers = ["".join(map(str, device.get_device_capability("gpu:0")))]
    if numbers:
        return [f"-gencode=arch=compute_{n},code=sm_{n}" for n in numbers]
    return [
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90,code=[sm_90,compute_90]",
    ]


def _compiler():
    command = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    if shutil.which(command[0]) is None:
        raise RuntimeError(
            f"[cpp_extension] there is no C++ compiler: {command[0]} is not in PATH. Do this: install "
            "g++ (12 or newer), or set CXX to one."
        )
    return command


def _commands(
    name, sources, output, work, cxx_flags=(), link_flags=(), include_dirs=(), library_dirs=(),
    cuda=False, cuda_flags=(),
):  # fmt: skip
    """{object: command that makes it}, and the command that links them."""
    compiler = _compiler()
    base = ["-O2", "-std=c++20", f"-DPADDLE_EXTENSION_NAME={name}"]
    # Theirs come after ours, so they win.
    flags = {".cc": [*compiler, "-fPIC", *base, *cxx_flags]}
    library_dirs, link_flags = list(library_dirs), list(link_flags)
    if cuda:
        nvcc, toolkit = _toolkit()
        flags[".cc"] += ["-DPADDLE_WITH_CUDA", f"-I{toolkit}/include"]
        flags[".cu"] = [
            str(nvcc), "-ccbin", compiler[0], "-Xcompiler=-fPIC", *base, "-DPADDLE_WITH_CUDA",
            "--expt-relaxed-constexpr", *_architectures(cuda_flags), *cuda_flags,
        ]  # fmt: skip
        folders = [p for p in (toolkit / "lib64", toolkit / "lib") if p.is_dir()]
        library_dirs += folders
        link_flags += ["-lcudart", *(f"-Wl,-rpath,{p}" for p in folders)]
    # What needs no header of ours is marked all the same.
    common = ["-include", "argosy_abi.h"]
    common += [f"-I{p}" for p in [*include_dirs, *paths.include_folders()]]
    objects = {}
    for i, source in enumerate(sources):
        made = work / f"{i}_{pathlib.Path(source).stem}.o"
        command = flags[".cu" if cuda_sources([source]) else ".cc"]
        objects[made] = [*command, *common, "-MMD", "-c", str(source), "-o", str(made)]
    library = paths.library_folder()
    link = [*compiler, "-shared", *map(str, objects), "-o", str(output)]
    link += [f"-L{p}" for p in library_dirs] + list(link_flags)
    link += [f"-L{library}", "-largosy", f"-Wl,-rpath,{library}"]
    return objects, link


def _run(what, command, verbose):
    if verbose:
        print(shlex.join(command), flush=True)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    output = done.stdout + done.stderr
    if verbose and output:
        print(output, end="", flush=True)
    if done.returncode:
        raise RuntimeError(
            f"[cpp_extension] {what} failed:\n{shlex.join(command)}\n{output}"
            "Do this: correct the source, or the flags (extra_cxx_cflags, extra_cuda_cflags, extra_ldflags)."
        )


def compile_library(name, sources, output, work, verbose=False, **flags):
    """Make `output`, a shared library, of C++ sources; objects lie in the folder `work`.

    Returns:
        list: paths of all files that it was made of.

    Raises:
        RuntimeError: there is no compiler, or it failed; the text has what it said.
    """
    work.mkdir(parents=True, exist_ok=True)
    objects, link = _commands(name, sources, output, work, **flags)
    jobs = int(os.environ.get("MAX_JOBS") or os.cpu_count() or 1)
    with ThreadPoolExecutor(max_workers=max(1, min(jobs, len(objects)))) as pool:
        for done in [
            pool.submit(_run, f"compiling {command[-3]}", command, verbose)
            for command in objects.values()
        ]:
            done.result()
    _run(f"linking {name}", link, verbose)
    read = set(map(str, sources))
    for made in objects:
        read.update(_read_by(made.with_suffix(".d")))
    return sorted(read)


def _read_by(rule):
    """What a rule for make, as the compiler writes it, says that an object depends on."""
    text = rule.read_text().replace("\\\n", " ")
    return shlex.split(text.partition(":")[2])


def _hash(path):
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _key(commands):
    """What decides, beside the files that are read, how a library comes out."""
    objects, link = commands
    version = subprocess.run([*_compiler(), "--version"], capture_output=True, text=True).stdout
    text = json.dumps([list(objects.values()), link, version, _core.abi_version()])
    return hashlib.sha256(text.encode()).hexdigest()


@contextlib.contextmanager
def _locked(path):
    """One process at a time: several of a job load the same extension."""
    import fcntl

    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(name, sources, folder, verbose=False, **flags):
    """The path of the library `name` made of the sources, in `folder`; built if need be.

    A changed one gets another file name, since a process cannot load the same path twice.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sources = [str(pathlib.Path(s).resolve()) for s in sources]
    for s in sources:
        if not os.path.isfile(s):
            raise FileNotFoundError(
                f"[cpp_extension] the source {s} does not exist. Do this: correct the path; it is "
                "relative to the working directory."
            )
    note = folder / "built.json"
    with _locked(folder / "lock"):
        key = _key(_commands(name, sources, "", pathlib.Path(), **flags))
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            built = json.loads(note.read_text())
            current = all(_hash(path) == hash for path, hash in built["read"].items())
            made = folder / built["file"]
            # A host that lost power may have left a part of it.
            if current and built["key"] == key and built["hash"] == _hash(made):
                return made
        draft = folder / "draft.so"
        read = {
            path: _hash(path)
            for path in compile_library(name, sources, draft, folder / "objects", verbose, **flags)
        }
        mark = hashlib.sha256(json.dumps([key, read]).encode()).hexdigest()[:12]
        for stale in folder.glob(f"{name}_*.so"):
            stale.unlink()
        made = draft.rename(folder / f"{name}_{mark}.so")
        built = {"key": key, "read": read, "file": made.name, "hash": _hash(made)}
        note.write_text(json.dumps(built))
        return made
