"""What captured functions read of Python's state: a call finds it as it is now, as the function run eagerly does."""

import dataclasses
import gc
import math
import threading
import types
import warnings
import weakref

import numpy
import pytest
from tests.python.jit import state_module

import argosy as paddle
from argosy import nn
from argosy.jit import api

X = [1.0, 2.0]
K = 2.0
TABLE = {"k": [2.0]}


def captured(function, **options):
    return paddle.jit.to_static(function, **options)


def x():
    return paddle.to_tensor(X)


@pytest.fixture
def captures(monkeypatch):
    """The functions that were captured, one entry for each time."""
    made = []
    capture = api._capture.capture_with_reads

    def counting(function, *rest):
        made.append(function)
        return capture(function, *rest)

    monkeypatch.setattr(api._capture, "capture_with_reads", counting)
    return made


@pytest.fixture(autouse=True)
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class Net(nn.Layer):
    """forward computes with self.k, by a rule for each kind of it."""

    def __init__(self, k, rule):
        super().__init__()
        self.k, self.rule = k, rule

    def forward(self, x):
        return self.rule(x, self.k)


RULES = {
    "int": (2, 3, lambda x, k: x * k),
    "int and bool": (1, True, lambda x, k: x * (10 if k is True else k)),
    "int and float": (1, 1.0, lambda x, k: x * (10 if type(k) is float else k)),
    "zeros": (0.0, -0.0, lambda x, k: x * math.copysign(1.0, k)),
    "str": ("relu", "tanh", lambda x, k: getattr(nn.functional, k)(x)),
    "None": (None, 4, lambda x, k: x if k is None else x * k),
    "tuple": ((1, 2), (1, 5), lambda x, k: x * k[1]),
    "bytes": (b"a", b"b", lambda x, k: x * k[0]),
    "dtype": (paddle.float32, paddle.float64, lambda x, k: x.astype(k)),
    "function": (nn.functional.relu, nn.functional.tanh, lambda x, k: k(x - 1.5)),
    "layer": (nn.ReLU(), nn.Tanh(), lambda x, k: k(x - 1.5)),
    "array": (numpy.ones(2, "float32"), numpy.zeros(2, "float32"), lambda x, k: x * k),
    "tensor": (paddle.ones([2]), paddle.zeros([2]), lambda x, k: x * k),
    "shape": ([1, 2], [2, 1], lambda x, k: x.reshape(k)),
}


def same(got, expected):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("kind", [k for k in RULES if k != "function"])
def test_attributes_of_a_layer(kind, captures):
    first, second, rule = RULES[kind]
    net = captured(Net(first, rule))
    for value in (first, second, first, second):
        net.k = value
        for _ in range(3):
            same(net(x()), rule(x(), value))
    assert len(captures) == 2  # a state that comes back finds its Program


def test_a_function_of_the_user_as_attribute(captures):
    net = captured(Net(lambda x: x + 1, lambda x, k: k(x)))
    same(net(x()), x() + 1)
    net.k = lambda x: x * 5
    same(net(x()), x() * 5)


class Slots:
    __slots__ = ("k",)


class Plain:
    pass


class OfClass:
    k = 2.0


class Property:
    _k = 2.0

    @property
    def k(self):
        return self._k

    @k.setter
    def k(self, value):
        self._k = value


class Asked:
    def __init__(self):
        self.inner = {}

    def __getattr__(self, name):
        if name not in self.inner:
            raise AttributeError(name)
        return self.inner[name]

    def __setattr__(self, name, value):
        if name == "inner":
            object.__setattr__(self, name, value)
        else:
            self.inner[name] = value


@dataclasses.dataclass
class Data:
    k: float = 2.0


@pytest.mark.parametrize("kind", [Slots, Plain, OfClass, Property, Asked, Data])
def test_attributes_of_other_objects(kind, captures):
    holder = kind()
    outer = Plain()
    outer.inner = holder

    def f(x):
        inner = outer.inner
        return x * inner.k

    f = captured(f)
    for value in (2.0, 3.0, 2.0):
        holder.k = value
        same(f(x()), x() * value)
        same(f(x()), x() * value)
    assert len(captures) == 2
    outer.inner = Plain()
    outer.inner.k = 7.0
    same(f(x()), x() * 7.0)


def test_attributes_of_classes():
    class Config:
        k = 2.0

    class Inherits(Config):
        pass

    class WithClassAttribute(nn.Layer):
        k = 2.0

        def forward(self, x):
            return x * self.k * Inherits.k

    net = captured(WithClassAttribute())
    same(net(x()), x() * 4.0)
    Config.k = 3.0
    same(net(x()), x() * 6.0)
    WithClassAttribute.k = 5.0
    same(net(x()), x() * 15.0)
    net.k = 1.0
    same(net(x()), x() * 3.0)
    Inherits.k = 2.0
    same(net(x()), x() * 2.0)
    del net.k
    same(net(x()), x() * 10.0)


def test_private_names():
    class Holder:
        def __init__(self):
            self.__k = 2.0

        @captured
        def f(self, x):
            return x * self.__k

        def set(self, k):
            self.__k = k

    holder = Holder()
    same(holder.f(x()), x() * 2.0)
    holder.set(3.0)
    same(holder.f(x()), x() * 3.0)


def by_global(x):
    return x * K + TABLE["k"][0]


def test_global_variables(monkeypatch, captures):
    f = captured(by_global)
    same(f(x()), x() * 2.0 + 2.0)
    monkeypatch.setitem(globals(), "K", 5.0)
    same(f(x()), x() * 5.0 + 2.0)
    monkeypatch.setitem(TABLE, "k", [3.0])
    same(f(x()), x() * 5.0 + 3.0)
    TABLE["k"][0] = 4.0
    same(f(x()), x() * 5.0 + 4.0)
    same(f(x()), x() * 5.0 + 4.0)
    assert len(captures) == 4


def test_variables_of_modules_and_of_functions_that_are_called(monkeypatch):
    def inner(x):
        return state_module.helper(x) * state_module.factor

    @captured
    def f(x):
        return inner(x)

    same(f(x()), x() * 4.0)
    monkeypatch.setattr(state_module, "factor", 3.0)
    same(f(x()), x() * 9.0)
    monkeypatch.setattr(state_module, "helper", lambda x: x)
    same(f(x()), x() * 3.0)


def test_closure_variables(captures):
    k, values = 2.0, [1.0]

    def deeper(x):
        return x * k

    def f(x):
        return deeper(x) + values[-1]

    f = captured(f)
    same(f(x()), x() * 2.0 + 1.0)
    k = 3.0
    same(f(x()), x() * 3.0 + 1.0)
    values.append(7.0)
    same(f(x()), x() * 3.0 + 7.0)
    values[:] = [1]
    same(f(x()), x() * 3.0 + 1.0)
    assert len(captures) == 4


def test_functions_without_rewritten_source():
    k, holder = 2.0, Plain()
    holder.k = 1.0
    f = captured(lambda x: x * k + holder.k)
    same(f(x()), x() * 2.0 + 1.0)
    k = 3.0
    same(f(x()), x() * 3.0 + 1.0)
    holder.k = 5.0
    same(f(x()), x() * 3.0 + 5.0)

    @paddle.jit.not_to_static
    def plain(x):
        return x * k

    @captured
    def g(x):
        return plain(x)

    same(g(x()), x() * 3.0)
    k = 4.0
    same(g(x()), x() * 4.0)


def test_defaults_that_change_in_place():
    def f(x, factors=[2.0]):  # noqa: B006
        return x * factors[0]

    f, given = captured(f), f.__defaults__[0]
    same(f(x()), x() * 2.0)
    given[0] = 3.0
    same(f(x()), x() * 3.0)


def test_containers_of_layers_and_objects(captures):
    class Many(nn.Layer):
        def __init__(self):
            super().__init__()
            self.parts = [nn.ReLU(), nn.Tanh()]
            self.by_name = {"a": (1, [2.0]), "set": {1}}

        def forward(self, x):
            for part in self.parts:
                x = part(x)
            return x * self.by_name["a"][1][0] * len(self.by_name["set"])

    net = captured(Many())

    def check():
        same(net(x()), Many.forward(net, x()))

    check()
    net.parts[1] = nn.Sigmoid()
    check()
    net.parts.pop()
    check()
    net.by_name["a"][1][0] = 5.0
    check()
    net.by_name["set"].add(2)
    check()
    check()
    assert len(captures) == 5


def test_settings_of_library_layers():
    net = captured(nn.Sequential(nn.LeakyReLU(0.5), nn.Dropout(0.0)))
    negative = paddle.to_tensor([-1.0])
    assert net(negative).tolist() == [-0.5]
    net[0]._negative_slope = 0.25
    assert net(negative).tolist() == [-0.25]
    net[1].p = 1.0
    assert net(negative).tolist() == [0.0]


def test_modes_of_layers_that_are_no_parts():
    dropout = nn.Dropout(1.0)
    f = captured(lambda x: dropout(x))
    assert f(x()).tolist() == [0.0, 0.0]
    dropout.eval()
    assert f(x()).tolist() == X
    dropout.train()
    assert f(x()).tolist() == [0.0, 0.0]


def linear(weight):
    return nn.Linear(2, 2, nn.initializer.Constant(weight), False)


def test_members_that_are_replaced(monkeypatch):
    monkeypatch.setattr(api, "MOST_STATES", 20)

    class Whole(nn.Layer):
        def __init__(self):
            super().__init__()
            self.one, self.many = linear(1.0), nn.LayerList([linear(1.0)])
            self.named = nn.LayerDict({"a": linear(1.0)})
            self.factors = nn.ParameterList([paddle.create_parameter([1], "float32")])
            self.register_buffer("scale", paddle.ones([1]))
            self.shift = self.create_parameter([1])

        def forward(self, x):
            for layer in self.many:
                x = layer(x)
            for name in self.named:
                x = self.named[name](x)
            return self.one(x) * self.scale + self.shift * self.factors[0]

    net = captured(Whole())

    def check():
        same(net(x()), Whole.forward(net, x()))

    check()
    net.one = linear(2.0)
    check()
    net.many.append(linear(3.0))
    check()
    net.many[0] = linear(4.0)
    check()
    del net.many[1]
    check()
    net.named["b"] = linear(5.0)
    check()
    net.named.pop("a")
    check()
    net.scale = paddle.full([1], 6.0)
    check()
    net.shift = net.create_parameter([1], default_initializer=nn.initializer.Constant(7.0))
    check()
    net.factors[0] = paddle.create_parameter([1], "float32")
    check()
    net.one.weight.set_value(paddle.full([2, 2], 9.0))  # state, which the Program reads
    check()


def test_hooks_that_are_added_and_removed():
    net = captured(nn.Sequential(nn.ReLU(), nn.ReLU()))
    same(net(x()), x())
    handle = net[1].register_forward_post_hook(lambda layer, inputs, output: output * 3)
    same(net(x()), x() * 3)
    before = net[0].register_forward_pre_hook(lambda layer, inputs: (inputs[0] + 1,))
    same(net(x()), (x() + 1) * 3)
    handle.remove()
    same(net(x()), x() + 1)
    before.remove()
    same(net(x()), x())


def test_unchanged_state_costs_no_capture(captures):
    net = captured(Net((1, [math.nan, 2.0], {"a": None}), lambda x, k: x * k[0] * k[1][1]))
    for i in range(20):
        net(x())
        net.unread = i  # some other attribute of the layer
        Net(1, None).k = i  # and of others
        net.k = (1, [math.nan, 2.0], {"a": None})  # equal
    assert len(captures) == 1


def test_objects_with_operators(captures):
    class Table:
        def __init__(self):
            self.items = {"k": 2.0}

        def __getitem__(self, name):
            return self.items[name]

    table, holder = Table(), Plain()
    holder.inner = table

    @captured
    def f(x):
        return x * table["k"] + holder.inner["k"]

    for k in (2.0, 3.0, 2.0):
        table.items["k"] = k
        same(f(x()), x() * k + k)
    assert len(captures) == 2


def test_attributes_that_come_to_be():
    holder = Plain()

    @captured
    def f(x):
        return x * (getattr(holder, "k", 1.0) if hasattr(holder, "on") else 10.0)

    same(f(x()), x() * 10.0)
    holder.on = True
    same(f(x()), x() * 1.0)
    holder.k = 4.0
    same(f(x()), x() * 4.0)
    del holder.on
    same(f(x()), x() * 10.0)

    class Optional(nn.Layer):
        def forward(self, x):
            return x * getattr(self, "k", 1.0)

    net = captured(Optional())
    same(net(x()), x())
    net.k = 4.0
    same(net(x()), x() * 4.0)
    del net.k
    same(net(x()), x())


def test_objects_of_the_standard_library():
    holder, local = types.SimpleNamespace(k=2.0), threading.local()
    local.k = 1.0

    @captured
    def f(x):
        return x * holder.k * local.k

    same(f(x()), x() * 2.0)
    holder.k = 3.0
    same(f(x()), x() * 3.0)
    local.k = 5.0
    same(f(x()), x() * 15.0)


def test_variables_of_hooks_and_of_constructors():
    k = 2.0
    layer = nn.ReLU()
    layer.register_forward_post_hook(lambda layer, inputs, output: output * k)

    class Holder:
        def __init__(self):
            self.k = k

    @captured
    def f(x):
        return layer(x) * Holder().k

    same(f(x()), x() * 4.0)
    k = 3.0
    same(f(x()), x() * 9.0)


def test_inherited_forwards_and_helpers():
    class Base(nn.Layer):
        def __init__(self):
            super().__init__()
            self.k, self.holder, self.shift = 2.0, Plain(), 1.0
            self.holder.k = 1.0

        def helper(self):
            return self.k

        @property
        def from_holder(self):
            return self.holder.k

        def forward(self, x):
            return x * self.helper() * self.from_holder

    class Derived(Base):
        def forward(self, x):
            return super().forward(x) + self.shift

    net = captured(Derived())
    for k, of_holder, shift in ((2.0, 1.0, 1.0), (3.0, 1.0, 1.0), (3.0, 4.0, 1.0), (3.0, 4.0, 0.0)):
        net.k, net.holder.k, net.shift = k, of_holder, shift
        same(net(x()), x() * k * of_holder + shift)


def test_numbers_and_state_together(captures):
    net = captured(Net(2.0, lambda x, k: x * k))

    @captured
    def f(x, rate):
        return net(x) * rate * net.k

    for k in (2.0, 3.0):
        net.k = k
        for rate in (1.0, 2.0, 5.0, 7.0):
            same(f(x(), rate), x() * k * rate * k)


def test_gradients_after_a_change():
    net = captured(Net(2.0, lambda x, k: (x * x * k).sum()))
    for k in (2.0, 3.0, 2.0):
        net.k = k
        v = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        net(v).backward()
        assert v.grad.tolist() == [2.0 * k, 4.0 * k]


# --- what the function changes itself ---


class Counting(nn.Layer):
    def __init__(self):
        super().__init__()
        self.step, self.seen, self.holder = 0, [], Plain()
        self.holder.step = 0

    def forward(self, x):
        self.step += 1
        self.holder.step += 1
        self.seen.append(self.step)
        return x * self.step + self.holder.step + len(self.seen)


def test_counters_count_and_do_not_capture_for_ever(captures):
    net, eager = captured(Counting()), Counting()
    for i in range(30):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            same(net(x()), eager(x()))
        assert len(caught) == (i == api.MOST_WRITING - 1), i
        if caught:
            text = str(caught[0].message)
            assert text.startswith("[to_static] 'forward' (") and "it changes Python state" in text
            assert "(step, step, seen)" not in text and "step" in text and "seen" in text
            assert "a buffer of the layer" in text
    assert (net.step, net.holder.step, net.seen) == (30, 30, list(range(1, 31)))
    assert len(captures) == api.MOST_WRITING


STEPS = 0


def counting_globally(x):
    global STEPS
    STEPS += 1
    return x * STEPS


def test_global_and_closure_counters():
    steps = 0

    def f(x):
        nonlocal steps
        steps = steps + 1
        return counting_globally(x) * steps

    f = captured(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(1, 12):
            same(f(x()), x() * i * i)
    assert (steps, STEPS) == (11, 11)


def test_what_is_made_at_the_first_call_is_captured_at_the_second(captures):
    class Lazy(nn.Layer):
        def __init__(self):
            super().__init__()
            self.weight = None
            self.cache = {}

        def forward(self, x):
            if self.weight is None:
                self.weight = self.create_parameter([x.shape[0]])
            if not hasattr(self, "part"):
                self.part = 0.5
            if "k" not in self.cache:
                self.cache["k"] = 3.0
            return x * self.weight * self.part * self.cache["k"]

    net = captured(Lazy())
    first = net(x())
    assert not first._symbolic and not net.weight._symbolic
    same(net(x()), first)
    same(net(x()), first)
    assert len(captures) == 2 and all(net.forward.program_cache.values())


def test_state_in_tensors_is_written_by_the_program(captures):
    class Sum(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", paddle.zeros([2]))

        def forward(self, x):
            self.total = self.total + x
            return self.total * 1

    net = captured(Sum())
    for i in range(1, 6):
        same(net(x()), x() * i)
    assert len(captures) == 1


def test_a_capture_that_fails_leaves_no_trace():
    steps = []

    @captured
    def f(x):
        steps.append(1)
        if x.sum() > 0:
            y = x
        else:
            y = x.astype("int64")
        return y + len(steps)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(1, 6):
            same(f(x()), x() + i)
    assert len(caught) == 1 and len(steps) == 5


def test_many_states_run_as_python_with_one_warning(captures):
    net = captured(Net(0, lambda x, k: x * k))
    texts = []
    for k in [*range(30), 2, 3, 99]:
        net.k = k
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            same(net(x()), x() * k)
        texts += [str(w.message) for w in caught]
    assert len(texts) == 1
    assert f"was captured {api.MOST_STATES} times" in texts[0] and "(k)" in texts[0]
    assert len(captures) == api.MOST_STATES
    forward = net.forward
    assert len(forward.program_cache) == 1 and len(forward._others) == 1


def test_states_of_many_forms_are_bounded(monkeypatch):
    monkeypatch.setattr(api, "MOST_FORMS", 3)
    net = captured(Net(0, lambda x, k: x * k))
    for n in range(1, 9):
        for k in (1, 2, 3):
            net.k = k
            same(net(paddle.ones([n])), paddle.ones([n]) * k)
    assert len(net.forward.program_cache) == 3 and len(net.forward._others) <= 3


# --- what stays ---


def test_full_graph_traces_once_for_each_form():
    net = captured(Net(2.0, lambda x, k: x * k), full_graph=True)
    same(net(x()), x() * 2.0)
    net.k = 3.0
    same(net(x()), x() * 2.0)


def test_layers_are_told_of_only_while_capturing():
    net = captured(Net(2.0, lambda x, k: x * k))
    net(x())
    assert "__getattribute__" not in nn.Layer.__dict__

    class Own(Net):
        def __getattribute__(self, name):
            return super().__getattribute__(name)

    net = captured(Own(2.0, lambda x, k: x * k))
    same(net(x()), x() * 2.0)
    net.k = 3.0
    same(net(x()), x() * 3.0)


def test_a_captured_layer_can_go():
    net = captured(Net(Plain(), lambda x, k: x))
    net(x())
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None


def test_threads():
    """Each sets its own layer while others capture and run; one layer is shared and read only."""
    shared = captured(Net(7.0, lambda x, k: x * k))
    wrong = []

    def work(number):
        net = captured(Net(0, lambda x, k: x * k))
        for i in range(150):
            k = (i // 3 * (number + 1)) % 5
            net.k = k
            if net(x()).tolist() != [k, 2.0 * k] or shared(x()).tolist() != [7.0, 14.0]:
                wrong.append((number, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and "__getattribute__" not in nn.Layer.__dict__


def test_a_change_on_another_thread_is_seen():
    net = captured(Net(0, lambda x, k: x * k))
    for k in (1, 2, 3, 1, 2):
        t = threading.Thread(target=setattr, args=(net, "k", k))
        t.start()
        t.join()
        same(net(x()), x() * k)
