"""What a process knows of the other ones, and training with them."""

from __future__ import annotations

import contextlib
import os

from argosy import device, nn
from argosy._capturing import capturing, note
from argosy._framework import in_dynamic_mode
from argosy._job import get_rank, get_world_size, number_of
from argosy._programs.mode import default_main_program, default_startup_program
from argosy._support import need_type, no_effect, unsupported
from argosy.autograd import is_grad_enabled

from . import _sync_norm  # noqa: F401
from ._groups import checked_group, connect, connect_alone, is_initialized  # noqa: F401
from ._program_exchange import ProgramExchange, start_alike
from ._reducer import Reducer
from ._same_start import copy_from_first

__all__ = []


def is_available():
    """Whether several processes can be connected: they can.

    Returns:
        bool

    Example:
        >>> import argosy as paddle
        >>> paddle.distributed.is_available()
        True
    """
    return True


def init_parallel_env(nccl_config=None):
    """Connects the processes of a job, which the launcher's environment describes; in a program that runs
    alone there is nothing to do.

    All of them call it, and wait for each other: for ARGOSY_COMM_TIMEOUT seconds at most, 300 by default.
    PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM and either PADDLE_MASTER or PADDLE_TRAINER_ENDPOINTS say who they
    are; processes of another user, or with another ARGOSY_JOB_TOKEN, are turned away.

    Args:
        nccl_config (optional): No effect.

    What processes have on GPUs goes by NCCL from then on, if each computes on one of its own when it calls
    this (`device.set_device("gpu:0")`).

    Returns:
        The Group of all processes; a ParallelEnv in a program that runs alone.

    Raises:
        ValueError: The environment does not say how many processes there are, or where they meet.
        CommunicationError: They did not find each other.

    Example:
        >>> import argosy as paddle
        >>> paddle.distributed.init_parallel_env().rank
        0
    """
    no_effect("init_parallel_env", "nothing is left to it here", nccl_config=(nccl_config, None))
    if get_world_size() > 1:
        return connect()
    env = ParallelEnv()
    if len(env.trainer_endpoints) > 1:
        raise ValueError(
            f"[init_parallel_env] PADDLE_TRAINER_ENDPOINTS has {len(env.trainer_endpoints)} addresses, but"
            " this process is alone: expected PADDLE_TRAINERS_NUM to say how many there are, got"
            f" {os.environ.get('PADDLE_TRAINERS_NUM', 'nothing')}. Do this: set it, or unset both to train"
            " alone."
        )
    if device.get_device().startswith("gpu"):
        connect_alone()
    return env


class ParallelEnv:
    """What the launcher's environment says of this process."""

    @property
    def rank(self):
        """Number of this process."""
        return get_rank()

    local_rank = rank

    @property
    def world_size(self):
        """Number of processes."""
        return get_world_size()

    nranks = world_size

    @property
    def device_id(self):
        """Number of this process's GPU, the first of FLAGS_selected_gpus; 0 without one."""
        return device.selected_gpu()

    dev_id = device_id

    @property
    def device_type(self):
        """Kind of device."""
        return "cpu"

    @property
    def current_endpoint(self):
        """Address of this process, empty when it runs alone."""
        return os.environ.get("PADDLE_CURRENT_ENDPOINT", "")

    @property
    def nrings(self):
        """How many rings of processes exchange gradients at once: FLAGS_nccl_nrings, else 1."""
        return number_of("FLAGS_nccl_nrings", 1)

    @property
    def pg_timeout(self):
        """Milliseconds that a group of processes waits for a member: PADDLE_PG_TIMEOUT."""
        return number_of("PADDLE_PG_TIMEOUT", 1800000)

    @property
    def trainer_endpoints(self):
        """Addresses of all processes."""
        return [e for e in os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",") if e]


class DataParallel(nn.Layer):
    """A layer that is trained by several processes, each with its part of the batch: gradients are
    averaged while backward computes further ones. With one process, the layer itself.

    Parameters and buffers become those of the first process. Where N processes have a mean loss over B
    samples each, the gradients are those of N x B samples. When backward has ended they are those of all
    processes: clipping, looking for infinities and the update come after it.

    Args:
        layers (Layer): What is trained; the same in all processes.
        strategy: No effect.
        comm_buffer_size (int): Megabytes of gradients that are exchanged at a time, at most.
        last_comm_buffer_size (int): Megabytes of the first exchange, at most.
        find_unused_parameters (bool): Whether each loss may leave other parameters out; one that no process
            uses keeps its gradient. Otherwise those that the first loss leaves out in all processes are
            not exchanged, and all later ones have to reach what the first one did.
        group (Group, optional): Of the processes; all by default.

    Shape: as of the layer.

    Raises:
        AssertionError: There is nothing to train in the layer.
        TypeError: layers is no Layer.
        ValueError: A number of megabytes is not above 0.
        NotImplementedError: A step of jit.compile_step runs within no_sync(), with gradient_merge or with a
            communication hook.
        RuntimeError: (in backward) the loss reached other parameters than the first one, without
            find_unused_parameters.
        CommunicationError: Another process has failed, or has another layer.

    Example:
        >>> import argosy as paddle
        >>> model = paddle.DataParallel(paddle.nn.Linear(2, 1))
        >>> with model.no_sync():
        ...     model(paddle.ones([3, 2])).mean().backward()
        >>> loss = model.scale_loss(model(paddle.ones([3, 2])).mean())
        >>> loss.backward()
        >>> model.init_reducer(), model.apply_collective_grads()
        (None, None)
    """

    def __init__(
        self,
        layers,
        strategy=None,
        comm_buffer_size=25,
        last_comm_buffer_size=1,
        find_unused_parameters=False,
        group=None,
    ):
        need_type("DataParallel", "layers", layers, nn.Layer, "wrap it into a class of nn.Layer")
        for name, size in (
            ("comm_buffer_size", comm_buffer_size),
            ("last_comm_buffer_size", last_comm_buffer_size),
        ):
            if not size > 0:
                raise ValueError(
                    f"[DataParallel] {name}: expected megabytes above 0, got {size}. Do this: leave it"
                    " out."
                )
        super().__init__(layers.full_name() + "_data_parallel")
        group = checked_group("DataParallel", group)
        no_effect("DataParallel", "gradients are averaged anyway", strategy=(strategy, None))
        self._layers = layers
        self._synchronizes = True
        self._keeps_gradients = None  # fleet: says whether those of a pass are left unexchanged
        self._reducer = None
        self._exchange = None  # what Programs do in the place of the reducer
        if group is None or group.nranks == 1:
            no_effect(
                "DataParallel", "one process exchanges no gradients",
                comm_buffer_size=(comm_buffer_size, 25),
                last_comm_buffer_size=(last_comm_buffer_size, 1),
                find_unused_parameters=(find_unused_parameters, False),
            )  # fmt: skip
            return
        trained = [p for p in layers.parameters() if not p.stop_gradient]
        if not trained:
            raise AssertionError(
                "[DataParallel] expected a layer with parameters that are trained, got none. Do this: call"
                " the layer without DataParallel."
            )
        limits = [int(size * (1 << 20)) for size in (last_comm_buffer_size, comm_buffer_size)]
        self._exchange = ProgramExchange(group, limits, trained)
        state = [*layers.parameters(), *layers.buffers()]
        if not in_dynamic_mode():
            start_alike(default_startup_program(), group, state)
            return
        copy_from_first(state, group)
        self._reducer = Reducer(trained, group, limits, bool(find_unused_parameters))

    def forward(self, *inputs, **kwargs):
        """The layer's own forward."""
        self._begin_pass()
        return self._layers(*inputs, **kwargs)

    def _begin_pass(self):
        """Before a forward pass, at once or as part of a captured function: whether the backward pass
        after it exchanges gradients. While one is captured, whoever captures it is told."""
        if self._exchange is None:
            return
        if in_dynamic_mode():
            if is_grad_enabled():
                kept = self._keeps_gradients is not None and self._keeps_gradients()
                self._reducer.wanted = self._synchronizes and not kept
        elif capturing():
            note(self)
        else:
            exchanges = default_main_program()._exchanges
            if self._exchange not in exchanges:
                exchanges.append(self._exchange)

    def _begin_step(self):
        """Before a captured step, which exchanges gradients and updates."""
        kept = self._keeps_gradients is not None and self._keeps_gradients()
        if kept or not self._synchronizes:
            raise NotImplementedError(
                "[DataParallel.no_sync] a step of compile_step exchanges gradients before it updates:"
                " expected it to be called outside of no_sync() and without gradient_merge. Do this: leave"
                " these out, or train eagerly."
            )
        self._exchange.wire = _wire_of(self._reducer.hook)

    def scale_loss(self, loss):
        """The loss unchanged (kept for old programs).

        Args:
            loss (Tensor): It.

        Returns:
            Tensor: It.
        """
        return loss

    def apply_collective_grads(self):
        """Nothing (kept for old programs): backward has exchanged the gradients."""

    def init_reducer(self):
        """Nothing (kept for old programs): the layer is ready."""

    def register_comm_hook(self, hook):
        """Lets a function exchange gradients in the place of the mean over processes.

        Args:
            hook (callable): hook(bucket) begins the exchange of a bucket, in the middle of backward, and
                returns what has wait(), which is called at its end; or None if all is done. Then
                ``bucket.gradients``, tensors of one dtype, have to be the same in all processes, written
                in place. Further attributes: ``bucket.parameters``, ``bucket.group``, and
                ``bucket.index``, its number in this pass. ``bucket.all_reduce(tensors, op)`` begins an
                all_reduce of a list. All processes call it for the same buckets in the same order.
                Gradients with rows only are not given to it.

        Raises:
            TypeError: hook is no function.

        Example:
            >>> import argosy as paddle
            >>> def halved(bucket):
            ...     work = bucket.all_reduce(bucket.gradients, paddle.distributed.ReduceOp.SUM)
            ...     work.wait()
            ...     for gradient in bucket.gradients:
            ...         gradient.scale_(0.5)
            >>> model = paddle.DataParallel(paddle.nn.Linear(2, 2))
            >>> model.register_comm_hook(halved)
        """
        if not callable(hook):
            raise TypeError(
                f"[DataParallel.register_comm_hook] hook: expected a function, got {type(hook).__name__}."
            )
        if self._reducer is not None:
            self._reducer.hook = hook
        elif self._exchange is not None:
            self._exchange.wire = _wire_of(hook)

    @contextlib.contextmanager
    def no_sync(self):
        """Lets gradients not be exchanged: those of forward passes in the context stay with this process
        until the next backward of a forward pass outside of it.

        Returns:
            The context.
        """
        before, self._synchronizes = self._synchronizes, False
        try:
            yield
        finally:
            self._synchronizes = before

    def state_dict(self, *args, **kwargs):
        """The wrapped layer's state."""
        return self._layers.state_dict(*args, **kwargs)

    def set_state_dict(self, *args, **kwargs):
        """Restores the wrapped layer's state."""
        return self._layers.set_state_dict(*args, **kwargs)

    set_dict = load_dict = set_state_dict


def _wire_of(hook):
    """The dtype in which a Program exchanges gradients as a communication hook does."""
    if not hasattr(hook, "wire"):
        raise NotImplementedError(
            "[DataParallel.register_comm_hook] a communication hook is called in eager backward: expected none"
            f" where a Program trains, got {hook!r}. Do this: train eagerly, or rewrite the Program by a"
            " pass of your own (argosy.passes)."
        )
    return hook.wire


def sync_params_buffers(
    model,
    comm_group=None,
    src_rank=0,
    is_model_parallel=False,
    fuse_params=True,
    is_moe_sharding_parallel=False,
):
    """Lets the parameters and buffers of a layer be those of one process.

    Args:
        model (Layer): The same in all processes.
        comm_group (Group, optional): Of the processes; all by default.
        src_rank (int): Whose values are taken: the first of the group.
        is_model_parallel (bool): Only False.
        fuse_params (bool): No effect: they travel together.
        is_moe_sharding_parallel (bool): Only False.

    Raises:
        RanksDisagreeError: Another process has another layer.
        ValueError: src_rank is not the first of the group.

    Example:
        >>> from argosy.distributed.parallel import sync_params_buffers
        >>> sync_params_buffers(argosy.nn.Linear(2, 2))
    """
    what = "sync_params_buffers"
    unsupported(
        what, "leave it out", is_model_parallel=(is_model_parallel, False),
        is_moe_sharding_parallel=(is_moe_sharding_parallel, False),
    )  # fmt: skip
    no_effect(what, "parameters travel together", fuse_params=(fuse_params, True))
    group = checked_group(what, comm_group)
    if group is None:
        return
    if src_rank != group.ranks[0]:
        raise ValueError(
            f"[{what}] src_rank: expected the first of the group, {group.ranks[0]}, got {src_rank}. Do this:"
            " broadcast the parameters one by one."
        )
    copy_from_first([*model.parameters(), *model.buffers()], group)
