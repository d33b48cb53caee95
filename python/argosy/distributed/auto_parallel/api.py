"""Placing tensors, layers and optimizers on a grid of processes: of one."""

from __future__ import annotations

from argosy import nn
from argosy import tensor as tensors
from argosy._core import Tensor
from argosy._support import check_choice, no_effect, unsupported
from argosy.base.parameter import Parameter

from .placement import Placement, Replicate
from .process_mesh import ProcessMesh

__all__ = []


def _check_place(what, mesh, placements):
    if not isinstance(mesh, ProcessMesh):
        raise TypeError(f"[{what}] mesh: expected a ProcessMesh, got {type(mesh).__name__}.")
    if mesh.size > 1:
        raise NotImplementedError(
            f"[{what}] tensors are not divided between processes: expected a mesh of one, got one of"
            f" {mesh.size}. Do this: train with DataParallel."
        )
    placements = list(placements)
    if len(placements) > mesh.ndim or not all(isinstance(p, Placement) for p in placements):
        raise ValueError(
            f"[{what}] placements: expected Shard, Replicate or Partial for each of {mesh.ndim} axes of the"
            f" mesh, got {placements}."
        )
    return placements + [Replicate()] * (mesh.ndim - len(placements))


def _placed(tensor, mesh, placements):
    tensor._placed_on = mesh, placements
    return tensor


def shard_tensor(data, mesh, placements, dtype=None, place=None, stop_gradient=None):
    """A tensor that is placed on a grid of processes.

    Args:
        data (Tensor | array): Its values; a Parameter stays itself.
        mesh (ProcessMesh): The grid, of one process.
        placements (list[Placement]): One for each axis of the grid.
        dtype (optional): As of to_tensor.
        place (optional): As of to_tensor.
        stop_gradient (bool, optional): As of to_tensor; that of data by default.

    Returns:
        Tensor: With process_mesh and placements; what is computed from it has none.

    Raises:
        NotImplementedError: The grid has several processes.

    Example:
        >>> import argosy.distributed as dist
        >>> x = dist.shard_tensor([[1.0, 2.0]], dist.ProcessMesh([0]), [dist.Shard(0)])
        >>> x.placements, x.is_dist(), x.tolist()
        ([Shard(dim=0)], True, [[1.0, 2.0]])
    """
    placements = _check_place("shard_tensor", mesh, placements)
    if isinstance(data, Parameter):
        unsupported(
            "shard_tensor", "cast the parameter before", dtype=(dtype, None), place=(place, None)
        )
        if stop_gradient is not None:
            data.stop_gradient = stop_gradient
        return _placed(data, mesh, placements)
    if stop_gradient is None:
        stop_gradient = data.stop_gradient if isinstance(data, Tensor) else True
    if isinstance(data, Tensor) and dtype is None and place is None:
        made = (
            tensors.assign(data) if stop_gradient == data.stop_gradient else data.detach().clone()
        )
        made.stop_gradient = stop_gradient
    else:
        made = tensors.to_tensor(data, dtype=dtype, place=place, stop_gradient=stop_gradient)
    return _placed(made, mesh, placements)


def dtensor_from_fn(fn, mesh, placements, *args, **kwargs):
    """fn(*args, **kwargs), placed as shard_tensor does.

    Args:
        fn (callable): Gives a tensor.
        mesh (ProcessMesh): The grid, of one process.
        placements (list[Placement]): One for each axis of the grid.
        args: Of fn.
        kwargs: The same by name.

    Returns:
        Tensor: With process_mesh and placements.

    Example:
        >>> import argosy.distributed as dist
        >>> dist.dtensor_from_fn(argosy.ones, dist.ProcessMesh([0]), [dist.Replicate()], [2]).tolist()
        [1.0, 1.0]
    """
    return shard_tensor(fn(*args, **kwargs), mesh, placements)


def reshard(dist_tensor, mesh, placements):
    """The tensor placed in another way.

    Args:
        dist_tensor (Tensor): It.
        mesh (ProcessMesh): The grid, of one process.
        placements (list[Placement]): One for each axis of the grid.

    Returns:
        Tensor: Another one.

    Example:
        >>> import argosy.distributed as dist
        >>> mesh = dist.ProcessMesh([0])
        >>> x = dist.shard_tensor([1.0], mesh, [dist.Shard(0)])
        >>> dist.reshard(x, mesh, [dist.Replicate()]).placements
        [Replicate()]
    """
    placements = _check_place("reshard", mesh, placements)
    return _placed(tensors.assign(dist_tensor), mesh, placements)


def unshard_dtensor(dist_tensor):
    """The whole tensor, no longer placed.

    Args:
        dist_tensor (Tensor): A placed one.

    Returns:
        Tensor: Another one.

    Example:
        >>> import argosy.distributed as dist
        >>> x = dist.shard_tensor([1.0], dist.ProcessMesh([0]), [dist.Shard(0)])
        >>> dist.unshard_dtensor(x).is_dist()
        False
    """
    return tensors.assign(dist_tensor)


def shard_layer(layer, process_mesh, shard_fn=None, input_fn=None, output_fn=None):
    """Places a layer's parameters and buffers.

    Args:
        layer (Layer): It, changed in place.
        process_mesh (ProcessMesh): The grid, of one process.
        shard_fn (callable, optional): shard_fn(name, sublayer, process_mesh) places those of a sublayer;
            what it leaves alone is replicated.
        input_fn (callable, optional): input_fn(inputs, process_mesh) gives what forward gets.
        output_fn (callable, optional): output_fn(outputs, process_mesh) gives what the layer gives.

    Returns:
        Layer: The same.

    Example:
        >>> import argosy.distributed as dist
        >>> layer = dist.shard_layer(argosy.nn.Linear(2, 3), dist.ProcessMesh([0]))
        >>> layer.weight.placements
        [Replicate()]
    """
    whole = _check_place("shard_layer", process_mesh, [])
    for name, sublayer in layer.named_sublayers(include_self=True):
        if shard_fn is not None:
            shard_fn(name, sublayer, process_mesh)
    for tensor in (*layer.parameters(), *layer.buffers()):
        if not tensor.is_dist():
            _placed(tensor, process_mesh, whole)
    if input_fn is not None:
        layer.register_forward_pre_hook(lambda _, inputs: input_fn(inputs, process_mesh))
    if output_fn is not None:
        layer.register_forward_post_hook(
            lambda _, inputs, outputs: output_fn(outputs, process_mesh)
        )
    return layer


def shard_optimizer(optimizer, shard_fn=None, gradient_accumulation_steps=1):
    """The optimizer: with one process its state is whole.

    Args:
        optimizer (Optimizer): It.
        shard_fn (callable, optional): Would place its state.
        gradient_accumulation_steps (int): Only 1.

    Returns:
        Optimizer: The same.

    Example:
        >>> layer = argosy.nn.Linear(2, 3)
        >>> sgd = argosy.optimizer.SGD(parameters=layer.parameters())
        >>> argosy.distributed.shard_optimizer(sgd) is sgd
        True
    """
    no_effect("shard_optimizer", "one process has the whole state", shard_fn=(shard_fn, None))
    unsupported(
        "shard_optimizer", "call step() once in several steps",
        gradient_accumulation_steps=(gradient_accumulation_steps, 1),
    )  # fmt: skip
    return optimizer


def shard_dataloader(
    dataloader, meshes, input_keys=None, shard_dims=None, is_dataset_splitted=False, dense_tensor_idx=None
):  # fmt: skip
    """The loader: one process gets all batches whole.

    Args:
        dataloader (DataLoader): It.
        meshes (ProcessMesh | list[ProcessMesh]): Of one process.
        input_keys (list[str], optional): No effect.
        shard_dims (optional): No effect.
        is_dataset_splitted (bool): No effect.
        dense_tensor_idx (list, optional): No effect.

    Returns:
        DataLoader: The same.

    Example:
        >>> import argosy.distributed as dist
        >>> loader = argosy.io.DataLoader([1.0, 2.0])
        >>> dist.shard_dataloader(loader, dist.ProcessMesh([0])) is loader
        True
    """
    for mesh in meshes if isinstance(meshes, (list, tuple)) else [meshes]:
        _check_place("shard_dataloader", mesh, [])
    no_effect(
        "shard_dataloader", "one process gets all batches whole", input_keys=(input_keys, None),
        shard_dims=(shard_dims, None), is_dataset_splitted=(is_dataset_splitted, False),
        dense_tensor_idx=(dense_tensor_idx, None),
    )  # fmt: skip
    return dataloader


def split(
    x,
    size,
    operation,
    axis=0,
    num_partitions=1,
    gather_out=True,
    weight_attr=None,
    bias_attr=None,
    name=None,
):
    """A linear layer or an embedding of x, whose parameters would be divided between processes.

    Args:
        x (Tensor): The input.
        size (tuple): (in_features, out_features), or (rows, size of a row).
        operation (str): 'linear' or 'embedding'.
        axis (int): Along which the weight would be divided; no difference in one part.
        num_partitions (int): 1.
        gather_out (bool): No difference in one part.
        weight_attr (ParamAttr, optional): Of the weight.
        bias_attr (ParamAttr | bool, optional): Of the bias of 'linear'.
        name (str, optional): For people.

    Returns:
        Tensor: [.., size[1]].

    Raises:
        NotImplementedError: num_partitions is above 1.
        ValueError: Another operation.

    Example:
        >>> argosy.distributed.split(argosy.ones([2, 4]), (4, 3), "linear").shape
        paddle.Size([2, 3])
    """
    check_choice("distributed.split", "axis", axis, (0, 1))
    check_choice("distributed.split", "gather_out", gather_out, (True, False))
    if num_partitions != 1:
        raise NotImplementedError(
            f"[distributed.split] layers are not divided between processes: expected num_partitions=1, got"
            f" {num_partitions}. Do this: leave it out."
        )
    if operation == "linear":
        return nn.Linear(*size, weight_attr=weight_attr, bias_attr=bias_attr, name=name)(x)
    if operation == "embedding":
        return nn.Embedding(*size, weight_attr=weight_attr, name=name)(x)
    raise ValueError(
        f"[distributed.split] operation: expected 'linear' or 'embedding', got {operation!r}."
    )
