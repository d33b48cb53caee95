"""A linear layer."""

from __future__ import annotations

from argosy.nn import Layer

from .. import functional as F


class FusedLinear(Layer):
    """``x @ weight + bias``.

    Args:
        in_features, out_features (int): sizes of the last axis of input and result.
        weight_attr (ParamAttr, optional): attributes of ``weight`` [in, out], or [out, in] with
            transpose_weight.
        bias_attr (ParamAttr | bool, optional): attributes of ``bias`` [out]; False leaves it out.
        transpose_weight (bool): see ``weight_attr``.

    Shape: [.., in_features] to [.., out_features].

    Examples:
        >>> argosy.incubate.nn.FusedLinear(2, 3)(argosy.ones([4, 2])).shape
        paddle.Size([4, 3])
    """

    def __init__(
        self,
        in_features,
        out_features,
        weight_attr=None,
        bias_attr=None,
        transpose_weight=False,
        name=None,
    ):
        super().__init__()
        shape = [in_features, out_features]
        self.weight = self.create_parameter(
            shape=shape[::-1] if transpose_weight else shape, attr=weight_attr
        )
        self.bias = self.create_parameter(shape=[out_features], attr=bias_attr, is_bias=True)
        self.transpose_weight = transpose_weight
        self.name = name

    def forward(self, input):
        return F.fused_linear(input, self.weight, self.bias, self.transpose_weight)
