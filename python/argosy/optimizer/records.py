"""What optimizers keep of their parameters, and say of their accumulators."""

__all__ = []


class Spec:
    """One accumulator of each parameter: its name, first value, and shape.

    fill: a number, or the name of the option that gives it.
    shape: "like" the parameter; "one" element, shape [1]; "spread": one element that state_dict shows
    in the parameter's shape; or a function of the parameter's shape.
    dtype: None for the computing type of the parameter (see Optimizer._state_dtype), else a name.
    """

    __slots__ = ("name", "fill", "shape", "dtype")

    def __init__(self, name, fill=0.0, shape="like", dtype=None):
        self.name = name
        self.fill = fill
        self.shape = shape
        self.dtype = dtype


class Batch:
    """What one call of an optimizer op needs besides gradients: parallel lists over parameters."""

    __slots__ = ("params", "states", "masters", "lr_scales", "l1", "l2", "others", "extra")


class Group:
    """Parameters that share options, and the batches made so far, by the ids of their parameters:
    which of them have a gradient may change from step to step."""

    __slots__ = ("params", "options", "batches", "last")

    def __init__(self, params, options):
        self.params = params
        self.options = options
        self.batches = {}
        self.last = None
