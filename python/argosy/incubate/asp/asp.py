"""Sparse training: weights are pruned once, and stay so by masks that follow each update."""

from __future__ import annotations

import weakref

from argosy import tensor
from argosy._core import Tensor
from argosy._framework import in_dynamic_mode
from argosy._programs.mode import default_main_program, default_startup_program
from argosy._support import check_choice
from argosy.autograd import no_grad
from argosy.nn import Layer

from .supported_layer_list import pruning_of
from .utils import MaskAlgo

__all__ = []

_MASK = "asp_mask"
_ALGORITHMS = {
    "mask_1d": MaskAlgo.MASK_1D,
    "mask_2d_greedy": MaskAlgo.MASK_2D_GREEDY,
    "mask_2d_best": MaskAlgo.MASK_2D_BEST,
}


class ProgramASPInfo:
    """What is known of the parameters of a Program; those of eager mode belong to the default one.

    ``mask_vars``: the masks as tensors, ``masks``: as arrays, both by the parameter's name;
    ``excluded_layers``: parts of names of parameters that are left alone.
    """

    def __init__(self):
        self.mask_vars, self.masks, self.excluded_layers = {}, {}, []


class ASPHelper:
    """What the functions of this module do."""

    MASK_APPENDDED_NAME = _MASK
    _known = weakref.WeakKeyDictionary()  # Program -> ProgramASPInfo

    @classmethod
    def _get_program_asp_info(cls, main_program):
        return cls._known.setdefault(main_program, ProgramASPInfo())

    @staticmethod
    def _get_mask_name(param_name):
        return f"{param_name}.{_MASK}"

    @staticmethod
    def _get_not_ASP_relevant_vars(main_program):  # noqa: N802
        return [p for p in main_program.all_parameters() if _MASK not in p.name.split(".")]

    @classmethod
    def _is_supported_layer(cls, main_program, param_name):
        if _MASK in param_name.split("."):
            return False
        excluded = cls._get_program_asp_info(main_program).excluded_layers
        return not any(part in param_name for part in excluded) and bool(pruning_of(param_name))

    @classmethod
    def _create_mask_variables(cls, main_program, startup_program, params):
        """Masks of ones for the parameters that are pruned."""
        known = cls._get_program_asp_info(main_program).mask_vars
        for param in params:
            if not cls._is_supported_layer(main_program, param.name):
                continue
            mask = known.get(param.name)
            if mask is None or list(mask.shape) != list(param.shape):
                known[param.name] = _mask_of(param, main_program, startup_program)

    @classmethod
    def _insert_sparse_mask_ops(cls, main_program, params):
        """Multiplies parameters by their masks."""
        masks = cls._get_program_asp_info(main_program).mask_vars
        for param in params:
            if param.name in masks:
                tensor.assign(param * masks[param.name], param)


def _mask_of(param, main_program, startup_program):
    """A mask of ones for a parameter, of a Program or of eager mode."""
    if not param._symbolic and in_dynamic_mode():
        mask = tensor.ones_like(param.detach())
        mask.name = ASPHelper._get_mask_name(param.name)
        return mask
    from argosy.nn.initializer import Constant
    from argosy.static import create_parameter, program_guard

    with program_guard(main_program, startup_program):
        mask = create_parameter(
            list(param.shape), param.dtype, ASPHelper._get_mask_name(param.name),
            default_initializer=Constant(1.0),
        )  # fmt: skip
    mask.stop_gradient = True
    mask.trainable = False
    return mask


def set_excluded_layers(param_names, main_program=None):
    """Says which parameters are left alone. Called before ``decorate`` and ``minimize``.

    Args:
        param_names (list[str]): parts of the names of parameters, such as ``layer.full_name()``.
        main_program (Program, optional): whose parameters; None is the default Program, also for eager mode.

    Examples:
        >>> layer = argosy.nn.Linear(8, 8)
        >>> argosy.incubate.asp.set_excluded_layers([layer.full_name()])
        >>> optimizer = argosy.incubate.asp.decorate(argosy.optimizer.SGD(parameters=layer.parameters()))
        >>> argosy.incubate.asp.prune_model(layer)
        {}
        >>> argosy.incubate.asp.reset_excluded_layers()
    """
    program = default_main_program() if main_program is None else main_program
    ASPHelper._get_program_asp_info(program).excluded_layers.extend(param_names)


def reset_excluded_layers(main_program=None):
    """Forgets what ``set_excluded_layers`` was given.

    Args:
        main_program (Program, optional): whose parameters; None means those of all Programs.

    Examples:
        >>> argosy.incubate.asp.reset_excluded_layers()
    """
    if main_program is None:
        for info in ASPHelper._known.values():
            info.excluded_layers.clear()
    else:
        ASPHelper._get_program_asp_info(main_program).excluded_layers.clear()


def decorate(optimizer):
    """An optimizer that keeps pruned weights pruned: each update is followed by the masks.

    Args:
        optimizer (Optimizer): makes the updates.

    Returns:
        OptimizerWithSparsityGuarantee. In eager mode its masks are ones until ``prune_model``; in static mode
        ``minimize`` makes them.

    Examples:
        >>> layer = argosy.nn.Linear(8, 8)
        >>> optimizer = argosy.incubate.asp.decorate(argosy.optimizer.SGD(parameters=layer.parameters()))
        >>> masks = argosy.incubate.asp.prune_model(layer)
        >>> layer(argosy.ones([1, 8])).sum().backward()
        >>> optimizer.step()
        >>> argosy.incubate.asp.calculate_density(layer.weight.numpy())
        0.5
    """
    if in_dynamic_mode():
        ASPHelper._create_mask_variables(
            default_main_program(), default_startup_program(), optimizer._parameter_list
        )
    return OptimizerWithSparsityGuarantee(optimizer)


def prune_model(model, n=2, m=4, mask_algo="mask_1d", with_mask=True):
    """Makes n of m neighbours zero in the weights of linear layers and convolutions.

    Args:
        model (Layer | Program): whose parameters. In static mode the start-up Program has run before.
        n, m (int): the pattern.
        mask_algo (str): 'mask_1d', 'mask_2d_greedy' or 'mask_2d_best'; see ``create_mask``.
        with_mask (bool): set the masks of the decorated optimizer too, for training that follows.

    Returns:
        dict from names of parameters to masks, NumPy arrays.

    Raises:
        AssertionError: ``mask_algo`` is unknown, or no optimizer was decorated though ``with_mask``.
        TypeError: ``model`` is something else.

    Paper: Mishra et al., arXiv 2104.08378.

    Examples:
        >>> layer = argosy.nn.Linear(8, 8)
        >>> masks = argosy.incubate.asp.prune_model(layer, with_mask=False)
        >>> float(masks[layer.weight.name].mean())
        0.5
    """
    from argosy.static import Program, global_scope

    check_choice("prune_model", "mask_algo", mask_algo, tuple(_ALGORITHMS), AssertionError)
    if not isinstance(model, (Layer, Program)):
        raise TypeError(
            f"[prune_model] model: expected a Layer or a Program, got {type(model).__name__}. Do this:"
            " pass one of them."
        )
    if isinstance(model, Layer) and in_dynamic_mode():
        program, params = default_main_program(), model.parameters()
        find = {p.name: p for p in params}.get
        masks = ASPHelper._get_program_asp_info(program).mask_vars
        find_mask = masks.get
    else:
        program = model if isinstance(model, Program) else _program_of(model)
        params = program.all_parameters()

        def find(name):
            variable = global_scope().find_var(name)
            return None if variable is None else variable.get_tensor()

        def find_mask(name):
            return find(ASPHelper._get_mask_name(name))

    info = ASPHelper._get_program_asp_info(program)
    for name in [p.name for p in params]:
        if not ASPHelper._is_supported_layer(program, name):
            continue
        mask_tensor = find_mask(name) if with_mask else None
        if with_mask and mask_tensor is None:
            raise AssertionError(
                f"[prune_model] {name} has no mask: expected a decorated optimizer. Do this: call"
                " asp.decorate(optimizer) before, in static mode its minimize and exe.run(startup_program)"
                " too, or pass with_mask=False."
            )
        weight = find(name)
        array = weight.numpy()
        pruned, mask = pruning_of(name)(array, m, n, _ALGORITHMS[mask_algo], name)
        _take(weight, pruned.astype(array.dtype))
        if with_mask:
            _take(mask_tensor, mask.astype(array.dtype))
        info.masks[name] = mask
    return dict(info.masks)


def _program_of(layer):
    """The Program that a layer's parameters are of."""
    for param in layer.parameters():
        return param.block.program
    return default_main_program()


def _take(value, array):
    """Gives a Tensor, or the value of a variable of a scope, the numbers of an array."""
    (value.set_value if isinstance(value, Tensor) else value.set)(array)


class OptimizerWithSparsityGuarantee:
    """An optimizer whose updates are followed by masks. Other methods and attributes are the optimizer's.

    Args:
        optimizer (Optimizer): makes the updates.
    """

    def __init__(self, optimizer):
        self._optimizer = optimizer

    def __getattr__(self, item):
        if item == "_optimizer":
            raise AttributeError(item)
        return getattr(self._optimizer, item)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """``Optimizer.minimize``, and the masks.

        Args:
            loss (Tensor), startup_program (Program, optional), parameter_list (list, optional), no_grad_set
                (set, optional): as there.

        Returns:
            as there.
        """
        made = self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)
        params = [p for p, _ in made[1]]
        if not loss._symbolic:
            self._mask(default_main_program(), params)
            return made
        from argosy.static.mode import program_guard, role

        program = loss.block.program
        startup = default_startup_program() if startup_program is None else startup_program
        ASPHelper._create_mask_variables(program, startup, params)
        with program_guard(program, startup), role(program, 2):
            self._mask(program, params)
        return made

    def step(self):
        """``Optimizer.step``, and the masks."""
        self._optimizer.step()
        self._mask(default_main_program(), self._optimizer._parameter_list)

    @staticmethod
    def _mask(program, params):
        with no_grad():
            ASPHelper._insert_sparse_mask_ops(program, params)

    def state_dict(self):
        """The optimizer's state, and the masks by their names.

        Returns:
            dict.
        """
        state = self._optimizer.state_dict()
        for name, mask in self._masks().items():
            state[ASPHelper._get_mask_name(name)] = mask
        return state

    def set_state_dict(self, state_dict):
        """Takes the optimizer's state and the masks.

        Args:
            state_dict (dict): what ``state_dict`` returned.

        Raises:
            AssertionError: a mask is missing.
        """
        info = ASPHelper._get_program_asp_info(default_main_program())
        state = dict(state_dict)
        for name, mask in self._masks().items():
            key = ASPHelper._get_mask_name(name)
            if key not in state:
                raise AssertionError(
                    f"[set_state_dict] {key} is missing. Do this: pass the state of a decorated"
                    " optimizer."
                )
            mask.copy_(state.pop(key))
            info.masks[name] = mask.numpy()
        return self._optimizer.set_state_dict(state)

    def _masks(self):
        known = ASPHelper._get_program_asp_info(default_main_program()).mask_vars
        own = {p.name for p in self._optimizer._parameter_list or ()}
        return {name: mask for name, mask in known.items() if name in own}
