"""Models as files that Paddle loads."""

import os

from argosy._support import check_choice
from argosy.static import paddle_model

from .predictor import read_model


def convert_to_paddle(model_file, params_file, prefix, format="paddle"):
    """Writes a model as Paddle has it: its parameters to prefix.pdiparams, and its Program.

    Args:
        model_file, params_file (str): A model as Config takes it, of ours, of ONNX or of Paddle;
            params_file may be None if it is beside the model or part of it.
        prefix (str): Folder, which is made if needed, and first part of the file names.
        format (str, optional): "paddle": the Program is prefix.json, for Paddle 3; "pdmodel": it is
            prefix.pdmodel, for Paddle 2.6 and predictors of Paddle 3 (for its jit.load, with
            FLAGS_enable_pir_api=0 in the environment).

    Raises:
        NotImplementedError: operations have no counterpart in Paddle; the text lists all of them.
        ValueError: another format.

    Example:
        >>> import tempfile
        >>> net = argosy.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     spec = [argosy.static.InputSpec([None, 2], "float32", "x")]
        ...     argosy.jit.save(net, folder + "/net", input_spec=spec)
        ...     argosy.inference.convert_to_paddle(folder + "/net", None, folder + "/paddle/net")
        ...     loaded = argosy.jit.load(folder + "/paddle/net")
        >>> bool(argosy.allclose(loaded(argosy.ones([3, 2])), net(argosy.ones([3, 2]))))
        True
    """
    check_choice("inference.convert_to_paddle", "format", format, tuple(paddle_model.FORMATS))
    program, scope = read_model(model_file, params_file)
    paddle_model.save(program, scope, os.fspath(prefix), format)
