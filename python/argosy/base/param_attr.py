"""Attributes from which a layer's parameter is made."""

from __future__ import annotations

__all__ = ["ParamAttr", "WeightNormParamAttr"]


class ParamAttr:
    """What a layer should know to create one of its parameters.

    Args:
        name: name of the parameter; None generates one such as ``linear_0.w_0``.
        initializer: an ``nn.initializer`` object; None takes the layer's default.
        learning_rate: factor on the optimizer's learning rate for this parameter.
        regularizer: ``regularizer.L1Decay``/``L2Decay`` that overrides the optimizer's.
        trainable: False freezes the parameter (``stop_gradient`` is True).
        do_model_average: whether model averaging covers this parameter.
        need_clip: whether gradient clipping covers this parameter.

    Raises:
        ValueError: ``name`` is an empty string.
    """

    def __init__(
        self,
        name=None,
        initializer=None,
        learning_rate=1.0,
        regularizer=None,
        trainable=True,
        do_model_average=True,
        need_clip=True,
    ):
        if name == "":
            raise ValueError(
                "[ParamAttr] name is empty: expected a non-empty str or None. "
                "Do this: leave name out to have one generated."
            )
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.need_clip = need_clip

    def _set_default_initializer(self, initializer):
        if self.initializer is None:
            if initializer is None:
                raise ValueError(
                    "[ParamAttr] initializer: expected an initializer, got None. Do this: pass one "
                    "of nn.initializer."
                )
            self.initializer = initializer

    @staticmethod
    def _to_attr(arg):
        """Turn what layers accept as ``weight_attr`` into a ParamAttr (or False: no parameter)."""
        if arg is None:
            return ParamAttr()
        if isinstance(arg, ParamAttr):
            return arg
        if isinstance(arg, (list, tuple)):
            return [ParamAttr._to_attr(item) for item in arg]
        if isinstance(arg, str):
            return ParamAttr(name=arg)
        if isinstance(arg, bool):
            return ParamAttr() if arg else False
        from argosy.regularizer import WeightDecayRegularizer

        if getattr(type(arg), "_initializes", False):
            return ParamAttr(initializer=arg)
        if isinstance(arg, WeightDecayRegularizer):
            return ParamAttr(regularizer=arg)
        raise TypeError(
            "[ParamAttr] expected a ParamAttr, a name, an initializer, a regularizer or a "
            f"bool, got {type(arg).__name__}. Do this: pass one of them."
        )

    def _to_kwargs(self, with_initializer=False):
        kwargs = {
            "name": self.name,
            "optimize_attr": {"learning_rate": self.learning_rate},
            "regularizer": self.regularizer,
            "trainable": self.trainable,
            "do_model_average": self.do_model_average,
            "need_clip": self.need_clip,
        }
        if with_initializer:
            kwargs["initializer"] = self.initializer
        return kwargs


class WeightNormParamAttr(ParamAttr):
    """A :class:`ParamAttr` that asks for weight normalization along ``dim`` (static graphs)."""

    def __init__(
        self,
        dim=None,
        name=None,
        initializer=None,
        learning_rate=1.0,
        regularizer=None,
        trainable=True,
        do_model_average=False,
        need_clip=True,
    ):
        super().__init__(
            name, initializer, learning_rate, regularizer, trainable, do_model_average, need_clip
        )
        self.dim = dim
