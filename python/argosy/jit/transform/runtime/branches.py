"""if, conditional expressions, and what follows a statement that may jump."""

from ..errors import CaptureError, UndefinedVar
from . import builders
from .arrays import TensorList
from .join import CONFLICT, OUT, SAME, Retry, Swap, join
from .signals import (
    NEXT,
    RETURN,
    Abort,
    Return,
    Undecided,
    abort,
    code_tensor,
    codes_of,
    has_value,
    made,
)
from .state import EMPTY, Node, Snapshot, common_shape, containers, flatten, unflatten

_ATTEMPTS = 12


def if_(pred, true, false, state, jumping):
    """The statement `if`; returns the signal of the branch that ran."""
    if builders.decides(pred):
        return symbolic_if(pred, true, false, state, jumping)
    if pred:
        return true()
    return None if false is None else false()


def if_expression(pred, true, false):
    """true() if pred else false()"""
    if not builders.decides(pred):
        return true() if pred else false()
    return select(pred, true, false)


def select(pred, true, false):
    """The value of one of two functions, as a symbolic condition says."""
    signal = symbolic_if(
        pred, lambda: Return(true()), lambda: Return(false()), EMPTY, False, place=true
    )
    return signal.value


def then(signal, rest, state):
    """Runs the rest of a block after a statement that may have jumped; returns the signal of all."""
    if signal is None:
        return rest()
    if not isinstance(signal, Undecided) or NEXT not in signal.codes:
        return signal
    return branch_on_code(signal, rest, lambda: signal.without(NEXT), state)


def branch_on_code(signal, goes_on, left, state):
    """goes_on() where an undecided signal turns out to be none, left() where it is a jump."""
    none = signal.code == builders.constant(NEXT, signal.code.dtype)
    return symbolic_if(none, goes_on, left, state, True)


def _forms(tree):
    """(shape, dtype) of the elements of a list of tensors or a TensorList; None if it is neither."""
    structure, leaves = tree
    if not isinstance(structure, Node):
        return None
    if structure.kind is TensorList:
        return [builders.spec(leaves[0])[1]]
    if structure.kind is not list or len(leaves) != len(structure.children):
        return None
    if not all(map(builders.is_tensor, leaves)):
        return None
    return [(list(x.shape), x.dtype) for x in leaves]


class _Side:
    """What one branch left behind: its signal, and trees of (structure, leaves)."""

    def __init__(self, signal, values):
        self.signal = signal
        self.leaves = codes_of(signal) <= {RETURN}  # the variables have no use then
        self.trees = []
        values = list(values) + ([signal.value] if has_value(signal) else [])
        for v in values:
            leaves = []
            self.trees.append((flatten(v, leaves), leaves))


def symbolic_if(pred, true, false, state, jumping, place=None):
    """Builds an `if` of the Program from both branches, and sets the variables to its results.

    The branches may be traced more than once: what one must return can depend on the other.
    """
    before = Snapshot(state)
    place = place or true
    wanted = {}
    branches = true, false
    for _ in range(_ATTEMPTS):
        for key in [k for k in wanted if k[0] == "array"]:
            before.as_array(key[1], *wanted[key])
        trace = _Trace(before, state, branches, jumping, wanted, place)
        try:
            outs = builders.cond(pred, trace.run_true, trace.run_false)
        except Swap:
            pred, branches = builders.negation(pred), branches[::-1]
            wanted["swapped"] = True
            continue
        except Retry:
            continue
        except BaseException:
            before.restore()
            raise
        return trace.finish(outs)
    raise CaptureError.at(place, "the types of the two branches could not be brought together")


class _Trace:
    """One attempt at both branches. `wanted`: dtypes learnt by earlier attempts, by place."""

    def __init__(self, before, state, branches, jumping, wanted, place):
        self.before, self.state = before, state
        self.true, self.false = branches
        self.jumping, self.wanted, self.place = jumping, wanted, place
        self.places = []  # (tree, leaf) or "code", for each tensor that the branches return
        self.dtypes = {}
        self.specs = {}
        self.joined = {}  # (tree, leaf) -> what join() said

    def _run(self, function):
        self.before.restore()
        try:
            signal = function() if function is not None else None
        except Exception as error:
            signal = abort(error, self.place)
        return _Side(signal, self.state.get())

    def run_true(self):
        """Traces the first branch; returns every leaf that may have to be a result."""
        side = self.left = self._run(self.true)
        if side.leaves and self.state.names and "swapped" not in self.wanted:
            # The other branch knows the types of what has a use later.
            raise Swap
        outs = []
        if self.jumping:
            self.places.append("code")
            outs.append(code_tensor(side.signal))
        for t, (_, leaves) in enumerate(side.trees):
            for i, leaf in enumerate(leaves):
                value = self._tensor(leaf, self.wanted.get((t, i)))
                if value is not None:
                    self.places.append((t, i))
                    self.dtypes[t, i], self.specs[t, i] = value.dtype, builders.spec(value)
                    outs.append(value)
        if not has_value(side.signal) and "value" in self.wanted:
            # The other branch returns a value: stand-ins of its types.
            t = len(side.trees)
            for i, spec in enumerate(self.wanted["value"]):
                if spec is not None:
                    self.places.append((t, i))
                    self.specs[t, i] = spec
                    outs.append(builders.stand_in(spec))
        return outs

    @staticmethod
    def _tensor(leaf, dtype):
        if builders.is_tensor(leaf):
            return leaf
        if isinstance(leaf, (bool, int, float)):
            return builders.constant(leaf, dtype or builders.number_dtype(leaf))
        return None

    def run_false(self):
        """Traces the second branch and fits it to what the first returned."""
        side = self.right = self._run(self.false)
        left = self.left
        if isinstance(left.signal, Abort) and isinstance(side.signal, Abort):
            raise side.signal.error
        if not self.jumping and has_value(left.signal) != has_value(side.signal):
            raise CaptureError.at(self.place, "only one branch of the condition jumps")
        values = {"code": code_tensor(side.signal)} if self.jumping else {}
        retry = False
        self.dropped = left.leaves or side.leaves
        for t in range(0 if self.dropped else len(self.state.names)):
            retry |= self._join_tree(t, left.trees[t], side.trees[t], values)
        t = len(self.state.names)
        if has_value(left.signal) and has_value(side.signal):
            retry |= self._join_tree(t, left.trees[t], side.trees[t], values)
        elif has_value(side.signal):
            leaves = side.trees[t][1]
            if "value" not in self.wanted:
                self.wanted["value"] = [
                    builders.spec(x) if builders.is_tensor(x) else None for x in leaves
                ]
                retry = True
            values.update({(t, i): x for i, x in enumerate(leaves) if builders.is_tensor(x)})
        if retry:
            raise Retry
        return [values[p] if p in values else builders.stand_in(self.specs[p]) for p in self.places]

    def _join_tree(self, t, left, right, values):
        """Joins one variable's values; True if the first branch has to be traced again."""
        if left[0] != right[0]:
            self._grow(t, left, right)
            reason = "the two branches leave values of different structure"
            self.joined[t] = (CONFLICT, reason)
            return False
        retry = False
        for i, (a, b) in enumerate(zip(left[1], right[1])):
            verdict, what = self.joined[t, i] = join(a, b)
            if verdict is OUT:
                if self.dtypes.get((t, i)) != what:
                    self.wanted[t, i] = what
                    retry = True
                else:
                    values[t, i] = b if builders.is_tensor(b) else builders.constant(b, what)
            elif verdict is SAME and builders.is_tensor(b):
                values[t, i] = b
        return retry

    def _grow(self, t, left, right):
        """Has a list that one branch made longer become a tensor array, if its elements allow it."""
        old = self.before.values[t] if t < len(self.state.names) else None
        if type(old) is not list or ("array", t) in self.wanted:
            return
        forms = [_forms(old_side) for old_side in (self.before.trees[t], left, right)]
        if None in forms:
            return
        every = forms[0] + forms[1] + forms[2]
        if every and len({(str(dtype), len(shape)) for shape, dtype in every}) == 1:
            self.wanted["array", t] = common_shape([shape for shape, _ in every]), every[0][1]
            raise Retry

    def finish(self, outs):
        """Sets the variables to what is known after the `if`; returns its signal."""
        outs = dict(zip(self.places, outs))
        self.before.restore()
        values = []
        for t, variable in enumerate(self.state.names):
            if self.dropped:
                values.append(self._kept(*self.left.trees[t], t, outs))
            else:
                values.append(self._value(t, variable, outs))
        self.state.set(values)
        left, right = self.left.signal, self.right.signal
        value = None
        t = len(self.state.names)
        if has_value(left) and has_value(right):
            value = self._value(t, None, outs)
        elif has_value(left) or has_value(right):
            value = self._kept(*(self.left if has_value(left) else self.right).trees[t], t, outs)
        codes = codes_of(left) | codes_of(right)
        if not self.jumping and codes == {RETURN}:
            return Return(value)
        return made(outs.get("code"), codes, value)

    def _kept(self, structure, leaves, t, outs):
        """A value that matters only where one branch made it."""
        leaves = [
            builders.tagged(outs.get((t, i), x), builders.number_kind(x))
            if builders.is_tensor(x)
            else x
            for i, x in enumerate(leaves)
        ]
        return unflatten(structure, iter(leaves), self.before.contents)

    def _value(self, t, variable, outs):
        left, right = self.left.trees[t], self.right.trees[t]
        if t in self.joined:
            return self._conflict(variable, self.joined[t][1], left, right)
        leaves = []
        for i in range(len(left[1])):
            verdict, what = self.joined[t, i]
            if verdict is OUT:
                what = builders.tagged(outs[t, i], builders.number_kind(left[1][i]))
            elif verdict is CONFLICT:
                what = self._conflict(variable, what, left, right)
            leaves.append(what)
        mine, theirs = containers(left[0]), containers(right[0])
        reuse = {i for i in mine if i in theirs and i in self.before.contents}
        return unflatten(left[0], iter(leaves), reuse)

    def _conflict(self, variable, reason, left, right):
        """A value that cannot be one after the `if`: an error on use, or at once where a use would
        not be noticed."""
        if variable is None:
            raise CaptureError.at(
                self.place,
                f"the two branches return values that cannot be one: {reason}. "
                "Do this: return equal structures, dtypes and ranks on both paths.",
            )
        kept = set(containers(left[0])) | set(containers(right[0]))
        if "." in variable or kept & set(self.before.contents):
            raise CaptureError.at(
                self.place, f"the condition is on tensors, and for '{variable}' {reason}"
            )
        return UndefinedVar(variable, reason, self.place)
