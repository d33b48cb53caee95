"""What optimizers keep of their parameters, and say of their accumulators."""

from argosy import _core
from argosy._dtypes import widened

__all__ = []


class Spec:
    """One accumulator of each parameter: its name, first value, and shape.

    fill: a number, or the name of the option that gives it.
    shape: "like" the parameter; "one" element, shape [1]; "spread": one element that state_dict shows
    in the parameter's shape; or a function of the parameter's shape.
    dtype: None for the computing type of the parameter (see Optimizer._state_dtype); "wide": the
    parameter's, float32 where that has 16 bits; "scalar": float32, float64 for float64; else a name.
    """

    __slots__ = ("name", "fill", "shape", "dtype")

    def __init__(self, name, fill=0.0, shape="like", dtype=None):
        self.name = name
        self.fill = fill
        self.shape = shape
        self.dtype = dtype

    def shape_for(self, param):
        """Sizes of a parameter's accumulator; None: the parameter's."""
        if self.shape == "like":
            return None
        return [1] if self.shape in ("one", "spread") else self.shape(list(param.shape))

    def dtype_for(self, param):
        """dtype of a parameter's accumulator; None: its computing type."""
        if self.dtype == "scalar":
            return param.dtype if param.dtype == _core.float64 else _core.float32
        if self.dtype == "wide":
            return widened(param.dtype)
        return self.dtype


class Group:
    """Parameters that share options, and the batches made so far, by the ids of their parameters:
    which of them have a gradient may change from step to step. marked: what parameters carry of the options."""

    __slots__ = ("params", "options", "batches", "last", "marked")

    def __init__(self, params, options):
        self.params = params
        self.options = options
        self.batches = {}
        self.last = None
        self.marked = None
