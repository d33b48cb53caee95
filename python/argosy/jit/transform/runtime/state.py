"""The variables that a lifted statement may change, and values with tensors somewhere inside."""

import collections

from ..errors import CaptureError, UndefinedVar
from . import builders
from .arrays import TensorList

_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
LEAF = "leaf"


def read(name, thunk):
    """A variable's value, or UndefinedVar if it has none."""
    try:
        return thunk()
    except (NameError, AttributeError):
        return UndefinedVar(name)


def defined(value):
    """Is it a value?"""
    return type(value) is not UndefinedVar


class State:
    """read_all() and write_all(values) for variables of the rewritten function.

    `names` are those that have a use after the statement; get() and set() are about them. The
    others matter only when one trace must not see what another left. `lists`: names that the
    statement calls append on. `filled`: names whose values it changes in place, but does not assign.
    """

    __slots__ = ("names", "others", "read_all", "write_all", "lists", "filled")

    def __init__(self, names, read_all, write_all, count, lists=(), filled=()):
        self.names, self.others = names[:count], names[count:]
        self.lists, self.filled = lists, filled
        self.read_all, self.write_all = read_all, write_all

    def get(self):
        """Values of the variables with a use."""
        return self.read_all()[: len(self.names)]

    def set(self, values):
        """Sets the variables with a use; nothing may read the others any more."""
        dead = [UndefinedVar(n, "it was set inside of a captured statement") for n in self.others]
        self.write_all(list(values) + dead)


EMPTY = State((), lambda: (), lambda values: None, 0)


class Node:
    """A list, tuple, dict or TensorList on the way to leaves; equal if type, length and keys are equal."""

    __slots__ = ("value", "kind", "keys", "children")

    def __init__(self, value, kind, keys, children):
        self.value, self.kind, self.keys, self.children = value, kind, keys, children

    def __eq__(self, other):
        return (
            isinstance(other, Node)
            and self.kind is other.kind
            and self.keys == other.keys
            and self.children == other.children
        )

    __hash__ = None


def flatten(value, leaves, path=()):
    """Appends the leaves of nested lists, tuples and dicts to `leaves`; returns the structure."""
    kind = type(value)
    if id(value) in path:
        leaves.append(value)
        return LEAF
    path = path + (id(value),)
    if kind in _DICTS:
        children = [flatten(v, leaves, path) for v in value.values()]
        return Node(value, kind, list(value), children)
    if kind is list or (isinstance(value, tuple) and (kind is tuple or hasattr(kind, "_fields"))):
        return Node(value, kind, len(value), [flatten(v, leaves, path) for v in value])
    if kind is TensorList:
        leaves.append(value.array)
        return Node(value, kind, 1, [LEAF])
    leaves.append(value)
    return LEAF


def unflatten(structure, leaves, reuse=()):
    """A value of that structure from an iterator of leaves; containers whose id is in `reuse` are
    filled anew instead of made."""
    if structure is LEAF or structure == LEAF:
        return next(leaves)
    children = [unflatten(c, leaves, reuse) for c in structure.children]
    old, kind = structure.value, structure.kind
    if kind in _DICTS:
        made = old if id(old) in reuse else old.copy()
        made.clear()
        made.update(zip(structure.keys, children))
        return made
    if kind is list:
        if id(old) not in reuse:
            return children
        old[:] = children
        return old
    if kind is TensorList:
        if id(old) not in reuse:
            return TensorList(children[0])
        old.array = children[0]
        return old
    return tuple(children) if kind is tuple else kind(*children)


def containers(structure):
    """The mutable containers of a structure by id."""
    if not isinstance(structure, Node):
        return {}
    found = {} if issubclass(structure.kind, tuple) else {id(structure.value): structure.value}
    for c in structure.children:
        found.update(containers(c))
    return found


def common_shape(shapes):
    """One shape for all of one rank, -1 where sizes differ."""
    return [s[0] if len(set(s)) == 1 else -1 for s in zip(*shapes)]


class Snapshot:
    """The variables of a state, and the contents of their containers, as they were."""

    def __init__(self, state):
        self.state = state
        self.values = list(state.read_all())
        self.trees = []  # of the variables with a use
        self.contents = {}
        for v in self.values[: len(state.names)]:
            leaves = []
            structure = flatten(v, leaves)
            self.trees.append((structure, leaves))
            for i, c in containers(structure).items():
                self.contents[i] = (c, c.copy())

    def as_array(self, i, shape, dtype):
        """Makes variable i, a list of tensors of a shape and dtype, one that a Program can fill."""
        old = self.values[i]
        if type(old) is list:
            elements = self.contents[id(old)][1]  # a trace may have left others in it
            made = TensorList(builders.create_array(elements, shape, dtype))
            self.values[i] = made
            self.contents[id(made)] = (made, made.copy())

    def restore(self):
        """Puts all of it back, in place."""
        for c, copy in self.contents.values():
            if isinstance(c, list):
                c[:] = copy
            elif isinstance(c, TensorList):
                c.array = copy.array
            else:
                c.clear()
                c.update(copy)
        self.state.write_all(self.values)


def checked_outputs(value):
    """The result of a captured function, if it is made of values that can leave a Program."""
    leaves = []
    todo = [flatten(value, leaves)]
    while todo:
        structure = todo.pop()
        if isinstance(structure, Node):
            if structure.kind is TensorList:
                raise CaptureError(
                    "a list that a loop on tensors has filled is returned. Do this: return it "
                    "stacked or concatenated."
                )
            todo += structure.children
    for leaf in leaves:
        if type(leaf) is UndefinedVar:
            raise leaf.fail()
    return value
