"""How a model's layers are divided between processes. On a grid of one process parameters are marked, what
a plan does to the order of dimensions is done, and everything else stays whole."""

from __future__ import annotations

import enum

from argosy import nn
from argosy import tensor as tensors
from argosy._core import Tensor
from argosy._support import WrongTypeError, check_choice

from .api import _check_place, _placed, shard_tensor
from .placement import Replicate, Shard

__all__ = []


class SplitPoint(enum.Enum):
    """Where a pipeline is cut: before a layer or behind it."""

    BEGINNING = 0
    END = 1


def _along(mesh, axis="mp"):
    """The place of an axis among those of a grid."""
    if axis not in mesh.dim_names:
        raise ValueError(
            f"[parallelize] mesh: expected one with an axis {axis!r}, got {mesh.dim_names}. Do this: name an"
            " axis so."
        )
    return mesh.dim_names.index(axis)


def _first(values, change):
    """The values, or the tuple of them whose first one is changed."""
    if isinstance(values, tuple):
        return (change(values[0]), *values[1:])
    return change(values)


def _marked(x, mesh, placement):
    placements = list(x.placements or [Replicate()] * mesh.ndim)
    placements[_along(mesh)] = placement
    return _placed(tensors.assign(x), mesh, placements)


def _check_sequence(x):
    if len(x.shape) != 3:
        raise ValueError(
            f"[parallelize] sequences are [b, s, h] or [s, b, h], got {list(x.shape)}. Do this: mark a layer"
            " whose input and output are."
        )


def _divide(values, mesh, turn):
    """Marks sequences as divided along s, which comes first."""

    def one(x):
        _check_sequence(x)
        x = tensors.transpose(x, [1, 0, 2]) if turn else x
        at = _along(mesh, "dp") if "dp" in mesh.dim_names else None
        by_batch = at is not None and x.placements is not None and x.placements[at].is_shard(0)
        return _marked(x, mesh, Shard(1 if by_batch else 0))

    return _first(values, one)


def _gather(values, mesh, turn):
    """Marks sequences as whole."""

    def one(x):
        _check_sequence(x)
        whole = tensors.transpose(x, [1, 0, 2]) if turn else x
        return _marked(whole, mesh, Replicate())

    return _first(values, one)


class PlanBase:
    """What is done to a layer. ``apply(layer, process_mesh, names of parameters)`` does it.

    Example:
        >>> import argosy.distributed as dist
        >>> layer = argosy.nn.Linear(2, 3)
        >>> dist.ColWiseParallel().apply(layer, dist.ProcessMesh([0], ["mp"]), [])
        >>> layer.bias.placements
        [Shard(dim=0)]
    """

    def apply(self, layer, process_mesh, shard_param_list):
        """Divides a layer.

        Args:
            layer (Layer): it, changed in place.
            process_mesh (ProcessMesh): the grid; it has an axis 'mp'.
            shard_param_list (list[str]): names of parameters, empty for the usual ones.

        Raises:
            NotImplementedError: Always: a plan derived from this class does it.
        """
        raise NotImplementedError(
            "[PlanBase] is no plan itself. Do this: use ColWiseParallel or another plan."
        )


def _place_parameters(layer, mesh, names, axes, plan):
    """Places parameters: one of n dimensions along axes[n]."""
    for name in names:
        weight = getattr(layer, name, None)
        if not isinstance(weight, Tensor) or weight.is_dist():
            continue
        if len(weight.shape) not in axes:
            raise ValueError(
                f"[{plan}] {name}: expected a parameter of {' or '.join(map(str, sorted(axes)))} dimensions,"
                f" got {list(weight.shape)}. Do this: leave it out of the plan."
            )
        placements = [Replicate()] * mesh.ndim
        placements[_along(mesh)] = Shard(axes[len(weight.shape)])
        shard_tensor(weight, mesh, placements)


def _whole_layer(plan, names):
    """For plans that divide no parameters."""
    if names:
        raise ValueError(
            f"[{type(plan).__name__}] shard_param_list: expected none, as the plan divides no parameters, got"
            f" {names}. Do this: name the layer in the plan, not a parameter of it."
        )


class ColWiseParallel(PlanBase):
    """Weights are divided along their second dimension, biases along their first.

    Args:
        gather_output (bool): whether the output is made whole.

    Example:
        >>> import argosy.distributed as dist
        >>> layer, mesh = argosy.nn.Linear(2, 3), dist.ProcessMesh([0], ["mp"])
        >>> plan = dist.ColWiseParallel(gather_output=True)
        >>> plan.apply(layer, mesh, ["weight"])
        >>> layer.weight.placements, layer.bias.placements
        ([Shard(dim=1)], None)
        >>> plan.gather_output_hook(mesh)(layer, None, argosy.ones([1, 1, 3])).placements
        [Replicate()]
    """

    def __init__(self, gather_output=False):
        self.gather_output = gather_output

    def gather_output_hook(self, process_mesh):
        """A hook that makes the output whole.

        Args:
            process_mesh (ProcessMesh): the grid.

        Returns:
            callable: hook(layer, input, output).
        """
        return lambda layer, inputs, output: _gather(output, process_mesh, False)

    def apply(self, layer, process_mesh, shard_param_list):
        """Divides a layer.

        Args:
            layer (Layer): it, changed in place.
            process_mesh (ProcessMesh): the grid; it has an axis 'mp'.
            shard_param_list (list[str]): names of parameters, 'weight' and 'bias' if empty.

        Raises:
            ValueError: the grid has no axis 'mp', or a parameter has more than two dimensions.
        """
        names = shard_param_list or ["weight", "bias"]
        _along(process_mesh)
        _place_parameters(layer, process_mesh, names, {1: 0, 2: 1}, "ColWiseParallel")
        if self.gather_output:
            layer.register_forward_post_hook(self.gather_output_hook(process_mesh))


class RowWiseParallel(PlanBase):
    """Weights are divided along their first dimension.

    Args:
        is_input_parallel (bool): whether the input is divided already.

    Example:
        >>> import argosy.distributed as dist
        >>> plan = dist.RowWiseParallel(is_input_parallel=False)
        >>> split = plan.split_input_hook(dist.ProcessMesh([0], ["mp"]))
        >>> split(None, (argosy.ones([1, 1, 2]),))[0].placements
        [Shard(dim=2)]
    """

    def __init__(self, is_input_parallel=True):
        self.is_input_parallel = is_input_parallel

    def split_input_hook(self, process_mesh):
        """A hook that divides the input along its last dimension.

        Args:
            process_mesh (ProcessMesh): the grid.

        Returns:
            callable: hook(layer, input).
        """

        def split(x):
            _check_sequence(x)
            return _marked(x, process_mesh, Shard(2))

        return lambda layer, inputs: _first(inputs, split)

    def apply(self, layer, process_mesh, shard_param_list):
        """Divides a layer.

        Args:
            layer (Layer): it, changed in place.
            process_mesh (ProcessMesh): the grid; it has an axis 'mp'.
            shard_param_list (list[str]): names of parameters, 'weight' if empty; biases stay whole.

        Raises:
            ValueError: the grid has no axis 'mp', or a weight is no matrix.
        """
        names = [name for name in shard_param_list if name != "bias"] or ["weight"]
        _along(process_mesh)
        _place_parameters(layer, process_mesh, names, {2: 0}, "RowWiseParallel")
        if not self.is_input_parallel:
            layer.register_forward_pre_hook(self.split_input_hook(process_mesh))


class _Prepare(PlanBase):
    def __init__(self, fn=None):
        if not callable(fn):
            raise WrongTypeError(
                f"[{type(self).__name__}] fn: expected a function of process_mesh that gives a hook, got"
                f" {type(fn).__name__}. Do this: pass one."
            )
        self.fn = fn


class PrepareLayerInput(_Prepare):
    """A hook before a layer's forward.

    Args:
        fn (callable): fn(process_mesh=..) gives hook(layer, input).

    Raises:
        AssertionError: it is no function.

    Example:
        >>> plan = argosy.distributed.PrepareLayerInput(lambda process_mesh: lambda layer, inputs: inputs)
        >>> callable(plan.fn)
        True
    """

    def apply(self, layer, process_mesh, shard_param_list):
        """Registers the hook.

        Args:
            layer (Layer): at this one.
            process_mesh (ProcessMesh): for fn.
            shard_param_list (list[str]): empty.

        Raises:
            ValueError: shard_param_list is not empty.
        """
        _whole_layer(self, shard_param_list)
        layer.register_forward_pre_hook(self.fn(process_mesh=process_mesh))


class PrepareLayerOutput(_Prepare):
    """A hook behind a layer's forward.

    Args:
        fn (callable): fn(process_mesh=..) gives hook(layer, input, output).

    Raises:
        AssertionError: it is no function.

    Example:
        >>> plan = argosy.distributed.PrepareLayerOutput(lambda process_mesh: lambda layer, x, y: y)
        >>> callable(plan.fn)
        True
    """

    def apply(self, layer, process_mesh, shard_param_list):
        """Registers the hook.

        Args:
            layer (Layer): at this one.
            process_mesh (ProcessMesh): for fn.
            shard_param_list (list[str]): empty.

        Raises:
            ValueError: shard_param_list is not empty.
        """
        _whole_layer(self, shard_param_list)
        layer.register_forward_post_hook(self.fn(process_mesh=process_mesh))


class _Sequences(PlanBase):
    """What is done to sequences before and behind a layer: divided, made whole, or nothing."""

    _before = _behind = None

    def __init__(self, need_transpose=True):
        check_choice(type(self).__name__, "need_transpose", need_transpose, (True, False))
        self.need_transpose = need_transpose

    def _hook(self, change, process_mesh, behind):
        if behind:
            return lambda layer, inputs, output: change(output, process_mesh, self.need_transpose)
        return lambda layer, inputs: change(inputs, process_mesh, self.need_transpose)

    def sequence_parallel_begin(self, process_mesh):
        """A hook that divides sequences.

        Args:
            process_mesh (ProcessMesh): the grid.

        Returns:
            callable: the hook.
        """
        return self._hook(_divide, process_mesh, self._behind is _divide)

    def sequence_parallel_end(self, process_mesh):
        """A hook that makes sequences whole.

        Args:
            process_mesh (ProcessMesh): the grid.

        Returns:
            callable: the hook.
        """
        return self._hook(_gather, process_mesh, self._behind is _gather)

    def apply(self, layer, process_mesh, shard_param_list):
        """Registers the hooks.

        Args:
            layer (Layer): at this one.
            process_mesh (ProcessMesh): the grid; it has an axis 'mp'.
            shard_param_list (list[str]): empty.

        Raises:
            ValueError: the grid has no axis 'mp', or shard_param_list is not empty.
        """
        _whole_layer(self, shard_param_list)
        _along(process_mesh)
        if self._before is not None:
            layer.register_forward_pre_hook(self._hook(self._before, process_mesh, False))
        if self._behind is not None:
            layer.register_forward_post_hook(self._hook(self._behind, process_mesh, True))


class SequenceParallelBegin(_Sequences):
    """Sequences are divided behind this layer.

    Args:
        need_transpose (bool): whether they are [b, s, h] and become [s, b, h].

    Example:
        >>> import argosy.distributed as dist
        >>> plan, mesh = dist.SequenceParallelBegin(), dist.ProcessMesh([0], ["mp"])
        >>> x = plan.sequence_parallel_begin(mesh)(None, None, argosy.ones([1, 2, 3]))
        >>> x.shape, x.placements
        (paddle.Size([2, 1, 3]), [Shard(dim=0)])
        >>> plan.sequence_parallel_end(mesh)(None, x).shape
        paddle.Size([1, 2, 3])
    """

    _behind = staticmethod(_divide)


class SequenceParallelEnd(_Sequences):
    """Sequences are made whole before this layer.

    Args:
        need_transpose (bool): whether they are [s, b, h] and become [b, s, h].

    Example:
        >>> argosy.distributed.SequenceParallelEnd(False).need_transpose
        False
    """

    _before = staticmethod(_gather)


class SequenceParallelEnable(_Sequences):
    """Sequences [b, s, h] are divided in this layer, which sees [s, b, h].

    Example:
        >>> argosy.distributed.SequenceParallelEnable().need_transpose
        True
    """

    _before, _behind = staticmethod(_divide), staticmethod(_gather)

    def __init__(self):
        super().__init__()


class SequenceParallelDisable(_Sequences):
    """Sequences that are divided are whole in this layer.

    Args:
        need_transpose (bool): whether they are [s, b, h], and [b, s, h] in the layer.

    Example:
        >>> argosy.distributed.SequenceParallelDisable().need_transpose
        True
    """

    _before, _behind = staticmethod(_gather), staticmethod(_divide)


class ConvParallel(PlanBase):
    """Images are divided along their width for a Conv2D.

    Example:
        >>> import argosy.distributed as dist
        >>> start = dist.ConvParallel().conv_parallel_start(dist.ProcessMesh([0], ["mp"]), "NHWC")
        >>> start(None, argosy.ones([1, 2, 2, 3])).placements
        [Shard(dim=2)]
    """

    def conv_parallel_start(self, process_mesh, data_format):
        """A hook that divides images.

        Args:
            process_mesh (ProcessMesh): the grid.
            data_format (str): 'NCHW' or 'NHWC'.

        Returns:
            callable: hook(layer, input).

        Raises:
            ValueError: another data_format.
        """
        check_choice("ConvParallel", "data_format", data_format, ("NCHW", "NHWC"))
        width = data_format.index("W")
        return lambda layer, inputs: _first(
            inputs, lambda x: _marked(x, process_mesh, Shard(width))
        )

    def apply(self, layer, process_mesh, shard_param_list):
        """Registers the hook.

        Args:
            layer (Conv2D): at this one.
            process_mesh (ProcessMesh): the grid; it has an axis 'mp'.
            shard_param_list (list[str]): empty.

        Raises:
            ValueError: the grid has no axis 'mp', or shard_param_list is not empty.
            TypeError: the layer is no Conv2D.
        """
        _whole_layer(self, shard_param_list)
        _along(process_mesh)
        if not isinstance(layer, nn.Conv2D):
            raise TypeError(
                f"[ConvParallel] layer: expected a Conv2D, got {type(layer).__name__}. Do this: leave it out"
                " of the plan."
            )
        start = self.conv_parallel_start(process_mesh, layer._data_format)
        layer.register_forward_pre_hook(start)


class _Context(PlanBase):
    """Attention over sequences of which each process has a part: with one process it has all."""

    def __init__(self, backend="p2p"):
        check_choice(type(self).__name__, "backend", backend, ("p2p", "all2all"))
        self.backend = backend

    def apply(self, layer, process_mesh, shard_param_list):
        """One process has all of the sequences: the layer stays as it is.

        Args:
            layer (Layer): it.
            process_mesh (ProcessMesh): the grid, of one process.
            shard_param_list (list[str]): empty.

        Raises:
            ValueError: shard_param_list is not empty.
            NotImplementedError: the grid has several processes.
            TypeError: it is no layer.
        """
        _whole_layer(self, shard_param_list)
        _check_place(type(self).__name__, process_mesh, [])
        if not isinstance(layer, nn.Layer):
            raise TypeError(
                f"[{type(self).__name__}] layer: expected a Layer, got {type(layer).__name__}. Do this: name"
                " a layer in the plan."
            )


class PrepareContextParallel(_Context):
    """Inputs are divided along their sequences before this layer.

    Args:
        backend (str): 'p2p' or 'all2all', how parts would be exchanged.

    Raises:
        ValueError: another backend.

    Example:
        >>> argosy.distributed.PrepareContextParallel().backend
        'p2p'
    """


class ContextParallel(_Context):
    """Attention is computed over divided sequences in this layer.

    Args:
        backend (str): 'p2p' or 'all2all', how parts would be exchanged.

    Raises:
        ValueError: another backend.

    Example:
        >>> argosy.distributed.ContextParallel("all2all").backend
        'all2all'
    """
