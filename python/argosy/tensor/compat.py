"""Names that Paddle 3.3 has beside its own, for programs that come from other frameworks."""

from argosy import _core
from argosy import device as device_module
from argosy._beside import beside
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._generated import tensor as _generated
from argosy._support import (
    ArgumentError,
    alias,
    into,
    listed,
    need_tensor,
    overwrite,
    place,
    sizes_of,
)
from argosy.device import Device
from argosy.tensor import creation, parting, random, search
from argosy.tensor.registry import method
from argosy.tensor.spellings import sizes_one_by_one


def as_tensor(data, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """data as a tensor.

    Args:
        data (Tensor | number | list | numpy.ndarray): The values.
        dtype (dtype | str, optional): Default: that of data, as to_tensor has it.
        device (Place | str, optional): Where it goes.
        requires_grad (bool): Whether gradients are to flow to it.
        pin_memory (bool): Whether it goes to pinned memory, for copies to the device it is made on.

    Returns:
        Tensor: A new one without history, as to_tensor makes it.

    Raises:
        RuntimeError: pin_memory is true, and it is made on the CPU.

    Example:
        >>> x = argosy.ones([2])
        >>> argosy.as_tensor(x) is x, argosy.as_tensor([1, 2]).tolist()
        (False, [1, 2])
    """
    made = creation.to_tensor(data, dtype, device, not requires_grad)
    return place(made, pin_memory=pin_memory) if pin_memory else made


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """obj as a tensor.

    Args:
        obj (Tensor | number | list | numpy.ndarray): The values.
        dtype (dtype | str, optional): Default: that of obj, as to_tensor has it.
        device (Place | str, optional): Where it goes.
        copy (bool, optional): Whether to make a new tensor in any case; False: only where that is needed.
        requires_grad (bool): Whether gradients are to flow to it.

    Returns:
        Tensor: A new one; obj itself if it is a tensor of that dtype and copy is False.

    Example:
        >>> x = argosy.ones([2])
        >>> argosy.asarray(x) is x, argosy.asarray(x, copy=False) is x
        (False, True)
    """
    if copy is False and isinstance(obj, Tensor) and dtype in (None, obj.dtype):
        return place(obj, None, device, requires_grad)
    return as_tensor(obj, dtype, device, requires_grad)


def from_numpy(ndarray):
    """A tensor on the memory of an array where that is possible, else a copy.

    Args:
        ndarray (numpy.ndarray): It.

    Returns:
        Tensor: Of its shape and dtype.

    Example:
        >>> a = np.zeros([2], "float32")
        >>> x = argosy.from_numpy(a)
        >>> a[0] = 5
        >>> x.tolist()
        [5.0, 0.0]
    """
    return _core.to_tensor(ndarray, None, False)


@beside
def _unknown_combinations(x, r, with_replacement):
    """combinations of a vector whose size only a run of the Program knows."""
    number = _ops.arange(0, sizes_of(x)[0], 1, "int64")
    if r == 1:
        return _ops.unsqueeze(x, -1)
    grids = parting.meshgrid([number] * r)
    before = _ops.less_equal if with_replacement else _ops.less_than
    rising = before(grids[0], grids[1])
    for a, b in zip(grids[1:], grids[2:]):
        rising = _ops.logical_and(rising, before(a, b))
    places = _ops.reshape(search.nonzero(rising), [-1])
    return _ops.reshape(_ops.index_get(x, [places], [0]), [-1, r])


@method
@beside
def combinations(x, r=2, with_replacement=False, name=None):
    """All choices of r entries of a vector, in order.

    Args:
        x (Tensor): [n].
        r (int): How many.
        with_replacement (bool): Whether an entry may come more than once.

    Returns:
        Tensor: [choices, r], of x's dtype.

    Raises:
        ValueError: x is no vector, or r negative.

    Example:
        >>> argosy.combinations(argosy.arange(3)).tolist()
        [[0, 1], [0, 2], [1, 2]]
    """
    if x.ndim != 1 or r < 0:
        raise ArgumentError(
            f"[combinations] needs a vector and r >= 0: got a tensor of shape {list(x.shape)} and"
            f" r={r}. Do this: flatten x."
        )
    if r == 0:
        return _ops.full([0], 0, x.dtype)
    if x.shape[0] < 0:
        return _unknown_combinations(x, r, with_replacement)
    if r == 2 and not x._symbolic:  # the places of a triangle; a Program keeps known sizes
        size = x.shape[0]
        mask = _ops.triu(_ops.ones([size, size], "bool"), 0 if with_replacement else 1)
        return _ops.stack([_ops.index_select(x, k, 0) for k in _ops.mask_indices(mask)], 1)
    from itertools import combinations as choose
    from itertools import combinations_with_replacement as repeat

    places = list((repeat if with_replacement else choose)(range(x.shape[0]), r))
    if not places:
        return _ops.full([0, r], 0, x.dtype)
    flat = creation.to_tensor([place_ for chosen in places for place_ in chosen], "int64")
    return _ops.reshape(_ops.index_get(x, [flat], [0]), [len(places), r])


@method
def msort(input, *, out=None):  # noqa: A002
    """Sorts along the first dimension.

    Args:
        input (Tensor): Of a real dtype.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: Of input's shape and dtype.

    Example:
        >>> argosy.msort(argosy.to_tensor([[3, 1], [2, 4]])).tolist()
        [[2, 1], [3, 4]]
    """
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
def _share_buffer_to(self, other):
    """Makes other a handle on this tensor's memory: what is written to one is seen in both."""
    other._set_data(self)


@method
def _share_underline_tensor_to(self, other):
    """_share_buffer_to under its other name."""
    other._set_data(self)


@method
def _is_shared_underline_tensor_with(self, other):
    """Whether both view the same memory."""
    return self._is_shared_buffer_with(other)


@method
def _zero_grads(self):
    """Writes zeros into the gradient, if there is one."""
    if self.grad is not None:
        self.grad.detach().zero_()


@method
def _grad_name(self):
    """The name of the gradient, "" if there is none."""
    return "" if self.grad is None else self.grad.name


@method
def _grad_value(self):
    """The gradient, or None."""
    return self.grad


@method
def _clear(self):
    """Lets go of the memory: the tensor has no elements afterwards, and its dtype."""
    self._set_data(_ops.empty([0], self.dtype))


method(_clear, "_clear_data")
method(_clear, "_clear_dataptr")
method(_clear, "_clear_to_zero_allocation")


@method
def _is_dense_tensor_hold_allocation(self):
    """_is_initialized under its other name."""
    return _is_initialized(self)


@method
def _offset(self):
    """Where the elements begin in their memory, in bytes."""
    return self.offset


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
    """Coordinates of the elements that are not 0.

    Args:
        input (Tensor): Of any dtype and rank r, with n such elements.

    Returns:
        Tensor: [n, r] int64.

    Example:
        >>> argosy.argwhere(argosy.to_tensor([[0, 1], [1, 0]])).tolist()
        [[0, 1], [1, 0]]
    """
    return search.nonzero(input)


@alias(input="x", vec2="y")
def ger(x, y, name=None, *, out=None):
    """The outer product of two vectors.

    Args:
        x (Tensor): [m].
        y (Tensor): [n].
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: [m, n].

    Example:
        >>> argosy.ger(argosy.to_tensor([1, 2]), argosy.to_tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]
    """
    result = _generated.outer(x, y)
    return into(out, result)


@method
def scatter_add(input, dim, index, src):  # noqa: A002
    """A copy of input with src added at input[.., index[..], ..] along a dimension.

    Args:
        input (Tensor): Of a number dtype.
        dim (int): Along which index counts.
        index (Tensor): Integers of input's rank.
        src (Tensor): Of index's shape, or larger: the rest is not used.

    Returns:
        Tensor: Of input's shape and dtype.

    Raises:
        IndexError: An index is out of range.

    Example:
        >>> x = argosy.zeros([3])
        >>> argosy.scatter_add(x, 0, argosy.to_tensor([1, 1]), argosy.ones([2])).tolist()
        [0.0, 2.0, 0.0]
    """
    part = src[tuple(slice(0, size) for size in index.shape)]
    return search.put_along_axis(input, index, part, dim, "add", broadcast=False)


@method
def scatter_add_(input, dim, index, src):  # noqa: A002
    """scatter_add written into input.

    Args:
        input (Tensor): Of a number dtype.
        dim (int): Along which index counts.
        index (Tensor): Integers of input's rank.
        src (Tensor): Of index's shape, or larger: the rest is not used.

    Returns:
        Tensor: input.

    Example:
        >>> x = argosy.zeros([3])
        >>> x.scatter_add_(0, argosy.to_tensor([1, 1]), argosy.ones([2])).tolist()
        [0.0, 2.0, 0.0]
    """
    return overwrite(input, scatter_add(input, dim, index, src))


@method
def t_(input, name=None):  # noqa: A002
    """Transposes a matrix in place.

    Args:
        input (Tensor): Of any dtype; the order of all its dimensions is reversed.

    Returns:
        Tensor: input.

    Example:
        >>> argosy.ones([2, 3]).t_().shape
        paddle.Size([3, 2])
    """
    return _ops.transpose_(input, list(range(input.ndim))[::-1])


@method
@beside
def cauchy_(x, loc=0, scale=1, name=None):
    """Fills x with numbers drawn from the Cauchy distribution.

    Args:
        x (Tensor): Floating.
        loc (float): The median.
        scale (float): Half the width at half of the maximum.

    Returns:
        Tensor: x.

    Example:
        >>> argosy.zeros([3]).cauchy_().shape
        paddle.Size([3])
    """
    unit = _ops.uniform(list(x.shape), 0.0, 1.0, 0, x.dtype)
    return overwrite(x, _ops.tan((unit - 0.5) * 3.141592653589793) * scale + loc)


@method
@beside
def geometric_(x, probs, name=None):
    """Fills x with ``log(u) / log(1 - probs)``, u drawn evenly from (0, 1): what rounded up has the geometric
    distribution.

    Args:
        x (Tensor): Floating.
        probs (float | Tensor): The probability of success.

    Returns:
        Tensor: x.

    Example:
        >>> bool((argosy.zeros([3]).geometric_(0.5) >= 0).all())
        True
    """
    least = 1.1754943508222875e-38
    unit = _ops.uniform(list(x.shape), least, 1.0, 0, x.dtype)
    probs = probs if isinstance(probs, Tensor) else _ops.full([], probs, x.dtype)
    return overwrite(x, _ops.log(unit) / _ops.log1p(-probs))


@method
@beside
def log_normal_(x, mean=1.0, std=2.0, name=None):
    """Fills x with exp of numbers drawn from a normal distribution.

    Args:
        x (Tensor): Floating.
        mean (float): The mean of the normal distribution.
        std (float): Its standard deviation.

    Returns:
        Tensor: x.

    Example:
        >>> bool((argosy.zeros([3]).log_normal_() > 0).all())
        True
    """
    need_tensor("log_normal_", "x", x)
    return overwrite(x, _ops.exp(_ops.gaussian(list(x.shape), mean, std, 0, x.dtype)))


def manual_seed(seed):
    """Restarts the generator that all random ops draw from.

    Args:
        seed (int): Where its stream begins.

    Returns:
        Generator: The default one.

    Example:
        >>> argosy.manual_seed(7).initial_seed()
        7
    """
    return random.seed(seed)


def _new_method(name, text):
    make = getattr(_generated, name)

    def new(var, size, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
        made = make(listed(size), dtype=var.dtype if dtype is None else dtype)
        return place(made, None, device, requires_grad, pin_memory)

    new.__name__ = f"new_{name}"
    new.__doc__ = f"""{text} of a given size, with this tensor's dtype.

    Args:
        size (int | list[int]): The sizes, one by one or as a list.
        dtype (dtype | str, optional): Another dtype.
        device (Place | str, optional): Where it goes.
        requires_grad (bool): Whether it is to get a gradient.
        pin_memory (bool): Whether it goes to pinned memory, for copies to the device it is made on.

    Returns:
        Tensor: A new tensor.

    Example:
        >>> x = argosy.ones([3], "float64").new_{name}([2])
        >>> x.shape, x.dtype
        (paddle.Size([2]), paddle.float64)
    """
    method(sizes_one_by_one(new))


_new_method("zeros", "Zeros")
_new_method("ones", "Ones")
_new_method("empty", "A tensor")


@method
def new_full(
    var, size, fill_value, *, dtype=None, device=None, requires_grad=False, pin_memory=False
):
    """A value in a given size, with this tensor's dtype.

    Args:
        size (int | list[int]): The sizes.
        fill_value (number | Tensor): The value.
        dtype (dtype | str, optional): Another dtype.
        device (Place | str, optional): Where it goes.
        requires_grad (bool): Whether it is to get a gradient.
        pin_memory (bool): Whether it goes to pinned memory, for copies to the device it is made on.

    Returns:
        Tensor: A new tensor.

    Example:
        >>> argosy.ones([3], "float64").new_full([2], 7).tolist()
        [7.0, 7.0]
    """
    made = _generated.full(listed(size), fill_value, var.dtype if dtype is None else dtype)
    return place(made, None, device, requires_grad, pin_memory)


@method
def type_as(self, other):
    """This tensor with the dtype of another.

    Args:
        other (Tensor): It.

    Returns:
        Tensor: A cast copy.

    Example:
        >>> argosy.ones([2]).type_as(argosy.arange(2)).dtype
        paddle.int64
    """
    return self.astype(other.dtype)


@method
def stride(self, dim=None):
    """Steps between elements in memory, counted in elements.

    Args:
        dim (int, optional): Along which dimension; default: all.

    Returns:
        list[int] | int: One for each dimension, or that of dim.

    Example:
        >>> argosy.ones([2, 3]).stride(), argosy.ones([2, 3]).stride(0)
        ([3, 1], 3)
    """
    return list(self.strides) if dim is None else self.strides[dim]


@method
def get_strides(self):
    """Steps between elements in memory along each dimension, counted in elements.

    Returns:
        list[int]: One for each dimension.

    Example:
        >>> argosy.ones([2, 3]).get_strides()
        [3, 1]
    """
    return list(self.strides)


@method
def split_with_sizes(self, split_sizes, dim=0):
    """Cuts this tensor along a dimension.

    Args:
        split_sizes (list[int]): The sizes of the parts.
        dim (int): Which dimension.

    Returns:
        list[Tensor]: Views.

    Example:
        >>> [part.tolist() for part in argosy.arange(3).split_with_sizes([1, 2])]
        [[0], [1, 2]]
    """
    return parting.split(self, split_sizes, dim)


@method
def requires_grad_(self, requires_grad=True):
    """Sets whether gradients flow to this tensor.

    Args:
        requires_grad (bool): Whether they do.

    Returns:
        Tensor: Itself.

    Example:
        >>> argosy.ones([2]).requires_grad_().stop_gradient
        False
    """
    self.stop_gradient = not requires_grad
    return self


@method
def get_device(self):
    """The number of the GPU that holds this tensor.

    Returns:
        int: -1 on the CPU.

    Example:
        >>> argosy.ones([2]).cpu().get_device()
        -1
    """
    return self.place.gpu_device_id() if self.place.is_gpu_place() else -1


@method
def dense_dim(self):
    """The number of dense dimensions: all, for a dense tensor.

    Returns:
        int: That.

    Example:
        >>> argosy.ones([2, 3]).dense_dim()
        2
    """
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
method(property(lambda self: str(self.place), doc="The place as text."), "_place_str")
method(property(lambda self: Device(self.place), doc="Where the tensor is, as a name."), "device")
method(
    property(lambda self: self.place.is_gpu_place(), doc="Whether a GPU holds the tensor."),
    "is_cuda",
)
method(property(lambda self: self.dtype.itemsize, doc="Bytes of one element."), "itemsize")
method(property(lambda self: self._layout, doc="How the elements are stored."), "layout")


@method
def is_sparse_coo(self):
    """Whether this is a COO tensor.

    Returns:
        bool: That.

    Example:
        >>> argosy.ones([2]).is_sparse_coo(), argosy.ones([2]).to_sparse_coo(1).is_sparse_coo()
        (False, True)
    """
    return self._layout == "coo"


@method
def is_sparse_csr(self):
    """Whether this is a CSR tensor.

    Returns:
        bool: That.

    Example:
        >>> argosy.ones([2, 2]).to_sparse_csr().is_sparse_csr()
        True
    """
    return self._layout == "csr"


@method
def is_dist(self):
    """Whether this tensor was placed on a grid of processes (distributed.shard_tensor).

    Returns:
        bool: That.

    Example:
        >>> argosy.ones([2]).is_dist()
        False
    """
    return hasattr(self, "_placed_on")


def _typed(name, dtype):
    def make(*args):
        if not args:
            return _ops.full([0], 0, dtype)
        if all(type(size) is int for size in args):
            return _ops.full(list(args), 0, dtype)
        return creation.to_tensor(args[0], dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""A {dtype} tensor of data, or of zeros.

    Args:
        args (list | numpy.ndarray | Tensor | int): The data, or the sizes one by one; nothing for no
            elements.

    Returns:
        Tensor: Of that dtype.

    Example:
        >>> argosy.{name}([1, 0]).dtype, argosy.{name}(2, 3).shape
        (paddle.{dtype}, paddle.Size([2, 3]))
    """
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
