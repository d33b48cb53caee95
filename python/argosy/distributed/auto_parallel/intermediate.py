"""Models that are divided by a plan for each of their layers."""

from __future__ import annotations

import re
import warnings

from argosy._core import Tensor
from argosy._support import WrongTypeError, check_choice, need_type, unsupported

from .api import _check_place, _placed, shard_dataloader, shard_optimizer
from .placement import Replicate
from .plans import PlanBase
from .process_mesh import ProcessMesh, get_mesh, set_mesh

__all__ = []


class _Stage:
    """How much of a job's state is divided along an axis of a grid.

    Args:
        sharding_mesh_dim (str): the axis.
        mesh (ProcessMesh, optional): the grid, that of set_mesh by default.
    """

    def __init__(self, sharding_mesh_dim, mesh=None):
        mesh = get_mesh() if mesh is None else mesh
        if mesh is not None:
            _check_place(type(self).__name__, mesh, [])
        self.sharding_mesh_dim = sharding_mesh_dim
        self.mesh = mesh

    def __repr__(self):
        return (
            f"{type(self).__name__}(sharding_mesh_dim={self.sharding_mesh_dim!r}, mesh={self.mesh})"
        )


class ShardingStage1(_Stage):
    """For shard_optimizer: the state of the optimizer is divided. One process has all of it.

    Args:
        sharding_mesh_dim (str): along this axis of the grid.
        mesh (ProcessMesh, optional): the grid, that of set_mesh by default.

    Raises:
        NotImplementedError: the grid has several processes.

    Example:
        >>> import argosy.distributed as dist
        >>> sgd = argosy.optimizer.SGD(parameters=argosy.nn.Linear(2, 3).parameters())
        >>> dist.shard_optimizer(sgd, dist.ShardingStage1("dp", dist.ProcessMesh([0], ["dp"]))) is sgd
        True
    """


class ShardingStage2(ShardingStage1):
    """For shard_optimizer: gradients are divided, too.

    Args:
        sharding_mesh_dim (str): along this axis of the grid.
        mesh (ProcessMesh, optional): the grid, that of set_mesh by default.

    Raises:
        NotImplementedError: the grid has several processes.

    Example:
        >>> import argosy.distributed as dist
        >>> type(dist.ShardingStage2("dp", dist.ProcessMesh([0], ["dp"]))).__name__
        'ShardingStage2'
    """


class ShardingStage3(ShardingStage1):
    """For shard_optimizer: parameters are divided, too.

    Args:
        sharding_mesh_dim (str): along this axis of the grid.
        mesh (ProcessMesh, optional): the grid, that of set_mesh by default.

    Raises:
        NotImplementedError: the grid has several processes.

    Example:
        >>> import argosy.distributed as dist
        >>> type(dist.ShardingStage3("dp", dist.ProcessMesh([0], ["dp"]))).__name__
        'ShardingStage3'
    """


def shard_scaler(scaler):
    """The scaler: one process sees all gradients.

    Args:
        scaler (GradScaler): it.

    Returns:
        GradScaler: the same.

    Raises:
        AssertionError: it is none.

    Example:
        >>> scaler = argosy.amp.GradScaler()
        >>> argosy.distributed.shard_scaler(scaler) is scaler
        True
    """
    if not hasattr(scaler, "unscale_"):
        raise WrongTypeError(
            f"[shard_scaler] scaler: expected a GradScaler, got {type(scaler).__name__}. Do this: pass one."
        )
    return scaler


def _plans_of(layer, name, plans):
    """The plans that name a layer or a parameter of it, with the parameters' names."""
    for key, plan in plans.items():
        layer_key, _, last = key.rpartition(".")
        own = bool(layer_key) and isinstance(getattr(layer, last, None), Tensor)
        pattern = layer_key if own else key
        if pattern == name or re.fullmatch(pattern, name):
            for one in plan if isinstance(plan, list) else [plan]:
                yield one, [last] if own else []


def _check_plans(plans):
    need_type("parallelize", "parallelize_plan", plans, dict, "map names of layers to plans")
    for key, plan in plans.items():
        need_type("parallelize", "parallelize_plan", key, str, "map names of layers to plans")
        for one in plan if isinstance(plan, list) else [plan]:
            need_type("parallelize", f"parallelize_plan[{key!r}]", one, PlanBase, "use a plan")


def _need_axis(mesh, axis, part):
    if axis not in mesh.dim_names:
        raise WrongTypeError(
            f"[parallelize] mesh: {part} needs an axis {axis!r}, got {mesh.dim_names}. Do this: name an axis"
            " so."
        )


def _applied(model, mesh, plans):
    for name, layer in model.named_sublayers():
        for plan, names in _plans_of(layer, name, plans):
            plan.apply(layer, mesh, names)


def _configs(config):
    known = ("dp_config", "mp_config", "pp_config", "cp_config")
    need_type("parallelize", "config", config, dict, "give what is divided, such as mp_config")
    for key, part in config.items():
        check_choice("parallelize", "config", key, known)
        if part is not None:
            need_type("parallelize", key, part, dict, "pass a dict")
    return [config.get(key) for key in known]


def parallelize(model, optimizer=None, mesh=None, config=None):
    """Divides a model by plans of its layers, and its optimizer. On a grid of one process parameters are
    marked with their placements and stay whole.

    Args:
        model (Layer): it, changed in place.
        optimizer (Optimizer, optional): what updates it.
        mesh (ProcessMesh, optional): the grid, of one process; that of set_mesh by default.
        config (dict, optional): ``dp_config`` {'sharding_level': 0 to 3}, for an axis 'dp' of the grid;
            ``mp_config`` {'parallelize_plan': plans by name}, for an axis 'mp', where a name is that of a
            layer or of a parameter and may be a regular expression; ``cp_config``, which has such plans,
            too; ``pp_config`` {'split_spec': ..}, for an axis 'pp', where one process has all stages.

    Returns:
        tuple: the model and the optimizer.

    Raises:
        NotImplementedError: the grid has several processes.
        AssertionError: no grid, one without the axis, or what is no plan.

    Example:
        >>> import argosy.distributed as dist
        >>> model = argosy.nn.Sequential(argosy.nn.Linear(4, 8), argosy.nn.Linear(8, 2))
        >>> plans = {"0": dist.ColWiseParallel(), "1": dist.RowWiseParallel()}
        >>> mesh = dist.ProcessMesh([[0]], ["dp", "mp"])
        >>> model, _ = dist.parallelize(model, None, mesh, {"mp_config": {"parallelize_plan": plans}})
        >>> model[0].weight.placements, model[1].weight.placements
        ([Replicate(), Shard(dim=1)], [Replicate(), Shard(dim=0)])
    """
    if config is None:
        warnings.warn("[parallelize] nothing is divided, as config is None.", stacklevel=2)
        return model, optimizer
    by_data, by_plan, by_stage, by_context = _configs(config)
    if mesh is not None:
        set_mesh(mesh)
    mesh = get_mesh()
    if by_data is by_plan is by_stage is by_context is None:
        return model, optimizer
    if mesh is None:
        raise WrongTypeError(
            "[parallelize] mesh: expected a ProcessMesh, got None. Do this: pass it, or call set_mesh before."
        )
    whole = _check_place("parallelize", mesh, [])
    if by_stage is not None:
        _need_axis(mesh, "pp", "pp_config")
    plans = {}
    for part, where in ((by_plan, "mp_config"), (by_context, "cp_config")):
        if part is not None and part.get("parallelize_plan") is not None:
            _check_plans(part["parallelize_plan"])
            _need_axis(mesh, "mp", where)
            plans |= part["parallelize_plan"]
    _applied(model, mesh, plans)
    if by_data is not None:
        _need_axis(mesh, "dp", "dp_config")
        level = by_data.get("sharding_level")
        check_choice("parallelize", "sharding_level", level, (None, 0, 1, 2, 3, "0", "1", "2", "3"))
        unsupported(
            "parallelize", "leave it out of dp_config", offload=(by_data.get("offload"), None),
            exclude_layer=(by_data.get("exclude_layer"), None),
        )  # fmt: skip
    for _, layer in model.named_sublayers():
        for weight in layer.parameters(include_sublayers=False):
            if not weight.is_dist():
                _placed(weight, mesh, [Replicate()] * len(whole))
    return model, optimizer if optimizer is None else shard_optimizer(optimizer)


def to_distributed(model, optimizer, dataloader, device_num, node_num=1, config=None):
    """Divides a model, its optimizer and its loader among all processes. One process has all of them.

    Args:
        model (Layer): it.
        optimizer (Optimizer): what updates it.
        dataloader (DataLoader): what gives batches.
        device_num (int): how many processes there are, 1.
        node_num (int): on how many hosts, 1.
        config (optional): only None.

    Returns:
        tuple: the three.

    Raises:
        NotImplementedError: several processes, or a config.

    Example:
        >>> layer = argosy.nn.Linear(2, 3)
        >>> sgd = argosy.optimizer.SGD(parameters=layer.parameters())
        >>> argosy.distributed.to_distributed(layer, sgd, argosy.io.DataLoader([1.0]), 1)[0] is layer
        True
    """
    unsupported(
        "to_distributed", "train with DataParallel", device_num=(device_num, 1),
        node_num=(node_num, 1), config=(config, None),
    )  # fmt: skip
    mesh = ProcessMesh([0], ["dp"])
    model, optimizer = parallelize(model, optimizer, mesh, {"dp_config": {}})
    return model, optimizer, shard_dataloader(dataloader, mesh)
