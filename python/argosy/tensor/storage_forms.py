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


def _needs(name, forms, remedy):
    def refuse(self, *args, **kwargs):
        raise LayoutError(
            f"[Tensor.{name}] needs {forms}: got a {self._layout} tensor {list(self.shape)}."
            f" Do this: {remedy}"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Only {forms} has it; a dense tensor raises LayoutError."
    return method(refuse, name)


_TO_CSR = "make one with x.to_sparse_csr()."
_TO_SPARSE = "make one with x.to_sparse_coo(x.ndim)."
_needs("crows", "a CSR tensor", _TO_CSR)
_needs("cols", "a CSR tensor", _TO_CSR)
_needs("values", "a sparse tensor", _TO_SPARSE)
_needs("indices", "a COO tensor", _TO_SPARSE)
_needs("nnz", "a sparse tensor", _TO_SPARSE)
_needs("to_dense", "a sparse tensor", "use the tensor itself, it is dense.")
_needs("is_coalesced", "a COO tensor", _TO_SPARSE)


@method
def coalesce(self, name=None):
    """Only a COO tensor has it; a dense tensor raises LayoutError."""
    raise LayoutError(
        f"[Tensor.coalesce] needs a COO tensor: got a {self._layout} tensor {list(self.shape)}."
        f" Do this: {_TO_SPARSE}"
    )


@method
def sparse_dim(self):
    """Number of sparse dimensions: 0 for a dense tensor."""
    return 0


@method
def rows(self):
    """The rows that a row-sparse tensor holds, as a list."""
    if self._layout != "row_sparse":
        raise LayoutError(
            f"[Tensor.rows] needs a row-sparse tensor: got a {self._layout} tensor"
            f" {list(self.shape)}. Do this: take the gradient of an embedding with sparse=True."
        )
    return self._parts[0].tolist()


@method
def get_selected_rows(self):
    """This tensor if it is row-sparse, else None."""
    return self if self._layout == "row_sparse" else None


# Tensors of text: a table of words, or a list of strings, in place of numbers.


@method
def set_vocab(self, words):
    """Makes this tensor carry a dict from words to numbers."""
    self._words = dict(words)


@method
def get_map_tensor(self):
    """The dict that set_vocab gave this tensor."""
    words = getattr(self, "_words", None)
    if words is None:
        raise LayoutError(
            "[Tensor.get_map_tensor] this tensor carries no table of words. Do this: call"
            " set_vocab(words) first."
        )
    return words


@method
def set_string_list(self, strings):
    """Makes this tensor carry a list of strings."""
    self._strings = list(strings)


# Of tensors that several processes hold parts of: one process holds all of each.
method(property(lambda self: None, doc="The processes that hold parts: None."), "process_mesh")
method(property(lambda self: None, doc="How the parts are placed: None."), "placements")
method(property(lambda self: None, doc="In how many parts it is: None."), "num_shard")


def _grad(self):
    """The gradient itself, not a copy; None if there is none."""
    return self.grad


method(property(_grad, lambda self, value: setattr(self, "grad", value)), "grad_")


@method
def reconstruct_from_(self, other):
    """Takes the value, shape and dtype of other; the memory is shared."""
    if not isinstance(other, _core.Tensor):
        raise TypeError(
            f"[Tensor.reconstruct_from_] other: expected a Tensor, got {type(other).__name__}."
            " Do this: make it one with argosy.to_tensor(..)."
        )
    self._set_data(other)


@method
def set_tensor(self, value, place=None):
    """Takes the value, shape and dtype of value: a tensor, or an array that is copied."""
    self._set_data(value if isinstance(value, _core.Tensor) else creation.to_tensor(value))


def create_tensor(dtype, name=None, persistable=False):
    """A tensor without elements, to be filled by other calls."""
    made = _ops.empty([0], dtype)
    made.persistable = persistable
    if name is not None:
        made.name = name
    return made


method(staticmethod(create_tensor), "create_tensor")
method(staticmethod(manipulation.broadcast_shapes), "broadcast_shapes")
