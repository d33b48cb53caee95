"""The types of tensors that models learn and of values of Programs."""

from __future__ import annotations

import copy

from argosy import tensor as tensors
from argosy._core import Tensor
from argosy.autograd import no_grad
from argosy.tensor.program_value import METHODS

from . import unique_name

__all__ = ["EagerParamBase", "Parameter", "Variable", "set_data"]


class _VariableType(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance._symbolic


class Variable(metaclass=_VariableType):
    """The type that values of a Program have in `isinstance`: they are Tensors without data.

    They are made by calls in static mode and by ``static.data``, not by this class.
    """

    def __new__(cls, *args, **kwargs):
        raise TypeError(
            "[Variable] values of a Program are not made by their type. Do this: call static.data "
            "for an input, or Block.create_var."
        )


for _name, _value in METHODS.items():
    setattr(Variable, _name, _value)


def set_data(target, value):
    """Makes a tensor hold the storage, shape and dtype of another: no copy, no gradient.

    Args:
        target (Tensor): What changes.
        value (Tensor): The other one.

    Example:
        >>> x = argosy.zeros([1])
        >>> argosy.base.framework.set_data(x, argosy.arange(2))
        >>> x.tolist()
        [0, 1]
    """
    target._set_data(value)


class EagerParamBase(Tensor):
    """A tensor that a model learns. Layers make them through ``Layer.create_parameter``.

    Args:
        data: a tensor whose storage is taken over, or a shape (list of int, values undefined).
        requires_grad: dtype when ``data`` is a shape; else whether the parameter is trained.
        kwargs: name, trainable, optimize_attr, regularizer, do_model_average, need_clip.

    Example:
        >>> x = argosy.base.framework.EagerParamBase(argosy.ones([2]))
        >>> x.stop_gradient, x.trainable
        (False, True)
    """

    def __new__(cls, *args, **kwargs):
        return Tensor.__new__(cls)

    def __init__(self, data=None, requires_grad=True, **kwargs):
        shape = kwargs.pop("shape", None)
        dtype = kwargs.pop("dtype", None)
        if shape is None and isinstance(data, (list, tuple)) and not isinstance(data, Tensor):
            shape, data = data, None
            if not isinstance(requires_grad, bool):
                dtype, requires_grad = requires_grad, True
        if data is None:
            data = tensors.empty([0] if shape is None else shape, dtype)
        elif not isinstance(data, Tensor):
            data = tensors.to_tensor(data)
        trainable = kwargs.pop("trainable", requires_grad)
        self._setup(data, bool(trainable), **kwargs)

    def _setup(self, data, trainable=True, **attributes):
        set_data(self, data)
        self._describe(trainable, **attributes)

    def _describe(
        self,
        trainable=True,
        name=None,
        optimize_attr=None,
        regularizer=None,
        do_model_average=None,
        need_clip=True,
        **kwargs,
    ):
        self.name = unique_name.generate("_eager_param_base") if name is None else name
        self.persistable = True
        self.stop_gradient = not trainable
        self.optimize_attr = {"learning_rate": 1.0} if optimize_attr is None else optimize_attr
        self.regularizer = regularizer
        self.do_model_average = do_model_average
        self.need_clip = need_clip
        self.is_distributed = kwargs.pop("is_distributed", False)
        self._init_func = None

    @classmethod
    def from_tensor(cls, tensor, **kwargs):
        """A parameter on the storage of a tensor.

        Args:
            tensor (Tensor): It.
            kwargs: name, trainable, optimize_attr, regularizer, do_model_average, need_clip.

        Returns:
            EagerParamBase: The parameter.

        Example:
            >>> argosy.base.framework.EagerParamBase.from_tensor(argosy.ones([2]), name="w").name
            'w'
        """
        param = Tensor.__new__(cls)
        param._setup(tensor, kwargs.pop("trainable", True), **kwargs)
        return param

    is_parameter = property(lambda self: True, doc=Tensor.is_parameter.__doc__)

    @property
    def trainable(self):
        """Whether gradients are computed for this parameter (the negation of stop_gradient)."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value):
        if not isinstance(value, bool):
            raise ValueError(
                f"[Parameter.trainable] expected a bool, got {type(value).__name__}. Do this: "
                "set True or False."
            )
        self.stop_gradient = not value

    def set_init_func(self, obj):
        """Says what :meth:`initialize` does.

        Args:
            obj (callable): Gets the parameter.

        Example:
            >>> x = argosy.base.framework.EagerParamBase(argosy.zeros([2]))
            >>> x.set_init_func(lambda p: p.set_value(np.float32([1, 2])))
            >>> x.initialize()
            >>> x.tolist()
            [1.0, 2.0]
        """
        self._init_func = obj

    def initialize(self):
        """Fills a parameter that was made under ``LazyGuard``.

        Raises:
            ValueError: It was not, or is filled already.
        """
        if self._init_func is None:
            raise ValueError(
                f"[Parameter.initialize] '{self.name}' has nothing to run: it was not created "
                "under LazyGuard, or is initialized already. Do this: call initialize() once."
            )
        func, self._init_func = self._init_func, None
        func(self)

    def _attributes(self):
        return {
            "trainable": self.trainable,
            "optimize_attr": self.optimize_attr,
            "regularizer": self.regularizer,
            "do_model_average": self.do_model_average,
            "need_clip": self.need_clip,
            "is_distributed": self.is_distributed,
        }

    def __deepcopy__(self, memo):
        if self._symbolic:
            from .static_parameter import copy_parameter

            memo[id(self)] = result = copy_parameter(self, self._attributes())
            return result
        with no_grad():
            data = self.detach().clone()
        kwargs = copy.deepcopy(self._attributes(), memo)
        name = self.name + unique_name.generate("_deepcopy")
        result = type(self).from_tensor(data, name=name, **kwargs)
        result._init_func = self._init_func
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (type(self), self.detach(), self.name, self._attributes())

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__


Parameter = EagerParamBase


def _rebuild_parameter(cls, data, name, attributes):
    return cls.from_tensor(data, name=name, **attributes)
