"""Making parameters, variables and operations outside of a layer."""

from __future__ import annotations

from argosy._programs import mode
from argosy._support import unsupported
from argosy.base import static_parameter, unique_name
from argosy.base.param_attr import ParamAttr
from argosy.device.place import checked_place
from argosy.nn.layer._helper import make_parameter

__all__ = []


class LayerHelper:
    """Names and creates parameters for a function called ``layer_type``; in static mode also
    variables and operations.

    Args:
        layer_type (str): What the function is; names of parameters start with it.
        kwargs: The arguments of that function: ``name``, ``act``, ``param_attr``, ``bias_attr``.
    """

    def __init__(self, layer_type, **kwargs):
        self.kwargs = kwargs
        self.layer_type = layer_type
        self.name = kwargs.get("name") or unique_name.generate(layer_type)

    @property
    def main_program(self):
        """The Program that calls are added to."""
        return mode.default_main_program()

    @property
    def startup_program(self):
        """The Program that gives parameters their first values."""
        return mode.default_startup_program()

    @property
    def param_attr(self):
        """ParamAttr of the weight that the caller gave."""
        return ParamAttr._to_attr(self.kwargs.get("param_attr"))

    @property
    def bias_attr(self):
        """ParamAttr of the bias that the caller gave."""
        return ParamAttr._to_attr(self.kwargs.get("bias_attr"))

    def input(self, input_param_name="input"):
        """The argument of this name."""
        return self.kwargs[input_param_name]

    def input_dtype(self, input_param_name="input"):
        """dtype of the argument of this name."""
        return self.kwargs[input_param_name].dtype

    def create_parameter(
        self, attr, shape, dtype=None, is_bias=False, default_initializer=None,
        stop_gradient=False, type=None, device=None,
    ):  # fmt: skip
        """A Parameter, called after this helper unless `attr` says otherwise. stop_gradient: no
        gradient is taken of it. type: a parameter is a dense tensor. device: where it is."""
        if device is not None:
            checked_place(device, "LayerHelper.create_parameter")
        dense = getattr(type, "name", type) in (None, "LOD_TENSOR", "DENSE_TENSOR")
        unsupported(
            "LayerHelper.create_parameter", "leave it out", type=(None if dense else type, None)
        )
        made = make_parameter(self.name, shape, attr, dtype, is_bias, default_initializer)
        if stop_gradient and made is not None:
            made.stop_gradient = True
        return made

    def create_variable_for_type_inference(self, dtype, stop_gradient=False, shape=None):
        """A variable for append_op to write."""
        name = unique_name.generate(f"{self.name}.tmp")
        return self.main_program.global_block().create_var(
            name=name, dtype=dtype, shape=shape, stop_gradient=stop_gradient
        )

    create_tmp_variable = create_variable_for_type_inference

    def create_variable(self, name=None, shape=None, dtype="float32", **kwargs):
        """A variable for append_op to write, or with ``persistable`` one whose value is kept."""
        block = self.main_program.global_block()
        return block.create_var(name=name, shape=shape, dtype=dtype, **kwargs)

    def create_global_variable(self, persistable=False, name=None, **kwargs):
        """create_variable under a name that is made up if None."""
        name = name or unique_name.generate(f"{self.name}.tmp")
        return self.create_variable(name=name, persistable=persistable, **kwargs)

    def set_variable_initializer(self, var, initializer):
        """Lets the startup program give `var` its first value by an Initializer."""
        static_parameter.initialize(var, initializer)
        return var

    def append_op(self, *args, **kwargs):
        """Block.append_op of the main Program."""
        return self.main_program.global_block().append_op(*args, **kwargs)

    def append_activation(self, input_var):
        """The activation that the caller named as ``act``, applied."""
        from argosy.static.nn.common import _activated

        return _activated(input_var, self.kwargs.get("act"))
