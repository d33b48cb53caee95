"""Tensor.__getitem__ and __setitem__ against NumPy."""

import numpy as np
import pytest

import argosy

BASE = np.arange(120, dtype="float64").reshape(2, 3, 4, 5)
KEYS = """[[0,1],:,[1,2]] | [None,0] | [...,None,[1,2]] | [True] | [None,True] | [:,[0,2],1]
[[True,False]] | [a>5] | [:,np.array([True,False,True])] | [-1] | [:,:,::-1] | [:,:,3:0:-2]
[0,0,0,0] | [()] | [...] | [np.array(1)] | [[[0,1]]] | [[0,1],[0,1]] | [([0,1],[0,1])] | [[]]
[:,[]] | [0:1,[1,2],:,[1,2]] | [np.zeros((2,3),bool)] | [False] | [0,True] | [[0,1],None,[1,2]]
[(0,1),] | [np.int64(1)] | [a[:,:,0,0]>30,1] | [1:,...,[0,3]] | [:,1:,[1,2],::2] | [...,1]
[::9223372036854775807] | [:,::-9223372036854775808] | [:,4:0:-9223372036854775807]
[::2,::-1,1:3] | [T(1)] | [T([1])] | [T(1):]"""
KEYS = [key.strip() for line in KEYS.splitlines() for key in line.split("|")]


def tensor(value):
    return argosy._core.to_tensor(value, None, True)


def get(source, key, make):
    return eval("s" + key, {"s": source, "a": BASE, "np": np, "T": make})


@pytest.mark.parametrize("key", KEYS)
def test_get(key):
    expected = get(BASE, key, np.array)
    result = get(tensor(BASE), key, tensor)
    assert list(result.shape) == list(expected.shape)
    np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("scalar", [True, False])
def test_set(key, scalar):
    expected = BASE.copy()
    value = 7.5 if scalar else np.random.default_rng(0).random(get(BASE, key, np.array).shape)
    names = {"a": BASE, "np": np, "value": value}
    exec(f"s{key} = value", {**names, "s": expected, "T": np.array})
    x = tensor(BASE)
    exec(f"s{key} = value", {**names, "s": x, "T": tensor})
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("key", KEYS)
def test_gradient(key):
    x = tensor(BASE)
    x.stop_gradient = False
    y = get(x, key, tensor)
    argosy.autograd.backward([y * y])
    weight = np.zeros_like(BASE)
    places = np.arange(120).reshape(BASE.shape)
    np.add.at(weight.reshape(-1), get(places, key, np.array).reshape(-1), 1)
    np.testing.assert_array_equal(x.grad.numpy(), 2 * BASE * weight)


def test_gradient_through_assignment():
    x, v = tensor(BASE), tensor(np.ones(2))
    x.stop_gradient = v.stop_gradient = False
    w = x * 1
    w[:, 0, 0, 0] = v * 3
    argosy.autograd.backward([w * w])
    np.testing.assert_array_equal(v.grad.numpy(), [18, 18])
    expected = 2 * BASE
    expected[:, 0, 0, 0] = 0
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_a_view_writes_into_its_base():
    x = tensor(BASE)
    x[1][2] = 0.0
    assert (x.numpy()[1, 2] == 0).all()


def test_ints_are_basic_beside_arrays():
    # As in Paddle; NumPy would put the index dimension first.
    assert list(tensor(BASE)[0, :, [1, 2]].shape) == [3, 2, 5]


@pytest.mark.parametrize(
    "key, error, text",
    [
        ("[5]", IndexError, "Index 5 is out of range for dimension 0 of size 2"),
        ("[1.0]", ValueError, "got float"),
        ("['a']", ValueError, "got str"),
        ("[0,0,0,0,0]", IndexError, "Too many indices: 5"),
        ("[::0]", ValueError, "step of a slice must not be 0"),
        ("[[5]]", IndexError, "index 5 is out of range for dimension 0 of size 2"),
        ("[np.ones(3, bool)]", IndexError, "mask is [3]"),
        ("[..., ...]", IndexError, "one ellipsis"),
    ],
)
def test_errors(key, error, text):
    with pytest.raises(error) as raised:
        get(tensor(BASE), key, tensor).numpy()
    assert text in str(raised.value)


@pytest.mark.parametrize("dtype, width", [("float16", 2), ("float16", 4), ("float32", 2)])
def test_rows_of_four_and_eight_bytes_of_smaller_elements(dtype, width):
    values = np.arange(5 * width).reshape(5, width).astype(dtype)
    picked = argosy.to_tensor(values)[[3, 0, 4]]
    np.testing.assert_array_equal(picked.numpy(), values[[3, 0, 4]])


def test_out_of_range_is_an_index_error_and_a_value_error():
    for error in (IndexError, ValueError):
        with pytest.raises(error, match="axis is out of range: expected -2 <= axis < 2"):
            argosy.softmax(argosy.ones([2, 2]), 5)
    assert [float(v) for v in argosy.ones([2])] == [1, 1]


@pytest.mark.parametrize("shape", [[0, 4], [2, 0, 5], [0], [3, 4], []])
@pytest.mark.parametrize("known", [True, False])
def test_the_whole_of_a_tensor_has_its_sizes(shape, known):
    keys = [...] if not shape else [..., slice(None), slice(None, None, 1), (slice(None), ...)]
    x = np.ones(shape, "float32")
    for key in keys:
        assert argosy.to_tensor(x)[key].shape == shape
    argosy.enable_static()
    try:
        main = argosy.static.Program()
        with argosy.static.program_guard(main):
            slot = argosy.static.data("x", shape if known else [-1] * len(shape))
            found = argosy.static.Executor().run(main, {"x": x}, [slot[key] for key in keys])
    finally:
        argosy.disable_static()
    assert [list(value.shape) for value in found] == [shape] * len(keys)


def test_ranges_are_lists():
    x = argosy.arange(12).reshape([3, 4])
    n = x.numpy()
    assert x[range(2)].tolist() == n[range(2)].tolist()
    assert x[:, range(3, 0, -2)].tolist() == n[:, range(3, 0, -2)].tolist()
    assert x[range(0, 3, 2), range(2)].tolist() == n[range(0, 3, 2), range(2)].tolist()
    assert x[range(0)].shape == [0, 4]
    x[range(2)] = -1
    assert x[:2].max().item() == -1 and x[2, 0].item() == 8
    with pytest.raises(IndexError):
        x[range(4)].numpy()


def test_diagonals_beyond_the_matrix():
    for offset in (4, -(2**63), 2**63 - 1):
        assert argosy.diagonal(argosy.ones([3, 4, 2]), offset).shape == [2, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: argosy.gather(x, i),
        lambda x, i: argosy.gather(x.unsqueeze(0), i, axis=1),
        lambda x, i: argosy.index_select(x, i),
    ],
)
def test_rows_out_of_range_are_told_by_the_names_that_are_called(call):
    with pytest.raises(IndexError, match=r"\[gather, index_select\] index 5 is out of range"):
        call(argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([0, 5])).numpy()


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(0, 1 + 2j),
        lambda x: x.__setitem__(argosy.to_tensor([True, False]), 1 + 2j),
        lambda x: x.fill_(1 + 2j),
        lambda x: x.__setitem__(0, np.complex64(1 + 2j)),
        lambda x: x.__setitem__(argosy.to_tensor([True, False]), np.complex64(1 + 2j)),
        lambda x: x.__setitem__(slice(0, 1), [1 + 2j]),
        lambda x: x.__setitem__(argosy.to_tensor([0]), (1 + 2j,)),
    ],
)
def test_complex_numbers_are_not_written_into_real_tensors(write):
    for dtype in ("float32", "int64", "bool"):
        x = argosy.zeros([2], dtype)
        with pytest.raises(
            TypeError, match=f"complex number .* tensor of {dtype}. Do this: write its"
        ):
            write(x)
        assert not x.any()
    x = argosy.zeros([2], "complex64")
    write(x)
    assert x[0].item() == 1 + 2j


def test_of_complex_tensors_and_arrays_real_parts_are_written():
    """As a cast takes them. [= Paddle]"""
    for value in (argosy.to_tensor([1 + 2j]), np.array([1 + 2j])):
        x = argosy.zeros([2])
        x[0:1] = value
        assert x.tolist() == [1.0, 0.0]
