"""Names that Paddle 3.3 has beside its own, for programs that come from other frameworks."""

from argosy import _core
from argosy import device as device_module
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._generated import tensor as _generated
from argosy._support import ArgumentError, alias, into, overwrite, place, sizes, sizes_of
from argosy.tensor import creation, manipulation, random, search
from argosy.tensor.registry import method


def as_tensor(data, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """data as a tensor: data itself where it is one that fits, else a new tensor."""
    if isinstance(data, Tensor) and (dtype is None or _core.dtype(dtype) == data.dtype):
        return place(data, None, device, requires_grad, pin_memory)
    made = creation.to_tensor(data, dtype, device, not requires_grad)
    return place(made, pin_memory=pin_memory) if pin_memory else made


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """obj as a tensor; copy=True always makes a new one."""
    if copy:
        return creation.to_tensor(obj, dtype, device, not requires_grad)
    return as_tensor(obj, dtype, device, requires_grad)


def from_numpy(ndarray):
    """A tensor on the memory of a NumPy array where that is possible."""
    return _core.to_tensor(ndarray, None, False)


def _unknown_combinations(x, r, with_replacement):
    """combinations of a vector whose size only a run of the Program knows."""
    number = _ops.arange(0, sizes_of(x)[0], 1, "int64")
    if r == 1:
        return _ops.unsqueeze(x, -1)
    grids = manipulation.meshgrid([number] * r)
    before = _ops.less_equal if with_replacement else _ops.less_than
    rising = before(grids[0], grids[1])
    for a, b in zip(grids[1:], grids[2:]):
        rising = _ops.logical_and(rising, before(a, b))
    places = _ops.reshape(search.nonzero(rising), [-1])
    return _ops.reshape(_ops.index_get(x, [places], [0]), [-1, r])


@method
def combinations(x, r=2, with_replacement=False, name=None):
    """All choices of r entries of the vector x, in order: [choices, r]."""
    if x.ndim != 1 or r < 0:
        raise ArgumentError(
            f"[combinations] needs a vector and r >= 0: got a tensor of shape {list(x.shape)} and"
            f" r={r}. Do this: flatten x."
        )
    if r == 0:
        return _ops.full([0], 0, x.dtype)
    if x.shape[0] < 0:
        return _unknown_combinations(x, r, with_replacement)
    from itertools import combinations as choose
    from itertools import combinations_with_replacement as repeat

    places = list((repeat if with_replacement else choose)(range(x.shape[0]), r))
    if not places:
        return _ops.full([0, r], 0, x.dtype)
    flat = creation.to_tensor([place_ for chosen in places for place_ in chosen], "int64")
    return _ops.reshape(_ops.index_get(x, [flat], [0]), [len(places), r])


@method
def msort(input, *, out=None):  # noqa: A002
    """input sorted along its first dimension."""
    result = search.sort(input, 0)
    return into(out, result)


@method
def _to(self, device=None, dtype=None, blocking=None, copy_tensor=None):
    """This tensor on another device and/or with another dtype."""
    return creation.to(self, device=device, dtype=dtype, blocking=blocking)


@method
def _copy_to(self, device, blocking=True):
    """A copy of this tensor on a device, without history."""
    return creation.to(_ops.assign(self.detach()), device=device, blocking=blocking)


@method
def _is_initialized(self):
    """Whether the tensor holds memory, and not only a description as in a Program."""
    return not self._symbolic and self.size > 0


@method
def _numel(self):
    """The number of elements, as an int."""
    return self.size


@method
def _slice(self, begin, end):
    """Rows begin to end - 1, as a view without history."""
    return self.detach()[begin:end]


@method
def _grad_ivar(self):
    """The gradient, or None."""
    return self.grad


@method
def _inplace_version(self):
    """How often the tensor was written in place."""
    return self.inplace_version


@method
def _md5sum(self):
    """The MD5 of the elements' bytes, as hexadecimal digits."""
    import hashlib

    return hashlib.md5(self.numpy().tobytes()).hexdigest()


@method
def argwhere(input):  # noqa: A002
    """Coordinates of the elements that are not zero, [count, dimensions]."""
    return search.nonzero(input)


@alias(input="x", vec2="y")
def ger(x, y, name=None, *, out=None):
    """Outer product of two vectors."""
    result = _generated.outer(x, y)
    return into(out, result)


@method
def scatter_add(input, dim, index, src):  # noqa: A002
    """input with src added at index along dim."""
    part = src[tuple(slice(0, size) for size in index.shape)]
    return search.put_along_axis(input, index, part, dim, "add", broadcast=False)


@method
def scatter_add_(input, dim, index, src):  # noqa: A002
    """scatter_add written into input."""
    return overwrite(input, scatter_add(input, dim, index, src))


@method
def t_(input, name=None):  # noqa: A002
    """Swaps the two dimensions of a matrix in place; vectors stay."""
    return _ops.transpose_(input, list(range(input.ndim))[::-1])


@method
def cauchy_(x, loc=0, scale=1, name=None):
    """Fills x with numbers of the Cauchy distribution."""
    unit = _ops.uniform(list(x.shape), 0.0, 1.0, 0, x.dtype)
    return overwrite(x, _ops.tan((unit - 0.5) * 3.141592653589793) * scale + loc)


@method
def geometric_(x, probs, name=None):
    """Fills x with ``log(u) / log(1 - probs)``, u uniform on (0, 1): geometric before rounding."""
    least = 1.1754943508222875e-38
    unit = _ops.uniform(list(x.shape), least, 1.0, 0, x.dtype)
    probs = probs if isinstance(probs, Tensor) else _ops.full([], probs, x.dtype)
    return overwrite(x, _ops.log(unit) / _ops.log1p(-probs))


@method
def log_normal_(x, mean=1.0, std=2.0, name=None):
    """Fills x with exp of numbers drawn from the normal distribution of mean and std."""
    return overwrite(x, _ops.exp(_ops.gaussian(list(x.shape), mean, std, 0, x.dtype)))


def manual_seed(seed):
    """seed, under its other name."""
    return random.seed(seed)


def _new(make):
    @sizes
    def method_(
        shape, *args, var=None, dtype=None, device=None, requires_grad=False, pin_memory=False
    ):
        made = make(shape, *args, dtype=var.dtype if dtype is None else dtype)
        return place(made, None, device, requires_grad)

    return method_


def _new_method(name, text):
    make = getattr(_generated, name)
    inner = _new(make)

    def new(self, *size, **options):
        if name == "full" and size:
            return inner(size[0], *size[1:], var=self, **options)
        return inner(*size, var=self, **options)

    new.__name__ = f"new_{name}"
    new.__doc__ = f"{text} of the given size, with this tensor's dtype unless dtype says else."
    method(new)


_new_method("zeros", "Zeros")
_new_method("ones", "Ones")
_new_method("empty", "A tensor")
_new_method("full", "A value")


@method
def type_as(self, other):
    """This tensor with other's dtype."""
    return self.astype(other.dtype)


@method
def stride(self, dim=None):
    """Steps between elements along each dimension (or along dim), in elements."""
    return list(self.strides) if dim is None else self.strides[dim]


@method
def get_strides(self):
    """Steps between elements along each dimension, in elements."""
    return list(self.strides)


@method
def split_with_sizes(self, split_sizes, dim=0):
    """Parts of the given sizes along dim."""
    return manipulation.split(self, split_sizes, dim)


@method
def requires_grad_(self, requires_grad=True):
    """Sets whether gradients flow to this tensor, and returns it."""
    self.stop_gradient = not requires_grad
    return self


@method
def get_device(self):
    """Number of the GPU that holds the tensor; -1 on the CPU."""
    return self.place.gpu_device_id() if self.place.is_gpu_place() else -1


@method
def dense_dim(self):
    """Number of dense dimensions: all, for a dense tensor."""
    return self.ndim


def _requires_grad(self):
    """The opposite of stop_gradient."""
    return not self.stop_gradient


def _set_requires_grad(self, value):
    self.stop_gradient = not value


def _data(self):
    """This tensor without its history, on the same memory."""
    return self.detach()


def _set_data(self, value):
    self._set_data(value)


method(property(_requires_grad, _set_requires_grad), "requires_grad")
method(property(_data, _set_data), "data")
method(property(lambda self: self.place, doc="Where the tensor is."), "device")
method(
    property(lambda self: self.place.is_gpu_place(), doc="Whether a GPU holds the tensor."),
    "is_cuda",
)
method(property(lambda self: self.dtype.itemsize, doc="Bytes of one element."), "itemsize")
method(property(lambda self: self._layout, doc="How the elements are stored."), "layout")
method(lambda self: self._layout == "coo", "is_sparse_coo")
method(lambda self: self._layout == "csr", "is_sparse_csr")
method(lambda self: False, "is_dist")


def _typed(name, dtype):
    def make(*args):
        if not args:
            return _ops.full([0], 0, dtype)
        if all(type(size) is int for size in args):
            return _ops.full(list(args), 0, dtype)
        return creation.to_tensor(args[0], dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A {dtype} tensor of data, or of zeros of the sizes given one by one."
    return make


_TYPED = {
    "BoolTensor": "bool",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
}
for _name, _dtype in _TYPED.items():
    globals()[_name] = _typed(_name, _dtype)
    setattr(device_module, _name, globals()[_name])  # they are found there as well

EXPORTS = [
    "argwhere", "as_tensor", "asarray", "cauchy_", "combinations", "from_numpy", "geometric_",
    "ger", "log_normal_", "manual_seed", "msort", "scatter_add", "scatter_add_", "t_", *_TYPED,
]  # fmt: skip

# Functions of ops that Paddle 3.3 has as methods too.
for _name in ("broadcast_to", "concat", "negative", "polar", "reverse", "stack"):
    method(getattr(_generated, _name))
