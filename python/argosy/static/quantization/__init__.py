"""Names of passes that quantize graphs of old Programs. Programs here have no such graphs, as those of Paddle
3.3 have none: each name says what quantizes instead."""

from __future__ import annotations

_TRAIN = "train the Layer that quantization.QAT(config).quantize(layer) gives, and convert it"
_CALIBRATE = "run samples through the Layer that quantization.PTQ(config).quantize(layer) gives, and convert it"
_WEIGHTS = "use nn.quant.weight_quantize, or quantization.PTQ with weights only"
_INSTEAD = {
    _CALIBRATE: """
        PostTrainingQuantization PostTrainingQuantizationProgram Quant2Int8MkldnnPass
        Quant2Int8OnednnPass QuantInt8MkldnnPass QuantInt8OnednnPass AddQuantDequantForInferencePass
        ReplaceFakeQuantDequantPass OutScaleForInferencePass
    """,
    _WEIGHTS: "WeightQuantization QuantWeightPass ConvertToInt8Pass TransformForMobilePass",
    _TRAIN: """
        AddQuantDequantPass AddQuantDequantPassV2 OutScaleForTrainingPass QuantizationFreezePass
        QuantizationTransformPass QuantizationTransformPassV2
    """,
}


def _refuse(name, remedy):
    raise NotImplementedError(
        f"[static.quantization.{name}] works on graphs of old Programs, which are not there. Do this:"
        f" {remedy}."
    )


def _pass(name, remedy):
    """A class whose construction says what quantizes instead."""

    def __init__(self, *args, **kwargs):
        _refuse(name, remedy)

    text = f"""Quantizes graphs of old Programs: making one raises. Instead, {remedy}.

    Args:
        args, kwargs: not used.

    Raises:
        NotImplementedError: always.

    Example:
        >>> try:
        ...     argosy.static.quantization.{name}()
        ... except NotImplementedError as error:
        ...     print(str(error).split("]")[0])
        [static.quantization.{name}
    """
    made = type(name, (), {"__init__": __init__, "__doc__": text, "__module__": __name__})
    __init__.__qualname__ = f"{name}.__init__"
    return made


__all__ = [name for names in _INSTEAD.values() for name in names.split()]
for _remedy, _names in _INSTEAD.items():
    globals().update({_name: _pass(_name, _remedy) for _name in _names.split()})


def quant_aware(*args, **kwargs):
    """Raises: Programs are not prepared for training with quantization.

    Args:
        args, kwargs: not used.

    Raises:
        NotImplementedError: always.

    Example:
        >>> try:
        ...     argosy.static.quantization.quant_aware(None, None)
        ... except NotImplementedError as error:
        ...     print(str(error).split("]")[0])
        [static.quantization.quant_aware
    """
    _refuse("quant_aware", _TRAIN)


def convert(*args, **kwargs):
    """Raises: Programs are not trained with quantization, and there is nothing to convert.

    Args:
        args, kwargs: not used.

    Raises:
        NotImplementedError: always.

    Example:
        >>> try:
        ...     argosy.static.quantization.convert(None, None)
        ... except NotImplementedError as error:
        ...     print(str(error).split("]")[0])
        [static.quantization.convert
    """
    _refuse("convert", _TRAIN)


__all__ += ["convert", "quant_aware"]
