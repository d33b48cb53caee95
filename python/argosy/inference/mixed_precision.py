"""Models of 16-bit weights from models of float32."""

import os
import tempfile

from argosy import _core
from argosy._support import check_choice, unsupported
from argosy.framework.atomic_file import atomic_writer, make_folders

from .kinds import PlaceType, PrecisionType

_DTYPES = {PrecisionType.Half: "float16", PrecisionType.Bfloat16: "bfloat16"}
_LIMIT = str(1 << 40)  # weights of any size are cast once, not in each run


def convert_to_mixed_precision(
    model_file, params_file, mixed_model_file, mixed_params_file, mixed_precision, backend,
    keep_io_types=True, black_list=None, **kwargs,
):  # fmt: skip
    """Writes a model whose products compute in 16 bits, with weights of 16 bits.

    Args:
        model_file, params_file (str): A model as Config takes it.
        mixed_model_file, mixed_params_file (str): What is written.
        mixed_precision (PrecisionType): Half or Bfloat16.
        backend (PlaceType): CPU, GPU or CUSTOM: the model is the same, and runs on all of them.
        keep_io_types (bool): Inputs and outputs stay float32; nothing else is supported.
        black_list (set, optional): Ops that stay in float32.
        kwargs: white_list (set): more ops that compute in 16 bits.

    Raises:
        NotImplementedError: another place, or keep_io_types=False.
        ValueError: another precision.

    Example:
        >>> argosy.inference.convert_to_mixed_precision.__name__
        'convert_to_mixed_precision'
    """
    white_list = kwargs.pop("white_list", None)
    if kwargs:
        raise TypeError(
            f"[convert_to_mixed_precision] unknown arguments {sorted(kwargs)}. Do this: leave them out."
        )
    check_choice("convert_to_mixed_precision", "mixed_precision", mixed_precision, tuple(_DTYPES))
    if backend not in (PlaceType.CPU, PlaceType.GPU, PlaceType.CUSTOM):
        unsupported(
            "convert_to_mixed_precision", "convert for PlaceType.CPU or GPU",
            backend=(backend, PlaceType.CPU),
        )  # fmt: skip
    unsupported(
        "convert_to_mixed_precision", "keep the types of inputs",
        keep_io_types=(keep_io_types, True),
    )  # fmt: skip
    from .predictor import read_model

    program, scope = read_model(model_file, params_file)
    dtypes = [o.dtype for _, o in _core.program_describe(program)["outputs"]]
    options = {
        "scope": scope,
        "autocast.dtype": _DTYPES[mixed_precision],
        "autocast.full": ",".join(sorted(black_list or ())),
        "autocast.lower": ",".join(sorted(white_list or ())),
        "constant_folding.limit": _LIMIT,
    }
    names = ["freeze_state", "autocast", "constant_folding", "dead_code"]
    _core.passes_run(program, names, options)
    after = [o.dtype for _, o in _core.program_describe(program)["outputs"]]
    if dtypes != after:
        raise NotImplementedError(
            "[convert_to_mixed_precision] an output would change its dtype. Do this: put the op that"
            " makes it into black_list."
        )
    _write(program, mixed_model_file, mixed_params_file)


def _write(program, model_file, params_file):
    model_file, params_file = os.path.realpath(model_file), os.path.realpath(params_file)
    make_folders(os.path.dirname(params_file))
    with (
        atomic_writer(model_file) as model,
        tempfile.TemporaryDirectory(
            prefix=".converted-", dir=os.path.dirname(params_file)
        ) as aside,
    ):
        prefix = os.path.join(aside, "model")
        _core.program_save(program, prefix, None)
        with open(prefix + ".argosy", "rb") as file:
            model.write(file.read())
        model.flush()
        os.fsync(model.fileno())
        os.replace(prefix + ".safetensors", params_file)
