"""Files that hold objects of classes: `save` writes them, `load` reads what its caller allows."""

import collections
import dataclasses
import enum
import io
import math
import os
import pickle
import struct
import subprocess

import numpy as np
import pytest

import argosy
from argosy.framework.pickle_reader import DamagedFileError, UnsafeFileError


@dataclasses.dataclass
class Config:
    name: str
    sizes: list
    extra: object = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Slots:
    __slots__ = ("a", "b")


class Stateful:
    def __init__(self):
        self.seen = []

    def __getstate__(self):
        return {"kept": 7}

    def __setstate__(self, state):
        self.seen = [state]


class Keywords:
    def __new__(cls, *, size):
        self = super().__new__(cls)
        self.size = size
        return self

    def __getnewargs_ex__(self):
        return (), {"size": self.size}


class Numbers(list):
    pass


class Table(dict):
    pass


Pair = collections.namedtuple("Pair", "left right")


def written(value, protocol=4):
    file = io.BytesIO()
    argosy.save(value, file, protocol=protocol)
    return file.getvalue()


def read(data, allow=None):
    return argosy.load(io.BytesIO(data), allow=allow)


def slots(a, b):
    value = Slots()
    value.a, value.b = a, b
    return value


OBJECTS = [
    (Config("net", [1, 2], {"deep": Config("inner", [])}), [Config]),
    ({"a": Frozen(3), "b": [Frozen(3)]}, [Frozen]),
    ([Colour.RED, Colour.BLUE, Colour.RED], [Colour]),
    (Pair(1, Pair(2, 3)), [Pair]),
    (collections.deque([1, 2], 5), [collections.deque]),
    (collections.Counter("aab"), [collections.Counter]),
    ({(1, 2): 3, frozenset([4]): 5}, []),
    ({Frozen(1): "a", Frozen(2): "b"}, [Frozen]),
    ([math.sin, len, Config], [math.sin, len, Config]),
    (Numbers([1, 2]), [Numbers]),
    (Table(a=1), [Table]),
]


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("value, allow", OBJECTS, ids=lambda item: type(item).__name__)
def test_objects_come_back_where_they_are_allowed(value, allow, protocol):
    data = written(value, protocol)
    loaded = read(data, allow)
    assert loaded == value and type(loaded) is type(value)
    assert read(data, "anything") == value
    assert pickle.loads(data) == value  # what Python itself reads
    with pytest.raises(UnsafeFileError, match="Do this: if you trust its writer, allow"):
        read(data)


def test_objects_with_slots_state_and_keywords():
    loaded = read(written({"s": slots(1, [2])}), [Slots])["s"]
    assert (loaded.a, loaded.b) == (1, [2])
    assert read(written(Stateful()), [Stateful]).seen == [{"kept": 7}]
    assert read(written([Keywords(size=4)]), Keywords)[0].size == 4
    with pytest.raises(TypeError, match="protocol 2 has no keywords of __new__"):
        written(Keywords(size=4), protocol=2)


def test_shared_objects_and_cycles_come_back():
    one = Config("one", [])
    one.extra = one
    loaded = read(written([one, one]), [Config])
    assert loaded[0] is loaded[1] and loaded[0].extra is loaded[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: argosy.optimizer.lr.StepDecay(0.1, 2),
        lambda: argosy.optimizer.lr.LinearWarmup(
            argosy.optimizer.lr.CosineAnnealingDecay(0.5, 10), 3, 0.0, 0.5
        ),
        lambda: argosy.optimizer.lr.ReduceOnPlateau(0.1),
    ],
)
def test_schedulers_go_on_where_they_were_saved(make, tmp_path):
    scheduler = make()
    step = (lambda s: s.step(1.0)) if hasattr(scheduler, "num_bad_epochs") else lambda s: s.step()
    for _ in range(4):
        step(scheduler)
    path = str(tmp_path / "scheduler.pdopt")
    argosy.save({"scheduler": scheduler, "weight": argosy.ones([2])}, path)
    names = [type(scheduler), "paddle.optimizer.lr.CosineAnnealingDecay"]
    loaded = argosy.load(path, allow=names)
    np.testing.assert_array_equal(loaded["weight"].numpy(), [1.0, 1.0])
    for _ in range(4):
        step(scheduler)
        step(loaded["scheduler"])
        assert loaded["scheduler"]() == scheduler()
    with pytest.raises(UnsafeFileError, match=r"allow=\['paddle\.optimizer\.lr\.\w+'\].*\(file: "):
        argosy.load(path)


def test_tensors_in_attributes_are_pairs_as_those_of_paddle():
    loaded = read(written(Config("t", [], argosy.to_tensor([1.0, 2.0]))), [Config])
    name, array = loaded.extra
    assert isinstance(name, str) and array.tolist() == [1.0, 2.0]


def test_what_pickle_cannot_store_is_refused_with_its_place():
    for value, text in (
        ({"f": [lambda: 1]}, r"the object\['f'\]\[0\] of type builtins.function.*by that name"),
        ({"g": (i for i in ())}, r"the object\['g'\] of type builtins.generator.*TypeError"),
        ({"m": open(os.devnull)}, r"the object\['m'\] of type _io\.TextIOWrapper"),
    ):
        with pytest.raises(TypeError, match=r"\[save\] cannot store " + text):
            written(value)


def test_what_allow_takes():
    data = written(Frozen(1))
    name = f"{__name__}.Frozen"
    assert read(data, Frozen) == read(data, name) == read(data, (name,)) == Frozen(1)
    with pytest.raises(ValueError, match=r"\[load\] allow: there is no 'not_there\.Name'.*Do this"):
        read(data, ["not_there.Name"])
    with pytest.raises(TypeError, match=r"\[load\] allow: expected classes.*got int.*Do this"):
        read(data, [3])
    with pytest.raises(UnsafeFileError, match="asks for .*Frozen"):
        read(data, [Config])
    with pytest.raises(UnsafeFileError, match="asks for .*Frozen"):
        read(data, [])


# Hostile files.


class Evil:
    def __init__(self, function, *arguments):
        self.steps = function, arguments

    def __reduce__(self):
        return self.steps


def short(text):
    return b"\x8c" + bytes([len(text)]) + text.encode()


def called(module, name, *arguments):
    """Stack operations: module.name(*arguments)."""
    return short(module) + short(name) + b"\x93(" + b"".join(map(short, arguments)) + b"tR"


def whole(*parts):
    return b"\x80\x04" + b"".join(parts) + b"."


HOSTILE = {
    "system": lambda mark: pickle.dumps(Evil(os.system, f"touch {mark}")),
    "nested": lambda mark: pickle.dumps({"w": [Evil(os.mkdir, str(mark))]}),
    "eval": lambda mark: pickle.dumps(Evil(eval, f"open({str(mark)!r}, 'w')")),
    "getattr": lambda mark: pickle.dumps(Evil(getattr, Config("x", []), "__init__")),
    "subprocess": lambda mark: pickle.dumps(Evil(subprocess.Popen, ["touch", str(mark)])),
    "dotted": lambda mark: whole(called(__name__, "os.mkdir", str(mark))),
    "attribute of an allowed class": lambda mark: whole(
        called(__name__, "Config.__init__.__globals__", str(mark))
    ),
    "method of an allowed class": lambda mark: whole(called(__name__, "Config.__init__", "x")),
    "builtins of a module": lambda mark: whole(called("collections", "abc.sys.exit", "1")),
    "old opcode": lambda mark: (
        b"\x80\x02cos\nmkdir\n(X" + struct.pack("<I", len(str(mark))) + str(mark).encode() + b"tR."
    ),
    "instance": lambda mark: (
        b"\x80\x02(X" + struct.pack("<I", len(str(mark))) + str(mark).encode() + b"ios\nmkdir\n."
    ),
    "new": lambda mark: whole(
        short("os") + short("mkdir") + b"\x93" + short(str(mark)) + b"\x85\x81"
    ),
    "class state": lambda mark: whole(
        short(__name__) + short("Config") + b"\x93" + b"N}" + short("name") + short("x") + b"s\x86b"
    ),
    "extension": lambda mark: b"\x80\x02\x82\x01.",
    "persistent": lambda mark: b"\x80\x02Pname\n.",
}


@pytest.mark.parametrize("allow", [None, [], [Config], [Config, collections.Counter]])
@pytest.mark.parametrize("attack", HOSTILE)
def test_hostile_files_run_nothing_that_is_not_allowed(attack, allow, tmp_path):
    mark = tmp_path / "mark"
    data = HOSTILE[attack](mark)  # first: pickle itself leaves a mark on the classes it writes
    before = dict(vars(Config))
    with pytest.raises((UnsafeFileError, DamagedFileError), match=r"\[load\]"):
        read(data, allow)
    assert not mark.exists() and dict(vars(Config)) == before


def test_an_allowed_class_gets_no_state_by_its_class():
    data = whole(
        short(__name__)
        + short("Config")
        + b"\x93"
        + b"N}"
        + short("__init__")
        + short("x")
        + b"s\x86b"
    )
    with pytest.raises(DamagedFileError):
        read(data, "anything")
    assert callable(Config.__init__)


def test_anything_is_what_it_says(tmp_path):
    mark = tmp_path / "mark"
    data = pickle.dumps(Evil(os.mkdir, str(mark)))
    read(data, "anything")
    assert mark.is_dir()
