"""Fuzzes the reader of .pdparams files: python tests/fuzz/pickle_fuzz.py SECONDS OUT [IN...]

A worker process mutates inputs, opcode by opcode and byte by byte, and keeps those that reach new
lines of the reader one after the other. An input is saved as crash-N in OUT if `load` ends the
process, takes more than a second or SPARE bytes, raises what is not its to raise, or gives what
`save` writes and `load` then refuses. Exit code 1: there were such.
"""

import io
import mmap
import os
import pathlib
import pickle
import pickletools
import random
import resource
import signal
import struct
import sys
import time

MAX_SIZE = 1 << 12
SPARE = 256 << 20
LIMIT = 1.0  # seconds of the processor for an input
TRACED = ("pickle_reader.py", "io.py")

ODD = (0, 1, 2, 3, 127, 128, 255, 256, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
       1 << 40, (1 << 63) - 1, (1 << 64) - 1)  # fmt: skip
WIDTHS = {b"K": 1, b"M": 2, b"J": 4, b"q": 1, b"h": 1, b"r": 4, b"j": 4, b"C": 1, b"B": 4,
          b"X": 4, b"\x8c": 1, b"\x8d": 8, b"\x8e": 8, b"\x95": 8, b"\x96": 8, b"\x8a": 1,
          b"\x8b": 4, b"T": 4, b"U": 1, b"G": 8}  # fmt: skip


def vocabulary():
    """Pieces that are put into inputs."""
    from argosy.framework import pickle_reader as reader

    pieces = [bytes((code,)) for code in reader.PickleReader._HANDLERS]
    for module, name in [*reader._CALLS, *reader._VALUES, ("paddle", "dtype"), ("os", "system")]:
        pieces.append(f"c{module}\n{name}\n".encode())
        pieces.append(b"X" + struct.pack("<I", len(module)) + module.encode())
        pieces.append(b"X" + struct.pack("<I", len(name)) + name.encode())
    for word in ("f4", "O", "S3", "U1", "?", "<", ">", "latin1", "slices", "OriginShape",
                 "StructuredToParameterName@@", "UnpackBigParamInfor@@"):  # fmt: skip
        pieces.append(b"X" + struct.pack("<I", len(word)) + word.encode())
    pieces += [
        b"K\x01\x85",
        b")R",
        b"\x85R",
        b"NtR",
        b"]\x94",
        b"}\x94",
        b"\x94h\x00",
        b"h\x00h\x01",
    ]
    pieces.append(b"\x8a\x09" + (1 << 64).to_bytes(9, "little"))
    return pieces


def opcodes(data):
    """The input in pieces of one opcode each; what is none is one piece at the end."""
    starts = []
    try:
        starts.extend(position for _, _, position in pickletools.genops(data))
    except Exception:  # it tells damage in many ways
        pass
    ends = [*starts[1:], len(data)]
    return [data[a:b] for a, b in zip(starts, ends)] or [data]


class Shared:
    """What the parent needs to know of a worker that died."""

    def __init__(self):
        self._map = mmap.mmap(-1, 16 + MAX_SIZE)

    def begin(self, runs, data):
        self._map[: 16 + len(data)] = struct.pack("<QQ", runs, len(data)) + data

    def read(self):
        runs, size = struct.unpack("<QQ", self._map[:16])
        return runs, self._map[16 : 16 + size]


class Coverage:
    """Pairs of lines of the reader that ran one after the other."""

    def __init__(self):
        self._seen = set()
        self._fresh = False
        self._last = None

    def _line(self, frame, event, _):
        edge = self._last, frame.f_code, frame.f_lineno
        if edge not in self._seen:
            self._seen.add(edge)
            self._fresh = True
        self._last = frame.f_lineno
        return self._line

    def _call(self, frame, event, _):
        path = frame.f_code.co_filename
        return self._line if path.endswith(TRACED) and "argosy" in path else None

    def of(self, function):
        """Whether calling `function` reached something new."""
        self._fresh, self._last = False, None
        sys.settrace(self._call)
        try:
            function()
        finally:
            sys.settrace(None)
        return self._fresh


def check(data):
    """Loads the input; raises AssertionError, or what must not be raised, if something is wrong."""
    from argosy.framework.io import load, save

    start = time.process_time()
    values = []
    for configs in ({}, {"return_numpy": True, "keep_name_table": True}):
        try:
            values.append(load(io.BytesIO(data), **configs))
        except (ValueError, pickle.UnpicklingError) as error:
            assert str(error).startswith("[load] ") and "Do this: " in str(error), repr(error)
            assert len(str(error)) < 2000, len(str(error))
    assert time.process_time() - start < LIMIT, f"took {time.process_time() - start:.1f} s"
    for value in values:
        if isinstance(value, tuple):
            try:
                hash(value)
            except TypeError:  # it holds a list
                pass
        file = io.BytesIO()
        try:
            save(value, file)
        except (TypeError, ValueError) as error:
            assert str(error).startswith("[save] "), repr(error)
            continue
        file.seek(0)
        load(file)


class Worker:
    def __init__(self, seed, out, shared):
        self._random = random.Random(seed)
        self._out = out
        self._shared = shared
        self._coverage = Coverage()
        self._corpus = []
        self._pieces = vocabulary()
        self._runs = shared.read()[0]

    def add(self, data):
        if len(data) <= MAX_SIZE and self._new(data):
            self._corpus.append(data)

    def loop(self, end):
        while time.monotonic() < end:
            data = self._mutated()
            if self._new(data):
                self._corpus.append(data)
                (self._out / f"{self._random.getrandbits(64):016x}").write_bytes(data)

    def _new(self, data):
        self._runs += 1
        self._shared.begin(self._runs, data)
        signal.alarm(10)
        fresh = self._coverage.of(lambda: check(data))
        signal.alarm(0)
        return fresh

    def _any(self):
        # Newer ones more often.
        count = len(self._corpus)
        return self._corpus[max(self._random.randrange(count), self._random.randrange(count))]

    def _mutated(self):
        pieces = opcodes(self._any())
        for _ in range(1 + self._random.randrange(1 << self._random.randrange(4))):
            self._mutate(pieces)
        data = b"".join(pieces)[:MAX_SIZE]
        if self._random.random() < 0.1 and data:
            data = bytearray(data)
            for _ in range(1 + self._random.randrange(4)):
                data[self._random.randrange(len(data))] = self._random.randrange(256)
        return bytes(data)

    def _mutate(self, pieces):
        random = self._random
        if not pieces:
            pieces.append(b"\x80\x04")
        at = random.randrange(len(pieces))
        size = 1 + random.randrange(1 << random.randrange(6))
        kind = random.randrange(9)
        if kind == 0:
            del pieces[at : at + size]
        elif kind == 1:
            pieces.insert(at, random.choice(self._pieces))
        elif kind == 2:
            pieces[at] = random.choice(self._pieces)
        elif kind == 3:
            to = random.randrange(len(pieces))
            pieces[at], pieces[to] = pieces[to], pieces[at]
        elif kind == 4:
            pieces[at:at] = pieces[at : at + size] * random.choice((1, 2, 10, 100, 500))
        elif kind == 5:
            other = opcodes(self._any())
            start = random.randrange(len(other))
            pieces[at:at] = other[start : start + size]
        elif kind == 6:
            to = random.randrange(len(pieces))
            pieces[to:to] = pieces[at : at + size]
        elif kind == 7:
            memo = [i for i, piece in enumerate(pieces) if piece[:1] in b"hjqr" and piece]
            if memo:
                i = random.choice(memo)
                pieces.insert(at, random.choice((b"h", b"q")) + bytes((random.randrange(8),)))
                pieces[i] = pieces[i][:1] + bytes((random.randrange(8),)) + pieces[i][2:]
        else:
            piece = pieces[at]
            width = WIDTHS.get(piece[:1])
            if width is not None and len(piece) > width:
                value = random.choice(ODD) % (1 << 8 * width)
                pieces[at] = piece[:1] + value.to_bytes(width, "little") + piece[1 + width :]


def limit_memory():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + SPARE
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def work(seed, out, folders, shared, end):
    """A worker: returns only if it found nothing."""
    warm = io.BytesIO()
    import numpy

    import argosy

    argosy.save({"w": argosy.ones([2]), "a": numpy.ones(2)}, warm)
    check(warm.getvalue())  # what is imported at first use is not counted
    limit_memory()
    worker = Worker(seed, out, shared)
    worker._corpus.append(warm.getvalue())
    for folder in (out, *folders):
        for path in sorted(folder.glob("*")):
            if path.is_file() and not path.name.startswith("crash"):
                worker.add(path.read_bytes())
    worker.loop(end)


def main(seconds, out, *folders):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    end = start + float(seconds)
    seed = random.SystemRandom().getrandbits(32)
    print("seed", seed, flush=True)
    shared, crashes = Shared(), 0
    while time.monotonic() < end and crashes < 20:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(seed, out, [pathlib.Path(folder) for folder in folders], shared, end)
                code = 0
            except BaseException as error:  # MemoryError, too
                print(f"{type(error).__name__}: {str(error)[:500]}", flush=True)
            os._exit(code)
        status = os.waitpid(child, 0)[1]
        if status == 0:
            break
        path = out / f"crash-{seed}"
        path.write_bytes(shared.read()[1])
        print(f"{path}: status {status}", flush=True)
        crashes += 1
        seed += 1
    kept = sum(not path.name.startswith("crash") for path in out.iterdir())
    print(
        f"{shared.read()[0]} runs in {time.monotonic() - start:.0f} s, {kept} inputs, {crashes} crashes"
    )
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
