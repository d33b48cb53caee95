"""A model, its loss and its optimizer as one thing to call: in this version in one process."""

from __future__ import annotations

from contextlib import nullcontext

from argosy import amp
from argosy._core import Tensor
from argosy._job import get_world_size
from argosy._programs.scope import DenseTensor
from argosy._support import check_choice, listed_if_any, no_effect, unsupported
from argosy.autograd import no_grad
from argosy.jit import compile_step

from .strategy import Strategy

_DIVIDED = "leave it out; models are not divided between processes. Train with DataParallel"
_MODES = ("train", "eval", "predict")


def _check(strategy):
    """Raises by name for what a Strategy asks for and is not there."""
    for category, remedy in (
        ("sharding", _DIVIDED),
        ("pipeline", _DIVIDED),
        ("recompute", "call distributed.fleet.utils.recompute in the model"),
        ("qat", "use quantization.QAT"),
        ("tuning", "leave it out"),
        ("dataset", "leave it out"),
    ):
        enabled = getattr(strategy, category).enable
        unsupported("Strategy", remedy, **{f"{category}.enable": (enabled, False)})
    no_effect(
        "Strategy", "captured Programs are always fused",
        **{"fused_passes.enable": (strategy.fused_passes.enable, False)},
    )  # fmt: skip


class DistModel:
    """A model that trains, is evaluated or predicts when it is called. ``to_static`` makes it.

    Args:
        layer, loader, loss, optimizer, strategy, metrics, input_spec: those of :func:`to_static`.

    Raises:
        NotImplementedError: the strategy asks for what needs several processes, or is not there.

    Examples:
        >>> layer = argosy.nn.Linear(2, 1)
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=layer.parameters())
        >>> model = argosy.distributed.to_static(layer, loss=argosy.nn.MSELoss(), optimizer=sgd)
        >>> losses = [float(model(argosy.ones([4, 2]), argosy.ones([4, 1]))) for _ in range(5)]
        >>> losses[-1] < losses[0]
        True
        >>> model.set_state_dict(model.state_dict())
        >>> model.eval()
        >>> model(argosy.ones([4, 2]), argosy.ones([4, 1])).shape
        paddle.Size([])
        >>> model.predict()
        >>> model(argosy.ones([4, 2])).shape
        paddle.Size([4, 1])
        >>> model.train()
        >>> for program in (model.dist_main_program, model.dist_startup_program,
        ...                 model.serial_main_program, model.serial_startup_program):
        ...     try:
        ...         program()
        ...     except NotImplementedError as error:
        ...         print(str(error).split("]")[0])
        [DistModel.dist_main_program
        [DistModel.dist_startup_program
        [DistModel.serial_main_program
        [DistModel.serial_startup_program
    """

    def __init__(
        self,
        layer,
        loader=None,
        loss=None,
        optimizer=None,
        strategy=None,
        metrics=None,
        input_spec=None,
    ):
        if get_world_size() > 1:
            raise NotImplementedError(
                f"[DistModel] models are not divided between processes: expected one, got"
                f" {get_world_size()}. Do this: train with DataParallel."
            )
        self._layer, self.loader, self._loss, self._optimizer = layer, loader, loss, optimizer
        self._metrics = listed_if_any(metrics)
        self._strategy = Strategy() if strategy is None else strategy
        _check(self._strategy)
        # Lists of inputs and of labels.
        self._input_spec = None if input_spec is None else sum(map(listed_if_any, input_spec), [])
        self._waiting = 0  # batches whose gradients have not been used yet
        self._compiled = None
        mixed = self._strategy.amp
        if mixed.enable and mixed.level.upper() == "O2" and optimizer is not None:
            self._layer, self._optimizer = amp.decorate(
                layer, optimizer, level="O2", dtype=mixed.dtype
            )
        if optimizer is not None and loss is not None:
            self.train()
        elif loss is not None:
            self.eval()
        else:
            self.predict()

    def train(self):
        """Calls update the parameters and return the loss."""
        self._mode = "train"
        self._layer.train()

    def eval(self):
        """Calls return the loss."""
        self._mode = "eval"
        self._layer.eval()

    def predict(self):
        """Calls return what the layer does."""
        self._mode = "predict"
        self._layer.eval()

    def __call__(self, *args):
        """One batch.

        Args:
            *args (Tensor | list[Tensor]): inputs, and the label last unless it predicts.

        Returns:
            Tensor: the loss; what the layer returns if it predicts.

        Raises:
            ValueError: there is no loss, or no optimizer for training.
            TypeError: an argument is something else.
        """
        batch = []
        for arg in args:
            if not isinstance(arg, (list, tuple, Tensor, DenseTensor)):
                raise TypeError(
                    "[DistModel] inputs: expected tensors or lists of them, got"
                    f" {type(arg).__name__}. Do this: pass argosy.to_tensor(..)."
                )
            batch += arg if isinstance(arg, (list, tuple)) else [arg]
        batch = [b._tensor if isinstance(b, DenseTensor) else b for b in batch]
        if self._mode == "predict":
            with no_grad(), self._casting():
                return self._layer(*batch)
        if self._loss is None or (self._mode == "train" and self._optimizer is None):
            raise ValueError(
                f"[DistModel] {self._mode} needs a loss{' and an optimizer' * (self._mode == 'train')}."
                " Do this: give them to to_static."
            )
        if self._mode == "eval":
            with no_grad():
                return self._loss_of(*batch)[0]
        merge = self._strategy.gradient_merge
        if merge.enable and merge.k_steps > 1:
            return self._accumulate(batch, merge)
        if self._compiled is None:
            self._compiled = compile_step(
                lambda *b: self._loss_of(*b)[0], None, self._optimizer, self._input_spec
            )
        return self._compiled(*batch)

    def _casting(self):
        """The region of automatic casts that the strategy asks for."""
        mixed = self._strategy.amp
        if not mixed.enable:
            return nullcontext()
        return amp.auto_cast(
            True, mixed.custom_white_list or None, mixed.custom_black_list or None,
            mixed.level.upper(), mixed.dtype, mixed.use_promote,
        )  # fmt: skip

    def _loss_of(self, *batch):
        """The loss of a batch, and what the layer returned."""
        with self._casting():
            out = self._layer(*batch[:-1])
            outs = out if isinstance(out, (list, tuple)) else [out]
            return self._loss(*outs, batch[-1]), outs

    def _accumulate(self, batch, merge):
        """Adds the gradients of a batch to those before; every k_steps of them make an update."""
        loss, _ = self._loss_of(*batch)
        (loss / merge.k_steps if merge.avg else loss).backward()
        self._waiting += 1
        if self._waiting == merge.k_steps:
            self._waiting = 0
            self._optimizer.step()
            self._optimizer.clear_grad()
        return loss.detach()

    def state_dict(self, mode="all", split_fusion=True):
        """Values of parameters and of the optimizer's state.

        Args:
            mode (str): 'param', 'opt', or 'all' for both.
            split_fusion (bool): has no effect: nothing is fused.

        Returns:
            dict from names to Tensor.

        Raises:
            ValueError: ``mode`` is another.
        """
        check_choice("DistModel.state_dict", "mode", mode, ("all", "param", "opt"))
        no_effect("DistModel.state_dict", "nothing is fused", split_fusion=(split_fusion, True))
        state = {}
        if mode != "opt":
            state.update(self._layer.state_dict())
        if mode != "param" and self._optimizer is not None:
            state.update(self._optimizer.state_dict())
        return state

    def set_state_dict(self, state_dict):
        """Takes values of parameters and of the optimizer's state.

        Args:
            state_dict (dict): what ``state_dict`` returned.
        """
        own = self._layer.state_dict()
        self._layer.set_state_dict({k: v for k, v in state_dict.items() if k in own})
        rest = {k: v for k, v in state_dict.items() if k not in own}
        if rest and self._optimizer is not None:
            self._optimizer.set_state_dict(rest)

    def dist_main_program(self, mode=None):
        """Is not there: a model is captured by each form of its inputs, not as one Program.

        Args:
            mode (str, optional): 'train', 'eval' or 'predict'.

        Raises:
            NotImplementedError: always.
        """
        self._no_program("dist_main_program", mode)

    def dist_startup_program(self, mode=None):
        """Is not there, like ``dist_main_program``.

        Args:
            mode (str, optional): as there.

        Raises:
            NotImplementedError: always.
        """
        self._no_program("dist_startup_program", mode)

    def serial_main_program(self, mode=None):
        """Is not there, like ``dist_main_program``.

        Args:
            mode (str, optional): as there.

        Raises:
            NotImplementedError: always.
        """
        self._no_program("serial_main_program", mode)

    def serial_startup_program(self, mode=None):
        """Is not there, like ``dist_main_program``.

        Args:
            mode (str, optional): as there.

        Raises:
            NotImplementedError: always.
        """
        self._no_program("serial_startup_program", mode)

    def _no_program(self, what, mode):
        check_choice(f"DistModel.{what}", "mode", mode or self._mode, _MODES)
        raise NotImplementedError(
            f"[DistModel.{what}] there is no Program of the {mode or self._mode} mode: the model is captured"
            " anew for each form of its inputs. Do this: save it with jit.save, or build it with the static"
            " API."
        )


def to_static(layer, loader=None, loss=None, optimizer=None, strategy=None, input_spec=None):
    """A model whose calls train, evaluate or predict, each step captured as one Program.

    Args:
        layer (Layer): the model.
        loader (optional): the loader of the batches that calls will be given.
        loss (callable, optional): of the layer's results and the label.
        optimizer (Optimizer, optional): updates its parameters. With loss and optimizer calls train, with the
            loss alone they evaluate, with neither they predict, until told otherwise.
        strategy (Strategy, optional): ``amp`` and ``gradient_merge`` may be enabled.
        input_spec (list, optional): [InputSpecs of the inputs, those of the labels]: sizes of -1 may change
            without another capture of the training step.

    Returns:
        DistModel.

    Raises:
        NotImplementedError: the strategy asks for what needs several processes, or is not there.

    Examples:
        >>> layer = argosy.nn.Linear(2, 1)
        >>> model = argosy.distributed.to_static(layer, loss=argosy.nn.MSELoss())
        >>> model(argosy.ones([4, 2]), argosy.ones([4, 1])).shape
        paddle.Size([])
    """
    return DistModel(layer, loader, loss, optimizer, strategy, input_spec=input_spec)
