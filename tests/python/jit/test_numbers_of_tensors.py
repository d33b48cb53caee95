"""Numbers that a captured function makes of tensors are Python's, as in eager calls, or it runs as Python."""

import contextlib
import io
import linecache
import warnings

import numpy as np
import pytest

import argosy

T = argosy.to_tensor


def _range(x):
    s = 0
    for i in range(int(x.max())):
        s += i
    return s


def _last_of_a_range(x):
    i = -1
    for i in range(int(x.max())):
        x = x + i
    return x, i


def _counted(x):
    n = 0
    while x.sum() < 100:
        x, n = x * 2, n + 1
    return x, n


def _chosen(x):
    if x.sum() > 7:
        name, k = 3, 0.1
    else:
        name, k = 4, 0.2
    return name, k, x * k


def _returned_early(x):
    if x.sum() > 7:
        return x, 1
    return x * 2, 2


def _caught(x):
    try:
        text = f"{x.sum()}"
    except Exception:
        text = "none"
    return text


def _shape(x):
    n = int(x.max())
    return argosy.zeros([n, 2]).reshape([2, n]), n


def _beside_tensors(x):
    n, r, b = int(x.sum()), float(x.mean()), bool(x.sum() > 7)
    many = [x.astype(d) for d in ("float16", "float64", "int32", "int64", "uint8", "bool")]
    return (
        [v * n for v in many],
        [v * r for v in many],
        [v + b for v in many],
        x.sum() * r,
        r - x,
        n // 4 * x,
    )


def _argument(x):
    r = float(x.mean())
    return (
        argosy.full([2], r),
        argosy.maximum(x, argosy.full([], r)),
        argosy.scale(x, r),
        x.add(T(1.0)).scale(r),
    )


def _formatted(x):
    return (
        f"{int(x.sum())}",
        "a{}".format(x.max().item()),
        f"{x.sum()}",
        str(int(x.sum())),
        repr(x.sum()),
    )


def _printed(x):
    print("hi", int(x.sum()))
    return x


def _asked_for_its_type(x):
    n, r = int(x.sum()), x.mean().item()
    return isinstance(n, int), type(r) is float, isinstance(r, (int, str)), type(n).__name__


class _Keeper:
    kept = None


_keeper = _Keeper()


def _kept(x):
    _keeper.kept = [int(x.sum()), x.sum()]
    return x * 1


def _kept_in_a_class(x):
    _Keeper.kept = [int(x.sum()), x.sum()]
    return x * 1


def _written(expression, number):
    """The function of x that gives an expression; lambdas are not rewritten, so they would run as Python."""
    file, text = f"<number of a tensor {number}>", f"def f(x):\n    return {expression}\n"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"__name__": "numbers_of_tensors"}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


EXPRESSIONS = {
    'int': 'int(x.sum())',
    'float, item, bool': '(float(x.mean()), x.max().item(), bool(x.sum() > 0), x.item(1))',
    'item of integers': '(x.astype("int32").sum().item(), (x > 2).any().item())',
    'key': '{int(x.sum()): 1}',
    'look-up': '{6: 1, 9: 2}.get(int(x.sum()))',
    'element': '[10, 20, 30, 40][int(x.sum()) - 6]',
    'arithmetic': '(int(x.sum()) // 2, int(x.sum()) / 4, -int(x.sum()), abs(-float(x.max()) * 0.1))',
    'power': 'int(x.sum()) ** 2',
    'division by it': '(1 / float(x.sum()), 7 % int(x.sum()))',
    'compared': '(int(x.sum()) in (6, 7), int(x.sum()) == 6, not x.sum(), int(x.sum()) > float(x.mean()))',
    'list': '[int(v) for v in x]',
    'large': '(float(x.sum() * 1e8), int((x * 1e9).astype("int64").sum()))',
    'conditional': 'int(x.sum()) if x.sum() > 7 else 0',
    'array': 'x.numpy()',
    'sum of an array': 'x.numpy().sum()',
    'rounded': '(round(float(x.mean()), 1), divmod(int(x.sum()), 4))',
    'any': '(any([x.sum() > 7, x.max() > 5]), all([x.sum() > 7, x.max() > 3]))',
    'float64': 'float(x.astype("float64").sum() / 3)',
}  # fmt: skip
FUNCTIONS = {
    **{name: _written(text, i) for i, (name, text) in enumerate(EXPRESSIONS.items())},
    **{f.__name__: f for f in (
        _range, _last_of_a_range, _counted, _chosen, _returned_early, _caught, _shape, _beside_tensors, _argument,
        _formatted, _printed, _asked_for_its_type,
    )},
}  # fmt: skip


def _shown(v):
    if isinstance(v, argosy.Tensor):
        return "Tensor", str(v.dtype), v.stop_gradient, v.tolist()
    if isinstance(v, (list, tuple)):
        return type(v)(map(_shown, v))
    if isinstance(v, dict):
        return {_shown(k): _shown(e) for k, e in v.items()}
    return type(v), v.tolist() if isinstance(v, np.ndarray) else v


def _outcomes(function, call):
    seen = []
    for values in ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [1.5, 2.0, 3.0]):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = call(T(values, stop_gradient=False))
        seen.append((_shown(made), printed.getvalue()))
    return seen


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_those_of_eager_calls(name):
    function = FUNCTIONS[name]
    assert _outcomes(function, argosy.jit.to_static(function)) == _outcomes(function, function)


@pytest.mark.filterwarnings("ignore:.*it sets _Keeper.kept to a tensor")
@pytest.mark.parametrize("function, owner", [(_kept, _keeper), (_kept_in_a_class, _Keeper)])
def test_numbers_in_attributes_are_numbers(function, owner):
    call = argosy.jit.to_static(function)
    for values, total in (([1.0, 2.0], 3), ([4.0, 5.0], 9), ([1.0, 1.0], 2)):
        call(T(values))
        number, tensor = owner.kept
        assert type(number) is int and number == total
        assert isinstance(tensor, argosy.Tensor) and float(tensor) == total


def test_attributes_that_a_whole_graph_sets_are_those_of_each_call():
    def function(x):
        _keeper.kept = (x * 2, x.sum())
        return x + 1

    call = argosy.jit.to_static(function, full_graph=True)
    for values in ([1.0, 2.0], [4.0, 5.0], [4.0, 6.0]):
        call(T(values))
        assert [v.tolist() for v in _keeper.kept] == [[2 * v for v in values], sum(values)]
    with pytest.raises(argosy.jit.transform.CaptureError, match="it sets _Keeper.kept to a tensor"):
        argosy.jit.to_static(_kept_in_a_class, full_graph=True)(T([1.0]))


CAPTURED = [
    "_range", "_last_of_a_range", "_counted", "_chosen", "_returned_early", "_shape", "_beside_tensors", "_argument",
    "_asked_for_its_type", "int", "arithmetic", "compared", "list", "large", "conditional", "any",
]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", [FUNCTIONS[name] for name in CAPTURED])
def test_they_are_captured_where_they_can_be(function):
    call = argosy.jit.to_static(function)
    call(T([1.0, 2.0, 3.0]))
    assert call.concrete_program is not None and None not in call.program_cache.values()


def test_a_text_of_a_tensor_is_not_a_result_of_a_whole_graph():
    call = argosy.jit.to_static(lambda x: f"{x.sum()}", full_graph=True)
    with pytest.raises(argosy.jit.transform.CaptureError, match="returns a text of a tensor"):
        call(T([1.0]))


def _adds_to(x):
    x.add_(T(1.0))
    return x * 2


def _sets_elements(x):
    x[0] = 5.0
    return x.sum()


def _writes_a_view(x):
    v = x[0:1]
    v.multiply_(x[1:2])
    return v * 1


def _writes_in_a_branch(x):
    if x.sum() > 20:
        x.multiply_(T([2.0, 3.0, 4.0]))
    return x + 1


def _writes_none(x):
    y = x * 1
    y.add_(T(1.0))
    return y, x


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.parametrize(
    "function", [_adds_to, _sets_elements, _writes_a_view, _writes_in_a_branch, _writes_none]
)
def test_arguments_that_are_written_keep_it(function, learns, full_graph):
    seen = []
    for call in (function, argosy.jit.to_static(function, full_graph=full_graph)):
        for values in ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]):
            leaf = T(values, stop_gradient=not learns)
            x = leaf * 3
            view = x[1:]
            made = call(x)
            made = made if isinstance(made, tuple) else (made,)
            seen.append([v.tolist() for v in (*made, x, view)] + [x.stop_gradient])
            if learns:
                (x.sum() * 2 + made[0].sum()).backward()
                seen[-1].append(leaf.grad.tolist())
    assert seen[:2] == seen[2:]


def _fills_a_list(xs):
    xs.append(xs[0] * 2)
    return xs[0] + 1


def _fills_a_dict(xs):
    xs["y"] = xs["x"] * 2
    return xs["x"] + 1


def _fills_a_default(x, seen=[]):  # noqa: B006
    seen.append(x * 2)
    return x + len(seen)


_found = None


def _sets_a_global(x):
    global _found
    _found = x * 2
    return x + 1


@pytest.mark.filterwarnings("ignore:.*runs as Python")
@pytest.mark.parametrize(
    "function, given, error",
    [
        (_fills_a_list, lambda x: [x], "changes a list or dict that is an argument"),
        (_fills_a_dict, lambda x: {"x": x}, "changes a list or dict that is an argument"),
        (_fills_a_default, lambda x: x, "changes a list or dict that is an argument"),
        (_sets_a_global, lambda x: x, "the global variable '_found'"),
    ],
)
def test_what_a_program_does_not_leave_behind_is_not_captured(function, given, error):
    call = argosy.jit.to_static(function)
    for n in (1, 2, 3):
        x = T([float(n)])
        argument = given(x)
        made = call(argument)
        assert made.tolist() == [n + (n if function is _fills_a_default else 1)]
        if function is _fills_a_list:
            assert argument[1].tolist() == [2 * n]
        if function is _fills_a_dict:
            assert argument["y"].tolist() == [2 * n]
        if function is _sets_a_global:
            assert _found.tolist() == [2 * n]
    with pytest.raises(argosy.jit.transform.CaptureError, match=error):
        argosy.jit.to_static(function, full_graph=True)(given(T([1.0])))


def _extremes(x):
    return max(x.sum(), 2.0), max(int(x.sum()), 7)


def _leaves(x):
    y = x * 2
    return y.is_leaf, x.is_leaf, y * 1


@pytest.mark.parametrize("function", [_extremes, _leaves])
def test_what_only_eager_tensors_know_is_not_captured(function):
    assert _outcomes(function, argosy.jit.to_static(function)) == _outcomes(function, function)


def _widest(x):
    third = float(x.sum()) / 3
    x[0] = third
    y = argosy.zeros_like(x).fill_(third)
    return (
        *(
            x.add(third),
            argosy.clip(x, max=third),
            argosy.pow(x, third),
            argosy.full_like(x, third),
        ),
        *(argosy.full([1], third, dtype="float64"), argosy.to_tensor(third, dtype=argosy.float64)),
        *(argosy.full([1], third, "double"), argosy.to_tensor([third, 1.0], dtype="float64")),
        *(argosy.full([1], third), argosy.to_tensor(third), x, y),
    )


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32"])
def test_a_float_has_its_64_bits_where_an_argument_or_dtype_is_float64(dtype):
    def run(function):
        return [(v.dtype, v.tolist()) for v in function(T([0.1, 1.7]).astype(dtype))]

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is captured
        made = run(argosy.jit.to_static(_widest))
    assert made == run(_widest)


def _parts(x):
    return x.sum().item().real, x.sum().item().imag


def _between(x):
    n = int(x.sum())
    return 3 < n < 8, n > 6 and n < 9, n > 100 or n < 9, (n > 6 and n < 9) + 1


def _is_whole(x):
    return float(x.sum()).is_integer()


def _bits(x):
    return int(x.sum()).bit_length()


def test_several_comparisons_give_a_bool():
    assert _outcomes(_between, argosy.jit.to_static(_between)) == _outcomes(_between, _between)


@pytest.mark.parametrize("function", [_parts, _is_whole, _bits])
def test_what_numbers_have_and_tensors_call_alike_is_not_captured(function):
    assert _outcomes(function, argosy.jit.to_static(function)) == _outcomes(function, function)


@pytest.mark.parametrize("full_graph", [False, True])
def test_numbers_of_a_tensor_that_is_given_other_memory(full_graph):
    size = T([2])

    def function(x):
        return x.reshape([size, -1])

    call = argosy.jit.to_static(function, full_graph=full_graph)
    for n in (2, 3, 4):
        size.data = T([n])
        assert call(argosy.ones([12])).shape == [n, 12 // n]


@pytest.mark.parametrize("full_graph", [False, True])
def test_numbers_that_come_to_the_address_of_others(full_graph):
    """Memory that was given back is used again: an address tells nothing of what was there before."""
    size = T([2])
    call = argosy.jit.to_static(lambda x: x.reshape([size, -1]), full_graph=full_graph)
    x, met = argosy.ones([12]), set()
    for n in (2, 3, 4, 6) * 3:
        met.add(size.data_ptr())
        kept = [T([n]) for _ in range(20)]
        size.data = next((t for t in kept if t.data_ptr() in met), kept[0])
        assert call(x).shape == [n, 12 // n]
