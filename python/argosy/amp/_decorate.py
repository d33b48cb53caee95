"""Models and optimizers in 16 bits."""

from argosy import _core
from argosy._support import check_choice, listed
from argosy.autograd import no_grad

from . import _state


def _check_models(models):
    for model in listed(models):
        if not hasattr(model, "sublayers") or not hasattr(model, "_parameters"):
            raise TypeError(
                "[decorate] models: expected a Layer or a list of Layers, got "
                f"{type(model).__name__}. Do this: pass the model itself."
            )


def _exclude(models, excluded):
    """Marks the layers that keep float32: instances with all in them, and those of given types."""
    types = []
    for item in [] if excluded is None else listed(excluded):
        if isinstance(item, type):
            types.append(item)
        elif hasattr(item, "sublayers"):
            for layer in item.sublayers(include_self=True):
                layer._cast_to_low_precision = False
        else:
            raise TypeError(
                "[decorate] excluded_layers: expected Layers or types of Layers, got "
                f"{type(item).__name__}. Do this: pass model.head or nn.LayerNorm, or a list."
            )
    for model in models:
        for layer in model.sublayers(include_self=True):
            if isinstance(layer, tuple(types)):
                layer._cast_to_low_precision = False


def _cast_parameters(model, dtype, masters):
    for layer in model.sublayers(include_self=True):
        if not layer._cast_to_low_precision or dtype in layer._keeps_float32_for:
            continue
        if layer._dtype == "float16":
            continue
        # The copies that optimizers update begin with the numbers as they were.
        for parameter in layer._parameters.values():
            if parameter is not None and parameter.dtype == _core.float32:
                for optimizer in masters.get(id(parameter), ()):
                    optimizer._create_master_weight(parameter)
        layer._to_impl(dtype=dtype, include_sublayers=False, floating_only=True)


def _in_float32(parameter):
    def widen(*_):
        if parameter.grad is not None and parameter.grad.dtype != _core.float32:
            with no_grad():
                parameter.grad = parameter.grad.astype(_core.float32)

    return widen


class _SavedAs:
    """A hook of state_dict: floating tensors in another dtype."""

    def __init__(self, dtype):
        self._dtype = dtype

    def __call__(self, state):
        for key, value in state.items():
            if value.is_floating_point():
                cast = value.astype(self._dtype)
                cast.name = value.name
                state[key] = cast


def decorate(
    models,
    optimizers=None,
    level="O1",
    dtype="float16",
    master_weight=None,
    save_dtype=None,
    master_grad=False,
    excluded_layers=None,
):
    """Prepares models and optimizers for mixed precision of level O2, in place.

    Parameters become `dtype`, except those of batch norms (for float16 also of layer and instance
    norms), and optimizers update float32 master copies of them. Level O1 changes nothing, nor does
    float16 on CPUs, see :func:`auto_cast`.

    Args:
        models (Layer | list): The models.
        optimizers (Optimizer | list, optional): Their optimizers.
        level (str): ``"O1"`` or ``"O2"``.
        dtype (str): ``"float16"`` or ``"bfloat16"``.
        master_weight (bool, optional): Whether optimizers keep float32 copies; None: yes.
        save_dtype (str, optional): dtype that floating tensors have in ``state_dict()``.
        master_grad (bool): Gradients of parameters are float32 after backward.
        excluded_layers (Layer | type | list, optional): Keep float32: these layers with all inside,
            and layers of these types.

    Returns:
        `models`, with `optimizers` a pair of both.

    Raises:
        ValueError: Another level, dtype or save_dtype.
        TypeError: models are no Layers, optimizers no Optimizers.

    Example:
        >>> model = argosy.nn.Linear(4, 2)
        >>> adam = argosy.optimizer.Adam(parameters=model.parameters())
        >>> model, adam = argosy.amp.decorate(model, adam, level="O2", dtype="bfloat16")
        >>> model.weight.dtype
        paddle.bfloat16
    """
    check_choice("decorate", "level", level, ("O1", "O2"))
    check_choice("decorate", "dtype", str(dtype).rsplit(".", 1)[-1], ("float16", "bfloat16"))
    dtype = str(dtype).rsplit(".", 1)[-1]
    result = models if optimizers is None else (models, optimizers)
    if level == "O1":
        return result
    if not _state.takes_effect(dtype):
        _state.warn_without_effect("decorate")
        return result
    _check_models(models)
    if save_dtype is not None:
        check_choice(
            "decorate", "save_dtype", save_dtype, ("float16", "bfloat16", "float32", "float64")
        )
    masters = {}
    for optimizer in [] if optimizers is None else listed(optimizers):
        if not hasattr(optimizer, "_all_params"):
            raise TypeError(
                "[decorate] optimizers: expected an Optimizer or a list of them, got "
                f"{type(optimizer).__name__}. Do this: pass the optimizer itself."
            )
        optimizer._multi_precision = master_weight is not False
        if optimizer._multi_precision:
            for parameter in optimizer._all_params():
                masters.setdefault(id(parameter), []).append(optimizer)
    _exclude(listed(models), excluded_layers)
    for model in listed(models):
        _cast_parameters(model, dtype, masters)
        if save_dtype is not None:
            model.register_state_dict_hook(_SavedAs(save_dtype))
        if master_grad:
            for parameter in model.parameters():
                if parameter.dtype != _core.float32:
                    _core.after_accumulate(parameter, _in_float32(parameter))
    return result
