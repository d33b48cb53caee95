"""Models that are divided by a plan for each of their layers."""

from __future__ import annotations

import contextlib
import re
import warnings

from argosy._core import Tensor
from argosy._support import WrongTypeError, check_choice, need_type, only_known, unsupported

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
    """The plans that name a layer or a parameter of it, after the name, and before the parameters' names."""
    for key, plan in plans.items():
        layer_key, _, last = key.rpartition(".")
        own = bool(layer_key) and isinstance(getattr(layer, last, None), Tensor)
        pattern = layer_key if own else key
        if pattern == name or re.fullmatch(pattern, name):
            for one in plan if isinstance(plan, list) else [plan]:
                yield key, one, [last] if own else []


def _check_plans(plans):
    need_type("parallelize", "parallelize_plan", plans, dict, "map names of layers to plans")
    for key, plan in plans.items():
        need_type("parallelize", "parallelize_plan", key, str, "map names of layers to plans")
        try:
            re.compile(key)
        except re.error as error:
            raise ValueError(
                f"[parallelize] parallelize_plan: {key!r} is no regular expression, {error}. Do this: correct"
                " it; a name of a layer is one."
            ) from None
        for one in plan if isinstance(plan, list) else [plan]:
            need_type("parallelize", f"parallelize_plan[{key!r}]", one, PlanBase, "use a plan")


def _need_axis(mesh, axis, part):
    if axis not in mesh.dim_names:
        raise WrongTypeError(
            f"[parallelize] mesh: {part} needs an axis {axis!r}, got {mesh.dim_names}. Do this: name an axis"
            " so."
        )


def _applied(model, mesh, plans):
    used = set()
    for name, layer in model.named_sublayers():
        for key, plan, names in _plans_of(layer, name, plans):
            used.add(key)
            plan.apply(layer, mesh, names)
    idle = [key for key in plans if key not in used]
    if idle:
        warnings.warn(
            f"[parallelize] no layer or parameter has these names of plans: {', '.join(idle)}. Do this:"
            " correct them; model.named_sublayers() lists the layers.",
            stacklevel=3,
        )


_HOOKS = ("_forward_pre_hooks", "_forward_post_hooks")


@contextlib.contextmanager
def _all_or_nothing(model):
    """An error within takes back hooks of the model's layers, places of its tensors, and the grid of set_mesh."""
    layers = model.sublayers(include_self=True)
    hooks = [(getattr(v, name), set(getattr(v, name))) for v in layers for name in _HOOKS]
    tensors = [*model.parameters(), *model.buffers()]
    placed = [(t, t.__dict__.get("_placed_on")) for t in tensors]
    mesh = get_mesh()
    try:
        yield
    except BaseException:
        for of_layer, before in hooks:
            for key in [key for key in of_layer if key not in before]:
                del of_layer[key]
        for t, where in placed:
            if where is None:
                t.__dict__.pop("_placed_on", None)
            else:
                t._placed_on = where
        set_mesh(mesh)
        raise


# What each part of a config may say.
_PARTS = {
    "dp_config": ("sharding_level", "sharding_mesh_dim", "offload", "exclude_layer"),
    "mp_config": ("parallelize_plan",),
    "pp_config": ("split_spec", "global_spec"),
    "cp_config": ("parallelize_plan",),
}


def _configs(config):
    need_type("parallelize", "config", config, dict, "give what is divided, such as mp_config")
    for key, part in config.items():
        check_choice("parallelize", "config", key, tuple(_PARTS))
        if part is not None:
            need_type("parallelize", key, part, dict, "pass a dict")
            only_known(f"parallelize: {key}", part, _PARTS[key])
    return [config.get(key) for key in _PARTS]


def _checked_plans(mesh, **parts):
    plans = {}
    for where, part in parts.items():
        if part is not None and part.get("parallelize_plan") is not None:
            _check_plans(part["parallelize_plan"])
            _need_axis(mesh, "mp", where)
            plans |= part["parallelize_plan"]
    return plans


def _check_level(mesh, by_data):
    level = by_data.get("sharding_level")
    check_choice("parallelize", "sharding_level", level, (None, 0, 1, 2, 3, "0", "1", "2", "3"))
    unsupported(
        "parallelize", "leave it out of dp_config", offload=(by_data.get("offload"), None),
        exclude_layer=(by_data.get("exclude_layer"), None),
    )  # fmt: skip
    _need_axis(mesh, by_data.get("sharding_mesh_dim", "dp"), "dp_config")


def parallelize(model, optimizer=None, mesh=None, config=None):
    """Divides a model by plans of its layers, and its optimizer. On a grid of one process parameters are
    marked with their placements and stay whole.

    Args:
        model (Layer): it, changed in place.
        optimizer (Optimizer, optional): what updates it.
        mesh (ProcessMesh, optional): the grid, of one process; that of set_mesh by default.
        config (dict, optional): ``dp_config`` {'sharding_level': 0 to 3}, for an axis 'dp' of the grid, or
            the one that 'sharding_mesh_dim' names;
            ``mp_config`` {'parallelize_plan': plans by name}, for an axis 'mp', where a name is that of a
            layer or of a parameter and may be a regular expression; ``cp_config``, which has such plans,
            too; ``pp_config`` {'split_spec': ..}, for an axis 'pp', where one process has all stages.

    Returns:
        tuple: the model and the optimizer.

    Raises:
        NotImplementedError: the grid has several processes.
        AssertionError: no grid, one without the axis, or what is no plan.
        ValueError: a part of the config, or a key of one, is unknown, or a plan refuses a layer. An error leaves the
            model as it was.

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
    mesh = get_mesh() if mesh is None else mesh
    divides = not by_data is by_plan is by_stage is by_context is None
    if divides and mesh is None:
        raise WrongTypeError(
            "[parallelize] mesh: expected a ProcessMesh, got None. Do this: pass it, or call set_mesh before."
        )
    if divides:  # all is checked before anything is changed
        whole = _check_place("parallelize", mesh, [])
        plans = _checked_plans(mesh, mp_config=by_plan, cp_config=by_context)
        if by_stage is not None:
            _need_axis(mesh, "pp", "pp_config")
        if by_data is not None:
            _check_level(mesh, by_data)
    if not divides:
        if mesh is not None:
            set_mesh(mesh)
        return model, optimizer
    with _all_or_nothing(model):
        set_mesh(mesh)
        _applied(model, mesh, plans)
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
