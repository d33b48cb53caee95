"""Callbacks that hand the figures of a run to programs that draw them."""

import numbers
import warnings

from argosy.utils import try_import

from ._processes import is_first
from .callbacks import Callback

__all__ = []


class _Recorder(Callback):
    """Passes on the loss and metrics of each training step and of each evaluation, as ``train/NAME``
    over steps (from 1) and ``eval/NAME`` over epochs; from the first process of a job only."""

    _fitting = False
    _epoch = 0

    def on_train_begin(self, logs=None):
        """Counts steps from 0."""
        self._fitting = True
        self._step = 0

    def on_epoch_begin(self, epoch=None, logs=None):
        """Remembers the epoch."""
        self._epoch = epoch

    def on_train_batch_end(self, step, logs=None):
        """Records the figures of the step."""
        self._step += 1
        self._pass_on("train", self._step, self.params.get("metrics") or [], logs)

    def on_eval_begin(self, logs=None):
        """Remembers which figures there will be."""
        self._eval_names = (logs or {}).get("metrics") or []

    def on_eval_end(self, logs=None):
        """Records the figures of the evaluation."""
        self._pass_on("eval", self._epoch, self._eval_names, logs)
        if not self._fitting and self._writes():
            self._finish()

    def on_train_end(self, logs=None):
        """Ends the record."""
        self._fitting = False
        if self._writes():
            self._finish()

    @staticmethod
    def _writes():
        return is_first()

    def _pass_on(self, mode, at, names, logs):
        if not self._writes():
            return
        figures = {}
        for name in names:
            value = (logs or {}).get(name)
            if isinstance(value, (list, tuple)):
                value = value[0]
            if isinstance(value, numbers.Number):
                figures[f"{mode}/{name}"] = value
        self._record(mode, at, figures)


class VisualDL(_Recorder):
    """Writes loss and metrics to a log file of VisualDL, which has to be installed.

    Args:
        log_dir (str): Folder of the log file, which is made with the first figures.

    Examples:
        >>> argosy.callbacks.VisualDL("log").log_dir
        'log'
    """

    def __init__(self, log_dir):
        super().__init__()
        self.log_dir = log_dir
        self._writer = None

    def _record(self, mode, at, figures):
        if self._writer is None:
            self._writer = try_import("visualdl").LogWriter(self.log_dir)
        for name, value in figures.items():
            self._writer.add_scalar(tag=name, step=at, value=value)

    def _finish(self):
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class WandbCallback(_Recorder):
    """Records loss and metrics as a run of Weights & Biases, whose package has to be installed.

    Args:
        project, entity, name, dir, mode, job_type: passed to ``wandb.init``, as are other keyword
            arguments. A run in progress is used as it is, which a warning says.
        kwargs: further arguments of ``wandb.init``.

    Examples:
        >>> import importlib.util
        >>> if importlib.util.find_spec("wandb"):
        ...     recorder = argosy.callbacks.WandbCallback(mode="disabled")
    """

    def __init__(
        self, project=None, entity=None, name=None, dir=None, mode=None, job_type=None, **kwargs
    ):
        super().__init__()
        self.wandb = try_import("wandb")
        self.wandb_args = {
            "project": project, "name": name, "entity": entity, "dir": dir, "mode": mode,
            "job_type": job_type, **kwargs,
        }  # fmt: skip
        self._run = None
        _ = self.run

    @property
    def run(self):
        """The run; None in other processes than the first."""
        if self._run is None and self._writes():
            self._run = self.wandb.run
            if self._run is None:
                self._run = self.wandb.init(**self.wandb_args)
            else:
                warnings.warn(
                    "[callbacks.WandbCallback] a run is in progress and is used."
                    " Do this: call wandb.finish() first for a run of its own.",
                    stacklevel=3,
                )
        return self._run

    def on_train_begin(self, logs=None):
        """Says what is drawn over what."""
        super().on_train_begin(logs)
        if self._writes():
            self.run.define_metric("train/step")
            self.run.define_metric("train/*", step_metric="train/step")
            self.run.define_metric("epoch")
            self.run.define_metric("eval/*", step_metric="epoch")

    def _record(self, mode, at, figures):
        self.run.log({"train/step" if mode == "train" else "epoch": at, **figures})

    def _finish(self):
        if self._run is not None:
            self._run.finish()
            self._run = None
