"""Sparse tensors: coordinates (COO) or compressed rows (CSR), and a dense tensor of values.

They are composed of dense tensors, so gradients flow through their values as through any tensor.
"""

from __future__ import annotations

import math

from argosy import tensor
from argosy._core import Size, Tensor


def place_of(x):
    """Where what goes with x is made: there; of values of a Program, wherever that runs."""
    return None if x._symbolic else x.place


def linear(indices, shape):
    """Numbers of the places that indices [dims, n] name, in row-major order."""
    found = tensor.zeros([indices.shape[1]], "int64", device=place_of(indices))
    for axis, size in enumerate(shape):
        found = found * size + indices[axis].astype("int64")
    return found


def unravel(numbers, shape):
    """The inverse of linear: indices [len(shape), n]."""
    rows = []
    for size in reversed(shape):
        rows.append(numbers % max(size, 1))
        numbers = numbers // max(size, 1)
    rows.reverse()
    if rows:
        return tensor.stack(rows)
    return tensor.zeros([0, numbers.shape[0]], "int64", device=place_of(numbers))


def _again(kind, state):
    """What a pickled sparse tensor was."""
    made = kind.__new__(kind)
    vars(made).update(state)
    return made


def _operator(name):
    """A method that calls the function of argosy.sparse of this name, which takes such tensors."""

    def operator(self, *other):
        from argosy import sparse

        return getattr(sparse, name)(self, *other)

    return operator


class SparseTensor:
    """What both forms share."""

    _format = None

    @property
    def __class__(self):
        """What isinstance asks for beside the type: a sparse tensor is a Tensor to programs."""
        return Tensor

    def __reduce__(self):
        return _again, (type(self), vars(self))

    def __init__(self, shape, values, name=None):
        self._shape = [int(size) for size in shape]
        self._values = values
        self._name = name

    def values(self):
        """The values, one for each place that is stored."""
        return self._values

    def nnz(self):
        """How many places are stored."""
        return self._values.shape[0]

    @property
    def _symbolic(self):
        return self._values._symbolic

    @property
    def shape(self):
        return Size(self._shape)

    @property
    def dtype(self):
        return self._values.dtype

    @property
    def place(self):
        return self._values.place

    @property
    def ndim(self):
        return len(self._shape)

    @property
    def size(self):
        return math.prod(self._shape)

    @property
    def name(self):
        return self._name or self._values.name

    @name.setter
    def name(self, name):
        self._name = name

    @property
    def stop_gradient(self):
        return self._values.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, stop):
        self._values.stop_gradient = stop

    @property
    def is_leaf(self):
        return self._values.is_leaf

    @property
    def grad(self):
        """The gradient, sparse at the same places; None before backward."""
        found = self._values.grad
        return None if found is None else self._like(found)

    def backward(self, grad_tensor=None, retain_graph=False, *, dump_backward_graph_path=None):
        """Tensor.backward from the values; grad_tensor: sparse, at the same places."""
        if isinstance(grad_tensor, SparseTensor):
            grad_tensor = grad_tensor.values().detach()
        self._values.backward(
            grad_tensor, retain_graph, dump_backward_graph_path=dump_backward_graph_path
        )

    def retain_grads(self):
        """Keeps the gradient of a result, too."""
        self._values.retain_grads()

    def clear_grad(self, set_to_zero=False):
        """Forgets the gradient, or sets it to 0."""
        self._values.clear_grad(set_to_zero)

    clear_gradient = clear_grad

    def detach(self):
        """This tensor without its history, on the same memory."""
        return self._like(self._values.detach())

    def clone(self):
        """A copy through which gradients flow."""
        return self._like(self._values.clone())

    def cast(self, dtype):
        """With values of another dtype."""
        return self._like(self._values.astype(dtype))

    astype = cast

    def element_size(self):
        """Bytes of a value."""
        return self._values.element_size()

    def numpy(self):
        """The whole tensor as a NumPy array."""
        return self.to_dense().numpy()

    def tolist(self):
        """The whole tensor as nested lists."""
        return self.to_dense().tolist()

    def dim(self):
        """Number of dimensions."""
        return self.ndim

    def is_sparse(self):
        """True."""
        return True

    def is_dense(self):
        """False."""
        return False

    def is_sparse_coo(self):
        """Whether the places are coordinates."""
        return self._format == "coo"

    def is_sparse_csr(self):
        """Whether the places are compressed rows."""
        return self._format == "csr"

    def is_same_shape(self, y):
        """Whether y has this shape."""
        return self._shape == [int(size) for size in y.shape]

    def __len__(self):
        return self._shape[0]

    __add__ = _operator("add")
    __sub__ = _operator("subtract")
    __mul__ = __rmul__ = _operator("multiply")
    __truediv__ = _operator("divide")
    __matmul__ = _operator("matmul")
    __neg__ = _operator("neg")

    def _text(self, **parts):
        from argosy.tensor.printing import _body

        shown = ", \n       ".join(
            f"{name}={_body(part.detach(), 8 + len(name))}" for name, part in parts.items()
        )
        return (
            f"Tensor(shape={self._shape}, dtype={self.dtype}, place={self.place!r},"
            f" stop_gradient={self.stop_gradient}, \n       {shown})"
        )


class SparseCooTensor(SparseTensor):
    """A sparse tensor whose places are coordinates: indices [sparse dims, n], values [n, ..]."""

    _format = "coo"

    def __init__(self, indices, values, shape, coalesced=False, name=None):
        super().__init__(shape, values, name)
        self._indices = indices
        self._coalesced = coalesced

    def _like(self, values):
        return SparseCooTensor(self._indices, values, self._shape, self._coalesced)

    def cpu(self):
        """This tensor, or a copy of it, on the CPU."""
        return SparseCooTensor(
            self._indices.cpu(), self._values.cpu(), self._shape, self._coalesced
        )

    def indices(self):
        """The coordinates, [sparse dims, n]."""
        return self._indices

    def sparse_dim(self):
        """Number of dimensions that the coordinates name."""
        return self._indices.shape[0]

    def dense_dim(self):
        """Number of dimensions that each value has."""
        return self.ndim - self.sparse_dim()

    def is_coalesced(self):
        """Whether the places are known to be in order, each once."""
        return self._coalesced

    def _numbers(self):
        return linear(self._indices, self._shape[: self.sparse_dim()])

    def coalesce(self, name=None):
        """The places in order, the values of those that are there twice added."""
        if self._coalesced:
            return self
        shape = self._shape[: self.sparse_dim()]
        if self.nnz() == 0:
            return SparseCooTensor(self._indices, self._values, self._shape, True)
        numbers, place = tensor.unique(self._numbers(), return_inverse=True)
        form = [numbers.shape[0], *self._values.shape[1:]]
        empty = tensor.zeros(form, self.dtype, device=place_of(self._values))
        values = tensor.index_add(empty, place, 0, self._values)
        indices = unravel(numbers, shape).astype(self._indices.dtype)
        return SparseCooTensor(indices, values, self._shape, True)

    def to_dense(self):
        """The whole tensor, 0 where nothing is stored."""
        lead = self._shape[: self.sparse_dim()]
        truth = self._values.dtype == "bool"  # which is not added up
        values = self._values.astype("int8") if truth else self._values
        form = [math.prod(lead), *values.shape[1:]]
        flat = tensor.zeros(form, values.dtype, device=place_of(values))
        if self.nnz():
            flat = tensor.index_add(flat, self._numbers(), 0, values)
        return (flat > 0 if truth else flat).reshape(self._shape)

    def to_sparse_coo(self, sparse_dim):
        """This tensor with coordinates of so many dimensions."""
        if sparse_dim == self.sparse_dim():
            return self
        return from_dense(self.to_dense(), sparse_dim)

    def to_sparse_csr(self):
        """The same in compressed rows; 2 or 3 dimensions."""
        if self.ndim not in (2, 3) or self.dense_dim():
            raise ValueError(
                "[to_sparse_csr] expected a matrix or a batch of them, all of whose dimensions are"
                f" sparse, got shape {self._shape} with {self.dense_dim()} dense dimensions. Do"
                " this: reshape it."
            )
        x = self.coalesce()
        *batch, rows, _ = self._shape
        row = linear(x._indices[:-1], self._shape[:-1])
        count = tensor.bincount(row, minlength=math.prod(batch) * rows)
        ends = tensor.cumsum(count.reshape([-1, rows]), axis=1)
        first = tensor.zeros([ends.shape[0], 1], "int64", device=place_of(ends))
        crows = tensor.concat([first, ends.astype("int64")], 1)
        cols = x._indices[-1].astype("int64")
        return SparseCsrTensor(crows.reshape([-1]), cols, x._values, self._shape)

    def __repr__(self):
        return self._text(indices=self._indices, values=self._values)


class SparseCsrTensor(SparseTensor):
    """A matrix, or a batch of them, in compressed rows: row i's entries are those from crows[i] to
    crows[i + 1] of cols and values. In a batch each matrix has its own crows, counted from 0."""

    _format = "csr"

    def __init__(self, crows, cols, values, shape, name=None):
        super().__init__(shape, values, name)
        self._crows = crows
        self._cols = cols

    def _like(self, values):
        return SparseCsrTensor(self._crows, self._cols, values, self._shape)

    def cpu(self):
        """This tensor, or a copy of it, on the CPU."""
        return SparseCsrTensor(self._crows.cpu(), self._cols.cpu(), self._values.cpu(), self._shape)

    def crows(self):
        """Where rows begin."""
        return self._crows

    def cols(self):
        """The columns of the entries."""
        return self._cols

    def sparse_dim(self):
        """2: the rows and columns of each matrix."""
        return 2

    def dense_dim(self):
        """0: each entry is a number."""
        return 0

    def to_sparse_csr(self):
        """This tensor."""
        return self

    def to_sparse_coo(self, sparse_dim=None):
        """The same with coordinates."""
        rows = self._shape[-2]
        starts = self._crows.astype("int64").reshape([-1, rows + 1])
        counts = (starts[:, 1:] - starts[:, :-1]).reshape([-1])
        row = tensor.arange(counts.shape[0], device=place_of(counts))
        row = tensor.repeat_interleave(row, counts)
        lead = unravel(row, self._shape[:-1])
        indices = tensor.concat([lead, self._cols.astype("int64").unsqueeze(0)])
        found = SparseCooTensor(indices, self._values, self._shape, True)
        return found if sparse_dim in (None, self.ndim) else found.to_sparse_coo(sparse_dim)

    def to_dense(self):
        """The whole tensor, 0 where nothing is stored."""
        return self.to_sparse_coo().to_dense()

    def __repr__(self):
        return self._text(crows=self._crows, cols=self._cols, values=self._values)


def from_dense(x, sparse_dim):
    """The places of x whose values (over the dimensions from sparse_dim on) are not all 0."""
    if not 0 < sparse_dim <= x.ndim:
        raise ValueError(
            f"[to_sparse_coo] sparse_dim: expected 1 .. {x.ndim}, got {sparse_dim}. Do this: correct"
            " it."
        )
    stored = x != 0
    if sparse_dim < x.ndim:
        stored = tensor.any(stored, axis=list(range(sparse_dim, x.ndim)))
    places = tensor.nonzero(stored)
    return SparseCooTensor(places.t(), tensor.gather_nd(x, places), list(x.shape), True)
