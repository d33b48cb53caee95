"""What a DistributedStrategy asks of a model that several processes, or one, train eagerly."""

from __future__ import annotations

import functools
import importlib

from argosy import amp, nn
from argosy._support import no_effect
from argosy.distributed._buckets import average, average_in
from argosy.distributed._groups import default_group, new_group
from argosy.distributed.parallel import DataParallel

from .utils.recomputation import recompute

__all__ = []

# What distributed_model does; all else of a strategy belongs to the optimizer.
_SWITCHES = """
amp amp_configs recompute recompute_configs sync_batch_norm fp16_allreduce find_unused_parameters
fuse_grad_size_in_MB last_comm_group_size_MB communication_hook communication_algorithm
""".split()


def model_settings(strategy):
    """What of a strategy a model depends on, to be compared."""
    return {name: getattr(strategy, name) for name in _SWITCHES}


def check_applied(applied, strategy):
    """Raises RuntimeError if a model was made with other settings than those of `strategy`; None: none
    was."""
    if applied is None:
        return
    for name, value in model_settings(strategy).items():
        if applied[name] != value:
            raise RuntimeError(
                f"[fleet.distributed_optimizer] strategy.{name} concerns the model, and"
                " fleet.distributed_model was called before, with another one. Do this: give the strategy to"
                " fleet.init, or call distributed_optimizer first."
            )


def distribute(model, strategy, several, keeps_gradients):
    """The model as `strategy` wants it, changed in place; DataParallel of it where there are `several`
    processes.

    Args:
        keeps_gradients (callable): Says in each forward pass whether its gradients are left unexchanged.
    """
    if strategy.sync_batch_norm:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    if strategy.recompute:
        _recompute(model, strategy.recompute_configs)
    if strategy.amp:
        _compute_in_half(model, strategy.strategy.amp_configs)
    if not several:
        return model
    parallel = DataParallel(
        model,
        comm_buffer_size=strategy.fuse_grad_size_in_MB,
        last_comm_buffer_size=strategy.last_comm_group_size_MB,
        find_unused_parameters=strategy.find_unused_parameters,
        group=group_of_gradients(strategy, "fleet.distributed_model"),
    )
    parallel._keeps_gradients = keeps_gradients
    parallel.register_comm_hook(_hook(strategy))
    return parallel


def group_of_gradients(strategy, what):
    """The group whose processes exchange gradients as a strategy says. All of them call it."""
    if strategy.communication_algorithm is None:
        return default_group(what)
    return new_group(algorithm=strategy.communication_algorithm)


def _hook(strategy):
    hook = strategy.communication_hook
    if hook is None:
        return average_in("float16") if strategy.fp16_allreduce else average
    if strategy.fp16_allreduce:
        raise ValueError(
            "[fleet.distributed_model] strategy.fp16_allreduce: expected False beside a"
            " communication_hook, which says itself what is sent; got True. Do this: set one of them."
        )
    if callable(hook):
        return hook
    module, _, name = hook.partition(":")
    return getattr(importlib.import_module(module), name)


def _around_forward(layer, wrap):
    """Puts wrap(forward) in the place of a layer's forward."""
    inner = layer.forward
    layer.forward = functools.wraps(inner)(wrap(inner))


def _recompute(model, configs):
    names = configs["checkpoints"]
    for name in ("enable_offload", "enable_tuning", "checkpoint_shape", "refined_ops_patterns"):
        if configs[name]:
            raise NotImplementedError(
                f"[fleet.distributed_model] strategy.recompute_configs: {name} is not supported: expected"
                f" its default, got {configs[name]!r}. Do this: leave it out."
            )
    if not names:
        raise ValueError(
            "[fleet.distributed_model] strategy.recompute_configs: expected names of sublayers in"
            " 'checkpoints', got none. Do this: list some of those that model.named_sublayers() gives."
        )
    layers = dict(model.named_sublayers())
    for name in names:
        if name not in layers:
            raise ValueError(
                f"[fleet.distributed_model] strategy.recompute_configs: the model has no sublayer"
                f" {name!r} of 'checkpoints'. Do this: list names that model.named_sublayers() gives."
            )
        _around_forward(layers[name], _recomputed(layers[name]))


def _recomputed(layer):
    def wrap(forward):
        def again(*args, **kwargs):
            if not layer.training:
                return forward(*args, **kwargs)
            return recompute(forward, *args, **kwargs)

        return again

    return wrap


# Of a strategy's amp_configs: they tell a scaler of the program's own making nothing.
_SCALING = """
init_loss_scaling incr_every_n_steps decr_every_n_nan_or_inf incr_ratio decr_ratio
use_dynamic_loss_scaling use_fp16_guard use_optimizer_fp16
""".split()


def _compute_in_half(model, configs):
    what = "[fleet.distributed_model] strategy.amp_configs:"
    no_effect(
        "DistributedStrategy.amp_configs", "the program makes its own GradScaler",
        **{name: (getattr(configs, name), configs._field(name).default) for name in _SCALING},
    )  # fmt: skip
    if list(configs.custom_black_varnames):
        raise NotImplementedError(
            f"{what} custom_black_varnames is not supported: expected none, got"
            f" {list(configs.custom_black_varnames)!r}. Do this: use custom_black_list, names of ops."
        )
    if configs.use_pure_fp16 and configs.use_pure_bf16:
        raise ValueError(
            f"{what} expected one of use_pure_fp16 and use_pure_bf16, got both. Do this: leave one out."
        )
    pure = configs.use_pure_fp16 or configs.use_pure_bf16
    options = {
        "level": "O2" if pure else "O1",
        "dtype": "bfloat16" if configs.use_pure_bf16 else "float16",
        "custom_white_list": list(configs.custom_white_list) or None,
        "custom_black_list": list(configs.custom_black_list) or None,
    }
    if pure:
        amp.decorate(model, level="O2", dtype=options["dtype"])

    def wrap(forward):
        def cast(*args, **kwargs):
            with amp.auto_cast(**options):
                return forward(*args, **kwargs)

        return cast

    _around_forward(model, wrap)
