"""A loop whose test, or whose end, a value of the Program decides."""

from ..errors import CaptureError, UndefinedVar
from . import builders
from .arrays import TensorList
from .join import Retry, fits, is_number, shown
from .signals import (
    CONTINUE_CODE,
    NEXT,
    RETURN,
    Undecided,
    code_tensor,
    codes_of,
    has_value,
    made,
)
from .state import LEAF, Node, Snapshot, common_shape, containers, flatten, unflatten

_ATTEMPTS = 16


def symbolic_loop(
    test, advance, state, place, jumping, safe, signal=None, held=None, counted=False
):
    """Builds a loop of the Program; returns the signal with which its iterations end.

    test(i) and advance(i) get the number of finished iterations, if it is `counted`. `signal`: undecided already
    before the first test; `held`: what the test says before the first iteration, if it was asked
    already. What the loop has to carry is found by tracing the body: values that
    it leaves unchanged stay Python, numbers that it changes become tensors, and a trace that finds
    a new one starts over.
    """
    plan = _Plan(Snapshot(state), state, place, signal)
    plan.jumping = jumping
    plan.counted = counted
    for _ in range(_ATTEMPTS):
        trace = _Trace(plan, test, advance, safe, held)
        try:
            outs = builders.while_loop(trace.run_test, trace.run_body, trace.initial())
        except Retry:
            continue
        except BaseException as error:
            plan.before.restore()
            if hasattr(error, "_argosy_raised"):
                reason = f"a loop decided by tensors always raises {type(error).__name__}: {error}"
                raise CaptureError.at(place, reason) from error
            raise
        return trace.finish(outs)
    raise CaptureError.at(place, "the types of the loop's variables do not settle")


class _Leaf:
    """What the loop does with one leaf: carries it (dtype is set), or leaves it as it is."""

    __slots__ = ("value", "dtype", "shape", "weak", "array", "number")

    def __init__(self, value):
        self.value, self.dtype, self.shape, self.weak = value, None, None, False
        self.number = builders.number_kind(value)  # what it is in eager calls, if no tensor
        self.array = None  # arguments of create_array, for a list that becomes one
        if builders.is_tensor(value):
            self.dtype, self.shape = builders.type_of(value)

    def leave(self):
        """Not carried, as long as it is the same tensor: the Program knows of writes to its elements."""
        self.dtype = self.shape = None

    def carry(self, dtype, shape):
        """From now on carried, starting from a number."""
        self.dtype, self.shape, self.weak = dtype, list(shape), True

    def initial(self):
        """The tensor that the first iteration gets."""
        if self.array is not None:
            elements, _, dtype = self.array
            return builders.create_array(elements, self.shape, dtype)
        value = self.value
        if self.weak:
            start = value if is_number(value) else 0
            value = builders.constant(start, self.dtype, self.shape)
        return builders.of_unknown_size(value, self.shape)


class _Plan:
    """What is carried, refined from one attempt to the next."""

    def __init__(self, before, state, place, signal):
        self.before, self.state, self.place = before, state, place
        self.trees = [[s, [_Leaf(x) for x in leaves]] for s, leaves in before.trees]
        for name, tree in zip(state.names, self.trees):
            if name in state.lists:
                self._as_array(tree, [])
            elif name in state.filled and tree[0] is LEAF and builders.is_tensor(tree[1][0].value):
                tree[1][0].leave()
        self.signal = signal
        self.jumping = self.counted = False
        self.value = None  # the tree of a value returned inside the loop
        if has_value(signal):
            leaves = []
            structure = flatten(signal.value, leaves)
            self.value = [structure, [_Leaf(x) for x in leaves]]

    def all_trees(self):
        """Trees of the variables and, last, of the returned value."""
        return self.trees + ([self.value] if self.value else [])

    def fail(self, variable, reason):
        """The error for a variable that cannot be carried."""
        what = f"'{variable}'" if variable else "the value that the loop returns"
        return CaptureError.at(self.place, f"the loop is decided by tensors, and {what} {reason}")

    def new_tree(self, value):
        """Plans a value that is not there before the loop: stand-ins of its types."""
        leaves = []
        structure = flatten(value, leaves)
        planned = [_Leaf(x) for x in leaves]
        for p in planned:
            if p.dtype is not None:
                p.value = None
                p.carry(p.dtype, p.shape)
        return [structure, planned]

    def match(self, variable, tree, value):
        """The tensors to carry on for a variable's new value; raises Retry if the plan changes."""
        leaves = []
        structure = flatten(value, leaves)
        if structure != tree[0]:
            self._restructure(variable, tree, value)
        outs, changed = [], False
        for p, new in zip(tree[1], leaves):
            changed |= self._same_number(variable, p, new)
            if p.dtype is None:
                changed |= self._promote(variable, p, new)
            else:
                changed |= self._agree(variable, p, new)
                outs.append(new if builders.is_tensor(new) else builders.constant(new, p.dtype))
        if changed:
            raise Retry
        return outs

    def _same_number(self, variable, p, new):
        """Has it become a tensor that was a number before? True if the plan changed by that."""
        kind = builders.number_kind(new)
        if p.number is None or p.number is kind or type(new) is UndefinedVar:
            return False
        if not (kind is None and builders.is_tensor(new)):
            if kind is not None:
                raise self.fail(variable, f"changes from {p.number.__name__} to {kind.__name__}")
            return False
        p.number = None
        return True

    def _restructure(self, variable, tree, value):
        old = tree[0].value if isinstance(tree[0], Node) else tree[1][0].value
        if type(old) is UndefinedVar:
            tree[:] = self.new_tree(value)
            raise Retry
        if type(value) in (list, TensorList) and self._as_array(tree, value):
            raise Retry
        raise self.fail(variable, "changes its structure from one iteration to the next")

    def _as_array(self, tree, value):
        """Plans a list of tensors of one type, `value` (a list or TensorList) later, as a tensor array, if it is one."""
        old = tree[0].value if isinstance(tree[0], Node) else None
        if type(old) is not list:
            return False
        if id(old) in self.before.contents:
            old = self.before.contents[id(old)][1]  # as it was before the body changed it
        every = old if type(value) is TensorList else old + value
        if not all(map(builders.is_tensor, every)):
            return False
        forms = [(list(x.shape), x.dtype) for x in every]
        if type(value) is TensorList:
            forms.append(value.array._element)
        if len({(str(dtype), len(shape)) for shape, dtype in forms}) != 1:
            return False
        shape = common_shape([shape for shape, _ in forms])
        leaf = _Leaf(None)
        leaf.dtype, leaf.shape = builders.ARRAY, shape
        leaf.array = (list(old), shape, forms[0][1])
        tree[:] = [flatten(TensorList(None), []), [leaf]]
        return True

    def _promote(self, variable, p, new):
        """A leaf that was left alone so far: is it still?"""
        old = p.value
        if old is new:
            return False
        if builders.is_tensor(old):
            p.dtype, p.shape = builders.type_of(old)
            return True
        if type(old) is UndefinedVar:
            if type(new) is UndefinedVar:
                return False
            fresh = _Leaf(new)
            p.value, p.number = new, fresh.number
            if fresh.dtype is not None:
                p.value = None
                p.carry(fresh.dtype, fresh.shape)
            return True
        if is_number(old):
            if builders.is_tensor(new):
                if not fits(old, new.dtype):
                    raise self.fail(variable, f"changes from {old!r} to {new.dtype}")
                p.carry(new.dtype, new.shape)
                return True
            if is_number(new):
                if type(old) is type(new) and (old == new or old != old and new != new):
                    return False
                if isinstance(old, bool) != isinstance(new, bool):
                    raise self.fail(variable, f"changes from {old!r} to {new!r}")
                wide = new if isinstance(new, float) else old
                p.carry(builders.number_dtype(wide), ())
                return True
        try:
            same = type(old) is type(new) and bool(old == new)
        except Exception:  # a user's __eq__
            same = False
        if not same:
            raise self.fail(variable, f"changes from {shown(old)} to {shown(new)}")
        return False

    def _agree(self, variable, p, new):
        """A carried leaf: has the new value its type? True if the plan was widened."""
        if is_number(new):
            if fits(new, p.dtype):
                return False
            if not p.weak:
                raise self.fail(
                    variable, f"is {p.dtype} before the loop and {new!r} after its body"
                )
            p.carry(builders.number_dtype(new), p.shape)
            return True
        if not builders.is_tensor(new):
            raise self.fail(variable, f"is {p.dtype} in one iteration and {shown(new)} in another")
        dtype, shape = builders.type_of(new)
        if dtype != p.dtype:
            if not p.weak or builders.kind(dtype) == "b" or builders.kind(p.dtype) == "b":
                raise self.fail(variable, f"changes its dtype from {p.dtype} to {dtype}")
            p.carry(dtype, shape)
            return True
        if len(shape) != len(p.shape):
            if not p.weak or len(shape) < len(p.shape):
                raise self.fail(variable, f"changes its shape from {p.shape} to {shape}")
            p.carry(p.dtype, shape)
            return True
        # What is inferred inside must hold for all iterations: sizes that change are unknown. The
        # size of a stand-in is whatever the loop makes of it.
        stand_in = p.weak and not is_number(p.value)
        wider = [b if a == b or (stand_in and a == 1) else -1 for a, b in zip(p.shape, shape)]
        if wider != p.shape:
            p.shape = wider
            return True
        return False


class _Trace:
    """One attempt at building the loop. Loop variables: index, code if it may jump, then leaves."""

    def __init__(self, plan, test, advance, safe, held):
        self.plan, self.test, self.advance, self.safe = plan, test, advance, safe
        self.held = held
        self.codes = {NEXT} | codes_of(plan.signal)

    def initial(self):
        """The values that the loop starts from."""
        plan, values = self.plan, []
        for _, leaves in plan.all_trees():
            values += [p.initial() for p in leaves if p.dtype is not None]
        if plan.jumping:
            values.insert(0, code_tensor(plan.signal))
        if plan.counted or not values:
            plan.counted = True  # a loop that only writes in place carries something, too
            values.insert(0, builders.constant(0, builders.number_dtype(0)))
        self.first = values
        return values

    def _enter(self, variables):
        """Sets the variables to the loop's values; returns index and code."""
        plan = self.plan
        plan.before.restore()
        variables = list(variables)
        index = variables.pop(0) if plan.counted else None
        code = variables.pop(0) if plan.jumping else None
        variables = iter(variables)
        values = [self._value(tree, variables, plan.before.contents) for tree in plan.trees]
        plan.state.set(values)
        return index, code

    @staticmethod
    def _value(tree, variables, reuse):
        leaves = []
        for p in tree[1]:
            value = p.value
            if p.dtype is not None:
                value = builders.tagged(next(variables), p.number)
            leaves.append(value)
        return unflatten(tree[0], iter(leaves), reuse)

    def run_test(self, *variables):
        """Is there another iteration?"""
        if self.held is not None and all(a is b for a, b in zip(variables, self.first)):
            return builders.as_bool(self.held)
        index, code = self._enter(variables)
        if code is None:
            return builders.as_bool(self.test(index))
        goes_on = code == builders.constant(NEXT, code.dtype)
        if self.safe:
            return builders.both(goes_on, self.test(index))
        return builders.cond(
            goes_on,
            lambda: [builders.as_bool(self.test(index))],
            lambda: [builders.as_bool(False)],
        )[0]

    def run_body(self, *variables):
        """One iteration; the variables after it."""
        plan = self.plan
        index, code = self._enter(variables)
        signal = self.advance(index)
        if isinstance(signal, Undecided):
            signal = signal.mapped(CONTINUE_CODE)
        elif signal is not None and signal.code == CONTINUE_CODE:
            signal = None
        if signal is not None and not plan.jumping:
            plan.jumping = True
            raise Retry
        after = list(plan.state.get())
        outs = [index + builders.constant(1, builders.number_dtype(0))] if plan.counted else []
        if plan.jumping:
            self.codes |= codes_of(signal)
            outs.append(code_tensor(signal))
        self.after = []
        for name, tree, value in zip(plan.state.names, plan.trees, after):
            outs += plan.match(name, tree, value)
            leaves = []
            self.after.append(flatten(value, leaves))
        if has_value(signal):
            if plan.value is None:
                plan.value = plan.new_tree(signal.value)
                raise Retry
            outs += plan.match(None, plan.value, signal.value)
        elif plan.value is not None:
            values = variables[len(variables) - self._value_count() :]
            outs += list(values)
        return outs

    def _value_count(self):
        return sum(p.dtype is not None for p in self.plan.value[1])

    def finish(self, outs):
        """Sets the variables to their values after the loop; returns its signal."""
        plan = self.plan
        plan.before.restore()
        outs = list(outs)[plan.counted :]
        code = outs.pop(0) if plan.jumping else None
        outs = iter(outs)
        values = []
        for tree, structure in zip(plan.trees, self.after):
            # A container that the body replaced by another is not filled in place.
            kept = set(containers(structure)) & set(plan.before.contents)
            values.append(self._value(tree, outs, kept))
        plan.state.set(values)
        value = self._value(plan.value, outs, ()) if plan.value else None
        if code is None:
            return None
        return made(code, self.codes, value if RETURN in self.codes else None)
