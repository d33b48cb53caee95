"""Layers in a row that a pipeline would divide into stages."""

from __future__ import annotations

from argosy import nn
from argosy._support import no_effect, unsupported
from argosy.distributed.fleet.utils.recomputation import recompute

__all__ = []


class LayerDesc:
    """How a layer is made.

    Args:
        layer_func (type): The layer's class.
        *inputs, **kwargs: Its arguments.

    Raises:
        TypeError: It is no class of layers.

    Example:
        >>> from argosy.distributed.fleet.meta_parallel import LayerDesc
        >>> type(LayerDesc(argosy.nn.Linear, 2, 3).build_layer()).__name__
        'Linear'
    """

    def __init__(self, layer_func, *inputs, **kwargs):
        if not (isinstance(layer_func, type) and issubclass(layer_func, nn.Layer)):
            raise TypeError(
                f"[LayerDesc] layer_func: expected a class derived from nn.Layer, got {layer_func!r}."
            )
        self.layer_func = layer_func
        self.inputs = inputs
        self.kwargs = kwargs

    def build_layer(self):
        """Makes the layer.

        Returns:
            Layer: It.
        """
        return self.layer_func(*self.inputs, **self.kwargs)


class SharedLayerDesc(LayerDesc):
    """How a layer is made that comes several times: all of one key are one layer.

    Args:
        key (str): Which.
        layer_func (type): The layer's class.
        forward_func (callable, optional): forward_func(layer, x) in the place of the layer's forward.
        shared_weight_attr (str): The attribute that stages would share; with one stage all is shared.
        *inputs, **kwargs: Arguments of the class.

    Example:
        >>> from argosy.distributed.fleet.meta_parallel import SharedLayerDesc
        >>> SharedLayerDesc("table", argosy.nn.Linear, None, "weight", 2, 3).layer_name
        'table'
    """

    def __init__(
        self,
        key,
        layer_func,
        forward_func=None,
        shared_weight_attr="weight",
        *inputs,
        **kwargs,
    ):
        super().__init__(layer_func, *inputs, **kwargs)
        self.layer_name = key
        self.forward_func = forward_func
        self.shared_weight_attr = shared_weight_attr


class PipelineLayer(nn.Layer):
    """Layers one after the other, all in this process.

    Args:
        layers (list): LayerDesc, layers and functions.
        num_stages (int, optional): 1.
        topology (CommunicateTopology, optional): With one place along "pipe".
        loss_fn (callable, optional): No effect: the program applies it itself.
        seg_method (str): No effect: there is one stage.
        recompute_interval (int): Layers between two results that are kept for backward; 0 keeps all.
        recompute_ctx (optional): Only None.
        num_virtual_pipeline_stages (int, optional): Only 1.
        use_cudagraph (bool): Only False.
        use_dualpipev (bool): Only False.

    Shape: what the first layer takes; the result is the last one's.

    Raises:
        NotImplementedError: There are several stages.

    Example:
        >>> from argosy.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer
        >>> net = PipelineLayer([LayerDesc(argosy.nn.Linear, 2, 3), argosy.nn.functional.relu], num_stages=1)
        >>> net(argosy.ones([4, 2])).shape
        paddle.Size([4, 3])
        >>> net.get_num_virtual_stages(), net.get_stage_from_index(1)
        (1, 0)
    """

    def __init__(
        self,
        layers,
        num_stages=None,
        topology=None,
        loss_fn=None,
        seg_method="uniform",
        recompute_interval=0,
        recompute_ctx=None,
        num_virtual_pipeline_stages=None,
        use_cudagraph=False,
        use_dualpipev=False,
    ):
        super().__init__()
        unsupported(
            "PipelineLayer", "leave it out", recompute_ctx=(recompute_ctx, None),
            use_cudagraph=(use_cudagraph, False), use_dualpipev=(use_dualpipev, False),
        )  # fmt: skip
        stages = topology.get_dim("pipe") if topology is not None else num_stages or 1
        if stages > 1 or (num_virtual_pipeline_stages or 1) > 1:
            raise NotImplementedError(
                f"[PipelineLayer] pipelines are not supported: expected 1 stage, got"
                f" {max(stages, num_virtual_pipeline_stages or 1)}. Do this: num_stages=1, with the axis"
                " 'data' for the processes."
            )
        no_effect(
            "PipelineLayer", "there is one stage, and the program applies its loss itself",
            loss_fn=(loss_fn, None), seg_method=(seg_method, "uniform"),
        )  # fmt: skip
        self._recompute_interval = recompute_interval
        self._num_stages = 1
        self.shared_layers = nn.LayerDict()
        self.run_function = [self._made(k, layer) for k, layer in enumerate(layers)]

    def _made(self, number, given):
        """The function of a place in the row."""
        if isinstance(given, SharedLayerDesc):
            key = given.layer_name
            if key not in self.shared_layers:
                self.shared_layers[key] = given.build_layer()
            layer = self.shared_layers[key]
            if given.forward_func is None:
                return layer
            return lambda *x: given.forward_func(layer, *x)
        if isinstance(given, LayerDesc):
            given = given.build_layer()
        if isinstance(given, nn.Layer):
            self.add_sublayer(str(number), given)
        return given

    def get_num_virtual_stages(self):
        """How many parts of the row a process has.

        Returns:
            int: 1.
        """
        return 1

    def get_stage_from_index(self, layer_idx):
        """The stage of a layer.

        Args:
            layer_idx (int): Its place in the row.

        Returns:
            int: 0.

        Raises:
            ValueError: There is no such layer.
        """
        if layer_idx not in range(len(self.run_function)):
            raise ValueError(
                f"[PipelineLayer.get_stage_from_index] layer_idx: expected one below"
                f" {len(self.run_function)}, got {layer_idx}."
            )
        return 0

    def forward(self, input, chunk_id=None):  # noqa: A002
        """What the row of layers gives; a tuple is passed on as several arguments.

        Args:
            input (Tensor | tuple): Of the first layer.
            chunk_id (int, optional): Only None or 0: there is one chunk.
        """
        unsupported("PipelineLayer.forward", "leave it out", chunk_id=(chunk_id or None, None))
        step = self._recompute_interval or len(self.run_function)
        for begin in range(0, len(self.run_function), step):
            part = self.run_function[begin : begin + step]
            if self._recompute_interval and self.training:
                input = recompute(_Row(part), input)
            else:
                input = _Row(part)(input)
        return input


class _Row:
    """Functions one after the other; recompute asks for their parameters."""

    def __init__(self, functions):
        self._functions = functions

    def parameters(self):
        return [p for f in self._functions if isinstance(f, nn.Layer) for p in f.parameters()]

    def __call__(self, value):
        for function in self._functions:
            value = function(*value) if isinstance(value, tuple) else function(value)
        return value
