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

    Example:
        >>> argosy.enable_static()
        >>> from argosy.common_ops_import import LayerHelper
        >>> def scaled(input, act=None, name=None):
        ...     helper = LayerHelper("scaled", **locals())
        ...     weight = helper.create_parameter(None, [3], helper.input_dtype())
        ...     out = helper.create_variable_for_type_inference("float32")
        ...     ins = {"X": helper.input(), "Y": weight}
        ...     helper.append_op(type="elementwise_mul", inputs=ins, outputs={"Out": out})
        ...     return helper.append_activation(out)
        >>> list(scaled(argosy.static.data("x", [2, 3], "float32"), act="relu").shape)
        [2, 3]
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
        """An argument of the function.

        Args:
            input_param_name (str): Its name.

        Returns:
            Its value.
        """
        return self.kwargs[input_param_name]

    def input_dtype(self, input_param_name="input"):
        """The dtype of an argument of the function.

        Args:
            input_param_name (str): Its name.

        Returns:
            dtype: Of its value.
        """
        return self.kwargs[input_param_name].dtype

    def create_parameter(
        self, attr, shape, dtype=None, is_bias=False, default_initializer=None,
        stop_gradient=False, type=None, device=None,
    ):  # fmt: skip
        """A Parameter, called after this helper unless `attr` says otherwise.

        Args:
            attr (ParamAttr | str | bool, optional): What is known of it; False for none.
            shape (list[int]): Its sizes.
            dtype (dtype | str, optional): Of the elements; default: the default dtype.
            is_bias (bool): Starts from zeros, not by Xavier, if nothing else is said.
            default_initializer (Initializer, optional): First value, unless attr has one.
            stop_gradient (bool): Whether no gradient is taken of it.
            type (optional): A parameter is a dense tensor.
            device (Place | str, optional): Where it is.

        Returns:
            Parameter | None: None if attr is False.
        """
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
        """A variable for append_op to write.

        Args:
            dtype (dtype | str): Of the elements.
            stop_gradient (bool): Whether no gradient flows through it.
            shape (list[int], optional): Its sizes; append_op finds them.

        Returns:
            Variable: It.
        """
        name = unique_name.generate(f"{self.name}.tmp")
        return self.main_program.global_block().create_var(
            name=name, dtype=dtype, shape=shape, stop_gradient=stop_gradient
        )

    create_tmp_variable = create_variable_for_type_inference

    def create_variable(self, name=None, shape=None, dtype="float32", **kwargs):
        """A variable for append_op to write, or with ``persistable`` one whose value is kept.

        Args:
            name (str, optional): One is made up if None.
            shape (list[int], optional): Needed if persistable.
            dtype (dtype | str): Of the elements.
            kwargs: As of Block.create_var.

        Returns:
            Variable: It.

        Example:
            >>> argosy.enable_static()
            >>> from argosy.common_ops_import import LayerHelper
            >>> helper = LayerHelper("f")
            >>> helper.create_variable(name="v", shape=[2]).name
            'v'
        """
        block = self.main_program.global_block()
        return block.create_var(name=name, shape=shape, dtype=dtype, **kwargs)

    def create_global_variable(self, persistable=False, name=None, **kwargs):
        """create_variable under a name that is made up if None.

        Args:
            persistable (bool): Whether its value is kept.
            name (str, optional): Its name.
            kwargs: As of Block.create_var.

        Returns:
            Variable: It.

        Example:
            >>> argosy.enable_static()
            >>> from argosy.common_ops_import import LayerHelper
            >>> from argosy.nn.initializer import Constant
            >>> helper = LayerHelper("f")
            >>> variable = helper.create_global_variable(persistable=True, shape=[2], dtype="float32")
            >>> _ = helper.set_variable_initializer(variable, Constant(3.0))
            >>> _ = argosy.static.Executor().run(argosy.static.default_startup_program())
            >>> variable.get_value().numpy().tolist()
            [3.0, 3.0]
        """
        name = name or unique_name.generate(f"{self.name}.tmp")
        return self.create_variable(name=name, persistable=persistable, **kwargs)

    def set_variable_initializer(self, var, initializer):
        """Lets the startup program give a variable its first value.

        Args:
            var (Variable): It.
            initializer (Initializer): What makes the value.

        Returns:
            Variable: var.

        Example:
            >>> argosy.enable_static()
            >>> from argosy.common_ops_import import LayerHelper
            >>> helper = LayerHelper("f")
            >>> variable = helper.create_variable(shape=[2], persistable=True)
            >>> helper.set_variable_initializer(variable, argosy.nn.initializer.Constant(1.0)) is variable
            True
        """
        static_parameter.initialize(var, initializer)
        return var

    def append_op(self, *args, **kwargs):
        """Adds an operation to the main Program.

        Args:
            args: As of Block.append_op.
            kwargs: The same by name.

        Returns:
            Operator: It.
        """
        return self.main_program.global_block().append_op(*args, **kwargs)

    def append_bias_op(self, input_var, dim_start=1, dim_end=None):
        """Adds the bias that the caller described as ``bias_attr``.

        Args:
            input_var (Variable): To what.
            dim_start (int): The first dimension that the bias has.
            dim_end (int, optional): That after its last one; default: all that follow.

        Returns:
            Variable: The sum; input_var if ``bias_attr`` is False.

        Example:
            >>> argosy.enable_static()
            >>> x = argosy.static.data("x", [2, 3], "float32")
            >>> list(argosy.base.layer_helper.LayerHelper("biased").append_bias_op(x).shape)
            [2, 3]
        """
        sizes = list(input_var.shape[dim_start:dim_end])
        bias = self.create_parameter(self.bias_attr, sizes, input_var.dtype, is_bias=True)
        if bias is None:
            return input_var
        tail = len(input_var.shape) - dim_start - len(sizes)
        return input_var + bias.reshape([*sizes, *[1] * tail])

    def append_activation(self, input_var):
        """Applies the activation that the caller named as ``act``.

        Args:
            input_var (Variable): To what.

        Returns:
            Variable: The result; input_var if there is none.
        """
        from argosy.static.nn.common import _activated

        return _activated(input_var, self.kwargs.get("act"))
