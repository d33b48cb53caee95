"""Callbacks: what happens around the steps of ``Model.fit``, ``evaluate`` and ``predict``."""

import numbers
import os
import warnings

from argosy._support import listed

from ._processes import is_first
from .progressbar import ProgressBar

__all__ = []


def config_callbacks(
    callbacks=None,
    model=None,
    batch_size=None,
    epochs=None,
    steps=None,
    log_freq=2,
    verbose=2,
    save_freq=1,
    save_dir=None,
    metrics=None,
    mode="train",
):
    """The list of callbacks of a run: the given ones, and the standard ones that are not among
    them."""
    given = [] if callbacks is None else callbacks
    chosen = listed(given)
    for callback in chosen:
        if not isinstance(callback, Callback):
            raise TypeError(
                f"[Model] callbacks must be of type callbacks.Callback, got "
                f"{type(callback).__name__}."
                " Do this: derive your class from paddle.callbacks.Callback."
            )

    def has(kind):
        return any(isinstance(c, kind) for c in chosen)

    if verbose and not has(ProgBarLogger):
        chosen.insert(0, ProgBarLogger(log_freq, verbose=verbose))
    if mode == "train" and not has(LRScheduler):
        chosen.append(LRScheduler())
    if mode == "train" and save_dir is not None and not has(ModelCheckpoint):
        chosen.append(ModelCheckpoint(save_freq, save_dir))
    for callback in chosen:
        if isinstance(callback, EarlyStopping):
            callback.save_dir = save_dir
    callback_list = CallbackList(chosen)
    callback_list.set_model(model)
    callback_list.set_params(
        {
            "batch_size": batch_size,
            "epochs": epochs,
            "steps": steps,
            "verbose": verbose,
            "metrics": metrics or [],
        }
    )
    return callback_list


class CallbackList:
    """Passes each event on to all callbacks, in order."""

    def __init__(self, callbacks=None):
        self.callbacks = list(callbacks or [])

    def append(self, callback):
        """Adds a callback."""
        self.callbacks.append(callback)

    def __iter__(self):
        return iter(self.callbacks)

    def set_params(self, params):
        """Tells all callbacks the run's parameters."""
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model):
        """Tells all callbacks the model."""
        for callback in self.callbacks:
            callback.set_model(model)

    def _call(self, name, *args):
        for callback in self.callbacks:
            getattr(callback, name)(*args)

    def on_begin(self, mode, logs=None):
        """The run begins; `mode` is train, eval or predict."""
        self._call(f"on_{mode}_begin", logs)

    def on_end(self, mode, logs=None):
        """The run ends."""
        self._call(f"on_{mode}_end", logs)

    def on_epoch_begin(self, epoch=None, logs=None):
        """An epoch begins."""
        self._call("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch=None, logs=None):
        """An epoch ends."""
        self._call("on_epoch_end", epoch, logs)

    def on_batch_begin(self, mode, step=None, logs=None):
        """A batch begins."""
        self._call(f"on_{mode}_batch_begin", step, logs)

    def on_batch_end(self, mode, step=None, logs=None):
        """A batch ends."""
        self._call(f"on_{mode}_batch_end", step, logs)


class Callback:
    """Base of callbacks: methods called around a run; override the ones you need.

    ``self.model`` is the :class:`Model`; ``self.params`` a dict with ``batch_size``, ``epochs``,
    ``steps``, ``verbose`` and ``metrics`` (names). ``logs`` holds the figures so far: ``loss`` (a list),
    each metric by name, ``step`` and ``batch_size``.

    Examples:
        >>> class Tell(argosy.callbacks.Callback):
        ...     def on_train_begin(self, logs=None):
        ...         print("train", self.params["epochs"])
        ...
        ...     def on_epoch_begin(self, epoch, logs=None):
        ...         print("epoch", epoch)
        ...
        ...     def on_train_batch_begin(self, step, logs=None):
        ...         print("begin", step)
        ...
        ...     def on_train_batch_end(self, step, logs=None):
        ...         print("end", step, sorted(logs))
        ...
        ...     def on_epoch_end(self, epoch, logs=None):
        ...         print("epoch ends")
        ...
        ...     def on_eval_begin(self, logs=None):
        ...         print("eval", logs["steps"])
        ...
        ...     def on_eval_batch_begin(self, step, logs=None):
        ...         print("eval begin", step)
        ...
        ...     def on_eval_batch_end(self, step, logs=None):
        ...         print("eval end", step)
        ...
        ...     def on_eval_end(self, logs=None):
        ...         print("eval ends", sorted(logs))
        ...
        ...     def on_train_end(self, logs=None):
        ...         print("train ends")
        ...
        ...     def on_predict_begin(self, logs=None):
        ...         print("predict", logs["steps"])
        ...
        ...     def on_predict_batch_begin(self, step, logs=None):
        ...         print("predict begin", step)
        ...
        ...     def on_predict_batch_end(self, step, logs=None):
        ...         print("predict end", step)
        ...
        ...     def on_predict_end(self, logs=None):
        ...         print("predict ends")
        >>> model = argosy.Model(argosy.nn.Linear(1, 1))
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=model.parameters())
        >>> model.prepare(sgd, argosy.nn.MSELoss())
        >>> data = [[np.ones([2, 1], "float32"), np.ones([2, 1], "float32")]]
        >>> model.fit(data, data, epochs=1, verbose=0, callbacks=Tell())
        train 1
        epoch 0
        begin 0
        end 0 ['batch_size', 'loss', 'step']
        epoch ends
        eval 1
        eval begin 0
        eval end 0
        eval ends ['batch_size', 'loss', 'step']
        train ends
        >>> outputs = model.predict([[data[0][0]]], verbose=0, callbacks=Tell())
        predict 1
        predict begin 0
        predict end 0
        predict ends
    """

    def __init__(self):
        self.model = None
        self.params = {}

    def set_params(self, params):
        """Called before a run, with its parameters.

        Args:
            params (dict): what ``self.params`` becomes.

        Examples:
            >>> callback = argosy.callbacks.Callback()
            >>> callback.set_params({"epochs": 2})
            >>> callback.set_model(None)
            >>> callback.params, callback.model
            ({'epochs': 2}, None)
        """
        self.params = params

    def set_model(self, model):
        """Called before a run, with the model.

        Args:
            model (Model): what ``self.model`` becomes.
        """
        self.model = model

    def on_train_begin(self, logs=None):
        """Training begins.

        Args:
            logs (dict): empty.
        """

    def on_train_end(self, logs=None):
        """Training ends.

        Args:
            logs (dict): figures of the last epoch.
        """

    def on_eval_begin(self, logs=None):
        """Evaluation begins.

        Args:
            logs (dict): ``steps`` and ``metrics``.
        """

    def on_eval_end(self, logs=None):
        """Evaluation ends.

        Args:
            logs (dict): its figures.
        """

    def on_predict_begin(self, logs=None):
        """Prediction begins.

        Args:
            logs (dict): ``steps``.
        """

    def on_predict_end(self, logs=None):
        """Prediction ends.

        Args:
            logs (dict): ``step`` and ``batch_size``.
        """

    def on_epoch_begin(self, epoch, logs=None):
        """An epoch begins.

        Args:
            epoch (int): its number, from 0.
            logs (dict): empty.
        """

    def on_epoch_end(self, epoch, logs=None):
        """An epoch ends.

        Args:
            epoch (int): its number, from 0.
            logs (dict): its figures.
        """

    def on_train_batch_begin(self, step, logs=None):
        """A batch of training begins.

        Args:
            step (int): number of the batch, from 0.
            logs (dict): figures so far.
        """

    def on_train_batch_end(self, step, logs=None):
        """A batch of training ends.

        Args:
            step (int): number of the batch, from 0.
            logs (dict): figures so far.
        """

    def on_eval_batch_begin(self, step, logs=None):
        """A batch of evaluation begins.

        Args:
            step (int): number of the batch, from 0.
            logs (dict): figures so far.
        """

    def on_eval_batch_end(self, step, logs=None):
        """A batch of evaluation ends.

        Args:
            step (int): number of the batch, from 0.
            logs (dict): figures so far.
        """

    def on_predict_batch_begin(self, step, logs=None):
        """A batch of prediction begins.

        Args:
            step (int): number of the batch, from 0.
            logs (dict): figures so far.
        """

    def on_predict_batch_end(self, step, logs=None):
        """A batch of prediction ends.

        Args:
            step (int): number of the batch, from 0.
            logs (dict): figures so far.
        """


class ProgBarLogger(Callback):
    """Prints figures while a run goes on.

    Args:
        log_freq (int): Steps between two updates.
        verbose (int): 0 nothing, 1 a progress bar (lines where output is not a terminal or
            notebook), 2 lines.

    Examples:
        >>> argosy.callbacks.ProgBarLogger(log_freq=10).log_freq
        10
    """

    def __init__(self, log_freq=1, verbose=2):
        super().__init__()
        self.log_freq = log_freq
        self.verbose = verbose
        self.epochs = None
        self.steps = None
        self._bar = None
        self._shown = 0
        self._samples = 0

    def set_params(self, params):
        """Takes over number of epochs and steps."""
        super().set_params(params)
        self.epochs = params.get("epochs")
        self._names = params.get("metrics") or []

    def _active(self):
        return bool(self.verbose) and is_first()

    def _begin(self, steps, names):
        self.steps = steps
        self._names = names
        self._bar = ProgressBar(num=steps, verbose=self.verbose)
        self._shown = self._samples = 0

    def _show(self, logs, count):
        logs = logs or {}
        self._bar.update(count, [(k, logs[k]) for k in self._names if k in logs])
        self._shown = count

    def _batch_end(self, step, logs):
        count = step + 1
        self._samples += (logs or {}).get("batch_size", 0)
        if self._active() and (count % self.log_freq == 0 or count == self.steps):
            self._show(logs, count)

    def _end(self, logs):
        """The last step is shown whatever `log_freq` says."""
        count = (logs or {}).get("step", -1) + 1
        if count > self._shown:
            self._show(logs, count)
        self._bar.finish()

    def on_train_begin(self, logs=None):
        """Says once what the figures mean."""
        if self._active():
            print("Each line shows the loss of its step, and metrics over the epoch so far.")

    def on_epoch_begin(self, epoch=None, logs=None):
        """Prints the number of the epoch."""
        self._begin(self.params.get("steps"), self.params.get("metrics") or [])
        if self._active() and self.epochs:
            print(f"Epoch {epoch + 1}/{self.epochs}")

    def on_train_batch_end(self, step, logs=None):
        """Prints every `log_freq` steps."""
        self._batch_end(step, logs)

    def on_epoch_end(self, epoch, logs=None):
        """Prints the last step's figures."""
        if self._active():
            self._end(logs)

    def on_eval_begin(self, logs=None):
        """Says that evaluation begins."""
        logs = logs or {}
        self._begin(logs.get("steps"), logs.get("metrics") or [])
        if self._active():
            print("Eval begin...")

    def on_eval_batch_end(self, step, logs=None):
        """Prints every `log_freq` steps."""
        self._batch_end(step, logs)

    def on_eval_end(self, logs=None):
        """Prints the figures and the number of samples."""
        if self._active():
            self._end(logs)
            print(f"Eval samples: {self._samples}")

    def on_predict_begin(self, logs=None):
        """Says that prediction begins."""
        self._begin((logs or {}).get("steps"), [])
        if self._active():
            print("Predict begin...")

    def on_predict_batch_end(self, step, logs=None):
        """Prints every `log_freq` steps."""
        self._batch_end(step, logs)

    def on_predict_end(self, logs=None):
        """Prints the number of samples."""
        if self._active():
            self._end(logs)
            print(f"Predict samples: {self._samples}")


class ModelCheckpoint(Callback):
    """Saves model and optimizer as ``save_dir/<epoch>`` while training, and as ``save_dir/final`` at the
    end.

    Args:
        save_freq (int): Epochs between two times of saving.
        save_dir (str, optional): Where; None saves nothing.

    Examples:
        >>> import contextlib, io, os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> model = argosy.Model(argosy.nn.Linear(1, 1))
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=model.parameters())
        >>> model.prepare(sgd, argosy.nn.MSELoss())
        >>> data = [[np.ones([2, 1], "float32"), np.ones([2, 1], "float32")]]
        >>> saving = argosy.callbacks.ModelCheckpoint(save_freq=2, save_dir=folder)
        >>> with contextlib.redirect_stdout(io.StringIO()):
        ...     model.fit(data, epochs=3, verbose=0, callbacks=saving)
        >>> sorted(os.listdir(folder))
        ['0.pdopt', '0.pdparams', '2.pdopt', '2.pdparams', 'final.pdopt', 'final.pdparams']
    """

    def __init__(self, save_freq=1, save_dir=None):
        super().__init__()
        self.save_freq = save_freq
        self.save_dir = save_dir
        self.epoch = None

    def on_epoch_begin(self, epoch=None, logs=None):
        """Notes the epoch."""
        self.epoch = epoch

    def _save(self, name):
        path = os.path.join(os.path.abspath(self.save_dir), name)
        if is_first():
            print(f"save checkpoint at {path}")
        self.model.save(path)

    def on_epoch_end(self, epoch, logs=None):
        """Saves if the epoch's turn has come."""
        if self.model is not None and self.save_dir and epoch % self.save_freq == 0:
            self._save(str(epoch))

    def on_train_end(self, logs=None):
        """Saves the final state."""
        if self.model is not None and self.save_dir:
            self._save("final")


class LRScheduler(Callback):
    """Steps the optimizer's learning rate scheduler after each batch or each epoch.

    ``Model.fit`` has one that goes by batches unless a callback of this type is given.

    Args:
        by_step (bool): After each batch.
        by_epoch (bool): After each epoch.

    Raises:
        ValueError: both are True.

    Examples:
        >>> model = argosy.Model(argosy.nn.Linear(1, 1))
        >>> rate = argosy.optimizer.lr.StepDecay(0.5, step_size=1, gamma=0.1)
        >>> sgd = argosy.optimizer.SGD(rate, parameters=model.parameters())
        >>> model.prepare(sgd, argosy.nn.MSELoss())
        >>> data = [[np.ones([2, 1], "float32"), np.ones([2, 1], "float32")]] * 3
        >>> by_epoch = argosy.callbacks.LRScheduler(by_step=False, by_epoch=True)
        >>> model.fit(data, epochs=2, verbose=0, callbacks=by_epoch)
        >>> sgd.get_lr()
        0.005
    """

    def __init__(self, by_step=True, by_epoch=False):
        if by_step and by_epoch:
            raise ValueError(
                "[callbacks.LRScheduler] by_step and by_epoch exclude each other. Do this: pass "
                "by_step=False for a scheduler that counts epochs."
            )
        super().__init__()
        self.by_step = by_step
        self.by_epoch = by_epoch

    def _step(self):
        from argosy.optimizer.lr import LRScheduler as Scheduler

        optimizer = getattr(self.model, "_optimizer", None)
        scheduler = getattr(optimizer, "_learning_rate", None)
        if isinstance(scheduler, Scheduler):
            scheduler.step()

    def on_epoch_end(self, epoch, logs=None):
        """Steps if the scheduler goes by epochs."""
        if self.by_epoch:
            self._step()

    def on_train_batch_end(self, step, logs=None):
        """Steps if the scheduler goes by batches."""
        if self.by_step:
            self._step()


class _Watch(Callback):
    """Base of callbacks that watch whether a figure gets better."""

    def __init__(self, op, monitor, mode, min_delta):
        super().__init__()
        self.monitor = monitor
        if mode not in ("auto", "min", "max"):
            warnings.warn(
                f"[{op}] mode: expected 'auto', 'min' or 'max', got {mode!r}; using 'auto'."
            )
            mode = "auto"
        if mode == "auto":
            mode = "max" if "acc" in monitor else "min"
        self.mode = mode
        self.min_delta = abs(min_delta)

    def _worst(self):
        return float("inf") if self.mode == "min" else float("-inf")

    def _better(self, value, best):
        if self.mode == "min":
            return value < best - self.min_delta
        return value > best + self.min_delta

    def _value(self, logs):
        """The watched figure, or None (with a warning) if evaluation does not give it."""
        logs = logs or {}
        if self.monitor not in logs:
            known = [k for k in logs if k not in ("step", "batch_size")]
            warnings.warn(
                f"[callbacks.{type(self).__name__}] evaluation gives no figure '{self.monitor}': it "
                f"has {known}. Do this: pass monitor= one of them."
            )
            return None
        value = logs[self.monitor]
        if isinstance(value, (list, tuple)):
            value = value[0]
        if not isinstance(value, numbers.Number):
            value = float(value)
        return value


class EarlyStopping(_Watch):
    """Ends training once a figure of evaluation has not got better ``patience`` times in a row.

    Args:
        monitor (str): The figure, ``loss`` or the name of a metric.
        mode (str): ``min``, ``max``, or ``auto``: max if the name contains ``acc``, else min.
        patience (int): Training ends with this many evaluations in a row without improvement; 0: after the
            first one.
        verbose (int): 1 says why training ends.
        min_delta (float): How much better counts as better.
        baseline (float, optional): What the figure must beat at first.
        save_best_model (bool): Save the best model as ``best_model`` in the ``save_dir`` of ``fit``.

    Examples:
        >>> model = argosy.Model(argosy.nn.Linear(1, 1))
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=model.parameters())
        >>> model.prepare(sgd, argosy.nn.MSELoss())
        >>> data = [[np.ones([2, 1], "float32"), np.ones([2, 1], "float32")]]
        >>> stop = argosy.callbacks.EarlyStopping(patience=2, verbose=0, min_delta=100.0)
        >>> model.fit(data, data, epochs=9, verbose=0, callbacks=stop)
        >>> stop.stopped_epoch
        3
    """

    def __init__(
        self,
        monitor="loss",
        mode="auto",
        patience=0,
        verbose=1,
        min_delta=0,
        baseline=None,
        save_best_model=True,
    ):
        super().__init__("EarlyStopping", monitor, mode, min_delta)
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.save_best_model = save_best_model
        self.save_dir = None
        self.wait_epoch = 0
        self.best_weights = None
        self.stopped_epoch = 0
        self.best_value = self._worst() if baseline is None else baseline

    def on_train_begin(self, logs=None):
        """Begins to count."""
        self.wait_epoch = 0
        self.stopped_epoch = 0
        self.best_value = self._worst() if self.baseline is None else self.baseline

    def on_eval_end(self, logs=None):
        """Counts, saves the best model, ends training."""
        value = self._value(logs)
        if value is None or self.model is None:
            return
        if self._better(value, self.best_value):
            self.best_value = value
            self.wait_epoch = 0
            if self.save_best_model and self.save_dir is not None:
                self.model.save(os.path.join(self.save_dir, "best_model"))
        else:
            self.wait_epoch += 1
        if self.wait_epoch >= self.patience:
            self.model.stop_training = True
            if self.verbose > 0:
                print(
                    f"Epoch {self.stopped_epoch + 1}: early stopping, {self.monitor} has not "
                    f"got better than {self.best_value:.5f} for {self.wait_epoch} evaluations."
                )
        self.stopped_epoch += 1


class ReduceLROnPlateau(_Watch):
    """Multiplies the learning rate by ``factor`` once a figure of evaluation has not got better ``patience``
    times in a row.

    Args:
        monitor, mode, verbose, min_delta: See :class:`EarlyStopping`.
        factor (float): < 1.
        patience (int): Evaluations without improvement until the rate is lowered.
        cooldown (int): Evaluations after that during which nothing is counted.
        min_lr (float): The rate never goes below it.

    Raises:
        ValueError: ``factor`` is not below 1.

    Examples:
        >>> model = argosy.Model(argosy.nn.Linear(1, 1))
        >>> sgd = argosy.optimizer.SGD(0.5, parameters=model.parameters())
        >>> model.prepare(sgd, argosy.nn.MSELoss())
        >>> data = [[np.ones([2, 1], "float32"), np.ones([2, 1], "float32")]]
        >>> lower = argosy.callbacks.ReduceLROnPlateau(patience=2, verbose=0, min_delta=100.0)
        >>> model.fit(data, data, epochs=4, verbose=0, callbacks=lower)
        >>> sgd.get_lr(), lower.in_cooldown()
        (0.05, False)
    """

    def __init__(
        self,
        monitor="loss",
        factor=0.1,
        patience=10,
        verbose=1,
        mode="auto",
        min_delta=1e-4,
        cooldown=0,
        min_lr=0,
    ):
        if factor >= 1.0:
            raise ValueError(
                f"[callbacks.ReduceLROnPlateau] factor is out of range: expected < 1, got {factor}."
                " Do this: pass a factor such as 0.1."
            )
        super().__init__("ReduceLROnPlateau", monitor, mode, min_delta)
        self.factor = factor
        self.patience = patience
        self.verbose = verbose
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.epoch = 0
        self._reset()

    def _reset(self):
        self.best = self._worst()
        self.cooldown_counter = 0
        self.wait = 0

    def on_train_begin(self, logs=None):
        """Begins to count."""
        self._reset()

    def in_cooldown(self):
        """Whether a reduction is so recent that nothing is counted.

        Returns:
            bool.
        """
        return self.cooldown_counter > 0

    def on_eval_end(self, logs=None):
        """Counts, and lowers the rate if it is due."""
        value = self._value(logs)
        if value is None:
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self._better(value, self.best):
            self.best = value
            self.wait = 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                self._lower()
        self.epoch += 1

    def _lower(self):
        optimizer = self.model._optimizer
        if not isinstance(optimizer._learning_rate, float):
            warnings.warn(
                "[callbacks.ReduceLROnPlateau] the learning rate is set by a "
                f"{type(optimizer._learning_rate).__name__} and stays as it is. Do this: build the "
                "optimizer with a float."
            )
            return
        old = optimizer.get_lr()
        if old > self.min_lr:
            new = max(old * self.factor, self.min_lr)
            optimizer.set_lr(new)
            if self.verbose > 0:
                print(f"Epoch {self.epoch + 1}: learning rate lowered from {old:g} to {new:g}.")
            self.cooldown_counter = self.cooldown
            self.wait = 0
