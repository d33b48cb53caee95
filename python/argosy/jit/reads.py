"""The Python state that a captured function read: attributes, global and closure variables, defaults.

While a function is captured `noting_reads` collects what it reads, each as it was before the function ran
or first read it. A captured Program holds for calls that find all of it unchanged.

Attributes of Layers are told by Layer itself, from library code too; attributes of other objects by
rewritten code; variables by the code of each function that rewritten code calls. Attributes of Layers are
compared only when some Layer's attribute was set since (`world.epoch`), everything else at each call.
"""

import contextlib
import dis
import functools
import itertools
import sys
import threading
import types
import weakref

from argosy._capturing import reads_of_thread, set_reads_of_thread, world
from argosy._support import is_operand
from argosy.utils.layers_utils import flatten

from .numbers import OpenNumber

_MISSING = object()
_ANEW = object()  # equal to no value: what can change in place is compared each time
_SCALARS = (int, float, bool, str, bytes, complex, type(None))
_CONTAINERS = (list, tuple, dict, set, frozenset)
_LONGEST = 1024  # elements of a container that are compared; of longer ones those at its ends
_ENDS = 64
_DEEPEST = 8
# Packages whose functions are called as they are: they compute with arrays, and keep no state of a model.
TRACED = frozenset({"argosy", "numpy", "scipy", "torch", "paddle", "pytest", "_pytest"})
_LIBRARIES = TRACED | sys.stdlib_module_names
# Hooks, parameters and the like have rules of their own; forward is replaced while capturing.
_OWN = {"forward", "_buffers", "_non_persistable_buffer_names_set", "_built"}
_HOOKS = ("_forward_pre_hooks", "_forward_post_hooks")
_TOLD = {
    *_HOOKS,
    "_sub_layers",
    "_parameters",
}  # containers whose changes Layer tells of, as of attributes

_lock = threading.Lock()
_noting = 0  # captures under way, on all threads


# --- values ---


def frozen(value, depth=0):
    """What compares equal for values that captured functions cannot tell apart, now and later."""
    kind = type(value)
    if kind is float:
        return float, value.hex()
    if kind in _SCALARS:
        return kind, value
    if isinstance(value, _CONTAINERS) and depth < _DEEPEST:
        if len(value) > _LONGEST:
            return kind, len(value), _Identity(value), *_ends(value, depth)
        if isinstance(value, dict):
            items = ((frozen(k), frozen(v, depth + 1)) for k, v in value.items())
            return kind, tuple(items)
        items = (frozen(v, depth + 1) for v in value)
        return (
            (kind, frozenset(items))
            if isinstance(value, (set, frozenset))
            else (kind, tuple(items))
        )
    if _is_array(value):
        if value.size <= _LONGEST:
            return kind, value.dtype, value.shape, value.tobytes()
        flat = value.flat
        ends = flat[:_ENDS].tobytes(), flat[value.size - _ENDS :].tobytes()
        return kind, value.dtype, value.shape, _Identity(value), *ends
    return _Identity(value)


def _ends(value, depth):
    """What is at both ends of a long container; a set has none."""
    if isinstance(value, (set, frozenset)):
        return ()
    first, last = itertools.islice(value, _ENDS), itertools.islice(reversed(value), _ENDS)
    if isinstance(value, dict):
        first, last = ([(k, value[k]) for k in keys] for keys in (first, last))
    return tuple(frozen(v, depth + 1) for v in (*first, *last))


class _Identity:
    """An object that equals itself only, and is kept alive."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is _Identity and self.value is other.value

    def __hash__(self):
        return id(self.value)


class _Flat:
    """A list of layers, strings, whole numbers, and the like: compared at the speed of C."""

    __slots__ = ("kinds", "value")

    def __init__(self, value):
        self.value, self.kinds = value.copy(), list(map(type, value))

    def same(self, value):
        """Whether it has the same elements."""
        return (
            type(value) is list
            and len(value) == len(self.kinds)
            and list(map(type, value)) == self.kinds
            and value == self.value
        )


class _Frozen:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = frozen(value)

    def same(self, value):
        """Whether the value is equal to what was read."""
        return frozen(value) == self.value


def _matcher(value):
    if type(value) is list and len(value) <= _LONGEST:
        if all(type(v) in (int, str, bool) or type(v).__eq__ is object.__eq__ for v in value):
            return _Flat(value)
    return _Frozen(value)


@functools.lru_cache(maxsize=1024)
def _globals_set(code):
    """Names of the global variables that code sets, that of functions in it included."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= _globals_set(inner)
    return frozenset(names)


def _of_program(value):
    """Whether a value is one of a Program, or a list, tuple or dict with such."""
    leaves = flatten(value) if type(value) in (list, tuple, dict) else [value]
    return any(is_operand(v) and v._symbolic for v in leaves)


def _plain(value):
    """Whether a value is a number, text, or the like, or a tuple of such."""
    return all(map(_plain, value)) if type(value) is tuple else type(value) in _SCALARS


def _fixed(value):
    """Whether a value cannot change in place, as far as `frozen` goes."""
    if isinstance(value, tuple):
        return all(map(_fixed, value))
    return not isinstance(value, _CONTAINERS) and not _is_array(value)


def _is_array(value):
    return hasattr(type(value), "__array_interface__") and not is_operand(value)


def _told(value):
    """Whether a value is state that can become another one: no module, class, method or library function."""
    if isinstance(value, (types.ModuleType, type, types.MethodType, types.BuiltinFunctionType)):
        return False
    if isinstance(value, types.FunctionType):
        return not _of_library(value)
    if is_operand(value):
        return not value._symbolic
    return type(value) is not OpenNumber


def _of_library(x):
    """x: a function or class."""
    return (getattr(x, "__module__", None) or "").partition(".")[0] in _LIBRARIES


class _Kept:
    """A container and what is in it, to put back."""

    def __init__(self, value, depth=0):
        self.value = value
        inner = value.values() if isinstance(value, dict) else value
        self.content = value.copy() if isinstance(value, (list, dict, set)) else None
        deeper = isinstance(value, (list, dict, tuple)) and depth < _DEEPEST
        self.inner = [
            _Kept(v, depth + 1) for v in (inner if deeper else ()) if isinstance(v, _CONTAINERS)
        ]

    def restore(self):
        """Makes the container hold what it held."""
        if isinstance(self.value, list):
            self.value[:] = self.content
        elif self.content is not None:
            self.value.clear()
            self.value.update(self.content)
        for v in self.inner:
            v.restore()


# --- where values are ---


class _Read:
    """One value that was read. get(): it as it is now; put(value): sets it."""

    def __init__(self, name, value):
        self.name, self.value = name, value
        self.fixed = _fixed(value)
        self.old = value if self.fixed else _ANEW
        self.matcher = _matcher(value)
        self.kept = _Kept(value) if isinstance(value, (list, dict, set, tuple)) else None

    def holds(self):
        """Whether the value is what was read."""
        try:
            now = self.get()
        except Exception:
            return False
        return now is self.old or self.matcher.same(now)

    def restore(self):
        """Undoes what the function did while it was captured."""
        if self.kept is not None:
            self.kept.restore()
        try:
            if self.get() is not self.value:
                self.put(self.value)
        except Exception:  # a value that only a getter gives
            return


class _OfLayer(_Read):
    def __init__(self, layer, name, value):
        super().__init__(name, value)
        self.layer = weakref.ref(layer)

    def holds(self):
        """Nothing can be set on a layer that is gone."""
        layer = self.layer()
        if layer is None:
            return True
        now = _on_layer(layer, self.name)
        return now is self.old or self.matcher.same(now)

    def get(self):
        """The attribute of the layer itself."""
        return _on_layer(self.layer(), self.name)

    def put(self, value):
        """Sets the attribute."""
        if value is _MISSING:
            delattr(self.layer(), self.name)
        else:
            setattr(self.layer(), self.name, value)


class _InDict(_Read):
    def __init__(self, where, name, value):
        super().__init__(name, value)
        self.where = where

    def get(self):
        """The element."""
        return self.where.get(self.name, _MISSING)

    def put(self, value):
        """Sets the element."""
        self.where[self.name] = value


class _Asked(_Read):
    """An attribute that the object is asked for: of its class, a slot, or a property."""

    def __init__(self, owner, name, value):
        super().__init__(name, value)
        self.owner = owner

    def get(self):
        """The attribute, _MISSING if there is none."""
        return getattr(self.owner, self.name, _MISSING)

    def put(self, value):
        """Sets the attribute."""
        if value is _MISSING:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, value)


class _InCell(_Read):
    def __init__(self, cell, name, value):
        super().__init__(name, value)
        self.cell = cell

    def get(self):
        """The closure variable."""
        return self.cell.cell_contents

    def put(self, value):
        """Sets the closure variable."""
        self.cell.cell_contents = value


class _Computed(_Read):
    """What a function of the library gives."""

    def __init__(self, get, name, value):
        super().__init__(name, value)
        self.get = get

    def put(self, value):
        """Nothing: the function has computed it."""


# What Python calls for an operator or statement; rewritten code does not.
_OPERATORS = [
    f"__{n}__"
    for n in (
        "getitem contains iter next len bool int float index add radd sub rsub mul rmul truediv rtruediv"
        " floordiv mod pow rpow matmul rmatmul neg lt le gt ge enter get"
    ).split()
]


def _on_layer(layer, name):
    own = layer.__dict__
    found = own.get(name, _MISSING)
    if found is _MISSING:
        for group in ("_parameters", "_sub_layers", "_buffers"):
            found = own.get(group, {}).get(name, _MISSING)
            if found is not _MISSING:
                break
    return found


# --- noting ---


class Reads:
    """What one capture read."""

    full_graph = False  # the function does not run as Python, whatever it does

    def __init__(self):
        self._found = {}  # (id of an owner, name) -> (the owner, its _Read or None)
        self._functions = {}
        self._sets = {}  # (id of an owner, name) -> the owner
        self._sets_elsewhere = {}  # likewise, of classes, modules and objects with slots
        self._made = {}  # id of an object that the function makes -> the object
        self._dicts = self._rest = self._layers = self._leaves = ()
        self._epoch = None

    def attribute(self, owner, name, value):
        """owner.name was read and is value."""
        key = (id(owner), name)
        if key not in self._found:
            self._found[key] = (owner, None)  # keeps the id from another object
            self._found[key] = (owner, self._place(owner, name, value))
            self._operated(value)

    def computed(self, owner, get, name, value):
        """get(), of `owner`, was asked for and gave `value`."""
        self._found.setdefault((id(owner), f"{name}()"), (owner, _Computed(get, name, value)))

    def set(self, owner, name):
        """owner.name is about to be set."""
        if is_operand(owner):
            return
        if type(getattr(owner, "__dict__", None)) is dict and not isinstance(
            owner, types.ModuleType
        ):
            self._sets[id(owner), name] = owner
        else:
            self._sets_elsewhere[id(owner), name] = owner

    def made(self, owner):
        """The function has made an object, of which each call makes another one."""
        self._made[id(owner)] = owner

    def makes_with_tensors(self, owner):
        """Whether the function makes this object, and it holds values of the Program."""
        own = getattr(owner, "__dict__", None) if id(owner) in self._made else None
        return bool(own) and any(map(_of_program, list(own.values())))

    def of_layer(self, layer, name, value):
        """An attribute, parameter, sublayer or buffer of a Layer was read."""
        key = (id(layer), name)
        if key in self._found or name in _OWN or not _told(value):
            return
        self._found[key] = (layer, None)
        self._operated(value)
        if _on_layer(layer, name) is not value:
            if not _of_library(type(layer)):
                self._found[key] = (layer, _class_attribute(layer, name, value))
                self._found[key, "own"] = (layer, _OfLayer(layer, name, _MISSING))
            return
        read = _OfLayer(layer, name, value)
        library = name[:1] == "_" and _of_library(type(layer))
        if not read.fixed and not library and name not in _TOLD:
            # It may change without the layer being told.
            read = _InDict(layer.__dict__, name, value)
            self._found[key, "own"] = (layer, _OfLayer(layer, name, value))
        self._found[key] = (layer, read)

    def _place(self, owner, name, value):
        if not _told(value) or is_operand(owner):
            return None
        if isinstance(owner, types.ModuleType):
            if owner.__name__.partition(".")[0] in _LIBRARIES:
                return None
            return _InDict(owner.__dict__, name, value)
        if isinstance(owner, type):
            return None if _of_library(owner) else _class_attribute(owner, name, value)
        if value is _MISSING or isinstance(owner, threading.local):
            return _Asked(owner, name, value)
        own = getattr(owner, "__dict__", None)
        if type(own) is dict and own.get(name, _MISSING) is value:
            return _InDict(own, name, value)
        return None if _of_library(type(owner)) else _class_attribute(owner, name, value)

    def function(self, function, rewritten=True):
        """A function is called: its global and closure variables, and its defaults, are as they are now.

        rewritten: whether its code tells of the attributes that it reads."""
        if id(function) in self._functions or _of_library(function):
            return
        self._functions[id(function)] = function
        chains, cells = _variables(function.__code__)
        scope = function.__globals__
        for chain in chains:
            if chain[0] in scope:
                self._variable(scope, chain, rewritten)
        by_name = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        for chain in cells:
            cell = by_name.get(chain[0])
            if cell is not None and not chain[0].startswith("_argosy_"):
                self._cell(cell, chain, rewritten)
        for name in ("__defaults__", "__kwdefaults__"):
            given = getattr(function, name)
            if given and not all(map(_fixed, given.values() if name[2] == "k" else given)):
                self._found[id(function), name] = (function, _Asked(function, name, given))

    def _variable(self, scope, chain, rewritten):
        name = chain[0]
        value = scope[name]
        key = (id(scope), name)
        if key not in self._found:
            self._found[key] = (scope, _InDict(scope, name, value) if _told(value) else None)
            self._operated(value)
        self._follow(value, chain, rewritten)

    def _cell(self, cell, chain, rewritten):
        try:
            value = cell.cell_contents
        except ValueError:  # has none yet
            return
        key = (id(cell), None)
        if key not in self._found:
            told = _told(value) and chain[0] != "__class__"
            self._found[key] = (cell, _InCell(cell, chain[0], value) if told else None)
            self._operated(value)
        self._follow(value, chain, rewritten)

    def _operated(self, value):
        """An object whose class has operators in Python, which read it unseen: all that is in it counts."""
        kind = type(value)
        own = getattr(value, "__dict__", None) if kind.__module__ != "builtins" else None
        if (
            type(own) is not dict
            or is_operand(value)
            or _of_library(kind)
            or hasattr(kind, "forward")
        ):
            return
        methods = (getattr(kind, name, None) for name in _OPERATORS)
        if any(type(m) is types.FunctionType and not _of_library(m) for m in methods):
            self.whole(value)

    def whole(self, owner):
        """All that is in an object is read."""
        read = _Asked(owner, "__dict__", owner.__dict__)
        self._found.setdefault((id(owner), "__dict__"), (owner, read))

    def _follow(self, value, chain, rewritten):
        if rewritten:
            return
        if isinstance(value, types.FunctionType):
            self.function(value, False)
        for name in chain[1:]:
            own = getattr(value, "__dict__", None)
            if own is None or name not in own:
                return
            inner = own[name]
            self.attribute(value, name, inner)
            value = inner

    def settle(self, put_back=True):
        """Ends the noting. Gives the reads of what the function itself has changed meanwhile; their values
        are put back, unless the function counts as called. Tensors that it sets are state of the Program, which has its own rules."""
        reads = [read for _, read in self._found.values() if read is not None]
        changed, kept = [], []
        for read in reads:
            if read.holds():
                kept.append(read)
                continue
            if not _tensors(read):
                changed.append(read)
        for read in changed if put_back else ():
            read.restore()
        self._layers = _by_layer(r for r in kept if type(r) is _OfLayer)
        self._dicts = [(r.where, r.name, r.old, r.matcher) for r in kept if type(r) is _InDict]
        self._rest = [r for r in kept if type(r) not in (_OfLayer, _InDict)]
        self._leaves = [
            (owner, name, owner.__dict__[name])
            for (_, name), owner in self._sets.items()
            if name in owner.__dict__ and _plain(owner.__dict__[name])
        ]
        self._found = self._functions = self._sets = self._sets_elsewhere = self._made = None
        return changed

    def tensors_lost(self):
        """What was set to values of the Program where a call cannot set it: "owner.name" for each."""
        for (_, name), owner in self._sets_elsewhere.items():
            if _of_program(getattr(owner, name, None)):
                yield f"{getattr(owner, '__name__', type(owner).__name__)}.{name}"
        for function in self._functions.values():
            for name in _globals_set(function.__code__):
                if _of_program(function.__globals__.get(name)):
                    yield f"the global variable '{name}'"

    def tensors_set(self):
        """(object, attribute, value) for each attribute that now is a value of the Program, or a list, tuple or dict
        with such."""
        for (_, name), owner in self._sets.items():
            value = _on_layer(owner, name)
            if _of_program(value):
                yield owner, name, value

    def leave(self):
        """Sets the attributes that the function has set to numbers, texts and the like."""
        for owner, name, value in self._leaves:
            if owner.__dict__.get(name, _MISSING) is not value:
                setattr(owner, name, value)

    def hold(self):
        """Whether everything that was read is what it was."""
        for where, name, old, matcher in self._dicts:
            now = where.get(name, _MISSING)
            if now is not old and not matcher.same(now):
                return False
        for read in self._rest:
            if not read.holds():
                return False
        epoch = world.epoch
        if epoch is not self._epoch:
            if any(map(_changed_on, self._layers)):
                return False
            self._epoch = epoch
        return True

    def changed(self):
        """Names of what is not what it was."""
        names = [n for d, n, old, m in self._dicts if not m.same(d.get(n, _MISSING))]
        reads = [*self._rest, *(r for _, _, of_one in self._layers for r in of_one)]
        return names + [r.name for r in reads if not r.holds()]


def _by_layer(reads):
    """(reference to a layer, what was read of its own attributes, all its reads) for each layer."""
    found = {}
    for read in reads:
        found.setdefault(id(read.layer()), []).append(read)
    layers = []
    for of_one in found.values():
        own = of_one[0].layer().__dict__
        direct = [(r.name, r.old, r.matcher) for r in of_one if r.name in own]
        layers.append((of_one[0].layer, direct, of_one))
    return layers


def _changed_on(entry):
    """Whether one layer is not what it was."""
    layer = entry[0]()
    if layer is None:  # nothing can be set on it any more
        return False
    get = layer.__dict__.get
    for name, old, matcher in entry[1]:
        now = get(name, _MISSING)
        if now is not old and not matcher.same(now):
            return True
    direct = len(entry[1])
    return direct < len(entry[2]) and not all(r.holds() for r in entry[2])


def _tensors(read):
    """Is it a tensor before and after, that also is there when the capture has ended?"""
    try:
        now = read.get()
        return is_operand(read.value) and is_operand(now) and not now._symbolic
    except Exception:
        return False


def _class_attribute(owner, name, value):
    """Where an attribute is that the object itself does not hold; None if it is a method, or made anew."""
    classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
    for c in classes:
        found = c.__dict__.get(name, _MISSING)
        if found is not _MISSING:
            if isinstance(found, (types.FunctionType, staticmethod, classmethod)) or _of_library(c):
                return None
            if found is value and not isinstance(owner, type):
                return _Asked(owner, name, value)
            break
    return _Asked(owner, name, value) if isinstance(value, (*_SCALARS, *_CONTAINERS)) else None


@functools.lru_cache(maxsize=4096)
def _chains(code):
    chains, cells, chain = {}, {}, None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
            chain = [step.argval]
            into = chains if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else cells
            into[id(chain)] = chain
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain is not None:
            chain.append(step.argval)
        else:
            chain = None
    globals_, free = list(chains.values()), list(cells.values())
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            more = _chains(inner)
            globals_ += more[0]
            free += more[1]
    return globals_, free


def _variables(code):
    """Its global and closure variables, each with the attributes that are read of it in turn."""
    found, cells = _chains(code)
    return found, [c for c in cells if c[0] in code.co_freevars]


def note_function(function, rewritten=True):
    """Tells the capture under way, if any, that a function is called."""
    reads = reads_of_thread()
    if reads is not None and isinstance(function, types.FunctionType):
        reads.function(function, rewritten)


def note_set(owner, name):
    """Tells the capture under way that an attribute is about to be set."""
    reads = reads_of_thread()
    if reads is not None and not name.startswith("__"):
        reads.set(owner, name)


def note_made(owner):
    """Tells the capture under way that an object was made."""
    reads = reads_of_thread()
    if reads is not None:
        reads.made(owner)


def note_object(owner):
    """Tells the capture under way that a method of an object is called, of which all that is in it counts."""
    reads = reads_of_thread()
    if reads is not None and getattr(type(owner), "_reads_as_whole", False):
        reads.whole(owner)


def note_attribute(owner, name):
    """Tells the capture under way that an attribute is about to be read. Layers tell by themselves."""
    reads = reads_of_thread()
    if reads is None or is_operand(owner) or isinstance(owner, super):
        return
    from argosy.nn import Layer

    if isinstance(owner, Layer):
        return
    if name.startswith("__"):
        if name.endswith("__"):
            return
        names = [f"_{c.__name__.lstrip('_')}{name}" for c in type(owner).__mro__]
        name = next((n for n in names if hasattr(owner, n)), name)
    if (id(owner), name) in reads._found:
        return
    try:
        value = getattr(owner, name, _MISSING)
    except Exception:  # the read itself will raise it
        return
    reads.attribute(owner, name, value)


def _getattribute(self, name):
    """Layer's, while functions are captured."""
    reads = reads_of_thread()
    if reads is None or name[:2] == "__":
        return object.__getattribute__(self, name)
    try:
        value = object.__getattribute__(self, name)
    except AttributeError:
        set_reads_of_thread(None)
        try:
            reads.of_layer(self, name, _on_layer(self, name))
        finally:
            set_reads_of_thread(reads)
        raise
    set_reads_of_thread(None)
    try:
        reads.of_layer(self, name, value)
    finally:
        set_reads_of_thread(reads)
    return value


def note_hooks(layer):
    """Tells the capture under way that a layer is called, with the hooks that it has."""
    reads = reads_of_thread()
    if reads is not None:
        for name in _HOOKS:
            hooks = layer.__dict__[name]
            reads.of_layer(layer, name, hooks)
            for hook in hooks.values():
                note_function(hook, False)


@contextlib.contextmanager
def noting_reads():
    """Collects the reads of one capture on this thread."""
    global _noting
    from argosy.nn import Layer

    before, reads = reads_of_thread(), Reads()
    with _lock:
        _noting += 1
        if _noting == 1:
            Layer.__getattribute__ = _getattribute
    set_reads_of_thread(reads)
    try:
        yield reads
    finally:
        set_reads_of_thread(before)
        with _lock:
            _noting -= 1
            if _noting == 0:
                del Layer.__getattribute__
