"""Methods of Tensor that belong to other ways to store elements: sparse, row-sparse, distributed, text.

A dense tensor has them too, as programs ask before they know; those that only another form can answer
say which.
"""

from argosy import _core
from argosy._generated import tensor as _ops
from argosy.tensor import creation, manipulation
from argosy.tensor.registry import method


class LayoutError(SystemError, NotImplementedError, TypeError):
    """A method of another way to store elements. Paddle raises one of these three, depending on where
    it notices."""


def _needs(name, forms, remedy, example):
    def refuse(self, *args, **kwargs):
        raise LayoutError(
            f"[Tensor.{name}] needs {forms}: got a {self._layout} tensor {list(self.shape)}."
            f" Do this: {remedy}"
        )

    refuse.__name__ = refuse.__qualname__ = name
    call, shown = example
    refuse.__doc__ = f"""Only {forms} has it.

    Args:
        args: What the method of such a tensor takes.
        kwargs: The same by name.

    Raises:
        LayoutError: This is a tensor of another form.

    Example:
        >>> x = argosy.to_tensor([[0.0, 2.0]])
        >>> {call}
        {shown}
    """
    return method(refuse, name)


_TO_CSR = "make one with x.to_sparse_csr()."
_TO_SPARSE = "make one with x.to_sparse_coo(x.ndim)."
_CSR, _COO = "x.to_sparse_csr()", "x.to_sparse_coo(2)"
_needs("crows", "a CSR tensor", _TO_CSR, (f"{_CSR}.crows().tolist()", "[0, 1]"))
_needs("cols", "a CSR tensor", _TO_CSR, (f"{_CSR}.cols().tolist()", "[1]"))
_needs("values", "a sparse tensor", _TO_SPARSE, (f"{_COO}.values().tolist()", "[2.0]"))
_needs("indices", "a COO tensor", _TO_SPARSE, (f"{_COO}.indices().tolist()", "[[0], [1]]"))
_needs("nnz", "a sparse tensor", _TO_SPARSE, (f"{_COO}.nnz()", "1"))
_needs("is_coalesced", "a COO tensor", _TO_SPARSE, (f"{_COO}.coalesce().is_coalesced()", "True"))


@method
def coalesce(self, name=None):
    """Only a COO tensor has it.

    Raises:
        LayoutError: This is a dense tensor.

    Example:
        >>> argosy.ones([2, 2]).to_sparse_coo(2).coalesce().is_coalesced()
        True
    """
    raise LayoutError(
        f"[Tensor.coalesce] needs a COO tensor: got a {self._layout} tensor {list(self.shape)}."
        f" Do this: {_TO_SPARSE}"
    )


@method
def sparse_dim(self):
    """The number of sparse dimensions.

    Returns:
        int: 0 for a dense tensor.

    Example:
        >>> argosy.ones([2, 2]).sparse_dim(), argosy.ones([2, 2]).to_sparse_coo(2).sparse_dim()
        (0, 2)
    """
    return 0


@method
def rows(self):
    """The rows that a row-sparse tensor holds.

    Returns:
        list[int]: Their numbers.

    Raises:
        LayoutError: It is not row-sparse.

    Example:
        >>> weight = argosy.create_parameter([5, 2], "float32")
        >>> ids = argosy.to_tensor([1, 3])
        >>> argosy.nn.functional.embedding(ids, weight, sparse=True).sum().backward()
        >>> weight.grad.rows()
        [1, 3]
    """
    if self._layout != "row_sparse":
        raise LayoutError(
            f"[Tensor.rows] needs a row-sparse tensor: got a {self._layout} tensor"
            f" {list(self.shape)}. Do this: take the gradient of an embedding with sparse=True."
        )
    return self._parts[0].tolist()


@method
def to_dense(self):
    """A row-sparse tensor with all of its rows; those that repeat add up. Sparse tensors have it, too.

    Returns:
        Tensor: Dense, of the same shape.

    Raises:
        LayoutError: It is dense already.

    Example:
        >>> weight = argosy.create_parameter([3, 1], "float32")
        >>> ids = argosy.to_tensor([1, 1])
        >>> argosy.nn.functional.embedding(ids, weight, sparse=True).sum().backward()
        >>> weight.grad.to_dense().tolist()
        [[0.0], [2.0], [0.0]]
    """
    if self._layout != "row_sparse":
        raise LayoutError(
            f"[Tensor.to_dense] needs a sparse tensor: got a {self._layout} tensor"
            f" {list(self.shape)}. Do this: use the tensor itself, it is dense."
        )
    return _core.ops.rows_to_dense(self)


@method
def get_selected_rows(self):
    """This tensor if it is row-sparse.

    Returns:
        Tensor | None: None if it is not.

    Example:
        >>> argosy.ones([2]).get_selected_rows() is None
        True
    """
    return self if self._layout == "row_sparse" else None


# Tensors of text: a table of words, or a list of strings, in place of numbers.


@method
def set_vocab(self, words):
    """Makes this tensor carry a table of words.

    Args:
        words (dict): Numbers by words.

    Example:
        >>> x = argosy.ones([1])
        >>> x.set_vocab({"a": 0})
        >>> x.get_map_tensor()
        {'a': 0}
    """
    self._words = dict(words)


@method
def get_map_tensor(self):
    """The table that set_vocab gave this tensor.

    Returns:
        dict: Numbers by words.

    Raises:
        LayoutError: There is none.

    Example:
        >>> x = argosy.ones([1])
        >>> x.set_vocab({"b": 1})
        >>> x.get_map_tensor()["b"]
        1
    """
    words = getattr(self, "_words", None)
    if words is None:
        raise LayoutError(
            "[Tensor.get_map_tensor] this tensor carries no table of words. Do this: call"
            " set_vocab(words) first."
        )
    return words


@method
def set_string_list(self, strings):
    """Makes this tensor carry strings.

    Args:
        strings (list[str]): They.

    Example:
        >>> argosy.ones([1]).set_string_list(["a"])
    """
    self._strings = list(strings)


# Of tensors that several processes hold parts of: one process holds all of each.
# Of distributed.shard_tensor.
method(
    property(
        lambda self: getattr(self, "_placed_on", (None, None))[0],
        doc="The processes that hold parts, a ProcessMesh; None where it was not placed.",
    ),
    "process_mesh",
)
method(
    property(
        lambda self: getattr(self, "_placed_on", (None, None))[1],
        doc="How the parts are placed along each axis of process_mesh, a list; None without one.",
    ),
    "placements",
)
method(property(lambda self: None, doc="In how many parts it is: None."), "num_shard")


def _grad(self):
    """The gradient itself, not a copy; None if there is none."""
    return self.grad


method(property(_grad, lambda self, value: setattr(self, "grad", value)), "grad_")


@method
def reconstruct_from_(self, other):
    """Takes the value, shape and dtype of another tensor; the memory is shared.

    Args:
        other (Tensor): It.

    Raises:
        TypeError: It is none.

    Example:
        >>> x = argosy.zeros([1])
        >>> x.reconstruct_from_(argosy.arange(3))
        >>> x.tolist()
        [0, 1, 2]
    """
    if not isinstance(other, _core.Tensor):
        raise TypeError(
            f"[Tensor.reconstruct_from_] other: expected a Tensor, got {type(other).__name__}."
            " Do this: make it one with argosy.to_tensor(..)."
        )
    self._set_data(other)


@method
def set_tensor(self, value, place=None):
    """Takes the value, shape and dtype of something else.

    Args:
        value (Tensor | numpy.ndarray): It; an array is copied.
        place (Place, optional): Where to.

    Example:
        >>> x = argosy.zeros([1])
        >>> x.set_tensor(np.int64([1, 2]))
        >>> x.tolist()
        [1, 2]
    """
    if place is not None:
        value = creation.to_tensor(value, place=place)
    self._set_data(value if isinstance(value, _core.Tensor) else creation.to_tensor(value))


def create_tensor(dtype, name=None, persistable=False):
    """A tensor without elements, to be filled by other calls.

    Args:
        dtype (dtype | str): Its dtype.
        name (str, optional): Its name.
        persistable (bool): Whether it is marked so.

    Returns:
        Tensor: [0].

    Example:
        >>> argosy.Tensor.create_tensor("float32").shape
        paddle.Size([0])
    """
    made = _ops.empty([0], dtype)
    made.persistable = persistable
    if name is not None:
        made.name = name
    return made


method(staticmethod(create_tensor), "create_tensor")
method(staticmethod(manipulation.broadcast_shapes), "broadcast_shapes")
